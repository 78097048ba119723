//! One direction of one link: the elements in the order in which a frame meets them.
//!
//! ```text
//! remark → outage → MTU → [queue → line] → policer → loss, corruption, duplication
//!                                                  → [queue → shaper] → delay, jitter, reordering
//! ```
//!
//! The frames of others come to the queue, and leave behind the shaper.
//!
//! A line of 1 Gbit/s with a policer of 40 Mbit/s is a metro Ethernet port: the policer sees a
//! frame when its last bit has crossed the line. A line of 20 Mbit/s with a queue of a megabyte in
//! front of it is a home router with a bloated buffer.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Dscp, PacketLayout, Time};

use super::cross::{Cross, CrossFrame, From};
use super::gate::Gate;
use super::impair::Impairments;
use super::queue::{Departure, Station};
use super::transit::Transit;
use super::truth::{Cause, Tallies, Whose};
use super::{Frame, Output, Parcel};
use crate::meter::{BandwidthProfile, Colour};
use crate::path::{
    ClassPoliceSpec, ClassShapeSpec, Exceed, LinkSpec, MtuSpec, OutageSpec, PoliceSpec,
    PrioritySpec, RemarkSpec, ShapeSpec, TooBigAnswer,
};

#[derive(Clone, Debug)]
pub(crate) struct Hop<T> {
    remark: Option<Box<[Dscp; 64]>>,
    tags_bytes: u32,
    outage: Option<OutageSpec>,
    up_since: Time,
    mtu: Option<MtuSpec>,
    cross: Cross,
    line: Option<Station<Body<T>>>,
    policers: Policers,
    impairments: Impairments,
    shapers: Shapers<Body<T>>,
    /// Frames of the path's own that wait for the line or a shaper.
    waiting: usize,
    transit: Transit<T>,
    tallies: Tallies,
}

/// What shares a link's queues.
#[derive(Clone, Debug)]
enum Body<T> {
    Own(T),
    Others(From),
}

impl<T> Parcel<Body<T>> {
    const fn whose(&self) -> Whose {
        match self.frame.body {
            Body::Own(_) => Whose::Own(self.entered_as),
            Body::Others(_) => Whose::Others,
        }
    }
}

/// Behind a long pause all that others sent in it would have to be computed while frames of the path wait:
/// no pause is longer than this.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

impl<T: Clone> Hop<T> {
    pub(crate) fn new(link: &LinkSpec, seed: u64, index: usize) -> Self {
        let (line_priority, shaper_priority) = match link.shape {
            Some(_) => (None, link.priority.as_ref()),
            None => (link.priority.as_ref(), None),
        };
        let line = link.line_rate.map(|rate| {
            Station::new(Gate::line(rate), link.queue.unwrap_or_default(), line_priority)
        });
        Self {
            remark: remark_table(&link.remark),
            tags_bytes: PacketLayout::VLAN_TAG_BYTES * u32::from(link.vlan_tags),
            outage: link.outage,
            up_since: Time::ZERO,
            mtu: link.mtu,
            cross: Cross::new(&link.cross, seed, index),
            line,
            policers: Policers::new(link),
            impairments: Impairments::new(link, seed, index),
            shapers: Shapers::new(link, shaper_priority),
            waiting: 0,
            transit: Transit::new(link, seed, index),
            tallies: Tallies::new(),
        }
    }

    pub(crate) fn come_up(&mut self, now: Time) {
        self.up_since = now;
        self.cross.come_up(now);
    }

