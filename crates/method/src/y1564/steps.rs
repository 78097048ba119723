//! What a service activation test found, step by step, and how documents have it.

mod frames;
mod service;
mod tcp;

use alloc::string::String;

use fp_model::figure::Row;

pub use frames::{Figures, Ftd, IrSpan};
pub(super) use service::Tester;
pub use service::{CONFIGURATION, Measured, Offered, PERFORMANCE, ServiceStep};
pub use tcp::TcpFigures;

use crate::path::{BASELINE_RTT, BaselineRtt};

/// The steps in the order they ran, and what follows from them.
pub type Report = crate::verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// On the idle path, by probes in the class of the service.
    BaselineRtt { service: String, baseline: BaselineRtt },
    /// A service by itself.
    Configuration(ServiceStep),
    /// A service among all others.
    Performance(ServiceStep),
}

impl Step {
    /// As documents have it.
    pub fn row(&self) -> Row {
        match self {
            Self::BaselineRtt { service, baseline } => {
                BASELINE_RTT.row_and(baseline, [service.clone().into()].into())
            }
            Self::Configuration(step) => step.row(&CONFIGURATION),
            Self::Performance(step) => step.row(&PERFORMANCE),
        }
    }
}
