//! RFC 2544: benchmarks of a network by its frames, with RFC 9004's bursts and RFC 9971's search.
//!
//! Frames are offered at searched rates per frame length. Back-to-back is a single burst of growing
//! length.

mod back_to_back;
mod frame_loss;
mod headline;
mod inferred;
mod latency;
mod line;
mod offer;
mod plan;
mod recovery;
mod steps;
mod throughput;
mod time_needed;
mod unmeasured;
mod verdict;

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, Observation, Testbed, Trial};

use crate::definition::{Definition, Method, every};
pub use crate::mlr::{Goal, GoalResult};
use crate::path::{self, Packets};
use crate::sanity::SanityChecked;
pub use crate::search::SearchKind;
use crate::tester::observed;
use line::Line;
pub use plan::{Criteria, Durations, LeastThroughput, Plan, Test, Threshold, Way};
pub use steps::{
    BACK_TO_BACK, BackToBack, BurstFigures, DelayClock, FRAME_LOSS, FrameLoss, FrameRate, LATENCY,
    LINE_RATE, Latency, Limit, LineRate, LineSource, RECOVERY, Recovery, Report, Skipped, Step,
    THROUGHPUT, Throughput, TrialRow,
};
pub use time_needed::time_needed;

/// What everybody must know who uses these tests: RFC 6815.
//= rfc6815 5
pub const APPLICABILITY: &str = "\
RFC 2544 is for isolated test environments (RFC 6815): its tests load a network to the point of \
loss and must not be run over networks that carry anybody's traffic. They validate no CIR and no \
service level; ITU-T Y.1564 is made for that.";

pub static METHOD: Definition<Plan, Step> = Definition {
    method: Method {
        name: "rfc2544",
        command: "rfc2544",
        title: "Benchmark (RFC 2544)",
        kinds: &[
            &path::PATH_MTU.kind,
            &path::BASELINE_RTT.kind,
            &LINE_RATE.kind,
            &THROUGHPUT.kind,
            &LATENCY.kind,
            &FRAME_LOSS.kind,
            &BACK_TO_BACK.kind,
            &RECOVERY.kind,
        ],
        note: APPLICABILITY,
        shown: every,
        headline: headline::headline,
        sentence: |found| headline::headline(found.steps).map(|one| one.named()),
        figure: |_| None,
    },
    run,
    row: Step::row,
    is_met: |plan, report, place| verdict::is_met(plan, &report.steps, place),
};

/// Runs the tests of the plan, length by length; the later ones need the throughput.
///
/// The report always comes back, with as many steps as were finished; the second part says why
/// there are no more, if there are none.
pub fn run(plan: &Plan, bed: &mut dyn Testbed) -> (Report, Result<(), Abort>) {
    let mut bed = SanityChecked::over(bed).repeating_outages();
    let mut run = Run {
        plan,
        bed: &mut bed,
        report: Report::default(),
        rtt: Duration::ZERO,
        queue: Duration::ZERO,
        health: Health::default(),
    };
    let end = steps(&mut run);
    let Run { mut report, health, .. } = run;
    report.deviations = verdict::deviations(plan, &report.steps);
    report.checks = verdict::checks(&health);
    report.verdict = verdict::judge(plan, &report, end.as_ref().err());
    report.verdict.reasons.extend(bed.remarked());
    report.heed_unmeasured(unmeasured::criteria(plan, &report.steps));
    bed.conclude(&mut report);
    (report, end)
}

fn steps(run: &mut Run<'_>) -> Result<(), Abort> {
    let packets = Packets { family: run.plan.family, dscp: run.plan.dscp };
    let rough_rtt = path::rough_rtt(run, packets)?.max;
    let mtu_bytes = path_mtu(run, packets, rough_rtt)?;
    let baseline = path::baseline_rtt(run, packets, rough_rtt)?;
    run.report.steps.push(Step::BaselineRtt(baseline));
    run.rtt = baseline.rtt.min;
    let lengths = frame_lengths(run.plan, mtu_bytes);
    for way in run.plan.ways.clone() {
        let line = line::find(run, way, mtu_bytes)?;
        tests(run, way, line, &lengths)?;
        let too_long = run.plan.too_long(mtu_bytes).into_iter();
        let rows = too_long.map(|bytes| Step::Throughput(throughput::too_long(way, line, bytes)));
        run.report.steps.extend(rows);
    }
    Ok(())
}

