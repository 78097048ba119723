//! Traffic of others on a link: when their frames come, and what their senders make of what becomes of
//! them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Dscp, Time};

use super::random::{Purpose, Random};
use crate::path::{CrossPattern, CrossSpec};

/// All who send across one link.
#[derive(Clone, Debug)]
pub(crate) struct Cross {
    senders: Vec<Sender>,
}

/// Which of them sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct From(usize);

/// A frame that comes to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CrossFrame {
    pub(crate) from: From,
    pub(crate) at: Time,
    pub(crate) frame_bytes: u32,
    pub(crate) dscp: Dscp,
}

impl Cross {
    pub(crate) fn new(specs: &[CrossSpec], seed: u64, link: usize) -> Self {
        let sender = |(number, spec): (usize, &CrossSpec)| {
            let part = (link << 16 | number) as u64;
            Sender {
                spec: spec.clone(),
                state: State::Silent,
                random: Random::new(seed, part, Purpose::Cross),
            }
        };
        Self { senders: specs.iter().enumerate().map(sender).collect() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }

    /// They begin to send.
    pub(crate) fn come_up(&mut self, now: Time) {
        self.senders.iter_mut().for_each(|sender| sender.begin(now));
    }

    /// The next frame that comes by `until`.
    pub(crate) fn take(&mut self, until: Time) -> Option<CrossFrame> {
        loop {
            let each = self.senders.iter_mut().enumerate();
            let next = each.filter_map(|(from, one)| Some((one.state.next()?, from, one)));
            let (at, from, sender) = next.min_by_key(|(at, ..)| *at)?;
            if at > until {
                return None;
            }
            if let Some(frame_bytes) = sender.step(at) {
                let dscp = sender.spec.dscp;
                return Some(CrossFrame { from: From(from), at, frame_bytes, dscp });
            }
        }
    }

    /// The next time at which any of them does anything, as far as is known now.
    pub(crate) fn next(&self) -> Option<Time> {
        self.senders.iter().filter_map(|sender| sender.state.next()).min()
    }

    /// A frame has left the link.
    pub(crate) fn passed(&mut self, from: From, at: Time) {
        if let State::Tcp(window) = &mut self.senders[from.0].state {
            window.acknowledged.push_back(at + window.rtt);
        }
    }

    pub(crate) fn dropped(&mut self, from: From, at: Time) {
        if let State::Tcp(window) = &mut self.senders[from.0].state {
            window.missed.push_back(at + window.rtt);
        }
    }
}

#[derive(Clone, Debug)]
struct Sender {
    spec: CrossSpec,
    state: State,
    random: Random,
}

#[derive(Clone, Debug)]
enum State {
    /// Not begun, or with nothing to send.
    Silent,
    Paced(Turn),
    Replayed(Replay),
    Tcp(Window),
}

/// Evenly sent frames, to the end of this turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    first: Time,
    ends: Option<Time>,
    sent: u64,
    /// Of its next frame, which a later turn sends where this one ends before.
    due: Time,
}

impl Turn {
    const fn new(first: Time, ends: Option<Time>) -> Self {
        Self { first, ends, sent: 0, due: first }
    }

    fn next(&self) -> Time {
        self.ends.map_or(self.due, |ends| ends.min(self.due))
    }
}

impl State {
    fn next(&self) -> Option<Time> {
        match self {
            Self::Silent => None,
            Self::Paced(turn) => Some(turn.next()),
            Self::Replayed(replay) => Some(replay.next),
            Self::Tcp(window) => window.next(),
        }
    }
}

impl Sender {
    fn begin(&mut self, now: Time) {
        let (rate, frame_bytes) = (self.spec.rate_l2, self.spec.frame_bytes);
        let spacing = || rate.time_for(frame_bytes.into());
        self.state = match &self.spec.pattern {
            CrossPattern::Constant => {
                State::Paced(Turn::new(now + spacing().mul_f64(self.random.unit()), None))
            }
            CrossPattern::OnOff { on, off } => {
                let (on, off) = (*on, *off);
                let is_on = self.random.unit() * (on + off).as_secs_f64() < on.as_secs_f64();
                let waits = if is_on { Duration::ZERO } else { self.exponential(off) };
                let first = spacing().mul_f64(self.random.unit());
                State::Paced(self.turn(now + waits, on, first))
            }
            CrossPattern::Replayed { bytes } => {
                let begun = Replay::begun(now, bytes);
                begun.map_or(State::Silent, State::Replayed)
            }
            CrossPattern::Tcp { rtt } => State::Tcp(Window::new(now, *rtt, spacing())),
        };
    }

