//! Two results side by side.

use std::fs;

use serde_json::Value;

use crate::folder::Folder;
use crate::process::{Finished, fullpipe};
use crate::recorded;

/// A recorded result in a file of the folder.
fn result(folder: &Folder, name: &str) -> String {
    folder.written(&format!("{name}.json"), &recorded::text(name))
}

fn judgements(run: &Finished, figure: &str) -> Vec<String> {
    let document = run.json();
    let figures = document["figures"].as_array().unwrap();
    let named = figures.iter().filter(|row| row["figure"] == figure);
    named.map(|row: &Value| row["judgement"].as_str().unwrap().to_owned()).collect()
}

/// A window of 31,910 bytes over 100 Mbit/s and 10.211 ms carries a quarter of what four such carry.
#[test]
fn a_change_of_the_network_is_beyond_the_noise_and_told_in_every_form() {
    let folder = Folder::new();
    let before = result(&folder, "flow-windows-4-sim");
    let after = result(&folder, "flow-windows-1-sim");
    let [html, pdf] = ["c.html", "c.pdf"].map(|name| folder.file(name));
    let compared =
        fullpipe(&["compare", &before, &after, "--json", "--html", &html, "--pdf", &pdf]);
    assert_eq!(compared.exit, Some(0), "{}", compared.stderr);
    let unchanged = fullpipe(&["compare", &before, &before]);
    assert_eq!(unchanged.exit, Some(2), "{}", unchanged.stderr);
    assert!(unchanged.stderr.contains("the same run"), "{}", unchanged.stderr);
    assert!(!compared.json()["plan_differs_in"].as_array().unwrap().is_empty());
    let html = fs::read_to_string(html).unwrap();
    assert!(html.contains("How it is judged") && !html.contains("<script"));
    assert!(super::pdf::text(&fs::read(pdf).unwrap()).contains("Comparison: Traffic measurement"));
}

/// The same network with another seed: what a shallow bucket drops is chance.
#[test]
fn a_line_that_became_slower_is_worse_and_its_baseline_is_the_same() {
    let folder = Folder::new();
    let before = result(&folder, "rfc6349-sim");
    let after = result(&folder, "rfc6349-bucket-sim");
    let compared = fullpipe(&["compare", &before, &after, "--json"]);
    assert!(judgements(&compared, "throughput_bps").iter().any(|judged| judged == "worse"));
    assert!(judgements(&compared, "mtu_bytes").iter().all(|judged| judged == "same"));
    let said = fullpipe(&["compare", &before, &after]).stdout;
    assert!(said.contains("WORSE") && said.contains("different networks"), "{said}");
}

#[test]
fn results_of_two_methods_have_nothing_to_be_compared() {
    let folder = Folder::new();
    let flow = result(&folder, "flow-tcp-sim");
    let test = result(&folder, "rfc6349-bucket-sim");
    let run = fullpipe(&["compare", &flow, &test]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("'flow'") && run.stderr.contains("'rfc6349'"), "{}", run.stderr);
}

/// A full test over a simulated path of 10 ms in each direction whose links have these elements, in a
/// file of the folder.
fn tested(folder: &Folder, name: &str, elements: &str, seed: &str) -> String {
    let net = folder.written(
        &format!("{name}.yaml"),
        &format!(
            "lab: fullpipe.lab/1\nname: path\nlinks:\n  - near_to_far: &way\n      line_rate: 1G\n      \
             {elements}\n      delay: 10ms\n    far_to_near: *way\n"
        ),
    );
    let run = fullpipe(&["sim", &net, "test", "-q", "--seed", seed, "--json"]);
    assert!(matches!(run.exit, Some(0 | 1)), "{:?}: {}", run.exit, run.stderr);
    folder.written(&format!("{name}-{seed}.json"), &run.stdout)
}

fn policer(rate: &str) -> String {
    format!("police: {{cir: {rate}, cbs: 275K, eir: 0, ebs: 0, color_aware: false, exceed: drop}}")
}

fn shaper(rate: &str) -> String {
    format!("shape: {{rate: {rate}}}")
}

/// A change of 17.5 % of the rate changes nothing else: not the RTT by 0.4 %, which one packet more
/// or less in the queue is.
#[test]
fn a_path_that_lost_7_of_40_mbit_is_worse_in_every_rate_and_the_same_in_what_is_negligible() {
    let folder = Folder::new();
    for (kind, of) in [("policed", policer as fn(&str) -> String), ("shaped", shaper)] {
        let [before, after] =
            ["40M", "33M"].map(|rate| tested(&folder, &format!("{kind}-{rate}"), &of(rate), "1"));
        let compared = fullpipe(&["compare", &before, &after, "--json"]);
        assert_eq!(judgements(&compared, "rate_bps"), ["worse", "worse"], "{kind}");
        let throughputs = judgements(&compared, "throughput_bps");
        // At least a walk and three trials in each direction.
        assert!(throughputs.len() >= 8, "{kind}: {throughputs:?}");
        assert!(throughputs.iter().all(|judged| judged == "worse"), "{kind}: {throughputs:?}");
        for row in compared.json()["figures"].as_array().unwrap() {
            let of = |field: &str| row[field].as_f64().unwrap_or_default();
            let share = (of("second") / of("first") - 1.0).abs();
            if row["figure"].as_str().unwrap().contains("rtt") && share <= 0.004 {
                assert_eq!(row["judgement"], "same", "{kind}: {row}");
            }
        }
    }
}

/// The walk goes up to the window of the path in parts, and all trials have their counterparts.
#[test]
fn steps_are_matched_by_what_they_are_and_not_by_windows_that_follow_from_the_rate() {
    let folder = Folder::new();
    let [before, after] =
        ["40M", "33M"].map(|rate| tested(&folder, &format!("shaped-{rate}"), &shaper(rate), "1"));
    let compared = fullpipe(&["compare", &before, &after, "--json"]).json();
    assert_eq!(compared["unmatched_steps"], 0, "{compared}");
}

/// Jitter of up to 0.3 ms is drawn by chance.
#[test]
fn the_same_path_with_another_seed_is_neither_worse_nor_better() {
    let folder = Folder::new();
    let jitter = "\n      jitter: {uniform: 300us, keep_order: true}";
    let paths = [("policed", policer("40M")), ("shaped", shaper("40M"))];
    for (name, elements) in paths {
        let elements = elements + jitter;
        let runs = ["1", "2", "3"].map(|seed| tested(&folder, name, &elements, seed));
        for pair in runs.windows(2) {
            let compared = fullpipe(&["compare", &pair[0], &pair[1], "--json"]).json();
            for row in compared["figures"].as_array().unwrap() {
                let judged = row["judgement"].as_str().unwrap();
                assert!(!["worse", "better"].contains(&judged), "{name}: {row}");
            }
        }
    }
}
