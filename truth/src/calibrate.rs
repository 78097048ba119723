//! How sure an answer is, by kind of path: the runs of many seeds and of both generators, pooled.
//!
//! Of `n` runs that are right, unknown or wrong `k` are wrong; invalid ones are left out. The share of wrong
//! ones among all such networks is below the upper end of the interval of Clopper and Pearson (1934), one-sided
//! at 95 %: the share at which `k` or fewer of `n` have a probability of 5 %.
//!
//! Where that end is too high for a class of paths, runs may still be sure whose intervals are narrow. The
//! score of a run is the widest interval that it states; the table says up to which width the bound is half a
//! percent, if it is anywhere.
//!
//! Errors in half-widths of their own intervals tell whether intervals are as wide as they should be: of
//! intervals that hold the truth in 95 of 100 cases the quantile of 95 % is 1.

use std::fmt::Write as _;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::method::Method;
use crate::table::{at, sorted};

/// The probability with which a bound holds.
const CONFIDENCE: f64 = 0.95;
/// The share of wrong runs that a class of paths may have at most.
const WRONG_MAX: f64 = 0.005;
/// Classes of paths, by names of [`crate::groups::GROUPS`].
const CLASSES: [&str; 8] =
    ["all", "clean", "loss", "jitter", "loss and jitter", "cascade", "deep bucket", "host trouble"];

/// One run of a list that `--json` wrote.
#[derive(Debug)]
struct Run {
    network: String,
    method: String,
    groups: Vec<String>,
    is_wrong: bool,
    /// Half of the widest interval, in relation to its middle.
    widest: f64,
    /// Of each interval with two ends: the error in half-widths.
    errors: Vec<f64>,
}

/// The table in Markdown.
///
/// # Errors
/// A file that cannot be read, or is no list of runs; two lists that hold the same run.
pub(crate) fn markdown(files: &[String]) -> anyhow::Result<String> {
    ensure!(!files.is_empty(), "--calibrate: files that --json wrote are missing");
    let mut runs = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).with_context(|| file.clone())?;
        let list: Vec<Value> = serde_json::from_str(&text).with_context(|| file.clone())?;
        for run in &list {
            let run = Run::of(run).with_context(|| format!("{file}: no list of runs"))?;
            runs.extend(run);
        }
    }
    runs.sort_by(|a: &Run, b| (&a.network, &a.method).cmp(&(&b.network, &b.method)));
    for pair in runs.windows(2) {
        let is_same = pair[0].network == pair[1].network && pair[0].method == pair[1].method;
        ensure!(!is_same, "{}: {} is in two lists", pair[0].network, pair[0].method);
    }
    Ok(tables(&runs))
}

impl Run {
    /// `None` where the value is no run, and within where the run is invalid or was broken off.
    fn of(run: &Value) -> Option<Option<Self>> {
        let text = |key: &str| run.get(key)?.as_str();
        let class = text("class")?;
        let figures = run.get("figures")?.as_array()?.iter();
        let figures = figures.filter(|figure| figure["aside"] != Value::Bool(true));
        let number = |figure: &Value, key: &str| figure[key].as_f64();
        let widths: Vec<_> = figures
            .filter_map(|figure| Some((number(figure, "width")?, number(figure, "error"))))
            .filter(|(width, _)| *width > 0.0)
            .collect();
        let groups = run.get("groups")?.as_array()?.iter();
        let groups = groups.map(|group| group.as_str().map(str::to_owned));
        let run = Self {
            network: text("network")?.to_owned(),
            method: text("method")?.to_owned(),
            groups: groups.collect::<Option<_>>()?,
            is_wrong: class == "wrong",
            widest: widths.iter().map(|(width, _)| *width).fold(0.0, f64::max),
            errors: widths
                .iter()
                .filter_map(|(width, error)| error.map(|error| error.abs() / width))
                .collect(),
        };
        Some((class != "invalid").then_some(run))
    }

    fn is_of_links(&self) -> bool {
        self.network.starts_with("links")
    }
}

