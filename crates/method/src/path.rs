//! What every method asks of a path first: whether it answers, its MTU and its round trip.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, Direction, Dscp, Family, FlowReport, FlowSpec, Load, ProbedBy, ProbesLoad, ProbesReport,
    RttSummary, Testbed, Timing, Trial,
};

use crate::infer::DECIDES;
use crate::mtu::{MtuSearch, MtuStep, ProbeOutcome};
use crate::tester::reports;

mod steps;

pub(crate) use steps::rtt_us;
pub use steps::{BASELINE_RTT, PATH_MTU};

/// Small enough for any path, large enough for every header.
pub(crate) const SMALL_PACKET_BYTES: u32 = 100;
/// RFC 8899 section 5.1.2 asks for 3; one more makes random loss of 5 % pass for a limit once in
/// 160,000 sizes.
const TRIES: u32 = 4;
/// Sizes of which nothing could be said, before the search is given up.
const INCONCLUSIVE_MAX: u32 = 8;
const INTERVAL: Duration = Duration::from_millis(10);
/// The interval is doubled at most this many times, to 320 ms: a packet of 9,000 bytes takes 288 ms at
/// 250 kbit/s.
const DOUBLED_MAX: u32 = 5;
/// In half a minute: a queue that is not empty by then is kept full by somebody else.
const REST_LOOKS_MAX: u32 = 36;
/// Probes of the largest size where what their bytes take is measured.
const LARGE_PROBES: u32 = 50;
/// Of what jitter takes, the part by which two means of round trips differ by chance.
const HIDDEN: f64 = 1.0 / 9.0;
/// Before a round trip is known: longer than any terrestrial path and most satellites.
pub(crate) const UNKNOWN_RTT: Duration = Duration::from_millis(700);

/// What all packets to the far end have in common.
#[derive(Clone, Copy, Debug)]
pub struct Packets {
    pub family: Family,
    pub dscp: Dscp,
}

/// RFC 6349 section 3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtu {
    pub direction: Direction,
    pub mtu_bytes: u32,
    /// Larger packets than the path takes vanish without a word.
    pub black_hole: bool,
    pub probes: u64,
    pub by: ProbedBy,
}

/// RFC 6349 section 3.2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaselineRtt {
    pub rtt: RttSummary,
    pub sent: u64,
    pub answered: u64,
    pub by: ProbedBy,
}

/// First round trips, only to know how long to wait for the answers of the next steps.
///
/// # Errors
/// Where the testbed fails, and where nothing comes back.
pub fn rough_rtt(bed: &mut dyn Testbed, packets: Packets) -> Result<RttSummary, Abort> {
    let flow = tries(packets, Direction::Upload, SMALL_PACKET_BYTES, (10, INTERVAL));
    answers(bed, "reachability", flow, UNKNOWN_RTT)?.rtt.ok_or_else(|| {
        let text = "no UDP probe came back from the far end: open its UDP ports, \
                    or look for a firewall between the ends";
        Abort::Lost(text.into())
    })
}

/// Sends two small probes only, for `lasts`: the second one is due at the end, because a trial of probes is
/// over when all are answered.
pub(crate) fn pause(
    bed: &mut dyn Testbed,
    packets: Packets,
    rtt: Duration,
    lasts: Duration,
) -> Result<(), Abort> {
    rest(bed, packets, rtt, (2, lasts)).map(drop)
}

/// Small probes of a path that is to come to rest, or to stay there.
fn rest(
    bed: &mut dyn Testbed,
    packets: Packets,
    rtt: Duration,
    often: (u32, Duration),
) -> Result<Option<RttSummary>, Abort> {
    let flow = tries(packets, Direction::Upload, SMALL_PACKET_BYTES, often);
    Ok(answers(bed, "rest", flow, rtt)?.rtt)
}

/// Waits until what an overload has left in queues is gone: single probes are as fast as on the idle
/// path. After a few looks each takes longer, up to a second.
pub(crate) fn come_to_rest(
    bed: &mut dyn Testbed,
    packets: Packets,
    rtt: Duration,
) -> Result<(), Abort> {
    let idle = rtt * 3 / 2 + Duration::from_millis(2);
    for look in 0..REST_LOOKS_MAX {
        let interval = INTERVAL * (1 << look.saturating_sub(TRIES).min(DOUBLED_MAX));
        if rest(bed, packets, rtt, (3, interval))?.is_some_and(|seen| seen.min <= idle) {
            break;
        }
    }
    Ok(())
}

