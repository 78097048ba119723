//! The truth of networks that can be worked out by hand.

use fp_net::path::{Aqm, FrameOrder, GilbertElliott, JitterSpec, MtuSpec, Probability};

use super::*;

fn line(bps: u64) -> LinkSpec {
    LinkSpec { line_rate: Some(Rate::bps(bps)), ..LinkSpec::default() }
}

fn policed(link: LinkSpec, cir_bps: u64, cbs_bytes: u64) -> LinkSpec {
    LinkSpec { police: Some(PoliceSpec::single_bucket(Rate::bps(cir_bps), cbs_bytes)), ..link }
}

fn losing(link: LinkSpec, share: f64) -> LinkSpec {
    LinkSpec { loss: Probability::new(share).map(LossSpec::Random), ..link }
}

fn full(links: &[LinkSpec]) -> DirectionFacts {
    DirectionFacts::through(links, Charge::L2, 1518)
}

fn near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-6
}

/// 40,000,000 / (8 · 1518) = 3,293.8076 frames/s; the port carries 10⁹ / (8 · 1538) = 81,274.38.
#[test]
fn a_policer_behind_a_faster_line_limits_by_its_cir() {
    let way = full(&[policed(line(1_000_000_000), 40_000_000, 64_000)]);
    assert!(near(way.frames_s, 3293.807642), "{way:?}");
    assert_eq!((way.kinds.as_slice(), way.offset_bytes), (&[Kind::Policer][..], 0));
    assert_eq!(way.right, [1.0, 1.0]);
    let bucket = way.bucket.unwrap();
    assert!(near(bucket.fed_frames_s, 81274.382315), "{bucket:?}");
    assert_eq!((bucket.cir_bps, bucket.cbs_bytes, bucket.eir_bps), (40e6, 64e3, 0.0));
    assert!(near(way.headroom, 81274.382315 / 3293.807642));
}

/// Of 3,293.8 frames/s those of 2 ms come together at most, which are up to 7.6: a bucket of 16,000 bytes has
/// room for 10.5 of them, one of 8,000 for 5.3. Delays behind a bucket are no matter of it, and a line has
/// room for those that wait and one that it sends.
#[test]
fn frames_that_delays_bring_together_need_room_for_all_of_them() {
    let uneven = |link| {
        let distribution = JitterDistribution::Uniform(Duration::from_millis(1));
        LinkSpec { jitter: Some(JitterSpec { distribution, order: FrameOrder::Kept }), ..link }
    };
    let bucket = |bytes| policed(line(1_000_000_000), 40_000_000, bytes);
    let is_bunched = |links: &[LinkSpec]| full(links).is_bunched;
    let first = uneven(line(1_000_000_000));
    assert!(!is_bunched(&[first.clone(), bucket(16_000)]));
    assert!(is_bunched(&[first.clone(), bucket(8_000)]));
    assert!(!is_bunched(&[uneven(bucket(8_000))]));
    let queued = |packets| {
        let queue = Some(QueueSpec { limit: QueueLimit::Packets(packets), aqm: Aqm::Fifo });
        LinkSpec { queue, ..line(50_000_000) }
    };
    // 50,000,000 / (8 · 1538) = 4,063.7 frames/s: up to 9.1 come together.
    assert!(!is_bunched(&[first.clone(), queued(9)]) && is_bunched(&[first, queued(7)]));
}

/// Two buckets of one frame, of 700 and of 300 frames/s. Of a little more than 700 in a second the first bucket lacks
/// a little of each second one, and the other one has not yet won a frame when it is asked for its second:
/// 2 · 300 / 700 is less than one. With room for two frames each, both rates together pass.
#[test]
fn two_buckets_without_room_refuse_frames_that_come_more_slowly_than_both_rates() {
    let even = |frames: u64| {
        let mut police = PoliceSpec::single_bucket(Rate::bps(700 * 8 * 1518), frames * 1518);
        (police.profile.eir_l2, police.profile.ebs_bytes) =
            (Rate::bps(300 * 8 * 1518), frames * 1518);
        let way = full(&[LinkSpec { police: Some(police), ..line(1_000_000_000) }]);
        assert!(near(way.frames_s, 1000.0), "{way:?}");
        way.even
    };
    assert!(near(even(1), 0.7), "{}", even(1));
    assert!(near(even(2), 1.0), "{}", even(2));
}

