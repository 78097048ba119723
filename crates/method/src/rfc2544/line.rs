//! What the line carries: as the plan says, or found with the longest frames.

use alloc::vec::Vec;
use alloc::{format, vec};
use core::time::Duration;

use fp_model::{Abort, Direction, PacketLayout, Rate};

use super::offer::Offer;
use super::steps::{FrameRate, LineRate, LineSource};
use super::{Run, Step, Way};

const FIRST_RATE_L1: Rate = Rate::mbps(8);
/// Each trial offers so many times as much as the last, until one is too much.
const GROWTH: f64 = 8.0;
const TRIAL: Duration = Duration::from_millis(250);
/// More loss than this says that the rate is too high.
const OVERLOAD_LOSS: f64 = 0.05;
/// A rate this close to an Ethernet's is that Ethernet's.
const ETHERNET_PERCENT: f64 = 0.5;
const ETHERNETS_MBPS: [u64; 10] =
    [10, 100, 1000, 2500, 5000, 10_000, 25_000, 40_000, 100_000, 400_000];
/// A limit that is no line's may be counted at any layer: short frames are offered what would take
/// as much of the packet as long ones, and so much more.
const BEYOND_FOUND: f64 = 1.05;

/// What is to be offered at most, in one or both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    /// Of an Ethernet, or as given; `None` where neither is known.
    pub(super) rate_l1: Option<Rate>,
    /// The longest frames, at the highest rate that came through.
    pub(super) reached: FrameRate,
    pub(super) source: LineSource,
    pub(super) cap_l1: Rate,
}

impl Line {
    /// The highest rate to offer in frames of this length.
    pub(super) fn highest(&self, frame_bytes: u32) -> FrameRate {
        let rate_l1 = match self.rate_l1 {
            Some(line) => line,
            None => {
                let share = |bytes: u32| {
                    let packet = bytes - PacketLayout::ETHERNET_L2_OVERHEAD;
                    f64::from(bytes + PacketLayout::ETHERNET_L1_OVERHEAD) / f64::from(packet)
                };
                let longer = share(frame_bytes) / share(self.reached.frame_bytes);
                self.reached.rate_l1.scaled(longer * BEYOND_FOUND)
            }
        };
        FrameRate { frame_bytes, rate_l1: rate_l1.min(self.cap_l1) }
    }

    //= rfc2544 26.1
    /// What the medium carries at most.
    pub(super) fn theoretical(&self, frame_bytes: u32) -> Option<FrameRate> {
        self.rate_l1.map(|rate_l1| FrameRate { frame_bytes, rate_l1 })
    }

    /// Where no line is known that would stop it, a policer may be overloaded beyond `highest`.
    pub(super) fn most(&self) -> Rate {
        self.rate_l1.unwrap_or(self.cap_l1).min(self.cap_l1)
    }
}

pub(super) fn directions(ways: &[Way]) -> Vec<Direction> {
    let all = [Direction::Download, Direction::Upload];
    let used = |direction: &Direction| ways.iter().any(|way| way.directions().contains(direction));
    all.into_iter().filter(used).collect()
}

/// What the line carries one way; both ways, the slower of the two.
pub(super) fn find(run: &mut Run<'_>, way: Way, mtu_bytes: u32) -> Result<Line, Abort> {
    match way {
        Way::Download => of_direction(run, Direction::Download, mtu_bytes),
        Way::Upload => of_direction(run, Direction::Upload, mtu_bytes),
        Way::Bidirectional => {
            let download = of_direction(run, Direction::Download, mtu_bytes)?;
            let upload = of_direction(run, Direction::Upload, mtu_bytes)?;
            let known = |line: &Line| line.rate_l1.unwrap_or(line.reached.rate_l1);
            Ok(if known(&download) < known(&upload) { download } else { upload })
        }
    }
}

fn of_direction(run: &mut Run<'_>, direction: Direction, mtu_bytes: u32) -> Result<Line, Abort> {
    let longest_bytes = run.plan.longest_frame_bytes(mtu_bytes);
    let found = match run.plan.line_rate_l1 {
        Some(line_l1) => given(direction, line_l1, longest_bytes),
        None => search(run, direction, longest_bytes)?,
    };
    run.report.steps.push(Step::LineRate(found));
    let LineRate { line_l1, reached, source, .. } = found;
    Ok(Line { rate_l1: line_l1, reached, source, cap_l1: run.plan.rate_cap_l1 })
}

fn given(direction: Direction, line_l1: Rate, frame_bytes: u32) -> LineRate {
    let reached = FrameRate { frame_bytes, rate_l1: line_l1 };
    let source = LineSource::Given;
    LineRate { direction, line_l1: Some(line_l1), source, reached, trials: 0 }
}

