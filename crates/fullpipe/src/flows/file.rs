//! The shape of a flows file, `fullpipe.flows/1`: keys and where their values stand.

use fp_model::{CongestionControl, Family};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::wanted::Engine;
use crate::yaml::{OneOrMore, Text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) schema: Text,
    pub(super) flows: Spanned<Vec<Spanned<Flow>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Flow {
    pub(super) name: Text,
    pub(super) class: Option<Text>,
    pub(super) transport: Option<Transport>,
    pub(super) direction: Option<Direction>,
    pub(super) family: Option<Family>,
    pub(super) dscp: Option<Text>,
    pub(super) ecn: Option<Spanned<Ecn>>,
    pub(super) near_port: Option<Text>,
    pub(super) begins: Option<Text>,
    /// Connections, or streams of packets.
    pub(super) streams: Option<Text>,
    pub(super) rate: Option<Text>,
    pub(super) pps: Option<Text>,
    pub(super) payload: Option<Spanned<OneOrMore<String>>>,
    pub(super) imix: Option<Text>,
    pub(super) window: Option<Text>,
    pub(super) mss: Option<Text>,
    pub(super) congestion: Option<Spanned<CongestionControl>>,
    pub(super) pacing: Option<Text>,
    pub(super) bytes: Option<Text>,
    /// What a TCP application writes at a time.
    pub(super) write: Option<Text>,
    pub(super) engine: Option<Spanned<Engine>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Transport {
    Tcp,
    Udp,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Direction {
    Download,
    Upload,
    Both,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ecn {
    Ect0,
    Ect1,
}
