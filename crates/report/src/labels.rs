//! What the user calls a run by: free fields that the certificate shows and the history is searched
//! by.

use serde::{Deserialize, Serialize};

/// Each as the user wrote it; unknown where it was not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Labels {
    pub site: Option<String>,
    pub circuit: Option<String>,
    pub technician: Option<String>,
    pub order: Option<String>,
    pub label: Option<String>,
}

impl Labels {
    /// Their names, in the order in which [`Labels::each`] has them.
    pub const NAMES: [&'static str; 5] = ["site", "circuit", "technician", "order", "label"];

    pub const fn each(&self) -> [&Option<String>; Self::NAMES.len()] {
        [&self.site, &self.circuit, &self.technician, &self.order, &self.label]
    }

    /// These, and where they say nothing, those of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            site: self.site.or(other.site),
            circuit: self.circuit.or(other.circuit),
            technician: self.technician.or(other.technician),
            order: self.order.or(other.order),
            label: self.label.or(other.label),
        }
    }
}
