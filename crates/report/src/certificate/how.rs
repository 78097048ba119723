//! How it was measured: both ends, the tester's checks of itself, departures, and proof.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::{known, table};
use crate::document::{Block, Cell, Fact, Table, Tone, columns};
use crate::stored::Stored;
use crate::stored::fields::Fields;

pub(super) fn blocks(result: &Stored) -> Vec<Block> {
    let value = Fields(result.value());
    let mut blocks = vec![Block::Heading(String::from("How it was measured"))];
    blocks.extend(table(ends(value)));
    let means = means(value);
    if !means.is_empty() {
        blocks.push(Block::Facts(means));
    }
    blocks.extend(table(checks(value.inside("validity"))));
    let deviations: Vec<String> =
        value.each("deviations").filter_map(|text| Some(text.0.as_str()?.to_owned())).collect();
    if !deviations.is_empty() {
        blocks.push(Block::Text(String::from("Departures from the standard:")));
        blocks.push(Block::List(deviations));
    }
    blocks.push(Block::Heading(String::from("Proof")));
    blocks.push(Block::Facts(proof(result)));
    blocks.push(Block::Signatures(
        ["Place and date", "Technician", "Customer"].map(String::from).to_vec(),
    ));
    blocks
}

fn ends(value: Fields<'_>) -> Table {
    let row = |name: &str, end: Fields<'_>| {
        let text = |field: &str| match end.word(field) {
            "" => String::from("–"),
            text => text.to_owned(),
        };
        let cells = [
            name.to_owned(),
            text("name"),
            text("kernel"),
            end.grouped("processors"),
            text("clock_source"),
            text("congestion_control"),
            text("version"),
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: String::from("Both ends"),
        columns: columns(&[
            "end",
            "host",
            "system",
            ">processors",
            "clock",
            "TCP by default",
            "fullpipe",
        ]),
        rows: vec![row("near", value.inside("near")), row("far", value.inside("far"))],
        note: None,
    }
}

/// How the clocks of both ends stood, and what TCP and frames were sent by.
fn means(value: Fields<'_>) -> Vec<Fact> {
    let flows = value.each("evidence").flat_map(|trial| trial.inside("observation").each("flows"));
    // As the kernel said after it was set.
    let connections = flows.clone().flat_map(|flow| flow.each("connections"));
    let controls = distinct(connections.map(|one| one.word("congestion_control")));
    let ways = distinct(flows.map(|flow| flow.word("sent_by")));
    let ways: Vec<String> = ways.iter().map(|way| way.replace('_', " ")).collect();
    known([
        ("Clocks", clocks(value)),
        ("Congestion control", Some(controls.join(", ")).filter(|text| !text.is_empty())),
        ("Frames left by", Some(ways.join(", ")).filter(|text| !text.is_empty())),
    ])
}

/// `None` of a result from before they were kept.
fn clocks(value: Fields<'_>) -> Option<String> {
    if value.inside("far").word("name") == "simulation" {
        return Some(String::from("one for both ends: time was simulated"));
    }
    let clocks = Fields(value.0.get("clocks")?);
    if !clocks.0.is_object() {
        return Some(String::from("not compared: each time is that of the end which measured it"));
    }
    let offset = clocks.number("offset_us").unwrap_or_default();
    let magnitude = microseconds(offset.abs());
    let side = if offset < 0.0 { "behind" } else { "ahead of" };
    Some(format!(
        "the far end's is {magnitude} {side} the near end's, each counted from the start of its \
         host; known to {} throughout, and moved by at most {}",
        clocks.microseconds("error_us"),
        clocks.microseconds("offset_moved_us")
    ))
}

fn microseconds(us: f64) -> String {
    crate::text::duration(Duration::from_nanos((us * 1e3).round() as u64))
}

/// The words that are not empty, each once, in the order in which they come.
fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    for word in words {
        if !word.is_empty() && !seen.contains(&word) {
            seen.push(word);
        }
    }
    seen
}

fn checks(validity: Fields<'_>) -> Table {
    let row = |check: Fields<'_>| {
        let (word, tone) = match check.flag("ok") {
            Some(true) => ("held", Tone::Neutral),
            Some(false) => ("BROKEN", Tone::Bad),
            None => ("–", Tone::Neutral),
        };
        let unit = match check.word("unit") {
            "percent" => "%",
            unit => unit,
        };
        vec![
            Cell::new(check.word("name").replace('_', " ")),
            Cell::new(check.decimals("value", 2, unit)),
            Cell::new(check.decimals("limit", 2, unit)),
            Cell::toned(word, tone),
        ]
    };
    Table {
        caption: String::from("The tester's checks of itself"),
        columns: columns(&["check", ">found", ">limit", "outcome"]),
        rows: validity.each("checks").map(row).collect(),
        note: Some(String::from(
            "A check that is broken says that the tester, not the network, was measured.",
        )),
    }
}

fn proof(result: &Stored) -> Vec<Fact> {
    let value = Fields(result.value());
    let trials = match value.each("evidence").count() {
        1 => String::from("1 trial"),
        count => format!("{count} trials"),
    };
    known([
        ("Run", Some(result.id().to_owned())),
        ("Evidence", Some(format!("{trials} with what was observed at both ends"))),
        ("SHA-256", Some(sha256(result.text()))),
        (
            "To verify",
            Some(format!(
                "the SHA-256 is that of the whole result document: fullpipe report {} --json | \
                 sha256sum",
                result.id()
            )),
        ),
    ])
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_clocks_is_told_what_is_known_and_of_an_older_result_nothing() {
        let told = |value| clocks(Fields(&value));
        let far = json!({"name": "b"});
        let known = json!({"offset_us": -1500.0, "error_us": 30.0, "offset_moved_us": 2.0});
        let known = told(json!({"far": far, "clocks": known})).unwrap();
        assert!(known.contains("1.50 ms behind") && known.contains("30.0 µs"), "{known}");
        let not_compared = told(json!({"far": far, "clocks": null})).unwrap();
        assert!(not_compared.starts_with("not compared"), "{not_compared}");
        assert_eq!(told(json!({"far": far})), None);
    }

    #[test]
    fn the_hash_is_that_of_fips_180_4() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256("abc"), abc);
    }
}
