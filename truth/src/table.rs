//! What all runs of a method come to: shares, errors, coverage and time, by kind of network.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::groups::GROUPS;
use crate::judge::{Class, Figure, Judgement, State};
use crate::method::Method;

/// One method over one network.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) network: String,
    pub(crate) described: String,
    pub(crate) groups: Vec<&'static str>,
    pub(crate) method: Method,
    pub(crate) judgement: Judgement,
    pub(crate) took: Duration,
    pub(crate) happenings: u64,
}

/// What a method may come to at most, in percent of its runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) wrong: Option<f64>,
    pub(crate) invalid: Option<f64>,
    /// Of networks without loss, jitter and troubled hosts.
    pub(crate) unknown: Option<f64>,
    /// Of all others.
    pub(crate) unknown_impaired: Option<f64>,
    /// Of the intervals that are stated, at least this many percent hold the truth.
    pub(crate) covers: Option<f64>,
}

const CLASSES: [Class; 4] = [Class::Right, Class::Wrong, Class::Invalid, Class::Unknown];

/// A table for each method, what was wrong by figure, and every run that is wrong or invalid.
pub(crate) fn text(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for (method, runs) in by_method(outcomes) {
        // Writing to a string does not fail.
        let _ = write!(text, "{}", of_method(method, &runs));
    }
    text
}

/// The runs of each method that has any.
pub(crate) fn by_method(outcomes: &[Outcome]) -> impl Iterator<Item = (Method, Vec<&Outcome>)> {
    let of = |method| (method, outcomes.iter().filter(|run| run.method == method).collect());
    Method::ALL.into_iter().map(of).filter(|(_, runs): &(_, Vec<_>)| !runs.is_empty())
}

/// The runs of each group that has any.
pub(crate) fn by_group<'a>(
    runs: &[&'a Outcome],
) -> impl Iterator<Item = (&'static str, Vec<&'a Outcome>)> {
    let of =
        |group| (group, runs.iter().filter(|run| run.groups.contains(&group)).copied().collect());
    GROUPS.into_iter().map(of).filter(|(_, runs): &(_, Vec<_>)| !runs.is_empty())
}

fn of_method(method: Method, runs: &[&Outcome]) -> String {
    let mut text = String::new();
    let name = method.name();
    let _ = writeln!(
        text,
        "{name:<28} {:>5} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8} {:>7} {:>7} {:>7}",
        "runs",
        "right",
        "wrong",
        "invalid",
        "unknown",
        "med err",
        "p95 err",
        "covers",
        "med s",
        "p95 s"
    );
    for (group, runs) in by_group(runs) {
        let _ = writeln!(text, "{}", line(group, &runs));
    }
    let _ = write!(text, "{}", by_figure(runs));
    for class in [Class::Wrong, Class::Invalid] {
        for run in runs.iter().filter(|run| run.judgement.class == class) {
            let why = run.judgement.reasons.join("; ");
            let Outcome { network, described, .. } = run;
            let _ = writeln!(text, "  {} {name} {network}: {described}\n      {why}", class.name());
        }
    }
    text.push('\n');
    text
}

/// One line of the table. Errors are those of rates and depths.
fn line(group: &str, runs: &[&Outcome]) -> String {
    let shares = CLASSES.map(|class| format!("{:6.2}%", percent(class, runs)));
    let errors = sorted(runs.iter().flat_map(|run| headline_errors(run)).collect());
    let covered: Vec<bool> = runs.iter().flat_map(|run| coverage(run)).collect();
    let times = sorted(runs.iter().map(|run| run.took.as_secs_f64()).collect());
    let error = |share| at(&errors, share).map_or("-".into(), |off| format!("{:.3}%", 100.0 * off));
    let time = |share| at(&times, share).map_or("-".into(), |seconds| format!("{seconds:.1}"));
    let covers = share_of(&covered).map_or("-".into(), |held| format!("{held:.1}%"));
    format!(
        "  {group:<26} {:>5} {} {:>8} {:>8} {covers:>7} {:>7} {:>7}",
        runs.len(),
        shares.join(" "),
        error(0.5),
        error(0.95),
        time(0.5),
        time(0.95)
    )
}

/// Of runs that are neither invalid nor broken off.
fn headline_errors(run: &Outcome) -> Vec<f64> {
    if run.judgement.class == Class::Invalid {
        return Vec::new();
    }
    headline(run).filter_map(|figure| figure.error).map(f64::abs).collect()
}

pub(crate) fn headline(run: &Outcome) -> impl Iterator<Item = &Figure> {
    run.judgement.figures.iter().filter(|figure| !figure.is_aside)
}

pub(crate) fn coverage(run: &Outcome) -> Vec<bool> {
    headline(run).filter_map(|figure| figure.covers).collect()
}

