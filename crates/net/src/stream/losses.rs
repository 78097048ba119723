//! How losses lie among the frames of a stream: runs of lost frames, told from frames never sent.

use alloc::collections::VecDeque;

/// Follows the steady frames that arrive; those missing between them are lost unless the sender has
/// not sent them.
///
/// A frame that comes late fills its place as long as its run is one of the last
/// [`Losses::OPEN_MAX`]; later it still counts as received, but the run stays as long as it was.
#[derive(Debug)]
pub(super) struct Losses {
    /// One above the largest number that has arrived.
    next: u64,
    /// What the frame with that number has told.
    unsent: u32,
    open: VecDeque<Run>,
    events: u64,
    longest: u64,
    last: Option<u64>,
}

/// Missing frames one after the other.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: u64,
    until: u64,
    /// Frames not sent until before it, and until after it.
    unsent_before: u32,
    unsent_after: u32,
}

impl Losses {
    pub(super) const OPEN_MAX: usize = 1024;
    /// The count of frames not sent that travels with each frame has 24 bits.
    pub(super) const UNSENT_MASK: u32 = (1 << 24) - 1;

    pub(super) const fn new(steady_from: u64) -> Self {
        Self {
            next: steady_from,
            unsent: 0,
            open: VecDeque::new(),
            events: 0,
            longest: 0,
            last: None,
        }
    }

    /// A frame arrives for the first time; by then `unsent` steady frames before it were not sent.
    pub(super) fn on_arrival(&mut self, sequence: u64, unsent: u32) {
        if sequence < self.next {
            return self.fill(sequence, unsent);
        }
        let run = Run {
            from: self.next,
            until: sequence,
            unsent_before: self.unsent,
            unsent_after: unsent,
        };
        (self.next, self.unsent) = (sequence + 1, unsent);
        if !run.is_empty() {
            self.open.push_back(run);
        }
        self.settle_beyond(Self::OPEN_MAX);
    }

    fn fill(&mut self, sequence: u64, unsent: u32) {
        let place = self.open.partition_point(|run| run.until <= sequence);
        let Some(run) = self.open.get(place).copied().filter(|run| run.from <= sequence) else {
            return;
        };
        let before = Run { until: sequence, unsent_after: unsent, ..run };
        let after = Run { from: sequence + 1, unsent_before: unsent, ..run };
        self.open.remove(place);
        for part in [after, before].into_iter().filter(|part| !part.is_empty()) {
            self.open.insert(place, part);
        }
    }

    fn settle_beyond(&mut self, count: usize) {
        while self.open.len() > count {
            let Some(run) = self.open.pop_front() else { return };
            let lost = run.lost();
            self.events += u64::from(lost > 0);
            self.longest = self.longest.max(lost);
            if lost > 0 {
                self.last = Some(run.until - 1);
            }
        }
    }

    pub(super) fn finish(mut self) -> Settled {
        self.settle_beyond(0);
        Settled {
            events: self.events,
            longest_run: self.longest,
            last: self.last,
            next: self.next,
            unsent: self.unsent,
        }
    }
}

/// What is known of losses once nothing arrives any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) events: u64,
    pub(super) longest_run: u64,
    /// The last number of the last run of lost frames.
    pub(super) last: Option<u64>,
    /// One above the largest number that has arrived.
    pub(super) next: u64,
    /// Steady frames before it that were not sent, in 24 bits.
    pub(super) unsent: u32,
}

impl Run {
    const fn is_empty(&self) -> bool {
        self.from == self.until
    }

    fn lost(&self) -> u64 {
        let unsent = self.unsent_after.wrapping_sub(self.unsent_before) & Losses::UNSENT_MASK;
        (self.until - self.from).saturating_sub(unsent.into())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fate {
        Arrives,
        Late,
        Lost,
        Unsent,
    }

    /// Events and the longest run, by definition.
    fn by_hand(fates: &[Fate]) -> (u64, u64) {
        let sent = fates.iter().filter(|fate| **fate != Fate::Unsent);
        let sent: Vec<bool> = sent.map(|fate| *fate == Fate::Lost).collect();
        let runs = sent.split(|lost| !lost).map(<[bool]>::len).filter(|run| *run > 0);
        (runs.clone().count() as u64, runs.max().unwrap_or(0) as u64)
    }

    proptest! {
        #[test]
        fn runs_are_those_of_the_frames_that_were_sent(
            fates in prop::collection::vec(
                prop_oneof![
                    5 => Just(Fate::Arrives),
                    1 => Just(Fate::Late),
                    2 => Just(Fate::Lost),
                    1 => Just(Fate::Unsent),
                ],
                1..200,
            ),
            steady_from in 0_u64..1000,
            unsent_before in prop_oneof![Just(0_u32), Just(Losses::UNSENT_MASK - 3)],
        ) {
            // The last one arrives, so that nothing is open at the end.
            let fates: Vec<Fate> = fates.into_iter().chain([Fate::Arrives]).collect();
            let mut losses = Losses { unsent: unsent_before, ..Losses::new(steady_from) };
            let mut unsent = unsent_before;
            let mut late = Vec::new();
            for (sequence, fate) in (steady_from..).zip(&fates) {
                match fate {
                    Fate::Arrives => losses.on_arrival(sequence, unsent),
                    Fate::Late => late.push((sequence, unsent)),
                    Fate::Lost => {}
                    Fate::Unsent => unsent = (unsent + 1) & Losses::UNSENT_MASK,
                }
            }
            late.into_iter().for_each(|(sequence, unsent)| losses.on_arrival(sequence, unsent));
            let settled = losses.finish();
            prop_assert_eq!((settled.events, settled.longest_run), by_hand(&fates));
            prop_assert_eq!(settled.next, steady_from + fates.len() as u64);
            prop_assert_eq!(settled.unsent, unsent);
        }
    }

    #[test]
    fn the_last_loss_is_that_of_the_last_run_with_a_frame_that_was_sent() {
        let mut losses = Losses::new(10);
        // 12 and 13 are lost, 16 was not sent.
        for (sequence, unsent) in [(10, 0), (11, 0), (14, 0), (15, 0), (17, 1)] {
            losses.on_arrival(sequence, unsent);
        }
        assert_eq!(losses.finish().last, Some(13));
        assert_eq!(Losses::new(10).finish().last, None);
    }

    #[test]
    fn a_frame_that_comes_too_late_does_not_shorten_its_run() {
        let mut losses = Losses::new(0);
        // Every second frame of 3,000 is lost: 1,500 runs, of which the last 1,024 are open.
        (0..3000).filter(|n| n % 2 == 1).for_each(|n| losses.on_arrival(n, 0));
        losses.on_arrival(0, 0);
        losses.on_arrival(2998, 0);
        assert_eq!(losses.finish().events, 1499);
    }
}
