//! Paced frames from end to end across emulated networks, against what the network did.

use std::time::Duration;

use fp_engine::lab::{LabTruth, Privileges};
use fp_engine::near::LiveTestbed;
use fp_model::{
    Direction, Dscp, DscpCount, Family, FlowReport, FlowSpec, FrameSizes, FramesLoad, FramesReport,
    Load, Observation, Pace, ProbesLoad, Rate, Testbed as _, Timing, Trial,
};
use fp_net::link::{Tally, Truth};
use fp_net::path::{LinkSpec, LossSpec, Probability};

use crate::across::Across;
use crate::harness::expect_faithful;

const LINE: Rate = Rate::mbps(1000);
const DELAY: Duration = Duration::from_millis(10);
/// Each flow begins with a few datagrams that prove its address, and each of them may be lost.
const PROOFS_MAX: u64 = 10;

/// Expedited forwarding, assured forwarding and one more, each with lengths and a rate of its own:
/// 1,800 frames a second, which leaves a small host time.
fn services() -> [(u8, FrameSizes, Rate); 3] {
    let mix = FrameSizes::new(vec![84, 84, 84, 570, 570, 1518]).unwrap();
    [
        (46, FrameSizes::fixed(512), Rate::mbps(2)),
        (26, mix, Rate::mbps(3)),
        (10, FrameSizes::fixed(1518), Rate::mbps(6)),
    ]
}

pub(crate) fn three_services_each_way_beside_probes_are_counted_one_by_one(privileges: Privileges) {
    let link = LinkSpec {
        line_rate: Some(LINE),
        delay: DELAY,
        loss: Some(LossSpec::Every(20)),
        ..LinkSpec::default()
    };
    for family in [Family::Ipv4, Family::Ipv6] {
        let across = Across::start(privileges, &link);
        let trial = trial(family);
        let observation = run(&mut across.connect(family), &trial);
        let truth = across.lab.truth().unwrap();
        expect_faithful(&truth);
        let frames_flows = trial.flows.iter().zip(&observation.flows);
        for (spec, report) in frames_flows {
            match (&spec.load, report) {
                (Load::Frames(load), FlowReport::Frames(report)) => {
                    check_counts(spec, report, &load.sizes);
                    check_against(truth_of(&truth, spec), report);
                    check_times(report);
                }
                (Load::Probes(load), FlowReport::Probes(report)) => {
                    assert_eq!(report.sent, u64::from(load.count));
                    // One frame of twenty is lost each way, whosever it is.
                    assert!(report.answered >= report.sent * 7 / 10, "{report:?}");
                    let mean = report.rtt.unwrap().mean;
                    assert!((2 * DELAY..4 * DELAY).contains(&mean), "{report:?}");
                }
                _ => panic!("another kind of report: {report:?}"),
            }
        }
    }
}

fn trial(family: Family) -> Trial {
    let both_ways = [Direction::Download, Direction::Upload];
    let service = |direction| {
        services().map(|(code_point, sizes, rate)| {
            let load = Load::Frames(FramesLoad::new(sizes, Pace::Constant { rate }));
            let dscp = Dscp::new(code_point).unwrap();
            FlowSpec::new(direction, family, dscp, load)
        })
    };
    let probes = |direction| {
        let interval = Duration::from_millis(20);
        let load = ProbesLoad { packet_bytes: 100, answer_bytes: 100, count: 100, interval };
        let dscp = Dscp::BEST_EFFORT;
        FlowSpec::new(direction, family, dscp, Load::Probes(load))
    };
    let flows = both_ways.into_iter().flat_map(service).chain(both_ways.map(probes)).collect();
    let timing = Timing {
        warm_up: Duration::ZERO,
        steady: Duration::from_secs(2),
        settle: Duration::from_secs(1),
    };
    Trial { name: "under test".into(), flows, timing }
}

fn run(bed: &mut LiveTestbed, trial: &Trial) -> Observation {
    let observation = bed.run(trial).unwrap();
    assert_eq!(observation.near.dropped_packets + observation.far.dropped_packets, 0);
    assert_eq!(observation.flows.len(), trial.flows.len());
    observation
}

