//! A quantity and what is known of it.

use fp_model::figure::{Cell, Known};

/// A quantity with the interval in which it is sure to lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub estimate: f64,
    pub at_least: f64,
    pub at_most: f64,
}

/// What is lost of frames at any rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Without an upper end where none was lost: runs of unknown length are seldom seen.
    pub share: Bounds,
    /// Frames that it was counted of.
    pub frames: f64,
}

impl Loss {
    /// The share in percent.
    pub fn percent(&self) -> Bounds {
        self.share.scaled(100.0)
    }
}

impl From<Bounds> for Cell {
    fn from(Bounds { estimate: value, at_least, at_most }: Bounds) -> Self {
        let end = |end: f64| end.is_finite().then_some(end);
        Known { value, at_least: end(at_least), at_most: end(at_most) }.into()
    }
}

impl Bounds {
    pub(crate) const ANYTHING: Self =
        Self { estimate: 0.0, at_least: f64::NEG_INFINITY, at_most: f64::INFINITY };

    pub(crate) const fn exactly(value: f64) -> Self {
        Self { estimate: value, at_least: value, at_most: value }
    }

    /// With the middle as the estimate.
    pub(crate) fn between(at_least: f64, at_most: f64) -> Self {
        Self { estimate: (at_least + at_most) / 2.0, at_least, at_most }
    }

    pub(crate) fn scaled(&self, by: f64) -> Self {
        let Self { estimate, at_least, at_most } = *self;
        Self { estimate: estimate * by, at_least: at_least * by, at_most: at_most * by }
    }

    /// What is up to this much more, or less where that is negative.
    pub(crate) fn shifted_up_to(&self, by: f64) -> Self {
        let Self { estimate, at_least, at_most } = *self;
        Self { estimate, at_least: at_least + by.min(0.0), at_most: at_most + by.max(0.0) }
    }

    /// `of` at a value between the bounds, and the least and the most at their ends: `of` rises or falls
    /// all the way.
    pub(crate) fn through(&self, of: impl Fn(f64) -> f64) -> Self {
        let (one, other) = (of(self.at_least), of(self.at_most));
        Self { estimate: of(self.estimate), at_least: one.min(other), at_most: one.max(other) }
    }

    /// A sum of two quantities.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            estimate: self.estimate + other.estimate,
            at_least: self.at_least + other.at_least,
            at_most: self.at_most + other.at_most,
        }
    }

    /// A product of two positive quantities.
    pub(crate) fn times(&self, by: &Self) -> Self {
        Self {
            estimate: self.estimate * by.estimate,
            at_least: self.at_least * by.at_least,
            at_most: self.at_most * by.at_most,
        }
    }

    /// What holds both.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            estimate: (self.estimate + other.estimate) / 2.0,
            at_least: self.at_least.min(other.at_least),
            at_most: self.at_most.max(other.at_most),
        }
    }

    /// Whether there is nothing that both hold.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        self.at_most < other.at_least || other.at_most < self.at_least
    }

    /// What both hold, or what holds both where they exclude each other.
    pub(crate) fn and(self, other: Self) -> Self {
        let at_least = self.at_least.max(other.at_least);
        let at_most = self.at_most.min(other.at_most);
        if at_least > at_most {
            return self.or(other);
        }
        let narrower = if self.width() < other.width() { self } else { other };
        Self { estimate: narrower.estimate.clamp(at_least, at_most), at_least, at_most }
    }

    /// Relative to the estimate.
    pub(crate) fn width(&self) -> f64 {
        (self.at_most - self.at_least) / self.estimate
    }
}
