//! Bursts against a policer: the CBS test, the policing test and the discovery of an unknown one.
//!
//! The CBS test sends bursts of the CBS. The policing test sends about twice the CBS after a pause
//! that fills the bucket. Discovery sends trains that empty a full bucket, at two frame lengths; the other
//! two tests begin with it.

mod arithmetic;
mod arrivals;
mod cbs;
pub(crate) mod discovery;
mod first;
mod headline;
mod plan;
mod policing;
mod port;
mod steps;
mod verdict;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, BurstsLoad, BurstsReport, Direction, Emulation, FlowReport, FlowSpec, Load, Rate,
    Testbed, Timing, Trial,
};

use crate::definition::{Definition, Method, every};
pub use crate::path::PathMtu;
use crate::path::{self, Packets, settle};
use crate::sanity::SanityChecked;
use crate::tester::reports;
use crate::verdict::Status;
pub use arithmetic::{
    CbsPlan, FluidBurst, FrameBurst, FrameBurstOutcome, OverloadTrial, Policer, block_count,
    cbs_for_window, cbs_plan, cir_of_goodput, fluid_burst, frame_burst, policer_of,
    rate_found_behind, tokens_after_idle,
};
use first::First;
pub use plan::{Goal, Plan, PlanError, Ways};
use port::Port;
pub(crate) use steps::ON_THE_LINE;
pub use steps::{
    Alone, BurstTimes, CBS, CbsStep, Charge, DISCOVERY, Discovered, Discovery, Flaw, LINE, Line,
    POLICING, Passed, PolicingStep, RATE, RateStep, Report, SecondBucket, Step, Together,
};

/// What every Ethernet carries.
const FULL_FRAME_BYTES: u32 = 1518;
/// Frames that a bucket holds of which at least some pass, should it be smaller than configured.
const HELD_FRAMES: u64 = 4;

pub static METHOD: Definition<Plan, Step> = Definition {
    method: Method {
        name: "burst",
        command: "burst",
        title: "Burst test of a policer (CIR and CBS)",
        kinds: &[
            &path::PATH_MTU.kind,
            &LINE.kind,
            &RATE.kind,
            &DISCOVERY.kind,
            &CBS.kind,
            &POLICING.kind,
        ],
        note: "",
        shown: every,
        headline: headline::headline,
        sentence: headline::sentence,
        figure: headline::figure,
    },
    run,
    row: Step::row,
    is_met: |_, _, _| None,
};

/// Runs what the plan asks for, one way after the other or both at once.
///
/// The report always comes back, with as many steps as were finished; the second part says why
/// there are no more, if there are none.
pub fn run(plan: &Plan, bed: &mut dyn Testbed) -> (Report, Result<(), Abort>) {
    let (rtt, uneven, report) = (Duration::ZERO, Duration::ZERO, Report::default());
    let mut bed = SanityChecked::over(bed).repeating_outages();
    let mut run = Run { plan, bed: &mut bed, rtt, uneven, health: Health::default(), report };
    let end = steps(&mut run);
    let Run { mut report, health, .. } = run;
    report.deviations.sort();
    report.deviations.dedup();
    report.checks = verdict::checks(&report.steps, &health);
    report.verdict = verdict::judge(plan, &report.steps, &report.checks, end.as_ref().err());
    report.verdict.reasons.extend(bed.remarked());
    heed_undecided(&mut report);
    report.heed_unmeasured(untested(plan, &report.steps));
    bed.conclude(&mut report);
    (report, end)
}

/// Frame lengths that somebody chose and that were not sent, each a sentence. Of those that are tested
/// unless somebody chooses, the ones that fit are enough.
fn untested(plan: &Plan, steps: &[Step]) -> Vec<String> {
    let by_default = Plan::new(plan.family, plan.interface_mtu_bytes, plan.goal).frame_bytes;
    let mtu_bytes = steps.iter().filter_map(|step| match step {
        Step::PathMtu(mtu) => Some(mtu.mtu_bytes),
        Step::Line(_) | Step::Cbs(_) | Step::Rate(_) | Step::Policing(_) | Step::Discovery(_) => {
            None
        }
    });
    let Some(mtu_bytes) = mtu_bytes.min() else { return Vec::new() };
    if plan.frame_bytes == by_default || plan.goal == Goal::Discover {
        return Vec::new();
    }
    let longer = plan.frame_bytes.iter().filter(|bytes| **bytes > mtu_bytes + plan.framing_bytes());
    let said = longer.map(|bytes| {
        format!(
            "no bursts of frames of {bytes} bytes were sent, because the path carries packets of up to \
             {mtu_bytes}: choose other lengths with --frames"
        )
    });
    said.collect()
}

