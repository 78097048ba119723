//! The streams of a test under load: one thread sends, one receives, both count.

mod tally;
mod tcp_receiver;
mod tcp_sender;
mod udp_receiver;
mod udp_sender;

use std::io;
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fp_model::{Rate, Time};

use super::wire::{Counter, End, Parameters, Transport};
use crate::os::clock;
use crate::os::tcp::{self, TcpInfo};
use crate::os::wake::Wake;
pub(super) use tally::Count;
use tally::Tally;

/// One stream of this end.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) role: Role,
    socket: Socket,
    tally: Tally,
}

/// What this end does on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Sender,
    Receiver,
}

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// What is to be sent on the streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    block_bytes: usize,
    /// Of each stream.
    rate: Option<Rate>,
    burst_blocks: u64,
    /// Of all streams together; `None` is no end.
    blocks: Option<u64>,
    bytes: Option<u64>,
    /// Of each stream, at a rate.
    blocks_each: Option<u64>,
    counter: Counter,
}

/// Why a thread had to give up.
#[derive(Debug, thiserror::Error)]
#[error("stream {id} broke: {source}")]
pub(super) struct StreamError {
    id: u32,
    source: io::Error,
}

/// The two threads of a test; dropping it ends them.
#[derive(Debug)]
pub(super) struct Traffic {
    streams: Vec<Arc<Stream>>,
    orders: Arc<Orders>,
    sender: Option<JoinHandle<Result<(), StreamError>>>,
    receiver: Option<JoinHandle<Result<(), StreamError>>>,
}

/// What the control thread wants, and what it is told.
#[derive(Debug)]
struct Orders {
    no_more_sending: AtomicBool,
    receiving: AtomicU8,
    /// All that was to be sent has been, or a thread has ended.
    done: AtomicBool,
    wake: Wake,
}

/// Until when a receiver goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Receiving {
    Steady,
    /// Until what is under way has arrived.
    Draining,
    Over,
}

/// A thread looks at its orders this often.
const LOOK_UP: Duration = Duration::from_millis(20);
/// Where nothing arrives for so long after the end, nothing more will.
const QUIET: Duration = Duration::from_millis(250);
const DRAIN_MAX: Duration = Duration::from_secs(2);

impl Stream {
    pub(super) fn new(id: u32, role: Role, socket: Socket) -> Self {
        Self { id, role, socket, tally: Tally::default() }
    }

    pub(super) fn count(&self) -> Count {
        self.tally.count()
    }

    /// `None` of UDP, and where the kernel is too old.
    pub(super) fn tcp_info(&self) -> Option<TcpInfo> {
        match &self.socket {
            Socket::Tcp(stream) => tcp::info(stream).ok(),
            Socket::Udp(_) => None,
        }
    }

    pub(super) fn congestion(&self) -> Option<String> {
        match &self.socket {
            Socket::Tcp(stream) => rustix::net::sockopt::tcp_congestion(stream).ok(),
            Socket::Udp(_) => None,
        }
    }

    /// Bytes written that the other end's host has not acknowledged.
    pub(super) fn unacknowledged_bytes(&self) -> u32 {
        match &self.socket {
            // Of a connection that broke nothing is under way any more.
            Socket::Tcp(stream) => tcp::unacknowledged_bytes(stream).unwrap_or(0),
            Socket::Udp(_) => 0,
        }
    }

    pub(super) const fn is_udp(&self) -> bool {
        matches!(self.socket, Socket::Udp(_))
    }

    fn failed(&self, source: io::Error) -> StreamError {
        StreamError { id: self.id, source }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Udp(socket) => socket.as_fd(),
        }
    }
}

impl Offer {
    /// Of an end that decides when the test is over.
    pub(super) fn to_the_end(asked: &Parameters) -> Self {
        let (bytes, blocks) = match asked.end {
            End::Bytes(bytes) => (Some(bytes), None),
            End::Blocks(blocks) => (None, Some(blocks)),
            End::After(_) | End::Never => (None, None),
        };
        Self { bytes, blocks, ..Self::without_end(asked) }
    }

    /// Of an end that is told when the test is over.
    pub(super) fn without_end(asked: &Parameters) -> Self {
        Self {
            block_bytes: asked.block_bytes as usize,
            rate: asked.rate,
            burst_blocks: asked.burst_blocks.max(1).into(),
            blocks: None,
            bytes: None,
            blocks_each: None,
            counter: asked.counter,
        }
    }

