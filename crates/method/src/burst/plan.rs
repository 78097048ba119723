//! What the user asks of a burst test, and what cannot be asked.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::{Direction, Dscp, Family, FramesLoad, Layer, LayeredRate, PacketLayout, Rate};
use serde::{Deserialize, Serialize};

/// A bucket that takes longer to fill cannot be tested in any sensible time.
const REFILL_MAX: Duration = Duration::from_secs(30);

/// Every input of a run after defaults were filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub family: Family,
    /// Largest packet that the ends' interfaces take: where the search for the path MTU ends.
    pub interface_mtu_bytes: u32,
    pub dscp: Dscp,
    /// Tags that the network puts on each frame; the frame lengths include them.
    pub vlan_tags: u8,
    pub ways: Ways,
    #[serde(flatten)]
    pub goal: Goal,
    /// From destination address to FCS.
    pub frame_bytes: Vec<u32>,
    /// Bursts of one length are sent for so long.
    #[serde(rename = "test_s", with = "seconds")]
    pub test: Duration,
    /// The bursts of a CBS test come this much more slowly than the CIR allows: at exactly the CIR
    /// the slightest difference of clocks would starve the bucket.
    pub period_guard: f64,
    /// How far an estimated CBS may lie from the configured one.
    pub tolerance_percent: f64,
}

/// In which direction bursts are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ways {
    Download,
    Upload,
    /// Download, then upload.
    Both,
    /// Both at once.
    Bidirectional,
}

impl Ways {
    /// Directions that are loaded together, one round after the other.
    pub const fn rounds(self) -> &'static [&'static [Direction]] {
        const DOWN: &[Direction] = &[Direction::Download];
        const UP: &[Direction] = &[Direction::Upload];
        match self {
            Self::Download => &[DOWN],
            Self::Upload => &[UP],
            Self::Both => &[DOWN, UP],
            Self::Bidirectional => &[&[Direction::Download, Direction::Upload]],
        }
    }
}

/// What is to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "goal", rename_all = "lowercase")]
pub enum Goal {
    /// Whether the path has this policer.
    Verify {
        /// Frames are charged at its layer.
        cir: LayeredRate,
        cbs_bytes: u64,
    },
    /// What policer, shaper or line the path has.
    Discover,
}

/// What of a plan cannot be run: a sentence that says why and what can.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlanError {
    NoFrames,
    FrameAboveCbs { frame_bytes: u32, cbs_bytes: u64 },
    RefillTooLong { cir: LayeredRate, cbs_bytes: u64 },
    CirAboveLine { cir: LayeredRate, line_l1: Rate },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFrames => f.write_str("there are no frame lengths to test: give some"),
            Self::FrameAboveCbs { frame_bytes, cbs_bytes } => write!(
                f,
                "a CBS of {cbs_bytes} bytes is smaller than a frame of {frame_bytes}: leave the \
                 frame length out or give a larger CBS"
            ),
            Self::RefillTooLong { cir, cbs_bytes } => write!(
                f,
                "a burst of {cbs_bytes} bytes is more than 30 s of the CIR of {} Mbit/s: check the \
                 units of CIR and CBS",
                mbps(cir.rate)
            ),
            Self::CirAboveLine { cir, line_l1 } => write!(
                f,
                "the CIR of {} Mbit/s ({}) is above the line, which carries {} Mbit/s (l1): give a \
                 lower CIR, or check its unit",
                mbps(cir.rate),
                cir.layer,
                mbps(*line_l1)
            ),
        }
    }
}

/// To the last digit.
fn mbps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

impl core::error::Error for PlanError {}

impl Plan {
    /// The defaults for a path whose ends have interfaces of this MTU.
    pub fn new(family: Family, interface_mtu_bytes: u32, goal: Goal) -> Self {
        Self {
            family,
            interface_mtu_bytes,
            dscp: Dscp::BEST_EFFORT,
            vlan_tags: 0,
            ways: Ways::Both,
            goal,
            frame_bytes: Vec::from([64, 128, 256, 512, 768, 1024, 1280, 1518]),
            test: Duration::from_secs(2),
            period_guard: 1.001,
            tolerance_percent: 2.0,
        }
    }

