//! What was asked of a run of very many connections.

use fp_model::Rate;

use crate::document::Fact;
use crate::stored::fields::Fields;
use crate::text::{grouped, rate, unknown};

pub(super) const TOLD: [&str; 2] = ["load", "settle_s"];

pub(super) fn facts(plan: Fields<'_>) -> Vec<Fact> {
    let load = plan.inside("load");
    let stages: Vec<String> = load.each("stages").map(stage).collect();
    let mix: Vec<String> = load.each("mix").map(share).collect();
    let addresses = load.inside("addresses");
    let mut facts = vec![
        Fact::new("Connections", stages.join(", then ")),
        Fact::new("Each", mix.join(", ")),
        Fact::new("Clients", side(addresses, "clients", "client_ports")),
        Fact::new("Servers", side(addresses, "servers", "server_ports")),
        Fact::new("Closed by", load.word("close").to_uppercase()),
        Fact::new("Segments", format!("up to {} bytes", load.grouped("mss_bytes"))),
        Fact::new("Window", format!("{} bytes", load.grouped("window_bytes"))),
    ];
    if load.number("setup_rate_max_cps").is_some() {
        let text = format!("up to {} connections/s", load.grouped("setup_rate_max_cps"));
        facts.push(Fact::new("Set up", text));
    }
    if load.number("lifetime_ns").is_some() {
        facts.push(Fact::new("Lifetime", seconds(load, "lifetime_ns")));
    }
    if load.word("ports") == "af-xdp" {
        facts.push(Fact::new("Packet I/O", "AF_XDP at both ends"));
    }
    if addresses.flag("translated") == Some(true) {
        facts.push(Fact::new("Translated", "the clients have other addresses at the servers"));
    }
    facts
}

fn stage(stage: Fields<'_>) -> String {
    format!("{} within {}", stage.grouped("connections"), seconds(stage, "lasts_ns"))
}

fn seconds(fields: Fields<'_>, field: &str) -> String {
    fields.number(field).map_or_else(unknown, |nanos| format!("{} s", nanos / 1e9))
}

fn share(share: Fields<'_>) -> String {
    let behaviour = share.inside("behaviour");
    let what = match behaviour.word("kind") {
        "hold" => String::from("idle"),
        "transaction" => format!(
            "transaction of {} and {} bytes, {} to think",
            behaviour.grouped("request_bytes"),
            behaviour.grouped("response_bytes"),
            seconds(behaviour, "think_ns")
        ),
        kind => match behaviour.count("rate_bps") {
            Some(bps) => format!("{kind} at {}", rate(Rate::bps(bps))),
            None => kind.to_owned(),
        },
    };
    format!("{} {what}", share.count("weight").map_or_else(String::new, grouped))
}

fn side(addresses: Fields<'_>, hosts: &str, ports: &str) -> String {
    let (range, ports) = (addresses.inside(hosts), addresses.inside(ports));
    let [first, last] =
        ["first", "last"].map(|field| ports.count(field).unwrap_or_default().to_string());
    let ports = if first == last { first } else { format!("{first}-{last}") };
    format!(
        "{} of {}/{}, port {ports}",
        range.grouped("count"),
        range.word("network"),
        range.grouped("prefix_bits")
    )
}
