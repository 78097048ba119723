//! What was asked and not measured is not met, and what was found besides is told apart from a pass.

use std::fs;

use serde_json::Value;

use crate::folder::Folder;
use crate::result::{Finished, output, simulated};

/// Frames of 1518 bytes do not fit a path of 1400.
#[test]
fn a_frame_length_that_does_not_fit_is_a_row_that_says_so_and_fails_what_was_asked_of_it() {
    let words = ["--frames", "1000,1518", "--direction", "upload", "--tests", "throughput"];
    let words = [&words[..], &["--no-mtu-row", "--trial", "500ms"]].concat();
    let over = |more: &[&str]| {
        let run = simulated("blackhole-1400", "rfc2544", &[&words[..], more].concat());
        let rows = run.steps("rfc2544_throughput");
        let limits: Vec<_> = rows.iter().map(|row| (&row["frame_bytes"], &row["limit"])).collect();
        assert_eq!(limits, [(&1000.into(), &"line".into()), (&1518.into(), &"path_mtu".into())]);
        assert_eq!(rows[1]["rate_l2_bps"], Value::Null);
        run
    };
    assert_eq!((over(&[]).exit, over(&[]).status()), (0, "findings"));
    let asked = over(&["--pass-throughput", "95%"]);
    assert_eq!((asked.exit, asked.status()), (1, "fail"));
    assert!(asked.reason_codes().contains(&"frame_too_long"));
    let of_short = over(&["--pass-throughput", "1000:95%"]);
    assert_eq!((of_short.exit, of_short.status()), (0, "findings"), "{}", of_short.stderr);
}

/// Nobody has chosen 1518: of the lengths of Ethernet those count that fit.
#[test]
fn the_lengths_of_ethernet_that_do_not_fit_fail_nothing_unless_they_are_named() {
    let words = ["--direction", "upload", "--tests", "throughput", "--trial", "500ms"];
    let over = |more: &[&str]| {
        let run = simulated("blackhole-1400", "rfc2544", &[&words[..], more].concat());
        assert!(run.reason_codes().contains(&"frame_too_long"));
        (run.exit, run.status().to_owned())
    };
    assert_eq!(over(&["--pass-throughput", "95%"]), (0, "findings".into()));
    assert_eq!(over(&["--pass-throughput", "1518:95%"]), (1, "fail".into()));
}

/// A policer of 40 Mbit/s behind a path of 1400 bytes.
#[test]
fn a_frame_length_whose_bursts_do_not_fit_makes_a_burst_test_invalid() {
    let folder = Folder::new();
    let link = "line_rate: 100M, police: {cir: 40M, cbs: 64K}, mtu: {bytes: 1400}";
    let links = format!("lab: fullpipe.lab/1\nname: tunnel\nlinks:\n  - near_to_far: {{{link}}}\n");
    let net = folder.written("tunnel.yaml", &links);
    let over = |lengths: &str| {
        let words = ["--cir", "40M", "--cbs", "64K", "--direction", "upload", "--frames", lengths];
        simulated(&net, "burst", &words)
    };
    over("1000").expect_pass();
    expect_invalid(&over("1000,1518"));
}

