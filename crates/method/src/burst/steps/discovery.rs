//! What stands in one direction of an unknown path.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::figure::{Better, Cell, Column, Info, Kind, Known, Row, Steps, Unit, infos, unknown};
use fp_model::{Direction, Dscp, Layer, PacketLayout, Rate, signed};

use crate::formula::bounds::{Bounds, Loss};

/// What a run found of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovery {
    pub direction: Direction,
    /// How fast the line in front of it sends, of layer 1; `None` where no frames showed that, and at least zero
    /// where frames that followed each other did.
    pub line_l1_bps: Option<Bounds>,
    pub found: Discovered,
    pub trials: u32,
    /// How long frames were sent.
    pub sending: Duration,
}

impl Discovery {
    /// How fast the line in front of it sends, in all likelihood.
    pub fn line_l1(&self) -> Option<Rate> {
        self.line_l1_bps.map(|line| Rate::bps(line.estimate as u64))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Discovered {
    /// Everything passed: a bucket of more than this, if there is one, at a CIR below the line.
    NoPolicer { sent_bytes: u64, loss: Loss },
    Policer {
        /// At the charged layer, bits per second.
        cir_bps: Bounds,
        /// At the charged layer.
        cbs_bytes: Bounds,
        /// What passes as much as all buckets do that mark nothing, if one was sold.
        together: Together,
        charge: Charge,
        excess: Option<SecondBucket>,
        /// What excludes an excess bucket that leaves no mark; `None` where there is one, where marks tell,
        /// and where none could be looked for or be excluded: then all that was found may be of two.
        alone: Option<Alone>,
        /// Code points of frames beyond the committed bucket that were passed nevertheless.
        marked: Vec<Dscp>,
    },
    /// What is too much waits: a shaper, or a line slower than the one before it.
    Shaper {
        /// At the charged layer.
        rate_bps: Bounds,
        charge: Charge,
        /// What is let go at once after a pause, at the charged layer.
        bucket_bytes: Bounds,
        /// The longest that a frame waited.
        delay: Duration,
        /// What came of one train, layer 2: a bucket behind it that lets all of this pass does not show.
        carried_bytes: u64,
        loss_percent: f64,
    },
    /// Something limits, and what it is cannot be told.
    Unknown {
        /// Layer 2.
        rate_bps: Bounds,
        /// What came of two loads that no policer and no queue of one rate explains.
        contradiction: Option<[Passed; 2]>,
    },
}

/// One bucket, at the charged layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Together {
    pub rate_bps: Bounds,
    pub depth_bytes: Bounds,
}

/// What came of frames that were offered faster than they pass; layer 2, bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed {
    pub frame_bytes: u32,
    pub offered_bps: f64,
    pub passed_bps: Bounds,
}

impl Discovered {
    /// What all buckets of a policer do together, if they mark nothing.
    pub(crate) fn together(&self) -> Option<Together> {
        let Self::Policer { cbs_bytes, together, excess, .. } = self else { return None };
        let depth_bytes = match excess {
            None => *cbs_bytes,
            Some(SecondBucket { dscp: None, depth_bytes: Some(ebs_bytes), .. }) => {
                cbs_bytes.plus(ebs_bytes)
            }
            Some(_) => return None,
        };
        Some(Together { depth_bytes, ..*together })
    }

    /// What a policer lets pass of frames of this length, in bits and bytes of them.
    pub(crate) fn together_l2(&self, frame_bytes: f64) -> Option<Together> {
        let Self::Policer { charge, .. } = self else { return None };
        let Together { rate_bps, depth_bytes } = self.together()?;
        let l2 = |bounds: Bounds| bounds.scaled(frame_bytes / charge.charged(frame_bytes));
        Some(Together { rate_bps: l2(rate_bps), depth_bytes: l2(depth_bytes) })
    }
}

/// What a frame costs: its length from destination address to FCS and `offset_bytes`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charge {
    /// As measured by frames of two lengths.
    pub offset_bytes: Bounds,
    /// The known way of counting that fits, with the offset it has, tags that the network adds among it.
    pub layer: Option<(Layer, i32)>,
}

