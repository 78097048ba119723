//! What a user orders: a method, across what, with which options.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A run that is wanted.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The command, such as `burst`.
    pub method: String,
    pub target: Target,
    #[serde(default)]
    pub options: Vec<OrderOption>,
    /// What the user calls the run by: site, circuit, technician, order, label.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// Across what a run is made.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Target {
    /// HOST[:PORT] of a far end, and its secret.
    Far {
        address: String,
        #[serde(default)]
        key: String,
    },
    /// An emulated network, built in or as it is written.
    Lab { network: Option<String>, yaml: Option<String> },
    /// The same in virtual time.
    Sim { network: Option<String>, yaml: Option<String> },
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Far { address, .. } => f.debug_tuple("Far").field(address).finish(),
            Self::Lab { network, .. } => f.debug_tuple("Lab").field(network).finish(),
            Self::Sim { network, .. } => f.debug_tuple("Sim").field(network).finish(),
        }
    }
}

/// An option with its value; that of a switch is `true`.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OrderOption {
    pub name: String,
    pub value: String,
}

/// An order that can be carried out.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Checked {
    /// As one would type it.
    pub command: String,
    pub at_least_s: f64,
    /// `None` where the network decides it.
    pub at_most_bytes: Option<u64>,
    /// What is offered to the network over time, as far as that is known before.
    pub load: Option<Vec<OfferedLoad>>,
    /// The words of the command line, without the program's name.
    #[serde(skip)]
    pub words: Vec<String>,
}

/// The rate at which a flow is offered.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct OfferedLoad {
    pub flow: String,
    /// Seconds since the start, bits a second; in between it holds.
    pub points: Vec<(f64, f64)>,
}
