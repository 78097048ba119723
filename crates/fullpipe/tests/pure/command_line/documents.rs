//! What scripts read: one document or a line per event on stdout, progress on stderr.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use serde_json::Value;

use crate::folder::Folder;
use crate::process::{command, fullpipe, json};
use crate::recorded;

const SIM: [&str; 3] = ["sim", "metro-40m-cbs64k", "test"];

/// As the contract of `fullpipe.result/1` names them.
const OF_RESULT: [&str; 14] = [
    "schema",
    "id",
    "method",
    "started",
    "duration_s",
    "tool",
    "near",
    "far",
    "plan",
    "verdict",
    "validity",
    "steps",
    "diagnosis",
    "evidence",
];
const OF_STEPS: [(&str, &[&str]); 4] = [
    ("path_mtu", &["direction", "mtu_bytes", "black_hole"]),
    ("baseline_rtt", &["rtt_min_ms", "rtt_mean_ms", "rtt_p99_ms", "samples"]),
    ("bottleneck", &["direction", "rate_bps", "layer", "source", "trials"]),
    (
        "tcp",
        &[
            "direction",
            "role",
            "window_fraction",
            "connections",
            "window_bytes",
            "bdp_bytes",
            "sender",
            "congestion_control",
            "mss_bytes",
            "good_bytes",
            "transmitted_bytes",
            "retransmitted_bytes",
            "transfer_s",
            "throughput_bps",
            "ideal_bps",
            "transfer_time_ratio",
            "efficiency_percent",
            "buffer_delay_percent",
            "rtt_mean_ms",
            "series",
            "flows",
        ],
    ),
];
const OF_SLOT: [&str; 8] = [
    "t_s",
    "dt_s",
    "sent_bytes",
    "received_bytes",
    "retransmitted_bytes",
    "rtt_us",
    "cwnd_bytes",
    "active_connections",
];

fn assert_has(value: &Value, fields: &[&str]) {
    let object = value.as_object().unwrap();
    for field in fields {
        assert!(object.contains_key(*field), "no {field} in {value:#}");
    }
}

