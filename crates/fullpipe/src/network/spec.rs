//! From the keys of a network file to a specification that can be built.

use std::time::Duration;

use fp_model::{Dscp, FlowSpec, PacketLayout, PortRange, Rate};
use fp_net::meter::{BandwidthProfileSpec, ColourMode, Coupling};
use fp_net::path::{
    Aqm, Charge, ClassPoliceSpec, ClassShapeSpec, ColourMap, CrossPattern, CrossSpec, DrrClass,
    Exceed, FrameOrder, GatewaySpec, GilbertElliott, JitterDistribution, JitterSpec, LinkSpec,
    LossSpec, MtuSpec, OutageSpec, PathSpec, PoliceSpec, PrioritySpec, Probability, QueueLimit,
    QueueSpec, RemarkSpec, ReorderSpec, ShapeSpec, TooBigAnswer,
};
use serde_saphyr::Spanned;

use super::KIND;
use super::file::{self, File};
use crate::values;
use crate::yaml::value::{
    dscp, dscps, duration, l1_rate, l2_rate, positive, rate, share, size, whole,
};
use crate::yaml::{OneOrMore, Problem, Short, Text};

const MOST_LINKS: usize = 16;
const MOST_DELAY: Duration = Duration::from_secs(60);
const MOST_OUTAGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Also the depth of a shaper's bucket that can be counted exactly.
const MOST_QUEUE_BYTES: u64 = 1 << 30;
const MOST_QUEUE_PACKETS: u64 = 10_000_000;
/// With an MTU of 1500 bytes, as where a link names none.
const FULL_FRAME_BYTES: u32 = 1518;
/// The least that IPv4 asks of a link, RFC 791.
const LEAST_MTU_BYTES: u64 = 68;
const MOST_MTU_BYTES: u64 = 65_535;
const LEAST_FRAME_BYTES: u64 = 64;
/// Who send across one link.
const MOST_CROSS: usize = 16;
/// A line of 1 Tbit/s carries no more.
const MOST_BYTES_PER_MS: u64 = 125_000_000;
/// Those that translators give out, where the file does not say.
const UNPRIVILEGED_PORTS: PortRange = PortRange { first: 1024, last: 65_535 };
/// How long `reorder` holds a frame back where the file does not say.
const REORDER_HOLD: Duration = Duration::from_millis(5);

pub(super) fn path(file: &File) -> Result<PathSpec, Problem> {
    KIND.check_schema(&file.lab)?;
    if file.name.value.trim().is_empty() {
        return Err(Problem::with(&file.name, "a network has a name"));
    }
    let links = &file.links.value;
    if links.is_empty() || links.len() > MOST_LINKS {
        let sentence = format!("a path has 1 to {MOST_LINKS} links, here are {}", links.len());
        return Err(Problem::with(&file.links, sentence));
    }
    let near_to_far = links.iter().map(|each| link(&each.near_to_far));
    let way_back = |each: &file::Link| link(each.far_to_near.as_ref().unwrap_or(&each.near_to_far));
    Ok(PathSpec {
        name: file.name.value.clone(),
        description: file.description.clone().unwrap_or_default(),
        near_to_far: near_to_far.collect::<Result<_, _>>()?,
        // Frames from the far end meet the last link first.
        far_to_near: links.iter().rev().map(way_back).collect::<Result<_, _>>()?,
        gateway: file.gateway.as_ref().map(gateway).transpose()?,
    })
}

fn gateway(gateway: &Spanned<file::Gateway>) -> Result<GatewaySpec, Problem> {
    let file::Gateway { nat: file::Nat::Masquerade, ports } = &gateway.value;
    Ok(GatewaySpec { ports: ports.as_ref().map_or(Ok(UNPRIVILEGED_PORTS), port_range)? })
}

