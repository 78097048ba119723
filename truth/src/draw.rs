//! Random networks: each follows from the seed and its number alone.

mod links;
mod more;

use std::time::Duration;

use fp_model::{Dscp, Family, Rate};
use fp_net::meter::{BandwidthProfileSpec, ColourMode, Coupling};
use fp_net::path::{
    Aqm, Charge, ColourMap, CrossPattern, CrossSpec, Exceed, FrameOrder, GilbertElliott,
    JitterDistribution, JitterSpec, LinkSpec, LossSpec, MtuSpec, PoliceSpec, Probability,
    QueueLimit, QueueSpec, ReorderSpec, ShapeSpec, TooBigAnswer,
};
use fp_net::sim::Severity;

use crate::facts::ETHERNET_MTU_BYTES;
use crate::network::{HostTroubles, Network};
pub(crate) use links::network as network_of_links;

/// Draws network `index` of a seed.
///
/// Rates are spread evenly over the orders of magnitude from 1 Mbit/s to 1 Gbit/s, and one network in
/// ten is faster, up to 9 Gbit/s: a simulated second costs in proportion to its frames.
pub(crate) fn network(seed: u64, index: u64) -> Network {
    let mut dice = Dice::new(seed, index);
    let frame = Frame::drawn(&mut dice);
    let rtt_s = dice.log(0.0002, 0.3);
    let there = dice.between(0.3, 0.7);
    let delays_s = [rtt_s * there, rtt_s * (1.0 - there)];
    let is_fast = dice.happens(0.1);
    let rate = if is_fast { dice.log(1e9, 9e9) } else { dice.log(1e6, 1e9) };
    // Upload and download differ in two of five, by up to 1:50.
    let slower = if dice.happens(0.4) { dice.log(1.05, 50.0) } else { 1.0 };
    let slow = (rate / slower).max(1e6);
    let [down_bps, up_bps] = if dice.happens(0.8) { [rate, slow] } else { [slow, rate] };
    let shape = Shape::drawn(&mut dice);
    let parts = Parts::drawn(&mut dice);
    let direction =
        |bps: f64, delay_s: f64| shape.links(&mut dice.clone(), &parts, &frame, bps, delay_s);
    let (mut download, mut upload) =
        (direction(down_bps, delays_s[0]), direction(up_bps, delays_s[1]));
    frame.limit(&mut dice, [&mut download, &mut upload]);
    impair(&mut dice, [&mut download, &mut upload]);
    let trouble = dice.happens(0.08).then(|| HostTroubles {
        severity: if dice.happens(0.7) { Severity::Mild } else { Severity::Heavy },
        seed: dice.next(),
    });
    let family = frame.family;
    let seed_of_chance = dice.next() >> 1;
    // Others send across one network in ten.
    if dice.happens(0.1) {
        cross(&mut dice, &frame, [(&mut download, down_bps), (&mut upload, up_bps)]);
    }
    if dice.happens(0.15) {
        more::add(&mut dice, &frame, [(&mut download, down_bps), (&mut upload, up_bps)]);
    }
    let name = format!("truth-{seed}-{index}");
    Network { family, seed: seed_of_chance, trouble, ..Network::new(name, download, upload) }
}

/// `SplitMix64`, whose numbers are a function of the seed and how many were drawn before.
#[derive(Clone, Debug)]
struct Dice(u64);

impl Dice {
    fn new(seed: u64, index: u64) -> Self {
        // Two seeds never draw the same network at different numbers.
        let mut of_seed = Self(seed);
        Self(of_seed.next() ^ Self(index).next().rotate_left(32))
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn happens(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.unit()
    }

    /// As often in each order of magnitude.
    fn log(&mut self, least: f64, most: f64) -> f64 {
        let most = most.max(least);
        (least.ln() + (most.ln() - least.ln()) * self.unit()).exp()
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.unit() * all.len() as f64) as usize]
    }
}

/// How large packets may be, and of which family.
#[derive(Debug)]
struct Frame {
    family: Family,
    path_mtu: u32,
    /// Of the interfaces and of the links that limit nothing.
    interface_mtu: u32,
    too_big: TooBigAnswer,
}

