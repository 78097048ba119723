//! A run of flows on a certificate: each flow, its rates by layer, its course, the profile.

use super::{named, of_steps, table};
use crate::chart::{HALF, WHOLE, course, profile};
use crate::document::{Block, Cell, Figure, Table, columns};
use crate::stored::fields::Fields;
use crate::text::{flow::percent, grouped, unknown};

/// As on the screen: with more flows only classes and sums are shown.
const ROWS_MAX: usize = 64;
const COURSES_MAX: usize = 6;

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let flows = shown(&named(steps, "flow"));
    let of = |transport: &str| -> Vec<Fields<'_>> {
        flows.iter().copied().filter(|flow| flow.word("transport") == transport).collect()
    };
    let mut blocks = Vec::new();
    blocks.extend(of_steps(&of("tcp"), tcp));
    blocks.extend(of_steps(&of("udp"), udp));
    blocks.extend(table(by_layer(&flows)));
    let profiles = named(steps, "profile");
    let figures: Vec<Figure> = profiles.iter().filter_map(|step| profile::figure(*step)).collect();
    if !figures.is_empty() {
        blocks.extend(table(tracking(&profiles)));
        blocks.push(Block::Figures(figures));
    }
    // One alone has the whole width.
    let width = if flows.len() == 1 { WHOLE } else { HALF };
    let figures: Vec<Figure> = flows
        .iter()
        .take(COURSES_MAX)
        .filter_map(|flow| {
            let name = format!("{}, {}", flow.word("flow"), flow.word("direction"));
            course::figure(&name, *flow, &course::Asked::default(), width)
        })
        .collect();
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    blocks
}

/// Classes in place of their flows, sums last.
fn shown<'a>(flows: &[Fields<'a>]) -> Vec<Fields<'a>> {
    let has_classes = flows.iter().any(|flow| flow.word("part") == "class");
    let single = flows.iter().filter(|flow| flow.word("part") == "flow").count();
    let is_row = |flow: &Fields<'_>| match flow.word("part") {
        "flow" => single <= ROWS_MAX && (!has_classes || flow.word("class").is_empty()),
        _ => true,
    };
    flows.iter().copied().filter(is_row).collect()
}

fn bytes(fields: Fields<'_>, field: &str) -> String {
    fields.count(field).map_or_else(unknown, crate::text::amount)
}

fn tcp(flows: &[Fields<'_>]) -> Table {
    let row = |flow: &Fields<'_>| {
        let cells = [
            flow.word("flow").to_owned(),
            flow.word("direction").to_owned(),
            flow.grouped("streams"),
            bytes(*flow, "sent_payload_bytes"),
            flow.inside("sent_rates").rate("l4_bps"),
            bytes(*flow, "payload_bytes"),
            flow.rate("rate_bps"),
            bytes(*flow, "retransmitted_bytes"),
            flow.milliseconds("rtt_mean_ms"),
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: String::from("TCP"),
        columns: columns(&[
            "flow",
            "direction",
            ">connections",
            ">sent",
            ">rate sent (l4)",
            ">received",
            ">rate received (l4)",
            ">retransmitted",
            ">RTT",
        ]),
        rows: flows.iter().map(row).collect(),
        note: None,
    }
}

fn udp(flows: &[Fields<'_>]) -> Table {
    let row = |flow: &Fields<'_>| {
        let marks = match (flow.count("dscp_sent"), flow.count("dscp_received")) {
            (Some(sent), Some(received)) => format!("{sent} / {received}"),
            (Some(sent), None) => format!("{sent} / –"),
            (None, _) => unknown(),
        };
        let delay = flow.inside("one_way_delay");
        let delay = match delay.number("mean_us") {
            Some(mean) if Some(mean) < delay.number("error_us") => {
                delay.one_way("mean_us", "error_us")
            }
            Some(_) => {
                format!("{} ± {}", delay.microseconds("mean_us"), delay.microseconds("error_us"))
            }
            None => unknown(),
        };
        let cells = [
            flow.word("flow").to_owned(),
            flow.word("direction").to_owned(),
            flow.grouped("sent_packets"),
            flow.grouped("packets"),
            flow.rate("rate_bps"),
            flow.number("loss_percent").map_or_else(unknown, percent),
            flow.count("out_of_order").map_or_else(unknown, grouped),
            flow.microseconds("jitter_us"),
            delay,
            marks,
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: String::from("UDP"),
        columns: columns(&[
            "flow",
            "direction",
            ">packets sent",
            ">received",
            ">rate received (l4)",
            ">lost",
            ">out of order",
            ">jitter",
            ">delay one way",
            ">DSCP sent / arrived",
        ]),
        rows: flows.iter().map(row).collect(),
        note: Some(String::from(
            "Lost: sent and not received; what this host could not send is not counted as lost. \
             Jitter by RFC 3550.",
        )),
    }
}

fn by_layer(flows: &[Fields<'_>]) -> Table {
    let row = |flow: &Fields<'_>| {
        let rates = flow.inside("received_rates");
        let mbps = |field: &str| {
            rates.number(field).map_or_else(unknown, |bps| format!("{:.2}", bps / 1e6))
        };
        let cells = [
            flow.word("flow").to_owned(),
            flow.word("direction").to_owned(),
            mbps("l1_bps"),
            mbps("l2_bps"),
            mbps("l3_bps"),
            mbps("l4_bps"),
            flow.decimals("link_usage_percent", 2, "%"),
            flow.decimals("link_usage_l1_percent", 2, "%"),
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: String::from("Received, by layer (Mbit/s)"),
        columns: columns(&[
            "flow",
            "direction",
            ">line (l1)",
            ">frames (l2)",
            ">IP packets (l3)",
            ">payload (l4)",
            ">usage by frames",
            ">usage by line",
        ]),
        rows: flows.iter().map(row).collect(),
        note: None,
    }
}

fn tracking(profiles: &[Fields<'_>]) -> Table {
    let row = |step: &Fields<'_>| {
        let cells = [
            step.word("profile").to_owned(),
            step.word("direction").to_owned(),
            step.grouped("streams"),
            step.decimals("tracking_error_percent", 2, "%"),
            step.decimals("sent_tracking_error_percent", 2, "%"),
            limit(step.inside("limit")),
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: String::from("Profile"),
        columns: columns(&[
            "profile",
            "direction",
            ">flows",
            ">tracking error",
            ">of the sender",
            "what kept it from following",
        ]),
        rows: profiles.iter().map(row).collect(),
        note: Some(String::from(
            "Tracking error: root mean square of received less target rate, as a share of the mean \
             target rate.",
        )),
    }
}

fn limit(limit: Fields<'_>) -> String {
    match limit.word("kind") {
        "followed" => String::from("nothing: it was followed"),
        "window" => format!("its window, at {}", limit.rate("limit_bps")),
        "line" => format!("the line, at {}", limit.rate("limit_bps")),
        "rate_limit" => format!("a rate limit in the path, at {}", limit.rate("limit_bps")),
        "tester" => String::from("the tester"),
        _ => String::from("not known"),
    }
}