fn port_range(text: &Text) -> Result<PortRange, Problem> {
    values::port_range(&text.value)
        .ok_or_else(|| Problem::with(text, "ports are from 1 to 65535, such as 1024-65535"))
}

fn link(way: &Spanned<file::Way>) -> Result<LinkSpec, Problem> {
    let way = &way.value;
    let mtu = way.mtu.as_ref().map(mtu).transpose()?;
    let vlan_tags = optional(way.vlan_tags.as_ref(), vlan_tags)?;
    let tags_bytes = PacketLayout::VLAN_TAG_BYTES * u32::from(vlan_tags);
    let frame_bytes = mtu.map_or(FULL_FRAME_BYTES, |mtu| mtu.frame_bytes()) + tags_bytes;
    let line_rate = way.line_rate.as_ref().map(l1_rate).transpose()?;
    let Waiting { queue, shape, shape_classes } = waiting(way, frame_bytes)?;
    let largest = LargestFrame { frame_bytes, tags_bytes };
    let (police, police_classes) = policers(way.police.as_ref(), largest)?;
    Ok(LinkSpec {
        line_rate,
        vlan_tags,
        police,
        police_classes,
        shape,
        shape_classes,
        delay: optional(way.delay.as_ref(), |text| duration(text, MOST_DELAY))?,
        jitter: way.jitter.as_ref().map(jitter).transpose()?,
        loss: way.loss.as_ref().map(loss).transpose()?,
        reorder: way.reorder.as_ref().map(reorder).transpose()?,
        duplicate: way.duplicate.as_ref().map(share).transpose()?,
        corrupt: way.corrupt.as_ref().map(share).transpose()?,
        mtu,
        queue,
        priority: way.priority.as_ref().map(priority).transpose()?,
        remark: remarks(way.remark.as_ref())?,
        outage: way.outage.as_ref().map(outage).transpose()?,
        cross: way.cross.as_ref().map_or_else(|| Ok(Vec::new()), |list| crossing(list, largest))?,
    })
}

/// That a link carries, the bytes of its VLAN tags among its own.
#[derive(Clone, Copy, Debug)]
struct LargestFrame {
    frame_bytes: u32,
    tags_bytes: u32,
}

fn vlan_tags(text: &Text) -> Result<u8, Problem> {
    Ok(whole(text, 0..=FlowSpec::VLAN_TAGS_MAX.into())? as u8)
}

/// A missing value is nothing of it.
fn optional<T: Default>(
    text: Option<&Text>,
    read: impl Fn(&Text) -> Result<T, Problem>,
) -> Result<T, Problem> {
    text.map_or_else(|| Ok(T::default()), read)
}

/// What waits on a link, and for what.
struct Waiting {
    /// In front of the line.
    queue: Option<QueueSpec>,
    shape: Option<ShapeSpec>,
    shape_classes: Vec<ClassShapeSpec>,
}

/// The queue in front of the line and the shapers with their own; without a line the link's `queue`
/// is that of the shaper for all classes that have none of their own.
fn waiting(way: &file::Way, frame_bytes: u32) -> Result<Waiting, Problem> {
    let shapers = way.shape.as_ref().map(OneOrMore::elements).unwrap_or_default();
    let of_others = shapers.iter().find(|shaper| shaper.value.dscp.is_none());
    let nothing_to_wait_for = way.line_rate.is_none() && of_others.is_none();
    if let (Some(place), true) = (&way.queue, nothing_to_wait_for) {
        return Err(Problem::with(place, "a queue needs a line_rate or a shape to wait for"));
    }
    if let (Some(place), true) = (&way.priority, nothing_to_wait_for) {
        return Err(Problem::with(place, "priority needs a line_rate or a shape to wait for"));
    }
    let queue = way.queue.as_ref().map(queue).transpose()?;
    let (of_line, of_shaper) = if way.line_rate.is_some() { (queue, None) } else { (None, queue) };
    if let (Some(place), Some(_)) = (of_others.and_then(|one| one.value.queue.as_ref()), of_shaper)
    {
        let sentence = "the shaper has a second queue here: write one of the two";
        return Err(Problem::with(place, sentence));
    }
    let read = |shaper: &Spanned<&file::Shape>| {
        let of_others = of_shaper.filter(|_| shaper.value.dscp.is_none());
        shape(shaper, of_others, frame_bytes)
    };
    let (shape, of_classes) = by_class("shaper", &shapers, |keys| keys.dscp.as_ref(), read)?;
    let of_class = |(dscp, shape)| ClassShapeSpec { dscp, shape };
    let shape_classes = of_classes.into_iter().map(of_class).collect();
    Ok(Waiting { queue: of_line, shape, shape_classes })
}

