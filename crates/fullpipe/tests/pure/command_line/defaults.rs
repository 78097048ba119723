//! What `--help` calls a default is what a command line without options plans.

use fp_method::rfc2544;
use fp_model::{Family, parse_duration, parse_rate, parse_size};
use serde_json::Value;

use crate::folder::Folder;
use crate::process::fullpipe;

/// Where a default of the help is found.
enum Is {
    /// At this place of the plan, in the unit of its name.
    At(&'static str),
    /// In words, of what only the path, the file or the other options tell.
    Words,
}
use Is::{At, Words};

/// Options of the program, the same for each method.
const COMMON: [&str; 3] = ["--ipv4", "--seed", "--interval"];

const TEST: &[(&str, Is)] = &[
    ("--max-rate", At("/rate_limit/rate_bps")),
    ("--window", Words),
    ("--connections", At("/windows/connections")),
    ("--sender", At("/senders")),
    ("--congestion", At("/congestion_control")),
    // Not in the plan: see the test of what its trials last.
    ("--duration", Words),
    ("--dscp", At("/dscp")),
    ("--pass-throughput", At("/thresholds/throughput_percent")),
    ("--pass-bidirectional", Words),
];
const FLOW: &[(&str, Is)] = &[
    ("--time", At("/timing/steady_ns")),
    ("--length", Words),
    ("--parallel", At("/flows/0/spec/load/connections")),
    ("--window", At("/flows/0/spec/load/window_bytes")),
    ("--congestion", At("/flows/0/spec/load/congestion_control")),
    // A plan names an engine only if it is not the kernel's.
    ("--engine", Words),
    ("--cport", Words),
    ("--profile-seed", Words),
];
const RFC2544: &[(&str, Is)] = &[
    // These two are asked for below, which takes less time than all tests of all lengths.
    ("--tests", Words),
    ("--frames", Words),
    ("--direction", Words),
    ("--line-rate", Words),
    ("--max-rate", At("/rate_cap_l1_bps")),
    ("--search", At("/search")),
    ("--resolution", At("/resolution_percent")),
    ("--accept-loss", At("/accepted_loss_ratio")),
    ("--trial", At("/durations/trial_s")),
    ("--latency-repetitions", At("/latency_repetitions")),
    ("--burst-repetitions", At("/burst_repetitions")),
    ("--burst-max", At("/durations/burst_max_s")),
    ("--loss-step", At("/loss_step_percent")),
    ("--dscp", At("/dscp")),
    ("--vlan-tags", At("/vlan_tags")),
];
const BURST: &[(&str, Is)] = &[
    ("--frames", At("/frame_bytes")),
    ("--tolerance", At("/tolerance_percent")),
    ("--direction", At("/ways")),
    ("--vlan-tags", At("/vlan_tags")),
    ("--duration", At("/test_s")),
    ("--dscp", At("/dscp")),
];
const Y1564: &[(&str, Is)] = &[("--step-time", Words), ("--duration", Words)];
const RFC7640: &[(&str, Is)] = &[
    ("--scheduler", Words),
    ("--burst", Words),
    ("--frame", At("/frame_bytes")),
    ("--line-rate", Words),
    ("--direction", At("/directions")),
    ("--runs", At("/runs")),
    ("--duration", At("/trial_s")),
    ("--tolerance", At("/tolerance_percent")),
    ("--window", At("/tcp/window_bytes")),
    ("--congestion", At("/tcp/congestion_control")),
    ("--micro-burst", Words),
    ("--micro-interval", Words),
    ("--dscp", At("/dscp")),
];
const STRESS: &[(&str, Is)] = &[
    ("--ramp-up", At("/load/stages/0/lasts_ns")),
    ("--steady", At("/load/stages/1/lasts_ns")),
    ("--ramp-down", At("/load/stages/2/lasts_ns")),
    ("--mix", Words),
    ("--request", At("/load/mix/0/behaviour/request_bytes")),
    ("--response", At("/load/mix/0/behaviour/response_bytes")),
    ("--think", At("/load/mix/0/behaviour/think_ns")),
    ("--lifetime", Words),
    ("--close", At("/load/close")),
    ("--direction", At("/direction")),
    ("--clients", Words),
    ("--servers", Words),
    ("--client-ports", Words),
    ("--server-ports", At("/load/addresses/server_ports/first")),
    ("--dscp", At("/dscp")),
    ("--mss", Words),
    ("--window", At("/load/window_bytes")),
    // The plan of a simulation has no packet sockets.
    ("--packet-io", Words),
    ("--tolerance", At("/criteria/held_tolerance_percent")),
    ("--max-failed", At("/criteria/failed_max_percent")),
];

/// Each option whose help has a default, with that default as it begins.
fn stated(method: &str) -> Vec<(String, String)> {
    let help = fullpipe(&["sim", "ideal", method, "--help"]).stdout;
    let mut blocks: Vec<String> = Vec::new();
    for line in help.lines() {
        if line.trim_start().starts_with('-') {
            blocks.push(String::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.push_str(line.trim());
            block.push(' ');
        }
    }
    let stated = |block: &String| {
        let option = block.split_whitespace().find(|word| word.starts_with("--"))?;
        // "whichever their hosts take by default" states none.
        let after =
            block.split("default").skip(1).find(|after| !after.trim_start().starts_with('['))?;
        let after = after.trim_start_matches([':', ' ']);
        let ends = |place: &usize| {
            let rest = &after[*place..];
            rest.starts_with([']', ')', ';']) || rest.starts_with(", ") || rest.starts_with(" in ")
        };
        let end = after.char_indices().map(|(place, _)| place).find(ends);
        Some((option.to_owned(), after[..end.unwrap_or(after.len())].trim().to_owned()))
    };
    blocks.iter().filter_map(stated).filter(|(option, _)| !COMMON.contains(&&**option)).collect()
}

/// Across a line that takes little time to simulate: what is planned does not depend on the path.
fn result(method: &str, words: &[&str]) -> Value {
    result_over("line-100m-10ms", method, words)
}

fn result_over(network: &str, method: &str, words: &[&str]) -> Value {
    let line = [&["sim", network, method], words, &["--no-save", "-q", "--json"]].concat();
    fullpipe(&line).json()
}

/// Whether `stated` in the unit of `place` is `planned`.
fn is_planned(place: &str, stated: &str, planned: &Value) -> bool {
    if let Value::Array(list) = planned {
        let each: Vec<&str> = stated.split(',').collect();
        return each.len() == list.len()
            && each.iter().zip(list).all(|(stated, planned)| is_planned(place, stated, planned));
    }
    if let Value::String(word) = planned {
        return word == stated;
    }
    let number = match place.rsplit(['_', '/']).next() {
        Some("ns") => parse_duration(stated).ok().map(|time| time.as_nanos() as f64),
        Some("s") => parse_duration(stated).ok().map(|time| time.as_secs_f64()),
        Some("bps") => parse_rate(stated).ok().map(|(rate, _)| rate.as_bps() as f64),
        Some("bytes") => parse_size(stated).ok().map(|bytes| bytes as f64),
        _ => stated.trim_end_matches('%').parse().ok(),
    };
    number.is_some() && number == planned.as_f64()
}

#[test]
fn every_default_of_a_help_text_is_that_of_the_plan() {
    let sold = ["--cir", "40M", "--cbs", "64K"];
    let queue = ["--queue", "64K", "--bandwidth", "40M"];
    let short = ["--tests", "throughput", "--frames", "1518", "--no-mtu-row"];
    for (method, words, places) in [
        ("test", &[][..], TEST),
        ("flow", &[], FLOW),
        ("rfc2544", &short, RFC2544),
        ("burst", &sold, BURST),
        ("rfc7640", &queue, RFC7640),
        ("stress", &["--connections", "10"], STRESS),
    ] {
        let stated = stated(method);
        let options: Vec<&str> = stated.iter().map(|(option, _)| option.as_str()).collect();
        let known: Vec<&str> = places.iter().map(|(option, _)| *option).collect();
        assert_eq!(options, known, "the options of {method} whose help has a default");
        let plan = &result(method, words)["plan"];
        for ((option, stated), (_, is)) in stated.iter().zip(places) {
            if let At(place) = is {
                let planned = plan.pointer(place).unwrap_or_else(|| panic!("{place} in {plan:#}"));
                let said = format!("{method} {option}: stated {stated}, planned {planned}");
                assert!(is_planned(place, stated, planned), "{said}");
            }
        }
    }
}

#[test]
fn frame_lengths_of_the_help_are_those_of_the_plan() {
    let stated = stated("rfc2544").into_iter().find(|(option, _)| option == "--frames");
    let planned = rfc2544::Plan::new(Family::Ipv4, 1500).frame_lengths_bytes;
    let planned: Vec<String> = planned.iter().map(ToString::to_string).collect();
    assert_eq!(stated.unwrap().1, planned.join(","));
}

/// The path adds no round trips that count: trials last as long as they do at least.
#[test]
fn the_help_of_test_says_how_long_its_trials_are() {
    let help = fullpipe(&["sim", "ideal", "test", "--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    // Where round trips take longer, trials last a whole number of them.
    let way = "{line_rate: 100M, delay: 100us}";
    let lines = format!(
        "lab: fullpipe.lab/1\nname: lan\nlinks: [{{near_to_far: {way}, far_to_near: {way}}}]\n"
    );
    let document = result_over(&Folder::new().written("lan.yaml", &lines), "test", &[]);
    let evidence = document["evidence"].as_array().unwrap();
    let is_tcp = |flow: &Value| flow["load"]["kind"] == "tcp";
    let trials = evidence.iter().map(|evidence| &evidence["trial"]);
    let mut steady: Vec<u64> = trials
        .filter(|trial| trial["flows"].as_array().unwrap().iter().any(is_tcp))
        .map(|trial| trial["timing"]["steady_ns"].as_u64().unwrap() / 1_000_000)
        .collect();
    steady.sort_unstable();
    steady.dedup();
    let [walk, throughput] = steady[..] else { panic!("{steady:?}") };
    let seconds = |ms: u64| ms as f64 / 1e3;
    let said =
        format!("default: {} s, {} s in the window walk", seconds(throughput), seconds(walk));
    assert!(help.contains(&said), "{said}: {help}");
}

/// The file says neither: the plan has what the help says.
#[test]
fn services_without_times_are_tested_as_long_as_the_help_says() {
    let folder = Folder::new();
    let lines = "schema: fullpipe.services/1
services:
  - {name: a, frame_size: 1518, cir: 64K, criteria: {flr: 1%}}
";
    let run = fullpipe(&[
        "sim",
        "ideal",
        "y1564",
        &folder.written("s.yaml", lines),
        "--no-save",
        "-q",
        "--json",
    ]);
    let stated = stated("y1564");
    let options: Vec<&str> = stated.iter().map(|(option, _)| option.as_str()).collect();
    assert_eq!(options, Y1564.iter().map(|(option, _)| *option).collect::<Vec<_>>());
    let help = fullpipe(&["sim", "ideal", "y1564", "--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let plan = &run.json()["plan"];
    assert_eq!(plan["configuration"]["step_s"], 10.0);
    assert_eq!(plan["performance_s"], 900.0);
    assert!(help.contains("or 10 s)") && help.contains("15 minutes)"), "{help}");
}
