//! One direction of one link: the elements in the order in which a frame meets them.
//!
//! ```text
//! remark → outage → MTU → [queue → line] → policer → loss, corruption, duplication
//!                                                  → [queue → shaper] → delay, jitter, reordering
//! ```
//!
//! A line of 1 Gbit/s with a policer of 40 Mbit/s is a metro Ethernet port: the policer sees a
//! frame when its last bit has crossed the line. A line of 20 Mbit/s with a queue of a megabyte in
//! front of it is a home router with a bloated buffer.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Dscp, PacketLayout, Time};

use super::gate::Gate;
use super::impair::Impairments;
use super::queue::{Departure, Station};
use super::transit::Transit;
use super::truth::{Cause, Tallies};
use super::{Output, Parcel};
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
    line: Option<Station<T>>,
    policers: Policers,
    impairments: Impairments,
    shapers: Shapers<T>,
    transit: Transit<T>,
    tallies: Tallies,
}

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
            line,
            policers: Policers::new(link),
            impairments: Impairments::new(link, seed, index),
            shapers: Shapers::new(link, shaper_priority),
            transit: Transit::new(link, seed, index),
            tallies: Tallies::new(),
        }
    }

    pub(crate) fn come_up(&mut self, now: Time) {
        self.up_since = now;
    }

    /// A frame enters at `now`; what comes back is an answer to its sender.
    pub(crate) fn on_parcel(&mut self, now: Time, mut parcel: Parcel<T>) -> Option<Output<T>> {
        self.advance(now);
        parcel.tags_bytes = self.tags_bytes;
        let frame_bytes = parcel.frame.frame_bytes;
        let tally = self.tallies.of(parcel.entered_as);
        tally.offered.add(frame_bytes);
        if let Some(table) = &self.remark {
            let dscp = table[usize::from(parcel.frame.dscp.code_point())];
            mark(&mut parcel, dscp, &mut self.tallies);
        }
        if self.outage.is_some_and(|outage| outage.covers(now.since(self.up_since))) {
            self.drop(&parcel, Cause::Outage);
            return None;
        }
        if let Some(mtu) = self.mtu
            && frame_bytes > mtu.frame_bytes()
        {
            self.drop(&parcel, Cause::Mtu);
            return answer(now, mtu, parcel);
        }
        self.send(now, parcel);
        None
    }

    /// Everything up to `now` happens.
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(Departure { at, parcel, dropped }) =
            self.line.as_mut().and_then(|line| line.depart(now))
        {
            match dropped {
                Some(cause) => self.drop(&parcel, cause),
                None => self.on_line_crossed(at, parcel),
            }
        }
        self.advance_shapers(now);
    }

    fn send(&mut self, now: Time, parcel: Parcel<T>) {
        match &mut self.line {
            None => self.on_line_crossed(now, parcel),
            Some(line) => {
                if let Err(parcel) = line.offer(now, parcel) {
                    self.drop(&parcel, Cause::Queue);
                }
            }
        }
    }

    /// A frame's last bit has crossed the line at `now`.
    fn on_line_crossed(&mut self, now: Time, mut parcel: Parcel<T>) {
        if let Some(policer) = self.policers.of(parcel.frame.dscp)
            && policer.police(now, &mut parcel, &mut self.tallies) == Verdict::Drop
        {
            self.drop(&parcel, Cause::Police);
            return;
        }
        let fate = self.impairments.next_fate();
        if fate.lost {
            self.drop(&parcel, Cause::Loss);
            return;
        }
        let (frame_bytes, entered_as) = (parcel.frame.frame_bytes, parcel.entered_as);
        if fate.corrupted {
            parcel.corrupt = true;
            self.tallies.of(entered_as).corrupted.add(frame_bytes);
        }
        if fate.duplicated {
            self.tallies.of(entered_as).duplicated.add(frame_bytes);
            self.shape(now, parcel.clone());
        }
        self.shape(now, parcel);
    }

    fn shape(&mut self, now: Time, parcel: Parcel<T>) {
        self.advance_shapers(now);
        match self.shapers.of(parcel.frame.dscp) {
            None => self.transit.enter(now, parcel),
            Some(shaper) => {
                if let Err(parcel) = shaper.offer(now, parcel) {
                    self.drop(&parcel, Cause::Queue);
                }
            }
        }
    }

    fn advance_shapers(&mut self, now: Time) {
        while let Some(Departure { at, parcel, dropped }) = self.shapers.depart(now) {
            match dropped {
                Some(cause) => self.drop(&parcel, cause),
                None => self.transit.enter(at, parcel),
            }
        }
    }

    /// When the next frame will have crossed the link, as far as is known now: none is earlier.
    pub(crate) fn next_out(&self) -> Option<Time> {
        let of_line = self.line.as_ref().and_then(Station::next_out);
        let least_delay = self.transit.least_delay();
        let waiting = of_line.into_iter().chain(self.shapers.next_out());
        let waiting = waiting.map(|out| out + least_delay);
        waiting.chain(self.transit.next_due()).min()
    }

    /// When the next of the frames in transit arrives.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.transit.next_due()
    }

    pub(crate) fn take_due(&mut self, now: Time) -> Option<(Time, Parcel<T>)> {
        let arrival = self.transit.take_due(now)?;
        let frame_bytes = arrival.parcel.frame.frame_bytes;
        let tally = self.tallies.of(arrival.parcel.entered_as);
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

    fn drop(&mut self, parcel: &Parcel<T>, cause: Cause) {
        self.tallies.of(parcel.entered_as).drop(cause, parcel.frame.frame_bytes);
    }
}

fn answer<T>(now: Time, mtu: MtuSpec, parcel: Parcel<T>) -> Option<Output<T>> {
    match mtu.too_big {
        TooBigAnswer::Icmp => Some(Output::TooBig { at: now, mtu: mtu.bytes, frame: parcel.frame }),
        TooBigAnswer::Silence => None,
    }
}

fn mark<T>(parcel: &mut Parcel<T>, dscp: Dscp, tallies: &mut Tallies) {
    if parcel.frame.dscp != dscp {
        parcel.frame.dscp = dscp;
        tallies.of(parcel.entered_as).remarked.add(parcel.frame.frame_bytes);
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

    fn police<T>(&mut self, now: Time, parcel: &mut Parcel<T>, tallies: &mut Tallies) -> Verdict {
        let frame_bytes = parcel.frame.frame_bytes;
        let charged_bytes = self.spec.charge.bytes_of(parcel.tagged_bytes(), parcel.tags_bytes);
        let before = self.spec.colours.colour_of(parcel.frame.dscp);
        match (self.meter.colour(now, charged_bytes, before), self.spec.exceed) {
            (Colour::Green, _) => {}
            (Colour::Yellow, _) => {
                tallies.of(parcel.entered_as).yellow.add(frame_bytes);
                if let Some(dscp) = self.spec.mark_yellow {
                    mark(parcel, dscp, tallies);
                }
            }
            (Colour::Red, Exceed::Remark(dscp)) => mark(parcel, dscp, tallies),
            (Colour::Red, Exceed::Drop) => return Verdict::Drop,
        }
        Verdict::Pass
    }
}
