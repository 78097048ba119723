//! Many connections in virtual time: each is accounted for, whatever the path does.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fp_model::{
    Abort, AddressRange, Behaviour, Close, ConnectionAddresses, ConnectionsLoad, ConnectionsReport,
    ConnectionsSample, ConnectionsShare, ConnectionsStage, Direction, Dscp, Event, Family,
    FlowReport, FlowSpec, FramePorts, HeldConnections, Load, PortRange, Rate, Testbed, Timing,
    Trial,
};

use fp_net::path::{
    LinkSpec, LossSpec, OutageSpec, PathSpec, PoliceSpec, Probability, QueueLimit, QueueSpec,
};
use fp_net::sim::SimTestbed;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// 1 Gbit/s, a round trip of 20 ms.
fn gigabit() -> LinkSpec {
    LinkSpec {
        line_rate: Some(Rate::mbps(1000)),
        delay: Duration::from_millis(10),
        queue: Some(QueueSpec { limit: QueueLimit::Bytes(1_000_000), ..QueueSpec::default() }),
        ..LinkSpec::default()
    }
}

fn path(link: LinkSpec) -> PathSpec {
    PathSpec::symmetric("test", vec![link])
}

fn addresses() -> ConnectionAddresses {
    let range = |network: [u8; 4], count| AddressRange {
        network: IpAddr::V4(Ipv4Addr::from(network)),
        prefix_bits: 16,
        first: 1,
        count,
    };
    ConnectionAddresses {
        clients: range([198, 18, 0, 0], 10),
        servers: range([198, 19, 0, 0], 1),
        client_ports: PortRange { first: 1024, last: 65_535 },
        server_ports: PortRange { first: 80, last: 80 },
        translated: false,
    }
}

/// A second up to so many, two seconds as many, and one down.
fn load(connections: u32, mix: Vec<ConnectionsShare>) -> ConnectionsLoad {
    let stage = |seconds, connections| ConnectionsStage { lasts: s(seconds), connections };
    ConnectionsLoad {
        stages: vec![stage(1, connections), stage(2, connections), stage(1, 0)],
        setup_rate_max: None,
        mix,
        lifetime: None,
        close: Close::Fin,
        addresses: addresses(),
        mss_bytes: 1460,
        window_bytes: 65_535,
        retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
        syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
        ports: FramePorts::PacketSockets,
    }
}

fn only(behaviour: Behaviour) -> Vec<ConnectionsShare> {
    vec![ConnectionsShare { weight: 1, behaviour }]
}

fn asking() -> Behaviour {
    let think = Duration::from_millis(100);
    Behaviour::Transaction { request_bytes: 200, response_bytes: 3000, think }
}

fn trial(direction: Direction, load: ConnectionsLoad, settle: Duration) -> Trial {
    let timing = Timing { warm_up: Duration::ZERO, steady: s(4), settle };
    let load = Load::Connections(load);
    let flows = vec![FlowSpec::new(direction, Family::Ipv4, Dscp::BEST_EFFORT, load)];
    Trial { name: String::from("test"), flows, timing }
}

#[expect(
    clippy::unwrap_used,
    reason = "a simulation that does not run is what the test is to find"
)]
fn run(link: LinkSpec, load: ConnectionsLoad, seed: u64) -> ConnectionsReport {
    let trial = trial(Direction::Upload, load, s(60));
    let observation = SimTestbed::new(&path(link), seed).run(&trial).unwrap();
    match &observation.flows[0] {
        FlowReport::Connections(report) => {
            check(report);
            report.clone()
        }
        other => panic!("{other:?}"),
    }
}

/// Every connection is one of those that are counted, and the series is of the same ones.
fn check(report: &ConnectionsReport) {
    let failed = report.failed;
    let came_to_nothing = report.given_up + failed.no_answer + failed.refused;
    assert_eq!(report.attempted, report.established + came_to_nothing);
    let broke = failed.reset + failed.timed_out;
    assert_eq!(report.established, report.closed + broke, "{report:?}");
    assert_eq!(report.active_at_end, 0);
    let sum = |of: fn(&ConnectionsSample) -> u64| report.series.iter().map(of).sum::<u64>();
    assert_eq!(sum(|slot| slot.attempted), report.attempted);
    assert_eq!(sum(|slot| slot.established), report.established);
    assert_eq!(sum(|slot| slot.closed), report.closed);
    assert_eq!(sum(|slot| slot.failed), failed.total());
    assert_eq!(sum(|slot| slot.transactions), report.transactions);
    assert_eq!(sum(|slot| slot.upload_good_bytes), report.upload_good_bytes);
    assert_eq!(sum(|slot| slot.download_good_bytes), report.download_good_bytes);
    assert!(report.series.windows(2).all(|pair| pair[0].at + pair[0].lasts == pair[1].at));
    assert_eq!(report.corrupt_payload_bytes, 0);
}

