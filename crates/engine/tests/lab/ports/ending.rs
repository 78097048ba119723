//! Connections that end before their stages do: stopped by the near end, or by a far end's death.

use std::env;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::IpAddr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::control::{Host, Pairing};
use fp_engine::far::Server;
use fp_engine::lab::{Families, Lab, Privileges};
use fp_engine::near::{LiveOptions, LiveTestbed};
use fp_engine::os::clock;
use fp_engine::swarm::ConnectionNetworks;
use fp_model::{
    Abort, ConnectionsReport, ConnectionsSample, ConnectionsStage, Direction, Event, Family,
    FlowReport, Testbed as _, Trial,
};
use fp_net::path::{LinkSpec, PathSpec};
use rustix::thread::{
    CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities,
};

use super::cable::{Cable, address};
use super::connections::{FarEnd, load_of, options, trial};
use crate::harness::helper;

const CONNECTIONS: u32 = 1000;
const MINUTE: Duration = Duration::from_secs(60);

/// The number is reached after this time and held for a minute.
fn long_trial(direction: Direction, family: Family, ramp: Duration) -> Trial {
    let mut trial = trial(direction, family);
    let stage = |lasts| ConnectionsStage { lasts, connections: CONNECTIONS };
    load_of(&mut trial).stages = vec![stage(ramp), stage(MINUTE)];
    (trial.timing.warm_up, trial.timing.steady) = (Duration::ZERO, ramp + MINUTE);
    trial
}

/// As soon as half are open the rest is not asked for any more, whoever opens them.
pub(crate) fn who_stops_a_trial_is_told_what_there_was(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let [near, far] = &cable.ends;
    let far = FarEnd::start(far, address(1, Family::Ipv4), ConnectionNetworks::for_benchmarks());
    for (direction, family, is_abort) in [
        (Direction::Upload, Family::Ipv4, false),
        (Direction::Download, Family::Ipv6, false),
        (Direction::Upload, Family::Ipv6, true),
        (Direction::Download, Family::Ipv4, true),
    ] {
        let stop = StopFlag::default();
        let stopper = stop.clone();
        let events = Box::new(move |event| {
            if matches!(event, Event::Counted { sample, .. } if sample.active >= CONNECTIONS / 2) {
                stopper.set();
            }
        });
        near.enter().unwrap();
        let options = LiveOptions { family: None, events, stop };
        let mut bed = LiveTestbed::connect(far.pairing(), options).unwrap();
        if is_abort {
            bed.abort_when_stopped();
        }
        let began = clock::now();
        let trial = long_trial(direction, family, Duration::from_millis(600));
        let flows = bed.run(&trial).unwrap().flows;
        let took = clock::now().since(began);
        assert!(took < MINUTE / 6, "{took:?}");
        let [FlowReport::Connections(report)] = flows.as_slice() else { panic!("{flows:?}") };
        check_stopped(report, is_abort);
    }
}

fn check_stopped(report: &ConnectionsReport, is_abort: bool) {
    let stopped = report.stopped.unwrap();
    assert_eq!(stopped.is_abort, is_abort);
    assert!(stopped.active >= CONNECTIONS / 2 && stopped.active <= report.active_peak);
    // Nothing is left, and nothing has failed.
    assert_eq!(report.attempted, report.established + report.given_up, "{report:?}");
    assert_eq!((report.established, report.active_at_end), (report.closed, 0), "{report:?}");
    assert_eq!(report.failed.total(), 0, "{report:?}");
    let sum = |of: fn(&ConnectionsSample) -> u64| report.series.iter().map(of).sum::<u64>();
    assert_eq!(sum(|slot| slot.attempted), report.attempted);
    assert_eq!(sum(|slot| slot.closed), report.closed);
    assert_eq!(sum(|slot| slot.upload_good_bytes), report.upload_good_bytes);
    assert_eq!(sum(|slot| slot.download_good_bytes), report.download_good_bytes);
    let last = report.series.last().unwrap();
    assert_eq!((last.at + last.lasts, last.active), (stopped.until, 0));
}