/// A line of 8,127.438 frames/s, beside others who send up to 20 Mbit/s of 64 bytes, which are 26.25 on the
/// line: as many as 26,250,000 / (8 · 1538) = 2,133.453 of ours. TCP takes all that is free.
#[test]
fn what_others_leave_is_a_right_answer_too() {
    let crossed = |pattern| {
        let cross = CrossSpec {
            pattern,
            rate_l2: Rate::mbps(20),
            frame_bytes: 64,
            dscp: fp_model::Dscp::BEST_EFFORT,
        };
        full(&[LinkSpec { cross: vec![cross], ..line(100_000_000) }])
    };
    let way = crossed(CrossPattern::Constant);
    assert!(near(way.right[0], 1.0 - 2133.452536 / 8127.438231), "{way:?}");
    assert!(near(way.frames_s, 8127.438231) && way.right[1] == 1.0 && way.is_crossed);
    assert_eq!(crossed(CrossPattern::Tcp { rtt: Duration::from_millis(1) }).right[0], 0.0);
    let replayed = crossed(CrossPattern::Replayed { bytes: vec![0, 2500, 100] });
    assert!(near(replayed.right[0], way.right[0]));
}

/// 100,000,000 / (8 · 1538) = 8,127.438 frames/s, which are 98.6996 Mbit/s of frames.
#[test]
fn a_line_limits_by_what_it_carries_beside_frames() {
    let way = full(&[line(100_000_000)]);
    assert!(near(way.frames_s, 8127.438231), "{way:?}");
    assert!(near(way.rate_bps(0), 98_699_609.9), "{}", way.rate_bps(0));
    assert_eq!((way.kind(), way.bucket, way.offset_bytes), (Kind::Queue, None, 20));
}

/// The packets of a frame are 18 bytes shorter: 16,000,000 / (8 · 1500) = 1,333.33 frames/s.
#[test]
fn a_policer_of_packets_passes_more_frames_than_one_of_frames() {
    let police = PoliceSpec {
        charge: Charge::L3,
        ..PoliceSpec::single_bucket(Rate::bps(16_000_000), 2_064_000)
    };
    let way = full(&[LinkSpec { police: Some(police), ..line(1_000_000_000) }]);
    assert!(near(way.frames_s, 1333.333333));
    assert!(near(way.rate_bps(-18), 16e6));
    assert!(near(way.rate_bps(0), 16_192_000.0));
}

#[test]
fn the_slower_of_two_elements_limits_in_either_order() {
    let (slow, fast) = (line(30_000_000), policed(LinkSpec::default(), 40_000_000, 64_000));
    let behind = full(&[slow.clone(), fast.clone()]);
    let ahead = full(&[policed(line(1_000_000_000), 40_000_000, 64_000), slow]);
    for way in [&behind, &ahead] {
        assert_eq!(way.kinds, [Kind::Queue], "{way:?}");
        assert!(near(way.frames_s, 30e6 / (8.0 * 1538.0)));
    }
    // Frames come to the bucket more slowly than it fills, or 25 times faster.
    assert_eq!(behind.bucket, None);
    assert_eq!(ahead.bucket.unwrap().cir_bps, 40e6);
}

#[test]
fn a_policer_before_a_faster_line_is_the_limit() {
    let way = full(&[policed(line(1_000_000_000), 40_000_000, 64_000), line(100_000_000)]);
    assert_eq!(way.kinds, [Kind::Policer]);
    assert!(near(way.headroom, 8127.438231 / 3293.807642));
}

/// At layer 1, 41 Mbit/s are 40.467 Mbit/s of frames: 1.2 % more than the policer's 40.
#[test]
fn elements_within_two_percent_both_limit_and_the_slower_comes_first() {
    let way = full(&[line(41_000_000), policed(LinkSpec::default(), 40_000_000, 64_000)]);
    assert_eq!(way.kinds, [Kind::Policer, Kind::Queue]);
}

#[test]
fn loss_behind_the_limit_takes_from_what_arrives_and_loss_before_it_adds_to_what_may_be_offered() {
    let policer = policed(line(1_000_000_000), 40_000_000, 64_000);
    let behind = full(&[losing(policer.clone(), 0.03)]);
    assert!(near(behind.right[0], 0.97) && near(behind.right[1], 1.0), "{:?}", behind.right);
    let before = full(&[losing(line(1_000_000_000), 0.03), policer]);
    assert!(near(before.right[0], 1.0) && near(before.right[1], 1.0 / 0.97), "{:?}", before.right);
    assert!(near(behind.loss, 0.03) && near(before.loss, 0.03));
    assert_eq!(before.frames_s, behind.frames_s);
}

