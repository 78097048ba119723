//! What can be asked of a run across the lab on a host that is busy with other things.

use super::result::Finished;

impl Finished {
    /// The network passed, or the tester saw that the host disturbed it, and gave no verdict.
    pub(crate) fn expect_pass(&self) {
        let outcome = (self.exit, self.status());
        let verdict = &self.result["verdict"];
        assert!([(0, "pass"), (4, "invalid")].contains(&outcome), "{verdict:#}\n{}", self.stderr);
    }
}
