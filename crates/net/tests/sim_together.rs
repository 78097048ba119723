//! Flows of every kind in one trial, each way, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use fp_model::{
    Direction, Dscp, DscpCount, Family, FlowReport, FlowSpec, FrameSizes, FramesLoad, FramesReport,
    Load, Observation, Pace, ProbesLoad, Rate, Testbed as _, Timing, Trial,
};
use fp_net::path::{LinkSpec, LossSpec, PathSpec};
use fp_net::sim::SimTestbed;

const DELAY: Duration = Duration::from_millis(10);
const BOTH_WAYS: [Direction; 2] = [Direction::Download, Direction::Upload];
/// Code point, frame length and frames a second.
const SERVICES: [(u8, u32, u64); 3] = [(46, 214, 500), (34, 1000, 250), (0, 1518, 100)];

fn service(direction: Direction, family: Family, service: (u8, u32, u64)) -> FlowSpec {
    let (code_point, frame_bytes, frames) = service;
    let rate = Rate::bps(u64::from(frame_bytes) * 8 * frames);
    let sizes = FrameSizes::fixed(frame_bytes);
    let load = Load::Frames(FramesLoad::new(sizes, Pace::Constant { rate }));
    FlowSpec::new(direction, family, Dscp::new(code_point).unwrap(), load)
}

fn probes(direction: Direction, family: Family) -> FlowSpec {
    let interval = Duration::from_millis(20);
    let load = ProbesLoad { packet_bytes: 100, answer_bytes: 100, count: 100, interval };
    FlowSpec::new(direction, family, Dscp::BEST_EFFORT, Load::Probes(load))
}

/// Two seconds over a line of 100 Mbit/s that loses every 20th frame each way, whosever it is.
fn run(family: Family) -> (Trial, Observation) {
    let link = LinkSpec {
        line_rate: Some(Rate::mbps(100)),
        delay: DELAY,
        loss: Some(LossSpec::Every(20)),
        ..LinkSpec::default()
    };
    let services =
        BOTH_WAYS.into_iter().flat_map(|way| SERVICES.map(|one| service(way, family, one)));
    let flows = services.chain(BOTH_WAYS.map(|way| probes(way, family))).collect();
    let timing = Timing {
        warm_up: Duration::ZERO,
        steady: Duration::from_secs(2),
        settle: Duration::from_secs(1),
    };
    let trial = Trial { name: "under test".into(), flows, timing };
    let path = PathSpec::symmetric("test", vec![link]);
    let seen = SimTestbed::new(&path, 1).run(&trial).unwrap();
    (trial, seen)
}

fn frames(seen: &Observation) -> impl Iterator<Item = &FramesReport> {
    seen.flows.iter().filter_map(|flow| match flow {
        FlowReport::Frames(report) => Some(report),
        _ => None,
    })
}

#[test]
fn three_services_each_way_beside_probes_are_counted_one_by_one() {
    for family in [Family::Ipv4, Family::Ipv6] {
        let (trial, seen) = run(family);
        assert_eq!(seen.flows.len(), trial.flows.len());
        for (place, report) in frames(&seen).enumerate() {
            let (code_point, frame_bytes, frames) = SERVICES[place % 3];
            assert_eq!((report.planned_frames, report.sent_frames), (2 * frames, 2 * frames));
            assert_eq!(report.received_bytes, u64::from(frame_bytes) * report.received_frames);
            let dscp = DscpCount { dscp: Dscp::new(code_point), frames: report.received_frames };
            assert_eq!(report.dscp_received, [dscp]);
            let lossy = report.lossy_seconds.as_ref().unwrap();
            let lost: u64 = lossy.iter().map(|second| second.lost_frames).sum();
            assert_eq!(report.sent_frames - report.received_frames, lost);
            assert!(report.delay.unwrap().min >= DELAY, "{report:?}");
        }
        for way in [0, 3] {
            let lost = |report: &FramesReport| report.sent_frames - report.received_frames;
            let lost: u64 = frames(&seen).skip(way).take(3).map(lost).sum();
            // One in 20 of 1,700 frames and of 200 to 400 packets of probes.
            assert!((75..=105).contains(&lost), "{lost}");
        }
        for report in seen.flows.iter().skip(6) {
            let FlowReport::Probes(report) = report else { panic!("{report:?}") };
            assert_eq!(report.sent, 100);
            assert!(report.answered >= 70 && report.answered < 100, "{report:?}");
            let mean = report.rtt.unwrap().mean;
            assert!((2 * DELAY..4 * DELAY).contains(&mean), "{report:?}");
        }
    }
}
