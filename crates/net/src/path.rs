//! What an emulated network consists of: the value that both the lab and the simulator build from.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Direction, Dscp, Layer, PacketLayout, PortRange, Rate};

use crate::meter::{BandwidthProfileSpec, Colour, ColourMode, Coupling};

/// An emulated path between a near end and a far end: links in series, each way on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct PathSpec {
    pub name: String,
    pub description: String,
    /// The links in the order in which frames from the near end meet them.
    pub near_to_far: Vec<LinkSpec>,
    /// The links in the order in which frames from the far end meet them.
    pub far_to_near: Vec<LinkSpec>,
    /// Between the near end and the links.
    pub gateway: Option<GatewaySpec>,
}

/// A router that translates: everything from behind it comes from its one address on the outside
/// (masquerade), each connection with a port that is free towards where it goes.
///
/// The lab alone has one, the host's kernel: there is none in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatewaySpec {
    /// Which ports of its address connections may have outside.
    pub ports: PortRange,
}

impl PathSpec {
    /// These links each way, without a description.
    pub fn symmetric(name: &str, links: Vec<LinkSpec>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            near_to_far: links.clone(),
            far_to_near: links,
            gateway: None,
        }
    }

    /// What the interfaces of both ends carry: Ethernet's 1500 bytes, unless a link of the path
    /// carries more. A smaller link is met on the way and not at the ends.
    pub fn interface_mtu_bytes(&self) -> u32 {
        const ETHERNET_MTU_BYTES: u32 = 1500;
        let links = self.near_to_far.iter().chain(&self.far_to_near);
        let mtus = links.filter_map(|link| link.mtu).map(|mtu| mtu.bytes);
        mtus.fold(ETHERNET_MTU_BYTES, u32::max)
    }

    /// Of both ways; `None` where no link has a line rate.
    pub fn slowest_line(&self) -> Option<Rate> {
        let directions = [Direction::Download, Direction::Upload].into_iter();
        directions.filter_map(|direction| self.slowest_line_towards(direction)).min()
    }

    pub fn slowest_line_towards(&self, direction: Direction) -> Option<Rate> {
        let links = match direction {
            Direction::Download => &self.far_to_near,
            Direction::Upload => &self.near_to_far,
        };
        links.iter().filter_map(|link| link.line_rate).min()
    }
}

/// One direction of one link. The default one carries everything at once.
///
/// A frame meets the elements in this order, whatever the order in which they are written:
/// remarking, outage, MTU, queue and line (or queue and shaper where there is no line), policer,
/// loss, corruption, duplication, shaper, delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSpec {
    /// Serialisation at this layer-1 rate: each frame takes 20 bytes more than it has.
    pub line_rate: Option<Rate>,
    /// That every frame bears here, beyond what its sender gave it: each is four bytes more.
    pub vlan_tags: u8,
    /// Sits behind the line: sees a frame when its last bit has crossed it.
    pub police: Option<PoliceSpec>,
    /// Policers of single classes in its place; frames of none of these classes meet `police`.
    pub police_classes: Vec<ClassPoliceSpec>,
    /// Sits behind the policer.
    pub shape: Option<ShapeSpec>,
    /// Shapers of single classes in its place; frames of none of these classes meet `shape`.
    pub shape_classes: Vec<ClassShapeSpec>,
    /// Propagation, from the last bit onto the line to the last bit off it.
    pub delay: Duration,
    pub jitter: Option<JitterSpec>,
    pub loss: Option<LossSpec>,
    pub reorder: Option<ReorderSpec>,
    pub duplicate: Option<Probability>,
    /// Frames that arrive with a bit turned over.
    pub corrupt: Option<Probability>,
    pub mtu: Option<MtuSpec>,
    /// In front of the line; `None` is [`QueueSpec::default`].
    pub queue: Option<QueueSpec>,
    /// Splits the queue of the shaper, or without one that of the line, into classes.
    pub priority: Option<PrioritySpec>,
    pub remark: Vec<RemarkSpec>,
    pub outage: Option<OutageSpec>,
    /// Traffic of others, which comes to this link and leaves it at its end: it shares the queue, the
    /// line, the policer and the shaper, and the truth counts it apart.
    pub cross: Vec<CrossSpec>,
}

