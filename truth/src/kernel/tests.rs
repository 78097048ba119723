//! What is said to be true of the kernel's networks, by hand.

use fp_model::Direction;

use super::*;
use crate::facts::{DirectionFacts, Facts, Kind};

fn full(name: &str, direction: Direction) -> DirectionFacts {
    let network = networks().into_iter().find(|network| network.path.name == name).unwrap();
    DirectionFacts::of(&network, direction, 1518)
}

fn near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-6
}

/// 2,000,000 / 1500 = 1,333.33 packets/s; a bucket of 2,000,000 + 64,000 bytes.
#[test]
fn a_limit_of_nft_holds_a_second_and_its_burst_of_packets() {
    let way = full("nft-16m", Direction::Upload);
    assert!(near(way.frames_s, 1333.333333), "{way:?}");
    let bucket = way.bucket.unwrap();
    assert_eq!((bucket.cir_bps, bucket.cbs_bytes, bucket.offset_bytes), (16e6, 2_064_000.0, -18));
    assert_eq!(way.kinds, [Kind::Policer]);
}

/// 20,000,000 / (8 · 1514) = 1,651.255 frames/s; 0.1 s of 2,500,000 bytes/s and 32,768 bytes wait.
#[test]
fn a_tbf_charges_frames_without_their_fcs() {
    let way = full("tbf-20m", Direction::Download);
    assert!(near(way.frames_s, 1651.254954), "{way:?}");
    assert_eq!((way.offset_bytes, way.released_bytes, way.kind()), (-4, 32_768.0, Kind::Queue));
    let queued_bytes = way.queue_s * way.frames_s * 1518.0;
    assert!((282_768.0 - queued_bytes) / 1518.0 < 1.0, "{queued_bytes}");
}

/// 20,000 bytes of tokens let go 13 frames of 1514 bytes and, with the 318 left, one more; at any time
/// what left is less than 20,000 + 1514 bytes ahead of the rate.
#[test]
fn an_htb_sends_a_frame_on_credit() {
    let way = full("htb-30m", Direction::Upload);
    assert!(near(way.rate_bps(-4), 30e6), "{way:?}");
    assert_eq!((way.released_bytes, way.kind()), (21_514.0, Kind::Queue));
}

/// 30 Mbit/s without FCS are less than 40 Mbit/s of packets: the line behind the policer limits.
#[test]
fn of_a_policer_and_a_tbf_the_slower_one_limits() {
    let way = full("nft-40m-tbf-30m", Direction::Download);
    assert_eq!((way.kind(), way.bucket.map(|bucket| bucket.cir_bps)), (Kind::Queue, Some(40e6)));
    let way = full("nft-24m-tbf-60m", Direction::Upload);
    assert_eq!(way.kinds, [Kind::Policer]);
}

#[test]
fn directions_and_lengths_are_those_of_the_commands() {
    let all = networks();
    let of = |name: &str| all.iter().find(|network| network.path.name == name).unwrap();
    let facts = Facts::of(of("tbf-100m-2m"));
    assert!(near(facts.download.rate_bps(-4), 100e6) && near(facts.upload.rate_bps(-4), 2e6));
    let facts = Facts::of(of("tbf-20m-nft-16m-mtu-1400-ipv6"));
    assert_eq!((facts.mtu_upload.bytes, facts.mtu_upload.is_black_hole), (1400, false));
    assert!(all.len() >= 12);
}

#[test]
fn a_script_has_the_parameters_of_its_network() {
    let all = networks();
    let network = all.iter().find(|network| network.path.name == "tbf-60m-and-nft-20m").unwrap();
    let script = network.routers.as_ref().unwrap().script(network.family);
    for line in [
        "ip -n router1 link add right type veth peer name left netns router2",
        "ip -4 -n near route add 10.77.2.0/24 via 10.77.0.2",
        "ip -4 -n far route add 10.77.0.0/24 via 10.77.2.1",
        "ip netns exec router1 tc qdisc add dev right root tbf rate 60000kbit burst 32768 latency 50ms",
        "ip netns exec router2 nft add rule inet path forward iifname right limit rate over 2500000 \
         bytes/second burst 10000 bytes drop",
        "far=10.77.2.2:6349",
    ] {
        assert!(script.contains(&format!("{line}\n")), "{line}\n{script}");
    }
}