//= rfc6349 3.1
/// The largest packet that arrives whole in one direction, `limit_bytes` at most.
///
/// # Errors
/// Where the testbed fails, and where the path loses too much to tell.
pub fn path_mtu(
    bed: &mut dyn Testbed,
    packets: Packets,
    direction: Direction,
    limit_bytes: u32,
    rtt: Duration,
) -> Result<PathMtu, Abort> {
    // The packets that were answered just now, or what the family guarantees.
    let mut known_good = packets.family.min_mtu_bytes().max(SMALL_PACKET_BYTES);
    let mut sizes = Sizes {
        bed,
        packets,
        direction,
        rtt,
        probes: 0,
        by: ProbedBy::default(),
        are_told: false,
        inconclusive: 0,
    };
    let mtu_bytes = loop {
        let mtu_bytes = sizes.largest(known_good, limit_bytes)?;
        if mtu_bytes == limit_bytes || sizes.are_told || !sizes.one_more_passes(mtu_bytes)? {
            break mtu_bytes;
        }
        known_good = mtu_bytes + 1;
    };
    let Sizes { probes, by, are_told, .. } = sizes;
    Ok(PathMtu {
        direction,
        mtu_bytes,
        black_hole: mtu_bytes < limit_bytes && !are_told,
        probes,
        by,
    })
}

/// Packets of two sizes on the way in one direction, one of them known to pass.
struct Sizes<'a> {
    bed: &'a mut dyn Testbed,
    packets: Packets,
    direction: Direction,
    rtt: Duration,
    /// Packets that were sent of the larger of two sizes.
    probes: u64,
    by: ProbedBy,
    /// ICMP or the near end's own kernel said that a packet was too big.
    are_told: bool,
    inconclusive: u32,
}

impl Sizes<'_> {
    fn largest(&mut self, mut known_good: u32, limit_bytes: u32) -> Result<u32, Abort> {
        let mut search = MtuSearch::likely_sizes_first(known_good, limit_bytes);
        loop {
            let packet_bytes = match search.next() {
                MtuStep::Found(mtu_bytes) => return Ok(mtu_bytes),
                MtuStep::Probe(packet_bytes) => packet_bytes,
            };
            let reports = self.reports([packet_bytes, known_good], TRIES)?;
            let outcome = outcome_of(self.direction, &reports);
            match outcome {
                ProbeOutcome::Answered => known_good = packet_bytes,
                ProbeOutcome::TooLarge => {}
                ProbeOutcome::Inconclusive => self.count_inconclusive(known_good)?,
            }
            search.on_outcome(outcome);
        }
    }

    /// Whether packets one byte larger than those known to pass do so too. A queue that others keep full refuses
    /// large packets where it takes small ones, but hardly tells these two apart.
    fn one_more_passes(&mut self, known_good: u32) -> Result<bool, Abort> {
        let [mut sent, mut passed] = [0; 2];
        loop {
            let [more, known] = self.reports([known_good + 1, known_good], 2 * TRIES)?;
            sent += u64::from(2 * TRIES);
            passed += passed_of(self.direction, &known);
            let more_pass = passed_of(self.direction, &more) > 0;
            if !more_pass && (self.are_told || all_by_chance(sent, passed) <= libm::exp(-DECIDES)) {
                return Ok(false);
            }
            self.count_inconclusive(known_good)?;
            if more_pass {
                return Ok(true);
            }
        }
    }

    fn count_inconclusive(&mut self, known_good: u32) -> Result<(), Abort> {
        self.inconclusive += 1;
        if self.inconclusive <= INCONCLUSIVE_MAX {
            return Ok(());
        }
        Err(Abort::Lost(format!(
            "the path loses too many packets to find its MTU ({}): not even packets of {known_good} \
             bytes come through reliably",
            self.direction
        )))
    }

    /// Tries one size, with packets of a size known to pass in between: where those are lost as well,
    /// the loss says nothing about the size (RFC 4821 section 7.5).
    ///
    /// Where that was inconclusive, one after the other: a queue or a bucket with room for one packet takes the
    /// first of two. Each time with twice the time between two packets, until what one took is there again.
    fn reports(&mut self, sizes: [u32; 2], count: u32) -> Result<[ProbesReport; 2], Abort> {
        let Self { packets, direction, rtt, .. } = *self;
        let interval = INTERVAL * (1 << self.inconclusive.min(DOUBLED_MAX));
        let flow = |size| tries(packets, direction, size, (count, interval));
        let reports = if self.inconclusive == 0 {
            let name = format!("path MTU, {direction}: {} bytes", sizes[0]);
            let trial = probe_trial(&name, sizes.map(flow).into(), rtt);
            let seen = self.bed.run(&trial)?;
            let reports = reports(&trial, &seen, FlowReport::probes)?;
            [reports[0].clone(), reports[1].clone()]
        } else {
            let mut alone = |size| {
                let name = format!("path MTU, {direction}: {size} bytes alone");
                answers(self.bed, &name, flow(size), rtt)
            };
            [alone(sizes[0])?, alone(sizes[1])?]
        };
        let tried = &reports[0];
        self.probes += tried.sent;
        self.by = tried.by;
        self.are_told |= tried.too_big_answers > 0 || tried.refused > 0;
        Ok(reports)
    }
}

