//! Bursts and overloads in virtual time: what the networks of the lab's tests say by arithmetic.

use serde_json::Value;

use super::folder::Folder;
use super::result::{Finished, number, run, within_percent};

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

fn upload(network: &str, words: &[&str]) -> Finished {
    let folder = Folder::new();
    let network = folder.written("network.yaml", network);
    let common = ["sim", &network, "rfc2544", "-q", "--direction", "upload"];
    let full = ["--frames", "1518", "--no-mtu-row", "--line-rate", "100M", "--resolution", "1%"];
    let short = ["--trial", "0.5s", "--settle", "50ms"];
    let run = run(&[&common[..], &full, &short, words].concat());
    assert_eq!(run.exit, 0, "{:#}\n{}", run.result["verdict"], run.stderr);
    run
}

fn only<'a>(run: &'a Finished, name: &str) -> &'a Value {
    let [step] = run.steps(name)[..] else { panic!("{name} in {:#}", run.result["steps"]) };
    step
}

/// Of five frames that come two are sent meanwhile: when frame n comes, ⌈0.6 · (n − 1)⌉ wait, and
/// it with them. Of 100 places that leaves none for the 168th; the search stops within a frame. What
/// an overload leaves in the queue hinders nobody who comes after it.
//= rfc9004 6.2
//= rfc9004 6.4
//= rfc2544 26.5
#[test]
fn a_queue_of_known_length_is_found_by_bursts_and_forgets_an_overload() {
    let words = ["--tests", "back-to-back,recovery", "--burst-repetitions", "2"];
    let words = [&words[..], &["--burst-max", "25ms", "--overload", "100ms"]].concat();
    let run = upload(QUEUE, &words);
    let bursts = only(&run, "rfc2544_back_to_back");
    let shortest = number(bursts, "min_frames");
    assert!((166.0..=168.0).contains(&shortest), "{bursts}");
    let corrected_s = 101.0 * FRAME_BITS / 100e6;
    assert!(within_percent(number(bursts, "corrected_buffer_s"), corrected_s, 3.0), "{bursts}");
    let recovery = only(&run, "rfc2544_recovery");
    let lost = number(recovery, "overload_fps") - 40e6 / FRAME_BITS - 101.0;
    let found = number(recovery, "lost_in_overload_frames");
    assert!((found - lost).abs() <= 3.0, "{lost}: {recovery}");
    // The last loss may be a frame's time of the overload after its end.
    assert!(number(recovery, "recovery_ms") < 1.0, "{recovery}");
}

/// A second of overload leaves frames in the queue, which go on coming at 42 Mbit/s, of which the
/// policer drops every 21st, until the queue is empty: so long is the recovery, less the time that
/// the sender takes for the 21 frames between two losses.
//= rfc2544 26.5
#[test]
fn a_queue_before_a_policer_goes_on_losing_until_it_is_empty() {
    let run = upload(QUEUE_BEFORE_POLICER, &["--tests", "recovery", "--overload", "0s"]);
    let recovery = only(&run, "rfc2544_recovery");
    let [line, policer] = [42e6 / FRAME_BITS, 40e6 / FRAME_BITS];
    let [overload, reduced] = ["overload_fps", "reduced_fps"].map(|rate| number(recovery, rate));
    assert!(within_percent(overload, 1.1 * policer, 4.0), "{recovery}");
    let drained_s = (overload - line) / (line - reduced);
    let between_losses_s = line / (line - policer) / reduced;
    let found_s = number(recovery, "recovery_ms") / 1e3;
    assert!((drained_s - between_losses_s..=drained_s).contains(&found_s), "{recovery}");
    let lost = (line - policer) * (1.0 + drained_s) - 60_000.0 * 8.0 / FRAME_BITS;
    let counted = ["lost_in_overload_frames", "lost_after_frames"];
    let counted: f64 = counted.map(|frames| number(recovery, frames)).iter().sum();
    assert!(within_percent(counted, lost, 10.0), "{lost}: {recovery}");
}
