//! What a flow did over time, in as few slots as a picture has room for.

use std::borrow::Cow;
use std::time::Duration;

use fp_model::{ConnectionsSample, Direction, FlowReport, FlowSpec, Load, Sample};
use serde::Serialize;
use utoipa::ToSchema;

/// Slot by slot; what an end did not tell is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Series {
    /// Since the start of the trial.
    t_s: Vec<f64>,
    dt_s: Vec<f64>,
    sent_bps: Vec<Option<f64>>,
    received_bps: Vec<Option<f64>>,
    retransmitted_bps: Vec<Option<f64>>,
    rtt_ms: Vec<Option<f64>>,
    cwnd_bytes: Vec<Option<u64>>,
    active_connections: Vec<Option<u32>>,
}

impl Series {
    pub(super) fn of(samples: &[Sample]) -> Self {
        let rate = |bytes: fn(&Sample) -> Option<u64>| {
            samples.iter().map(|slot| bps(bytes(slot), slot.lasts)).collect()
        };
        Self {
            t_s: samples.iter().map(|slot| slot.at.as_secs_f64()).collect(),
            dt_s: samples.iter().map(|slot| slot.lasts.as_secs_f64()).collect(),
            sent_bps: rate(|slot| slot.sent_bytes),
            received_bps: rate(|slot| slot.received_bytes),
            retransmitted_bps: rate(|slot| slot.retransmitted_bytes),
            rtt_ms: samples.iter().map(|slot| slot.rtt.map(ms)).collect(),
            cwnd_bytes: samples.iter().map(|slot| slot.cwnd_bytes).collect(),
            active_connections: samples.iter().map(|slot| slot.active_connections).collect(),
        }
    }
}

/// Bits a second; `None` of an unknown count, and of no time.
pub(super) fn bps(bytes: Option<u64>, lasts: Duration) -> Option<f64> {
    bytes.filter(|_| !lasts.is_zero()).map(|bytes| bytes as f64 * 8.0 / lasts.as_secs_f64())
}

pub(super) fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// What a flow is, in a few words.
pub(super) fn label(flow: &FlowSpec) -> String {
    let kind = match &flow.load {
        Load::Probes(_) => String::from("probes"),
        Load::Frames(_) => String::from("frames"),
        Load::Bursts(load) => {
            format!("bursts of {} × {} bytes", load.frames_per_burst, load.frame_bytes)
        }
        Load::Tcp(load) if load.connections > 1 => format!("TCP × {}", load.connections),
        Load::Tcp(_) => String::from("TCP"),
        Load::Connections(load) => format!("{} connections", load.connections_peak()),
    };
    let class = match flow.dscp.code_point() {
        0 => String::new(),
        dscp => format!(", DSCP {dscp}"),
    };
    format!("{} {kind}{class}", direction(flow.direction))
}

pub(super) const fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Download => "download",
        Direction::Upload => "upload",
    }
}

pub(super) const fn kind(load: &Load) -> &'static str {
    match load {
        Load::Probes(_) => "probes",
        Load::Frames(_) => "frames",
        Load::Bursts(_) => "bursts",
        Load::Tcp(_) => "tcp",
        Load::Connections(_) => "connections",
    }
}

/// Whose bytes the slots of a flow count: whole frames, or what TCP delivers.
pub(super) const fn layer(load: &Load) -> u8 {
    match load {
        Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) => 2,
        Load::Tcp(_) | Load::Connections(_) => 4,
    }
}

/// The slots that a report keeps.
pub(super) fn samples(report: &FlowReport) -> Cow<'_, [Sample]> {
    match report {
        FlowReport::Probes(_) => Cow::Borrowed(&[]),
        FlowReport::Frames(frames) => Cow::Borrowed(&frames.series),
        FlowReport::Bursts(bursts) => Cow::Borrowed(&bursts.series),
        FlowReport::Tcp(tcp) => Cow::Borrowed(&tcp.series),
        FlowReport::Connections(connections) => Cow::Owned(of_connections(&connections.series)),
    }
}

/// Payload that arrived at either end, and how many were open. What comes after the stages is the
/// last slot.
fn of_connections(series: &[ConnectionsSample]) -> Vec<Sample> {
    let slots = series.iter().enumerate();
    let sample = |(place, slot): (usize, &ConnectionsSample)| Sample {
        at: slot.at,
        lasts: slot.lasts,
        steady: place + 1 < series.len(),
        received_bytes: Some(slot.upload_good_bytes + slot.download_good_bytes),
        active_connections: Some(slot.active),
        ..Sample::default()
    };
    slots.map(sample).collect()
}

#[cfg(test)]
mod tests {
    use fp_model::ConnectionsReport;

    use super::*;

    #[test]
    fn rates_are_bits_of_a_slot_by_its_length() {
        let slot = Sample {
            at: Duration::from_millis(200),
            lasts: Duration::from_millis(200),
            sent_bytes: Some(1_000_000),
            received_bytes: None,
            rtt: Some(Duration::from_micros(10_500)),
            ..Sample::default()
        };
        let series = Series::of(&[slot]);
        // 8 Mbit in a fifth of a second.
        assert_eq!(series.sent_bps, [Some(40e6)]);
        assert_eq!((series.received_bps, series.rtt_ms), (vec![None], vec![Some(10.5)]));
    }

    #[test]
    fn slots_of_many_connections_say_how_many_were_open_and_what_both_ends_got() {
        let slot = |active| ConnectionsSample {
            lasts: Duration::from_secs(1),
            active,
            upload_good_bytes: 100,
            download_good_bytes: 900,
            ..ConnectionsSample::default()
        };
        let report = ConnectionsReport { series: vec![slot(7), slot(0)], ..Default::default() };
        let report = FlowReport::Connections(report);
        let series = Series::of(&samples(&report));
        assert_eq!(series.active_connections, [Some(7), Some(0)]);
        assert_eq!(series.received_bps, [Some(8e3), Some(8e3)]);
        let steady = samples(&report).iter().map(|slot| slot.steady).collect::<Vec<_>>();
        assert_eq!(steady, [true, false]);
    }

    #[test]
    fn a_slot_of_no_length_has_no_rate() {
        assert_eq!(bps(Some(1), Duration::ZERO), None);
    }
}
