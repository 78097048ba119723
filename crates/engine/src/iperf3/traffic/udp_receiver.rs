//! Receives on UDP streams: which datagrams came, in which order, and how evenly.

use std::sync::Arc;
use std::time::Duration;

use fp_model::Time;
use fp_net::stream::{Arrived, SeenSequences};
use rustix::event::epoll::EventFlags;

use super::{Count, LOOK_UP, Orders, Patience, Socket, Stream, StreamError};
use crate::iperf3::control::is_passing;
use crate::iperf3::wire::{Counter, DatagramHead};
use crate::kernel_tcp::watch::Watch;
use crate::os::clock;
use crate::os::coalesced::RunsInbox;
use crate::os::udp;

/// Numbers remembered of a stream, to tell late datagrams from duplicates: a tenth of a second at
/// 600,000 a second, in memory that a hundred streams can have.
const REMEMBERED: u64 = 1 << 16;
/// No stream counts so far.
const NUMBER_MAX: u64 = 1 << 62;

pub(super) fn receive(
    streams: &[Arc<Stream>],
    counter: Counter,
    orders: &Orders,
) -> Result<(), StreamError> {
    let mut watch = Watch::new().map_err(|e| streams[0].failed(e))?;
    for (index, stream) in streams.iter().enumerate() {
        let added = watch.add(stream, index as u64, EventFlags::IN);
        added.map_err(|e| stream.failed(e))?;
    }
    let mut ledgers: Vec<_> = streams.iter().map(|_| Ledger::new(counter)).collect();
    let mut inbox = RunsInbox::new();
    let mut patience = Patience::new(orders);
    loop {
        let ready = watch.wait(LOOK_UP).map_err(|e| streams[0].failed(e))?;
        if patience.is_over(ready) {
            return Ok(());
        }
        for k in 0..ready {
            let index = watch.ready(k) as usize;
            if take(&streams[index], &mut ledgers[index], &mut inbox)? {
                patience.on_arrival(clock::now());
            }
        }
    }
}

/// Whether anything had arrived.
fn take(stream: &Stream, ledger: &mut Ledger, inbox: &mut RunsInbox) -> Result<bool, StreamError> {
    let Socket::Udp(socket) = &stream.socket else { return Ok(false) };
    match inbox.receive(socket) {
        Ok(_) => {}
        // The other end's host says that nobody listens there: that is the control thread's affair.
        Err(error) if is_passing(&error) || udp::is_about_an_earlier_datagram(&error) => {
            return Ok(false);
        }
        Err(error) => return Err(stream.failed(error)),
    }
    for (datagram, at) in inbox.datagrams() {
        ledger.on_datagram(datagram, at);
    }
    ledger.count.last_at = clock::now();
    stream.tally.set(&ledger.count);
    Ok(true)
}

/// What is known of one stream.
struct Ledger {
    counter: Counter,
    count: Count,
    seen: SeenSequences,
    /// Of the last datagram: how much later it arrived than it was sent, by two different clocks.
    transit_ns: Option<i64>,
}

impl Ledger {
    fn new(counter: Counter) -> Self {
        let seen = SeenSequences::remembering(REMEMBERED);
        Self { counter, count: Count::default(), seen, transit_ns: None }
    }

    /// What is no datagram of a test, like a greeting that was repeated, is passed over.
    fn on_datagram(&mut self, datagram: &[u8], at: Time) {
        let Some(head) = DatagramHead::of(datagram, self.counter) else { return };
        let number = self.counter.unwrapped(head.number, self.count.packets);
        if !(1..NUMBER_MAX).contains(&number) {
            return;
        }
        match self.seen.on_arrival(number) {
            Arrived::InOrder => self.count.packets = number,
            Arrived::OutOfOrder => self.count.out_of_order += 1,
            Arrived::Duplicate => {
                self.count.duplicates += 1;
                return;
            }
        }
        self.count.received_packets += 1;
        self.count.bytes += datagram.len() as u64;
        self.smooth_jitter(head.sent_at, at);
    }

    /// RFC 3550 section 6.4.1: a sixteenth of what is new.
    fn smooth_jitter(&mut self, sent_at: Time, at: Time) {
        let transit_ns = at.as_nanos().wrapping_sub(sent_at.as_nanos()).cast_signed();
        if let Some(last_ns) = self.transit_ns.replace(transit_ns) {
            let difference = transit_ns.wrapping_sub(last_ns).unsigned_abs();
            let jitter = self.count.jitter.as_nanos() as u64;
            let smoothed = jitter - jitter / 16 + difference.min(1 << 60) / 16;
            self.count.jitter = Duration::from_nanos(smoothed);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn datagram(number: u64, sent_at: Duration) -> Vec<u8> {
        let head = DatagramHead { sent_at: Time::ZERO + sent_at, number };
        let mut datagram = head.bytes(Counter::Bits64).to_vec();
        datagram.resize(100, 0);
        datagram
    }

    fn after(numbers: &[u64]) -> Count {
        let mut ledger = Ledger::new(Counter::Bits64);
        for number in numbers {
            ledger.on_datagram(&datagram(*number, Duration::ZERO), Time::ZERO);
        }
        ledger.count
    }

    #[test]
    fn a_late_datagram_is_out_of_order_and_not_lost() {
        let count = after(&[1, 2, 5, 4, 6]);
        assert_eq!((count.lost_packets(), count.out_of_order, count.bytes), (1, 1, 500));
    }

    #[test]
    fn a_duplicate_counts_for_nothing_else() {
        let count = after(&[1, 2, 2, 2, 3]);
        assert_eq!((count.lost_packets(), count.duplicates, count.received_packets), (0, 2, 3));
    }

    #[test]
    fn jitter_grows_by_a_sixteenth_of_the_difference() {
        // Sent each millisecond; the second one arrives 160 µs later than it should: 10 µs.
        let mut ledger = Ledger::new(Counter::Bits64);
        let at = |us: u64| Time::ZERO + Duration::from_micros(us);
        ledger.on_datagram(&datagram(1, Duration::ZERO), at(50_000));
        ledger.on_datagram(&datagram(2, Duration::from_millis(1)), at(51_160));
        assert_eq!(ledger.count.jitter, Duration::from_micros(10));
    }

    proptest! {
        #[test]
        fn garbage_is_counted_or_passed_over_without_panic(
            datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..50),
            at: u64,
        ) {
            for counter in [Counter::Bits32, Counter::Bits64] {
                let mut ledger = Ledger::new(counter);
                for datagram in &datagrams {
                    ledger.on_datagram(datagram, Time::from_nanos(at));
                }
                let count = ledger.count;
                prop_assert!(count.received_packets <= datagrams.len() as u64);
                prop_assert!(count.received_packets <= count.packets);
            }
        }

        #[test]
        fn received_and_lost_are_all_that_were_sent_up_to_the_highest(
            numbers in prop::collection::vec(1..500_u64, 1..300),
        ) {
            let count = after(&numbers);
            let distinct = numbers.iter().collect::<std::collections::BTreeSet<_>>().len() as u64;
            prop_assert_eq!(count.received_packets, distinct);
            prop_assert_eq!(count.packets, *numbers.iter().max().unwrap());
            prop_assert_eq!(count.lost_packets() + distinct, count.packets);
        }
    }
}
