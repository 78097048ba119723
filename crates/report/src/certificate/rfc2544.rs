//! An RFC 2544 run on a certificate: a table and a graph for each test, as the RFC reports them.

use fp_method::rfc2544::APPLICABILITY;

use super::{named, of_steps};
use crate::chart::rates;
use crate::document::{Block, Cell, Table, Tone, columns};
use crate::stored::fields::Fields;
use crate::text::{grouped, unknown};

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let throughput = named(steps, "rfc2544_throughput");
    let mut blocks = vec![Block::Text(String::from(APPLICABILITY))];
    blocks.extend(of_steps(&throughput, throughput_table));
    let figures = rates::throughput(&throughput);
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    blocks.extend(of_steps(&named(steps, "rfc2544_latency"), latency));
    let losses = named(steps, "rfc2544_frame_loss");
    blocks.extend(of_steps(&losses, frame_loss));
    let figures = rates::loss(&losses);
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    blocks.extend(of_steps(&named(steps, "rfc2544_back_to_back"), back_to_back));
    blocks.extend(of_steps(&named(steps, "rfc2544_recovery"), recovery));
    blocks
}

/// Whole frames a second, as on the screen.
fn fps(step: Fields<'_>, field: &str) -> String {
    step.number(field).map_or_else(unknown, |fps| grouped(fps.max(0.0) as u64))
}

//= rfc2544 26.1
fn throughput_table(steps: &[Fields<'_>]) -> Table {
    let row = |step: &Fields<'_>| {
        let ended = match step.word("limit") {
            "tester" => "tester limit",
            "rate_cap" => "rate cap",
            "line" => "line",
            "path_mtu" => "does not fit the path",
            _ => "loss",
        };
        let tone = if ended == "tester limit" { Tone::Doubtful } else { Tone::Neutral };
        let mut cells = [
            step.word("direction").to_owned(),
            step.grouped("frame_bytes"),
            fps(*step, "rate_fps"),
            fps(*step, "theoretical_fps"),
            step.rate("rate_l2_bps"),
            step.rate("rate_l1_bps"),
            step.decimals("percent_of_line", 2, "%"),
        ]
        .map(Cell::new)
        .to_vec();
        cells.push(Cell::toned(ended, tone));
        cells
    };
    Table {
        caption: String::from("Throughput"),
        columns: columns(&[
            "direction",
            ">frame (bytes)",
            ">frames/s",
            ">theoretical",
            ">rate (l2)",
            ">rate (l1)",
            ">of the line",
            "ended by",
        ]),
        rows: steps.iter().map(row).collect(),
        note: None,
    }
}

fn latency(steps: &[Fields<'_>]) -> Table {
    let row = |step: &Fields<'_>| {
        let cells = [
            step.word("direction").to_owned(),
            step.grouped("frame_bytes"),
            fps(*step, "rate_fps"),
            step.one_way("latency_min_ms", "clock_error_us"),
            step.one_way("latency_mean_ms", "clock_error_us"),
            step.one_way("latency_max_ms", "clock_error_us"),
            step.grouped("repetitions"),
        ];
        cells.map(Cell::new).to_vec()
    };
    let note = steps.first().map(|step| match step.word("kind") {
        "one_way" => format!(
            "One way, store-and-forward; the clocks agree to {}.",
            step.microseconds("clock_error_us")
        ),
        _ => String::from("Round trip, the other way idle; store-and-forward."),
    });
    Table {
        caption: String::from("Latency at the throughput"),
        columns: columns(&[
            "direction",
            ">frame (bytes)",
            ">frames/s",
            ">min",
            ">mean",
            ">max",
            ">repetitions",
        ]),
        rows: steps.iter().map(row).collect(),
        note,
    }
}

//= rfc2544 26.3
/// One row for each length, as on the screen.
fn frame_loss(steps: &[Fields<'_>]) -> Table {
    let row = |step: &Fields<'_>| {
        let trials = step.each("trials").map(|trial| {
            let limit =
                if trial.flag("tester_limit") == Some(true) { " (tester limit)" } else { "" };
            let share = trial.decimals("percent_of_highest", 0, "%");
            format!("{share}: {}{limit}", trial.decimals("loss_percent", 3, "%"))
        });
        let cells = [
            step.word("direction").to_owned(),
            step.grouped("frame_bytes"),
            fps(*step, "highest_fps"),
            trials.collect::<Vec<_>>().join(", "),
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: String::from("Frame loss"),
        columns: columns(&[
            "direction",
            ">frame (bytes)",
            ">highest (frames/s)",
            "lost at each share of the highest rate",
        ]),
        rows: steps.iter().map(row).collect(),
        note: None,
    }
}

//= rfc9004 6.4
fn back_to_back(steps: &[Fields<'_>]) -> Table {
    let row = |step: &Fields<'_>| {
        let known = step.number("average_frames").is_some();
        let why = match step.word("skipped") {
            "" => String::new(),
            reason => format!("not applicable: {reason}"),
        };
        let cells = [
            step.word("direction").to_owned(),
            step.grouped("frame_bytes"),
            step.decimals("average_frames", 1, ""),
            step.grouped("min_frames"),
            step.grouped("max_frames"),
            step.decimals("deviation_frames", 1, ""),
            if known { step.grouped("repetitions") } else { unknown() },
            step.seconds("corrected_buffer_s"),
            why,
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: String::from("Back-to-back frames (RFC 9004)"),
        columns: columns(&[
            "direction",
            ">frame (bytes)",
            ">average",
            ">min",
            ">max",
            ">deviation",
            ">repetitions",
            ">corrected buffer",
            "",
        ]),
        rows: steps.iter().map(row).collect(),
        note: None,
    }
}

fn recovery(steps: &[Fields<'_>]) -> Table {
    let row = |step: &Fields<'_>| {
        let took = match step.number("recovery_ms") {
            Some(_) => step.milliseconds("recovery_ms"),
            None => String::from("– (nothing was lost)"),
        };
        let limit = if step.flag("tester_limit") == Some(true) { "tester limit" } else { "" };
        let cells = [
            step.word("direction").to_owned(),
            step.grouped("frame_bytes"),
            fps(*step, "overload_fps"),
            fps(*step, "reduced_fps"),
            took,
            limit.to_owned(),
        ];
        cells.map(Cell::new).to_vec()
    };
    Table {
        caption: String::from("System recovery"),
        columns: columns(&[
            "direction",
            ">frame (bytes)",
            ">overload (frames/s)",
            ">reduced (frames/s)",
            ">recovered after",
            "",
        ]),
        rows: steps.iter().map(row).collect(),
        note: None,
    }
}
