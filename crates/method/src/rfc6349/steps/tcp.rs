//! A direction of a TCP trial.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::figure::{
    Better, Block, Cell, Chart, Column, Course, Drawn, Info, Kind, Known, Pairs, Row, SLOT, Shown,
    Spread, Steps, Table, Unit, and, capital, infos,
};
use fp_model::{ConnectionReport, Direction, Rate, Sample, Sender};

use crate::formula::metrics;
use crate::path;
use crate::rfc6349::steady::Settled;
use crate::{connection, metric};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Walk,
    Throughput,
}

/// One direction of one TCP trial, RFC 6349 sections 3.3 and 4.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpStep {
    pub direction: Direction,
    /// The other direction was loaded in the same trial.
    pub bidirectional: bool,
    pub role: Role,
    /// Of the windows that fill the path.
    pub window_fraction: f64,
    pub connections: u32,
    pub window_bytes: u64,
    pub bdp_bytes: u64,
    pub sender: Sender,
    pub congestion_control: String,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// Of each connection, where the tester paces them since no window is small enough.
    pub pacing: Option<Rate>,
    pub good_bytes: u64,
    /// `None` where the sender does not tell.
    pub transmitted_bytes: Option<u64>,
    pub retransmitted_bytes: Option<u64>,
    pub transfer: Duration,
    pub throughput_l4: Rate,
    /// What full segments carry at the bottleneck, with the headers really used; of both directions
    /// at once what both links carry in the proportion that was found.
    pub ideal_l4: Rate,
    /// With 40 bytes of headers, as the RFC has it.
    pub ideal_strict_l4: Rate,
    pub judged: Box<Judged>,
    pub transfer_time_ratio: Option<f64>,
    pub efficiency_percent: Option<f64>,
    pub buffer_delay_percent: Option<f64>,
    pub rtt_mean: Option<Duration>,
    /// Slots of the steady time; their sums are the totals above.
    pub series: Vec<Sample>,
    pub flows: Vec<Connection>,
}

impl TcpStep {
    /// Share of what the step could carry, as a part of 100.
    pub fn share_percent(&self) -> f64 {
        100.0 * self.throughput_l4.as_bps() as f64 / self.measure_l4().as_bps().max(1) as f64
    }

    /// What the throughput is a share of: in a walk, whose windows need not fill the path, what those
    /// windows carry; else the ideal.
    pub const fn measure_l4(&self) -> Rate {
        match self.role {
            Role::Walk => self.judged.windows_l4,
            Role::Throughput => self.ideal_l4,
        }
    }

    pub(in crate::rfc6349) fn part_of_ideal(&self, rate: Rate) -> f64 {
        rate.as_bps() as f64 / self.ideal_l4.as_bps().max(1) as f64
    }

    /// What was sold as a part of the ideal; 1 if nothing was sold, as the ideal is then the measure.
    pub(in crate::rfc6349) fn part_sold(&self) -> f64 {
        self.judged.sold_l4.map_or(1.0, |sold| self.part_of_ideal(sold))
    }

    /// How much longer than on the idle path the mean round trip took.
    pub fn buffer_delay(&self) -> Option<Duration> {
        let (rtt, percent) = (self.rtt_mean?, self.buffer_delay_percent?);
        Some(rtt.mul_f64((percent / (100.0 + percent)).clamp(0.0, 1.0)))
    }

    /// What the round trip under load is worth to whoever uses the path meanwhile; `None` of windows that
    /// do not fill it.
    pub fn buffer_delay_grade(&self) -> Option<&'static str> {
        self.buffer_delay().filter(|_| self.window_fraction >= 1.0).map(metrics::grade)
    }

    /// The largest window that any of the connections was given.
    pub fn window_effective_bytes(&self) -> Option<u64> {
        self.flows.iter().filter_map(|flow| flow.report.window_effective_bytes).max()
    }
}

