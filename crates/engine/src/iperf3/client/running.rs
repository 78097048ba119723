//! The test itself, from the first byte to the last: what ends it, and what is told of it.

use std::time::Duration;

use fp_model::Time;

use super::{ClientError, ClientEvent, not_heard};
use crate::StopFlag;
use crate::iperf3::account::{Account, Closed};
use crate::iperf3::control::{Control, ControlError};
use crate::iperf3::traffic::{Role, StreamError, Traffic};
use crate::iperf3::wire::{End, Parameters, Way};
use crate::os::clock;
use crate::os::wake::{Interest, wait};
use std::os::fd::AsFd as _;

/// A test in which nothing comes through for so long is over.
pub(super) const STALL: Duration = Duration::from_secs(9);
/// What was written is given this long to arrive before the server is told of the end: it counts
/// no more from then on.
const DELIVERY_MAX: Duration = Duration::from_secs(1);
/// A server that sends a number of bytes counts them itself, and what is lost never comes: silence
/// is the end of them.
const SILENCE: Duration = Duration::from_secs(1);
/// How closely the end of a test by bytes is watched.
const BYTES_LOOK_UP: Duration = Duration::from_millis(2);
const LOOK_UP: Duration = Duration::from_millis(50);

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Complete,
    Stopped,
}

/// Why it did not.
#[derive(Debug)]
pub(super) enum Broken {
    Control(ControlError),
    Stream(StreamError),
    Stalled,
}

impl Broken {
    pub(super) fn at(self, far: &str) -> ClientError {
        match self {
            Self::Control(error) => not_heard(far, error),
            Self::Stream(error) => {
                ClientError::Server { far: far.to_owned(), why: error.to_string() }
            }
            Self::Stalled => ClientError::Stalled,
        }
    }
}

/// A test that runs.
pub(super) struct Running<'a> {
    asked: &'a Parameters,
    interval: Duration,
    account: Account,
    /// Until it has come.
    omit_until: Option<Time>,
    end_at: Option<Time>,
    tell_at: Time,
    progress: Progress,
}

/// When something came through last.
struct Progress {
    seen: u64,
    at: Time,
    patience: Duration,
}

impl<'a> Running<'a> {
    pub(super) fn new(
        asked: &'a Parameters,
        interval: Duration,
        traffic: &Traffic,
        now: Time,
    ) -> Self {
        let end_at = match asked.end {
            End::After(time) => Some(now + asked.omit + time),
            End::Bytes(_) | End::Blocks(_) | End::Never => None,
        };
        Self {
            asked,
            // Below this there are more intervals than blocks.
            interval: interval.max(Duration::from_millis(10)),
            account: Account::open(traffic, now),
            omit_until: (!asked.omit.is_zero()).then_some(now + asked.omit),
            end_at,
            tell_at: now + interval,
            progress: Progress { seen: 0, at: now, patience: patience(asked) },
        }
    }

    /// Until the end that was asked for, or until it is stopped; then sends no more.
    pub(super) fn run(
        &mut self,
        control: &mut Control,
        traffic: &mut Traffic,
        events: &mut dyn FnMut(ClientEvent),
        stop: &StopFlag,
    ) -> Result<(Ended, Closed), Broken> {
        let ended = loop {
            let now = clock::now();
            if let Some(said) = control.state_at_hand().map_err(Broken::Control)? {
                return Err(Broken::Control(control.unexpected(said)));
            }
            if stop.is_set() {
                break Ended::Stopped;
            }
            self.look(traffic, now, events);
            let moves = self.progress.since_last(traffic, now);
            if self.is_over(traffic, now) || self.is_silent(moves) {
                break Ended::Complete;
            }
            if traffic.is_done() && !self.may_be_done() {
                // A thread has given up: the reason comes with its end.
                traffic.stop_sending().and_then(|()| traffic.drain()).map_err(Broken::Stream)?;
                return Err(Broken::Control(ControlError::Closed));
            }
            if moves >= STALL.max(self.progress.patience) {
                return Err(Broken::Stalled);
            }
            self.wait(control, traffic)?;
        };
        traffic.stop_sending().map_err(Broken::Stream)?;
        if ended == Ended::Complete {
            await_delivery(traffic).map_err(Broken::Control)?;
        }
        let now = self.last_moment(traffic, clock::now());
        // What is left after the last whole interval, if it is more than the way to get here.
        if now.since(self.tell_at - self.interval) > self.interval / 10 {
            events(ClientEvent::Interval(self.account.interval(traffic, now, false)));
        }
        Ok((ended, self.account.close(traffic, now)))
    }