impl Frame {
    fn drawn(dice: &mut Dice) -> Self {
        let family = if dice.happens(0.3) { Family::Ipv6 } else { Family::Ipv4 };
        let least = if family == Family::Ipv6 { 1280.0 } else { 576.0 };
        let (path_mtu, interface_mtu) = match dice.unit() {
            at if at < 0.6 => (ETHERNET_MTU_BYTES, ETHERNET_MTU_BYTES),
            at if at < 0.75 => (dice.between(least, 1500.0) as u32, ETHERNET_MTU_BYTES),
            at if at < 0.8 => (dice.one_of(&[1280, 1400, 1420, 1492]), ETHERNET_MTU_BYTES),
            at if at < 0.9 => (9000, 9000),
            _ => (dice.between(1501.0, 9000.0) as u32, 9000),
        };
        let too_big = if dice.happens(0.3) { TooBigAnswer::Silence } else { TooBigAnswer::Icmp };
        Self { family, path_mtu, interface_mtu, too_big }
    }

    /// The longest that any link carries, so that no bucket is too small for it.
    const fn bytes(&self) -> u32 {
        self.interface_mtu + 18
    }

    /// Of a link that limits nothing, where interfaces carry more than Ethernet's.
    fn interface_mtu(&self) -> Option<MtuSpec> {
        let mtu = MtuSpec { bytes: self.interface_mtu, too_big: TooBigAnswer::Icmp };
        (self.interface_mtu > ETHERNET_MTU_BYTES).then_some(mtu)
    }

    /// One link of each direction carries no more than the path; all others as much as interfaces.
    fn limit(&self, dice: &mut Dice, ways: [&mut Vec<LinkSpec>; 2]) {
        let place = dice.unit();
        for links in ways {
            links.iter_mut().for_each(|link| link.mtu = self.interface_mtu());
            if self.path_mtu < self.interface_mtu {
                let at = (place * links.len() as f64) as usize;
                links[at].mtu = Some(MtuSpec { bytes: self.path_mtu, too_big: self.too_big });
            }
        }
    }
}

/// The elements of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Nothing,
    Line,
    PortLine,
    Shaper,
    Policer,
    TwoBuckets,
    PolicerLine,
    PolicerSlowerLine,
    LinePolicer,
    SlowerLinePolicer,
    LineLine,
    LinePolicerLine,
}

impl Shape {
    fn drawn(dice: &mut Dice) -> Self {
        let all = [
            (0.005, Self::Nothing),
            (0.11, Self::Line),
            (0.11, Self::PortLine),
            (0.08, Self::Shaper),
            (0.26, Self::Policer),
            (0.08, Self::TwoBuckets),
            (0.09, Self::PolicerLine),
            (0.04, Self::PolicerSlowerLine),
            (0.05, Self::LinePolicer),
            (0.03, Self::SlowerLinePolicer),
            (0.075, Self::LineLine),
            (0.07, Self::LinePolicerLine),
        ];
        let mut at = dice.unit();
        for (share, shape) in all {
            if at < share {
                return shape;
            }
            at -= share;
        }
        Self::Line
    }

    /// One direction whose slowest element carries `bps`.
    fn links(
        self,
        dice: &mut Dice,
        parts: &Parts,
        frame: &Frame,
        bps: f64,
        delay_s: f64,
    ) -> Vec<LinkSpec> {
        let port = || parts.port(bps);
        let line = |bps: f64| parts.line(frame, bps);
        let policer =
            |link: LinkSpec, bps: f64| LinkSpec { police: Some(parts.police(frame, bps)), ..link };
        let two =
            |link: LinkSpec, bps: f64| LinkSpec { police: Some(parts.two(frame, bps)), ..link };
        let faster = bps * parts.faster;
        let mut links = match self {
            Self::Nothing => vec![LinkSpec::default()],
            Self::Line => vec![line(bps)],
            Self::PortLine => vec![port(), line(bps)],
            Self::Shaper => vec![LinkSpec { shape: Some(parts.shape(frame, bps)), ..port() }],
            Self::Policer => vec![policer(port(), bps)],
            Self::TwoBuckets => vec![two(port(), bps)],
            Self::PolicerLine => vec![policer(port(), bps), line(faster)],
            Self::PolicerSlowerLine => vec![policer(parts.port(faster), faster), line(bps)],
            Self::LinePolicer => vec![line(faster), policer(LinkSpec::default(), bps)],
            Self::SlowerLinePolicer => vec![line(bps), policer(LinkSpec::default(), faster)],
            Self::LineLine if dice.happens(0.5) => vec![line(faster), line(bps)],
            Self::LineLine => vec![line(bps), line(faster)],
            Self::LinePolicerLine => {
                vec![port(), policer(line(faster), bps), line(bps * parts.much_faster)]
            }
        };
        let count = links.len() as f64;
        for link in &mut links {
            link.delay = Duration::from_nanos((delay_s / count * 1e9) as u64);
        }
        links
    }
}

