//! A comparison as a document: the verdict on the change, what differs beyond the noise, everything
//! else, both courses over each other, and how it was judged.

use fp_method::signed;

use super::noise::Ground;
use super::{Comparison, Judgement, Row};
use crate::certificate::{band, title};
use crate::chart::overlay;
use crate::document::{Banner, Block, Cell, Document, Table, Tone, columns};
use crate::stored::Stored;
use crate::stored::fields::Fields;

const HOW: &str = "\
A difference counts as a change where it is larger than what chance makes of it in 99 of 100 cases. \
What chance makes of it is taken from the intervals that the figures themselves have (bounds): they \
must not overlap. Of figures without one, and of the throughput of runs that lost segments where it \
is larger, it is taken from other runs of the same method across the \
same network where the history has three or more (repeats); else from repetitions inside the runs \
(repetitions), or from how the figure wavered in the course of the runs, cut into ten parts (course), \
which says less than other runs would. Of many figures, one in a hundred is called changed by chance. \
Up to 0.5 % of a rate, 1 % or 50 µs of a time and 0.1 percentage points are too little to matter: such \
figures are called the same. Rates of different layers are compared at the layer of the first run.";

pub(super) fn document(comparison: &Comparison<'_>) -> Document {
    let Comparison { first, second, .. } = comparison;
    let mut blocks = vec![Block::Table(runs(first, second)), Block::Verdict(banner(comparison))];
    if first.across() != second.across() {
        blocks.push(Block::Text(String::from("They were measured across different networks.")));
    }
    if comparison.unmatched > 0 {
        blocks.push(Block::Text(format!(
            "{} steps are in one of the runs only and are not compared.",
            comparison.unmatched
        )));
    }
    if !comparison.asked.is_empty() {
        blocks.push(Block::Heading(String::from("What was asked differently")));
        blocks.push(Block::Table(asked(&comparison.asked)));
    }
    let mut rows: Vec<&Row> = comparison.rows.iter().collect();
    rows.sort_by_key(|row| row.key.place());
    let (beyond, others): (Vec<&Row>, Vec<&Row>) =
        rows.into_iter().partition(|row| row.judgement().is_beyond());
    for (heading, caption, rows) in [
        ("What changed", "Beyond the noise", beyond),
        ("What did not, or cannot be told", "Everything else that was measured", others),
    ] {
        if !rows.is_empty() {
            blocks.push(Block::Heading(heading.to_owned()));
            blocks.push(Block::Table(figures(caption, &rows)));
        }
    }
    let courses = overlay::figures(Fields(first.value()), Fields(second.value()));
    if !courses.is_empty() {
        blocks.push(Block::Heading(String::from("Both courses")));
        blocks.push(Block::Figures(courses));
    }
    blocks.push(Block::Heading(String::from("How it is judged")));
    blocks.push(Block::Text(String::from(HOW)));
    Document {
        title: format!("Comparison: {}", title(first.method())),
        band: band(&[first, second]),
        foot: format!("run {} · run {}", first.id(), second.id()),
        blocks,
    }
}

fn runs(first: &Stored, second: &Stored) -> Table {
    let both = |name: &str, of: &dyn Fn(&Stored) -> String| {
        [name.to_owned(), of(first), of(second)].map(Cell::new).to_vec()
    };
    let labels = |run: &Stored| {
        let labels = run.labels();
        labels.each().into_iter().flatten().cloned().collect::<Vec<_>>().join(", ")
    };
    let figure = |run: &Stored| match run.headline() {
        Some(headline) => format!("{}: {}", headline.name, headline.shown()),
        None => crate::text::unknown(),
    };
    let mut rows = vec![
        both("run", &|run| run.id().to_owned()),
        both("began (UTC)", &|run| run.started().replace('T', " ").replace('Z', "")),
        both("across", &|run| run.across().to_owned()),
        both("verdict", &|run| run.verdict().to_owned()),
        both("main figure", &figure),
    ];
    if [first, second].into_iter().any(|run| !labels(run).is_empty()) {
        rows.push(both("labels", &labels));
    }
    Table {
        caption: String::from("The runs"),
        columns: columns(&["", "first", "second"]),
        rows,
        note: None,
    }
}

fn banner(comparison: &Comparison<'_>) -> Banner {
    let count = |judgement: Judgement| {
        comparison.rows.iter().filter(|row| row.judgement() == judgement).count()
    };
    let (better, worse) = (count(Judgement::Better), count(Judgement::Worse));
    let (changed, unknown) = (count(Judgement::Changed), count(Judgement::Unknown));
    let all = comparison.rows.len();
    let beyond = better + worse + changed;
    let (tone, word) = match (better, worse, changed, unknown) {
        (_, 1.., _, _) => (Tone::Bad, "WORSE"),
        (1.., 0, _, _) => (Tone::Good, "BETTER"),
        (0, 0, 1.., _) => (Tone::Doubtful, "CHANGED"),
        (0, 0, 0, 1..) => (Tone::Neutral, "UNCLEAR"),
        (0, 0, 0, 0) => (Tone::Neutral, "UNCHANGED"),
    };
    let mut parts = vec![format!("{beyond} of {all} figures differ beyond the noise")];
    let of_these = [(worse, "worse"), (better, "better"), (changed, "changed")];
    let of_these = of_these.into_iter().filter(|(count, _)| *count > 0);
    let of_these: Vec<String> = of_these.map(|(count, what)| format!("{count} {what}")).collect();
    if !of_these.is_empty() {
        parts.push(of_these.join(", "));
    }
    if unknown > 0 {
        parts.push(format!("{unknown} more differ and their noise is not known"));
    }
    Banner { tone, word: word.to_owned(), sentence: parts.join("; ") + "." }
}

fn asked(differences: &[[String; 3]]) -> Table {
    Table {
        caption: String::from("Inputs that differ"),
        columns: columns(&["input", "first", "second"]),
        rows: differences.iter().map(|cells| cells.clone().map(Cell::new).to_vec()).collect(),
        note: None,
    }
}

fn figures(caption: &str, rows: &[&Row]) -> Table {
    Table {
        caption: caption.to_owned(),
        columns: columns(&[
            "step", "figure", ">first", ">second", ">change", ">noise", "from", "judged",
        ]),
        rows: rows.iter().map(|row| cells(row)).collect(),
        note: None,
    }
}

fn cells(row: &Row) -> Vec<Cell> {
    let unit = row.figure.info.unit;
    let difference = if row.first.value == 0.0 {
        crate::text::unknown()
    } else {
        format!("{} %", signed(100.0 * (row.second.value / row.first.value - 1.0), 1))
    };
    let margin = row.noise.as_ref().and_then(super::Noise::margin);
    let from = row.noise.as_ref().map_or("", |noise| match noise.ground {
        Ground::Repeats(_) => "repeats",
        Ground::Bounds => "bounds",
        Ground::Repetitions => "repetitions",
        Ground::Course => "course",
    });
    let judgement = row.judgement();
    let tone = match judgement {
        Judgement::Better => Tone::Good,
        Judgement::Worse => Tone::Bad,
        Judgement::Changed => Tone::Doubtful,
        Judgement::Same | Judgement::Within | Judgement::Unknown => Tone::Neutral,
    };
    let texts = [
        row.key.words(),
        row.figure.name(),
        unit.within(row.first),
        unit.within(row.second),
        difference,
        margin.map_or_else(crate::text::unknown, |margin| format!("± {}", unit.shown(margin))),
        from.to_owned(),
    ];
    let mut cells: Vec<Cell> = texts.map(Cell::new).to_vec();
    cells.push(Cell::toned(judgement.word(), tone));
    cells
}
