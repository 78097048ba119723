//! Policers, lines and queues of known rate and length, by frames and bursts.

use serde_json::Value;

use super::Run;
use crate::folder::Folder;
use crate::result::{Finished, number, within_percent};

/// The policer's rate at short and at long frames.
pub(crate) fn a_policer_is_found_at_every_length(run: Run) {
    expect_policer(run, "256,1518", 2);
}

pub(crate) fn a_policer_is_found(run: Run) {
    expect_policer(run, "1518", 1);
}

fn expect_policer(run: Run, frame_lengths: &str, rows: usize) {
    let words = ["--tests", "throughput", "--line-rate", "1G", "--frames", frame_lengths];
    let run =
        run("metro-40m-cbs64k", "rfc2544", &[&words[..], &["--direction", "upload"]].concat());
    let steps = run.steps("rfc2544_throughput");
    assert_eq!(steps.len(), rows, "{}", run.stderr);
    for step in steps {
        run.expect_of_tester(step["limit"] != "tester", "the tester itself was the limit");
        assert!(within_percent(number(step, "rate_l2_bps"), 40e6, 0.5), "{step}");
    }
}

/// 20 ms one way, and 1300·8 bits at 100 Mbit/s, of which a store-and-forward device takes its own
/// last bit off again; 10 Mbit/s leave no queue. A busy host makes some frames later, none earlier.
//= rfc2544 26.2
pub(crate) fn latency_is_the_delay_of_a_known_network(run: Run) {
    let folder = Folder::new();
    let way = "{line_rate: 100M, delay: 20ms}";
    let links = format!("  - near_to_far: {way}\n    far_to_near: {way}\n");
    let network = format!("lab: fullpipe.lab/1\nname: far\nlinks:\n{links}");
    let network = folder.written("network.yaml", &network);
    let words = ["--tests", "latency", "--frames", "1280", "--latency-repetitions", "1"];
    let more = ["--direction", "upload", "--no-mtu-row", "--max-rate", "10M"];
    let run = run(&network, "rfc2544", &[&words[..], &more].concat());
    let [step] = run.steps("rfc2544_latency")[..] else { panic!("{:#}", run.result["steps"]) };
    let least = number(step, "latency_min_ms");
    assert!((19.5..=21.0).contains(&least), "{step}");
    assert!(number(step, "latency_mean_ms") >= least, "{step}");
}

/// Theoretical maximum: line / (8 · (length + 20)). The sender misses frames on a busy host, and says
/// so.
pub(crate) fn fast_ethernet_carries_the_frame_rates_of_the_rfc(run: Run) {
    let words = ["--tests", "throughput", "--frames", "64,256,512,1280"];
    let run = run("fast-ethernet", "rfc2544", &words);
    let steps = run.steps("rfc2544_throughput");
    assert_eq!(steps.len(), 2 * 5, "four lengths and the path MTU's, each way: {}", run.stderr);
    for step in steps {
        run.expect_of_tester(step["limit"] != "tester", "the tester itself was the limit");
        let theory = 100e6 / (8.0 * (number(step, "frame_bytes") + 20.0));
        assert!(within_percent(number(step, "rate_fps"), theory, 0.1), "{step}");
    }
    for step in run.steps("line_rate") {
        run.expect_of_tester(!step["rate_l1_bps"].is_null(), "the line was not found");
        assert_eq!(step["rate_l1_bps"], 100_000_000, "{step}");
    }
}

/// A frame of 1518 bytes on a line.
const FRAME_BITS: f64 = 1538.0 * 8.0;

/// The sender's line with room for every burst, and a slower one behind it whose queue holds 100.
const QUEUE: &str = "lab: fullpipe.lab/1
name: queue
links:
  - near_to_far: {line_rate: 100M, queue: {packets: 4000}}
  - near_to_far:
      line_rate: 40M
      queue: {packets: 100}
      delay: 1ms
";

/// A line a little faster than the policer at its end, with a queue that takes every overload.
const QUEUE_BEFORE_POLICER: &str = "lab: fullpipe.lab/1
name: queue-before-policer
links:
  - near_to_far:
      line_rate: 42M
      queue: {packets: 4000}
      police: {charge: l1, cir: 40M, cbs: 60K}
      delay: 1ms
";

