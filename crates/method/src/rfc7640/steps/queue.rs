//! A queue, and several by class.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use fp_model::figure::{
    Better, Block, Cell, Column, Info, Kind, Row, Shown, Steps, Table, Unit, infos,
};
use fp_model::{Direction, Dscp, Rate};

use super::stateful::{self, PATTERNS, Stateful};
use super::stateless::{self, BURSTS, Stateless};
use super::{
    BANDWIDTH, BSA, DIRECTION, DSCP, FRAME, Hunt, QUEUE_BYTES, SCHEDULER_NAME, hunt, title,
};

/// Section 6.2.1 with one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueStep {
    pub direction: Direction,
    pub frame_bytes: u32,
    pub queue_bytes: u64,
    pub bandwidth_l2: Rate,
    pub stateless: Stateless,
    pub hunt: Hunt,
    pub stateful: Vec<Stateful>,
}

/// Section 6.2.1 with a queue for each class.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulerStep {
    pub direction: Direction,
    pub scheduler: &'static str,
    pub frame_bytes: u32,
    pub queue_bytes: u64,
    pub bandwidth_l2: Rate,
    pub classes: Vec<ClassStep>,
    pub stateful: Vec<Stateful>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClassStep {
    pub dscp: Dscp,
    pub weight: u32,
    pub stateless: Stateless,
    /// Share of the frames received while every class had frames queued, in percent.
    pub share_percent: Option<f64>,
    pub expected_share_percent: f64,
}

pub static QUEUE: Steps<QueueStep> = Steps {
    kind: Kind {
        name: "rfc7640_queue",
        title: "queue",
        is_judged: true,
        main: &["bsa_bytes"],
        columns: &infos(QUEUES),
        facts: |row| {
            let queue = Some(("queue", format!("{}, fifo", asked(row, ""))));
            [queue, hunt::fact(row)].into_iter().flatten().collect()
        },
        blocks: &[Block::Table(&BURSTS), Block::Table(&PATTERNS)],
    },
    columns: QUEUES,
};

const QUEUES: &[Column<QueueStep>; 9] = &[
    DIRECTION.of(|step| step.direction.name().into()),
    SCHEDULER_NAME.of(|_| "fifo".into()),
    FRAME.of(|step| step.frame_bytes.into()),
    QUEUE_BYTES.of(|step| step.queue_bytes.into()),
    BANDWIDTH.of(|step| step.bandwidth_l2.into()),
    Info::new("stateless", "bursts", Unit::Part(stateless::INFOS))
        .of(|step| stateless::cell(&step.stateless)),
    Info::new("hunt", "burst hunt", Unit::Part(hunt::INFOS)).of(|step| hunt::cell(&step.hunt)),
    BSA.better(Better::Neither).of(|step| step.hunt.bsa_bytes.into()),
    Info::new("stateful", "TCP patterns", Unit::Parts(stateful::INFOS))
        .of(|step| stateful::cell(&step.stateful)),
];

pub static SCHEDULER: Steps<SchedulerStep> = Steps {
    kind: Kind {
        name: "rfc7640_scheduler",
        title: "scheduler",
        is_judged: true,
        main: &[],
        columns: &infos(SCHEDULERS),
        facts: |row| {
            let asked = asked(row, " for each class");
            [("scheduler", format!("{}, {asked}", row.word("scheduler")))].into()
        },
        blocks: &[Block::Table(&BURSTS), Block::Table(&SHARES), Block::Table(&PATTERNS)],
    },
    columns: SCHEDULERS,
};

const SCHEDULERS: &[Column<SchedulerStep>; 7] = &[
    DIRECTION.of(|step| step.direction.name().into()),
    SCHEDULER_NAME.of(|step| step.scheduler.into()),
    FRAME.of(|step| step.frame_bytes.into()),
    QUEUE_BYTES.of(|step| step.queue_bytes.into()),
    BANDWIDTH.of(|step| step.bandwidth_l2.into()),
    Info::new("classes", "classes", Unit::Parts(CLASSES))
        .of(|step| Cell::parts(CLASSES, CLASS, &step.classes)),
    Info::new("stateful", "TCP patterns", Unit::Parts(stateful::INFOS))
        .of(|step| stateful::cell(&step.stateful)),
];

static CLASSES: &[Info] = &infos(CLASS);
const CLASS: &[Column<ClassStep>; 5] = &[
    DSCP.of(|class| class.dscp.into()),
    Info::new("weight", "weight", Unit::Count).of(|class| class.weight.into()),
    Info::new("share_percent", "share", Unit::Percent(1)).of(|class| class.share_percent.into()),
    Info::new("expected_share_percent", "expected", Unit::Percent(1))
        .of(|class| class.expected_share_percent.into()),
    Info::new("stateless", "bursts", Unit::Part(stateless::INFOS))
        .of(|class| stateless::cell(&class.stateless)),
];

/// What was configured.
fn asked(row: &Row, of: &str) -> String {
    let [queue, bandwidth, frame] =
        ["queue_bytes", "bandwidth_l2_bps", "frame_bytes"].map(|field| row.shown(field));
    format!("{queue}{of} in front of {bandwidth} l2, frames of {frame}")
}

static SHARES: Table = Table {
    caption: |row| title(row, "shares"),
    rows: |row| row.each("classes"),
    columns: &[
        Shown::Field("dscp"),
        Shown::Field("weight"),
        Shown::Field("share_percent"),
        Shown::Field("expected_share_percent"),
    ],
    note: |_| "Of the frames that arrived while every class had some waiting.".into(),
};
