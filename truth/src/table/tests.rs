//! Shares and limits.

use super::*;

fn outcome(class: Class) -> Outcome {
    Outcome {
        network: String::new(),
        described: String::new(),
        groups: vec!["all", "clean"],
        method: Method::Test,
        judgement: Judgement { class, figures: Vec::new(), reasons: Vec::new() },
        took: Duration::from_secs(10),
        happenings: 0,
    }
}

#[test]
fn one_wrong_run_of_four_is_more_than_a_fifth_and_not_more_than_a_quarter() {
    let runs = [Class::Right, Class::Right, Class::Wrong, Class::Unknown].map(outcome);
    let limits = |wrong| Limits { wrong: Some(wrong), ..Limits::default() };
    assert_eq!(exceeded(&runs, limits(25.0)), Vec::<String>::new());
    let said = exceeded(&runs, limits(20.0));
    assert_eq!(said, ["test: 25.00 % wrong though valid, at most 20 %"]);
    let unknown = Limits { unknown: Some(5.0), unknown_impaired: Some(5.0), ..Limits::default() };
    assert_eq!(exceeded(&runs, unknown).len(), 1);
}

#[test]
fn a_table_has_a_line_for_each_group_that_has_networks() {
    let text = text(&[outcome(Class::Right), outcome(Class::Wrong)]);
    assert!(text.contains("  all                            2  50.00%  50.00%"), "{text}");
    assert!(text.contains("clean") && !text.contains("cascade"), "{text}");
}

#[test]
fn one_interval_of_two_that_holds_the_truth_is_half() {
    let figure = |covers| crate::judge::Figure {
        name: "rate",
        state: State::Right,
        error: None,
        covers,
        width: None,
        text: String::new(),
        is_aside: false,
    };
    let mut run = outcome(Class::Right);
    run.judgement.figures = [Some(true), Some(false), None].map(figure).into();
    let limits = |least| Limits { covers: Some(least), ..Limits::default() };
    assert_eq!(exceeded(&[run], limits(93.0)).len(), 1);
    let mut run = outcome(Class::Right);
    run.judgement.figures = [Some(true), None].map(figure).into();
    assert_eq!(exceeded(&[run], limits(93.0)), Vec::<String>::new());
}

#[test]
fn the_manuals_table_has_the_same_shares_and_how_wide_intervals_are() {
    let mut run = outcome(Class::Right);
    run.judgement.figures.push(crate::judge::Figure {
        name: "rate",
        state: State::Right,
        error: None,
        covers: Some(true),
        width: Some(0.1),
        text: String::new(),
        is_aside: false,
    });
    let words = ["--seed", "7", "--count", "2"].map(String::from);
    let options = crate::options::Options::of(&words).unwrap();
    let text = crate::matrix::markdown(&[run, outcome(Class::Wrong)], &options);
    assert!(text.contains("`cargo xtask truth --seed 7 --count 2`"), "{text}");
    let line = "| clean | 2 | 50.0 % | 0.0 % | 50.0 % | 0.0 % | 100.0 % | 10.000 % |";
    assert!(text.contains(line), "{text}");
}
