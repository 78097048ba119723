//! One direction of a service in a trial.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::figure::{
    Block, Cell, Chart, Column, Course, Drawn, Info, Kind, Pairs, Part, Row, Shown, Steps, Table,
    Unit, and, cells, infos,
};
use fp_model::{Direction, Rate};

use super::{Figures, TcpFigures, frames, tcp};
use crate::verdict::Status;
use crate::y1564::shortfall::{self, Shortfall};

/// One direction of one service in one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceStep {
    pub service: String,
    pub direction: Direction,
    pub offered: Offered,
    /// Planned rate at layer 2, of both colours together.
    pub offered_l2: Rate,
    pub measured: Measured,
    /// How far the tester kept to the plan.
    pub tester: Tester,
    /// Number of trials; one that the tester disturbed is repeated.
    pub tries: u32,
    pub status: Status,
    /// The acceptance criteria that were not met.
    pub shortfalls: Vec<Shortfall>,
}

/// How far the tester kept to the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tester {
    /// Frames not sent, in percent of the frames planned.
    pub unsent_percent: f64,
    /// Packets lost inside of the receiving host, of all services together.
    pub dropped_packets: u64,
    /// Longest time that a thread of either end was kept from running.
    pub longest_stall: Duration,
}

/// What was offered in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// A share of the CIR.
    Cir { percent: u32 },
    /// CIR and EIR.
    Eir,
    /// More than CIR and EIR.
    Policing,
    /// Bursts of the CBS.
    Cbs,
    /// Bursts of the EBS, in a service without colours behind such of the CBS.
    Ebs,
}

impl Offered {
    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cir { .. } => "cir",
            Self::Eir => "eir",
            Self::Policing => "policing",
            Self::Cbs => "cbs",
            Self::Ebs => "ebs",
        }
    }
}

impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cir { percent } => write!(f, "{percent} % of the CIR"),
            Self::Eir => f.write_str("CIR and EIR"),
            Self::Policing => f.write_str("policing"),
            Self::Cbs => f.write_str("CBS bursts"),
            Self::Ebs => f.write_str("EBS bursts"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    Frames {
        /// Green frames; all frames of a service without colours, yellow ones in the EBS step.
        judged: Figures,
        /// Yellow frames beside green ones.
        yellow: Option<Box<Figures>>,
    },
    Tcp(TcpFigures),
}

impl ServiceStep {
    /// As documents have it, as a step of one of the two kinds.
    pub(super) fn row(&self, kind: &'static Steps<Self>) -> Row {
        let cells = match &self.measured {
            Measured::Frames { judged, .. } => cells(frames::COLUMNS, judged).collect(),
            Measured::Tcp(tcp) => frames::no_cells().chain(cells(tcp::COLUMNS, tcp)).collect(),
        };
        kind.row_and(self, cells)
    }
}

pub static CONFIGURATION: Steps<ServiceStep> = Steps {
    kind: Kind {
        name: "y1564_configuration",
        title: "configuration",
        is_judged: false,
        main: MAIN,
        columns: INFOS,
        facts: |_| Vec::new(),
        blocks: &[
            Block::Table(&BY_ITSELF),
            Block::Table(&AVAILABILITY_BY_ITSELF),
            Block::Table(&YELLOW),
        ],
    },
    columns: COLUMNS,
};

pub static PERFORMANCE: Steps<ServiceStep> = Steps {
    kind: Kind {
        name: "y1564_performance",
        title: "performance",
        is_judged: false,
        main: MAIN,
        columns: INFOS,
        facts: |_| Vec::new(),
        blocks: &[
            Block::Table(&AT_ONCE),
            Block::Table(&SPANS),
            Block::Table(&AVAILABILITY),
            Block::Table(&CONNECTIONS),
            Block::Chart(Chart::Pairs(RECEIVED)),
            Block::Chart(Chart::Course(COURSE)),
        ],
    },
    columns: COLUMNS,
};

/// What came of each service through, beside what was offered.
const RECEIVED: Pairs = Pairs {
    caption: "Information rate of all services at once",
    layer: "l2",
    possible: "offered",
    reached: "received",
    names: "service",
    of: |row| row.pair(row.word("service").into(), "ir_bps", "offered_l2_bps"),
};

