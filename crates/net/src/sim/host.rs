//! The host at one end: when it stands still, what it drops, what its clock says, and what it has to
//! say of itself afterwards.

use core::time::Duration;

use fp_model::{Clocks, Direction, TesterHealth, Time, Timing};

use crate::sim::trouble::{HostTrouble, Part, Stops};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Near,
    Far,
}

impl End {
    pub(crate) const fn that_sends(direction: Direction) -> Self {
        match direction {
            Direction::Upload => Self::Near,
            Direction::Download => Self::Far,
        }
    }

    pub(crate) const fn that_receives(direction: Direction) -> Self {
        match direction {
            Direction::Upload => Self::Far,
            Direction::Download => Self::Near,
        }
    }
}

/// Who of a host is to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Kernel,
    Program,
}

#[derive(Debug, Default)]
pub(crate) struct Host {
    trouble: HostTrouble,
    /// The thread that sends is at work until then.
    sends_until: Time,
    /// When the program will have taken all that waits for it.
    takes_until: Time,
    own_packets: u64,
    /// Of the trial that runs.
    sending: Duration,
    taking: Duration,
    dropped_packets: u64,
}

impl Host {
    pub(crate) fn new(trouble: HostTrouble) -> Self {
        Self { trouble, ..Self::default() }
    }

    pub(crate) const fn trouble(&self) -> &HostTrouble {
        &self.trouble
    }

    pub(crate) const fn begin_trial(&mut self) {
        (self.sending, self.taking) = (Duration::ZERO, Duration::ZERO);
        self.dropped_packets = 0;
    }

    /// When this part of the host goes on, if it stands still.
    pub(crate) fn stands_still_until(&self, layer: Layer, now: Time) -> Option<Time> {
        /// Stops may follow each other without a gap, but not for ever.
        const SUCCESSIVE_MAX: usize = 1000;
        let concerns = |stops: &&Stops| layer == Layer::Program || stops.part == Part::Host;
        let stops = || self.trouble.stops.iter().filter(concerns);
        let end_at = |time: Duration| stops().filter_map(|stops| stops.end_of_stop_at(time)).max();
        let mut end = end_at(now.since(Time::ZERO))?;
        for _ in 0..SUCCESSIVE_MAX {
            match end_at(end) {
                Some(later) => end = later,
                None => break,
            }
        }
        Some(Time::ZERO + end)
    }

    /// When a thread that is to send can do so, if it cannot now.
    pub(crate) fn sends_from(&self, layer: Layer, now: Time) -> Option<Time> {
        let busy = Some(self.sends_until).filter(|until| *until > now);
        busy.max(self.stands_still_until(layer, now))
    }

    pub(crate) fn on_sent(&mut self, now: Time) {
        let Some(takes) = one_in(self.trouble.sends_per_second) else { return };
        self.sends_until = self.sends_until.max(now) + takes;
        self.sending += takes;
    }

    /// A packet arrives for the program: when it is taken, or `None` where it is dropped.
    pub(crate) fn admit(&mut self, now: Time) -> Option<Time> {
        let Some(intake) = self.trouble.intake else { return Some(now) };
        let Some(takes) = one_in(Some(intake.packets_per_second)) else { return Some(now) };
        // While the program stands still nothing is taken.
        let goes_on = self.stands_still_until(Layer::Program, now).unwrap_or(now);
        let begins = self.takes_until.max(goes_on);
        let waiting = begins.since(goes_on).as_nanos() / takes.as_nanos();
        if waiting >= u128::from(intake.room_packets) {
            self.dropped_packets += u64::from(intake.is_counted);
            return None;
        }
        self.takes_until = begins + takes;
        self.taking += takes;
        Some(begins)
    }

    /// Whether the payload of a packet that arrives for the program's own TCP is spoilt.
    pub(crate) const fn spoils(&mut self) -> bool {
        let Some(one_in) = self.trouble.payload_spoilt_one_in else { return false };
        self.own_packets += 1;
        self.own_packets.is_multiple_of(if one_in == 0 { 1 } else { one_in })
    }

