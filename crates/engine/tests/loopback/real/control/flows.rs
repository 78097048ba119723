//! What a flow may have of its own: ports, markings, a beginning, a pace.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::near::{LiveOptions, LiveTestbed};
use fp_model::{
    Abort, Direction, Dscp, Ecn, EcnCount, Event, Family, FlowReport, FlowSpec, Load, Observation,
    Pace, Rate, Sample, Step, TcpLoad, Testbed as _, Trial,
};

use crate::packaged::free_ports;
use crate::real::control::far_end::{FarEnd, LOOPBACK, connect, flow, frames, tcp, trial};

const BOTH_WAYS: [Direction; 2] = [Direction::Download, Direction::Upload];
const FAMILIES: [(IpAddr, Family); 2] =
    [(LOOPBACK, Family::Ipv4), (IpAddr::V6(Ipv6Addr::LOCALHOST), Family::Ipv6)];

fn series(report: &FlowReport) -> &[Sample] {
    match report {
        FlowReport::Tcp(report) => &report.series,
        FlowReport::Frames(report) => &report.series,
        other => panic!("neither TCP nor frames: {other:?}"),
    }
}

fn received_bytes(report: &FlowReport) -> u64 {
    series(report).iter().filter_map(|sample| sample.received_bytes).sum()
}

/// Whether a socket of this host that has a peer has this local port, by a table of /proc/net.
fn is_in_use(table: &str, port: u16) -> bool {
    let sockets = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
    let local = format!(":{port:04X}");
    sockets.lines().skip(1).any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_local = fields.next().is_some_and(|address| address.ends_with(&local));
        is_local && fields.next().is_some_and(|peer| !peer.ends_with(":0000"))
    })
}

/// Runs a trial and says how many of these sockets of the near end there were at once, most.
fn run_watched(far: &FarEnd, trial: &Trial, sockets: Vec<(String, u16)>) -> (Observation, usize) {
    let most = Arc::new(AtomicUsize::new(0));
    let noted = Arc::clone(&most);
    let events = Box::new(move |event| {
        if let Event::Sampled { .. } = event {
            let present = sockets.iter().filter(|(table, port)| is_in_use(table, *port)).count();
            noted.fetch_max(present, Ordering::Relaxed);
        }
    });
    let options = LiveOptions { family: None, events, stop: StopFlag::default() };
    let seen = LiveTestbed::connect(&far.pairing, options).unwrap().run(trial).unwrap();
    (seen, most.load(Ordering::Relaxed))
}

#[test]
fn flows_use_the_ports_that_were_asked_for_in_either_direction() {
    let far = FarEnd::at(LOOPBACK);
    let first = free_ports(6);
    let at = |direction, load, port| FlowSpec {
        near_port: Some(port),
        ..flow(direction, Family::Ipv4, load)
    };
    let [down, up] = BOTH_WAYS;
    let flows = vec![
        at(down, tcp(2), first),
        at(up, tcp(2), first + 2),
        at(down, frames(Rate::mbps(1)), first + 4),
        at(up, frames(Rate::mbps(1)), first + 5),
    ];
    let of_tcp = (first..first + 4).map(|port| ("tcp".to_owned(), port));
    let of_udp = (first + 4..first + 6).map(|port| ("udp".to_owned(), port));
    let sockets = of_tcp.chain(of_udp).collect();
    let (seen, present) = run_watched(&far, &trial(Duration::from_millis(400), flows), sockets);
    assert!(seen.flows.iter().all(|report| received_bytes(report) > 0));
    assert_eq!(present, 6);
}

#[test]
fn a_port_that_is_in_use_is_named() {
    let far = FarEnd::at(LOOPBACK);
    let taken = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let flow = FlowSpec { near_port: Some(port), ..flow(Direction::Upload, Family::Ipv4, tcp(1)) };
    let outcome =
        connect(&far.pairing).unwrap().run(&trial(Duration::from_millis(100), vec![flow]));
    let Err(Abort::Testbed(why)) = outcome else { panic!("{outcome:?}") };
    let named = format!("this end's port {port} cannot be used");
    assert!(why.contains(&named), "{why}");
}

#[test]
fn each_flow_begins_when_it_is_to() {
    let far = FarEnd::at(LOOPBACK);
    let begins = Duration::from_millis(330);
    let pace = Pace::Constant { rate: Rate::mbps(4) };
    let loads = [tcp(1), paced(1, pace), frames(Rate::mbps(4))];
    let flows = loads.iter().flat_map(|load| {
        BOTH_WAYS.map(|way| FlowSpec { begins, ..flow(way, Family::Ipv4, load.clone()) })
    });
    let trial = trial(Duration::from_millis(500), flows.collect());
    let seen = connect(&far.pairing).unwrap().run(&trial).unwrap();
    for report in &seen.flows {
        for sample in series(report) {
            let is_early = sample.at + sample.lasts <= begins;
            assert!(!is_early || sample.sent_bytes == Some(0), "{sample:?}");
        }
        assert!(received_bytes(report) > 0);
    }
}