/// What is corrupted loads the policer and is lost behind it, wherever that happens.
#[test]
fn corruption_before_the_limit_is_loss_behind_it() {
    let corrupt = Probability::new(0.02);
    let before = LinkSpec { corrupt, ..line(1_000_000_000) };
    let way = full(&[before, policed(line(1_000_000_000), 40_000_000, 64_000)]);
    assert!(near(way.right[0], 0.98) && near(way.right[1], 1.0), "{:?}", way.right);
    assert!(near(way.loss, 0.02));
}

/// One in a hundred comes twice: of 101 frames that the policer passes, 100 are different.
#[test]
fn duplicates_before_the_limit_take_their_share_of_it() {
    let before = LinkSpec { duplicate: Probability::new(0.01), ..line(1_000_000_000) };
    let way = full(&[before, policed(line(1_000_000_000), 40_000_000, 64_000)]);
    assert!(near(way.right[0], 1.0 / 1.01), "{:?}", way.right);
}

/// A slot of 1538 bytes at 1 Gbit/s earns 61.52 bytes at 40 Mbit/s; 1518 bytes take 24.675 slots, so
/// every 25th frame passes: 98.70 %.
#[test]
fn a_bucket_of_one_frame_wastes_what_it_has_no_room_for() {
    let of = |cbs| full(&[policed(line(1_000_000_000), 40_000_000, cbs)]).right;
    assert!(near(of(1518)[0], 24.674902 / 25.0), "{:?}", of(1518));
    assert_eq!((of(1518)[1], of(1580)), (1.0, [1.0, 1.0]));
}

/// Bad for a twenty-first of the time: 0.01 / (0.01 + 0.2).
#[test]
fn a_chain_loses_as_often_as_it_is_in_its_bad_state() {
    let share = |share| Probability::new(share).unwrap();
    let chain = GilbertElliott {
        to_bad: share(0.01),
        to_good: share(0.2),
        loss_in_good: Probability::NEVER,
        loss_in_bad: share(1.0),
    };
    let loss = Some(LossSpec::GilbertElliott(chain));
    assert!(near(full(&[LinkSpec { loss, ..line(1_000_000) }]).loss, 1.0 / 21.0));
}

/// Six frames of 1538 bytes at 50 Mbit/s: 1.47648 ms.
#[test]
fn a_queue_is_as_deep_as_its_frames_take() {
    let queue = Some(QueueSpec { limit: QueueLimit::Packets(6), aqm: Aqm::Fifo });
    let way = full(&[LinkSpec { queue, ..line(50_000_000) }]);
    assert!(near(way.queue_s, 0.00147648), "{}", way.queue_s);
}

fn both(links: Vec<LinkSpec>) -> Network {
    Network::new(String::new(), links.clone(), links)
}

/// Twice 27 ms, and 138 bytes on a line of 1 Gbit/s in each direction: 1.104 µs.
#[test]
fn a_round_trip_is_propagation_and_the_time_on_lines() {
    let delay = Duration::from_millis(27);
    let facts = Facts::of(&both(vec![LinkSpec { delay, ..line(1_000_000_000) }]));
    assert!(near(facts.rtt_s[0], 0.054002208), "{:?}", facts.rtt_s);
    assert_eq!(facts.rtt_s[0], facts.rtt_s[1]);
}

#[test]
fn the_smallest_link_is_the_path_mtu_and_silence_a_black_hole() {
    let mtu = |bytes, too_big| Some(MtuSpec { bytes, too_big });
    let jumbo = LinkSpec { mtu: mtu(9000, TooBigAnswer::Icmp), ..line(1_000_000_000) };
    let silent = LinkSpec { mtu: mtu(1400, TooBigAnswer::Silence), ..line(1_000_000_000) };
    let facts = Facts::of(&Network::new(
        String::new(),
        vec![jumbo.clone(), jumbo.clone()],
        vec![jumbo, silent],
    ));
    assert_eq!(facts.mtu_download, Mtu { bytes: 9000, is_black_hole: false });
    assert_eq!(facts.mtu_upload, Mtu { bytes: 1400, is_black_hole: true });
    // The test sends what fits both.
    assert_eq!(facts.download.frame_bytes, 1418);
}

#[test]
fn a_path_without_limits_is_as_fast_as_the_sender() {
    let way = full(&[LinkSpec::default()]);
    assert_eq!((way.kind(), way.bucket), (Kind::Host, None));
    assert!(near(way.frames_s, 10e9 / (8.0 * 1538.0)));
}