/// What a trial is judged by beside its throughput.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Between these lies the throughput in 95 of 100 cases; `None` where the trial is too short to
    /// tell.
    pub throughput_l4_bounds: Option<[Rate; 2]>,
    /// What the windows carry on a path that is as it was found, up to the ideal.
    pub windows_l4: Rate,
    /// The same where acknowledgements take as long as they can: behind the data of the other
    /// direction, through a slower link, or kept back by a receiver that jitter confuses.
    pub assured_l4: Rate,
    /// The ideal if as much passes at once as may.
    pub possible_l4: Rate,
    /// Between these lies the ideal, as far as the bottleneck is known: at most `None` where nothing bounds
    /// that.
    pub ideal_l4_bounds: (Rate, Option<Rate>),
    /// The payload rate of this trial on a path of the rate that was sold; above the ideal if the path
    /// carries less than was sold. `None` if no rate was given.
    pub sold_l4: Option<Rate>,
    /// The committed burst size, in bytes of layer 2 frames, that lets all windows through at once;
    /// `None` unless the bottleneck is a policer.
    pub needed_cbs_bytes: Option<u64>,
    /// With both directions loaded: the same share of what each carries alone.
    pub even_l4: Option<Rate>,
    /// The interval of the share of the ideal, in percent, as far as that of the throughput is known.
    pub share_percent_bounds: Option<[f64; 2]>,
    pub settled: Settled,
    /// How long a trial that lost segments has to be.
    pub settles_in: Duration,
}

/// One connection with its metrics, RFC 6349 section 5.1.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    pub report: ConnectionReport,
    pub throughput_l4: Rate,
    pub transfer_time_ratio: Option<f64>,
    pub efficiency_percent: Option<f64>,
    pub buffer_delay_percent: Option<f64>,
}

//= rfc6349 5.2
pub static TCP: Steps<TcpStep> = Steps {
    kind: Kind {
        name: "tcp",
        title: "TCP",
        is_judged: true,
        main: &["throughput_bps"],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        blocks: &[
            Block::Table(&WALK),
            Block::Chart(Chart::Pairs(WALKED)),
            Block::Table(&THROUGHPUT),
            Block::Table(&METRICS),
            Block::Chart(Chart::Course(COURSE)),
        ],
    },
    columns: COLUMNS,
};

