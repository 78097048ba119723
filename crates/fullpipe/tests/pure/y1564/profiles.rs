//! Bandwidth profiles with two buckets, aware of colours and blind, and TCP beside them.

use crate::port::Port;
use crate::result::{number, within_percent};

/// Green 6 Mbit/s and yellow 3: beyond, only yellow frames are lost, 0.75 of 3.75 Mbit/s.
#[test]
fn an_aware_profile_carries_all_green_frames_and_yellow_ones_up_to_the_eir() {
    let run = Port::sound().simulated(&["--configuration-only"]);
    for direction in ["download", "upload"] {
        let excess = run.step("video", direction, "eir");
        assert!(within_percent(number(excess, "offered_l2_bps"), 9e6, 0.01), "{excess}");
        assert!(within_percent(number(excess, "ir_bps"), 6e6, 0.2), "{excess}");
        assert!(within_percent(number(&excess["yellow"], "ir_bps"), 3e6, 0.2), "{excess}");
        let beyond = run.step("video", direction, "policing");
        assert!(within_percent(number(beyond, "offered_l2_bps"), 9.75e6, 0.01), "{beyond}");
        assert_eq!(number(beyond, "flr"), 0.0);
        // To a frame at each end of 2 s: 1518·8/2 bits per second of 3 Mbit/s.
        assert!(within_percent(number(&beyond["yellow"], "ir_bps"), 3e6, 0.5), "{beyond}");
    }
}

/// 10 and 5 Mbit/s: 16.25 are offered.
#[test]
fn a_blind_profile_carries_cir_and_eir_whatever_the_colour() {
    let run = Port::sound().simulated(&["--configuration-only"]);
    for direction in ["download", "upload"] {
        let excess = run.step("internet", direction, "eir");
        assert!(within_percent(number(excess, "ir_bps"), 15e6, 0.2), "{excess}");
        assert!(excess["yellow"].is_null());
        let beyond = run.step("internet", direction, "policing");
        assert!(within_percent(number(beyond, "offered_l2_bps"), 16.25e6, 0.01), "{beyond}");
        assert!(within_percent(number(beyond, "ir_bps"), 15e6, 0.2), "{beyond}");
    }
}

#[test]
fn a_policer_that_lets_too_much_pass_is_none() {
    let port = Port::sound().network("{cir: 10M, cbs: 64K", "{cir: 12M, cbs: 64K");
    let run = port.simulated(&[]);
    run.only_failed("internet", &["ir_high"]);
    let text = run.reasons("ir_high")[0];
    assert!(text.starts_with("internet, download, policing: 16.2"), "{text}");
    assert!(text.contains("more than the 15.150 that"), "one percent of margin: {text}");
}

/// Blind: a burst of 128,000 bytes meets buckets of 64,000 and 60,000. Aware: a yellow burst of
/// 32,000 meets one of 30,000.
#[test]
fn an_ebs_that_is_too_small_loses_frames_of_its_bursts_only() {
    let blind = Port::sound().network("eir: 5M, ebs: 64K", "eir: 5M, ebs: 60K");
    let aware = Port::sound().network("eir: 3M, ebs: 32K", "eir: 3M, ebs: 28K");
    for (port, service) in [(blind, "internet"), (aware, "video")] {
        let run = port.simulated(&["--configuration-only"]);
        run.only_failed(service, &["flr_exceeded"]);
        for step in run.of_services().filter(|step| step["service"] == service) {
            assert_eq!(step["pass"], step["step"] != "ebs", "{step}");
        }
    }
}

/// Green frames beyond a committed rate of 5.6 Mbit/s use excess tokens, as long as yellow ones
/// leave some: beside 3 Mbit/s of them they do not.
#[test]
fn too_small_a_cir_of_an_aware_service_shows_beside_yellow_frames() {
    let port = Port::sound().network("af42], cir: 6M", "af42], cir: 5.6M");
    let run = port.simulated(&["--configuration-only"]);
    run.only_failed("video", &["flr_exceeded"]);
    assert_eq!(run.step("video", "upload", "cir")["pass"], true);
    assert_eq!(run.step("video", "upload", "eir")["pass"], false);
}

#[test]
fn connections_are_tested_by_themselves_and_beside_the_other_services() {
    let tcp = "services:\n  - {name: backup, dscp: af11, cir: 20M, tcp: {throughput: 85%}}";
    let queue = "delay: 5ms\n    far_to_near: *way\n  - near_to_far: &more\n      line_rate: 500M";
    let port = Port::sound()
        .services("services:", tcp)
        .network("- {cir: 10M", "- {dscp: af11, cir: 20M, cbs: 100K}\n        - {cir: 10M")
        .network("delay: 5ms\n    far_to_near: *way", &format!("{queue}\n    far_to_near: *more"));
    let run = port.simulated(&[]);
    assert_eq!(run.status(), "pass", "{:#}", run.result["verdict"]);
    for direction in ["download", "upload"] {
        for step in [run.step("backup", direction, "cir"), run.performance("backup", direction)] {
            // 1448 of 1518 bytes are payload.
            let ideal = 20e6 * 1448.0 / 1518.0;
            assert!(within_percent(number(step, "ideal_bps"), ideal, 0.01), "{step}");
            assert!(number(step, "throughput_bps") >= 0.85 * ideal, "{step}");
            assert!(number(step, "throughput_bps") <= 1.03 * ideal, "{step}");
        }
    }
    let deviations = run.result["deviations"].to_string();
    assert!(deviations.contains("Y.1564-style") && deviations.contains("TCP connections"));
}