fn shape(
    shape: &Spanned<&file::Shape>,
    of_link: Option<QueueSpec>,
    frame_bytes: u32,
) -> Result<ShapeSpec, Problem> {
    let rate = positive(&shape.value.rate, l2_rate)?;
    let burst_bytes = match &shape.value.burst {
        None => frame_bytes.into(),
        Some(text) => burst(text, "burst", frame_bytes)?,
    };
    let queue = shape.value.queue.as_ref().map(queue).transpose()?.or(of_link);
    Ok(ShapeSpec { rate, burst_bytes, queue: queue.unwrap_or_default() })
}

/// A bucket that a full frame fits into: in a smaller one it would wait for ever.
fn burst(text: &Text, name: &str, frame_bytes: u32) -> Result<u64, Problem> {
    let bytes = size(text, MOST_QUEUE_BYTES)?;
    if bytes >= u64::from(frame_bytes) {
        return Ok(bytes);
    }
    let sentence = format!(
        "{name} of {bytes} bytes is less than the largest frame of {frame_bytes} bytes, which \
         would never pass: at least {frame_bytes}"
    );
    Err(Problem::with(text, sentence))
}

fn policers(
    policers: Option<&Spanned<OneOrMore<file::Police>>>,
    largest: LargestFrame,
) -> Result<(Option<PoliceSpec>, Vec<ClassPoliceSpec>), Problem> {
    let policers = policers.map(OneOrMore::elements).unwrap_or_default();
    let read = |policer: &Spanned<&file::Police>| police(policer, largest);
    let (of_others, of_classes) = by_class("policer", &policers, |keys| keys.dscp.as_ref(), read)?;
    let of_class = |(dscp, police)| ClassPoliceSpec { dscp, police };
    Ok((of_others, of_classes.into_iter().map(of_class).collect()))
}

/// What stands on a link once for all frames, or for those in no class that has one of its own; and
/// those of the classes.
type ByClass<T> = (Option<T>, Vec<(Vec<Dscp>, T)>);

fn by_class<E, T>(
    name: &str,
    elements: &[Spanned<&E>],
    class: impl Fn(&E) -> Option<&Spanned<OneOrMore<String>>>,
    read: impl Fn(&Spanned<&E>) -> Result<T, Problem>,
) -> Result<ByClass<T>, Problem> {
    let (mut of_others, mut of_classes) = (None, Vec::<(Vec<Dscp>, T)>::new());
    for element in elements {
        let spec = read(element)?;
        let Some(list) = class(element.value) else {
            if of_others.replace(spec).is_some() {
                let sentence =
                    format!("a second {name} without dscp: only one can take all other classes");
                return Err(Problem::with(element, sentence));
            }
            continue;
        };
        let dscp = dscps(list)?;
        if of_classes.iter().any(|(class, _)| class.iter().any(|taken| dscp.contains(taken))) {
            let sentence =
                format!("a class has two {name}s: each code point may be in one of them only");
            return Err(Problem::with(list, sentence));
        }
        of_classes.push((dscp, spec));
    }
    Ok((of_others, of_classes))
}

