//! Nonsense ends with exit code 2 before anything is sent: a sentence with the place and a remedy.

use std::fs;
use std::time::Duration;

use crate::folder::Folder;
use crate::process::{Finished, fullpipe};

/// 68 characters that are the secret of no far end.
const SECRET: &str = "ATlIjSL6c83emLMmObyc0F7x7geBe1bSQJ65bDuzVnaa2h_MEho3Q3J218zQ3po9yH6I";

/// Exit code 2, nothing on stdout, and every one of these words in what is said.
pub(super) fn refused(words: &[&str], said: &[&str]) -> Finished {
    let run = fullpipe(words);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""), "{words:?}: {run:#?}");
    for word in said {
        assert!(run.stderr.contains(word), "no {word:?} in {:?} of {words:?}", run.stderr);
    }
    // A test takes longer: nothing of it has run.
    assert!(run.took < Duration::from_secs(2), "{words:?}: {run:#?}");
    run
}

/// The place is the option, the remedy what would have been right.
#[test]
fn a_value_that_makes_no_sense_is_refused_with_its_option_and_what_is_allowed() {
    for (option, value, allowed) in [
        ("--cir", "10Q", "40M"),
        ("--cir", "fast", "number"),
        ("--cir", "0", "from 64k"),
        ("--cir", "1", "from 64k"),
        ("--cir", "-40M", "number"),
        ("--cir", "1e9", "k, M, G"),
        ("--cir", "99999T", "to 1T"),
        ("--cir", "99999999999999999999T", "too large"),
        ("--cir", "40M@l5", "@l1, @l2, @l3"),
        ("--cir", "40M@l4", "@l1, @l2 or @l3"),
        ("--max-rate", "1", "from 64k"),
        ("--pacing", "0", "more than zero"),
        ("--pacing", "40M@l2", "cannot be chosen"),
        ("--window", "0", "1,000"),
        ("--window", "3X", "Ki, Mi, Gi"),
        ("--window", "2G", "1,073,725,440"),
        ("--connections", "0", "1 to 1000"),
        ("--connections", "1001", "1 to 1000"),
        ("--connections", "four", "number"),
        ("--duration", "0", "0.5 s"),
        ("--duration", "5 weeks", "ms, s, m or h"),
        ("--duration", "25h", "24 h"),
        ("--interval", "0s", "50 ms"),
        ("--dscp", "64", "0 to 63"),
        ("--dscp", "-1", "0 to 63"),
        ("--pass-throughput", "101%", "0 to 100"),
        ("--pass-throughput", "NaN", "0 to 100"),
        ("--pass-buffer-delay", "-3%", "95%"),
        ("--sender", "bursty", "bulk, burst, both"),
        ("--congestion", "vegas", "cubic, reno, bbr"),
        ("--seed", "dice", "whole number from 0"),
        ("--seed", "-1", "whole number from 0"),
        ("--seed", "18446744073709551616", "to 18446744073709551615"),
    ] {
        let value_of = format!("{option}={value}");
        refused(&["sim", "ideal", "test", &value_of], &[option, value, allowed]);
        refused(&["test", "--lab", "ideal", &value_of], &[option, value, allowed]);
    }
    let luck = ["sim", "ideal", "rfc2544", "--search=luck"];
    refused(&luck, &["--search", "luck", "binary, fast, mlr"]);
}

#[test]
fn unknown_options_and_commands_are_named() {
    refused(&["test", "--lab", "ideal", "--bogus"], &["--bogus", "--help"]);
    refused(&["tset"], &["tset", "test", "--help"]);
    refused(&["sim", "ideal", "tset"], &["tset", "--help"]);
    refused(&[], &["Usage", "serve"]);
}

#[test]
fn a_test_has_a_far_end_or_a_lab_and_not_both() {
    refused(&["test"], &["pairing string", "--lab"]);
    refused(&["test", "far", "--lab", "ideal"], &["FAR", "--lab"]);
    refused(&["test", "-4", "-6", "--lab", "ideal"], &["--ipv4", "--ipv6"]);
    let far = format!("fp://127.0.0.1:1#{SECRET}");
    refused(&["test", &far, "--truth", "t.json"], &["--truth", "--lab"]);
}

#[test]
fn a_far_end_that_cannot_be_read_is_refused_with_what_is_missing() {
    let at = |far: &str| format!("{far}#{SECRET}");
    for (far, said) in [
        (String::new(), "secret"),
        ("far.example".into(), "--key-file"),
        ("far.example:5201".into(), "iperf3://far.example:5201"),
        ("fp://far.example:6349".into(), "FULLPIPE_KEY"),
        (format!("fp://far.example:6349#{}", &SECRET[..60]), "68 characters"),
        (at("fp://far.example:99999"), "1 to 65535"),
        (at("fp://far.example:0"), "1 to 65535"),
        (at("fp://far.example:port"), "1 to 65535"),
        (at("http://far.example:6349"), "begins with fp://"),
        (at("fp://"), "host"),
        (at("fp://[::1:6349"), "brackets"),
    ] {
        refused(&["test", &far], &[said]);
    }
    refused(&["test", "far.example", "--key-file", "/nowhere/key"], &["/nowhere/key"]);
}

#[test]
fn an_unknown_network_is_answered_with_those_there_are() {
    for words in [
        &["test", "--lab", "metro-40m-cbs65k"][..],
        &["sim", "metro-40m-cbs65k", "test"],
        &["lab", "metro-40m-cbs65k", "--", "true"],
        &["lab", "show", "metro-40m-cbs65k"],
    ] {
        refused(words, &["metro-40m-cbs65k", "metro-40m-cbs64k", "blackhole-1400"]);
    }
    refused(&["lab"], &["NET"]);
    refused(&["test", "--lab", "/nowhere/net.yaml"], &["/nowhere/net.yaml"]);
}