#[test]
fn a_frame_length_that_does_not_fit_is_said_on_the_screen_and_in_documents() {
    let folder = Folder::new();
    let result = folder.file("result.json");
    let words = ["sim", "blackhole-1400", "rfc2544", "-q", "--frames", "1518", "--no-mtu-row"];
    let words = [&words[..], &["--tests", "throughput", "-o", &result]].concat();
    let screen = output(words.iter().copied());
    let screen = String::from_utf8_lossy(&screen.stdout).into_owned();
    let markdown = folder.file("out.md");
    let made = output(["report", &result, "--markdown", &markdown]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for text in [screen, fs::read_to_string(&markdown).unwrap()] {
        assert!(text.contains("does not fit the path"), "{text}");
    }
}

/// No criterion of this command line has a measurement, or one of those that it speaks of.
fn expect_invalid(run: &Finished) {
    let verdict = &run.result["verdict"];
    assert_eq!((run.exit, run.status()), (4, "invalid"), "{verdict:#}");
    assert!(run.reason_codes().contains(&"criteria_not_measured"), "{verdict:#}");
    assert_eq!(run.result["validity"]["ok"], false);
}

#[test]
fn a_criterion_of_rfc2544_that_nothing_was_measured_for_makes_a_run_invalid() {
    let measured = |tests: &str, criterion: [&str; 2]| {
        let words =
            ["--frames", "1000", "--direction", "upload", "--no-mtu-row", "--trial", "500ms"];
        let words = [&words[..], &["--tests", tests], &criterion[..]].concat();
        simulated("fast-ethernet", "rfc2544", &words)
    };
    for (tests, criterion) in [
        ("throughput", ["--pass-throughput", "9000:95%"]),
        ("frame-loss", ["--pass-throughput", "95%"]),
        ("throughput", ["--pass-latency", "1us"]),
        ("throughput", ["--pass-loss", "100%"]),
        ("throughput", ["--pass-burst", "1"]),
        ("throughput", ["--pass-recovery", "10min"]),
    ] {
        expect_invalid(&measured(tests, criterion));
    }
    for (tests, criterion) in [
        ("throughput", ["--pass-throughput", "1000:95%"]),
        ("latency", ["--pass-latency", "1s"]),
        ("frame-loss", ["--pass-loss", "100%"]),
        // The throughput is the line's: its 6,127 frames of 500 ms came back to back.
        ("back-to-back", ["--pass-burst", "6000"]),
        ("recovery", ["--pass-recovery", "10min"]),
    ] {
        measured(tests, criterion).expect_pass();
    }
    expect_invalid(&measured("back-to-back", ["--pass-burst", "6200"]));
}

/// The service asks for an availability, which ten seconds show and two do not.
#[test]
fn a_criterion_of_a_service_that_nothing_was_measured_for_makes_a_run_invalid() {
    let folder = Folder::new();
    let file = folder.file("services.yaml");
    let services = "schema: fullpipe.services/1\n\
        services:\n  - {name: data, direction: upload, frame_size: 1000, cir: 10M, \
        criteria: {flr: 0.1%, availability: 99%}}\n";
    fs::write(&file, services).unwrap();
    let lasting = |time: &str| {
        simulated("fast-ethernet", "y1564", &[&file, "--performance-only", "--duration", time])
    };
    expect_invalid(&lasting("2s"));
    lasting("11s").expect_pass();
}

/// Without a line there is no limit that a search could reach.
#[test]
fn a_criterion_of_test_that_nothing_was_measured_for_makes_a_run_invalid() {
    let folder = Folder::new();
    let links = "lab: fullpipe.lab/1\nname: endless\nlinks:\n  - near_to_far: &way {delay: 5ms}\n    \
                 far_to_near: *way\n";
    let net = folder.written("endless.yaml", links);
    let words = ["--max-rate", "20M", "-t", "0.5s", "--sender", "bulk"];
    for criterion in [
        ["--pass-throughput", "90"],
        ["--pass-bidirectional", "50"],
        ["--pass-efficiency", "50"],
        ["--pass-buffer-delay", "1000"],
    ] {
        expect_invalid(&simulated(&net, "test", &[&words[..], &criterion[..]].concat()));
    }
}

/// 10 Mbit/s up, and no limit down that 20 Mbit/s would reach: what is asked by default is decided for
/// one direction.
#[test]
fn a_test_that_reaches_the_limit_of_one_direction_alone_is_inconclusive() {
    let folder = Folder::new();
    let queue = "queue: {packets: 50}";
    let links = format!(
        "lab: fullpipe.lab/1\nname: half\nlinks:\n  - near_to_far: {{delay: 5ms, line_rate: 10M, \
         {queue}}}\n    far_to_near: {{delay: 5ms}}\n"
    );
    let net = folder.written("half.yaml", &links);
    let run = simulated(&net, "test", &["--max-rate", "20M", "-t", "2s", "--sender", "bulk"]);
    let verdict = &run.result["verdict"];
    assert_eq!((run.exit, run.status()), (5, "inconclusive"), "{verdict:#}");
    assert!(run.reason_codes().contains(&"bottleneck_not_reached"), "{verdict:#}");
}

#[test]
fn a_criterion_of_stress_that_no_connection_can_show_is_refused() {
    let refused = |words: &[&str], said: &str| {
        let all = ["sim", "ideal", "stress"].iter().chain(words).copied();
        let output = output(all);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(said), "{words:?}: {stderr}");
    };
    refused(&["--stages", "1s:10, 1s:0", "--tolerance", "1%"], "no stage holds");
    refused(&["--connections", "10", "--steady", "0s", "--tolerance", "1%"], "no stage holds");
}