/// The transfer time ratio and the buffer delay follow from the throughput and the RTT beside what the path
/// allows: they say nothing of a change that these do not say.
const COLUMNS: &[Column<TcpStep>; 32] = &[
    Info::new("direction", "direction", Unit::Word).of(|step| match step.bidirectional {
        true => "bidirectional".into(),
        false => step.direction.name().into(),
    }),
    Info::new("flow_direction", "direction", Unit::Word).of(|step| step.direction.name().into()),
    Info::new("role", "role", Unit::Word).of(|step| match step.role {
        Role::Walk => "walk".into(),
        Role::Throughput => "throughput".into(),
    }),
    Info::new("window_fraction", "of the path's window", Unit::Share(0))
        .of(|step| step.window_fraction.into()),
    Info::new("connections", "connections", Unit::Count).of(|step| step.connections.into()),
    Info::new("window_bytes", "window", Unit::Bytes).of(|step| step.window_bytes.into()),
    Info::new("window_effective_bytes", "window given", Unit::Bytes)
        .of(|step| step.window_effective_bytes().into()),
    Info::new("bdp_bytes", "BDP", Unit::Bytes).of(|step| step.bdp_bytes.into()),
    Info::new("sender", "sender", Unit::Word).of(|step| step.sender.to_string().into()),
    Info::new("congestion_control", "control", Unit::Word)
        .of(|step| step.congestion_control.clone().into()),
    Info::new("mss_bytes", "MSS", Unit::Bytes).of(|step| step.mss_bytes.into()),
    Info::new("paced_bps", "pacing of a connection", Unit::Rate).of(|step| step.pacing.into()),
    Info::new("good_bytes", "payload", Unit::Bytes).of(|step| step.good_bytes.into()),
    Info::new("transmitted_bytes", "transmitted", Unit::Bytes)
        .of(|step| step.transmitted_bytes.into()),
    Info::new("retransmitted_bytes", "retransmitted", Unit::Bytes)
        .metric(metric::RETRANSMITTED)
        .of(|step| step.retransmitted_bytes.into()),
    Info::new("transfer_s", "took", Unit::Seconds).of(|step| Cell::s(step.transfer)),
    Info::new("throughput_bps", "throughput (l4)", Unit::Rate)
        .better(Better::Higher)
        .spread(Spread::Throughput)
        .interval()
        .metric(metric::THROUGHPUT_L4)
        .of(|step| Known::within(step.throughput_l4, step.judged.throughput_l4_bounds).into()),
    Info::new("share_percent", "share", Unit::Percent(1))
        .interval()
        .of(|step| Known::within(step.share_percent(), step.judged.share_percent_bounds).into()),
    Info::new("sold_bps", "sold (l4)", Unit::Rate).of(|step| step.judged.sold_l4.into()),
    Info::new("needed_cbs_bytes", "CBS that the windows need", Unit::Bytes)
        .of(|step| step.judged.needed_cbs_bytes.into()),
    Info::new("ideal_bps", "ideal", Unit::Rate).interval().metric(metric::PATH_IDEAL_L4).of(
        |step| {
            let (at_least, at_most) = step.judged.ideal_l4_bounds;
            Known { value: step.ideal_l4, at_least: Some(at_least), at_most }.into()
        },
    ),
    Info::new("ideal_windows_bps", "ideal of the windows", Unit::Rate)
        .of(|step| step.judged.windows_l4.into()),
    Info::new("ideal_even_bps", "ideal of even shares", Unit::Rate)
        .of(|step| step.judged.even_l4.into()),
    Info::new("ideal_rfc6349_bps", "ideal as in RFC 6349", Unit::Rate)
        .of(|step| step.ideal_strict_l4.into()),
    Info::new("transfer_time_ratio", "transfer time ratio", Unit::Number(3))
        .of(|step| step.transfer_time_ratio.into()),
    Info::new("efficiency_percent", "efficiency", Unit::Percent(2))
        .better(Better::Higher)
        .metric(metric::TCP_EFFICIENCY)
        .of(|step| step.efficiency_percent.into()),
    Info::new("buffer_delay_percent", "buffer delay", Unit::Percent(1))
        .metric(metric::BUFFER_DELAY)
        .of(|step| step.buffer_delay_percent.into()),
    Info::new("buffer_delay_ms", "buffer delay", Unit::Milliseconds)
        .of(|step| step.buffer_delay().map(Cell::ms).into()),
    Info::new("buffer_delay_grade", "grade of the buffer delay", Unit::Word)
        .of(|step| step.buffer_delay_grade().into()),
    Info::new("rtt_mean_ms", "RTT", Unit::Milliseconds)
        .better(Better::Lower)
        .spread(Spread::Rtt)
        .metric(metric::RTT_MEAN)
        .of(|step| step.rtt_mean.map(Cell::ms).into()),
    Info::new("flows", "connections", Unit::Parts(FLOW)).of(|step| {
        let part = |flow: &Connection| connection::part(FLOW, &flow.report, (CONNECTION, flow));
        Cell::Parts(step.flows.iter().map(part).collect())
    }),
    Info::new("series", "course", Unit::Series(SLOT)).of(|step| step.series.as_slice().into()),
];

/// What the windows of each step of the walk carried, beside what they could.
const WALKED: Pairs = Pairs {
    caption: "Window walk",
    layer: "l4",
    possible: "ideal",
    reached: "measured",
    names: "connections × window (bytes)",
    of: |row| {
        let name = || format!("{} × {}", row.grouped("connections"), row.grouped("window_bytes"));
        let is_walk = row.word("role") == "walk";
        is_walk.then(|| row.pair(name(), "throughput_bps", allowed(row))).flatten()
    },
};

const COURSE: Course = Course {
    name: |row| {
        let both =
            if row.word("direction") == "bidirectional" { ", both directions loaded" } else { "" };
        let [direction, sender] = ["flow_direction", "sender"].map(|field| row.word(field));
        let is_shown = row.word("role") == "throughput";
        is_shown.then(|| format!("{}{both}, {sender} sender", capital(direction)))
    },
    most: usize::MAX,
    layer: |_| "l4",
    ideal: |_| Some(Drawn { field: "ideal_bps", words: "ideal" }),
    baseline_us: path::rtt_us,
};

