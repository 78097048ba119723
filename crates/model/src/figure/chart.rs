//! Drawings of steps, as their kinds define them. Names of fields are those of the kind's columns; words stand
//! beside axes and in legends.

use alloc::string::String;

use super::{Pair, Row};

/// What a kind's steps are drawn as.
#[derive(Clone, Copy, Debug)]
pub enum Chart {
    /// One for each direction.
    Pairs(Pairs),
    /// One for each direction.
    Reached(Reached),
    /// One for each direction.
    Curves(Curves),
    /// One for each direction.
    Estimates(Estimates),
    /// One for each step that has a course.
    Course(Course),
    /// One for each step.
    Followed(Followed),
    /// One for each step.
    Active(Active),
}

/// Pairs of bars: what was possible, and beside it what was reached, in bits per second.
#[derive(Clone, Copy, Debug)]
pub struct Pairs {
    pub caption: &'static str,
    pub layer: &'static str,
    pub possible: &'static str,
    pub reached: &'static str,
    /// What the names below the bars are.
    pub names: &'static str,
    pub of: fn(&Row) -> Option<Pair>,
}

/// A field that is drawn, and the words for it.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    pub field: &'static str,
    pub words: &'static str,
}

/// A point for each step, over the length of frames in bytes: what was reached and, dashed, what was possible.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    pub caption: &'static str,
    pub unit: &'static str,
    pub across: Drawn,
    pub possible: Drawn,
    pub reached: Drawn,
}

/// A curve for each step whose points are parts of it, from the highest rate downwards, with the length of its frames
/// in bytes beside its end.
#[derive(Clone, Copy, Debug)]
pub struct Curves {
    pub caption: &'static str,
    /// The field of the parts.
    pub points: &'static str,
    /// From 0 to 100 %.
    pub across: Drawn,
    pub up: Drawn,
    pub name: &'static str,
}

/// An interval for each step, in bytes, beside what was configured.
#[derive(Clone, Copy, Debug)]
pub struct Estimates {
    pub caption: &'static str,
    pub name: Drawn,
    pub configured: &'static str,
    pub estimate: &'static str,
    /// The field of the plan that says by how many percent an estimate may be off.
    pub tolerance: &'static str,
}

/// Rates, retransmissions, round trips and connections in use over time, by the series of a step.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// What a step is called; `None` of those whose course is not drawn.
    pub name: fn(&Row) -> Option<String>,
    /// How many courses a document shows at most.
    pub most: usize,
    /// The layer at which the series counts bytes.
    pub layer: fn(&Row) -> &'static str,
    /// The rate that a step should have.
    pub ideal: fn(&Row) -> Option<Drawn>,
    /// The smallest RTT without load that any step of the run has, in microseconds.
    pub baseline_us: fn(&[Row]) -> Option<f64>,
}

/// Rates in the intervals of a profile: the target, what was sent and what was received.
#[derive(Clone, Copy, Debug)]
pub struct Followed {
    pub name: fn(&Row) -> String,
    pub intervals: &'static str,
    /// Fields of an interval, in bits per second of payload.
    pub rates: [Drawn; 3],
    pub error: Drawn,
}

/// Connections that were open over time, by the series of a step, beside how many were asked for.
#[derive(Clone, Copy, Debug)]
pub struct Active {
    pub caption: &'static str,
    /// The field of how many were asked for.
    pub target: &'static str,
}
