//! Near and far end meet over loopback and run trials for each other.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::near::{ConnectError, LiveOptions, LiveTestbed};
use fp_engine::os::clock;
use fp_model::{Abort, Direction, Event, Family, FlowReport, Load, ProbesLoad, Rate, Testbed as _};

use crate::real::control::far_end::{
    FarEnd, LOOPBACK, connect, connect_until, flow, frames, long_trial, tcp, trial, within,
};

fn probes(count: u32) -> Load {
    let interval = Duration::from_millis(2);
    Load::Probes(ProbesLoad { packet_bytes: 1000, answer_bytes: 100, count, interval })
}

#[test]
fn all_kinds_of_load_run_in_both_directions_at_once() {
    for (address, family) in
        [(LOOPBACK, Family::Ipv4), (IpAddr::V6(Ipv6Addr::LOCALHOST), Family::Ipv6)]
    {
        let far = FarEnd::at(address);
        let mut bed = connect(&far.pairing).unwrap();
        assert_eq!(bed.family(), family);
        let loads = [probes(20), frames(Rate::mbps(8)), tcp(3)];
        let flows = loads.iter().flat_map(|load| {
            [Direction::Download, Direction::Upload]
                .map(|direction| flow(direction, family, load.clone()))
        });
        let trial = trial(Duration::from_millis(500), flows.collect());
        let observation = bed.run(&trial).unwrap();
        assert_eq!(observation.flows.len(), 6);
        // Both ends have the same clock here.
        let clocks = observation.clocks.unwrap();
        assert!(u128::from(clocks.offset_ns.unsigned_abs()) <= clocks.error.as_nanos());
        for report in &observation.flows {
            check(report);
        }
    }
}

fn check(report: &FlowReport) {
    match report {
        FlowReport::Probes(probes) => {
            assert_eq!((probes.sent, probes.arrived, probes.answered), (20, 20, 20));
            assert!(probes.rtt.unwrap().min < Duration::from_millis(50));
        }
        FlowReport::Frames(frames) => {
            // 8 Mbit/s of 8144 bits for half a second.
            assert!(frames.planned_frames.abs_diff(491) <= 1, "{}", frames.planned_frames);
            assert_eq!(frames.received_frames, frames.sent_frames);
            assert!(frames.series.iter().all(|sample| sample.retransmitted_bytes.is_none()));
        }
        FlowReport::Bursts(bursts) => assert_eq!(bursts.planned_bursts, 0, "none was asked for"),
        FlowReport::Tcp(tcp) => {
            let good: u64 = tcp.connections.iter().map(|connection| connection.good_bytes).sum();
            let steady = tcp.series.iter().filter(|sample| sample.steady);
            assert_eq!(good, steady.filter_map(|sample| sample.received_bytes).sum::<u64>());
            let whole: u64 = tcp.series.iter().filter_map(|sample| sample.received_bytes).sum();
            assert_eq!(whole, tcp.whole_good_bytes);
            assert!(good > 0 && tcp.series.iter().all(|sample| !sample.lasts.is_zero()));
            let active = tcp.series.iter().map(|sample| sample.active_connections);
            assert_eq!(active.max(), Some(Some(3)));
        }
        FlowReport::Connections(_) => panic!("no such flow was asked for"),
    }
}

#[test]
fn who_watches_sees_every_byte_of_a_flow_once_and_more_than_five_samples_a_second() {
    let far = FarEnd::at(LOOPBACK);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let watched = Arc::clone(&seen);
    let events = Box::new(move |event| watched.lock().unwrap().push(event));
    let options = LiveOptions { family: None, events, stop: StopFlag::default() };
    let mut bed = LiveTestbed::connect(&far.pairing, options).unwrap();
    let trial = trial(
        Duration::from_millis(900),
        vec![
            flow(Direction::Download, Family::Ipv4, tcp(2)),
            flow(Direction::Upload, Family::Ipv4, tcp(2)),
        ],
    );
    let observation = bed.run(&trial).unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.first(), Some(&Event::Started(trial)));
    assert_eq!(seen.last(), Some(&Event::Finished(observation.clone())));
    for (index, report) in observation.flows.iter().enumerate() {
        let FlowReport::Tcp(report) = report else { panic!("a flow of TCP gave {report:?}") };
        let samples: Vec<_> = seen
            .iter()
            .filter_map(|event| match event {
                Event::Sampled { flow, sample, .. } if *flow == index => Some(sample),
                _ => None,
            })
            .collect();
        let received: u64 = samples.iter().filter_map(|sample| sample.received_bytes).sum();
        assert_eq!(received, report.whole_good_bytes);
        // Twenty slots of 50 ms and that of what came after, three to a stretch.
        assert_eq!(samples.len(), 7);
    }
}