/// One is asked for in each millisecond and established 20.002 ms later (98 bytes of SYN with its
/// options, preamble and gap, at 1 Gbit/s, each way): 979 of them within the first second, and 929
/// before 0.95 s.
#[test]
fn on_an_ideal_path_all_that_is_asked_for_is_held_and_closed() {
    let report = run(gigabit(), load(1000, only(Behaviour::Hold)), 1);
    assert_eq!((report.attempted, report.established, report.closed), (1000, 1000, 1000));
    assert_eq!((report.failed.total(), report.first_failure), (0, None));
    let held = HeldConnections { wanted: 1000, least: 1000, most: 1000 };
    assert_eq!((report.active_peak, report.held), (1000, Some(held)));
    assert_eq!(report.setup_rate_peak, 979);
    let at = |ms| report.series.iter().find(|slot| slot.at == Duration::from_millis(ms)).unwrap();
    assert_eq!((at(900).active, at(2000).active), (929, 1000));
    // Of those that go, one in each millisecond, 49 go within the slot.
    assert_eq!(at(3000).active, 951);
    let handshake = report.handshake.unwrap();
    assert_eq!(handshake.samples, 1000);
    let micros = handshake.min.as_micros()..=handshake.max.as_micros();
    assert!(*micros.start() >= 20_001 && *micros.end() <= 20_203, "{handshake:?}");
    // 80 bytes for a connection with its application, 12 for its alarm, and the wheel of all alarms.
    assert!((92_000..=110_000).contains(&report.bytes_total), "{}", report.bytes_total);
    assert_eq!(report.bytes_per_connection, report.bytes_total as f64 / 1000.0);
}

/// A tenth of a second to think and a round trip: about 8.3 a second on each of 100 connections, for
/// two seconds and two halves on the way up and down.
#[test]
fn transactions_take_their_round_trip_and_their_time_to_think() {
    let report = run(gigabit(), load(100, only(asking())), 1);
    assert_eq!((report.established, report.failed.total()), (100, 0));
    assert!((2200..=2600).contains(&report.transactions), "{}", report.transactions);
    assert!(report.download_good_bytes >= 3000 * report.transactions);
    assert!(report.upload_good_bytes >= 200 * report.transactions);
    // Two round trips where the response of 3,000 bytes fits the first window.
    let transaction = report.transaction.unwrap();
    assert!((20..=45).contains(&transaction.p50.as_millis()), "{transaction:?}");
}

#[test]
fn on_a_lossy_path_every_connection_is_accounted_for() {
    let mix = vec![
        ConnectionsShare { weight: 1, behaviour: Behaviour::Hold },
        ConnectionsShare { weight: 3, behaviour: asking() },
        ConnectionsShare {
            weight: 1,
            behaviour: Behaviour::Both { rate: Some(Rate::bps(50_000)) },
        },
    ];
    let loss = LossSpec::Random(Probability::new(0.05).unwrap());
    for seed in [1, 2] {
        let link = LinkSpec { loss: Some(loss), ..gigabit() };
        let report = run(link, load(500, mix.clone()), seed);
        assert!(report.active_peak >= 480, "{report:?}");
        // A handshake loses a frame of its first two in one of ten cases.
        let again = report.retransmissions;
        assert!((20..=120).contains(&again.syn), "{again:?}");
        assert!(again.timeout > 0);
        assert!(report.transactions > 1000 && report.bad_checksums == 0);
    }
}

#[test]
fn spoilt_frames_are_found_by_their_checksums() {
    let corrupt = Some(Probability::new(0.02).unwrap());
    let report = run(LinkSpec { corrupt, ..gigabit() }, load(200, only(asking())), 1);
    assert!(report.bad_checksums > 50, "{report:?}");
    assert!(report.transactions > 1000);
}