/// 100 Mbit/s and 20 ms hold 250,000 bytes.
#[test]
fn a_sound_line_passes_and_one_with_too_small_a_queue_is_left_open() {
    let with = |bytes| {
        let queue = Some(QueueSpec { limit: QueueLimit::Bytes(bytes), aqm: Aqm::Fifo });
        let delay = Duration::from_millis(10);
        Facts::of(&both(vec![LinkSpec { queue, delay, ..line(100_000_000) }])).passes
    };
    assert_eq!((with(260_000), with(100_000)), (Some(true), None));
}

/// At 1 Gbit/s, 10 ms and 3 % of loss Reno's mean window is 1.2/√0.03 = 6.93 segments and CUBIC's
/// 1.054·(0.01/0.03)^0.75 = 0.46: three times four of the larger carry 96 Mbit/s.
#[test]
fn a_path_that_loses_too_much_for_its_rate_fails() {
    let link = LinkSpec { delay: Duration::from_millis(5), ..line(1_000_000_000) };
    assert_eq!(Facts::of(&both(vec![losing(link, 0.03)])).passes, Some(false));
}

/// 40 Mbit/s and 20 ms hold 100,000 bytes; the bucket has to hold three times as much.
#[test]
fn a_deep_bucket_passes_and_a_shallow_one_is_left_open() {
    let with = |cbs_bytes| {
        let port = LinkSpec { delay: Duration::from_millis(10), ..line(1_000_000_000) };
        Facts::of(&both(vec![policed(port, 40_000_000, cbs_bytes)])).passes
    };
    assert_eq!((with(320_000), with(150_000)), (Some(true), None));
}

/// The arithmetic and the emulator have nothing in common but the network: what arrives of a long
/// overload of random networks, and what is lost well below the limit, is what the arithmetic says.
#[test]
fn the_emulator_carries_what_the_arithmetic_says() {
    let slow = |way: &DirectionFacts| way.rate_bps(20) <= 30e6;
    let mut compared = 0;
    for network in (0..400).map(|index| crate::draw::network(3, index)) {
        let facts = Facts::of(&network);
        for direction in [Direction::Download, Direction::Upload] {
            let way = facts.of_direction(direction);
            if slow(way) && !is_upset(&network, way) {
                let seen = offered(&network, way, direction, 1.5 * way.right[1], fills_s(way));
                let arrived_s = seen.received_in.unwrap_or_default().as_secs_f64();
                // Where others take everything, nothing arrives in no time.
                let share = seen.received_frames as f64 / arrived_s.max(1e-9) / way.frames_s;
                // A frame more or less, and chance: five standard deviations of bursts of losses.
                let spread = chance(way.loss, seen.sent_frames) + 2.0 / seen.received_frames as f64;
                // CoDel makes its queue shorter all the time, and with it the time that is counted.
                let spread = spread + if way.has_codel { 0.01 } else { 0.0 };
                let right = way.right[0] - spread..=way.right[1] + spread;
                assert!(right.contains(&share), "{share} of {way:?}\n{}", network.lab_file());
                let seen = offered(&network, way, direction, 0.9, 1.0);
                let lost = 1.0 - seen.received_frames as f64 / seen.sent_frames as f64;
                // Others may overflow a queue at any rate, and frames that come together as well.
                let may_lose = way.is_crossed || way.right[0] == 0.0;
                let off = (way.loss - lost).max(if may_lose { 0.0 } else { lost - way.loss });
                let spread = chance(way.loss, seen.sent_frames) + 2.0 / seen.sent_frames as f64;
                assert!(off <= spread, "{lost} lost, {way:?}\n{}", network.lab_file());
                compared += 1;
            }
        }
    }
    assert!(compared >= 100, "{compared} directions were compared");
}

