//! A router that translates, in front of the near end: this host's kernel in its own namespace.
//!
//! ```text
//!  namespace near          namespace of the gateway         namespace in the middle
//!  ┌────────────┐          ┌────────────────────────┐       ┌───────────────
//!  │       eth0 ├──────────┤ inside            eth0 ├───────┤ near   forwarder
//!  └────────────┘          └────────────────────────┘       └───────────────
//! ```
//! It stands where the near end stands without it, and has the near end's addresses there.
//!
//! The kernel forwards, tracks connections and translates by one nf_tables rule, made by netlink.
//! The connections are read inside the namespace, where all of them are the lab's, and enter the
//! ground truth. Settings are the namespace's own; the host's limit of tracked connections is not
//! changed. Virtual time has no such kernel, so `fullpipe sim` refuses the network.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use fp_model::Family;
use fp_net::path::GatewaySpec;
use serde::Serialize;

use super::LabError;
use super::wiring::{Cable, CableDrops, END_INTERFACE, Families, Namespace, wait_until_running};
use crate::os::ethtool::switch_offloads_off;
use crate::os::netlink::{Mac, Netlink, VethEnd};
use crate::os::nf_tables;

/// The near end and the way from it to the outside.
#[derive(Debug)]
pub(super) struct Gateway {
    /// The near end.
    pub(super) inside: Namespace,
    inside_links: Netlink,
    counts: Counts,
}

/// What the gateway's own kernel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GatewayTruth {
    /// Connections that it has a state for now, whoever they are of.
    pub conntrack_entries: u64,
    /// The most that there were at once, as seen every 10 ms.
    pub conntrack_entries_peak: u64,
    /// How many each namespace of the host may have; it is the host's setting.
    pub conntrack_entries_limit: u64,
    /// What its kernel counts beside them, where it does.
    #[serde(flatten)]
    pub counters: Option<ConntrackCounters>,
}

/// Sums over all processors, as `/proc/net/stat/nf_conntrack` has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConntrackCounters {
    /// Connections that got no state: there was no port for them that was free.
    pub insert_failed: u64,
    /// Packets that belong to no connection that there is a state of, nor begin one.
    pub invalid: u64,
    /// Packets dropped because memory or states had run out.
    pub drop: u64,
    /// States that were given up for newer ones.
    pub early_drop: u64,
}

const INSIDE_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 1);
const INSIDE_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 3, 0, 0, 0, 1);
const GATEWAY_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 254);
const GATEWAY_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 3, 0, 0, 0, 0xfe);
const INSIDE_MAC: Mac = [0x02, 0x66, 0x70, 0, 0, 0x21];
const GATEWAY_MAC: Mac = [0x02, 0x66, 0x70, 0, 0, 0x22];
/// Of the network behind the gateway.
const PREFIX_LENS: [u8; 2] = [24, 64];
const INSIDE_INTERFACE: &str = "inside";

/// Addresses of the near end's that are none of its kernel's: clients of connections.
const CLIENTS: [(IpAddr, u8); 2] = [
    (IpAddr::V4(Ipv4Addr::new(198, 18, 0, 0)), 16),
    (IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 0)), 64),
];
const ANYWHERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];

/// States of connections that have ended go soon: a run is not to be in the way of the next one.
/// One that has gone does not come back with a segment that was late.
const SETTINGS: [(&str, &str); 4] = [
    ("netfilter/nf_conntrack_tcp_timeout_time_wait", "5"),
    ("netfilter/nf_conntrack_tcp_timeout_close", "5"),
    ("netfilter/nf_conntrack_tcp_timeout_last_ack", "5"),
    ("netfilter/nf_conntrack_tcp_loose", "0"),
];

impl Gateway {
    /// Makes the end of `outer` a gateway and the near end behind it, where the current thread is
    /// afterwards.
    pub(super) fn lay(
        spec: GatewaySpec,
        outer: &Cable,
        far: &Namespace,
        families: Families,
    ) -> Result<Self, LabError> {
        let inside = Namespace::fresh("near", families, INSIDE_IPV4, INSIDE_IPV6)?;
        let inside_links = Netlink::open().map_err(LabError::wiring("open netlink near"))?;
        outer.end.enter().map_err(LabError::wiring("go to the gateway"))?;
        let links = &outer.end_links;
        connect(links, &inside, outer.mtu, families)
            .and_then(|()| route(links, &inside, far, families))
            .map_err(LabError::wiring("configure the gateway"))?;
        nf_tables::masquerade(&(spec.ports.first..=spec.ports.last)).map_err(not_translated)?;
        set(families).map_err(LabError::wiring("configure the gateway's kernel"))?;
        let counts = Counts::open().map_err(LabError::wiring("read what the gateway counts"))?;
        inside
            .enter()
            .and_then(|()| configure_inside(&inside, &inside_links, families))
            .map_err(LabError::wiring("configure the near end"))?;
        Ok(Self { inside, inside_links, counts })
    }