    /// A frame enters at `now`; what comes back is an answer to its sender.
    pub(crate) fn on_parcel(&mut self, now: Time, mut parcel: Parcel<T>) -> Option<Output<T>> {
        self.advance(now);
        parcel.tags_bytes = self.tags_bytes;
        let frame_bytes = parcel.frame.frame_bytes;
        let whose = Whose::Own(parcel.entered_as);
        self.tallies.of(whose).offered.add(frame_bytes);
        if let Some(table) = &self.remark {
            let dscp = table[usize::from(parcel.frame.dscp.code_point())];
            mark(&mut parcel.frame, whose, dscp, &mut self.tallies);
        }
        if self.is_down(now) {
            self.tallies.of(whose).drop(Cause::Outage, frame_bytes);
            return None;
        }
        if let Some(mtu) = self.mtu
            && frame_bytes > mtu.frame_bytes()
        {
            self.tallies.of(whose).drop(Cause::Mtu, frame_bytes);
            return answer(now, mtu, parcel);
        }
        self.waiting += 1;
        let (body, parcel) = parcel.apart();
        self.send(now, parcel.with(Body::Own(body)));
        None
    }

    fn is_down(&self, now: Time) -> bool {
        self.outage.is_some_and(|outage| outage.covers(now.since(self.up_since)))
    }

    /// Everything up to `now` happens.
    pub(crate) fn advance(&mut self, now: Time) {
        if !self.cross.is_empty() {
            self.cross_until(now);
        }
        self.advance_stations(now);
    }

    #[cold]
    fn cross_until(&mut self, now: Time) {
        while let Some(frame) = self.cross.take(now) {
            self.advance_stations(frame.at);
            self.on_cross(frame);
        }
    }

    fn on_cross(&mut self, frame: CrossFrame) {
        let CrossFrame { from, at, frame_bytes, dscp } = frame;
        self.tallies.of(Whose::Others).offered.add(frame_bytes);
        let frame = Frame { frame_bytes, dscp, body: Body::Others(from) };
        let parcel = Parcel { tags_bytes: self.tags_bytes, ..Parcel::new(frame) };
        if self.is_down(at) {
            self.drop(at, &parcel, Cause::Outage);
        } else {
            self.send(at, parcel);
        }
    }

    #[inline]
    fn advance_stations(&mut self, now: Time) {
        while let Some(Departure { at, parcel, dropped }) =
            self.line.as_mut().and_then(|line| line.depart(now))
        {
            match dropped {
                Some(cause) => self.drop(at, &parcel, cause),
                None => self.on_line_crossed(at, parcel),
            }
        }
        self.advance_shapers(now);
    }

    fn send(&mut self, now: Time, parcel: Parcel<Body<T>>) {
        match &mut self.line {
            None => self.on_line_crossed(now, parcel),
            Some(line) => {
                if let Err(parcel) = line.offer(now, parcel) {
                    self.drop(now, &parcel, Cause::Queue);
                }
            }
        }
    }

    /// A frame's last bit has crossed the line at `now`.
    fn on_line_crossed(&mut self, now: Time, mut parcel: Parcel<Body<T>>) {
        let whose = parcel.whose();
        if let Some(policer) = self.policers.of(parcel.frame.dscp)
            && policer.police(now, &mut parcel, &mut self.tallies) == Verdict::Drop
        {
            self.drop(now, &parcel, Cause::Police);
            return;
        }
        let fate = self.impairments.next_fate();
        if fate.lost {
            self.drop(now, &parcel, Cause::Loss);
            return;
        }
        let frame_bytes = parcel.frame.frame_bytes;
        if fate.corrupted {
            parcel.corrupt = true;
            self.tallies.of(whose).corrupted.add(frame_bytes);
        }
        if fate.duplicated && whose != Whose::Others {
            self.tallies.of(whose).duplicated.add(frame_bytes);
            self.waiting += 1;
            self.shape(now, parcel.clone());
        }
        self.shape(now, parcel);
    }

    fn shape(&mut self, now: Time, parcel: Parcel<Body<T>>) {
        self.advance_shapers(now);
        match self.shapers.of(parcel.frame.dscp) {
            None => self.leave(now, parcel),
            Some(shaper) => {
                if let Err(parcel) = shaper.offer(now, parcel) {
                    self.drop(now, &parcel, Cause::Queue);
                }
            }
        }
    }

    fn advance_shapers(&mut self, now: Time) {
        while let Some(Departure { at, parcel, dropped }) = self.shapers.depart(now) {
            match dropped {
                Some(cause) => self.drop(at, &parcel, cause),
                None => self.leave(at, parcel),
            }
        }
    }

