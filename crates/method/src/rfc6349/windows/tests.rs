//! Windows by the arithmetic of sections 3.3.1 and 4.1.1.

use fp_model::{Family, LayeredRate};

use super::*;
use crate::rfc6349::Source;

fn limit(rate: LayeredRate, kind: LimitKind, overload_delay: Option<Duration>) -> Limits {
    let of = |direction| Bottleneck {
        direction,
        limit: rate,
        at_least: rate.rate,
        at_most: Some(rate.rate),
        packet: PacketLayout::ethernet(1500, 1460),
        source: Source::Measured,
        kind,
        trials: 10,
        base_loss: None,
        overload_delay,
        overload_drops: true,
        burst_bytes: None,
        carried_bytes: None,
    };
    Limits { download: of(Direction::Download), upload: of(Direction::Upload) }
}

fn line(rate: Rate) -> Limits {
    limit(LayeredRate { rate, layer: Layer::L1 }, LimitKind::Queue, None)
}

fn policer(rate: Rate) -> Limits {
    limit(LayeredRate { rate, layer: Layer::L2 }, LimitKind::Policer, Some(Duration::ZERO))
}

fn path(limits: &Limits, rtt_us: u64) -> Path<'_> {
    let rtt = Duration::from_micros(rtt_us);
    let idle_rtt = RttSummary { min: rtt, mean: rtt, p99: rtt, max: rtt, samples: 100 };
    Path { mtu_bytes: 1500, idle_rtt, limits, more_times: [Duration::ZERO; 2] }
}

fn plan(windows: Windows) -> Plan {
    Plan { windows, ..Plan::new(Family::Ipv4, 1500) }
}

/// How many windows of how many bytes each.
fn fill(path: &Path<'_>, windows: Windows) -> (u32, u64) {
    let fill = path.fill(&plan(windows), Direction::Download);
    (fill.connections, fill.window_bytes)
}

//= rfc6349 3.3.1
#[test]
fn the_bandwidth_delay_product_is_the_rate_of_the_bottleneck_times_the_round_trip() {
    // 500 Mbit/s × 5 ms / 8.
    let limits = line(Rate::mbps(500));
    assert_eq!(path(&limits, 5_000).bdp_bytes(Direction::Upload), 312_500);
    // 1 Gbit/s × 0.1 ms / 8.
    let limits = line(Rate::mbps(1000));
    assert_eq!(path(&limits, 100).bdp_bytes(Direction::Upload), 12_500);
}

//= rfc6349 3.3.1
#[test]
fn connections_share_the_bandwidth_delay_product_of_a_line() {
    let limits = line(Rate::mbps(100));
    let path = path(&limits, 10_211);
    // 100 Mbit/s × 10.211 ms / 8 = 127,637.5; a quarter of 127,638, rounded up.
    assert_eq!(fill(&path, Windows::Connections { connections: 4 }), (4, 31_910));
    // 127,638 / 64,000 = 1.99.
    assert_eq!(fill(&path, Windows::Window { window_bytes: 64_000 }), (2, 64_000));
    let both = Windows::Both { connections: 7, window_bytes: 9_999 };
    assert_eq!(fill(&path, both), (7, 9_999), "what was asked for is taken as it is");
}

/// A policer has no queue for what the payload's share of the line leaves over.
#[test]
fn behind_a_policer_windows_are_whole_segments_of_the_payload() {
    let limits = policer(Rate::mbps(40));
    let path = path(&limits, 54_000);
    // 1448 of 1518 bytes: 38.155 Mbit/s, 257,549 bytes in 54 ms; a quarter of it holds 22 pairs of
    // segments, 22 × 2896 bytes.
    assert_eq!(fill(&path, Windows::Connections { connections: 4 }), (4, 63_712));
    // 257,549 / 64,000 = 4.02.
    assert_eq!(fill(&path, Windows::Window { window_bytes: 64_000 }), (5, 64_000));
}

/// RFC 7323 section 2.2: 65,535 bytes need no scaling; windows of less than 8 segments of 1448 bytes
/// are not divided further.
#[test]
fn on_a_short_path_fewer_connections_share_an_unscaled_window() {
    let limits = line(Rate::mbps(1000));
    let path = path(&limits, 100);
    assert_eq!(fill(&path, Windows::Connections { connections: 1 }), (1, 65_535));
    // 65,535 / 11,584 = 5.7.
    assert_eq!(fill(&path, Windows::Connections { connections: 10 }), (5, 13_107));
}

#[test]
fn windows_that_fill_a_queue_hold_four_fifths_of_it_beyond_the_path() {
    let rate = LayeredRate { rate: Rate::mbps(20), layer: Layer::L1 };
    let limits = limit(rate, LimitKind::Queue, Some(Duration::from_millis(400)));
    let path = path(&limits, 40_000);
    // 20 Mbit/s × 40 ms / 8 = 100,000 bytes; the queue holds 1,000,000, of which 800,000.
    let full = Fill {
        direction: Direction::Download,
        connections: 4,
        window_bytes: 25_000,
        mss_bytes: 1460,
        pacing: None,
    };
    assert_eq!(path.deep_fraction(full), 9.0);
    let policed = policer(Rate::mbps(20));
    let behind_a_policer = Path { limits: &policed, ..path };
    assert_eq!(behind_a_policer.deep_fraction(full), 1.0);
}

