//! What RFC 2544, 6815, 9004 and 9971 ask of a whole run, read from the result of a simulated one.

use serde_json::Value;

use crate::folder::Folder;
use crate::result::{Finished, number, output, run};

fn over_fast_ethernet(more: &[&str]) -> Finished {
    let words = ["sim", "fast-ethernet", "rfc2544", "-q", "--direction", "upload"];
    run(&[&words, more].concat())
}

fn lengths(steps: &[&Value]) -> Vec<f64> {
    steps.iter().map(|step| number(step, "frame_bytes")).collect()
}

//= rfc2544 9.1
#[test]
fn ethernets_frame_lengths_are_tested_and_the_longest_of_the_path() {
    let run_of = |net: &str| {
        run(&["sim", net, "rfc2544", "-q", "--tests", "throughput", "--direction", "upload"])
    };
    let ethernet = run_of("fast-ethernet");
    let found = lengths(&ethernet.steps("rfc2544_throughput"));
    assert_eq!(found, [64.0, 128.0, 256.0, 512.0, 1024.0, 1280.0, 1518.0]);
    // 1400 bytes of packet in 18 of frame; 1518 does not pass.
    let tunnel = run_of("blackhole-1400");
    let rows = tunnel.steps("rfc2544_throughput");
    assert_eq!(lengths(&rows), [64.0, 128.0, 256.0, 512.0, 1024.0, 1280.0, 1418.0, 1518.0]);
    let too_long = rows.iter().filter(|row| row["limit"] == "path_mtu");
    assert_eq!(too_long.map(|row| number(row, "frame_bytes")).collect::<Vec<_>>(), [1518.0]);
}

/// Appendix B has the whole frames of a second for 10 Mbit/s; this is ten times the line.
#[test]
fn the_throughput_of_a_clean_line_is_the_theoretical_maximum_of_the_rfc() {
    let run = over_fast_ethernet(&["--tests", "throughput"]);
    let found = run.steps("rfc2544_throughput");
    for step in &found {
        let theory = 100e6 / (8.0 * (number(step, "frame_bytes") + 20.0));
        assert!((number(step, "rate_fps") / theory - 1.0).abs() < 1e-6, "{step}");
        assert_eq!(step["rate_l1_bps"], 100_000_000);
        assert_eq!(number(step, "percent_of_line"), 100.0);
        for trial in step["trials"].as_array().unwrap() {
            assert_eq!(trial["sent_frames"], trial["received_frames"]);
        }
    }
}

//= rfc2544 14
#[test]
fn both_directions_at_once_are_offered_the_same_rate() {
    let words = ["sim", "fast-ethernet", "rfc2544", "-q", "--bidirectional"];
    let run = run(&[&words[..], &["--frames", "512", "--tests", "throughput"]].concat());
    let step = run.steps("rfc2544_throughput")[0];
    assert_eq!(step["direction"], "bidirectional");
    let evidence = run.result["evidence"].as_array().unwrap();
    let both = evidence
        .iter()
        .map(|trial| &trial["trial"])
        .find(|trial| trial["name"].as_str().unwrap().starts_with("throughput, bidirectional"));
    let flows = both.unwrap()["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 2);
    assert_eq!(flows[0]["load"], flows[1]["load"]);
    assert_ne!(flows[0]["direction"], flows[1]["direction"]);
}

//= rfc2544 23
#[test]
fn trials_of_the_rfcs_length_last_a_minute_and_are_followed_by_a_rest() {
    let tests = ["--frames", "1518", "--tests", "throughput"];
    let strict = over_fast_ethernet(&[&tests[..], &["--rfc-durations"]].concat());
    let evidence = strict.result["evidence"].as_array().unwrap();
    let trials = evidence.iter().map(|trial| &trial["trial"]);
    let is_throughput = |trial: &&Value| trial["name"].as_str().unwrap().starts_with("throughput");
    for trial in trials.filter(is_throughput) {
        assert_eq!(number(&trial["timing"], "steady_ns"), 60e9);
        // 2 s for the last frames and 5 s of rest.
        assert!(number(&trial["timing"], "settle_ns") >= 7e9);
    }
    let said = |run: &Finished| run.result["deviations"].to_string();
    assert!(!said(&strict).contains("shorter than 60 s"), "{}", said(&strict));
    assert!(said(&over_fast_ethernet(&tests)).contains("shorter than 60 s"));
}

//= rfc2544 26.2
/// 64 bytes take 6.72 µs at 100 Mbit/s, and 50 µs one way: less than that no frame takes, and more
/// than twice that and the answer's time none does.
#[test]
fn latency_is_measured_at_the_throughput_and_its_kind_is_said() {
    let run = over_fast_ethernet(&["--frames", "64", "--tests", "latency"]);
    let rate = number(run.steps("rfc2544_throughput")[0], "rate_fps");
    let step = run.steps("rfc2544_latency")[0];
    assert_eq!(number(step, "rate_fps"), rate);
    assert_eq!(step["definition"], "store_and_forward");
    assert_eq!(number(step, "repetitions"), 3.0);
    let mean = number(step, "latency_mean_ms");
    match step["kind"].as_str().unwrap() {
        "one_way" => assert!((0.0567..0.0667).contains(&mean), "{step}"),
        "round_trip" => assert!((0.1..0.15).contains(&mean), "{step}"),
        other => panic!("{other}"),
    }
}

//= rfc6815 5
#[test]
fn help_and_report_say_that_these_tests_are_for_the_laboratory() {
    let help = String::from_utf8(output(["rfc2544", "--help"]).stdout).unwrap();
    let folder = Folder::new();
    let result = folder.written("result.json", &crate::recorded::text("rfc2544-lab"));
    let screen = output(["report", &result]).stdout;
    for text in [help, String::from_utf8(screen).unwrap()] {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("isolated test environments (RFC 6815)"), "{text}");
    }
}

