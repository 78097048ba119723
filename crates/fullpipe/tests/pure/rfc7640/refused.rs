//! What cannot be tested ends with exit code 2 before anything is sent.

use crate::result::output;

#[test]
fn what_cannot_be_tested_is_refused_with_exit_code_2() {
    let cases = [
        (&["--cir", "40M", "--cbs", "1000"][..], "holds no frame of 1518 bytes"),
        (
            &["--cir", "100M", "--cbs", "64K", "--line-rate", "100M"][..],
            "is no limit behind a line",
        ),
        (&["--cir", "1k", "--cbs", "64K"][..], "mind the units"),
        (
            &["--shaper", "50M", "--bc", "32K", "--queue", "64K", "--burst", "512K"][..],
            "the shaper's queue is smaller than a burst",
        ),
        (&["--queue", "64K"][..], "give --bandwidth or --shaper too"),
        (
            &["--queue", "64K", "--bandwidth", "20M", "--classes", "ef,be"][..],
            "--scheduler strict or wfq",
        ),
        (&[][..], "there is nothing to test"),
    ];
    for (words, sentence) in cases {
        let output = output(["rfc7640", "--lab", "ideal"].iter().chain(words).copied());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(sentence), "{words:?}: {said}");
    }
}

/// Behind a line of 20 Mbit/s no policer of 40 has anything to drop.
#[test]
fn what_lets_more_pass_than_its_line_carries_is_refused_with_exit_code_2() {
    // 20 Mbit/s of the line are 19.74 Mbit/s of frames.
    let cases = [
        (&["--cir", "40M", "--cbs", "64K"][..], "the CIR of 40 Mbit/s (l2) is above the line"),
        (
            &["--queue", "60K", "--bandwidth", "20M"][..],
            "the bandwidth of 20 Mbit/s (l2) is above the line, which carries 20 Mbit/s (l1)",
        ),
    ];
    for (words, sentence) in cases {
        let output = output(["rfc7640", "--lab", "five-class-20m"].iter().chain(words).copied());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(sentence), "{words:?}: {said}");
    }
}