/// 10 Mbit/s of frames carry at most 1448 / 1518 of it in payload, in the 4 s and what closing
/// takes; the bucket adds its 64,000 bytes once.
#[test]
fn a_policer_takes_from_bulk_connections_what_is_above_its_rate() {
    let police = Some(PoliceSpec::single_bucket(Rate::mbps(10), 64_000));
    let link = LinkSpec { police, ..gigabit() };
    let report = run(link, load(20, only(Behaviour::Download { rate: None })), 1);
    assert_eq!(report.established, 20);
    let until = report.series.iter().filter(|slot| slot.lasts < s(1));
    let good: u64 = until.map(|slot| slot.download_good_bytes).sum();
    let most = (10e6 / 8.0 * 4.1 + 64_000.0) * 1448.0 / 1518.0;
    assert!((good as f64) < most && good as f64 > 0.4 * most, "{good} of {most}");
    assert!(report.retransmissions.timeout + report.retransmissions.fast > 0);
}

/// Those that ask while the line is down ask again after one second: at 3 s all are there.
#[test]
fn an_outage_while_connections_are_set_up_is_survived() {
    let (start, lasts) = (Duration::from_millis(500), Duration::from_millis(200));
    let outage = Some(OutageSpec { start, lasts, every: None });
    let report = run(LinkSpec { outage, ..gigabit() }, load(1000, only(asking())), 1);
    assert_eq!((report.established, report.failed.total()), (1000, 0), "{report:?}");
    // 200 ms of a question each millisecond, and the answers to those of 20 ms before.
    assert!((180..=240).contains(&report.retransmissions.syn), "{:?}", report.retransmissions);
    assert_eq!(report.held.map(|held| held.wanted), Some(1000));
}

#[test]
fn a_path_that_lets_nothing_through_fails_all_by_name() {
    let loss = Some(LossSpec::Every(1));
    let mut load = load(50, only(Behaviour::Hold));
    load.syn_retransmissions_max = 0;
    let report = run(LinkSpec { loss, ..gigabit() }, load, 1);
    assert_eq!((report.established, report.held), (0, None));
    assert!(report.failed.no_answer >= 50, "{report:?}");
    assert_eq!(report.first_failure.map(|first| first.active), Some(0));
    assert_eq!(report.handshake, None);
}

#[test]
fn connections_with_a_lifetime_are_renewed_while_their_number_is_held() {
    let lifetime = Some(Duration::from_millis(500));
    let load = ConnectionsLoad { lifetime, ..load(200, only(asking())) };
    let report = run(gigabit(), load, 1);
    // 200 held for more than two seconds, each replaced every half second.
    assert!((900..=1400).contains(&report.established), "{}", report.established);
    assert_eq!(report.failed.total(), 0);
    let held = report.held.unwrap();
    assert!(held.least >= 199 && held.most <= 201, "{held:?}");
}

#[test]
fn the_far_end_opens_what_goes_towards_the_near_end() {
    let trial = trial(Direction::Download, load(30, only(asking())), s(2));
    let mut told = Vec::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    let observation = SimTestbed::new(&path(gigabit()), 1)
        .with_events(move |event| keep.lock().unwrap().push(event))
        .run(&trial)
        .unwrap();
    let FlowReport::Connections(report) = &observation.flows[0] else { panic!("connections") };
    check(report);
    for event in seen.lock().unwrap().iter() {
        if let Event::Counted { flow, direction, sample } = event {
            assert_eq!((*flow, *direction), (0, Direction::Download));
            told.push(*sample);
        }
    }
    assert_eq!(told, report.series);
    assert_eq!(report.established, 30);
}

#[test]
fn a_seed_stands_for_one_observation() {
    let loss = Some(LossSpec::Random(Probability::new(0.02).unwrap()));
    let link = LinkSpec { loss, ..gigabit() };
    let of = |seed| run(link.clone(), load(100, only(asking())), seed);
    assert_eq!(of(7), of(7));
    assert_ne!(of(7), of(8));
}

/// 10 clients of 64,512 ports at one server.
#[test]
fn more_than_the_addresses_take_are_refused_with_the_numbers() {
    let trial = trial(Direction::Upload, load(645_121, only(Behaviour::Hold)), s(1));
    match SimTestbed::new(&path(gigabit()), 1).run(&trial) {
        Err(Abort::Testbed(why)) => {
            assert!(why.contains("645121") && why.contains("645120"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}
