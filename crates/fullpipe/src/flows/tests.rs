//! Flows files: what they say, and what is said of what is wrong in them.

//! Flows as a file names them, and what a file must not say.

use fp_method::flow::{Path, PathStep};
use fp_method::path::PathMtu;
use fp_model::{
    AddressRange, ConnectionAddresses, Direction, Family, Load, Pace, ProbedBy, Rate, TcpEngine,
    TcpLoad,
};

use super::wanted::{Between, Wanted};
use super::*;
use crate::yaml::schema;

const UNKNOWN: Path = Path { known: Vec::new(), unknown: None };
const ETHERNET: Between<'_> = Between {
    family: Family::Ipv4,
    interface_mtu_bytes: 1500,
    is_iperf3: false,
    is_translated: false,
    path: &UNKNOWN,
};

fn read(flows: &str) -> Result<Vec<Wanted>, String> {
    let text = format!("schema: fullpipe.flows/1\nflows:\n{flows}");
    parse(&text, "f.yaml").map_err(|problem| problem.to_string())
}

const EVERY_KEY: &str = "schema: fullpipe.flows/1
flows:
  - {name: 1, class: a, transport: udp, direction: both, family: ipv4, dscp: ef, ecn: ect0,
     near_port: 5000, begins: 1s, streams: 2, rate: 10M@l2, payload: [64, 1000]}
  - {name: two, transport: udp, imix: simple, pps: 50}
  - {name: three, window: 64K, mss: 1000, congestion: reno, pacing: 5M, bytes: 1M, write: 1K}
  - {name: four, engine: user, direction: download}
";

#[test]
fn whatever_is_a_flows_file_fits_the_schema() {
    for text in [include_str!("../../../../examples/flows.yaml"), EVERY_KEY] {
        parse(text, "f.yaml").unwrap_or_else(|problem| panic!("{problem}"));
        assert!(schema::fits(SCHEMA, text), "{text}");
    }
}

#[test]
fn what_is_wrong_by_its_keys_fits_neither_parser_nor_schema() {
    let changes = [
        ("fullpipe.flows/1", "fullpipe.flows/2"),
        ("name: 1, ", ""),
        ("transport: udp", "transport: sctp"),
        ("direction: both", "direction: sideways"),
        ("family: ipv4", "family: 4"),
        ("ecn: ect0", "ecn: ce"),
        ("congestion: reno", "congestion: vegas"),
        ("engine: user", "engine: mine"),
        ("class: a", "klass: a"),
    ];
    for (from, to) in changes {
        assert!(EVERY_KEY.contains(from), "{from}");
        let text = EVERY_KEY.replacen(from, to, 1);
        assert!(parse(&text, "f.yaml").is_err() && !schema::fits(SCHEMA, &text), "{text}");
    }
}

#[test]
fn the_schema_has_the_keys_of_the_parser() {
    let places = [("schema: ", ""), ("name: 1", "flow")];
    schema::expect_keys(SCHEMA, EVERY_KEY, &places, |text| parse(text, "f.yaml"));
}

#[test]
fn the_example_is_a_flows_file() {
    let text = include_str!("../../../../examples/flows.yaml");
    let flows = parse(text, "flows.yaml").unwrap();
    assert!(flows.iter().all(|flow| !flow.flows(&ETHERNET, 0).unwrap().is_empty()));
}

/// G.711: 160 bytes of speech 50 times a second are 64 kbit/s of payload and, in frames of 206 bytes,
/// 82.4 kbit/s.
#[test]
fn a_rate_of_payload_and_packets_per_second_are_the_same_rate_of_frames() {
    for offered in ["rate: 64k", "pps: 50", "rate: 82400@l2", "rate: 90400@l1", "rate: 75200@l3"] {
        let flows = read(&format!("  - {{name: v, transport: udp, payload: 160, {offered}}}\n"));
        let planned = flows.unwrap()[0].flows(&ETHERNET, 0).unwrap();
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
        flows[0].flows(&ends, 0).unwrap()
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

/// Both ways of one flow and another beside it, in the networks that are set apart for tests.
#[test]
fn flows_of_fullpipes_own_tcp_have_hosts_that_no_other_flow_has() {
    let file = "  - {name: a, direction: both, engine: user, streams: 3, family: ipv6}\n  - {name: b}\n  \
                - {name: c, engine: user}\n";
    let mut planned = Vec::new();
    for flow in read(file).unwrap() {
        planned.extend(flow.flows(&ETHERNET, planned.len()).unwrap());
    }
    let told = planned.iter().map(|flow| match &flow.spec.load {
        Load::Tcp(TcpLoad { engine: TcpEngine::User { addresses }, .. }) => {
            let ConnectionAddresses { clients, servers, client_ports, .. } = addresses;
            let host = |range: &AddressRange| format!("{} {}", range.network, range.first);
            format!("{}, {}, {}", host(clients), host(servers), client_ports.count())
        }
        Load::Tcp(_) => "kernel".to_owned(),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "2001:2:0:1:: 1, 2001:2:0:2:: 1, 3",
            "2001:2:0:1:: 2, 2001:2:0:2:: 2, 3",
            "kernel",
            "198.18.128.0 4, 198.19.0.0 4, 1",
        ]
    );
    let iperf3 = Between { is_iperf3: true, ..ETHERNET };
    let refused = read(file).unwrap()[2].flows(&iperf3, 0).unwrap_err().to_string();
    assert!(refused.contains("a stock iperf3 server has the TCP of its kernel alone"), "{refused}");
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (flow, said) in [
        ("{name: a, dscp: gold}", "3:21: `gold`: a DSCP is a number from 0 to 63"),
        ("{name: a, transport: udp}", "3:5: a UDP flow needs `rate: 10M`"),
        ("{name: a, transport: udp, rate: 1M, window: 64K}", "3:49: this key belongs to TCP"),
        ("{name: a, transport: udp, rate: 1M, engine: user}", "3:49: this key belongs to TCP"),
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
    let error = flows[0].flows(&ETHERNET, 0).unwrap_err().to_string();
    assert!(error.starts_with("f.yaml:3:5: this rate is 6944444444 packets a second"), "{error}");
    let flows = read("  - {name: a, transport: udp, payload: 1473, rate: 1M}\n").unwrap();
    let error = flows[0].flows(&ETHERNET, 0).unwrap_err().to_string();
    assert!(error.contains("from 18 bytes") && error.contains("to 1472"), "{error}");
}
