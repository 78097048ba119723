//! What an RFC 6349 run found, step by step.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::{
    ConnectionReport, Direction, Layer, LayeredRate, PacketLayout, Rate, Sample, Sender,
};

use super::steady::Settled;
use crate::bounds::{Bounds, Loss};
use crate::metrics;
use crate::path::{BaselineRtt, PathMtu};
use crate::verdict;

/// What a run found.
pub type Report = verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    PathMtu(PathMtu),
    BaselineRtt(BaselineRtt),
    Bottleneck(Bottleneck),
    Tcp(TcpStep),
}

/// RFC 6349 section 3.2.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    pub direction: Direction,
    /// At the layer at which such a limit is counted: a policer's at 2, a line's at 1.
    pub limit: LayeredRate,
    /// At the same layer: the interval that holds the truth in 95 of 100 cases; `None` where there is
    /// no upper end.
    pub at_least: Rate,
    pub at_most: Option<Rate>,
    /// The full-sized packet with which it was measured, without TCP options.
    pub packet: PacketLayout,
    pub source: Source,
    pub kind: LimitKind,
    pub trials: u32,
    /// Loss that does not depend on the rate; `None` where it was not measured.
    pub base_loss: Option<Loss>,
    /// Growth of the one-way delay while more was offered than fits.
    pub overload_delay: Option<Duration>,
    /// Frames were dropped by then, so that a queue was full.
    pub overload_drops: bool,
    /// What passes at once, at layer 2: what a policer's buckets hold together, or a shaper's. Of what looks
    /// like a line nothing, and at most what a shaper could let go that looks so. `None` where it is not known.
    pub burst_bytes: Option<Bounds>,
    /// What a queue's line was seen to carry without a break, at layer 2: behind it a policer of a lower rate
    /// may stand whose bucket holds more.
    pub carried_bytes: Option<u64>,
}

impl Bottleneck {
    /// A share of the frames; none where it was not measured.
    pub fn lost_at_any_rate(&self) -> f64 {
        self.base_loss.map_or(0.0, |loss| loss.share.estimate)
    }

    pub fn rate_at(&self, layer: Layer) -> Rate {
        self.packet.convert(self.limit, layer)
    }

    /// How long it takes to carry a packet, if it is a line.
    pub(super) fn time_for(&self, packet: &PacketLayout) -> Duration {
        self.limit.rate.max(Rate::bps(1)).time_for(packet.bytes_at(self.limit.layer).into())
    }

    /// What passes at once, in bytes at the layer of the limit; or one of its bounds.
    pub(super) fn lets_go(&self, of: fn(&Bounds) -> f64) -> f64 {
        let packet = &self.packet;
        let counted =
            f64::from(packet.bytes_at(self.limit.layer)) / f64::from(packet.frame_bytes.max(1));
        self.burst_bytes.as_ref().map_or(0.0, of) * counted
    }

    /// Whether the path's own limit was met, and something is known of its rate.
    pub fn is_known(&self) -> bool {
        self.kind != LimitKind::NotReached && self.at_least > Rate::ZERO
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Measured,
    Given,
}

/// What more than the limit meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Loss without delay.
    Policer,
    /// A queue: a line or a shaper.
    Queue,
    /// The near end or its bound was reached before the path's limit was.
    NotReached,
    /// Not looked for, or what arrived does not tell.
    Unknown,
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Policer => "policer",
            Self::Queue => "queue",
            Self::NotReached => "not_reached",
            Self::Unknown => "unknown",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Walk,
    Throughput,
}

/// One direction of one TCP trial, RFC 6349 sections 3.3 and 4.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpStep {
    pub direction: Direction,
    /// The other direction was loaded in the same trial.
    pub bidirectional: bool,
    pub role: Role,
    /// Of the windows that fill the path.
    pub window_fraction: f64,
    pub connections: u32,
    pub window_bytes: u64,
    pub bdp_bytes: u64,
    pub sender: Sender,
    pub congestion_control: String,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// Of each connection, where the tester paces them since no window is small enough.
    pub pacing: Option<Rate>,
    pub good_bytes: u64,
    /// `None` where the sender does not tell.
    pub transmitted_bytes: Option<u64>,
    pub retransmitted_bytes: Option<u64>,
    pub transfer: Duration,
    pub throughput_l4: Rate,
    /// What full segments carry at the bottleneck, with the headers really used; of both directions
    /// at once what both links carry in the proportion that was found.
    pub ideal_l4: Rate,
    /// With 40 bytes of headers, as the RFC has it.
    pub ideal_strict_l4: Rate,
    pub judged: Box<Judged>,
    pub transfer_time_ratio: Option<f64>,
    pub efficiency_percent: Option<f64>,
    pub buffer_delay_percent: Option<f64>,
    pub rtt_mean: Option<Duration>,
    /// Slots of the steady time; their sums are the totals above.
    pub series: Vec<Sample>,
    pub flows: Vec<Connection>,
}

