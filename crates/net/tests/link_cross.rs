//! Traffic of others on an emulated link, against arithmetic.

use std::time::Duration;

use fp_model::{Dscp, Rate, Time};
use fp_net::link::{Frame, Output, Tally, Way};
use fp_net::path::{
    CrossPattern, CrossSpec, LinkSpec, OutageSpec, PoliceSpec, QueueLimit, QueueSpec,
};

const fn at_ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn cross(pattern: CrossPattern, rate_l2: Rate, frame_bytes: u32) -> CrossSpec {
    CrossSpec { pattern, rate_l2, frame_bytes, dscp: Dscp::BEST_EFFORT }
}

/// What others did by this time, where nobody else sends.
fn alone(link: LinkSpec, until: Time) -> Tally {
    let mut way = Way::<()>::new(&[link], 7);
    way.come_up(Time::ZERO);
    assert_eq!(way.poll(until), None);
    let truth = way.truth();
    assert_eq!(truth.total, Tally::default(), "frames of others are not the path's");
    truth.links[0].cross.unwrap_or_default()
}

fn crossed(pattern: CrossPattern, rate_l2: Rate, frame_bytes: u32) -> LinkSpec {
    LinkSpec { cross: vec![cross(pattern, rate_l2, frame_bytes)], ..LinkSpec::default() }
}

#[test]
fn evenly_spaced_frames_come_at_their_rate() {
    // Of 1,000 bytes at 8 Mbit/s: one in a millisecond, the first one within the first.
    let seen = alone(crossed(CrossPattern::Constant, Rate::mbps(8), 1000), at_ms(10_000));
    assert_eq!((seen.offered.frames, seen.passed.frames), (10_000, 10_000));
}

#[test]
fn a_sender_that_is_on_a_fifth_of_the_time_sends_a_fifth() {
    let pattern =
        CrossPattern::OnOff { on: Duration::from_millis(10), off: Duration::from_millis(40) };
    // A frame takes a tenth of a turn, or ten of them.
    for (rate, frames) in [(Rate::mbps(8), 200_000.0), (Rate::bps(80_000), 2000.0)] {
        let seen = alone(crossed(pattern.clone(), rate, 1000), at_ms(1_000_000));
        // Of 20,000 turns: the share deviates by (1 - 0.2)·sqrt(2 / 20,000) of itself, which is 0.8 %.
        let share = seen.offered.frames as f64 / frames;
        assert!((share - 1.0).abs() < 5.0 * 0.008, "{share} at {rate:?}");
    }
}

#[test]
fn bytes_are_replayed_millisecond_by_millisecond_and_over_again() {
    let pattern = CrossPattern::Replayed { bytes: vec![0, 3000, 0, 1518, 100] };
    let link = crossed(pattern, Rate::ZERO, 1518);
    let counts = [0, 1, 2, 4, 5, 6, 7, 105].map(|ms| alone_or_none(&link, ms));
    // By the end of each of these milliseconds: 3000 bytes are two frames.
    let five = 3000 + 1518 + 100;
    let of = |frames, bytes| Some((frames, bytes));
    assert_eq!(
        counts,
        [
            None,
            of(2, 3000),
            of(2, 3000),
            of(4, five),
            of(4, five),
            of(6, five + 3000),
            of(6, five + 3000),
            of(84, 21 * five)
        ]
    );
}

fn alone_or_none(link: &LinkSpec, ms: u64) -> Option<(u64, u64)> {
    let mut way = Way::<()>::new(std::slice::from_ref(link), 7);
    way.come_up(Time::ZERO);
    assert_eq!(way.poll(Time::from_nanos(ms * 1_000_000 + 999_999)), None);
    way.truth().links[0].cross.map(|seen| (seen.offered.frames, seen.offered.bytes))
}

#[test]
fn two_share_a_line_and_one_waits_for_the_other() {
    // 1,250 bytes take a millisecond on a line of 10 Mbit/s, 20 of them preamble and gap.
    let line = LinkSpec {
        line_rate: Some(Rate::mbps(10)),
        ..crossed(CrossPattern::Constant, Rate::bps(4_920_000), 1230)
    };
    let mut way = Way::new(&[line], 7);
    way.come_up(Time::ZERO);
    // Every second millisecond one of theirs; one of ours each fifth.
    (0..1000).for_each(|number| {
        let frame = Frame { frame_bytes: 1230, dscp: Dscp::BEST_EFFORT, body: number };
        way.on_frame(at_ms(5 * number), frame);
    });
    let mut waited = Vec::new();
    while let Some(Output::Deliver { at, frame, .. }) = way.poll(at_ms(10_000)) {
        waited.push(at.since(at_ms(5 * frame.body)).as_nanos());
    }
    // None or one is under way, and how much of it is left is as likely anything: of two milliseconds in
    // one.
    assert_eq!(waited.len(), 1000);
    let (least, most) = (waited.iter().min().unwrap(), waited.iter().max().unwrap());
    assert!(*least == 1_000_000 && *most <= 2_000_000, "{least} to {most}");
    assert_eq!(way.truth().links[0].cross.unwrap().dropped.sum().frames, 0);
}

