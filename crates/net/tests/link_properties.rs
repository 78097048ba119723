//! What holds for every emulated network and every traffic.

use std::collections::BTreeMap;
use std::time::Duration;

use fp_model::{Dscp, Rate, Time};
use fp_net::link::{Count, Frame, Output, Tally, Way};
use fp_net::meter::{BandwidthProfileSpec, ColourMode, Coupling};
use fp_net::path::{
    Aqm, Charge, ClassPoliceSpec, ColourMap, CrossPattern, CrossSpec, DrrClass, Exceed, FrameOrder,
    GilbertElliott, JitterDistribution, JitterSpec, LinkSpec, LossSpec, MtuSpec, OutageSpec,
    PoliceSpec, PrioritySpec, Probability, QueueLimit, QueueSpec, RemarkSpec, ReorderSpec,
    ShapeSpec, TooBigAnswer,
};
use proptest::option::of;
use proptest::prelude::*;

fn rate() -> impl Strategy<Value = Rate> {
    (1_000_000_u64..1_000_000_000).prop_map(Rate::bps)
}

fn up_to_ms(most: u64) -> impl Strategy<Value = Duration> {
    (0..most * 1000).prop_map(Duration::from_micros)
}

fn share() -> impl Strategy<Value = Probability> {
    (0.0..0.3).prop_filter_map("a share", Probability::new)
}

fn dscp() -> impl Strategy<Value = Dscp> {
    (0_u8..64).prop_filter_map("a code point", Dscp::new)
}

fn queue() -> impl Strategy<Value = QueueSpec> {
    let limit = prop_oneof![
        (0_u64..30_000).prop_map(QueueLimit::Bytes),
        (0_u64..30).prop_map(QueueLimit::Packets)
    ];
    let codel = (1_u64..5, 5_u64..50).prop_map(|(target, interval)| Aqm::CoDel {
        target: Duration::from_millis(target),
        interval: Duration::from_millis(interval),
    });
    let aqm = prop_oneof![Just(Aqm::Fifo), codel];
    (limit, aqm).prop_map(|(limit, aqm)| QueueSpec { limit, aqm })
}

fn police() -> impl Strategy<Value = PoliceSpec> {
    let exceed = prop_oneof![Just(Exceed::Drop), dscp().prop_map(Exceed::Remark)];
    (rate(), 1518_u64..20_000, rate(), 1518_u64..20_000, any::<[bool; 2]>(), exceed, of(dscp()))
        .prop_map(|(cir_l2, cbs_bytes, eir_l2, ebs_bytes, [coupled, aware], exceed, mark)| {
            let coupling = if coupled { Coupling::Coupled } else { Coupling::Uncoupled };
            let mode = if aware { ColourMode::Aware } else { ColourMode::Blind };
            PoliceSpec {
                profile: BandwidthProfileSpec {
                    cir_l2,
                    cbs_bytes,
                    eir_l2,
                    ebs_bytes,
                    coupling,
                    mode,
                },
                charge: Charge::L2,
                colours: ColourMap::default(),
                mark_yellow: mark,
                exceed,
            }
        })
}

fn police_class() -> impl Strategy<Value = ClassPoliceSpec> {
    let classes = prop::collection::vec(dscp(), 0..3);
    (classes, police()).prop_map(|(dscp, police)| ClassPoliceSpec { dscp, police })
}

fn shape() -> impl Strategy<Value = ShapeSpec> {
    (rate(), 100_u64..20_000, queue()).prop_map(|(rate, burst_bytes, queue)| ShapeSpec {
        rate,
        burst_bytes,
        queue,
    })
}

fn priority() -> impl Strategy<Value = PrioritySpec> {
    let dscps = || prop::collection::vec(dscp(), 0..3);
    let class =
        (dscps(), 64_u32..5000).prop_map(|(dscp, quantum_bytes)| DrrClass { dscp, quantum_bytes });
    prop_oneof![
        prop::collection::vec(dscps(), 1..5).prop_map(PrioritySpec::Strict),
        prop::collection::vec(class, 1..5).prop_map(PrioritySpec::Drr),
    ]
}

