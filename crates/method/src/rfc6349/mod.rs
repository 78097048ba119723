//! RFC 6349: TCP throughput of a managed IP path.

mod bottleneck;
mod headline;
mod ideal;
mod plan;
mod standing;
mod steady;
mod steps;
mod tcp_steps;
mod throughput;
mod unmeasured;
mod verdict;
mod windows;

use core::time::Duration;

use fp_model::{Abort, Direction, Observation, Testbed, Trial};

use crate::definition::{Definition, Method, every};
use crate::infer::offers::{Counts, Offers};
use crate::path::{self, Packets, settle};
pub use crate::path::{BaselineRtt, PathMtu};
use crate::sanity::SanityChecked;
use crate::tester::observed;
pub use headline::{path_has, too_shallow};
pub use plan::{Plan, Senders, Thresholds, Windows};
pub use steady::Settled;
pub use steps::{
    BOTTLENECK, Bottleneck, Connection, Judged, LimitKind, Report, Role, Source, Step, TCP, TcpStep,
};

pub static METHOD: Definition<Plan, Step> = Definition {
    method: Method {
        name: "rfc6349",
        command: "test",
        title: "TCP throughput test (RFC 6349)",
        kinds: &[&path::PATH_MTU.kind, &path::BASELINE_RTT.kind, &BOTTLENECK.kind, &TCP.kind],
        note: "",
        shown: every,
        headline: headline::headline,
        sentence: headline::sentence,
        figure: headline::figure,
    },
    run,
    row: Step::row,
    is_met: |plan, report, place| verdict::is_met(plan, &report.steps, place),
};

/// Runs the three steps of section 3 in order; each needs what the ones before have found.
///
/// The report always comes back, with as many steps as were finished; the second part says why
/// there are no more, if there are none.
pub fn run(plan: &Plan, bed: &mut dyn Testbed) -> (Report, Result<(), Abort>) {
    let mut bed = SanityChecked::over(bed).repeating_outages();
    let (report, health) = (Report::default(), Health::default());
    let mut run = Run { plan, bed: &mut bed, report, health };
    let end = steps(&mut run);
    let Run { mut report, health, .. } = run;
    report.deviations = verdict::deviations(plan, &report.steps);
    report.checks = verdict::checks(&report.steps, &health);
    report.verdict = verdict::judge(plan, &report.steps, &report.checks, end.as_ref().err());
    report.verdict.reasons.extend(bed.remarked());
    unmeasured::heed_half(&mut report.verdict, &report.steps);
    report.heed_unmeasured(unmeasured::criteria(plan, &report.steps));
    bed.conclude(&mut report);
    (report, end)
}

//= rfc6349 3
fn steps(run: &mut Run<'_>) -> Result<(), Abort> {
    let packets = Packets { family: run.plan.family, dscp: run.plan.dscp };
    let rough_rtt = path::rough_rtt(run, packets)?.max;
    let path_mtu = smaller_mtu(run, packets, rough_rtt)?;
    let baseline = path::baseline_rtt(run, packets, rough_rtt)?;
    run.report.steps.push(Step::BaselineRtt(baseline));
    let baseline_rtt = baseline.rtt.min;
    let limits = Limits {
        download: bottleneck::find(run, Direction::Download, path_mtu, baseline_rtt)?,
        upload: bottleneck::find(run, Direction::Upload, path_mtu, baseline_rtt)?,
    };
    let more_times = [Duration::ZERO; 2];
    let idle_rtt = baseline.rtt;
    let mut path = windows::Path { mtu_bytes: path_mtu, idle_rtt, limits: &limits, more_times };
    for (place, direction) in [Direction::Download, Direction::Upload].into_iter().enumerate() {
        if path.is_short(run.plan, direction) {
            let slowest = limits.of(direction);
            let full = (path_mtu, slowest.time_for(&slowest.packet));
            let more = path::time_of_more_bytes(run, packets, direction, full, &idle_rtt)?;
            path.more_times[place] = more.unwrap_or_default();
        }
    }
    throughput::walk_the_window(run, &path)?;
    throughput::throughput(run, &path)
}

//= rfc6349 3.1
/// Step 1: the path MTU of each direction; the smaller of the two.
fn smaller_mtu(run: &mut Run<'_>, packets: Packets, rtt: Duration) -> Result<u32, Abort> {
    let limit_bytes = run.plan.interface_mtu_bytes;
    let download = path::path_mtu(run, packets, Direction::Download, limit_bytes, rtt)?;
    let upload = path::path_mtu(run, packets, Direction::Upload, limit_bytes, rtt)?;
    run.report.steps.extend([download, upload].map(Step::PathMtu));
    Ok(download.mtu_bytes.min(upload.mtu_bytes))
}

/// A run under way.
struct Run<'a> {
    plan: &'a Plan,
    bed: &'a mut dyn Testbed,
    report: Report,
    health: Health,
}

/// The testbed, with a look at what it says against itself.
impl Testbed for Run<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let seen = self.beyond_the_tester(trial)?;
        self.health.add(&seen);
        Ok(seen)
    }
}

impl Run<'_> {
    /// Runs a trial that may need more than the tester can send, so that its self-checks are not counted.
    fn beyond_the_tester(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        observed(self.bed, trial)
    }
}

impl Offers for Run<'_> {
    fn offer(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        self.beyond_the_tester(trial)
    }

    fn count(&mut self, frames: Counts) {
        self.health.add_stream(frames);
    }
}

/// The bottleneck of each direction.
struct Limits {
    download: Bottleneck,
    upload: Bottleneck,
}

impl Limits {
    const fn of(&self, direction: Direction) -> &Bottleneck {
        match direction {
            Direction::Download => &self.download,
            Direction::Upload => &self.upload,
        }
    }
}

/// What both ends said against themselves, the worst of all trials.
#[derive(Debug, Default)]
struct Health {
    longest_stall: Duration,
    frames_planned: u64,
    frames_unsent: u64,
    frames_received: u64,
    /// By the ends themselves.
    frames_dropped: u64,
    /// The trial that an emulated network spoilt most, if it did.
    late: Option<Late>,
}

/// A trial that carried too little over an emulated network that was late.
#[derive(Clone, Copy, Debug)]
struct Late {
    /// Of 99 of 100 packets at most.
    p99: Duration,
    /// With which what is missing is not explained.
    limit: Duration,
}

impl Health {
    fn add_late(&mut self, late: Late) {
        let most = self.late.filter(|most| most.p99 >= late.p99);
        self.late = Some(most.unwrap_or(late));
    }

    fn add(&mut self, seen: &Observation) {
        self.longest_stall = self.longest_stall.max(seen.longest_stall());
    }

    /// Counts a stream that the ends should have been able to send and receive.
    fn add_stream(&mut self, Counts { planned, sent, received, dropped }: Counts) {
        self.frames_dropped += dropped;
        self.frames_planned += planned;
        self.frames_unsent += planned.saturating_sub(sent);
        self.frames_received += received;
    }
}
