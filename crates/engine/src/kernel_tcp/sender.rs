//! The sending end of a flow: always has more to send, or as much as is due; counts.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::num::NonZeroU64;
use std::time::Duration;

use fp_model::{MicroBursts, Sender as Behaviour, TcpLoad, Time, Timing};
use rustix::event::epoll::EventFlags;

use super::counters::Counters;
use super::payload::Payload;
use super::schedule::{Schedule, Tick};
use super::watch::Watch;
use super::writes::{Connection, LOOK_INTERVAL_MAX};
use super::{SAMPLE_INTERVAL, TcpError, lease_holds, reset};
use crate::half::{SenderSlot, TcpSenderHalf};
use crate::lease::Lease;
use crate::os::schedule::Promptly;
use crate::os::wake::wait;
use crate::os::{clock, tcp};

/// How often a bursty application looks whether its window has been acknowledged, in round trips.
const LOOKS_PER_RTT: u32 = 1000;
const LOOK_INTERVAL_MIN: Duration = Duration::from_micros(20);
/// A paced application writes to its connections no more often than this, each time it takes them
/// all in turn.
const WRITE_INTERVAL_MIN: Duration = Duration::from_micros(500);
/// About half of a processor's time, at what a write takes.
const WRITE_INTERVAL_OF_EACH: Duration = Duration::from_micros(20);
const WRITE_INTERVAL_MAX: Duration = Duration::from_millis(10);

/// Sends a flow, which begins so long after `start`, to the end of the steady time or of its
/// transfer, and closes it when all is delivered.
///
/// What the path has not carried by the end of the trial is dropped. `progress` is told of each
/// slot at its end; after the end of a transfer there are none.
///
/// # Errors
/// A connection that breaks before the steady time is over, or a silent peer; the connections are
/// then reset.
pub fn send(
    streams: Vec<TcpStream>,
    load: &TcpLoad,
    begins: Duration,
    timing: &Timing,
    start: Time,
    lease: &Lease,
    progress: &mut dyn FnMut(usize, SenderSlot),
) -> Result<TcpSenderHalf, TcpError> {
    wait_until(start, lease).inspect_err(|_| reset(&streams))?;
    Sender::new(streams, load, begins, timing, start)?.finish(lease, progress)
}

/// The same to a receiver whose window is not the one that was asked for: a bulk application leaves
/// no more than that unacknowledged.
///
/// # Errors
/// Those of [`send`].
pub fn send_within_windows(
    streams: Vec<TcpStream>,
    load: &TcpLoad,
    begins: Duration,
    timing: &Timing,
    start: Time,
    lease: &Lease,
    progress: &mut dyn FnMut(usize, SenderSlot),
) -> Result<TcpSenderHalf, TcpError> {
    wait_until(start, lease).inspect_err(|_| reset(&streams))?;
    let sender = Sender::new(streams, load, begins, timing, start)?;
    Sender { keeps_windows: true, ..sender }.finish(lease, progress)
}

/// Until `start`, or until the other end falls silent.
fn wait_until(start: Time, lease: &Lease) -> Result<(), TcpError> {
    loop {
        lease_holds(lease)?;
        let left = start.since(clock::now());
        if left.is_zero() {
            return Ok(());
        }
        wait(&[], left.min(SAMPLE_INTERVAL)).map_err(TcpError::Watch)?;
    }
}

struct Sender {
    connections: Vec<Connection>,
    behaviour: Behaviour,
    /// After the start of the trial.
    begins: Duration,
    window_bytes: usize,
    /// Whether this end keeps the windows, and not the other one.
    keeps_windows: bool,
    payload: Payload,
    watch: Watch,
    schedule: Schedule,
    /// Of all connections, in slots that have been cut.
    sent_bytes: u64,
    retransmitted_bytes: u64,
    slots: Vec<SenderSlot>,
    closed: bool,
    /// All of a transfer has arrived.
    is_delivered: bool,
}

