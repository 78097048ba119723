//! The shape of a network file, `fullpipe.lab/1`: keys and where their values stand.

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::yaml::{OneOrMore, Short, Text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) lab: Text,
    pub(super) name: Text,
    pub(super) description: Option<String>,
    /// Left out, the near end is where the links begin.
    pub(super) gateway: Option<Spanned<Gateway>>,
    pub(super) links: Spanned<Vec<Link>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Gateway {
    pub(super) nat: Nat,
    pub(super) ports: Option<Text>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Nat {
    Masquerade,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Link {
    pub(super) near_to_far: Spanned<Way>,
    /// Left out, the way back is like the way there.
    pub(super) far_to_near: Option<Spanned<Way>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Way {
    pub(super) line_rate: Option<Text>,
    pub(super) vlan_tags: Option<Text>,
    pub(super) police: Option<Spanned<OneOrMore<Police>>>,
    pub(super) shape: Option<Spanned<OneOrMore<Shape>>>,
    pub(super) delay: Option<Text>,
    pub(super) jitter: Option<Spanned<Short<Jitter>>>,
    pub(super) loss: Option<Spanned<Short<Loss>>>,
    pub(super) reorder: Option<Spanned<Short<Reorder>>>,
    pub(super) duplicate: Option<Text>,
    pub(super) corrupt: Option<Text>,
    pub(super) mtu: Option<Spanned<Short<Mtu>>>,
    pub(super) queue: Option<Spanned<Queue>>,
    pub(super) priority: Option<Spanned<Priority>>,
    pub(super) remark: Option<Spanned<OneOrMore<Remark>>>,
    pub(super) outage: Option<Spanned<Outage>>,
    pub(super) cross: Option<Spanned<OneOrMore<Cross>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Police {
    /// Left out, it is the policer of all classes that have none of their own.
    pub(super) dscp: Option<Spanned<OneOrMore<String>>>,
    pub(super) charge: Option<Charge>,
    pub(super) cir: Text,
    pub(super) cbs: Text,
    pub(super) eir: Option<Text>,
    pub(super) ebs: Option<Text>,
    #[serde(default)]
    pub(super) coupling: bool,
    #[serde(default)]
    pub(super) color_aware: bool,
    pub(super) colors: Option<Spanned<Colors>>,
    pub(super) mark_yellow: Option<Text>,
    pub(super) exceed: Option<Exceed>,
}

/// Which bytes of a frame count, in words as a discovered policer is reported in.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Charge {
    L1,
    L2,
    #[serde(rename = "l2-without-fcs")]
    L2WithoutFcs,
    L3,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Colors {
    pub(super) yellow: Option<Spanned<OneOrMore<String>>>,
    pub(super) red: Option<Spanned<OneOrMore<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Exceed {
    Drop,
    Remark(Text),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shape {
    /// Left out, it is the shaper of all classes that have none of their own.
    pub(super) dscp: Option<Spanned<OneOrMore<String>>>,
    pub(super) rate: Text,
    pub(super) burst: Option<Text>,
    pub(super) queue: Option<Spanned<Queue>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Queue {
    pub(super) bytes: Option<Text>,
    pub(super) packets: Option<Text>,
    pub(super) aqm: Option<Aqm>,
    pub(super) target: Option<Text>,
    pub(super) interval: Option<Text>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Aqm {
    Fifo,
    Codel,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Priority {
    pub(super) strict: Option<Spanned<Vec<Spanned<OneOrMore<String>>>>>,
    pub(super) drr: Option<Spanned<Vec<Spanned<DrrClass>>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DrrClass {
    pub(super) dscp: Spanned<OneOrMore<String>>,
    pub(super) weight: Option<Text>,
    pub(super) quantum: Option<Text>,
}

/// `jitter: 2ms` is `jitter: {uniform: 2ms}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Jitter {
    pub(super) uniform: Option<Text>,
    pub(super) normal: Option<Text>,
    pub(super) keep_order: Option<bool>,
}

/// `loss: 1%` is `loss: {random: 1%}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Loss {
    pub(super) random: Option<Text>,
    pub(super) gilbert_elliott: Option<GilbertElliott>,
    pub(super) every: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GilbertElliott {
    /// From the good state to the bad one.
    pub(super) p: Text,
    /// From the bad state to the good one.
    pub(super) r: Text,
    pub(super) loss_in_good: Option<Text>,
    pub(super) loss_in_bad: Option<Text>,
}

/// `reorder: 1%` is `reorder: {probability: 1%}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reorder {
    pub(super) probability: Text,
    pub(super) hold: Option<Text>,
}

/// `mtu: 1400` is `mtu: {bytes: 1400}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mtu {
    pub(super) bytes: Text,
    pub(super) icmp: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Remark {
    pub(super) from: Option<Spanned<OneOrMore<String>>>,
    pub(super) to: Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outage {
    pub(super) start: Text,
    pub(super) lasts: Text,
    pub(super) every: Option<Text>,
}

/// What others send; which of its keys there are says how.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cross {
    pub(super) rate: Option<Text>,
    pub(super) frame_bytes: Option<Text>,
    pub(super) dscp: Option<Text>,
    pub(super) on: Option<Text>,
    pub(super) off: Option<Text>,
    pub(super) tcp_rtt: Option<Text>,
    pub(super) bytes_per_ms: Option<Spanned<Vec<Text>>>,
}
