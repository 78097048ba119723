//! The RFC 6349 method from the command line: its options and its plan.

use std::time::Duration;

use anyhow::anyhow;
use fp_method::rfc6349::{self, Plan, Senders, Thresholds, Windows};
use fp_model::{CongestionControl, Dscp, LayeredRate, Rate, Testbed};
use fp_report::Work;

use super::cost::Cost;
use super::measure::{Ends, Measured};
use crate::exit::Failure;
use crate::values::{
    any_percent, connections, dscp, layered_rate, percent, plain_rate, trial_time, window,
};

/// Where the round trip says how long a trial is.
const SHORTEST_TRIAL: Duration = Duration::from_secs(1);

/// What is asked of the method.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// The rate that was sold, with which throughput is compared. The bottleneck is measured all the
    /// same, at up to four times this rate. Its layer is l2 unless named (40M@l1)
    #[arg(long, value_name = "RATE[@LAYER]", value_parser = layered_rate)]
    cir: Option<LayeredRate>,
    /// Offer no more than this to find it (l2 unless named)
    #[arg(long, value_name = "RATE[@LAYER]", value_parser = layered_rate, default_value = "10G")]
    max_rate: LayeredRate,
    /// Receive window of each connection (default: the bandwidth-delay product divided among the
    /// connections)
    #[arg(long, short, value_name = "SIZE", value_parser = window)]
    window: Option<u64>,
    /// Connections (default: 4, or as many windows as fill the bandwidth-delay product)
    #[arg(long, short = 'P', value_name = "N", value_parser = connections)]
    connections: Option<u32>,
    /// How the application behind the connections writes in the throughput step
    ///
    /// [default: both; bulk to a stock iperf3 server]
    #[arg(long, value_enum)]
    sender: Option<SenderOption>,
    /// Congestion control of the senders
    ///
    /// [default: cubic; to a stock iperf3 server what the hosts take themselves]
    #[arg(long, visible_alias = "cc", short = 'C', value_enum)]
    congestion: Option<CongestionOption>,
    /// Pacing limit of each connection (l4, as the kernel counts it)
    #[arg(long, value_name = "RATE", value_parser = plain_rate)]
    pacing: Option<Rate>,
    /// Steady time of every TCP trial (default: 1.5 s, 0.5 s in the window walk, more where round
    /// trips are long, and up to 30 s where that decides nothing; the RFC asks for more than 30 s)
    #[arg(long, short = 't', value_name = "TIME", value_parser = trial_time)]
    duration: Option<Duration>,
    /// DSCP of all test traffic, a number from 0 to 63
    #[arg(long, value_name = "N", default_value = "0", value_parser = dscp)]
    dscp: Dscp,
    /// Compare with the RFC's 40 bytes of headers (60 with IPv6) instead of those really used
    #[arg(long)]
    strict_6349: bool,
    /// A throughput trial passes with this share of the ideal
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = percent)]
    pass_throughput: f64,
    /// The same while both directions are loaded, of the fuller link with its acknowledgements
    /// (default: as above)
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pass_bidirectional: Option<f64>,
    /// A throughput trial passes with at least this TCP efficiency
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pass_efficiency: Option<f64>,
    /// A throughput trial passes with at most this buffer delay
    #[arg(long, value_name = "PERCENT", value_parser = any_percent)]
    pass_buffer_delay: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SenderOption {
    Bulk,
    Burst,
    Both,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CongestionOption {
    Cubic,
    Reno,
    Bbr,
}

impl MethodArgs {
    /// The same with what a stock iperf3 server can do as far end.
    ///
    /// # Errors
    /// Bad input: what has to be asked for otherwise.
    pub(crate) fn against_iperf3(self) -> Result<Self, Failure> {
        if self.cir.is_none() {
            return Err(Failure::bad_input(anyhow!(
                "against a stock iperf3 server the bottleneck bandwidth cannot be searched, which \
                 takes frames that are timed one by one: give what was sold with --cir, or start \
                 `fullpipe serve` at the far end"
            )));
        }
        if self.sender.is_some_and(|sender| sender != SenderOption::Bulk) {
            return Err(Failure::bad_input(anyhow!(
                "a stock iperf3 server sends in bulk, not in bursts: leave out --sender, or start \
                 `fullpipe serve` at the far end"
            )));
        }
        Ok(Self { sender: Some(SenderOption::Bulk), ..self })
    }

    /// Runs the method between these ends.
    pub(crate) fn measure(&self, ends: &Ends, bed: &mut dyn Testbed) -> Measured {
        let plan = self.plan(ends);
        Work::run(&rfc6349::METHOD, plan, bed).into()
    }

    /// Four windows each way and both ways at once; with both kinds of sender two trials more.
    pub(crate) fn cost(&self) -> Cost {
        let trials = match self.sender {
            Some(SenderOption::Bulk | SenderOption::Burst) => 9,
            Some(SenderOption::Both) | None => 11,
        };
        Cost::open(self.duration.unwrap_or(SHORTEST_TRIAL) * trials)
    }

    fn plan(&self, ends: &Ends) -> Plan {
        let windows = match (self.connections, self.window) {
            (None, None) => Windows::Connections { connections: 4 },
            (Some(connections), None) => Windows::Connections { connections },
            (None, Some(window_bytes)) => Windows::Window { window_bytes },
            (Some(connections), Some(window_bytes)) => Windows::Both { connections, window_bytes },
        };
        let thresholds = Thresholds {
            throughput_percent: self.pass_throughput,
            bidirectional_percent: self.pass_bidirectional,
            efficiency_percent: self.pass_efficiency,
            buffer_delay_percent: self.pass_buffer_delay,
        };
        Plan {
            dscp: self.dscp,
            cir: self.cir,
            measures_beside_cir: self.cir.is_some() && !ends.is_iperf3,
            rate_limit: self.max_rate,
            windows,
            senders: match self.sender.unwrap_or(SenderOption::Both) {
                SenderOption::Bulk => Senders::Bulk,
                SenderOption::Burst => Senders::Burst,
                SenderOption::Both => Senders::Both,
            },
            congestion_control: match self.congestion {
                // A server goes on with what it was asked for in the tests of others.
                None if ends.is_iperf3 => CongestionControl::Host,
                None | Some(CongestionOption::Cubic) => CongestionControl::Cubic,
                Some(CongestionOption::Reno) => CongestionControl::Reno,
                Some(CongestionOption::Bbr) => CongestionControl::Bbr,
            },
            pacing: self.pacing,
            trial: self.duration,
            strict_headers: self.strict_6349,
            decides: Some(thresholds),
            thresholds,
            ..Plan::new(ends.family, ends.interface_mtu_bytes)
        }
    }
}
