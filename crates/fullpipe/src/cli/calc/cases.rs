//! Files of cases: each evaluated, compared with what it expects, and named.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::Context as _;
use fp_method::Number;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::by_hand::figure_as_json;
use super::function::{Figure, Figures, Function, Inputs, Refusal, exact};
use super::tolerance::{Rule, Tolerance};
use super::{Form, functions, unwritten};
use crate::exit::{Exit, Failure};

const UNDEFINED: &str = "nothing: it is undefined by a division by zero or larger than any double";
const SCHEMA: &str = "fullpipe-golden/1";

/// Printed figures whose name does not say which computed one they are.
const PRINTED: [(&str, &str); 4] = [
    ("printed_in_appendix", "l2_coef"),
    ("printed_in_formula_list", "l2_coef"),
    ("printed_l1", "l1_mbps"),
    ("printed_l2", "l2_mbps"),
];

#[derive(Deserialize)]
struct CaseFile {
    schema: Option<String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(rename = "fn")]
    function: String,
    inputs: Map<String, Value>,
    expected: Map<String, Value>,
    tolerance: Tolerance,
}

/// What came of a case.
enum Outcome {
    Agrees,
    Differs(String),
    NotImplemented,
}

/// Evaluates the cases of `file`, a line for each; fails where any of them differs.
pub(super) fn run(file: &Path, form: Form, out: &mut impl io::Write) -> Result<Exit, Failure> {
    let cases = read(file).map_err(Failure::bad_input)?;
    let mut results = Vec::new();
    for case in &cases {
        let outcome = evaluate(case);
        if form == Form::Text {
            writeln!(out, "{}", line(case, &outcome)).map_err(unwritten)?;
        }
        results.push((case, outcome));
    }
    let count = |wanted: fn(&Outcome) -> bool| {
        results.iter().filter(|(_, outcome)| wanted(outcome)).count()
    };
    let agreeing = count(|outcome| matches!(outcome, Outcome::Agrees));
    let missing = count(|outcome| matches!(outcome, Outcome::NotImplemented));
    let differing = results.len() - agreeing - missing;
    match form {
        Form::Text => {
            let all = results.len();
            writeln!(
                out,
                "{all} cases: {agreeing} ok, {differing} mismatches, {missing} not implemented"
            )
        }
        Form::Json => {
            let cases: Vec<Value> =
                results.iter().map(|(case, outcome)| as_json(case, outcome)).collect();
            let totals =
                json!({ "ok": agreeing, "mismatches": differing, "not_implemented": missing });
            writeln!(out, "{}", json!({ "totals": totals, "cases": cases }))
        }
    }
    .map_err(unwritten)?;
    Ok(if differing == 0 { Exit::Passed } else { Exit::Failed })
}

fn line(case: &Case, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Agrees => format!("ok {}", case.id),
        Outcome::Differs(how) => format!("MISMATCH {}: {how}", case.id),
        Outcome::NotImplemented => format!("not implemented {} ({})", case.id, case.function),
    }
}

fn as_json(case: &Case, outcome: &Outcome) -> Value {
    let (outcome, how) = match outcome {
        Outcome::Agrees => ("ok", None),
        Outcome::Differs(how) => ("mismatch", Some(how)),
        Outcome::NotImplemented => ("not_implemented", None),
    };
    json!({ "id": case.id, "function": case.function, "outcome": outcome, "text": how })
}

fn read(file: &Path) -> anyhow::Result<Vec<Case>> {
    let name =
        if file == Path::new("-") { "standard input".into() } else { file.to_string_lossy() };
    let text = if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    let text = text.with_context(|| format!("cannot read cases from {name}"))?;
    let read: CaseFile = serde_json::from_str(&text).map_err(|error| located(&name, &error))?;
    if let Some(other) = read.schema.filter(|schema| schema != SCHEMA) {
        anyhow::bail!("{name}: the schema is {other}, this version reads {SCHEMA}");
    }
    anyhow::ensure!(!read.cases.is_empty(), "{name}: there are no cases");
    check(&read.cases).with_context(|| format!("{name}"))?;
    Ok(read.cases)
}

/// The message of serde_json ends in its place; ours begins with it.
fn located(name: &str, error: &serde_json::Error) -> anyhow::Error {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let place = format!(" at line {line} column {column}");
    anyhow::anyhow!("{name}:{line}:{column}: {}", message.strip_suffix(&place).unwrap_or(&message))
}

fn check(cases: &[Case]) -> anyhow::Result<()> {
    let mut ids = BTreeSet::new();
    for case in cases {
        anyhow::ensure!(ids.insert(&case.id), "the case {} is there twice", case.id);
        let missing = case.expected.keys().find(|key| case.tolerance.of(key).is_none());
        if let Some(key) = missing {
            anyhow::bail!("the case {} has no tolerance for {key}", case.id);
        }
    }
    Ok(())
}

