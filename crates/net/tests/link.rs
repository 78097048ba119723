//! Emulated links against arithmetic.

use std::time::Duration;

use fp_model::{Dscp, Rate, Time};
use fp_net::link::{Frame, Output, Tally, Way};
use fp_net::meter::{BandwidthProfileSpec, ColourMode};
use fp_net::path::{
    Aqm, Charge, ClassPoliceSpec, ClassShapeSpec, DrrClass, Exceed, FrameOrder, GilbertElliott,
    JitterDistribution, JitterSpec, LinkSpec, LossSpec, MtuSpec, OutageSpec, PoliceSpec,
    PrioritySpec, Probability, QueueLimit, QueueSpec, RemarkSpec, ReorderSpec, ShapeSpec,
    TooBigAnswer,
};

const EF: Dscp = Dscp::of_traffic_class(46 << 2);
const AF11: Dscp = Dscp::of_traffic_class(10 << 2);
const AF12: Dscp = Dscp::of_traffic_class(12 << 2);
const AF13: Dscp = Dscp::of_traffic_class(14 << 2);

fn frame(number: u64, frame_bytes: u32) -> Frame<u64> {
    Frame { frame_bytes, dscp: Dscp::BEST_EFFORT, body: number }
}

fn marked(number: u64, frame_bytes: u32, dscp: Dscp) -> Frame<u64> {
    Frame { frame_bytes, dscp, body: number }
}

const fn at_ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

#[expect(clippy::unwrap_used, reason = "a share that is none is a mistake of the test")]
fn share(share: f64) -> Probability {
    Probability::new(share).unwrap()
}

/// All that comes out, polled when the way asks for it.
fn drain(way: &mut Way<u64>) -> Vec<Output<u64>> {
    let mut outputs = Vec::new();
    while let Some(now) = way.poll_timeout() {
        while let Some(output) = way.poll(now) {
            outputs.push(output);
        }
    }
    outputs
}

/// Sends one full frame each millisecond; the numbers of those that come out, in that order.
fn survivors(link: LinkSpec, seed: u64, count: u64) -> (Vec<u64>, Tally) {
    let mut way = Way::new(&[link], seed);
    (0..count).for_each(|number| way.on_frame(at_ms(number), frame(number, 1518)));
    let numbers = drain(&mut way).into_iter().filter_map(delivered).map(|frame| frame.body);
    (numbers.collect(), way.truth().total)
}

fn delivered(output: Output<u64>) -> Option<Frame<u64>> {
    match output {
        Output::Deliver { frame, .. } => Some(frame),
        Output::TooBig { .. } => None,
    }
}

fn line(rate: Rate) -> LinkSpec {
    LinkSpec { line_rate: Some(rate), ..LinkSpec::default() }
}

/// One full frame, 1538 bytes on the line, takes a millisecond.
const FRAME_PER_MS: Rate = Rate::bps(12_304_000);

fn packets(limit: u64) -> QueueSpec {
    QueueSpec { limit: QueueLimit::Packets(limit), aqm: Aqm::Fifo }
}

fn police(cir: Rate, cbs_bytes: u64) -> PoliceSpec {
    PoliceSpec::single_bucket(cir, cbs_bytes)
}

/// Whether `count` of `trials` is within four standard deviations of a binomial distribution.
fn is_plausible(count: u64, trials: u64, probability: f64) -> bool {
    let mean = trials as f64 * probability;
    let deviation = (mean * (1.0 - probability)).sqrt();
    (count as f64 - mean).abs() <= 4.0 * deviation
}

/// 64 + 4 + 20 bytes take 88·80 ns at 100 Mbit/s; a bucket of 680 bytes holds ten frames of 68, and
/// one that is charged by packets, of 46 bytes, 680/46 = 14.
#[test]
fn a_tag_is_part_of_the_frame_on_its_link_but_not_of_the_packet() {
    let tagged = LinkSpec { vlan_tags: 1, ..line(Rate::mbps(100)) };
    let mut way = Way::new(std::slice::from_ref(&tagged), 0);
    (0..10).for_each(|number| way.on_frame(Time::ZERO, frame(number, 64)));
    let out = drain(&mut way);
    let ends: Vec<_> = out.iter().map(|output| output.at().as_nanos()).collect();
    assert_eq!(ends, (1..=10).map(|number| number * 88 * 80).collect::<Vec<_>>());
    for (charge, passed) in [(Charge::L2, 10), (Charge::L3, 14)] {
        let police = Some(PoliceSpec { charge, ..police(Rate::bps(1), 680) });
        let mut way = Way::new(&[LinkSpec { police, ..tagged.clone() }], 0);
        (0..20).for_each(|number| way.on_frame(Time::ZERO, frame(number, 64)));
        let out = drain(&mut way);
        assert_eq!(out.len(), passed);
        // It leaves the link without the tag, and is counted as it came.
        assert!(out.into_iter().filter_map(delivered).all(|frame| frame.frame_bytes == 64));
        assert_eq!(way.truth().total.passed.bytes, passed as u64 * 64);
    }
}