impl Charge {
    pub(crate) const UNKNOWN: Self = Self { offset_bytes: Bounds::ANYTHING, layer: None };

    /// What a frame of this length is charged, as far as that is known.
    pub(crate) fn charged(&self, frame_bytes: f64) -> f64 {
        frame_bytes + self.layer.map_or(0.0, |(_, bytes)| f64::from(bytes))
    }

    /// What may be counted beside the length of a frame: from nothing of its framing to all that it
    /// takes on the line.
    pub(crate) fn offset(&self) -> Bounds {
        const PACKET: f64 = -(PacketLayout::ETHERNET_L2_OVERHEAD as f64);
        const WITHOUT_FCS: f64 = -4.0;
        const KNOWN: [f64; 4] = [PACKET, WITHOUT_FCS, 0.0, ON_THE_LINE];
        if let Some((_, bytes)) = self.layer {
            return Bounds::exactly(f64::from(bytes));
        }
        let Bounds { estimate, at_least, at_most } = self.offset_bytes;
        if !KNOWN.iter().any(|known| (at_least..=at_most).contains(known)) {
            // A line that carries no more of the short frames mimics a charge that is none.
            return Bounds { estimate: 0.0, at_least: PACKET, at_most: ON_THE_LINE };
        }
        let [at_least, at_most] = [at_least, at_most].map(|bytes| bytes.clamp(PACKET, ON_THE_LINE));
        Bounds { estimate: estimate.clamp(at_least, at_most), at_least, at_most }
    }

    /// How many frames of `other` bytes count as much as one of `bytes`.
    pub(crate) fn frames_for_one(offset: &Bounds, bytes: f64, other: f64) -> Bounds {
        offset.through(|offset| (bytes + offset) / (other + offset).max(1.0))
    }
}

/// What a line takes beside the bytes of a frame.
pub(crate) const ON_THE_LINE: f64 = PacketLayout::ETHERNET_L1_OVERHEAD as f64;

/// Bursts of different rates found a bucket equally deep, so that it is one, as far as they can tell.
///
/// An excess bucket would have shown whose rate is from 5 to 95 % of both, behind a committed one of
/// more than `shown_from_bytes`, if both are full again within `filled_within`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alone {
    pub shown_from_bytes: f64,
    pub filled_within: Duration,
}

/// The excess bucket, at the charged layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondBucket {
    /// `None` where everything beyond the committed bucket passes.
    pub rate_bps: Option<Bounds>,
    pub depth_bytes: Option<Bounds>,
    /// How frames that it passes are marked; `None` where they are not.
    pub dscp: Option<Dscp>,
}

pub static DISCOVERY: Steps<Discovery> = Steps {
    kind: Kind {
        name: "discovery",
        title: "discovery",
        is_judged: false,
        main: &["cir_bps", "rate_bps"],
        columns: &infos(COLUMNS),
        facts,
        blocks: &[],
    },
    columns: COLUMNS,
};

