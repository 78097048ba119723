//! A near end here, a stock iperf3 server as far end, and the network between them.
//!
//! Every trial is a test of its own. What iperf3 leaves open is decided at this end: windows and
//! segment sizes of both directions, when a trial begins and ends, and the slots of its series.

mod ask;
mod frames;
mod probes;
mod session;
mod tcp;
mod watch;

use std::time::Duration;

use fp_model::{Abort, Event, Family, FlowReport, HostFacts, Observation, Testbed, Time, Trial};

use super::auth::Credentials;
use super::client::ClientError;
use crate::control::{FarAddress, host_facts};
use crate::near::LiveOptions;
use crate::near::connect::family_of;
use crate::os::{clock, interfaces};
pub use ask::AskError;
use ask::{Ask, Kind};
use session::Session;

/// This host, an iperf3 server and the network between them.
#[derive(Debug)]
pub struct Iperf3Testbed {
    far: FarAddress,
    family: Family,
    credentials: Option<Credentials>,
    options: LiveOptions,
    near_mtu_bytes: Option<u32>,
    /// Whether the server does not have the congestion control that it was asked for.
    takes_last_resort: bool,
    /// Since when trials can be run.
    ready: Time,
}

/// A server needs so long after a test until it listens again.
const READY_AGAIN: Duration = Duration::from_secs(3);

impl Iperf3Testbed {
    /// Runs a first test, of a handshake and nothing else: then the server is there, speaks iperf3
    /// and admits this user.
    ///
    /// # Errors
    /// A sentence on why it cannot be tested with.
    pub fn connect(
        far: FarAddress,
        credentials: Option<Credentials>,
        options: LiveOptions,
    ) -> Result<Self, ClientError> {
        let mut session = Session::meet(&far, options.family, Duration::ZERO, &options.stop)?;
        let host = |source| ClientError::Host { doing: "tell this end's address".into(), source };
        let local = session.control.local().map_err(host)?.ip().to_canonical();
        let peer = session.control.peer().map_err(host)?;
        let bed = Self {
            far,
            family: family_of(peer.ip()),
            credentials,
            options,
            // An address that no interface holds is possible, and then its MTU is not known.
            near_mtu_bytes: interfaces::mtu_of(local).ok().flatten(),
            takes_last_resort: false,
            ready: clock::now(),
        };
        probes::handshakes(&bed, &mut session, 1)?;
        Ok(bed)
    }

    pub fn near_facts(&self) -> HostFacts {
        host_facts()
    }

    /// What iperf3 tells of its host before a test: nothing.
    pub fn far_facts(&self) -> HostFacts {
        HostFacts { name: format!("iperf3 at {}", self.far), ..HostFacts::default() }
    }

    pub const fn family(&self) -> Family {
        self.family
    }

    /// The MTU of the interface towards the far end; `None` where no interface holds our address.
    pub const fn near_interface_mtu_bytes(&self) -> Option<u32> {
        self.near_mtu_bytes
    }

    fn conduct(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let ask = Ask::of(trial, self.family, self.credentials.as_ref())
            .map_err(|error| Abort::Testbed(error.to_string()))?;
        let outcome = match ask.kind {
            Kind::Probes => probes::run(self, trial),
            Kind::Tcp => tcp::run(self, trial, &ask),
            Kind::Frames => frames::run(self, trial, &ask),
        };
        outcome.map_err(|error| match error {
            ClientError::Stopped => Abort::Stopped,
            error => Abort::Lost(error.to_string()),
        })
    }

    fn session(&self) -> Result<Session, ClientError> {
        Session::meet(&self.far, Some(self.family), READY_AGAIN, &self.options.stop)
    }

    fn sampled(&mut self, trial: &Trial, flow: usize, sample: fp_model::Sample) {
        let direction = trial.flows[flow].direction;
        (self.options.events)(Event::Sampled { flow, direction, sample });
    }
}

impl Testbed for Iperf3Testbed {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        (self.options.events)(Event::Started(trial.clone()));
        let began = clock::now().since(self.ready);
        let observation = self.conduct(trial)?.begun(began);
        (self.options.events)(Event::Finished(observation.clone()));
        Ok(observation)
    }
}

/// Whether a stock iperf3 server that is reached over `family` can be asked for this trial.
///
/// # Errors
/// A sentence on what it cannot do, and what it can.
pub fn expect_runnable(trial: &Trial, family: Family) -> Result<(), AskError> {
    Ask::of(trial, family, None).map(|_| ())
}

/// Flows that were looked at in another order than the trial has them.
fn in_order(mut flows: Vec<(usize, FlowReport)>) -> Vec<FlowReport> {
    flows.sort_by_key(|(flow, _)| *flow);
    flows.into_iter().map(|(_, report)| report).collect()
}