#[test]
fn a_loss_criterion_without_udp_packets_is_refused() {
    let output = output(["sim", "fast-ethernet", "flow", "--max-loss", "1%"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("--max-loss is of UDP packets"), "{stderr}");
}

#[test]
fn findings_end_with_0_and_with_1_where_they_count() {
    let words = ["--sender", "bulk", "-t", "0.5s"];
    let run = simulated("blackhole-1400", "test", &words);
    assert_eq!((run.exit, run.status()), (0, "findings"), "{:#}", run.result["verdict"]);
    assert!(run.reason_codes().contains(&"mtu_black_hole"));
    let strict = simulated("blackhole-1400", "test", &[&words[..], &["--strict"]].concat());
    assert_eq!((strict.exit, strict.status()), (1, "findings"));
    let clean = simulated("line-100m-10ms", "test", &[&words[..], &["--strict"]].concat());
    clean.expect_pass();
    let deep = simulated("bufferbloat-20m", "test", &words);
    assert!(deep.reason_codes().contains(&"deep_queue"));
}

#[test]
fn findings_are_their_own_verdict_on_the_screen_and_in_each_document() {
    let folder = Folder::new();
    let result = folder.file("result.json");
    let screen = output([
        "sim",
        "blackhole-1400",
        "flow",
        "-q",
        "-u",
        "-b",
        "1M",
        "-t",
        "0.5",
        "--max-loss",
        "1%",
        "-o",
        &result,
    ]);
    let screen = String::from_utf8_lossy(&screen.stdout).into_owned();
    assert!(screen.contains("verdict: PASS WITH FINDINGS"), "{screen}");
    let (html, markdown) = (folder.file("out.html"), folder.file("out.md"));
    let (junit, csv) = (folder.file("out.xml"), folder.file("tables"));
    let words = ["report", &result, "--html", &html, "--markdown", &markdown, "--junit", &junit];
    let made = output(words.into_iter().chain(["--csv", &csv]));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for file in [&html, &markdown] {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains("PASS WITH FINDINGS"), "{file}: {text}");
    }
    let junit = fs::read_to_string(&junit).unwrap();
    assert!(junit.contains("failures=\"0\" errors=\"0\""), "{junit}");
    let tables: Vec<_> = fs::read_dir(&csv).unwrap().map(|file| file.unwrap().path()).collect();
    let says = tables.iter().any(|file| fs::read_to_string(file).unwrap().contains("findings"));
    assert!(says, "{tables:?}");
}

/// Code point 46 leaves, 0 arrives, whichever method sends it.
#[test]
fn remarked_packets_are_a_finding_of_each_method() {
    let folder = Folder::new();
    let link = "line_rate: 100M, police: {cir: 40M, cbs: 64K}, remark: {from: ef, to: be}";
    let links =
        format!("lab: fullpipe.lab/1\nname: bleaching\nlinks:\n  - near_to_far: {{{link}}}\n");
    let net = folder.written("bleaching.yaml", &links);
    for words in [
        &["test", "--sender", "bulk", "-t", "3s", "--cir", "10M", "--pass-throughput", "1%"][..],
        &["rfc2544", "--frames", "1000", "--direction", "upload", "--tests", "throughput"],
        &["burst", "--cir", "40M", "--cbs", "64K", "--frames", "1518", "--direction", "upload"],
        &["flow", "-u", "-t", "0.5"],
    ] {
        let run = simulated(&net, words[0], &[&words[1..], &["--dscp", "46"]].concat());
        assert!(
            run.reason_codes().contains(&"dscp_changed"),
            "{words:?}: {:#}",
            run.result["verdict"]
        );
        assert_eq!(run.status(), "findings", "{words:?}: {:#}", run.result["verdict"]);
    }
}