/// At 8 Mbit/s a frame of 1,000 bytes takes a millisecond, at 4 Mbit/s two; the first of each class
/// finds its tokens. Frames of no class pass at once.
#[test]
fn a_class_has_its_own_shaper_and_is_not_held_up_by_another_one() {
    let queue = packets(100);
    let of = |mbps| ShapeSpec { rate: Rate::mbps(mbps), burst_bytes: 1000, queue };
    let class = |dscp, mbps| ClassShapeSpec { dscp: vec![dscp], shape: of(mbps) };
    let shape_classes = vec![class(EF, 8), class(AF11, 4)];
    let mut way = Way::new(&[LinkSpec { shape_classes, ..LinkSpec::default() }], 0);
    for number in 0..9 {
        way.on_frame(Time::ZERO, marked(number, 1000, [EF, AF11, AF12][number as usize % 3]));
    }
    let at = |output: Output<u64>| {
        let ms = output.at().as_nanos() / 1_000_000;
        Some((ms, delivered(output)?.dscp.code_point()))
    };
    let mut out: Vec<_> = drain(&mut way).into_iter().filter_map(at).collect();
    assert!(out.is_sorted_by_key(|(ms, _)| *ms), "{out:?}");
    let mut expected = vec![(0, 46), (0, 10), (0, 12), (0, 12), (0, 12)];
    expected.extend([(1, 46), (2, 46), (2, 10), (4, 10)]);
    out.sort_unstable();
    expected.sort_unstable();
    assert_eq!(out, expected);
}

/// 1518 + 20 bytes take 1538·80 ns at 100 Mbit/s.
#[test]
fn a_thousand_full_frames_leave_a_line_when_their_bits_have_crossed_it() {
    let mut way = Way::new(&[line(Rate::mbps(100))], 0);
    (0..1000).for_each(|number| way.on_frame(Time::ZERO, frame(number, 1518)));
    let ends: Vec<_> = drain(&mut way).iter().map(|output| output.at().as_nanos()).collect();
    let expected: Vec<_> = (1..=1000).map(|number| number * 1538 * 80).collect();
    assert_eq!(ends, expected);
}

/// Bursts of 135 kB at gigabit through 40 Mbit/s with a CBS of 64,000 bytes: frame length, frames
/// sent, frames admitted by an exact token bucket.
#[test]
fn a_policed_gigabit_port_admits_the_frames_that_an_exact_token_bucket_does() {
    let table = [
        (64, 2109, 1110),
        (128, 1054, 548),
        (256, 527, 272),
        (512, 263, 135),
        (768, 175, 90),
        (1024, 131, 67),
        (1280, 105, 54),
        (1518, 88, 45),
    ];
    for (frame_bytes, sent, admitted) in table {
        let port = LinkSpec {
            queue: Some(packets(4000)),
            police: Some(police(Rate::mbps(40), 64_000)),
            delay: Duration::from_millis(27),
            ..line(Rate::mbps(1000))
        };
        let mut way = Way::new(&[port], 0);
        (0..sent).for_each(|number| way.on_frame(Time::ZERO, frame(number, frame_bytes)));
        assert_eq!(drain(&mut way).len(), admitted, "{frame_bytes}-byte frames");
        let total = way.truth().total;
        assert_eq!(total.dropped.police.frames, sent - admitted as u64);
        assert_eq!(total.in_flight.frames, 0);
    }
}

