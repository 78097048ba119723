//! What a client knows when a test is over: each stream as both ends saw it.

use std::net::SocketAddr;
use std::time::Duration;

use fp_model::Direction;

use crate::iperf3::account::{Arrival, Closed};
use crate::iperf3::processor::ProcessorUse;
use crate::iperf3::traffic::Role;
use crate::iperf3::wire::{Parameters, Results, StreamResult, Transport};

/// A test from its client's side. What only the server could tell is `None` where it did not.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientReport {
    pub near: SocketAddr,
    pub far: SocketAddr,
    /// What was asked of the server.
    pub asked: Parameters,
    pub streams: Vec<StreamReport>,
    pub near_processor: ProcessorUse,
    pub far_processor: Option<ProcessorUse>,
    pub near_congestion: Option<String>,
    pub far_congestion: Option<String>,
    /// As text, or as JSON in one line.
    pub server_output: Option<String>,
    /// Whether the test came to its own end, and was not stopped before it.
    pub complete: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StreamReport {
    pub id: u32,
    pub direction: Direction,
    pub sent: Option<Sent>,
    pub received: Option<Received>,
}

/// After the omitted time, as the end that sent counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// Payload.
    pub bytes: u64,
    pub lasted: Option<Duration>,
    /// Of TCP.
    pub retransmitted_segments: Option<u64>,
    /// Of UDP.
    pub packets: Option<u64>,
}

/// After the omitted time, as the end that received counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// Payload until the end of the test.
    pub bytes: u64,
    /// Payload that came after it; known of this end only.
    pub late_bytes: Option<u64>,
    pub lasted: Option<Duration>,
    /// Of UDP: those that arrived.
    pub packets: Option<u64>,
    /// Of UDP; where only the server counts, reordering and duplicates are not known and zero.
    pub arrival: Option<Arrival>,
}

/// This end's part of the report, and what arrived after the end of the test.
pub(super) struct Near {
    pub(super) closed: Closed,
    /// By stream.
    pub(super) late_bytes: Vec<u64>,
}

impl Near {
    pub(super) fn streams(&self, asked: &Parameters, far: Option<&Results>) -> Vec<StreamReport> {
        let balances = self.closed.balances.iter().zip(&self.late_bytes);
        let stream = |(balance, late_bytes): (&_, &u64)| {
            let crate::iperf3::account::Balance { id, role, .. } = *balance;
            let told = far.and_then(|far| far.stream(id));
            match role {
                Role::Sender => StreamReport {
                    id,
                    direction: Direction::Upload,
                    sent: Some(self.sent(balance, asked)),
                    received: told.map(|told| received_by(told, asked)),
                },
                Role::Receiver => StreamReport {
                    id,
                    direction: Direction::Download,
                    sent: told.map(|told| sent_by(told, asked)),
                    received: Some(self.received(balance, *late_bytes, asked)),
                },
            }
        };
        balances.map(stream).collect()
    }

    fn sent(&self, balance: &crate::iperf3::account::Balance, asked: &Parameters) -> Sent {
        let is_udp = asked.transport == Transport::Udp;
        Sent {
            bytes: balance.measured.bytes,
            lasted: Some(self.closed.lasted),
            retransmitted_segments: balance.retransmitted_segments,
            packets: is_udp.then_some(balance.measured.packets),
        }
    }

    fn received(
        &self,
        balance: &crate::iperf3::account::Balance,
        late_bytes: u64,
        asked: &Parameters,
    ) -> Received {
        let is_udp = asked.transport == Transport::Udp;
        Received {
            bytes: balance.measured.bytes,
            late_bytes: Some(late_bytes),
            lasted: Some(self.closed.lasted),
            packets: is_udp.then_some(balance.measured.received_packets),
            arrival: is_udp.then_some(balance.measured.arrival()),
        }
    }
}

fn sent_by(told: &StreamResult, asked: &Parameters) -> Sent {
    let is_udp = asked.transport == Transport::Udp;
    Sent {
        bytes: told.bytes.unsigned_abs(),
        lasted: lasted(told),
        retransmitted_segments: u64::try_from(told.retransmits).ok().filter(|_| !is_udp),
        packets: if is_udp { packets(told, asked) } else { None },
    }
}

fn received_by(told: &StreamResult, asked: &Parameters) -> Received {
    let udp = (asked.transport == Transport::Udp).then(|| {
        let lost = lost(told, asked)?;
        Some((packets(told, asked)?.saturating_sub(lost), lost))
    });
    let udp = udp.flatten();
    Received {
        bytes: told.bytes.unsigned_abs(),
        late_bytes: None,
        lasted: lasted(told),
        packets: udp.map(|(packets, _)| packets),
        arrival: udp.map(|(_, lost_packets)| Arrival {
            lost_packets,
            jitter: Duration::try_from_secs_f64(told.jitter).unwrap_or(Duration::MAX),
            ..Arrival::default()
        }),
    }
}

/// Of an omitted time, iperf3 before 3.13 does not tell the packets apart.
fn packets(told: &StreamResult, asked: &Parameters) -> Option<u64> {
    let omitted = told.omitted_packets.or_else(|| asked.omit.is_zero().then_some(0))?;
    u64::try_from(told.packets.saturating_sub(omitted)).ok()
}

fn lost(told: &StreamResult, asked: &Parameters) -> Option<u64> {
    let omitted = told.omitted_errors.or_else(|| asked.omit.is_zero().then_some(0))?;
    // A late packet takes back a loss, which may have been one of the omitted time.
    Some(u64::try_from(told.errors.saturating_sub(omitted)).unwrap_or(0))
}

/// iperf3 before 3.2 does not tell.
fn lasted(told: &StreamResult) -> Option<Duration> {
    Duration::try_from_secs_f64(told.end_time - told.start_time).ok().filter(|d| !d.is_zero())
}

impl ClientReport {
    /// Payload of all streams of one direction, as their senders and as their receivers counted;
    /// `None` where one of them is not known.
    pub fn payload_bytes(&self, direction: Direction) -> (Option<u64>, Option<u64>) {
        let streams = || self.streams.iter().filter(move |stream| stream.direction == direction);
        (
            streams().map(|stream| stream.sent.map(|sent| sent.bytes)).sum(),
            streams().map(|stream| stream.received.map(|received| received.bytes)).sum(),
        )
    }
}

pub(super) fn processor_of(results: &Results) -> ProcessorUse {
    ProcessorUse { user_percent: results.cpu_util_user, system_percent: results.cpu_util_system }
}