fn loss() -> impl Strategy<Value = LossSpec> {
    let chain = (share(), share(), share(), share()).prop_map(|(p, r, good, bad)| {
        let (loss_in_good, loss_in_bad) = (good, bad);
        LossSpec::GilbertElliott(GilbertElliott {
            to_bad: p,
            to_good: r,
            loss_in_good,
            loss_in_bad,
        })
    });
    prop_oneof![share().prop_map(LossSpec::Random), (1_u64..20).prop_map(LossSpec::Every), chain]
}

fn mtu() -> impl Strategy<Value = MtuSpec> {
    let too_big = prop_oneof![Just(TooBigAnswer::Icmp), Just(TooBigAnswer::Silence)];
    (500_u32..1500, too_big).prop_map(|(bytes, too_big)| MtuSpec { bytes, too_big })
}

fn outage() -> impl Strategy<Value = OutageSpec> {
    (up_to_ms(20), up_to_ms(5), of(5_u64..30)).prop_map(|(start, lasts, every)| OutageSpec {
        start,
        lasts,
        every: every.map(Duration::from_millis),
    })
}

/// A link whose frames keep their order: one class, no jitter or reordering that may change it.
fn orderly_link() -> impl Strategy<Value = LinkSpec> {
    let jitter = of(up_to_ms(5).prop_map(|most| JitterSpec {
        distribution: JitterDistribution::Uniform(most),
        order: FrameOrder::Kept,
    }));
    let remark = of((of(dscp()), dscp()).prop_map(|(from, to)| RemarkSpec { from, to }));
    let policers = (of(police()), of(police_class()));
    let line = (of(rate()), 0_u8..=2);
    let carrying = (line, of(queue()), policers, of(shape()), up_to_ms(20), jitter);
    let harming = (of(loss()), of(share()), of(share()), of(mtu()), remark, of(outage()));
    (carrying, harming).prop_map(|(carrying, harming)| {
        let ((line_rate, vlan_tags), queue, (police, police_class), shape, delay, jitter) =
            carrying;
        let (loss, duplicate, corrupt, mtu, remark, outage) = harming;
        LinkSpec {
            line_rate,
            vlan_tags,
            police,
            police_classes: police_class.into_iter().collect(),
            shape,
            shape_classes: Vec::new(),
            delay,
            jitter,
            loss,
            reorder: None,
            duplicate,
            corrupt,
            mtu,
            queue,
            priority: None,
            remark: remark.into_iter().collect(),
            outage,
            cross: Vec::new(),
        }
    })
}

/// Others, who are never faster than the slowest line or shaper: none starves beside them.
fn cross() -> impl Strategy<Value = CrossSpec> {
    let ms = || (1_u64..20).prop_map(Duration::from_millis);
    let pattern = prop_oneof![
        Just(CrossPattern::Constant),
        (ms(), ms()).prop_map(|(on, off)| CrossPattern::OnOff { on, off }),
        ms().prop_map(|rtt| CrossPattern::Tcp { rtt }),
        prop::collection::vec(0_u32..100, 1..20).prop_map(|bytes| CrossPattern::Replayed { bytes }),
    ];
    (pattern, 10_000_u64..300_000, 64_u32..1519, dscp()).prop_map(
        |(pattern, rate, frame_bytes, dscp)| CrossSpec {
            pattern,
            rate_l2: Rate::bps(rate),
            frame_bytes,
            dscp,
        },
    )
}

fn any_link() -> impl Strategy<Value = LinkSpec> {
    let reorder =
        (share(), up_to_ms(10)).prop_map(|(probability, hold)| ReorderSpec { probability, hold });
    let free = up_to_ms(3).prop_map(|sigma| JitterSpec {
        distribution: JitterDistribution::Normal(sigma),
        order: FrameOrder::Free,
    });
    (orderly_link(), of(reorder), of(priority()), of(free), of(cross())).prop_map(
        |(link, reorder, priority, free, cross)| LinkSpec {
            reorder,
            priority,
            jitter: free.or(link.jitter),
            cross: cross.into_iter().collect(),
            ..link
        },
    )
}

