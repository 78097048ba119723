//! Intervals of slots whose mean is known, and what belongs to a start.

use super::*;

/// Numbers between -1 and 1 that pass for chance (xorshift, Marsaglia 2003).
fn noise(count: usize) -> Vec<f64> {
    let mut state = 88_172_645_463_325_252_u64;
    let next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    core::iter::repeat_with(next).take(count).collect()
}

/// Tables of Student's t, 97.5 %: 7 degrees 2.365, 10 degrees 2.228, 30 degrees 2.042, all of them
/// 1.960; of chi-squared, 99 %: 7 degrees 18.475, 30 degrees 50.892.
#[test]
fn quantiles_are_those_of_the_tables() {
    for (degrees, table) in [(1, 12.706), (6, 2.447), (7, 2.365), (10, 2.228), (30, 2.042)] {
        assert!((student_95(degrees) - table).abs() < 0.004, "{degrees}: {}", student_95(degrees));
    }
    assert!((student_95(1_000_000) - 1.96).abs() < 1e-4);
    for (degrees, table) in [(7, 18.475 / 7.0), (30, 50.892 / 30.0)] {
        assert!((chance_99(degrees) - table).abs() < 0.01, "{degrees}: {}", chance_99(degrees));
    }
}

/// In 400 series of 64 slots, each of uniform noise around 100, at least 93 of 100 intervals hold the
/// 100; the largest of several batches makes them wider rather than narrower.
#[test]
fn an_interval_holds_the_truth_in_95_of_100_series() {
    let all = noise(400 * 64);
    let holds = |series: &&[f64]| {
        let slots: Vec<f64> = series.iter().map(|noise| 100.0 + 5.0 * noise).collect();
        let mean = Mean::of(&slots, 0.0);
        (mean.value - 100.0).abs() <= mean.spread.unwrap() * mean.value
    };
    let held = all.chunks(64).filter(holds).count();
    assert!(held >= 372, "{held} of 400");
}

/// A sum of noise wanders: neighbours tell the same again and again.
#[test]
fn slots_that_depend_on_each_other_make_an_interval_wider() {
    let noise = noise(512);
    let wandering: Vec<f64> =
        noise.windows(32).map(|part| 100.0 + part.iter().sum::<f64>() / 5.6).collect();
    let independent: Vec<f64> = noise.iter().map(|noise| 100.0 + noise).collect();
    let spread = |slots: &[f64]| Mean::of(slots, 0.0).spread.unwrap();
    assert!(spread(&wandering) > 3.0 * spread(&independent));
}

/// A window of 100 in each round trip of 1.08 slots: slots hold one or none, and what is not sure is
/// one of 32 windows at either edge: 1.96 √(2/12) / 32 = 2.5 %.
#[test]
fn what_arrives_in_pieces_is_unsure_by_those_at_the_edges_alone() {
    let arrived = |slot: usize| (slot as f64 / 1.08).floor();
    let slots: Vec<f64> = (0..34).map(|slot| 100.0 * (arrived(slot + 1) - arrived(slot))).collect();
    let spread = Mean::of(&slots, 100.0).spread.unwrap();
    assert!((spread - 0.025).abs() < 0.002, "{spread}");
    assert!(Mean::of(&slots, 0.0).spread.unwrap() > 2.0 * spread);
}

#[test]
fn one_slot_has_no_interval() {
    assert_eq!(Mean::of(&[100.0], 0.0).spread, None);
    assert!(Mean::of(&[100.0, 100.0], 0.0).spread.is_some());
}

#[test]
fn slow_start_is_left_out_and_steady_slots_are_not() {
    let steady = |count| core::iter::repeat_n(100.0, count);
    let slots: Vec<f64> = (0..10).map(|slot| 10.0 * f64::from(slot)).chain(steady(40)).collect();
    assert_eq!(start(&slots, 200.0, 1.0), Start { slot: 10, is_missing: false });
    let slots: Vec<f64> = steady(50).collect();
    assert_eq!(start(&slots, 200.0, 1.0), Start { slot: 0, is_missing: false });
    let slots: Vec<f64> = (0..50).map(f64::from).collect();
    assert!(start(&slots, 200.0, 1.0).is_missing, "it rises to the end");
}

/// A path of 100 that delivers 150 for four slots had 200 on this side of it before. One that delivers
/// 110 all the time carries more than was found.
#[test]
fn what_was_held_back_before_is_left_out() {
    let slots: Vec<f64> = [150.0; 4].into_iter().chain([99.0; 36]).collect();
    assert_eq!(surplus(&slots, 100.0, 10.0).slot, 4);
    let of_pieces = surplus(&slots, 100.0, 300.0);
    assert_eq!(of_pieces.slot, 0, "it is one of the pieces in which all comes");
    assert!(surplus(&[110.0; 40], 100.0, 10.0).is_missing);
}

fn steady<'a>(slots: &'a [f64], resent: &'a [bool], lasts_s: u64) -> Steady<'a> {
    Steady {
        slots,
        resent,
        lost_before: false,
        lasts: Duration::from_secs(lasts_s),
        rtt: Duration::from_millis(50),
        epoch: Duration::from_secs(3),
        piece: 1.0,
        is_missing: false,
    }
}

#[test]
fn after_a_loss_a_mean_is_settled_after_two_epochs() {
    let slots: Vec<f64> = noise(30).iter().map(|noise| 100.0 + noise).collect();
    let (mut once, none, always) = ([false; 30], [false; 30], [true; 30]);
    once[20] = true;
    let of = |resent: &[bool], lasts| {
        let settled = steady(&slots, resent, lasts).settled();
        (settled.from_above, settled.from_below)
    };
    assert_eq!(of(&none, 2), (true, true));
    assert_eq!(of(&once, 2), (false, false));
    assert_eq!(of(&once, 6), (true, true));
    // Windows that lose all the time do not come back.
    assert_eq!(of(&always, 2), (false, true));
    let rising: Vec<f64> = (0..30).map(|slot| 50.0 + f64::from(slot)).collect();
    let settled = steady(&rising, &always, 6).settled();
    assert!(!settled.from_below && settled.from_above);
    assert!(settled.stays_below(1.3) && !settled.stays_below(1.1));
}
