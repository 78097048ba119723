//! Sends on TCP streams: blocks as fast as they go, or as they are due.

use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::EventFlags;

use super::{LOOK_UP, Offer, Orders, Socket, Stream, StreamError};
use crate::kernel_tcp::payload::Payload;
use crate::kernel_tcp::watch::Watch;
use crate::os::{clock, schedule};

/// A stream whose buffer was full when a block was due is tried again so soon.
const RETRY: Duration = Duration::from_millis(1);
/// Written to one stream before the others have their turn.
const TURN_BYTES: usize = 1 << 20;

pub(super) fn send(
    streams: &[Arc<Stream>],
    offer: &Offer,
    orders: &Orders,
) -> Result<(), StreamError> {
    // A block that is due leaves when it is.
    let _ = schedule::wake_on_time();
    let mut sender = Sender { streams, offer, payload: Payload::new(), left_bytes: left(offer) };
    match offer.rate {
        None => sender.send_all(orders),
        Some(_) => sender.send_as_due(orders),
    }
}

/// Of all streams together.
fn left(offer: &Offer) -> u64 {
    let blocks = offer.blocks.map(|blocks| blocks.saturating_mul(offer.block_bytes as u64));
    offer.bytes.or(blocks).unwrap_or(u64::MAX)
}

struct Sender<'a> {
    streams: &'a [Arc<Stream>],
    offer: &'a Offer,
    payload: Payload,
    left_bytes: u64,
}

impl Sender<'_> {
    /// Whatever fits into the buffers, in turn.
    fn send_all(&mut self, orders: &Orders) -> Result<(), StreamError> {
        let mut watch = Watch::new().map_err(|e| self.streams[0].failed(e))?;
        for (index, stream) in self.streams.iter().enumerate() {
            let added = watch.add(stream, index as u64, EventFlags::OUT);
            added.map_err(|e| stream.failed(e))?;
        }
        while orders.may_send() && self.left_bytes > 0 {
            let ready = watch.wait(LOOK_UP).map_err(|e| self.streams[0].failed(e))?;
            for k in 0..ready {
                let stream = &self.streams[watch.ready(k) as usize];
                let mut turn = TURN_BYTES.max(self.offer.block_bytes);
                while turn >= self.offer.block_bytes && orders.may_send() {
                    let written = write(stream, &self.payload, self.block_bytes_left())?;
                    self.left_bytes -= written as u64;
                    if written < self.offer.block_bytes {
                        break;
                    }
                    turn -= written;
                }
            }
        }
        Ok(())
    }

    fn block_bytes_left(&self) -> usize {
        usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(self.offer.block_bytes)
    }

    /// Each stream by the clock; what a full buffer did not take of a block is due at once.
    fn send_as_due(&mut self, orders: &Orders) -> Result<(), StreamError> {
        let start = clock::now();
        let mut sent_bytes = vec![0; self.streams.len()];
        while orders.may_send() && self.left_bytes > 0 {
            let elapsed = clock::now().since(start);
            let due_blocks = self.offer.blocks_due(elapsed).unwrap_or(u64::MAX);
            let due_bytes = due_blocks.saturating_mul(self.offer.block_bytes as u64);
            let mut next = LOOK_UP;
            for (stream, sent) in self.streams.iter().zip(&mut sent_bytes) {
                let took = self.send_up_to(stream, due_bytes - *sent)?;
                *sent += took;
                next = next.min(if *sent < due_bytes {
                    RETRY
                } else {
                    self.offer.next_due(due_blocks).saturating_sub(elapsed)
                });
            }
            if self.left_bytes > 0 {
                clock::sleep_until(clock::now() + next);
            }
        }
        Ok(())
    }

    fn send_up_to(&mut self, stream: &Stream, due_bytes: u64) -> Result<u64, StreamError> {
        let mut sent = 0;
        while sent < due_bytes && self.left_bytes > 0 {
            let due = usize::try_from(due_bytes - sent).unwrap_or(usize::MAX);
            let want = due.min(self.block_bytes_left());
            let written = write(stream, &self.payload, want)?;
            self.left_bytes -= written as u64;
            sent += written as u64;
            if written < want {
                break;
            }
        }
        Ok(sent)
    }
}

fn write(stream: &Stream, payload: &Payload, bytes: usize) -> Result<usize, StreamError> {
    let Socket::Tcp(socket) = &stream.socket else { return Ok(0) };
    let written = payload.write(socket, bytes).map_err(|e| stream.failed(e))?;
    stream.tally.add_sent(written as u64, 0);
    Ok(written)
}
