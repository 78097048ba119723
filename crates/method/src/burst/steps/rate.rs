//! The rate at which a bucket refills.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use core::time::Duration;

use fp_model::figure::{Better, Cell, Column, Info, Kind, Row, Steps, Unit, infos};
use fp_model::{Direction, LayeredRate, Rate};

use super::{CIR, CIR_LAYER, DEVIATION, DIRECTION, FLOW_DIRECTION, FRAME, PASS, WAY, loaded};

/// The rate at which a bucket refills, by trains of frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateStep {
    pub direction: Direction,
    pub bidirectional: bool,
    pub frame_bytes: u32,
    pub cir: LayeredRate,
    /// What passes of an overload, at the same layer; `None` where nothing was dropped or waited.
    pub measured: Option<Rate>,
    /// The ends of its interval, as far as they are known.
    pub within: [Option<Rate>; 2],
    pub deviation_percent: Option<f64>,
    /// The longest that a frame waited, where a shaper or a line makes wait what exceeds its rate; `None`
    /// where the excess is dropped, as a policer does.
    pub waited: Option<Duration>,
    /// Whether it is known what limits, if anything does.
    pub is_known: bool,
    /// `None` where the interval lies neither within nor beyond the tolerance, where what limits is not
    /// known, and where a shaper passes the CIR.
    pub pass: Option<bool>,
}

pub static RATE: Steps<RateStep> = Steps {
    kind: Kind {
        name: "rate",
        title: "rate",
        is_judged: false,
        main: &["measured_cir_bps"],
        columns: &infos(COLUMNS),
        facts: |row| vec![fact(row)],
        blocks: &[],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<RateStep>; 11] = &[
    DIRECTION.of(|step| loaded(step.direction, step.bidirectional)),
    WAY.of(|step| step.direction.name().into()),
    FLOW_DIRECTION.of(|step| step.direction.name().into()),
    FRAME.of(|step| step.frame_bytes.into()),
    CIR.of(|step| step.cir.rate.into()),
    CIR_LAYER.of(|step| step.cir.layer.to_string().into()),
    Info::new("measured_cir_bps", "passes", Unit::Rate)
        .better(Better::Neither)
        .interval()
        .of(|step| Cell::known(step.measured, step.within)),
    DEVIATION.of(|step| step.deviation_percent.into()),
    Info::new("excess", "excess", Unit::Word).of(|step| match (step.measured, step.waited) {
        (Some(_), Some(_)) if step.is_known => WAITS.into(),
        (Some(_), None) if step.is_known => "is_dropped".into(),
        _ => Cell::Unknown,
    }),
    Info::new("waited_ms", "waited", Unit::Milliseconds)
        .of(|step| step.waited.map(Cell::ms).into()),
    PASS.of(|step| step.pass.into()),
];

const WAITS: &str = "waits";

fn fact(row: &Row) -> (&'static str, String) {
    let waits = row.number("waited_ms").is_some();
    let is_known = row.flag("pass").is_some() || !row.word("excess").is_empty();
    let name = match (is_known, waits) {
        (false, _) => "unknown limit",
        (true, true) => "shaper passes",
        (true, false) => "policer passes",
    };
    let waited = match waits {
        true => format!("; what exceeds it waits up to {}", row.shown("waited_ms")),
        false => String::new(),
    };
    let text = match (row.number("measured_cir_bps"), row.number("deviation_percent")) {
        (Some(_), Some(_)) => format!(
            "{} ({}), {} from the CIR{waited}",
            row.shown("measured_cir_bps"),
            row.word("cir_layer"),
            row.shown("deviation_percent")
        ),
        _ if is_known => "nothing was dropped".into(),
        _ => "what limits, if anything does, is not known".into(),
    };
    (name, text)
}
