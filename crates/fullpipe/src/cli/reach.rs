//! The other end of a run: a far end on a real network, or one across an emulated network.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use fp_engine::control::{Pairing, PairingError, Secret};
use fp_engine::lab::{Emulated, Families, Lab, Privileges};
use fp_engine::near::{ConnectError, LiveOptions, LiveTestbed};
use fp_engine::os::signal;
use fp_method::flow::Lines;
use fp_model::{Family, Testbed, parse_duration};

use super::far_end::FarEnd;
use super::iperf3_far_end::{self, CredentialArgs};
use super::measure::{self, Ends, Measured, OutputArgs, Watcher};
use super::{document, secrets};
use crate::exit::{Exit, Failure, stopped_by};
use crate::network;
use crate::values::seed;

/// How long a performance test goes on in an outage: longer than it takes to change a cable, or for a
/// routing protocol to find another path.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// How the far end is reached.
#[derive(Debug, clap::Args)]
pub(crate) struct ReachArgs {
    /// The far end: a pairing string, HOST[:PORT], or iperf3://HOST[:PORT] for a stock iperf3 server
    far: Option<String>,
    /// Measure across this emulated network: a built-in name or a lab file
    #[arg(long, value_name = "NET")]
    lab: Option<String>,
    /// Write what the emulated network really did to FILE
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Of everything that is drawn by chance in the emulated network
    #[arg(long, value_name = "N", value_parser = seed, default_value_t = 1)]
    seed: u64,
    /// A file with the secret of the far end
    #[arg(long, value_name = "FILE", conflicts_with = "lab")]
    key_file: Option<PathBuf>,
    /// Use IPv4
    #[arg(short = '4', long = "ipv4", conflicts_with = "ipv6")]
    ipv4: bool,
    /// Use IPv6
    #[arg(short = '6', long = "ipv6")]
    ipv6: bool,
    /// How long a trial goes on through an outage, which its figures then contain: 30s in flow and
    /// y1564. With 0s, as in all other methods, an outage of 0.75 s interrupts the trial, which is
    /// repeated, and one of 2.5 s ends the run
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    patience: Option<Duration>,
    #[command(flatten)]
    iperf3: CredentialArgs,
    /// Connections that are open when a trial of them is stopped are reset.
    #[arg(skip)]
    aborts: bool,
}

/// What is to be run between the ends once they have met.
pub(crate) trait Measure: Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure> {}
impl<F: Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>> Measure for F {}

impl ReachArgs {
    /// The word in the far end's place where an emulated network needs none: it belongs to whoever
    /// has words of his own.
    pub(crate) fn instead_of_a_far_end(&mut self) -> Option<String> {
        if self.lab.is_some() { self.far.take() } else { None }
    }

    /// Takes `far` for the far end.
    pub(crate) fn reach(&mut self, far: String) {
        self.far = Some(far);
    }

    /// Has connections that are open when a trial of them is stopped be reset instead of closed.
    pub(crate) fn abort_when_stopped(&mut self) {
        self.aborts = true;
    }

    /// For methods whose figures are to contain outages: their trials go on through them.
    pub(crate) fn go_on_through_outages(&mut self) {
        self.patience.get_or_insert(PATIENCE);
    }

    /// The same word, left where it is.
    pub(crate) fn word_instead_of_a_far_end(&self) -> Option<&str> {
        self.far.as_deref().filter(|_| self.lab.is_some())
    }

    /// Whether the far end is to be a stock iperf3 server.
    pub(crate) fn is_iperf3(&self) -> bool {
        self.far.as_deref().is_some_and(|far| iperf3_far_end::address(far).is_some())
    }

    /// Whether both ends are on this machine, with an emulated network between them.
    pub(crate) const fn is_lab(&self) -> bool {
        self.lab.is_some()
    }

    /// Runs `method`, which a stock iperf3 server is no far end for, and writes its documents.
    pub(crate) fn run(&self, output: &OutputArgs, method: impl Measure) -> Result<Exit, Failure> {
        if self.is_iperf3() {
            return Err(Failure::bad_input(anyhow!(
                "a stock iperf3 server cannot be the far end of this test, which needs frames that \
                 are timed and counted one by one: start `fullpipe serve` there; `fullpipe test` and \
                 `fullpipe flow` can do with iperf3"
            )));
        }
        self.run_to_any(output, method)
    }

    /// Runs `method` to whatever far end there is or across the lab, and writes its documents.
    pub(crate) fn run_to_any(
        &self,
        output: &OutputArgs,
        method: impl Measure,
    ) -> Result<Exit, Failure> {
        if self.truth.is_some() && self.lab.is_none() {
            return Err(Failure::bad_input(anyhow!(
                "--truth needs --lab: only an emulated network knows what it really did"
            )));
        }
        if let (Some(lab), Some(far)) = (&self.lab, &self.far) {
            return Err(Failure::bad_input(anyhow!(
                "the emulated network {lab} has a far end of its own: leave out FAR, \
                 which is {}, or --lab",
                secrets::left_out(far)
            )));
        }
        for file in output.output.iter().chain(&self.truth) {
            document::expect_writable(file)?;
        }
        match (&self.lab, &self.far) {
            (Some(net), _) => self.across_the_lab(net, output, method),
            (None, Some(far)) => self.to_a_far_end(far, output, method),
            (None, None) => Err(Failure::bad_input(anyhow!(
                "there is nothing to test to: give the pairing string that `fullpipe serve` \
                 printed at the far end, or name an emulated network with --lab (`fullpipe lab \
                 list`)"
            ))),
        }
    }

