//! The command line: each command in a file of its own.

mod ask;
mod burst;
mod calc;
mod compare;
mod cost;
#[cfg(feature = "store")]
mod data;
mod doctor;
mod document;
mod far_end;
mod flow;
#[cfg(feature = "store")]
mod history;
mod iperf3;
mod iperf3_far_end;
#[cfg(feature = "store")]
mod keep;
#[cfg(not(feature = "store"))]
#[path = "keep_nothing.rs"]
mod keep;
mod lab;
mod labels;
mod live_steps;
mod measure;
mod outlook;
mod port_class;
mod reach;
mod report;
mod rfc2544;
mod rfc6349;
mod rfc7640;
mod run;
mod schema;
mod secrets;
mod serve;
mod shell;
mod sim;
mod stored;
mod stress;
mod test;
#[cfg(feature = "ui")]
mod ui;
mod words;
mod y1564;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use cost::Cost;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::exit::{Exit, Failure};

/// Tells whether a network path carries what was sold, and if not, why.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Args),
    Test(test::Args),
    Flow(flow::Args),
    Rfc2544(rfc2544::Args),
    #[command(name = "y1564")]
    Y1564(y1564::Args),
    Burst(burst::Args),
    Rfc7640(rfc7640::Args),
    Stress(stress::Args),
    Run(run::Args),
    Watch(run::WatchArgs),
    Report(report::Args),
    #[cfg(feature = "store")]
    History(history::Args),
    Compare(compare::Args),
    #[cfg(feature = "ui")]
    Ui(ui::Args),
    Lab(lab::Args),
    Doctor(doctor::Args),
    Sim(sim::Args),
    Calc(calc::Args),
    Schema(schema::Args),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

impl Command {
    /// What is wrong with a test whatever its ends are, without running it.
    ///
    /// # Errors
    /// Bad input: what it is and what is allowed.
    fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Flow(args) => args.check(),
            Self::Y1564(args) => args.check(),
            Self::Burst(args) => args.check(),
            Self::Rfc7640(args) => args.check(),
            Self::Stress(args) => args.check(),
            Self::Sim(args) => args.check(),
            Self::Serve(_)
            | Self::Test(_)
            | Self::Rfc2544(_)
            | Self::Run(_)
            | Self::Watch(_)
            | Self::Report(_)
            | Self::Compare(_)
            | Self::Lab(_)
            | Self::Doctor(_)
            | Self::Calc(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Man(_) => Ok(()),
            #[cfg(feature = "store")]
            Self::History(_) => Ok(()),
            #[cfg(feature = "ui")]
            Self::Ui(_) => Ok(()),
        }
    }
}

impl Command {
    /// What a test takes; commands that test nothing are not asked.
    fn cost(&self) -> Cost {
        match self {
            Self::Test(args) => args.cost(),
            Self::Flow(args) => args.cost(),
            Self::Rfc2544(args) => args.cost(),
            Self::Y1564(args) => args.cost(),
            Self::Burst(args) => args.cost(),
            Self::Rfc7640(args) => args.cost(),
            Self::Stress(args) => args.cost(),
            Self::Sim(_) => Cost::NOTHING,
            Self::Serve(_)
            | Self::Run(_)
            | Self::Watch(_)
            | Self::Report(_)
            | Self::Compare(_)
            | Self::Lab(_)
            | Self::Doctor(_)
            | Self::Calc(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Man(_) => Cost::open(Duration::ZERO),
            #[cfg(feature = "store")]
            Self::History(_) => Cost::open(Duration::ZERO),
            #[cfg(feature = "ui")]
            Self::Ui(_) => Cost::open(Duration::ZERO),
        }
    }
}

#[cfg(feature = "ui")]
impl Command {
    /// The rates at which a test offers its traffic, as far as its options tell.
    fn offered(&self) -> Vec<fp_server::web::OfferedLoad> {
        match self {
            Self::Flow(args) => args.offered(),
            Self::Sim(args) => args.offered(),
            _ => Vec::new(),
        }
    }
}

/// Both ends of a thousand connections in one process take more descriptors than the usual 1024.
fn allow_many_connections() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With fewer, the engine names the limit when it is met.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Ends the program with what is wrong with its command line, or with the help asked for.
fn refuse(error: &clap::Error) -> ! {
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let said = match flow::explain(error, &words) {
        Some(sentence) => format!("fullpipe: {}\n", secrets::left_out(&sentence)),
        None => {
            let complete = error.to_string();
            let said = secrets::left_out(&complete);
            if said == complete {
                error.exit();
            }
            said
        }
    };
    // With stderr gone there is nobody left to tell.
    let _ = write!(std::io::stderr(), "{said}");
    std::process::exit(Exit::BadInput.code().into())
}

/// An error and its causes, each once: many a sentence names its cause where it belongs.
fn sentence(error: &anyhow::Error) -> String {
    let mut said = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

pub(crate) fn run() -> ExitCode {
    // A wrong command line ends here, with clap's sentence and exit code 2.
    let parsed = match ask::command() {
        Some(words) => Cli::try_parse_from(words),
        None => Cli::try_parse(),
    };
    let cli = parsed.unwrap_or_else(|error| refuse(&error));
    allow_many_connections();
    let outcome = match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Test(args) => test::run(args),
        Command::Flow(args) => flow::run(args),
        Command::Rfc2544(args) => rfc2544::run(args),
        Command::Y1564(args) => y1564::run(args),
        Command::Burst(args) => burst::run(args),
        Command::Rfc7640(args) => rfc7640::run(args),
        Command::Stress(args) => stress::run(args),
        Command::Run(args) => run::run(args),
        Command::Watch(args) => run::watch(args),
        Command::Report(args) => report::run(&args),
        #[cfg(feature = "store")]
        Command::History(args) => history::run(&args),
        Command::Compare(args) => compare::run(&args),
        #[cfg(feature = "ui")]
        Command::Ui(args) => ui::run(&args),
        Command::Lab(args) => lab::run(args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Sim(args) => sim::run(args),
        Command::Calc(args) => calc::run(args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
    };
    let exit = outcome.unwrap_or_else(|failure| {
        // With stderr gone there is nobody left to tell.
        let said = secrets::left_out(&sentence(&failure.error));
        let _ = writeln!(std::io::stderr(), "fullpipe: {said}");
        failure.exit
    });
    ExitCode::from(exit.code())
}
