//! A check-up on the screen and as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use fp_engine::checkup::{InterfaceFacts, LoopFacts, Processor};
use fp_report::{duration, rate};
use serde_json::{Value, json};

use super::judge::{Judgement, line_rate};
use super::{Facts, Right};

pub(super) fn text(facts: &Facts, judgement: &Judgement) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:<12}{what}");
    };
    let host = &facts.host;
    line("host", format!("{}, {}, fullpipe {}", host.name, host.kernel, host.version));
    for processor in &facts.processors {
        line("processor", of_processor(processor));
    }
    let clock = &facts.clock;
    line(
        "clock",
        format!(
            "{}: steps of {} ns, {} ns a reading",
            host.clock_source,
            clock.step.as_nanos(),
            clock.reading.as_nanos()
        ),
    );
    for interface in &facts.interfaces {
        line("interface", of_interface(interface));
    }
    text += "\nthis machine can measure\n";
    for sentence in &judgement.can {
        let _ = writeln!(text, "  - {}", sentence.text);
    }
    if !judgement.findings.is_empty() {
        text += "\nto be mended\n";
    }
    for finding in &judgement.findings {
        let _ = writeln!(text, "  - {}\n      {}", finding.text, finding.remedy);
    }
    let _ = writeln!(
        text,
        "\nas one end of two it does no less: here it was both at once, over loopback"
    );
    text
}

fn of_processor(processor: &Processor) -> String {
    let Processor { number, late_p99, late_max, taken_share, stolen_share } = processor;
    let stolen = stolen_share.map_or("unknown".into(), |share| format!("{:.1} %", 100.0 * share));
    format!(
        "{number}: wakes within {} in 99 of 100 cases, {} at worst; waiting {:.1} %, stolen {stolen}",
        duration(*late_p99),
        duration(*late_max),
        100.0 * taken_share
    )
}

fn of_interface(interface: &InterfaceFacts) -> String {
    let InterfaceFacts { name, mtu_bytes, speed, driver, offloads } = interface;
    let driver = if driver.is_empty() { String::new() } else { format!(" ({driver})") };
    let speed = speed.map_or("speed unknown".into(), rate);
    let offloads = if offloads.is_empty() { "none".into() } else { offloads.join(" ") };
    format!("{name}{driver}: MTU {mtu_bytes}, {speed}; offloads: {offloads}")
}

pub(super) fn json(facts: &Facts, judgement: &Judgement) -> Value {
    let can = judgement.can.iter();
    let can = can.map(|sentence| json!({"code": sentence.code, "text": sentence.text}));
    let findings = judgement.findings.iter().map(
        |finding| json!({"code": finding.code, "text": finding.text, "remedy": finding.remedy}),
    );
    let limits = &facts.limits;
    json!({
        "schema": "fullpipe.doctor/1",
        "host": facts.host,
        "watched_s": facts.watched.as_secs_f64(),
        "processors": facts.processors.iter().map(processor).collect::<Value>(),
        "clock": {
            "source": facts.host.clock_source,
            "step_us": us(facts.clock.step),
            "reading_us": us(facts.clock.reading),
            "wall_moved_us": us(facts.clock.wall_moved),
        },
        "rights": facts.rights.iter().map(right).collect::<Value>(),
        "limits": {
            "descriptors": limits.descriptors,
            "udp_buffer_bytes": limits.udp_buffer_bytes,
            "udp_buffer_asked_bytes": limits.udp_buffer_asked_bytes,
            "tcp_receive_buffer_bytes": limits.tcp_receive_buffer_bytes,
            "tcp_send_buffer_bytes": limits.tcp_send_buffer_bytes,
            "memory_bytes": limits.memory_bytes,
        },
        "interfaces": facts.interfaces.iter().map(interface).collect::<Value>(),
        "own_loop": facts.own_loop.as_ref().ok().map(own_loop),
        "verdict": {
            "status": judgement.status(),
            "can": can.collect::<Value>(),
            "findings": findings.collect::<Value>(),
        },
    })
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn processor(processor: &Processor) -> Value {
    let Processor { number, late_p99, late_max, taken_share, stolen_share } = processor;
    json!({
        "number": number,
        "late_p99_us": us(*late_p99),
        "late_max_us": us(*late_max),
        "taken_percent": 100.0 * taken_share,
        "stolen_percent": stolen_share.map(|share| 100.0 * share),
    })
}

fn right(right: &Right) -> Value {
    json!({
        "name": right.kind.name(),
        "granted": right.refused.is_none(),
        "why_not": right.refused,
    })
}

fn interface(interface: &InterfaceFacts) -> Value {
    let InterfaceFacts { name, mtu_bytes, speed, driver, offloads } = interface;
    json!({
        "name": name,
        "mtu_bytes": mtu_bytes,
        "speed_bps": speed.map(fp_model::Rate::as_bps),
        "driver": Some(driver).filter(|driver| !driver.is_empty()),
        "offloads": offloads,
    })
}

fn own_loop(own_loop: &LoopFacts) -> Value {
    let LoopFacts { rtt, rates, burst } = own_loop;
    let rates = rates.iter().map(|whole| {
        json!({
            "frame_bytes": whole.frame_bytes,
            "rate_pps": whole.frames_s,
            "rate_l1_bps":
                whole.frames_s.map(|frames_s| line_rate(whole.frame_bytes, frames_s).as_bps()),
        })
    });
    json!({
        "rtt_min_us": rtt.map(|rtt| us(rtt.min)),
        "rtt_mean_us": rtt.map(|rtt| us(rtt.mean)),
        "rtt_p99_us": rtt.map(|rtt| us(rtt.p99)),
        "rates": rates.collect::<Value>(),
        "burst": burst.map(|burst| json!({
            "frame_bytes": burst.frame_bytes,
            "frames": burst.frames,
            "bytes": u64::from(burst.frames) * u64::from(burst.frame_bytes),
            "rate_l1_bps": burst.rate_l1_bps,
        })),
    })
}
