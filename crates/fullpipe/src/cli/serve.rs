//! `fullpipe serve`: the far end.

use std::fmt;
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::thread::JoinHandle;

use anyhow::{Context as _, anyhow};
use fp_engine::control::{DEFAULT_PORT, Host, Identity, IdentityError, Pairing};
use fp_engine::far::{Log, Server, ServerOptions};
use fp_engine::os::{interfaces, signal};
use fp_engine::swarm::ConnectionNetworks;
use fp_engine::{DataPorts, NotDataPorts, StopFlag};

use super::iperf3::{self, Iperf3Args};
use crate::exit::{Exit, Failure};
use crate::metrics::{self, Exporter};

/// Be the far end of tests: print the pairing string, then serve until stopped.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The pairing string holds the secret of this far end: whoever has it may have traffic sent between \
the two hosts. It changes with each start, unless --key-file keeps it.")]
pub(crate) struct Args {
    /// Where to listen [default: port 6349 of all addresses, IPv6 and IPv4]
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = listen_address)]
    listen: Option<SocketAddr>,
    /// Open data connections on these ports only, for a firewall's sake [default: any]
    #[arg(long, value_name = "LO-HI", value_parser = data_ports)]
    data_ports: Option<DataPorts>,
    /// Let near ends open very many connections, with addresses in these networks alone, for which this
    /// host then answers; without NETWORKS in those that are set apart for tests
    #[arg(
        long,
        value_name = "NETWORKS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "198.18.0.0/15,2001:2::/48"
    )]
    allow_connections: Option<ConnectionNetworks>,
    /// Serve so many near ends at once
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = max_sessions)]
    max_sessions: u16,
    /// Keep key and token in FILE over restarts; it is made where there is none
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Tell metrics of this far end to Prometheus at this address, as in 127.0.0.1:9349; other hosts
    /// reach only one that is not of loopback
    #[arg(long, value_name = "ADDR:PORT", value_parser = metrics::address)]
    metrics: Option<SocketAddr>,
    /// No line per session, no hints
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    iperf3: Iperf3Args,
}

pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    let stop = signal::stop_flag().context("cannot catch signals").map_err(Failure::not_run)?;
    let identity = match &args.key_file {
        Some(path) => Identity::kept_in(path),
        None => Identity::new(),
    };
    let log = if args.quiet { Log::none() } else { Log::to(log_line) };
    let iperf3 = args.iperf3.bind(args.listen, args.max_sessions.into(), &log)?;
    let server = Server::bind(ServerOptions {
        listen: args.listen,
        data_ports: args.data_ports.unwrap_or(DataPorts::ANY),
        connection_networks: args.allow_connections.unwrap_or(ConnectionNetworks::NONE),
        max_sessions: args.max_sessions.into(),
        identity: identity.map_err(not_usable)?,
        log,
    })
    .map_err(Failure::not_run)?;
    let watched = match args.metrics {
        Some(address) => Some(tell_metrics(&server, address, &stop, args.quiet)?),
        None => None,
    };
    announce(&server, args.quiet).map_err(Failure::not_run)?;
    if let Some(iperf3) = iperf3.as_ref().filter(|_| !args.quiet) {
        iperf3::announce(iperf3);
    }
    let served = iperf3::beside(iperf3.as_ref(), &stop, || server.serve(&stop));
    if let Some(watched) = watched {
        stop.set();
        // A panic of the exporter has been reported on stderr.
        let _ = watched.join();
    }
    served?.map_err(Failure::not_run)?;
    Ok(Exit::Passed)
}

fn tell_metrics(
    server: &Server,
    address: SocketAddr,
    stop: &StopFlag,
    quiet: bool,
) -> Result<JoinHandle<()>, Failure> {
    let watch = server.watch();
    let exporter = Exporter::bind(address, quiet)?;
    let served = exporter.serve(stop.clone(), move || metrics::far_end::text(&watch.figures()));
    served.context("cannot tell metrics").map_err(Failure::not_run)
}

fn not_usable(error: IdentityError) -> Failure {
    match error {
        IdentityError::NotAKeyFile { .. } => Failure::bad_input(error),
        IdentityError::NotMade(_)
        | IdentityError::NotRead { .. }
        | IdentityError::NotWritten { .. } => Failure::not_run(error),
    }
}

/// The pairing string on stdout, for scripts; all that a person may want to know on stderr.
fn announce(server: &Server, quiet: bool) -> anyhow::Result<()> {
    let address = server.local_address().context("cannot tell where this end listens")?;
    let mut hosts = reachable_hosts(address.ip());
    let best = server.pairing(hosts.remove(0));
    writeln!(io::stdout(), "{best}").context("cannot write the pairing string to stdout")?;
    if !quiet {
        let others: Vec<Pairing> = hosts.into_iter().map(|host| server.pairing(host)).collect();
        // With stderr gone there is nobody to hint to.
        let _ = io::stderr().write_all(hints(&best, &others).as_bytes());
    }
    Ok(())
}