pub(crate) const SERVER: &str = "far end of connections";
const OWN: &str = "FULLPIPE_LAB_ADDRESS";

/// In the namespace of the far end, until it is killed.
pub(crate) fn serve(_: Privileges) {
    let own: IpAddr = env::var(OWN).unwrap().parse().unwrap();
    let server = Server::bind(options(own, ConnectionNetworks::for_benchmarks())).unwrap();
    let mut out = io::stdout();
    writeln!(out, "{}", server.pairing(Host::Address(own))).unwrap();
    server.serve(&StopFlag::default()).unwrap();
}

pub(crate) fn a_far_end_that_is_killed_is_lost_in_a_second_and_nothing_stays(
    privileges: Privileges,
) {
    let path = PathSpec::symmetric("under test", vec![LinkSpec::default()]);
    let lab = Lab::start(privileges, &path, Families::Only(Family::Ipv4), 1).unwrap();
    let (said, says) = io::pipe().unwrap();
    let mut server = helper(SERVER);
    server.env(OWN, lab.far().address(Family::Ipv4).to_string()).stdout(says);
    keep_rights();
    let server = lab.far().start(server).unwrap();
    let mut pairing = String::new();
    BufReader::new(said).read_line(&mut pairing).unwrap();
    let pairing = Pairing::parse(pairing.trim()).unwrap();

    lab.near().enter().unwrap();
    let (tell, told) = mpsc::channel();
    let events = Box::new(move |event| {
        if matches!(event, Event::Counted { sample, .. } if sample.active == CONNECTIONS) {
            // Once it has been heard, nobody listens any more.
            let _ = tell.send(());
        }
    });
    let stop = StopFlag::default();
    let options = LiveOptions { family: None, events, stop: stop.clone() };
    let mut bed = LiveTestbed::connect(&pairing, options).unwrap();
    let running = thread::spawn(move || {
        let mut trial = long_trial(Direction::Upload, Family::Ipv4, Duration::from_millis(300));
        // Beside the lab's own addresses.
        let clients = &mut load_of(&mut trial).addresses.clients;
        (clients.network, clients.prefix_bits) = (IpAddr::from([198, 18, 128, 0]), 17);
        let outcome = bed.run(&trial);
        (outcome, clock::now(), bed)
    });
    if told.recv_timeout(MINUTE / 6).is_err() {
        stop.set();
        panic!("not all were opened: {:?}", running.join().unwrap().0);
    }
    assert!(packet_sockets() > 0 && threads().iter().any(|name| name.starts_with("flow")));
    let killed = clock::now();
    drop(server);
    let (outcome, ended, bed) = running.join().unwrap();
    assert!(matches!(outcome, Err(Abort::Lost(_))), "{outcome:?}");
    assert!(ended.since(killed) < Duration::from_secs(1), "{:?}", ended.since(killed));
    assert_eq!(packet_sockets(), 0);
    let left = threads();
    let is_of_a_flow = |name: &String| name.starts_with("flow") || name.starts_with("shard");
    assert!(!left.iter().any(is_of_a_flow), "{left:?}");
    drop(bed);
}

/// Through the start of another program, as an ordinary user too: without them it would move into a
/// namespace of users that has none here.
fn keep_rights() {
    const RIGHTS: [CapabilitySet; 3] =
        [CapabilitySet::NET_RAW, CapabilitySet::NET_ADMIN, CapabilitySet::SYS_ADMIN];
    let mut sets = capabilities(None).unwrap();
    sets.inheritable.extend(RIGHTS);
    set_capabilities(None, sets).unwrap();
    for right in RIGHTS {
        configure_capability_in_ambient_set(right, true).unwrap();
    }
}

/// In the current thread's namespace.
fn packet_sockets() -> usize {
    fs::read_to_string("/proc/thread-self/net/packet").unwrap().lines().skip(1).count()
}

/// Of this process, by their names.
fn threads() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    // One may end meanwhile.
    let name = |thread: io::Result<fs::DirEntry>| {
        fs::read_to_string(thread.unwrap().path().join("comm")).ok()
    };
    threads.filter_map(name).map(|name| name.trim_end().to_owned()).collect()
}
