//! Near and far end across emulated networks that treat their control connection badly.

use std::thread;
use std::time::Duration;

use fp_engine::lab::Privileges;
use fp_engine::near::LiveTestbed;
use fp_engine::os::clock;
use fp_model::{
    Abort, Direction, Dscp, Family, FlowReport, FlowSpec, FrameSizes, FramesLoad, Load, Pace,
    ProbesLoad, Rate, Testbed as _, Timing, Trial,
};
use fp_net::path::{Aqm, LinkSpec, MtuSpec, OutageSpec, QueueLimit, QueueSpec, TooBigAnswer};

use crate::across::Across;

const EXPEDITED: Dscp = Dscp::new(46).unwrap();

pub(crate) fn survives_a_black_hole(privileges: Privileges) {
    for (family, bytes) in [(Family::Ipv4, 576), (Family::Ipv6, 1280)] {
        let hole = MtuSpec { bytes, too_big: TooBigAnswer::Silence };
        let across =
            Across::start(privileges, &LinkSpec { mtu: Some(hole), ..LinkSpec::default() });
        let mut bed = across.connect(family);
        let fits = run(&mut bed, &probes(family, 5, bytes)).unwrap();
        let too_big = run(&mut bed, &probes(family, 5, bytes + 1)).unwrap();
        assert_eq!((fits.answered, too_big.arrived), (5, 0));
    }
}

pub(crate) fn survives_a_flood(privileges: Privileges) {
    let queue = QueueSpec { limit: QueueLimit::Packets(100), aqm: Aqm::Fifo };
    let line = LinkSpec {
        line_rate: Some(Rate::mbps(10)),
        queue: Some(queue),
        delay: Duration::from_millis(10),
        ..LinkSpec::default()
    };
    let across = Across::start(privileges, &line);
    let mut bed = across.connect(Family::Ipv4);
    for direction in [Direction::Upload, Direction::Download] {
        let pace = Pace::Constant { rate: Rate::mbps(100) };
        let load = Load::Frames(FramesLoad::new(FrameSizes::fixed(1518), pace));
        let timing = Timing {
            warm_up: Duration::from_millis(200),
            steady: Duration::from_secs(4),
            settle: Duration::from_millis(300),
        };
        let observation = bed.run(&trial(direction, Family::Ipv4, load, timing)).unwrap();
        let FlowReport::Frames(frames) = &observation.flows[0] else { panic!("{observation:?}") };
        // 10 of 100 Mbit/s arrive.
        let share = frames.received_frames as f64 / frames.sent_frames as f64;
        assert!((0.05..0.15).contains(&share), "{direction}: {share}");
    }
}

/// In two seconds of a trial its sender sends four pulses of 70 bytes, and at most two messages and
/// acknowledgements: with all heartbeats there would be 2,000 bytes.
pub(crate) fn is_sparing_while_frames_are_counted(privileges: Privileges) {
    let across = Across::start(privileges, &LinkSpec::default());
    let mut bed = across.connect(Family::Ipv4);
    for direction in [Direction::Upload, Direction::Download] {
        let pace = Pace::Constant { rate: Rate::mbps(2) };
        let load = Load::Frames(FramesLoad::new(FrameSizes::fixed(512), pace).unwatched());
        let steady = Duration::from_millis(2600);
        let timing = Timing { warm_up: Duration::ZERO, steady, settle: Duration::ZERO };
        let flow = FlowSpec::new(direction, Family::Ipv4, EXPEDITED, load);
        let trial = Trial { name: "under test".into(), flows: vec![flow], timing };
        let beside = thread::scope(|scope| {
            let beside = scope.spawn(|| across.said_in_two_seconds_of_frames(direction));
            bed.run(&trial).unwrap();
            beside.join().unwrap()
        });
        assert!(beside <= 4 * 70 + 2 * 350, "{direction}: {beside} bytes");
    }
}

impl Across {
    /// Bytes of what is not marked as frames of the flow are.
    fn said_in_two_seconds_of_frames(&self, direction: Direction) -> u64 {
        let bytes = |code_point| {
            let truth = self.lab.truth().unwrap();
            let way = match direction {
                Direction::Upload => truth.near_to_far.links,
                Direction::Download => truth.far_to_near.links,
            };
            way.by_dscp.get(&code_point).map_or(0, |tally| tally.offered.bytes)
        };
        let before = bytes(EXPEDITED.code_point());
        // More than the few frames that prove its address.
        while bytes(EXPEDITED.code_point()) < before + 20 * 512 {
            thread::sleep(Duration::from_millis(5));
        }
        let said = bytes(0);
        thread::sleep(Duration::from_secs(2));
        bytes(0) - said
    }
}

pub(crate) fn is_lost_when_the_link_is_cut(privileges: Privileges) {
    let cut = Duration::from_millis(1500);
    let outage = OutageSpec { start: cut, lasts: Duration::from_secs(60), every: None };
    let begun = clock::now();
    let across =
        Across::start(privileges, &LinkSpec { outage: Some(outage), ..LinkSpec::default() });
    let mut bed = across.connect(Family::Ipv4);
    let outcome = run(&mut bed, &probes(Family::Ipv4, 20_000, 100));
    let lost_after = clock::now().since(begun) - cut;
    assert!(matches!(outcome, Err(Abort::Lost(_))), "{outcome:?}");
    assert!(lost_after < Duration::from_secs(3), "{lost_after:?}");
}

pub(crate) fn probes_cost_little(privileges: Privileges) {
    let way = LinkSpec { delay: Duration::from_millis(50), ..LinkSpec::default() };
    let across = Across::start(privileges, &way);
    let mut bed = across.connect(Family::Ipv4);
    assert!(bed.control_rtt() >= Duration::from_millis(100));
    let mut costs: Vec<Duration> = (0..5)
        .map(|_| {
            let begun = clock::now();
            let report = run(&mut bed, &probes(Family::Ipv4, 1, 100)).unwrap();
            assert_eq!(report.answered, 1);
            clock::now().since(begun)
        })
        .collect();
    costs.sort();
    // The probe itself takes one round trip of 100 ms, and late ones are waited for 200 ms.
    assert!(costs[2] < Duration::from_millis(300 + 4 * 100), "{costs:?}");
}

fn trial(direction: Direction, family: Family, load: Load, timing: Timing) -> Trial {
    let flow = FlowSpec::new(direction, family, Dscp::BEST_EFFORT, load);
    Trial { name: "under test".into(), flows: vec![flow], timing }
}

fn probes(family: Family, count: u32, packet_bytes: u32) -> Trial {
    let load = Load::Probes(ProbesLoad {
        packet_bytes,
        answer_bytes: 100,
        count,
        interval: Duration::from_millis(1),
    });
    let timing = Timing {
        warm_up: Duration::ZERO,
        steady: Duration::ZERO,
        settle: Duration::from_millis(200),
    };
    trial(Direction::Upload, family, load, timing)
}

fn run(bed: &mut LiveTestbed, trial: &Trial) -> Result<fp_model::ProbesReport, Abort> {
    let mut observation = bed.run(trial)?;
    match observation.flows.pop() {
        Some(FlowReport::Probes(report)) => Ok(report),
        other => panic!("a flow of probes gave {other:?}"),
    }
}
