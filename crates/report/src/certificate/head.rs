//! The head of a certificate: the verdict, then whose, where and when.

use crate::Labels;
use crate::document::{Banner, Block, Fact, Tone};
use crate::reasons;
use crate::sentence::{sentence, word};
use crate::stored::Stored;
use crate::stored::fields::Fields;
use fp_method::verdict::Status;

pub(super) fn blocks(result: &Stored, labels: &Labels) -> Vec<Block> {
    let value = Fields(result.value());
    let verdict = Block::Verdict(of_result(result));
    let mut blocks = vec![verdict, Block::Facts(facts(result, labels))];
    let reasons = reasons::of(result.value());
    if !reasons.is_empty() {
        blocks.push(Block::List(reasons));
    }
    if let Some(text) = judged_again(value) {
        blocks.push(Block::Text(text));
    }
    blocks
}

pub(super) fn facts(result: &Stored, labels: &Labels) -> Vec<Fact> {
    let names = ["Site", "Circuit", "Technician", "Order", "Label"];
    let given = names.iter().zip(labels.each());
    let mut facts: Vec<Fact> =
        given.filter_map(|(name, text)| Some(Fact::new(name, text.clone()?))).collect();
    let value = Fields(result.value());
    let near = value.inside("near").word("name");
    facts.push(Fact::new("Measured from", if near.is_empty() { "–" } else { near }));
    facts.push(Fact::new("Measured across", result.across()));
    facts.push(Fact::new("Began", started(result.started())));
    let took = result.duration_s();
    let took = if took < 1.0 { value.seconds("duration_s") } else { format!("{took:.1} s") };
    facts.push(Fact::new("Took", took));
    facts
}

/// As people write it.
fn started(rfc3339: &str) -> String {
    match rfc3339.split_once('T') {
        Some((date, time)) => format!("{date}, {} UTC", time.trim_end_matches('Z')),
        None => rfc3339.to_owned(),
    }
}

/// The banner of a result, whose sentence has its figures.
fn of_result(result: &Stored) -> Banner {
    let banner = banner(result.verdict());
    match sentence(result).split_once(": ") {
        Some((_, figures)) => Banner { sentence: figures.to_owned(), ..banner },
        None => banner,
    }
}

/// How a verdict of this name is shown.
pub(crate) fn banner(verdict: &str) -> Banner {
    let status = Status::named(verdict);
    let tone = match status {
        Some(Status::Pass) => Tone::Good,
        Some(Status::Fail) => Tone::Bad,
        Some(Status::Info) | None => Tone::Neutral,
        Some(Status::Findings | Status::Inconclusive | Status::Invalid | Status::Aborted) => {
            Tone::Doubtful
        }
    };
    let sentence = status.map_or("This fullpipe does not know this verdict.", Status::about);
    Banner { tone, word: word(verdict).to_owned(), sentence: sentence.to_owned() }
}

fn judged_again(result: Fields<'_>) -> Option<String> {
    let again = result.inside("judged_again");
    let changes = again.inside("plan").0.as_object()?;
    let changes: Vec<String> =
        changes.iter().map(|(field, value)| format!("{field} = {value}")).collect();
    Some(format!(
        "Judged again from the evidence by fullpipe {} with {}: the verdict is not the one that \
         was given after the run.",
        again.word("version"),
        changes.join(", ")
    ))
}
