//! Answers that explain one load and not another.
//!
//! Whatever has one rate passes that of every load above it. Where others share it, their frames and those
//! offered meet it in turn: the more is offered the more of it passes, and where theirs are shorter, a
//! bucket that has too few bytes for a long frame has enough for one of theirs. So several loads, and frames
//! of two lengths, show what is not alone.
//!
//! Ends and forwarders that are not quite even make rates differ by less than a percent, which is less than
//! others would have to take for it to matter. Two rates `e` apart put the offset of frames of `S` and `L`
//! bytes wrong by `e·S·L / (L − S)`, as both cost `f·(L + o)`.

use alloc::vec::Vec;

use fp_model::PacketLayout;

use super::policer::{Measured, WIDTH};
use super::{Bounds, Charge, Discovered, Estimate, Look, is_offset, rate_of};
use crate::burst::Passed;
use crate::infer::rate::FINE;

/// Tags or labels that a network adds.
const TAGS_MAX: i32 = 4;

/// What a frame is counted with beside its length, by the number of tags or labels that the network adds.
pub(super) fn tagged(bytes: i32) -> impl Iterator<Item = i32> {
    (0..=TAGS_MAX).map(move |tags| bytes + tags * PacketLayout::VLAN_TAG_BYTES as i32)
}

/// `None` where one rate explains what passed of all these loads.
pub(super) fn contradiction(loads: &[Passed]) -> Option<Discovered> {
    let by = |of: fn(&Passed) -> f64| {
        move |one: &&Passed, other: &&Passed| of(one).total_cmp(&of(other))
    };
    let least = loads.iter().min_by(by(|load| load.passed_bps.at_most))?;
    let most = loads.iter().max_by(by(|load| load.passed_bps.at_least))?;
    let (one, other) = (least.passed_bps, most.passed_bps);
    let differ = other.estimate - one.estimate > WIDTH * other.estimate;
    (differ && one.at_most < other.at_least).then(|| contradicting(*least, *most))
}

/// No one rate explains what passed of both.
pub(super) fn contradicting(one: Passed, other: Passed) -> Discovered {
    Discovered::Unknown {
        rate_bps: one.passed_bps.or(other.passed_bps),
        contradiction: Some([one, other]),
    }
}

impl Look<'_> {
    /// Whether frames may be counted with an offset like the one that frames of this length and the longest
    /// show: in one of the ways that are known, also with tags or labels of four bytes that the network adds.
    pub(super) fn is_counted_somehow(&self, charge: &Charge, short_bytes: u32) -> bool {
        let [short, long] = [short_bytes, self.search.frame_bytes].map(f64::from);
        let off = WIDTH * short * long / (long - short);
        let Bounds { estimate, at_least, at_most } = charge.offset_bytes;
        let offset = Bounds { estimate, at_least: at_least - off, at_most: at_most + off };
        let fits = |bytes: i32| is_offset(&offset, bytes);
        self.ways().any(|(_, bytes)| fits(bytes))
    }

    /// What no policer explains of the search and the trains behind it: of long frames, of short ones and of
    /// either at another rate.
    pub(super) fn contradicted(
        &self,
        found: &Estimate,
        long: &Measured,
        [short, other]: [Option<&Measured>; 2],
        charge: &Charge,
    ) -> Option<Discovered> {
        let of = |train: &Measured| (train.frame_bytes, train.rate());
        let is_strange = |short: &&Measured| {
            !self.is_counted_somehow(&self.charge(of(short), of(long), None), short.frame_bytes)
        };
        match short.into_iter().flat_map(Measured::with_replaced).find(is_strange) {
            Some(short) => Some(contradicting(long.passed(), short.passed())),
            None => contradiction(&self.loads(found, long, [short, other], charge)),
        }
    }

    /// Whether a train of denser frames passed another rate than a search found: of several devices each may have
    /// met one that the other did not.
    pub(super) fn denser(&self, found: &Estimate, long: &Measured) -> Option<Discovered> {
        contradiction(&[self.searched(found), long.passed()])
    }

    /// What passed of the load of a search, which offers hardly more than passes.
    fn searched(&self, found: &Estimate) -> Passed {
        let frame_bytes = self.search.frame_bytes;
        Passed { frame_bytes, offered_bps: FINE * found.bps, passed_bps: rate_of(found) }
    }

    /// What passed of every load that tells the rate of a bucket with room for more than a frame: a smaller
    /// one passes one of each few frames.
    fn loads(
        &self,
        found: &Estimate,
        long: &Measured,
        others: [Option<&Measured>; 2],
        charge: &Charge,
    ) -> Vec<Passed> {
        let long_bytes = self.search.frame_bytes;
        let charged = |frame_bytes: u32| charge.charged(f64::from(frame_bytes));
        let of_train = |train: &Measured| {
            let is_comparable = train.frame_bytes == long_bytes || charge.layer.is_some();
            train.rate_with_room().filter(|_| is_comparable)?;
            let of_longest = |frame_bytes: u32| f64::from(frame_bytes) / charged(frame_bytes);
            let Passed { offered_bps, passed_bps, .. } = train.passed();
            let as_long = of_longest(long_bytes) / of_longest(train.frame_bytes);
            Some(Passed {
                frame_bytes: long_bytes,
                offered_bps: as_long * offered_bps,
                passed_bps: passed_bps.scaled(as_long),
            })
        };
        let trains = core::iter::once(long).chain(others.into_iter().flatten());
        let trains = trains.flat_map(Measured::with_replaced);
        // From one frame of the search to the next a bucket wins nearly one.
        let has_room = long.depth().at_least >= 1.0 + 1.0 / FINE;
        let search = has_room.then(|| self.searched(found));
        trains.filter_map(of_train).chain(search).collect()
    }
}

impl Measured {
    fn with_replaced(&self) -> impl Iterator<Item = &Self> {
        core::iter::once(self).chain(&self.replaced)
    }

    /// What passed of what was offered, by the bucket that explains it.
    fn passed(&self) -> Passed {
        let bps = 8.0 * f64::from(self.frame_bytes);
        Passed {
            frame_bytes: self.frame_bytes,
            offered_bps: bps / self.fates.spacing(),
            passed_bps: self.rate().scaled(bps),
        }
    }
}
