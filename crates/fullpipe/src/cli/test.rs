//! `fullpipe test`: the whole RFC 6349 test, to a far end or across an emulated network.

use super::cost::Cost;
use super::measure::OutputArgs;
use super::reach::ReachArgs;
use super::rfc6349::MethodArgs;
use crate::exit::{Exit, Failure};

/// Runs the whole RFC 6349 test: path MTU, baseline RTT, bottleneck bandwidth, window walk, TCP
/// throughput
///
/// FAR is the pairing string that `fullpipe serve` printed at the far end, or HOST[:PORT] with the
/// secret in --key-file or $FULLPIPE_KEY. With --lab, the test runs across an emulated network on
/// this machine and needs neither a far end nor root.
///
/// A stock iperf3 server will do as far end (iperf3://HOST[:PORT]) where the bandwidth is given with
/// --cir; what it cannot tell is shown as unknown.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reach: ReachArgs,
    #[command(flatten)]
    method: MethodArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    /// What the method takes, as far as its options tell.
    pub(crate) fn cost(&self) -> Cost {
        self.method.cost()
    }
}

pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    let method = if args.reach.is_iperf3() { args.method.against_iperf3()? } else { args.method };
    args.reach.run_to_any(&args.output, |ends, bed| Ok(method.measure(ends, bed)))
}
