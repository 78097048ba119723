//! One function from the command line: options in, figures out.

use std::io;

use clap::{Arg, ArgAction, ArgMatches, Command};
use fp_method::Number;
use fp_model::{Layer, QuantityError, parse_duration, parse_rate, parse_size};
use serde_json::{Map, Value, json};

use super::function::{Figure, Figures, Function, Inputs, Kind, Need, Param, Refusal};
use super::{Form, functions, unwritten};
use crate::exit::{Exit, Failure};

/// The command of one function.
pub(super) fn command(function: &'static Function) -> Command {
    let command =
        Command::new(function.name).about(function.about).args(function.params.iter().map(arg));
    let other_name = function.case_name != function.name;
    if other_name { command.alias(function.case_name) } else { command }
}

fn arg(param: &'static Param) -> Arg {
    let arg = Arg::new(param.option).long(param.option).help(param.help);
    if param.kind == Kind::Switch {
        return arg.action(ArgAction::SetTrue);
    }
    let kind = param.kind;
    let arg = arg.value_name(value_name(kind)).value_parser(move |text: &str| parse(kind, text));
    match param.need {
        Need::Required => arg.required(true),
        Need::Optional => arg,
        Need::Default(default) => arg.default_value(default),
    }
}

fn value_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Rate(_) | Kind::ByteRate(_) => "RATE",
        Kind::LayeredRate(_) => "RATE[@LAYER]",
        Kind::Size => "BYTES",
        Kind::Time | Kind::Millis => "TIME",
        Kind::Count | Kind::Decimal => "NUMBER",
        Kind::Switch => "",
        Kind::Times | Kind::MillisList => "TIME,...",
        Kind::Packets => "TIME:BYTES[:COLOUR],...",
        Kind::Trials => "COUNTxTIME:LOSS,...",
        Kind::Feedback => "ERRORS:TIME,...",
    }
}

/// Evaluates the function called `name` with the options in `matches`.
pub(super) fn run(
    name: &str,
    matches: &ArgMatches,
    out: &mut impl io::Write,
) -> Result<Exit, Failure> {
    let unknown = || Failure::bad_input(anyhow::anyhow!("there is no function {name}"));
    let function = functions::all().find(|function| function.name == name).ok_or_else(unknown)?;
    let inputs = inputs(function, matches);
    let refused = |refusal| Failure::bad_input(anyhow::anyhow!("{}", sentence(function, &refusal)));
    let figures = (function.evaluate)(&Inputs(&inputs)).map_err(refused)?;
    if let Some(label) = all_undefined(function, &figures) {
        let why = "by a division by zero, the root or logarithm of a negative number, or its size";
        return Err(Failure::bad_input(anyhow::anyhow!("{label} is undefined here: {why}")));
    }
    let text = match Form::of(matches) {
        Form::Json => as_json(function, &inputs, &figures),
        Form::Text => as_text(function, &figures),
    };
    writeln!(out, "{text}").map_err(unwritten)?;
    Ok(Exit::Passed)
}

/// The inputs by the keys of case files.
fn inputs(function: &Function, matches: &ArgMatches) -> Map<String, Value> {
    let mut inputs = Map::new();
    for param in function.params {
        let value = if param.kind == Kind::Switch {
            Some(Value::Bool(matches.get_flag(param.option)))
        } else {
            matches.get_one::<Value>(param.option).cloned()
        };
        match (value, param.kind) {
            (None, _) => {}
            (Some(Value::Object(layered)), Kind::LayeredRate(_)) => {
                inputs.extend(layered);
            }
            (Some(value), _) => insert(&mut inputs, param.key, value),
        }
    }
    inputs
}

fn insert(inputs: &mut Map<String, Value>, key: &str, value: Value) {
    let Some((outer, inner)) = key.split_once('.') else {
        inputs.insert(key.to_owned(), value);
        return;
    };
    if let Value::Object(nested) = inputs.entry(outer).or_insert_with(|| json!({})) {
        nested.insert(inner.to_owned(), value);
    }
}

/// With the option that the user typed instead of the key.
fn sentence(function: &Function, refusal: &Refusal) -> String {
    let param = function.params.iter().find(|param| param.key == refusal.key);
    let name = param.map_or(refusal.key.clone(), |param| format!("--{}", param.option));
    format!("{}: {name} {}", function.name, refusal.wrong)
}

