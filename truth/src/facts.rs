//! What is true of a network, by arithmetic of its own: nothing here asks the product's code.
//!
//! All rates of one direction are counted in full frames per second, so that a line (which charges a
//! frame 20 bytes more than it has), a policer (which charges the bytes that it is set to) and a shaper (which
//! charges the frame) compare with each other.
//!
//! **Which element limits.** The elements of a direction stand in series. Offered `x` frames/s, an
//! element meets `x·s`, where `s` is the share that the elements before it let through: random loss
//! takes from it, duplicates add to it. It begins to drop or to queue without end at `x = c/s`, where
//! `c` is its own rate. The element with the least `c/s` limits, whatever the order: those before it
//! never meet more than they carry while `x` is below that, those behind it never meet more than it
//! lets out. A corrupted frame loads every element that it crosses; only the receiver loses it.
//!
//! **What is a right answer.** With loss, neither end can know on which side of the bottleneck
//! frames are lost: both what arrives of an overload (`c` less the loss behind it) and what may be
//! offered before more than the base loss is lost (`c/s`) are figures of the same bottleneck, and so is
//! everything between them. Without loss both are `c`.
//!
//! **What others send across a link** takes its share of what the link carries: everything from what is
//! left, however little of it they send at times, to what it carries without them is right. How deep a
//! bucket is does not change by them.
//!
//! **A bucket of hardly more than a frame** overflows between two frames of an overload. What passes
//! then is one frame for each whole number of slots; that rate, for frames that follow each other as
//! fast as the port lets them, is a right answer beside the CIR.
//!
//! **A bucket behind a line** that is no faster than the bucket refills is never empty: nothing can be
//! said of it, and a method that names one has invented it. **A bucket in front of a slower line** drops
//! what comes faster than it refills, although the line behind it is the limit: naming the line is a
//! right answer, and so is naming the bucket as it is, but not a bucket that refills at the line's
//! rate. **Of two buckets in a row** a burst empties the smaller one first, and a slower train empties the
//! one that limits: both depths are right.

mod transfers;

use std::cell::Cell;
use std::time::Duration;

use fp_model::{Direction, Rate};
use fp_net::meter::{BandwidthProfileSpec, Coupling};
use fp_net::path::{
    Aqm, Charge, CrossPattern, CrossSpec, JitterDistribution, LinkSpec, LossSpec, PoliceSpec,
    QueueLimit, QueueSpec, TooBigAnswer,
};

use crate::network::Network;
pub(crate) use transfers::windows_bytes;

/// Addresses, type and FCS around an IP packet.
pub(crate) const FRAMING_BYTES: u32 = 18;
/// Preamble, start delimiter and gap, which a line carries beside each frame.
const ON_THE_LINE_BYTES: i32 = 20;
/// Of a VLAN tag.
pub(crate) const TAG_BYTES: i32 = 4;
/// What Ethernet's interfaces carry, and those of the ends unless a link carries more.
pub(crate) const ETHERNET_MTU_BYTES: u32 = 1500;
/// Of the simulator's hosts, where the path begins with no line of its own.
pub(crate) const HOST_L1_BPS: f64 = 10e9;
/// Two elements whose rates differ by less both limit, as far as a figure of 2 % can tell.
pub(crate) const RESOLUTION: f64 = 0.02;
/// Of the frame that carries a probe of 100 bytes, on a line.
const PROBE_L1_BITS: f64 = 8.0 * (100.0 + 18.0 + 20.0);

/// What becomes of frames that are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// They are dropped at once.
    Policer,
    /// They wait: a line or a shaper.
    Queue,
    /// The sender's own interface, in front of a path without limits.
    Host,
}