    /// A frame is through all of the link but its length.
    #[inline]
    fn leave(&mut self, now: Time, parcel: Parcel<Body<T>>) {
        let (body, parcel) = parcel.apart();
        match body {
            Body::Own(body) => {
                self.waiting -= 1;
                self.transit.enter(now, parcel.with(body));
            }
            Body::Others(from) => self.crossed(now, from, parcel.frame.frame_bytes),
        }
    }

    #[cold]
    fn crossed(&mut self, now: Time, from: From, frame_bytes: u32) {
        self.tallies.of(Whose::Others).passed.add(frame_bytes);
        self.cross.passed(from, now);
    }

    /// When the next frame will have crossed the link, as far as is known now: none is earlier.
    pub(crate) fn next_out(&self) -> Option<Time> {
        let least_delay = self.transit.least_delay();
        let waiting = (self.waiting > 0).then(|| {
            let of_line = self.line.as_ref().and_then(Station::next_out);
            of_line.into_iter().chain(self.shapers.next_out()).min()
        });
        let waiting = waiting.flatten().map(|out| out + least_delay);
        waiting.into_iter().chain(self.transit.next_due()).min()
    }

    /// When to carry forward at the latest what others send.
    pub(crate) fn next_look(&self) -> Option<Time> {
        Some(self.cross.next()? + LOOKS_EVERY)
    }

    /// When the next of the frames in transit arrives.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.transit.next_due()
    }

    pub(crate) fn take_due(&mut self, now: Time) -> Option<(Time, Parcel<T>)> {
        let arrival = self.transit.take_due(now)?;
        let frame_bytes = arrival.parcel.frame.frame_bytes;
        let tally = self.tallies.of(Whose::Own(arrival.parcel.entered_as));
        tally.passed.add(frame_bytes);
        if arrival.overtaken {
            tally.reordered.add(frame_bytes);
        }
        Some((arrival.at, arrival.parcel))
    }

    pub(crate) fn least_delay(&self) -> Duration {
        self.transit.least_delay()
    }

    pub(crate) fn may_answer(&self) -> bool {
        self.mtu.is_some_and(|mtu| mtu.too_big == TooBigAnswer::Icmp)
    }

    pub(crate) fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    #[inline(never)]
    fn drop(&mut self, at: Time, parcel: &Parcel<Body<T>>, cause: Cause) {
        self.tallies.of(parcel.whose()).drop(cause, parcel.frame.frame_bytes);
        match parcel.frame.body {
            Body::Own(_) => self.waiting -= 1,
            Body::Others(from) => self.cross.dropped(from, at),
        }
    }
}

fn answer<T>(now: Time, mtu: MtuSpec, parcel: Parcel<T>) -> Option<Output<T>> {
    match mtu.too_big {
        TooBigAnswer::Icmp => Some(Output::TooBig { at: now, mtu: mtu.bytes, frame: parcel.frame }),
        TooBigAnswer::Silence => None,
    }
}

fn mark<T>(frame: &mut Frame<T>, whose: Whose, dscp: Dscp, tallies: &mut Tallies) {
    if frame.dscp != dscp {
        frame.dscp = dscp;
        tallies.of(whose).remarked.add(frame.frame_bytes);
    }
}

/// What each code point becomes; of several rules for one the first counts.
fn remark_table(rules: &[RemarkSpec]) -> Option<Box<[Dscp; 64]>> {
    if rules.is_empty() {
        return None;
    }
    let becomes = |dscp: Dscp| {
        let applies = |rule: &&RemarkSpec| rule.from.is_none_or(|from| from == dscp);
        rules.iter().find(applies).map_or(dscp, |rule| rule.to)
    };
    let mut table = Box::new([Dscp::BEST_EFFORT; 64]);
    for dscp in (0..64).filter_map(Dscp::new) {
        table[usize::from(dscp.code_point())] = becomes(dscp);
    }
    Some(table)
}

