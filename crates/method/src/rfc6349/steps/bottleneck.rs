//! What limits a direction of the path.

use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt;
use core::time::Duration;

use fp_model::figure::{Better, Cell, Column, Info, Kind, Known, Row, Steps, Unit, infos};
use fp_model::{Direction, Layer, LayeredRate, PacketLayout, Rate};

use crate::formula::bounds::{Bounds, Loss};
use crate::metric;

/// RFC 6349 section 3.2.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    pub direction: Direction,
    /// At the layer at which such a limit is counted: a policer's at 2, a line's at 1.
    pub limit: LayeredRate,
    /// At the same layer: the interval that holds the truth in 95 of 100 cases; `None` where there is
    /// no upper end.
    pub at_least: Rate,
    pub at_most: Option<Rate>,
    /// The full-sized packet with which it was measured, without TCP options.
    pub packet: PacketLayout,
    pub source: Source,
    pub kind: LimitKind,
    pub trials: u32,
    /// Loss that does not depend on the rate; `None` where it was not measured.
    pub base_loss: Option<Loss>,
    /// Growth of the one-way delay while more was offered than fits.
    pub overload_delay: Option<Duration>,
    /// Frames were dropped by then, so that a queue was full.
    pub overload_drops: bool,
    /// What passes at once, at layer 2: what a policer's buckets hold together, or a shaper's. Of what looks
    /// like a line nothing, and at most what a shaper could let go that looks so. `None` where it is not known.
    pub burst_bytes: Option<Bounds>,
    /// What a queue's line was seen to carry without a break, at layer 2: behind it a policer of a lower rate
    /// may stand whose bucket holds more.
    pub carried_bytes: Option<u64>,
}

impl Bottleneck {
    /// A share of the frames; none where it was not measured.
    pub fn lost_at_any_rate(&self) -> f64 {
        self.base_loss.map_or(0.0, |loss| loss.share.estimate)
    }

    pub fn rate_at(&self, layer: Layer) -> Rate {
        self.packet.convert(self.limit, layer)
    }

    /// How long it takes to carry a packet, if it is a line.
    pub(in crate::rfc6349) fn time_for(&self, packet: &PacketLayout) -> Duration {
        self.limit.rate.max(Rate::bps(1)).time_for(packet.bytes_at(self.limit.layer).into())
    }

    /// What passes at once, in bytes at the layer of the limit; or one of its bounds.
    pub(in crate::rfc6349) fn lets_go(&self, of: fn(&Bounds) -> f64) -> f64 {
        let packet = &self.packet;
        let counted =
            f64::from(packet.bytes_at(self.limit.layer)) / f64::from(packet.frame_bytes.max(1));
        self.burst_bytes.as_ref().map_or(0.0, of) * counted
    }

    /// Whether the path's own limit was met, and something is known of its rate.
    pub fn is_known(&self) -> bool {
        self.kind != LimitKind::NotReached && self.at_least > Rate::ZERO
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Measured,
    Given,
}

/// What more than the limit meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Loss without delay.
    Policer,
    /// A queue: a line or a shaper.
    Queue,
    /// The near end or its bound was reached before the path's limit was.
    NotReached,
    /// Not looked for, or what arrived does not tell.
    Unknown,
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Policer => "policer",
            Self::Queue => "queue",
            Self::NotReached => "not_reached",
            Self::Unknown => "unknown",
        })
    }
}