/// Line and column count from 1.
#[test]
fn a_wrong_network_file_is_refused_with_line_and_column_and_what_is_allowed() {
    let folder = Folder::new();
    let head = "lab: fullpipe.lab/1\nname: mine\n";
    for (name, text, said) in [
        ("empty", String::new(), ["1:1", "fullpipe.lab/1"]),
        ("other", "lab: fullpipe.lab/9\nname: mine\nlinks: []\n".into(), ["1:6", "lab/1"]),
        ("links", format!("{head}links: []\n"), ["3:8", "1 to 16"]),
        ("key", format!("{head}links:\n  - near_to_far:\n      dealy: 27ms\n"), ["5:7", "delay"]),
        (
            "value",
            format!("{head}links:\n  - near_to_far:\n      delay: far\n"),
            ["5:14", "number"],
        ),
        ("yaml", format!("{head}links: [\n"), ["3:8", ""]),
        ("binary", "lab: \0\n".into(), ["1:6", ""]),
    ] {
        let file = folder.written(&format!("{name}.yaml"), &text);
        let place = format!("{file}:{}:", said[0]);
        refused(&["lab", &file, "--", "true"], &[&place, said[1]]);
        refused(&["sim", &file, "test"], &[&place, said[1]]);
        refused(&["test", "--lab", &file], &[&place, said[1]]);
    }
    refused(&["lab", &folder.file(".")], &["not a file"]);
}

/// A whole test would be lost otherwise.
#[test]
fn a_place_where_nothing_can_be_written_is_known_before_the_test_runs() {
    let folder = Folder::new();
    let nowhere = folder.file("nowhere/result.json");
    let itself = &folder.file(".");
    for option in ["-o", "--truth"] {
        refused(&["test", "--lab", "ideal", option, &nowhere], &[&nowhere, "directory"]);
        refused(&["test", "--lab", "ideal", option, itself], &[itself, "name a file"]);
    }
    refused(&["sim", "ideal", "test", "-o", &nowhere], &[&nowhere, "directory"]);
    refused(&["lab", "ideal", "--truth", &nowhere, "--", "true"], &[&nowhere, "directory"]);
    assert_eq!(fs::read_dir(folder.file(".")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn an_address_to_listen_on_that_is_none_is_refused() {
    for nonsense in ["far.example:7000", "127.0.0.1:70000", "7000"] {
        refused(&["serve", "--listen", nonsense], &["--listen", nonsense, "ADDR:PORT"]);
    }
    refused(&["serve", "--max-sessions", "0"], &["--max-sessions", "1 to 65535"]);
    refused(&["serve", "--data-ports", "9-1"], &["--data-ports", "LO-HI"]);
    refused(&["serve", "--data-ports", "a-b"], &["--data-ports", "LO-HI"]);
    refused(&["serve", "--data-ports", "9-9"], &["--data-ports", "needs 2 data ports", "larger"]);
}

/// Wherever a pairing string stands by mistake.
#[test]
fn no_sentence_repeats_the_secret_of_a_pairing_string() {
    let folder = Folder::new();
    let far = format!("fp://10.0.0.2:6349#{SECRET}");
    let iperf3 = format!("iperf3://10.0.0.2:5201#{SECRET}");
    let plan = format!("plan: fullpipe.plan/1\nfar: fp://h:x#{SECRET}\ntests:\n  - flow:\n");
    let lab = format!("plan: fullpipe.plan/1\nlab: {far}\ntests:\n  - flow:\n");
    let (plan, lab) = (folder.written("far.yaml", &plan), folder.written("lab.yaml", &lab));
    for words in [
        &["test", &far, "--lab", "ideal"][..],
        &["flow", &far, "--lab", "ideal"],
        &["y1564", &far, "--lab", "ideal"],
        &["test", "--lab", &far],
        &["test", "10.0.0.1", &far],
        &["test", &iperf3],
        &["test", &far, "--cir", &far],
        &["sim", &far, "test"],
        &["sim", "ideal", "test", &far],
        &["run", &lab],
        &["run", &far],
        &["report", &far],
        &[far.as_str()],
    ] {
        let run = refused(words, &[]);
        assert!(!run.stderr.contains(&SECRET[..16]), "{words:?}: {}", run.stderr);
    }
    let run = fullpipe(&["run", &plan, "--no-save", "--json"]);
    assert!(!run.stderr.contains(&SECRET[..16]) && !run.stdout.contains(&SECRET[..16]), "{run:#?}");
}

#[test]
fn a_key_file_that_holds_no_secret_is_named() {
    let folder = Folder::new();
    let plan = folder.written("plan.yaml", "plan: fullpipe.plan/1\ntests:\n  - flow:\n");
    let newer = format!("B{}", &SECRET[1..]);
    for (text, said) in [("", "no secret"), (&SECRET[..60], "damaged"), (&newer, "same version")] {
        let file = folder.written("far.key", text);
        refused(&["test", "far.example", "--key-file", &file], &[&file, said]);
        refused(&["run", &plan, "far.example", "--key-file", &file], &[&file, said]);
    }
}

#[test]
fn rounds_that_begin_all_at_once_are_refused() {
    let folder = Folder::new();
    let plan =
        folder.written("plan.yaml", "plan: fullpipe.plan/1\nsim: ideal\ntests:\n  - flow:\n");
    for every in ["0", "0s", "1ms", "32000h"] {
        refused(&["watch", &plan, "--every", every], &["--every", "from 1 s to 31 days"]);
    }
}
