//! From what both ends saw of a flow to the figures of a service.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    BurstReport, BurstsReport, Dscp, FrameSizes, FramesReport, PacketLayout, Rate, Sample,
    TcpReport,
};

use super::availability::{Availability, Second};
use super::steps::{Figures, Ftd, IrSpan, TcpFigures};

/// With none of n lost, a larger loss ratio than this over n is ruled out with 95 % confidence.
const RULE_OF_THREE: f64 = 3.0;
/// Rates are told apart second by second.
const SPAN: Duration = Duration::from_secs(1);
/// In a shorter test no service can become unavailable.
const AVAILABILITY_MIN: Duration = Duration::from_secs(10);

/// Of a stream of frames that lasted for `steady`.
pub(super) fn of_stream(report: &FramesReport, sizes: &FrameSizes, steady: Duration) -> Figures {
    let availability = availability(report, steady);
    let counted = availability.map_or(
        Second { sent_frames: report.sent_frames, lost_frames: lost(report) },
        |availability| availability.available,
    );
    let ir_l2 = Rate::over(report.received_bytes, report.sent_in);
    let series: Vec<Sample> = report.series.iter().filter(|slot| slot.steady).copied().collect();
    let delay = report.delay.as_ref();
    let marks = report.dscp_received.iter();
    Figures {
        sent_frames: report.sent_frames,
        received_frames: report.received_frames,
        out_of_order_frames: report.out_of_order_frames,
        duplicate_frames: report.duplicate_frames,
        ir_l2,
        ir_span_l2: ir_span(&series),
        ulr_l1: on_the_line(ir_l2, sizes),
        flr: ratio(counted.lost_frames, counted.sent_frames),
        flr_resolution: resolution(counted.sent_frames),
        ftd: delay.map(|delay| Ftd {
            min: delay.min,
            mean: delay.mean,
            max: delay.max,
            error: delay.error,
        }),
        fdv: delay.map(|delay| delay.p99_9.saturating_sub(delay.min)),
        availability,
        dscp_received: marks.filter_map(|mark| Some((mark.dscp?, mark.frames))).collect(),
        series,
    }
}

/// Of bursts; the rate is that of what they brought over the whole time.
pub(super) fn of_bursts(report: &BurstsReport, frame_bytes: u32, period: Duration) -> Figures {
    let sum = |of: fn(&fp_model::BurstReport) -> u32| -> u64 {
        report.bursts.iter().map(|burst| u64::from(of(burst))).sum()
    };
    let sent_frames = sum(|burst| burst.sent_frames);
    let received_frames = sum(|burst| burst.received_frames);
    let late = |burst: Option<&BurstReport>| burst.map_or(Duration::ZERO, |one| one.sent_from);
    let moved = late(report.bursts.last()).saturating_sub(late(report.bursts.first()));
    let lasted = period * report.bursts.len() as u32 + moved;
    let ir_l2 = Rate::over(received_frames * u64::from(frame_bytes), lasted);
    Figures {
        sent_frames,
        received_frames,
        out_of_order_frames: Some(report.out_of_order_frames),
        duplicate_frames: Some(report.duplicate_frames),
        ir_l2,
        ulr_l1: on_the_line(ir_l2, &FrameSizes::fixed(frame_bytes)),
        flr: ratio(sent_frames.saturating_sub(received_frames), sent_frames),
        flr_resolution: resolution(sent_frames),
        dscp_received: dscps(report),
        series: report.series.iter().filter(|slot| slot.steady).copied().collect(),
        ..Figures::default()
    }
}

pub(super) fn of_tcp(
    report: &TcpReport,
    window_bytes: u64,
    ideal_l4: Rate,
    steady: Duration,
) -> TcpFigures {
    let connections = &report.connections;
    let good_bytes = connections.iter().map(|connection| connection.good_bytes).sum();
    let known = |of: fn(&fp_model::ConnectionReport) -> Option<u64>| {
        connections.iter().map(of).sum::<Option<u64>>()
    };
    let transmitted = known(|connection| connection.transmitted_bytes);
    let retransmitted_bytes = known(|connection| connection.retransmitted_bytes);
    let sent = transmitted.zip(retransmitted_bytes);
    let round_trips: Vec<Duration> =
        connections.iter().filter_map(|connection| connection.rtt_mean).collect();
    TcpFigures {
        connections: connections.len() as u32,
        window_bytes,
        good_bytes,
        retransmitted_bytes,
        throughput_l4: Rate::over(good_bytes, steady),
        ideal_l4,
        efficiency_percent: sent
            .and_then(|(sent, resent)| ratio(sent.saturating_sub(resent), sent))
            .map(|share| 100.0 * share),
        rtt_mean: round_trips.iter().sum::<Duration>().checked_div(round_trips.len() as u32),
        series: report.series.iter().filter(|slot| slot.steady).copied().collect(),
    }
}

fn lost(report: &FramesReport) -> u64 {
    report.sent_frames.saturating_sub(report.received_frames)
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn resolution(frames: u64) -> Option<f64> {
    (frames > 0).then(|| RULE_OF_THREE / frames as f64)
}

/// With preamble and gap of each frame.
fn on_the_line(rate_l2: Rate, sizes: &FrameSizes) -> Rate {
    let gaps = PacketLayout::ETHERNET_L1_OVERHEAD as u64 * sizes.lengths().len() as u64;
    let cycle_bytes = sizes.cycle_bytes();
    rate_l2.scaled((cycle_bytes + gaps) as f64 / cycle_bytes as f64)
}

/// Slots are put together until they make a second; what is left over is no whole one.
fn ir_span(series: &[Sample]) -> Option<IrSpan> {
    let mut span: Option<IrSpan> = None;
    let (mut bytes, mut lasts) = (0, Duration::ZERO);
    for slot in series {
        bytes += slot.received_bytes?;
        lasts += slot.lasts;
        if lasts >= SPAN {
            let rate = Rate::over(bytes, lasts);
            let so_far = span.unwrap_or(IrSpan { min: rate, max: rate });
            span = Some(IrSpan { min: so_far.min.min(rate), max: so_far.max.max(rate) });
            (bytes, lasts) = (0, Duration::ZERO);
        }
    }
    span
}

/// The seconds in which nothing was lost carried what the others left.
fn availability(report: &FramesReport, steady: Duration) -> Option<Availability> {
    if steady < AVAILABILITY_MIN {
        return None;
    }
    let whole = usize::try_from(steady.as_secs()).ok()?;
    let lossy_seconds = report.lossy_seconds.as_ref()?;
    let in_lossy: u64 = lossy_seconds.iter().map(|second| second.sent_frames).sum();
    let clean = (whole as u64).saturating_sub(lossy_seconds.len() as u64);
    let per_second = report.sent_frames.saturating_sub(in_lossy).checked_div(clean).unwrap_or(0);
    let mut seconds = alloc::vec![Second { sent_frames: per_second, lost_frames: 0 }; whole];
    for lossy in lossy_seconds {
        if let Some(second) = seconds.get_mut(lossy.second as usize) {
            *second = Second { sent_frames: lossy.sent_frames, lost_frames: lossy.lost_frames };
        }
    }
    Some(Availability::of(&seconds))
}

fn dscps(report: &BurstsReport) -> Vec<(Dscp, u64)> {
    let mut counts: BTreeMap<Dscp, u64> = BTreeMap::new();
    for run in report.bursts.iter().flat_map(|burst| &burst.arrived) {
        if let Some(dscp) = run.dscp {
            *counts.entry(dscp).or_default() += u64::from(run.frames);
        }
    }
    counts.into_iter().collect()
}