    /// The same with so many blocks on each stream at most.
    pub(super) const fn ending_after(self, blocks_each: Option<u64>) -> Self {
        Self { blocks_each, ..self }
    }

    /// Blocks that a stream may have begun so long after the start: each is due when those before
    /// it have taken their time at the rate, and they come in bursts.
    fn blocks_due(&self, elapsed: Duration) -> Option<u64> {
        let passed = u128::from(self.rate?.as_bps()) * elapsed.as_nanos();
        let burst = 8_000_000_000 * self.block_bytes as u128 * u128::from(self.burst_blocks);
        let bursts = u64::try_from(passed / burst).unwrap_or(u64::MAX).saturating_add(1);
        let most = self.blocks_each.unwrap_or(u64::MAX);
        Some(bursts.saturating_mul(self.burst_blocks).min(most))
    }

    /// When, after the start, the first block after so many is due.
    fn next_due(&self, blocks: u64) -> Duration {
        let Some(rate) = self.rate else { return Duration::ZERO };
        let bursts = u128::from(blocks / self.burst_blocks);
        let bits = bursts * u128::from(self.burst_blocks) * self.block_bytes as u128 * 8;
        let nanos = bits.saturating_mul(1_000_000_000).div_ceil(rate.as_bps().max(1).into());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Traffic {
    /// Begins to receive; sending begins with [`Traffic::send`].
    ///
    /// # Errors
    /// Where the host has no thread or descriptor left.
    pub(super) fn receive(
        transport: Transport,
        streams: Vec<Stream>,
        counter: Counter,
    ) -> io::Result<Self> {
        let streams: Vec<_> = streams.into_iter().map(Arc::new).collect();
        let orders = Arc::new(Orders {
            no_more_sending: AtomicBool::new(false),
            receiving: AtomicU8::new(Receiving::Steady as u8),
            done: AtomicBool::new(false),
            wake: Wake::new()?,
        });
        let mut traffic = Self { streams, orders, sender: None, receiver: None };
        let received = traffic.of_role(Role::Receiver);
        if !received.is_empty() {
            traffic.receiver =
                Some(traffic.spawn("iperf3-receive", move |orders| match transport {
                    Transport::Tcp => tcp_receiver::receive(&received, orders),
                    Transport::Udp => udp_receiver::receive(&received, counter, orders),
                })?);
        }
        Ok(traffic)
    }

    /// # Errors
    /// Where the host has no thread left.
    pub(super) fn send(&mut self, transport: Transport, offer: Offer) -> io::Result<()> {
        let sent = self.of_role(Role::Sender);
        if !sent.is_empty() {
            self.sender = Some(self.spawn("iperf3-send", move |orders| match transport {
                Transport::Tcp => tcp_sender::send(&sent, &offer, orders),
                Transport::Udp => udp_sender::send(&sent, &offer, orders),
            })?);
        }
        Ok(())
    }

    fn of_role(&self, role: Role) -> Vec<Arc<Stream>> {
        self.streams.iter().filter(|stream| stream.role == role).map(Arc::clone).collect()
    }

    fn spawn(
        &self,
        name: &str,
        work: impl FnOnce(&Orders) -> Result<(), StreamError> + Send + 'static,
    ) -> io::Result<JoinHandle<Result<(), StreamError>>> {
        let orders = Arc::clone(&self.orders);
        thread::Builder::new().name(name.into()).spawn(move || {
            let outcome = work(&orders);
            orders.finish();
            outcome
        })
    }

    pub(super) fn streams(&self) -> &[Arc<Stream>] {
        &self.streams
    }

    pub(super) fn counts(&self) -> Vec<Count> {
        self.streams.iter().map(|stream| stream.count()).collect()
    }

    /// Becomes readable when [`Traffic::is_done`].
    pub(super) fn done(&self) -> BorrowedFd<'_> {
        self.orders.wake.as_fd()
    }

    /// Whether all that was to be sent has been, or a thread had to give up.
    pub(super) fn is_done(&self) -> bool {
        self.orders.done.load(Ordering::Acquire)
    }

    /// Sends no more; what it counted is final afterwards.
    ///
    /// # Errors
    /// That of a stream that broke before.
    pub(super) fn stop_sending(&mut self) -> Result<(), StreamError> {
        self.orders.no_more_sending.store(true, Ordering::Relaxed);
        join(self.sender.take())
    }

    /// Says on each stream that nothing more comes: a client may wait for the rest of a block.
    pub(super) fn half_close(&self) {
        for stream in self.of_role(Role::Sender) {
            if let Socket::Tcp(socket) = &stream.socket {
                // It fails where the client has closed already.
                let _ = socket.shutdown(Shutdown::Write);
            }
        }
    }

    /// Receives what is still under way, now that the other end has stopped to send; then no more.
    ///
    /// # Errors
    /// That of a stream that broke before.
    pub(super) fn drain(&mut self) -> Result<(), StreamError> {
        self.orders.receive(Receiving::Draining);
        join(self.receiver.take())
    }
}

fn join(thread: Option<JoinHandle<Result<(), StreamError>>>) -> Result<(), StreamError> {
    // A panic has been reported on stderr; the figures are as far as it came.
    thread.map_or(Ok(()), |thread| thread.join().unwrap_or(Ok(())))
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.orders.no_more_sending.store(true, Ordering::Relaxed);
        self.orders.receive(Receiving::Over);
        // Whoever drops the traffic has another error to tell.
        let _ = join(self.sender.take());
        let _ = join(self.receiver.take());
    }
}