impl TcpStep {
    /// Share of what the step could carry, as a part of 100.
    pub fn share_percent(&self) -> f64 {
        100.0 * self.throughput_l4.as_bps() as f64 / self.measure_l4().as_bps().max(1) as f64
    }

    /// What the throughput is a share of: in a walk, whose windows need not fill the path, what those
    /// windows carry; else the ideal.
    pub const fn measure_l4(&self) -> Rate {
        match self.role {
            Role::Walk => self.judged.windows_l4,
            Role::Throughput => self.ideal_l4,
        }
    }

    pub(super) fn part_of_ideal(&self, rate: Rate) -> f64 {
        rate.as_bps() as f64 / self.ideal_l4.as_bps().max(1) as f64
    }

    /// What was sold as a part of the ideal; 1 if nothing was sold, as the ideal is then the measure.
    pub(super) fn part_sold(&self) -> f64 {
        self.judged.sold_l4.map_or(1.0, |sold| self.part_of_ideal(sold))
    }

    /// How much longer than on the idle path the mean round trip took.
    pub fn buffer_delay(&self) -> Option<Duration> {
        let (rtt, percent) = (self.rtt_mean?, self.buffer_delay_percent?);
        Some(rtt.mul_f64((percent / (100.0 + percent)).clamp(0.0, 1.0)))
    }

    /// What the round trip under load is worth to whoever uses the path meanwhile; `None` of windows that
    /// do not fill it.
    pub fn buffer_delay_grade(&self) -> Option<&'static str> {
        self.buffer_delay().filter(|_| self.window_fraction >= 1.0).map(metrics::grade)
    }

    /// The largest window that any of the connections was given.
    pub fn window_effective_bytes(&self) -> Option<u64> {
        self.flows.iter().filter_map(|flow| flow.report.window_effective_bytes).max()
    }
}

/// What a trial is judged by beside its throughput.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Between these lies the throughput in 95 of 100 cases; `None` where the trial is too short to
    /// tell.
    pub throughput_l4_bounds: Option<[Rate; 2]>,
    /// What the windows carry on a path that is as it was found, up to the ideal.
    pub windows_l4: Rate,
    /// The same where acknowledgements take as long as they can: behind the data of the other
    /// direction, through a slower link, or kept back by a receiver that jitter confuses.
    pub assured_l4: Rate,
    /// The ideal if as much passes at once as may.
    pub possible_l4: Rate,
    /// Between these lies the ideal, as far as the bottleneck is known: at most `None` where nothing bounds
    /// that.
    pub ideal_l4_bounds: (Rate, Option<Rate>),
    /// The payload rate of this trial on a path of the rate that was sold; above the ideal if the path
    /// carries less than was sold. `None` if no rate was given.
    pub sold_l4: Option<Rate>,
    /// The committed burst size, in bytes of layer 2 frames, that lets all windows through at once;
    /// `None` unless the bottleneck is a policer.
    pub needed_cbs_bytes: Option<u64>,
    /// With both directions loaded: the same share of what each carries alone.
    pub even_l4: Option<Rate>,
    /// Bounds of the step's share, like those of the throughput.
    pub share_percent_bounds: Option<[f64; 2]>,
    pub settled: Settled,
    /// How long a trial that lost segments has to be.
    pub settles_in: Duration,
}

/// One connection with its metrics, RFC 6349 section 5.1.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    pub report: ConnectionReport,
    pub throughput_l4: Rate,
    pub transfer_time_ratio: Option<f64>,
    pub efficiency_percent: Option<f64>,
    pub buffer_delay_percent: Option<f64>,
}
