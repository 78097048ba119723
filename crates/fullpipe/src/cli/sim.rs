//! `fullpipe sim`: a method in virtual time over the same network file as the lab.

use std::time::Duration;

use anyhow::anyhow;
use clap::Subcommand;
use fp_model::{Family, HostFacts, Testbed};
use fp_net::sim::SimTestbed;

use super::measure::{self, Ends, Measured, OutputArgs, Progress, Watcher};
use super::reach::PATIENCE;
use super::rfc6349::MethodArgs;
use super::y1564::SimulatedArgs;
use super::{burst, document, flow, rfc2544, rfc7640, stress};
use crate::exit::{Exit, Failure};
use crate::network;
use crate::values::seed;

/// Runs a method in virtual time over an emulated network
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A built-in network or a lab file
    net: String,
    #[command(subcommand)]
    method: Method,
}

#[derive(Debug, Subcommand)]
enum Method {
    #[command(about = fp_method::rfc6349::METHOD.title)]
    Test(Simulated<MethodArgs>),
    #[command(about = fp_method::flow::METHOD.title)]
    Flow(Simulated<flow::MethodArgs>),
    #[command(about = fp_method::rfc2544::METHOD.title)]
    Rfc2544(Simulated<rfc2544::MethodArgs>),
    #[command(name = "y1564", about = fp_method::y1564::METHOD.title)]
    Y1564(Simulated<SimulatedArgs>),
    #[command(about = fp_method::burst::METHOD.title)]
    Burst(Simulated<burst::MethodArgs>),
    #[command(about = fp_method::rfc7640::METHOD.title)]
    Rfc7640(Simulated<rfc7640::MethodArgs>),
    #[command(about = fp_method::stress::METHOD.title)]
    Stress(Simulated<stress::MethodArgs>),
}

/// A method with the options of its simulation.
#[derive(Debug, clap::Args)]
struct Simulated<M: clap::Args> {
    /// Use IPv4 (the default)
    #[arg(short = '4', long = "ipv4", conflicts_with = "ipv6")]
    ipv4: bool,
    /// Use IPv6
    #[arg(short = '6', long = "ipv6")]
    ipv6: bool,
    /// Of everything that is drawn by chance: the same seed gives the same figures
    #[arg(long, value_name = "N", value_parser = seed, default_value_t = 1)]
    seed: u64,
    /// Keep the run in the history, as a measured one is
    #[arg(long, conflicts_with = "no_save")]
    save: bool,
    #[command(flatten)]
    method: M,
    /// How long its trials go on in an outage.
    #[arg(skip)]
    patience: Duration,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    match args.method {
        Method::Test(test) => {
            test.run(&args.net, |method, ends, bed| Ok(method.measure(ends, bed)))
        }
        Method::Flow(mut flows) => {
            flows.output.progress = Progress::Directions;
            flows.patience = PATIENCE;
            flows.run(&args.net, flow::MethodArgs::measure)
        }
        Method::Rfc2544(tests) => {
            tests.run(&args.net, |method, ends, bed| method.measure(ends, bed))
        }
        Method::Y1564(mut test) => {
            test.patience = PATIENCE;
            test.run(&args.net, |method, ends, bed| method.measure(ends, bed))
        }
        Method::Burst(test) => test.run(&args.net, burst::MethodArgs::measure),
        Method::Rfc7640(tests) => tests.run(&args.net, rfc7640::MethodArgs::measure),
        Method::Stress(test) => {
            test.method.check()?;
            test.method.expect_memory(2)?;
            test.run(&args.net, stress::MethodArgs::measure)
        }
    }
}

impl Args {
    /// # Errors
    /// What is wrong with the method's options, without running it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match &self.method {
            Method::Test(_) | Method::Rfc2544(_) => Ok(()),
            Method::Flow(flows) => flows.method.check(),
            Method::Y1564(test) => test.method.check(),
            Method::Burst(test) => test.method.check(),
            Method::Rfc7640(tests) => tests.method.check(),
            Method::Stress(test) => test.method.check(),
        }
    }
}

#[cfg(feature = "ui")]
impl Args {
    /// The rates at which a test offers its traffic, as far as its options tell.
    pub(crate) fn offered(&self) -> Vec<fp_server::web::OfferedLoad> {
        match &self.method {
            Method::Flow(flows) => flows.method.offered(),
            Method::Test(_)
            | Method::Rfc2544(_)
            | Method::Y1564(_)
            | Method::Burst(_)
            | Method::Rfc7640(_)
            | Method::Stress(_) => Vec::new(),
        }
    }
}

impl<M: clap::Args> Simulated<M> {
    fn run(
        mut self,
        net: &str,
        method: impl Fn(&M, &Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
    ) -> Result<Exit, Failure> {
        if let Some(file) = &self.output.output {
            document::expect_writable(file)?;
        }
        // It can be had again at any time.
        self.output.no_save = !self.save;
        let path = network::load(net)?;
        if path.gateway.is_some() {
            return Err(Failure::bad_input(anyhow!(
                "the network {} has a gateway, which is the kernel's and not in virtual time: \
                 run the method across it with --lab {net}",
                path.name
            )));
        }
        let mut watcher = Watcher::new(&self.output);
        let bed = SimTestbed::new(&path, self.seed)
            .with_patience(self.patience)
            .with_events(move |event| watcher.see(&event));
        let host = HostFacts {
            name: String::from("simulation"),
            version: String::from(env!("CARGO_PKG_VERSION")),
            ..HostFacts::default()
        };
        let ends = Ends {
            across: format!("simulation of {}", path.name),
            near: host.clone(),
            far: host,
            family: if self.ipv6 { Family::Ipv6 } else { Family::Ipv4 },
            interface_mtu_bytes: path.interface_mtu_bytes(),
            line_l1: path.slowest_line(),
            lines: measure::lines(&path),
            is_isolated: true,
            is_translated: false,
            is_iperf3: false,
            is_simulated: true,
            is_quiet: self.output.quiet,
        };
        measure::run(ends, bed, &self.output, |ends, bed| method(&self.method, ends, bed))
    }
}
