//! Which acceptance criterion a service missed in a step, and by how much.

use alloc::string::ToString as _;
use core::fmt;
use core::time::Duration;

use fp_model::figure::{Column, Info, Unit, infos};
use fp_model::{Dscp, Rate};

use crate::reason::Code;

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

pub(super) static INFOS: &[Info] = &infos(COLUMNS);
pub(super) const COLUMNS: &[Column<Shortfall>; 2] = &[
    Info::new("code", "code", Unit::Word).of(|shortfall| shortfall.code().word().into()),
    Info::new("text", "text", Unit::Word).of(|shortfall| shortfall.to_string().into()),
];
