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
mod read;
mod reasons;
mod screen;
mod sentence;
mod steps;
mod stored;
pub mod summary;
mod text;
mod words;
mod work;

use std::time::Duration;

use fp_model::{Evidence, HostFacts};

pub use certificate::{Page, certificate};
pub use compare::{CompareError, Comparison, compare};
pub use csv::{CsvFile, csv};
pub use document::{Block, Document, Paper, PdfError, PdfFile, html, markdown, pdf, plain};
pub use json::{Event, json, json_event, result_schema};
pub use junit::junit;
pub use labels::Labels;
pub use screen::{Detail, text};
pub use sentence::sentence;
pub use steps::{StepLine, StepOutcome, named_steps, steps};
pub use stored::{Stored, StoredError};
pub use text::{
    Progress, connections, duration, folded, progress, rate, shortened, sparkline, trial_line,
};
pub use words::{Words, words};
pub use work::{Outcome, Work};

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
