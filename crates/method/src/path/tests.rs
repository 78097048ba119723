//! The questions to a path, put to one whose answers are known.

use alloc::vec::Vec;

use fp_model::Observation;
use proptest::prelude::*;

use super::*;

const PACKETS: Packets = Packets { family: Family::Ipv4, dscp: Dscp::BEST_EFFORT };
const RTT: Duration = Duration::from_millis(20);

/// Carries packets up to a size; larger ones vanish, or are answered by ICMP.
struct Known {
    download_mtu_bytes: u32,
    upload_mtu_bytes: u32,
    says_too_big: bool,
    /// Nothing at all comes through but the first so many trials.
    dies_after: usize,
    /// Trials in which others leave no room for packets of more than 600 bytes.
    busy: usize,
    trials: Vec<Trial>,
}

impl Known {
    const fn with_mtus(download_mtu_bytes: u32, upload_mtu_bytes: u32) -> Self {
        let (says_too_big, dies_after, busy) = (false, usize::MAX, 0);
        let trials = Vec::new();
        Self { download_mtu_bytes, upload_mtu_bytes, says_too_big, dies_after, busy, trials }
    }

    fn report(&self, flow: &FlowSpec) -> FlowReport {
        let Load::Probes(load) = &flow.load else { panic!("only probes are sent: {flow:?}") };
        let count = u64::from(load.count);
        let limit = match flow.direction {
            Direction::Download => self.download_mtu_bytes,
            Direction::Upload => self.upload_mtu_bytes,
        };
        let fits = load.packet_bytes <= limit;
        let has_room = load.packet_bytes <= 600 || self.trials.len() > self.busy;
        let passed =
            if fits && has_room && self.trials.len() <= self.dies_after { count } else { 0 };
        let rtt =
            RttSummary { min: RTT, mean: RTT * 2, p99: RTT * 3, max: RTT * 4, samples: passed };
        FlowReport::Probes(ProbesReport {
            sent: count,
            refused: 0,
            arrived: passed,
            answered: passed,
            too_big_answers: u64::from(self.says_too_big && !fits),
            rtt: (passed > 0).then_some(rtt),
            ..ProbesReport::default()
        })
    }
}

impl Testbed for Known {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        self.trials.push(trial.clone());
        let flows = trial.flows.iter().map(|flow| self.report(flow)).collect();
        Ok(Observation { flows, ..Observation::default() })
    }
}

fn mtu(known: &mut Known, direction: Direction, limit_bytes: u32) -> Result<PathMtu, Abort> {
    path_mtu(known, PACKETS, direction, limit_bytes, RTT)
}

proptest! {
    //= rfc6349 3.1
    #[test]
    fn each_direction_has_its_own_path_mtu(
        download in 100_u32..9200, upload in 100_u32..9200, limit in 1280_u32..9100,
    ) {
        let mut known = Known::with_mtus(download, upload);
        for (direction, largest) in [(Direction::Download, download), (Direction::Upload, upload)] {
            let found = mtu(&mut known, direction, limit).unwrap();
            prop_assert_eq!(found.mtu_bytes, largest.min(limit));
            prop_assert_eq!(found.black_hole, largest < limit, "nobody said a word");
        }
    }
}

#[test]
fn a_path_that_says_what_is_too_big_is_no_black_hole() {
    let mut known = Known { says_too_big: true, ..Known::with_mtus(1400, 1400) };
    let found = mtu(&mut known, Direction::Upload, 1500).unwrap();
    assert_eq!((found.mtu_bytes, found.black_hole), (1400, false));
}

#[test]
fn a_clean_path_is_tried_once() {
    let mut known = Known::with_mtus(1500, 1500);
    let found = mtu(&mut known, Direction::Download, 1500).unwrap();
    assert_eq!((known.trials.len(), found.probes), (1, u64::from(TRIES)));
}

/// A queue that others keep full takes small packets where it refuses large ones: the largest size that came
/// through is then no limit, and what is one byte longer comes through as well.
#[test]
fn large_packets_that_were_lost_by_chance_are_no_black_hole() {
    // From no trial of the search to all 15 of them; in the next one 601 bytes are compared with 600.
    for busy in 0..16 {
        let mut known = Known { busy, ..Known::with_mtus(1500, 1500) };
        let found = mtu(&mut known, Direction::Upload, 1500).unwrap();
        assert_eq!((found.mtu_bytes, found.black_hole), (1500, false), "{busy}");
    }
}

/// Five of ten packets that come through are those of one size in 1 of 252 cases, three of eight in 4 of 56.
#[test]
fn chance_counts_the_ways_to_lose_packets() {
    assert!((all_by_chance(5, 5) * 252.0 - 1.0).abs() < 1e-12);
    assert!((all_by_chance(4, 3) * 14.0 - 1.0).abs() < 1e-12);
    assert!((all_by_chance(7, 0) - 1.0).abs() < 1e-12, "nothing passed, nothing is known");
}

/// RFC 4821 section 7.5: loss of what is known to pass says nothing about a size.
#[test]
fn a_path_that_loses_everything_has_no_mtu() {
    let mut known = Known { dies_after: 0, ..Known::with_mtus(1500, 1500) };
    let Err(Abort::Lost(why)) = mtu(&mut known, Direction::Upload, 1500) else {
        panic!("an MTU was found where nothing passes");
    };
    assert!(why.contains("loses too many packets"), "{why}");
    // Once both sizes together, then one after the other.
    assert_eq!(known.trials.len(), 1 + 2 * INCONCLUSIVE_MAX as usize);
}

//= rfc6349 3.2.1
#[test]
fn the_baseline_is_the_round_trip_of_100_small_packets_on_the_idle_path() {
    let mut known = Known::with_mtus(1500, 1500);
    let baseline = baseline_rtt(&mut known, PACKETS, RTT).unwrap();
    assert_eq!((baseline.rtt.min, baseline.sent, baseline.answered), (RTT, 100, 100));
    // 100 of them, 20 ms apart, and time for the last to come back.
    assert_eq!(known.trials[0].timing.steady, Duration::from_secs(2));
    assert!(known.trials[0].timing.settle > RTT);
}

#[test]
fn a_far_end_that_does_not_answer_is_lost() {
    let mut known = Known { dies_after: 0, ..Known::with_mtus(1500, 1500) };
    assert!(matches!(rough_rtt(&mut known, PACKETS), Err(Abort::Lost(_))));
    assert!(matches!(baseline_rtt(&mut known, PACKETS, RTT), Err(Abort::Lost(_))));
    let mut known = Known::with_mtus(1500, 1500);
    // To wait for the slowest answer, not for the mean.
    assert_eq!(rough_rtt(&mut known, PACKETS).unwrap().max, RTT * 4);
}
