//! What an RFC 6349 run found, step by step, and how documents have it.

mod bottleneck;
mod tcp;

use fp_model::figure::Row;

pub use bottleneck::{BOTTLENECK, Bottleneck, LimitKind, Source};
pub use tcp::{Connection, Judged, Role, TCP, TcpStep};

use crate::path::{BASELINE_RTT, BaselineRtt, PATH_MTU, PathMtu};
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

impl Step {
    /// As documents have it, without the slots of a TCP trial.
    pub fn row(&self) -> Row {
        match self {
            Self::PathMtu(mtu) => PATH_MTU.row(mtu),
            Self::BaselineRtt(baseline) => BASELINE_RTT.row(baseline),
            Self::Bottleneck(limit) => BOTTLENECK.row(limit),
            Self::Tcp(step) => TCP.row(step),
        }
    }
}