fn hints(best: &Pairing, others: &[Pairing]) -> String {
    let mut text = format!(
        "the far end listens on port {}; at the near end run\n\n  fullpipe test '{best}'\n\n",
        best.far.port
    );
    if !others.is_empty() {
        text += "or, if that address is not reachable from there, one of\n\n";
        for other in others {
            text += &format!("  fullpipe test '{other}'\n");
        }
        text += "\n";
    }
    text + "the part after the '#' is a secret. Ctrl-C ends the far end\n"
}

/// The addresses by which near ends may reach this host, the best guess first; the host's name
/// where it has no address that leaves it.
fn reachable_hosts(listening: IpAddr) -> Vec<Host> {
    if !listening.is_unspecified() {
        return vec![Host::Address(listening)];
    }
    // Without a list there is still the loopback address.
    let held = interfaces::addresses().unwrap_or_default();
    let mut addresses: Vec<IpAddr> = held.into_iter().map(|held| held.address).collect();
    addresses.retain(|address| is_of_use(address) && (listening.is_ipv6() || address.is_ipv4()));
    addresses.sort_by_key(|address| (address.is_loopback(), address.is_ipv6()));
    addresses.dedup();
    if addresses.is_empty() {
        addresses.push(IpAddr::from([127, 0, 0, 1]));
    }
    addresses.into_iter().map(Host::Address).collect()
}

/// A link-local address means nothing without the name of the near end's own interface.
const fn is_of_use(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_link_local(),
        IpAddr::V6(v6) => !v6.is_unicast_link_local(),
    }
}

fn log_line(line: fmt::Arguments<'_>) {
    // With stderr gone the sessions go on unlogged.
    let _ = writeln!(io::stderr(), "{line}");
}

fn listen_address(text: &str) -> anyhow::Result<SocketAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let port_alone = text.strip_prefix(':').map(|port| format!("[::]:{port}"));
    text.parse::<SocketAddr>()
        .or_else(|_| bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, DEFAULT_PORT)))
        .or_else(|_| port_alone.as_deref().unwrap_or_default().parse())
        .map_err(|_| {
            anyhow!(
                "write ADDR:PORT, ADDR or :PORT with an address of this host, as in 0.0.0.0:6349, \
                 [::1]:7000 or :7000"
            )
        })
}

fn data_ports(text: &str) -> anyhow::Result<DataPorts> {
    let range = text.split_once('-').and_then(|(low, high)| {
        let (low, high): (u16, u16) = (low.parse().ok()?, high.parse().ok()?);
        Some(DataPorts::between(low, high))
    });
    match range {
        Some(Err(too_few @ NotDataPorts::TooFew { .. })) => Err(too_few.into()),
        Some(Ok(ports)) => Ok(ports),
        None | Some(Err(NotDataPorts::NoRange)) => {
            Err(anyhow!("write LO-HI with ports from 1 to 65535, as in 50000-50100"))
        }
    }
}

fn max_sessions(text: &str) -> anyhow::Result<u16> {
    match text.parse() {
        Ok(sessions) if sessions > 0 => Ok(sessions),
        _ => Err(anyhow!("write a number from 1 to 65535")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listen_takes_an_address_a_port_or_both() {
        let read = |text: &str| listen_address(text).ok().map(|address| address.to_string());
        assert_eq!(read("10.0.0.1:7000").as_deref(), Some("10.0.0.1:7000"));
        assert_eq!(read("10.0.0.1").as_deref(), Some("10.0.0.1:6349"));
        assert_eq!(read("::1").as_deref(), Some("[::1]:6349"));
        assert_eq!(read("[::1]").as_deref(), Some("[::1]:6349"));
        assert_eq!(read("[::1]:7000").as_deref(), Some("[::1]:7000"));
        assert_eq!(read(":7000").as_deref(), Some("[::]:7000"));
        for nonsense in ["", ":", "7000", "far.example:7000", "10.0.0.1:70000", "10.0.0.1:-1"] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn data_ports_are_a_range_of_two_or_more() {
        let read = |text: &str| data_ports(text).map_err(|error| error.to_string());
        assert_eq!(read("50000-50100"), Ok(DataPorts::between(50_000, 50_100).unwrap()));
        for nonsense in ["", "50000", "0-10", "20-10", "1-70000", "a-b", "-1-5"] {
            assert!(read(nonsense).unwrap_err().contains("LO-HI"), "{nonsense}");
        }
        assert!(read("50000-50000").unwrap_err().contains("needs 2 data ports"));
    }
}