//= rfc9971 4.10.2
#[test]
fn an_mlrsearch_of_the_rfcs_length_asks_for_a_lossless_minute() {
    let words = ["--frames", "1518", "--tests", "throughput", "--search", "mlr", "--rfc-durations"];
    let run = over_fast_ethernet(&words);
    let goal = &run.steps("rfc2544_throughput")[0]["goals"][0];
    for (field, value) in [("loss_ratio", 0.0), ("exceed_ratio", 0.0), ("final_s", 60.0)] {
        assert_eq!(number(goal, field), value);
    }
    assert_eq!(number(goal, "sum_s"), 60.0);
    // Nothing is lost at the highest rate: there is no upper bound, and the result is not regular.
    assert_eq!(
        (&goal["relevant_upper_bound_fps"], &goal["regular"]),
        (&Value::Null, &false.into())
    );
}

//= rfc9971 4.6.7
#[test]
fn goals_are_given_on_the_command_line() {
    let goal = "loss=0.5%,exceed=50%,initial=1s,final=1s,sum=3s,width=1%";
    let words = ["--frames", "1518", "--tests", "throughput", "--search", "mlr", "--goal", goal];
    let run = over_fast_ethernet(&words);
    let goal = &run.steps("rfc2544_throughput")[0]["goals"][0];
    for (field, value) in [("loss_ratio", 0.005), ("exceed_ratio", 0.5), ("width", 0.01)] {
        assert_eq!(number(goal, field), value);
    }
}

#[test]
fn criteria_decide_the_verdict() {
    let tests = ["--frames", "1518", "--tests", "throughput"];
    let judged = |criterion: &str| {
        over_fast_ethernet(&[&tests[..], &["--pass-throughput", criterion]].concat())
    };
    for (criterion, exit, status) in [
        ("99%", 0, "pass"),
        ("98.6M@l2", 0, "pass"),
        ("98.8M@l2", 1, "fail"),
        ("1518:100M@l2", 1, "fail"),
        // Nothing was measured of these.
        ("64:100M@l2", 4, "invalid"),
    ] {
        let run = judged(criterion);
        assert_eq!((run.exit, run.status()), (exit, status), "{criterion}: {}", run.stderr);
        assert_eq!(run.reason_codes().contains(&"throughput_low"), exit == 1, "{criterion}");
    }
    assert_eq!(over_fast_ethernet(&tests).status(), "info");
}

#[test]
fn what_cannot_be_is_refused_before_a_packet_is_sent() {
    for (words, remedy) in [
        (["--frames", "63"], "from 64 to 9018"),
        (["--frames", "1519"], "1518 or less"),
        (["--goal", "loss=100%"], "below 100 %"),
        (["--goal", "speed=1"], "loss, exceed"),
        (["--burst-max", "31s"], "30 s"),
        (["--line-rate", "100M@l2"], "@l1"),
    ] {
        let output = output(["sim", "fast-ethernet", "rfc2544"].into_iter().chain(words));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(remedy), "{words:?}: {said}");
    }
    let short = output(["sim", "fast-ethernet", "rfc2544", "-6", "--frames", "64"]);
    assert_eq!(short.status.code(), Some(2));
    assert!(String::from_utf8(short.stderr).unwrap().contains("use 84 or more"));
}

#[test]
fn the_time_it_takes_is_said_before_it_starts() {
    let words = ["sim", "fast-ethernet", "rfc2544", "--frames", "1518", "--tests", "throughput"];
    let said = String::from_utf8(output(words).stderr).unwrap();
    let announced = said.find("this takes").unwrap();
    assert!(announced < said.find("reachability").unwrap(), "{said}");
}
