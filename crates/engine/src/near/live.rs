//! The progress of both ends, joined while a trial runs, for whoever watches.

use std::collections::BTreeMap;
use std::time::Duration;

use fp_model::{Event, Slot, Trial};

use super::join::sample;
use crate::control::message::Seen;
use crate::flow::slots_per_stretch;

/// What is known of stretches that only one end has told of.
#[derive(Debug)]
pub(super) struct Live<'a> {
    trial: &'a Trial,
    grid: Vec<Slot>,
    slots: usize,
    waiting: BTreeMap<(usize, usize), Seen>,
    /// By flow: when its last stretch was cut.
    cut: Vec<Duration>,
}

impl<'a> Live<'a> {
    pub(super) fn of(trial: &'a Trial) -> Self {
        Self {
            trial,
            grid: trial.timing.beats(),
            slots: slots_per_stretch(&trial.timing),
            waiting: BTreeMap::new(),
            cut: vec![Duration::ZERO; trial.flows.len()],
        }
    }

    /// The event of a stretch once both ends have told of it; nonsense is passed over, because the
    /// result does not rest on it.
    pub(super) fn on_seen(&mut self, flow: usize, stretch: usize, seen: Seen) -> Option<Event> {
        let slots = self.grid.chunks(self.slots).nth(stretch)?;
        let direction = self.trial.flows.get(flow)?.direction;
        let Some(other) = self.waiting.remove(&(flow, stretch)) else {
            self.waiting.insert((flow, stretch), seen);
            return None;
        };
        let (sent, received) = match (seen, other) {
            (Seen::Sent(sent), Seen::Received(received))
            | (Seen::Received(received), Seen::Sent(sent)) => (sent, received),
            (Seen::Sent(_), Seen::Sent(_)) | (Seen::Received(_), Seen::Received(_)) => return None,
        };
        let steady = slots.iter().all(|slot| slot.steady);
        let cut = self.cut.get_mut(flow)?;
        let at = std::mem::replace(cut, Duration::from_nanos(received.cut_ns));
        let sample = sample(at, cut.saturating_sub(at), steady, &sent, &received);
        Some(Event::Sampled { flow, direction, sample })
    }
}
