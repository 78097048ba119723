//! The shell script that makes a network of the kernel's and runs a command of `fullpipe` across it.

use std::fmt::Write as _;

use fp_model::Family;
use fp_net::path::QueueLimit;

use super::{Hop, Routers, Rule, Segmentation};

/// Makes what is needed in namespaces of its own and leaves nothing behind: what it mounts and makes goes
/// with the namespaces that it is started in.
const HEAD: &str = "\
# unshare --net --mount sh THIS_FILE FULLPIPE test
# Without root: unshare --net --mount --user --map-root-user sh THIS_FILE FULLPIPE test
set -eu
fullpipe=$1
shift
mount -t tmpfs run /run
mkdir /run/netns
";

/// Starts the far end and the command, which is told where the far end is.
const TAIL: &str = "\
ip netns exec far \"$fullpipe\" serve --listen \"$far\" --quiet >/run/pairing &
server=$!
trap 'kill $server' EXIT
until grep -q fp: /run/pairing; do kill -0 $server; sleep 0.05; done
ip netns exec near \"$fullpipe\" \"$@\" \"$(cat /run/pairing)\"
";

impl Routers {
    /// The text of the script.
    pub(crate) fn script(&self, family: Family) -> String {
        let Self { hops, segmentation } = self;
        let names: Vec<String> = (1..=hops.len()).map(|hop| format!("router{hop}")).collect();
        let names: Vec<&str> =
            ["near"].into_iter().chain(names.iter().map(String::as_str)).chain(["far"]).collect();
        let mut lines = Vec::new();
        for name in &names {
            lines.push(format!("ip netns add {name}"));
            lines.push(format!("ip -n {name} link set lo up"));
        }
        for (cable, ends) in names.windows(2).enumerate() {
            let mtu_bytes = cable.checked_sub(1).and_then(|hop| hops[hop].mtu_bytes);
            lines.extend(plugged(family, cable, [ends[0], ends[1]], mtu_bytes));
        }
        lines.extend(routes(family, &names));
        if *segmentation == Segmentation::AtTheEnds {
            lines.push("ip -n near link set dev right gso_max_segs 1".into());
            lines.push("ip -n far link set dev left gso_max_segs 1".into());
        }
        for (hop, name) in hops.iter().zip(&names[1..]) {
            lines.extend(rules(hop).into_iter().map(|rule| format!("ip netns exec {name} {rule}")));
        }
        let far = match family {
            Family::Ipv4 => format!("far={}:6349", address(family, hops.len(), 2)),
            Family::Ipv6 => format!("far=[{}]:6349", address(family, hops.len(), 2)),
        };
        lines.push(far);
        format!("{HEAD}{}\n{TAIL}", lines.join("\n"))
    }
}

/// A cable from the right of one namespace to the left of the next.
fn plugged(
    family: Family,
    cable: usize,
    [left, right]: [&str; 2],
    mtu_bytes: Option<u32>,
) -> Vec<String> {
    let mut lines =
        vec![format!("ip -n {left} link add right type veth peer name left netns {right}")];
    for (name, interface, end) in [(left, "right", 1), (right, "left", 2)] {
        lines.extend(
            mtu_bytes.map(|bytes| format!("ip -n {name} link set {interface} mtu {bytes}")),
        );
        let held = match family {
            Family::Ipv4 => format!("{}/24", address(family, cable, end)),
            Family::Ipv6 => format!("{}/64 nodad", address(family, cable, end)),
        };
        lines.push(format!("ip -n {name} addr add {held} dev {interface}"));
        lines.push(format!("ip -n {name} link set {interface} up"));
    }
    lines
}

/// The address at an end of a cable: `end` is 1 at the left and 2 at the right one.
fn address(family: Family, cable: usize, end: u32) -> String {
    match family {
        Family::Ipv4 => format!("10.77.{cable}.{end}"),
        Family::Ipv6 => format!("fd77:{cable}::{end}"),
    }
}

/// To each cable that a namespace has no end of, by the neighbour on that side.
fn routes(family: Family, names: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    let [option, bits] = match family {
        Family::Ipv4 => ["-4", "0/24"],
        Family::Ipv6 => ["-6", "/64"],
    };
    let cables = names.len() - 1;
    for (place, name) in names.iter().enumerate() {
        for cable in 0..cables {
            let via = match place {
                _ if cable + 1 < place => address(family, place - 1, 1),
                _ if cable > place => address(family, place, 2),
                _ => continue,
            };
            let network = match family {
                Family::Ipv4 => format!("10.77.{cable}.{bits}"),
                Family::Ipv6 => format!("fd77:{cable}::{bits}"),
            };
            lines.push(format!("ip {option} -n {name} route add {network} via {via}"));
        }
        if place > 0 && place < cables {
            let key = match family {
                Family::Ipv4 => "/proc/sys/net/ipv4/ip_forward",
                Family::Ipv6 => "/proc/sys/net/ipv6/conf/all/forwarding",
            };
            lines.push(format!("ip netns exec {name} sh -c 'echo 1 >{key}'"));
        }
    }
    lines
}

/// The commands of one router.
fn rules(hop: &Hop) -> Vec<String> {
    let mut lines = vec![
        "nft add table inet path".to_owned(),
        "nft 'add chain inet path forward { type filter hook forward priority 0; }'".to_owned(),
    ];
    for (rules, from, to) in [(&hop.to_far, "left", "right"), (&hop.to_near, "right", "left")] {
        lines.extend(rules.iter().map(|rule| command(*rule, from, to)));
    }
    lines
}

/// What is forwarded from one interface to the other.
fn command(rule: Rule, from: &str, to: &str) -> String {
    let drops = |what: String| format!("nft add rule inet path forward iifname {from} {what} drop");
    match rule {
        Rule::Limit { bytes_per_s, burst_bytes } => {
            drops(format!("limit rate over {bytes_per_s} bytes/second burst {burst_bytes} bytes"))
        }
        Rule::LoseRandomly { one_in } => drops(format!("numgen random mod {one_in} 0")),
        Rule::LoseEach { one_in } => drops(format!("numgen inc mod {one_in} 0")),
        Rule::Tbf { kbps, burst_bytes, latency_ms } => format!(
            "tc qdisc add dev {to} root tbf rate {kbps}kbit burst {burst_bytes} latency {latency_ms}ms"
        ),
        Rule::Htb { kbps, burst_bytes, queue } => {
            let mut lines = format!("sh -ec 'tc qdisc add dev {to} root handle 1: htb default 1\n");
            // Writing to a string does not fail.
            let _ = writeln!(
                lines,
                "tc class add dev {to} parent 1: classid 1:1 htb rate {kbps}kbit ceil {kbps}kbit \
                 burst {burst_bytes} cburst {burst_bytes} quantum 1514"
            );
            let queue = match queue {
                QueueLimit::Bytes(bytes) => format!("bfifo limit {bytes}"),
                QueueLimit::Packets(packets) => format!("pfifo limit {packets}"),
            };
            let _ = write!(lines, "tc qdisc add dev {to} parent 1:1 {queue}'");
            lines
        }
    }
}
