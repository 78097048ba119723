//! The screen of a run of very many connections: how many there were over time, what became of
//! them, how long they took.

use fp_method::stress::{Report, Step, StressStep};
use fp_model::{ConnectionsReport, ConnectionsSample, Rate, TimeSummary};

use super::{amount, duration, grouped, line, plot, rate};

pub(super) fn body(out: &mut String, report: &Report) {
    for Step::Stress(step) in &report.steps {
        numbers(out, step);
        line(out, "");
        plot::connections(out, &step.counted.series, step.connections_target);
        line(out, "");
        times(out, &step.counted);
        faults(out, &step.counted);
    }
}

fn numbers(out: &mut String, step: &StressStep) {
    let counted = &step.counted;
    let mut say = |name: &str, text: String| line(out, &format!("{name:<15} {text}"));
    let peak = grouped(u64::from(counted.active_peak));
    let target = grouped(u64::from(step.connections_target));
    say("connections", format!("{peak} open at once of {target} asked for"));
    if let Some(held) = &counted.held {
        let [wanted, least, most] =
            [held.wanted, held.least, held.most].map(|count| grouped(count.into()));
        say("held", format!("{wanted}: from {least} to {most}"));
    }
    if let Some(stopped) = &counted.stopped {
        let active = grouped(u64::from(stopped.active));
        let at = stopped.at.as_secs_f64();
        let took = stopped.until.saturating_sub(stopped.at).as_secs_f64();
        let how = if stopped.is_abort { "reset" } else { "closed" };
        say(
            "stopped",
            format!("{at:.3} s after the start, with {active} open; {how} in {took:.3} s"),
        );
    }
    let setup = grouped(u64::from(counted.setup_rate_peak));
    say("set up", format!("{setup} connections/s in the best second"));
    let [attempted, established, closed, given_up, failed] = [
        counted.attempted,
        counted.established,
        counted.closed,
        counted.given_up,
        counted.failed.total(),
    ]
    .map(grouped);
    say(
        "in all",
        format!(
            "{attempted} asked for, {established} established, {closed} closed, {failed} failed, \
             {given_up} given up at the end"
        ),
    );
    let [no_answer, refused, reset, timed_out] = [
        counted.failed.no_answer,
        counted.failed.refused,
        counted.failed.reset,
        counted.failed.timed_out,
    ]
    .map(grouped);
    if counted.failed.total() > 0 {
        say(
            "failed",
            format!(
                "{no_answer} not answered, {refused} refused, {reset} reset, {timed_out} timed out"
            ),
        );
    }
    let [upload, download] = [counted.upload_good_bytes, counted.download_good_bytes].map(amount);
    let transactions = grouped(counted.transactions);
    say(
        "carried",
        format!(
            "{download} from servers, {upload} from clients, {} (l4)",
            rate(step.throughput_l4)
        ),
    );
    say("transactions", transactions);
    let total = amount(counted.bytes_total);
    let each = counted.bytes_per_connection;
    say("memory", format!("{total} at an end, {each:.1} B for each that was open"));
}

fn times(out: &mut String, counted: &ConnectionsReport) {
    let rows = [
        ("handshake", counted.handshake),
        ("RTT", counted.rtt),
        ("transaction", counted.transaction),
    ];
    let known: Vec<(&str, TimeSummary)> =
        rows.into_iter().filter_map(|(name, times)| Some((name, times?))).collect();
    if known.is_empty() {
        return;
    }
    let heads = ["min", "mean", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "max"];
    let heads: String = heads.iter().map(|head| format!(" {head:>10}")).collect();
    line(out, &format!("{:<12}{heads}", "time"));
    for (name, times) in known {
        let columns = [
            times.min,
            times.mean,
            times.p50,
            times.p90,
            times.p99,
            times.p99_9,
            times.p99_99,
            times.max,
        ];
        let columns: String =
            columns.iter().map(|time| format!(" {:>10}", duration(*time))).collect();
        line(out, &format!("{name:<12}{columns}"));
    }
}

fn faults(out: &mut String, counted: &ConnectionsReport) {
    let again = &counted.retransmissions;
    let faults = [
        (again.syn, "SYN retransmitted"),
        (again.timeout, "retransmitted after a timeout"),
        (again.fast, "fast retransmitted"),
        (counted.duplicate_acks, "duplicate ACKs"),
        (counted.out_of_order, "out of order"),
        (counted.bad_checksums, "spoilt"),
    ];
    let known = faults.into_iter().filter(|(count, _)| *count > 0);
    let known: Vec<String> =
        known.map(|(count, what)| format!("{} {what}", grouped(count))).collect();
    if !known.is_empty() {
        line(out, "");
        line(out, &format!("{:<15} {}", "segments", known.join(", ")));
    }
}

/// What an interval of many connections came to, in one line.
pub fn connections(slots: &[ConnectionsSample]) -> String {
    let (Some(first), Some(last)) = (slots.first(), slots.last()) else { return String::new() };
    let until = last.at + last.lasts;
    let seconds = until.saturating_sub(first.at).as_secs_f64().max(1e-9);
    let sum = |of: fn(&ConnectionsSample) -> u64| slots.iter().map(of).sum::<u64>();
    let each_second = |count: u64| grouped((count as f64 / seconds).round() as u64);
    let good_bytes = sum(|slot| slot.upload_good_bytes + slot.download_good_bytes);
    let figures = [
        (grouped(u64::from(last.active)), 12, "active"),
        (grouped(u64::from(last.pending)), 10, "unanswered"),
        (each_second(sum(|slot| slot.established)), 10, "set up/s"),
        (each_second(sum(|slot| slot.closed)), 10, "closed/s"),
        (grouped(sum(|slot| slot.failed)), 8, "failed"),
        (each_second(sum(|slot| slot.transactions)), 10, "transactions/s"),
        (rate(Rate::over(good_bytes, until.saturating_sub(first.at))), 14, "(l4)"),
    ];
    let figures: String = figures
        .into_iter()
        .map(|(figure, wide, name)| format!(" {figure:>wide$} {name}"))
        .collect();
    format!("{:>9}{figures}", format!("{:.1} s", until.as_secs_f64()))
}
