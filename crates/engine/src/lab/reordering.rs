//! Frames that have arrived, and wait for those that left before them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::mem;
use std::time::Duration;

use fp_model::Time;
use fp_net::link::Frame;

use super::buffer::Buffer;

/// Puts the frames of one direction into the order in which they left their end.
///
/// Each processor of a host hands over its own frames in its own time, and a host that takes one of
/// them away for a while has later frames of another overtake: to the network it would look as if
/// the first ones had been late. Frames that the network delays in any case can wait for the
/// others until shortly before they are due.
#[derive(Debug)]
pub(super) struct Reordering {
    waiting: BinaryHeap<Reverse<Waiting>>,
    count: u64,
    lag: Duration,
    given_until: Time,
    overtaken_max: Duration,
}

/// The network has its frames so long before the first of them can be due.
const AHEAD: Duration = Duration::from_micros(1500);
/// Of that time, how much may pass in waiting for another reason to wake up.
const PATIENCE: Duration = Duration::from_millis(1);
/// Longer than a host stands still; what is gathered meanwhile takes memory.
const LAG_MAX: Duration = Duration::from_millis(50);

impl Reordering {
    /// In front of a network in which a frame takes at least `least_delay`.
    pub(super) fn new(least_delay: Duration) -> Self {
        Self {
            waiting: BinaryHeap::new(),
            count: 0,
            lag: least_delay.saturating_sub(AHEAD).min(LAG_MAX),
            given_until: Time::ZERO,
            overtaken_max: Duration::ZERO,
        }
    }

    pub(super) fn push(&mut self, left_at: Time, frame: Frame<Buffer>) {
        self.overtaken_max = self.overtaken_max.max(self.given_until.since(left_at));
        self.waiting.push(Reverse(Waiting { left_at, number: self.count, frame }));
        self.count += 1;
    }

    /// The next frame for the network, and when it left; call until `None`.
    pub(super) fn next(&mut self, now: Time) -> Option<(Time, Frame<Buffer>)> {
        let Reverse(first) = self.waiting.peek()?;
        if first.left_at + self.lag > now {
            return None;
        }
        let Reverse(Waiting { left_at, frame, .. }) = self.waiting.pop()?;
        self.given_until = self.given_until.max(left_at);
        Some((left_at, frame))
    }

    /// When to ask again at the latest.
    pub(super) fn look_at(&self) -> Option<Time> {
        self.waiting.peek().map(|Reverse(first)| first.left_at + self.lag + PATIENCE)
    }

    /// By how much at most, since this was asked last, a frame left before one that the network had
    /// before it.
    pub(super) fn take_overtaken_max(&mut self) -> Duration {
        mem::take(&mut self.overtaken_max)
    }
}

#[derive(Debug)]
struct Waiting {
    left_at: Time,
    /// In the order of arrival.
    number: u64,
    frame: Frame<Buffer>,
}

impl Waiting {
    const fn place(&self) -> (Time, u64) {
        (self.left_at, self.number)
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Waiting {}

#[cfg(test)]
mod tests {
    use fp_model::Dscp;

    use super::super::buffer::Pool;
    use super::*;

    fn after(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn frame(frame_bytes: u32) -> Frame<Buffer> {
        Frame { frame_bytes, dscp: Dscp::BEST_EFFORT, body: Pool::default().copy_of(&[]) }
    }

    fn given(reordering: &mut Reordering, now: Time) -> Vec<(Time, u32)> {
        let next = || reordering.next(now).map(|(left_at, frame)| (left_at, frame.frame_bytes));
        std::iter::from_fn(next).collect()
    }

    /// Two bursts 10 ms apart of which the first is held up for 12 ms, before a network of 27 ms.
    #[test]
    fn frames_come_in_the_order_in_which_they_left_however_long_they_were_held_up() {
        let mut reordering = Reordering::new(Duration::from_millis(27));
        reordering.push(after(110), frame(3));
        reordering.push(after(100), frame(1));
        reordering.push(after(100), frame(2));
        assert_eq!(reordering.look_at(), Some(after(100) + Duration::from_micros(26_500)));
        assert_eq!(given(&mut reordering, after(125)), []);
        assert_eq!(given(&mut reordering, after(126)), [(after(100), 1), (after(100), 2)]);
        assert_eq!(given(&mut reordering, after(136)), [(after(110), 3)]);
        assert_eq!(reordering.take_overtaken_max(), Duration::ZERO);
    }

    #[test]
    fn a_network_without_delay_has_them_at_once_and_is_told_what_was_overtaken() {
        let mut reordering = Reordering::new(Duration::from_millis(1));
        reordering.push(after(110), frame(2));
        assert_eq!(given(&mut reordering, after(110)), [(after(110), 2)]);
        reordering.push(after(100), frame(1));
        assert_eq!(given(&mut reordering, after(112)), [(after(100), 1)]);
        assert_eq!(reordering.take_overtaken_max(), Duration::from_millis(10));
        assert_eq!(reordering.take_overtaken_max(), Duration::ZERO);
    }
}
