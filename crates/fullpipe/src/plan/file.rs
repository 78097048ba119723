//! The shape of a plan file, `fullpipe.plan/1`: keys and where their values stand.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::Node;
use crate::yaml::Text;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub(super) plan: Text,
    pub(super) name: Option<Text>,
    pub(super) far: Option<Text>,
    pub(super) lab: Option<Text>,
    pub(super) sim: Option<Text>,
    pub(super) variables: Option<Spanned<Node>>,
    /// Their keys are those of a test and the names of commands.
    pub(super) tests: Spanned<Vec<Spanned<Node>>>,
    pub(super) schedule: Option<Spanned<Schedule>>,
    pub(super) stop_on_fail: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Schedule {
    pub(super) every: Text,
    pub(super) times: Text,
}
