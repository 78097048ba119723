//! Section 26.2: how long a frame takes at the throughput.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, DelaySummary, Direction, FlowReport, FrameSizes, FramesLoad, Layer, Load, Pace,
    PacketLayout, ProbesLoad, Rate, RttSummary, Testbed, Timing, Trial,
};

use super::offer::Offer;
use super::steps::{DelayClock, FrameRate, Latency};
use super::{Run, Step, Way};
use crate::path::SMALL_PACKET_BYTES;
use crate::tester::mismatch;

/// Where no frame says how long it took: single packets among them, so many in each trial.
const PROBES: u32 = 20;
/// Before the first of them.
const WARM_UP: Duration = Duration::from_millis(200);

/// One repetition.
#[derive(Clone, Copy)]
struct Delay {
    min: Duration,
    mean: Duration,
    max: Duration,
    clock: DelayClock,
}

//= rfc2544 26.2
pub(super) fn latency(run: &mut Run<'_>, way: Way, throughput: FrameRate) -> Result<(), Abort> {
    let mut repetitions = Vec::new();
    for _ in 0..run.plan.latency_repetitions.max(1) {
        let delay = match one_way(run, way, throughput)? {
            Some(delay) => Some(delay),
            None => round_trip(run, way, throughput)?,
        };
        repetitions.extend(delay);
    }
    if let Some(latency) = summary(way, throughput, &repetitions) {
        run.report.steps.push(Step::Latency(latency));
    }
    Ok(())
}

fn summary(way: Way, rate: FrameRate, repetitions: &[Delay]) -> Option<Latency> {
    let means: Vec<Duration> = repetitions.iter().map(|delay| delay.mean).collect();
    let sum: Duration = means.iter().sum();
    Some(Latency {
        way,
        rate,
        clock: repetitions.iter().map(|delay| delay.clock).max()?,
        min: repetitions.iter().map(|delay| delay.min).min()?,
        max: repetitions.iter().map(|delay| delay.max).max()?,
        mean: sum / means.len() as u32,
        means,
    })
}

/// Of every frame, by the clocks of both ends; both ways together where frames went both ways.
fn one_way(run: &mut Run<'_>, way: Way, rate: FrameRate) -> Result<Option<Delay>, Abort> {
    let lasts = run.plan.durations.latency;
    let offer = Offer { purpose: "latency", ..Offer::plain(way, rate, lasts) };
    let seen = run.offer(&offer)?;
    run.health.spoilt_trials += u32::from(seen.tester_limit && seen.dropped_by_tester > 0);
    let delays: Vec<DelaySummary> = seen.reports.iter().filter_map(|report| report.delay).collect();
    let sum: Duration = delays.iter().map(|delay| delay.mean).sum();
    let known = |delays: &[DelaySummary]| {
        Some(Delay {
            min: delays.iter().map(|delay| delay.min).min()?,
            mean: sum / delays.len() as u32,
            max: delays.iter().map(|delay| delay.max).max()?,
            clock: DelayClock::BothEnds { error: delays.iter().map(|delay| delay.error).max()? },
        })
    };
    Ok(known(&delays))
}

/// Of probes among the frames, there and back.
fn round_trip(run: &mut Run<'_>, way: Way, rate: FrameRate) -> Result<Option<Delay>, Abort> {
    let trial = probed(run, way, rate);
    run.health.trials += 1;
    let seen = run.run(&trial)?;
    let probes = seen.flows.iter().find_map(FlowReport::probes);
    let delay = |rtt: RttSummary| Delay {
        min: rtt.min,
        mean: rtt.mean,
        max: rtt.max,
        clock: DelayClock::RoundTrip,
    };
    Ok(probes.ok_or_else(|| mismatch(&trial))?.rtt.map(delay))
}

/// Frames at the throughput less what the probes among them take: together they fill the line as
/// the frames alone did, and no queue grows.
fn probed(run: &Run<'_>, way: Way, throughput: FrameRate) -> Trial {
    let steady = run.plan.durations.latency;
    let interval = steady / PROBES;
    let on_the_line = throughput.frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD;
    let of_probes = Rate::over(u64::from(on_the_line), interval);
    let left = throughput.rate_l1.as_bps().saturating_sub(of_probes.as_bps());
    let rate = throughput.with_rate(Rate::bps(left)).at(Layer::L2);
    let flow = |direction: Direction, load| run.plan.flow(direction, load);
    let sizes = FrameSizes::fixed(throughput.frame_bytes);
    let frames = FramesLoad::new(sizes, Pace::Constant { rate }).unwatched();
    let probes = ProbesLoad {
        packet_bytes: throughput.frame_bytes - PacketLayout::ETHERNET_L2_OVERHEAD,
        answer_bytes: SMALL_PACKET_BYTES,
        count: PROBES,
        interval,
    };
    let mut flows = vec![flow(way.directions()[0], Load::Probes(probes))];
    let each = way.directions().iter();
    flows.extend(each.map(|direction| flow(*direction, Load::Frames(frames.clone()))));
    Trial {
        name: format!("latency, {way}: {} bytes", throughput.frame_bytes),
        flows,
        timing: Timing { warm_up: WARM_UP, steady, settle: run.settle() },
    }
}