fn police(police: &Spanned<&file::Police>, largest: LargestFrame) -> Result<PoliceSpec, Problem> {
    let keys = police.value;
    let charge = keys.charge.map_or(Charge::default(), charge);
    let counted = |text: &Text| rate(text, charge.layer());
    let cir = counted(&keys.cir)?;
    let eir = optional(keys.eir.as_ref(), counted)?;
    if cir == Rate::ZERO && eir == Rate::ZERO {
        return Err(Problem::with(&keys.cir, "a policer with neither cir nor eir passes nothing"));
    }
    if let (true, None) = (eir > Rate::ZERO, &keys.ebs) {
        return Err(Problem::with(police, "an eir needs an ebs, the size of its bucket"));
    }
    let charged_bytes = charge.bytes_of(largest.frame_bytes, largest.tags_bytes);
    let cbs_bytes = bucket(&keys.cbs, "cbs", cir, charged_bytes)?;
    let ebs_bytes = optional(keys.ebs.as_ref(), |text| bucket(text, "ebs", eir, charged_bytes))?;
    if let (Some(colors), false) = (&keys.colors, keys.color_aware) {
        return Err(Problem::with(colors, "colors count only where color_aware is true"));
    }
    Ok(PoliceSpec {
        profile: BandwidthProfileSpec {
            cir_l2: cir,
            cbs_bytes,
            eir_l2: eir,
            ebs_bytes,
            coupling: if keys.coupling { Coupling::Coupled } else { Coupling::Uncoupled },
            mode: if keys.color_aware { ColourMode::Aware } else { ColourMode::Blind },
        },
        charge,
        colours: keys.colors.as_ref().map_or_else(|| Ok(ColourMap::default()), colours)?,
        mark_yellow: keys.mark_yellow.as_ref().map(dscp).transpose()?,
        exceed: match &keys.exceed {
            None | Some(file::Exceed::Drop) => Exceed::Drop,
            Some(file::Exceed::Remark(to)) => Exceed::Remark(dscp(to)?),
        },
    })
}

const fn charge(charge: file::Charge) -> Charge {
    match charge {
        file::Charge::L1 => Charge::L1,
        file::Charge::L2 => Charge::L2,
        file::Charge::L2WithoutFcs => Charge::L2WithoutFcs,
        file::Charge::L3 => Charge::L3,
    }
}

/// MEF 10: a bucket that is filled holds at least one frame of the largest size.
fn bucket(text: &Text, name: &str, rate: Rate, frame_bytes: u32) -> Result<u64, Problem> {
    if rate == Rate::ZERO { size(text, MOST_QUEUE_BYTES) } else { burst(text, name, frame_bytes) }
}

fn colours(colors: &Spanned<file::Colors>) -> Result<ColourMap, Problem> {
    let listed = |list: &Option<Spanned<OneOrMore<String>>>| {
        list.as_ref().map_or_else(|| Ok(Vec::new()), dscps)
    };
    Ok(ColourMap { yellow: listed(&colors.value.yellow)?, red: listed(&colors.value.red)? })
}

fn queue(queue: &Spanned<file::Queue>) -> Result<QueueSpec, Problem> {
    let keys = &queue.value;
    let limit = match (&keys.bytes, &keys.packets) {
        (Some(_), Some(packets)) => {
            let sentence = "a queue has a limit in bytes or in packets, not both";
            return Err(Problem::with(packets, sentence));
        }
        (Some(bytes), None) => QueueLimit::Bytes(size(bytes, MOST_QUEUE_BYTES)?),
        (None, Some(packets)) => QueueLimit::Packets(whole(packets, 0..=MOST_QUEUE_PACKETS)?),
        (None, None) => QueueSpec::default().limit,
    };
    let aqm = match keys.aqm {
        Some(file::Aqm::Codel) => codel(keys)?,
        Some(file::Aqm::Fifo) | None => {
            if let Some(place) = keys.target.as_ref().or(keys.interval.as_ref()) {
                return Err(Problem::with(place, "target and interval belong to `aqm: codel`"));
            }
            Aqm::Fifo
        }
    };
    Ok(QueueSpec { limit, aqm })
}

