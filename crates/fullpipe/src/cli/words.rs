//! From the options of a test in a plan to the words of its command line, checked by the command's
//! own parser.

use std::any::TypeId;
use std::path::{Component, Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command, CommandFactory as _, Parser as _};

use super::Cli;
use super::cost::Cost;
use crate::plan::{Setting, Target};
use crate::yaml::{Problem, Text, at, nearest};

/// What whoever runs a test decides, not the test.
pub(crate) const DECIDED: [&str; 14] = [
    "far",
    "client",
    "lab",
    "truth",
    "key_file",
    "json",
    "json_stream",
    "output",
    "no_save",
    "quiet",
    "verbose",
    "interval",
    "tui",
    "no_color",
];

/// The commands that measure, to a far end or across an emulated network.
pub(crate) fn methods() -> Vec<String> {
    let cli = Cli::command();
    let measures = |command: &&Command| {
        let has = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
        !["run", "watch"].contains(&command.get_name()) && has("lab") && has("no_save")
    };
    cli.get_subcommands().filter(measures).map(|command| command.get_name().to_owned()).collect()
}

/// The words of a test across `target`, checked as they would be on a command line, and what it
/// takes.
pub(crate) fn words(
    name: &Text,
    options: &[Setting],
    target: &Target,
) -> Result<(Vec<String>, Cost), Problem> {
    understood(name, options, target).map(|(words, command)| (words, command.cost()))
}

/// The same words, and what they ask for.
pub(crate) fn understood(
    name: &Text,
    options: &[Setting],
    target: &Target,
) -> Result<(Vec<String>, super::Command), Problem> {
    let mut cli = Cli::command();
    cli.build();
    let method = method(&cli, name, target)?;
    let mut words = match target {
        Target::Far(far) => vec![name.value.clone(), address(far).to_owned()],
        Target::Lab(net) => vec![name.value.clone(), String::from("--lab"), net.clone()],
        Target::Sim(net) => vec![String::from("sim"), net.clone(), name.value.clone()],
    };
    for setting in options {
        words.extend(of_setting(method, setting)?);
    }
    let line = [String::from("fullpipe")].into_iter().chain(words.iter().cloned());
    let cli = Cli::try_parse_from(line).map_err(|error| problem(&error, method, name, options))?;
    cli.command
        .check()
        .map_err(|failure| Problem::with(name, format!("{}: {:#}", name.value, failure.error)))?;
    Ok((words, cli.command))
}

/// The far end without its secret, which is for no command line.
fn address(far: &str) -> &str {
    let address = far.trim().split('#').next().unwrap_or_default();
    address.strip_prefix("fp://").unwrap_or(address).trim_end_matches('/')
}

fn method<'a>(cli: &'a Command, name: &Text, target: &Target) -> Result<&'a Command, Problem> {
    let of = match target {
        Target::Far(_) | Target::Lab(_) => Some(cli),
        Target::Sim(_) => cli.find_subcommand("sim"),
    };
    of.and_then(|of| of.find_subcommand(&name.value))
        .ok_or_else(|| Problem::with(name, format!("`{}` cannot be simulated", name.value)))
}

fn of_setting(method: &Command, Setting { key, values }: &Setting) -> Result<Vec<String>, Problem> {
    let arg = argument(method, key)?;
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return flag(arg, key, values);
    }
    for value in values {
        expect_inside(arg, value)?;
    }
    let values: Vec<&str> = values.iter().map(|value| value.value.as_str()).collect();
    if arg.is_positional() {
        return Ok(values.into_iter().map(String::from).collect());
    }
    let values = match (arg.get_value_delimiter(), arg.get_action()) {
        (Some(comma), _) => vec![values.join(&comma.to_string())],
        (None, ArgAction::Append) => values.into_iter().map(String::from).collect(),
        (None, _) if values.len() == 1 => vec![values[0].to_owned()],
        (None, _) => {
            return Err(Problem::with(key, format!("`{}` has one value", key.value)));
        }
    };
    Ok(values.into_iter().flat_map(|value| option(arg, &value)).collect())
}

fn flag(arg: &Arg, key: &Text, values: &[Text]) -> Result<Vec<String>, Problem> {
    match values {
        [value] if value.value == "true" => Ok(option(arg, "")),
        [value] if value.value == "false" => Ok(Vec::new()),
        [] | [_, ..] => {
            let sentence = format!("`{}` is true or false: it has no value", key.value);
            Err(Problem::with(values.first().unwrap_or(key), sentence))
        }
    }
}

