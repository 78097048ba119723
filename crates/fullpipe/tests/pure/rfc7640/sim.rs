//! The tests over simulated networks whose policer, queue, scheduler or shaper is known.

mod capacity;

use fp_method::rfc7640::{
    Directions, Pattern, Plan, PolicerPlan, PolicerStep, QueueStep, Report, Scheduler,
    SchedulerStep, ShaperStep, Step, TcpPlan,
};
use fp_method::verdict::Status;
use fp_model::{Direction, Family, Rate};
use fp_net::path::{LossSpec, PathSpec, Probability};

use super::network::{
    AF41, BE, EF, classes, codes, drr, only_test, plan, policed, policer_plan, queue_plan, queued,
    shaped, shaper_plan, simulate,
};

fn policer(report: &Report) -> &PolicerStep {
    match only_test(report) {
        Step::Policer(step) => step,
        other => panic!("a policer was tested: {other:?}"),
    }
}

fn queue(report: &Report) -> &QueueStep {
    match only_test(report) {
        Step::Queue(step) => step,
        other => panic!("a queue was tested: {other:?}"),
    }
}

fn scheduler(report: &Report) -> &SchedulerStep {
    match only_test(report) {
        Step::Scheduler(step) => step,
        other => panic!("a scheduler was tested: {other:?}"),
    }
}

fn shaper(report: &Report) -> &ShaperStep {
    match only_test(report) {
        Step::Shaper(step) => step,
        other => panic!("a shaper was tested: {other:?}"),
    }
}

/// The interval of a depth, as a share of it, where nothing is lost by chance.
const WIDTH: f64 = 0.01;

/// The interval holds the depth, and is no wider than this share of it.
fn expect_depth(step: &PolicerStep, cbs_bytes: f64, width: f64, named: &str) {
    let depth = step.depth.unwrap();
    // Times are of whole nanoseconds: a bucket is known to a byte.
    assert!(depth.at_least <= cbs_bytes + 1.0, "{named}: {depth:?}");
    assert!(depth.at_most >= cbs_bytes - 1.0, "{named}: {depth:?}");
    assert!(depth.at_most - depth.at_least <= width * cbs_bytes, "{named}: {depth:?}");
}

//= rfc7640 6.1.1
//= rfc7640 5.1.1
/// The hunt goes by steps of 1 KB, or of a frame where that is longer.
#[test]
fn the_burst_size_achieved_is_that_of_the_bucket_to_a_kilobyte_or_a_frame() {
    for (cir_mbps, cbs_bytes) in [(1, 8_000), (40, 64_000), (100, 64_000), (500, 1_000_000)] {
        for frame_bytes in [64, 512, 1518] {
            let sold = policer_plan(cir_mbps, cbs_bytes);
            let report =
                simulate(&policed(sold), &Plan { frame_bytes, policer: Some(sold), ..plan() });
            let step = policer(&report);
            let named = format!("{cir_mbps} Mbit/s, {cbs_bytes} bytes, frames of {frame_bytes}");
            assert_eq!(report.verdict.status, Status::Pass, "{named}: {:?}", report.verdict);
            expect_depth(step, cbs_bytes as f64, WIDTH, &named);
            let bsa_bytes = step.hunt.bsa_bytes.unwrap();
            let lasted = step.burst_rate_l2.unwrap().time_for(bsa_bytes - u64::from(frame_bytes));
            let found = bsa_bytes - sold.cir_l2.bytes_in(lasted);
            let resolution = u64::from(frame_bytes.max(1000)) + u64::from(frame_bytes);
            assert!(found <= cbs_bytes + 1, "{named}: {found}");
            assert!(found + resolution > cbs_bytes, "{named}: {found}");
            // Halving 2·CBS/L of a thousand steps leaves eight, which are counted.
            assert!(step.hunt.trials.len() <= 20, "{named}: {:?}", step.hunt);
        }
    }
}

/// No two frames pass one after the other, so that nobody sees how fast they came.
#[test]
fn a_bucket_of_one_frame_refuses_bursts_in_excess() {
    let sold = policer_plan(2, 2_067);
    let report = simulate(&policed(sold), &Plan { policer: Some(sold), ..plan() });
    assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
    assert!(!policer(&report).excess.as_ref().unwrap().is_lossless(), "{report:?}");
}

