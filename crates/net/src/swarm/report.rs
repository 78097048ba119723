//! What both ends have counted, put together.

use alloc::vec::Vec;

use fp_model::{ConnectionsReport, ConnectionsSample, RetransmittedSegments, Slot};

use crate::swarm::tally::{Counters, Tally};

/// What a load has come to. Of connections the client's end tells, of payload whoever got it; what
/// went wrong with packets, both do.
///
/// `bytes_total` is what the client's end holds in memory for all connections.
pub fn report(
    client: &Tally,
    server: &Counters,
    bytes_total: u64,
    series: Vec<ConnectionsSample>,
) -> ConnectionsReport {
    joined(client_report(client, bytes_total), server, series)
}

/// What the client's end alone knows of it.
pub fn client_report(client: &Tally, bytes_total: u64) -> ConnectionsReport {
    let counters = &client.counters;
    ConnectionsReport {
        attempted: counters.attempted,
        established: counters.established,
        closed: counters.closed,
        // Nobody waits for an answer beyond the end.
        given_up: counters.given_up + u64::from(counters.pending),
        failed: counters.failed,
        active_peak: counters.active_peak,
        active_at_end: counters.active,
        held: counters.held,
        setup_rate_peak: client.established_in_second.iter().copied().max().unwrap_or_default(),
        first_failure: counters.first_failure,
        handshake: client.handshake.summary(),
        rtt: client.rtt.summary(),
        transaction: client.transaction.summary(),
        transactions: counters.transactions,
        download_good_bytes: counters.received_bytes,
        retransmissions: counters.retransmissions,
        duplicate_acks: counters.duplicate_acks,
        out_of_order: counters.out_of_order,
        bad_checksums: counters.bad_checksums,
        corrupt_payload_bytes: counters.corrupt_payload_bytes,
        states: counters.states,
        bytes_total,
        ..ConnectionsReport::default()
    }
}

/// What the client's end knows, with what the server's end has counted and how both came to it.
pub fn joined(
    client: ConnectionsReport,
    server: &Counters,
    series: Vec<ConnectionsSample>,
) -> ConnectionsReport {
    let (own, others) = (client.retransmissions, server.retransmissions);
    let peak = series.iter().map(|sample| sample.active).max().unwrap_or_default();
    // The peaks of several shards need not have been at the same time, and samples may miss one.
    let active_peak = client.active_peak.max(peak);
    ConnectionsReport {
        active_peak,
        upload_good_bytes: server.received_bytes,
        retransmissions: RetransmittedSegments {
            syn: own.syn.saturating_add(others.syn),
            timeout: own.timeout.saturating_add(others.timeout),
            fast: own.fast.saturating_add(others.fast),
        },
        duplicate_acks: client.duplicate_acks.saturating_add(server.duplicate_acks),
        out_of_order: client.out_of_order.saturating_add(server.out_of_order),
        bad_checksums: client.bad_checksums.saturating_add(server.bad_checksums),
        corrupt_payload_bytes: client
            .corrupt_payload_bytes
            .saturating_add(server.corrupt_payload_bytes),
        bytes_per_connection: client.bytes_total as f64 / f64::from(active_peak.max(1)),
        series,
        ..client
    }
}

/// What happened in a slot, by what the two ends had counted at its beginning and at its end.
pub fn sample(slot: &Slot, client: [&Counters; 2], server: [&Counters; 2]) -> ConnectionsSample {
    let [before, after] = client;
    ConnectionsSample {
        at: slot.start,
        lasts: slot.end - slot.start,
        active: after.active,
        pending: after.pending,
        attempted: after.attempted - before.attempted,
        established: after.established - before.established,
        closed: after.closed - before.closed,
        failed: after.failed.total() - before.failed.total(),
        transactions: after.transactions - before.transactions,
        upload_good_bytes: server[1].received_bytes - server[0].received_bytes,
        download_good_bytes: after.received_bytes - before.received_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of ten that were asked for, three were answered and one had been broken off before.
    #[test]
    fn whoever_still_waits_at_the_end_has_been_given_up() {
        let counters = Counters {
            attempted: 10,
            established: 3,
            given_up: 1,
            pending: 6,
            ..Counters::default()
        };
        let report = client_report(&Tally { counters, ..Tally::default() }, 0);
        assert_eq!((report.attempted, report.established, report.given_up), (10, 3, 7));
    }
}
