//! How many connections there are: the stages, to the connection.

use std::time::Duration;

use fp_model::{Behaviour, Close, ConnectionsLoad, ConnectionsSample, HeldConnections, PortRange};
use fp_net::swarm::{
    AddressPlan, Counters, Role, Shard, Stop, report, sample, shares, shares_by_client_port,
};

use crate::world::{
    CLIENT, SERVER, World, load, ms, over_ipv6, setting, share, stage, transaction,
};

const HOLD: Behaviour = Behaviour::Hold;

#[test]
fn the_stages_are_followed_to_the_connection() {
    let stages = vec![stage(200, 2000), stage(300, 2000), stage(100, 500), stage(100, 500)];
    for (load, close) in [
        (load(stages.clone(), vec![share(1, HOLD)]), Close::Fin),
        (load(stages.clone(), vec![share(1, HOLD)]), Close::Reset),
        (over_ipv6(load(stages, vec![share(1, HOLD)])), Close::Fin),
    ] {
        let mut world = World::new(&ConnectionsLoad { close, ..load });
        for at in 1..=700 {
            world.run_until(ms(at));
            let client = world.counters(CLIENT);
            // 2000 in 200 ms are 10 in each, 1500 in 100 ms are 15.
            let asked = (at * 10).min(2000);
            assert_eq!(client.attempted, asked, "at {at} ms");
            let answered = at.saturating_sub(10).min(200) * 10;
            let gone = at.saturating_sub(500).min(100) * 15;
            assert_eq!(u64::from(client.active), answered - gone, "at {at} ms");
        }
        let client = world.counters(CLIENT);
        let all = HeldConnections { wanted: 2000, least: 2000, most: 2000 };
        assert_eq!((client.held, client.active_peak), (Some(all), 2000));
        assert_eq!((client.failed.total(), client.given_up), (0, 0));
        // Each asks once: nothing was lost.
        assert_eq!(world.asked, 2000);
        let server = world.counters(SERVER);
        assert_eq!((server.attempted, server.established, server.active), (2000, 2000, 500));
        // There and back are 10 ms.
        let handshake = world.ends[CLIENT].tally().handshake.summary().unwrap();
        assert_eq!(handshake.samples, 2000);
        assert!(handshake.min >= ms(10) && handshake.max < ms(11), "{handshake:?}");
        let slots = &world.ends[CLIENT].tally().established_in_second;
        assert_eq!(slots.as_slice(), [2000]);

        world.stop(CLIENT, Stop::RampDown);
        world.run_until(ms(720));
        world.stop(SERVER, Stop::RampDown);
        world.run_until(Duration::from_secs(5));
        world.check_is_over();
        assert_eq!(world.counters(CLIENT).closed, 2000);
        assert_eq!(world.counters(SERVER).closed, 2000);
    }
}

#[test]
fn connections_are_set_up_no_faster_than_they_may_be() {
    let mut load = load(vec![stage(0, 3000)], vec![share(1, HOLD)]);
    load.setup_rate_max = Some(1000);
    let mut world = World::new(&load);
    for second in 1..=4 {
        world.run_until(Duration::from_secs(second));
        let asked = world.counters(CLIENT).attempted;
        assert!(asked.abs_diff((second * 1000).min(3000)) <= 2, "{asked} after {second} s");
    }
    let held = world.counters(CLIENT).held.unwrap();
    assert_eq!((held.least, held.most), (3000, 3000));
}

/// Of 100 ms each, 500 at a time: 20 lives in 2 s for each of the 500.
#[test]
fn who_has_lived_long_enough_is_replaced_by_one_of_other_ports() {
    for close in [Close::Fin, Close::Reset] {
        let mut load = load(vec![stage(100, 500)], vec![share(1, HOLD)]);
        (load.lifetime, load.close) = (Some(ms(100)), close);
        let mut world = World::new(&load);
        world.run_until(ms(2110));
        let client = *world.counters(CLIENT);
        let held = client.held.unwrap();
        assert!(held.least >= 500 && held.most <= 501, "{held:?}");
        // A life is up to a millisecond longer than it should be, and one round trip.
        assert!((8_500..=10_500).contains(&client.established), "{}", client.established);
        assert_eq!(client.failed.total(), 0, "{client:?}");
        assert_eq!(world.asked, client.attempted, "each asks once");
        world.stop(CLIENT, Stop::RampDown);
        world.run_until(ms(2200));
        world.stop(SERVER, Stop::RampDown);
        world.run_until(ms(9000));
        world.check_is_over();
        assert_eq!(world.counters(CLIENT).failed.total(), 0);
        assert_eq!(
            world.counters(CLIENT).closed + world.counters(CLIENT).given_up,
            world.counters(CLIENT).attempted
        );
    }
}