/// A bucket whose bounds lie on both sides of what is tolerated passes nothing.
fn heed_undecided(report: &mut Report) {
    let is_undecided = |step: &Step| match step {
        Step::Policing(step) => step.flaw.is_none() && step.pass.is_none(),
        Step::Rate(step) => step.pass.is_none(),
        Step::PathMtu(_) | Step::Line(_) | Step::Cbs(_) | Step::Discovery(_) => false,
    };
    let is_sound = matches!(report.verdict.status, Status::Pass | Status::Info);
    if is_sound && report.steps.iter().any(is_undecided) {
        report.verdict.status = Status::Inconclusive;
    }
}

fn steps(run: &mut Run<'_>) -> Result<(), Abort> {
    let packets = Packets { family: run.plan.family, dscp: run.plan.dscp };
    let rtts = path::rough_rtt(run.bed, packets)?;
    (run.rtt, run.uneven) = (rtts.max, rtts.max - rtts.min);
    for directions in run.plan.ways.rounds() {
        let lengths = lengths(run, packets, directions)?;
        match run.plan.goal {
            Goal::Verify { .. } => {
                let lines = port::lines(run, directions, lengths.measuring)?;
                let looked = policed_ports(run, lines, &lengths)?;
                if looked.is_empty() {
                    continue;
                }
                for frame_bytes in &lengths.tested {
                    cbs::test(run, &looked, *frame_bytes)?;
                }
                for (port, first) in &looked {
                    first.say(run, port.direction, lengths.measuring, looked.len() > 1);
                }
                for frame_bytes in &lengths.tested {
                    policing::test(run, &looked, *frame_bytes)?;
                }
            }
            Goal::Discover => {
                for direction in *directions {
                    discovery::discover(run, *direction, &lengths)?;
                }
            }
        }
    }
    Ok(())
}

/// Looks at each direction, and keeps those where a policer cannot be excluded: of the others it is
/// said that there is none.
fn policed_ports(
    run: &mut Run<'_>,
    lines: Vec<Port>,
    lengths: &Lengths,
) -> Result<Vec<(Port, First)>, Abort> {
    let is_both = lines.len() > 1;
    let mut kept = Vec::new();
    for mut port in lines {
        let first = first::look(run, &mut port, lengths)?;
        if matches!(first, First::NoPolicer(_)) {
            first.say(run, port.direction, lengths.measuring, is_both);
        } else {
            kept.push((port, first));
        }
    }
    expect_room(run.plan, &kept)?;
    Ok(kept)
}

/// A CIR that no burst can exceed cannot be tested.
fn expect_room(plan: &Plan, looked: &[(Port, First)]) -> Result<(), Abort> {
    let slowest = looked.iter().map(|(port, _)| port.fastest_l1()).min();
    // A line is measured a little slow by bursts that begin late.
    let slowest = slowest.map(|rate| Rate::bps((rate.as_bps() as f64 * 1.01) as u64));
    plan.check(slowest).map_err(|error| Abort::Testbed(error.to_string()))
}

/// A run under way.
struct Run<'a> {
    plan: &'a Plan,
    bed: &'a mut dyn Testbed,
    rtt: Duration,
    /// From the shortest round trip to the longest: delays of frames differ by about as much.
    uneven: Duration,
    health: Health,
    report: Report,
}

/// What the ends said against themselves in all trials.
#[derive(Debug, Default)]
struct Health {
    arrived_frames: u64,
    /// By the ends themselves.
    dropped_frames: u64,
}

/// Frame lengths that the path carries.
struct Lengths {
    tested: Vec<u32>,
    longest: u32,
    /// Of the frames that show the line and the refill.
    measuring: u32,
}