#[test]
fn a_bucket_that_is_too_small_fails_and_is_measured() {
    let sold = policer_plan(40, 64_000);
    let report =
        simulate(&policed(policer_plan(40, 60_000)), &Plan { policer: Some(sold), ..plan() });
    assert_eq!(report.verdict.status, Status::Fail);
    assert_eq!(codes(&report), ["compliant_burst_lost"]);
    expect_depth(policer(&report), 60_000.0, WIDTH, "too small");
}

#[test]
fn a_bucket_that_is_too_large_lets_bursts_in_excess_pass() {
    let sold = policer_plan(40, 64_000);
    let report =
        simulate(&policed(policer_plan(40, 128_000)), &Plan { policer: Some(sold), ..plan() });
    assert_eq!(codes(&report), ["excess_burst_passed"]);
    let hunt = &policer(&report).hunt;
    assert!(!hunt.is_limit && hunt.trials.is_empty(), "{hunt:?}");
    expect_depth(policer(&report), 128_000.0, WIDTH, "too large");
}

/// It takes 0.7 ms to fill at the rate that was sold, and a burst may be 0.1 ms late, in which it wins more than
/// the tenth that it lacks.
#[test]
fn a_rate_that_is_too_low_fails_where_each_burst_meets_a_full_bucket() {
    let sold = policer_plan(550, 50_000);
    let report =
        simulate(&policed(policer_plan(500, 50_000)), &Plan { policer: Some(sold), ..plan() });
    assert_eq!(codes(&report), ["policer_rate_wrong"], "{:?}", report.verdict);
    let rate = policer(&report).rate.unwrap();
    assert!(rate.at_least <= 500e6 && 500e6 <= rate.at_most, "{rate:?}");
    assert!(rate.at_most - rate.at_least < 1e6, "{rate:?}");
}

/// A frame is lost that the path loses, and no bucket is as shallow as the longest burst that came
/// through whole by chance.
#[test]
fn frames_lost_by_chance_make_no_bucket_shallower() {
    let sold = policer_plan(40, 64_000);
    let mut path = policed(sold);
    for link in path.near_to_far.iter_mut().chain(&mut path.far_to_near) {
        link.loss = Probability::new(0.005).map(LossSpec::Random);
    }
    let report = simulate(&path, &Plan { policer: Some(sold), ..plan() });
    assert_eq!(codes(&report), ["compliant_burst_lost"]);
    expect_depth(policer(&report), 64_000.0, 0.05, "loss by chance");
}

#[test]
fn an_excess_bucket_adds_to_what_passes_at_once() {
    let sold =
        PolicerPlan { eir_l2: Rate::mbps(10), ebs_bytes: 32_000, ..policer_plan(40, 64_000) };
    let report = simulate(&policed(sold), &Plan { policer: Some(sold), ..plan() });
    assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
    let depth = policer(&report).depth.unwrap();
    assert!(depth.at_least <= 96_000.0 && 96_000.0 <= depth.at_most, "{depth:?}");
    assert!(depth.at_most - depth.at_least <= 3.0 * 1518.0, "{depth:?}");
}

#[test]
fn both_directions_and_ipv6_are_tested_alike() {
    let sold = policer_plan(40, 64_000);
    let both =
        Plan { family: Family::Ipv6, directions: Directions::Both, policer: Some(sold), ..plan() };
    let report = simulate(&policed(sold), &both);
    let directions = report.steps.iter().filter_map(|step| match step {
        Step::Policer(step) => Some(step.direction),
        _ => None,
    });
    assert_eq!(directions.collect::<Vec<_>>(), [Direction::Download, Direction::Upload]);
    assert_eq!(report.verdict.status, Status::Pass);
}

//= rfc7640 6.2.1.1
/// 39 frames of 1518 bytes fit into 60,000 bytes. The last waits until 38 others, each 1538·8 bits
/// at 20 Mbit/s, have left, less the time that all took to come at 1 Gbit/s: 38·(615.2 − 12.3) µs.
#[test]
fn a_queue_of_known_length_holds_bursts_of_its_length() {
    let report = simulate(&queued(60_000, None), &queue_plan(60_000, Scheduler::Fifo));
    assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
    let step = queue(&report);
    assert_eq!(step.hunt.bsa_bytes, Some(39 * 1518));
    let delay = step.stateless.delay.unwrap();
    let waited = (delay.max - delay.min).as_secs_f64() * 1e3;
    assert!((waited - 38.0 * 0.6029).abs() < 0.1, "{waited} ms");
    // Of 39 frames that wait longer and longer, the 99th percentile is the last.
    assert_eq!(step.stateless.delay_variation_p99, Some(delay.max - delay.min));
}