impl Sender {
    fn new(
        streams: Vec<TcpStream>,
        load: &TcpLoad,
        begins: Duration,
        timing: &Timing,
        start: Time,
    ) -> Result<Self, TcpError> {
        let watch = Watch::new().map_err(TcpError::Watch)?;
        let mut connections = Vec::with_capacity(streams.len());
        for (index, stream) in streams.into_iter().enumerate() {
            watch.add(&stream, index as u64, EventFlags::empty()).map_err(TcpError::Watch)?;
            let counters = Counters::new(&stream).map_err(|e| broken(index, e))?;
            connections.push(Connection::new(stream, counters, load, index as u32, begins, timing));
        }
        let schedule = Schedule::new(timing, start, clock::now());
        Ok(Self {
            connections,
            behaviour: load.sender,
            begins,
            window_bytes: usize::try_from(load.window_bytes).unwrap_or(usize::MAX),
            keeps_windows: false,
            payload: Payload::new(),
            watch,
            slots: Vec::with_capacity(schedule.slots()),
            schedule,
            sent_bytes: 0,
            retransmitted_bytes: 0,
            closed: false,
            is_delivered: false,
        })
    }

    fn finish(
        mut self,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, SenderSlot),
    ) -> Result<TcpSenderHalf, TcpError> {
        let outcome = self.run(lease, progress);
        if outcome.is_err() || !self.is_drained() {
            reset(self.connections.iter().map(|connection| &connection.stream));
        }
        outcome.map(|()| self.into_half())
    }

    fn run(
        &mut self,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, SenderSlot),
    ) -> Result<(), TcpError> {
        // A look that comes 50 µs late, as is the rule, would be one window late on a short path.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        // Paced writes leave the thread asleep half of the time at least.
        let _promptly = self.is_paced().then(Promptly::run);
        let mut has_begun = false;
        loop {
            lease_holds(lease)?;
            let now = clock::now();
            self.look(now, progress)?;
            if self.schedule.is_over() || self.is_delivered {
                return Ok(());
            }
            if self.schedule.is_settling() || self.has_sent_all() {
                self.settle()?;
                continue;
            }
            if !has_begun {
                has_begun = self.await_beginning(now)?;
                continue;
            }
            if !lease.may_send(now) {
                // Nothing more is handed to the kernel until the near end is heard again.
                wait(&[], SAMPLE_INTERVAL).map_err(TcpError::Watch)?;
                continue;
            }
            match self.behaviour {
                Behaviour::Bulk | Behaviour::Transfer { .. } if self.is_paced() => {
                    self.send_at_pace()?;
                }
                Behaviour::Bulk | Behaviour::Transfer { .. } if self.keeps_windows => {
                    self.send_into_windows()?;
                }
                Behaviour::Bulk | Behaviour::Transfer { .. } => self.send_whatever_fits()?,
                Behaviour::Burst => self.send_windows()?,
                Behaviour::MicroBurst(pattern) => self.send_bursts(&pattern)?,
            }
        }
    }

    /// Samples the counters when it is time, and cuts the slots that are over; the present one as
    /// soon as everything has been delivered.
    fn look(
        &mut self,
        now: Time,
        progress: &mut dyn FnMut(usize, SenderSlot),
    ) -> Result<(), TcpError> {
        while let Some(tick) = self.schedule.poll(now) {
            match tick {
                Tick::Sample => self.sample(self.schedule.present())?,
                Tick::Cut(slot) => progress(slot, self.cut(slot)?),
            }
        }
        if self.closed
            && self.is_drained()
            && let Some(Tick::Cut(slot)) = self.schedule.cut_next(now)
        {
            progress(slot, self.cut(slot)?);
            self.is_delivered = true;
        }
        Ok(())
    }

    fn sample(&mut self, slot: usize) -> Result<(), TcpError> {
        let steady = self.schedule.is_steady(slot);
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let sampled = connection.counters.sample(&connection.stream, steady);
            sampled.map_err(|e| broken(index, e))?;
        }
        Ok(())
    }

    fn cut(&mut self, slot: usize) -> Result<SenderSlot, TcpError> {
        self.sample(slot)?;
        let steady = self.schedule.is_steady(slot);
        let steady_next = self.schedule.begins_steady(slot + 1);
        for connection in &mut self.connections {
            if steady {
                connection.counters.end_steady_slot();
            } else if steady_next {
                connection.counters.begin_steady();
            }
        }
        let sent_bytes = self.sum(Counters::sent_bytes);
        let retransmitted_bytes = self.sum(Counters::retransmitted_bytes);
        let cut = SenderSlot {
            sent_bytes: sent_bytes - self.sent_bytes,
            retransmitted_bytes: retransmitted_bytes - self.retransmitted_bytes,
            rtt_ns: self.rtt_mean().map(|rtt| rtt.as_nanos() as u64),
            cwnd_bytes: Some(self.sum(Counters::cwnd_bytes)),
        };
        (self.sent_bytes, self.retransmitted_bytes) = (sent_bytes, retransmitted_bytes);
        self.slots.push(cut);
        Ok(cut)
    }

    fn sum(&self, of: impl Fn(&Counters) -> u64) -> u64 {
        self.connections.iter().map(|connection| of(&connection.counters)).sum()
    }

    fn rtt_mean(&self) -> Option<Duration> {
        let rtts = self.connections.iter().filter_map(|connection| connection.counters.rtt());
        let (sum, count) = rtts.fold((Duration::ZERO, 0), |(sum, n), rtt| (sum + rtt, n + 1));
        sum.checked_div(count)
    }

    /// Waits for the flow to begin, or for the next look at the counters; whether it has begun.
    fn await_beginning(&mut self, now: Time) -> Result<bool, TcpError> {
        let left = self.begins.saturating_sub(self.schedule.elapsed(now));
        if !left.is_zero() {
            self.watch_for_errors(left)?;
            return Ok(false);
        }
        let is_full = matches!(self.behaviour, Behaviour::Bulk | Behaviour::Transfer { .. });
        if is_full && !self.is_paced() && !self.keeps_windows {
            for (index, connection) in self.connections.iter().enumerate() {
                let changed = self.watch.change(&connection.stream, index as u64, EventFlags::OUT);
                changed.map_err(TcpError::Watch)?;
            }
        }
        Ok(true)
    }

    /// Whether there is nothing left of a transfer.
    fn has_sent_all(&self) -> bool {
        self.connections.iter().all(Connection::has_sent_all)
    }

    fn is_paced(&self) -> bool {
        self.connections.first().is_some_and(Connection::is_paced)
    }

    /// Writes to each connection what its pace has brought, and waits until it brings more.
    fn send_at_pace(&mut self) -> Result<(), TcpError> {
        let elapsed = self.schedule.elapsed(clock::now());
        let mut next: Option<Duration> = None;
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let sent = connection.send_paced(&self.payload, elapsed);
            let due = sent.map_err(|e| broken(index, e))?;
            next = [next, due].into_iter().flatten().min();
        }
        let of_all = WRITE_INTERVAL_OF_EACH * self.connections.len() as u32;
        let least = of_all.clamp(WRITE_INTERVAL_MIN, WRITE_INTERVAL_MAX);
        let soonest = (elapsed + least).max(next.unwrap_or(Duration::MAX));
        self.watch_for_errors(soonest.saturating_sub(self.schedule.elapsed(clock::now())))
    }

    /// Fills the buffers of those connections that have room, in turn.
    fn send_whatever_fits(&mut self) -> Result<(), TcpError> {
        let patience = self.schedule.poll_timeout().since(clock::now());
        for k in 0..self.watch.wait(patience).map_err(TcpError::Watch)? {
            let index = self.watch.ready(k) as usize;
            let connection = &mut self.connections[index];
            connection.take_turn(&self.payload).map_err(|e| broken(index, e))?;
            if connection.has_sent_all() {
                let changed =
                    self.watch.change(&connection.stream, index as u64, EventFlags::empty());
                changed.map_err(TcpError::Watch)?;
            }
        }
        Ok(())
    }

    /// Sends whole segments for what has been acknowledged of each window.
    fn send_into_windows(&mut self) -> Result<(), TcpError> {
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let sent = connection.fill_window(&self.payload, self.window_bytes);
            sent.map_err(|e| broken(index, e))?;
        }
        self.watch_for_errors(self.look_interval())
    }

    /// Sends a window on each connection whose last one has been acknowledged.
    fn send_windows(&mut self) -> Result<(), TcpError> {
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let sent = connection.send_window(&self.payload, self.window_bytes);
            sent.map_err(|e| broken(index, e))?;
        }
        self.watch_for_errors(self.look_interval())
    }

    /// Sends what is due of a pattern in time, and what a full buffer left over of it.
    fn send_bursts(&mut self, pattern: &MicroBursts) -> Result<(), TcpError> {
        let elapsed = self.schedule.elapsed(clock::now()).saturating_sub(self.begins);
        let due_bytes = pattern.bytes_due(elapsed);
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let sent = connection.send_due(&self.payload, due_bytes);
            sent.map_err(|e| broken(index, e))?;
        }
        let is_full = self.connections.iter().any(Connection::is_full);
        let next = pattern.next_due(elapsed).map(|due| due.saturating_sub(elapsed));
        self.watch_for_errors(match next {
            Some(next) if !is_full => next,
            Some(_) | None => self.look_interval(),
        })
    }

    /// Waits for whatever comes first: the next look at the counters, `patience`, or an error.
    fn watch_for_errors(&mut self, patience: Duration) -> Result<(), TcpError> {
        let due = self.schedule.poll_timeout().since(clock::now());
        if self.watch.wait(patience.min(due)).map_err(TcpError::Watch)? > 0 {
            let index = self.watch.ready(0) as usize;
            return Err(broken(index, error_of(&self.connections[index].stream)));
        }
        Ok(())
    }

    /// Short against the shortest round trip.
    fn look_interval(&self) -> Duration {
        let rtts = self.connections.iter().filter_map(|connection| connection.counters.rtt());
        let interval = rtts.min().map_or(LOOK_INTERVAL_MIN, |rtt| rtt / LOOKS_PER_RTT);
        interval.clamp(LOOK_INTERVAL_MIN, LOOK_INTERVAL_MAX)
    }

    /// Half-closes once, then waits for the last acknowledgements.
    fn settle(&mut self) -> Result<(), TcpError> {
        if !self.closed {
            self.closed = true;
            for connection in &self.connections {
                // Fails where the other end is gone already, which is no matter any more.
                let _ = connection.stream.shutdown(Shutdown::Write);
            }
        }
        let due = self.schedule.poll_timeout().since(clock::now());
        wait(&[], due.min(LOOK_INTERVAL_MAX)).map_err(TcpError::Watch)
    }

    /// Whether everything written has been acknowledged, the end of the streams included.
    fn is_drained(&self) -> bool {
        let mut left = self.connections.iter().map(|c| tcp::unacknowledged_bytes(&c.stream));
        left.all(|bytes| bytes.is_ok_and(|bytes| bytes == 0))
    }

    fn into_half(self) -> TcpSenderHalf {
        let connections = self.connections.iter();
        TcpSenderHalf {
            connections: connections.map(|c| c.counters.steady(&c.stream)).collect(),
            slots: self.slots,
            beats_per_slot: 1,
            dropped_frames: 0,
        }
    }
}

fn broken(index: usize, source: io::Error) -> TcpError {
    TcpError::Broken { index, source }
}

/// Why a connection has an event that nobody asked for.
fn error_of(stream: &TcpStream) -> io::Error {
    stream.take_error().ok().flatten().unwrap_or(io::ErrorKind::ConnectionReset.into())
}