fn truth_of(truth: &LabTruth, spec: &FlowSpec) -> Tally {
    let way: &Truth = match spec.direction {
        Direction::Upload => &truth.near_to_far.links,
        Direction::Download => &truth.far_to_near.links,
    };
    way.by_dscp[&spec.dscp.code_point()]
}

/// Everything that is said of a flow adds up.
fn check_counts(spec: &FlowSpec, report: &FramesReport, sizes: &FrameSizes) {
    let lost = report.sent_frames - report.received_frames;
    assert!(report.sent_frames > 0 && report.sent_frames <= report.planned_frames, "{report:?}");
    assert_eq!(
        report.lossy_seconds.iter().flatten().map(|second| second.lost_frames).sum::<u64>(),
        lost
    );
    // Every twentieth frame of all flows together is lost, so never two of a flow in a row.
    let runs = (Some(lost), Some(u64::from(lost > 0)));
    assert_eq!((report.loss_events, report.longest_loss_run), runs);
    assert_eq!(report.duplicate_frames, Some(0));
    let series = |of: fn(&fp_model::Sample) -> Option<u64>| {
        report.series.iter().map(of).sum::<Option<u64>>()
    };
    assert_eq!(series(|sample| sample.sent_bytes), Some(report.sent_bytes));
    assert_eq!(series(|sample| sample.received_bytes), Some(report.received_bytes));
    if report.sent_frames == report.planned_frames {
        assert_eq!(u128::from(report.sent_bytes), sizes.bytes_of_first(report.sent_frames));
    }
    let marked = DscpCount { dscp: Some(spec.dscp), frames: report.received_frames };
    assert_eq!(report.dscp_received, [marked]);
    assert_eq!(report.gaps.lateness.count, report.sent_frames);
}

fn check_against(truth: Tally, report: &FramesReport) {
    let beyond = truth.offered.frames - report.sent_frames;
    assert!(beyond <= PROOFS_MAX, "{beyond} frames beside the flow: {truth:?}, {report:?}");
    let lost = report.sent_frames - report.received_frames;
    let lost_beside = truth.dropped.loss.frames - lost;
    assert!(lost_beside <= PROOFS_MAX, "{lost_beside} lost beside the flow: {truth:?}, {report:?}");
}

/// The delay is that of the path and of the longest frame on the line, 12 µs; what a busy host
/// needs to pass a frame on comes on top, of which half of the frames see little.
fn check_times(report: &FramesReport) {
    let delay = report.delay.unwrap();
    assert_eq!(delay.samples, report.received_frames);
    // The control connection knows the clocks to half of its round trip of 20 ms and what the
    // hosts add; both ends are equally far away, so that they agree far better than it can know.
    assert!((DELAY / 2..DELAY * 3).contains(&delay.error), "{delay:?}");
    let median_ms = delay.p50.as_secs_f64() * 1e3;
    assert!((9.0..15.0).contains(&median_ms), "{delay:?}");
    let in_order = [delay.min, delay.p50, delay.p99, delay.p99_9, delay.max];
    assert!(in_order.is_sorted(), "{delay:?}");
    assert!(report.jitter.unwrap().mean.unwrap() < Duration::from_millis(2), "{report:?}");
}

pub(crate) fn spoilt_frames_are_told_apart_from_others_that_are_lost(privileges: Privileges) {
    let corrupt = Probability::new(0.02);
    let link = LinkSpec { line_rate: Some(LINE), corrupt, ..LinkSpec::default() };
    for family in [Family::Ipv4, Family::Ipv6] {
        let across = Across::start(privileges, &link);
        let trial = trial(family);
        let flows = trial.flows[2..4].to_vec();
        let observation = run(&mut across.connect(family), &Trial { flows, ..trial });
        for report in observation.flows {
            let FlowReport::Frames(report) = report else { panic!("{report:?}") };
            let lost = report.sent_frames - report.received_frames;
            assert!(lost > 0, "{report:?}");
            // A bit of the payload or of the UDP header is told as spoilt, one of the IP and
            // Ethernet headers makes the packet somebody else's: 54 bytes of 1518 or 512 at most.
            let told = report.corrupt_frames.unwrap() as f64 / lost as f64;
            assert!((0.7..=1.1).contains(&told), "{report:?}");
        }
    }
}
