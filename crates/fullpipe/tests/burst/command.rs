//! `fullpipe burst` and `fullpipe sim NET burst`: the tables of the application note.

use serde_json::Value;

use super::folder::Folder;
use super::result::{Finished, number, output, run, within_percent};

pub(crate) const WORDS: [&str; 6] = ["--cir", "40M", "--cbs", "64K", "--direction", "upload"];

/// A bucket of 60,000 bytes that was sold as one of 64,000.
#[test]
fn a_bucket_that_is_too_small_fails_both_tests_in_simulation_and_lab() {
    let folder = Folder::new();
    let net = include_str!("../../../../lab/metro-40m-cbs64k.yaml").replace("cbs: 64K", "cbs: 60K");
    let net = folder.written("network.yaml", &net);
    for command in [&["sim", &net, "burst", "-q"][..], &["burst", "--lab", &net, "-q"]] {
        let run = run(&[command, &WORDS[..], &["--frames", "256,1518"]].concat());
        assert_eq!((run.exit, run.status()), (1, "fail"), "{}", run.stderr);
        assert!(run.reason_codes().contains(&"burst_lost"));
        assert!(run.reason_codes().contains(&"cbs_outside_tolerance"));
        for step in run.steps("policing") {
            assert!(within_percent(number(step, "estimated_cbs_bytes"), 60_000.0, 1.0), "{step}");
            assert_eq!(step["pass"], false);
        }
    }
}

/// A policer of IP packets that no built-in network has, found without being told: two of three runs
/// find it as it is.
#[test]
fn a_policer_is_discovered_in_the_lab() {
    let folder = Folder::new();
    let net = include_str!("../../../../lab/metro-40m-cbs64k.yaml")
        .replace("cir: 40M, cbs: 64K", "charge: l3, cir: 73.3M, cbs: 41777");
    let net = folder.written("network.yaml", &net);
    let words = ["burst", "--lab", &net, "-q", "--discover", "--direction", "upload"];
    let is_right = |found: &Value| {
        within_percent(found["cir_bps"].as_f64().unwrap_or(f64::NAN), 73.3e6, 0.5)
            && within_percent(found["cbs_bytes"].as_f64().unwrap_or(f64::NAN), 41_777.0, 3.0)
            && found["charged_layer"] == "l3"
    };
    let (mut right, mut wrong) = (0, Vec::new());
    while right < 2 {
        let run = run(&words);
        let found = run.steps("discovery")[0];
        if is_right(found) {
            right += 1;
        } else {
            wrong.push(format!("{found}\n{:#}", run.result["verdict"]));
        }
        assert!(wrong.len() < 2, "{wrong:#?}");
    }
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

/// The policing steps that the tester did not spoil; at least one is left.
fn judged(run: &Finished) -> Vec<&Value> {
    assert_ne!(run.status(), "fail", "{:#}\n{}", run.result["verdict"], run.stderr);
    let steps = run.steps("policing").into_iter().filter(|step| step["flaw"].is_null());
    let steps: Vec<_> = steps.collect();
    assert!(!steps.is_empty(), "{:#}\n{}", run.result["verdict"], run.stderr);
    steps
}

/// The policer counts 1522 bytes where the sender puts 1518 on its line: who does not count the tag
/// finds a bucket that is smaller by 4/1522, and by 4/132 with frames of 132 bytes.
#[test]
fn tags_that_the_network_adds_count_in_frame_lengths_and_buckets() {
    let folder = Folder::new();
    let net = folder.written("network.yaml", TAGGED);
    let words = ["-q", "--frames", "132,1522", "--vlan-tags", "1", "-t", "0.5s"];
    for command in [&["sim", &net, "burst"][..], &["burst", "--lab", &net]] {
        let run = run(&[command, &WORDS[..], &words].concat());
        for step in judged(&run) {
            assert!(within_percent(number(step, "estimated_cbs_bytes"), 64_000.0, 1.0), "{step}");
        }
    }
}

#[test]
fn bursts_go_both_ways_at_once_over_ipv6() {
    let words = ["burst", "--lab", "metro-40m-cbs64k", "-q", "-6", "--bidirectional"];
    let more = ["--cir", "40M", "--cbs", "64K", "--frames", "512,1518", "-t", "0.5s"];
    let run = run(&[&words[..], &more].concat());
    assert_eq!(run.result["plan"]["family"], "ipv6");
    for step in judged(&run) {
        assert_eq!(step["direction"], "bidirectional");
        assert!(within_percent(number(step, "estimated_cbs_bytes"), 64_000.0, 1.0), "{step}");
    }
    for way in ["download", "upload"] {
        let steps = run.steps("cbs").into_iter().filter(|step| step["way"] == way);
        assert_eq!(steps.count(), 2, "{}", run.result["steps"]);
    }
}

#[test]
fn what_cannot_be_tested_is_bad_input() {
    let lab = ["sim", "metro-40m-cbs64k", "burst"];
    let wrong: [(&[&str], &str); 6] = [
        (&["--cir", "40M", "--cbs", "1000"], "smaller than a frame of 1518"),
        (&["--cir", "1M", "--cbs", "10M"], "more than 30 s of the CIR"),
        (&["--cir", "2G", "--cbs", "64K"], "2000 Mbit/s (l2) is above the line"),
        (&["--cir", "40M", "--cbs", "64K", "--frames", "1519,9000"], "use 1518 bytes or less"),
        (&["--cir", "40M"], "give --cir and --cbs"),
        (&["--cir", "40M", "--cbs", "64K", "--frames", "12"], "a frame has from 64"),
    ];
    for (words, sentence) in wrong {
        let output = output([&lab[..], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(sentence), "{words:?}: {said}");
    }
    // Before anybody is asked, least of all a far end that is not there.
    let far = ["burst", "127.0.0.1:1", "--cir", "1M", "--cbs"];
    for (cbs, sentence) in [("1000", "smaller than a frame"), ("10M", "more than 30 s of the CIR")]
    {
        let output = output([&far[..], &[cbs]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(sentence), "{said}");
    }
}