const COURSE: Course = Course {
    name: |row| Some(format!("{}, {}", row.word("service"), row.word("direction"))),
    most: usize::MAX,
    layer: |row| if is_tcp(row) { "l4" } else { "l2" },
    ideal: |row| {
        Some(match is_tcp(row) {
            true => Drawn { field: "ideal_bps", words: "what the CIR carries" },
            false => Drawn { field: "offered_l2_bps", words: "offered" },
        })
    },
    baseline_us: |_| None,
};

fn is_tcp(row: &Row) -> bool {
    row.number("throughput_bps").is_some()
}

const MAIN: &[&str] = &["throughput_bps", "ir_bps"];

static INFOS: &[Info] =
    &and::<_, _, 9, 43>(&and::<_, _, 20, 34>(&infos(COLUMNS), frames::INFOS), tcp::INFOS);

const COLUMNS: &[Column<ServiceStep>; 14] = &[
    Info::new("service", "service", Unit::Word).of(|step| step.service.clone().into()),
    Info::new("direction", "direction", Unit::Word).of(|step| step.direction.name().into()),
    Info::new("step", "step", Unit::Word).of(|step| step.offered.name().into()),
    Info::new("cir_percent", "of the CIR", Unit::Percent(0)).of(|step| match step.offered {
        Offered::Cir { percent } => percent.into(),
        Offered::Eir | Offered::Policing | Offered::Cbs | Offered::Ebs => Cell::Unknown,
    }),
    Info::new("offered_l2_bps", "offered (l2)", Unit::Rate).of(|step| step.offered_l2.into()),
    // Unknown where the tester disturbed the step.
    Info::new("pass", "passed", Unit::Flag).of(|step| step.status.is_met().into()),
    Info::new("status", "status", Unit::Word).of(|step| step.status.name().into()),
    Info::new("failures", "missed", Unit::Parts(shortfall::INFOS))
        .of(|step| Cell::parts(shortfall::INFOS, shortfall::COLUMNS, &step.shortfalls)),
    Info::new("tries", "trials", Unit::Count).of(|step| step.tries.into()),
    Info::new("unsent_percent", "not sent", Unit::Percent(2))
        .of(|step| step.tester.unsent_percent.into()),
    Info::new("tester_drops", "dropped by the tester", Unit::Count)
        .of(|step| step.tester.dropped_packets.into()),
    Info::new("tester_stall_ms", "the tester's longest stall", Unit::Milliseconds)
        .of(|step| Cell::ms(step.tester.longest_stall)),
    Info::new("yellow", "yellow frames", Unit::Part(frames::COLOUR)).of(|step| {
        match &step.measured {
            Measured::Frames { yellow, .. } => {
                yellow.as_ref().map(|yellow| Cell::Part(Box::new(frames::colour(yellow)))).into()
            }
            Measured::Tcp(_) => Cell::Absent,
        }
    }),
    frames::SERIES.of(|step| match &step.measured {
        Measured::Frames { judged, .. } => judged.series.as_slice().into(),
        Measured::Tcp(tcp) => tcp.series.as_slice().into(),
    }),
];

const SERVICE: Shown = Shown::Field("service");
const STEP: Shown = Shown::Words("step", offered);
const DIRECTION: Shown = Shown::Field("direction");

const JUDGED: [Shown; 7] = [
    DIRECTION,
    Shown::Field("offered_l2_bps"),
    Shown::Figure("IR (l2)", |row| match row.number("throughput_bps") {
        Some(_) => format!("{} l4", row.shown("throughput_bps")),
        None => row.shown("ir_bps"),
    }),
    Shown::As("flr", "FLR"),
    Shown::Figure("FTD", |row| row.one_way("ftd_ms", "ftd_error_ms")),
    Shown::As("fdv_ms", "FDV"),
    Shown::Result,
];

const AVAILABLE: [Shown; 4] = [
    DIRECTION,
    Shown::As("availability_percent", "available"),
    Shown::Field("unavailable_s"),
    Shown::Field("severely_errored_s"),
];