    /// Tells of intervals that are over, and begins the figures when the omitted time is.
    fn look(&mut self, traffic: &Traffic, now: Time, events: &mut dyn FnMut(ClientEvent)) {
        if let Some(until) = self.omit_until.filter(|until| now >= *until) {
            self.omit_until = None;
            self.account.begin(traffic, now);
            events(ClientEvent::Interval(self.account.interval(traffic, now, true)));
            self.tell_at = until + self.interval;
        }
        if now >= self.tell_at {
            let omitted = self.omit_until.is_some();
            events(ClientEvent::Interval(self.account.interval(traffic, now, omitted)));
            while self.tell_at <= now {
                self.tell_at = self.tell_at + self.interval;
            }
        }
    }

    fn is_over(&self, traffic: &Traffic, now: Time) -> bool {
        if self.omit_until.is_some() {
            return false;
        }
        let block_bytes = u64::from(self.asked.block_bytes);
        let bytes = match self.asked.end {
            End::After(_) => return self.end_at.is_some_and(|end_at| now >= end_at),
            End::Never => return false,
            End::Bytes(bytes) => bytes,
            End::Blocks(blocks) => blocks.saturating_mul(block_bytes),
        };
        let reached = |role| self.account.bytes(traffic, role) >= bytes;
        match self.asked.way {
            Way::Forward => reached(Role::Sender),
            Way::Reverse => reached(Role::Receiver),
            Way::Both => reached(Role::Sender) || reached(Role::Receiver),
        }
    }

    /// Whether a server that had a number of bytes to send has come to their end.
    fn is_silent(&self, moved_before: Duration) -> bool {
        self.may_be_done()
            && self.asked.way == Way::Reverse
            && self.omit_until.is_none()
            && self.progress.seen > 0
            && moved_before >= SILENCE.max(self.progress.patience)
    }

    /// Silence at the end of a test by bytes is no part of it.
    fn last_moment(&self, traffic: &Traffic, now: Time) -> Time {
        if !self.may_be_done() || self.asked.way != Way::Reverse {
            return now;
        }
        traffic.counts().iter().map(|count| count.last_at).max().unwrap_or(now).min(now)
    }

    /// Whether a thread may end before the test does: one that had a number of bytes to send.
    const fn may_be_done(&self) -> bool {
        matches!(self.asked.end, End::Bytes(_) | End::Blocks(_))
    }

    fn wait(&self, control: &Control, traffic: &Traffic) -> Result<(), Broken> {
        let now = clock::now();
        let longest = if self.may_be_done() { BYTES_LOOK_UP } else { LOOK_UP };
        let due = [Some(self.tell_at), self.omit_until, self.end_at];
        let next = due.into_iter().flatten().map(|at| at.since(now)).min().unwrap_or(longest);
        let sources = [(control.as_fd(), Interest::Read), (traffic.done(), Interest::Read)];
        // A thread that is done would wake us for ever.
        let sources = if traffic.is_done() { &sources[..1] } else { &sources[..] };
        wait(sources, next.min(longest)).map_err(|e| Broken::Control(ControlError::Broken(e)))
    }
}

/// Time for the next blocks at the rate.
fn patience(asked: &Parameters) -> Duration {
    let Some(rate) = asked.rate else { return Duration::ZERO };
    let blocks = u64::from(asked.burst_blocks.max(1)) * 2;
    rate.time_for(u64::from(asked.block_bytes) * blocks)
}

impl Progress {
    /// How long ago payload arrived, here or at the far end as its host acknowledges.
    fn since_last(&mut self, traffic: &Traffic, now: Time) -> Duration {
        let came = |stream: &crate::iperf3::traffic::Stream| match stream.role {
            Role::Receiver => stream.count().bytes,
            Role::Sender => {
                let bytes = stream.count().bytes;
                bytes.saturating_sub(stream.unacknowledged_bytes().into())
            }
        };
        let seen = traffic.streams().iter().map(|stream| came(stream)).sum();
        if seen != self.seen {
            (self.seen, self.at) = (seen, now);
        }
        now.since(self.at)
    }
}

/// Until what was written has arrived, within reason.
fn await_delivery(traffic: &Traffic) -> Result<(), ControlError> {
    let deadline = clock::now() + DELIVERY_MAX;
    let is_sent = || traffic.streams().iter().all(|stream| stream.unacknowledged_bytes() == 0);
    while !is_sent() && clock::now() < deadline {
        wait(&[], Duration::from_millis(1)).map_err(ControlError::Broken)?;
    }
    Ok(())
}
