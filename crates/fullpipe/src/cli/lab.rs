//! `fullpipe lab`: any program across an emulated network.

use std::env;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow};
use clap::Subcommand;
use fp_engine::lab::{End, Families, Lab, LabError, Privileges, Program};
use fp_engine::os::signal_queue::SignalQueue;
use fp_model::Family;
use fp_net::path::PathSpec;

use super::document;
use super::far_end::FarEnd;
use crate::exit::{Exit, Failure};
use crate::network;
use crate::values::seed;

/// Run a program across an emulated network on this machine, without root.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
The program sees one network interface; at the other end of the network, which the names far and \
near tell apart, `fullpipe serve` and, where it is installed, `iperf3 -s` wait for it:

  fullpipe lab metro-40m-cbs64k -- iperf3 -c far
  fullpipe lab metro-40m-cbs64k -- fullpipe test far

The lab ends with the program, and with it everything that the program has started."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// A built-in network or a file
    #[arg(required = true)]
    net: Option<String>,
    /// What to run at the near end [default: a shell]
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
    /// What to run at the far end, by sh, instead of iperf3 -s
    #[arg(long, value_name = "CMD")]
    far: Option<OsString>,
    /// Write what became of every frame to FILE, as JSON, when the program has ended
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Of everything random in the network
    #[arg(long, value_name = "N", value_parser = seed, default_value_t = 1)]
    seed: u64,
    /// A network without IPv6
    #[arg(short = '4', conflicts_with = "ipv6")]
    ipv4: bool,
    /// A network without IPv4
    #[arg(short = '6')]
    ipv6: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// The built-in networks
    List,
    /// The file of a network, to be changed to one's own
    Show {
        /// A built-in network or a file
        net: String,
    },
}

pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    match (&args.action, &args.net) {
        (Some(Action::List), _) => list(),
        (Some(Action::Show { net }), _) => show(&network::source(net)?),
        (None, Some(net)) => run_across(&network::load(net)?, &args),
        (None, None) => Err(Failure::bad_input(anyhow!("name a network: see `fullpipe lab list`"))),
    }
}

fn list() -> Result<Exit, Failure> {
    let lines = network::list().map(|(name, description)| format!("{name:24}{description}\n"));
    show(&lines.collect::<String>())
}

fn show(text: &str) -> Result<Exit, Failure> {
    document::print(text).map(|()| Exit::Passed)
}

fn run_across(path: &PathSpec, args: &Args) -> Result<Exit, Failure> {
    args.truth.as_deref().map_or(Ok(()), document::expect_writable)?;
    // Before any thread: an ordinary user changes the namespace of the whole process.
    let privileges = Privileges::prepare().map_err(Failure::not_run)?;
    let signals = SignalQueue::open().context("cannot catch signals").map_err(Failure::not_run)?;
    let lab = Lab::start(privileges, path, families(args), args.seed).map_err(Failure::not_run)?;
    let far = far_program(&lab, args)?;
    let server = FarEnd::start(lab.far(), family(args)).map_err(Failure::not_run)?;
    let program = match lab.near().start(near_command(&args.command, &server)) {
        Err(LabError::Program { program, error }) => return Ok(not_started(&program, &error)),
        program => program.map_err(Failure::not_run)?,
    };
    let end = program
        .wait_passing_on(&signals)
        .context("cannot wait for the program")
        .map_err(Failure::not_run)?;
    drop((far, server));
    tell_the_truth(&lab, args.truth.as_deref())?;
    Ok(Exit::OfProgram(exit_code(end)))
}

const fn families(args: &Args) -> Families {
    match (args.ipv4, args.ipv6) {
        (true, _) => Families::Only(Family::Ipv4),
        (_, true) => Families::Only(Family::Ipv6),
        (false, false) => Families::Both,
    }
}

/// By which the program is told of the far end.
const fn family(args: &Args) -> Family {
    if args.ipv6 { Family::Ipv6 } else { Family::Ipv4 }
}

/// What waits at the far end, beside `fullpipe serve`, until the lab ends.
fn far_program(lab: &Lab, args: &Args) -> Result<Option<Program>, Failure> {
    let Some(command) = &args.far else { return iperf3_server(lab) };
    let mut shell = Command::new("sh");
    // What the program at the near end writes to stdout may be for another program to read.
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(io::stderr());
    lab.far().start(shell).map(Some).map_err(Failure::not_run)
}

fn iperf3_server(lab: &Lab) -> Result<Option<Program>, Failure> {
    const PORT: u16 = 5201;
    let mut server = Command::new("iperf3");
    server.arg("-s").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match lab.far().start(server) {
        Ok(server) => {
            lab.far().wait_for_listener(PORT, &server).map_err(Failure::not_run)?;
            Ok(Some(server))
        }
        // It is there for those who have it.
        Err(LabError::Program { .. }) => Ok(None),
        Err(error) => Err(Failure::not_run(error)),
    }
}

/// The program, to which the far end is open as `far` by the key in its environment.
fn near_command(command: &[OsString], server: &FarEnd) -> Command {
    let mut near = match command.split_first() {
        Some((program, arguments)) => {
            let mut near = Command::new(program);
            near.args(arguments);
            near
        }
        None => Command::new(env::var_os("SHELL").unwrap_or_else(|| "sh".into())),
    };
    near.env("FULLPIPE_KEY", server.pairing().secret.reveal());
    near
}

/// As shells have it.
fn not_started(program: &str, error: &io::Error) -> Exit {
    let (code, why) = match error.kind() {
        ErrorKind::NotFound => (127, "there is no such program".to_owned()),
        // So says the kernel of a folder in PATH into which the user may not look.
        ErrorKind::PermissionDenied if !can_be_seen(program) => {
            (127, "there is no such program".to_owned())
        }
        ErrorKind::PermissionDenied => (126, "it may not be executed".to_owned()),
        _ => (126, error.to_string()),
    };
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(io::stderr(), "fullpipe: cannot run {program}: {why}");
    Exit::OfProgram(code)
}

fn can_be_seen(program: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    program.contains('/') || env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

/// As shells have it: 128 and the signal's number for a program that a signal has ended.
fn exit_code(end: End) -> u8 {
    let code = match end {
        End::Exited(code) => code,
        End::Killed(signal) => 128 + signal,
    };
    // Neither is beyond a byte on Linux.
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// Says so where the lab itself lost frames, and writes what became of all of them.
pub(super) fn tell_the_truth(lab: &Lab, file: Option<&Path>) -> Result<(), Failure> {
    let truth = lab.truth().map_err(Failure::not_run)?;
    if !truth.is_faithful() {
        // With stderr gone there is nobody left to tell.
        let _ = writeln!(
            io::stderr(),
            "fullpipe: this machine was too slow for the emulated network, which lost {} frames of \
             its own: offer less, or see --truth",
            truth.frames_lost_by_the_lab()
        );
    }
    let Some(file) = file else { return Ok(()) };
    let text = serde_json::to_string_pretty(&truth).map_err(Failure::not_run)?;
    document::save(file, &format!("{text}\n")).map_err(Failure::not_run)
}
