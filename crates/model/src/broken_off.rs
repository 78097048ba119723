//! What is known of a trial that was broken off: the slots that both ends had reported until then.

use alloc::vec::Vec;
use core::time::Duration;

use crate::{FlowReport, FlowSpec, FramesReport, Load, Observation, Sample, TcpReport, Trial};

impl Observation {
    /// The trial as far as the series of all its flows go; `None` if there is no such slot, or a flow
    /// of which a series does not say enough.
    ///
    /// Counts follow from the slots, and frames from their mean length. Order, jitter, delays and
    /// figures of single connections are unknown.
    pub fn of_broken_off(trial: &Trial, series: Vec<Vec<Sample>>) -> Option<Self> {
        let reported = |samples: &Vec<Sample>| samples.last().map_or(Duration::ZERO, Sample::ends);
        let until = series.iter().map(reported).min().filter(|until| !until.is_zero())?;
        let flows = trial.flows.iter().zip(series).map(|(spec, mut series)| {
            series.retain(|slot| slot.ends() <= until);
            report(spec, series)
        });
        let flows = flows.collect::<Option<_>>()?;
        Some(Self { flows, broken_off: Some(until), ..Self::default() })
    }
}

impl FlowReport {
    /// What was sent and received, slot by slot; empty for probes and for many connections, which are
    /// told of otherwise.
    pub fn series(&self) -> &[Sample] {
        match self {
            Self::Frames(report) => &report.series,
            Self::Tcp(report) => &report.series,
            Self::Bursts(report) => &report.series,
            Self::Probes(_) | Self::Connections(_) => &[],
        }
    }
}

fn report(spec: &FlowSpec, series: Vec<Sample>) -> Option<FlowReport> {
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
        Load::Probes(_) | Load::Bursts(_) | Load::Connections(_) => None,
    }
}