/// Twenty frames of 100 bytes at once, a bucket of 1,152 that gets a byte in eight seconds: that is
/// 9.6 frames of 120 bytes on the line, 11.5 of 100, 12 of 96 and 14.05 of 82 of IP.
#[test]
fn a_policer_charges_a_frame_at_its_layer() {
    let table = [(Charge::L1, 9), (Charge::L2, 11), (Charge::L2WithoutFcs, 12), (Charge::L3, 14)];
    for (charge, admitted) in table {
        let police = PoliceSpec { charge, ..police(Rate::bps(1), 1152) };
        let mut way = Way::new(&[LinkSpec { police: Some(police), ..LinkSpec::default() }], 0);
        (0..20).for_each(|number| way.on_frame(Time::ZERO, frame(number, 100)));
        assert_eq!(drain(&mut way).len(), admitted, "{charge:?}");
        // What passes is counted as before: from destination address to FCS.
        assert_eq!(way.truth().total.passed.bytes, admitted as u64 * 100);
    }
}

/// 64 + 20 bytes at gigabit take 672 ns; the light then takes 5 ms.
#[test]
fn propagation_comes_after_serialisation() {
    let link = LinkSpec { delay: Duration::from_millis(5), ..line(Rate::mbps(1000)) };
    let mut way = Way::new(&[link], 0);
    way.on_frame(at_ms(1), frame(0, 64));
    let due = Time::from_nanos(1_000_000 + 672 + 5_000_000);
    assert_eq!(way.poll_timeout(), Some(due));
    assert_eq!(way.poll(due - Duration::from_nanos(1)), None);
    let output = Output::Deliver { at: due, frame: frame(0, 64), corrupt: false };
    assert_eq!(way.poll(due), Some(output));
    assert_eq!(way.poll_timeout(), None);
}

/// The bucket of 15,180 bytes lets ten frames of 1518 go at once. At 10 Mbit/s a frame's bytes
/// take 1,214,400 ns, in which 1.2 of the frames come that are sent each millisecond.
#[test]
fn a_constant_rate_above_the_shaper_leaves_at_exactly_the_shapers_rate() {
    let shape =
        ShapeSpec { rate: Rate::mbps(10), burst_bytes: 15_180, queue: QueueSpec::default() };
    let mut way = Way::new(&[LinkSpec { shape: Some(shape), ..LinkSpec::default() }], 0);
    (0..1000).for_each(|number| way.on_frame(at_ms(number), frame(number, 1518)));
    let at: Vec<_> = drain(&mut way).iter().map(|output| output.at().as_nanos()).collect();
    // While the bucket lasts a frame leaves when it comes: before frame n it holds
    // 15,180 - 1518·n + 1250·n bytes, less than a frame from n = 51 on.
    let spent = 51;
    assert!((0..spent).all(|number| at[number] == number as u64 * 1_000_000));
    // From then on frame n leaves when n + 1 frames less the bucket have flowed in:
    // (1518·(n + 1) - 15,180) bytes at 800 ns each.
    let flowed_in = |number: u64| (1518 * (number + 1) - 15_180) * 800;
    assert!((spent..1000).all(|number| at[number] == flowed_in(number as u64)));
    assert_eq!(at.windows(2).last().map(|pair| pair[1] - pair[0]), Some(1_214_400));
}

/// One frame is on the line, three wait, six find no room.
#[test]
fn a_full_queue_drops_the_frame_that_comes_last() {
    for limit in [QueueLimit::Packets(3), QueueLimit::Bytes(3 * 1518 + 1517)] {
        let queue = Some(QueueSpec { limit, aqm: Aqm::Fifo });
        let mut way = Way::new(&[LinkSpec { queue, ..line(Rate::mbps(10)) }], 0);
        (0..10).for_each(|number| way.on_frame(Time::ZERO, frame(number, 1518)));
        let numbers: Vec<_> =
            drain(&mut way).into_iter().filter_map(delivered).map(|frame| frame.body).collect();
        assert_eq!(numbers, [0, 1, 2, 3], "{limit:?}");
        assert_eq!(way.truth().total.dropped.queue.frames, 6);
    }
}

/// At 20 Mbit/s a megabyte waits for 400 ms: the frame behind 658 others of 1518 bytes (998,844
/// bytes) leaves after 660·1538·8 bit / 20 Mbit/s = 406.032 ms.
#[test]
fn a_bloated_buffer_loses_nothing_and_delays_everything() {
    let queue = QueueSpec { limit: QueueLimit::Bytes(1_000_000), aqm: Aqm::Fifo };
    let mut way = Way::new(&[LinkSpec { queue: Some(queue), ..line(Rate::mbps(20)) }], 0);
    (0..1000).for_each(|number| way.on_frame(Time::ZERO, frame(number, 1518)));
    let outputs = drain(&mut way);
    let last = outputs.last().map(|output| output.at().as_nanos());
    // 658 wait and one is on the line.
    assert_eq!((outputs.len(), last), (659, Some(659 * 1538 * 400)));
}

