//! `fullpipe flow`: traffic of any kind, with the options that users of iperf3 know.

mod classes;
mod options;
mod profile;
mod request;
mod unsupported;
mod values;

use std::time::Duration;

use fp_engine::iperf3::expect_runnable;
use fp_method::flow::{self, Path};
use fp_model::Testbed;
use fp_report::Work;
#[cfg(feature = "ui")]
use fp_server::web::OfferedLoad;

pub(crate) use options::MethodArgs;
pub(crate) use unsupported::explain;

use super::cost::Cost;
use super::measure::{Ends, Measured, OutputArgs, Progress};
use super::reach::ReachArgs;
use crate::exit::{Exit, Failure};

/// Generates traffic: TCP and UDP flows, all at once, and says what became of each
///
/// FAR is the pairing string that `fullpipe serve` printed at the far end, or HOST[:PORT] with the
/// secret in --key-file or $FULLPIPE_KEY. With --lab, the flows cross an emulated network on this
/// machine and need neither a far end nor root. Options are those of iperf3 where it has them: data
/// goes from here to the far end, with -R the other way, with --bidir both ways. Rates are those of
/// payload (l4) unless they name their layer (100M@l1), as in iperf3.
#[derive(Debug, clap::Args)]
// With iperf3, -V asks for more to be told, not for the version and nothing else.
#[command(disable_version_flag = true)]
pub(crate) struct Args {
    #[command(flatten)]
    reach: ReachArgs,
    /// The far end, where iperf3 wants it
    #[arg(short, long, value_name = "HOST", conflicts_with = "far")]
    client: Option<String>,
    #[command(flatten)]
    method: MethodArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(mut args: Args) -> Result<Exit, Failure> {
    // What is wrong with the words themselves is said before anybody is called.
    args.check()?;
    if let Some(far) = args.client {
        args.reach.reach(far);
    }
    args.output.progress = Progress::Directions;
    args.reach.go_on_through_outages();
    args.reach.run_to_any(&args.output, |ends, bed| args.method.measure(ends, bed))
}

impl Args {
    /// # Errors
    /// What is wrong whatever the ends are.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.method.check()
    }

    /// What the method takes, as far as its options tell.
    pub(crate) fn cost(&self) -> Cost {
        let request = self.method.request();
        request.map_or(Cost::open(Duration::ZERO), |request| request.cost())
    }
}

#[cfg(feature = "ui")]
impl Args {
    pub(crate) fn offered(&self) -> Vec<OfferedLoad> {
        self.method.offered()
    }
}

#[cfg(feature = "ui")]
impl MethodArgs {
    /// The rates at which traffic is offered, as far as the options tell.
    pub(crate) fn offered(&self) -> Vec<OfferedLoad> {
        self.request().map_or_else(|_| Vec::new(), |request| request.offered())
    }
}

impl MethodArgs {
    /// # Errors
    /// What is wrong whatever the ends are.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.request().map(|_| ())
    }

    /// Runs the flows between these ends.
    pub(crate) fn measure(&self, ends: &Ends, bed: &mut dyn Testbed) -> Result<Measured, Failure> {
        let request = self.request()?;
        // What cannot be sent over any path, or to this far end, is said before the first probe.
        let any = self.request()?.plan(ends, &Path::default())?;
        if ends.is_iperf3 {
            expect_runnable(&flow::trial(&any), ends.family).map_err(Failure::bad_input)?;
        }
        let path = flow::look(&request.path_asks(ends), bed);
        let known = path.as_ref().map_or_else(|_| Path::default(), Clone::clone);
        let plan = request.plan(ends, &known)?;
        let (report, end) = flow::run_over(&plan, path, bed);
        Ok(Measured { work: Work::new(&flow::METHOD, plan, report), end })
    }
}
