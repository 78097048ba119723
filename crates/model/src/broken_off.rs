//! What is known of a trial that was broken off: the slots that both ends had reported until then.

use alloc::vec::Vec;
use core::time::Duration;

use crate::{
    BurstsReport, ConnectionsReport, ConnectionsSample, FlowReport, FlowSpec, FramesReport, Load,
    Observation, Sample, TcpReport, Timing, Trial,
};

/// What both ends have reported of a flow so far.
#[derive(Clone, Debug)]
pub enum Slots {
    Bytes(Vec<Sample>),
    Connections(Vec<ConnectionsSample>),
}

impl Slots {
    /// For a flow of this load.
    pub const fn none_of(load: &Load) -> Self {
        match load {
            Load::Connections(_) => Self::Connections(Vec::new()),
            Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) | Load::Tcp(_) => {
                Self::Bytes(Vec::new())
            }
        }
    }

    fn end(&self) -> Duration {
        let ends = |slot: &ConnectionsSample| slot.at + slot.lasts;
        match self {
            Self::Bytes(slots) => slots.last().map_or(Duration::ZERO, Sample::ends),
            Self::Connections(slots) => slots.last().map_or(Duration::ZERO, ends),
        }
    }

    /// Those that were over by `end`.
    #[must_use]
    pub fn until(self, end: Duration) -> Self {
        match self {
            Self::Bytes(mut slots) => {
                slots.retain(|slot| slot.ends() <= end);
                Self::Bytes(Sample::joined(slots, Timing::SLOTS_MAX))
            }
            Self::Connections(mut slots) => {
                slots.retain(|slot| slot.at + slot.lasts <= end);
                Self::Connections(slots)
            }
        }
    }
}

impl Observation {
    /// The trial as far as both ends have reported all its flows; `None` if there is no such slot.
    ///
    /// Counts follow from the slots, and frames from their mean length. Order, jitter, delays, single
    /// bursts and figures of single connections are unknown.
    pub fn of_broken_off(trial: &Trial, slots: Vec<Slots>) -> Option<Self> {
        let until = slots.iter().map(Slots::end).min().filter(|until| !until.is_zero())?;
        let flows = trial.flows.iter().zip(slots);
        let flows = flows.map(|(spec, slots)| report(spec, slots.until(until)));
        let flows = flows.collect::<Option<_>>()?;
        Some(Self { flows, broken_off: Some(until), ..Self::default() })
    }
}

impl FlowReport {
    /// What was sent and received, slot by slot; probes have no slots.
    pub fn slots(&self) -> Slots {
        match self {
            Self::Frames(report) => Slots::Bytes(report.series.clone()),
            Self::Tcp(report) => Slots::Bytes(report.series.clone()),
            Self::Bursts(report) => Slots::Bytes(report.series.clone()),
            Self::Probes(_) => Slots::Bytes(Vec::new()),
            Self::Connections(report) => Slots::Connections(report.series.clone()),
        }
    }
}

fn report(spec: &FlowSpec, slots: Slots) -> Option<FlowReport> {
    let series = match slots {
        Slots::Bytes(series) => series,
        Slots::Connections(series) => return Some(FlowReport::Connections(of_connections(series))),
    };
    match &spec.load {
        Load::Frames(load) => {
            let steady = || series.iter().filter(|slot| slot.steady);
            let sum = |of: fn(&Sample) -> Option<u64>| {
                steady().filter_map(of).fold(0, u64::saturating_add)
            };
            let lengths = load.sizes.lengths().len() as u64;
            let frames =
                |bytes: u64| bytes.saturating_mul(lengths) / load.sizes.cycle_bytes().max(1);
            let sent_bytes = sum(|slot| slot.sent_bytes);
            // A frame that is under way when a slot ends arrives in the next one.
            let received_bytes = sum(|slot| slot.received_bytes).min(sent_bytes);
            let lasts: Duration = steady().map(|slot| slot.lasts).sum();
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
        Load::Tcp(_) => {
            let received = series.iter().filter_map(|slot| slot.received_bytes);
            Some(FlowReport::Tcp(TcpReport {
                connections: Vec::new(),
                whole_good_bytes: received.fold(0, u64::saturating_add),
                whole_until: series.last().map_or(Duration::ZERO, Sample::ends),
                series,
            }))
        }
        Load::Bursts(_) => {
            Some(FlowReport::Bursts(BurstsReport { series, ..BurstsReport::default() }))
        }
        Load::Probes(_) | Load::Connections(_) => None,
    }
}

fn of_connections(series: Vec<ConnectionsSample>) -> ConnectionsReport {
    let sum =
        |of: fn(&ConnectionsSample) -> u64| series.iter().map(of).fold(0, u64::saturating_add);
    ConnectionsReport {
        attempted: sum(|slot| slot.attempted),
        established: sum(|slot| slot.established),
        closed: sum(|slot| slot.closed),
        transactions: sum(|slot| slot.transactions),
        upload_good_bytes: sum(|slot| slot.upload_good_bytes),
        download_good_bytes: sum(|slot| slot.download_good_bytes),
        active_peak: series.iter().map(|slot| slot.active).max().unwrap_or_default(),
        active_at_end: series.last().map_or(0, |slot| slot.active),
        series,
        ..ConnectionsReport::default()
    }
}
