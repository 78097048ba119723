//! What a service activation test found, step by step.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::{Direction, Dscp, Rate, Sample};

use super::availability::Availability;
use crate::path::BaselineRtt;
use crate::reason::Code;
use crate::verdict::{self, Status};

/// The steps in the order they ran, and what follows from them.
pub type Report = verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// On the idle path, by probes in the class of the service.
    BaselineRtt { service: String, baseline: BaselineRtt },
    /// A service by itself.
    Configuration(ServiceStep),
    /// A service among all others.
    Performance(ServiceStep),
}

/// One direction of one service in one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceStep {
    pub service: String,
    pub direction: Direction,
    pub offered: Offered,
    /// Layer 2, of all colours together, as planned.
    pub offered_l2: Rate,
    pub measured: Measured,
    /// What the tester did to it.
    pub tester: Tester,
    /// Trials until one was not spoilt by the tester.
    pub tries: u32,
    pub status: Status,
    /// What of the acceptance criteria was not met.
    pub shortfalls: Vec<Shortfall>,
}

/// How far the tester kept to what was planned.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tester {
    /// Of the frames planned.
    pub unsent_percent: f64,
    /// Lost in the receiving end itself, of all services together.
    pub dropped_packets: u64,
    /// The longest that a thread of either end was kept from running.
    pub longest_stall: Duration,
}

/// What was offered in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// A share of the CIR.
    Cir { percent: u32 },
    /// CIR and EIR.
    Eir,
    /// More than CIR and EIR.
    Policing,
    /// Bursts of the CBS.
    Cbs,
    /// Bursts of the EBS, in a service without colours behind such of the CBS.
    Ebs,
}

impl Offered {
    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cir { .. } => "cir",
            Self::Eir => "eir",
            Self::Policing => "policing",
            Self::Cbs => "cbs",
            Self::Ebs => "ebs",
        }
    }
}

impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cir { percent } => write!(f, "{percent} % of the CIR"),
            Self::Eir => f.write_str("CIR and EIR"),
            Self::Policing => f.write_str("policing"),
            Self::Cbs => f.write_str("CBS bursts"),
            Self::Ebs => f.write_str("EBS bursts"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    Frames {
        /// Green frames, or all where colours do not count; yellow ones in the EBS step.
        judged: Figures,
        /// Yellow frames beside green ones.
        yellow: Option<Box<Figures>>,
    },
    Tcp(TcpFigures),
}

/// What became of the frames of one colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    pub sent_frames: u64,
    pub received_frames: u64,
    pub out_of_order_frames: Option<u64>,
    pub duplicate_frames: Option<u64>,
    /// Layer 2: what was received of the frames sent in the steady time, over that time.
    pub ir_l2: Rate,
    /// The slowest and the fastest second or so; `None` where there was no whole one.
    pub ir_span_l2: Option<IrSpan>,
    /// The same frames on the line, with preamble and gap.
    pub ulr_l1: Rate,
    /// In available time; `None` where nothing was sent in it.
    pub flr: Option<f64>,
    /// The lowest loss ratio that so many frames can rule out with 95 % confidence where none of
    /// them is lost.
    pub flr_resolution: Option<f64>,
    pub ftd: Option<Ftd>,
    /// 99.9th percentile of the delay less its minimum; `None` where delays were not seen one by
    /// one.
    pub fdv: Option<Duration>,
    /// `None` where the test was too short to speak of it.
    pub availability: Option<Availability>,
    /// Frames by the code point with which they arrived; none where the receiver cannot see it.
    pub dscp_received: Vec<(Dscp, u64)>,
    /// Slots of the steady time.
    pub series: Vec<Sample>,
}

impl Figures {
    pub const fn lost_frames(&self) -> u64 {
        self.sent_frames.saturating_sub(self.received_frames)
    }
}

/// Layer 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IrSpan {
    pub min: Rate,
    pub max: Rate,
}

/// Frame transfer delay, one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ftd {
    pub min: Duration,
    pub mean: Duration,
    pub max: Duration,
    /// How wrong each of them may be, all by the same: what is not known of the two clocks.
    pub error: Duration,
}