/// What somebody else sends across a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossSpec {
    pub pattern: CrossPattern,
    /// That of its sender's line: while it sends, its frames come no faster.
    pub rate_l2: Rate,
    /// From destination address to FCS.
    pub frame_bytes: u32,
    pub dscp: Dscp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CrossPattern {
    /// Evenly spaced frames.
    Constant,
    /// In turns evenly spaced frames and none, both for times that are distributed exponentially
    /// with these means.
    OnOff { on: Duration, off: Duration },
    /// A transfer without an end by TCP, which fills what it finds free; its round trip without the
    /// link's queue.
    Tcp { rtt: Duration },
    /// These bytes in each millisecond, over and over again; the rate is without meaning.
    Replayed { bytes: Vec<u32> },
}

/// A bandwidth profile that is enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoliceSpec {
    /// Rates and bucket sizes in bytes as `charge` counts them.
    pub profile: BandwidthProfileSpec,
    pub charge: Charge,
    /// The colours that frames bring along to a colour-aware profile.
    pub colours: ColourMap,
    /// Yellow frames pass, with this code point if one is given.
    pub mark_yellow: Option<Dscp>,
    /// What becomes of red frames.
    pub exceed: Exceed,
}

impl PoliceSpec {
    /// One token bucket that drops what it has no tokens for, whatever colour it brings along.
    pub fn single_bucket(cir_l2: Rate, cbs_bytes: u64) -> Self {
        let profile = BandwidthProfileSpec {
            cir_l2,
            cbs_bytes,
            eir_l2: Rate::ZERO,
            ebs_bytes: 0,
            coupling: Coupling::Uncoupled,
            mode: ColourMode::Blind,
        };
        let colours = ColourMap::default();
        Self { profile, charge: Charge::L2, colours, mark_yellow: None, exceed: Exceed::Drop }
    }
}

/// Which bytes of a frame a policer takes out of its bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charge {
    /// The frame with preamble, start delimiter and inter-frame gap.
    L1,
    /// From destination address to FCS, as MEF 10 has it.
    #[default]
    L2,
    L2WithoutFcs,
    /// The IP packet, as RFC 2697 and RFC 2698 have it.
    L3,
}

impl Charge {
    /// What a frame costs of so many bytes, those of its VLAN tags included.
    pub const fn bytes_of(self, frame_bytes: u32, tags_bytes: u32) -> u32 {
        match self {
            Self::L1 => frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD,
            Self::L2 => frame_bytes,
            Self::L2WithoutFcs => frame_bytes.saturating_sub(PacketLayout::ETHERNET_FCS_BYTES),
            Self::L3 => frame_bytes.saturating_sub(PacketLayout::ETHERNET_L2_OVERHEAD + tags_bytes),
        }
    }

    pub const fn layer(self) -> Layer {
        match self {
            Self::L1 => Layer::L1,
            Self::L2 | Self::L2WithoutFcs => Layer::L2,
            Self::L3 => Layer::L3,
        }
    }
}

/// A policer that sees the frames of some code points only: a service's own bandwidth profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassPoliceSpec {
    pub dscp: Vec<Dscp>,
    pub police: PoliceSpec,
}

/// What a policer does with a frame that neither bucket has tokens for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exceed {
    #[default]
    Drop,
    /// Passes with this code point.
    Remark(Dscp),
}

/// Which code points mean that a frame was coloured before; all others are green.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColourMap {
    pub yellow: Vec<Dscp>,
    pub red: Vec<Dscp>,
}

impl Default for ColourMap {
    /// The drop precedences of RFC 2597: AFx2 is yellow, AFx3 is red.
    fn default() -> Self {
        let af = |precedence: u8| (1..=4).filter_map(move |c| Dscp::new(c * 8 + precedence * 2));
        Self { yellow: af(2).collect(), red: af(3).collect() }
    }
}

impl ColourMap {
    pub fn colour_of(&self, dscp: Dscp) -> Colour {
        if self.red.contains(&dscp) {
            Colour::Red
        } else if self.yellow.contains(&dscp) {
            Colour::Yellow
        } else {
            Colour::Green
        }
    }
}

/// A token bucket that holds frames back until it has tokens; bytes are those of layer 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeSpec {
    pub rate: Rate,
    /// The bucket's depth: what may leave at once after a pause.
    pub burst_bytes: u64,
    pub queue: QueueSpec,
}

/// A shaper that sees the frames of some code points only: that of one of a port's queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassShapeSpec {
    pub dscp: Vec<Dscp>,
    pub shape: ShapeSpec,
}