/// While 42 frames come, at 12.3 µs each, one of 615 µs leaves or has just begun to.
#[test]
fn a_queue_that_is_too_short_fails_and_its_length_is_found() {
    let report = simulate(&queued(60_000, None), &queue_plan(100_000, Scheduler::Fifo));
    assert_eq!(codes(&report), ["queue_too_short"]);
    let hunt = &queue(&report).hunt;
    let bsa_bytes = hunt.bsa_bytes.unwrap();
    assert!((39 * 1518..=41 * 1518).contains(&bsa_bytes), "{bsa_bytes}");
    assert!(hunt.is_limit && hunt.trials.len() <= 10, "{hunt:?}");
}

//= rfc7640 6.2.1.1
//= rfc7640 6.2.2
#[test]
fn strict_priority_starves_whoever_comes_last() {
    let strict = fp_net::path::PrioritySpec::Strict(vec![vec![EF], vec![AF41], vec![BE]]);
    let scheduled = Scheduler::Strict { classes: classes(&[(EF, 1), (AF41, 1), (BE, 1)]) };
    let report = simulate(&queued(60_000, Some(strict)), &queue_plan(60_000, scheduled));
    assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
    let classes = &scheduler(&report).classes;
    assert!(classes[0].stateless.is_lossless());
    assert_eq!(classes[2].share_percent, Some(0.0));
    // Only what its queue held at the end came through of the last class: one burst of ten.
    assert_eq!(classes[2].stateless.received_frames, 39);
    // A frame of the first class waits for its own kind and one frame that is leaving.
    let (first, last) = (&classes[0].stateless, &classes[2].stateless);
    assert!(first.delay.unwrap().max < last.delay.unwrap().min);
}

//= rfc7640 6.2.1.1
#[test]
fn a_weighted_scheduler_shares_by_weight() {
    let quanta = [(EF, 6 * 1518), (AF41, 3 * 1518), (BE, 1518)];
    let weights = classes(&[(EF, 6), (AF41, 3), (BE, 1)]);
    let network = queued(60_000, Some(drr(&quanta)));
    let report = simulate(&network, &queue_plan(60_000, Scheduler::Wfq { classes: weights }));
    assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
    for (class, expected) in scheduler(&report).classes.iter().zip([60.0, 30.0, 10.0]) {
        let share = class.share_percent.unwrap();
        assert!((share - expected).abs() < 1.0, "{share} of {expected}");
    }
    // The same network is not what somebody was sold who was sold equal shares.
    let equal = classes(&[(EF, 1), (AF41, 1), (BE, 1)]);
    let report = simulate(&network, &queue_plan(60_000, Scheduler::Wfq { classes: equal }));
    assert_eq!(codes(&report), ["share_wrong"; 3]);
}

//= rfc7640 6.3.1.1
/// The RFC's own example. Frames come ten times as fast as they are shaped: 32,000 bytes and what
/// comes back let (32,000 − 151.8)/(1518 − 151.8) frames, 23, go at once, and then one each
/// 1518·8/50 µs.
#[test]
fn a_shaper_lets_trains_go_as_it_is_set_to() {
    let network = shaped(Rate::mbps(50), 32_000, 512_000);
    let report = simulate(&network, &shaper_plan(Rate::mbps(50), 32_000, 512_000));
    assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
    let step = shaper(&report);
    let bucket_bytes = step.trains.bucket_bytes.unwrap();
    assert!(bucket_bytes.abs_diff(32_000) <= 10, "{bucket_bytes}");
    assert_eq!(step.trains.first_train_bytes, Some(23 * 1518));
    assert_eq!(step.trains.train_bytes, Some(1518));
    let interval_us = step.trains.train_interval.unwrap().as_secs_f64() * 1e6;
    assert!((interval_us - 242.88).abs() < 0.01, "{interval_us}");
    let rate = step.trains.rate_l2.unwrap().as_bps() as f64;
    assert!((rate / 50e6 - 1.0).abs() < 1e-4, "{rate}");
}

#[test]
fn a_shaper_that_is_set_otherwise_fails_by_rate_burst_or_queue() {
    let sold = shaper_plan(Rate::mbps(50), 32_000, 512_000);
    let against = |rate, burst_bytes, queue_bytes| {
        codes(&simulate(&shaped(Rate::mbps(rate), burst_bytes, queue_bytes), &sold))
    };
    assert_eq!(against(48, 32_000, 512_000), ["shaper_rate_wrong"]);
    assert_eq!(against(50, 64_000, 512_000), ["shaper_burst_large"]);
    assert_eq!(against(50, 32_000, 256_000), ["shaper_lost"]);
}

