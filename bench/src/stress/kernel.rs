//! The kernel's TCP by epoll over a veth pair: what our own is held beside.

use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fp_engine::os::clock;
use fp_engine::os::netlink::Netlink;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{Errno, read, write};
use rustix::net::sockopt::socket_error;
use rustix::net::{
    AddressFamily, Shutdown, SocketFlags, SocketType, connect, shutdown, socket_with,
};

use super::super::median_of;
use super::super::pair::{FAR_IP, Pair, SERVERS, pin};
use super::server::{
    Answer, BACKLOG, BUFFER_BYTES, EVENTS_MAX, ServerProcess, listener, raise_descriptor_limit,
};
use super::{
    BULK_LASTS, FEW, SERVER_ADDRESSES, SERVER_PORT, SPEAKING, SPEAKING_LASTS, SPOKEN_BYTES,
    lay_pair,
};

const WHAT: &str = "kernel (epoll)";
const CONNECTIONS_MAX: usize = 100_000;
/// Asked for and not open: the kernel's queues lose none of so few.
const UNDER_WAY_MAX: usize = 256;
const REQUEST: [u8; SPOKEN_BYTES as usize] = [7; SPOKEN_BYTES as usize];
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// One thread an end. As with our own connections, the host makes every checksum, and frames are no
/// longer than the interface's.
pub(super) fn run() -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let connections = raise_descriptor_limit()?.min(CONNECTIONS_MAX);
    let idle_bytes = idle_bytes(connections)?;
    let caches = SOCKET_CACHES.join(", ");
    writeln!(out, "{WHAT}: a connection takes {idle_bytes:.0} bytes an end, of {connections}")?;
    writeln!(out, "  in {caches} (/proc/slabinfo), without what is shared with others")?;
    let opened = median_of(|| opened_per_second(connections))?;
    writeln!(out, "{WHAT}: {opened:.0} connections/s opened, of {connections}")?;
    let speaking = connections.min(SPEAKING as usize);
    let spoken = median_of(|| transactions_per_second(speaking))?;
    writeln!(
        out,
        "{WHAT}: {spoken:.0} transactions/s of {SPOKEN_BYTES} bytes each way, on {speaking}"
    )?;
    for connections in FEW {
        let gbps = median_of(|| bulk_gbps(connections as usize))?;
        writeln!(out, "{WHAT}: {gbps:.2} Gbit/s of payload in MTU-sized frames, on {connections}")?;
    }
    Ok(())
}

/// What stands in /proc/slabinfo by its own name for each socket that epoll watches.
const SOCKET_CACHES: [&str; 5] = ["TCP", "sock_inode_cache", "filp", "dentry", "eventpoll_epi"];

fn idle_bytes(connections: usize) -> anyhow::Result<f64> {
    let (pair, _server) = Pair::with_server(Answer::Echo)?;
    let mut client = Client::new(&pair)?;
    let before = socket_cache_bytes()?;
    client.open(connections)?;
    client.speak_once()?;
    let taken = socket_cache_bytes()? as f64 - before as f64;
    Ok(taken / (2 * connections) as f64)
}

fn socket_cache_bytes() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/slabinfo").context("cannot read /proc/slabinfo")?;
    let caches = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        SOCKET_CACHES.contains(&words.next()?).then_some(())?;
        let objects: u64 = words.next()?.parse().ok()?;
        let object_bytes: u64 = words.nth(1)?.parse().ok()?;
        Some(objects * object_bytes)
    });
    Ok(caches.sum())
}

fn opened_per_second(connections: usize) -> anyhow::Result<f64> {
    let (pair, _server) = Pair::with_server(Answer::Echo)?;
    let mut client = Client::new(&pair)?;
    let began = clock::now();
    client.open(connections)?;
    Ok(connections as f64 / clock::now().since(began).as_secs_f64())
}

fn transactions_per_second(connections: usize) -> anyhow::Result<f64> {
    let (pair, _server) = Pair::with_server(Answer::Echo)?;
    let mut client = Client::new(&pair)?;
    client.open(connections)?;
    let began = clock::now();
    let spoken = client.speak(SPEAKING_LASTS)?;
    Ok(spoken as f64 / clock::now().since(began).as_secs_f64())
}

/// Payload that arrived, until the last of it did.
fn bulk_gbps(connections: usize) -> anyhow::Result<f64> {
    let (pair, mut server) = Pair::with_server(Answer::Count)?;
    let mut client = Client::new(&pair)?;
    client.open(connections)?;
    let began = clock::now();
    client.send(BULK_LASTS)?;
    let bytes = server.counted_bytes()?;
    Ok(bytes as f64 * 8.0 / clock::now().since(began).as_secs_f64() / 1e9)
}

impl Pair {
    fn with_server(answer: Answer) -> anyhow::Result<(Self, ServerProcess)> {
        let pair = lay_pair()?;
        let server = ServerProcess::start(pair.far_listener()?, answer)?;
        pair.near.enter()?;
        Netlink::open()?.add_route(SERVERS.into(), 16, FAR_IP)?;
        Ok((pair, server))
    }

