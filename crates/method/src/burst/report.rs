//! What a burst test found, step by step.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::{Direction, Dscp, Layer, LayeredRate, PacketLayout, Rate};

use crate::formula::bounds::{Bounds, Loss};
use crate::path::PathMtu;
use crate::verdict;

/// What a run found.
pub type Report = verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    PathMtu(PathMtu),
    Line(Line),
    Cbs(CbsStep),
    Rate(RateStep),
    Policing(PolicingStep),
    Discovery(Discovery),
}

/// How fast frames follow each other in a burst that the sender does not hold back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub direction: Direction,
    pub rate_l1: Rate,
    /// Where frames come unevenly it may be as fast as this.
    pub fastest_l1: Rate,
    /// With which it was measured.
    pub frame_bytes: u32,
}

/// A CBS test with frames of one length: bursts as large as the CBS, as often as the CIR allows.
#[derive(Clone, Debug, PartialEq)]
pub struct CbsStep {
    pub direction: Direction,
    /// The other direction was loaded in the same trial.
    pub bidirectional: bool,
    pub frame_bytes: u32,
    pub cir: LayeredRate,
    pub configured_burst_bytes: u64,
    /// Whole frames, layer 2.
    pub tx_burst_bytes: u64,
    pub rx_burst_bytes_mean: f64,
    pub frames_sent: u64,
    pub frames_received: u64,
    pub bursts: u32,
    /// From one burst to the next.
    pub period: Duration,
    pub times: BurstTimes,
    /// Frames that came marked otherwise than the first of their burst.
    pub frames_marked: u64,
    pub trials: u32,
    /// Why the last trial says nothing, if it does not.
    pub flaw: Option<Flaw>,
    /// `None` where the trials say nothing.
    pub pass: Option<bool>,
}

impl CbsStep {
    pub const fn frames_lost(&self) -> u64 {
        self.frames_sent.saturating_sub(self.frames_received)
    }
}

/// From the first to the last frame of a burst, the middle one of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstTimes {
    /// On a line that is never idle.
    pub at_line_rate: Duration,
    pub sent: Duration,
    pub received: Option<Duration>,
}

/// Why a trial was not what was planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    FramesUnsent,
    /// By the tester itself.
    FramesDropped,
    /// So slow that the bucket was refilled meanwhile.
    SlowBursts,
    /// The sender was slower than the line, and how much of that the policer saw is not known, as an
    /// emulated network let frames go late; or it had some of them in another order.
    EmulationLate,
    /// Frames were lost, and bursts came so irregularly that the configured policer drops some.
    OffSchedule,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::FramesUnsent => "not all frames could be sent",
            Self::FramesDropped => "the tester itself dropped frames",
            Self::SlowBursts => "the sender could not send at line rate",
            Self::EmulationLate => {
                "this host was too slow for bursts at line rate and for emulating the network"
            }
            Self::OffSchedule => "bursts came late, and the next ones too early after them,",
        })
    }
}

/// The rate at which a bucket refills, by trains of frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateStep {
    pub direction: Direction,
    pub bidirectional: bool,
    pub frame_bytes: u32,
    pub cir: LayeredRate,
    /// What passes of an overload, at the same layer; `None` where nothing was dropped or waited.
    pub measured: Option<Rate>,
    /// Its interval, as far as that is known.
    pub within: Option<[Rate; 2]>,
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

/// A policing test with frames of one length: bursts of which a policer must drop a part.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicingStep {
    pub direction: Direction,
    pub bidirectional: bool,
    pub frame_bytes: u32,
    pub cir: LayeredRate,
    pub configured_burst_bytes: u64,
    pub tx_burst_bytes: u64,
    pub rx_burst_bytes_mean: f64,
    pub frames_sent: u64,
    /// That the policer passed as conforming.
    pub frames_received: u64,
    pub bursts: u32,
    pub times: BurstTimes,
    /// By the trains; `None` where they do not tell.
    pub estimate: Option<Bounds>,
    pub deviation_percent: Option<f64>,
    pub trials: u32,
    pub flaw: Option<Flaw>,
    /// `None` where the interval lies neither within nor beyond the tolerance.
    pub pass: Option<bool>,
}

impl PolicingStep {
    pub const fn frames_lost(&self) -> u64 {
        self.frames_sent.saturating_sub(self.frames_received)
    }
}

/// What stands in one direction of an unknown path.
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