#[derive(Clone, Debug)]
struct Sent {
    /// After the one before.
    gap: Duration,
    frame_bytes: u32,
    dscp: Dscp,
    /// Whether the way is polled when it has entered.
    polled: bool,
}

fn traffic() -> impl Strategy<Value = Vec<Sent>> {
    let gap = (0_u64..1_000_000).prop_map(Duration::from_nanos);
    let sent = (gap, 64_u32..1600, dscp(), any::<bool>())
        .prop_map(|(gap, frame_bytes, dscp, polled)| Sent { gap, frame_bytes, dscp, polled });
    prop::collection::vec(sent, 1..200)
}

/// Every frame enters, with the polls in between that it asks for or with none.
fn send(way: &mut Way<usize>, traffic: &[Sent], polling: bool) -> Vec<Output<usize>> {
    let mut now = Time::ZERO;
    let mut outputs = Vec::new();
    for (body, sent) in traffic.iter().enumerate() {
        now = now + sent.gap;
        way.on_frame(now, Frame { frame_bytes: sent.frame_bytes, dscp: sent.dscp, body });
        if polling && sent.polled {
            outputs.extend(std::iter::from_fn(|| way.poll(now)));
        }
    }
    outputs
}

/// All that is still to come, whatever others go on to send, and when the last of it came; every second
/// poll has a frame or brings the next time nearer.
fn drain(way: &mut Way<usize>, outputs: &mut Vec<Output<usize>>) -> Time {
    let mut idle_polls = 0;
    let mut polled = Time::ZERO;
    while let Some(now) = way.poll_timeout() {
        polled = now;
        let before = outputs.len();
        while let Some(output) = way.poll(now) {
            assert!(output.at() <= now, "nothing comes before it is due");
            outputs.push(output);
        }
        idle_polls = if outputs.len() == before { idle_polls + 1 } else { 0 };
        if idle_polls > 0 && way.truth().total.in_flight == Count::default() {
            break;
        }
        assert!(idle_polls < 1000, "polling at {now:?} gets nowhere");
    }
    polled
}

fn check_conservation(tally: &Tally) {
    let sum = |a: Count, b: Count| (a.frames + b.frames, a.bytes + b.bytes);
    let mut out = tally.passed;
    out += tally.dropped.sum();
    assert_eq!(sum(tally.offered, tally.duplicated), sum(out, tally.in_flight));
}

