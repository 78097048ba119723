//! Policers, queues, schedulers and shapers of known rate and depth.
//!
//! The lab meters by the times at which the kernel received frames. A sender that is held up within
//! a burst makes it milder, by what the policer or the line does meanwhile.

use serde_json::Value;

use super::Run;
use crate::folder::Folder;
use crate::result::{Finished, number, within_percent};

const HEAD: &str = "lab: fullpipe.lab/1\nname: under-test\nlinks:\n";
/// The sender's own line, with room for every burst.
const LINE: &str = "  - near_to_far: {line_rate: 1G, queue: {packets: 10000}}\n";

/// The result of a run in one direction across a network of these links.
fn upload(run: Run, links: &str, words: &[&str]) -> Finished {
    let folder = Folder::new();
    let network = folder.written("network.yaml", &format!("{HEAD}{links}"));
    run(&network, "rfc7640", &[&["--direction", "upload"], words].concat())
}

/// The only step of this name of a run that passed.
fn only<'a>(run: &'a Finished, name: &str) -> &'a Value {
    assert_eq!((run.exit, run.status()), (0, "pass"), "{:#}", run.result["verdict"]);
    assert_eq!(run.reason_codes(), ["as_configured"], "{}", run.stderr);
    let [step] = run.steps(name)[..] else { panic!("{name} in {:#}", run.result["steps"]) };
    step
}

//= rfc7640 6.1.1
/// The depth of the bucket within a frame.
pub(crate) fn a_policer_passes_its_bursts_and_no_larger_ones(run: Run) {
    let step = a_policer_passes_its_bursts_with_any_sender(run);
    let depth = number(&step, "depth_estimate_bytes");
    assert!((depth - 64_000.0).abs() <= 1518.0, "{depth}");
}

//= rfc7640 6.1.1
/// The policer's step. A sender that is held up within a burst leaves open how deep the bucket is,
/// upwards: the least is within a frame of it, and no interval leaves it out.
pub(crate) fn a_policer_passes_its_bursts_with_any_sender(run: Run) -> Value {
    let police = "      police: {cir: 40M, cbs: 64K}\n      delay: 5ms\n";
    let links = format!("{LINE}  - near_to_far:\n{police}");
    let words = ["--cir", "40M", "--cbs", "64K", "--runs", "2", "--stateless"];
    let run = upload(run, &links, &words);
    let step = only(&run, "rfc7640_policer").clone();
    let at_least = number(&step, "depth_estimate_bytes_at_least");
    let at_most = number(&step, "depth_estimate_bytes_at_most");
    assert!((64_000.0 - 1518.0..=64_000.0).contains(&at_least), "{at_least} … {at_most}");
    assert!(at_most >= 64_000.0, "{at_least} … {at_most}");
    step
}

//= rfc7640 6.2.1.1
pub(crate) fn a_fifo_queue_holds_its_bursts_and_delays_them_by_its_length(run: Run) {
    let slow = "      line_rate: 20M\n      queue: {bytes: 60K}\n      delay: 5ms\n";
    let links = format!("{LINE}  - near_to_far:\n{slow}");
    let run = upload(
        run,
        &links,
        &["--queue", "60K", "--bandwidth", "20M@l1", "--runs", "2", "--stateless"],
    );
    let stateless = &only(&run, "rfc7640_queue")["stateless"];
    // 38 frames of 1538·8 bits before the last, less the time that the burst takes to come.
    let waited = number(stateless, "delay_variation_p99_ms");
    assert!((22.0..=24.5).contains(&waited), "{waited} ms");
}

//= rfc7640 6.2.1.1
pub(crate) fn strict_priority_serves_the_first_class_alone(run: Run) {
    let slow = "      line_rate: 20M\n      queue: {bytes: 60K}\n      delay: 5ms\n      \
                priority: {strict: [[ef], [af41], [be]]}\n";
    let links = format!("{LINE}  - near_to_far:\n{slow}");
    let words = [
        "--queue",
        "60K",
        "--bandwidth",
        "20M@l1",
        "--runs",
        "2",
        "--scheduler",
        "strict",
        "--stateless",
    ];
    let run = upload(run, &links, &[&words[..], &["--classes", "ef,af41,be"]].concat());
    let classes = only(&run, "rfc7640_scheduler")["classes"].as_array().unwrap();
    assert_eq!(number(&classes[0]["stateless"], "lost_frames"), 0.0);
    assert!(number(&classes[2], "share_percent") < 1.0, "{classes:#?}");
}

/// Shares of 3 to 1; over TCP the first class has its own when the second has a third of its own,
/// after two thirds of the time.
//= rfc7640 6.2.1.1
//= rfc7640 B
pub(crate) fn a_weighted_scheduler_shares_the_line_among_bursts_and_tcp_patterns(run: Run) {
    let slow = "      line_rate: 20M\n      queue: {bytes: 60K}\n      delay: 5ms\n      \
                priority: {drr: [{dscp: ef, weight: 3}, {dscp: be, weight: 1}]}\n";
    let links = format!("{LINE}  - near_to_far:\n{slow}");
    let words = ["--queue", "60K", "--bandwidth", "20M@l1", "--runs", "1", "--scheduler", "wfq"];
    let run = upload(run, &links, &[&words[..], &["--classes", "ef:3,be:1"]].concat());
    let step = only(&run, "rfc7640_scheduler");
    for (class, share) in step["classes"].as_array().unwrap().iter().zip([75.0, 25.0]) {
        assert!((number(class, "share_percent") - share).abs() <= 2.0, "{class}");
    }
    let patterns = step["stateful"].as_array().unwrap();
    assert_eq!(patterns.len(), 4, "{patterns:#?}");
    for pattern in patterns {
        assert_eq!(number(pattern, "unfinished_runs"), 0.0, "{pattern}");
        let ratio = number(pattern, "ttpet_mean_ms") / number(pattern, "ttpet_ideal_ms");
        assert!((0.9..=1.5).contains(&ratio), "{pattern}");
        assert!(number(pattern, "efficiency_percent") > 90.0, "{pattern}");
    }
    let bursts = &patterns[2];
    assert_eq!((&bursts["pattern"], &bursts["dscp"]), (&"micro-burst".into(), &46.into()));
    assert!(number(bursts, "bursts") > 5.0, "{bursts}");
}

//= rfc7640 6.3.1.1
pub(crate) fn a_shaper_keeps_rate_and_burst(run: Run) {
    let shape = "      shape: {rate: 50M, burst: 32K, queue: {bytes: 512K}}\n      delay: 5ms\n";
    let links = format!("{LINE}  - near_to_far:\n{shape}");
    let words = ["--shaper", "50M", "--bc", "32K", "--queue", "512K", "--runs", "3", "--stateless"];
    let run = upload(run, &links, &words);
    let shaper = only(&run, "rfc7640_shaper");
    let rate = number(shaper, "sr_l2_bps");
    assert!(within_percent(rate, 50e6, 1.0), "{rate}");
    assert_eq!(number(shaper, "sbb_bytes"), 1518.0, "{shaper}");
    // 1518·8/50 µs; half of the frames leave less than 50 µs late or early.
    assert!((number(shaper, "sbi_us") - 242.9).abs() < 50.0, "{shaper}");
    // A microsecond of error is 6 bytes, and the rate is known to a few thousandths of 512,000.
    // Whatever is late makes it look deeper: what is judged is the run that saw the least.
    let bucket_bytes = number(shaper, "bucket_estimate_least_bytes");
    assert!((bucket_bytes - 32_000.0).abs() < 2.0 * 1518.0, "{shaper}");
}