const COLUMNS: &[Column<Discovery>; 22] = &[
    Info::new("direction", "direction", Unit::Word).of(|step| step.direction.name().into()),
    Info::new("trials", "trials", Unit::Count).of(|step| step.trials.into()),
    Info::new("sending_s", "sending", Unit::Seconds).of(|step| Cell::s(step.sending)),
    Info::new("line_rate_l1_bps", "line (l1)", Unit::Rate)
        .interval()
        .of(|step| step.line_l1_bps.into()),
    Info::new("found", "found", Unit::Word).of(|step| match step.found {
        Discovered::NoPolicer { .. } => "no_policer".into(),
        Discovered::Policer { .. } => "policer".into(),
        Discovered::Shaper { .. } => "shaper".into(),
        Discovered::Unknown { .. } => "unknown".into(),
    }),
    Info::new("sent_bytes", "passed at line rate", Unit::Bytes).of(|step| match step.found {
        Discovered::NoPolicer { sent_bytes, .. } => sent_bytes.into(),
        _ => Cell::Absent,
    }),
    Info::new("loss_counted_frames", "loss counted of", Unit::Count).of(|step| match &step.found {
        Discovered::NoPolicer { loss, .. } => loss.frames.into(),
        _ => Cell::Absent,
    }),
    Info::new("loss_percent", "lost", Unit::Percent(2)).interval().of(|step| match &step.found {
        Discovered::NoPolicer { loss, .. } => loss.percent().into(),
        Discovered::Shaper { loss_percent, .. } => (*loss_percent).into(),
        _ => Cell::Absent,
    }),
    Info::new("cir_bps", "CIR", Unit::Rate).better(Better::Neither).interval().of(
        |step| match step.found {
            Discovered::Policer { cir_bps, .. } => cir_bps.into(),
            _ => Cell::Absent,
        },
    ),
    Info::new("cbs_bytes", "CBS", Unit::Bytes).better(Better::Neither).interval().of(|step| {
        match step.found {
            Discovered::Policer { cbs_bytes, .. } => cbs_bytes.into(),
            _ => Cell::Absent,
        }
    }),
    Info::new("excess", "excess bucket", Unit::Part(BUCKET)).of(|step| match &step.found {
        Discovered::Policer { excess, .. } => {
            let part = |excess| Cell::part(BUCKET, EXCESS, excess);
            excess.as_ref().map_or(Cell::Unknown, part)
        }
        _ => Cell::Absent,
    }),
    Info::new("marked_dscp", "excess arrives with DSCP", Unit::Count).list().of(|step| match &step
        .found
    {
        Discovered::Policer { marked, .. } => {
            Cell::List(marked.iter().map(|dscp| code_point(*dscp)).collect())
        }
        _ => Cell::Absent,
    }),
    Info::new("excess_shown_from_cbs_bytes", "an excess bucket shows from", Unit::Bytes).of(
        |step| match &step.found {
            Discovered::Policer { alone, .. } => alone.map(|alone| alone.shown_from_bytes).into(),
            _ => Cell::Absent,
        },
    ),
    Info::new("excess_shown_filled_within_ms", "which is full within", Unit::Milliseconds).of(
        |step| match &step.found {
            Discovered::Policer { alone, .. } => {
                alone.map(|alone| Cell::ms(alone.filled_within)).into()
            }
            _ => Cell::Absent,
        },
    ),
    Info::new("rate_bps", "shaper or line", Unit::Rate).better(Better::Neither).interval().of(
        |step| match step.found {
            Discovered::Shaper { rate_bps, .. } | Discovered::Unknown { rate_bps, .. } => {
                rate_bps.into()
            }
            _ => Cell::Absent,
        },
    ),
    Info::new("bucket_bytes", "bucket", Unit::Bytes).better(Better::Neither).interval().of(
        |step| match step.found {
            Discovered::Shaper { bucket_bytes, .. } => bucket_bytes.into(),
            _ => Cell::Absent,
        },
    ),
    Info::new("delay_ms", "waited", Unit::Milliseconds).of(|step| match step.found {
        Discovered::Shaper { delay, .. } => Cell::ms(delay),
        _ => Cell::Absent,
    }),
    Info::new("carried_bytes", "carried without a break", Unit::Amount).of(|step| {
        match step.found {
            Discovered::Shaper { carried_bytes, .. } => carried_bytes.into(),
            _ => Cell::Absent,
        }
    }),
    Info::new("charged_layer", "counted at", Unit::Word)
        .of(|step| step.charged(|charge| charge.layer.map(|(layer, _)| layer.to_string()).into())),
    Info::new("charged_offset_bytes", "beside the frame", Unit::Bytes)
        .of(|step| step.charged(|charge| charge.layer.map(|(_, offset)| offset).into())),
    Info::new("measured_offset_bytes", "measured beside the frame", Unit::Bytes)
        .interval()
        .of(|step| step.charged(|charge| charge.offset_bytes.into())),
    Info::new("contradicting_loads", "loads that contradict each other", Unit::Parts(LOADS)).of(
        |step| match &step.found {
            Discovered::Unknown { contradiction, .. } => {
                Cell::parts(LOADS, LOAD, contradiction.iter().flatten())
            }
            _ => Cell::Absent,
        },
    ),
];

