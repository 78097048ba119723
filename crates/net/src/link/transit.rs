//! Frames between the two ends of a link: delay, jitter and reordering.

use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;
use core::time::Duration;

use fp_model::Time;

use super::Parcel;
use super::random::{Purpose, Random};
use crate::path::{FrameOrder, JitterDistribution, JitterSpec, LinkSpec, ReorderSpec};

/// Holds each frame until it is due at the other end.
#[derive(Clone, Debug)]
pub(crate) struct Transit<T> {
    delay: Duration,
    jitter: Option<(JitterSpec, Random)>,
    reorder: Option<(ReorderSpec, Random)>,
    entered: u64,
    /// The highest number, in the order of entry, of those that left.
    latest_out: Option<u64>,
    under_way: UnderWay<T>,
}

/// Where all frames keep their order a ring is enough.
#[derive(Clone, Debug)]
enum UnderWay<T> {
    InOrder(VecDeque<(Due, Parcel<T>)>),
    Shuffled(Shuffled<T>),
}

/// Sorted are when frames are due, not the frames, which are large.
#[derive(Clone, Debug)]
struct Shuffled<T> {
    due: BinaryHeap<Reverse<Due>>,
    /// By number, from that of the first one that is under way.
    parcels: VecDeque<Option<Parcel<T>>>,
    first: u64,
}

/// Frames are due in the order of time; at the same instant in the order of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Time,
    number: u64,
}

/// A frame at the other end.
#[derive(Debug)]
pub(crate) struct Arrival<T> {
    pub(crate) at: Time,
    pub(crate) parcel: Parcel<T>,
    /// One that entered behind it has arrived before it.
    pub(crate) overtaken: bool,
}

impl<T> Transit<T> {
    pub(crate) fn new(link: &LinkSpec, seed: u64, index: usize) -> Self {
        let order_is_free =
            link.reorder.is_some() || link.jitter.is_some_and(|j| j.order == FrameOrder::Free);
        Self {
            delay: link.delay,
            jitter: link
                .jitter
                .map(|jitter| (jitter, Random::new(seed, index as u64, Purpose::Jitter))),
            reorder: link
                .reorder
                .map(|spec| (spec, Random::new(seed, index as u64, Purpose::Reordering))),
            entered: 0,
            latest_out: None,
            under_way: if order_is_free {
                UnderWay::Shuffled(Shuffled {
                    due: BinaryHeap::new(),
                    parcels: VecDeque::new(),
                    first: 0,
                })
            } else {
                UnderWay::InOrder(VecDeque::new())
            },
        }
    }

    //= rfc7640 1.2
    /// A frame sets out at `now`; calls are in the order of time.
    pub(crate) fn enter(&mut self, now: Time, parcel: Parcel<T>) {
        let at = now + self.next_delay();
        let number = self.entered;
        self.entered += 1;
        match &mut self.under_way {
            UnderWay::InOrder(ring) => {
                let at = ring.back().map_or(at, |(ahead, _)| ahead.at.max(at));
                ring.push_back((Due { at, number }, parcel));
            }
            UnderWay::Shuffled(shuffled) => {
                shuffled.due.push(Reverse(Due { at, number }));
                shuffled.parcels.push_back(Some(parcel));
            }
        }
    }

    pub(crate) fn next_due(&self) -> Option<Time> {
        Some(match &self.under_way {
            UnderWay::InOrder(ring) => ring.front()?.0.at,
            UnderWay::Shuffled(shuffled) => shuffled.due.peek()?.0.at,
        })
    }

    pub(crate) fn take_due(&mut self, now: Time) -> Option<Arrival<T>> {
        if self.next_due()? > now {
            return None;
        }
        let (Due { at, number }, parcel) = match &mut self.under_way {
            UnderWay::InOrder(ring) => ring.pop_front()?,
            UnderWay::Shuffled(shuffled) => shuffled.take()?,
        };
        let overtaken = self.latest_out.is_some_and(|latest| latest > number);
        self.latest_out = self.latest_out.max(Some(number));
        Some(Arrival { at, parcel, overtaken })
    }

    pub(crate) fn least_delay(&self) -> Duration {
        let most_early =
            self.jitter.as_ref().map_or(Duration::ZERO, |(jitter, _)| match jitter.distribution {
                JitterDistribution::Uniform(most) => most,
                JitterDistribution::Normal(sigma) => sigma.mul_f64(NORMAL_CUT),
            });
        self.delay.saturating_sub(most_early)
    }

    fn next_delay(&mut self) -> Duration {
        let mut delay = self.delay;
        if let Some((jitter, random)) = &mut self.jitter {
            delay = jittered(delay, jitter.distribution, random);
        }
        if let Some((reorder, random)) = &mut self.reorder
            && random.happens(reorder.probability)
        {
            delay += reorder.hold;
        }
        delay
    }
}

impl<T> Shuffled<T> {
    fn take(&mut self) -> Option<(Due, Parcel<T>)> {
        let Reverse(due) = self.due.pop()?;
        let parcel = self.parcels.get_mut((due.number - self.first) as usize)?.take()?;
        while let Some(None) = self.parcels.front() {
            self.parcels.pop_front();
            self.first += 1;
        }
        Some((due, parcel))
    }
}

/// In standard deviations.
const NORMAL_CUT: f64 = 4.0;

fn jittered(delay: Duration, distribution: JitterDistribution, random: &mut Random) -> Duration {
    let (scale, share) = match distribution {
        JitterDistribution::Uniform(most) => (most, 2.0 * random.unit() - 1.0),
        JitterDistribution::Normal(sigma) => {
            (sigma, random.normal().clamp(-NORMAL_CUT, NORMAL_CUT))
        }
    };
    let off = scale.mul_f64(share.abs());
    if share < 0.0 { delay.saturating_sub(off) } else { delay + off }
}