/// As it stands on a command line; a value may begin with a dash.
fn option(arg: &Arg, value: &str) -> Vec<String> {
    match (arg.get_long(), arg.get_short(), value) {
        (Some(long), _, "") => vec![format!("--{long}")],
        (Some(long), _, value) => vec![format!("--{long}={value}")],
        (None, Some(short), value) => vec![format!("-{short}{value}")],
        (None, None, value) => vec![value.to_owned()],
    }
}

/// The option that `key` names, with or without its dashes, by its long name or its letter.
fn argument<'a>(method: &'a Command, key: &Text) -> Result<&'a Arg, Problem> {
    let name = key.value.trim_start_matches('-');
    let found = method.get_arguments().find(|arg| names(arg).iter().any(|known| known == name));
    match found {
        Some(arg) if DECIDED.contains(&arg.get_id().as_str()) => {
            let sentence = format!("`{name}` is not for a plan: `fullpipe run` decides it");
            Err(Problem::with(key, sentence))
        }
        Some(arg) => Ok(arg),
        None => Err(unknown(method, key, name)),
    }
}

fn unknown(method: &Command, key: &Text, name: &str) -> Problem {
    let allowed = method
        .get_arguments()
        .filter(|arg| !DECIDED.contains(&arg.get_id().as_str()))
        .filter_map(|arg| names(arg).into_iter().next())
        .filter(|name| !matches!(name.as_str(), "help" | "version"))
        .collect::<Vec<_>>();
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    let suggestion = match nearest(name, &allowed) {
        Some(nearest) => format!("did you mean `{nearest}`? "),
        None => String::new(),
    };
    let method = method.get_name();
    let sentence = format!(
        "`{method}` has no option `{name}`: {suggestion}allowed are {}",
        allowed.join(", ")
    );
    Problem::with(key, sentence)
}

/// Under which a plan may name the option; the first is the usual one.
pub(crate) fn names(arg: &Arg) -> Vec<String> {
    if arg.is_positional() {
        return vec![arg.get_id().to_string()];
    }
    let long = arg.get_long().into_iter().chain(arg.get_all_aliases().into_iter().flatten());
    let short =
        arg.get_short().into_iter().chain(arg.get_all_short_aliases().into_iter().flatten());
    long.map(String::from).chain(short.map(String::from)).collect()
}

/// A plan names files of its own folder.
fn expect_inside(arg: &Arg, value: &Text) -> Result<(), Problem> {
    let is_file = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    match value.value.strip_prefix("csv:") {
        Some(file) => inside(&at(value, file.to_owned())),
        None if is_file => inside(value),
        None => Ok(()),
    }
}

/// Bad input unless the file lies in the plan's folder, which is the current one.
pub(crate) fn inside(value: &Text) -> Result<(), Problem> {
    let is_below = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let path = Path::new(&value.value);
    let real = path.canonicalize().ok();
    let here = Path::new(".").canonicalize().ok();
    let leads_out = real.zip(here).is_some_and(|(real, here)| !real.starts_with(here));
    if path.components().all(is_below) && !leads_out {
        return Ok(());
    }
    let sentence = "a plan names files of its own folder, without `..` and links that lead out";
    Err(Problem::with(value, format!("`{}`: {sentence}", value.value)))
}

/// What the command's parser complains of, at the option that it complains of.
fn problem(error: &clap::Error, method: &Command, name: &Text, options: &[Setting]) -> Problem {
    let named = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(named)) => vec![named.clone()],
        Some(ContextValue::Strings(named)) => named.clone(),
        Some(_) | None => Vec::new(),
    };
    let complained_of = options.iter().find(|setting| {
        argument(method, &setting.key).is_ok_and(|arg| named.contains(&arg.to_string()))
    });
    let place = complained_of.map_or(name, |setting| match setting.values.as_slice() {
        [value] => value,
        [] | [_, ..] => &setting.key,
    });
    let text = error.render().to_string();
    let said = text.split("\n\nUsage").next().unwrap_or(&text);
    let said = said.split("\n\nFor more").next().unwrap_or(said).trim_start_matches("error: ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    Problem::with(place, format!("{}: {said}", name.value))
}