/// A token bucket that drops, or two of them, as they are set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    pub(crate) cir_bps: f64,
    pub(crate) cbs_bytes: f64,
    pub(crate) eir_bps: f64,
    pub(crate) ebs_bytes: f64,
    /// Of all that bursts meet in a row with it, the least that one holds.
    pub(crate) least_bytes: f64,
    /// Bytes that a frame is charged beyond its length.
    pub(crate) offset_bytes: i32,
    pub(crate) is_marked: bool,
    /// The highest frame rate that can reach it.
    pub(crate) fed_frames_s: f64,
}

/// What is true of one direction for frames of one length.
#[derive(Clone, Debug)]
pub(crate) struct DirectionFacts {
    pub(crate) frame_bytes: u32,
    /// Of the element that limits.
    pub(crate) frames_s: f64,
    /// From the least to the most that is a right answer, relative to `frames_s`.
    pub(crate) right: [f64; 2],
    /// The most that all pass if they come evenly, relative to `frames_s`.
    pub(crate) even: f64,
    /// Of all elements that limit within [`RESOLUTION`]; the first one is that of the slowest.
    pub(crate) kinds: Vec<Kind>,
    /// Bytes that the limiting element charges a frame beyond its length.
    pub(crate) offset_bytes: i32,
    /// Of a shaper that limits: what it lets go at once. A line lets go of nothing.
    pub(crate) released_bytes: f64,
    /// Of all that limit within [`RESOLUTION`] the least: two that follow each other let no more go.
    pub(crate) released_least_bytes: f64,
    /// Only what limits, where it is a policer; else one that still drops bursts.
    pub(crate) bucket: Option<Bucket>,
    /// How long a frame waits at most in the queue of what limits.
    pub(crate) queue_s: f64,
    pub(crate) has_codel: bool,
    /// How long a megabyte waits that comes all at once to the lines and shapers of the direction.
    pub(crate) waits_s_per_megabyte: f64,
    /// What the bucket lets through at once finds room in every queue behind the sender's own.
    pub(crate) carries_bursts: bool,
    /// Of frames, at any rate.
    pub(crate) loss: f64,
    /// The rate of the second slowest element as a multiple of the slowest one's.
    pub(crate) headroom: f64,
    /// Others send across one of its links.
    pub(crate) is_crossed: bool,
    /// Delays make more frames come at once than something behind them has room for, long before its rate is
    /// reached: which rate loses none is chance.
    pub(crate) is_bunched: bool,
}

impl DirectionFacts {
    /// Frames of `frame_bytes` in this direction of a network.
    pub(crate) fn of(network: &Network, direction: Direction, frame_bytes: u32) -> Self {
        Self::through(network.links(direction), network.shapers_charge(), frame_bytes)
    }

