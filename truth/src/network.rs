//! A network whose truth is known, and the lab file that brings it up again.

use std::time::Duration;

use fp_model::{Direction, Family, Rate};
use fp_net::meter::Coupling;
use fp_net::path::{
    Aqm, Charge, CrossPattern, CrossSpec, FrameOrder, JitterDistribution, JitterSpec, LinkSpec,
    LossSpec, MtuSpec, PathSpec, PoliceSpec, Probability, QueueLimit, QueueSpec, ReorderSpec,
    ShapeSpec, TooBigAnswer,
};
use fp_net::sim::{Severity, Trouble};
use serde_json::{Map, Value, json};

use crate::method::Method;
use crate::routers::{self, Routers};

/// One network, drawn or fixed.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) path: PathSpec,
    pub(crate) family: Family,
    /// Of everything that the simulator draws by chance.
    pub(crate) seed: u64,
    pub(crate) trouble: Option<HostTroubles>,
    /// The kernel's, in real time, instead of the simulator.
    pub(crate) routers: Option<Routers>,
    /// What the verdict of `test` has to be, where more is known than [`crate::verdict`] derives.
    pub(crate) passes: Option<bool>,
    /// Methods that a fixed network is for; all of them if it names none.
    pub(crate) methods: &'static [Method],
}

/// Both hosts are busy with something else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostTroubles {
    pub(crate) severity: Severity,
    pub(crate) seed: u64,
}

impl HostTroubles {
    pub(crate) fn of_hosts(self) -> Trouble {
        Trouble::drawn(self.seed, self.severity)
    }
}

impl Network {
    /// Two ends with these links between them, in the order in which frames of each direction meet
    /// them.
    pub(crate) fn new(name: String, download: Vec<LinkSpec>, upload: Vec<LinkSpec>) -> Self {
        assert_eq!(download.len(), upload.len(), "a link has two directions");
        let path = PathSpec {
            name,
            description: String::new(),
            near_to_far: upload,
            far_to_near: download,
            gateway: None,
        };
        let (family, seed) = (Family::Ipv4, 1);
        Self { path, family, seed, trouble: None, routers: None, passes: None, methods: &[] }
    }

    /// The links in the order in which frames of this direction meet them.
    pub(crate) fn links(&self, direction: Direction) -> &[LinkSpec] {
        match direction {
            Direction::Download => &self.path.far_to_near,
            Direction::Upload => &self.path.near_to_far,
        }
    }

    pub(crate) fn all_links(&self) -> impl Iterator<Item = &LinkSpec> {
        self.path.near_to_far.iter().chain(&self.path.far_to_near)
    }

    /// What the shapers of its links charge.
    pub(crate) const fn shapers_charge(&self) -> Charge {
        if self.routers.is_some() { routers::SHAPERS_CHARGE } else { Charge::L2 }
    }

    /// The name and the text of a file that brings it up again.
    pub(crate) fn file(&self) -> (String, String) {
        let name = &self.path.name;
        match &self.routers {
            Some(routers) => (format!("{name}.sh"), routers.script(self.family)),
            None => (format!("{name}.yaml"), self.lab_file()),
        }
    }

    /// A file that `fullpipe sim` and `fullpipe --lab` read. JSON is YAML. Troubles of the hosts are
    /// no part of a network and stand in no file.
    pub(crate) fn lab_file(&self) -> String {
        let back = self.path.far_to_near.iter().rev();
        let links = self.path.near_to_far.iter().zip(back);
        let links = links.map(|(there, back)| {
            format!("  - near_to_far: {}\n    far_to_near: {}\n", way(there), way(back))
        });
        let Self { path, seed, .. } = self;
        let family = match self.family {
            Family::Ipv4 => "-4",
            Family::Ipv6 => "-6",
        };
        format!(
            "# fullpipe sim THIS_FILE METHOD --seed {seed} {family}\n\
             lab: fullpipe.lab/1\nname: {}\nlinks:\n{}",
            path.name,
            links.collect::<String>()
        )
    }

    /// Both directions in one line, for people; the second one where it differs.
    pub(crate) fn described(&self) -> String {
        let [down, up] = [Direction::Download, Direction::Upload].map(|direction| {
            self.links(direction).iter().map(described).collect::<Vec<_>>().join(" → ")
        });
        let ways = if down == up { down } else { format!("down {down} | up {up}") };
        let family = if self.family == Family::Ipv6 { "; IPv6" } else { "" };
        let trouble = match self.trouble.map(|trouble| trouble.severity) {
            Some(Severity::Mild) => "; hosts mildly troubled",
            Some(Severity::Heavy) => "; hosts heavily troubled",
            None => "",
        };
        format!("{ways}{family}{trouble}")
    }
}