/// Fisher's exact test: how likely it is that `passed` of `sent` packets of one size pass and none of as many of
/// another, where both pass alike.
fn all_by_chance(sent: u64, passed: u64) -> f64 {
    (0..passed.min(sent))
        .map(|before| (sent - before) as f64 / (2 * sent - before) as f64)
        .product()
}

/// Probes of a size, with small answers.
fn tries(
    packets: Packets,
    direction: Direction,
    packet_bytes: u32,
    (count, interval): (u32, Duration),
) -> FlowSpec {
    let Packets { family, dscp } = packets;
    let load = ProbesLoad { packet_bytes, answer_bytes: SMALL_PACKET_BYTES, count, interval };
    FlowSpec::new(direction, family, dscp, Load::Probes(load))
}

/// What came of a trial of one flow of probes.
fn answers(
    bed: &mut dyn Testbed,
    name: &str,
    flow: FlowSpec,
    rtt: Duration,
) -> Result<ProbesReport, Abort> {
    let trial = probe_trial(name, vec![flow], rtt);
    let seen = bed.run(&trial)?;
    Ok(reports(&trial, &seen, FlowReport::probes)?[0].clone())
}

fn passed_of(direction: Direction, report: &ProbesReport) -> u64 {
    match direction {
        Direction::Upload => report.arrived.max(report.answered),
        Direction::Download => report.answered,
    }
}

/// What became of packets of a size, and of those that are known to pass.
fn outcome_of(direction: Direction, [tried, known]: &[ProbesReport; 2]) -> ProbeOutcome {
    if passed_of(direction, tried) > 0 {
        ProbeOutcome::Answered
    } else if passed_of(direction, known) >= u64::from(TRIES) / 2 || tried.refused > 0 {
        ProbeOutcome::TooLarge
    } else {
        ProbeOutcome::Inconclusive
    }
}

//= rfc6349 3.2.1
/// The smallest round trip on the idle path.
///
/// # Errors
/// Where the testbed fails, and where nothing comes back.
pub fn baseline_rtt(
    bed: &mut dyn Testbed,
    packets: Packets,
    rough: Duration,
) -> Result<BaselineRtt, Abort> {
    let often = (100, Duration::from_millis(20));
    let flow = tries(packets, Direction::Upload, SMALL_PACKET_BYTES, often);
    let report = answers(bed, "baseline RTT", flow, rough)?;
    let Some(rtt) = report.rtt else {
        return Err(Abort::Lost("no probe of the baseline RTT came back".into()));
    };
    Ok(BaselineRtt { rtt, sent: report.sent, answered: report.answered, by: report.by })
}

/// How much longer packets of `packet_bytes` take in one direction than small ones, whose round trips are
/// `idle`: what all lines of the path take for the bytes that are more, one line after the other. `None`
/// where that hides it: of round trips from a to b, evenly jittered in both directions, means of 50 and of
/// 100 differ by 3 (b - a) / (2 √6) √(1/50 + 1/100), a ninth of b - a, in one of 400 cases. No packet waits
/// for another, as far as it is known how long one takes on the slowest line.
pub(crate) fn time_of_more_bytes(
    bed: &mut dyn Testbed,
    packets: Packets,
    direction: Direction,
    (packet_bytes, on_the_slowest): (u32, Duration),
    idle: &RttSummary,
) -> Result<Option<Duration>, Abort> {
    let interval = (INTERVAL + on_the_slowest).min(INTERVAL * (1 << DOUBLED_MAX));
    let flow = tries(packets, direction, packet_bytes, (LARGE_PROBES, interval));
    let report = answers(bed, &format!("large packets, {direction}"), flow, idle.max)?;
    let longer = report.rtt.map(|rtt| rtt.mean.saturating_sub(idle.mean));
    let hidden = idle.max.saturating_sub(idle.min).mul_f64(HIDDEN);
    Ok(longer.filter(|longer| *longer > hidden))
}

fn probe_trial(name: &str, flows: Vec<FlowSpec>, rtt: Duration) -> Trial {
    let lasts = |flow: &FlowSpec| match &flow.load {
        Load::Probes(load) => load.interval * load.count,
        Load::Frames(_) | Load::Bursts(_) | Load::Tcp(_) | Load::Connections(_) => Duration::ZERO,
    };
    let steady = flows.iter().map(lasts).max().unwrap_or_default();
    // RFC 8899 section 5.1.1 waits a second and more; a tester that knows the round trip need not.
    let timing = Timing { warm_up: Duration::ZERO, steady, settle: settle(rtt) };
    Trial { name: name.into(), flows, timing }
}

/// Time for late packets to arrive and for the path to fall idle.
pub(crate) fn settle(rtt: Duration) -> Duration {
    rtt * 3 / 2 + Duration::from_millis(100)
}

#[cfg(test)]
mod tests;