/// Of a frame's class, or else the one for all others.
#[derive(Clone, Debug)]
struct Shapers<T> {
    of_classes: Vec<(Vec<Dscp>, Station<T>)>,
    of_others: Option<Station<T>>,
}

impl<T> Shapers<T> {
    fn new(link: &LinkSpec, priority: Option<&PrioritySpec>) -> Self {
        let station = |shape: &ShapeSpec, priority| {
            Station::new(Gate::shaper(shape.rate, shape.burst_bytes), shape.queue, priority)
        };
        let of_class = |class: &ClassShapeSpec| (class.dscp.clone(), station(&class.shape, None));
        Self {
            of_classes: link.shape_classes.iter().map(of_class).collect(),
            of_others: link.shape.as_ref().map(|shape| station(shape, priority)),
        }
    }

    fn of(&mut self, dscp: Dscp) -> Option<&mut Station<T>> {
        let mut of_classes = self.of_classes.iter_mut();
        let of_class = of_classes.find(|(class, _)| class.contains(&dscp));
        of_class.map(|(_, shaper)| shaper).or(self.of_others.as_mut())
    }

    /// The next frame that leaves any of the queues by `until`.
    fn depart(&mut self, until: Time) -> Option<Departure<T>> {
        let of_classes = self.of_classes.iter_mut().map(|(_, shaper)| shaper);
        let waiting = of_classes.chain(&mut self.of_others).filter(|one| one.next_out().is_some());
        waiting.min_by_key(|shaper| shaper.next_out())?.depart(until)
    }

    fn next_out(&self) -> Option<Time> {
        let of_classes = self.of_classes.iter().map(|(_, shaper)| shaper);
        of_classes.chain(&self.of_others).filter_map(Station::next_out).min()
    }
}

/// Of a frame's class, or else the one for all others.
#[derive(Clone, Debug)]
struct Policers {
    of_classes: Vec<(Vec<Dscp>, Policer)>,
    of_others: Option<Policer>,
}

impl Policers {
    fn new(link: &LinkSpec) -> Self {
        let of_class = |class: &ClassPoliceSpec| (class.dscp.clone(), Policer::new(&class.police));
        Self {
            of_classes: link.police_classes.iter().map(of_class).collect(),
            of_others: link.police.as_ref().map(Policer::new),
        }
    }

    fn of(&mut self, dscp: Dscp) -> Option<&mut Policer> {
        let mut of_classes = self.of_classes.iter_mut();
        let of_class = of_classes.find(|(class, _)| class.contains(&dscp));
        of_class.map(|(_, policer)| policer).or(self.of_others.as_mut())
    }
}

#[derive(Clone, Debug)]
struct Policer {
    spec: PoliceSpec,
    meter: BandwidthProfile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Drop,
}

impl Policer {
    fn new(spec: &PoliceSpec) -> Self {
        Self { spec: spec.clone(), meter: BandwidthProfile::new(&spec.profile, Time::ZERO) }
    }

    fn police<T>(
        &mut self,
        now: Time,
        parcel: &mut Parcel<Body<T>>,
        tallies: &mut Tallies,
    ) -> Verdict {
        let (frame_bytes, whose) = (parcel.frame.frame_bytes, parcel.whose());
        let charged_bytes = self.spec.charge.bytes_of(parcel.tagged_bytes(), parcel.tags_bytes);
        let before = self.spec.colours.colour_of(parcel.frame.dscp);
        match (self.meter.colour(now, charged_bytes, before), self.spec.exceed) {
            (Colour::Green, _) => {}
            (Colour::Yellow, _) => {
                tallies.of(whose).yellow.add(frame_bytes);
                if let Some(dscp) = self.spec.mark_yellow {
                    mark(&mut parcel.frame, whose, dscp, tallies);
                }
            }
            (Colour::Red, Exceed::Remark(dscp)) => mark(&mut parcel.frame, whose, dscp, tallies),
            (Colour::Red, Exceed::Drop) => return Verdict::Drop,
        }
        Verdict::Pass
    }
}
