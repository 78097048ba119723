//! How fast Linux's TCP is over the lab: a golden table to hold the simulator's to.
//!
//! Each cell is a loss, a round-trip time and a receive window on one line. Frames are lost by
//! their number and a seed, so that the simulator meets the same losses: its TCP can be compared
//! with the kernel's run by run and not only in the mean.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fp_engine::lab::Privileges;
use fp_engine::os::{NetNs, clock};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const TABLE: &str = "crates/net/tests/golden/linux-grid.json";
/// Two processors carry this with ease: the host is nowhere the bottleneck.
const LINE_BPS: u64 = 100_000_000;
const LOSSES_PERCENT: [f64; 4] = [0.0, 0.01, 0.1, 1.0];
const ROUND_TRIPS_MS: [u32; 3] = [5, 20, 100];
/// The last is more than any path of the grid holds.
const WINDOWS_BYTES: [u64; 3] = [65_536, 524_288, 4_000_000];
/// What is measured at a time sends no more than this together, as far as the cells foretell.
const AT_ONCE_BPS: f64 = 150e6;
const AT_ONCE: usize = 8;
/// The machine is not held for longer at a time: the next call goes on.
const LASTS: Duration = Duration::from_secs(85);
const LOOKS_EVERY: Duration = Duration::from_millis(200);
/// Beyond what a run sends: the path is measured before and the connection is closed after.
const AROUND_A_RUN: Duration = Duration::from_secs(5);
/// What the results depend on, as a fresh network namespace has it.
const SETTINGS: [&str; 17] = [
    "net/ipv4/tcp_adv_win_scale",
    "net/ipv4/tcp_early_retrans",
    "net/ipv4/tcp_ecn",
    "net/ipv4/tcp_frto",
    "net/ipv4/tcp_limit_output_bytes",
    "net/ipv4/tcp_min_tso_segs",
    "net/ipv4/tcp_moderate_rcvbuf",
    "net/ipv4/tcp_no_metrics_save",
    "net/ipv4/tcp_recovery",
    "net/ipv4/tcp_reordering",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_sack",
    "net/ipv4/tcp_slow_start_after_idle",
    "net/ipv4/tcp_timestamps",
    "net/ipv4/tcp_window_scaling",
    "net/ipv4/tcp_wmem",
    "net/core/wmem_max",
];

