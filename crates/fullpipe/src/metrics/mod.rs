//! Metrics for Prometheus: what is counted, as text, at an address of this host.
//!
//! The registry is made anew for each answer, so that figures that are no longer known are not
//! reported.

pub(crate) mod far_end;
mod http;
pub(crate) mod plan;

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::anyhow;
use fp_engine::StopFlag;
use prometheus_client::registry::Registry;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::exit::Failure;
use crate::stderr::tell;
use http::Answer;

/// How soon the listener hears that it is to stop.
const LOOK_UP: Duration = Duration::from_millis(100);
/// Of the family of OpenMetrics, which Prometheus reads by this name.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Where metrics are told.
#[derive(Debug)]
pub(crate) struct Exporter {
    listener: TcpListener,
    address: SocketAddr,
}

/// Of an option: an address of this host with a port; a port alone is one of loopback.
///
/// # Errors
/// What is allowed.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let port_alone = text.strip_prefix(':').map(|port| format!("127.0.0.1:{port}"));
    text.parse().or_else(|_| port_alone.as_deref().unwrap_or_default().parse()).map_err(|_| {
        String::from(
            "write ADDR:PORT or :PORT with an address of this host, as in 127.0.0.1:9349 or \
             [::1]:9349",
        )
    })
}

impl Exporter {
    /// Listens, and says where.
    ///
    /// # Errors
    /// Why the address cannot be listened on, and what to do.
    pub(crate) fn bind(address: SocketAddr, quiet: bool) -> Result<Self, Failure> {
        let listening = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Self { listener, address })
        });
        let exporter =
            listening.map_err(|error| Failure::not_run(not_listening(address, &error)))?;
        if !quiet {
            tell(&format!("metrics are told at http://{}/metrics", exporter.address));
        }
        if !exporter.address.ip().is_loopback() {
            // Whoever asked for silence has to know this all the same.
            tell(&format!(
                "metrics: whoever reaches {} can read them, without a password and unencrypted; \
                 127.0.0.1:{} is for this host alone",
                exporter.address,
                exporter.address.port()
            ));
        }
        Ok(exporter)
    }

    #[cfg(test)]
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is set, in a thread of its own, with what `text` gives.
    ///
    /// # Errors
    /// Where the host gives no thread.
    pub(crate) fn serve(
        self,
        stop: StopFlag,
        text: impl Fn() -> String + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        thread::Builder::new().name("metrics".into()).spawn(move || {
            while !stop.is_set() {
                if let Some(stream) = self.next() {
                    // Whoever goes away early has lost nothing but an answer.
                    let _ = self.attend(stream, &text);
                }
            }
        })
    }

    /// One at a time: an answer takes a millisecond, and whoever dawdles is left soon.
    fn next(&self) -> Option<TcpStream> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_UP.as_nanos() as i64 };
        // Where waiting fails, the next look will tell.
        let _ = poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&timeout));
        self.listener.accept().ok().map(|(stream, _)| stream)
    }

    fn attend(&self, mut stream: TcpStream, text: impl Fn() -> String) -> io::Result<()> {
        let head = http::head(&mut stream)?;
        let answer = match http::path(&head, self.address.ip()) {
            Ok("/metrics") => Answer::new("200 OK", FORMAT, text()),
            Ok(_) => Answer::plain("404 Not Found", "metrics are at /metrics\n"),
            Err(answer) => answer,
        };
        stream.write_all(answer.to_bytes().as_slice())
    }
}

fn not_listening(address: SocketAddr, error: &io::Error) -> anyhow::Error {
    let remedy = match error.kind() {
        io::ErrorKind::AddrInUse => "the port is in use: choose another with --metrics",
        io::ErrorKind::PermissionDenied => "this user may not: choose a port above 1023",
        io::ErrorKind::AddrNotAvailable => {
            "this host has no such address: choose one of its own, as 127.0.0.1"
        }
        _ => return anyhow!("cannot tell metrics at {address}: {error}"),
    };
    anyhow!("cannot tell metrics at {address}: {remedy}")
}

/// All that is registered, as text.
fn encoded(registry: &Registry) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = prometheus_client::encoding::text::encode(&mut text, registry);
    text
}

/// What every exporter tells: which fullpipe it is.
fn registry() -> Registry {
    let mut registry = Registry::with_prefix("fullpipe");
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    let build = prometheus_client::metrics::info::Info::new(version);
    registry.register("build", "The fullpipe that tells this", build);
    registry
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// What is answered to these bytes.
    fn asked(request: &str) -> String {
        let exporter = Exporter::bind(SocketAddr::from(([127, 0, 0, 1], 0)), true).unwrap();
        let (address, stop) = (exporter.address(), StopFlag::default());
        let served = exporter.serve(stop.clone(), || String::from("# EOF\n")).unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        stop.set();
        served.join().unwrap();
        answer
    }

    #[test]
    fn metrics_are_told_to_whoever_asks_for_them_by_the_address() {
        let answer = asked("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9349\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("Content-Type: application/openmetrics-text"), "{answer}");
        assert!(answer.ends_with("\r\n\r\n# EOF\n"), "{answer}");
        let localhost = asked("GET /metrics?x=1 HTTP/1.0\r\nhost: LocalHost\r\n\r\n");
        assert!(localhost.starts_with("HTTP/1.1 200"), "{localhost}");
    }

    #[test]
    fn other_pages_other_verbs_other_hosts_and_nonsense_get_nothing() {
        for (request, status) in [
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "405"),
            // A name that somebody else has made to mean this host.
            ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
            ("GET /metrics HTTP/1.1\r\n\r\n", "403"),
            ("\u{1}\u{2}\r\n\r\n", "400"),
        ] {
            let answer = asked(request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
            assert!(!answer.contains("# EOF"), "{request:?}: {answer}");
        }
    }

    #[test]
    fn a_request_without_end_is_cut_off() {
        let begun = String::from("GET /metrics HTTP/1.1\r\nX: ");
        let answer = asked(&(begun.clone() + &"x".repeat(8192 - begun.len())));
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }

    #[test]
    fn a_port_alone_is_one_of_this_host() {
        assert_eq!(address(":9349").unwrap().to_string(), "127.0.0.1:9349");
        assert_eq!(address("[::1]:9349").unwrap().to_string(), "[::1]:9349");
        for nonsense in ["", "9349", "far.example:9349", "127.0.0.1", ":x"] {
            assert!(address(nonsense).is_err(), "{nonsense}");
        }
    }
}