/// The plan's frame lengths, those that cannot be sent replaced by the shortest that can, those that
/// the path does not carry left out; each change is said.
fn lengths(
    run: &mut Run<'_>,
    packets: Packets,
    directions: &[Direction],
) -> Result<Lengths, Abort> {
    let limit_bytes = run.plan.interface_mtu_bytes;
    let mut mtu_bytes = limit_bytes;
    for direction in directions {
        let mtu = path::path_mtu(run.bed, packets, *direction, limit_bytes, run.rtt)?;
        run.report.steps.push(Step::PathMtu(mtu));
        mtu_bytes = mtu_bytes.min(mtu.mtu_bytes);
    }
    let (least, most) = (run.plan.shortest_frame(), mtu_bytes + run.plan.framing_bytes());
    let mut tested = Vec::new();
    for asked in run.plan.frame_bytes.iter().copied() {
        let frame_bytes = asked.max(least);
        if frame_bytes > asked {
            run.report.deviations.push(format!(
                "frames of {least} bytes instead of {asked}: with these headers none is shorter"
            ));
        }
        if frame_bytes > most {
            run.report.deviations.push(format!(
                "no frames of {asked} bytes: the path carries packets of up to {mtu_bytes}"
            ));
        } else if !tested.contains(&frame_bytes) {
            tested.push(frame_bytes);
        }
    }
    match tested.iter().copied().max() {
        Some(longest) => {
            let measuring = measuring_frames(&run.plan.goal, longest, most);
            Ok(Lengths { tested, longest, measuring })
        }
        None => Err(Abort::Testbed(format!(
            "none of the frame lengths fits the path, which carries packets of up to {mtu_bytes} \
             bytes: choose others with --frames"
        ))),
    }
}

/// Long frames show line and refill, also where short ones are tested: a host that cannot send
/// these as fast as the line is would be taken for it. The bucket must hold several of them.
fn measuring_frames(goal: &Goal, longest_tested: u32, most: u32) -> u32 {
    let Goal::Verify { cbs_bytes, .. } = *goal else { return longest_tested };
    let held = u32::try_from(cbs_bytes / HELD_FRAMES).unwrap_or(u32::MAX);
    most.min(held).min(FULL_FRAME_BYTES).max(longest_tested)
}

/// Bursts of one direction in a trial.
#[derive(Clone, Copy, Debug)]
struct Offer {
    direction: Direction,
    load: BurstsLoad,
}

/// What became of the bursts of one direction.
struct Seen {
    report: BurstsReport,
    /// As planned.
    frames_per_burst: u32,
    /// By the ends themselves, in all directions of the trial.
    dropped_frames: u64,
    /// What an emulated network reports of its own faults.
    emulation: Emulation,
}

impl Seen {
    /// Whether bursts were not sent as planned, or an end dropped of them.
    fn spoilt(&self) -> Option<Flaw> {
        let bursts = &self.report.bursts;
        let sent: u64 = bursts.iter().map(|burst| u64::from(burst.sent_frames)).sum();
        if sent < u64::from(self.report.planned_bursts) * u64::from(self.frames_per_burst) {
            return Some(Flaw::FramesUnsent);
        }
        (self.dropped_frames > 0).then_some(Flaw::FramesDropped)
    }
}

impl Run<'_> {
    /// Offers bursts in all directions at once, after `idle` has filled every bucket.
    fn bursts(
        &mut self,
        name: String,
        offers: &[Offer],
        idle: Duration,
    ) -> Result<Vec<Seen>, Abort> {
        let Plan { family, dscp, vlan_tags, .. } = *self.plan;
        let flow = |offer: &Offer| FlowSpec {
            vlan_tags,
            ..FlowSpec::new(offer.direction, family, dscp, Load::Bursts(offer.load))
        };
        let steady = offers.iter().map(|offer| offer.load.lasts()).max();
        let timing =
            Timing { warm_up: idle, steady: steady.unwrap_or_default(), settle: settle(self.rtt) };
        let trial = Trial { name, flows: offers.iter().map(flow).collect(), timing };
        let seen = self.bed.run(&trial)?;
        let dropped_frames = seen.dropped_packets();
        let reports = reports(&trial, &seen, FlowReport::bursts)?;
        self.health.dropped_frames += dropped_frames;
        self.health.arrived_frames += reports.iter().map(|seen| arrived_frames(seen)).sum::<u64>();
        let emulation = seen.emulation.unwrap_or_default();
        let seen = |(report, offer): (&BurstsReport, &Offer)| {
            let frames_per_burst = offer.load.frames_per_burst;
            Seen { report: report.clone(), frames_per_burst, dropped_frames, emulation }
        };
        Ok(reports.into_iter().zip(offers).map(seen).collect())
    }
}

fn arrived_frames(report: &BurstsReport) -> u64 {
    report.bursts.iter().map(|burst| u64::from(burst.received_frames)).sum()
}

/// The middle one of `values`; `None` of none.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