/// What TCP made of its CIR.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpFigures {
    pub connections: u32,
    pub window_bytes: u64,
    pub good_bytes: u64,
    pub retransmitted_bytes: Option<u64>,
    pub throughput_l4: Rate,
    /// What the CIR can carry.
    pub ideal_l4: Rate,
    pub efficiency_percent: Option<f64>,
    pub rtt_mean: Option<Duration>,
    /// Slots of the steady time.
    pub series: Vec<Sample>,
}

impl TcpFigures {
    pub fn share_percent(&self) -> f64 {
        100.0 * self.throughput_l4.as_bps() as f64 / self.ideal_l4.as_bps().max(1) as f64
    }
}

/// A figure and the limit it misses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shortfall {
    NothingArrived,
    IrLow { ir_l2: Rate, least_l2: Rate },
    IrHigh { ir_l2: Rate, most_l2: Rate },
    Flr { flr: f64, most: f64 },
    Ftd { mean: Duration, error: Duration, most: Duration },
    Fdv { fdv: Duration, most: Duration },
    Availability { percent: f64, least: f64 },
    Dscp { sent: Dscp, received: Dscp, wanted: Dscp },
    Throughput { percent: f64, least: f64 },
}

impl Shortfall {
    /// Its name in documents.
    pub const fn code(&self) -> Code {
        match self {
            Self::NothingArrived => Code::NothingArrived,
            Self::IrLow { .. } => Code::IrLow,
            Self::IrHigh { .. } => Code::IrHigh,
            Self::Flr { .. } => Code::FlrExceeded,
            Self::Ftd { .. } => Code::FtdExceeded,
            Self::Fdv { .. } => Code::FdvExceeded,
            Self::Availability { .. } => Code::AvailabilityLow,
            Self::Dscp { .. } => Code::DscpRemarked,
            Self::Throughput { .. } => Code::ThroughputLow,
        }
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mbps = |rate: Rate| rate.as_bps() as f64 / 1e6;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        match *self {
            Self::NothingArrived => f.write_str("nothing arrived"),
            Self::IrLow { ir_l2, least_l2 } => write!(
                f,
                "{:.3} Mbit/s came through, at least {:.3} were sold",
                mbps(ir_l2),
                mbps(least_l2)
            ),
            Self::IrHigh { ir_l2, most_l2 } => write!(
                f,
                "{:.3} Mbit/s came through, more than the {:.3} that a policer would let pass",
                mbps(ir_l2),
                mbps(most_l2)
            ),
            Self::Flr { flr, most } => write!(
                f,
                "frame loss ratio {} %, at most {} % accepted",
                Significant(100.0 * flr),
                Significant(100.0 * most)
            ),
            Self::Ftd { mean, error, most } => write!(
                f,
                "mean frame transfer delay {:.3} ms (known to {:.3} ms), at most {:.3} ms accepted",
                ms(mean),
                ms(error),
                ms(most)
            ),
            Self::Fdv { fdv, most } => write!(
                f,
                "frame delay variation {:.3} ms, at most {:.3} ms accepted",
                ms(fdv),
                ms(most)
            ),
            Self::Availability { percent, least } => {
                write!(f, "available for {percent:.3} % of the time, at least {least} % accepted")
            }
            Self::Dscp { sent, received, wanted } => write!(
                f,
                "frames sent with DSCP {} arrive with {}, not {}",
                sent.code_point(),
                received.code_point(),
                wanted.code_point()
            ),
            Self::Throughput { percent, least } => {
                write!(f, "TCP used {percent:.1} % of what the CIR can carry, {least} % asked")
            }
        }
    }
}

/// A number with three significant digits or so, never in powers of ten.
struct Significant(f64);

impl fmt::Display for Significant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = match self.0 {
            value if value <= 0.0 => return f.write_str("0"),
            10.0.. => 1,
            1.0.. => 2,
            0.1.. => 3,
            0.01.. => 4,
            0.001.. => 5,
            _ => 7,
        };
        let text = alloc::format!("{:.decimals$}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}
