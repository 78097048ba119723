//! A run of very many connections on a certificate: how many there were, what failed, how long they
//! took.

use super::{known, named, table};
use crate::chart::active;
use crate::document::{Block, Cell, Fact, Figure, Table, Tone, columns};
use crate::stored::fields::Fields;
use crate::text::{grouped, unknown};

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let steps = named(steps, "stress");
    let mut blocks = Vec::new();
    for step in &steps {
        blocks.push(Block::Facts(facts(*step)));
        let figures: Vec<Figure> = active::figure(*step).into_iter().collect();
        if !figures.is_empty() {
            blocks.push(Block::Figures(figures));
        }
        blocks.extend(table(fates(*step)));
        blocks.extend(table(times(*step)));
        blocks.extend(table(segments(*step)));
    }
    blocks
}

fn facts(step: Fields<'_>) -> Vec<Fact> {
    let held = step.inside("held");
    let limit = step.inside("limit");
    let peak = format!(
        "{} open at once of {} asked for",
        step.grouped("connections_peak"),
        step.grouped("connections_target")
    );
    let held = held.count("wanted").map(|wanted| {
        let [least, most] = ["least", "most"].map(|field| held.grouped(field));
        format!("{}: from {least} to {most}", grouped(wanted))
    });
    let limit = limit.count("active").map(|active| {
        let what = match limit.word("cause") {
            "no_answer" => "new ones were not answered",
            "refused" => "new ones were refused",
            "reset" => "others were reset",
            "timed_out" => "others went silent",
            cause => cause,
        };
        format!("at {} active {what}", grouped(active))
    });
    let stopped = step.inside("stopped");
    let stop = stopped.count("active").map(|active| {
        let how = if stopped.flag("abort") == Some(true) { "reset" } else { "closed" };
        format!(
            "{} after the start, with {} open; {how} by {}",
            stopped.seconds("at_s"),
            grouped(active),
            stopped.seconds("until_s")
        )
    });
    let bytes = |field: &str| step.count(field).map_or_else(unknown, crate::text::amount);
    let carried = format!(
        "{} from servers, {} from clients, {} (l4)",
        bytes("download_good_bytes"),
        bytes("upload_good_bytes"),
        step.rate("throughput_bps")
    );
    let memory = format!(
        "{} at an end, {} for each that was open",
        bytes("memory_bytes"),
        step.decimals("memory_bytes_per_connection", 1, "bytes")
    );
    let setup = format!("{} connections/s in the best second", step.grouped("setup_rate_cps_peak"));
    known([
        ("Connections", Some(peak)),
        ("Held", held),
        ("Limit", limit),
        ("Stopped", stop),
        ("Set up", Some(setup)),
        ("Carried", Some(carried)),
        ("Transactions", Some(step.grouped("transactions"))),
        ("Memory of the tester", Some(memory)),
    ])
}

fn fates(step: Fields<'_>) -> Table {
    let failed = step.inside("failed");
    let row = |name: &str, field: &str| vec![Cell::new(name), Cell::new(step.grouped(field))];
    let of_failed = |name: &str, cause: &str| {
        let tone = match failed.count(cause) {
            Some(1..) => Tone::Bad,
            Some(0) | None => Tone::Neutral,
        };
        vec![Cell::new(name), Cell::toned(failed.grouped(cause), tone)]
    };
    Table {
        caption: String::from("What became of them"),
        columns: columns(&["connections", ">count"]),
        rows: vec![
            row("asked for", "attempted"),
            row("established", "established"),
            row("closed", "closed"),
            of_failed("failed: not answered", "no_answer"),
            of_failed("failed: refused", "refused"),
            of_failed("failed: reset", "reset"),
            of_failed("failed: timed out", "timed_out"),
            row("given up at the end", "given_up"),
        ],
        note: first_failure(step.inside("first_failure")),
    }
}

fn first_failure(first: Fields<'_>) -> Option<String> {
    let active = first.count("active")?;
    Some(format!(
        "The first failed {} after the start, with {} active.",
        first.seconds("at_s"),
        grouped(active)
    ))
}

fn times(step: Fields<'_>) -> Table {
    const COLUMNS: [&str; 8] = ["min", "mean", "p50", "p90", "p99", "p99_9", "p99_99", "max"];
    let row = |(name, field): (&str, &str)| {
        let times = step.inside(field);
        times.count("samples")?;
        let cells = COLUMNS.iter().map(|column| Cell::new(times.microseconds(column)));
        Some([Cell::new(name)].into_iter().chain(cells).collect())
    };
    let all = [("handshake", "handshake_us"), ("RTT", "rtt_us"), ("transaction", "transaction_us")];
    Table {
        caption: String::from("Times"),
        columns: columns(&[
            "time", ">min", ">mean", ">50 %", ">90 %", ">99 %", ">99.9 %", ">99.99 %", ">max",
        ]),
        rows: all.into_iter().filter_map(row).collect(),
        note: Some(String::from(
            "Handshake: from the question for a connection to its answer. Transaction: from a \
             request to the last byte of its response. Percentiles are up to 1 % too long.",
        )),
    }
}

fn segments(step: Fields<'_>) -> Table {
    let again = step.inside("retransmissions");
    let rows = [
        ("SYN retransmitted", again, "syn"),
        ("retransmitted after a timeout", again, "timeout"),
        ("fast retransmitted", again, "fast"),
        ("duplicate ACKs", step, "duplicate_acks"),
        ("out of order", step, "out_of_order"),
        ("with a wrong checksum", step, "bad_checksums"),
    ];
    let row = |(name, fields, field): (&str, Fields<'_>, &str)| {
        vec![Cell::new(name), Cell::new(fields.grouped(field))]
    };
    Table {
        caption: String::from("Segments, both ends"),
        columns: columns(&["segments", ">count"]),
        rows: rows.into_iter().map(row).collect(),
        note: None,
    }
}
