//! `fullpipe stress`: very many TCP connections at once, through whatever keeps a state for each.

mod memory;
mod mix;
mod options;
mod request;
mod values;

use fp_method::stress;
use fp_model::Testbed;
use fp_report::Work;

pub(crate) use options::MethodArgs;

use super::cost::Cost;
use super::measure::{Ends, Measured, OutputArgs};
use super::reach::ReachArgs;
use crate::exit::{Exit, Failure};

/// Opens, holds and closes very many TCP connections: does everything in between keep up, and with
/// how many does it break
///
/// Each connection is a whole TCP of fullpipe's own, at both ends, and no socket of their hosts.
/// Their number moves in straight lines: up in --ramp-up, as it is for --steady, down in --ramp-down,
/// or as --stages say. Without a --mix each connection asks a question, gets an answer, thinks and
/// asks again.
///
/// FAR is the pairing string that `fullpipe serve` printed at the far end, or HOST[:PORT] with the
/// secret in --key-file or $FULLPIPE_KEY. With --lab, the test runs across an emulated network on
/// this machine and needs neither a far end nor root.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reach: ReachArgs,
    #[command(flatten)]
    method: MethodArgs,
    /// When the run is stopped (Ctrl-C, SIGTERM), reset all connections at once instead of closing
    /// them; a second signal ends it without a result
    #[arg(long, help_heading = "Load")]
    abort: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(mut args: Args) -> Result<Exit, Failure> {
    args.check()?;
    if args.abort {
        args.reach.abort_when_stopped();
    }
    // Across a lab both ends are on this machine.
    args.method.expect_memory(if args.reach.is_lab() { 2 } else { 1 })?;
    args.reach.run(&args.output, |ends, bed| args.method.measure(ends, bed))
}

impl Args {
    /// # Errors
    /// What is wrong whatever the ends are.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.method.check()
    }

    /// What the method takes, as far as its options tell.
    pub(crate) fn cost(&self) -> Cost {
        self.method.cost()
    }
}

impl MethodArgs {
    /// Runs the method between these ends.
    ///
    /// # Errors
    /// What of the plan cannot be run.
    pub(crate) fn measure(&self, ends: &Ends, bed: &mut dyn Testbed) -> Result<Measured, Failure> {
        let plan = self.plan(ends)?;
        Ok(Work::run(&stress::METHOD, plan, bed).into())
    }
}