    pub(super) fn truth(&self) -> io::Result<GatewayTruth> {
        self.counts.truth()
    }

    /// Frames that the kernel has dropped between the near end and the gateway; `links` are the
    /// gateway's.
    pub(super) fn dropped(&self, links: &Netlink) -> io::Result<CableDrops> {
        Ok(CableDrops {
            to_middle: self.inside_links.interface(END_INTERFACE)?.tx_dropped,
            to_end: links.interface(INSIDE_INTERFACE)?.tx_dropped,
        })
    }
}

fn not_translated(error: io::Error) -> LabError {
    match error.raw_os_error() {
        // No netlink of netfilter, nothing there for nf_tables, a part of nf_tables that is missing.
        Some(libc::EPROTONOSUPPORT | libc::EOPNOTSUPP | libc::ENOENT) => {
            LabError::NoTranslation(error)
        }
        _ => LabError::wiring("have its gateway translate addresses")(error),
    }
}

/// The pair between the gateway, in which the current thread is, and what is behind it.
fn connect(links: &Netlink, inside: &Namespace, mtu: u32, families: Families) -> io::Result<()> {
    let here = VethEnd { name: INSIDE_INTERFACE, mac: GATEWAY_MAC, mtu };
    let there = VethEnd { name: END_INTERFACE, mac: INSIDE_MAC, mtu };
    links.add_veth(&here, &there, inside.network())?;
    switch_offloads_off(INSIDE_INTERFACE)?;
    let index = links.interface(INSIDE_INTERFACE)?.index;
    if families.contain(Family::Ipv6) {
        links.forgo_link_local_address(index)?;
    }
    links.set_up(index)?;
    for (family, prefix_len) in families.with(PREFIX_LENS) {
        links.add_address(index, gateway(family), prefix_len)?;
        links.add_neighbour(index, inside.address(family), INSIDE_MAC)?;
    }
    Ok(())
}

/// The clients of connections are behind the gateway, and everybody else is at the far end.
fn route(
    links: &Netlink,
    inside: &Namespace,
    far: &Namespace,
    families: Families,
) -> io::Result<()> {
    for (family, (clients, prefix_len)) in families.with(CLIENTS) {
        links.add_route(clients, prefix_len, inside.address(family))?;
    }
    for (family, anywhere) in families.with(ANYWHERE) {
        links.add_route(anywhere, 0, far.address(family))?;
    }
    Ok(())
}

fn set(families: Families) -> io::Result<()> {
    let forwarding = families.with(["ipv4/ip_forward", "ipv6/conf/all/forwarding"]);
    let forwarding = forwarding.map(|(_, name)| (name, "1"));
    for (name, value) in forwarding.chain(SETTINGS) {
        let file = format!("/proc/sys/net/{name}");
        fs::write(&file, value)
            .map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}")))?;
    }
    Ok(())
}

/// The near end, in which the current thread is.
fn configure_inside(inside: &Namespace, links: &Netlink, families: Families) -> io::Result<()> {
    switch_offloads_off(END_INTERFACE)?;
    links.set_up(links.interface("lo")?.index)?;
    let eth0 = links.interface(END_INTERFACE)?.index;
    links.send_single_segments(eth0)?;
    if families.contain(Family::Ipv6) {
        links.forgo_link_local_address(eth0)?;
    }
    links.set_up(eth0)?;
    for (family, prefix_len) in families.with(PREFIX_LENS) {
        links.add_address(eth0, inside.address(family), prefix_len)?;
        links.add_neighbour(eth0, gateway(family), GATEWAY_MAC)?;
    }
    for (family, anywhere) in families.with(ANYWHERE) {
        links.add_route(anywhere, 0, gateway(family))?;
    }
    wait_until_running(links)
}

const fn gateway(family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => IpAddr::V4(GATEWAY_IPV4),
        Family::Ipv6 => IpAddr::V6(GATEWAY_IPV6),
    }
}

