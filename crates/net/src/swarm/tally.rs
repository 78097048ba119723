//! What a shard counts.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    FailedConnections, FirstFailure, HeldConnections, RetransmittedSegments, TcpStates, Time,
};
use serde::{Deserialize, Serialize};

use crate::histogram::FineHistogram;
use crate::tcp::connection::{Resent, State};

/// Of one end, since it began. Those of several shards add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Connections that were asked for.
    pub attempted: u64,
    pub established: u64,
    pub closed: u64,
    /// Asked for, and ended before they were established by the end that asked.
    pub given_up: u64,
    pub failed: FailedConnections,
    /// Asked for and not established yet.
    pub pending: u32,
    /// Open now.
    pub active: u32,
    /// Closed by one end and not by the other yet.
    pub closing: u32,
    /// Of several shards, what their peaks add up to.
    pub active_peak: u32,
    pub held: Option<HeldConnections>,
    pub first_failure: Option<FirstFailure>,
    pub transactions: u64,
    /// Payload, without what was sent again.
    pub sent_bytes: u64,
    /// Payload that arrived, once and in order.
    pub received_bytes: u64,
    pub retransmissions: RetransmittedSegments,
    pub duplicate_acks: u64,
    pub out_of_order: u64,
    pub bad_checksums: u64,
    pub corrupt_payload_bytes: u64,
    /// Frames that are none of the load's.
    pub foreign_frames: u64,
    /// Challenges of RFC 5961 that were not sent because there had been too many.
    pub forgone_challenges: u64,
    pub states: TcpStates,
}

/// Counters, and what is too large to be told five times a second.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub counters: Counters,
    /// From the segment that asks for a connection to its answer.
    pub handshake: FineHistogram,
    /// Of segments with payload.
    pub rtt: FineHistogram,
    /// From a request to the last byte of its response.
    pub transaction: FineHistogram,
    /// How many connections were established in each second from the start.
    pub established_in_second: Vec<u32>,
}

impl Counters {
    /// Adds what another shard of the same end has counted.
    pub fn merge(&mut self, other: &Self) {
        let failed = &other.failed;
        self.attempted += other.attempted;
        self.established += other.established;
        self.closed += other.closed;
        self.given_up += other.given_up;
        self.failed.no_answer += failed.no_answer;
        self.failed.refused += failed.refused;
        self.failed.reset += failed.reset;
        self.failed.timed_out += failed.timed_out;
        self.merge_numbers_open(other);
        self.transactions += other.transactions;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.retransmissions.syn += other.retransmissions.syn;
        self.retransmissions.timeout += other.retransmissions.timeout;
        self.retransmissions.fast += other.retransmissions.fast;
        self.duplicate_acks += other.duplicate_acks;
        self.out_of_order += other.out_of_order;
        self.bad_checksums += other.bad_checksums;
        self.corrupt_payload_bytes += other.corrupt_payload_bytes;
        self.foreign_frames += other.foreign_frames;
        self.forgone_challenges += other.forgone_challenges;
        for state in ALL_STATES {
            let more = *slot_of(&mut other.states.clone(), state);
            *slot_of(&mut self.states, state) += more;
        }
    }

    fn merge_numbers_open(&mut self, other: &Self) {
        self.first_failure = match (self.first_failure, other.first_failure) {
            // How many the others had open then is not known: what they have now stands for it.
            (Some(one), Some(two)) => {
                let (first, others) =
                    if one.at <= two.at { (one, other.active) } else { (two, self.active) };
                Some(FirstFailure { active: first.active + others, ..first })
            }
            (Some(one), None) => Some(FirstFailure { active: one.active + other.active, ..one }),
            (None, Some(two)) => Some(FirstFailure { active: two.active + self.active, ..two }),
            (None, None) => None,
        };
        self.held = match (self.held, other.held) {
            (Some(one), Some(two)) => Some(HeldConnections {
                wanted: one.wanted + two.wanted,
                least: one.least + two.least,
                most: one.most + two.most,
            }),
            // A shard that did not reach its number did not hold it.
            (Some(_) | None, None) | (None, Some(_)) => None,
        };
        self.pending += other.pending;
        self.active += other.active;
        self.closing += other.closing;
        self.active_peak += other.active_peak;
    }
}

impl Tally {
    /// Adds what another shard of the same end has counted.
    pub fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        self.handshake.merge(&other.handshake);
        self.rtt.merge(&other.rtt);
        self.transaction.merge(&other.transaction);
        let seconds = self.established_in_second.len().max(other.established_in_second.len());
        self.established_in_second.resize(seconds, 0);
        for (second, more) in
            self.established_in_second.iter_mut().zip(&other.established_in_second)
        {
            *second += more;
        }
    }

    pub(super) fn on_established(&mut self, elapsed: Duration) {
        let second = elapsed.as_secs() as usize;
        if self.established_in_second.len() <= second {
            self.established_in_second.resize(second + 1, 0);
        }
        self.established_in_second[second] += 1;
        let counters = &mut self.counters;
        counters.established += 1;
        counters.active_peak = counters.active_peak.max(counters.active);
    }

    pub(super) fn on_failure(&mut self, now: Time, start: Time) {
        let active = self.counters.active;
        let first = FirstFailure { at: now.since(start), active };
        self.counters.first_failure.get_or_insert(first);
    }

    pub(super) const fn on_resent(&mut self, resent: Resent) {
        let retransmissions = &mut self.counters.retransmissions;
        match resent {
            Resent::Syn => retransmissions.syn += 1,
            Resent::Timeout => retransmissions.timeout += 1,
            Resent::Fast => retransmissions.fast += 1,
        }
    }

    /// A connection has come from one state to another, or has begun or ended.
    pub(super) fn on_state(&mut self, before: Option<State>, after: Option<State>) {
        if before == after {
            return;
        }
        if let Some(before) = before.filter(|state| *state != State::Closed) {
            *slot_of(&mut self.counters.states, before) -= 1;
        }
        if let Some(after) = after.filter(|state| *state != State::Closed) {
            *slot_of(&mut self.counters.states, after) += 1;
        }
    }
}

const ALL_STATES: [State; 9] = [
    State::SynSent,
    State::SynReceived,
    State::Established,
    State::FinWait1,
    State::FinWait2,
    State::CloseWait,
    State::Closing,
    State::LastAck,
    State::TimeWait,
];

fn slot_of(states: &mut TcpStates, state: State) -> &mut u32 {
    match state {
        State::Closed => unreachable!("what is closed has no place"),
        State::SynSent => &mut states.syn_sent,
        State::SynReceived => &mut states.syn_received,
        State::Established => &mut states.established,
        State::FinWait1 => &mut states.fin_wait_1,
        State::FinWait2 => &mut states.fin_wait_2,
        State::CloseWait => &mut states.close_wait,
        State::Closing => &mut states.closing,
        State::LastAck => &mut states.last_ack,
        State::TimeWait => &mut states.time_wait,
    }
}
