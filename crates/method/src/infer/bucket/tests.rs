//! Trains through buckets that are written down here a second time.

use alloc::vec;

use super::*;

/// A train of `frames` through a bucket; one in `every` is lost, before it or behind it.
fn train(frames: u32, spacing: f64, (rate, b): (f64, f64), every: u32, lost: Lost) -> Fates {
    let left = (0..frames).map(|number| f64::from(number) * spacing).collect();
    through(left, (rate, b), every, lost)
}

fn through(left: Vec<f64>, (rate, b): (f64, f64), every: u32, lost: Lost) -> Fates {
    let (mut tokens, mut before) = (b, 0.0);
    let fate = |(number, at): (u32, &f64)| {
        tokens = (tokens + rate * (at - before)).min(b);
        before = *at;
        let drawn = number.wrapping_add(1).wrapping_mul(2_654_435_761) >> 7;
        let is_lost = every > 0 && drawn.is_multiple_of(every);
        let is_before = match lost {
            Lost::Before => true,
            Lost::Behind => false,
            Lost::Either => (drawn / every.max(1)).is_multiple_of(2),
        };
        if is_lost && is_before || tokens < 1.0 {
            return Fate::Missing;
        }
        tokens -= 1.0;
        if is_lost { Fate::Missing } else { Fate::Arrived }
    };
    let late = vec![0.0; left.len()];
    Fates { of: (0..).zip(&left).map(fate).collect(), left, late, unsure: 0.0, uneven: 0.0 }
}

/// The same train if one frame in `every` is doubled in front of the bucket: of two that come together either one
/// may pass, or both.
fn doubled(frames: u32, spacing: f64, (rate, b): (f64, f64), every: u32) -> Fates {
    let left: Vec<f64> = (0..frames).map(|number| f64::from(number) * spacing).collect();
    let (mut tokens, mut before) = (b, 0.0);
    let fate = |(number, at): (u32, &f64)| {
        tokens = (tokens + rate * (at - before)).min(b);
        before = *at;
        let passes = libm::floor(tokens).min(if number.is_multiple_of(every) { 2.0 } else { 1.0 });
        tokens -= passes;
        [Fate::Missing, Fate::Arrived, Fate::Twice][passes as usize]
    };
    let late = vec![0.0; left.len()];
    Fates { of: (0..).zip(&left).map(fate).collect(), left, late, unsure: 0.0, uneven: 0.0 }
}

#[test]
fn frames_that_are_doubled_in_front_of_a_bucket_take_tokens_twice() {
    let quiet = Quiet::that_lost(1000.0, 0.0);
    for (bucket, every) in [((823.4, 40.3), 97), ((2500.0, 300.7), 53)] {
        let fates = doubled(10_000, 1e-4, bucket, every);
        finds(&fates, bucket);
        let mut behind = train(10_000, 1e-4, bucket, 0, Lost::Behind);
        finds(&behind, bucket);
        let arrived = behind.of.iter_mut().filter(|fate| **fate == Fate::Arrived);
        arrived.skip(every as usize).step_by(every as usize).for_each(|fate| *fate = Fate::Twice);
        // What is empty passes one of two at most: which side it was shows where both came from it.
        for (fates, only) in [(fates, [true, true]), (behind, [false, true])] {
            let once = fates.doubled_behind().unwrap();
            let both = [&fates, &once].map(|fates| {
                let rates = fates.passes(&quiet);
                let by = fates.explained(rates, &quiet, Lost::Behind);
                Explained { fates, lost: Lost::Behind, by, rates }
            });
            let likely = Explained::likely_of(both, &quiet);
            assert_eq!(likely.map(|fit| fit.is_some()), only, "{bucket:?}");
        }
    }
}

/// That a train without chance loss has this bucket, and no slack is needed.
fn finds(fates: &Fates, (rate, b): (f64, f64)) {
    let quiet = Quiet::that_lost(1000.0, 0.0);
    assert!(fates.is_refused(&quiet));
    let fit = fates.fit(fates.passes(&quiet), &quiet, Lost::Behind, 0.0).unwrap();
    assert!(fit.is_likely(&quiet), "{fit:?}");
    assert!(off(fit.frames_s, rate) < 1e-3, "{fit:?}");
    assert!(off(fit.frames, b) < 0.02, "{fit:?}");
}

fn off(found: Bounds, truth: f64) -> f64 {
    assert!(found.at_least <= truth && truth <= found.at_most, "{found:?} {truth}");
    (found.estimate / truth - 1.0).abs()
}

/// It passes one frame of each 33 or 34, and a bucket of exactly one frame that wins 1.3 % more is full
/// just then each time.
#[test]
fn a_bucket_of_hardly_more_than_a_frame_is_told_from_one_that_is_full_each_time() {
    let bucket = (2357.21, 1568.0 / 1518.0);
    finds(&train(8000, 1.0 / 78_836.15, bucket, 0, Lost::Behind), bucket);
}

#[test]
fn a_bucket_is_found_exactly() {
    for bucket in [(823.4, 40.3), (1013.7, 1.3), (150.0, 300.7), (2500.0, 7.9)] {
        finds(&train(10_000, 1e-4, bucket, 0, Lost::Behind), bucket);
    }
}

