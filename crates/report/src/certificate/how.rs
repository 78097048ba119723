//! How it was measured: both ends, the tester's checks of itself, departures, and proof.

use sha2::{Digest as _, Sha256};

use super::{known, table};
use crate::document::{Block, Cell, Fact, Table, Tone, columns};
use crate::stored::Stored;
use crate::stored::fields::Fields;

pub(super) fn blocks(result: &Stored) -> Vec<Block> {
    let value = Fields(result.value());
    let mut blocks = vec![Block::Heading(String::from("How it was measured"))];
    blocks.extend(table(ends(value)));
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
            text("version"),
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: String::from("Both ends"),
        columns: columns(&["end", "host", "system", ">processors", "fullpipe"]),
        rows: vec![row("near", value.inside("near")), row("far", value.inside("far"))],
        note: None,
    }
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
    use super::*;

    #[test]
    fn the_hash_is_that_of_fips_180_4() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256("abc"), abc);
    }
}
