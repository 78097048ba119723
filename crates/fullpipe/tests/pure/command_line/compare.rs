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
