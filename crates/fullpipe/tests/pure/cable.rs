//! A cable that is pulled while a method runs: what it cost is counted and said, or cost nothing.

use serde_json::Value;

use crate::folder::Folder;
use crate::result::{Finished, number, output, simulated};

const LINE: &str = "line_rate: 100M, queue: {bytes: 300K}";
const POLICER: &str = "line_rate: 1G, police: {cir: 40M, cbs: 64K}";
const SERVICES: &str = "schema: fullpipe.services/1\nconfiguration: {step_time: 2s}\n\
                        performance: {duration: 20s}\nservices:\n  \
                        - {name: data, frame_size: 1518, cir: 40M, cbs: 64K, criteria: {flr: 0.1%}}\n";
const PULLS_MS: [u64; 6] = [300, 800, 1200, 2000, 5000, 15_000];
/// Of each method and length of a pull.
const INSTANTS: u64 = 3;

/// A network of 10 ms of round trip, with this link in each direction.
fn network(folder: &Folder, link: &str, pull_ms: Option<[u64; 2]>) -> String {
    let outage = pull_ms.map_or_else(String::new, |[start, lasts]| {
        format!(", outage: {{start: {start}ms, lasts: {lasts}ms}}")
    });
    let links = format!(
        "lab: fullpipe.lab/1\nname: cable\nlinks:\n  - near_to_far: &way {{{link}, delay: \
         5ms{outage}}}\n    far_to_near: *way\n"
    );
    folder.written("cable.yaml", &links)
}

/// Below `end`, another one for each number, and the same in each run of the test.
fn drawn(number: u64, end: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 20) % end
}

/// Pulls of all lengths at random instants of a run that lasts at least this long.
fn expect_pulls_to_be_counted(method: &str, link: &str, words: &[&str], lasts_ms: u64) {
    let folder = Folder::new();
    let words: Vec<&str> = words.to_vec();
    let run = |pull| simulated(&network(&folder, link, pull), method, &words);
    let sound = run(None);
    assert!(matches!(sound.status(), "pass" | "info"), "{:#}", sound.result["verdict"]);
    let mut silent = Vec::new();
    for (place, lasts) in PULLS_MS.into_iter().enumerate() {
        for instant in 0..INSTANTS {
            let start = drawn(INSTANTS * place as u64 + instant, lasts_ms);
            let pulled = run(Some([start, lasts]));
            if !is_counted(&pulled) && !figures_agree(&sound.result, &pulled.result) {
                let verdict = &pulled.result["verdict"];
                silent.push(format!("{lasts} ms at {start} ms: {verdict}"));
            }
            expect_events_to_be_the_pull(&pulled, start, lasts);
            let lost = pulled.status() == "aborted";
            assert_eq!(lost, pulled.exit == 3, "{lasts} ms at {start} ms: {}", pulled.exit);
        }
    }
    assert!(silent.is_empty(), "{method}: {}", silent.join("\n"));
}

/// What the reasons tell of stands in the log with its time, which is that of the pull to one slot of
/// a series.
fn expect_events_to_be_the_pull(run: &Finished, start_ms: u64, lasts_ms: u64) {
    const SLOT_S: f64 = 0.15;
    let events = run.result["events"].as_array().unwrap();
    for code in ["trial_repeated", "contact_lost", "outage", "trial_broken_off"] {
        let is_told = run.reason_codes().contains(&code);
        assert_eq!(is_told, events.iter().any(|event| event["code"] == code), "{code}: {events:?}");
    }
    let (from, until) = (start_ms as f64 / 1e3, (start_ms + lasts_ms) as f64 / 1e3);
    for event in events {
        let Some(at) = event["at_s"].as_f64() else { continue };
        // A trial is broken off where both ends last had something to report.
        let from = if event["code"] == "trial_broken_off" { 0.0 } else { from };
        assert!(at >= from - SLOT_S && at <= until + SLOT_S, "{from} to {until}: {event}");
    }
}

/// Neither a pass nor a result without a verdict.
fn is_counted(run: &Finished) -> bool {
    !matches!(run.status(), "pass" | "info")
}

/// What every user reads.
const FIGURES: [&str; 8] = [
    "rate_bps",
    "throughput_bps",
    "rate_l2_bps",
    "frames_lost",
    "packets_lost",
    "estimated_cbs_bytes",
    "established",
    "flr",
];

/// Whether all of these figures are what they are without a pull, to 1 %.
fn figures_agree(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| figures_agree(one, other))
        }
        (Value::Object(one), Value::Object(other)) => one.iter().all(|(name, value)| {
            let Some(found) = other.get(name) else { return false };
            match (value.as_f64(), found.as_f64()) {
                (Some(value), Some(found)) if FIGURES.contains(&name.as_str()) => {
                    (value - found).abs() <= 0.01 * value.abs()
                }
                _ if name == "evidence" || name == "series" => true,
                _ => figures_agree(value, found),
            }
        }),
        _ => true,
    }
}

#[test]
fn pulls_in_a_stream_of_datagrams_are_counted() {
    let words = ["-u", "-b", "10M", "-t", "30", "--max-loss", "0.1%"];
    expect_pulls_to_be_counted("flow", LINE, &words, 28_000);
}

#[test]
fn pulls_in_a_tcp_flow_are_counted() {
    expect_pulls_to_be_counted("flow", LINE, &["-t", "30", "--min-rate", "60M"], 28_000);
}

#[test]
fn pulls_in_a_service_test_are_counted() {
    let folder = Folder::new();
    let services = folder.written("services.yaml", SERVICES);
    expect_pulls_to_be_counted("y1564", POLICER, &[&services], 25_000);
}

