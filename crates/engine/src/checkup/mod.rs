//! What this host can measure, looked at before there is a far end.

mod clock;
mod interfaces;
mod limits;
mod own_loop;
mod processors;

use std::io;

pub use clock::{ClockFacts, WatchedClock};
pub use interfaces::{InterfaceFacts, interfaces};
pub use limits::{Limits, limits};
pub use own_loop::{LoopFacts, LoopTrouble, WholeBurst, WholeRate, own_loop};
pub use processors::{Processor, processors};

use crate::os::{packet, schedule, xdp};

/// What the kernel lets this process do; else why not.
#[derive(Debug)]
pub struct Rights {
    pub packet_sockets: io::Result<()>,
    pub xdp_sockets: io::Result<()>,
    pub real_time: io::Result<()>,
}

/// Asks the kernel for each and gives it back.
pub fn rights() -> Rights {
    Rights {
        packet_sockets: packet::may_open(),
        xdp_sockets: xdp::may_open(),
        real_time: schedule::may_run_before_others(),
    }
}
