//! The certificate of a run: who measured what where, what was asked and found, how it was measured,
//! what speaks against it, and by what it can be proven.

mod burst;
mod flow;
mod generic;
mod head;
mod how;
mod path;
mod plan_facts;
mod rfc2544;
mod rfc6349;
mod rfc7640;
mod stress;
mod y1564;

pub(crate) use head::banner;

use fp_method::methods::Method;
use fp_model::figure::Kind;
use serde::Serialize;
use serde_json::Value;

use crate::Labels;
use crate::build;
use crate::directions;
use crate::document::{Block, Cell, Document, Fact, Figure, Table, columns};
use crate::reasons;
use crate::sentence::sentence;
use crate::stored::Stored;
use crate::stored::fields::Fields;
use crate::text::happened;

/// The certificate of a stored result. `labels` stand before those of the result.
pub fn certificate(result: &Stored, labels: &Labels) -> Document {
    let labels = labels.clone().or(result.labels());
    let value = result.value();
    let mut blocks = head::blocks(result, &labels);
    blocks.push(Block::Heading(String::from("What was asked")));
    blocks.push(Block::Facts(plan_facts::facts(result.method(), Fields(&value["plan"]))));
    blocks.push(Block::Heading(String::from("What was found")));
    blocks.extend(found(result.method(), value));
    blocks.extend(how::blocks(result));
    let title = title(result.method()).to_owned();
    Document { title, band: band(&[result]), foot: foot(result), blocks }
}

/// What no page of a document of these results may be taken for: a measurement of a real path, a valid one,
/// a whole one.
pub(crate) fn band(results: &[&Stored]) -> String {
    let far = |result: &&Stored| Fields(result.value()).inside("far").word("name") == "simulation";
    let verdict = |verdict: &str| results.iter().any(|result| result.verdict() == verdict);
    let words = [
        ("SIMULATION", results.iter().any(far)),
        ("INVALID", verdict("invalid")),
        ("ABORTED", verdict("aborted")),
    ];
    let said = words.into_iter().filter(|(_, is_said)| *is_said);
    said.map(|(word, _)| word).collect::<Vec<_>>().join(" · ")
}

/// The title of a stored result: its method's, or its name where a newer program has one more.
pub(crate) fn title(method: &str) -> &str {
    Method::named(method).map_or(method, |known| known.title)
}

fn foot(result: &Stored) -> String {
    let version = Fields(&result.value()["tool"]).word("version");
    format!("fullpipe {version} · run {} · {}", result.id(), result.started())
}

/// A result as a page shows it: the parts of its certificate, with final texts.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// The verdict in one line, and why.
    sentence: String,
    reasons: Vec<String>,
    /// Whose it is, where and when.
    facts: Vec<Fact>,
    asked: Vec<Fact>,
    /// What was found, and how it was measured.
    blocks: Vec<Block>,
    how: Vec<Block>,
}

impl Page {
    pub fn of(result: &Stored) -> Self {
        let value = result.value();
        let mut how = how::blocks(result);
        how.retain(|block| !matches!(block, Block::Signatures(_)));
        Self {
            sentence: sentence(result),
            reasons: reasons::of(value),
            facts: head::facts(result, &result.labels()),
            asked: plan_facts::facts(result.method(), Fields(&value["plan"])),
            blocks: found(result.method(), value),
            how,
        }
    }
}

/// The steps of a result as facts, tables and charts.
fn found(method: &str, result: &Value) -> Vec<Block> {
    let mut blocks = Vec::new();
    let judged = directions(result);
    if !judged.is_empty() {
        blocks.push(Block::Facts(judged));
    }
    blocks.extend(of_method(method, result));
    blocks.extend(table(events(Fields(result))));
    if blocks.is_empty() {
        blocks.push(Block::Text(String::from("The run ended before it had found anything.")));
    }
    blocks
}

/// The same without what became of each direction and what happened meanwhile.
pub(crate) fn of_method(method: &str, result: &Value) -> Vec<Block> {
    let steps: Vec<Fields<'_>> = Fields(result).each("steps").collect();
    let mut blocks = Vec::new();
    let facts = path::facts(&steps);
    if !facts.is_empty() {
        blocks.push(Block::Facts(facts));
    }
    blocks.extend(match method {
        "rfc6349" => rfc6349::blocks(&steps),
        "flow" => flow::blocks(&steps),
        "rfc2544" => rfc2544::blocks(&steps),
        "y1564" => y1564::blocks(&steps),
        "burst" => burst::blocks(&steps, Fields(&result["plan"])),
        "rfc7640" => rfc7640::blocks(&steps),
        "stress" => stress::blocks(&steps),
        _ => generic::blocks(&steps),
    });
    blocks
}

/// What happened while the run went on.
fn events(result: Fields<'_>) -> Table {
    let seconds = |event: Fields<'_>, field: &str| event.decimals(field, 1, "s");
    let row = |event: Fields<'_>| {
        let what = happened(event.word("code"));
        vec![
            Cell::new(seconds(event, "at_s")),
            Cell::new(event.word("trial")),
            Cell::new(what),
            Cell::new(seconds(event, "lasts_s")),
        ]
    };
    Table {
        caption: String::from("What happened, and when"),
        columns: columns(&[">at", "trial", "event", ">for"]),
        rows: result.each("events").map(row).collect(),
        note: None,
    }
}

/// What became of each direction.
fn directions(result: &Value) -> Vec<Fact> {
    let fact = |judged: directions::Judged| {
        let name = match judged.direction {
            "download" => "Download",
            "upload" => "Upload",
            _ => "Both directions",
        };
        let status = match judged.is_met {
            Some(true) => "PASS",
            Some(false) => "FAIL",
            None => "INCONCLUSIVE",
        };
        let count = judged.count();
        let figure = judged.figure;
        let beside = if figure.is_empty() { figure } else { format!("; {figure}") };
        Fact::new(name, format!("{status}: {count}{beside}"))
    };
    directions::of(result).into_iter().map(fact).collect()
}

/// The tables of a kind.
fn of_kind(kind: &Kind, steps: &[Fields<'_>]) -> Vec<Block> {
    let steps = build::read_steps(kind, steps);
    let tables = kind.tables.iter().flat_map(|table| build::tables(table, &steps));
    tables.map(|(table, _)| Block::Table(table)).collect()
}

/// Drawings beside each other, unless there are none.
fn drawn(figures: Vec<Figure>) -> Option<Block> {
    (!figures.is_empty()).then_some(Block::Figures(figures))
}

/// The steps of a name.
fn named<'a>(steps: &[Fields<'a>], name: &str) -> Vec<Fields<'a>> {
    steps.iter().copied().filter(|step| step.word("name") == name).collect()
}

/// A table, unless it would have no rows.
fn table(table: Table) -> Option<Block> {
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// Facts whose texts are known.
fn known(facts: impl IntoIterator<Item = (&'static str, Option<String>)>) -> Vec<Fact> {
    let known = facts.into_iter().filter_map(|(name, text)| Some((name, text?)));
    known.map(|(name, text)| Fact::new(name, text)).collect()
}