/// The label of the first figure where none of them is defined.
fn all_undefined(function: &Function, figures: &Figures) -> Option<&'static str> {
    let undefined =
        |figure: &Figure| matches!(figure, Figure::Number(number) if !number.is_defined());
    let none = !figures.is_empty() && figures.iter().all(|(_, figure)| undefined(figure));
    function.results.first().filter(|_| none).map(|shown| shown.label)
}

fn as_json(function: &Function, inputs: &Map<String, Value>, figures: &Figures) -> String {
    let mut results = Map::new();
    for shown in function.results {
        if let Some((_, figure)) = figures.iter().find(|(key, _)| *key == shown.key) {
            results.insert(shown.field.to_owned(), figure_as_json(figure));
        }
    }
    json!({ "function": function.name, "inputs": inputs, "results": results }).to_string()
}

pub(super) fn figure_as_json(figure: &Figure) -> Value {
    let list = |numbers: &[Number]| numbers.iter().map(|number| number_as_json(*number)).collect();
    match figure {
        Figure::Number(number) => number_as_json(*number),
        Figure::Flag(flag) => Value::Bool(*flag),
        Figure::Text(text) => Value::String(text.clone()),
        Figure::List(numbers) => Value::Array(list(numbers)),
        Figure::Rows(rows) => rows
            .iter()
            .map(|row| {
                let fields =
                    row.iter().map(|(key, number)| ((*key).to_owned(), number_as_json(*number)));
                Value::Object(fields.collect())
            })
            .collect(),
    }
}

fn number_as_json(number: Number) -> Value {
    match number.to_u64() {
        Some(whole) => Value::from(whole),
        None => number.to_f64().map_or(Value::Null, Value::from),
    }
}