/// In percent.
pub(crate) fn share_of(covered: &[bool]) -> Option<f64> {
    let held = covered.iter().filter(|held| **held).count();
    (!covered.is_empty()).then(|| 100.0 * held as f64 / covered.len() as f64)
}

/// How often each figure was said, wrong, and how well its interval covers.
fn by_figure(runs: &[&Outcome]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for figure in runs.iter().flat_map(|run| &run.judgement.figures) {
        if !names.contains(&figure.name) {
            names.push(figure.name);
        }
    }
    let mut text = String::from("  by figure, in runs that call themselves valid:\n");
    for name in names {
        let valid = runs.iter().filter(|run| run.judgement.class != Class::Invalid);
        let said: Vec<_> = valid
            .flat_map(|run| &run.judgement.figures)
            .filter(|figure| figure.name == name)
            .collect();
        let count = |state| said.iter().filter(|figure| figure.state == state).count();
        let errors = sorted(said.iter().filter_map(|one| one.error).map(f64::abs).collect());
        let covered: Vec<bool> = said.iter().filter_map(|figure| figure.covers).collect();
        let held = covered.iter().filter(|held| **held).count();
        let error = |share| at(&errors, share).map_or("-".into(), |e| format!("{:.4}%", 100.0 * e));
        let aside = if said.iter().any(|figure| figure.is_aside) { " (aside)" } else { "" };
        let _ = writeln!(
            text,
            "    {:<20} {:>5} said, {:>4} wrong, {:>4} unknown; error median {}, p95 {}; {held} of {} \
             intervals hold the truth",
            format!("{name}{aside}"),
            said.len(),
            count(State::Wrong),
            count(State::Unknown),
            error(0.5),
            error(0.95),
            covered.len()
        );
    }
    text
}

pub(crate) fn percent(class: Class, runs: &[&Outcome]) -> f64 {
    let count = runs.iter().filter(|run| run.judgement.class == class).count();
    100.0 * count as f64 / runs.len().max(1) as f64
}

pub(crate) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The value below which this share of them lies.
pub(crate) fn at(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

/// Which limits are exceeded, a sentence for each.
pub(crate) fn exceeded(outcomes: &[Outcome], limits: Limits) -> Vec<String> {
    let mut sentences = Vec::new();
    for (method, runs) in by_method(outcomes) {
        let is_impaired = |run: &&&Outcome| {
            let impaired = ["loss", "jitter", "loss and jitter", "host trouble"];
            run.groups.iter().any(|group| impaired.contains(group))
        };
        let (impaired, plain): (Vec<&Outcome>, Vec<&Outcome>) =
            runs.iter().partition(|run| is_impaired(run));
        let mut check = |what: &str, class, runs: &[&Outcome], limit: Option<f64>| {
            let share = percent(class, runs);
            if let Some(limit) = limit.filter(|limit| share > *limit) {
                sentences
                    .push(format!("{}: {share:.2} % {what}, at most {limit} %", method.name()));
            }
        };
        check("wrong though valid", Class::Wrong, &runs, limits.wrong);
        check("invalid or aborted", Class::Invalid, &runs, limits.invalid);
        check("unknown without loss or jitter", Class::Unknown, &plain, limits.unknown);
        check("unknown with loss or jitter", Class::Unknown, &impaired, limits.unknown_impaired);
        let covered: Vec<bool> = runs.iter().flat_map(|run| coverage(run)).collect();
        let held =
            share_of(&covered).filter(|held| limits.covers.is_some_and(|least| *held < least));
        sentences.extend(held.map(|held| {
            let least = limits.covers.unwrap_or_default();
            format!(
                "{}: {held:.2} % of the intervals hold the truth, at least {least} %",
                method.name()
            )
        }));
    }
    sentences
}

/// Every run with every figure.
pub(crate) fn json(outcomes: &[Outcome]) -> Value {
    outcomes.iter().map(run).collect()
}

fn run(outcome: &Outcome) -> Value {
    let Outcome { network, described, groups, method, judgement, took, happenings } = outcome;
    let figures = judgement.figures.iter().map(|figure| {
        json!({
            "name": figure.name,
            "state": match figure.state {
                State::Right => "right",
                State::Wrong => "wrong",
                State::Unknown => "unknown",
            },
            "error": figure.error,
            "covers": figure.covers,
            "width": figure.width.filter(|width| width.is_finite()),
            "text": figure.text,
            "aside": figure.is_aside,
        })
    });
    json!({
        "network": network,
        "described": described,
        "groups": groups,
        "method": method.name(),
        "class": judgement.class.name(),
        "reasons": judgement.reasons,
        "figures": figures.collect::<Value>(),
        "took_s": took.as_secs_f64(),
        "happenings": happenings,
    })
}

#[cfg(test)]
mod tests;
