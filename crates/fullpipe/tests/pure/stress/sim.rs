//! Very many connections over simulated networks, as `fullpipe sim NET stress` runs them.

use serde_json::Value;

use crate::folder::Folder;
use crate::load::{expect_all_accounted_for, stress};
use crate::result::{Finished, number, output, run, within_percent};

const BRIEF: [&str; 6] = ["--ramp-up", "1s", "--steady", "2s", "--ramp-down", "1s"];

fn simulated(network: &str, words: &[&str]) -> Finished {
    run(&[&["sim", network, "stress", "-q"], words].concat())
}

/// Two connections in each millisecond: 1,999 of them within the first second. Who came first goes
/// first, after three seconds: with half a second to think each asks six or seven times.
#[test]
fn an_ideal_network_takes_and_holds_what_was_asked_for() {
    let words = [&["--connections", "2k", "--think", "500ms", "--response", "1K"], &BRIEF[..]];
    let run = simulated("ideal", &words.concat());
    assert_eq!((run.exit, run.status()), (0, "pass"), "{:#}", run.result["verdict"]);
    let step = stress(&run);
    expect_all_accounted_for(&step);
    for (field, count) in [
        ("connections_target", 2000.0),
        ("connections_peak", 2000.0),
        ("setup_rate_cps_peak", 1999.0),
        ("established", 2000.0),
        ("closed", 2000.0),
    ] {
        assert_eq!(number(&step, field), count, "{field}");
    }
    assert_eq!(step["held"], serde_json::json!({"wanted": 2000, "least": 2000, "most": 2000}));
    assert_eq!((&step["limit"], &step["first_failure"]), (&Value::Null, &Value::Null));
    let transactions = number(&step, "transactions");
    assert!((11_900.0..=14_100.0).contains(&transactions), "{transactions}");
    assert!(number(&step, "download_good_bytes") >= 1000.0 * transactions);
    let rate = number(&step, "good_bytes") * 8.0 / 4.0;
    assert!(within_percent(number(&step, "throughput_bps"), rate, 0.001), "{rate}");
}

#[test]
fn the_result_has_the_names_and_kinds_that_scripts_rely_on() {
    let words = [&["--connections", "100"], &BRIEF[..]].concat();
    let run = simulated("ideal", &words);
    assert_eq!(run.result["schema"], "fullpipe.result/1");
    assert_eq!(run.result["method"], "stress");
    let step = stress(&run);
    for field in [
        "connections_target",
        "connections_peak",
        "setup_rate_cps_peak",
        "established",
        "good_bytes",
        "throughput_bps",
    ] {
        assert!(step[field].is_u64(), "{field}: {}", step[field]);
    }
    for cause in ["no_answer", "refused", "reset", "timed_out"] {
        assert_eq!(step["failed"][cause], 0);
    }
    let handshake = &step["handshake_us"];
    let percentiles = ["min", "p50", "p90", "p99", "p99_9", "p99_99", "max"];
    let values = percentiles.map(|field| number(handshake, field));
    assert!(values.is_sorted(), "{handshake}");
    let series = step["series"].as_array().unwrap();
    let ends = series.iter().map(|slot| number(slot, "t_s") + number(slot, "dt_s"));
    let begins = series.iter().skip(1).map(|slot| number(slot, "t_s"));
    assert!(ends.zip(begins).all(|(end, begin)| (end - begin).abs() < 1e-6));
    assert!(series.iter().all(|slot| slot["active"].is_u64() && slot["sent_bytes"].is_null()));
}

#[test]
fn on_a_lossy_line_what_is_lost_is_sent_again_and_nothing_is_lost_count_of() {
    let mix = "download:10%@20k,transaction:60%,upload:10%@20k,both:10%@20k,idle:10%";
    let words = ["--connections", "1k", "--think", "1s", "--response", "2K", "--mix", mix];
    let run = simulated("lossy-50m", &[&words[..], &BRIEF].concat());
    assert_eq!((run.exit, run.status()), (0, "pass"), "{:#}", run.result["verdict"]);
    let step = stress(&run);
    expect_all_accounted_for(&step);
    let again = &step["retransmissions"];
    let again = number(again, "timeout") + number(again, "fast") + number(again, "syn");
    // One frame in a thousand, of ten thousand at least.
    assert!(again >= 5.0, "{step:#}");
    assert_eq!(number(&step, "corrupt_payload_bytes"), 0.0);
    // The line has a round trip of 20 ms.
    assert!(number(&step["handshake_us"], "min") >= 20_000.0);
}

/// 40 Mbit/s of frames, of which 1,448 of 1,518 bytes are payload, for 4 s and the 3 s in which all
/// close, and a bucket of 64,000. Of handshakes that lose a frame beside them some come too late.
#[test]
fn a_policer_takes_from_bulk_connections_and_leaves_their_number_alone() {
    let words = ["--connections", "50", "--mix", "download:1"];
    let run = simulated("metro-40m-cbs64k", &[&words[..], &BRIEF].concat());
    let step = stress(&run);
    expect_all_accounted_for(&step);
    assert!(number(&step, "connections_peak") >= 40.0, "{step:#}");
    let payload = 1448.0 / 1518.0;
    let most = (40e6 * 7.0 / 8.0 + 64_000.0) * payload;
    let good = number(&step, "download_good_bytes");
    assert!(good <= most && good >= 0.2 * most, "{good} of {most}");
    let again = &step["retransmissions"];
    assert!(number(again, "timeout") + number(again, "fast") > 0.0);
}

