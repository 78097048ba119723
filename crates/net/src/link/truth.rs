//! The ground truth: what became of every frame that was offered.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::AddAssign;

use fp_model::Dscp;
use serde::Serialize;

/// What one direction of a path did with its frames so far.
///
/// The classes are the code points with which frames entered the path, whatever was made of them
/// later. In the sum over all links `offered` is what entered the first and `passed` what left the
/// last; always `offered + duplicated = passed + dropped + in_flight`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Truth {
    pub total: Tally,
    pub by_dscp: BTreeMap<u8, Tally>,
    pub links: Vec<LinkTruth>,
}

/// What one link did with its frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkTruth {
    pub total: Tally,
    pub by_dscp: BTreeMap<u8, Tally>,
    /// Frames of others, which are in none of the sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross: Option<Tally>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub offered: Count,
    pub passed: Count,
    pub dropped: Drops,
    /// Copies made beside the frames that were offered.
    pub duplicated: Count,
    /// Frames in which a bit was turned over.
    pub corrupted: Count,
    /// Frames that left after one which had entered behind them.
    pub reordered: Count,
    /// Frames that were given another code point.
    pub remarked: Count,
    /// Frames that a policer found to exceed the committed rate but not the excess rate.
    pub yellow: Count,
    /// Frames still on their way.
    pub in_flight: Count,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// By a policer.
    pub police: Count,
    /// By a queue that was full.
    pub queue: Count,
    /// By active queue management.
    pub aqm: Count,
    pub loss: Count,
    pub outage: Count,
    /// Larger than the MTU, answered or not.
    pub mtu: Count,
}

impl Drops {
    pub fn sum(&self) -> Count {
        let Self { police, queue, aqm, loss, outage, mtu } = *self;
        [police, queue, aqm, loss, outage, mtu].into_iter().fold(Count::default(), |mut sum, of| {
            sum += of;
            sum
        })
    }
}

/// Bytes are those of layer-2 frames with FCS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    pub frames: u64,
    pub bytes: u64,
}

impl Count {
    pub(crate) fn add(&mut self, frame_bytes: u32) {
        self.frames += 1;
        self.bytes += u64::from(frame_bytes);
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }
}

/// Why a frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Police,
    Queue,
    Aqm,
    Loss,
    Outage,
    Mtu,
}

impl Tally {
    pub(crate) fn drop(&mut self, cause: Cause, frame_bytes: u32) {
        let count = match cause {
            Cause::Police => &mut self.dropped.police,
            Cause::Queue => &mut self.dropped.queue,
            Cause::Aqm => &mut self.dropped.aqm,
            Cause::Loss => &mut self.dropped.loss,
            Cause::Outage => &mut self.dropped.outage,
            Cause::Mtu => &mut self.dropped.mtu,
        };
        count.add(frame_bytes);
    }

    /// Everything but what entered, left and is on its way.
    fn add_events(&mut self, other: &Self) {
        self.dropped.police += other.dropped.police;
        self.dropped.queue += other.dropped.queue;
        self.dropped.aqm += other.dropped.aqm;
        self.dropped.loss += other.dropped.loss;
        self.dropped.outage += other.dropped.outage;
        self.dropped.mtu += other.dropped.mtu;
        self.duplicated += other.duplicated;
        self.corrupted += other.corrupted;
        self.reordered += other.reordered;
        self.remarked += other.remarked;
        self.yellow += other.yellow;
    }

    fn add_all(&mut self, other: &Self) {
        self.offered += other.offered;
        self.passed += other.passed;
        self.add_events(other);
    }

    fn with_in_flight(mut self) -> Self {
        let dropped = self.dropped.sum();
        let rest = |of: fn(Count) -> u64| {
            (of(self.offered) + of(self.duplicated)).saturating_sub(of(self.passed) + of(dropped))
        };
        self.in_flight = Count { frames: rest(|c| c.frames), bytes: rest(|c| c.bytes) };
        self
    }
}

/// The tallies of one link by the code point with which frames entered the path.
#[derive(Clone, Debug)]
pub(crate) struct Tallies {
    own: Box<[Tally; 64]>,
    cross: Tally,
}

/// Whose a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The path's, which it entered with this code point.
    Own(Dscp),
    Others,
}

impl Tallies {
    pub(crate) fn new() -> Self {
        Self { own: Box::new([Tally::default(); 64]), cross: Tally::default() }
    }

    pub(crate) fn of(&mut self, whose: Whose) -> &mut Tally {
        match whose {
            Whose::Own(dscp) => &mut self.own[usize::from(dscp.code_point())],
            Whose::Others => &mut self.cross,
        }
    }
}

impl Truth {
    pub(crate) fn of(links: &[&Tallies]) -> Self {
        let through = |dscp: usize| -> Tally {
            let mut sum = Tally::default();
            for link in links {
                sum.add_events(&link.own[dscp]);
            }
            sum.offered = links.first().map_or_else(Count::default, |link| link.own[dscp].offered);
            sum.passed = links.last().map_or_else(Count::default, |link| link.own[dscp].passed);
            sum
        };
        let LinkTruth { total, by_dscp, .. } = summed(through);
        let link = |link: &&Tallies| {
            let cross = (link.cross != Tally::default()).then(|| link.cross.with_in_flight());
            LinkTruth { cross, ..summed(|dscp| link.own[dscp]) }
        };
        let links = links.iter().map(link).collect();
        Self { total, by_dscp, links }
    }
}

/// The sum over all code points, and each of them that occurred.
fn summed(tally_of: impl Fn(usize) -> Tally) -> LinkTruth {
    let mut truth = LinkTruth::default();
    for dscp in 0..64 {
        let tally = tally_of(dscp).with_in_flight();
        if tally != Tally::default() {
            truth.total.add_all(&tally);
            truth.by_dscp.insert(dscp as u8, tally);
        }
    }
    truth.total = truth.total.with_in_flight();
    truth
}
