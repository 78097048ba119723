//! The screen of an RFC 7640 run: a table for each test of each direction.

use fp_method::rfc7640::{
    CapacityClass, CapacityStep, Device, Hunt, Plan, PolicerStep, QueueStep, Report, SchedulerStep,
    ShaperStep, Stateful, Stateless, Step, Trains, is_met,
};
use fp_method::{Bounds, rounded};
use fp_model::Rate;

use super::{between, duration, grouped, line, mark, rate, unknown};

pub(super) fn body(out: &mut String, plan: &Plan, report: &Report) {
    for (place, step) in report.steps.iter().enumerate() {
        let status = mark(is_met(plan, &report.steps, place), "?");
        match step {
            Step::BaselineRtt(baseline) => {
                let rtt = &baseline.rtt;
                line(
                    out,
                    &format!("baseline RTT  {} (mean {})", duration(rtt.min), duration(rtt.mean)),
                );
            }
            Step::Policer(step) => policer(out, step, status),
            Step::Queue(step) => queue(out, step, status),
            Step::Scheduler(step) => scheduler(out, step, status),
            Step::Shaper(step) => shaper(out, step, status),
            Step::Capacity(step) => capacity(out, step, status),
        }
    }
}

fn policer(out: &mut String, step: &PolicerStep, status: &str) {
    line(out, "");
    let excess = if step.ebs_bytes > 0 {
        format!(", EIR {} l2, EBS {} B", rate(step.eir_l2), grouped(step.ebs_bytes))
    } else {
        String::new()
    };
    let title = format!(
        "{status:<4} policer, {}: CIR {} l2, CBS {} B{excess}, frames of {} bytes",
        step.direction,
        rate(step.cir_l2),
        grouped(step.cbs_bytes),
        step.frame_bytes
    );
    line(out, &title);
    stateless_head(out);
    stateless(out, "compliant", &step.compliant);
    if let Some(excess) = &step.excess {
        stateless(out, "in excess", excess);
    }
    hunt(out, "", &step.hunt);
    if let Some(rate) = &step.rate {
        line(out, &format!("  rate: {} l2", rate_between(rate)));
    }
    if let Some(depth) = &step.depth {
        line(out, &format!("  bucket: {}", bytes_between(depth)));
    }
}

fn queue(out: &mut String, step: &QueueStep, status: &str) {
    line(out, "");
    let title = format!(
        "{status:<4} queue, {}: {} B in front of {} l2, fifo, frames of {} bytes",
        step.direction,
        grouped(step.queue_bytes),
        rate(step.bandwidth_l2),
        step.frame_bytes
    );
    line(out, &title);
    stateless_head(out);
    stateless(out, "bursts", &step.stateless);
    hunt(out, "", &step.hunt);
    stateful(out, &step.stateful);
}

fn scheduler(out: &mut String, step: &SchedulerStep, status: &str) {
    line(out, "");
    let title = format!(
        "{status:<4} scheduler, {}: {}, {} B for each class in front of {} l2, frames of {} bytes",
        step.direction,
        step.scheduler,
        grouped(step.queue_bytes),
        rate(step.bandwidth_l2),
        step.frame_bytes
    );
    line(out, &title);
    stateless_head(out);
    for class in &step.classes {
        stateless(out, &format!("DSCP {}", class.dscp.code_point()), &class.stateless);
    }
    for class in &step.classes {
        let text = format!(
            "  DSCP {:<3} share {:>6}  expected {:>5.1} %",
            class.dscp.code_point(),
            percent(class.share_percent, 1),
            class.expected_share_percent
        );
        line(out, &text);
    }
    stateful(out, &step.stateful);
}

fn shaper(out: &mut String, step: &ShaperStep, status: &str) {
    line(out, "");
    let title = format!(
        "{status:<4} shaper, {}: {} l2, Bc {} B, Be {} B, queue {} B, frames of {} bytes",
        step.direction,
        rate(step.rate_l2),
        grouped(step.bc_bytes),
        grouped(step.be_bytes),
        grouped(step.queue_bytes),
        step.frame_bytes
    );
    line(out, &title);
    stateless_head(out);
    stateless(out, "bursts", &step.stateless);
    trains(out, "", &step.trains);
    stateful(out, &step.stateful);
}

fn capacity(out: &mut String, step: &CapacityStep, status: &str) {
    line(out, "");
    let title = format!(
        "{status:<4} capacity, {}: {} classes at once, frames of {} bytes",
        step.direction,
        step.classes.len(),
        step.frame_bytes
    );
    line(out, &title);
    for class in &step.classes {
        line(out, &format!("  DSCP {}: {}", class.dscp.code_point(), device(class)));
    }
    stateless_head(out);
    for class in &step.classes {
        let code_point = class.dscp.code_point();
        stateless(out, &format!("DSCP {code_point}"), &class.compliant);
        if let Some(excess) = &class.excess {
            stateless(out, "in excess", excess);
        }
    }
    for class in &step.classes {
        let name = format!("DSCP {:<3} ", class.dscp.code_point());
        if let Some(seen) = &class.hunt {
            hunt(out, &name, seen);
        }
        if let Some(seen) = &class.trains {
            trains(out, &name, seen);
        }
    }
}