#[test]
fn frames_that_pass_at_once_need_no_queue() {
    let none = Some(packets(0));
    let (numbers, total) = survivors(LinkSpec { queue: none, ..line(FRAME_PER_MS) }, 0, 100);
    assert_eq!((numbers.len(), total.dropped.queue.frames), (100, 0));
}

/// Frames come twice as fast as they leave: frame n comes at n/2 ms and is at the head at n ms,
/// having waited n/2 ms. That is 5 ms for frame 10; after an interval of 100 ms more, frame 110 is
/// at the head.
#[test]
fn codel_drops_its_first_frame_an_interval_after_waiting_times_passed_the_target() {
    let queue = QueueSpec { limit: QueueLimit::Packets(10_000), aqm: Aqm::CODEL };
    let mut way = Way::new(&[LinkSpec { queue: Some(queue), ..line(FRAME_PER_MS) }], 0);
    for number in 0..400 {
        way.on_frame(Time::from_nanos(number * 500_000), frame(number, 1518));
    }
    let numbers: Vec<_> =
        drain(&mut way).into_iter().filter_map(delivered).map(|frame| frame.body).collect();
    let first_missing = (0..400).find(|number| !numbers.contains(number));
    assert_eq!(first_missing, Some(110));
    let dropped = way.truth().total.dropped;
    assert!(dropped.aqm.frames > 1);
    assert_eq!(dropped.queue.frames, 0);
}

/// At 8 Mbit/s a byte takes a microsecond; the bucket holds one full frame. Frame 4 is dropped at
/// 4618 µs, when its tokens are there: 1518 of frame 0, 64, 1518 and 1518 came before it. The 64
/// bytes of frame 5 had theirs at 3164 µs already, yet it was not at the head.
#[test]
fn a_small_frame_behind_a_large_one_that_codel_drops_leaves_when_that_was_dropped() {
    let aqm = Aqm::CoDel { target: Duration::from_millis(1), interval: Duration::from_millis(2) };
    let queue = QueueSpec { limit: QueueLimit::Packets(100), aqm };
    let shape = ShapeSpec { rate: Rate::mbps(8), burst_bytes: 1518, queue };
    let mut way = Way::new(&[LinkSpec { shape: Some(shape), ..LinkSpec::default() }], 0);
    for (number, frame_bytes) in [1518, 64, 1518, 1518, 1518, 64, 1518, 1518].iter().enumerate() {
        way.on_frame(Time::ZERO, frame(number as u64, *frame_bytes));
    }
    let at_us: Vec<_> = drain(&mut way).iter().map(|out| out.at().as_nanos() / 1000).collect();
    assert_eq!(at_us, [0, 64, 1582, 3100, 4618, 4682, 6200]);
    assert_eq!(way.truth().total.dropped.aqm.frames, 1);
}

/// A line of one frame a millisecond; EF brings one each 2 ms, best effort one each millisecond.
#[test]
fn strict_priority_starves_best_effort_only_of_what_the_higher_class_takes() {
    let priority = Some(PrioritySpec::Strict(vec![vec![EF], vec![Dscp::BEST_EFFORT]]));
    let queue = Some(packets(20));
    let mut way = Way::new(&[LinkSpec { priority, queue, ..line(FRAME_PER_MS) }], 0);
    for ms in 0..1000 {
        way.on_frame(at_ms(ms), frame(ms, 1518));
        if ms % 2 == 0 {
            way.on_frame(at_ms(ms), marked(ms, 1518, EF));
        }
    }
    while way.poll(at_ms(1000)).is_some() {}
    let truth = way.truth();
    let (high, low) = (truth.by_dscp[&46], truth.by_dscp[&0]);
    assert_eq!((high.passed.frames, high.dropped.sum().frames), (500, 0));
    // One frame leaves each millisecond from 1 to 1000, half of them are EF.
    assert_eq!(low.passed.frames, 500);
    assert_eq!(low.dropped.queue.frames + low.in_flight.frames, 500);
}

