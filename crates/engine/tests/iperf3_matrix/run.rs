//! Runs a cell: one end is ours, the other is the packaged program.

use std::net::{Ipv6Addr, SocketAddr};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::far::Log;
use fp_engine::iperf3::client::{self, ClientReport};
use fp_engine::iperf3::server::{Server, ServerOptions};
use fp_engine::iperf3::wire::Way;
use fp_model::Direction;
use serde_json::Value;

use crate::cell::{Cell, Roles};
use crate::packaged::PackagedServer;

/// One direction of a test as both ends saw it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) sent_bytes: u64,
    /// Until the end of the test, and after it where that is known.
    pub(crate) received_bytes: u64,
    /// Until the end of the test, as the packets are counted.
    pub(crate) in_time_bytes: u64,
    /// All that the sender sent is known to have come, or not: this end receives to the last byte.
    pub(crate) is_received_to_the_end: bool,
    pub(crate) sent_packets: u64,
    /// Highest numbers.
    pub(crate) packets: u64,
    pub(crate) lost_packets: u64,
    pub(crate) lasted: Duration,
}

/// What became of a cell: upload, download.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) upload: Option<Seen>,
    pub(crate) download: Option<Seen>,
    pub(crate) server_output: Option<String>,
    pub(crate) congestion: Option<String>,
}

pub(crate) fn run(cell: &Cell) -> Result<Outcome, String> {
    match cell.roles {
        Roles::OurClient => with_packaged_server(cell),
        Roles::OurServer => with_packaged_client(cell),
    }
}

fn with_packaged_server(cell: &Cell) -> Result<Outcome, String> {
    let server = PackagedServer::start(&[])?;
    let outcome = client::run(&cell.plan(server.port), &mut |_| {}, &StopFlag::default());
    outcome.map(|report| of_report(&report)).map_err(|error| error.to_string())
}

fn of_report(report: &ClientReport) -> Outcome {
    let of = |direction| {
        let mut seen = Seen::default();
        for stream in report.streams.iter().filter(|stream| stream.direction == direction) {
            let (sent, received) = (stream.sent?, stream.received?);
            let arrival = received.arrival.unwrap_or_default();
            seen.sent_bytes += sent.bytes;
            seen.received_bytes += received.bytes + received.late_bytes.unwrap_or(0);
            seen.in_time_bytes += received.bytes;
            seen.is_received_to_the_end = direction == Direction::Download;
            seen.sent_packets += sent.packets.unwrap_or(0);
            seen.packets += received.packets.unwrap_or(0) + arrival.lost_packets;
            seen.lost_packets += arrival.lost_packets;
            let near = if direction == Direction::Upload { sent.lasted } else { received.lasted };
            seen.lasted = near.unwrap_or_default();
        }
        (seen.sent_bytes > 0).then_some(seen)
    };
    Outcome {
        upload: of(Direction::Upload),
        download: of(Direction::Download),
        server_output: report.server_output.clone(),
        congestion: report.near_congestion.clone(),
    }
}

fn with_packaged_client(cell: &Cell) -> Result<Outcome, String> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&log);
    let server = Server::bind(ServerOptions {
        listen: Some(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))),
        max_tests: 4,
        max_duration: Duration::from_secs(60),
        authorisation: None,
        log: Log::to(move |line| said.lock().unwrap().push(line.to_string())),
    })
    .map_err(|error| error.to_string())?;
    let port = server.local_address().map_err(|e| e.to_string())?.port();
    let stop = StopFlag::default();
    let output = thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&stop));
        let words = cell.words(port);
        let output = Command::new("timeout").args(["30", "iperf3"]).args(words).output();
        stop.set();
        serving.join().map_err(|_| "the server panicked")?.map_err(|error| error.to_string())?;
        output.map_err(|error| format!("iperf3 does not run, install it: {error}"))
    })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = log.lock().unwrap();
    let json: Value =
        serde_json::from_str(&text).map_err(|error| format!("{error} in {text}, {log:?}"))?;
    if let Some(error) = json["error"].as_str() {
        return Err(format!("the packaged client says: {error}, our server: {log:?}"));
    }
    Ok(of_json(cell, &json))
}

/// The packaged client's figures; what our server said is in those of the other role.
fn of_json(cell: &Cell, json: &Value) -> Outcome {
    let end = &json["end"];
    let seen = |sent: &Value, received: &Value, is_received_to_the_end| {
        let count = |of: &Value, name: &str| of[name].as_u64().unwrap_or(0);
        Seen {
            sent_bytes: count(sent, "bytes"),
            received_bytes: count(received, "bytes"),
            in_time_bytes: count(received, "bytes"),
            is_received_to_the_end,
            sent_packets: count(sent, "packets"),
            packets: count(received, "packets"),
            lost_packets: count(received, "lost_packets"),
            lasted: Duration::from_secs_f64(sent["seconds"].as_f64().unwrap_or(0.0)),
        }
    };
    let forward = || seen(&end["sum_sent"], &end["sum_received"], true);
    let reverse = || seen(&end["sum_sent"], &end["sum_received"], false);
    let both = || seen(&end["sum_sent_bidir_reverse"], &end["sum_received_bidir_reverse"], false);
    let (upload, download) = match cell.way {
        Way::Forward => (Some(forward()), None),
        Way::Reverse => (None, Some(reverse())),
        Way::Both => (Some(forward()), Some(both())),
    };
    let words = |value: &Value| value.as_str().map(str::to_owned);
    Outcome {
        upload,
        download,
        server_output: words(&json["server_output_text"]),
        congestion: words(&end["sender_tcp_congestion"]),
    }
}
