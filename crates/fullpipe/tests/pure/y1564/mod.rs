//! Service activation as its user runs it: simulated, and judged again from a result.

mod bad_input;
mod criteria;
mod known;
mod profiles;
mod replay;

use crate::port::Port;
use crate::result::{Finished, output, run};

impl Port {
    pub(crate) fn simulated(&self, options: &[&str]) -> Finished {
        let (_folder, network, services) = self.written();
        run(&[&["sim", &network, "y1564", &services, "-q"], options].concat())
    }

    /// On stderr, while it runs.
    pub(crate) fn said_by_the_simulation(&self) -> String {
        let (_folder, network, services) = self.written();
        let output = output(["sim", &network, "y1564", &services]);
        String::from_utf8(output.stderr).unwrap()
    }
}