#[test]
fn strict_priority_serves_the_lowest_class_when_the_others_are_empty() {
    let priority = Some(PrioritySpec::Strict(vec![vec![EF], vec![Dscp::BEST_EFFORT]]));
    let (numbers, _) = survivors(LinkSpec { priority, ..line(FRAME_PER_MS) }, 0, 100);
    assert_eq!(numbers.len(), 100);
}

/// Two classes that always have something to send get 3 and 1 full frames in each round, even
/// where their frames are of different length.
#[test]
fn deficit_round_robin_shares_a_line_within_one_quantum() {
    let class = |dscp, quantum_bytes| DrrClass { dscp: vec![dscp], quantum_bytes };
    let priority = Some(PrioritySpec::Drr(vec![class(AF11, 3 * 1518), class(EF, 1518)]));
    let mut way = Way::new(&[LinkSpec { priority, ..line(Rate::mbps(100)) }], 0);
    for number in 0..1000 {
        way.on_frame(Time::ZERO, marked(number, 700, AF11));
        way.on_frame(Time::ZERO, marked(number, 1518, EF));
    }
    let (mut af11_bytes, mut ef_bytes) = (0_i64, 0_i64);
    for output in drain(&mut way).into_iter().take(900) {
        let Some(frame) = delivered(output) else { panic!("nothing is too big") };
        let bytes = if frame.dscp == EF { &mut ef_bytes } else { &mut af11_bytes };
        *bytes += i64::from(frame.frame_bytes);
        // Within a round one class may be ahead by its quantum and a frame.
        assert!((af11_bytes - 3 * ef_bytes).abs() <= 2 * 3 * 1518, "{af11_bytes} {ef_bytes}");
    }
    assert!(ef_bytes > 100 * 1518);
}

#[test]
fn a_class_that_has_nothing_to_send_leaves_the_line_to_the_other() {
    let class = |dscp, quantum_bytes| DrrClass { dscp: vec![dscp], quantum_bytes };
    let priority = Some(PrioritySpec::Drr(vec![class(EF, 1518), class(AF11, 64)]));
    let (numbers, _) = survivors(LinkSpec { priority, ..line(FRAME_PER_MS) }, 0, 100);
    assert_eq!(numbers.len(), 100);
}

#[test]
fn every_nth_frame_is_lost() {
    let loss = Some(LossSpec::Every(10));
    let (numbers, total) = survivors(LinkSpec { loss, ..LinkSpec::default() }, 0, 100);
    let expected: Vec<_> = (0..100).filter(|number| number % 10 != 9).collect();
    assert_eq!(numbers, expected);
    assert_eq!((total.dropped.loss.frames, total.dropped.loss.bytes), (10, 15_180));
}

#[test]
fn random_events_are_as_frequent_as_asked_for() {
    let link = LinkSpec {
        loss: Some(LossSpec::Random(share(0.02))),
        duplicate: Some(share(0.01)),
        corrupt: Some(share(0.005)),
        ..LinkSpec::default()
    };
    let (_, total) = survivors(link, 6349, 100_000);
    assert!(is_plausible(total.dropped.loss.frames, 100_000, 0.02), "{total:?}");
    let carried = 100_000 - total.dropped.loss.frames;
    assert!(is_plausible(total.duplicated.frames, carried, 0.01), "{total:?}");
    assert!(is_plausible(total.corrupted.frames, carried, 0.005), "{total:?}");
    assert_eq!(total.passed.frames, carried + total.duplicated.frames);
}

/// In the long run the chain is bad p/(p + r) of the time. Neighbours are alike with correlation
/// 1 - p - r, so that the variance of the mean is (1 + ρ)/(1 - ρ) times the binomial one.
#[test]
fn loss_in_bursts_has_its_stationary_mean() {
    let chain = GilbertElliott {
        to_bad: share(0.01),
        to_good: share(0.2),
        loss_in_good: share(0.0),
        loss_in_bad: share(1.0),
    };
    let (mean, correlation) = (0.01_f64 / 0.21, 1.0 - 0.21);
    assert!((chain.mean_loss() - mean).abs() < 1e-12);
    let loss = Some(LossSpec::GilbertElliott(chain));
    let (numbers, total) = survivors(LinkSpec { loss, ..LinkSpec::default() }, 1, 500_000);
    let lost = total.dropped.loss.frames as f64 / 500_000.0;
    let variance = mean * (1.0 - mean) / 500_000.0 * (1.0 + correlation) / (1.0 - correlation);
    assert!((lost - mean).abs() < 4.0 * variance.sqrt(), "{lost} {mean}");
    // A burst lasts 1/r = 5 frames in the mean, with a variance of (1 - r)/r² = 20.
    let bursts = numbers.windows(2).filter(|pair| pair[1] > pair[0] + 1).count() as f64;
    let mean_burst = total.dropped.loss.frames as f64 / bursts;
    assert!((mean_burst - 5.0).abs() < 4.0 * (20.0 / bursts).sqrt(), "{mean_burst}");
}