    fn through(links: &[LinkSpec], shapers_charge: Charge, frame_bytes: u32) -> Self {
        let stages = stages(links, offset_bytes(shapers_charge), frame_bytes);
        let limit = limiting(&stages);
        let Stage { element, frames_s, share_before, .. } = &stages[limit];
        let lost_behind = stages[limit + 1..].iter().map(|stage| stage.passes.min(1.0));
        let share_behind = lost_behind.product::<f64>() * clean_share(links);
        let copies_before = stages[..limit].iter().map(|stage| stage.passes.max(1.0));
        let copies_before: f64 = copies_before.product();
        let bucket = bucket(&stages, limit);
        let (flooded, even) = match element {
            Element::Police { police, offset_bytes } => {
                let cost = charged(frame_bytes, *offset_bytes);
                let even = even_of_two(&police.profile, *frames_s, cost);
                (flooded(police, &stages[..limit], cost), even)
            }
            Element::Line { .. } | Element::Shaper { .. } | Element::Chance => (1.0, 1.0),
        };
        let onset = 1.0 / share_before;
        // What arrives of an overload is counted without duplicates.
        let arrives = flooded * share_behind / copies_before;
        let mut others: Vec<f64> = stages.iter().map(Stage::onset).collect();
        others.sort_by(f64::total_cmp);
        let near = stages.iter().filter(|one| one.onset() <= others[0] * (1.0 + RESOLUTION));
        let queues = near.clone().filter(|stage| stage.element.kind() != Some(Kind::Policer));
        let released_least_bytes = queues.map(|stage| stage.element.released_bytes());
        let mut kinds: Vec<Kind> = near.filter_map(|stage| stage.element.kind()).collect();
        kinds.sort_by_key(|kind| Some(*kind) != element.kind());
        let (queue_s, has_codel) = queue(element, *frames_s, frame_bytes);
        let left = stages.iter().map(Stage::left).fold(f64::INFINITY, f64::min) / frames_s;
        let is_bunched = |stage: &Stage<'_>| stage.drops_bunches_of(*frames_s, frame_bytes);
        // A policer that drops some of each bunch and is not the limit lets any share of it through.
        let drops_beside = |(place, stage): (usize, &Stage<'_>)| {
            place != limit && stage.element.kind() == Some(Kind::Policer) && is_bunched(stage)
        };
        let left = if stages.iter().enumerate().any(drops_beside) { 0.0 } else { left };
        Self {
            frame_bytes,
            frames_s: *frames_s,
            right: [arrives.min(1.0).min(left), onset.max(1.0)],
            even,
            kinds,
            offset_bytes: element.offset_bytes(),
            released_bytes: element.released_bytes(),
            released_least_bytes: released_least_bytes.fold(f64::INFINITY, f64::min),
            bucket,
            queue_s,
            has_codel,
            waits_s_per_megabyte: waits_s_per_megabyte(&stages, frame_bytes),
            carries_bursts: bucket.is_some_and(|bucket| carries(&stages, &bucket, frame_bytes)),
            loss: 1.0 - survivors(links),
            headroom: others.get(1).map_or(f64::INFINITY, |next| next / others[0]),
            is_crossed: links.iter().any(|link| !link.cross.is_empty()),
            is_bunched: stages.iter().any(is_bunched),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kinds.first().copied().unwrap_or(Kind::Host)
    }

    /// At the layer that counts a frame with this many bytes more.
    /// How many frames of another length pass: as many bytes as the limit charges for its own.
    pub(crate) fn frames_s_of(&self, frame_bytes: f64) -> f64 {
        let offset_bytes = f64::from(self.offset_bytes);
        let own_bytes = f64::from(self.frame_bytes) + offset_bytes;
        self.frames_s * own_bytes / (frame_bytes + offset_bytes)
    }

    pub(crate) fn rate_bps(&self, offset_bytes: i32) -> f64 {
        self.frames_s * 8.0 * charged(self.frame_bytes, offset_bytes)
    }
}

/// The largest packet of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mtu {
    pub(crate) bytes: u32,
    /// Larger packets vanish without an answer.
    pub(crate) is_black_hole: bool,
}

/// What is true of a network whatever is sent through it.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) download: DirectionFacts,
    pub(crate) upload: DirectionFacts,
    pub(crate) mtu_download: Mtu,
    pub(crate) mtu_upload: Mtu,
    /// Of a probe on the idle path: the least and the mean round trip.
    pub(crate) rtt_s: [f64; 2],
    /// What the verdict of `test` with its defaults has to be; `None` where arithmetic does not decide it.
    pub(crate) passes: Option<bool>,
}

impl Facts {
    pub(crate) fn of(network: &Network) -> Self {
        let interface = interface_mtu_bytes(network);
        let mtu = |direction| mtu(network.links(direction), interface);
        let (mtu_download, mtu_upload) = (mtu(Direction::Download), mtu(Direction::Upload));
        // The test sends what fits both directions.
        let frame_bytes = mtu_download.bytes.min(mtu_upload.bytes) + FRAMING_BYTES;
        let way = |direction| DirectionFacts::of(network, direction, frame_bytes);
        let (download, upload) = (way(Direction::Download), way(Direction::Upload));
        let [down, up] =
            [Direction::Download, Direction::Upload].map(|way| delay_s(network.links(way)));
        let rtt_s = [down[0] + up[0], down[1] + up[1]];
        let passes =
            network.passes.or_else(|| transfers::passes(network, [&download, &upload], rtt_s[1]));
        Self { download, upload, mtu_download, mtu_upload, rtt_s, passes }
    }

