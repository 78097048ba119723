//! From the options to the plan: defaults filled in, what cannot be is refused.

use std::time::Duration;

use anyhow::anyhow;
use fp_method::stress::{Criteria, Plan};
use fp_model::{ConnectionAddresses, ConnectionsLoad, ConnectionsStage, Family};
use fp_net::swarm::{Role, Shard};
use fp_net::tcp::TCP_HEADER_BYTES;

use super::super::cost::Cost;
use super::super::measure::Ends;
use super::MethodArgs;
use super::memory::{self, Needed};
use super::mix::Transaction;
use crate::addresses::Prefix;
use crate::exit::Failure;

const RAMP_UP: Duration = Duration::from_secs(5);
const STEADY: Duration = Duration::from_secs(10);
const RAMP_DOWN: Duration = Duration::from_secs(5);
/// What is lost of the last handshakes and farewells is sent again after one second.
const SETTLE: Duration = Duration::from_secs(3);
/// Fewer would not spread over the processors and queues of what is tested.
const CLIENTS_MIN: u32 = 64;

impl MethodArgs {
    /// # Errors
    /// What is wrong whatever the ends are.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.plan(&self.usual_ends()).map(|_| ())
    }

    /// # Errors
    /// More connections than `ends` ends on this machine have memory for.
    pub(crate) fn expect_memory(&self, ends: u32) -> Result<(), Failure> {
        let plan = self.plan(&self.usual_ends())?;
        let connections = plan.load.connections_peak();
        let needed = |role| bytes_needed(&plan, role);
        let bytes_each_end = needed(Role::Client)?.max(needed(Role::Server)?);
        memory::expect(&Needed { connections, bytes_each_end, ends })
    }

    /// The stages; what goes through them meanwhile is the network's affair.
    pub(super) fn cost(&self) -> Cost {
        Cost::open(self.stages().iter().map(|stage| stage.lasts).sum())
    }

    /// # Errors
    /// What is wrong between these ends.
    pub(super) fn plan(&self, ends: &Ends) -> Result<Plan, Failure> {
        let Ends { family, interface_mtu_bytes, .. } = *ends;
        let stages = self.stages();
        if stages.is_empty() {
            return Err(Failure::bad_input(anyhow!(
                "there is nothing to open: say how many connections (--connections 100k), or in \
                 which stages (--stages \"30s:100k, 30s:0\")"
            )));
        }
        if self.tolerance.is_some() && !stages.windows(2).any(|pair| holds(pair[0], pair[1])) {
            return Err(Failure::bad_input(anyhow!(
                "--tolerance: no stage holds a number of connections: add one that ends with as many \
                 as the one before it, or leave it out"
            )));
        }
        let by_default = Criteria::default();
        let transaction = Transaction {
            request_bytes: self.request,
            response_bytes: self.response,
            think: self.think,
        };
        let mss_fits = interface_mtu_bytes - family.ip_header_bytes() - TCP_HEADER_BYTES;
        let peak = stages.iter().map(|stage| stage.connections).max().unwrap_or_default();
        let load = ConnectionsLoad {
            stages,
            setup_rate_max: self.rate,
            mix: self.mix.shares(&transaction),
            lifetime: self.lifetime,
            close: self.close.close(),
            addresses: ConnectionAddresses {
                translated: self.translated || ends.is_translated,
                ..self.addresses(family, peak)
            },
            mss_bytes: self.mss.unwrap_or(mss_fits),
            window_bytes: u32::try_from(self.window).unwrap_or(u32::MAX),
            retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
            syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
            ports: self.packet_io.ports(),
        };
        let plan = Plan {
            direction: self.direction.direction(),
            family,
            dscp: self.dscp,
            load,
            settle: SETTLE,
            criteria: Criteria {
                held_tolerance_percent: self.tolerance.unwrap_or(by_default.held_tolerance_percent),
                failed_max_percent: self.max_failed,
                setup_rate_min: self.min_setup_rate,
                handshake_p99_max: self.max_handshake,
            },
        };
        plan.check().map_err(|error| {
            Failure::bad_input(anyhow!("--stages, --connections and --rate: {error}"))
        })?;
        bytes_needed(&plan, Role::Client).map(|_| plan)
    }

    /// Of the family of the networks that were given.
    fn usual_ends(&self) -> Ends {
        let given = self.clients.or(self.servers);
        let family = given.map_or(Family::Ipv4, |prefix| prefix.family());
        Ends { family, ..Ends::unknown() }
    }

    /// None where neither a number nor stages were given.
    fn stages(&self) -> Vec<ConnectionsStage> {
        if let Some(stages) = &self.stages {
            return stages.0.clone();
        }
        let Some(connections) = self.connections else { return Vec::new() };
        let ramp_up = self.ramp_up.unwrap_or_else(|| self.usual_ramp_up(connections));
        Vec::from([
            ConnectionsStage { lasts: ramp_up, connections },
            ConnectionsStage { lasts: self.steady.unwrap_or(STEADY), connections },
            ConnectionsStage { lasts: self.ramp_down.unwrap_or(RAMP_DOWN), connections: 0 },
        ])
    }

    /// No faster than the rate that was given.
    fn usual_ramp_up(&self, connections: u32) -> Duration {
        let by_rate = |rate: u32| {
            let nanos = u64::from(connections) * 1_000_000_000;
            Duration::from_nanos(nanos.div_ceil(rate.into()))
        };
        self.rate.map_or(RAMP_UP, |rate| by_rate(rate).max(RAMP_UP))
    }

    /// Of networks that were given all hosts, of the usual ones as many as it takes.
    fn addresses(&self, family: Family, peak: u32) -> ConnectionAddresses {
        let (client_ports, server_ports) = (self.client_ports, self.server_ports);
        let servers = self
            .servers
            .map_or_else(|| Prefix::usual_servers(family).hosts(1), |prefix| prefix.all_hosts());
        let each_client = u64::from(client_ports.count())
            * u64::from(server_ports.count())
            * u64::from(servers.count);
        // Those that are renewed need as many again.
        let wanted = u64::from(peak) * if self.lifetime.is_some() { 2 } else { 1 };
        let needed = wanted.div_ceil(each_client.max(1)).max(wanted.min(CLIENTS_MIN.into()));
        let needed = u32::try_from(needed).unwrap_or(u32::MAX);
        let clients = self.clients.map_or_else(
            || Prefix::usual_clients(family).hosts(needed),
            |prefix| prefix.all_hosts(),
        );
        let translated = self.translated;
        ConnectionAddresses { clients, servers, client_ports, server_ports, translated }
    }
}

/// Whether the number stays what it was for a while.
const fn holds(before: ConnectionsStage, stage: ConnectionsStage) -> bool {
    stage.connections > 0 && stage.connections == before.connections && !stage.lasts.is_zero()
}

/// # Errors
/// Why there cannot be so many connections between these addresses and ports.
fn bytes_needed(plan: &Plan, role: Role) -> Result<u64, Failure> {
    Shard::bytes_needed(&plan.load, plan.family, role).map_err(|error| {
        Failure::bad_input(anyhow!(
            "--clients, --servers, --client-ports and --server-ports: {error}"
        ))
    })
}