    /// Finds what cannot be run before a packet is sent; `line_l1` where it is known by then.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self, line_l1: Option<Rate>) -> Result<(), PlanError> {
        let Some(longest) = self.frame_bytes.iter().copied().max() else {
            return Err(PlanError::NoFrames);
        };
        let Goal::Verify { cir, cbs_bytes } = self.goal else { return Ok(()) };
        if u64::from(self.charged_bytes(longest, cir.layer)) > cbs_bytes {
            return Err(PlanError::FrameAboveCbs { frame_bytes: longest, cbs_bytes });
        }
        if cir.rate.bytes_in(REFILL_MAX) < cbs_bytes {
            return Err(PlanError::RefillTooLong { cir, cbs_bytes });
        }
        if let Some(line_l1) = line_l1
            && self.layout(longest).convert(cir, Layer::L1) > line_l1
        {
            return Err(PlanError::CirAboveLine { cir, line_l1 });
        }
        Ok(())
    }

    /// Addresses, type, FCS and tags of a frame in the network under test.
    pub(super) const fn framing_bytes(&self) -> u32 {
        PacketLayout::ETHERNET_L2_OVERHEAD + PacketLayout::VLAN_TAG_BYTES * self.vlan_tags as u32
    }

    /// The shortest frame in which the tester knows its packets again.
    pub(super) const fn shortest_frame(&self) -> u32 {
        FramesLoad::least_frame_bytes(self.family, self.vlan_tags)
    }

    fn layout(&self, frame_bytes: u32) -> PacketLayout {
        let packet_bytes = frame_bytes.saturating_sub(self.framing_bytes());
        PacketLayout { payload_bytes: 0, packet_bytes, frame_bytes }
    }

    /// What a policer that counts at `layer` takes for a frame.
    pub(super) fn charged_bytes(&self, frame_bytes: u32, layer: Layer) -> u32 {
        self.layout(frame_bytes).bytes_at(layer)
    }
}

mod seconds {
    use core::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        time.as_secs_f64().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(cir: Rate, cbs_bytes: u64) -> Plan {
        let cir = LayeredRate { rate: cir, layer: Layer::L2 };
        Plan::new(Family::Ipv4, 1500, Goal::Verify { cir, cbs_bytes })
    }

    #[test]
    fn a_bucket_smaller_than_a_frame_is_refused() {
        let refused = verify(Rate::mbps(40), 1517).check(None);
        assert_eq!(refused, Err(PlanError::FrameAboveCbs { frame_bytes: 1518, cbs_bytes: 1517 }));
        assert_eq!(verify(Rate::mbps(40), 1518).check(None), Ok(()));
    }

    /// 1 Mbit/s brings 3,750,000 bytes in 30 s.
    #[test]
    fn a_bucket_that_takes_more_than_30_s_to_fill_is_refused() {
        assert_eq!(verify(Rate::mbps(1), 3_750_000).check(None), Ok(()));
        let refused = verify(Rate::mbps(1), 3_750_001).check(None);
        assert!(matches!(refused, Err(PlanError::RefillTooLong { .. })));
    }

    /// 987 Mbit/s of frames of 1518 bytes are 1000.004 Mbit/s on the line.
    #[test]
    fn a_cir_above_the_line_is_refused() {
        let line = Some(Rate::mbps(1000));
        assert_eq!(verify(Rate::mbps(986), 64_000).check(line), Ok(()));
        let refused = verify(Rate::mbps(988), 64_000).check(line);
        assert!(matches!(refused, Err(PlanError::CirAboveLine { .. })));
    }

    /// 18 bytes of Ethernet, 20 or 40 of IP, 8 of UDP, 18 of the tester's.
    #[test]
    fn ipv6_and_tags_make_the_shortest_frame_longer() {
        let ipv4 = verify(Rate::mbps(40), 64_000);
        assert_eq!(ipv4.shortest_frame(), 64);
        assert_eq!(Plan { vlan_tags: 2, ..ipv4.clone() }.shortest_frame(), 72);
        assert_eq!(Plan { family: Family::Ipv6, ..ipv4 }.shortest_frame(), 84);
    }
}