#[test]
fn markings_arrive_with_every_packet_and_are_told() {
    let dscp = Dscp::new(34).unwrap();
    for (address, family) in FAMILIES {
        let far = FarEnd::at(address);
        let flows = [tcp(2), frames(Rate::mbps(1))].into_iter().flat_map(|load| {
            BOTH_WAYS.map(|direction| {
                let ecn = if matches!(load, Load::Tcp(_)) { Ecn::NotEct } else { Ecn::Ect0 };
                FlowSpec { dscp, ecn, ..flow(direction, family, load.clone()) }
            })
        });
        let trial = trial(Duration::from_millis(200), flows.collect());
        let seen = connect(&far.pairing).unwrap().run(&trial).unwrap();
        for (spec, report) in trial.flows.iter().zip(&seen.flows) {
            check_marking(spec, report);
        }
    }
}

fn check_marking(spec: &FlowSpec, report: &FlowReport) {
    match (&spec.load, report) {
        (_, FlowReport::Frames(report)) => {
            assert!(report.received_frames > 0);
            let ecn = EcnCount { ecn: Some(spec.ecn), frames: report.received_frames };
            assert_eq!(report.ecn_received, [ecn]);
            assert_eq!(report.dscp_received[0].dscp, Some(spec.dscp));
        }
        (Load::Tcp(load), FlowReport::Tcp(report)) => {
            // Over IPv4 the kernel tells only of connections that it has accepted.
            let is_told = spec.family == Family::Ipv6 || spec.direction == Direction::Upload;
            for connection in &report.connections {
                assert_eq!(connection.dscp_received, is_told.then_some(spec.dscp));
                let segments = connection.received_segments.unwrap();
                // Segments carry 1,388 bytes and less. What lay unread when the count of bytes began, at most
                // a window, had come in segments before it.
                let came = connection.good_bytes.saturating_sub(load.window_bytes);
                assert!(segments >= came / 1400 && segments > 0, "{connection:?}");
                assert!(connection.sent_segments.unwrap() > 0);
            }
        }
        other => panic!("{other:?}"),
    }
}

fn paced(connections: u32, pace: Pace) -> Load {
    match tcp(connections) {
        Load::Tcp(load) => {
            let window_bytes = 1 << 20;
            Load::Tcp(TcpLoad { pace, pacing: None, window_bytes, ..load })
        }
        other => other,
    }
}

/// A triangle of 4 to 76 Mbit/s in each 0.36 s.
fn triangle() -> Vec<Step> {
    let up = (0..18).map(|k| 4 + 4 * k);
    let step = |mbps| Step { rate: Rate::mbps(mbps), lasts: Duration::from_millis(10) };
    (0..4).flat_map(|_| up.clone().chain(up.clone().rev()).map(step)).collect()
}

/// What a pace of steps of 10 ms asks for by then.
fn due_bytes(steps: &[Step], at: Duration) -> f64 {
    let mut left = at.as_secs_f64();
    let mut bits = 0.0;
    for step in steps {
        let lasts = step.lasts.as_secs_f64().min(left);
        bits += lasts * step.rate.as_bps() as f64;
        left -= lasts;
    }
    bits / 8.0
}

#[test]
fn a_paced_application_follows_its_pace() {
    let far = FarEnd::at(LOOPBACK);
    let steps = triangle();
    for direction in BOTH_WAYS {
        let load = paced(2, Pace::Steps { steps: steps.clone() });
        let trial = trial(Duration::from_millis(1300), vec![flow(direction, Family::Ipv4, load)]);
        let seen = connect(&far.pairing).unwrap().run(&trial).unwrap();
        let total = 2.0 * due_bytes(&steps, Duration::from_millis(1400));
        let mut received = 0;
        let mut apart: Vec<f64> = Vec::new();
        for sample in series(&seen.flows[0]) {
            received += sample.received_bytes.unwrap();
            let due = 2.0 * due_bytes(&steps, sample.at + sample.lasts);
            apart.push((received as f64 - due.min(total)).abs() / total);
        }
        // Two connections of 40 Mbit/s in the mean. What a busy host delays by less than 100 ms is
        // made up for; most of the time it delays nothing.
        assert!((received as f64 - total).abs() < 0.03 * total, "{received} of {total}");
        apart.sort_by(f64::total_cmp);
        let median = apart[apart.len() / 2];
        assert!(median < 0.01, "{median} of the whole in the median");
    }
}
#[test]
fn both_families_run_in_one_trial_whichever_the_ends_met_over() {
    for (address, _) in FAMILIES {
        let far = FarEnd::at(address);
        let first = free_ports(8);
        let loads = [("tcp", tcp(1)), ("udp", frames(Rate::mbps(1)))];
        let kinds = loads.iter().flat_map(|(table, load)| {
            let of_family = move |(family, version)| {
                BOTH_WAYS.map(|way| (flow(way, family, load.clone()), format!("{table}{version}")))
            };
            [(Family::Ipv4, ""), (Family::Ipv6, "6")].into_iter().flat_map(of_family)
        });
        let at_port =
            |((flow, table), port)| (FlowSpec { near_port: Some(port), ..flow }, (table, port));
        let (flows, sockets) = kinds.zip(first..).map(at_port).unzip();
        let trial = trial(Duration::from_millis(300), flows);
        let (seen, present) = run_watched(&far, &trial, sockets);
        assert!(seen.flows.iter().all(|report| received_bytes(report) > 0));
        assert_eq!((seen.flows.len(), present), (8, 8));
    }
}
