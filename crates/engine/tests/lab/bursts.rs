//! Bursts from end to end across emulated networks.

use std::time::Duration;

use fp_engine::lab::Privileges;
use fp_engine::near::LiveTestbed;
use fp_model::{
    BurstReport, BurstSpacing, BurstsLoad, BurstsReport, Direction, Dscp, Family, FlowReport,
    FlowSpec, Load, Rate, Receiver, Testbed as _, Timing, Trial,
};
use fp_net::path::{LinkSpec, PoliceSpec};

use crate::across::Across;

const LINE: Rate = Rate::mbps(1000);
const CIR: Rate = Rate::mbps(40);
const CBS_BYTES: u32 = 64_000;
const EXPEDITED: Dscp = Dscp::new(46).unwrap();

pub(crate) fn every_frame_of_a_burst_arrives_once(privileges: Privileges) {
    let line = LinkSpec { line_rate: Some(LINE), ..LinkSpec::default() };
    let across = Across::start(privileges, &line);
    for (family, direction) in
        [(Family::Ipv4, Direction::Upload), (Family::Ipv6, Direction::Download)]
    {
        let mut bed = across.connect(family);
        // 84 bytes are the least that IPv6 leaves room for; 64,000 bytes in both cases.
        for (frame_bytes, frames_per_burst) in [(84, 762), (1518, 42)] {
            for rate_l1 in [None, Some(LINE)] {
                let load = bursts(frame_bytes, frames_per_burst, rate_l1);
                let report = run(&mut bed, family, direction, load);
                assert!(!report.bursts.is_empty());
                assert_eq!((report.duplicate_frames, report.out_of_order_frames), (0, 0));
                for burst in &report.bursts {
                    assert_arrived_whole(burst, frames_per_burst);
                }
            }
        }
    }
}

fn assert_arrived_whole(burst: &BurstReport, frames: u32) {
    assert_eq!((burst.sent_frames, burst.received_frames), (frames, frames));
    let mut next = 0;
    for run in &burst.arrived {
        assert_eq!((run.first, run.dscp), (next, Some(EXPEDITED)), "{burst:?}");
        next += run.frames;
    }
    assert_eq!(next, frames);
    assert!(burst.arrived[0].from >= burst.sent_from, "a frame came before it left: {burst:?}");
}

pub(crate) fn a_policer_admits_of_a_burst_what_its_bucket_holds(privileges: Privileges) {
    let police = PoliceSpec::single_bucket(CIR, CBS_BYTES.into());
    let policed = LinkSpec { line_rate: Some(LINE), police: Some(police), ..LinkSpec::default() };
    let across = Across::start(privileges, &policed);
    for family in [Family::Ipv4, Family::Ipv6] {
        let mut bed = across.connect(family);
        for frame_bytes in [128, 512, 1518] {
            let frames = 2 * CBS_BYTES / frame_bytes;
            let load = bursts(frame_bytes, frames, None);
            let report = run(&mut bed, family, Direction::Upload, load);
            let mut least_beyond = u32::MAX;
            for burst in &report.bursts {
                let admitted = admitted_frames(frame_bytes, burst.sent_frames);
                // Where the sender was held up the line fell idle and the bucket had more time to
                // fill, at most the time between the first and the last frame.
                let sent_in = burst.sent_until - burst.sent_from;
                let refill = CIR.bytes_in(sent_in) as u32 / frame_bytes + 1;
                let range = admitted..=admitted + refill;
                assert!(range.contains(&burst.received_frames), "{admitted}: {burst:?}");
                least_beyond = least_beyond.min(burst.received_frames - admitted);
            }
            // A frame of 512 bytes takes the line 4 µs and the sender one: not even a busy host
            // holds up all bursts for longer than that lead.
            assert!(frame_bytes < 512 || least_beyond == 0, "{frame_bytes} bytes: {least_beyond}");
        }
    }
}

/// By the arithmetic of a token bucket that is full as the first frame comes and fills at the CIR
/// while the line, which takes 20 bytes more than a frame has, brings the next ones.
fn admitted_frames(frame_bytes: u32, frames: u32) -> u32 {
    let refill = f64::from(frame_bytes + 20) * CIR.as_bps() as f64 / LINE.as_bps() as f64;
    let (mut tokens, mut admitted) = (f64::from(CBS_BYTES), 0);
    for _ in 0..frames {
        if tokens >= f64::from(frame_bytes) {
            tokens -= f64::from(frame_bytes);
            admitted += 1;
        }
        tokens = (tokens + refill).min(CBS_BYTES.into());
    }
    admitted
}

/// Five bursts; a bucket of 64,000 bytes is full again after 12.8 ms at 40 Mbit/s.
fn bursts(frame_bytes: u32, frames_per_burst: u32, rate_l1: Option<Rate>) -> BurstsLoad {
    let period = Duration::from_millis(60);
    BurstsLoad {
        frame_bytes,
        frames_per_burst,
        bursts: 5,
        period,
        rate_l1,
        spacing: BurstSpacing::OnSchedule,
    }
}

fn run(
    bed: &mut LiveTestbed,
    family: Family,
    direction: Direction,
    load: BurstsLoad,
) -> BurstsReport {
    let flow = FlowSpec::new(direction, family, EXPEDITED, Load::Bursts(load));
    let timing = Timing {
        warm_up: Duration::from_millis(50),
        steady: Duration::from_millis(300),
        settle: Duration::from_millis(100),
    };
    let trial = Trial { name: "under test".into(), flows: vec![flow], timing };
    let mut observation = bed.run(&trial).unwrap();
    assert_eq!(observation.near.dropped_packets + observation.far.dropped_packets, 0);
    let receiving = match direction {
        Direction::Upload => &observation.far,
        Direction::Download => &observation.near,
    };
    assert_eq!(receiving.receiver, Some(Receiver::Ring), "whoever makes networks may have rings");
    match observation.flows.pop() {
        Some(FlowReport::Bursts(report)) => report,
        other => panic!("a flow of bursts gave {other:?}"),
    }
}
