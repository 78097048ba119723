//! A service activation test on a certificate: each service by itself, then all at once.

use super::{named, table};
use crate::chart::services;
use crate::document::{Block, Cell, Table, Tone, columns};
use crate::stored::fields::Fields;
use crate::text::{unknown, y1564::percent};

const HEADS: [&str; 9] = [
    "service",
    "direction",
    ">offered (l2)",
    ">IR (l2)",
    ">FLR",
    ">FTD",
    ">FDV",
    ">available",
    "outcome",
];

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let performance = named(steps, "y1564_performance");
    let mut blocks = Vec::new();
    blocks.extend(table(Table {
        caption: String::from("All services at once"),
        columns: columns(&HEADS),
        rows: performance.iter().map(|step| row(*step, step.word("service"))).collect(),
        note: Some(String::from(
            "IR: information rate. FLR: frame loss ratio. FTD: frame transfer delay, one way, mean. \
             FDV: frame delay variation. Loss counts in available time only.",
        )),
    }));
    let figures = services::figures(&performance);
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    let configuration = named(steps, "y1564_configuration");
    let mut services: Vec<&str> = Vec::new();
    for step in &configuration {
        if !services.contains(&step.word("service")) {
            services.push(step.word("service"));
        }
    }
    let mut heads = HEADS;
    heads[0] = "step";
    for service in services {
        let of = configuration.iter().filter(|step| step.word("service") == service);
        blocks.extend(table(Table {
            caption: format!("{service}, by itself"),
            columns: columns(&heads),
            rows: of.map(|step| row(*step, &offered(*step))).collect(),
            note: None,
        }));
    }
    blocks
}

fn offered(step: Fields<'_>) -> String {
    match (step.word("step"), step.count("cir_percent")) {
        ("cir", Some(percent)) => format!("{percent} % CIR"),
        ("eir", _) => String::from("CIR + EIR"),
        ("policing", _) => String::from("policing"),
        (other, _) => other.to_uppercase(),
    }
}

fn row(step: Fields<'_>, first: &str) -> Vec<Cell> {
    let ratio = |field: &str| step.number(field).map_or_else(unknown, percent);
    let rate = match step.number("throughput_bps") {
        Some(_) => format!("{} l4", step.rate("throughput_bps")),
        None => step.rate("ir_bps"),
    };
    let mut cells = [
        first.to_owned(),
        step.word("direction").to_owned(),
        step.rate("offered_l2_bps"),
        rate,
        ratio("flr"),
        step.one_way("ftd_ms", "ftd_error_ms"),
        step.milliseconds("fdv_ms"),
        step.decimals("availability_percent", 3, "%"),
    ]
    .map(Cell::new)
    .to_vec();
    cells.push(outcome(step));
    cells
}

fn outcome(step: Fields<'_>) -> Cell {
    let (word, tone) = match step.word("status") {
        "pass" => ("pass", Tone::Good),
        "fail" => ("FAIL", Tone::Bad),
        "invalid" => ("INVALID", Tone::Doubtful),
        _ => ("–", Tone::Neutral),
    };
    let codes: Vec<String> =
        step.each("failures").map(|failure| words_of(failure.word("code"))).collect();
    match codes.as_slice() {
        [] => Cell::toned(word, tone),
        codes => Cell::toned(format!("{word}: {}", codes.join(", ")), tone),
    }
}

/// A code as the words of the table's heads.
fn words_of(code: &str) -> String {
    let word = |word: &str| match word {
        "ir" | "flr" | "ftd" | "fdv" => word.to_uppercase(),
        word => word.to_owned(),
    };
    code.split('_').map(word).collect::<Vec<_>>().join(" ")
}