fn device(class: &CapacityClass) -> String {
    match &class.device {
        Device::Policer(policer) => {
            let committed =
                format!("CIR {} l2, CBS {} B", rate(policer.cir_l2), grouped(policer.cbs_bytes));
            if policer.ebs_bytes == 0 {
                return committed;
            }
            let (eir, ebs) = (rate(policer.eir_l2), grouped(policer.ebs_bytes));
            format!("{committed}, EIR {eir} l2, EBS {ebs} B")
        }
        Device::Shaper(shaper) => format!(
            "shaper of {} l2, Bc {} B, Be {} B, queue {} B",
            rate(shaper.rate_l2),
            grouped(shaper.bc_bytes),
            grouped(shaper.be_bytes),
            grouped(shaper.queue_bytes)
        ),
    }
}

fn trains(out: &mut String, name: &str, trains: &Trains) {
    let text = format!(
        "  {name}SR {} l2, SBB {} B each SBI {}; at first {} B together, as from a bucket of {} B",
        trains.rate_l2.map_or_else(unknown, rate),
        trains.train_bytes.map_or_else(unknown, grouped),
        trains.train_interval.map_or_else(unknown, duration),
        trains.first_train_bytes.map_or_else(unknown, grouped),
        trains.bucket_bytes.map_or_else(unknown, grouped)
    );
    line(out, &text);
}

fn stateless_head(out: &mut String) {
    line(
        out,
        "              burst B  interval bursts  whole     sent     lost order delay min      mean  PDV 99 %",
    );
}

fn stateless(out: &mut String, name: &str, seen: &Stateless) {
    let row = format!(
        "  {name:<9} {:>9} {:>9} {:>6} {:>6} {:>8} {:>8} {:>5} {:>9} {:>9} {:>9}",
        grouped(seen.burst_bytes),
        duration(seen.interval),
        seen.bursts,
        seen.whole_bursts,
        grouped(seen.sent_frames),
        grouped(seen.lost_frames),
        seen.out_of_order_frames,
        seen.delay.map_or_else(unknown, |delay| duration(delay.min)),
        seen.delay.map_or_else(unknown, |delay| duration(delay.mean)),
        seen.delay_variation_p99.map_or_else(unknown, duration)
    );
    line(out, &row);
    if seen.repeated_trials > 0 {
        line(out, &format!("           {} trials were run again", seen.repeated_trials));
    }
}

fn hunt(out: &mut String, name: &str, hunt: &Hunt) {
    let at_least = if hunt.is_limit { "" } else { "at least " };
    let bsa = hunt.bsa_bytes.map_or_else(unknown, grouped);
    let trials = hunt.trials.len();
    line(out, &format!("  {name}BSA {at_least}{bsa} B (burst hunt of {trials} trials)"));
}

fn stateful(out: &mut String, patterns: &[Stateful]) {
    if patterns.is_empty() {
        return;
    }
    line(
        out,
        "  TCP pattern   DSCP     connections  × BDP  bytes each  bursts  efficiency  buffer delay",
    );
    for seen in patterns {
        let connections = format!("{} × {}", seen.connections, grouped(seen.window_bytes));
        let row = format!(
            "  {:<12}{:>6}{connections:>16}{:>7.2}{:>12}{:>8}{:>12}{:>14}",
            seen.pattern.name(),
            seen.dscp.code_point(),
            seen.window_factor,
            grouped(seen.burst_bytes),
            seen.bursts,
            percent(seen.efficiency_percent, 2),
            percent(seen.buffer_delay_percent, 1),
        );
        line(out, &row);
        let took = seen.ttpet.map_or_else(unknown, |ttpet| {
            let [mean, min, max] = [ttpet.mean, ttpet.min, ttpet.max].map(duration);
            format!("{mean} ({min} … {max})")
        });
        let ideal = duration(seen.ideal_ttpet);
        line(out, &format!("{:14}TTPET {took}, ideally {ideal}", ""));
        if seen.unfinished_runs > 0 {
            let text = format!(
                "              {} of {} runs had not ended after twice the ideal time",
                seen.unfinished_runs, seen.runs
            );
            line(out, &text);
        }
    }
}

fn percent(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(unknown, |value| format!("{} %", rounded(value, decimals)))
}

fn rate_between(bounds: &Bounds) -> String {
    let rate = |bps: f64| match bps.is_finite() {
        true => rate(Rate::bps(bps.max(0.0) as u64)),
        false => String::from("not known"),
    };
    between(bounds, rate)
}

fn bytes_between(bounds: &Bounds) -> String {
    let bytes = |bytes: f64| match bytes.is_finite() {
        true => grouped(bytes.max(0.0).round() as u64),
        false => String::from("not known"),
    };
    let [estimate, least, most] = [bounds.estimate, bounds.at_least, bounds.at_most].map(bytes);
    format!("{estimate} bytes ({least} … {most})")
}