    fn to_a_far_end(
        &self,
        far: &str,
        output: &OutputArgs,
        method: impl Measure,
    ) -> Result<Exit, Failure> {
        if let Some(address) = iperf3_far_end::address(far) {
            let bed = self.iperf3.connect(address?, self.family(), output)?;
            let ends = iperf3_far_end::ends(&bed, far.trim().to_owned(), output);
            return measure::run(ends, bed, output, method);
        }
        self.iperf3.expect_none()?;
        let pairing = pairing(far, self.key_file.as_deref())?;
        let bed = self.connect(&pairing, self.family(), output)?;
        let ends = ends(&bed, pairing.far.to_string(), output);
        measure::run(ends, bed, output, method)
    }

    fn across_the_lab(
        &self,
        net: &str,
        output: &OutputArgs,
        method: impl Measure,
    ) -> Result<Exit, Failure> {
        let path = network::load(net)?;
        // Before the first thread: the process may have to move into a user namespace.
        let privileges = Privileges::prepare().map_err(Failure::not_run)?;
        let (families, family) = match self.family() {
            Some(only) => (Families::Only(only), only),
            None => (Families::Both, Family::Ipv4),
        };
        let lab = Lab::start(privileges, &path, families, self.seed).map_err(Failure::not_run)?;
        let far = FarEnd::start(lab.far(), family).map_err(Failure::not_run)?;
        lab.near().enter().context("cannot enter the near end").map_err(Failure::not_run)?;
        let bed = self.connect(far.pairing(), Some(family), output)?;
        let line_l1 = path.slowest_line();
        let lines = measure::lines(&path);
        let across = format!("lab {}", path.name);
        let (is_isolated, is_translated) = (true, path.gateway.is_some());
        let real = ends(&bed, across, output);
        let ends = Ends { line_l1, lines, is_isolated, is_translated, ..real };
        let outcome = measure::run(ends, Emulated::new(&lab, bed), output, method);
        super::lab::tell_the_truth(&lab, self.truth.as_deref())?;
        outcome
    }

    fn connect(
        &self,
        pairing: &Pairing,
        family: Option<Family>,
        output: &OutputArgs,
    ) -> Result<LiveTestbed, Failure> {
        let mut bed = connect(pairing, family, output)?;
        if self.aborts {
            bed.abort_when_stopped();
        }
        bed.be_patient(self.patience.unwrap_or_default());
        Ok(bed)
    }

    fn family(&self) -> Option<Family> {
        match (self.ipv4, self.ipv6) {
            (true, _) => Some(Family::Ipv4),
            (_, true) => Some(Family::Ipv6),
            (false, false) => None,
        }
    }
}

/// The secret from the pairing string itself, a file or the environment, in this order.
fn pairing(far: &str, key_file: Option<&Path>) -> Result<Pairing, Failure> {
    let key = match key_file {
        Some(file) => Some(key_in(file)?),
        None => std::env::var("FULLPIPE_KEY").ok(),
    };
    Pairing::of(far, key.as_deref()).map_err(|error| {
        let is_bare_host = !far.contains("://");
        let holder = key_file.map(|file| format!("the key file {}", file.display()));
        let holder = holder.or_else(|| key.map(|_| String::from("$FULLPIPE_KEY")));
        Failure::bad_input(match (error, holder) {
            (error, Some(holder)) if !far.contains('#') && error.is_of_the_secret() => {
                anyhow!("{holder}: {error}")
            }
            (error @ PairingError::NoSecret, _) if is_bare_host => anyhow!(
                "{error}; where `iperf3 -s` runs, `fullpipe test` and `fullpipe flow` take iperf3://{far}"
            ),
            (error, _) => error.into(),
        })
    })
}

/// What a key file holds.
pub(crate) fn key_in(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the key file {}", file.display()))
        .map_err(Failure::bad_input)
}

/// # Errors
/// Bad input: `key`, which `file` holds, is no secret of a far end.
pub(crate) fn expect_secret(key: &str, file: &Path) -> Result<(), Failure> {
    let secret = key.trim().rsplit('#').next().unwrap_or_default().parse::<Secret>();
    let named = |error| Failure::bad_input(anyhow!("the key file {}: {error}", file.display()));
    secret.map(|_| ()).map_err(named)
}

fn connect(
    pairing: &Pairing,
    family: Option<Family>,
    output: &OutputArgs,
) -> Result<LiveTestbed, Failure> {
    let stop = signal::stop_flag().context("cannot watch for Ctrl-C").map_err(Failure::not_run)?;
    let mut watcher = Watcher::new(output);
    let events = Box::new(move |event| watcher.see(&event));
    LiveTestbed::connect(pairing, LiveOptions { family, events, stop }).map_err(|error| match error
    {
        ConnectError::Stopped => Failure { exit: stopped_by(), error: error.into() },
        error => Failure::not_run(error),
    })
}

fn ends(bed: &LiveTestbed, across: String, output: &OutputArgs) -> Ends {
    let mtus = [bed.near_interface_mtu_bytes(), bed.far_interface_mtu_bytes()];
    Ends {
        across,
        near: bed.near_facts(),
        far: bed.far_facts().clone(),
        family: bed.family(),
        // Ethernet's, where neither end says.
        interface_mtu_bytes: mtus.into_iter().flatten().min().unwrap_or(1500),
        line_l1: None,
        lines: Lines::default(),
        is_isolated: false,
        is_translated: false,
        is_iperf3: false,
        is_simulated: false,
        is_quiet: output.quiet,
    }
}