#[derive(Debug, Default, Serialize, Deserialize)]
struct Table {
    kernel: String,
    congestion_control: String,
    settings: BTreeMap<String, String>,
    line_bps: u64,
    cells: Vec<Cell>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Cell {
    loss_percent: f64,
    rtt_ms: u32,
    window_bytes: u64,
    queue_bytes: u64,
    warm_up_s: u32,
    steady_s: u32,
    runs: Vec<Run>,
    median_bps: Option<u64>,
    /// Between the slowest and the fastest run, of the median.
    spread_percent: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    seed: u64,
    started: String,
    rate_bps: u64,
    retransmitted_bytes: u64,
    rtt_mean_ms: Option<f64>,
    /// How late the lab released a frame, in all but the hundredth part of its intervals.
    late_p99_us: u64,
}

#[derive(Debug)]
struct UnderWay {
    /// Of which cell.
    at: usize,
    seed: u64,
    child: Child,
}

/// Measures what the table lacks, for a minute and a half at most, with this `fullpipe`.
pub(crate) fn run(fullpipe: &Path) -> anyhow::Result<()> {
    let mut table = read()?;
    ensure!(
        table.kernel == kernel()?,
        "{TABLE} was measured with Linux {}: remove it and measure all of it again",
        table.kernel
    );
    let folder = std::env::temp_dir().join(format!("fullpipe-grid-{}", std::process::id()));
    fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
    let measured = measure(&mut table, fullpipe, &folder);
    // What cannot be removed is in the system's folder for what may go.
    let _ = fs::remove_dir_all(&folder);
    measured
}

#[expect(clippy::disallowed_methods, reason = "it looks after runs that time themselves")]
fn measure(table: &mut Table, fullpipe: &Path, folder: &Path) -> anyhow::Result<()> {
    let begun = clock::now();
    let mut out = std::io::stdout();
    let mut under_way: Vec<UnderWay> = Vec::new();
    loop {
        let left = LASTS.saturating_sub(clock::now().since(begun));
        while let Some((at, seed)) = table.next(&under_way, left) {
            let cell = &table.cells[at];
            under_way.push(UnderWay { at, seed, child: cell.start(seed, fullpipe, folder)? });
        }
        if under_way.is_empty() {
            break;
        }
        std::thread::sleep(LOOKS_EVERY);
        let mut still = Vec::new();
        for mut run in under_way {
            if run.child.try_wait()?.is_none() {
                still.push(run);
                continue;
            }
            let cell = &mut table.cells[run.at];
            writeln!(out, "{}: {}", cell.name(run.seed), cell.conclude(run.seed, folder)?)?;
            fs::write(TABLE, serde_json::to_string_pretty(table)? + "\n").context(TABLE)?;
        }
        under_way = still;
    }
    match table.cells.iter().map(|cell| cell.missing().count()).sum() {
        0_usize => writeln!(out, "{TABLE} is whole")?,
        missing => writeln!(out, "{missing} runs are missing in {TABLE}: call this again")?,
    }
    Ok(())
}

impl Table {
    /// The longest run that is missing and for which there is time and room beside the others.
    fn next(&self, under_way: &[UnderWay], left: Duration) -> Option<(usize, u64)> {
        let together_bps: f64 = under_way.iter().map(|run| self.cells[run.at].foretold_bps()).sum();
        let is_begun = |at, seed| under_way.iter().any(|run| (run.at, run.seed) == (at, seed));
        let has_room = |cell: &Cell| {
            let is_alone = under_way.is_empty();
            let fits = together_bps + cell.foretold_bps() <= AT_ONCE_BPS;
            cell.lasts() <= left && under_way.len() < AT_ONCE && (is_alone || fits)
        };
        let cells = self.cells.iter().enumerate().filter(|(_, cell)| has_room(cell));
        let missing = cells.flat_map(|(at, cell)| cell.missing().map(move |seed| (at, seed)));
        missing
            .filter(|(at, seed)| !is_begun(*at, *seed))
            .max_by_key(|(at, seed)| (self.cells[*at].lasts(), Reverse((*at, *seed))))
    }
}

impl Cell {
    fn new(loss_percent: f64, rtt_ms: u32, window_bytes: u64) -> Self {
        // Long enough for slow start and the losses at its end to be over, and then for a hundred
        // random losses or so in all runs of a cell together.
        let is_rare = loss_percent > 0.0 && loss_percent < 0.1;
        let (warm_up_s, steady_s) = match rtt_ms {
            0..=9 => (3, 10),
            10..=49 if loss_percent == 0.0 => (5, 10),
            10..=49 => (5, if is_rare { 30 } else { 20 }),
            _ if loss_percent == 0.0 => (10, 20),
            _ => (10, if is_rare { 60 } else { 40 }),
        };
        Self {
            loss_percent,
            rtt_ms,
            window_bytes,
            // What the path holds besides: with less a single connection does not fill the line
            // after a loss, with more it hardly ever meets the end of the queue.
            queue_bytes: LINE_BPS / 8 * u64::from(rtt_ms) / 1000,
            warm_up_s,
            steady_s,
            runs: Vec::new(),
            median_bps: None,
            spread_percent: None,
        }
    }

    fn name(&self, seed: u64) -> String {
        let Self { loss_percent, rtt_ms, window_bytes, .. } = self;
        format!("{loss_percent} %, {rtt_ms} ms, {window_bytes} bytes, seed {seed}")
    }

    fn seeds(&self) -> u64 {
        if self.rtt_ms >= 50 && self.loss_percent > 0.0 { 5 } else { 3 }
    }

    fn missing(&self) -> impl Iterator<Item = u64> {
        (1..=self.seeds()).filter(|seed| self.runs.iter().all(|run| run.seed != *seed))
    }

    fn lasts(&self) -> Duration {
        Duration::from_secs((self.warm_up_s + self.steady_s).into()) + AROUND_A_RUN
    }

    /// At most: the window in each round trip, or by the square root of the loss.
    fn foretold_bps(&self) -> f64 {
        const SEGMENT_BYTES: f64 = 1448.0;
        let rtt_s = f64::from(self.rtt_ms) / 1e3;
        let by_window = self.window_bytes as f64 * 8.0 / rtt_s;
        let by_loss = 1.3 * SEGMENT_BYTES * 8.0 / rtt_s / (self.loss_percent / 100.0).sqrt();
        by_window.min(by_loss).min(LINE_BPS as f64)
    }

    fn start(&self, seed: u64, fullpipe: &Path, folder: &Path) -> anyhow::Result<Child> {
        let network = self.network(seed, folder)?;
        let mut command = Command::new(fullpipe);
        command.args(["flow", "--json", "--no-save", "-q", "-4", "-C", "cubic", "--lab"]);
        command.arg(network);
        for (option, value) in [
            ("--seed", seed),
            ("-w", self.window_bytes),
            ("-O", self.warm_up_s.into()),
            ("-t", self.steady_s.into()),
        ] {
            command.args([option, &value.to_string()]);
        }
        command.stdout(fs::File::create(self.file(seed, folder, "json"))?);
        command.spawn().with_context(|| fullpipe.display().to_string())
    }

