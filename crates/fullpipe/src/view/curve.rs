//! One direction of a run over time, in bounded memory: what all its flows sent and received.

use std::time::Duration;

use fp_model::Sample;

/// Slots that are kept: beyond, neighbours are joined, and the curve has half the resolution.
const SLOTS_MAX: usize = 2400;

/// What a curve may show of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Quantity {
    #[default]
    Throughput,
    Retransmitted,
    RoundTrip,
    Missing,
    Active,
}

impl Quantity {
    pub(crate) const ALL: [Self; 5] =
        [Self::Throughput, Self::Retransmitted, Self::RoundTrip, Self::Missing, Self::Active];
}

/// All flows of a direction in one slot of time, from the start of the run's first trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Slot {
    pub(crate) from: Duration,
    pub(crate) until: Duration,
    /// The first one of a trial: no line leads to it.
    is_first: bool,
    sent_bytes: Option<u64>,
    received_bytes: Option<u64>,
    retransmitted_bytes: Option<u64>,
    /// The sum of the round trips of as many flows, in seconds.
    round_trips: (f64, u32),
    /// Bytes of frames sent and not received, and sent, since the trial began; see [`Curve::add`].
    missing: Option<(u64, u64)>,
    active_connections: Option<u32>,
}

impl Slot {
    /// Bits a second, per cent, seconds or connections; `None` where nobody has told.
    pub(crate) fn value(&self, quantity: Quantity) -> Option<f64> {
        let share = |part: u64, whole: u64| (whole > 0).then(|| 100.0 * part as f64 / whole as f64);
        match quantity {
            Quantity::Throughput => {
                // Of a far end that tells nothing before the end, what was sent to it.
                let bytes = self.received_bytes.or(self.sent_bytes)?;
                let seconds = (self.until - self.from).as_secs_f64();
                (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds)
            }
            Quantity::Retransmitted => {
                share(self.retransmitted_bytes?, self.sent_bytes?).or(Some(0.0))
            }
            Quantity::RoundTrip => {
                let (sum, flows) = self.round_trips;
                (flows > 0).then(|| sum / f64::from(flows))
            }
            Quantity::Missing => self.missing.and_then(|(missing, sent)| share(missing, sent)),
            Quantity::Active => self.active_connections.map(f64::from),
        }
    }

    fn add(&mut self, sample: &Sample) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (known, None) | (None, known) => known,
        };
        self.sent_bytes = sum(self.sent_bytes, sample.sent_bytes);
        self.received_bytes = sum(self.received_bytes, sample.received_bytes);
        self.retransmitted_bytes = sum(self.retransmitted_bytes, sample.retransmitted_bytes);
        if let Some(rtt) = sample.rtt {
            let (seconds, flows) = self.round_trips;
            self.round_trips = (seconds + rtt.as_secs_f64(), flows + 1);
        }
        if let Some(active) = sample.active_connections {
            let others = self.active_connections.unwrap_or_default();
            self.active_connections = Some(others.saturating_add(active));
        }
    }

    /// Both, of which `next` is the later one.
    fn and(mut self, next: Self) -> Self {
        let sample = Sample {
            sent_bytes: next.sent_bytes,
            received_bytes: next.received_bytes,
            retransmitted_bytes: next.retransmitted_bytes,
            ..Sample::default()
        };
        self.add(&sample);
        let (seconds, flows) = self.round_trips;
        let (later_seconds, later_flows) = next.round_trips;
        self.round_trips = (seconds + later_seconds, flows + later_flows);
        Self {
            until: next.until,
            missing: next.missing.or(self.missing),
            active_connections: self.active_connections.max(next.active_connections),
            ..self
        }
    }
}

/// The slots of one direction, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Curve {
    slots: Vec<Slot>,
    /// When the trial under way began.
    trial_from: Duration,
    is_new_trial: bool,
}

impl Curve {
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// A trial begins, so long after the first one.
    pub(crate) fn begin_trial(&mut self, from: Duration) {
        self.trial_from = from;
        self.is_new_trial = true;
    }

    /// Adds a slot of one of the flows; those of frames tell what is missing.
    pub(crate) fn on_sample(&mut self, sample: &Sample, is_of_frames: bool) {
        if sample.lasts.is_zero() {
            return;
        }
        let from = self.trial_from + sample.at;
        let until = from + sample.lasts;
        let middle = from + sample.lasts / 2;
        // The flows of a direction are cut at about the same instants.
        let of_now = self.slots.iter().rposition(|slot| slot.from <= middle && middle < slot.until);
        let place = of_now.filter(|_| !self.is_new_trial).unwrap_or_else(|| {
            let is_first = std::mem::take(&mut self.is_new_trial);
            let from = self.slots.last().map_or(from, |last| last.until.max(from)).min(until);
            self.slots.push(Slot { from, until, is_first, ..Slot::default() });
            self.slots.len() - 1
        });
        self.slots[place].add(sample);
        if is_of_frames {
            self.slots[place].missing = self.missing(place);
        }
        if self.slots.len() > SLOTS_MAX {
            self.halve();
        }
    }

