//! A cable that is out for a second in every five, across real frames: what it cost is counted and said.

use serde_json::Value;

use crate::across::measured;
use crate::folder::Folder;
use crate::result::number;

/// 10 Mbit/s for 8 s, and what is due in at least 1.2 s of them is lost: more than the 0.1 % that are
/// allowed, whatever else the host is busy with.
fn expect_a_pull_to_be_counted(more: &[&str]) {
    let folder = Folder::new();
    let links = "lab: fullpipe.lab/1\nname: cable\nlinks:\n  - near_to_far: &way {line_rate: 100M, delay: 5ms, \
                 outage: {start: 3s, lasts: 1200ms, every: 5s}}\n    far_to_near: *way\n";
    let net = folder.written("cable.yaml", links);
    let words = ["flow", "--lab", &net, "-q", "-u", "-b", "10M", "-t", "8", "--max-loss", "0.1%"];
    let run = measured(&[&words[..], more].concat());
    assert_eq!((run.exit, run.status()), (1, "fail"), "{:#}", run.result["verdict"]);
    assert!(run.reason_codes().contains(&"contact_lost"), "{:#}", run.result["verdict"]);
    let flow = run.steps("flow")[0];
    assert!(number(flow, "loss_percent") >= 10.0, "{:#}", run.result["verdict"]);
    let interruptions =
        &run.result["evidence"].as_array().unwrap().last().unwrap()["observation"]["interruptions"];
    let silent = interruptions.as_array().unwrap().iter();
    let silent = silent.map(|one| number(one, "silent_ns") / 1e9).fold(0.0, f64::max);
    // Heartbeats are a quarter of a second apart.
    assert!(silent >= 1.2, "{interruptions}");
}

#[test]
fn what_is_sent_into_a_cable_that_is_out_is_lost() {
    expect_a_pull_to_be_counted(&[]);
}

#[test]
fn what_a_far_end_may_not_send_meanwhile_is_lost() {
    expect_a_pull_to_be_counted(&["-R"]);
}

/// The cable is out three seconds after the network has come up, when the method runs: never a pass
/// without a word, and the log has it.
fn expect_a_pull_to_be_told(method: &str, link: &str, words: &[&str]) {
    let folder = Folder::new();
    let links = format!(
        "lab: fullpipe.lab/1\nname: cable\nlinks:\n  - near_to_far: &way {{{link}, delay: 5ms, \
         outage: {{start: 3s, lasts: 1200ms}}}}\n    far_to_near: *way\n"
    );
    let net = folder.written("cable.yaml", &links);
    let services = folder.written("services.yaml", SERVICES);
    let words = words.iter().map(|word| if *word == "SERVICES" { &services } else { *word });
    let words: Vec<&str> = [method, "--lab", &net, "-q"].into_iter().chain(words).collect();
    let run = measured(&words);
    let verdict = &run.result["verdict"];
    assert!(!matches!(run.status(), "pass" | "info"), "{verdict:#}");
    let events = run.result["events"].as_array().unwrap();
    let is_pull = |event: &&Value| {
        let lasts = event["lasts_s"].as_f64().unwrap_or(0.0);
        let is_long = lasts > 0.7;
        // A trial that is repeated begins again when the two ends hear each other again, which TCP delays until
        // it tries the next time, and its first attempt has ended at both ends, which the silence of a far end
        // delays by a second at most. The network comes up within 0.3 s.
        let is_then = event["at_s"].as_f64().is_none_or(|at| at < 3.0 + lasts + 1.0 + 0.3);
        matches!(event["code"].as_str(), Some("contact_lost" | "trial_repeated" | "outage"))
            && is_long
            && is_then
    };
    assert!(events.iter().any(|event| is_pull(&event)), "{events:?}: {verdict:#}");
}

const LINE: &str = "line_rate: 100M";
const POLICER: &str = "line_rate: 1G, police: {cir: 40M, cbs: 64K}";
const SERVICES: &str = "schema: fullpipe.services/1\nconfiguration: {step_time: 1s}\n\
                        performance: {duration: 5s}\nservices:\n  \
                        - {name: data, frame_size: 1518, cir: 40M, cbs: 64K, criteria: {flr: 0.1%}}\n";

#[test]
fn a_pull_in_a_service_test_is_told() {
    expect_a_pull_to_be_told("y1564", POLICER, &["SERVICES"]);
}

#[test]
fn a_pull_in_rfc_2544_is_told() {
    let words = ["--tests", "throughput", "--frames", "512", "--no-mtu-row", "--trial", "2s"];
    expect_a_pull_to_be_told("rfc2544", LINE, &[&words[..], &["--direction", "upload"]].concat());
}

#[test]
fn a_pull_in_rfc_7640_is_told() {
    let words = ["--cir", "40M", "--cbs", "64K", "--direction", "upload", "--stateless"];
    expect_a_pull_to_be_told("rfc7640", POLICER, &words);
}

#[test]
fn a_pull_in_the_rfc_6349_test_is_told() {
    expect_a_pull_to_be_told("test", LINE, &["--sender", "bulk"]);
}

#[test]
fn a_pull_in_a_burst_test_is_told() {
    let words = ["--cir", "40M", "--cbs", "64K", "--frames", "1518", "--direction", "upload"];
    expect_a_pull_to_be_told("burst", POLICER, &words);
}

#[test]
fn a_pull_in_many_connections_is_told() {
    let words = ["--connections", "200", "--ramp-up", "1s", "--steady", "3s", "--ramp-down", "1s"];
    let words = [&words[..], &["--think", "100ms", "--max-handshake", "100ms"]].concat();
    expect_a_pull_to_be_told("stress", LINE, &words);
}
