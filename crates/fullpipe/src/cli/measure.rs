//! A method run over a testbed: what is watched meanwhile, and the documents it ends in.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

use fp_engine::os::{clock, signal};
use fp_method::flow::Lines;
use fp_method::verdict::Status;
use fp_model::{Abort, Direction, Family, HostFacts, Rate, Testbed};
use fp_net::path::PathSpec;
use fp_report::{Detail, Run, Work};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::labels::LabelArgs;
use super::live_steps::LiveSteps;
use super::{document, keep};
use crate::exit::{Exit, Failure, stopped_by};
use crate::stderr::{clear, is_drawable, tell, tell_in_passing};
use crate::values::interval;
use crate::{time_left, view};

/// Where the result goes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// One JSON document on stdout, nothing else there
    #[arg(long, short_alias = 'J', conflicts_with = "json_stream")]
    pub(crate) json: bool,
    /// A JSON line for every event while the test runs, the result last
    #[arg(long)]
    pub(crate) json_stream: bool,
    /// Write the result as JSON to FILE, whatever the screen shows
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Do not keep the run in the history: keep nothing but what -o asks for
    #[arg(long)]
    pub(crate) no_save: bool,
    /// End with exit code 1 where all criteria are met and something was found that the path's owner
    /// should know
    #[arg(long)]
    pub(crate) strict: bool,
    /// No progress on stderr
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Every slot of every flow on stderr
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Time between two lines of progress
    #[arg(long, short = 'i', value_name = "TIME", value_parser = interval, default_value = "1s")]
    pub(crate) interval: Duration,
    /// Live curves and steps on the whole screen of the terminal; in a pipe plain lines, as without
    #[cfg(feature = "tui")]
    #[arg(long, conflicts_with_all = ["quiet", "verbose"])]
    pub(crate) tui: bool,
    /// No colours in the live view, as with $NO_COLOR
    #[cfg(feature = "tui")]
    #[arg(long)]
    pub(crate) no_color: bool,
    /// What a line of progress tells of.
    #[arg(skip)]
    pub(crate) progress: Progress,
    #[command(flatten)]
    pub(crate) labels: LabelArgs,
}

/// What a line of progress tells of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Each flow of a trial.
    #[default]
    Flows,
    /// All flows of a direction, with the time that the line is of.
    Directions,
}

/// Where a run takes place.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// What stands between the ends, in the user's words.
    pub(crate) across: String,
    pub(crate) near: HostFacts,
    pub(crate) far: HostFacts,
    pub(crate) family: Family,
    /// The largest packet that both ends could send.
    pub(crate) interface_mtu_bytes: u32,
    /// The slowest line of an emulated network; `None` of a real one.
    pub(crate) line_l1: Option<Rate>,
    /// The same, each direction by itself.
    pub(crate) lines: Lines,
    /// Nobody else's traffic crosses it: it is emulated.
    pub(crate) is_isolated: bool,
    /// An emulated gateway gives the near end's connections another address and ports.
    pub(crate) is_translated: bool,
    /// The far end is a stock iperf3 server.
    pub(crate) is_iperf3: bool,
    /// In virtual time.
    pub(crate) is_simulated: bool,
    /// No progress on stderr.
    pub(crate) is_quiet: bool,
}

/// The slowest line of an emulated network in each direction.
pub(crate) fn lines(path: &PathSpec) -> Lines {
    let towards = |direction| path.slowest_line_towards(direction);
    Lines { download: towards(Direction::Download), upload: towards(Direction::Upload) }
}

impl Ends {
    /// Before there is anything to be known of them: Ethernet's MTU, and IPv4.
    pub(crate) fn unknown() -> Self {
        Self {
            across: String::new(),
            near: HostFacts::default(),
            far: HostFacts::default(),
            family: Family::Ipv4,
            interface_mtu_bytes: 1500,
            line_l1: None,
            lines: Lines::default(),
            is_isolated: false,
            is_translated: false,
            is_iperf3: false,
            is_simulated: false,
            is_quiet: false,
        }
    }
}

/// What a method asked and found, and why it ended early if it did.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) work: Work,
    pub(crate) end: Result<(), Abort>,
}

impl From<(Work, Result<(), Abort>)> for Measured {
    fn from((work, end): (Work, Result<(), Abort>)) -> Self {
        Self { work, end }
    }
}