impl Discovery {
    /// How it counts the bytes of a frame, if it limits at all.
    fn charged(&self, of: impl Fn(&Charge) -> Cell) -> Cell {
        match &self.found {
            Discovered::Policer { charge, .. } | Discovered::Shaper { charge, .. } => of(charge),
            Discovered::NoPolicer { .. } | Discovered::Unknown { .. } => Cell::Absent,
        }
    }
}

fn code_point(dscp: Dscp) -> Cell {
    u32::from(dscp.code_point()).into()
}

const EXCESS: &[Column<SecondBucket>; 3] = &[
    Info::new("dscp", "DSCP", Unit::Count).of(|bucket| bucket.dscp.map(code_point).into()),
    Info::new("eir_bps", "EIR", Unit::Rate).interval().of(|bucket| bucket.rate_bps.into()),
    Info::new("ebs_bytes", "EBS", Unit::Bytes).interval().of(|bucket| bucket.depth_bytes.into()),
];

static BUCKET: &[Info] = &infos(EXCESS);

const LOAD: &[Column<Passed>; 3] = &[
    Info::new("frame_bytes", "frame", Unit::Bytes).of(|load| load.frame_bytes.into()),
    Info::new("offered_bps", "offered (l2)", Unit::Rate).of(|load| load.offered_bps.into()),
    Info::new("passed_bps", "passed (l2)", Unit::Rate).interval().of(|load| load.passed_bps.into()),
];

static LOADS: &[Info] = &infos(LOAD);

fn facts(row: &Row) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut say = |name, text| facts.push((name, text));
    let line = row.number("line_rate_l1_bps").map(|known| match known.at_least {
        // Frames that followed each other showed it.
        Some(0.0) => row.value("line_rate_l1_bps"),
        _ => row.between("line_rate_l1_bps"),
    });
    say("line", line.map_or_else(unknown, |line| format!("{line} (l1)")));
    match row.word("found") {
        "no_policer" => {
            let sent = row.shown("sent_bytes");
            say("no policer", format!("{sent} passed at line rate, {}", lost(row)));
        }
        "policer" => {
            let counted = counted(row);
            say("policer: CIR", format!("{}, {counted}", row.between("cir_bps")));
            say("policer: CBS", format!("{}, {counted}", row.between("cbs_bytes")));
            say("excess", excess(row));
            let marked: Vec<String> =
                row.list("marked_dscp").iter().map(|dscp| Unit::Count.shown(*dscp)).collect();
            if !marked.is_empty() {
                say("marking", format!("excess frames arrive with DSCP {}", marked.join(", ")));
            }
        }
        "unknown" => {
            let rate = row.between("rate_bps");
            say("a limit", format!("{rate}, whose kind is not known"));
            for load in row.parts("contradicting_loads") {
                let [passed, offered, frame] = [
                    load.between("passed_bps"),
                    load.shown("offered_bps"),
                    load.shown("frame_bytes"),
                ];
                say("passed", format!("{passed} of {offered} (l2) in frames of {frame}"));
            }
        }
        _ => {
            say("shaper or line", format!("{}, {}", row.between("rate_bps"), counted(row)));
            say("bucket", format!("{} go at once after a pause", row.between("bucket_bytes")));
            let carried = match row.number("carried_bytes") {
                Some(_) => format!("; seen to carry {}", row.shown("carried_bytes")),
                None => String::new(),
            };
            let (delay, lost) = (row.shown("delay_ms"), row.value("loss_percent"));
            say("queue", format!("frames waited up to {delay}, {lost} were lost{carried}"));
        }
    }
    let (trials, sending) = (row.shown("trials"), row.shown("sending_s"));
    say("found by", format!("{trials} trials, {sending} of sending"));
    facts
}

/// Of frames, at any rate: with the least and the most where some were lost.
fn lost(row: &Row) -> String {
    match (row.number("loss_percent"), row.number("loss_counted_frames")) {
        (Some(Known { at_most: None, .. }), Some(_)) => {
            format!("none of {} frames lost", row.shown("loss_counted_frames"))
        }
        _ => format!("{} lost", row.between("loss_percent")),
    }
}

