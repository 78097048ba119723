//! Against tables of the interval and against runs made by hand.

use serde_json::json;

use super::{Run, narrow, seeds, share_at_most, tables};

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 5e-6, "{value}, not {expected}");
}

/// Without a wrong one: 1 − 0.05^(1/n). One of 10: the 95 % quantile of Beta(2, 9), in tables 0.39416. Four of
/// 1,830 are what a share of half a percent allows: R's `binom.test(4, 1830, alternative = "less")`.
#[test]
fn a_share_of_wrong_ones_is_bounded_as_in_tables() {
    near(share_at_most(0, 1), 0.95);
    near(share_at_most(0, 598), 1.0 - 0.05_f64.powf(1.0 / 598.0));
    near(share_at_most(1, 10), 0.394_163);
    assert!(share_at_most(4, 1_830) <= 0.005, "{}", share_at_most(4, 1_830));
    assert!(share_at_most(5, 1_830) > 0.005, "{}", share_at_most(5, 1_830));
    near(share_at_most(7, 7), 1.0);
}

fn run(network: &str, class: &str, width: f64, error: f64) -> Run {
    let run = json!({
        "network": network,
        "method": "test",
        "groups": ["all", "clean"],
        "class": class,
        "figures": [
            {"width": width, "error": error, "aside": false},
            {"width": 9.0, "error": 9.0, "aside": true},
            {"width": null, "error": null, "aside": false},
        ],
    });
    Run::of(&run).unwrap().unwrap()
}

#[test]
fn an_invalid_run_says_nothing_and_another_thing_is_no_run() {
    let invalid = json!({
        "network": "n", "method": "test", "groups": [], "class": "invalid", "figures": [],
    });
    assert!(Run::of(&invalid).unwrap().is_none());
    assert!(Run::of(&json!({"network": "n"})).is_none());
}

#[test]
fn the_seeds_are_named_with_how_many_networks_were_answered() {
    let runs = ["links-7-0", "links-7-3", "truth-7-1"].map(|name| run(name, "right", 0.1, 0.0));
    let runs: Vec<&Run> = runs.iter().collect();
    assert_eq!(seeds(&runs), "`links-7` (2), `truth-7` (1)");
}

/// 600 without a wrong one, all narrower than the two that are.
#[test]
fn the_width_up_to_which_answers_are_sure_is_found() {
    let mut runs: Vec<Run> =
        (0..600).map(|at| run(&at.to_string(), "right", 0.001, 0.0005)).collect();
    runs.extend((600..602).map(|at| run(&at.to_string(), "wrong", 0.03, 0.06)));
    let all: Vec<&Run> = runs.iter().collect();
    assert_eq!(narrow(&all), Some((0.001, 600)));
    assert_eq!(narrow(&all[..500]), None, "too few to tell");
    let text = tables(&runs);
    let line = "| clean | 602 | 0 | 2 | 1.04 % | ± 0.10 % or less (600) | 0.50 |";
    assert!(text.contains(line), "{text}");
}