fn codel(keys: &file::Queue) -> Result<Aqm, Problem> {
    let Aqm::CoDel { target, interval } = Aqm::CODEL else { return Ok(Aqm::CODEL) };
    let time = |text: &Option<Text>, default| match text {
        None => Ok(default),
        Some(text) => positive(text, |text| duration(text, MOST_DELAY)),
    };
    Ok(Aqm::CoDel {
        target: time(&keys.target, target)?,
        interval: time(&keys.interval, interval)?,
    })
}

fn priority(priority: &Spanned<file::Priority>) -> Result<PrioritySpec, Problem> {
    match (&priority.value.strict, &priority.value.drr) {
        (Some(strict), None) => {
            check_class_count(strict)?;
            Ok(PrioritySpec::Strict(strict.value.iter().map(dscps).collect::<Result<_, _>>()?))
        }
        (None, Some(drr)) => {
            check_class_count(drr)?;
            Ok(PrioritySpec::Drr(drr.value.iter().map(drr_class).collect::<Result<_, _>>()?))
        }
        (Some(_), Some(_)) | (None, None) => {
            let sentence = "priority is either strict, such as `strict: [[ef], [be]]`, or drr, \
                            such as `drr: [{dscp: [af11], weight: 3}, {dscp: [be], weight: 1}]`";
            Err(Problem::with(priority, sentence))
        }
    }
}

fn check_class_count<T>(classes: &Spanned<Vec<T>>) -> Result<(), Problem> {
    match classes.value.len() {
        1..=64 => Ok(()),
        count => Err(Problem::with(classes, format!("1 to 64 classes are allowed, not {count}"))),
    }
}

fn drr_class(class: &Spanned<file::DrrClass>) -> Result<DrrClass, Problem> {
    let keys = &class.value;
    let quantum_bytes = match (&keys.weight, &keys.quantum) {
        (Some(weight), None) => whole(weight, 1..=1000)? * u64::from(FULL_FRAME_BYTES),
        (None, Some(quantum)) => {
            let bytes = size(quantum, MOST_QUEUE_BYTES)?;
            if bytes < LEAST_FRAME_BYTES {
                return Err(Problem::with(quantum, "a quantum is at least one frame of 64 bytes"));
            }
            bytes
        }
        (Some(_), Some(_)) | (None, None) => {
            let sentence = "a class has either a weight, in full frames, or a quantum, in bytes";
            return Err(Problem::with(class, sentence));
        }
    };
    let quantum_bytes = u32::try_from(quantum_bytes)
        .map_err(|_| Problem::with(class, "the quantum is larger than any queue"))?;
    Ok(DrrClass { dscp: dscps(&keys.dscp)?, quantum_bytes })
}

fn jitter(jitter: &Spanned<Short<file::Jitter>>) -> Result<JitterSpec, Problem> {
    let time = |text: &Text| duration(text, MOST_DELAY);
    let keys = match &jitter.value {
        Short::Value(text) => {
            let distribution = JitterDistribution::Uniform(time(&short(jitter, text))?);
            return Ok(JitterSpec { distribution, order: FrameOrder::Kept });
        }
        Short::Keys(keys) => keys,
    };
    let distribution = match (&keys.uniform, &keys.normal) {
        (Some(most), None) => JitterDistribution::Uniform(time(most)?),
        (None, Some(sigma)) => JitterDistribution::Normal(time(sigma)?),
        (Some(_), Some(_)) | (None, None) => {
            let sentence = "jitter is either uniform, up to a time, or normal, with a time as its \
                            standard deviation";
            return Err(Problem::with(jitter, sentence));
        }
    };
    let order = match keys.keep_order {
        None | Some(true) => FrameOrder::Kept,
        Some(false) => FrameOrder::Free,
    };
    Ok(JitterSpec { distribution, order })
}

