//! The RFC 6349 method over networks of which is known from elsewhere what it must find: the hardware
//! tester of an application note, and the simulation.

use serde_json::Value;

use super::lab::expect_black_hole;
use super::result::{Finished, number, run, within_percent};
use super::tcp::{expect_bottleneck, expect_bursts_cost_most};

/// Four windows of 64 KB burst into a bucket of 64,000 bytes: a hardware tester measured 13.5 of
/// 38 Mbit/s, and the round trip stayed where it was.
#[test]
fn a_bucket_smaller_than_the_bursts_costs_most_of_the_throughput() {
    let words = ["test", "--lab", "metro-40m-cbs64k", "-q", "--cir", "40M"];
    let run =
        run(&[&words[..], &["--sender", "burst", "-C", "reno", "-w", "64K", "-P", "4"]].concat());
    expect_bursts_cost_most(&run);
}

/// The first run, or the middle one of three: windows arrive whole, 47 of each connection in 47
/// round trips of 54 ms. The line's time for the burst and a busy host make a round trip 1 to 2 %
/// longer, so that 46 or 45 fit, 97.9 or 95.7 % of the ideal with nothing lost; one more that comes late,
/// 93.6 %, is below the 95 % asked.
#[test]
fn a_bucket_as_large_as_the_bursts_costs_nothing() {
    let once = || run(&["test", "--lab", "metro-40m-cbs275k", "-q"]);
    let mut runs = vec![once()];
    let is_right = |run: &Finished| {
        run.is_passed_or_disturbed()
            && run.steps("bottleneck").len() == 2
            && run.steps("bottleneck").iter().all(|step| is_40_mbit(step))
            && run
                .tcp("throughput", "bulk")
                .iter()
                .all(|step| costs_nothing([*step], run.lateness_share(54.0)))
    };
    if !is_right(&runs[0]) {
        runs.extend([once(), once()]);
        expect_right_in_the_middle(&runs);
    }
}

fn is_40_mbit(bottleneck: &Value) -> bool {
    within_percent(number(bottleneck, "rate_l2_bps"), 40e6, 0.5)
}

fn expect_right_in_the_middle(runs: &[Finished]) {
    let passed = runs.iter().filter(|run| run.is_passed_or_disturbed()).count();
    let verdicts: Vec<_> = runs.iter().map(|run| &run.result["verdict"]).collect();
    assert!(passed >= 2, "{verdicts:#?}\n{}", runs[0].stderr);
    let late = runs.iter().map(|run| run.lateness_share(54.0)).fold(0.0, f64::max);
    expect_bottleneck(&runs.iter().collect::<Vec<_>>(), "rate_l2_bps", 40e6);
    let bulk: Vec<_> = runs.iter().map(|run| run.tcp("throughput", "bulk")).collect();
    for place in 0..bulk[0].len() {
        let step = bulk.iter().map(|steps| steps[place]);
        assert!(costs_nothing(step.clone(), late), "{late} late: {:#?}", step.collect::<Vec<_>>());
    }
}

/// Each figure is the middle one of as many runs.
fn costs_nothing<'a>(steps: impl IntoIterator<Item = &'a Value> + Clone, late: f64) -> bool {
    let median = |field: &str| {
        let mut values: Vec<_> =
            steps.clone().into_iter().map(|step| number(step, field)).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let share = median("throughput_bps") / median("ideal_bps");
    share >= 0.97 - late
        && median("efficiency_percent") == 100.0
        && median("buffer_delay_percent") < 2.0 + 100.0 * late
}

#[test]
fn a_black_hole_at_1400_bytes_is_found_in_both_directions_over_ipv4() {
    expect_black_hole("-4");
}

/// The links are the same in both; what differs is the TCP above them, and where a window or the
/// pacing decides, that must not matter.
#[test]
fn simulation_and_lab_agree_where_windows_or_pacing_decide() {
    let window_limited = ["line-100m-10ms", "--cir", "100M@l1"];
    let paced = ["metro-40m-cbs64k", "--cir", "40M", "--pacing", "9M", "-C", "reno"];
    for network in [&window_limited[..], &paced[..]] {
        let (net, options) = network.split_first().unwrap();
        let common = [&["-q", "--sender", "bulk"], options].concat();
        let lab = run(&[&["test", "--lab", net], &common[..]].concat());
        let sim = run(&[&["sim", net, "test"], &common[..]].concat());
        let rtt_ms = number(lab.steps("baseline_rtt")[0], "rtt_min_ms");
        let (real, simulated) = (lab.steps("tcp"), sim.steps("tcp"));
        assert_eq!(real.len(), simulated.len());
        for (real, simulated) in real.into_iter().zip(simulated) {
            // There, the phase between the directions decides.
            if real["direction"] == "bidirectional" {
                continue;
            }
            let rates = [real, simulated].map(|step| number(step, "throughput_bps"));
            let tolerance = 5.0 + 100.0 * lab.lateness_share(rtt_ms);
            assert!(within_percent(rates[0], rates[1], tolerance), "{rates:?}: {real}");
        }
    }
}