fn texts(values: &[Value], field: &str) -> BTreeSet<String> {
    values.iter().map(|value| value[field].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_result_has_every_field_of_the_contract() {
    let result = json(&recorded::text("rfc6349-bucket-sim")).unwrap();
    assert_has(&result, &OF_RESULT);
    assert_eq!(result["schema"], "fullpipe.result/1");
    assert_eq!(result["verdict"]["status"], "fail");
    for reason in result["verdict"]["reasons"].as_array().unwrap() {
        assert_has(reason, &["code", "text", "step"]);
    }
    assert_has(&result["tool"], &["version"]);
    assert!(result["validity"]["ok"].is_boolean());
    for check in result["validity"]["checks"].as_array().unwrap() {
        assert_has(check, &["name", "ok", "value", "limit", "unit"]);
    }
    for evidence in result["evidence"].as_array().unwrap() {
        assert_has(evidence, &["trial", "observation"]);
    }
    let steps = result["steps"].as_array().unwrap();
    for (name, fields) in OF_STEPS {
        let named: Vec<_> = steps.iter().filter(|step| step["name"] == name).collect();
        assert!(!named.is_empty(), "no step {name}");
        named.iter().for_each(|step| assert_has(step, fields));
    }
}

#[test]
fn a_transfer_is_told_in_the_words_of_the_contract_and_its_series_adds_up() {
    let result = json(&recorded::text("rfc6349-bucket-sim")).unwrap();
    let steps = result["steps"].as_array().unwrap().iter();
    let transfers: Vec<Value> = steps.filter(|step| step["name"] == "tcp").cloned().collect();
    let set = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(texts(&transfers, "direction"), set(&["bidirectional", "download", "upload"]));
    assert_eq!(texts(&transfers, "role"), set(&["throughput", "walk"]));
    assert_eq!(texts(&transfers, "sender"), set(&["bulk", "burst"]));
    for step in &transfers {
        let series = step["series"].as_array().unwrap();
        series.iter().for_each(|slot| assert_has(slot, &OF_SLOT));
        let sum =
            |field: &str| -> u64 { series.iter().map(|slot| slot[field].as_u64().unwrap()).sum() };
        for (of_slots, total) in
            [("received_bytes", "good_bytes"), ("retransmitted_bytes", "retransmitted_bytes")]
        {
            assert_eq!(Some(sum(of_slots)), step[total].as_u64(), "{total} of {step:#}");
        }
    }
}

#[test]
fn a_stream_is_a_document_per_line_and_ends_with_the_result() {
    let run = fullpipe(&[&SIM[..], &["--json-stream"]].concat());
    let events: Vec<Value> = run.stdout.lines().map(|line| json(line).unwrap()).collect();
    let (last, before) = events.split_last().unwrap();
    assert_eq!(last["event"], "result");
    assert_has(&last["result"], &OF_RESULT);
    for event in ["trial_started", "sample", "trial_finished"] {
        assert!(before.iter().any(|seen| seen["event"] == event), "no {event}");
    }
    assert!(before.iter().all(|event| event["event"] != "result"));
}

#[test]
fn a_file_holds_the_result_whatever_the_screen_shows() {
    let folder = Folder::new();
    let file = folder.file("result.json");
    let run = fullpipe(&[&SIM[..], &["-o", &file]].concat());
    assert_eq!(run.exit, Some(1), "the bucket is too small: {}", run.stderr);
    assert!(run.stdout.contains("RFC 6349"), "{}", run.stdout);
    assert_has(&json(&fs::read_to_string(&file).unwrap()).unwrap(), &OF_RESULT);
    assert_eq!(fs::read_dir(folder.file(".")).unwrap().count(), 1, "and nothing beside it");
}

/// Renaming a finished file would put it in the device's place.
#[test]
fn a_device_is_written_to_and_not_replaced() {
    let run = fullpipe(&[&SIM[..], &["-q", "--json", "-o", "/dev/stderr"]].concat());
    assert_eq!(json(&run.stderr).unwrap(), run.json());
    assert!(fs::symlink_metadata("/dev/stderr").unwrap().is_symlink());
}

#[test]
fn progress_is_on_stderr_and_quiet_takes_it_away() {
    let run = fullpipe(&SIM);
    assert!(run.stderr.contains("baseline RTT"), "{}", run.stderr);
    let quiet = fullpipe(&[&SIM[..], &["-q"]].concat());
    assert_eq!(quiet.stderr, "");
    assert!(quiet.stdout.contains("Mbit/s"), "{}", quiet.stdout);
}

/// As in `fullpipe … | head -1`.
#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    for (words, exit) in [
        (&["sim", "metro-40m-cbs64k", "test", "-q"][..], 1),
        (&["sim", "metro-40m-cbs64k", "test", "-q", "--json"], 1),
        (&["sim", "metro-40m-cbs64k", "test", "-q", "--json-stream"], 1),
        (&["lab", "list"], 0),
        (&["lab", "show", "ideal"], 0),
        (&["--help"], 0),
    ] {
        let mut child =
            command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((said.as_str(), child.wait().unwrap().code()), ("", Some(exit)), "{words:?}");
    }
}

#[test]
fn a_stdout_that_takes_nothing_is_named() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&[&SIM[..], &["-q"]].concat()).stdout(full).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("stdout"), "{said}");
}

#[test]
fn help_says_at_which_layer_a_rate_is_unless_named() {
    let help = fullpipe(&["test", "--help"]);
    assert_eq!((help.exit, help.stderr.as_str()), (Some(0), ""));
    for rate in ["--cir", "--max-rate", "--pacing"] {
        let (_, after) = help.stdout.split_once(&format!("{rate} <")).unwrap();
        let text = after.split("\n  -").next().unwrap();
        assert!(["l1", "l2", "l3", "l4"].iter().any(|layer| text.contains(layer)), "{rate}{text}");
    }
    for word in ["--lab", "--key-file", "FULLPIPE_KEY", "--json-stream", "--strict-6349"] {
        assert!(help.stdout.contains(word), "{word}");
    }
}

#[test]
fn help_names_every_command_and_version_the_version() {
    let help = fullpipe(&["--help"]);
    for name in ["serve", "test", "lab", "sim", "calc"] {
        assert!(help.stdout.contains(&format!("\n  {name} ")), "{name}");
        assert_eq!(fullpipe(&[name, "--help"]).exit, Some(0), "{name}");
    }
    let version = fullpipe(&["--version"]);
    assert_eq!(version.stdout, format!("fullpipe {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(version.exit, Some(0));
}