/// As fast as the best second of their opening, or within two seconds; no number counts as held
/// meanwhile.
#[test]
fn who_is_told_to_stop_closes_at_a_rate_that_the_path_has_shown() {
    for (opened_in_ms, closed_in_s) in [(0, 1.0), (1500, 1.5), (30_000, 2.0)] {
        let open = vec![stage(opened_in_ms, 3000), stage(60_000, 3000)];
        let mut world = World::new(&load(open, vec![share(1, HOLD)]));
        let at = ms(opened_in_ms + 1100);
        world.run_until(at);
        world.stop(CLIENT, Stop::RampDown);
        for tenth in 1..=9_u32 {
            let passed = Duration::from_secs_f64(closed_in_s) * tenth / 10;
            world.run_until(at + passed);
            let left = 3000 - 300 * tenth;
            let active = world.counters(CLIENT).active;
            assert!(active.abs_diff(left) <= 60, "{active} of {left} at {passed:?}");
        }
        world.run_until(at + Duration::from_secs_f64(closed_in_s) + ms(100));
        assert!(world.ends[CLIENT].is_over());
        world.stop(SERVER, Stop::RampDown);
        world.run_until(at + Duration::from_secs(5));
        world.check_is_over();
        let client = world.counters(CLIENT);
        assert_eq!((client.closed, client.failed.total()), (3000, 0));
        let all = HeldConnections { wanted: 3000, least: 3000, most: 3000 };
        assert_eq!(client.held, Some(all));
    }
}

#[test]
fn an_abort_breaks_all_off_and_tells_the_peer() {
    let mut world = World::new(&load(vec![stage(100, 1000)], vec![share(1, HOLD)]));
    world.run_until(ms(95));
    world.stop(CLIENT, Stop::Abort);
    world.run_until(ms(95));
    assert!(world.ends[CLIENT].is_over());
    let client = *world.counters(CLIENT);
    assert_eq!((client.closed, client.given_up), (850, 100));
    world.run_until(ms(105));
    // Those that were on their way find nobody, and are told so.
    let server = *world.counters(SERVER);
    assert_eq!((server.active, server.failed.reset), (0, 850), "{server:?}");
    world.run_until(ms(200));
    assert_eq!(world.counters(SERVER).pending, 0);
    world.stop(SERVER, Stop::Abort);
    world.run_until(Duration::from_secs(9));
    world.check_is_over();
}

/// Each part is a load of its own, and together they are the whole: as many connections at every
/// instant, but for one of each part, between addresses that no other part has.
#[test]
fn the_parts_of_a_load_ask_for_what_it_asks_for() {
    type Cut = fn(&ConnectionsLoad, u32) -> Vec<ConnectionsLoad>;
    let cuts: [(bool, Cut); 3] = [(false, shares), (true, shares), (false, shares_by_client_port)];
    for (translated, cut) in cuts {
        let mut whole = load(vec![stage(200, 1001), stage(300, 777)], vec![share(1, HOLD)]);
        (whole.setup_rate_max, whole.addresses.translated) = (Some(90_001), translated);
        let parts = cut(&whole, 2);
        assert_eq!(parts.len(), 2);
        for place in 0..2 {
            let all = parts.iter().map(|part| part.stages[place].connections).sum::<u32>();
            assert_eq!(all, whole.stages[place].connections);
        }
        assert_eq!(parts.iter().filter_map(|part| part.setup_rate_max).sum::<u32>(), 90_001);
        let family = fp_model::Family::Ipv4;
        let plan = |load: &ConnectionsLoad| AddressPlan::new(&load.addresses, family).unwrap();
        let (first, second) = (plan(&parts[0]), plan(&parts[1]));
        assert_eq!(first.connections() + second.connections(), plan(&whole).connections());
        for number in 0..first.connections() {
            let pair = first.pair(number);
            assert!(second.number(&pair).is_none() && plan(&whole).number(&pair).is_some());
        }
        let mut worlds = parts.iter().map(World::new).collect::<Vec<_>>();
        for at in [50, 150, 250, 480] {
            worlds.iter_mut().for_each(|world| world.run_until(ms(at)));
            let active: u32 = worlds.iter().map(|world| world.counters(CLIENT).active).sum();
            // The answer is 10 ms away, of what is closed there is none to wait for.
            let wanted = match at {
                0..=200 => (at - 10) * 1001 / 200,
                _ => 1001 - (at - 200) * 224 / 300,
            };
            assert!(wanted.abs_diff(active.into()) <= 2, "{active} of {wanted} at {at} ms");
        }
    }
    let one = load(vec![stage(0, 1)], vec![share(1, HOLD)]);
    assert_eq!([shares(&one, 8).len(), shares_by_client_port(&one, 8).len()], [1, 1]);
}