    /// At the addresses of a load's servers, with room for all connections that wait for it.
    pub(super) fn far_listener(&self) -> anyhow::Result<OwnedFd> {
        self.switch_offloads_off()?;
        self.far.enter()?;
        let links = Netlink::open()?;
        let index = links.interface("eth0")?.index;
        for server in server_addresses() {
            links.add_address(index, server.into(), 32)?;
        }
        for limit in ["core/somaxconn", "ipv4/tcp_max_syn_backlog"] {
            let file = format!("/proc/sys/net/{limit}");
            fs::write(&file, BACKLOG.to_string()).with_context(|| format!("cannot set {file}"))?;
        }
        listener()
    }
}

fn server_addresses() -> impl Iterator<Item = Ipv4Addr> {
    let network = u32::from_be_bytes(SERVERS);
    (1..=SERVER_ADDRESSES).map(move |host| Ipv4Addr::from_bits(network + host))
}

/// The end that opens connections.
struct Client {
    events: OwnedFd,
    streams: Vec<OwnedFd>,
    servers: Vec<SocketAddrV4>,
}

impl Client {
    /// In the current thread, which moves to the pair's near end.
    fn new(pair: &Pair) -> anyhow::Result<Self> {
        pin(0)?;
        pair.near.enter()?;
        let servers = server_addresses().map(|server| SocketAddrV4::new(server, SERVER_PORT));
        let events = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self { events, streams: Vec::new(), servers: servers.collect() })
    }

    /// All of them, each watched until it is open.
    fn open(&mut self, connections: usize) -> anyhow::Result<()> {
        let mut opened = 0;
        while opened < connections {
            while self.streams.len() < connections.min(opened + UNDER_WAY_MAX) {
                self.ask_for_one()?;
            }
            for stream in self.wait()? {
                socket_error(&self.streams[stream])??;
                opened += 1;
            }
        }
        Ok(())
    }

    /// Its number modulo that of the servers says to which, so that ports suffice.
    fn ask_for_one(&mut self) -> anyhow::Result<()> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let stream = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        let number = self.streams.len();
        match connect(&stream, &self.servers[number % self.servers.len()]) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let once = EventFlags::OUT | EventFlags::ONESHOT;
        epoll::add(&self.events, &stream, EventData::new_u64(number as u64), once)?;
        self.streams.push(stream);
        Ok(())
    }

    /// The numbers of connections on which something has happened.
    fn wait(&self) -> anyhow::Result<impl Iterator<Item = usize> + use<>> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        epoll::wait(&self.events, spare_capacity(&mut events), Some(&PATIENCE))?;
        ensure!(!events.is_empty(), "nothing has happened for {} s", PATIENCE.tv_sec);
        Ok(events.into_iter().map(|event| event.data.u64() as usize))
    }

    fn watch_all_for(&self, what: EventFlags) -> anyhow::Result<()> {
        for (number, stream) in self.streams.iter().enumerate() {
            epoll::modify(&self.events, stream, EventData::new_u64(number as u64), what)?;
        }
        Ok(())
    }

    /// Until the server has answered on each, and so has taken it from its listener.
    fn speak_once(&self) -> anyhow::Result<()> {
        self.watch_all_for(EventFlags::IN | EventFlags::ONESHOT)?;
        self.ask_on_all()?;
        let mut answered = 0;
        while answered < self.streams.len() {
            answered += self.wait()?.count();
        }
        Ok(())
    }

    fn ask_on_all(&self) -> anyhow::Result<()> {
        for stream in &self.streams {
            write(stream, &REQUEST)?;
        }
        Ok(())
    }

    /// On each the next request as soon as the last one is answered; gives how many were.
    fn speak(&self, lasts: Duration) -> anyhow::Result<u64> {
        let mut response = REQUEST;
        self.watch_all_for(EventFlags::IN)?;
        self.ask_on_all()?;
        let (mut answered, over) = (0, clock::now() + lasts);
        while clock::now() < over {
            for stream in self.wait()? {
                let received = read(&self.streams[stream], &mut response)?;
                ensure!(received == response.len(), "{received} bytes are no whole response");
                write(&self.streams[stream], &REQUEST)?;
                answered += 1;
            }
        }
        Ok(answered)
    }

    /// As much as it takes, and then the end of the streams.
    fn send(&self, lasts: Duration) -> anyhow::Result<()> {
        let payload = vec![7; BUFFER_BYTES];
        self.watch_all_for(EventFlags::OUT)?;
        let over = clock::now() + lasts;
        while clock::now() < over {
            for stream in self.wait()? {
                write(&self.streams[stream], &payload)?;
            }
        }
        self.streams.iter().try_for_each(|stream| Ok(shutdown(stream, Shutdown::Write)?))
    }
}