    pub(crate) const fn of_direction(&self, direction: Direction) -> &DirectionFacts {
        match direction {
            Direction::Download => &self.download,
            Direction::Upload => &self.upload,
        }
    }

    pub(crate) const fn mtu(&self, direction: Direction) -> Mtu {
        match direction {
            Direction::Download => self.mtu_download,
            Direction::Upload => self.mtu_upload,
        }
    }
}

/// Something that a frame meets, what it carries and what share of frames comes out of it.
#[derive(Debug)]
struct Stage<'a> {
    element: Element<'a>,
    frames_s: f64,
    /// The share of the frames offered to the path that reach it.
    share_before: f64,
    /// The share of the frames it carries that come out.
    passes: f64,
    /// What others take of it at most, as frames/s.
    crossing: f64,
    /// Seconds by which the delays of the frames that reach it differ.
    uneven_s: f64,
}

#[derive(Debug)]
enum Element<'a> {
    Line {
        queue: QueueSpec,
        offset_bytes: i32,
        is_host: bool,
    },
    Police {
        police: &'a PoliceSpec,
        offset_bytes: i32,
    },
    Shaper {
        burst_bytes: f64,
        queue: QueueSpec,
        offset_bytes: i32,
    },
    /// Loss or duplication.
    Chance,
}

impl Element<'_> {
    const fn kind(&self) -> Option<Kind> {
        match self {
            Self::Line { is_host: true, .. } => Some(Kind::Host),
            Self::Line { .. } | Self::Shaper { .. } => Some(Kind::Queue),
            Self::Police { .. } => Some(Kind::Policer),
            Self::Chance => None,
        }
    }

    const fn offset_bytes(&self) -> i32 {
        match self {
            Self::Line { offset_bytes, .. }
            | Self::Police { offset_bytes, .. }
            | Self::Shaper { offset_bytes, .. } => *offset_bytes,
            Self::Chance => 0,
        }
    }

    const fn released_bytes(&self) -> f64 {
        match self {
            Self::Shaper { burst_bytes, .. } => *burst_bytes,
            Self::Line { .. } | Self::Police { .. } | Self::Chance => 0.0,
        }
    }
}

impl Stage<'_> {
    /// Offered to the path, from how many frames/s on it is too slow.
    fn onset(&self) -> f64 {
        self.frames_s / self.share_before
    }

    /// Whether of `frames_s` frames in a second those that delays make come together find no room: all that
    /// are due within the time by which delays differ may come at once.
    fn drops_bunches_of(&self, frames_s: f64, frame_bytes: u32) -> bool {
        let room = match &self.element {
            Element::Line { queue, .. } | Element::Shaper { queue, .. } => {
                1.0 + frames_in(*queue, frame_bytes)
            }
            Element::Police { police, offset_bytes } => {
                depth_bytes(police) / charged(frame_bytes, *offset_bytes)
            }
            Element::Chance => f64::INFINITY,
        };
        self.uneven_s > 0.0 && 1.0 + frames_s * self.uneven_s > room
    }

    /// The same, with what others take at most.
    fn left(&self) -> f64 {
        (self.frames_s - self.crossing).max(0.0) / self.share_before
    }
}

