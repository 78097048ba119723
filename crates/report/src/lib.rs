//! A report in, bytes out: text for people, JSON for programs.

#![forbid(unsafe_code)]

mod build;
mod certificate;
mod chart;
mod compare;
mod csv;
mod directions;
mod document;
mod json;
mod junit;
mod labels;
mod methods;
mod read;
mod reasons;
mod screen;
mod sentence;
mod steps;
mod stored;
pub mod summary;
mod text;

use std::time::Duration;

use fp_method::verdict::{self, Check, Report, Verdict};
use fp_method::{burst, flow, rfc2544, rfc6349, rfc7640, stress, y1564};
use fp_model::{Evidence, HostFacts};

pub use certificate::{blocks, certificate};
pub use compare::{CompareError, Comparison, compare};
pub use csv::{CsvFile, csv};
pub use document::{Block, Document, Paper, PdfError, PdfFile, html, markdown, pdf, plain};
pub use json::{Event, json, json_event, result_schema};
pub use junit::junit;
pub use labels::Labels;
pub use methods::Method;
pub use reasons::reasons;
pub use screen::{Detail, text};
pub use sentence::sentence;
pub use steps::{StepLine, StepOutcome, named_steps, steps};
pub use stored::{Headline, Stored, StoredError};
pub use text::{
    Progress, connections, duration, folded, progress, rate, shortened, sparkline, trial_line,
};

/// A finished or broken-off run with everything that its documents show.
#[derive(Clone, Debug)]
pub struct Run {
    pub id: String,
    /// RFC 3339, UTC.
    pub started: String,
    pub lasted: Duration,
    /// What stood between the ends, in the user's words: a far end or a network of the lab.
    pub across: String,
    pub labels: Labels,
    pub near: HostFacts,
    pub far: HostFacts,
    pub work: Work,
    pub evidence: Vec<Evidence>,
}

/// What was asked of a method and what it found.
#[derive(Clone, Debug)]
pub enum Work {
    Flow { plan: flow::Plan, report: flow::Report },
    Rfc2544 { plan: rfc2544::Plan, report: rfc2544::Report },
    Rfc6349 { plan: rfc6349::Plan, report: rfc6349::Report },
    Y1564 { plan: y1564::Plan, report: y1564::Report },
    Burst { plan: burst::Plan, report: burst::Report },
    Rfc7640 { plan: rfc7640::Plan, report: rfc7640::Report },
    Stress { plan: stress::Plan, report: stress::Report },
}

impl Work {
    pub const fn method(&self) -> Method {
        match self {
            Self::Flow { .. } => Method::Flow,
            Self::Rfc2544 { .. } => Method::Rfc2544,
            Self::Rfc6349 { .. } => Method::Rfc6349,
            Self::Y1564 { .. } => Method::Y1564,
            Self::Burst { .. } => Method::Burst,
            Self::Rfc7640 { .. } => Method::Rfc7640,
            Self::Stress { .. } => Method::Stress,
        }
    }

    /// What happened to trials, in the order of time.
    pub(crate) fn events(&self) -> &[verdict::Event] {
        match self {
            Self::Flow { report, .. } => &report.events,
            Self::Rfc2544 { report, .. } => &report.events,
            Self::Rfc6349 { report, .. } => &report.events,
            Self::Y1564 { report, .. } => &report.events,
            Self::Burst { report, .. } => &report.events,
            Self::Rfc7640 { report, .. } => &report.events,
            Self::Stress { report, .. } => &report.events,
        }
    }

    /// What follows from the steps: the verdict, the tester's checks of itself, and where the run
    /// departs from its standard.
    pub fn outcome(&self) -> (&Verdict, &[Check], &[String]) {
        const fn of<S>(report: &Report<S>) -> (&Verdict, &[Check], &[String]) {
            (&report.verdict, report.checks.as_slice(), report.deviations.as_slice())
        }
        match self {
            Self::Flow { report, .. } => of(report),
            Self::Rfc2544 { report, .. } => of(report),
            Self::Rfc6349 { report, .. } => of(report),
            Self::Y1564 { report, .. } => of(report),
            Self::Burst { report, .. } => of(report),
            Self::Rfc7640 { report, .. } => of(report),
            Self::Stress { report, .. } => of(report),
        }
    }
}
