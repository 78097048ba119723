//! The progress of both ends, joined while a trial runs, for whoever watches.

use std::collections::BTreeMap;
use std::time::Duration;

use fp_model::{Event, Load, Observation, Slot, Slots, Trial};

use super::join::{counted, sample};
use crate::control::message::Seen;

/// What is known of intervals that only one end has reported.
#[derive(Debug)]
pub(super) struct Live<'a> {
    trial: &'a Trial,
    grid: Vec<Slot>,
    slots: usize,
    waiting: BTreeMap<(usize, usize), Seen>,
    /// By flow: when its last stretch was cut.
    cut: Vec<Duration>,
    /// By flow: what both ends have reported so far.
    reported: Vec<Slots>,
}

impl<'a> Live<'a> {
    pub(super) fn of(trial: &'a Trial) -> Self {
        Self {
            trial,
            grid: trial.timing.beats(),
            slots: trial.timing.beats_per_stretch(),
            waiting: BTreeMap::new(),
            cut: vec![Duration::ZERO; trial.flows.len()],
            reported: trial.flows.iter().map(|flow| Slots::none_of(&flow.load)).collect(),
        }
    }

    /// The event of a stretch once both ends have told of it; nonsense is passed over, because the
    /// result does not rest on it.
    pub(super) fn on_seen(&mut self, flow: usize, stretch: usize, seen: Seen) -> Option<Event> {
        let slots = self.grid.chunks(self.slots).nth(stretch)?;
        let spec = self.trial.flows.get(flow)?;
        let Some(other) = self.waiting.remove(&(flow, stretch)) else {
            self.waiting.insert((flow, stretch), seen);
            return None;
        };
        let steady = slots.iter().all(|slot| slot.steady);
        let direction = spec.direction;
        let sample = match (seen, other) {
            (Seen::Sent(sent), Seen::Received(received))
            | (Seen::Received(received), Seen::Sent(sent)) => {
                let cut = self.cut.get_mut(flow)?;
                let at = std::mem::replace(cut, Duration::from_nanos(received.cut_ns));
                sample(at, cut.saturating_sub(at), steady, &sent, &received)
            }
            (Seen::Client(client), Seen::Server(server))
            | (Seen::Server(server), Seen::Client(client)) => {
                let (from, until) = (slots.first()?.start, slots.last()?.end);
                let sample = counted(from, until, &client, &server);
                if let Slots::Connections(slots) = &mut self.reported[flow] {
                    slots.push(sample);
                }
                return Some(Event::Counted { flow, direction, sample });
            }
            // Both ends tell of the same.
            _ => return None,
        };
        let sample = match &spec.load {
            Load::Tcp(_) | Load::Connections(_) => sample,
            Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) => sample.of_frames(),
        };
        if let Slots::Bytes(slots) = &mut self.reported[flow] {
            slots.push(sample);
        }
        Some(Event::Sampled { flow, direction, sample })
    }

    /// The trial as far as both ends have reported all its flows.
    pub(super) fn broken_off(self) -> Option<Observation> {
        Observation::of_broken_off(self.trial, self.reported)
    }
}
