//! Paths that do all they may, and ends that do not answer.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use fp_model::{Behaviour, Close, ConnectionsShare};
use fp_net::swarm::{Outbox, Stop};

use crate::world::{CLIENT, Fates, SERVER, World, load, ms, over_ipv6, share, stage, transaction};

const ROUGH: Fates = Fates { lost: 15, repeated: 15, late: 30, spoilt: 10 };

fn all_behaviours() -> Vec<ConnectionsShare> {
    let rate = Some(fp_model::Rate::bps(200_000));
    vec![
        share(2, Behaviour::Hold),
        share(5, transaction(300, 5000, 20)),
        share(1, Behaviour::Download { rate }),
        share(1, Behaviour::Upload { rate: None }),
        share(1, Behaviour::Both { rate }),
    ]
}

/// Invariants are checked at each step; here is what must be true when all is over.
#[test]
fn over_a_rough_path_everything_is_accounted_for_and_right_to_the_byte() {
    let mut disturbances = [0; 3];
    for seed in 0..6 {
        let mut load =
            load(vec![stage(300, 60), stage(1500, 60), stage(100, 20)], all_behaviours());
        if seed % 2 == 1 {
            load = over_ipv6(load);
        }
        load.close = if seed % 3 == 2 { Close::Reset } else { Close::Fin };
        load.lifetime = (seed >= 3).then_some(ms(150));
        let mut world = World::new(&load).with_chance(seed + 1, ROUGH);
        world.run_until(ms(1900));
        world.stop(CLIENT, Stop::RampDown);
        world.run_until(ms(2000));
        world.fates = Fates::default();
        world.run_until(Duration::from_secs(60));
        // Where a reset was lost, the server has not heard of the end.
        let is_told = load.close == Close::Fin;
        world.stop(SERVER, if is_told { Stop::RampDown } else { Stop::Abort });
        world.run_until(Duration::from_secs(200));
        world.check_is_over();
        let (client, server) = (*world.counters(CLIENT), *world.counters(SERVER));
        assert_eq!(client.failed.total(), 0, "seed {seed}: {client:?}");
        assert_eq!(client.corrupt_payload_bytes + server.corrupt_payload_bytes, 0);
        assert!(client.transactions > 50 && server.received_bytes > 100_000, "seed {seed}");
        let found = client.bad_checksums + server.bad_checksums;
        let foreign = client.foreign_frames + server.foreign_frames;
        assert_eq!((found, foreign), (world.spoilt, 0), "seed {seed}");
        let repeated = client.retransmissions;
        for (all, one) in
            disturbances.iter_mut().zip([repeated.syn, repeated.fast, client.out_of_order])
        {
            *all += one;
        }
    }
    assert!(disturbances.iter().all(|count| *count > 0), "{disturbances:?}");
}

#[test]
fn an_outage_of_200_ms_while_connections_are_set_up_is_survived() {
    let mix = vec![share(1, Behaviour::Hold), share(1, transaction(100, 100, 50))];
    let mut world = World::new(&load(vec![stage(1000, 2000)], mix));
    world.outage = Some((ms(400), ms(600)));
    world.run_until(Duration::from_secs(5));
    let client = *world.counters(CLIENT);
    assert_eq!((client.active, client.attempted, client.failed.total()), (2000, 2000, 0));
    // Asked again one second later: those of 200 ms, and those whose answer was on its way.
    let again = client.retransmissions.syn + world.counters(SERVER).retransmissions.syn;
    assert!((400..=450).contains(&again), "{again}");
    assert_eq!(world.counters(SERVER).active, 2000);
    assert_eq!(world.counters(SERVER).corrupt_payload_bytes + client.corrupt_payload_bytes, 0);
}

#[test]
fn who_is_not_answered_fails_for_that_and_is_tried_again() {
    let mut load = load(vec![stage(0, 10)], vec![share(1, Behaviour::Hold)]);
    load.syn_retransmissions_max = 1;
    let mut world = World::new(&load);
    world.middlebox = Some(Box::new(|_, _| None));
    // Asked at 0 and 1 s, given up at 3 s, tried again at 4 s.
    world.run_until(ms(2990));
    assert_eq!((world.counters(CLIENT).pending, world.asked), (10, 20));
    world.run_until(ms(3900));
    let client = *world.counters(CLIENT);
    assert_eq!((client.failed.no_answer, client.failed.total(), client.pending), (10, 10, 0));
    let first = client.first_failure.unwrap();
    assert!(first.at >= ms(3000) && first.at < ms(3010) && first.active == 0, "{first:?}");
    world.middlebox = None;
    world.run_until(ms(4100));
    assert_eq!((world.counters(CLIENT).active, world.counters(CLIENT).attempted), (10, 20));
}