fn loss(loss: &Spanned<Short<file::Loss>>) -> Result<LossSpec, Problem> {
    let keys = match &loss.value {
        Short::Value(text) => return Ok(LossSpec::Random(share(&short(loss, text))?)),
        Short::Keys(keys) => keys,
    };
    match (&keys.random, &keys.gilbert_elliott, &keys.every) {
        (Some(random), None, None) => Ok(LossSpec::Random(share(random)?)),
        (None, Some(chain), None) => Ok(LossSpec::GilbertElliott(gilbert_elliott(chain)?)),
        (None, None, Some(every)) => Ok(LossSpec::Every(whole(every, 1..=u64::MAX)?)),
        _ => {
            let sentence = "loss is one of `random: 1%`, `every: 100` and `gilbert_elliott: \
                            {p: 1%, r: 20%}`";
            Err(Problem::with(loss, sentence))
        }
    }
}

fn gilbert_elliott(keys: &file::GilbertElliott) -> Result<GilbertElliott, Problem> {
    let always = Probability::new(1.0).unwrap_or_default();
    let optional = |text: &Option<Text>, default| text.as_ref().map_or(Ok(default), share);
    Ok(GilbertElliott {
        to_bad: share(&keys.p)?,
        to_good: share(&keys.r)?,
        loss_in_good: optional(&keys.loss_in_good, Probability::NEVER)?,
        loss_in_bad: optional(&keys.loss_in_bad, always)?,
    })
}

fn reorder(reorder: &Spanned<Short<file::Reorder>>) -> Result<ReorderSpec, Problem> {
    match &reorder.value {
        Short::Value(text) => {
            Ok(ReorderSpec { probability: share(&short(reorder, text))?, hold: REORDER_HOLD })
        }
        Short::Keys(keys) => Ok(ReorderSpec {
            probability: share(&keys.probability)?,
            hold: match &keys.hold {
                None => REORDER_HOLD,
                Some(hold) => positive(hold, |text| duration(text, MOST_DELAY))?,
            },
        }),
    }
}

fn mtu(mtu: &Spanned<Short<file::Mtu>>) -> Result<MtuSpec, Problem> {
    let (bytes, icmp) = match &mtu.value {
        Short::Value(text) => (&short(mtu, text), None),
        Short::Keys(keys) => (&keys.bytes, keys.icmp),
    };
    let read = size(bytes, MOST_MTU_BYTES)?;
    if read < LEAST_MTU_BYTES {
        let sentence = format!(
            "an MTU is the size of an IP packet, from {LEAST_MTU_BYTES} to {MOST_MTU_BYTES} bytes"
        );
        return Err(Problem::with(bytes, sentence));
    }
    let too_big = match icmp {
        None | Some(true) => TooBigAnswer::Icmp,
        Some(false) => TooBigAnswer::Silence,
    };
    // At most 65,535, so it fits.
    Ok(MtuSpec { bytes: u32::try_from(read).unwrap_or(u32::MAX), too_big })
}

fn remarks(remarks: Option<&Spanned<OneOrMore<file::Remark>>>) -> Result<Vec<RemarkSpec>, Problem> {
    let mut specs = Vec::new();
    for rule in remarks.map(OneOrMore::elements).unwrap_or_default() {
        let to = dscp(&rule.value.to)?;
        match &rule.value.from {
            None => specs.push(RemarkSpec { from: None, to }),
            Some(from) => {
                let froms = dscps(from)?;
                specs.extend(froms.iter().map(|from| RemarkSpec { from: Some(*from), to }));
            }
        }
    }
    Ok(specs)
}

