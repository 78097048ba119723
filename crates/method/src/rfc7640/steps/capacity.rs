//! Several policers and shapers of a port at once.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use fp_model::figure::{Block, Cell, Column, Info, Kind, Row, Shown, Steps, Table, Unit, infos};
use fp_model::{Direction, Dscp};

use super::policer::{CBS, CIR, EBS, EIR};
use super::shaper::{self, BC, BE, RATE, Trains};
use super::stateless::{self, BURSTS, Stateless};
use super::{BSA, DIRECTION, DSCP, FRAME, Hunt, QUEUE_BYTES, committed, hunt, shaped, title};
use crate::rfc7640::{Device, PolicerPlan, ShaperPlan};

/// Sections 6.1.2, 6.3.2 and 6.4: what was found of each class while all of them were tested.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityStep {
    pub direction: Direction,
    pub frame_bytes: u32,
    pub classes: Vec<CapacityClass>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CapacityClass {
    pub dscp: Dscp,
    pub device: Device,
    /// Bursts no larger than the buckets or the queue.
    pub compliant: Stateless,
    /// Bursts larger than a policer lets pass while the bursts of all classes last; `None` of shapers, and where the
    /// policers together are as fast as the line.
    pub excess: Option<Stateless>,
    /// Of a policer.
    pub hunt: Option<Hunt>,
    /// Of a shaper.
    pub trains: Option<Trains>,
}

pub static CAPACITY: Steps<CapacityStep> = Steps {
    kind: Kind {
        name: "rfc7640_capacity",
        title: "capacity",
        is_judged: true,
        main: &[],
        columns: &infos(COLUMNS),
        facts: |row| {
            let count = row.parts("classes").len();
            let frame = row.shown("frame_bytes");
            [("capacity", format!("{count} classes at once, frames of {frame}"))].into()
        },
        blocks: &[Block::Table(&BURSTS), Block::Table(&DEVICES)],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<CapacityStep>; 3] = &[
    DIRECTION.of(|step| step.direction.name().into()),
    FRAME.of(|step| step.frame_bytes.into()),
    Info::new("classes", "classes", Unit::Parts(CLASSES))
        .of(|step| Cell::parts(CLASSES, CLASS, &step.classes)),
];

static CLASSES: &[Info] = &infos(CLASS);
const CLASS: &[Column<CapacityClass>; 7] = &[
    DSCP.of(|class| class.dscp.into()),
    Info::new("device", "device", Unit::Part(DEVICE))
        .of(|class| Cell::part(DEVICE, DEVICE_OF, &class.device)),
    Info::new("compliant", "compliant", Unit::Part(stateless::INFOS))
        .of(|class| stateless::cell(&class.compliant)),
    Info::new("excess", "in excess", Unit::Part(stateless::INFOS))
        .of(|class| class.excess.as_ref().map(stateless::cell).into()),
    Info::new("hunt", "burst hunt", Unit::Part(hunt::INFOS))
        .of(|class| class.hunt.as_ref().map(hunt::cell).into()),
    BSA.of(|class| class.hunt.as_ref().and_then(|hunt| hunt.bsa_bytes).into()),
    Info::new("trains", "trains", Unit::Part(shaper::TRAINS))
        .of(|class| class.trains.as_ref().map(shaper::trains_cell).into()),
];

static DEVICE: &[Info] = &infos(DEVICE_OF);
const DEVICE_OF: &[Column<Device>; 2] = &[
    Info::new("policer", "policer", Unit::Part(POLICER)).of(|device| match device {
        Device::Policer(policer) => Cell::part(POLICER, POLICER_OF, policer),
        Device::Shaper(_) => Cell::Absent,
    }),
    Info::new("shaper", "shaper", Unit::Part(SHAPER)).of(|device| match device {
        Device::Shaper(shaper) => Cell::part(SHAPER, SHAPER_OF, shaper),
        Device::Policer(_) => Cell::Absent,
    }),
];

static POLICER: &[Info] = &infos(POLICER_OF);
const POLICER_OF: &[Column<PolicerPlan>; 4] = &[
    CIR.of(|policer| policer.cir_l2.into()),
    CBS.of(|policer| policer.cbs_bytes.into()),
    EIR.of(|policer| policer.eir_l2.into()),
    EBS.of(|policer| policer.ebs_bytes.into()),
];

static SHAPER: &[Info] = &infos(SHAPER_OF);
const SHAPER_OF: &[Column<ShaperPlan>; 5] = &[
    RATE.of(|shaper| shaper.rate_l2.into()),
    BC.of(|shaper| shaper.bc_bytes.into()),
    BE.of(|shaper| shaper.be_bytes.into()),
    QUEUE_BYTES.of(|shaper| shaper.queue_bytes.into()),
    Info::new("burst_bytes", "burst", Unit::Bytes).of(|shaper| shaper.burst_bytes.into()),
];

static DEVICES: Table = Table {
    caption: |row| title(row, "devices"),
    rows: |row| row.each("classes"),
    columns: &[
        Shown::Field("dscp"),
        Shown::Words("device", device),
        Shown::Words("found", |class| match (hunt::achieved(class), class.part("trains")) {
            (Some(bsa), _) => format!("BSA {bsa}"),
            (None, Some(trains)) => format!("SR {}", shaper::found(trains)),
            (None, None) => String::new(),
        }),
    ],
    note: |_| String::new(),
};

fn device(class: &Row) -> String {
    let Some(device) = class.part("device") else { return String::new() };
    match (device.part("policer"), device.part("shaper")) {
        (Some(policer), _) => committed(policer),
        (None, Some(shaper)) => format!("shaper of {}", shaped(shaper)),
        (None, None) => String::new(),
    }
}
