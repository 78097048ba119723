//! The live view where there is no terminal.

use crate::process::fullpipe;

#[test]
fn in_a_pipe_there_are_lines_and_nothing_that_steers_a_terminal() {
    let run = fullpipe(&["sim", "ideal", "flow", "-u", "-b", "1M", "-t", "2s", "--tui"]);
    assert_eq!(run.exit, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("interval"), "{}", run.stderr);
    assert!(!run.stderr.contains('\x1b') && !run.stdout.contains('\x1b'));
}