/// How the elements are set, relative to their rates, so that both directions are alike.
#[derive(Debug)]
struct Parts {
    port_step: f64,
    faster: f64,
    much_faster: f64,
    charge: Charge,
    /// Of the bucket, from a frame to 3 s of its rate: where on that scale.
    depth: f64,
    excess_rate: f64,
    excess_depth: f64,
    is_marked: bool,
    /// Of the queue, from a packet to 2 s.
    queue: f64,
    counts_packets: bool,
    has_codel: bool,
}

impl Parts {
    fn drawn(dice: &mut Dice) -> Self {
        Self {
            port_step: dice.unit(),
            faster: dice.log(1.06, 10.0),
            much_faster: dice.log(10.0, 20.0),
            charge: match dice.unit() {
                at if at < 0.5 => Charge::L2,
                at if at < 0.65 => Charge::L1,
                at if at < 0.8 => Charge::L2WithoutFcs,
                _ => Charge::L3,
            },
            depth: dice.unit(),
            excess_rate: dice.log(0.1, 3.0),
            excess_depth: dice.unit(),
            is_marked: dice.happens(0.5),
            queue: dice.unit(),
            counts_packets: dice.happens(0.5),
            has_codel: dice.happens(0.2),
        }
    }

    /// The sender's interface: an Ethernet, of which one in three is much faster than the path.
    fn port(&self, bps: f64) -> LinkSpec {
        let ports = [10e6, 100e6, 1e9, 10e9];
        let next = ports.iter().position(|port| *port >= 1.2 * bps).unwrap_or(3);
        // A port of 10 Gbit/s in front of a slow path costs ten times as many simulated frames.
        let most = if bps >= 300e6 { 3 } else { 2 };
        let at = if self.port_step < 1.0 / 3.0 { most } else { next };
        // Its own queue has room for what a method sends in a burst.
        let queue = QueueSpec { limit: QueueLimit::Packets(100_000), aqm: Aqm::Fifo };
        let line_rate = Some(rate(ports[at.max(next)].max(1.2 * bps)));
        LinkSpec { line_rate, queue: Some(queue), ..LinkSpec::default() }
    }

    fn line(&self, frame: &Frame, bps: f64) -> LinkSpec {
        LinkSpec {
            line_rate: Some(rate(bps)),
            queue: Some(self.queue(frame, bps)),
            ..LinkSpec::default()
        }
    }

    fn shape(&self, frame: &Frame, bps: f64) -> ShapeSpec {
        // With a queue much smaller than its bucket, a shaper drops what exceeds nearly at once: to
        // the ends that is a policer.
        const LEAST_QUEUE_FRAMES: u64 = 10;
        let burst_bytes = self.bytes(frame, self.depth, bps, 0.1);
        let drawn = self.queue(frame, bps);
        let frame_bytes = u64::from(frame.bytes());
        let least_bytes = burst_bytes.max(LEAST_QUEUE_FRAMES * frame_bytes);
        let limit = match drawn.limit {
            QueueLimit::Bytes(bytes) => QueueLimit::Bytes(bytes.max(least_bytes)),
            QueueLimit::Packets(packets) => {
                QueueLimit::Packets(packets.max(least_bytes.div_ceil(frame_bytes)))
            }
        };
        ShapeSpec { rate: rate(bps), burst_bytes, queue: QueueSpec { limit, ..drawn } }
    }

    fn queue(&self, frame: &Frame, bps: f64) -> QueueSpec {
        const DEEPEST_S: f64 = 2.0;
        let bytes = self.bytes(frame, self.queue, bps, DEEPEST_S);
        let limit = if self.counts_packets {
            QueueLimit::Packets((bytes / u64::from(frame.bytes())).max(1))
        } else {
            QueueLimit::Bytes(bytes)
        };
        QueueSpec { limit, aqm: if self.has_codel { Aqm::CODEL } else { Aqm::Fifo } }
    }

    fn police(&self, frame: &Frame, bps: f64) -> PoliceSpec {
        const DEEPEST_S: f64 = 3.0;
        let cbs_bytes = self.bytes(frame, self.depth, bps, DEEPEST_S);
        PoliceSpec { charge: self.charge, ..PoliceSpec::single_bucket(rate(bps), cbs_bytes) }
    }