/// From a full bucket as many bytes pass a long burst as it holds and as refill it meanwhile, counted as it
/// charges them.
#[test]
fn the_emulators_buckets_are_as_deep_as_the_arithmetic_has_them() {
    let mut compared = 0;
    for network in (0..600).map(|index| crate::draw::network(4, index)) {
        let facts = Facts::of(&network);
        for direction in [Direction::Download, Direction::Upload] {
            let facts = facts.of_direction(direction);
            let is_shown = facts.kind() == Kind::Policer && facts.carries_bursts;
            let is_clean = network.links(direction).iter().all(is_clean);
            let Some(bucket) = facts.bucket.filter(|_| is_shown && is_clean) else { continue };
            let few_bytes = 5.0 * f64::from(facts.frame_bytes);
            // A bucket of a few frames overflows between two of them.
            let overflows = bucket.cbs_bytes < few_bytes
                || bucket.eir_bps > 0.0 && bucket.ebs_bytes < few_bytes;
            // Ports of up to 100 Mbit/s, whose buckets are empty in time.
            let drains = bucket.cbs_bytes + bucket.ebs_bytes < 1e6 && bucket.fed_frames_s < 10e3;
            if overflows || !drains {
                continue;
            }
            let fed = 0.99 * bucket.fed_frames_s / facts.frames_s;
            let seen = offered(&network, facts, direction, fed, 0.0);
            let passed = seen.received_frames as f64;
            let cost = charged(facts.frame_bytes, bucket.offset_bytes);
            let lasted_s = seen.sent_in.as_secs_f64();
            let refilled = (bucket.cir_bps + bucket.eir_bps) / 8.0 * lasted_s;
            let most = (bucket.cbs_bytes + bucket.ebs_bytes + refilled) / cost;
            // What would refill the full excess bucket while the committed one empties is lost.
            let spent_bps = 8.0 * cost * fed * facts.frames_s - bucket.cir_bps;
            let wasted = bucket.eir_bps * bucket.cbs_bytes / spent_bps / cost;
            let right = most - wasted - 3.0..=most + 1.0;
            assert!(right.contains(&passed), "{passed} of {most}\n{}", network.lab_file());
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} buckets were compared");
}

/// Chance or the sender's rhythm decides what a bucket or a queue of a few frames lets through.
fn is_upset(network: &Network, way: &DirectionFacts) -> bool {
    const FEW: f64 = 30.0;
    let depth = way.bucket.map(|bucket| {
        bucket.cbs_bytes.min(match bucket.eir_bps {
            0.0 => f64::INFINITY,
            _ => bucket.ebs_bytes,
        })
    });
    let few_tokens = depth.is_some_and(|bytes| bytes < 3.0 * f64::from(way.frame_bytes));
    let shallow =
        depth.map_or(way.queue_s * way.frames_s, |bytes| bytes / f64::from(way.frame_bytes));
    few_tokens || (shallow < FEW && !network.all_links().all(is_clean))
}

/// Until an overload of half as much again has emptied the buckets and filled the queue, by what the slowest
/// line in front of them lets through, and what the buckets let pass has left the next slowest line.
fn fills_s(way: &DirectionFacts) -> f64 {
    let depth = way.bucket.map_or(0.0, |bucket| bucket.cbs_bytes + bucket.ebs_bytes);
    let depth_s = depth / (way.frames_s * f64::from(way.frame_bytes));
    let over = way.bucket.map_or(0.5, |bucket| bucket.fed_frames_s / way.frames_s - 1.0);
    1.0 + depth_s.max(way.queue_s) / over.min(0.15) + depth_s / (way.headroom - 1.0)
}

/// Losses come in bursts of up to 50 frames: each is one event.
fn chance(loss: f64, frames: u64) -> f64 {
    5.0 * (loss * 50.0 / frames as f64).sqrt() + 1e-3
}

fn offered(
    network: &Network,
    way: &DirectionFacts,
    direction: Direction,
    times: f64,
    warm_up_s: f64,
) -> fp_model::FramesReport {
    use fp_model::{
        Dscp, FlowReport, FlowSpec, FrameSizes, FramesLoad, Load, Pace, Testbed, Timing,
    };
    let rate = Rate::bps((times * way.rate_bps(0)) as u64);
    let sizes = FrameSizes::fixed(way.frame_bytes);
    let load = Load::Frames(FramesLoad::new(sizes, Pace::Constant { rate }));
    let flow = FlowSpec::new(direction, network.family, Dscp::BEST_EFFORT, load);
    let (warm_up, steady) = (Duration::from_secs_f64(warm_up_s), Duration::from_secs(5));
    let settle = warm_up + steady + Duration::from_secs_f64(1.0 + 2.0 * way.queue_s);
    let timing = Timing { warm_up, steady, settle };
    let trial = fp_model::Trial { name: "offered".into(), flows: vec![flow], timing };
    let mut bed = fp_net::sim::SimTestbed::new(&network.path, network.seed);
    match bed.run(&trial).unwrap().flows.into_iter().next().unwrap() {
        FlowReport::Frames(seen) => seen,
        other => panic!("{other:?}"),
    }
}
