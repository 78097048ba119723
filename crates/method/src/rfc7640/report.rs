//! What an RFC 7640 run found, test by test.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Direction, Dscp, Rate, RttSummary};

use super::Device;
use crate::formula::bounds::Bounds;
pub use crate::path::BaselineRtt;
use crate::verdict;

/// The tests in the order they ran, and what follows from them.
pub type Report = verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    BaselineRtt(BaselineRtt),
    Policer(Box<PolicerStep>),
    Queue(QueueStep),
    Scheduler(SchedulerStep),
    Shaper(ShaperStep),
    Capacity(CapacityStep),
}

/// Bursts of one size and what became of them: the stateless metrics of section 4.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stateless {
    /// Whole frames of one burst.
    pub burst_bytes: u64,
    /// From one burst to the next: Ti.
    pub interval: Duration,
    pub runs: u32,
    /// Of all runs, as all that follows.
    pub bursts: u64,
    /// Bursts of which every frame arrived.
    pub whole_bursts: u64,
    pub sent_frames: u64,
    pub received_frames: u64,
    pub received_bytes: u64,
    /// LP: not arrived when the loss time-out was over.
    pub lost_frames: u64,
    /// OOS.
    pub out_of_order_frames: u64,
    pub duplicate_frames: u64,
    pub corrupt_frames: u64,
    /// PD, one way.
    pub delay: Option<RttSummary>,
    /// PDV: the 99th percentile of the delay less the smallest.
    pub delay_variation_p99: Option<Duration>,
    /// How long after the last burst was due a frame still counted.
    pub loss_timeout: Duration,
    /// Trials that the tester spoilt and that were run again.
    pub repeated_trials: u32,
    /// Trials that it spoilt to the last.
    pub spoilt_trials: u32,
}

impl Stateless {
    pub fn received_burst_bytes_mean(&self) -> u64 {
        self.received_bytes.checked_div(self.bursts).unwrap_or_default()
    }

    pub const fn is_lossless(&self) -> bool {
        self.lost_frames == 0 && self.sent_frames > 0
    }
}

/// The burst hunt of section 5.1.1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hunt {
    /// BSA: the largest burst of which nothing was lost; `None` where something was of every one.
    pub bsa_bytes: Option<u64>,
    /// Whether a burst was found that is too large: otherwise the BSA is at least what it says.
    pub is_limit: bool,
    /// Bursts tried, in this order.
    pub trials: Vec<HuntTrial>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HuntTrial {
    pub burst_bytes: u64,
    pub lost_frames: u64,
}

/// Section 6.1.1.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicerStep {
    pub direction: Direction,
    pub frame_bytes: u32,
    pub cir_l2: Rate,
    pub cbs_bytes: u64,
    pub eir_l2: Rate,
    pub ebs_bytes: u64,
    /// What the buckets hold.
    pub compliant: Stateless,
    /// The rate within bursts, the smaller of both ends'.
    pub burst_rate_l2: Option<Rate>,
    /// More than that and what comes back meanwhile; `None` where the bursts are no faster than the
    /// policer, which then never has to drop.
    pub excess: Option<Stateless>,
    pub hunt: Hunt,
    /// CIR and EIR together, in bits per second of layer 2; `None` where that cannot be told.
    pub rate: Option<Bounds>,
    /// The same of CBS and EBS, in bytes.
    pub depth: Option<Bounds>,
}

/// Section 6.2.1 with one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueStep {
    pub direction: Direction,
    pub frame_bytes: u32,
    pub queue_bytes: u64,
    pub bandwidth_l2: Rate,
    pub stateless: Stateless,
    pub hunt: Hunt,
    pub stateful: Vec<Stateful>,
}

/// Section 6.2.1 with a queue for each class.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulerStep {
    pub direction: Direction,
    pub scheduler: &'static str,
    pub frame_bytes: u32,
    pub queue_bytes: u64,
    pub bandwidth_l2: Rate,
    pub classes: Vec<ClassStep>,
    pub stateful: Vec<Stateful>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClassStep {
    pub dscp: Dscp,
    pub weight: u32,
    pub stateless: Stateless,
    /// Of the frames that arrived while every class had some waiting.
    pub share_percent: Option<f64>,
    pub expected_share_percent: f64,
}

/// Section 6.3.1.
#[derive(Clone, Debug, PartialEq)]
pub struct ShaperStep {
    pub direction: Direction,
    pub frame_bytes: u32,
    pub rate_l2: Rate,
    pub bc_bytes: u64,
    pub be_bytes: u64,
    pub queue_bytes: u64,
    pub stateless: Stateless,
    pub trains: Trains,
    pub stateful: Vec<Stateful>,
}

/// Sections 6.1.2, 6.3.2 and 6.4: what was found of each class while all of them were tested.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityStep {
    pub direction: Direction,
    pub frame_bytes: u32,
    pub classes: Vec<CapacityClass>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CapacityClass {
    pub dscp: Dscp,
    pub device: Device,
    /// Bursts that the buckets or the queue are to take.
    pub compliant: Stateless,
    /// More than a policer lets through while the bursts of all classes last; `None` for shapers,
    /// and where the policers together are as fast as the line.
    pub excess: Option<Stateless>,
    /// Of a policer.
    pub hunt: Option<Hunt>,
    /// Of a shaper.
    pub trains: Option<Trains>,
}

/// How a shaper lets frames go: medians of all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trains {
    /// SR: layer 2, in the second half of a burst.
    pub rate_l2: Option<Rate>,
    /// What came out of a burst beyond that rate: what Bc and Be seem to be.
    pub bucket_bytes: Option<u64>,
    /// The same in the run that saw the least of it.
    pub bucket_least_bytes: Option<u64>,
    /// What leaves back to back after a pause.
    pub first_train_bytes: Option<u64>,
    /// SBB: what leaves back to back after that.
    pub train_bytes: Option<u64>,
    /// SBI: from the beginning of such a train to that of the next.
    pub train_interval: Option<Duration>,
}

/// A test pattern over TCP: the stateful metrics of section 4.2.
#[derive(Clone, Debug, PartialEq)]
pub struct Stateful {
    pub pattern: Pattern,
    pub dscp: Dscp,
    pub connections: u32,
    pub window_bytes: u64,
    pub bdp_bytes: u64,
    /// All windows together, as a multiple of the bandwidth-delay product.
    pub window_factor: f64,
    pub burst_bytes: u64,
    pub bursts: u32,
    pub interval: Duration,
    /// What all connections of a run were to carry.
    pub pattern_bytes: u64,
    pub runs: u32,
    /// Runs in which not all of it had arrived when they ended.
    pub unfinished_runs: u32,
    /// TTPET: from the first to the last byte; of the runs that finished.
    pub ttpet: Option<Ttpet>,
    /// How long it takes at the full rate of the path.
    pub ideal_ttpet: Duration,
    pub transmitted_bytes: Option<u64>,
    pub retransmitted_bytes: Option<u64>,
    pub efficiency_percent: Option<f64>,
    pub buffer_delay_percent: Option<f64>,
    pub congestion_control: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    Bulk,
    MicroBurst,
}

impl Pattern {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::MicroBurst => "micro-burst",
        }
    }
}

/// TCP test pattern execution time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttpet {
    pub mean: Duration,
    pub min: Duration,
    pub max: Duration,
}