fn counted(frames: impl Iterator<Item = u32>) -> Count {
    frames.fold(Count::default(), |mut count, frame_bytes| {
        count += Count { frames: 1, bytes: u64::from(frame_bytes) };
        count
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_frame_is_passed_or_dropped_for_a_cause_or_in_flight(
        links in prop::collection::vec(any_link(), 1..4), traffic in traffic(), seed: u64,
    ) {
        let mut way = Way::new(&links, seed);
        let mut outputs = send(&mut way, &traffic, true);
        let midway = way.truth();
        let delivered_midway = outputs.len();
        drain(&mut way, &mut outputs);
        let truth = way.truth();
        for tally in [&midway.total, &truth.total] {
            check_conservation(tally);
        }
        prop_assert_eq!(truth.total.in_flight, Count::default());
        prop_assert_eq!(truth.total.offered, counted(traffic.iter().map(|sent| sent.frame_bytes)));
        let delivered = outputs.iter().filter_map(|output| match output {
            Output::Deliver { frame, .. } => Some(frame.frame_bytes),
            Output::TooBig { .. } => None,
        });
        prop_assert_eq!(truth.total.passed, counted(delivered));
        prop_assert!(midway.total.passed.frames <= delivered_midway as u64);

        let mut by_dscp: BTreeMap<u8, Count> = BTreeMap::new();
        for sent in &traffic {
            *by_dscp.entry(sent.dscp.code_point()).or_default() +=
                counted(std::iter::once(sent.frame_bytes));
        }
        let offered: BTreeMap<_, _> =
            truth.by_dscp.iter().map(|(dscp, tally)| (*dscp, tally.offered)).collect();
        prop_assert_eq!(offered, by_dscp);
        for link in &truth.links {
            check_conservation(&link.total);
            prop_assert_eq!(link.total.in_flight, Count::default());
        }
        for pair in truth.links.windows(2) {
            prop_assert_eq!(pair[0].total.passed, pair[1].total.offered);
        }
    }

    #[test]
    fn what_comes_out_and_when_does_not_depend_on_when_it_is_polled(
        links in prop::collection::vec(any_link(), 1..4), traffic in traffic(), seed: u64,
    ) {
        let mut eager = Way::new(&links, seed);
        let mut eagerly = send(&mut eager, &traffic, true);
        let sent: Duration = traffic.iter().map(|sent| sent.gap).sum();
        let end = drain(&mut eager, &mut eagerly).max(Time::ZERO + sent);
        prop_assert_eq!(eager.poll(end), None);
        let mut lazy = Way::new(&links, seed);
        let mut lazily = send(&mut lazy, &traffic, false);
        lazily.extend(std::iter::from_fn(|| lazy.poll(end)));
        prop_assert_eq!(eagerly, lazily);
        prop_assert_eq!(eager.truth(), lazy.truth());
    }

    #[test]
    fn outputs_come_in_the_order_of_time(
        links in prop::collection::vec(any_link(), 1..4), traffic in traffic(), seed: u64,
    ) {
        let mut way = Way::new(&links, seed);
        let mut outputs = send(&mut way, &traffic, false);
        drain(&mut way, &mut outputs);
        prop_assert!(outputs.is_sorted_by_key(Output::at));
    }

    #[test]
    fn links_without_classes_or_reordering_keep_the_order_of_frames(
        links in prop::collection::vec(orderly_link(), 1..4), traffic in traffic(), seed: u64,
    ) {
        let mut way = Way::new(&links, seed);
        let mut outputs = send(&mut way, &traffic, true);
        drain(&mut way, &mut outputs);
        let bodies = outputs.iter().filter_map(|output| match output {
            Output::Deliver { frame, .. } => Some(frame.body),
            Output::TooBig { .. } => None,
        });
        prop_assert!(bodies.is_sorted());
        prop_assert_eq!(way.truth().total.reordered, Count::default());
    }

    #[test]
    fn a_policed_way_passes_at_most_its_burst_and_its_rate_times_time(
        cir in rate(), cbs_bytes in 1518_u64..20_000, line in of(rate()), traffic in traffic(),
    ) {
        let police = PoliceSpec::single_bucket(cir, cbs_bytes);
        let link = LinkSpec { line_rate: line, police: Some(police), ..LinkSpec::default() };
        let mut way = Way::new(&[link], 0);
        let mut outputs = send(&mut way, &traffic, true);
        drain(&mut way, &mut outputs);
        let bytes = way.truth().total.passed.bytes;
        let last = outputs.last().map_or(Time::ZERO, Output::at);
        let flowed_in = u128::from(cir.as_bps()) * u128::from(last.as_nanos());
        prop_assert!(u128::from(bytes) * 8_000_000_000
            <= u128::from(cbs_bytes) * 8_000_000_000 + flowed_in);
    }

    #[test]
    fn a_line_is_never_faster_than_its_rate_and_never_idle_with_frames_waiting(
        rate in rate(), traffic in traffic(),
    ) {
        let queue = Some(QueueSpec { limit: QueueLimit::Packets(1000), aqm: Aqm::Fifo });
        let link = LinkSpec { line_rate: Some(rate), queue, ..LinkSpec::default() };
        let mut way = Way::new(&[link], 0);
        let mut outputs = send(&mut way, &traffic, true);
        drain(&mut way, &mut outputs);
        // In units of 1/rate nanoseconds, exactly.
        let per_nano = u128::from(rate.as_bps());
        let (mut entered, mut free) = (0_u128, 0_u128);
        for (sent, output) in traffic.iter().zip(&outputs) {
            entered += sent.gap.as_nanos() * per_nano;
            free = free.max(entered) + u128::from(sent.frame_bytes + 20) * 8_000_000_000;
            prop_assert_eq!(u128::from(output.at().as_nanos()), free.div_ceil(per_nano));
        }
        prop_assert_eq!(outputs.len(), traffic.len());
    }
}