fn outage(outage: &Spanned<file::Outage>) -> Result<OutageSpec, Problem> {
    let keys = &outage.value;
    let time = |text: &Text| duration(text, MOST_OUTAGE);
    let lasts = positive(&keys.lasts, time)?;
    let every = keys.every.as_ref().map(time).transpose()?;
    if let (Some(text), Some(every)) = (&keys.every, every)
        && every <= lasts
    {
        let sentence = "outages that come before the last one ended: every must be more than lasts";
        return Err(Problem::with(text, sentence));
    }
    Ok(OutageSpec { start: time(&keys.start)?, lasts, every })
}

fn crossing(
    list: &Spanned<OneOrMore<file::Cross>>,
    largest: LargestFrame,
) -> Result<Vec<CrossSpec>, Problem> {
    let senders = OneOrMore::elements(list);
    if senders.len() > MOST_CROSS {
        let sentence = format!("at most {MOST_CROSS} send across a link, not {}", senders.len());
        return Err(Problem::with(list, sentence));
    }
    senders.iter().map(|sender| cross(sender, largest)).collect()
}

fn cross(cross: &Spanned<&file::Cross>, largest: LargestFrame) -> Result<CrossSpec, Problem> {
    let keys = cross.value;
    let time = |text: &Text| positive(text, |text| duration(text, MOST_DELAY));
    let pattern = match (&keys.on, &keys.off, &keys.tcp_rtt, &keys.bytes_per_ms) {
        (None, None, None, None) => CrossPattern::Constant,
        (Some(on), Some(off), None, None) => CrossPattern::OnOff { on: time(on)?, off: time(off)? },
        (None, None, Some(rtt), None) => CrossPattern::Tcp { rtt: time(rtt)? },
        (None, None, None, Some(list)) => CrossPattern::Replayed { bytes: replayed(list)? },
        _ => {
            let sentence = "cross is one of `{rate: 5M}`, `{rate: 50M, on: 20ms, off: 80ms}`, \
                            `{rate: 1G, tcp_rtt: 20ms}` and `{bytes_per_ms: [3000, 0, 1518]}`";
            return Err(Problem::with(cross, sentence));
        }
    };
    let rate_l2 = match (&keys.rate, &pattern) {
        (None, CrossPattern::Replayed { .. }) => Rate::ZERO,
        (Some(rate), CrossPattern::Replayed { .. }) => {
            return Err(Problem::with(rate, "bytes_per_ms are a rate already"));
        }
        (Some(rate), _) => positive(rate, l2_rate)?,
        (None, _) => return Err(Problem::with(cross, "cross needs a rate, such as `rate: 5M`")),
    };
    let most = u64::from(largest.frame_bytes - largest.tags_bytes);
    let frame_bytes = match &keys.frame_bytes {
        None => most,
        Some(text) => whole(text, LEAST_FRAME_BYTES..=most)?,
    };
    let frame_bytes = u32::try_from(frame_bytes).unwrap_or(u32::MAX);
    Ok(CrossSpec { pattern, rate_l2, frame_bytes, dscp: optional(keys.dscp.as_ref(), dscp)? })
}

fn replayed(list: &Spanned<Vec<Text>>) -> Result<Vec<u32>, Problem> {
    let size = |text: &Text| {
        size(text, MOST_BYTES_PER_MS).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
    };
    let bytes = list.value.iter().map(size).collect::<Result<Vec<_>, _>>()?;
    if bytes.iter().all(|bytes| *bytes == 0) {
        return Err(Problem::with(list, "in some millisecond there are bytes"));
    }
    Ok(bytes)
}

/// The only value of something that may have several, where it stands.
fn short<T>(here: &Spanned<Short<T>>, text: &str) -> Text {
    Spanned { value: text.to_owned(), referenced: here.referenced, defined: here.defined }
}

const _: () = assert!(
    FULL_FRAME_BYTES == 1500 + PacketLayout::ETHERNET_L2_OVERHEAD,
    "a full frame carries a packet of 1500 bytes"
);