/// Asked at 0, 1, 3 and 7 s and given up at 15: nobody ever answers.
#[test]
fn a_network_that_answers_nothing_is_named_for_what_it_does() {
    let folder = Folder::new();
    let text = "lab: fullpipe.lab/1\nname: hole\nlinks:\n  - near_to_far: {loss: {every: 1}}\n";
    let network = folder.written("hole.yaml", text);
    let words = ["--connections", "100", "--ramp-up", "1s", "--steady", "20s"];
    let run = simulated(&network, &words);
    assert_eq!((run.exit, run.status()), (1, "fail"), "{}", run.stderr);
    let codes = run.reason_codes();
    assert_eq!(codes, ["target_missed", "limit_found", "connections_failed", "first_failure"]);
    let step = stress(&run);
    expect_all_accounted_for(&step);
    assert_eq!(step["limit"], serde_json::json!({"cause": "no_answer", "active": 0}));
    assert!(number(&step["failed"], "no_answer") >= 100.0);
    let first = number(&step["first_failure"], "at_s");
    assert!((15.0..=15.5).contains(&first), "{first}");
    assert!(step["handshake_us"].is_null());
}

#[test]
fn both_families_and_both_directions_reach_their_number() {
    for words in [["-6", "--direction=upload"], ["-4", "--direction=download"]] {
        let all = [&["--connections", "500", "--close", "reset"], &BRIEF[..], &words].concat();
        let run = simulated("ideal", &all);
        assert_eq!((run.exit, run.status()), (0, "pass"), "{:#}", run.result["verdict"]);
        let step = stress(&run);
        expect_all_accounted_for(&step);
        assert_eq!(number(&step, "connections_peak"), 500.0);
        let family = if words[0] == "-6" { "ipv6" } else { "ipv4" };
        assert_eq!(step["family"], family);
        assert_eq!(format!("--direction={}", step["direction"].as_str().unwrap()), words[1]);
    }
}

/// A rate of 200 in a second takes 5 s for 1,000, though the usual ramp is as long.
#[test]
fn a_rate_bounds_how_many_are_set_up_in_a_second() {
    let words = ["--connections", "1k", "--rate", "200/s", "--steady", "1s", "--ramp-down", "1s"];
    let run = simulated("ideal", &words);
    let step = stress(&run);
    assert!(number(&step, "setup_rate_cps_peak") <= 201.0, "{step:#}");
    assert!(number(&step, "connections_peak") >= 999.0);
}

#[test]
fn stages_are_followed_up_and_down() {
    let words = ["--stages", "1s:300, 1s:300, 1s:100, 1s:100, 1s:0", "--mix", "idle:1"];
    let run = simulated("ideal", &words);
    assert_eq!(run.exit, 0, "{:#}", run.result["verdict"]);
    let step = stress(&run);
    let series = step["series"].as_array().unwrap();
    let at = |seconds: f64| {
        let slot = series.iter().rev().find(|slot| number(slot, "t_s") < seconds - 1e-9);
        number(slot.unwrap(), "active")
    };
    assert_eq!((at(2.0), at(4.0)), (300.0, 100.0));
    assert!((at(0.5) - 150.0).abs() <= 1.0 && (at(2.5) - 200.0).abs() <= 1.0);
    assert_eq!(step["held"]["wanted"], 300);
}

#[test]
fn a_stream_of_events_tells_of_active_connections_while_it_goes_on() {
    let words = ["sim", "ideal", "stress", "--connections", "100", "--json-stream"];
    let output = output([&words[..], &BRIEF].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let samples: Vec<_> = events.iter().filter(|event| event["event"] == "sample").collect();
    assert!(samples.len() >= 80, "{}", samples.len());
    assert!(samples.iter().any(|event| event["sample"]["active"] == 100));
    let result = &events.last().unwrap()["result"];
    assert_eq!(result["steps"][0]["series"].as_array().unwrap().len(), samples.len());
    // Lines on a terminal alone: here stderr is a pipe beside a stream.
    assert!(output.stderr.is_empty());
}

#[test]
fn a_plan_runs_it_and_criteria_look_at_its_figures() {
    let folder = Folder::new();
    let text = "plan: fullpipe.plan/1
sim: ideal
tests:
  - name: load
    stress: {connections: 1k, ramp-up: 1s, steady: 1s, ramp-down: 1s}
    pass: {step: stress, field: connections_peak, at_least: 1000}
";
    let (plan, results) = (folder.written("plan.yaml", text), folder.file("r"));
    let output = output(["run", &plan, "--results", &results, "--json"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let criterion = &summary["rounds"][0]["tests"][0]["criteria"][0];
    assert_eq!(criterion["met"], true, "{summary:#}");
}