/// The result of tests with full frames upwards, as short as they may be.
fn upload(run: Run, network: &str, words: &[&str]) -> Finished {
    let folder = Folder::new();
    let network = folder.written("network.yaml", network);
    let full = ["--frames", "1518", "--no-mtu-row", "--line-rate", "100M", "--resolution", "1%"];
    let short = ["--direction", "upload", "--trial", "0.5s", "--settle", "50ms"];
    let run = run(&network, "rfc2544", &[&full[..], &short, words].concat());
    assert_eq!(run.exit, 0, "{:#}\n{}", run.result["verdict"], run.stderr);
    run
}

fn only<'a>(run: &'a Finished, name: &str) -> &'a Value {
    let [step] = run.steps(name)[..] else { panic!("{name} in {:#}", run.result["steps"]) };
    step
}

/// Of five frames that come two are sent meanwhile: when frame n comes, ⌈0.6 · (n − 1)⌉ wait, and
/// it with them. Of 100 places that leaves none for the 168th. The search stops within a frame; while
/// a sender pauses for as long as a burst may, 1 % of 21 ms, the queue loses at most one frame, for
/// which the line between brings 1.7: one or two more frames pass.
///
/// An overload fills the queue and loses the rest. What follows it finds room at once.
//= rfc9004 6.2
//= rfc9004 6.4
//= rfc2544 26.5
pub(crate) fn a_queue_of_known_length_is_found_by_bursts_and_forgets_an_overload(run: Run) {
    let words = ["--tests", "back-to-back,recovery", "--burst-repetitions", "2"];
    let words = [&words[..], &["--burst-max", "25ms", "--overload", "100ms"]].concat();
    let run = upload(run, QUEUE, &words);
    let bursts = only(&run, "rfc2544_back_to_back");
    run.expect_of_tester(bursts["skipped"].is_null(), "the tester could not send bursts");
    let shortest = number(bursts, "min_frames");
    assert!((166.0..=170.0).contains(&shortest), "{bursts}");
    // The queue and the frame that is being sent, at the rate of the sender's line; of what the
    // throughput is found too low this shows two thirds.
    let corrected_s = 101.0 * FRAME_BITS / 100e6;
    assert!(within_percent(number(bursts, "corrected_buffer_s"), corrected_s, 8.0), "{bursts}");
    let recovery = only(&run, "rfc2544_recovery");
    // All that a second brings beyond 40 Mbit/s, and does not wait; a sender that stands still for
    // 20 ms leaves the line idle for as long.
    let overload = number(recovery, "overload_fps");
    let lost = overload - 40e6 / FRAME_BITS - 101.0;
    let found = number(recovery, "lost_in_overload_frames");
    assert!((lost - 3.0..=lost + 68.0).contains(&found), "{lost}: {recovery}");
    // The queue itself takes 31 ms to drain.
    assert!(number(recovery, "recovery_ms") < 20.0, "{recovery}");
}

/// A second of overload leaves frames in the queue, which go on coming at 42 Mbit/s, of which the
/// policer drops every 21st, until the queue is empty: so long is the recovery, less the time that
/// the sender takes for the 21 frames between two losses. A sender that is late by as much as the
/// result says makes up for it at one and a half times the rate: the overload ends by at most twice
/// that later. The clocks of both ends agree to within a round trip of 1 ms.
//= rfc2544 26.5
pub(crate) fn a_queue_before_a_policer_goes_on_losing_until_it_is_empty(run: Run) {
    let words = ["--tests", "recovery", "--overload", "0s"];
    let run = upload(run, QUEUE_BEFORE_POLICER, &words);
    let recovery = only(&run, "rfc2544_recovery");
    let [line, policer] = [42e6 / FRAME_BITS, 40e6 / FRAME_BITS];
    let [overload, reduced] = ["overload_fps", "reduced_fps"].map(|rate| number(recovery, rate));
    assert!(within_percent(overload, 1.1 * policer, 4.0), "{recovery}");
    let drained_s = (overload - line) / (line - reduced);
    let between_losses_s = line / (line - policer) / reduced;
    let late_s = number(recovery, "sent_late_max_ms") / 1e3;
    let (least, most) = (drained_s - between_losses_s - 0.001, drained_s + 2.0 * late_s + 0.001);
    let found_s = number(recovery, "recovery_ms") / 1e3;
    assert!((least..=most).contains(&found_s), "{least} … {most}: {recovery}");
    let lost = (line - policer) * (1.0 + drained_s) - 60_000.0 * 8.0 / FRAME_BITS;
    let counted = ["lost_in_overload_frames", "lost_after_frames"];
    let counted: f64 = counted.map(|frames| number(recovery, frames)).iter().sum();
    assert!(within_percent(counted, lost, 10.0), "{lost}: {recovery}");
}
