//! Windows by the arithmetic of sections 3.3.1 and 4.1.1.

use fp_model::Family;

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
        base_loss: 0.0,
        base_loss_within: None,
        overload_delay,
        overload_drops: true,
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
    Path { mtu_bytes: 1500, baseline_rtt: Duration::from_micros(rtt_us), limits }
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
    let full = Fill { direction: Direction::Download, connections: 4, window_bytes: 25_000 };
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
    let strict = path.carried(limits.download.limit, path.mss(&plan));
    assert_eq!(strict.as_bps() / 10_000, 9_492);
    assert_eq!(path.max_tcp(&plan, Direction::Download).as_bps() / 10_000, 9_414);
}

#[test]
fn the_walk_goes_by_quarters_of_the_connections() {
    assert_eq!(walk_steps(1), [1]);
    assert_eq!(walk_steps(3), [1, 2, 3]);
    assert_eq!(walk_steps(4), [1, 2, 3, 4]);
    assert_eq!(walk_steps(16), [4, 8, 12, 16]);
}

#[test]
fn a_trial_lasts_whole_round_trips() {
    let ms = Duration::from_millis;
    // 2500 / 54 = 46.3.
    assert_eq!(whole_round_trips(ms(2500), ms(54)), ms(47 * 54));
    assert_eq!(whole_round_trips(ms(2500), ms(100)), ms(2500));
}
