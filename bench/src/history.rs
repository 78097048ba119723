//! How long the first page of a history of 100,000 runs takes, as somebody who asks for it waits.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fp_engine::os::clock;
use fp_history::{Entry, Figure, History, Retention};

const RUNS: u64 = 100_000;
/// Kept in one transaction.
const AT_ONCE: u64 = 5_000;
/// Paths that are measured in turn.
const FAR_ENDS: u64 = 500;
/// About what a packed result of a short run has.
const DOCUMENT_BYTES: usize = 8_000;
/// Each figure is the median of so many.
const REPEATS: usize = 11;
const GOAL: Duration = Duration::from_millis(200);

pub(crate) fn run() -> anyhow::Result<()> {
    let fullpipe = built()?;
    let folder = std::env::temp_dir().join(format!("fullpipe-bench-{}", std::process::id()));
    std::fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
    let measured = fill(&folder).and_then(|()| measure(&fullpipe, &folder));
    // What cannot be removed is in the system's folder for what may go.
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

/// The program as users have it.
fn built() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--release", "--package", "fullpipe"]);
    ensure!(build.status().context("cargo build --release")?.success(), "fullpipe was not built");
    let itself = std::env::current_exe().context("where this program is")?;
    Ok(itself.with_file_name("fullpipe"))
}

fn fill(folder: &Path) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let begun = clock::now();
    let mut history = History::open(folder)?;
    history.retain(Retention { runs: RUNS, days: None }, &started(RUNS))?;
    for first in (0..RUNS).step_by(AT_ONCE as usize) {
        let runs = (first..first + AT_ONCE).map(|number| (entry(number), document(number)));
        history.keep_all(runs, &started(first + AT_ONCE))?;
    }
    let took = clock::now().since(begun).as_secs_f64();
    let megabytes = history.file().metadata().context("the size of the history")?.len() / 1_000_000;
    writeln!(out, "{RUNS} runs kept in {took:.0} s, {megabytes} MB")?;
    Ok(())
}

/// Scattered as by SplitMix64: the same history at every run.
fn scattered(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn entry(number: u64) -> Entry {
    let bits = scattered(number);
    let far = bits % FAR_ENDS;
    let methods = ["rfc6349", "flow", "burst", "y1564"];
    Entry {
        id: format!("{bits:016x}"),
        started: started(number),
        method: methods[(far % 4) as usize].to_owned(),
        far: format!("10.0.{}.{}:6349", far / 250, far % 250),
        verdict: if bits.is_multiple_of(7) { "fail" } else { "pass" }.to_owned(),
        duration_s: 60.0,
        figure: Some(Figure {
            name: String::from("TCP throughput, download"),
            value: (bits % 100_000_000) as f64,
            unit: String::from("bit/s"),
        }),
        labels: [Some(format!("site {}", far % 50)), None, None, None, None],
    }
}

/// One run every five minutes, of days of 86,400 s and months of 28 days.
fn started(number: u64) -> String {
    let minutes = number * 5;
    let (days, minute) = (minutes / 1440, minutes % 1440);
    let (year, month, day) = (2025 + days / 336, days / 28 % 12 + 1, days % 28 + 1);
    format!("{year}-{month:02}-{day:02}T{:02}:{:02}:00Z", minute / 60, minute % 60)
}

/// Text that packs to about a half.
fn document(number: u64) -> Vec<u8> {
    let mut text = String::from("{\"schema\":\"fullpipe.result/1\"");
    let mut place = number << 16;
    while text.len() < DOCUMENT_BYTES {
        place += 1;
        // Writing to a string cannot fail.
        let _ = write!(text, ",\"received_bytes\":{}", scattered(place) % 1_000_000);
    }
    (text + "}").into_bytes()
}

fn measure(fullpipe: &Path, folder: &Path) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    for words in [
        &["history"][..],
        &["history", "--json"],
        &["history", "--where", "method=rfc6349"],
        &["history", "--where", "far=10.0.1.,site=7"],
        &["history", "--where", "since=2025-06-01"],
    ] {
        let mut times = Vec::new();
        for _ in 0..REPEATS {
            let mut command = Command::new(fullpipe);
            command.args(words).env("FULLPIPE_DATA", folder).stdout(Stdio::null());
            let begun = clock::now();
            ensure!(command.status().context("fullpipe history")?.success(), "no page");
            times.push(clock::now().since(begun));
        }
        times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (median, longest) = (ms(times[REPEATS / 2]), ms(times[REPEATS - 1]));
        let goal = ms(GOAL);
        writeln!(out, "{}: {median:.0} ms, {longest:.0} at most; goal {goal:.0}", words.join(" "))?;
    }
    Ok(())
}