/// Raises the rate of the longest frames until more is lost than chance explains: what then comes
/// through is what the line carries.
fn search(run: &mut Run<'_>, direction: Direction, frame_bytes: u32) -> Result<LineRate, Abort> {
    let cap_l1 = run.plan.rate_cap_l1;
    let way = match direction {
        Direction::Download => Way::Download,
        Direction::Upload => Way::Upload,
    };
    let mut rate_l1 = FIRST_RATE_L1.min(cap_l1);
    let mut trials = 0;
    let (source, reached_l1) = loop {
        let rate = FrameRate { frame_bytes, rate_l1 };
        let offer = Offer { purpose: "line rate", ..Offer::plain(way, rate, TRIAL) };
        let seen = run.offer_once(&offer)?;
        trials += 1;
        if seen.received_frames == 0 {
            return Err(nothing_arrives(direction, frame_bytes));
        }
        if seen.loss_ratio > OVERLOAD_LOSS && seen.dropped_by_tester == 0 {
            let (reached_l1, repeats) = carried(run, &offer, seen.received_l1)?;
            trials += repeats;
            break (LineSource::Found, reached_l1);
        }
        if seen.sent_l1 < rate_l1.scaled(0.9) || seen.dropped_by_tester > 0 {
            break (LineSource::TesterLimit, seen.received_l1);
        }
        if rate_l1 >= cap_l1 {
            break (LineSource::RateCap, seen.received_l1);
        }
        rate_l1 = rate_l1.scaled(GROWTH).min(cap_l1);
    };
    let near = ethernet_near(reached_l1).filter(|_| source == LineSource::Found);
    let shortest = run.plan.frame_lengths_bytes.iter().copied().min();
    let shorter = near.zip(shortest.filter(|shortest| *shortest < frame_bytes));
    let line_l1 = match shorter {
        Some((line_l1, frame_bytes)) => {
            let (is_exceeded, more) =
                is_exceeded(run, way, FrameRate { frame_bytes, rate_l1 }, line_l1)?;
            trials += more;
            near.filter(|_| !is_exceeded)
        }
        None => near,
    };
    let reached = FrameRate { frame_bytes, rate_l1: reached_l1 };
    Ok(LineRate { direction, line_l1, source, reached, trials })
}

/// Whether more comes through of the shortest frames than an Ethernet carries that the longest ones have shown, and
/// the trials that it took: what counts less of a frame than a line does, as a policer, passes more of short ones.
fn is_exceeded(
    run: &mut Run<'_>,
    way: Way,
    rate: FrameRate,
    line_l1: Rate,
) -> Result<(bool, u32), Abort> {
    let offer = Offer { purpose: "line rate", ..Offer::plain(way, rate, TRIAL) };
    let first_l1 = run.offer_once(&offer)?.received_l1;
    let most_l1 = line_l1.scaled(1.0 + ETHERNET_PERCENT / 100.0);
    if first_l1 <= most_l1 {
        return Ok((false, 1));
    }
    let (came_l1, repeats) = carried(run, &offer, first_l1)?;
    Ok((came_l1 > most_l1, 1 + repeats))
}

/// What comes through an overload, in the middle of three trials unless the first one has shown an
/// Ethernet: a trial as short as this is off by a percent if its first frames come 3 ms late.
fn carried(run: &mut Run<'_>, offer: &Offer, first_l1: Rate) -> Result<(Rate, u32), Abort> {
    const REPEATS: u32 = 2;
    if ethernet_near(first_l1).is_some() {
        return Ok((first_l1, 0));
    }
    let mut reached_l1 = vec![first_l1];
    for _ in 0..REPEATS {
        reached_l1.push(run.offer_once(offer)?.received_l1);
    }
    reached_l1.sort();
    Ok((reached_l1[1], REPEATS))
}

fn nothing_arrives(direction: Direction, frame_bytes: u32) -> Abort {
    Abort::Lost(format!(
        "{direction}: none of the frames of {frame_bytes} bytes arrived, though single probes did: \
         look for a firewall or a rate limit for UDP, or give the line rate with --line-rate"
    ))
}

fn ethernet_near(rate_l1: Rate) -> Option<Rate> {
    let near = |line: &Rate| {
        let apart = rate_l1.as_bps().abs_diff(line.as_bps());
        apart as f64 <= line.as_bps() as f64 * ETHERNET_PERCENT / 100.0
    };
    ETHERNETS_MBPS.into_iter().map(Rate::mbps).find(near)
}