fn excess(row: &Row) -> String {
    if let Some(bucket) = row.part("excess") {
        let rate = match bucket.number("eir_bps") {
            Some(_) => format!("EIR {}", bucket.between("eir_bps")),
            None => "EIR beyond what was sent".into(),
        };
        let depth = match bucket.number("ebs_bytes") {
            Some(_) => format!(", EBS {}", bucket.between("ebs_bytes")),
            None => String::new(),
        };
        return format!("{rate}{depth}");
    }
    if row.number("excess_shown_from_cbs_bytes").is_none() {
        return "not excluded: CIR and CBS may be those of two buckets together".into();
    }
    format!(
        "none; would have shown behind a CBS above {}, with an EIR of 5 to 95 % of both rates, full \
         again within {}",
        row.shown("excess_shown_from_cbs_bytes"),
        row.shown("excess_shown_filled_within_ms")
    )
}

/// What a frame costs, in words.
fn counted(row: &Row) -> String {
    let offset = row.number("charged_offset_bytes").map_or(0, |known| known.value as i32);
    let tags = |bytes: i32| match bytes {
        0 => String::new(),
        bytes => format!(" with {bytes} bytes of tags that the network adds"),
    };
    match row.word("charged_layer") {
        "l2" if offset < 0 => "counted in frames without FCS".into(),
        "l1" => {
            format!(
                "counted on the line (l1){}",
                tags(offset.saturating_sub(PacketLayout::ETHERNET_L1_OVERHEAD as i32))
            )
        }
        "l2" => format!("counted in frames with FCS (l2){}", tags(offset)),
        "l3" | "l4" => "counted in IP packets (l3)".into(),
        _ => match row.number("measured_offset_bytes") {
            Some(Known { at_least: Some(least), at_most: Some(most), .. }) => {
                let [least, most] = [least, most].map(|bytes| signed(bytes, 1));
                format!("as frames with FCS (l2), though {least} … {most} bytes more of each count")
            }
            _ => "if counted in frames with FCS (l2), which is not known".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_a_policer(charge: Charge) -> Discovery {
        let [rate_bps, depth_bytes] = [40e6, 64e3].map(Bounds::exactly);
        let found = Discovered::Policer {
            cir_bps: rate_bps,
            cbs_bytes: depth_bytes,
            together: Together { rate_bps, depth_bytes },
            charge,
            excess: None,
            alone: None,
            marked: Vec::new(),
        };
        let sending = Duration::from_secs(1);
        Discovery { direction: Direction::Upload, line_l1_bps: None, found, trials: 3, sending }
    }

    fn said(step: &Discovery, name: &str) -> String {
        let facts = facts(&DISCOVERY.row(step));
        facts.into_iter().find(|(known, _)| *known == name).unwrap().1
    }

    #[test]
    fn how_a_frame_is_counted_stands_beside_the_rate() {
        let charged = |layer| Charge { offset_bytes: Bounds::between(-1.5, 2.0), layer };
        let counted = |layer| said(&of_a_policer(charged(layer)), "policer: CIR");
        let rate = "40.00 Mbit/s (40.00 … 40.00 Mbit/s), ";
        for (layer, words) in [
            (Some((Layer::L2, 0)), "counted in frames with FCS (l2)"),
            (Some((Layer::L2, -4)), "counted in frames without FCS"),
            (
                Some((Layer::L1, 24)),
                "counted on the line (l1) with 4 bytes of tags that the network adds",
            ),
            (Some((Layer::L3, -18)), "counted in IP packets (l3)"),
            (None, "as frames with FCS (l2), though -1.5 … +2.0 bytes more of each count"),
        ] {
            assert_eq!(counted(layer), format!("{rate}{words}"));
        }
        let unknown = said(&of_a_policer(Charge::UNKNOWN), "policer: CBS");
        assert!(unknown.ends_with("if counted in frames with FCS (l2), which is not known"));
    }

    /// A document may say anything.
    #[test]
    fn a_charge_that_no_frame_has_is_shown_as_it_is() {
        let charge = Charge { layer: Some((Layer::L1, i32::MIN)), ..Charge::UNKNOWN };
        assert!(said(&of_a_policer(charge), "policer: CIR").contains(&i32::MIN.to_string()));
    }
}