/// 2000 are asked for in a second. None is answered after the first one, so that 1000 wait from 1.5 s
/// on; from 2.5 s on it is 100 in a second, until somebody is answered.
#[test]
fn a_silence_is_not_asked_for_ever_more_connections() {
    let load = load(vec![stage(10_000, 20_000)], vec![share(1, Behaviour::Hold)]);
    let mut world = World::new(&load);
    world.outage = Some((ms(1000), ms(12_000)));
    world.run_until(ms(11_500));
    let client = *world.counters(CLIENT);
    // Less those whose answer was on its way, for a hundredth of a second at most.
    assert!((1980..=2000).contains(&client.active), "{client:?}");
    assert!((5880..=5900).contains(&client.attempted), "{client:?}");
    // The next one is answered, and so are all.
    world.run_until(ms(12_500));
    let client = *world.counters(CLIENT);
    assert_eq!((client.active + client.pending, client.failed.total()), (20_000, 0));
    assert!(client.pending < 5000, "{client:?}");
    // Who has asked in vain four times gives up 15 s after the first time, and another is asked for.
    world.run_until(Duration::from_secs(30));
    let client = *world.counters(CLIENT);
    assert_eq!((client.active, client.failed.total()), (20_000, client.failed.no_answer));
}

/// A server that knows of half of the ports only refuses the others: here it is a middlebox that
/// turns every question of a client with an odd port into a reset.
#[test]
fn who_is_refused_fails_for_that() {
    let mut world = World::new(&load(vec![stage(0, 4)], vec![share(1, Behaviour::Hold)]));
    world.middlebox = Some(Box::new(|from, frame| {
        let is_answer = from == SERVER && frame[47] == 0x12;
        let mut frame = frame.to_vec();
        if is_answer && frame[33] == 1 {
            // SYN and ACK become RST and ACK: 0x12 to 0x14, and the checksum is less by 2.
            frame[47] = 0x14;
            let sum = u16::from_be_bytes([frame[50], frame[51]]);
            let sum = if sum >= 2 { sum - 2 } else { sum.wrapping_sub(3) };
            frame[50..52].copy_from_slice(&sum.to_be_bytes());
        }
        Some(frame)
    }));
    world.run_until(ms(500));
    let client = *world.counters(CLIENT);
    assert_eq!((client.failed.refused, client.active, client.failed.total()), (1, 3, 1));
    let first = client.first_failure.unwrap();
    assert!(first.at >= ms(10) && first.at < ms(11), "{first:?}");
    // One second later it is tried again.
    world.run_until(ms(1500));
    assert_eq!(world.counters(CLIENT).attempted, 5);
}

/// One connection, then another one in its place: the question of the first comes once more, much
/// too late, and must not end the second. The client is asked whether it still has that, and has.
#[test]
fn a_question_that_comes_far_too_late_ends_nothing() {
    let stages = [(0, 1), (100, 1), (0, 0), (100, 0), (0, 1), (800, 1)];
    let stages = stages.into_iter().map(|(lasts_ms, count)| stage(lasts_ms, count)).collect();
    let mut world = World::new(&load(stages, vec![share(1, Behaviour::Hold)]));
    let first = Rc::new(RefCell::new(None));
    let kept = Rc::clone(&first);
    world.middlebox = Some(Box::new(move |_, frame| {
        kept.borrow_mut().get_or_insert_with(|| frame.to_vec());
        Some(frame.to_vec())
    }));
    world.run_until(ms(500));
    let before = *world.counters(SERVER);
    assert_eq!((before.attempted, before.active, before.closed), (2, 1, 1));
    let question = first.borrow().clone().unwrap();
    let mut outbox = Outbox::new(4, 1514);
    world.ends[SERVER].on_frame(world.now, &question, &mut outbox);
    assert_eq!(*world.counters(SERVER), before);
    let answers: Vec<Vec<u8>> = outbox.frames().map(<[u8]>::to_vec).collect();
    let [answer] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(answer[47], 0x10, "an acknowledgement, of the second connection");
    assert_ne!(answer[30..34], question[26..30], "whose client has another address");
    world.ends[CLIENT].on_frame(world.now, answer, &mut outbox);
    world.run_until(ms(900));
    let counters = [CLIENT, SERVER].map(|end| *world.counters(end));
    assert_eq!(counters.map(|counters| (counters.active, counters.failed.total())), [(1, 0); 2]);
}

/// The server's end is gone in the middle of it all, and says nothing any more.
#[test]
fn connections_to_an_end_that_has_died_time_out() {
    let mut load = load(vec![stage(0, 20)], vec![share(1, transaction(100, 100, 500))]);
    load.retransmissions_max = 2;
    let mut world = World::new(&load);
    world.run_until(ms(300));
    assert_eq!(world.counters(CLIENT).active, 20);
    world.outage = Some((ms(300), Duration::from_secs(100)));
    // Asked at 520 ms, then after 210, 420 and 840 ms.
    world.run_until(Duration::from_secs(3));
    let client = *world.counters(CLIENT);
    assert_eq!((client.failed.timed_out, client.active), (20, 0));
    assert_eq!(client.retransmissions.timeout, 40);
}
