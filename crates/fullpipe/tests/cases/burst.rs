//! Policers of known rate and depth.

use serde_json::Value;

use super::Run;
use crate::folder::Folder;
use crate::result::{Finished, number, within_percent};

const WORDS: [&str; 6] = ["--cir", "40M", "--cbs", "64K", "--direction", "upload"];

/// Figure 13 of the application note: 64,000 bytes at 40 Mbit/s for two seconds.
const FIGURE_13: [(u64, u64, u64); 8] = [
    (64, 64_000, 156_000),
    (128, 64_000, 78_000),
    (256, 64_000, 39_000),
    (512, 64_000, 19_500),
    (768, 63_744, 12_948),
    (1024, 63_488, 9_734),
    (1280, 64_000, 7_800),
    (1518, 63_756, 6_552),
];

/// Rows of the table, all of them right, the bucket within one percent at each length, and the rate at
/// which the policer refills within half a percent.
pub(crate) fn rows_of_the_note(run: Run, frame_lengths: &[u64]) {
    let run = passed_rows(run, frame_lengths);
    for step in run.steps("policing") {
        assert!(within_percent(number(step, "estimated_cbs_bytes"), 64_000.0, 1.0), "{step}");
    }
    for step in run.steps("rate") {
        assert!(number(step, "deviation_percent").abs() <= 0.5, "{step}");
    }
}

/// Rows of the table, all of them right. A sender that is held up within a burst makes it milder: the
/// bucket may look deeper than it is, by as much as the verdict forgives, and never more shallow.
pub(crate) fn rows_of_the_note_with_any_sender(run: Run, frame_lengths: &[u64]) {
    let run = passed_rows(run, frame_lengths);
    for step in run.steps("policing") {
        assert!(number(step, "estimated_cbs_bytes") >= 0.99 * 64_000.0, "{step}");
    }
}

fn passed_rows(run: Run, frame_lengths: &[u64]) -> Finished {
    let lengths = frame_lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let words = [&WORDS[..], &["--frames", &lengths]].concat();
    let run = run("metro-40m-cbs64k", "burst", &words);
    run.expect_pass();
    let steps = run.steps("cbs");
    assert_eq!(steps.len(), frame_lengths.len(), "{}", run.stderr);
    for (step, length) in steps.into_iter().zip(frame_lengths) {
        expect_row(step, *length);
    }
    let policing = run.steps("policing");
    assert_eq!(policing.len(), frame_lengths.len());
    assert!(policing.iter().all(|step| step["pass"] == true), "{policing:#?}");
    run
}

fn expect_row(step: &Value, length: u64) {
    let row = FIGURE_13.iter().find(|(frame_bytes, ..)| *frame_bytes == length);
    let (frame_bytes, burst_bytes, frames) = *row.unwrap();
    assert_eq!(step["frame_bytes"], frame_bytes);
    assert_eq!(step["configured_burst_bytes"], 64_000);
    assert_eq!(step["tx_burst_bytes"], burst_bytes);
    assert_eq!(number(step, "rx_burst_bytes_mean"), burst_bytes as f64);
    assert_eq!((&step["frames_sent"], &step["frames_received"]), (&frames.into(), &frames.into()));
    assert_eq!((&step["frames_lost"], &step["pass"]), (&0.into(), &true.into()));
}

/// A bucket of 60,000 bytes that was sold as one of 64,000.
pub(crate) fn a_bucket_that_is_too_small(run: Run) {
    let folder = Folder::new();
    let network = include_str!("../../../../lab/metro-40m-cbs64k.yaml");
    let network = folder.written("network.yaml", &network.replace("cbs: 64K", "cbs: 60K"));
    let run = run(&network, "burst", &[&WORDS[..], &["--frames", "256,1518"]].concat());
    assert_eq!((run.exit, run.status()), (1, "fail"), "{}", run.stderr);
    assert!(run.reason_codes().contains(&"burst_lost"));
    assert!(run.reason_codes().contains(&"cbs_outside_tolerance"));
    for step in run.steps("policing") {
        assert!(within_percent(number(step, "estimated_cbs_bytes"), 60_000.0, 1.0), "{step}");
        assert_eq!(step["pass"], false);
    }
}

/// A policer of IP packets that no built-in network has, found without being told.
pub(crate) fn a_policer_nobody_told_of(run: Run) {
    let folder = Folder::new();
    let network = include_str!("../../../../lab/metro-40m-cbs64k.yaml")
        .replace("cir: 40M, cbs: 64K", "charge: l3, cir: 73.3M, cbs: 41777");
    let network = folder.written("network.yaml", &network);
    let run = run(&network, "burst", &["--discover", "--direction", "upload"]);
    let found = run.steps("discovery")[0];
    assert!(within_percent(number(found, "cir_bps"), 73.3e6, 0.5), "{found}");
    assert!(within_percent(number(found, "cbs_bytes"), 41_777.0, 3.0), "{found}");
    assert_eq!(found["charged_layer"], "l3", "{found}");
}

/// A gigabit port that polices what it carries with a VLAN tag.
const TAGGED: &str = "lab: fullpipe.lab/1
name: tagged
links:
  - near_to_far: &way
      line_rate: 1G
      queue: {packets: 4000}
      vlan_tags: 1
      police: {cir: 40M, cbs: 64K}
      delay: 5ms
    far_to_near: *way
";

/// The policer counts 1522 bytes where the sender puts 1518 on its line: who does not count the tag
/// finds a bucket that is smaller by 4/1522, and by 4/132 with frames of 132 bytes.
pub(crate) fn tags_that_the_network_adds(run: Run) {
    let folder = Folder::new();
    let network = folder.written("network.yaml", TAGGED);
    let more = ["--frames", "132,1522", "--vlan-tags", "1", "-t", "0.5s"];
    let run = run(&network, "burst", &[&WORDS[..], &more].concat());
    expect_bucket_of_64_000(&run, 2);
}

pub(crate) fn bursts_both_ways_at_once_over_ipv6(run: Run) {
    let words = ["-6", "--bidirectional", "--cir", "40M", "--cbs", "64K", "-t", "0.5s"];
    let run = run("metro-40m-cbs64k", "burst", &[&words[..], &["--frames", "512,1518"]].concat());
    assert_eq!(run.result["plan"]["family"], "ipv6");
    // Two lengths in each direction.
    for step in expect_bucket_of_64_000(&run, 4) {
        assert_eq!(step["direction"], "bidirectional");
    }
    for way in ["download", "upload"] {
        let steps = run.steps("cbs").into_iter().filter(|step| step["way"] == way);
        assert_eq!(steps.count(), 2, "{}", run.result["steps"]);
    }
}

fn expect_bucket_of_64_000(run: &Finished, steps: usize) -> Vec<&Value> {
    run.expect_pass();
    let policing = run.steps("policing");
    assert_eq!(policing.len(), steps, "{}", run.result["steps"]);
    for step in &policing {
        assert!(within_percent(number(step, "estimated_cbs_bytes"), 64_000.0, 1.0), "{step}");
    }
    policing
}
