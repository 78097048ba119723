//! The RFC 2544 tests over the lab where they take long.

mod overload;

use serde_json::Value;

use super::result::{Finished, number, run, within_percent};

/// Theoretical maximum: line / (8 · (length + 20)). The sender misses frames on a busy host, and says
/// so: what it says that of proves nothing of the network, and is asked again, twice at most.
#[test]
fn fast_ethernet_carries_the_frame_rates_of_the_rfc() {
    let words = ["rfc2544", "--lab", "fast-ethernet", "-q", "--tests", "throughput"];
    let words = [&words[..], &["--frames", "64,256,512,1280"]].concat();
    let (mut judged, mut lines) = (0, 0);
    for _ in 0..3 {
        let run = run(&words);
        let rows = right_rows(&run);
        let found = known_lines(&run).len();
        (judged, lines) = (judged + rows, lines + found);
        if (rows, found) == (2 * 5, 2) {
            break;
        }
    }
    assert!(judged >= 4 && lines >= 1, "{judged} rows and {lines} lines in three runs");
}

/// How many rows the tester itself does not say that it limited: those have the line's rates.
fn right_rows(run: &Finished) -> usize {
    let steps = run.steps("rfc2544_throughput");
    assert_eq!(steps.len(), 2 * 5, "four lengths and the path MTU's, each way: {}", run.stderr);
    let judged: Vec<_> = steps.into_iter().filter(|step| step["limit"] != "tester").collect();
    for step in &judged {
        let theory = 100e6 / (8.0 * (number(step, "frame_bytes") + 20.0));
        assert!(within_percent(number(step, "rate_fps"), theory, 0.1), "{step}");
    }
    for step in known_lines(run) {
        assert_eq!(step["rate_l1_bps"], 100_000_000, "{step}");
    }
    judged.len()
}

fn known_lines(run: &Finished) -> Vec<&Value> {
    let is_known = |step: &&Value| !step["rate_l1_bps"].is_null();
    run.steps("line_rate").into_iter().filter(is_known).collect()
}
