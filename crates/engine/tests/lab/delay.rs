//! The lab as a delay emulator, verified by itself as RFC 7640 asks of any that is not passive.

use std::time::Duration;

use fp_engine::lab::Privileges;
use fp_model::{
    BurstReport, BurstSpacing, BurstsLoad, Direction, Dscp, Family, FlowReport, FlowSpec, Load,
    PacketLayout, Testbed as _, Timing, Trial,
};
use fp_net::path::{LinkSpec, MtuSpec, TooBigAnswer};

use crate::across::Across;

const DELAY: Duration = Duration::from_millis(27);
const FRAMES: u32 = 100;
const INTERVAL: Duration = Duration::from_millis(6);
/// The link counts from the time at which the kernel received a frame and releases most frames
/// within 60 µs. What comes on top is the way through two kernels, tens of microseconds, and on a
/// busy host the wait for a processor, of which a tenth of the frames is spared even where others take most
/// of both processors: it makes no frame earlier.
const LATE_MAX: Duration = Duration::from_micros(500);
/// The ends compare their clocks by a round trip of the control connection. Of one that is late one
/// way by as much as is allowed above, half shows as a difference between the clocks.
const EARLY_MAX: Duration = Duration::from_micros(250);

//= rfc7640 1.2
pub(crate) fn the_lab_alone_adds_its_delay_and_loses_nothing(privileges: Privileges) {
    let mtu = MtuSpec {
        bytes: 9600 - PacketLayout::ETHERNET_L2_OVERHEAD,
        too_big: TooBigAnswer::Silence,
    };
    let across = Across::start(
        privileges,
        &LinkSpec { delay: DELAY, mtu: Some(mtu), ..LinkSpec::default() },
    );
    let mut bed = across.connect(Family::Ipv4);
    for direction in [Direction::Upload, Direction::Download] {
        for frame_bytes in [128, 256, 512, 768, 1024, 1500, 9600] {
            let observation = bed.run(&trial(direction, frame_bytes)).unwrap();
            let [FlowReport::Bursts(report)] = observation.flows.as_slice() else {
                panic!("{observation:?}")
            };
            // What a busy host has not sent is no loss.
            assert!(report.bursts.len() >= FRAMES as usize / 2, "{frame_bytes} bytes");
            assert!(report.bursts.iter().all(|one| one.received_frames == 1), "{report:?}");
            let mut delays: Vec<Duration> = report.bursts.iter().map(delay).collect();
            delays.sort();
            let bounds = DELAY - EARLY_MAX..=DELAY + LATE_MAX;
            assert!(delays[0] >= *bounds.start(), "{frame_bytes} bytes: {:?}", delays[0]);
            let tenth = delays[delays.len() / 10];
            assert!(bounds.contains(&tenth), "{frame_bytes} bytes: {tenth:?}");
        }
    }
}

fn delay(single: &BurstReport) -> Duration {
    single.arrived[0].from - single.sent_from
}

/// Frames one by one.
fn trial(direction: Direction, frame_bytes: u32) -> Trial {
    let load = BurstsLoad {
        frame_bytes,
        frames_per_burst: 1,
        bursts: FRAMES,
        period: INTERVAL,
        rate_l1: None,
        spacing: BurstSpacing::OnSchedule,
    };
    let flow = FlowSpec::new(direction, Family::Ipv4, Dscp::BEST_EFFORT, Load::Bursts(load));
    let timing = Timing {
        warm_up: Duration::from_millis(20),
        steady: INTERVAL * FRAMES,
        settle: Duration::from_millis(200),
    };
    Trial { name: "delay".into(), flows: vec![flow], timing }
}