/// Frames that wait for a line or a shaper; the one that is being sent does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    pub limit: QueueLimit,
    pub aqm: Aqm,
}

impl Default for QueueSpec {
    /// What a network card's transmit queue usually holds: 1000 packets, the last come dropped.
    fn default() -> Self {
        Self { limit: QueueLimit::Packets(1000), aqm: Aqm::Fifo }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    Bytes(u64),
    Packets(u64),
}

/// Active queue management.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aqm {
    /// None: frames are dropped only where the queue is full.
    Fifo,
    /// RFC 8289.
    CoDel { target: Duration, interval: Duration },
}

impl Aqm {
    /// CoDel with the target and the interval that RFC 8289 recommends.
    pub const CODEL: Self =
        Self::CoDel { target: Duration::from_millis(5), interval: Duration::from_millis(100) };
}

/// Classes of traffic, each with a queue of its own, and who is served when.
///
/// Code points that no class names belong to the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrioritySpec {
    /// A class is served when all those before it are empty.
    Strict(Vec<Vec<Dscp>>),
    /// Deficit round robin: in each round a class may send as many bytes as its quantum.
    Drr(Vec<DrrClass>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrrClass {
    pub dscp: Vec<Dscp>,
    pub quantum_bytes: u32,
}

/// Delay that differs from frame to frame: `delay` plus or minus this, never less than none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JitterSpec {
    pub distribution: JitterDistribution,
    pub order: FrameOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterDistribution {
    /// As likely anywhere up to this far off.
    Uniform(Duration),
    /// With this standard deviation, cut off at four of them.
    Normal(Duration),
}

/// Whether a frame may arrive before one that was sent earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOrder {
    /// A frame waits for those before it, as in a queue.
    Kept,
    Free,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossSpec {
    /// Each frame for itself.
    Random(Probability),
    GilbertElliott(GilbertElliott),
    /// The nth, the 2nth, … frame; `every` is at least 1.
    Every(u64),
}

/// Loss in bursts: a Markov chain of two states that takes a step with each frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// From the good state to the bad one.
    pub to_bad: Probability,
    /// From the bad state to the good one.
    pub to_good: Probability,
    pub loss_in_good: Probability,
    pub loss_in_bad: Probability,
}

impl GilbertElliott {
    /// The share of frames lost in the long run; zero where the chain never leaves the good state.
    pub fn mean_loss(&self) -> f64 {
        let (to_bad, to_good) = (self.to_bad.as_f64(), self.to_good.as_f64());
        if to_bad == 0.0 {
            return self.loss_in_good.as_f64();
        }
        let bad = to_bad / (to_bad + to_good);
        bad * self.loss_in_bad.as_f64() + (1.0 - bad) * self.loss_in_good.as_f64()
    }
}

/// Frames held back so that later ones overtake them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderSpec {
    pub probability: Probability,
    pub hold: Duration,
}

/// The largest IP packet a link carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MtuSpec {
    pub bytes: u32,
    pub too_big: TooBigAnswer,
}

impl MtuSpec {
    /// The largest frame with FCS, untagged.
    pub const fn frame_bytes(&self) -> u32 {
        self.bytes + PacketLayout::ETHERNET_L2_OVERHEAD
    }
}

/// What the sender of a packet that is too big hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooBigAnswer {
    /// ICMP "fragmentation needed" or ICMPv6 "packet too big".
    Icmp,
    /// Nothing: a black hole.
    Silence,
}

/// A code point that is replaced on entry; `from: None` stands for every one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemarkSpec {
    pub from: Option<Dscp>,
    pub to: Dscp,
}

/// When the link carries nothing, counted from when the network came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageSpec {
    pub start: Duration,
    pub lasts: Duration,
    /// From one beginning to the next; `None` is once.
    pub every: Option<Duration>,
}

impl OutageSpec {
    /// Whether the link is down `since_up` after the network came up.
    pub fn covers(&self, since_up: Duration) -> bool {
        let Some(since_first) = since_up.checked_sub(self.start) else { return false };
        let since_latest = match self.every {
            Some(every) if !every.is_zero() => since_first.as_nanos() % every.as_nanos(),
            Some(_) | None => since_first.as_nanos(),
        };
        since_latest < self.lasts.as_nanos()
    }
}

/// A share of frames, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    pub const NEVER: Self = Self(0.0);

    /// `None` outside 0 to 1.
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }

    pub const fn as_f64(self) -> f64 {
        self.0
    }
}
