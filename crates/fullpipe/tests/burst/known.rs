//! The tables of the application note, row by row.

use super::command::WORDS;
use super::result::{Finished, number, run, within_percent};

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

/// Each row that is judged is right: how many are.
fn expect_figure_13(run: &Finished, frame_lengths: &[u64]) -> usize {
    let steps = run.steps("cbs");
    assert_eq!(steps.len(), frame_lengths.len(), "{}", run.stderr);
    let mut judged = 0;
    for (step, length) in steps.into_iter().zip(frame_lengths) {
        let row = FIGURE_13.iter().find(|(frame_bytes, ..)| frame_bytes == length);
        let (frame_bytes, burst_bytes, frames) = *row.unwrap();
        assert_eq!(step["frame_bytes"], frame_bytes);
        assert_eq!(step["configured_burst_bytes"], 64_000);
        assert_eq!(step["tx_burst_bytes"], burst_bytes);
        if step["pass"].is_null() {
            continue;
        }
        judged += 1;
        assert_eq!(number(step, "rx_burst_bytes_mean"), burst_bytes as f64);
        assert_eq!(
            (&step["frames_sent"], &step["frames_received"]),
            (&frames.into(), &frames.into())
        );
        assert_eq!((&step["frames_lost"], &step["pass"]), (&0.into(), &true.into()));
    }
    judged
}

#[test]
fn every_row_of_the_application_note_comes_out_in_the_simulation() {
    let run = run(&[&["sim", "metro-40m-cbs64k", "burst", "-q"], &WORDS[..]].concat());
    assert_eq!((run.exit, run.status()), (0, "pass"), "{}", run.result["verdict"]);
    assert_eq!(expect_figure_13(&run, &FIGURE_13.map(|row| row.0)), 8);
    for step in run.steps("policing") {
        assert!(within_percent(number(step, "estimated_cbs_bytes"), 64_000.0, 0.1), "{step}");
    }
}

/// Real frames: the same rows from the shortest frames to the longest, and the bucket within one
/// percent at each length. A row that a busy host could not send as planned decides nothing, and the
/// result says so: how many are left is the host's doing, that they are right is not.
#[test]
fn rows_of_the_application_note_come_out_in_the_lab() {
    let words = ["burst", "--lab", "metro-40m-cbs64k", "-q", "--frames", "64,512,768,1518"];
    let run = run(&[&words, &WORDS[..]].concat());
    run.expect_pass();
    let judged = expect_figure_13(&run, &[64, 512, 768, 1518]);
    let policing = run.steps("policing");
    assert_eq!(policing.len(), 4);
    let certain: Vec<_> = policing.into_iter().filter(|step| step["pass"] == true).collect();
    let [rows, buckets] = if run.is_valid() { [4, 2] } else { [0, 0] };
    assert!(judged >= rows && certain.len() >= buckets, "{:#}", run.result["verdict"]);
    for step in certain {
        assert!(number(step, "deviation_percent").abs() <= 1.0, "{step}");
    }
    for step in run.steps("rate") {
        assert!(number(step, "deviation_percent").abs() <= 0.5, "{step}");
    }
}
