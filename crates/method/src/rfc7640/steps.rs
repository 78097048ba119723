//! What an RFC 7640 run found, test by test, and how documents have it.

mod capacity;
mod hunt;
mod policer;
mod queue;
mod shaper;
mod stateful;
mod stateless;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use fp_model::figure::{Info, Part, Row, Unit, capital};

pub use capacity::{CAPACITY, CapacityClass, CapacityStep};
pub use hunt::{Hunt, HuntTrial};
pub use policer::{POLICER, PolicerStep};
pub use queue::{ClassStep, QUEUE, QueueStep, SCHEDULER, SchedulerStep};
pub use shaper::{SHAPER, ShaperStep, Trains};
pub use stateful::{Pattern, Stateful, Ttpet};
pub use stateless::Stateless;

use crate::path::BASELINE_RTT;
pub use crate::path::BaselineRtt;

/// The tests in the order they ran, and what follows from them.
pub type Report = crate::verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    BaselineRtt(BaselineRtt),
    Policer(Box<PolicerStep>),
    Queue(QueueStep),
    Scheduler(SchedulerStep),
    Shaper(ShaperStep),
    Capacity(CapacityStep),
}

impl Step {
    /// As documents have it.
    pub fn row(&self) -> Row {
        match self {
            Self::BaselineRtt(baseline) => BASELINE_RTT.row(baseline),
            Self::Policer(step) => POLICER.row(step),
            Self::Queue(step) => QUEUE.row(step),
            Self::Scheduler(step) => SCHEDULER.row(step),
            Self::Shaper(step) => shaper::row(step),
            Self::Capacity(step) => CAPACITY.row(step),
        }
    }
}

// Columns that steps of several kinds have.
const DIRECTION: Info = Info::new("direction", "direction", Unit::Word);
const FRAME: Info = Info::new("frame_bytes", "frame", Unit::Bytes);
const QUEUE_BYTES: Info = Info::new("queue_bytes", "queue", Unit::Bytes);
const BANDWIDTH: Info = Info::new("bandwidth_l2_bps", "bottleneck bandwidth (l2)", Unit::Rate);
const SCHEDULER_NAME: Info = Info::new("scheduler", "scheduler", Unit::Word);
const DSCP: Info = Info::new("dscp", "DSCP", Unit::Count);
const BSA: Info = Info::new("bsa_bytes", "burst size achieved", Unit::Bytes);

/// The device and the direction that a table is of.
fn title(row: &Row, of: &str) -> String {
    format!("{}, {}: {of}", capital(row.kind.title), row.word("direction"))
}

/// The CIR and the buckets of a policer.
fn committed(policer: &Part) -> String {
    let committed =
        format!("CIR {} l2, CBS {}", policer.shown("cir_l2_bps"), policer.shown("cbs_bytes"));
    match policer.number("ebs_bytes").filter(|ebs| ebs.value > 0.0) {
        Some(_) => {
            let (eir, ebs) = (policer.shown("eir_l2_bps"), policer.shown("ebs_bytes"));
            format!("{committed}, EIR {eir} l2, EBS {ebs}")
        }
        None => committed,
    }
}

/// The rate and the buckets of a shaper.
fn shaped(shaper: &Part) -> String {
    let [rate, bc, be, queue] =
        ["rate_l2_bps", "bc_bytes", "be_bytes", "queue_bytes"].map(|field| shaper.shown(field));
    format!("{rate} l2, Bc {bc}, Be {be}, queue {queue}")
}