pub static BOTTLENECK: Steps<Bottleneck> = Steps {
    kind: Kind {
        name: "bottleneck",
        title: "bottleneck",
        is_judged: false,
        main: &["rate_bps"],
        columns: &infos(COLUMNS),
        facts: |row| alloc::vec![("bottleneck", sentence(row))],
        blocks: &[],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<Bottleneck>; 15] = &[
    Info::new("direction", "direction", Unit::Word).of(|limit| limit.direction.name().into()),
    Info::new("rate_bps", "bottleneck", Unit::RateOfLayer).better(Better::Higher).interval().of(
        |limit| {
            let Bottleneck { limit: LayeredRate { rate: value, .. }, at_least, at_most, .. } =
                *limit;
            Known { value, at_least: Some(at_least), at_most }.into()
        },
    ),
    Info::new("layer", "layer", Unit::Word).of(|limit| limit.limit.layer.to_string().into()),
    Info::new("rate_l1_bps", "bottleneck (l1)", Unit::Rate)
        .metric(metric::RATE_L1)
        .of(|limit| limit.rate_at(Layer::L1).into()),
    Info::new("rate_l2_bps", "bottleneck (l2)", Unit::Rate)
        .metric(metric::RATE_L2)
        .of(|limit| limit.rate_at(Layer::L2).into()),
    Info::new("rate_l3_bps", "bottleneck (l3)", Unit::Rate)
        .metric(metric::RATE_L3)
        .of(|limit| limit.rate_at(Layer::L3).into()),
    Info::new("frame_bytes", "frame", Unit::Bytes).of(|limit| limit.packet.frame_bytes.into()),
    Info::new("source", "source", Unit::Word).of(|limit| match limit.source {
        Source::Measured => "measured".into(),
        Source::Given => "given".into(),
    }),
    Info::new("kind", "limited by", Unit::Word).of(|limit| limit.kind.to_string().into()),
    Info::new("trials", "trials", Unit::Count).of(|limit| limit.trials.into()),
    Info::new("base_loss_percent", "lost at any rate", Unit::Percent(2))
        .interval()
        .of(|limit| limit.base_loss.map(|loss| loss.percent()).into()),
    Info::new("overload_delay_ms", "growth of the delay under overload", Unit::Milliseconds)
        .of(|limit| limit.overload_delay.map(Cell::ms).into()),
    Info::new("overload_drops", "queue was full", Unit::Flag)
        .of(|limit| limit.overload_drops.into()),
    Info::new("carried_bytes", "carried without a break", Unit::Amount)
        .of(|limit| limit.carried_bytes.into()),
    Info::new("burst_bytes", "burst that passes", Unit::Amount)
        .interval()
        .of(|limit| limit.burst_bytes.into()),
];

/// Rate, what limits it, what passes at once, what is lost besides.
fn sentence(row: &Row) -> String {
    let found = match (row.word("source"), row.word("kind")) {
        ("given", _) => "given, not measured".into(),
        (_, "policer") => "a policer: what exceeds it is dropped at once".into(),
        (_, "queue") => {
            let waits = row.shown("overload_delay_ms");
            match row.flag("overload_drops") {
                Some(false) => format!("a queue: what exceeds it waits, {waits} and longer"),
                _ => format!("a queue: what exceeds it waits up to {waits}"),
            }
        }
        (_, "not_reached") => "the most that the tester could send: the path carries it".into(),
        (_, "unknown") => "a policer or a queue: what arrived does not tell".into(),
        _ => "measured".into(),
    };
    let is_more = |field| row.number(field).is_some_and(|known| known.value > 0.0);
    let burst = if is_more("burst_bytes") {
        format!("; passes a burst of {}", row.between("burst_bytes"))
    } else {
        String::new()
    };
    let carried = if is_more("carried_bytes") {
        format!("; seen to carry {}", row.shown("carried_bytes"))
    } else {
        String::new()
    };
    let loss = if is_more("base_loss_percent") {
        format!("; {} lost at any rate", row.between("base_loss_percent"))
    } else {
        String::new()
    };
    let (layer, other) = (row.word("layer"), at_other_layer(row));
    format!("{} {layer} ({other}); {found}{burst}{carried}{loss}", row.shown("rate_bps"))
}

/// The rate at the layer of lines, of a line at that of frames. Of a limit without an upper end it is the lower
/// one there, too.
fn at_other_layer(row: &Row) -> String {
    let (layer, field) =
        if row.word("layer") == "l1" { ("l2", "rate_l2_bps") } else { ("l1", "rate_l1_bps") };
    let rate = match (row.number(field), row.number("rate_bps")) {
        (Some(there), Some(Known { value, at_least: Some(least), at_most: None })) => {
            Unit::Rate.shown(there.value / value.max(1.0) * least)
        }
        _ => row.shown(field),
    };
    format!("{rate} {layer}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upload(limit: LayeredRate, kind: LimitKind) -> Bottleneck {
        Bottleneck {
            direction: Direction::Upload,
            limit,
            at_least: Rate::mbps(38),
            at_most: Some(Rate::mbps(42)),
            packet: PacketLayout::ethernet(1500, 1472),
            source: Source::Measured,
            kind,
            trials: 3,
            base_loss: None,
            overload_delay: None,
            overload_drops: false,
            burst_bytes: None,
            carried_bytes: None,
        }
    }

    fn said(limit: &Bottleneck) -> String {
        sentence(&BOTTLENECK.row(limit))
    }

    #[test]
    fn each_part_of_a_bottleneck_is_set_apart() {
        let at_l2 = LayeredRate { rate: Rate::mbps(40), layer: Layer::L2 };
        let share = Bounds { estimate: 0.0019, at_least: 0.001, at_most: 0.003 };
        let limit = Bottleneck {
            base_loss: Some(Loss { share, frames: 1e4 }),
            burst_bytes: Some(Bounds { estimate: 64e3, at_least: 63e3, at_most: 65.5e3 }),
            carried_bytes: Some(3000),
            ..upload(at_l2, LimitKind::Policer)
        };
        assert_eq!(
            said(&limit),
            "40.00 ± 2.00 Mbit/s l2 (40.53 Mbit/s l1); a policer: what exceeds it is dropped at once; passes a \
             burst of 64.00 kB (63.00 … 65.50 kB); seen to carry 3000 B; 0.19 % (0.10 … 0.30 %) lost at any rate"
        );
    }

    #[test]
    fn a_queue_that_was_not_filled_is_longer_than_what_waited_in_it() {
        let at_l1 = LayeredRate { rate: Rate::mbps(40), layer: Layer::L1 };
        let overload_delay = Some(Duration::from_millis(30));
        let limit = Bottleneck { overload_delay, ..upload(at_l1, LimitKind::Queue) };
        let rates = "40.00 ± 2.00 Mbit/s l1 (39.48 Mbit/s l2)";
        let open = format!("{rates}; a queue: what exceeds it waits, 30.00 ms and longer");
        assert_eq!(said(&limit), open);
        let full = Bottleneck { overload_drops: true, ..limit };
        assert_eq!(said(&full), format!("{rates}; a queue: what exceeds it waits up to 30.00 ms"));
    }

    #[test]
    fn of_a_limit_without_an_upper_end_both_layers_show_the_lower_one() {
        let at_l1 = LayeredRate { rate: Rate::mbps(40), layer: Layer::L1 };
        let limit = Bottleneck { at_most: None, ..upload(at_l1, LimitKind::NotReached) };
        assert_eq!(
            said(&limit),
            "at least 38.00 Mbit/s l1 (37.51 Mbit/s l2); the most that the tester could send: the path carries it"
        );
        let unknown = Bottleneck { kind: LimitKind::Unknown, ..limit };
        assert!(said(&unknown).ends_with("a policer or a queue: what arrived does not tell"));
        let given = Bottleneck { source: Source::Given, ..limit };
        assert!(said(&given).ends_with("; given, not measured"));
    }
}