    /// Its next event, at `at`; a frame of these bytes if it is one.
    fn step(&mut self, at: Time) -> Option<u32> {
        let frame_bytes = self.spec.frame_bytes;
        match &mut self.state {
            State::Silent => None,
            State::Paced(turn) => {
                if let (CrossPattern::OnOff { on, off }, Some(ends)) =
                    (&self.spec.pattern, turn.ends)
                    && turn.due >= ends
                {
                    let (on, off, left) = (*on, *off, turn.due.since(ends));
                    let begins = ends + self.exponential(off);
                    self.state = State::Paced(self.turn(begins, on, left));
                    return None;
                }
                turn.sent += 1;
                let bytes = turn.sent * u64::from(frame_bytes);
                turn.due = turn.first + self.spec.rate_l2.time_for(bytes);
                Some(frame_bytes)
            }
            State::Replayed(replay) => {
                let CrossPattern::Replayed { bytes } = &self.spec.pattern else { return None };
                replay.step(bytes, frame_bytes)
            }
            State::Tcp(window) => window.step(at).then_some(frame_bytes),
        }
    }

    /// A turn whose first frame is sent when it has lasted for `first`.
    fn turn(&mut self, begins: Time, on: Duration, first: Duration) -> Turn {
        Turn::new(begins + first, Some(begins + self.exponential(on)))
    }

    fn exponential(&mut self, mean: Duration) -> Duration {
        mean.mul_f64(self.random.exponential())
    }
}

/// Counts of bytes by the millisecond, over and over again; the frames of one are evenly spaced in it.
#[derive(Clone, Copy, Debug)]
struct Replay {
    /// The beginning of the current millisecond, which has bytes.
    began: Time,
    place: usize,
    /// Sent in it.
    sent_bytes: u32,
    next: Time,
}

const MILLISECOND: Duration = Duration::from_millis(1);

impl Replay {
    /// `None` where no millisecond has any bytes.
    fn begun(now: Time, bytes: &[u32]) -> Option<Self> {
        let place = bytes.iter().position(|bytes| *bytes > 0)?;
        let began = now + MILLISECOND * place as u32;
        Some(Self { began, place, sent_bytes: 0, next: began })
    }

    /// The next frame; the last one of a millisecond has what is left.
    fn step(&mut self, bytes: &[u32], frame_bytes: u32) -> Option<u32> {
        let all = *bytes.get(self.place)?;
        let frame = frame_bytes.min(all - self.sent_bytes);
        self.sent_bytes += frame;
        if self.sent_bytes < all {
            let share = f64::from(self.sent_bytes) / f64::from(all);
            self.next = self.began + MILLISECOND.mul_f64(share);
            return Some(frame);
        }
        let later = bytes.iter().cycle().skip(self.place + 1).position(|bytes| *bytes > 0)? + 1;
        self.place = (self.place + later) % bytes.len();
        self.began = self.began + MILLISECOND * later as u32;
        (self.sent_bytes, self.next) = (0, self.began);
        Some(frame)
    }
}

/// A long transfer by TCP: slow start, congestion avoidance and one halving for all losses of a round
/// trip (RFC 5681 §3.1, §3.2). Losses are learnt of a round trip after they happen, so there is no
/// timeout.
#[derive(Clone, Debug)]
struct Window {
    rtt: Duration,
    /// Between two frames at least.
    spacing: Duration,
    frames: f64,
    threshold: f64,
    under_way: u32,
    acknowledged: VecDeque<Time>,
    missed: VecDeque<Time>,
    /// When it was halved: losses that happened before belong to the same window.
    halved: Time,
    /// When the last frame was sent, or room for one was made.
    ready: Time,
}

/// RFC 6928.
const INITIAL_WINDOW: f64 = 10.0;

impl Window {
    fn new(now: Time, rtt: Duration, spacing: Duration) -> Self {
        Self {
            rtt,
            spacing,
            frames: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            under_way: 0,
            acknowledged: VecDeque::new(),
            missed: VecDeque::new(),
            halved: now,
            ready: now,
        }
    }

    fn next(&self) -> Option<Time> {
        let sends = (f64::from(self.under_way) + 1.0 <= self.frames).then_some(self.ready);
        [sends, self.learns()].into_iter().flatten().min()
    }

    /// When it next hears of a frame.
    fn learns(&self) -> Option<Time> {
        [self.acknowledged.front(), self.missed.front()].into_iter().flatten().min().copied()
    }

    /// Its next event, at `at`; whether a frame is sent.
    fn step(&mut self, at: Time) -> bool {
        if self.learns().is_none_or(|learns| learns > at) {
            self.under_way += 1;
            self.ready = at + self.spacing;
            return true;
        }
        self.under_way = self.under_way.saturating_sub(1);
        self.ready = self.ready.max(at);
        if self.acknowledged.front() == Some(&at) {
            self.acknowledged.pop_front();
            self.frames += if self.frames < self.threshold { 1.0 } else { 1.0 / self.frames };
        } else {
            self.missed.pop_front();
            if at >= self.halved + self.rtt {
                self.threshold = (self.frames / 2.0).max(2.0);
                self.frames = self.threshold;
                self.halved = at;
            }
        }
        false
    }
}