/// They share the far end's link, which makes neither of them wrong to its own ends.
#[test]
fn trials_of_two_near_ends_at_once_know_of_each_other_and_one_that_runs_alone_of_none() {
    let far = FarEnd::at(LOOPBACK);
    let mut beds = [connect(&far.pairing).unwrap(), connect(&far.pairing).unwrap()];
    let timed = |steady_ms| {
        let flows = vec![flow(Direction::Upload, Family::Ipv4, frames(Rate::mbps(4)))];
        trial(Duration::from_millis(steady_ms), flows)
    };
    let others = std::thread::scope(|scope| {
        let running = beds.each_mut().map(|bed| scope.spawn(|| bed.run(&timed(600)).unwrap()));
        running.map(|trial| trial.join().unwrap().other_trials)
    });
    assert_eq!(others, [1, 1]);
    let alone = beds[0].run(&timed(100)).unwrap();
    assert_eq!(alone.other_trials, 0);
}

#[test]
fn two_near_ends_are_served_at_once_and_a_third_is_told_that_there_is_no_room() {
    let far = FarEnd::with(LOOPBACK, 2);
    let run = |direction| {
        let mut bed = connect(&far.pairing).unwrap();
        let flows = vec![flow(direction, Family::Ipv4, frames(Rate::mbps(4)))];
        (bed.run(&trial(Duration::from_millis(600), flows)).unwrap(), bed)
    };
    let begun = clock::now();
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(|| run(Direction::Download));
        let two = scope.spawn(|| run(Direction::Upload));
        (one.join().unwrap(), two.join().unwrap())
    });
    // One after the other would take two trials of 800 ms.
    assert!(clock::now().since(begun) < Duration::from_millis(1600));
    assert_eq!((one.0.flows.len(), two.0.flows.len()), (1, 1));
    let third = connect(&far.pairing).unwrap_err();
    assert_eq!(third, ConnectError::Full { far: far.pairing.far.to_string(), sessions: 2 });
    drop(one);
    within(Duration::from_secs(1), "a place is free", || connect(&far.pairing).is_ok());
}

#[test]
fn a_stop_ends_a_trial_within_half_a_second_and_the_next_near_end_is_served() {
    let far = FarEnd::at(LOOPBACK);
    let stop = StopFlag::default();
    let mut bed = connect_until(&far.pairing, stop.clone()).unwrap();
    let running = std::thread::spawn(move || (bed.run(&long_trial()), clock::now()));
    within(Duration::from_secs(3), "the session begins", || far.has_logged("session begins"));
    let stopped_at = clock::now();
    stop.set();
    let (outcome, ended_at) = running.join().unwrap();
    assert_eq!(outcome, Err(Abort::Stopped));
    assert!(ended_at.since(stopped_at) < Duration::from_millis(500));
    within(Duration::from_secs(1), "the session ends", || far.has_logged("session ends"));
    assert!(connect(&far.pairing).is_ok());
}

#[test]
fn a_trial_that_the_far_end_will_not_run_leaves_the_session_for_the_next_one() {
    let far = FarEnd::at(LOOPBACK);
    let mut bed = connect(&far.pairing).unwrap();
    let none = trial(Duration::from_millis(100), Vec::new());
    let Err(Abort::Testbed(why)) = bed.run(&none) else { panic!("a trial of nothing ran") };
    assert!(why.contains("1 to 256 flows, not 0"), "{why}");
    let unconnected = flow(Direction::Upload, Family::Ipv4, tcp(0));
    let refused = bed.run(&trial(Duration::from_millis(100), vec![unconnected])).unwrap_err();
    assert!(refused.to_string().contains("1 to 10000 connections, not 0"), "{refused}");
    let flows = vec![flow(Direction::Upload, Family::Ipv4, probes(3))];
    assert!(bed.run(&trial(Duration::ZERO, flows)).is_ok());
}

#[test]
fn a_far_end_that_is_stopped_tells_its_near_ends() {
    let far = FarEnd::at(LOOPBACK);
    let mut bed = connect(&far.pairing).unwrap();
    let running = std::thread::spawn(move || (bed.run(&long_trial()), clock::now()));
    within(Duration::from_secs(3), "the session begins", || far.has_logged("session begins"));
    let stopped_at = clock::now();
    drop(far);
    let (outcome, ended_at) = running.join().unwrap();
    let Err(Abort::Lost(why)) = outcome else { panic!("{outcome:?}") };
    assert!(why.contains("it was stopped"), "{why}");
    assert!(ended_at.since(stopped_at) < Duration::from_secs(1));
}