/// Runs `method` over `bed` and writes every document that was asked for.
///
/// # Errors
/// What the method cannot do between these ends; a document that could not be written, when the
/// measurement is still shown.
pub(crate) fn run(
    ends: Ends,
    bed: impl Testbed,
    output: &OutputArgs,
    method: impl Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
) -> Result<Exit, Failure> {
    let (started_wall, started) = (clock::wall(), clock::now());
    view::on_across(&ends.across);
    // Nobody waits for virtual time.
    let is_watched = Watcher::passes(output) && !ends.is_simulated;
    let mut live = LiveSteps::new(bed, &ends, &method, is_watched);
    let Measured { work, end } = method(&ends, &mut live)?;
    // With the testbed goes whoever watches it: from here on there is the ordinary screen.
    let evidence = live.into_evidence();
    let run = Run {
        id: id(started_wall),
        started: rfc3339(started_wall),
        lasted: clock::now().since(started),
        across: ends.across,
        labels: output.labels.labels(),
        near: ends.near,
        far: ends.far,
        work,
        evidence,
    };
    if let Err(abort) = &end {
        // With stderr gone there is nobody left to tell; the exit code says it too.
        let _ = writeln!(std::io::stderr(), "fullpipe: {abort}");
    }
    publish(&run, output)?;
    Ok(exit(&run, end, output))
}

fn exit(run: &Run, end: Result<(), Abort>, output: &OutputArgs) -> Exit {
    match (end, run.work.outcome().verdict.status) {
        (Err(Abort::Stopped), _) => stopped_by(),
        (Err(Abort::Lost(_) | Abort::Testbed(_)), _) | (Ok(()), Status::Aborted) => Exit::NotRun,
        (Ok(()), Status::Findings) if output.strict => Exit::Failed,
        (Ok(()), Status::Pass | Status::Findings | Status::Info) => Exit::Passed,
        (Ok(()), Status::Fail) => Exit::Failed,
        (Ok(()), Status::Inconclusive) => Exit::Inconclusive,
        (Ok(()), Status::Invalid) => Exit::NotValid,
    }
}

/// The file first: it must not be lost to a closed pipe. The history last: whatever becomes of it
/// changes nothing of the others.
fn publish(run: &Run, output: &OutputArgs) -> Result<(), Failure> {
    let whole = format!("{:#}\n", fp_report::json(run));
    let saved = match &output.output {
        Some(file) => document::save(file, &whole).map_err(Failure::not_run),
        None => Ok(()),
    };
    // A full disk is no reason to show nothing.
    let shown = show(run, &whole, output);
    if !output.no_save {
        match keep::keep(&whole) {
            Ok(Some(kept)) if !output.quiet => tell(&kept),
            Ok(_) => {}
            Err(error) => tell(&format!("history: this run was not kept: {error:#}")),
        }
    }
    saved.and(shown)
}

fn show(run: &Run, whole: &str, output: &OutputArgs) -> Result<(), Failure> {
    let document = if output.json {
        whole.to_owned()
    } else if output.json_stream {
        format!("{}\n", fp_report::json_event(fp_report::Event::Result(run), run.lasted))
    } else {
        let detail = if output.verbose { Detail::Full } else { Detail::Brief };
        fp_report::text(run, detail, document::columns())
    };
    document::print(&document)
}

/// Sixteen hexadecimal digits, of which the first few tell runs apart: what was started when and by
/// which process, scattered as by SplitMix64, so that what differs stays different.
fn id(started: fp_model::Time) -> String {
    let mut bits = started.as_nanos() ^ u64::from(std::process::id()).rotate_right(16);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{:016x}", bits ^ (bits >> 31))
}

/// In whole seconds, UTC.
pub(crate) fn rfc3339(time: fp_model::Time) -> String {
    let nanos = i128::from(time.as_nanos() / 1_000_000_000 * 1_000_000_000);
    let formatted = OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .map_err(anyhow::Error::new)
        .and_then(|time| time.format(&Rfc3339).map_err(anyhow::Error::new));
    // A clock beyond the year 9999 has no RFC 3339 date.
    formatted.unwrap_or_else(|_| String::from("unknown"))
}

/// Shows what happens while a run goes on: lines on stderr, or JSON lines on stdout.
pub(crate) struct Watcher {
    #[cfg(feature = "tui")]
    screen: Option<view::Screen>,
    started: fp_model::Time,
    json_stream: bool,
    quiet: bool,
    verbose: bool,
    interval: Duration,
    progress: Progress,
    /// One line on a terminal that the next one replaces.
    passes: bool,
    /// The trial under way, and when the last line was written.
    passing: (String, fp_model::Time),
    /// Slots since the last line, by flow.
    slots: Vec<(Direction, Vec<fp_model::Sample>)>,
    /// The same of many connections.
    connections: Vec<fp_model::ConnectionsSample>,
    /// Tells that a stop was heeded.
    stopping: Once,
    sums: Option<fp_report::Progress>,
}

impl Watcher {
    pub(crate) fn new(output: &OutputArgs) -> Self {
        Self {
            #[cfg(feature = "tui")]
            screen: screen(output),
            started: clock::now(),
            json_stream: output.json_stream,
            quiet: output.quiet || (output.json_stream && !std::io::stderr().is_terminal()),
            verbose: output.verbose,
            interval: output.interval,
            progress: output.progress,
            passes: Self::passes(output),
            passing: (String::new(), clock::now()),
            slots: Vec::new(),
            connections: Vec::new(),
            stopping: Once::new(),
            sums: None,
        }
    }