#[test]
fn a_sender_that_stops_and_makes_up_for_it_finds_the_same_bucket() {
    // Of each 550 µs it stands still for 400, and sends what is due then within the next 100.
    let late = |number: u32| {
        let due = f64::from(number) * 1e-5;
        let round = libm::floor(due / 550e-6) * 550e-6;
        due.max(round + 400e-6 + (due - round) / 4.0)
    };
    for bucket in [(33_333.0, 40.3), (21_000.0, 300.7)] {
        let left = (0..10_000).map(|number| late(number) - late(0)).collect();
        finds(&through(left, bucket, 0, Lost::Behind), bucket);
    }
}

#[test]
fn a_frame_that_left_at_an_unknown_time_of_a_call_contradicts_no_bucket() {
    // Each 400th frame left 5 ms after its call began, when the bucket had won five more frames;
    // those after it made up for it.
    let quiet = Quiet::that_lost(1000.0, 0.0);
    let due = |number: u32| f64::from(number) * 1e-4;
    let ends = |number: u32| due(number - number % 400) + 5e-3;
    let left = (0..10_000).map(|number| due(number).max(ends(number)) - ends(0)).collect();
    let mut fates = through(left, (1000.0, 40.3), 0, Lost::Behind);
    for (number, left) in (0..).zip(&mut fates.left) {
        if number > 0 && number % 400 == 0 {
            *left = due(number) - ends(0);
        }
    }
    let told = fates.fit(fates.passes(&quiet), &quiet, Lost::Behind, 0.0).unwrap();
    assert!(!told.is_likely(&quiet));
    fates.late = (0..10_000).map(|number| if number % 400 == 0 { 5e-3 } else { 0.0 }).collect();
    finds(&fates, (1000.0, 40.3));
}

/// All other frames are counted from it: the bucket won 0.33 frames more or less than they say.
#[test]
fn a_first_frame_that_left_at_an_unknown_time_leaves_the_depth_open_by_what_was_won_in_it() {
    let (quiet, (rate, b)) = (Quiet::that_lost(1000.0, 0.0), (3293.8, 42.16));
    for off in [-100e-6, 100e-6] {
        let mut fates = train(8000, 12.7e-6, (rate, b), 0, Lost::Behind);
        fates.left.iter_mut().skip(1).for_each(|left| *left = (*left + off).max(0.0));
        let holds_it = |fates: &Fates| {
            let fit = fates.explained(fates.passes(&quiet), &quiet, Lost::Behind).unwrap();
            assert!(fit.is_likely(&quiet) && fit.slack == 0.0, "{fit:?}");
            (fit.frames.at_least..=fit.frames.at_most).contains(&b)
        };
        assert!(!holds_it(&fates), "{off}");
        assert!(holds_it(&Fates { unsure: 100e-6, uneven: 100e-6, ..fates }), "{off}");
    }
}

#[test]
fn where_frames_are_lost_is_told_by_the_tokens_they_took() {
    let quiet = Quiet::that_lost(1000.0, 10.0);
    for lost in [Lost::Before, Lost::Behind] {
        let fates = train(10_000, 1e-4, (2345.6, 123.4), 97, lost);
        let rates = fates.passes(&quiet);
        let [before, behind] =
            [Lost::Before, Lost::Behind].map(|lost| fates.fit(rates, &quiet, lost, 0.0).unwrap());
        let (right, wrong) = if lost == Lost::Before { (before, behind) } else { (behind, before) };
        assert!(right.lost < wrong.lost, "{lost:?} {right:?} {wrong:?}");
        assert!(off(right.frames_s, 2345.6) < 1e-3, "{right:?}");
        assert!(off(right.frames, 123.4) < 0.01, "{right:?}");
    }
}

#[test]
fn a_bucket_with_losses_on_both_sides_is_within_the_interval() {
    let quiet = Quiet::that_lost(2000.0, 20.0);
    for bucket in [(3294.0, 42.16), (2345.6, 123.4), (1013.7, 5.3), (823.4, 800.7)] {
        for frames in [2000, 5000, 20_000] {
            let fates = train(frames, 1e-4, bucket, 97, Lost::Either);
            let fit = fates.fit(fates.passes(&quiet), &quiet, Lost::Either, 0.0).unwrap();
            assert!(fit.is_likely(&quiet), "{fit:?}");
            assert!(off(fit.frames_s, bucket.0) < 1e-3, "{fit:?}");
            assert!(off(fit.frames, bucket.1) * bucket.1 < 1.0, "{fit:?} {bucket:?}");
        }
    }
}

#[test]
fn what_all_passes_is_not_refused() {
    let quiet = Quiet::that_lost(1000.0, 10.0);
    let fates = train(1000, 1e-4, (20_000.0, 50.0), 97, Lost::Behind);
    assert!(!fates.is_refused(&quiet));
}

/// A bucket needs slack for what another explains without any, and fewer losses with it than that one.
#[test]
fn a_bucket_without_slack_is_likelier_than_one_that_needs_fewer_losses_with_it() {
    let quiet = Quiet::that_lost(1000.0, 20.0);
    for (lost, only) in [(Lost::Before, [true, false]), (Lost::Behind, [false, true])] {
        for bucket in [(823.4, 40.3), (1013.7, 90.3), (2500.0, 17.9)] {
            let fates = Fates { uneven: 0.01, ..train(6000, 1.0 / 7000.0, bucket, 50, lost) };
            let rates = fates.passes(&quiet);
            let both = [Lost::Before, Lost::Behind].map(|lost| {
                let by = fates.explained(rates, &quiet, lost);
                Explained { fates: &fates, lost, by, rates }
            });
            let likely = Explained::likely_of(both, &quiet);
            assert_eq!(likely.map(|fit| fit.is_some()), only, "{bucket:?}: {both:?}");
        }
    }
}
