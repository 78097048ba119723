//! The table of a full run as it stands in the manual.

use std::fmt::Write as _;
use std::process::Command;

use crate::judge::Class;
use crate::method::Method;
use crate::options::{Options, Which};
use crate::table::{
    Outcome, at, by_group, by_method, coverage, headline, percent, share_of, sorted,
};

const CLASSES: [Class; 4] = [Class::Right, Class::Unknown, Class::Wrong, Class::Invalid];

/// In Markdown, with what to type to make it again.
pub(crate) fn markdown(outcomes: &[Outcome], options: &Options) -> String {
    let networks = match options.which {
        Which::Drawn { count } => format!("--seed {} --count {count}", options.seed),
        Which::Only { index } => format!("--seed {} --only {index}", options.seed),
        Which::Fixed => "--table".into(),
        Which::Kernel => "--kernel".into(),
    };
    let links = if options.is_of_links { "--links " } else { "" };
    let mut text =
        format!("Made by `cargo xtask truth {links}{networks}` of commit {}.\n", commit());
    for (method, runs) in by_method(outcomes) {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{}", of_method(method, &runs));
    }
    text
}

fn of_method(method: Method, runs: &[&Outcome]) -> String {
    let mut text = format!(
        "| `{}` | runs | right | unknown | wrong | invalid | intervals hold the truth | they are ± |\n\
         | --- | --: | --: | --: | --: | --: | --: | --: |\n",
        method.name()
    );
    for (group, runs) in by_group(runs) {
        let shares = CLASSES.map(|class| format!("{:.1} %", percent(class, &runs)));
        let held: Vec<bool> = runs.iter().flat_map(|run| coverage(run)).collect();
        let held = share_of(&held).map_or("–".into(), |held| format!("{held:.1} %"));
        let figures = runs.iter().flat_map(|run| headline(run));
        // Half of an interval in relation to its middle.
        let widths = sorted(figures.filter_map(|figure| figure.width).collect());
        let width =
            at(&widths, 0.5).map_or("–".into(), |width| format!("{:.3} %", 100.0 * width));
        let (count, shares) = (runs.len(), shares.join(" | "));
        let _ = writeln!(text, "| {group} | {count} | {shares} | {held} | {width} |");
    }
    text
}

/// The one that is checked out, as git calls it.
fn commit() -> String {
    let asked = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    let said = asked.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    said.map_or_else(|| "unknown".into(), |said| said.trim().into())
}