/// The gateway's counts, read from wherever one is, and the thread that watches the first of them.
#[derive(Debug)]
struct Counts {
    entries: Arc<File>,
    limit: File,
    counters: Option<File>,
    peak: Arc<AtomicU64>,
    /// Gone before the watcher is joined: this is what ends it.
    watched: Option<Sender<()>>,
    watcher: Option<JoinHandle<()>>,
}

const WATCH_EVERY: Duration = Duration::from_millis(10);

impl Counts {
    /// Of the current thread's namespace.
    fn open() -> io::Result<Self> {
        let entries = Arc::new(File::open("/proc/sys/net/netfilter/nf_conntrack_count")?);
        let limit = File::open("/proc/sys/net/netfilter/nf_conntrack_max")?;
        // There are kernels without it.
        let counters = File::open("/proc/thread-self/net/stat/nf_conntrack").ok();
        let peak = Arc::new(AtomicU64::new(0));
        let (watched, end) = channel();
        let watch = {
            let (entries, peak) = (Arc::clone(&entries), Arc::clone(&peak));
            move || {
                while end.recv_timeout(WATCH_EVERY) == Err(RecvTimeoutError::Timeout) {
                    // What cannot be read now is read again when the truth is asked for, and told.
                    peak.fetch_max(count(&entries).unwrap_or_default(), Ordering::Relaxed);
                }
            }
        };
        let watcher = Builder::new().name("gateway".into()).spawn(watch)?;
        Ok(Self { entries, limit, counters, peak, watched: Some(watched), watcher: Some(watcher) })
    }

    fn truth(&self) -> io::Result<GatewayTruth> {
        let conntrack_entries = count(&self.entries)?;
        let peak = self.peak.load(Ordering::Relaxed);
        Ok(GatewayTruth {
            conntrack_entries,
            conntrack_entries_peak: peak.max(conntrack_entries),
            conntrack_entries_limit: count(&self.limit)?,
            counters: self.counters.as_ref().map(counters).transpose()?,
        })
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        self.watched = None;
        if let Some(watcher) = self.watcher.take() {
            // One that has panicked has said so itself.
            let _ = watcher.join();
        }
    }
}

fn count(file: &File) -> io::Result<u64> {
    let text = text(file)?;
    text.trim().parse().map_err(|_| io::Error::other("the kernel's count is no number"))
}

fn counters(file: &File) -> io::Result<ConntrackCounters> {
    ConntrackCounters::of(&text(file)?)
        .ok_or_else(|| io::Error::other("the kernel's table of counters is not as it was"))
}

/// From its beginning, whoever has read it before.
fn text(file: &File) -> io::Result<String> {
    let mut bytes = vec![0; 4096];
    let mut len = 0;
    loop {
        match file.read_at(&mut bytes[len..], len as u64)? {
            0 => break,
            more => len += more,
        }
        if len == bytes.len() {
            bytes.resize(2 * len, 0);
        }
    }
    bytes.truncate(len);
    String::from_utf8(bytes).map_err(io::Error::other)
}

impl ConntrackCounters {
    /// A line of names and a line of hexadecimal numbers for each processor.
    fn of(table: &str) -> Option<Self> {
        let mut lines = table.lines();
        let names: Vec<&str> = lines.next()?.split_whitespace().collect();
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
        let sum = |name| {
            let place = names.iter().position(|found| *found == name)?;
            let of_row = |row: &Vec<&str>| u64::from_str_radix(row.get(place)?, 16).ok();
            rows.iter().map(of_row).sum::<Option<u64>>()
        };
        Some(Self {
            insert_failed: sum("insert_failed")?,
            invalid: sum("invalid")?,
            drop: sum("drop")?,
            early_drop: sum("early_drop")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_and_summed_over_processors() {
        let table = "entries  found invalid insert_failed drop early_drop\n\
                     000003e8  00000000 00000002 00000010 00000011 00000000\n\
                     000003e8  00000000 00000001 0000000a 00000001 00000003\n";
        let expected = ConntrackCounters { insert_failed: 26, invalid: 3, drop: 18, early_drop: 3 };
        assert_eq!(ConntrackCounters::of(table), Some(expected));
        assert_eq!(ConntrackCounters::of("entries\n00000001\n"), None);
        assert_eq!(ConntrackCounters::of(""), None);
    }
}