    /// What had been sent by the slot before has arrived by the end of this one, or is not going to:
    /// what is on its way is not taken for lost.
    fn missing(&self, place: usize) -> Option<(u64, u64)> {
        let first = self.slots[..=place].iter().rposition(|slot| slot.is_first)?;
        let trial = &self.slots[first..=place];
        let sum = |slots: &[Slot], of: fn(&Slot) -> Option<u64>| -> Option<u64> {
            slots.iter().map(of).sum()
        };
        let sent = sum(&trial[..trial.len() - 1], |slot| slot.sent_bytes)?;
        let received = sum(trial, |slot| slot.received_bytes)?;
        Some((sent.saturating_sub(received), sent))
    }

    fn halve(&mut self) {
        let mut joined: Vec<Slot> = Vec::with_capacity(SLOTS_MAX);
        let mut waiting: Option<Slot> = None;
        for slot in self.slots.drain(..) {
            waiting = match waiting.take() {
                Some(before) if slot.is_first => {
                    joined.push(before);
                    Some(slot)
                }
                Some(before) => {
                    joined.push(before.and(slot));
                    None
                }
                None => Some(slot),
            };
        }
        joined.extend(waiting);
        // A run of very many trials of one slot each: the oldest have to go.
        let beyond = joined.len().saturating_sub(SLOTS_MAX * 3 / 4);
        joined.drain(..beyond);
        self.slots = joined;
    }

    /// The lines that draw `quantity`: a point in the middle of each slot that ends after `from`.
    pub(crate) fn lines(&self, quantity: Quantity, from: Duration) -> Vec<Vec<(f64, f64)>> {
        let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
        for slot in self.slots.iter().filter(|slot| slot.until > from) {
            if slot.is_first || lines.is_empty() {
                lines.push(Vec::new());
            }
            let middle = ((slot.from + slot.until) / 2).as_secs_f64();
            if let (Some(line), Some(value)) = (lines.last_mut(), slot.value(quantity)) {
                line.push((middle, value));
            }
        }
        lines.retain(|line| !line.is_empty());
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ms: u64, received_bytes: u64) -> Sample {
        Sample {
            at: Duration::from_millis(at_ms),
            lasts: Duration::from_millis(100),
            sent_bytes: Some(2 * received_bytes),
            received_bytes: Some(received_bytes),
            ..Sample::default()
        }
    }

    #[test]
    fn flows_of_a_direction_are_added_up_though_their_slots_are_cut_a_little_apart() {
        let mut curve = Curve::default();
        curve.begin_trial(Duration::ZERO);
        curve.on_sample(&sample(0, 1000), false);
        curve.on_sample(&sample(3, 500), false);
        curve.on_sample(&sample(100, 1000), false);
        // 1500 bytes in 0.1 s, then 1000.
        let lines = curve.lines(Quantity::Throughput, Duration::ZERO);
        let rates: Vec<f64> = lines[0].iter().map(|(_, rate)| *rate).collect();
        assert_eq!(rates, [120_000.0, 80_000.0]);
    }

    #[test]
    fn trials_follow_each_other_and_no_line_joins_them() {
        let mut curve = Curve::default();
        curve.begin_trial(Duration::ZERO);
        curve.on_sample(&sample(0, 1000), false);
        curve.begin_trial(Duration::from_secs(1));
        curve.on_sample(&sample(0, 1000), false);
        let lines = curve.lines(Quantity::Throughput, Duration::ZERO);
        assert_eq!(lines, [[(0.05, 80_000.0)], [(1.05, 80_000.0)]]);
        assert_eq!(curve.lines(Quantity::Throughput, Duration::from_millis(500)).len(), 1);
    }

    #[test]
    fn what_is_on_its_way_is_not_missing() {
        let mut curve = Curve::default();
        curve.begin_trial(Duration::ZERO);
        let frames = |at_ms, received| Sample {
            sent_bytes: Some(1000),
            received_bytes: Some(received),
            ..sample(at_ms, 0)
        };
        // A quarter of the first slot arrives in the second one: all that was sent before is there.
        curve.on_sample(&frames(0, 750), true);
        curve.on_sample(&frames(100, 1000), true);
        // Half of the third is lost: 1750 + 500 of the 2000 before it are there, then 2250 of 3000.
        curve.on_sample(&frames(200, 500), true);
        curve.on_sample(&frames(300, 0), true);
        let lines = curve.lines(Quantity::Missing, Duration::ZERO);
        let shares: Vec<f64> = lines[0].iter().map(|(_, share)| *share).collect();
        assert_eq!(shares, [0.0, 0.0, 25.0]);
    }

    #[test]
    fn a_long_run_takes_no_more_memory_and_loses_no_byte() {
        let mut curve = Curve::default();
        curve.begin_trial(Duration::ZERO);
        for slot in 0..100_000 {
            curve.on_sample(&sample(slot * 100, 10), false);
        }
        assert!(curve.slots().len() <= SLOTS_MAX);
        let received: u64 = curve.slots().iter().filter_map(|slot| slot.received_bytes).sum();
        assert_eq!(received, 1_000_000);
    }

    #[test]
    fn a_run_of_very_many_short_trials_forgets_the_oldest() {
        let mut curve = Curve::default();
        for trial in 0..10_000 {
            curve.begin_trial(Duration::from_secs(trial));
            curve.on_sample(&sample(0, 10), false);
        }
        assert!(curve.slots().len() <= SLOTS_MAX);
        assert_eq!(curve.slots().last().unwrap().from, Duration::from_secs(9_999));
    }
}
