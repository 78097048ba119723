//! What is drawn is what was promised.

use super::*;
use crate::facts::{Facts, Kind};
use crate::groups;

#[test]
fn a_network_follows_from_its_seed_and_number_alone() {
    for draw in [network, network_of_links] {
        let file = |seed, index| draw(seed, index).lab_file();
        assert_eq!(file(7, 3), file(7, 3));
        assert_ne!(file(7, 3), file(7, 4));
        assert_ne!(file(7, 3), file(8, 3));
    }
}

#[test]
fn every_bucket_has_room_for_the_longest_frame_of_its_link() {
    let drawn = |draw: fn(u64, u64) -> Network| (0..500).map(move |index| draw(1, index));
    for network in drawn(network).chain(drawn(network_of_links)) {
        for link in network.all_links() {
            let frame_bytes = link.mtu.map_or(1500, |mtu| mtu.bytes) + 18;
            let police = link.police.as_ref().map(|police| police.profile);
            let cbs_bytes = police.map_or(u64::MAX, |profile| profile.cbs_bytes);
            let burst_bytes = link.shape.as_ref().map_or(u64::MAX, |shape| shape.burst_bytes);
            assert!(cbs_bytes >= u64::from(frame_bytes + 20), "{}", network.described());
            assert!(burst_bytes >= u64::from(frame_bytes), "{}", network.described());
        }
    }
}

#[test]
fn all_kinds_of_networks_are_drawn() {
    let drawn: Vec<_> = (0..500).map(|index| network(1, index)).collect();
    let facts: Vec<Facts> = drawn.iter().map(Facts::of).collect();
    for group in groups::GROUPS {
        let belongs = |(network, facts)| groups::of(network, facts).contains(&group);
        let count = drawn.iter().zip(&facts).filter(|one| belongs(*one)).count();
        assert!(count >= 5, "{group}: {count} of 500");
    }
    let is = |kind| move |facts: &&Facts| facts.download.kind() == kind;
    assert!(facts.iter().filter(is(Kind::Policer)).count() >= 100);
    assert!(facts.iter().filter(is(Kind::Queue)).count() >= 100);
    let rtts = || facts.iter().map(|facts| facts.rtt_s[1]);
    assert!(rtts().any(|rtt_s| rtt_s < 0.001) && rtts().any(|rtt_s| rtt_s > 0.2));
    let rates = || facts.iter().map(|facts| facts.download.rate_bps(20));
    assert!(rates().any(|bps| bps < 2e6) && rates().any(|bps| bps > 2e9));
}

#[test]
fn the_figures_that_are_drawn_stay_within_their_bounds() {
    let mut dice = Dice::new(1, 1);
    for _ in 0..1000 {
        let drawn = dice.log(1e6, 1e9);
        assert!((1e6..=1e9).contains(&drawn), "{drawn}");
    }
}