/// What arrives shows by its client port which part it is for; where that is changed on the way there
/// is one part alone.
#[test]
fn parts_by_client_port_have_ports_one_after_the_other() {
    let mut whole = load(vec![stage(200, 1001)], vec![share(1, HOLD)]);
    let PortRange { first, last } = whole.addresses.client_ports;
    let parts = shares_by_client_port(&whole, 3);
    let ranges: Vec<PortRange> = parts.iter().map(|part| part.addresses.client_ports).collect();
    assert_eq!((ranges[0].first, ranges[2].last), (first, last));
    assert!(ranges.windows(2).all(|pair| pair[0].last + 1 == pair[1].first));
    whole.addresses.translated = true;
    assert_eq!(shares_by_client_port(&whole, 3), [whole]);
}

#[test]
fn what_both_ends_counted_makes_a_report() {
    let mix = vec![share(1, transaction(100, 200, 100))];
    let mut world = World::new(&load(vec![stage(100, 100)], mix));
    let timing = fp_model::Timing { warm_up: ms(100), steady: ms(400), settle: ms(100) };
    let mut before = [Counters::default(); 2];
    let mut series = Vec::new();
    for slot in timing.grid() {
        world.run_until(slot.end);
        let after = [CLIENT, SERVER].map(|end| *world.counters(end));
        series.push(sample(&slot, [&before[0], &after[0]], [&before[1], &after[1]]));
        before = after;
    }
    let report = report(world.ends[CLIENT].tally(), world.counters(SERVER), 9200, series);
    assert_eq!((report.attempted, report.active_at_end, report.setup_rate_peak), (100, 100, 100));
    assert_eq!(report.bytes_per_connection, 92.0);
    assert_eq!(report.download_good_bytes, report.transactions * 200);
    let sum = |of: fn(&ConnectionsSample) -> u64| report.series.iter().map(of).sum::<u64>();
    assert_eq!(sum(|sample| sample.established), 100);
    assert_eq!(sum(|sample| sample.transactions), report.transactions);
    assert_eq!(sum(|sample| sample.upload_good_bytes), report.upload_good_bytes);
    assert_eq!(sum(|sample| sample.download_good_bytes), report.download_good_bytes);
}

#[test]
fn an_end_takes_less_than_96_bytes_for_a_connection() {
    let load = load(vec![stage(0, 10_000)], vec![share(1, HOLD)]);
    let shard = Shard::new(setting(Role::Client, &load)).unwrap();
    let family = fp_model::Family::Ipv4;
    let bytes = Shard::bytes_needed(&load, family, Role::Client).unwrap();
    drop(shard);
    // 80 of the place and 12 of the wheel, whose slots take 12 KiB for all.
    assert_eq!(bytes, 10_000 * 92 + 12_288);
    let mut translated = load;
    translated.addresses.translated = true;
    let bytes = Shard::bytes_needed(&translated, family, Role::Server).unwrap();
    assert!(bytes <= 10_000 * 108 + 12_288 + 8, "{bytes}");
}
