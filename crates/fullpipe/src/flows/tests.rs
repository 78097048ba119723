//! Flows files: what they say, and what is said of what is wrong in them.

//! Flows as a file names them, and what a file must not say.

use fp_method::flow::{Path, PathStep};
use fp_method::path::PathMtu;
use fp_model::{Direction, Family, Load, Pace, ProbedBy, Rate};

use super::wanted::{Between, Wanted};
use super::*;

const UNKNOWN: Path = Path { known: Vec::new(), unknown: None };
const ETHERNET: Between<'_> =
    Between { family: Family::Ipv4, interface_mtu_bytes: 1500, is_iperf3: false, path: &UNKNOWN };

fn read(flows: &str) -> Result<Vec<Wanted>, String> {
    let text = format!("schema: fullpipe.flows/1\nflows:\n{flows}");
    parse(&text, "f.yaml").map_err(|problem| problem.to_string())
}

#[test]
fn the_example_is_a_flows_file() {
    let text = include_str!("../../../../examples/flows.yaml");
    let flows = parse(text, "flows.yaml").unwrap();
    assert!(flows.iter().all(|flow| !flow.flows(&ETHERNET).unwrap().is_empty()));
}

/// G.711: 160 bytes of speech 50 times a second are 64 kbit/s of payload and, in frames of 206 bytes,
/// 82.4 kbit/s.
#[test]
fn a_rate_of_payload_and_packets_per_second_are_the_same_rate_of_frames() {
    for offered in ["rate: 64k", "pps: 50", "rate: 82400@l2", "rate: 90400@l1", "rate: 75200@l3"] {
        let flows = read(&format!("  - {{name: v, transport: udp, payload: 160, {offered}}}\n"));
        let planned = flows.unwrap()[0].flows(&ETHERNET).unwrap();
        let Load::Frames(load) = &planned[0].spec.load else { panic!("{planned:?}") };
        assert_eq!(load.pace, Pace::Constant { rate: Rate::bps(82_400) }, "{offered}");
    }
}

/// An upload that takes 1,400 bytes leaves 1372 of payload beside 28 of headers; what has a length of
/// its own keeps it.
#[test]
fn packets_are_as_long_as_the_path_takes_unless_their_length_is_given() {
    let mtu = |direction, mtu_bytes| PathStep {
        family: Family::Ipv4,
        mtu: PathMtu { direction, mtu_bytes, black_hole: true, probes: 8, by: ProbedBy::Datagrams },
        limit_bytes: 1500,
    };
    let known = vec![mtu(Direction::Upload, 1400), mtu(Direction::Download, 1500)];
    let path = Path { known, unknown: None };
    let ends = Between { path: &path, ..ETHERNET };
    let planned = |flow: &str| {
        let flows = read(&format!("  - {{name: a, direction: both, {flow}}}\n")).unwrap();
        flows[0].flows(&ends).unwrap()
    };
    let frames = |flow: &str| -> Vec<u32> {
        let longest = planned(flow).into_iter().map(|flow| match flow.spec.load {
            Load::Frames(load) => load.sizes.longest(),
            other => panic!("{other:?}"),
        });
        longest.collect()
    };
    assert_eq!(frames("transport: udp, rate: 1M"), [1418, 1518]);
    assert_eq!(frames("transport: udp, rate: 1M, imix: simple"), [1418, 1518]);
    assert_eq!(frames("transport: udp, rate: 1M, imix: az"), [1418, 1518]);
    assert_eq!(frames("transport: udp, rate: 1M, payload: 1472"), [1518, 1518]);
    let segments = planned("streams: 2").into_iter().map(|flow| match flow.spec.load {
        Load::Tcp(load) => load.mss_bytes,
        other => panic!("{other:?}"),
    });
    assert_eq!(segments.collect::<Vec<_>>(), [1360, 1360]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (flow, said) in [
        ("{name: a, dscp: gold}", "3:21: `gold`: a DSCP is a number from 0 to 63"),
        ("{name: a, transport: udp}", "3:5: a UDP flow needs `rate: 10M`"),
        ("{name: a, transport: udp, rate: 1M, window: 64K}", "3:49: this key belongs to TCP"),
        ("{name: a, pps: 50}", "3:20: this key belongs to UDP"),
        ("{name: a, begins: -2s}", "3:23: `-2s`: a time cannot be negative"),
        (
            "{name: a, streams: 1000000000}",
            "3:24: `1000000000`: must be a whole number from 1 to 10000",
        ),
        ("{name: a, near_port: 0}", "3:26: `0`: must be a whole number from 1 to 65535"),
        ("{name: a, rate: 1M@l2}", "3:21: TCP writes payload"),
        ("{name: a, dhcp: ef}", "did you mean `dscp`?"),
    ] {
        let problem = read(&format!("  - {flow}\n")).unwrap_err();
        assert!(problem.contains(said), "{flow}: {problem}");
    }
}

/// 1 Tbit/s in payloads of 18 bytes would be 6.9 billion packets a second.
#[test]
fn what_a_payload_cannot_carry_is_refused_with_the_place_of_the_flow() {
    let flows = read("  - {name: a, transport: udp, payload: 18, rate: 1T}\n").unwrap();
    let error = flows[0].flows(&ETHERNET).unwrap_err().to_string();
    assert!(error.starts_with("f.yaml:3:5: this rate is 6944444444 packets a second"), "{error}");
    let flows = read("  - {name: a, transport: udp, payload: 1473, rate: 1M}\n").unwrap();
    let error = flows[0].flows(&ETHERNET).unwrap_err().to_string();
    assert!(error.contains("from 18 bytes") && error.contains("to 1472"), "{error}");
}
