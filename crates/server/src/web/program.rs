//! What the program around this tells of itself: its commands, its networks, its history.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use fp_report::{Stored, Words};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Checked, House, Order};

/// The program that the interface is for.
#[derive(Debug)]
pub struct Program {
    pub version: String,
    pub host: String,
    /// The folder of the history; `None` keeps none.
    pub history: Option<PathBuf>,
    pub forms: Vec<Form>,
    pub networks: Vec<Network>,
    /// What a network file says, or what is wrong with it and where.
    pub read_network: fn(&str) -> Result<serde_json::Value, String>,
    /// The command line of an order, or what is wrong with it.
    pub check: fn(&Order) -> Result<Checked, String>,
    /// Other runs of the same as two that are compared, for the noise.
    pub repeats: fn(&Stored, &Stored) -> Vec<Stored>,
    /// RFC 3339, UTC.
    pub now: fn() -> String,
}

/// A command that measures, with its options.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Form {
    pub name: String,
    pub title: String,
    pub about: String,
    pub can_simulate: bool,
    pub groups: Vec<FormGroup>,
}

/// Options under one heading.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FormGroup {
    pub heading: Option<String>,
    pub options: Vec<FormOption>,
}

/// One option of a command.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FormOption {
    pub name: String,
    /// As on a command line.
    pub flag: String,
    /// `None` of a switch.
    pub value_name: Option<String>,
    pub help: String,
    pub default: Option<String>,
    pub choices: Vec<String>,
    /// May be given more than once.
    pub many: bool,
    pub positional: bool,
    pub required: bool,
}

/// A built-in network.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Network {
    pub name: String,
    pub description: String,
    pub yaml: String,
    /// What the file says: a list of links for each direction.
    #[schema(value_type = Object)]
    pub path: serde_json::Value,
}

/// Of this server.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct About {
    version: String,
    host: String,
    keeps_history: bool,
    /// `methods`, each with `name` and `title`, and `verdicts`, each with `name`, `tone`, `word` and `sentence`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    words: Words,
}

#[utoipa::path(get, path = "/api/v1/about", responses((status = 200, body = About)))]
pub(super) async fn about(State(house): State<House>) -> Json<About> {
    let Program { version, host, history, .. } = &*house.program;
    let (version, host) = (version.clone(), host.clone());
    Json(About { version, host, keeps_history: history.is_some(), words: fp_report::words() })
}

/// The commands that measure, each with its options.
#[utoipa::path(get, path = "/api/v1/methods", responses((status = 200, body = [Form])))]
pub(super) async fn methods(State(house): State<House>) -> Json<Vec<Form>> {
    Json(house.program.forms.clone())
}
