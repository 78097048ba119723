//! The progress of both ends, joined while a trial runs, for whoever watches.

use std::collections::BTreeMap;
use std::time::Duration;

use fp_model::{
    Event, FlowReport, FlowSpec, FramesReport, Load, Observation, Sample, Slot, TcpReport, Trial,
};

use super::join::{counted, sample};
use crate::control::message::Seen;

/// What is known of stretches that only one end has told of.
#[derive(Debug)]
pub(super) struct Live<'a> {
    trial: &'a Trial,
    grid: Vec<Slot>,
    slots: usize,
    waiting: BTreeMap<(usize, usize), Seen>,
    /// By flow: when its last stretch was cut.
    cut: Vec<Duration>,
    /// By flow: what both ends have told of so far.
    samples: Vec<Vec<Sample>>,
}

impl<'a> Live<'a> {
    pub(super) fn of(trial: &'a Trial) -> Self {
        Self {
            trial,
            grid: trial.timing.beats(),
            slots: trial.timing.beats_per_stretch(),
            waiting: BTreeMap::new(),
            cut: vec![Duration::ZERO; trial.flows.len()],
            samples: vec![Vec::new(); trial.flows.len()],
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
                return Some(Event::Counted { flow, direction, sample });
            }
            // Both ends tell of the same.
            _ => return None,
        };
        let sample = match &spec.load {
            Load::Tcp(_) | Load::Connections(_) => sample,
            Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) => sample.of_frames(),
        };
        self.samples[flow].push(sample);
        Some(Event::Sampled { flow, direction, sample })
    }

    /// The trial as far as both ends have told of all its flows, if it is one of frames and TCP.
    pub(super) fn broken_off(self) -> Option<Observation> {
        let told = |samples: &Vec<Sample>| samples.last().map_or(Duration::ZERO, Sample::ends);
        let until = self.samples.iter().map(told).min().filter(|until| !until.is_zero())?;
        let flows = self.trial.flows.iter().zip(self.samples);
        let flows = flows.map(|(spec, mut series)| {
            series.retain(|slot| slot.ends() <= until);
            half_report(spec, series)
        });
        let flows = flows.collect::<Option<_>>()?;
        Some(Observation { flows, broken_off: Some(until), ..Observation::default() })
    }
}

/// What a series tells of a flow whose ends have not told of all.
fn half_report(spec: &FlowSpec, series: Vec<Sample>) -> Option<FlowReport> {
    let sum = |of: fn(&Sample) -> Option<u64>, is_whole: bool| {
        let slots = series.iter().filter(|slot| slot.steady || is_whole);
        slots.filter_map(of).fold(0, u64::saturating_add)
    };
    let steady = series.iter().filter(|slot| slot.steady);
    let lasts: Duration = steady.map(|slot| slot.lasts).sum();
    match &spec.load {
        Load::Frames(load) => {
            let lengths = load.sizes.lengths().len() as u64;
            let frames =
                |bytes: u64| bytes.saturating_mul(lengths) / load.sizes.cycle_bytes().max(1);
            let sent_bytes = sum(|slot| slot.sent_bytes, false);
            // What was under way when the slots were cut arrives in the next one.
            let received_bytes = sum(|slot| slot.received_bytes, false).min(sent_bytes);
            Some(FlowReport::Frames(FramesReport {
                planned_frames: frames(sent_bytes),
                sent_frames: frames(sent_bytes),
                sent_bytes,
                sent_in: lasts,
                received_frames: frames(received_bytes),
                received_bytes,
                received_in: Some(lasts),
                series,
                ..FramesReport::default()
            }))
        }
        Load::Tcp(_) => Some(FlowReport::Tcp(TcpReport {
            connections: Vec::new(),
            whole_good_bytes: sum(|slot| slot.received_bytes, true),
            whole_until: series.last().map_or(Duration::ZERO, Sample::ends),
            series,
        })),
        Load::Probes(_) | Load::Bursts(_) | Load::Connections(_) => None,
    }
}