#[test]
fn pulls_in_the_rfc_6349_test_are_counted() {
    expect_pulls_to_be_counted("test", LINE, &["--sender", "bulk"], 20_000);
}

#[test]
fn pulls_in_rfc_2544_are_counted() {
    let words = ["--tests", "throughput", "--frames", "512", "--no-mtu-row", "--trial", "2s"];
    let words = [&words[..], &["--pass-throughput", "95%"]].concat();
    expect_pulls_to_be_counted("rfc2544", LINE, &words, 10_000);
}

#[test]
fn pulls_in_a_burst_test_are_counted() {
    let words = ["--cir", "40M", "--cbs", "64K", "--frames", "1518"];
    expect_pulls_to_be_counted("burst", POLICER, &words, 5000);
}

#[test]
fn pulls_in_rfc_7640_are_counted() {
    let words = ["--cir", "40M", "--cbs", "64K", "--direction", "upload", "--stateless"];
    expect_pulls_to_be_counted("rfc7640", POLICER, &words, 5000);
}

#[test]
fn pulls_in_many_connections_are_counted() {
    let words = ["--connections", "200", "--ramp-up", "1s", "--steady", "3s", "--ramp-down", "1s"];
    let words = [&words[..], &["--think", "100ms", "--max-handshake", "100ms"]].concat();
    expect_pulls_to_be_counted("stress", LINE, &words, 4000);
}

/// A cable that stays out from this instant of a trial on: the far end is lost, and what both ends had
/// reported until then is in the result, from which the same result follows again.
fn expect_what_was_seen_to_be_kept(method: &str, link: &str, words: &[&str], start_ms: u64) {
    let folder = Folder::new();
    let net = network(&folder, link, Some([start_ms, 3_600_000]));
    let run = simulated(&net, method, words);
    assert_eq!((run.exit, run.status()), (3, "aborted"), "{method}: {}", run.stderr);
    let text = run.result["verdict"].to_string();
    assert!(run.reason_codes().contains(&"far_end_lost"), "{method}: {text}");
    assert!(run.reason_codes().contains(&"trial_broken_off"), "{method}: {text}");
    let evidence = run.result["evidence"].as_array().unwrap();
    let seen = &evidence.last().unwrap()["observation"];
    let until_s = seen["broken_off_ns"].as_f64().unwrap() / 1e9;
    let flows = seen["flows"].as_array().unwrap();
    for flow in flows {
        let series = flow["series"].as_array().unwrap();
        let ends = series.iter().map(|slot| {
            (slot["at_ns"].as_f64().unwrap() + slot["lasts_ns"].as_f64().unwrap()) / 1e9
        });
        assert!((ends.fold(0.0, f64::max) - until_s).abs() < 0.01, "{method}: {until_s}");
    }
    let file = folder.written("result.json", &run.result.to_string());
    let again = output(["report", &file, "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["verdict"], run.result["verdict"], "{method}");
    assert_eq!(again["steps"], run.result["steps"], "{method}");
}

#[test]
fn a_method_whose_far_end_is_lost_keeps_the_slots_until_then() {
    let folder = Folder::new();
    let services = folder.written("services.yaml", SERVICES);
    let udp = ["-u", "-b", "10M", "-t", "30"];
    let throughput = ["--tests", "throughput", "--frames", "512", "--no-mtu-row", "--trial", "2s"];
    let policed = ["--cir", "40M", "--cbs", "64K"];
    let load = ["--connections", "200", "--ramp-up", "1s", "--steady", "9s", "--ramp-down", "1s"];
    let load = [&load[..], &["--think", "100ms"]].concat();
    expect_what_was_seen_to_be_kept("flow", LINE, &udp, 4000);
    expect_what_was_seen_to_be_kept("flow", LINE, &["-t", "30"], 4000);
    expect_what_was_seen_to_be_kept("y1564", POLICER, &[&services], 9000);
    expect_what_was_seen_to_be_kept("test", LINE, &["-t", "5s"], 40_000);
    expect_what_was_seen_to_be_kept("rfc2544", LINE, &throughput, 4000);
    expect_what_was_seen_to_be_kept("burst", POLICER, &policed, 3000);
    expect_what_was_seen_to_be_kept("rfc7640", POLICER, &policed, 4000);
    expect_what_was_seen_to_be_kept("stress", LINE, &load, 4000);
}

/// 10 Mbit/s for 4 of 30 s.
#[test]
fn a_flow_whose_far_end_is_lost_shows_its_sums_until_then() {
    let folder = Folder::new();
    let net = network(&folder, LINE, Some([4000, 3_600_000]));
    let run = simulated(&net, "flow", &["-u", "-b", "10M", "-t", "30"]);
    let flow = run.steps("flow")[0];
    let received = number(flow, "payload_bytes");
    assert!((received / 5e6 - 1.0).abs() < 0.05, "{flow:#}");
}

/// Connections that are opened within two seconds ask within two seconds again, eight seconds later:
/// nothing is lost meanwhile.
#[test]
fn connections_that_only_think_meanwhile_have_lost_nothing() {
    for think in ["2s", "8s"] {
        let load = ["stress", "--connections", "2k", "--ramp-up", "2s", "--steady", "18s"];
        let words = [&["sim", "ideal"], &load[..], &["--think", think, "--json"]].concat();
        let run = crate::process::fullpipe(&words);
        assert_eq!(run.exit, Some(0), "{}", run.stderr);
        let result: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(result["verdict"]["status"], "pass", "{think}: {}", result["verdict"]);
    }
}
