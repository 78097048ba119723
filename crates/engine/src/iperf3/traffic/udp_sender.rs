//! Sends on UDP streams: numbered datagrams as they are due, many to a system call where many are.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use fp_model::Time;

use super::{LOOK_UP, Offer, Orders, Socket, Stream, StreamError};
use crate::iperf3::wire::DatagramHead;
use crate::os::udp::{self, Datagram, SEGMENTED_BYTES_MAX, SEGMENTS_MAX};
use crate::os::{clock, schedule};

/// Sleeps are no shorter, so that a processor has something to do when it is woken: at a rate of
/// which this time holds many datagrams, they leave together.
const GRAIN: Duration = Duration::from_micros(100);
/// A host without room for a datagram is asked again so soon.
const RETRY: Duration = Duration::from_micros(50);

pub(super) fn send(
    streams: &[Arc<Stream>],
    offer: &Offer,
    orders: &Orders,
) -> Result<(), StreamError> {
    // A datagram that is due leaves when it is.
    let _ = schedule::wake_on_time();
    let mut sender = Sender {
        offer,
        room: vec![0x5a; offer.block_bytes * datagrams_max(offer.block_bytes)],
        segments: true,
        left: left(offer),
    };
    let mut sent = vec![0; streams.len()];
    let start = clock::now();
    while orders.may_send() && sender.left > 0 {
        let due = sender.offer.blocks_due(clock::now().since(start)).unwrap_or(u64::MAX);
        let mut all_sent = true;
        let mut any_sent = false;
        for (stream, sent) in streams.iter().zip(&mut sent) {
            let took = sender.send_up_to(stream, *sent, due)?;
            *sent += took;
            any_sent |= took > 0;
            all_sent &= *sent >= due;
        }
        if all_sent {
            let at = start + offer.next_due(due);
            let now = clock::now();
            clock::sleep_until(at.max(now + GRAIN).min(now + LOOK_UP));
        } else if !any_sent {
            clock::sleep_until(clock::now() + RETRY);
        }
    }
    Ok(())
}

/// Of all streams together.
fn left(offer: &Offer) -> u64 {
    let by_bytes = offer.bytes.map(|bytes| bytes.div_ceil(offer.block_bytes as u64));
    offer.blocks.or(by_bytes).unwrap_or(u64::MAX)
}

const fn datagrams_max(datagram_bytes: usize) -> usize {
    let fit = SEGMENTED_BYTES_MAX / datagram_bytes;
    if fit < SEGMENTS_MAX { fit } else { SEGMENTS_MAX }
}

struct Sender<'a> {
    offer: &'a Offer,
    /// Datagrams one after the other, as the kernel cuts them.
    room: Vec<u8>,
    /// Whether the kernel cuts.
    segments: bool,
    left: u64,
}

impl Sender<'_> {
    /// One call's worth of the datagrams from number `sent` + 1 to `due`; how many were taken.
    fn send_up_to(&mut self, stream: &Stream, sent: u64, due: u64) -> Result<u64, StreamError> {
        let Socket::Udp(socket) = &stream.socket else { return Ok(0) };
        let want = due.saturating_sub(sent).min(self.left);
        let most = datagrams_max(self.offer.block_bytes) as u64;
        let count = want.min(most) as usize;
        if count == 0 {
            return Ok(0);
        }
        let taken = match self.send_some(socket, sent + 1, count) {
            Ok(taken) => taken as u64,
            Err(error)
                if udp::is_out_of_room(&error)
                    || udp::is_about_an_earlier_datagram(&error) && !udp::is_too_big(&error) =>
            {
                0
            }
            Err(error) => return Err(stream.failed(error)),
        };
        stream.tally.add_sent(taken * self.offer.block_bytes as u64, taken);
        self.left -= taken;
        Ok(taken)
    }

    fn send_some(&mut self, socket: &UdpSocket, first: u64, count: usize) -> io::Result<usize> {
        let now = clock::now();
        if count > 1 && self.segments {
            match self.send_segmented(socket, first, count, now) {
                Err(error) if udp::is_refusal_to_segment(&error) || udp::is_too_big(&error) => {
                    self.segments = false;
                }
                outcome => return outcome.map(|()| count),
            }
        }
        self.send_each(socket, first, count, now)
    }

    fn send_segmented(
        &mut self,
        socket: &UdpSocket,
        first: u64,
        count: usize,
        now: Time,
    ) -> io::Result<()> {
        let (bytes, counter) = (self.offer.block_bytes, self.offer.counter);
        for (datagram, number) in self.room.chunks_exact_mut(bytes).take(count).zip(first..) {
            let head = DatagramHead { sent_at: now, number }.bytes(counter);
            datagram[..head.len()].copy_from_slice(&head);
        }
        udp::send_segmented(socket, &self.room[..bytes * count], bytes)
    }

    fn send_each(
        &self,
        socket: &UdpSocket,
        first: u64,
        count: usize,
        now: Time,
    ) -> io::Result<usize> {
        let (bytes, counter) = (self.offer.block_bytes, self.offer.counter);
        let padding = &self.room[DatagramHead::BYTES_MAX..bytes];
        let mut datagrams = [Datagram { head: [0; DatagramHead::BYTES_MAX], padding }; udp::BATCH];
        let count = count.min(udp::BATCH);
        for (datagram, number) in datagrams[..count].iter_mut().zip(first..) {
            datagram.head = DatagramHead { sent_at: now, number }.bytes(counter);
        }
        udp::send_batch(socket, &datagrams[..count])
    }
}
