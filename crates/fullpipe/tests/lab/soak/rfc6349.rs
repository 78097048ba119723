//! Known networks, with real traffic between real TCP stacks.

use crate::across::run;
use crate::cases::rfc6349;
use crate::result::{number, simulated, within_percent};

#[test]
fn a_line_of_100_mbit_is_found_and_filled() {
    rfc6349::a_line_of_100_mbit_is_found_and_filled(run);
}

#[test]
fn a_bucket_smaller_than_the_bursts_costs_most_of_the_throughput() {
    rfc6349::a_bucket_smaller_than_the_bursts_costs_most_of_the_throughput(run);
}

#[test]
fn a_bucket_as_large_as_the_bursts_costs_nothing() {
    rfc6349::a_bucket_as_large_as_the_bursts_costs_nothing(run);
}

#[test]
fn a_black_hole_at_1400_bytes_is_found_over_ipv4() {
    rfc6349::a_black_hole_at_1400_bytes_is_found_over_ipv4(run);
}

#[test]
fn a_black_hole_at_1400_bytes_is_found_over_ipv6() {
    rfc6349::a_black_hole_at_1400_bytes_is_found_over_ipv6(run);
}

/// The links are the same in both; what differs is the TCP above them, and where a window or the
/// pacing decides, that must not matter.
#[test]
fn simulation_and_lab_agree_where_windows_or_pacing_decide() {
    let window_limited = ["line-100m-10ms", "--cir", "100M@l1"];
    let paced = ["metro-40m-cbs64k", "--cir", "40M", "--pacing", "9M", "-C", "reno"];
    for network in [&window_limited[..], &paced[..]] {
        let (net, options) = network.split_first().unwrap();
        let common = [&["--sender", "bulk"], options].concat();
        let (lab, sim) = (run(net, "test", &common), simulated(net, "test", &common));
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
