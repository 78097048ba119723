//! What a method is: how it is called, how it is run, which steps it has.

use alloc::string::String;
use core::ops::Deref;

use fp_model::figure::{Headline, Kind, Row};
use fp_model::{Abort, Testbed};

use crate::verdict::Report;

/// A method of measurement, as people and documents name it.
#[derive(Debug)]
pub struct Method {
    /// Its name in documents.
    pub name: &'static str,
    /// The command that runs it.
    pub command: &'static str,
    /// What people call it: on the screen, in documents and on pages.
    pub title: &'static str,
    /// The kinds of its steps, in the order in which a document shows them.
    pub kinds: &'static [&'static Kind],
    /// What one has to know to read any of its documents; empty where there is nothing.
    pub note: &'static str,
    /// Chooses the steps that a document shows; the number is the most flows that it has room for.
    pub shown: fn(&[Row], usize) -> IsShown,
    /// The figure that stands for a run in a list; `None` where it found no such figure.
    pub headline: fn(&[Row]) -> Option<Headline>,
    /// The figure in the sentence of its verdict; `None` where the main reason says all.
    pub sentence: fn(&Found<'_>) -> Option<String>,
    /// That of a step beside what it is measured by; `None` where that is said in other words.
    pub figure: fn(&Row) -> Option<String>,
}

/// Whether a document shows a step.
pub type IsShown = fn(&Row) -> bool;

/// All steps are shown.
pub(crate) fn every(_: &[Row], _: usize) -> IsShown {
    |_| true
}

/// What a run found and what it came to.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Those of known kinds.
    pub steps: &'a [Row],
    /// The step of the main reason, and whether it met what was asked of it.
    pub decided: Option<&'a Row>,
    pub is_met: Option<bool>,
    pub has_failed: bool,
}

/// The report, with as many steps as were finished, and why there are no more, if there are none.
pub type Ran<S> = (Report<S>, Result<(), Abort>);

/// A method with its own plan `P` and its own steps `S`.
#[derive(Debug)]
pub struct Definition<P: 'static, S: 'static> {
    pub method: Method,
    /// Measures what a plan asks for.
    pub run: fn(&P, &mut dyn Testbed) -> Ran<S>,
    /// A step as documents name its figures.
    pub row: fn(&S) -> Row,
    /// Whether the step at this place meets what was asked of it; `None` where nothing was, or where it
    /// could not be seen. Steps whose kind is not judged say it themselves.
    pub is_met: fn(&P, &Report<S>, usize) -> Option<bool>,
}

impl<P, S> Deref for Definition<P, S> {
    type Target = Method;

    fn deref(&self) -> &Method {
        &self.method
    }
}
