//! Criteria of an RFC 2544 run that nothing was measured for.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::steps::{BackToBack, Limit, Skipped, Throughput};
use super::{Criteria, Plan, Step, Way};

/// The criteria without a measurement, each a sentence. A length that does not fit the path fails by
/// its own row.
pub(super) fn criteria(plan: &Plan, steps: &[Step]) -> Vec<String> {
    let Criteria { throughput, latency, loss_percent, burst_frames, recovery } = &plan.criteria;
    let mut all: Vec<String> =
        throughput.iter().filter_map(|asked| no_throughput(asked.frame_bytes, steps)).collect();
    let mut expect = |is_asked: bool, what: &str, option: &str, of: fn(&Step) -> Option<Row>| {
        if is_asked {
            let measured: BTreeSet<Row> = steps.iter().filter_map(of).collect();
            all.extend(missing(steps, &measured, what, option));
        }
    };
    expect(latency.is_some(), "latency", "--pass-latency", |step| {
        let Step::Latency(row) = step else { return None };
        Some((row.way, row.rate.frame_bytes))
    });
    expect(loss_percent.is_some(), "frame loss", "--pass-loss", |step| {
        let Step::FrameLoss(row) = step else { return None };
        row.trials.first().map(|_| (row.way, row.frame_bytes))
    });
    expect(recovery.is_some(), "recovery", "--pass-recovery", |step| {
        let Step::Recovery(row) = step else { return None };
        // What the tester could not offer as planned shows no recovery.
        let is_measured = row.recovery.is_some() || !row.tester_limit;
        is_measured.then_some((row.way, row.overload.frame_bytes))
    });
    if let Some(asked) = *burst_frames {
        let rows = steps.iter().filter_map(|step| {
            let Step::BackToBack(row) = step else { return None };
            is_measured(row, asked, steps).then_some((row.way, row.frame_bytes))
        });
        all.extend(missing(steps, &rows.collect(), "bursts", "--pass-burst"));
    }
    all
}

type Row = (Way, u32);

fn throughputs(steps: &[Step]) -> impl Iterator<Item = &Throughput> {
    steps.iter().filter_map(|step| if let Step::Throughput(row) = step { Some(row) } else { None })
}

fn no_throughput(frame_bytes: Option<u32>, steps: &[Step]) -> Option<String> {
    // A length that was named and does not fit has a row that fails.
    let fits = |row: &Throughput| match frame_bytes {
        Some(bytes) => bytes == row.frame_bytes,
        None => row.limit != Limit::PathMtu,
    };
    (!throughputs(steps).any(fits)).then(|| match frame_bytes {
        Some(bytes) => format!(
            "--pass-throughput: no throughput of frames of {bytes} bytes was measured: name them with \
             --frames"
        ),
        None => String::from(
            "--pass-throughput: no throughput was measured: add it to --tests, and lengths that fit \
             the path to --frames",
        ),
    })
}

/// The lengths that were sent, or all, without what was asked of them.
fn missing(steps: &[Step], measured: &BTreeSet<Row>, what: &str, option: &str) -> Option<String> {
    let sent = throughputs(steps).filter(|row| row.limit != Limit::PathMtu);
    let sent: BTreeSet<Row> = sent.map(|row| (row.way, row.frame_bytes)).collect();
    let rows: Vec<String> = sent
        .difference(measured)
        .map(|(way, frame_bytes)| format!("{way}, {frame_bytes} bytes"))
        .collect();
    if measured.is_empty() {
        Some(format!("{option}: no {what} was measured: see --tests"))
    } else if rows.is_empty() {
        None
    } else {
        Some(format!("{option}: no {what} was measured of {}", rows.join("; ")))
    }
}

/// Where the throughput is what the line carries, no longer burst exists than its trials: those of
/// which nothing was lost came back to back.
fn is_measured(row: &BackToBack, asked_frames: u64, steps: &[Step]) -> bool {
    if row.figures.is_some() {
        return true;
    }
    let is_same =
        |other: &&Throughput| (other.way, other.frame_bytes) == (row.way, row.frame_bytes);
    let longest = throughputs(steps).find(is_same).and_then(|throughput| {
        let line_l1 = throughput.theoretical?.rate_l1;
        let at_line = |trial: &&super::TrialRow| {
            trial.offered.rate_l1 >= line_l1 && trial.sent_frames == trial.received_frames
        };
        throughput.trials.iter().filter(at_line).map(|trial| trial.sent_frames).max()
    });
    row.skipped == Some(Skipped::NoOverload) && longest.is_some_and(|frames| frames >= asked_frames)
}