/// The seeds of a generator whose networks were run, with how many there were of each.
fn seeds(runs: &[&Run]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for run in runs {
        let seed = run.network.rsplit_once('-').map_or(run.network.as_str(), |(seed, _)| seed);
        match counts.last_mut().filter(|(last, _)| *last == seed) {
            Some((_, count)) => *count += 1,
            None => counts.push((seed, 1)),
        }
    }
    let counts: Vec<String> =
        counts.into_iter().map(|(seed, count)| format!("`{seed}` ({count})")).collect();
    counts.join(", ")
}

fn tables(runs: &[Run]) -> String {
    let mut text = String::new();
    for method in Method::ALL {
        let of: Vec<&Run> = runs.iter().filter(|run| run.method == method.name()).collect();
        if !of.is_empty() {
            // Writing to a string does not fail.
            let _ = write!(text, "\n{}", of_method(method, &of));
        }
    }
    text
}

fn of_method(method: Method, runs: &[&Run]) -> String {
    let mut text = format!(
        "| `{}` | runs | over links | wrong | at most | at most {:.1} % where intervals are | \
         95 % of errors |\n| --- | --: | --: | --: | --: | --: | --: |\n",
        method.name(),
        100.0 * WRONG_MAX
    );
    for class in CLASSES {
        let of: Vec<&Run> = runs
            .iter()
            .filter(|run| run.groups.iter().any(|group| group == class))
            .copied()
            .collect();
        if of.is_empty() {
            continue;
        }
        let wrong = of.iter().filter(|run| run.is_wrong).count();
        let links = of.iter().filter(|run| run.is_of_links()).count();
        let most = 100.0 * share_at_most(wrong, of.len());
        let narrow = narrow(&of).map_or("–".into(), |(width, count)| {
            format!("± {:.2} % or less ({count})", 100.0 * width)
        });
        let errors = sorted(of.iter().flat_map(|run| run.errors.iter().copied()).collect());
        let error = at(&errors, CONFIDENCE).map_or("–".into(), |error| format!("{error:.2}"));
        let count = of.len();
        let _ = writeln!(
            text,
            "| {class} | {count} | {links} | {wrong} | {most:.2} % | {narrow} | {error} |"
        );
    }
    let _ = writeln!(text, "\nSeeds, with the runs of each: {}.", seeds(runs));
    text
}

/// The widest interval up to which runs are wrong in at most [`WRONG_MAX`] of all cases, and how many runs have
/// none wider.
fn narrow(runs: &[&Run]) -> Option<(f64, usize)> {
    let mut by_width: Vec<&Run> = runs.to_vec();
    by_width.sort_by(|a, b| a.widest.total_cmp(&b.widest));
    let mut wrong = 0;
    let mut found = None;
    for (place, run) in by_width.iter().enumerate() {
        wrong += usize::from(run.is_wrong);
        if share_at_most(wrong, place + 1) <= WRONG_MAX {
            found = Some((run.widest, place + 1));
        }
    }
    found
}

/// The upper end of the interval of Clopper and Pearson, by bisection.
fn share_at_most(wrong: usize, of: usize) -> f64 {
    if wrong >= of {
        return 1.0;
    }
    let (mut least, mut most) = (0.0, 1.0);
    for _ in 0..60 {
        let share = f64::midpoint(least, most);
        if or_fewer(wrong, of, share) > 1.0 - CONFIDENCE {
            least = share;
        } else {
            most = share;
        }
    }
    most
}

/// The probability of `wrong` or fewer of `of` at this share between 0 and 1: the sum of the binomial
/// distribution, in logarithms, as its terms may be too small for a number.
fn or_fewer(wrong: usize, of: usize, share: f64) -> f64 {
    let mut term = of as f64 * (-share).ln_1p();
    let mut sum = term.exp();
    for k in 0..wrong {
        term += ((of - k) as f64 / (k + 1) as f64).ln() + share.ln() - (-share).ln_1p();
        sum += term.exp();
    }
    sum
}

#[cfg(test)]
mod tests;
