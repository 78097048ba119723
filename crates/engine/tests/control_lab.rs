//! Near and far end across emulated networks that treat their control connection badly.
#![expect(clippy::unwrap_used, reason = "a test that meets an error fails")]

#[path = "lab/across.rs"]
mod across;

use std::process::{Command, ExitCode};
use std::time::Duration;

use across::Across;
use fp_engine::lab::Grounds;
use fp_engine::near::LiveTestbed;
use fp_engine::os::clock;
use fp_model::{
    Abort, Direction, Dscp, Family, FlowReport, FlowSpec, FrameSizes, FramesLoad, Load, Pace,
    ProbesLoad, Rate, Testbed as _, Timing, Trial,
};
use fp_net::path::{Aqm, LinkSpec, MtuSpec, OutageSpec, QueueLimit, QueueSpec, TooBigAnswer};
use libtest_mimic::{Arguments, Failed};

/// Names the test that a child process is to run.
const CASE: &str = "FULLPIPE_CONTROL_LAB_CASE";

type Case = (&'static str, fn(Grounds));

const CASES: [Case; 4] = [
    ("control_survives_a_hole_for_packets_above_576_bytes", survives_a_black_hole),
    ("control_survives_a_flood_of_ten_times_the_line_either_way", survives_a_flood),
    ("a_link_that_is_cut_loses_the_far_end_within_three_seconds", is_lost_when_the_link_is_cut),
    ("a_trial_of_probes_costs_at_most_four_round_trips_more", probes_cost_little),
];

fn survives_a_black_hole(grounds: Grounds) {
    for (family, bytes) in [(Family::Ipv4, 576), (Family::Ipv6, 1280)] {
        let hole = MtuSpec { bytes, too_big: TooBigAnswer::Silence };
        let across = Across::start(grounds, &LinkSpec { mtu: Some(hole), ..LinkSpec::default() });
        let mut bed = across.connect(family);
        let fits = run(&mut bed, &probes(family, 5, bytes)).unwrap();
        let too_big = run(&mut bed, &probes(family, 5, bytes + 1)).unwrap();
        assert_eq!((fits.answered, too_big.arrived), (5, 0));
    }
}

fn survives_a_flood(grounds: Grounds) {
    let queue = QueueSpec { limit: QueueLimit::Packets(100), aqm: Aqm::Fifo };
    let line = LinkSpec {
        line_rate: Some(Rate::mbps(10)),
        queue: Some(queue),
        delay: Duration::from_millis(10),
        ..LinkSpec::default()
    };
    let across = Across::start(grounds, &line);
    let mut bed = across.connect(Family::Ipv4);
    for direction in [Direction::Upload, Direction::Download] {
        let pace = Pace::Constant { rate: Rate::mbps(100) };
        let load = Load::Frames(FramesLoad { sizes: FrameSizes::fixed(1518), pace });
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

fn is_lost_when_the_link_is_cut(grounds: Grounds) {
    let cut = Duration::from_millis(1500);
    let outage = OutageSpec { start: cut, lasts: Duration::from_secs(60), every: None };
    let begun = clock::now();
    let across = Across::start(grounds, &LinkSpec { outage: Some(outage), ..LinkSpec::default() });
    let mut bed = across.connect(Family::Ipv4);
    let outcome = run(&mut bed, &probes(Family::Ipv4, 20_000, 100));
    let lost_after = clock::now().since(begun) - cut;
    assert!(matches!(outcome, Err(Abort::Lost(_))), "{outcome:?}");
    assert!(lost_after < Duration::from_secs(3), "{lost_after:?}");
}

fn probes_cost_little(grounds: Grounds) {
    let way = LinkSpec { delay: Duration::from_millis(50), ..LinkSpec::default() };
    let across = Across::start(grounds, &way);
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

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(CASE) {
        return run_case(&name);
    }
    let trials =
        CASES.iter().map(|(name, _)| libtest_mimic::Trial::test(*name, move || in_a_process(name)));
    let mut arguments = Arguments::from_args();
    // Two labs at once would disturb each other's timing.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn run_case(name: &str) -> ExitCode {
    let grounds = Grounds::prepare().unwrap();
    let (_, case) = CASES.iter().find(|(case, _)| *case == name).unwrap();
    case(grounds);
    ExitCode::SUCCESS
}

fn in_a_process(name: &str) -> Result<(), Failed> {
    let output = Command::new("/proc/self/exe").env(CASE, name).output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("{}: {}", output.status, String::from_utf8_lossy(&text)).into())
}