/// One direction of a link with the keys of a lab file.
fn way(link: &LinkSpec) -> Value {
    let LinkSpec {
        line_rate,
        vlan_tags,
        police,
        shape,
        delay,
        jitter,
        loss,
        reorder,
        duplicate,
        corrupt,
        mtu,
        queue,
        cross,
        ..
    } = link;
    let mut keys = Map::new();
    let mut add = |key: &str, value: Option<Value>| {
        keys.extend(value.map(|value| (key.to_owned(), value)));
    };
    add("line_rate", line_rate.map(|rate| json!(rate.as_bps())));
    add("vlan_tags", (*vlan_tags > 0).then(|| json!(vlan_tags)));
    add("queue", queue.map(self::queue));
    add("police", police.as_ref().map(self::police));
    add("loss", loss.map(self::loss));
    add("corrupt", corrupt.map(share));
    add("duplicate", duplicate.map(share));
    add("shape", shape.as_ref().map(self::shape));
    add("delay", Some(time(*delay)));
    add("jitter", jitter.map(self::jitter));
    add("reorder", reorder.map(self::reorder));
    add("mtu", mtu.map(self::mtu));
    add("cross", (!cross.is_empty()).then(|| cross.iter().map(crossing).collect()));
    Value::Object(keys)
}

fn queue(queue: QueueSpec) -> Value {
    let mut keys = match queue.limit {
        QueueLimit::Bytes(bytes) => json!({"bytes": bytes}),
        QueueLimit::Packets(packets) => json!({"packets": packets}),
    };
    if let Aqm::CoDel { target, interval } = queue.aqm {
        keys["aqm"] = json!("codel");
        keys["target"] = time(target);
        keys["interval"] = time(interval);
    }
    keys
}

fn police(police: &PoliceSpec) -> Value {
    let profile = &police.profile;
    let mut keys = json!({
        "cir": profile.cir_l2.as_bps(),
        "cbs": profile.cbs_bytes,
        "eir": profile.eir_l2.as_bps(),
        "ebs": profile.ebs_bytes,
        "charge": match police.charge {
            Charge::L1 => "l1",
            Charge::L2 => "l2",
            Charge::L2WithoutFcs => "l2-without-fcs",
            Charge::L3 => "l3",
        },
    });
    if profile.coupling == Coupling::Coupled {
        keys["coupling"] = json!(true);
    }
    if let Some(dscp) = police.mark_yellow {
        keys["mark_yellow"] = json!(dscp.code_point());
    }
    keys
}

fn shape(shape: &ShapeSpec) -> Value {
    json!({
        "rate": shape.rate.as_bps(),
        "burst": shape.burst_bytes,
        "queue": queue(shape.queue),
    })
}

fn jitter(jitter: JitterSpec) -> Value {
    let (key, scale) = match jitter.distribution {
        JitterDistribution::Uniform(most) => ("uniform", most),
        JitterDistribution::Normal(sigma) => ("normal", sigma),
    };
    json!({key: time(scale), "keep_order": jitter.order == FrameOrder::Kept})
}

fn loss(loss: LossSpec) -> Value {
    match loss {
        LossSpec::Random(probability) => json!({"random": share(probability)}),
        LossSpec::Every(every) => json!({"every": every}),
        LossSpec::GilbertElliott(chain) => json!({"gilbert_elliott": {
            "p": share(chain.to_bad),
            "r": share(chain.to_good),
            "loss_in_good": share(chain.loss_in_good),
            "loss_in_bad": share(chain.loss_in_bad),
        }}),
    }
}

fn reorder(reorder: ReorderSpec) -> Value {
    json!({"probability": share(reorder.probability), "hold": time(reorder.hold)})
}

fn mtu(mtu: MtuSpec) -> Value {
    json!({"bytes": mtu.bytes, "icmp": mtu.too_big == TooBigAnswer::Icmp})
}

fn crossing(cross: &CrossSpec) -> Value {
    let mut keys = match &cross.pattern {
        CrossPattern::Constant => json!({}),
        CrossPattern::OnOff { on, off } => json!({"on": time(*on), "off": time(*off)}),
        CrossPattern::Tcp { rtt } => json!({"tcp_rtt": time(*rtt)}),
        CrossPattern::Replayed { bytes } => json!({"bytes_per_ms": bytes}),
    };
    if cross.rate_l2 > Rate::ZERO {
        keys["rate"] = json!(cross.rate_l2.as_bps());
    }
    keys["frame_bytes"] = json!(cross.frame_bytes);
    keys
}

/// To the last digit, and without an exponent.
fn share(probability: Probability) -> Value {
    json!(format!("{}", probability.as_f64()))
}