/// Held back for 5 ms a frame is overtaken by the next ones, unless they are all held back too.
#[test]
fn frames_held_back_are_overtaken() {
    let reorder = Some(ReorderSpec { probability: share(0.01), hold: Duration::from_micros(4500) });
    let (numbers, total) = survivors(LinkSpec { reorder, ..LinkSpec::default() }, 3, 100_000);
    assert_eq!(numbers.len(), 100_000);
    assert!(is_plausible(total.reordered.frames, 100_000, 0.01), "{total:?}");
    let mut highest = 0;
    let overtaken = numbers.iter().filter(|number| {
        highest = highest.max(**number);
        **number < highest
    });
    assert_eq!(overtaken.count() as u64, total.reordered.frames);
}

/// Frames are further apart than they jitter, so that each one's delay is its own.
fn delays_ms(distribution: JitterDistribution, order: FrameOrder) -> Vec<f64> {
    let jitter = Some(JitterSpec { distribution, order });
    let link = LinkSpec { jitter, delay: Duration::from_millis(50), ..LinkSpec::default() };
    let mut way = Way::new(&[link], 11);
    (0..20_000).for_each(|number| way.on_frame(at_ms(number * 200), frame(number, 1518)));
    let delay = |output: &Output<u64>| match output {
        Output::Deliver { at, frame, .. } => at.since(at_ms(frame.body * 200)).as_secs_f64() * 1e3,
        Output::TooBig { .. } => panic!("nothing is too big"),
    };
    drain(&mut way).iter().map(delay).collect()
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// Between 48 and 52 ms with a deviation of 2/√3 = 1.1547 ms; the mean of 20,000 is within
/// 4·1.1547/√20,000 = 0.033 ms of 50 ms.
#[test]
fn uniform_jitter_stays_within_its_bounds_and_fills_them() {
    let two = JitterDistribution::Uniform(Duration::from_millis(2));
    let delays = delays_ms(two, FrameOrder::Free);
    assert!(delays.iter().all(|delay| (48.0..=52.0).contains(delay)));
    let (mean, deviation) = mean_and_deviation(&delays);
    assert!((mean - 50.0).abs() < 0.033, "{mean}");
    assert!((deviation - 1.1547).abs() < 0.02, "{deviation}");
}

/// The mean of 20,000 is within 4·3/√20,000 = 0.085 ms, their deviation within about 4·3/√40,000 =
/// 0.06 ms.
#[test]
fn normal_jitter_has_the_deviation_asked_for() {
    let three = JitterDistribution::Normal(Duration::from_millis(3));
    let delays = delays_ms(three, FrameOrder::Kept);
    assert!(delays.iter().all(|delay| (38.0..=62.0).contains(delay)));
    let (mean, deviation) = mean_and_deviation(&delays);
    assert!((mean - 50.0).abs() < 0.085, "{mean}");
    assert!((deviation - 3.0).abs() < 0.06, "{deviation}");
}

#[test]
fn jitter_reorders_only_where_it_may() {
    let distribution = JitterDistribution::Uniform(Duration::from_millis(5));
    for order in [FrameOrder::Kept, FrameOrder::Free] {
        let jitter = Some(JitterSpec { distribution, order });
        let link = LinkSpec { jitter, delay: Duration::from_millis(5), ..LinkSpec::default() };
        let (numbers, total) = survivors(link, 5, 1000);
        assert_eq!(numbers.is_sorted(), order == FrameOrder::Kept);
        assert_eq!(total.reordered.frames == 0, order == FrameOrder::Kept);
    }
}

#[test]
fn an_outage_takes_its_frames_and_returns_on_schedule() {
    let outage = Some(OutageSpec {
        start: Duration::from_millis(10),
        lasts: Duration::from_millis(3),
        every: Some(Duration::from_millis(20)),
    });
    let (numbers, total) = survivors(LinkSpec { outage, ..LinkSpec::default() }, 0, 50);
    let missing: Vec<_> = (0..50).filter(|number| !numbers.contains(number)).collect();
    assert_eq!(missing, [10, 11, 12, 30, 31, 32]);
    assert_eq!(total.dropped.outage.frames, 6);
}

#[test]
fn an_outage_is_counted_from_when_the_network_came_up() {
    let outage = Some(OutageSpec {
        start: Duration::from_millis(10),
        lasts: Duration::from_secs(3600),
        every: None,
    });
    let link = LinkSpec { outage, ..LinkSpec::default() };
    let mut way = Way::new(&[link], 0);
    way.come_up(at_ms(1000));
    for ms in [1009, 1010, 5000] {
        way.on_frame(at_ms(ms), frame(ms, 64));
    }
    let numbers: Vec<_> = drain(&mut way).into_iter().filter_map(delivered).collect();
    assert_eq!(numbers, [frame(1009, 64)]);
}

/// A frame of 1418 bytes carries a packet of 1400.
#[test]
fn a_packet_larger_than_the_mtu_is_answered_or_swallowed() {
    for too_big in [TooBigAnswer::Icmp, TooBigAnswer::Silence] {
        let mtu = Some(MtuSpec { bytes: 1400, too_big });
        let link = LinkSpec { mtu, delay: Duration::from_millis(5), ..LinkSpec::default() };
        let mut way = Way::new(&[link], 0);
        way.on_frame(at_ms(1), frame(0, 1418));
        way.on_frame(at_ms(2), frame(1, 1419));
        let answer = Output::TooBig { at: at_ms(2), mtu: 1400, frame: frame(1, 1419) };
        let passed = Output::Deliver { at: at_ms(6), frame: frame(0, 1418), corrupt: false };
        match too_big {
            TooBigAnswer::Icmp => assert_eq!(drain(&mut way), [answer, passed]),
            TooBigAnswer::Silence => assert_eq!(drain(&mut way), [passed]),
        }
        assert_eq!(way.truth().total.dropped.mtu.frames, 1);
    }
}

#[test]
fn code_points_are_remarked_by_the_first_rule_that_fits() {
    let rule = |from, to| RemarkSpec { from, to };
    let remark = vec![rule(Some(EF), AF11), rule(None, Dscp::BEST_EFFORT)];
    let mut way = Way::new(&[LinkSpec { remark, ..LinkSpec::default() }], 0);
    for (number, dscp) in [EF, AF12, Dscp::BEST_EFFORT].into_iter().enumerate() {
        way.on_frame(Time::ZERO, marked(number as u64, 64, dscp));
    }
    let dscps: Vec<_> =
        drain(&mut way).into_iter().filter_map(delivered).map(|frame| frame.dscp).collect();
    assert_eq!(dscps, [AF11, Dscp::BEST_EFFORT, Dscp::BEST_EFFORT]);
    let truth = way.truth();
    assert_eq!(truth.total.remarked.frames, 2);
    // Counted by the code point with which it came.
    assert_eq!((truth.by_dscp[&46].passed.frames, truth.by_dscp[&46].remarked.frames), (1, 1));
}

/// Buckets of two frames each, nothing flows in: two green, two yellow, the rest red.
#[test]
fn a_policer_marks_yellow_frames_and_remarks_red_ones_where_it_is_told_to() {
    let profile = BandwidthProfileSpec {
        eir_l2: Rate::bps(1),
        ebs_bytes: 2000,
        ..police(Rate::bps(1), 2000).profile
    };
    let police = PoliceSpec {
        profile,
        mark_yellow: Some(AF12),
        exceed: Exceed::Remark(AF13),
        ..police(Rate::bps(1), 2000)
    };
    let mut way = Way::new(&[LinkSpec { police: Some(police), ..LinkSpec::default() }], 0);
    (0..6).for_each(|number| way.on_frame(Time::ZERO, marked(number, 1000, AF11)));
    let dscps: Vec<_> =
        drain(&mut way).into_iter().filter_map(delivered).map(|frame| frame.dscp).collect();
    assert_eq!(dscps, [AF11, AF11, AF12, AF12, AF13, AF13]);
    let total = way.truth().total;
    assert_eq!((total.yellow.frames, total.remarked.frames, total.passed.frames), (2, 4, 6));
}

/// A frame that was yellow before may use the excess bucket only, a red one none.
#[test]
fn a_colour_aware_policer_believes_the_code_points() {
    let blind = police(Rate::bps(1), 10_000);
    let profile = BandwidthProfileSpec { mode: ColourMode::Aware, ..blind.profile };
    let link = LinkSpec { police: Some(PoliceSpec { profile, ..blind }), ..LinkSpec::default() };
    let mut way = Way::new(&[link], 0);
    for dscp in [AF11, AF12, AF13] {
        way.on_frame(Time::ZERO, marked(0, 1000, dscp));
    }
    let dscps: Vec<_> =
        drain(&mut way).into_iter().filter_map(delivered).map(|frame| frame.dscp).collect();
    assert_eq!(dscps, [AF11]);
}

/// Buckets of three, two and one frame, nothing flows in.
#[test]
fn a_class_meets_its_own_policer_and_only_the_others_meet_the_common_one() {
    let bucket_of = |frames: u64| police(Rate::bps(1), frames * 1000);
    let class =
        |dscp: &[Dscp], frames| ClassPoliceSpec { dscp: dscp.to_vec(), police: bucket_of(frames) };
    let link = LinkSpec {
        police: Some(bucket_of(1)),
        police_classes: vec![class(&[EF], 3), class(&[AF11, AF12], 2)],
        ..LinkSpec::default()
    };
    let mut way = Way::new(&[link], 0);
    for dscp in [AF13, EF, AF11, AF12, EF, AF13, EF, AF11, EF] {
        way.on_frame(Time::ZERO, marked(0, 1000, dscp));
    }
    let dscps: Vec<_> =
        drain(&mut way).into_iter().filter_map(delivered).map(|frame| frame.dscp).collect();
    assert_eq!(dscps, [AF13, EF, AF11, AF12, EF, EF]);
}

#[test]
fn what_happens_by_chance_is_the_same_for_the_same_seed_and_not_shifted_by_other_impairments() {
    let loss = Some(LossSpec::Random(share(0.1)));
    let lossy = LinkSpec { loss, ..LinkSpec::default() };
    let survivors_of = |link: &LinkSpec, seed| survivors(link.clone(), seed, 1000).0;
    assert_eq!(survivors_of(&lossy, 1), survivors_of(&lossy, 1));
    assert_ne!(survivors_of(&lossy, 1), survivors_of(&lossy, 2));
    let corrupting = LinkSpec { corrupt: Some(share(0.5)), ..lossy.clone() };
    assert_eq!(survivors_of(&lossy, 1), survivors_of(&corrupting, 1));
    let duplicating = LinkSpec { duplicate: Some(share(0.5)), ..lossy.clone() };
    let mut without_copies = survivors_of(&duplicating, 1);
    without_copies.dedup();
    assert_eq!(survivors_of(&lossy, 1), without_copies);
}

/// 1538·80 ns on the first line, 1538·800 ns on the second; 3 + 4 ms of delay.
#[test]
fn links_in_series_add_up_and_each_keeps_its_own_truth() {
    let first = LinkSpec { delay: Duration::from_millis(3), ..line(Rate::mbps(100)) };
    let second = LinkSpec {
        delay: Duration::from_millis(4),
        queue: Some(packets(1)),
        ..line(Rate::mbps(10))
    };
    let mut way = Way::new(&[first, second], 0);
    (0..3).for_each(|number| way.on_frame(Time::ZERO, frame(number, 1518)));
    let at: Vec<_> = drain(&mut way).iter().map(|output| output.at().as_nanos()).collect();
    let head = 1538 * 80 + 7_000_000 + 1538 * 800;
    assert_eq!(at, [head, head + 1538 * 800]);
    let truth = way.truth();
    assert_eq!((truth.total.offered.frames, truth.total.passed.frames), (3, 2));
    assert_eq!(truth.total.dropped.queue.frames, 1);
    assert_eq!(truth.links[0].total.passed.frames, 3);
    assert_eq!(truth.links[1].total.dropped.queue.frames, 1);
}

/// In the lab a frame bears the time of its reception, which is a little before the last poll.
#[test]
fn a_frame_that_is_told_late_is_treated_as_if_told_in_time() {
    let mut way = Way::new(&[line(Rate::mbps(100))], 0);
    assert_eq!(way.poll(at_ms(9)), None);
    way.on_frame(at_ms(8), frame(0, 1518));
    let due = at_ms(8) + Duration::from_nanos(1538 * 80);
    assert_eq!(way.poll_timeout(), Some(due));
}
