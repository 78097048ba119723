//! What connections do while they are open.

use std::time::Duration;

use fp_model::{Behaviour, Rate};

use crate::world::{CLIENT, SERVER, World, load, ms, over_ipv6, share, stage, transaction};

/// Ten ask 100 bytes each 100 ms and a round trip of 10 ms: at 0, 110, 220 … ms, 9 times in 890 ms.
#[test]
fn a_client_asks_again_when_it_has_thought() {
    let mut world =
        World::new(&load(vec![stage(0, 10)], vec![share(1, transaction(100, 3000, 100))]));
    world.run_until(ms(900));
    let (client, server) = (*world.counters(CLIENT), *world.counters(SERVER));
    // Deadlines round up to the millisecond.
    let rounds = client.transactions / 10;
    assert!((8..=9).contains(&rounds) && client.transactions == rounds * 10, "{client:?}");
    assert_eq!(client.received_bytes, client.transactions * 3000);
    assert!(server.received_bytes - client.transactions * 100 <= 1000);
    let times = world.ends[CLIENT].tally().transaction.summary().unwrap();
    assert!(times.min >= ms(10) && times.max < ms(12), "{times:?}");
}

#[test]
fn streams_have_their_rates_to_the_segment() {
    let rate = Some(Rate::mbps(2));
    let behaviours =
        [Behaviour::Download { rate }, Behaviour::Upload { rate }, Behaviour::Both { rate }];
    for behaviour in behaviours {
        let mut world = World::new(&load(vec![stage(0, 5)], vec![share(1, behaviour)]));
        world.run_until(ms(2000));
        // 2 Mbit/s are 250,000 bytes in a second: in 1990 ms at the client's end, the last of it
        // still on its way, five times 497,500.
        let due = 5 * 497_500_u64;
        let good = [CLIENT, SERVER].map(|end| world.counters(end).received_bytes);
        let wanted = match behaviour {
            Behaviour::Download { .. } => [due, 0],
            Behaviour::Upload { .. } => [0, due],
            _ => [due, due],
        };
        for (good, wanted) in good.into_iter().zip(wanted) {
            let missing = wanted.saturating_sub(good);
            assert!(good <= wanted && missing <= 5 * (3 * 1448 + 20 * 250), "{good} of {wanted}");
        }
    }
}

/// A window of 65,535 bytes in each round trip of 10 ms, less what its first ones ramp up.
#[test]
fn a_stream_without_a_rate_fills_its_window() {
    let rate = None;
    for behaviour in [Behaviour::Download { rate }, Behaviour::Upload { rate }] {
        let mut world = World::new(&over_ipv6(load(vec![stage(0, 3)], vec![share(1, behaviour)])));
        world.run_until(Duration::from_secs(1));
        let good = world.counters(CLIENT).received_bytes + world.counters(SERVER).received_bytes;
        let most = 3 * 65_535 * 100;
        assert!(good <= most && good >= most * 85 / 100, "{good} of {most}");
        assert_eq!(world.counters(CLIENT).retransmissions.timeout, 0);
    }
}

#[test]
fn a_mix_has_each_behaviour_by_its_weight() {
    let rate = Some(Rate::bps(1_000_000));
    let mix = vec![
        share(3, Behaviour::Hold),
        share(1, Behaviour::Upload { rate }),
        share(6, transaction(10, 10, 50_000)),
    ];
    let mut world = World::new(&load(vec![stage(0, 1000)], mix));
    world.run_until(ms(500));
    // Each of the six of ten asks once in 50 s; one of ten sends 125 bytes each millisecond.
    assert_eq!(world.counters(CLIENT).transactions, 600);
    let uploaded = world.counters(SERVER).received_bytes - 6000;
    let due = 100 * 490 * 125;
    assert!(uploaded <= due && uploaded + 100 * (2 * 1448 + 1250) >= due, "{uploaded} of {due}");
}