fn time(time: Duration) -> Value {
    json!(format!("{}ns", time.as_nanos()))
}

/// A link in the fewest words.
fn described(link: &LinkSpec) -> String {
    let mut words = Vec::new();
    if let Some(rate) = link.line_rate {
        words.push(format!("line {}", si(rate.as_bps() as f64)));
        words.extend(link.queue.map(|queue| queued(&queue)));
    }
    if link.vlan_tags > 0 {
        words.push(format!("tagged {}", link.vlan_tags));
    }
    if let Some(PoliceSpec { profile, charge, .. }) = &link.police {
        let (cir, cbs) = (profile.cir_l2.as_bps() as f64, profile.cbs_bytes as f64);
        words.push(format!("policer {}/{}B@{charge:?}", si(cir), si(cbs)));
        if profile.eir_l2.as_bps() > 0 {
            let (eir, ebs) = (profile.eir_l2.as_bps() as f64, profile.ebs_bytes as f64);
            let coupled = if profile.coupling == Coupling::Coupled { " coupled" } else { "" };
            words.push(format!("+{}/{}B{coupled}", si(eir), si(ebs)));
        }
    }
    words.extend(link.loss.map(|loss| match loss {
        LossSpec::Random(share) => format!("loss {}", percent(share.as_f64())),
        LossSpec::Every(every) => format!("loss of each {every}th"),
        LossSpec::GilbertElliott(chain) => format!(
            "bursty loss {} by {:.0}",
            percent(chain.mean_loss()),
            1.0 / chain.to_good.as_f64()
        ),
    }));
    words.extend(link.corrupt.map(|share| format!("corrupt {}", percent(share.as_f64()))));
    words.extend(link.duplicate.map(|share| format!("dup {}", percent(share.as_f64()))));
    if let Some(shape) = &link.shape {
        let (rate, burst) = (shape.rate.as_bps() as f64, shape.burst_bytes as f64);
        words.push(format!("shaper {}/{}B {}", si(rate), si(burst), queued(&shape.queue)));
    }
    words.push(format!("{:.3}ms", link.delay.as_secs_f64() * 1e3));
    words.extend(link.jitter.map(|jitter| {
        let (name, scale) = match jitter.distribution {
            JitterDistribution::Uniform(most) => ("±", most),
            JitterDistribution::Normal(sigma) => ("σ", sigma),
        };
        let order = if jitter.order == FrameOrder::Kept { "" } else { " reordering" };
        format!("{name}{:.3}ms{order}", scale.as_secs_f64() * 1e3)
    }));
    words.extend(link.reorder.map(|reorder| {
        let hold_ms = reorder.hold.as_secs_f64() * 1e3;
        format!("reorder {} by {hold_ms:.1}ms", percent(reorder.probability.as_f64()))
    }));
    words.extend(link.mtu.map(|mtu| {
        let silent = if mtu.too_big == TooBigAnswer::Silence { " silent" } else { "" };
        format!("mtu {}{silent}", mtu.bytes)
    }));
    words.extend(link.cross.iter().map(|cross| {
        let rate = si(cross.rate_l2.as_bps() as f64);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let how = match &cross.pattern {
            CrossPattern::Constant => rate,
            CrossPattern::OnOff { on, off } => format!("{rate} {:.1}:{:.1}ms", ms(*on), ms(*off)),
            CrossPattern::Tcp { rtt } => format!("{rate} tcp {:.1}ms", ms(*rtt)),
            CrossPattern::Replayed { bytes } => {
                let mean = bytes.iter().map(|bytes| f64::from(*bytes)).sum::<f64>() * 8e3;
                format!("{} replayed", si(mean / bytes.len() as f64))
            }
        };
        format!("crossed by {how} {}B", cross.frame_bytes)
    }));
    words.join(" ")
}

fn queued(queue: &QueueSpec) -> String {
    let limit = match queue.limit {
        QueueLimit::Bytes(bytes) => format!("{}B", si(bytes as f64)),
        QueueLimit::Packets(packets) => format!("{packets}p"),
    };
    let aqm = if queue.aqm == Aqm::Fifo { "" } else { " codel" };
    format!("[{limit}{aqm}]")
}

fn percent(share: f64) -> String {
    format!("{:.3}%", 100.0 * share)
}

/// Three decimals and a decimal prefix.
pub(crate) fn si(value: f64) -> String {
    let (scaled, prefix) = match value {
        value if value.is_infinite() => (value, ""),
        value if value.abs() >= 1e9 => (value / 1e9, "G"),
        value if value.abs() >= 1e6 => (value / 1e6, "M"),
        value if value.abs() >= 1e3 => (value / 1e3, "k"),
        value => (value, ""),
    };
    format!("{scaled:.3}{prefix}")
}