    /// Both rates together are `bps`.
    fn two(&self, frame: &Frame, bps: f64) -> PoliceSpec {
        let committed = bps / (1.0 + self.excess_rate);
        let profile = BandwidthProfileSpec {
            cir_l2: rate(committed),
            cbs_bytes: self.bytes(frame, self.depth, committed, 1.0),
            eir_l2: rate(bps - committed),
            ebs_bytes: self.bytes(frame, self.excess_depth, bps - committed, 1.0),
            coupling: Coupling::Uncoupled,
            mode: ColourMode::Blind,
        };
        PoliceSpec {
            profile,
            charge: self.charge,
            colours: ColourMap::default(),
            // AF12: what RFC 2597 marks as yellow.
            mark_yellow: if self.is_marked { Dscp::new(12) } else { None },
            exceed: Exceed::Drop,
        }
    }

    /// From the longest frame as the widest charge counts it to `most_s` seconds of the rate: evenly over
    /// the orders of magnitude.
    fn bytes(&self, frame: &Frame, at: f64, bps: f64, most_s: f64) -> u64 {
        const MOST_BYTES: f64 = 5e8;
        let least = f64::from(frame.bytes() + 20);
        let most = (bps / 8.0 * most_s).clamp(least, MOST_BYTES);
        (least.ln() + at * (most.ln() - least.ln())).exp().ceil() as u64
    }
}

fn rate(bps: f64) -> Rate {
    // In whole kilobits, as people set them.
    Rate::bps((bps / 1e3).round() as u64 * 1000)
}

/// Each kind of impairment, and whether it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Impairment {
    Loss,
    BurstyLoss,
    Jitter,
    ReorderingJitter,
    Reordering,
    Duplicates,
    Corruption,
}

impl Impairment {
    const ALL: [Self; 7] = [
        Self::Loss,
        Self::BurstyLoss,
        Self::Jitter,
        Self::ReorderingJitter,
        Self::Reordering,
        Self::Duplicates,
        Self::Corruption,
    ];

    /// Each with this share of chance, but one kind of loss and of jitter at most, as a link has.
    fn some(dice: &mut Dice, share: f64) -> Vec<Self> {
        let mut there: Vec<Self> = Self::ALL.into_iter().filter(|_| dice.happens(share)).collect();
        for [one, other] in [[Self::Loss, Self::BurstyLoss], [Self::Jitter, Self::ReorderingJitter]]
        {
            if there.contains(&one) {
                there.retain(|kind| *kind != other);
            }
        }
        there
    }
}

/// Nothing happens by chance in half of the networks; one kind alone in most others, several together
/// in the rest; in both directions alike, or in one only.
fn impair(dice: &mut Dice, ways: [&mut Vec<LinkSpec>; 2]) {
    use Impairment::{
        BurstyLoss, Corruption, Duplicates, Jitter, Loss, Reordering, ReorderingJitter,
    };
    const OFTEN: [Impairment; 10] = [
        Loss,
        Loss,
        Loss,
        BurstyLoss,
        Jitter,
        Jitter,
        ReorderingJitter,
        Reordering,
        Duplicates,
        Corruption,
    ];
    let there = match dice.unit() {
        at if at < 0.5 => Vec::new(),
        at if at < 0.78 => vec![dice.one_of(&OFTEN)],
        // Loss and jitter of some kind together are what real paths have.
        at if at < 0.9 => vec![Loss, Jitter],
        _ => Impairment::some(dice, 0.4),
    };
    let sides =
        if dice.happens(0.8) { [true, true] } else { dice.one_of(&[[true, false], [false, true]]) };
    let (place, scale) = (dice.unit(), Scale::drawn(dice));
    for (links, _) in ways.into_iter().zip(sides).filter(|(_, is_meant)| *is_meant) {
        let at = (place * links.len() as f64) as usize;
        for kind in &there {
            scale.apply(*kind, &mut links[at]);
        }
    }
}

/// How bad each impairment is.
#[derive(Debug)]
struct Scale {
    loss: f64,
    bursty_loss: f64,
    burst_frames: f64,
    jitter_s: f64,
    is_normal: bool,
    reorder: f64,
    hold_s: f64,
    duplicate: f64,
    corrupt: f64,
}