static BY_ITSELF: Table = Table {
    caption: |row| format!("{}, by itself", row.word("service")),
    rows: Row::alone,
    columns: &and::<_, _, 7, 8>(&[STEP], &JUDGED),
    note: |_| String::new(),
};

/// What was offered, as people say it.
fn offered(row: &Row) -> String {
    match row.word("step") {
        "cir" => format!("{} CIR", row.shown("cir_percent")),
        "eir" => "CIR + EIR".into(),
        "policing" => "policing".into(),
        bucket => bucket.to_uppercase(),
    }
}

static YELLOW: Table = Table {
    caption: |row| format!("{}, by itself: yellow frames", row.word("service")),
    rows: |row| row.when(row.part("yellow").is_some()),
    columns: &[
        STEP,
        DIRECTION,
        Shown::Figure("IR (l2)", |row| of_yellow(row, |yellow| yellow.shown("ir_bps"))),
        Shown::Figure("FLR", |row| of_yellow(row, |yellow| yellow.shown("flr"))),
        Shown::Figure("FTD", |row| {
            of_yellow(row, |yellow| yellow.one_way("ftd_ms", "ftd_error_ms"))
        }),
        Shown::Figure("FDV", |row| of_yellow(row, |yellow| yellow.shown("fdv_ms"))),
    ],
    note: |_| "Yellow frames, which go beyond the CIR, have no criteria.".into(),
};

fn of_yellow(row: &Row, text: fn(&Part) -> String) -> String {
    row.part("yellow").map_or_else(String::new, text)
}

static AT_ONCE: Table = Table {
    caption: |_| "All services at once".into(),
    rows: Row::alone,
    columns: &and::<_, _, 7, 8>(&[SERVICE], &JUDGED),
    note: |_| {
        "IR: information rate. FLR: frame loss ratio. FTD: frame transfer delay, one way, mean. FDV: frame delay \
         variation. Loss counts in available time only."
            .into()
    },
};

static SPANS: Table = Table {
    caption: |_| "All services at once: how far they varied".into(),
    rows: |row| row.when(row.number("ulr_l1_bps").is_some()),
    columns: &[
        SERVICE,
        DIRECTION,
        Shown::Figure("IR (l2)", |row| {
            format!("{} … {}", row.shown("ir_min_bps"), row.shown("ir_max_bps"))
        }),
        Shown::Field("ulr_l1_bps"),
        Shown::Figure("FTD", |row| {
            let [min, max, error] =
                ["ftd_min_ms", "ftd_max_ms", "ftd_error_ms"].map(|field| row.shown(field));
            format!("{min} … {max} ± {error}")
        }),
    ],
    note: |_| {
        "IR: the slowest and the fastest second. ULR: utilized line rate, the same frames with preamble and gap. \
         Delays are known to what the two clocks agree to."
            .into()
    },
};

static AVAILABILITY_BY_ITSELF: Table = Table {
    caption: |row| format!("{}, by itself: availability", row.word("service")),
    rows: available,
    columns: &and::<_, _, 4, 5>(&[STEP], &AVAILABLE),
    note: |_| String::new(),
};

fn available(row: &Row) -> Vec<Row> {
    row.when(row.number("availability_percent").is_some())
}

static AVAILABILITY: Table = Table {
    caption: |_| "All services at once: availability".into(),
    rows: available,
    columns: &and::<_, _, 4, 5>(&[SERVICE], &AVAILABLE),
    note: |_| {
        "Ten severely errored seconds in a row, with more than half of their frames lost, begin unavailable time."
            .into()
    },
};

static CONNECTIONS: Table = Table {
    caption: |_| "All services at once: TCP".into(),
    rows: |row| row.when(row.number("throughput_bps").is_some()),
    columns: &[
        SERVICE,
        DIRECTION,
        Shown::Figure("connections × window", |row| {
            format!("{} × {}", row.grouped("connections"), row.grouped("window_bytes"))
        }),
        Shown::Field("throughput_bps"),
        Shown::Field("ideal_bps"),
        Shown::Field("share_percent"),
        Shown::Field("efficiency_percent"),
        Shown::Field("rtt_mean_ms"),
    ],
    note: |_| String::new(),
};
