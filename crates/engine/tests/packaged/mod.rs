//! The packaged iperf3 as a server, and ports for it which nobody takes by chance.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv6Addr, TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;

/// Below those that the host gives to sockets that ask for any port (from 32,768 on), as one of
/// these may be given to another test's client between the look and the use.
const FIRST_PORT: u16 = 20_000;
const PORTS_OF_A_BLOCK: u16 = 8;
const BLOCKS: u16 = 1_500;

/// The first of `count` ports, at most eight, that nobody uses, of TCP and of UDP. No two calls in
/// this process get the same.
pub(crate) fn free_ports(count: u16) -> u16 {
    static TAKEN_BLOCKS: AtomicU16 = AtomicU16::new(0);
    assert!(count <= PORTS_OF_A_BLOCK, "{count} ports do not fit into a block");
    let any = Ipv6Addr::UNSPECIFIED;
    let is_free =
        |port: u16| TcpListener::bind((any, port)).is_ok() && UdpSocket::bind((any, port)).is_ok();
    // Far from those of a process that was started just before or after this one.
    let first_block = std::process::id().wrapping_mul(419) % u32::from(BLOCKS);
    (0..BLOCKS)
        .map(|_| {
            let taken = TAKEN_BLOCKS.fetch_add(1, Ordering::Relaxed);
            let block = (first_block as u16 + taken % BLOCKS) % BLOCKS;
            FIRST_PORT + block * PORTS_OF_A_BLOCK
        })
        .find(|first| (*first..first + count).all(is_free))
        .expect("some ports are free")
}

/// The packaged server, for one test.
pub(crate) struct PackagedServer {
    process: Child,
    pub(crate) port: u16,
}

impl PackagedServer {
    /// Listens when this returns.
    pub(crate) fn start(more: &[&str]) -> Result<Self, String> {
        let port = free_ports(1);
        let mut process = Command::new("iperf3")
            .args(["-s", "-1", "--forceflush", "-p", &port.to_string()])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("iperf3 does not run, install it: {error}"))?;
        let stdout = process.stdout.take().ok_or("no stdout")?;
        let stderr = process.stderr.take().ok_or("no stderr")?;
        let server = Self { process, port };
        let mut lines = BufReader::new(stdout).lines();
        let listens = lines.by_ref().any(|line| line.is_ok_and(|line| line.contains("listening")));
        if !listens {
            let why: Vec<_> = BufReader::new(stderr).lines().map_while(Result::ok).collect();
            return Err(format!("iperf3 does not listen on port {port}: {}", why.join(", ")));
        }
        // So that it never waits for us to read.
        thread::spawn(move || lines.for_each(drop));
        thread::spawn(move || BufReader::new(stderr).lines().for_each(drop));
        Ok(server)
    }
}

impl Drop for PackagedServer {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