fn evaluate(case: &Case) -> Outcome {
    let Some(function) = functions::all().find(|function| function.case_name == case.function)
    else {
        return Outcome::NotImplemented;
    };
    let differences = match (function.evaluate)(&Inputs(&case.inputs)) {
        Ok(figures) => differences(case, function, &figures),
        // What cannot be computed is expected to be null, or is a mismatch.
        Err(_) if all_null(case) => Vec::new(),
        Err(Refusal { key, wrong }) => vec![format!("cannot be computed: {key} {wrong}")],
    };
    if differences.is_empty() { Outcome::Agrees } else { Outcome::Differs(differences.join("; ")) }
}

fn all_null(case: &Case) -> bool {
    !case.expected.is_empty() && case.expected.values().all(Value::is_null)
}

fn differences(case: &Case, function: &Function, figures: &Figures) -> Vec<String> {
    let difference = |(key, expected): (&String, &Value)| {
        let rule = case.tolerance.of(key)?;
        if *rule == Rule::NotChecked {
            return None;
        }
        let Some(figure) = figure_of(key, rule, figures) else {
            let fitting = expected.is_null();
            return (!fitting).then(|| format!("{key} is not a result of {}", function.case_name));
        };
        let agrees = agrees(expected, &figure, rule);
        (!agrees).then(|| format!("{key} expected {expected} got {}", spelled(&figure)))
    };
    case.expected.iter().filter_map(difference).collect()
}

fn spelled(figure: &Figure) -> String {
    match figure {
        Figure::Number(number) if !number.is_defined() => String::from(UNDEFINED),
        Figure::Number(_)
        | Figure::Flag(_)
        | Figure::Text(_)
        | Figure::List(_)
        | Figure::Rows(_) => figure_as_json(figure).to_string(),
    }
}

/// The computed figure that an expected key stands for.
fn figure_of(key: &str, rule: &Rule, figures: &Figures) -> Option<Figure> {
    let named = |wanted: &str| {
        figures.iter().find(|(key, _)| *key == wanted).map(|(_, figure)| figure.clone())
    };
    if let Rule::CeilOf(Some(base)) = rule {
        return named(base);
    }
    let printed = PRINTED.iter().find(|(printed, _)| *printed == key);
    named(key).or_else(|| named(printed?.1)).or_else(|| by_unit(key, figures))
}

/// A figure as a text prints it, `printed_kbytes`: the one of that name or unit, scaled to it, or
/// the only one there is.
fn by_unit(key: &str, figures: &Figures) -> Option<Figure> {
    let (_, printed) = key.split_once('_').unwrap_or((key, ""));
    let (ending, scale) = match printed.rsplit('_').next() {
        Some("kbytes") => ("bytes", 1000),
        Some("mbps") => ("bps", 1_000_000),
        Some("kbps") => ("bps", 1000),
        _ => (printed, 1),
    };
    let ends = |(key, _): &&(&'static str, Figure)| {
        key.strip_suffix(ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
    };
    let last_word = printed.rsplit('_').next().unwrap_or(printed);
    let same_unit = |(key, _): &&(&'static str, Figure)| key.rsplit('_').next() == Some(last_word);
    let by_name = figures.iter().find(ends).filter(|_| !ending.is_empty());
    let by_unit = figures.iter().find(same_unit).filter(|_| !last_word.is_empty());
    let only = figures.first().filter(|_| figures.len() == 1);
    let (_, figure) = by_name.or(by_unit).or(only)?;
    match figure {
        Figure::Number(number) => Some(Figure::Number(*number / Number::whole(scale))),
        Figure::Flag(_) | Figure::Text(_) | Figure::List(_) | Figure::Rows(_) => None,
    }
}

fn agrees(expected: &Value, figure: &Figure, rule: &Rule) -> bool {
    match (expected, figure) {
        (Value::Null, Figure::Number(number)) => !number.is_defined(),
        (Value::Number(expected), Figure::Number(number)) => {
            exact(expected).is_some_and(|expected| rule.accepts(expected, *number))
        }
        (Value::Bool(expected), Figure::Flag(flag)) => expected == flag,
        (Value::String(expected), Figure::Text(text)) => expected == text,
        (Value::Array(expected), Figure::List(numbers)) => {
            let pairs = || expected.iter().zip(numbers);
            let agreeing = |(expected, number): (&Value, &Number)| {
                agrees(expected, &Figure::Number(*number), rule)
            };
            expected.len() == numbers.len() && pairs().all(agreeing)
        }
        (Value::Array(expected), Figure::Rows(rows)) => {
            let agreeing = |(expected, row): (&Value, &Vec<_>)| row_agrees(expected, row, rule);
            expected.len() == rows.len() && expected.iter().zip(rows).all(agreeing)
        }
        _ => false,
    }
}

fn row_agrees(expected: &Value, row: &[(&'static str, Number)], rule: &Rule) -> bool {
    let field_agrees = |(key, expected): (&String, &Value)| {
        let number = row.iter().find(|(name, _)| name == key).map(|(_, number)| *number);
        number.is_some_and(|number| agrees(expected, &Figure::Number(number), rule))
    };
    expected.as_object().is_some_and(|expected| expected.iter().all(field_agrees))
}