//= rfc6349 4.1.1
#[test]
fn the_ideal_is_the_payload_of_full_segments_at_the_bottleneck() {
    let limits = line(Rate::mbps(100));
    let path = path(&limits, 10_211);
    let plan = plan(Windows::Connections { connections: 4 });
    // 8127 frames/s of 1538 bytes with 1460 bytes of payload, as the RFC has it: 94.9 Mbit/s; with
    // timestamps 1448: 94.1 Mbit/s.
    let strict = path.link(&plan, Direction::Download, path.mss(&plan)).alone_bps();
    assert_eq!(strict as u64 / 10_000, 9_492);
    assert_eq!(path.max_tcp(&plan, Direction::Download).as_bps() / 10_000, 9_414);
}

/// 5 Mbit/s of frames and 27.2 ms are 17,000 bytes, 11.2 frames of 1518: 12 of 1416, of which 1346 are
/// payload, fill them. A pair less would leave a ninth of the rate, and a pair more be dropped.
#[test]
fn segments_are_shorter_where_whole_pairs_do_not_fill_the_path_behind_a_policer() {
    let limits = policer(Rate::mbps(5));
    let path = path(&limits, 27_200);
    let fill = path.fill(&plan(Windows::Connections { connections: 4 }), Direction::Download);
    assert_eq!((fill.connections, fill.window_bytes, fill.mss_bytes), (1, 12 * 1346, 1346 + 12));
    let link = path.link(&plan(Windows::Connections { connections: 4 }), fill.direction, 1346);
    assert!((link.load_bytes(fill.total_bytes(), 0.0) / 17_000.0 - 1.0).abs() < 1e-3);
}

/// A pair goes round in 4 ms and what two frames take on a line of 100 Mbit/s, 123.04 µs for 1538 bytes.
/// Of two pairs with e + 70 bytes a frame, 4 (e + 70) = 1.25 MB/s × (4 ms + 246.08 µs × (e + 70) / 1518),
/// so that e = 1246.7; without the line's time it is 1180, less a byte as what is under way is whole bytes,
/// and 5 % of the rate are not carried.
#[test]
fn what_frames_take_on_a_line_in_front_of_a_policer_belongs_to_the_round_trip_of_a_window() {
    let limits = policer(Rate::mbps(10));
    let mut path = path(&limits, 4000);
    let plan = plan(Windows::Connections { connections: 4 });
    assert!(path.is_short(&plan, Direction::Upload));
    // 1,400 bytes.
    path.more_times = [Duration::ZERO, Duration::from_micros(112)];
    let fill = path.fill(&plan, Direction::Upload);
    assert_eq!((fill.connections, fill.window_bytes, fill.mss_bytes), (1, 4 * 1246, 1246 + 12));
    let link = path.link(&plan, Direction::Upload, 1246);
    let carried = path.window_limit(&plan, fill).as_bps() as f64 / link.alone_bps();
    assert!((carried - 1.0).abs() < 0.01, "{carried}");
    let fill = path.fill(&plan, Direction::Download);
    assert_eq!(fill.window_bytes, 4 * 1179, "of a line that takes no time");
    // 200 Mbit/s and 20 ms are 330 frames: what two of them take does not matter.
    let (limits, long) = (policer(Rate::mbps(200)), 20_000);
    assert!(!super::tests::path(&limits, long).is_short(&plan, Direction::Upload));
}

/// 1 ms of 10 Mbit/s are 1,250 bytes. The limit is 9.9 Mbit/s for sure, and its payload 1448 / 1518 of
/// that.
#[test]
fn a_sender_is_paced_where_no_window_is_small_enough() {
    let mut limits = policer(Rate::mbps(10));
    limits.download.at_least = Rate::bps(9_900_000);
    let fill = path(&limits, 1000)
        .fill(&plan(Windows::Connections { connections: 4 }), Direction::Download);
    assert_eq!((fill.connections, fill.window_bytes, fill.mss_bytes), (1, 8 * 1448, 1460));
    let paced = fill.pacing.unwrap().as_bps() as f64;
    assert!((paced / (9.9e6 * 1448.0 / 1518.0) - 1.0).abs() < 1e-3, "{paced}");
    let slower =
        Plan { pacing: Some(Rate::mbps(5)), ..plan(Windows::Connections { connections: 4 }) };
    let fill = path(&limits, 1000).fill(&slower, Direction::Download);
    assert_eq!(fill.pacing, Some(Rate::mbps(5)));
}

/// With round trips of 20 to 24 ms windows hold what 24 ms need: 100 Mbit/s × 24 ms / 8 = 300,000.
#[test]
fn jitter_takes_nothing_from_the_windows_of_a_line() {
    let limits = line(Rate::mbps(100));
    let mut path = path(&limits, 20_000);
    path.idle_rtt.mean = Duration::from_millis(22);
    let fill = path.fill(&plan(Windows::Connections { connections: 4 }), Direction::Upload);
    assert_eq!((fill.total_bytes() / 10.0) as u64, 30_000);
    assert_eq!(path.bdp_bytes(Direction::Upload), 250_000, "that of the baseline");
}

/// At layer 2 both carry 1518 / (1518 + 50 × 35) of what each carries alone.
#[test]
fn windows_for_both_directions_are_in_proportion_to_what_each_carries() {
    let mut limits = line(Rate::mbps(500));
    limits.upload.limit.rate = Rate::mbps(10);
    let path = path(&limits, 40_000);
    let plan = plan(Windows::Connections { connections: 4 });
    let [down, up] = path.both(&plan, Duration::from_millis(40));
    let proportion = down.total_bytes() / up.total_bytes();
    // The upload's are rounded up to a pair of segments each.
    assert!((40.0..=50.0).contains(&proportion), "{proportion}");
    let given = self::plan(Windows::Both { connections: 2, window_bytes: 65_536 });
    let [down, up] = path.both(&given, Duration::from_millis(40));
    assert_eq!((down.connections, down.window_bytes), (2, 65_536));
    assert_eq!((up.connections, up.window_bytes), (2, 65_536));
}