/// One frame of a thousand is lost anyway: no burst size is flawless, and the hunt ends all the
/// same.
#[test]
fn a_hunt_ends_where_loss_has_nothing_to_do_with_bursts() {
    let mut path: PathSpec = policed(policer_plan(40, 64_000));
    path.near_to_far[1].loss = Probability::new(0.01).map(LossSpec::Random);
    let sold = Plan { policer: Some(policer_plan(40, 64_000)), ..plan() };
    let report = simulate(&path, &sold);
    assert_eq!(report.verdict.status, Status::Fail);
    assert!(policer(&report).hunt.trials.len() <= 20, "{:?}", policer(&report).hunt);
}

//= rfc7640 4.2
//= rfc7640 B
/// Windows of 128,000 bytes are 134,000 of frames, and the queue in front of 20 Mbit/s holds them:
/// nothing is lost, and both patterns take what the rate allows, and some round trips of slow start.
#[test]
fn both_patterns_over_tcp_take_as_long_as_the_rate_says() {
    let with_tcp = Plan {
        tcp: Some(TcpPlan::default()),
        trial: std::time::Duration::from_secs(1),
        ..queue_plan(128_000, Scheduler::Fifo)
    };
    let report = simulate(&queued(150_000, None), &with_tcp);
    let stateful = &queue(&report).stateful;
    let patterns: Vec<Pattern> = stateful.iter().map(|seen| seen.pattern).collect();
    assert_eq!(patterns, [Pattern::Bulk, Pattern::MicroBurst]);
    for seen in stateful {
        assert_eq!((seen.connections, seen.window_bytes), (2, 64_000));
        assert_eq!((seen.unfinished_runs, seen.retransmitted_bytes), (0, Some(0)), "{seen:?}");
        let ttpet = seen.ttpet.unwrap();
        let ratio = ttpet.mean.as_secs_f64() / seen.ideal_ttpet.as_secs_f64();
        assert!((0.9..1.2).contains(&ratio), "{ratio}: {seen:?}");
        assert_eq!((seen.efficiency_percent, ttpet.min <= ttpet.max), (Some(100.0), true));
        assert!(seen.buffer_delay_percent.unwrap() > 0.0);
    }
}

//= rfc7640 6.3.1.2
#[test]
fn a_shaper_is_oversubscribed_by_windows_of_1_1_and_1_5_times_the_product() {
    let with_tcp =
        Plan { tcp: Some(TcpPlan::default()), ..shaper_plan(Rate::mbps(200), 32_000, 512_000) };
    let report = simulate(&shaped(Rate::mbps(200), 32_000, 512_000), &with_tcp);
    let seen: Vec<(u32, f64)> = shaper(&report)
        .stateful
        .iter()
        .map(|seen| (seen.connections, seen.window_factor))
        .collect();
    // 200 Mbit/s and 10 ms are 250,000 bytes: 4.3 and 5.9 windows of 64,000.
    assert_eq!(seen.iter().map(|(connections, _)| *connections).collect::<Vec<_>>(), [5, 5, 6, 6]);
    for ((_, factor), asked) in seen.iter().zip([1.1, 1.1, 1.5, 1.5]) {
        assert!((factor / asked - 1.0).abs() < 0.01, "{factor}");
    }
}

//= rfc7640 6
//= rfc7640 6.2.1.2
#[test]
fn whatever_departs_from_the_rfc_is_said() {
    let with_tcp = Plan { tcp: Some(TcpPlan::default()), ..queue_plan(60_000, Scheduler::Fifo) };
    let said = |plan: &Plan| simulate(&queued(60_000, None), plan).deviations.join("\n");
    let short = said(&with_tcp);
    assert!(short.contains("section 6 asks for 10 runs of each test, this run had 1"));
    assert!(short.contains("section 6 asks for runs of 30 s, these lasted 0.2 s"));
    // 60,000 bytes take 24.3 ms, and the round trip is 10.
    assert!(
        short.contains("section 6.2.1.2 asks for a round trip of 24.32 ms at least"),
        "{short}"
    );
    let long = Plan { runs: 10, trial: Plan::TRIAL_MIN, ..queue_plan(60_000, Scheduler::Fifo) };
    assert!(!said(&long).contains("section 6 asks"));
}
