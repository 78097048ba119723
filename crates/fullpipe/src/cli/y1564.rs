//! `fullpipe y1564`: services tested one by one and all at once.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use fp_method::y1564::{self, Configuration, Plan, Traffic};
use fp_model::{Family, Rate, Testbed, parse_duration};
use fp_report::Work;
use fp_report::summary::whole_time;

use super::cost::Cost;
use super::measure::{Ends, Measured, OutputArgs};
use super::reach::ReachArgs;
use crate::exit::{Exit, Failure};
use crate::services::{self, Services};
use crate::stderr::tell;
use crate::values::trial_time;

/// Tests services in the style of ITU-T Y.1564: each by itself (CIR in steps, EIR, policing, CBS
/// and EBS), then all of them at once
///
/// FAR is the pairing string that `fullpipe serve` printed at the far end, or HOST[:PORT] with the
/// secret in --key-file or $FULLPIPE_KEY; with --lab the services file stands alone. The
/// Recommendation is not public: steps and limits are those that others describe, and the result
/// names what could not be checked against its text.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reach: ReachArgs,
    /// What was sold and what it must meet: a file in YAML (examples/services.yaml)
    #[arg(value_name = "SERVICES")]
    services: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    output: OutputArgs,
}

/// What `fullpipe sim` asks for.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SimulatedArgs {
    /// What was sold and what it must meet: a file in YAML (examples/services.yaml)
    services: PathBuf,
    #[command(flatten)]
    options: Options,
}

/// How the services are tested.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Method")]
struct Options {
    /// Leave out the test of all services at once
    #[arg(long, conflicts_with = "performance_only")]
    configuration_only: bool,
    /// Leave out the test of each service by itself
    #[arg(long)]
    performance_only: bool,
    /// Length of each step of the configuration test, 1 s to 60 s (default: what the file says, or
    /// 10 s)
    #[arg(long, value_name = "TIME", value_parser = step_time)]
    step_time: Option<Duration>,
    /// Length of the performance test (default: what the file says, or 15 minutes)
    #[arg(long, short = 't', value_name = "TIME", value_parser = trial_time)]
    duration: Option<Duration>,
}

pub(crate) fn run(mut args: Args) -> Result<Exit, Failure> {
    // Across the lab there is no far end to name, so the services come first.
    let only = args.reach.instead_of_a_far_end().map(PathBuf::from);
    let services = services(only.or(args.services.take()).as_deref())?;
    args.reach.go_on_through_outages();
    args.reach.run(&args.output, |ends, bed| args.options.measure(&services, ends, bed))
}

impl Args {
    /// What the services take at least; each is sold a CIR and an EIR, and the policing step goes a
    /// quarter beyond.
    pub(crate) fn cost(&self) -> Cost {
        let only = self.reach.word_instead_of_a_far_end().map(Path::new);
        let services = services(only.or(self.services.as_deref()));
        let Ok(services) = services else { return Cost::open(Duration::ZERO) };
        let at_least = self.options.plan(&services, Family::Ipv4, 1500).lasts();
        let rates = services.services.iter().map(|service| {
            let eir_l2 = match &service.traffic {
                Traffic::Frames(frames) => frames.eir_l2,
                Traffic::Tcp(_) => Rate::ZERO,
            };
            let sold = service.cir_l2.as_bps() + eir_l2.as_bps();
            sold * 5 / 4 * service.directions.list().len() as u64
        });
        let all = Rate::bps(rates.sum());
        Cost { at_least, at_most_bytes: Some(all.bytes_in(at_least)) }
    }

    /// # Errors
    /// What is wrong whatever the ends are.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let only = self.reach.word_instead_of_a_far_end().map(Path::new);
        services(only.or(self.services.as_deref())).map(|_| ())
    }
}

fn services(file: Option<&Path>) -> Result<Services, Failure> {
    let file = file.ok_or_else(|| {
        Failure::bad_input(anyhow!(
            "there are no services to test: name a services file, such as `fullpipe y1564 FAR \
             services.yaml` or `fullpipe y1564 --lab NET services.yaml`"
        ))
    })?;
    services::load(file)
}

impl SimulatedArgs {
    /// # Errors
    /// What is wrong whatever the ends are.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        services(Some(&self.services)).map(|_| ())
    }

    /// Runs the method between these ends.
    pub(crate) fn measure(&self, ends: &Ends, bed: &mut dyn Testbed) -> Result<Measured, Failure> {
        self.options.measure(&services::load(&self.services)?, ends, bed)
    }
}

impl Options {
    fn measure(
        &self,
        services: &Services,
        ends: &Ends,
        bed: &mut dyn Testbed,
    ) -> Result<Measured, Failure> {
        services.fit(ends.family, ends.interface_mtu_bytes, ends.line_l1)?;
        let plan = self.plan(services, ends.family, ends.interface_mtu_bytes);
        if !ends.is_quiet {
            announce(&plan);
        }
        Ok(Work::run(&y1564::METHOD, plan, bed).into())
    }

    fn plan(&self, services: &Services, family: Family, interface_mtu_bytes: u32) -> Plan {
        let configuration = Configuration {
            step: self.step_time.unwrap_or(services.configuration.step),
            ..services.configuration.clone()
        };
        Plan {
            family,
            interface_mtu_bytes,
            services: services.services.clone(),
            configuration: (!self.performance_only).then_some(configuration),
            performance: (!self.configuration_only)
                .then(|| self.duration.unwrap_or(services.duration)),
        }
    }
}

fn announce(plan: &Plan) {
    let services = plan.services.len();
    tell(&format!(
        "this takes {} of test traffic ({services} service{}) and a second or two between steps",
        whole_time(plan.lasts()),
        if services == 1 { "" } else { "s" }
    ));
}

fn step_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (Configuration::STEP_MIN..=Configuration::STEP_MAX).contains(&time) {
        Ok(time)
    } else {
        Err("a step takes from 1 s to 60 s".into())
    }
}
