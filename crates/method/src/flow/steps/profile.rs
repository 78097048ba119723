//! How a rate profile was followed.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::figure::series::{DT, T};
use fp_model::figure::{
    Better, Block, Cell, Chart, Column, Drawn, Followed, Info, Kind, Row, Shown, Steps, Table,
    Unit, infos,
};
use fp_model::{Direction, Rate};

/// How the flows of a direction followed a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileStep {
    pub profile: String,
    pub direction: Direction,
    pub streams: u32,
    pub intervals: Vec<Interval>,
    /// One-way delay, by which the receiver's intervals begin later than the sender's.
    pub delay: Duration,
    /// Root mean square of received less target rate, in percent of the mean target rate.
    pub tracking_error_percent: Option<f64>,
    /// The same of the rate sent.
    pub sent_error_percent: Option<f64>,
    pub limit: Limit,
}

/// One interval of a profile; rates of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub at: Duration,
    pub lasts: Duration,
    pub target_l4: Rate,
    pub sent_l4: Rate,
    pub received_l4: Rate,
}

/// What kept flows from following a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nothing: it was followed.
    Followed,
    /// The receive window: no more than one per round trip can be sent.
    Window {
        limit_l4: Rate,
    },
    /// A rate limit in the path that drops packets: the first retransmission was at `from`, after the start of the
    /// trial; `limit_l4` is the median rate received where the target was higher, `window_l4` the rate that the
    /// windows allow.
    RateLimit {
        from: Option<Duration>,
        limit_l4: Rate,
        window_l4: Option<Rate>,
    },
    /// The line: nothing was dropped, and this is the highest rate received.
    Line {
        limit_l4: Rate,
    },
    /// The tester did not send what was due.
    Tester,
    Unknown,
}

impl Limit {
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Followed => "followed",
            Self::Window { .. } => "window",
            Self::RateLimit { .. } => "rate_limit",
            Self::Line { .. } => "line",
            Self::Tester => "tester",
            Self::Unknown => "unknown",
        }
    }
}

pub static PROFILE: Steps<ProfileStep> = Steps {
    kind: Kind {
        name: "profile",
        title: "profile",
        is_judged: false,
        main: &["tracking_error_percent"],
        columns: &infos(COLUMNS),
        facts: |_| Vec::new(),
        blocks: &[Block::Table(&TABLE), Block::Chart(Chart::Followed(FOLLOWED))],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<ProfileStep>; 9] = &[
    Info::new("profile", "profile", Unit::Word).of(|step| step.profile.clone().into()),
    Info::new("direction", "direction", Unit::Word).of(|step| step.direction.name().into()),
    Info::new("streams", "flows", Unit::Count).of(|step| step.streams.into()),
    Info::new("layer", "layer", Unit::Word).of(|_| "l4".into()),
    Info::new("delay_ms", "delay", Unit::Milliseconds).of(|step| Cell::ms(step.delay)),
    Info::new("tracking_error_percent", "tracking error", Unit::Percent(2))
        .better(Better::Lower)
        .of(|step| step.tracking_error_percent.into()),
    Info::new("sent_tracking_error_percent", "of the sender", Unit::Percent(2))
        .of(|step| step.sent_error_percent.into()),
    Info::new("limit", "what kept it from following", Unit::Part(LIMIT))
        .of(|step| Cell::part(LIMIT, LIMITS, &step.limit)),
    Info::new("intervals", "intervals", Unit::Parts(INTERVAL))
        .of(|step| Cell::parts(INTERVAL, INTERVALS, &step.intervals)),
];

static LIMIT: &[Info] = &infos(LIMITS);
const LIMITS: &[Column<Limit>; 4] = &[
    Info::new("kind", "kind", Unit::Word).of(|limit| limit.code().into()),
    Info::new("limit_bps", "limit (l4)", Unit::Rate).of(|limit| match limit {
        Limit::Window { limit_l4 }
        | Limit::Line { limit_l4 }
        | Limit::RateLimit { limit_l4, .. } => (*limit_l4).into(),
        Limit::Followed | Limit::Tester | Limit::Unknown => Cell::Absent,
    }),
    Info::new("from_s", "from", Unit::Seconds).of(|limit| match limit {
        Limit::RateLimit { from, .. } => from.map(Cell::s).into(),
        _ => Cell::Absent,
    }),
    Info::new("window_bps", "what its windows carry (l4)", Unit::Rate).of(|limit| match limit {
        Limit::RateLimit { window_l4, .. } => (*window_l4).into(),
        _ => Cell::Absent,
    }),
];

static INTERVAL: &[Info] = &infos(INTERVALS);
const INTERVALS: &[Column<Interval>; 5] = &[
    T.of(|interval| Cell::s(interval.at)),
    DT.of(|interval| Cell::s(interval.lasts)),
    Info::new("target_bps", "target (l4)", Unit::Rate).of(|interval| interval.target_l4.into()),
    Info::new("sent_bps", "sent (l4)", Unit::Rate).of(|interval| interval.sent_l4.into()),
    Info::new("received_bps", "received (l4)", Unit::Rate)
        .of(|interval| interval.received_l4.into()),
];

const FOLLOWED: Followed = Followed {
    name: |row| format!("{}, {}", row.word("profile"), row.word("direction")),
    intervals: "intervals",
    rates: [
        Drawn { field: "target_bps", words: "target" },
        Drawn { field: "sent_bps", words: "sent" },
        Drawn { field: "received_bps", words: "received" },
    ],
    error: Drawn { field: "tracking_error_percent", words: "tracking error" },
};

static TABLE: Table = Table {
    caption: |_| "Profile".into(),
    rows: Row::alone,
    columns: &[
        Shown::Field("profile"),
        Shown::Field("direction"),
        Shown::Field("streams"),
        Shown::Field("tracking_error_percent"),
        Shown::Field("sent_tracking_error_percent"),
        Shown::Words("what kept it from following", limit),
    ],
    note: |_| {
        "Tracking error: root mean square of received less target rate, as a share of the mean target rate."
            .into()
    },
};

fn limit(row: &Row) -> String {
    let Some(limit) = row.part("limit") else { return String::new() };
    let at = limit.shown("limit_bps");
    match limit.word("kind") {
        "followed" => "nothing: it was followed".into(),
        "window" => format!("its window, at {at}"),
        "line" => format!("the line, at {at}"),
        "rate_limit" => format!("a rate limit in the path, at {at}"),
        "tester" => "the tester".into(),
        _ => "not known".into(),
    }
}
