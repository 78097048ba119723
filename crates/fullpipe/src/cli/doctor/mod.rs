//! `fullpipe doctor`: what this machine can measure and what it cannot, before there is a far end.

mod judge;
mod show;

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use fp_engine::StopFlag;
use fp_engine::checkup::{
    self, ClockFacts, InterfaceFacts, Limits, LoopFacts, LoopTrouble, Processor, Rights,
    WatchedClock,
};
use fp_engine::control::host_facts;
use fp_engine::os::signal;
use fp_model::HostFacts;
use judge::Judgement;

use super::document;
use crate::exit::{Exit, Failure, stopped_by};
use crate::stderr::tell;
use crate::values::trial_time;

/// Say what this machine can measure and what it cannot, and how to mend that
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing leaves this machine: both ends meet over loopback. It takes some seconds, in which nothing else \
should run here that does not run during a test. Run it as the user who tests, at both ends.")]
pub(crate) struct Args {
    /// How long the processors are watched
    #[arg(short = 't', long, value_name = "TIME", value_parser = trial_time, default_value = "3s")]
    duration: Duration,
    /// One JSON document on stdout, nothing else there
    #[arg(long)]
    json: bool,
    /// End with exit code 1 if something was found that is to be mended
    #[arg(long)]
    strict: bool,
    /// No progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// All that was looked at.
#[derive(Debug)]
struct Facts {
    host: HostFacts,
    watched: Duration,
    processors: Vec<Processor>,
    clock: ClockFacts,
    rights: Vec<Right>,
    limits: Limits,
    interfaces: Vec<InterfaceFacts>,
    /// Else why not.
    own_loop: Result<LoopFacts, String>,
}

/// Something that the host may forbid.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Right {
    kind: RightKind,
    /// Why not.
    refused: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RightKind {
    PacketSockets,
    XdpSockets,
    RealTime,
    Lab,
}

impl RightKind {
    const fn name(self) -> &'static str {
        match self {
            Self::PacketSockets => "packet_sockets",
            Self::XdpSockets => "af_xdp",
            Self::RealTime => "real_time",
            Self::Lab => "lab",
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let stop = signal::stop_flag().context("cannot catch signals").map_err(Failure::not_run)?;
    let facts = look(args, &stop)?;
    if stop.is_set() {
        return Ok(stopped_by());
    }
    let judgement = Judgement::of(&facts);
    let text = match args.json {
        true => format!("{:#}\n", show::json(&facts, &judgement)),
        false => fp_report::folded(show::text(&facts, &judgement), document::columns()),
    };
    document::print(&text)?;
    match &facts.own_loop {
        Err(why) => Err(Failure::not_run(anyhow!("{why}"))),
        Ok(_) if args.strict && !judgement.findings.is_empty() => Ok(Exit::Failed),
        Ok(_) => Ok(Exit::Passed),
    }
}

fn look(args: &Args, stop: &StopFlag) -> Result<Facts, Failure> {
    let say = |what: &str| {
        if !args.quiet {
            tell(what);
        }
    };
    let not_seen = |what: &'static str| {
        move |error: std::io::Error| {
            Failure::not_run(anyhow::Error::new(error).context(format!("cannot look at {what}")))
        }
    };
    say(&format!("watching the processors for {:.0} s", args.duration.as_secs_f64()));
    let clock = WatchedClock::start();
    let processors =
        checkup::processors(args.duration, stop).map_err(not_seen("the processors"))?;
    let clock = clock.end();
    say("sending as much as this machine can to itself");
    let own_loop = match checkup::own_loop(stop) {
        // What was found until then is not shown.
        Err(LoopTrouble::Stopped) => Err(String::from("stopped")),
        other => other.map_err(|trouble| trouble.to_string()),
    };
    Ok(Facts {
        host: host_facts(),
        watched: args.duration,
        processors,
        clock,
        rights: rights(checkup::rights()),
        limits: checkup::limits().map_err(not_seen("the limits of sockets"))?,
        interfaces: checkup::interfaces().map_err(not_seen("the interfaces"))?,
        own_loop,
    })
}

fn rights(of_kernel: Rights) -> Vec<Right> {
    let Rights { packet_sockets, xdp_sockets, real_time } = of_kernel;
    let asked = [
        (RightKind::PacketSockets, packet_sockets),
        (RightKind::XdpSockets, xdp_sockets),
        (RightKind::RealTime, real_time),
    ];
    let asked = asked.map(|(kind, answer)| {
        let refused = answer.err().map(|error| error.to_string());
        Right { kind, refused }
    });
    let lab = Right { kind: RightKind::Lab, refused: lab_refused() };
    asked.into_iter().chain([lab]).collect()
}

/// Starts the smallest lab. It takes a process without threads.
fn lab_refused() -> Option<String> {
    let tried = std::env::current_exe().and_then(|program| {
        let mut lab = Command::new(program);
        lab.args(["lab", "ideal", "--", "true"]).stdin(Stdio::null()).output()
    });
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or("it did not say why");
            Some(last.trim_start_matches("fullpipe: ").to_owned())
        }
        Err(error) => Some(error.to_string()),
    }
}