#[test]
fn two_share_the_tokens_of_a_policer() {
    let link = LinkSpec {
        police: Some(PoliceSpec::single_bucket(Rate::mbps(8), 10_000)),
        ..crossed(CrossPattern::Constant, Rate::mbps(8), 719)
    };
    let mut way = Way::new(&[link], 7);
    way.come_up(Time::ZERO);
    // As much of ours as of theirs: a frame of 1,000 bytes in each millisecond.
    (0..10_000_u64).for_each(|ms| {
        let frame = Frame { frame_bytes: 1000, dscp: Dscp::BEST_EFFORT, body: () };
        way.on_frame(at_ms(ms), frame);
    });
    while way.poll(at_ms(9_999)).is_some() {}
    let truth = way.truth();
    let others = truth.links[0].cross.unwrap();
    let passed = truth.total.passed.bytes + others.passed.bytes;
    // 8 Mbit/s for 9.999 s, and the bucket.
    assert!((9_999_000 + 9_281..=9_999_000 + 10_000).contains(&passed), "{passed}");
    assert!(others.dropped.police.frames > 0 && truth.total.dropped.police.frames > 0);
}

/// 20 Mbit/s and 40 ms are 100,000 bytes: with such a queue the line is never idle.
fn crossed_by_tcp() -> LinkSpec {
    let limit = QueueLimit::Bytes(100_000);
    LinkSpec {
        line_rate: Some(Rate::mbps(20)),
        queue: Some(QueueSpec { limit, ..QueueSpec::default() }),
        ..crossed(CrossPattern::Tcp { rtt: Duration::from_millis(40) }, Rate::mbps(1000), 1518)
    }
}

#[test]
fn a_transfer_by_tcp_fills_the_line_that_it_has_for_itself() {
    let seen = alone(crossed_by_tcp(), at_ms(60_000));
    let most = 20e6 / 8.0 * 60.0 / 1538.0;
    let share = seen.passed.frames as f64 / most;
    assert!((0.97..=1.0).contains(&share), "{share}");
    // Each saw tooth of twice the product, 200,000 bytes, drops few: the window grows by one in a
    // round trip of up to 80 ms.
    assert!((1..200).contains(&seen.dropped.queue.frames), "{:?}", seen.dropped);
}

#[test]
fn a_transfer_by_tcp_gives_way_to_what_does_not() {
    let mut way = Way::new(&[crossed_by_tcp()], 7);
    way.come_up(Time::ZERO);
    // Ours: 1,518 bytes each millisecond, which are 12.304 of the 20 Mbit/s.
    (0..60_000_u64).for_each(|ms| {
        way.on_frame(at_ms(ms), Frame { frame_bytes: 1518, dscp: Dscp::BEST_EFFORT, body: () });
        while way.poll(at_ms(ms)).is_some() {}
    });
    let truth = way.truth();
    let others = truth.links[0].cross.unwrap();
    let rate = |passed: u64| passed as f64 * 1538.0 * 8.0 / 60.0 / 1e6;
    let (ours, theirs) = (rate(truth.total.passed.frames), rate(others.passed.frames));
    assert!((11.9..=12.304).contains(&ours), "{ours}");
    assert!((6.5..=8.1).contains(&theirs) && ours + theirs <= 20.01, "{theirs}");
}

#[test]
fn nobody_crosses_a_link_that_is_down() {
    let outage =
        OutageSpec { start: Duration::from_secs(2), lasts: Duration::from_secs(3), every: None };
    let link =
        LinkSpec { outage: Some(outage), ..crossed(CrossPattern::Constant, Rate::mbps(8), 1000) };
    let seen = alone(link, at_ms(10_000));
    assert_eq!((seen.offered.frames, seen.dropped.outage.frames), (10_000, 3_000));
    assert_eq!(seen.passed.frames, 7_000);
}

#[test]
fn the_same_seed_draws_the_same_crossing_traffic() {
    let pattern =
        CrossPattern::OnOff { on: Duration::from_millis(3), off: Duration::from_millis(7) };
    let link = crossed(pattern, Rate::mbps(100), 700);
    let seen = |seed| {
        let mut way = Way::<()>::new(std::slice::from_ref(&link), seed);
        way.come_up(Time::ZERO);
        assert_eq!(way.poll(at_ms(5_000)), None);
        way.truth()
    };
    assert_eq!(seen(1), seen(1));
    assert_ne!(seen(1), seen(2));
}