impl Scale {
    fn drawn(dice: &mut Dice) -> Self {
        Self {
            loss: dice.log(1e-5, 0.03),
            bursty_loss: dice.log(1e-4, 0.02),
            burst_frames: dice.log(2.0, 50.0),
            jitter_s: dice.log(20e-6, 10e-3),
            is_normal: dice.happens(0.4),
            reorder: dice.log(1e-4, 0.02),
            hold_s: dice.log(1e-4, 10e-3),
            duplicate: dice.log(1e-4, 0.01),
            corrupt: dice.log(1e-5, 0.01),
        }
    }

    fn apply(&self, kind: Impairment, link: &mut LinkSpec) {
        let share = |share: f64| Probability::new(share).unwrap_or_default();
        let time = |seconds: f64| Duration::from_nanos((seconds * 1e9) as u64);
        match kind {
            Impairment::Loss => link.loss = Some(LossSpec::Random(share(self.loss))),
            Impairment::BurstyLoss => {
                let to_good = 1.0 / self.burst_frames;
                let bad = self.bursty_loss;
                link.loss = Some(LossSpec::GilbertElliott(GilbertElliott {
                    to_bad: share(to_good * bad / (1.0 - bad)),
                    to_good: share(to_good),
                    loss_in_good: Probability::NEVER,
                    loss_in_bad: share(1.0),
                }));
            }
            Impairment::Jitter | Impairment::ReorderingJitter => {
                let order =
                    if kind == Impairment::Jitter { FrameOrder::Kept } else { FrameOrder::Free };
                // Delays stay above zero, where they would pile up.
                let most = time(self.jitter_s).min(link.delay);
                let distribution = if self.is_normal {
                    JitterDistribution::Normal(most / 4)
                } else {
                    JitterDistribution::Uniform(most)
                };
                link.jitter = Some(JitterSpec { distribution, order });
            }
            Impairment::Reordering => {
                let (probability, hold) = (share(self.reorder), time(self.hold_s));
                link.reorder = Some(ReorderSpec { probability, hold });
            }
            Impairment::Duplicates => link.duplicate = Some(share(self.duplicate)),
            Impairment::Corruption => link.corrupt = Some(share(self.corrupt)),
        }
    }
}

/// Others send across one link of both directions, or of one.
fn cross(dice: &mut Dice, frame: &Frame, ways: [(&mut Vec<LinkSpec>, f64); 2]) {
    let sides =
        if dice.happens(0.5) { [true, true] } else { dice.one_of(&[[true, false], [false, true]]) };
    let place = dice.unit();
    let frame_bytes = dice.one_of(&[64, 512, 1280, 1518]).min(frame.path_mtu + 18);
    for ((links, bps), _) in ways.into_iter().zip(sides).filter(|(_, is_meant)| *is_meant) {
        let at = (place * links.len() as f64) as usize;
        links[at].cross.push(crossing(dice, frame_bytes, bps));
    }
}

/// A sender beside a path of `bps`.
fn crossing(dice: &mut Dice, frame_bytes: u32, bps: f64) -> CrossSpec {
    // A simulated second costs in proportion to its frames.
    const MOST_FRAMES_S: f64 = 20_000.0;
    let most_bps = MOST_FRAMES_S * 8.0 * f64::from(frame_bytes);
    let time = |seconds: f64| Duration::from_nanos((seconds * 1e9) as u64);
    let (pattern, wanted_bps) = match dice.unit() {
        at if at < 0.25 => (CrossPattern::Constant, bps * dice.log(0.01, 0.5)),
        at if at < 0.5 => {
            let on_s = dice.log(1e-3, 1.0);
            let off_s = on_s * dice.log(1.0, 20.0);
            (CrossPattern::OnOff { on: time(on_s), off: time(off_s) }, bps * dice.log(0.02, 1.0))
        }
        at if at < 0.75 => (CrossPattern::Tcp { rtt: time(dice.log(1e-3, 0.2)) }, 10.0 * bps),
        _ => {
            let mean = (bps * dice.log(0.01, 0.3)).min(most_bps) / 8e3;
            // Few milliseconds have most of the bytes.
            let bytes = (0..100).map(|_| (-dice.unit().ln() * dice.log(0.01, 4.0) * mean) as u32);
            let bytes = bytes.chain([frame_bytes]).collect();
            return CrossSpec {
                pattern: CrossPattern::Replayed { bytes },
                rate_l2: Rate::ZERO,
                frame_bytes,
                dscp: Dscp::BEST_EFFORT,
            };
        }
    };
    let rate_l2 = rate(wanted_bps.min(most_bps));
    CrossSpec { pattern, rate_l2, frame_bytes, dscp: Dscp::BEST_EFFORT }
}

#[cfg(test)]
mod tests;