    /// Whether progress is one line on a terminal that the next one replaces, and not lines to be kept.
    fn passes(output: &OutputArgs) -> bool {
        let is_lines = output.progress == Progress::Directions || output.verbose;
        let is_elsewhere = output.quiet || output.json_stream;
        !is_lines && !is_elsewhere && is_drawable()
    }

    pub(crate) fn see(&mut self, event: &fp_model::Event) {
        if self.json_stream {
            let event = fp_report::Event::Testbed(event);
            let line = fp_report::json_event(event, clock::now().since(self.started));
            // A reader that has gone away does not end the measurement.
            let _ = writeln!(std::io::stdout(), "{line}");
        }
        #[cfg(feature = "tui")]
        if let Some(screen) = &self.screen {
            return screen.on_event(event);
        }
        if self.quiet {
            return;
        }
        match event {
            fp_model::Event::Started(trial) if self.is_by_the_way(trial) => {}
            fp_model::Event::Started(trial) => {
                self.slots.clear();
                self.connections.clear();
                let line = fp_report::trial_line(trial);
                if self.passes {
                    self.passing.0 = line;
                    return self.pass(None);
                }
                tell(&format!("· {line}"));
                if self.progress == Progress::Directions && !self.verbose {
                    self.sums = Some(fp_report::Progress::of(trial, self.interval));
                    tell(fp_report::Progress::HEADER);
                }
            }
            fp_model::Event::Sampled { flow, direction, sample } => match &mut self.sums {
                Some(sums) => sums.on_sample(*flow, sample).iter().for_each(|line| tell(line)),
                None => self.sampled(*flow, *direction, *sample),
            },
            fp_model::Event::Counted { sample, .. } => self.counted(*sample),
            fp_model::Event::Finished(_) => {
                let sums = self.sums.iter_mut();
                sums.flat_map(fp_report::Progress::rest).for_each(|line| tell(&line));
                self.sums = None;
            }
        }
    }

    /// Probes before what was asked for.
    fn is_by_the_way(&self, trial: &fp_model::Trial) -> bool {
        let is_probes = |flow: &fp_model::FlowSpec| matches!(flow.load, fp_model::Load::Probes(_));
        self.progress == Progress::Directions && !self.verbose && trial.flows.iter().all(is_probes)
    }

    fn counted(&mut self, sample: fp_model::ConnectionsSample) {
        if signal::caught().is_some() {
            self.stopping.call_once(|| {
                tell("  stopping: connections end first; another signal ends it without a result");
            });
        }
        let slots = &mut self.connections;
        slots.push(sample);
        let lasts: Duration = slots.iter().map(|slot| slot.lasts).sum();
        if lasts >= self.interval || self.verbose {
            let line = fp_report::connections(slots);
            slots.clear();
            self.say(&line);
        }
    }

    /// What a slot says, on a line of its own or in the one that passes.
    fn say(&mut self, line: &str) {
        if self.passes { self.pass(Some(line)) } else { tell(&format!("    {line}")) }
    }

    /// How far the run is, the trial under way and what it carries; no more than a few times a second.
    fn pass(&mut self, carries: Option<&str>) {
        const SELDOM: Duration = Duration::from_millis(100);
        let now = clock::now();
        if now.since(self.passing.1) < SELDOM {
            return;
        }
        self.passing.1 = now;
        let elapsed = now.since(self.started);
        let whole =
            time_left::left().map(|left| format!(" of about {}", time_left::clock(elapsed + left)));
        let carries = carries.map_or_else(String::new, |carries| format!(" · {}", carries.trim()));
        let (elapsed, whole) = (time_left::clock(elapsed), whole.unwrap_or_default());
        tell_in_passing(&format!("{elapsed}{whole} · {}{carries}", self.passing.0));
    }

    fn sampled(&mut self, flow: usize, direction: Direction, sample: fp_model::Sample) {
        while self.slots.len() <= flow {
            self.slots.push((direction, Vec::new()));
        }
        let (_, slots) = &mut self.slots[flow];
        slots.push(sample);
        let lasts: Duration = slots.iter().map(|slot| slot.lasts).sum();
        if lasts >= self.interval || self.verbose {
            let line = fp_report::progress(direction, slots);
            slots.clear();
            self.say(&line);
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        clear();
    }
}

/// The screen that was asked for, where there is a terminal to take it of.
#[cfg(feature = "tui")]
fn screen(output: &OutputArgs) -> Option<view::Screen> {
    // Lines of JSON would run across it.
    let is_written_over = output.json_stream && std::io::stdout().is_terminal();
    if !output.tui || is_written_over || !is_drawable() {
        return None;
    }
    let opened = view::Screen::open(view::Palette::wanted(output.no_color));
    opened
        .inspect_err(|error| {
            tell(&format!("the terminal cannot be drawn on ({error}): lines instead"))
        })
        .ok()
}
