//! RFC 9004's bursts over simulated buckets and queues of a known size.

use fp_method::rfc2544::{BackToBack, Plan, Report, SearchKind, Skipped, Step, Test};
use fp_model::Rate;

use super::network::{plan, policed, port, port_with_queue, run, upwards};

const GIGABIT: Rate = Rate::mbps(1000);

fn bursts(report: &Report) -> Vec<&BackToBack> {
    fn found(step: &Step) -> Option<&BackToBack> {
        match step {
            Step::BackToBack(found) => Some(found),
            _ => None,
        }
    }
    report.steps.iter().filter_map(found).collect()
}

fn back_to_back(frame_bytes: u32) -> Plan {
    plan(frame_bytes, Test::BackToBack)
}

//= rfc9004 6.2
//= rfc9004 6.3
//= rfc9004 6.4
/// A full bucket of 64,000 bytes and what comes in while the burst lasts: n frames of 1518 bytes
/// take n · 1518 and have been given (n − 1) · 12.304 µs · 5 MB/s: 43 frames at most.
#[test]
fn the_longest_burst_is_what_a_bucket_holds_and_is_given_meanwhile() {
    for search in [SearchKind::Binary, SearchKind::Fast] {
        let path = upwards(&[policed(GIGABIT, Rate::mbps(40), 64_000)]);
        let report = run(&Plan { search, ..back_to_back(1518) }, &path);
        let found = bursts(&report)[0];
        assert_eq!(found.longest_frames, [43; 5]);
        let figures = found.figures.unwrap();
        assert_eq!((figures.min_frames, figures.max_frames), (43, 43));
        assert_eq!(figures.deviation_frames, 0.0);
        // 43 frames of 81,274 a second, less the share that was forwarded meanwhile.
        let implied = 43.0 / (1e9 / 12_304.0);
        assert!((figures.implied_buffer.as_secs_f64() - implied).abs() < 1e-9);
        let corrected = implied * (1.0 - 40e6 / 1518.0 / 8.0 / (1e9 / 12_304.0));
        assert!((figures.corrected_buffer.as_secs_f64() / corrected - 1.0).abs() < 0.002);
    }
}

/// A queue of 200 packets before a port of a tenth of the rate: of each ten frames nine wait, so
/// that 200 places and the one being sent last for 10 / 9 · 201 frames.
#[test]
fn the_corrected_buffer_is_the_queue() {
    let path = upwards(&[port_with_queue(GIGABIT, 4000), port_with_queue(Rate::mbps(100), 200)]);
    let report = run(&back_to_back(1518), &path);
    let figures = bursts(&report)[0].figures.unwrap();
    assert!((figures.average_frames - 223.3).abs() <= 2.0, "{figures:?}");
    // 201 frames at the rate of the fast port.
    let buffer = 201.0 * 12.304e-6;
    assert!((figures.corrected_buffer.as_secs_f64() / buffer - 1.0).abs() < 0.01, "{figures:?}");
}

//= rfc9004 6.1
#[test]
fn a_line_that_is_never_overloaded_is_left_out() {
    let report = run(&back_to_back(512), &upwards(&[port(GIGABIT)]));
    let found = bursts(&report)[0];
    assert_eq!((found.skipped, found.trials), (Some(Skipped::NoOverload), 0));
}

#[test]
fn a_line_of_unknown_rate_is_left_out_and_the_remedy_named() {
    let unknown = Plan { line_rate_l1: None, ..back_to_back(512) };
    let path = upwards(&[policed(GIGABIT, Rate::mbps(40), 64_000)]);
    let report = run(&unknown, &path);
    let skipped = bursts(&report)[0].skipped.unwrap();
    assert!(skipped.to_string().contains("--line-rate"));
}

#[test]
fn no_burst_is_faster_than_what_may_be_sent() {
    let capped = Plan { rate_cap_l1: Rate::mbps(100), ..back_to_back(512) };
    let path = upwards(&[policed(GIGABIT, Rate::mbps(40), 64_000)]);
    let found = run(&capped, &path);
    assert_eq!(bursts(&found)[0].skipped, Some(Skipped::RateCap));
}