/// In the order in which a frame meets them: in each link the line, the policer, loss, duplication,
/// the shaper.
fn stages(links: &[LinkSpec], shapers_offset_bytes: i32, frame_bytes: u32) -> Vec<Stage<'_>> {
    let mut stages = Vec::new();
    let (mut share, uneven_s) = (1.0, Cell::new(0.0));
    let mut add = |element, frames_s, passes, crossing| {
        let (share_before, uneven_s) = (share, uneven_s.get());
        stages.push(Stage { element, frames_s, share_before, passes, crossing, uneven_s });
        share *= passes;
    };
    let in_frames = |bps: f64, offset: i32| bps / (8.0 * charged(frame_bytes, offset));
    if links.first().is_none_or(|link| link.line_rate.is_none()) {
        let queue = QueueSpec { limit: QueueLimit::Bytes(u64::MAX), aqm: Aqm::Fifo };
        let offset_bytes = ON_THE_LINE_BYTES;
        let frames_s = in_frames(HOST_L1_BPS, offset_bytes);
        add(Element::Line { queue, offset_bytes, is_host: true }, frames_s, 1.0, 0.0);
    }
    for link in links {
        let tags_bytes = TAG_BYTES * i32::from(link.vlan_tags);
        let crossing = |offset: i32| {
            let taken = link.cross.iter().map(|cross| most_bps(cross, offset));
            in_frames(taken.sum(), offset)
        };
        if let Some(rate) = link.line_rate {
            let queue = link.queue.unwrap_or_default();
            let offset_bytes = ON_THE_LINE_BYTES + tags_bytes;
            let element = Element::Line { queue, offset_bytes, is_host: false };
            add(element, in_frames(bps(rate), offset_bytes), 1.0, crossing(offset_bytes));
        }
        if let Some(police) = &link.police {
            let rate = bps(police.profile.cir_l2) + bps(police.profile.eir_l2);
            let offset_bytes = policers_offset_bytes(police.charge, tags_bytes);
            let element = Element::Police { police, offset_bytes };
            add(element, in_frames(rate, offset_bytes), 1.0, crossing(offset_bytes));
        }
        add(Element::Chance, f64::INFINITY, 1.0 - loss(link), 0.0);
        let copies = link.duplicate.map_or(0.0, |share| share.as_f64());
        add(Element::Chance, f64::INFINITY, 1.0 + copies, 0.0);
        if let Some(shape) = &link.shape {
            let (offset_bytes, queue) = (shapers_offset_bytes + tags_bytes, shape.queue);
            let frames_s = in_frames(bps(shape.rate), offset_bytes);
            let burst_bytes = shape.burst_bytes as f64;
            let element = Element::Shaper { burst_bytes, queue, offset_bytes };
            add(element, frames_s, 1.0, crossing(offset_bytes));
        }
        uneven_s.set(uneven_s.get() + 2.0 * most_jitter(link).as_secs_f64());
    }
    stages
}

/// What others may send, with `offset` bytes more for each frame: one who adapts takes all that he finds.
fn most_bps(cross: &CrossSpec, offset: i32) -> f64 {
    let frames_bps = match &cross.pattern {
        CrossPattern::Constant | CrossPattern::OnOff { .. } => bps(cross.rate_l2),
        CrossPattern::Tcp { .. } => f64::INFINITY,
        CrossPattern::Replayed { bytes } => {
            8e3 * bytes.iter().max().map_or(0.0, |most| f64::from(*most))
        }
    };
    frames_bps * charged(cross.frame_bytes, offset) / f64::from(cross.frame_bytes)
}

fn limiting(stages: &[Stage<'_>]) -> usize {
    let onsets = stages.iter().map(Stage::onset).enumerate();
    onsets.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(place, _)| place)
}