static WALK: Table = Table {
    caption: |row| sent("Window walk", row.word("sender"), row),
    rows: |row| row.when(row.word("role") == "walk"),
    columns: &[
        Shown::Field("flow_direction"),
        Shown::As("window_fraction", "window"),
        Shown::Field("connections"),
        Shown::As("window_bytes", "of each"),
        Shown::Bar(
            "throughput of ideal",
            |row| row.beside("throughput_bps", allowed(row)),
            |row| row.both("throughput_bps", allowed(row)),
        ),
        Shown::Figure("share", |row| row.share("throughput_bps", allowed(row))),
        Shown::Result,
    ],
    note: |_| {
        "Connections whose windows together are a quarter, half, three quarters and all of what \
           fills the path. Less than the ideal at a small window points at loss or delay."
            .into()
    },
};

/// The name of a table with how its trials were sent, as far as that is known.
fn sent(name: &str, sender: &str, row: &Row) -> String {
    let sender = if sender.is_empty() { String::new() } else { format!("{sender} sender") };
    let parts = [name.into(), sender, row.word("congestion_control").into()];
    let known: Vec<String> = parts.into_iter().filter(|part: &String| !part.is_empty()).collect();
    known.join(", ")
}

/// What the windows of a step of the walk allow; an older result has it as the ideal.
fn allowed(row: &Row) -> &'static str {
    if row.number("ideal_windows_bps").is_some() { "ideal_windows_bps" } else { "ideal_bps" }
}

static THROUGHPUT: Table = Table {
    caption: |row| sent("TCP throughput", "", row),
    rows: |row| row.when(row.word("role") == "throughput"),
    columns: &[
        LOADED,
        Shown::Field("sender"),
        Shown::Figure("connections × window", |row| {
            format!("{} × {}", row.grouped("connections"), row.grouped("window_bytes"))
        }),
        Shown::Figure("throughput of ideal", |row| row.beside("throughput_bps", "ideal_bps")),
        Shown::Figure("share", |row| row.share("throughput_bps", "ideal_bps")),
        Shown::Result,
    ],
    note: |_| {
        "A bulk sender always has more to send; a burst sender writes a window when the one before is \
         acknowledged. With both directions loaded the share is that of the fuller link, acknowledgements \
         included."
            .into()
    },
};

const LOADED: Shown = Shown::Words("direction", |row| match row.word("direction") {
    "bidirectional" => format!("both: {}", row.word("flow_direction")),
    direction => direction.into(),
});

//= rfc6349 4.3
static METRICS: Table = Table {
    caption: |_| "TCP metrics".into(),
    rows: |row| row.when(row.word("role") == "throughput"),
    columns: &[
        LOADED,
        Shown::Field("sender"),
        Shown::As("transfer_time_ratio", "TTR"),
        Shown::Field("efficiency_percent"),
        Shown::Figure("buffer delay", buffer_delay),
        Shown::Field("rtt_mean_ms"),
        Shown::Field("retransmitted_bytes"),
        Shown::As("ideal_even_bps", "even share"),
    ],
    note: |_| {
        "TTR: transfer time ratio, how much longer than ideal. Efficiency: what share of the bytes was not \
         retransmitted. Buffer delay: how much the RTT grew under load, with the grade of that from A+ (below 5 ms) \
         to F (400 ms and more) where the windows fill the path. Even share: what a direction could have had \
         beside the other."
            .into()
    },
};

/// In percent of a result from before it was kept in milliseconds.
fn buffer_delay(row: &Row) -> String {
    if row.number("buffer_delay_ms").is_none() {
        return row.shown("buffer_delay_percent");
    }
    let delay = format!("{} {}", row.shown("buffer_delay_ms"), row.word("buffer_delay_grade"));
    delay.trim_end().into()
}

const CONNECTION: &[Column<Connection>; 4] = &[
    Info::new("throughput_bps", "throughput (l4)", Unit::Rate).of(|flow| flow.throughput_l4.into()),
    Info::new("transfer_time_ratio", "transfer time ratio", Unit::Number(3))
        .of(|flow| flow.transfer_time_ratio.into()),
    Info::new("efficiency_percent", "efficiency", Unit::Percent(2))
        .of(|flow| flow.efficiency_percent.into()),
    Info::new("buffer_delay_percent", "buffer delay", Unit::Percent(1))
        .of(|flow| flow.buffer_delay_percent.into()),
];

static FLOW: &[Info] = &and::<_, _, 4, 15>(connection::INFOS, &infos(CONNECTION));