/// The path MTU of each direction that is used; the smaller of the two.
fn path_mtu(run: &mut Run<'_>, packets: Packets, rtt: Duration) -> Result<u32, Abort> {
    let limit_bytes = run.plan.interface_mtu_bytes;
    let mut smaller = limit_bytes;
    for direction in line::directions(&run.plan.ways) {
        let mtu = path::path_mtu(run, packets, direction, limit_bytes, rtt)?;
        run.report.steps.push(Step::PathMtu(mtu));
        smaller = smaller.min(mtu.mtu_bytes);
    }
    Ok(smaller)
}

//= rfc2544 9.1
/// The plan's lengths that the path takes, and the longest that it takes, from short to long.
fn frame_lengths(plan: &Plan, mtu_bytes: u32) -> Vec<u32> {
    let longest = plan.longest_frame_bytes(mtu_bytes);
    let mut lengths = plan.frame_lengths_bytes.clone();
    lengths.retain(|bytes| *bytes <= longest);
    if plan.path_mtu_row {
        lengths.push(longest);
    }
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

/// All tests of one way.
fn tests(run: &mut Run<'_>, way: Way, line: Line, lengths: &[u32]) -> Result<(), Abort> {
    let asked = run.plan.tests.clone();
    let needs_throughput = asked.iter().any(|test| *test != Test::FrameLoss);
    let mut throughputs = Vec::new();
    if needs_throughput && let Some(longest) = lengths.last() {
        let looked = inferred::look(run, way, line, *longest)?;
        for frame_bytes in lengths {
            let found = throughput::throughput(run, (way, &looked), line, *frame_bytes)?;
            run.report.steps.push(Step::Throughput(found.clone()));
            throughputs.push(found);
        }
    }
    if asked.contains(&Test::Latency) {
        for found in throughputs.iter().filter_map(|throughput| throughput.found) {
            latency::latency(run, way, found)?;
        }
    }
    if asked.contains(&Test::FrameLoss) {
        for frame_bytes in lengths {
            frame_loss::frame_loss(run, way, line, *frame_bytes)?;
        }
    }
    if asked.contains(&Test::BackToBack) {
        for throughput in &throughputs {
            back_to_back::back_to_back(run, way, throughput)?;
        }
    }
    if asked.contains(&Test::Recovery) {
        for throughput in &throughputs {
            recovery::recovery(run, way, line, throughput)?;
        }
    }
    Ok(())
}

/// A run under way.
struct Run<'a> {
    plan: &'a Plan,
    bed: &'a mut dyn Testbed,
    report: Report,
    /// On the idle path.
    rtt: Duration,
    /// What is waited more for late frames, because frames were seen to wait in the network.
    queue: Duration,
    health: Health,
}

impl Testbed for Run<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        observed(self.bed, trial)
    }
}

impl Run<'_> {
    fn come_to_rest(&mut self) -> Result<(), Abort> {
        let packets = Packets { family: self.plan.family, dscp: self.plan.dscp };
        let rtt = self.rtt;
        path::come_to_rest(self, packets, rtt)
    }

    /// Time for late frames, those that queues held included, to arrive.
    fn settle(&self) -> Duration {
        self.rtt * 3 / 2 + self.queue + self.plan.durations.settle
    }
}

/// What the ends said against themselves.
#[derive(Debug, Default)]
struct Health {
    /// Trials that said nothing of the network, however often they were tried.
    spoilt_trials: u32,
    /// Trials tried again.
    repeats: u32,
    trials: u32,
}
