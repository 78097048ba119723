//! The shape of a services file, `fullpipe.services/1`: keys and where their values stand.

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::yaml::{Short, Text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) schema: Text,
    pub(super) configuration: Option<Spanned<Configuration>>,
    pub(super) performance: Option<Spanned<Performance>>,
    pub(super) services: Spanned<Vec<Spanned<Service>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Configuration {
    pub(super) step_time: Option<Text>,
    pub(super) cir_steps: Option<Spanned<Vec<Text>>>,
    pub(super) policing: Option<Text>,
    pub(super) margin: Option<Text>,
    pub(super) bursts: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Performance {
    pub(super) duration: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Service {
    pub(super) name: Text,
    pub(super) direction: Option<Direction>,
    pub(super) frame_size: Option<Text>,
    pub(super) emix: Option<Spanned<Short<Emix>>>,
    pub(super) vlan_tags: Option<Text>,
    pub(super) dscp: Option<Text>,
    pub(super) dscp_received: Option<Text>,
    pub(super) cir: Text,
    pub(super) cbs: Option<Text>,
    pub(super) eir: Option<Text>,
    pub(super) ebs: Option<Text>,
    pub(super) color_mode: Option<Spanned<ColorMode>>,
    pub(super) yellow_dscp: Option<Text>,
    pub(super) criteria: Option<Spanned<Criteria>>,
    pub(super) tcp: Option<Spanned<Tcp>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Direction {
    Download,
    Upload,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ColorMode {
    Blind,
    Aware,
}

/// `emix: abceg` is `emix: {sequence: abceg}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Emix {
    pub(super) sequence: Text,
    /// What the letter h stands for.
    pub(super) mtu: Option<Text>,
    /// What the letter u stands for.
    pub(super) user: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Criteria {
    pub(super) flr: Text,
    pub(super) ftd: Option<Text>,
    pub(super) fdv: Option<Text>,
    pub(super) availability: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tcp {
    pub(super) connections: Option<Text>,
    pub(super) window: Option<Text>,
    pub(super) throughput: Option<Text>,
}
