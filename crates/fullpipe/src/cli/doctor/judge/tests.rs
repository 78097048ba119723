//! What is said of machines that are described by hand.

use fp_engine::checkup::{ClockFacts, Limits};
use fp_model::HostFacts;

use super::*;

/// A quiet machine with all rights.
fn sound() -> Facts {
    let us = Duration::from_micros;
    let processor = Processor {
        number: 0,
        late_p99: us(20),
        late_max: us(300),
        taken_share: 0.004,
        stolen_share: Some(0.0),
    };
    let rights =
        [RightKind::PacketSockets, RightKind::XdpSockets, RightKind::RealTime, RightKind::Lab];
    let rtt = RttSummary { min: us(20), mean: us(30), p99: us(45), max: us(60), samples: 100 };
    let rates = vec![
        WholeRate { frame_bytes: 64, frames_s: Some(1_250_000.0) },
        WholeRate { frame_bytes: 1518, frames_s: Some(200_000.0) },
    ];
    let burst = WholeBurst { frame_bytes: 1518, frames: 1000, rate_l1_bps: 4e9 };
    Facts {
        host: HostFacts { clock_source: "tsc".into(), ..HostFacts::default() },
        watched: Duration::from_secs(3),
        processors: vec![processor],
        clock: ClockFacts {
            step: Duration::from_nanos(20),
            reading: Duration::from_nanos(25),
            wall_moved: Duration::ZERO,
        },
        rights: rights.map(|kind| Right { kind, refused: None }).into(),
        limits: Limits {
            descriptors: Some(20_000),
            udp_buffer_bytes: Some(16_000_000),
            udp_buffer_asked_bytes: 16_000_000,
            ..Limits::default()
        },
        interfaces: vec![InterfaceFacts {
            name: "eth0".into(),
            mtu_bytes: 1500,
            speed: Some(Rate::mbps(10_000)),
            driver: "ixgbe".into(),
            offloads: vec!["tx-tcp-segmentation".into(), "rx-gro".into()],
        }],
        own_loop: Ok(LoopFacts { rtt: Some(rtt), rates, burst: Some(burst) }),
    }
}

fn codes(facts: &Facts) -> Vec<&'static str> {
    Judgement::of(facts).findings.iter().map(|finding| finding.code).collect()
}

/// 1,250,000 frames of 84 bytes on the line are 840 Mbit/s, 200,000 of 1538 are 2,460.8.
#[test]
fn of_a_sound_machine_rates_bursts_and_latency_are_said_and_nothing_is_to_be_mended() {
    let judgement = Judgement::of(&sound());
    assert_eq!((judgement.status(), judgement.findings.as_slice()), ("pass", &[][..]));
    let said: Vec<&str> = judgement.can.iter().map(|sentence| sentence.text.as_str()).collect();
    assert_eq!(
        said,
        [
            "rates of up to 1.25 Mpps of frames of 64 bytes (840.00 Mbit/s l1)",
            "rates of up to 200.0 kpps of frames of 1518 bytes (2460.80 Mbit/s l1)",
            "bursts of 1000 frames of 1518 bytes (1518 kB) and less, at 4000.00 Mbit/s l1",
            "latency no finer than 45.0 µs: so long takes a round trip from this machine to itself in \
             up to 99 of 100 cases, and 20.0 µs at least",
            "19936 TCP connections of the kernel at once, by the limit of descriptors",
            "emulated networks on this machine (--lab)",
        ]
    );
}

#[test]
fn a_processor_that_others_take_is_named_by_what_takes_it() {
    let mut facts = sound();
    facts.processors[0].late_max = Duration::from_millis(6);
    assert_eq!(codes(&facts), ["stalls"]);
    facts.processors[0].taken_share = 0.02;
    facts.processors[0].stolen_share = Some(0.05);
    assert_eq!(codes(&facts), ["stalls", "busy", "steal"]);
    facts.processors[0].stolen_share = None;
    assert_eq!(codes(&facts), ["stalls", "busy"]);
}

#[test]
fn each_right_that_is_refused_has_its_reason_and_its_remedy() {
    let mut facts = sound();
    for right in &mut facts.rights {
        right.refused = Some("Operation not permitted".into());
    }
    let judgement = Judgement::of(&facts);
    assert_eq!(codes(&facts), ["packet_sockets", "af_xdp", "real_time", "lab"]);
    assert!(judgement.findings.iter().all(|found| found.text.contains("not permitted")));
    assert!(judgement.can.iter().all(|sentence| sentence.code != "lab"));
}

/// 3 s at 500 ppm are 1.5 ms.
#[test]
fn a_slow_clock_and_a_wall_clock_that_was_set_are_found_and_a_slewed_one_is_not() {
    let mut facts = sound();
    facts.clock.wall_moved = Duration::from_micros(1400);
    assert!(codes(&facts).is_empty());
    facts.clock.wall_moved = Duration::from_micros(1600);
    facts.host.clock_source = "hpet".into();
    assert_eq!(codes(&facts), ["slow_clock", "wall_clock"]);
}

#[test]
fn offloads_matter_where_nobody_cuts_and_where_the_card_joins() {
    let mut facts = sound();
    facts.interfaces[0].driver = "veth".into();
    assert_eq!(codes(&facts), ["uncut_segments"]);
    facts.interfaces[0].driver = "ixgbe".into();
    facts.interfaces[0].offloads.push("rx-lro".into());
    let findings = Judgement::of(&facts).findings;
    assert_eq!(findings[0].code, "joined_frames");
    assert_eq!(findings[0].remedy, "run `sudo ethtool -K eth0 rx-lro off`");
}

#[test]
fn a_buffer_smaller_than_asked_for_names_the_sysctl_with_half_of_what_the_kernel_counts() {
    let mut facts = sound();
    facts.limits.udp_buffer_bytes = Some(425_984);
    let findings = Judgement::of(&facts).findings;
    assert_eq!(findings[0].code, "udp_buffer");
    assert_eq!(findings[0].remedy, "run `sudo sysctl net.core.rmem_max=8000000`");
}

#[test]
fn without_a_way_to_itself_nothing_is_claimed_of_rates() {
    let facts = Facts { own_loop: Err("refused".into()), ..sound() };
    assert_eq!(codes(&facts), ["own_loop"]);
    let can = Judgement::of(&facts).can;
    assert!(can.iter().all(|sentence| !["rate", "burst", "latency"].contains(&sentence.code)));
}
