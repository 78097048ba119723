//! Few connections with as much to send as they are let, each told of by itself.

use std::time::Duration;

use fp_model::{Behaviour, ConnectionsLoad};
use fp_net::swarm::Account;
use fp_net::tcp::Algorithm;

use crate::world::{CLIENT, Fates, Line, SERVER, START, World, load, ms, over_ipv6, share, stage};

fn bulk(connections: u32, behaviour: Behaviour, lasts: u64, window_bytes: u32) -> ConnectionsLoad {
    let stages = vec![stage(0, connections), stage(lasts, connections), stage(0, 0)];
    ConnectionsLoad { window_bytes, ..load(stages, vec![share(1, behaviour)]) }
}

fn told_of(load: &ConnectionsLoad) -> World {
    let mut world = World::new(load);
    world.ends.iter_mut().for_each(|end| end.keep_accounts());
    world
}

/// One frame of a hundred is lost, and two of a hundred overtake others, both ways.
#[test]
fn what_was_sent_arrives_to_the_byte_whatever_is_lost_or_overtaken() {
    let rough = Fates { lost: 10, late: 20, ..Fates::default() };
    for (seed, behaviour) in
        [(1, Behaviour::Upload { rate: None }), (2, Behaviour::Download { rate: None })]
    {
        let mut load = bulk(4, behaviour, 3000, 262_144);
        if seed == 2 {
            load = over_ipv6(load);
        }
        let mut world = told_of(&load).with_chance(seed, rough);
        world.run_until(Duration::from_secs(60));
        let (sender, receiver) = match behaviour {
            Behaviour::Upload { .. } => (CLIENT, SERVER),
            _ => (SERVER, CLIENT),
        };
        let accounts = [sender, receiver].map(|end| world.ends[end].accounts());
        assert_eq!(accounts.map(<[Account]>::len), [4, 4]);
        for (sent, received) in accounts[0].iter().zip(accounts[1]) {
            assert_eq!(sent.sent_bytes - sent.resent_bytes, received.received_bytes);
            assert!(received.received_bytes > 100_000 && sent.resent_bytes > 0, "{sent:?}");
            assert!(sent.sent_segments > received.received_segments, "{sent:?} {received:?}");
            // The path takes 5 ms each way; of what was sent again the timestamps tell, in whole
            // milliseconds, the least that it may have been.
            let min = sent.round_trips.min.unwrap();
            assert!(min > ms(9) && min < ms(12), "{min:?}");
            assert_eq!(received.received_traffic_class, Some(0x28));
        }
        let counters = [CLIENT, SERVER].map(|end| *world.counters(end));
        let all: u64 = accounts[1].iter().map(|account| account.received_bytes).sum();
        assert_eq!(counters[receiver].received_bytes, all);
        assert_eq!(counters.map(|end| end.corrupt_payload_bytes), [0, 0]);
        assert_eq!(counters.map(|end| (end.closed, end.failed.total())), [(4, 0), (4, 0)]);
    }
}

/// Four share 100 Mbit/s with a buffer of two round trips: by the index of Jain they have 95 % of
/// fairness or more, and the line is full.
#[test]
fn connections_share_a_line_fairly_and_fill_it() {
    for algorithm in [Algorithm::Cubic, Algorithm::Reno] {
        let mut world = told_of(&bulk(4, Behaviour::Download { rate: None }, 60_000, 1 << 20));
        world.ends[SERVER].send_with(algorithm);
        world.line = Some(Line { nanos_per_byte: 80, wait_max: ms(20), free_at: [START; 2] });
        let received = |world: &World| -> Vec<u64> {
            world.ends[CLIENT].accounts().iter().map(|account| account.received_bytes).collect()
        };
        world.run_until(Duration::from_secs(5));
        let before = received(&world);
        world.run_until(Duration::from_secs(25));
        let after = received(&world);
        let shares = after.iter().zip(&before).map(|(to, from)| (to - from) as f64);
        let shares: Vec<f64> = shares.collect();
        let sum: f64 = shares.iter().sum();
        let jain = sum * sum / (4.0 * shares.iter().map(|share| share * share).sum::<f64>());
        assert!(jain >= 0.95, "{algorithm:?}: {jain} of {shares:?}");
        // 1448 of each 1514 bytes are payload: 239.1 MB in 20 s. What lay behind a gap when they began
        // is counted as well, at most what the path and its buffer hold: 30 ms, 0.36 MB.
        assert!((0.95 * 239.1e6..=239.5e6).contains(&sum), "{algorithm:?}: {sum}");
        let sending: Vec<u32> = world.ends[SERVER].sending(world.now).map(|each| each.0).collect();
        assert_eq!(sending, [0, 1, 2, 3]);
        assert_eq!(world.counters(CLIENT).corrupt_payload_bytes, 0);
    }
}