/// The policer that limits, or else the first one that bursts find empty: one that frames reach
/// faster than it refills.
fn bucket(stages: &[Stage<'_>], limit: usize) -> Option<Bucket> {
    let seen = |place: &usize| {
        let fed = fed_frames_s(&stages[..*place]);
        matches!(stages[*place].element, Element::Police { .. })
            && (*place == limit || fed > stages[*place].frames_s * (1.0 + RESOLUTION))
    };
    let limits = Some(limit).filter(seen);
    let place = limits.or_else(|| (0..stages.len()).find(seen))?;
    let Element::Police { police, offset_bytes } = stages[place].element else { return None };
    let profile = &police.profile;
    let depths_bytes = stages.iter().enumerate().filter_map(|(at, stage)| match stage.element {
        Element::Police { police, .. } if at == place || seen(&at) => Some(depth_bytes(police)),
        _ => None,
    });
    Some(Bucket {
        cir_bps: bps(profile.cir_l2),
        cbs_bytes: profile.cbs_bytes as f64,
        eir_bps: bps(profile.eir_l2),
        ebs_bytes: profile.ebs_bytes as f64,
        least_bytes: depths_bytes.fold(f64::INFINITY, f64::min),
        offset_bytes,
        is_marked: police.mark_yellow.is_some(),
        fed_frames_s: fed_frames_s(&stages[..place]),
    })
}

/// Of both buckets together.
const fn depth_bytes(police: &PoliceSpec) -> f64 {
    (police.profile.cbs_bytes + police.profile.ebs_bytes) as f64
}

/// How many frames/s leave these elements at most: a full bucket lets pass all that comes.
fn fed_frames_s(before: &[Stage<'_>]) -> f64 {
    let lines = before.iter().filter(|stage| stage.element.kind() != Some(Kind::Policer));
    lines.map(|stage| stage.frames_s).fold(f64::INFINITY, f64::min)
}

/// The share of its rate that a policer passes of frames that come as fast as they can. What a
/// bucket holds beyond a frame when the next one comes is lost if it has no room: with room for a
/// frame only, one frame passes for each whole number of slots that earn one.
fn flooded(police: &PoliceSpec, before: &[Stage<'_>], cost: f64) -> f64 {
    let profile = &police.profile;
    if profile.eir_l2 > Rate::ZERO {
        return of_two(profile, 1.0 / fed_frames_s(before), cost).0;
    }
    let earned_in_a_slot = bps(profile.cir_l2) / 8.0 / fed_frames_s(before);
    if profile.cbs_bytes as f64 >= cost + earned_in_a_slot {
        return 1.0;
    }
    let slots = cost / earned_in_a_slot;
    slots / slots.ceil()
}

/// The share of both rates together at which two buckets refuse none of frames that come evenly.
fn even_of_two(profile: &BandwidthProfileSpec, frames_s: f64, cost: f64) -> f64 {
    let refuses = |share: f64| of_two(profile, 1.0 / (share * frames_s), cost).1;
    if profile.eir_l2 == Rate::ZERO || !refuses(1.0 - 1e-6) {
        return 1.0;
    }
    let (mut passes, mut too_much) = (0.0, 1.0);
    while too_much - passes > 1e-7 {
        let middle = f64::midpoint(passes, too_much);
        *(if refuses(middle) { &mut too_much } else { &mut passes }) = middle;
    }
    passes
}

/// The same of two buckets, by what they have no room for when many frames come, and whether they refuse any.
fn of_two(profile: &BandwidthProfileSpec, slot_s: f64, cost: f64) -> (f64, bool) {
    const FRAMES: u32 = 100_000;
    let [cir, eir] = [profile.cir_l2, profile.eir_l2].map(|rate| bps(rate) / 8.0 * slot_s);
    let (cbs, ebs) = (profile.cbs_bytes as f64, profile.ebs_bytes as f64);
    let (mut committed, mut excess, mut wasted, mut refuses) = (cbs, ebs, 0.0, false);
    for _ in 0..FRAMES {
        let overflow = f64::max(committed + cir - cbs, 0.0);
        let (given, lost) = match profile.coupling {
            Coupling::Coupled => (overflow, 0.0),
            Coupling::Uncoupled => (0.0, overflow),
        };
        wasted += lost + f64::max(excess + eir + given - ebs, 0.0);
        committed = f64::min(committed + cir, cbs);
        excess = f64::min(excess + eir + given, ebs);
        let bucket = if committed >= cost { &mut committed } else { &mut excess };
        refuses |= *bucket < cost;
        if *bucket >= cost {
            *bucket -= cost;
        }
    }
    (1.0 - wasted / (f64::from(FRAMES) * (cir + eir)), refuses)
}

/// How long a frame waits at most for a line or a shaper of this frame rate, and whether frames are
/// dropped before the queue is full.
fn queue(element: &Element<'_>, frames_s: f64, frame_bytes: u32) -> (f64, bool) {
    let (Element::Line { queue, .. } | Element::Shaper { queue, .. }) = element else {
        return (0.0, false);
    };
    (frames_in(*queue, frame_bytes) / frames_s, queue.aqm != Aqm::Fifo)
}

fn frames_in(queue: QueueSpec, frame_bytes: u32) -> f64 {
    match queue.limit {
        QueueLimit::Packets(packets) => packets as f64,
        QueueLimit::Bytes(bytes) => (bytes as f64 / f64::from(frame_bytes)).floor(),
    }
}

/// Whether what the bucket holds, as small frames that follow each other as fast as they can, finds room
/// in every queue but the first one, which is the sender's own: what comes faster than a line takes it
/// waits. An active queue may drop some of it, so that this is not known.
fn carries(stages: &[Stage<'_>], bucket: &Bucket, frame_bytes: u32) -> bool {
    const SMALL_FRAME_BYTES: f64 = 256.0;
    let depth_bytes = bucket.cbs_bytes + bucket.ebs_bytes;
    if bucket.least_bytes < depth_bytes {
        return false;
    }
    let mut fastest = stages.first().map_or(f64::INFINITY, |stage| stage.frames_s);
    for stage in stages.iter().skip(1) {
        let (Element::Line { queue, .. } | Element::Shaper { queue, .. }) = stage.element else {
            continue;
        };
        let bunch_bytes = fastest * stage.uneven_s * f64::from(frame_bytes);
        let waiting_bytes = depth_bytes * (1.0 - stage.frames_s / fastest).max(0.0);
        let waiting_bytes = waiting_bytes.max(bunch_bytes.min(depth_bytes));
        let has_room = match queue.limit {
            // A frame waits as a whole.
            QueueLimit::Bytes(bytes) => waiting_bytes + f64::from(frame_bytes) <= bytes as f64,
            QueueLimit::Packets(packets) => waiting_bytes <= packets as f64 * SMALL_FRAME_BYTES,
        };
        if waiting_bytes > 0.0 && (!has_room || queue.aqm != Aqm::Fifo) {
            return false;
        }
        fastest = fastest.min(stage.frames_s);
    }
    true
}

/// What comes at once waits for the slowest line or shaper; it comes to those behind that as it left it.
fn waits_s_per_megabyte(stages: &[Stage<'_>], frame_bytes: u32) -> f64 {
    let queues = stages.iter().filter(|stage| stage.element.kind() == Some(Kind::Queue));
    let slowest = queues.map(|stage| stage.frames_s).fold(f64::INFINITY, f64::min);
    1e6 / f64::from(frame_bytes) / slowest
}

/// One that counts packets does not count what tags them.
const fn policers_offset_bytes(charge: Charge, tags_bytes: i32) -> i32 {
    match charge {
        Charge::L3 => offset_bytes(charge),
        Charge::L1 | Charge::L2 | Charge::L2WithoutFcs => offset_bytes(charge) + tags_bytes,
    }
}

pub(crate) const fn offset_bytes(charge: Charge) -> i32 {
    match charge {
        Charge::L1 => 20,
        Charge::L2 => 0,
        Charge::L2WithoutFcs => -4,
        Charge::L3 => -18,
    }
}

fn charged(frame_bytes: u32, offset_bytes: i32) -> f64 {
    f64::from(frame_bytes) + f64::from(offset_bytes)
}

fn bps(rate: Rate) -> f64 {
    rate.as_bps() as f64
}

/// Of the frames that meet a link, lost in the long run.
fn loss(link: &LinkSpec) -> f64 {
    match link.loss {
        None => 0.0,
        Some(LossSpec::Random(share)) => share.as_f64(),
        Some(LossSpec::Every(every)) => 1.0 / every as f64,
        Some(LossSpec::GilbertElliott(chain)) => {
            // Of a chain at rest as many steps lead to the bad state as lead out of it.
            let (enters, leaves) = (chain.to_bad.as_f64(), chain.to_good.as_f64());
            let bad = enters / (enters + leaves);
            bad * chain.loss_in_bad.as_f64() + (1.0 - bad) * chain.loss_in_good.as_f64()
        }
    }
}

/// Of frames, that nothing corrupts.
fn clean_share(links: &[LinkSpec]) -> f64 {
    links.iter().map(|link| 1.0 - link.corrupt.map_or(0.0, |share| share.as_f64())).product()
}

fn survivors(links: &[LinkSpec]) -> f64 {
    links.iter().map(|link| 1.0 - loss(link)).product::<f64>() * clean_share(links)
}

pub(crate) fn interface_mtu_bytes(network: &Network) -> u32 {
    let mtus = network.all_links().filter_map(|link| link.mtu);
    mtus.map(|mtu| mtu.bytes).fold(ETHERNET_MTU_BYTES, u32::max)
}

/// The smallest link decides; the first one that a packet of the interface's size is too large for
/// answers or does not.
fn mtu(links: &[LinkSpec], interface: u32) -> Mtu {
    let bytes = links.iter().filter_map(|link| link.mtu).map(|mtu| mtu.bytes).min();
    let bytes = bytes.unwrap_or(interface).min(interface);
    let answers = |mtu: fp_net::path::MtuSpec| mtu.too_big == TooBigAnswer::Icmp;
    let smaller = links.iter().filter_map(|link| link.mtu).filter(|mtu| mtu.bytes < interface);
    let is_answered = smaller.clone().any(answers);
    Mtu { bytes, is_black_hole: bytes < interface && !is_answered }
}

/// The least time of a probe through an idle direction, and its mean: propagation, and the time on
/// each line. A delay is never less than nothing, and jitter that keeps the order leaves single
/// probes as they are.
fn delay_s(links: &[LinkSpec]) -> [f64; 2] {
    let first = links.first().is_none_or(|link| link.line_rate.is_none());
    let on_host = if first { PROBE_L1_BITS / HOST_L1_BPS } else { 0.0 };
    let mut least_and_mean = [on_host; 2];
    for link in links {
        let probe_bits = PROBE_L1_BITS + 8.0 * f64::from(TAG_BYTES * i32::from(link.vlan_tags));
        let on_line = link.line_rate.map_or(0.0, |rate| probe_bits / bps(rate));
        least_and_mean[0] += on_line + link.delay.saturating_sub(most_jitter(link)).as_secs_f64();
        least_and_mean[1] += on_line + link.delay.as_secs_f64();
    }
    least_and_mean
}

/// By how much a delay is shorter or longer than the mean, at most.
fn most_jitter(link: &LinkSpec) -> Duration {
    match link.jitter.map(|jitter| jitter.distribution) {
        None => Duration::ZERO,
        Some(JitterDistribution::Uniform(most)) => most,
        Some(JitterDistribution::Normal(sigma)) => sigma * 4,
    }
}

/// The link has no random impairment.
pub(crate) fn is_clean(link: &LinkSpec) -> bool {
    !loses(link) && !wavers(link) && link.duplicate.is_none() && link.cross.is_empty()
}

/// Frames are lost by chance.
pub(crate) fn loses(link: &LinkSpec) -> bool {
    link.loss.is_some() || link.corrupt.is_some()
}

/// Frames are delayed by chance.
pub(crate) fn wavers(link: &LinkSpec) -> bool {
    link.jitter.is_some() || link.reorder.is_some()
}

#[cfg(test)]
mod tests;
