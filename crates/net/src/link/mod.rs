//! Emulated links as state machines: frames in, the same frames out later, or not.
//!
//! A [`Way`] is one direction through all links of a path. It is told the time and keeps it
//! exactly: what comes out, and when, depends on the specification, the seed and the frames'
//! times of entry, not on when it is polled.

mod codel;
mod cross;
mod gate;
mod hop;
mod impair;
mod lateness;
mod queue;
pub(crate) mod random;
mod transit;
mod truth;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Dscp, Time};

pub use lateness::{Lateness, LatenessSummary};
pub use truth::{Count, Drops, LinkTruth, Tally, Truth};

use crate::path::LinkSpec;
use hop::Hop;

/// A frame on its way. `T` is whatever the driver wants back: a buffer in the lab, a segment in
/// the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<T> {
    /// From destination address to FCS.
    pub frame_bytes: u32,
    pub dscp: Dscp,
    pub body: T,
}

/// What comes out of a [`Way`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output<T> {
    /// The frame leaves at the other end at `at`, with the code point it has then.
    Deliver {
        at: Time,
        frame: Frame<T>,
        /// A bit of it has been turned over; which one is the driver's business.
        corrupt: bool,
    },
    /// The frame's packet is larger than the MTU, which its sender is to be told by ICMP.
    TooBig { at: Time, mtu: u32, frame: Frame<T> },
}

impl<T> Output<T> {
    pub const fn at(&self) -> Time {
        match self {
            Self::Deliver { at, .. } | Self::TooBig { at, .. } => *at,
        }
    }
}

/// One direction through all links of a path.
#[derive(Clone, Debug)]
pub struct Way<T> {
    hops: Vec<Hop<T>>,
    /// For each link how long at least a frame that leaves it is still on its way.
    beyond: Vec<Duration>,
    answers: VecDeque<Output<T>>,
    entered: Option<Time>,
}

impl<T: Clone> Way<T> {
    /// No links are the same as one without any limit.
    ///
    /// # Panics
    /// For a rate that is zero or above 1 Tbit/s, a shaper's bucket above 1 GiB, more than 64
    /// classes and a quantum of zero, all of which a network file cannot contain.
    pub fn new(links: &[LinkSpec], seed: u64) -> Self {
        let unlimited = [LinkSpec::default()];
        let links = if links.is_empty() { &unlimited } else { links };
        let hops: Vec<_> =
            links.iter().enumerate().map(|(index, link)| Hop::new(link, seed, index)).collect();
        let beyond = (0..hops.len()).map(|index| beyond(&hops[index + 1..])).collect();
        Self { hops, beyond, answers: VecDeque::new(), entered: None }
    }

    /// The network comes up at `now`, which is when the schedules of outages begin; without this
    /// it is up when the first frame enters.
    pub fn come_up(&mut self, now: Time) {
        self.entered = Some(now);
        for hop in &mut self.hops {
            hop.come_up(now);
        }
    }

    /// A frame enters at `now`, when its last bit has arrived.
    ///
    /// Calls are in the order of time; a `now` before the previous one is taken as the previous
    /// one. It may be before the `now` of a poll, as it is where frames bear the time of their
    /// reception.
    pub fn on_frame(&mut self, now: Time, frame: Frame<T>) {
        assert!(frame.frame_bytes <= MOST_FRAME_BYTES, "no frame has more than 16 MiB");
        let now = match self.entered {
            Some(previous) => previous.max(now),
            None => {
                self.come_up(now);
                now
            }
        };
        self.entered = Some(now);
        let answer = self.hops[0].on_parcel(now, Parcel::new(frame));
        self.keep(answer);
    }

    /// What is due at `now`, in the order of time; call until `None`.
    pub fn poll(&mut self, now: Time) -> Option<Output<T>> {
        self.carry(now);
        let last = self.hops.last_mut()?;
        let answered_at = self.answers.front().map(Output::at).filter(|at| *at <= now);
        if let Some(at) = answered_at
            && last.next_due().is_none_or(|due| at <= due)
        {
            return self.answers.pop_front();
        }
        let (at, Parcel { frame, corrupt, .. }) = last.take_due(now)?;
        Some(Output::Deliver { at, frame, corrupt })
    }

    /// How long at least a frame takes, unless a link sends it back.
    pub fn least_delay(&self) -> Duration {
        beyond(&self.hops)
    }

    /// When to poll next; there may then be nothing yet.
    pub fn poll_timeout(&self) -> Option<Time> {
        let parcels = self.hops.iter().zip(&self.beyond);
        let due = parcels.filter_map(|(hop, beyond)| Some(hop.next_out()? + *beyond));
        let looks = self.hops.iter().filter_map(Hop::next_look);
        due.chain(looks).chain(self.answers.front().map(Output::at)).min()
    }

    pub fn truth(&self) -> Truth {
        let tallies: Vec<_> = self.hops.iter().map(Hop::tallies).collect();
        Truth::of(&tallies)
    }

    /// Takes frames from each link to the next.
    fn carry(&mut self, now: Time) {
        for index in 0..self.hops.len() {
            self.hops[index].advance(now);
            if index + 1 == self.hops.len() {
                break;
            }
            while let Some((at, parcel)) = self.hops[index].take_due(now) {
                let answer = self.hops[index + 1].on_parcel(at, parcel);
                self.keep(answer);
            }
        }
    }

    /// Answers come from several links, so not quite in the order of time.
    fn keep(&mut self, answer: Option<Output<T>>) {
        let Some(answer) = answer else { return };
        let later = self.answers.iter().rev().take_while(|other| other.at() > answer.at()).count();
        self.answers.insert(self.answers.len() - later, answer);
    }
}

/// Far above any frame, far below what would overflow a computation.
const MOST_FRAME_BYTES: u32 = 1 << 24;

/// How long at least a frame takes through `hops`, unless one of them sends it back.
fn beyond<T: Clone>(hops: &[Hop<T>]) -> Duration {
    hops.iter().take_while(|hop| !hop.may_answer()).map(Hop::least_delay).sum()
}

/// A frame inside a way, with one of the path's own as its body or whatever may stand in its place.
#[derive(Clone, Debug)]
struct Parcel<B> {
    frame: Frame<B>,
    /// The code point with which it entered the path.
    entered_as: Dscp,
    /// Of the VLAN tags that it bears on the link where it is.
    tags_bytes: u32,
    corrupt: bool,
}

impl<T> Parcel<T> {
    fn new(frame: Frame<T>) -> Self {
        Self { entered_as: frame.dscp, tags_bytes: 0, frame, corrupt: false }
    }

    /// The body, and the frame that it was in.
    #[inline]
    fn apart(self) -> (T, Parcel<()>) {
        let Self { frame: Frame { frame_bytes, dscp, body }, entered_as, tags_bytes, corrupt } =
            self;
        (
            body,
            Parcel {
                frame: Frame { frame_bytes, dscp, body: () },
                entered_as,
                tags_bytes,
                corrupt,
            },
        )
    }

    /// From destination address to FCS, as it is on the link.
    const fn tagged_bytes(&self) -> u32 {
        self.frame.frame_bytes + self.tags_bytes
    }
}

impl Parcel<()> {
    #[inline]
    fn with<B>(self, body: B) -> Parcel<B> {
        let Self { frame: Frame { frame_bytes, dscp, body: () }, entered_as, tags_bytes, corrupt } =
            self;
        Parcel { frame: Frame { frame_bytes, dscp, body }, entered_as, tags_bytes, corrupt }
    }
}
