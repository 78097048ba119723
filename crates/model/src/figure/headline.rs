//! The one figure that stands for a run in a list.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;

use super::Unit;

/// A figure with what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    pub name: String,
    pub value: f64,
    /// One of [`BITS`](Self::BITS), [`BYTES`](Self::BYTES) and [`CONNECTIONS`](Self::CONNECTIONS), or one of a later
    /// version.
    pub unit: String,
}

impl Headline {
    /// Bits per second, of the layer that stands in the name.
    pub const BITS: &'static str = "bit/s";
    pub const BYTES: &'static str = "bytes";
    pub const CONNECTIONS: &'static str = "connections";

    pub fn new(name: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { name: name.into(), value, unit: unit.to_owned() }
    }

    /// The value in the unit that suits it.
    pub fn shown(&self) -> String {
        let value = self.value.max(0.0);
        match self.unit.as_str() {
            Self::BITS => Unit::Rate.shown(value),
            Self::BYTES => Unit::Bytes.shown(value),
            Self::CONNECTIONS => format!("{} connections", Unit::Count.shown(value)),
            unit => format!("{:.2} {unit}", self.value),
        }
    }

    /// With its name in front.
    pub fn named(&self) -> String {
        format!("{} {}", self.name, self.shown())
    }
}
