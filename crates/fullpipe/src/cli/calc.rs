//! `fullpipe calc`: the formulas of the standards by hand, and files of cases with known results.

mod by_hand;
mod cases;
mod function;
mod functions;
mod tolerance;

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::exit::{Exit, Failure};

const ABOUT: &str = "Compute the formulas of the standards by hand";
const CASES_HELP: &str =
    "Evaluate a file of cases and compare with what it expects; - is standard input";

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Args(Request);

#[derive(Debug)]
enum Request {
    List,
    Cases { file: PathBuf, form: Form },
    Evaluate { name: String, matches: ArgMatches },
}

/// Text for people or JSON for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
}

impl Form {
    fn of(matches: &ArgMatches) -> Self {
        if matches.get_flag("json") { Self::Json } else { Self::Text }
    }
}

pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let exit = match args.0 {
        Request::List => list(&mut out),
        Request::Cases { file, form } => cases::run(&file, form, &mut out),
        Request::Evaluate { name, matches } => by_hand::run(&name, &matches, &mut out),
    }?;
    out.flush().map_err(unwritten)?;
    Ok(exit)
}

fn list(out: &mut impl io::Write) -> Result<Exit, Failure> {
    let mut text = String::from("Functions, each with --help of its own:\n\n");
    for function in functions::all() {
        text.push_str(&format!("  {:<24}{}\n", function.name, function.about));
    }
    text.push_str("\nExample: fullpipe calc bdp --rate 100M --rtt 10.211ms\n");
    out.write_all(text.as_bytes()).map_err(unwritten)?;
    Ok(Exit::Passed)
}

/// The reader of our output has gone.
fn unwritten(error: io::Error) -> Failure {
    Failure::not_run(anyhow::Error::new(error).context("cannot write to standard output"))
}

// The commands come out of the table of functions, so clap's builder is told what derive would say.
impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let cases = Arg::new("cases")
            .long("cases")
            .value_name("FILE")
            .help(CASES_HELP)
            .value_parser(value_parser!(PathBuf));
        command
            .about(ABOUT)
            .args_conflicts_with_subcommands(true)
            .subcommand_value_name("FN")
            .subcommand_help_heading("Functions")
            .disable_help_subcommand(true)
            .arg(cases)
            .arg(json().requires("cases"))
            .subcommands(functions::all().map(|function| by_hand::command(function).arg(json())))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn json() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).help("One JSON document on stdout")
}

impl clap::FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(match (matches.subcommand(), matches.get_one::<PathBuf>("cases")) {
            (Some((name, matches)), _) => {
                Request::Evaluate { name: name.to_owned(), matches: matches.clone() }
            }
            (None, Some(file)) => Request::Cases { file: file.clone(), form: Form::of(matches) },
            (None, None) => Request::List,
        }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