    /// Takes what a run has said; gives what is to be said of it.
    fn conclude(&mut self, seed: u64, folder: &Path) -> anyhow::Result<String> {
        let file = self.file(seed, folder, "json");
        let result = fs::read(&file).with_context(|| file.display().to_string())?;
        let Some(run) = outcome(seed, &result)? else {
            return Ok("disturbed, to be repeated".into());
        };
        let said = format!("{:.2} Mbit/s", run.rate_bps as f64 / 1e6);
        self.runs.push(run);
        self.summarise();
        Ok(said)
    }

    fn file(&self, seed: u64, folder: &Path, extension: &str) -> PathBuf {
        let Self { loss_percent, rtt_ms, window_bytes, .. } = self;
        folder.join(format!("{loss_percent}-{rtt_ms}-{window_bytes}-{seed}.{extension}"))
    }

    /// The lab file of this cell: it loses what goes from the near end to the far one.
    fn network(&self, seed: u64, folder: &Path) -> anyhow::Result<PathBuf> {
        let Self { loss_percent, rtt_ms, queue_bytes, .. } = self;
        let loss = match *loss_percent > 0.0 {
            true => format!(", loss: {{random: {loss_percent}%}}"),
            false => String::new(),
        };
        let delay_us = rtt_ms * 500;
        let text = format!(
            "lab: fullpipe.lab/1\nname: grid\ndescription: A cell of the grid.\nlinks:\n  \
             - near_to_far: {{line_rate: {LINE_BPS}, delay: {delay_us}us, \
             queue: {{bytes: {queue_bytes}}}{loss}}}\n    \
             far_to_near: {{line_rate: {LINE_BPS}, delay: {delay_us}us}}\n"
        );
        let file = self.file(seed, folder, "yaml");
        fs::write(&file, text).with_context(|| file.display().to_string())?;
        Ok(file)
    }

    fn summarise(&mut self) {
        self.runs.sort_by_key(|run| run.seed);
        let mut rates: Vec<u64> = self.runs.iter().map(|run| run.rate_bps).collect();
        rates.sort_unstable();
        let median = rates[rates.len() / 2];
        let spread = rates[rates.len() - 1] - rates[0];
        self.median_bps = Some(median);
        self.spread_percent = Some((spread as f64 / median as f64 * 1000.0).round() / 10.0);
    }
}

/// What a run has to tell; nothing where the host was too busy with other things.
fn outcome(seed: u64, result: &[u8]) -> anyhow::Result<Option<Run>> {
    let result: Value = serde_json::from_slice(result).context("no result")?;
    if result["validity"]["ok"] != true {
        return Ok(None);
    }
    let steps = result["steps"].as_array().context("a result without steps")?;
    let flow = steps.iter().find(|step| step["name"] == "flow").context("no flow")?;
    let evidence = result["evidence"].as_array().context("a result without evidence")?;
    let emulation = |one: &Value| one["observation"]["emulation"]["late_p99_ns"].as_u64();
    let late_ns = evidence.last().and_then(emulation).context("nothing is said of the lab")?;
    let number = |key: &str| flow[key].as_u64().with_context(|| format!("a flow without {key}"));
    Ok(Some(Run {
        seed,
        started: result["started"].as_str().context("when?")?.to_owned(),
        rate_bps: number("rate_bps")?,
        retransmitted_bytes: number("retransmitted_bytes")?,
        rtt_mean_ms: flow["rtt_mean_ms"].as_f64(),
        late_p99_us: late_ns / 1000,
    }))
}

fn read() -> anyhow::Result<Table> {
    if let Ok(text) = fs::read_to_string(TABLE) {
        return serde_json::from_str(&text).context(TABLE);
    }
    let of_loss_and_rtt = |(loss, rtt)| WINDOWS_BYTES.map(|window| Cell::new(loss, rtt, window));
    let pairs = LOSSES_PERCENT.into_iter().flat_map(|loss| ROUND_TRIPS_MS.map(|rtt| (loss, rtt)));
    Ok(Table {
        kernel: kernel()?,
        congestion_control: "cubic".into(),
        settings: settings()?,
        line_bps: LINE_BPS,
        cells: pairs.flat_map(of_loss_and_rtt).collect(),
    })
}

fn kernel() -> anyhow::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned())
}

/// Of TCP in a fresh network namespace, and of its CUBIC, as far as this kernel has them.
fn settings() -> anyhow::Result<BTreeMap<String, String>> {
    Privileges::prepare()?;
    NetNs::fresh()?;
    let mut settings = BTreeMap::new();
    let mut take = |name: String, file: PathBuf| {
        if let Ok(text) = fs::read_to_string(file) {
            settings.insert(name, text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    };
    for name in SETTINGS {
        take(name.replace('/', "."), Path::new("/proc/sys").join(name));
    }
    let cubic = Path::new("/sys/module/tcp_cubic/parameters");
    for parameter in fs::read_dir(cubic).into_iter().flatten() {
        let parameter = parameter?;
        let name = parameter.file_name().to_string_lossy().into_owned();
        take(format!("tcp_cubic.{name}"), parameter.path());
    }
    Ok(settings)
}