impl Orders {
    fn may_send(&self) -> bool {
        !self.no_more_sending.load(Ordering::Relaxed)
    }

    fn receive(&self, receiving: Receiving) {
        self.receiving.store(receiving as u8, Ordering::Relaxed);
    }

    fn finish(&self) {
        self.done.store(true, Ordering::Release);
        self.wake.ring();
    }
}

/// When a receiver has nothing more to wait for.
#[derive(Debug)]
struct Patience<'a> {
    orders: &'a Orders,
    draining_since: Option<Time>,
    quiet_since: Time,
}

impl<'a> Patience<'a> {
    fn new(orders: &'a Orders) -> Self {
        Self { orders, draining_since: None, quiet_since: clock::now() }
    }

    fn on_arrival(&mut self, now: Time) {
        self.quiet_since = now;
    }

    /// After a look at how many streams have something: a thread that was kept from running has
    /// not heard silence.
    fn is_over(&mut self, ready: usize) -> bool {
        let receiving = self.orders.receiving.load(Ordering::Relaxed);
        if receiving == Receiving::Steady as u8 {
            return false;
        }
        let now = clock::now();
        let since = *self.draining_since.get_or_insert(now);
        let quiet_since = self.quiet_since.max(since);
        receiving == Receiving::Over as u8
            || (ready == 0 && now.since(quiet_since) >= QUIET)
            || now.since(since) >= DRAIN_MAX
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn offer(rate: u64, block_bytes: usize, burst_blocks: u64) -> Offer {
        let rate = Some(Rate::bps(rate));
        let counter = Counter::Bits64;
        let (blocks, bytes, blocks_each) = (None, None, None);
        Offer { block_bytes, rate, burst_blocks, blocks, bytes, blocks_each, counter }
    }

    #[test]
    fn blocks_of_1000_bytes_at_8_mbit_are_due_one_each_millisecond() {
        let offer = offer(8_000_000, 1000, 1);
        let due = [0, 999, 1000, 10_500].map(|us| offer.blocks_due(Duration::from_micros(us)));
        assert_eq!(due, [Some(1), Some(1), Some(2), Some(11)]);
        assert_eq!(offer.next_due(11), Duration::from_millis(11));
    }

    #[test]
    fn a_burst_of_ten_is_due_where_ten_blocks_would_have_passed() {
        let offer = offer(8_000_000, 1000, 10);
        let due = [0, 9999, 10_000].map(|us| offer.blocks_due(Duration::from_micros(us)));
        assert_eq!(due, [Some(10), Some(10), Some(20)]);
        assert_eq!(offer.next_due(15), Duration::from_millis(10));
    }

    #[test]
    fn no_more_blocks_are_due_than_a_stream_is_to_have() {
        let offer = offer(8_000_000, 1000, 1).ending_after(Some(7));
        let due = [5500, 6000, 60_000].map(|us| offer.blocks_due(Duration::from_micros(us)));
        assert_eq!(due, [Some(6), Some(7), Some(7)]);
    }

    proptest! {
        #[test]
        fn the_next_block_is_due_when_it_says(
            rate in 1..u64::MAX, block_bytes in 1..65_507_usize, burst_blocks in 1..1000_u64,
            bursts in 0..1_000_000_u64,
        ) {
            let offer = offer(rate, block_bytes, burst_blocks);
            let blocks = bursts * burst_blocks;
            let at = offer.next_due(blocks);
            prop_assert!(offer.blocks_due(at).unwrap() > blocks || at.as_nanos() > 1 << 63);
        }
    }
}