fn as_text(function: &Function, figures: &Figures) -> String {
    let width = function.results.iter().map(|shown| shown.label.chars().count()).max().unwrap_or(0);
    let line = |shown: &super::function::Shown| {
        let (_, figure) = figures.iter().find(|(key, _)| *key == shown.key)?;
        let unit = unit(shown.field);
        let value = match figure {
            Figure::Number(number) => with_unit(*number, unit),
            Figure::Flag(flag) => String::from(if *flag { "yes" } else { "no" }),
            Figure::Text(text) => text.clone(),
            Figure::List(numbers) => {
                let items: Vec<String> = numbers.iter().map(|number| plain(*number)).collect();
                [items.join(" "), unit.to_owned()].join(" ").trim_end().to_owned()
            }
            Figure::Rows(rows) => {
                rows.iter().map(|row| row_as_text(row)).collect::<Vec<_>>().join("")
            }
        };
        Some(format!("{:width$}  {value}", shown.label))
    };
    function.results.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

fn row_as_text(row: &[(&'static str, Number)]) -> String {
    let items: Vec<String> =
        row.iter().map(|(key, number)| format!("{key} {}", with_unit(*number, "s"))).collect();
    format!("\n  {}", items.join("  "))
}

/// The unit that the ending of a field stands for.
fn unit(field: &str) -> &'static str {
    match field.rsplit('_').next() {
        Some("bps") => "bit/s",
        Some("mbps") => "Mbit/s",
        Some("bytes") => "bytes",
        Some("bits") => "bit",
        Some("s") => "s",
        Some("ms") => "ms",
        Some("percent") => "%",
        Some("pps") => "packets/s",
        Some("fps") => "frames/s",
        Some("cps") => "connections/s",
        Some("rpm") => "round trips/min",
        Some("packets") => "packets",
        _ => "",
    }
}

fn with_unit(number: Number, unit: &str) -> String {
    // Times are seldom whole seconds: they are shown in the unit that fits.
    let (scale, unit) = match (unit, number.to_f64().map(f64::abs)) {
        ("s", Some(seconds)) if seconds > 0.0 && seconds < 0.001 => (1_000_000, "µs"),
        ("s", Some(seconds)) if seconds > 0.0 && seconds < 1.0 => (1000, "ms"),
        _ => (1, unit),
    };
    format!("{} {unit}", plain(number * Number::whole(scale))).trim_end().to_owned()
}

/// With thousands separated and at most six decimals, very small numbers in powers of ten.
pub(super) fn plain(number: Number) -> String {
    let Some(value) = number.to_f64() else { return String::from("n/a") };
    if value != 0.0 && value.abs() < 1e-4 {
        return format!("{value:.6e}");
    }
    let digits = match number.to_u64() {
        Some(whole) => whole.to_string(),
        None => format!("{value:.6}"),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{fraction}")
}

/// What is wrong with the text of an option.
#[derive(Debug, thiserror::Error)]
enum BadOption {
    #[error("{0}")]
    Quantity(#[from] QuantityError),
    #[error("this rate is counted at layer {0}")]
    OtherLayer(Layer),
    #[error("must be a decimal number such as 0.5")]
    NotADecimal,
    #[error("must be a whole number of 64 bits")]
    NotWhole,
    #[error("is a list of {0}")]
    NotAList(&'static str),
}

/// Into the form that case files have.
fn parse(kind: Kind, text: &str) -> Result<Value, BadOption> {
    match kind {
        Kind::Rate(layer) => Ok(Value::from(rate_at(layer, text)?)),
        Kind::LayeredRate(default) => {
            let (rate, layer) = parse_rate(text)?;
            let layer = layer.unwrap_or(default).to_string();
            Ok(json!({ "rate_bps": rate.as_bps(), "layer": layer }))
        }
        Kind::ByteRate(layer) => decimal(Number::from(rate_at(layer, text)?) / Number::whole(8)),
        Kind::Size => Ok(Value::from(parse_size(text)?)),
        Kind::Time => seconds(text),
        Kind::Millis => millis(text),
        Kind::Count => text.parse::<u64>().map(Value::from).map_err(|_| BadOption::NotWhole),
        Kind::Decimal => decimal(Number::parse(text).ok_or(BadOption::NotADecimal)?),
        Kind::Switch => Ok(Value::Bool(true)),
        Kind::Times => list(text, seconds),
        Kind::MillisList => list(text, millis),
        Kind::Packets => list(text, packet),
        Kind::Trials => list(text, trials),
        Kind::Feedback => list(text, feedback),
    }
}

fn rate_at(layer: Layer, text: &str) -> Result<u64, BadOption> {
    let (rate, named) = parse_rate(text)?;
    match named {
        Some(named) if named != layer => Err(BadOption::OtherLayer(layer)),
        Some(_) | None => Ok(rate.as_bps()),
    }
}

fn decimal(number: Number) -> Result<Value, BadOption> {
    number.to_f64().map(Value::from).ok_or(BadOption::NotADecimal)
}

fn seconds(text: &str) -> Result<Value, BadOption> {
    decimal(fp_method::Seconds::from(parse_duration(text)?).0)
}

fn millis(text: &str) -> Result<Value, BadOption> {
    decimal(fp_method::Seconds::from(parse_duration(text)?).millis())
}

fn list(text: &str, item: fn(&str) -> Result<Value, BadOption>) -> Result<Value, BadOption> {
    text.split(',').map(|text| item(text.trim())).collect()
}

fn packet(text: &str) -> Result<Value, BadOption> {
    let wrong = || BadOption::NotAList("TIME:BYTES[:COLOUR], such as 0:1500:G,1ms:500");
    let (time, rest) = text.split_once(':').ok_or_else(wrong)?;
    let (bytes, colour) = rest.split_once(':').unwrap_or((rest, "G"));
    if !["G", "Y", "R"].contains(&colour) {
        return Err(wrong());
    }
    Ok(json!({ "t": seconds(time)?, "len": parse_size(bytes)?, "pre": colour }))
}

fn trials(text: &str) -> Result<Value, BadOption> {
    let wrong = || BadOption::NotAList("COUNTxTIME:LOSS, such as 59x1s:0,1x60s:0.001");
    let (count, rest) = text.split_once('x').ok_or_else(wrong)?;
    let (time, loss) = rest.split_once(':').ok_or_else(wrong)?;
    let loss = decimal(Number::parse(loss).ok_or_else(wrong)?)?;
    let count: u64 = count.parse().map_err(|_| wrong())?;
    Ok(json!({ "count": count, "duration_s": seconds(time)?, "loss_ratio": loss }))
}

fn feedback(text: &str) -> Result<Value, BadOption> {
    let wrong = || BadOption::NotAList("ERRORS:DELAYRANGE, such as 0:5ms,20:5ms");
    let (errors, delay) = text.split_once(':').ok_or_else(wrong)?;
    let errors: u64 = errors.parse().map_err(|_| wrong())?;
    Ok(json!({ "seq_err": errors, "delay_range_ms": millis(delay)? }))
}
