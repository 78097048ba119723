//! A cable that is out for a second in every five, across real frames: what it cost is counted and said.

use crate::across::measured;
use crate::folder::Folder;
use crate::result::number;

/// 10 Mbit/s for 8 s, and what is due in at least 1.2 s of them is lost: more than the 0.1 % that are
/// allowed, whatever else the host is busy with.
fn expect_a_pull_to_be_counted(more: &[&str]) {
    let folder = Folder::new();
    let links = "lab: fullpipe.lab/1\nname: cable\nlinks:\n  - near_to_far: &way {line_rate: 100M, delay: 5ms, \
                 outage: {start: 3s, lasts: 1200ms, every: 5s}}\n    far_to_near: *way\n";
    let net = folder.written("cable.yaml", links);
    let words = ["flow", "--lab", &net, "-q", "-u", "-b", "10M", "-t", "8", "--max-loss", "0.1%"];
    let run = measured(&[&words[..], more].concat());
    assert_eq!((run.exit, run.status()), (1, "fail"), "{:#}", run.result["verdict"]);
    assert!(run.reason_codes().contains(&"contact_lost"), "{:#}", run.result["verdict"]);
    let flow = run.steps("flow")[0];
    assert!(number(flow, "loss_percent") >= 10.0, "{:#}", run.result["verdict"]);
    let interruptions =
        &run.result["evidence"].as_array().unwrap().last().unwrap()["observation"]["interruptions"];
    let silent = interruptions.as_array().unwrap().iter();
    let silent = silent.map(|one| number(one, "silent_ns") / 1e9).fold(0.0, f64::max);
    // Heartbeats are a quarter of a second apart.
    assert!(silent >= 1.2, "{interruptions}");
}

#[test]
fn what_is_sent_into_a_cable_that_is_out_is_lost() {
    expect_a_pull_to_be_counted(&[]);
}

#[test]
fn what_a_far_end_may_not_send_meanwhile_is_lost() {
    expect_a_pull_to_be_counted(&["-R"]);
}