    /// What the host says of itself after a trial that began at `start`.
    pub(crate) fn health(&self, timing: &Timing, start: Time, now: Time) -> TesterHealth {
        let passed = now.since(start).as_secs_f64().max(1e-9);
        let busy = self.sending.max(self.taking).as_secs_f64();
        TesterHealth {
            dropped_packets: self.dropped_packets,
            longest_stall: self.longest_stall(timing, start),
            busiest_thread: (busy / passed).min(1.0),
            ..TesterHealth::default()
        }
    }

    /// As the engine's threads see it: they look at what they have waited once in each stretch, and
    /// the next time when they go on where they stand still then.
    fn longest_stall(&self, timing: &Timing, start: Time) -> Duration {
        let mut looked_at = start;
        let looks = timing.stretches().into_iter().map(|end| {
            let due = start + end;
            let look = self.stands_still_until(Layer::Program, due).unwrap_or(due);
            let from = core::mem::replace(&mut looked_at, look);
            self.waited(from.since(Time::ZERO), look.since(Time::ZERO))
        });
        looks.max().unwrap_or_default()
    }

    fn waited(&self, from: Duration, until: Duration) -> Duration {
        let counted = self.trouble.stops.iter().filter(|stops| stops.is_counted);
        counted.map(|stops| stops.within(from, until)).sum()
    }

    /// So long after the start of a trial by this host's clock, in nanoseconds.
    pub(crate) fn own_ns(&self, since_start: Duration) -> i64 {
        let clock = &self.trouble.clock;
        let since_ns = since_start.as_nanos() as i64;
        since_ns + clock.ahead_ns + drifted(since_ns, clock.drift_ns_per_s)
    }

    /// The same as a length of time.
    pub(crate) fn own(&self, since_start: Duration) -> Duration {
        Duration::from_nanos(self.own_ns(since_start).max(0) as u64)
    }

    /// When this host's clock says that so much time has passed since the start of a trial.
    pub(crate) fn when(&self, own: Duration) -> Duration {
        let clock = &self.trouble.clock;
        let own_ns = own.as_nanos() as i64 - clock.ahead_ns;
        let true_ns = own_ns - drifted(own_ns, clock.drift_ns_per_s);
        let mut since = Duration::from_nanos(true_ns.max(0) as u64);
        // What is left of the drift after the first correction.
        while self.own_ns(since) < own.as_nanos() as i64 {
            let missing_ns = own.as_nanos() as i64 - self.own_ns(since);
            since += Duration::from_nanos(missing_ns.unsigned_abs());
        }
        since
    }

    /// The stamp of a packet that arrives now.
    pub(crate) fn stamp_ns(&self, start: Time, now: Time) -> i64 {
        let wrong = self.trouble.clock.stamps.filter(|stamps| {
            let now = now.since(Time::ZERO);
            (stamps.from..stamps.from + stamps.lasts).contains(&now)
        });
        self.own_ns(now.since(start)) + wrong.map_or(0, |stamps| stamps.by_ns)
    }
}

/// What the two ends know of each other's clocks; `None` where nothing is wrong with either.
pub(crate) fn clocks(near: &Host, far: &Host, lasts: Duration) -> Option<Clocks> {
    let [near, far] = [near, far].map(|host| host.trouble.clock);
    if near == far && near == Default::default() {
        return None;
    }
    let offset_ns = far.ahead_ns - near.ahead_ns;
    let drift = far.drift_ns_per_s - near.drift_ns_per_s;
    let at_end_ns = offset_ns + drifted(lasts.as_nanos() as i64, drift);
    let apart_ns = offset_ns.unsigned_abs().max(at_end_ns.unsigned_abs());
    let claimed = near.claimed_error.max(far.claimed_error);
    Some(Clocks { offset_ns, error: claimed.unwrap_or(Duration::from_nanos(apart_ns)) })
}

fn drifted(since_ns: i64, drift_ns_per_s: i64) -> i64 {
    (i128::from(since_ns) * i128::from(drift_ns_per_s) / 1_000_000_000) as i64
}

/// How long one of so many in a second takes.
fn one_in(per_second: Option<u64>) -> Option<Duration> {
    let per_second = per_second.filter(|per_second| *per_second > 0)?;
    Some(Duration::from_nanos(1_000_000_000_u64.div_ceil(per_second)))
}
