//! The end that sends: each burst when it is due, as fast as the host can or at its exact rate.

use std::cmp::Reverse;
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use fp_model::{BurstSpacing, BurstsLoad, Departure, Rate, Time, Timing};
use fp_net::stream::{BURST_LATENESS_MAX, DepartureCurve, MovedBursts};

use super::{Plan, cache_warming, frame_bits_l1, frames_per_second};
use crate::frames::{HEAD_BYTES, Head, HeadBytes, Stream};
use crate::half::{BurstsSenderHalf, SenderSlot, SentBurst};
use crate::lease::Lease;
use crate::open_slots::OpenSlots;
use crate::os::schedule::{self, Promptly};
use crate::os::udp::{self, BATCH, Datagram, SEGMENTS_MAX};
use crate::os::{clock, ethtool, interfaces};
use crate::pace::wait_until;
use crate::udp::{FrameError, Kind, ProvenSocket};

/// Nothing else is done for so long before a burst is due.
const QUIET: Duration = Duration::from_millis(2);
/// For so long the host may have no room for a frame before it is given up.
const NO_ROOM_MAX: Duration = Duration::from_millis(5);
/// A processor that one thread takes for longer than this is taken away from real-time threads.
const REAL_TIME_BURST_MAX: Duration = Duration::from_millis(100);

/// Sends the bursts of a trial when they are due, and says of each when its first and its last frame
/// were given to the network interface.
///
/// Frames that are due at the same time leave by one system call, in which the kernel cuts them from
/// one long datagram; where it does not, they share a call as they are.
///
/// # Errors
/// Frames too short or too long, a socket that fails, a lease that ended.
pub(crate) fn send(
    proven: &ProvenSocket,
    stream: Stream<'_, BurstsLoad>,
    timing: &Timing,
    start: Time,
    lease: &Lease,
    progress: &mut dyn FnMut(usize, SenderSlot),
) -> Result<BurstsSenderHalf, FrameError> {
    let load = stream.load;
    let plan = Plan::new(load, timing);
    let _promptly = run_on_time(load);
    let mut slots = OpenSlots::new(timing, start);
    let mut seen = vec![SenderSlot::default(); slots.ends().count()];
    let mut sender = BurstSender::new(proven, stream, start + timing.active(), lease)?;
    let mut bursts = Vec::new();
    let mut moved = MovedBursts::default();
    for burst in 0..plan.bursts {
        let due = start + plan.due(burst);
        let sent_at = due + moved.by();
        while let Some((slot, end)) = slots.close_by(sent_at - QUIET) {
            wait_until(end, lease)?;
            progress(slot, seen[slot]);
        }
        let began = sender.wait_warm(sent_at)?;
        if began.since(sent_at) > BURST_LATENESS_MAX
            && began >= start + plan.due(burst + 1)
            && load.spacing == BurstSpacing::OnSchedule
        {
            continue;
        }
        let mut sent_frames = 0;
        let left = sender.send_burst(plan.sequence(burst, 0), began, &mut |at, frames| {
            seen[slots.at(at)].sent_bytes += u64::from(frames) * u64::from(load.frame_bytes);
            sent_frames += frames;
        })?;
        if let Some(left) = left {
            if load.spacing == BurstSpacing::Apart {
                moved.after(left.from.since(due), left.until.since(due));
            }
            bursts.push(left.of(burst, sent_frames, due));
        }
    }
    while let Some((slot, _)) = slots.close_by(slots.last_end()) {
        progress(slot, seen[slot]);
    }
    Ok(BurstsSenderHalf { planned_bursts: plan.bursts, bursts, slots: seen })
}

/// Has the current thread woken when it is due, and before ordinary threads if it leaves them most
/// of the processor.
fn run_on_time(load: &BurstsLoad) -> Option<Promptly> {
    // A kernel that refuses wakes it up to 50 µs late, which the watching of the clock covers.
    let _ = schedule::wake_on_time();
    let frames_ns = u64::from(load.frames_per_burst).saturating_mul(1_000_000_000);
    let lasts = Duration::from_nanos(frames_ns / frames_per_second(load));
    (lasts <= REAL_TIME_BURST_MAX && lasts <= load.period / 4).then(Promptly::run)
}

/// When the frames of a burst left.
#[derive(Clone, Debug)]
struct Left {
    from: Time,
    until: Time,
    /// The most that one was behind the rate.
    behind: Duration,
    /// Since `from`, of a burst with a rate.
    curve: Option<DepartureCurve>,
    /// What the fastest call took for each of its frames.
    fastest: Duration,
    calls: u32,
    slow: Vec<SlowCall>,
}

/// Frames that left in a call of the kernel that took long: nobody knows when in that time they did.
#[derive(Clone, Copy, Debug)]
struct SlowCall {
    first: u32,
    frames: u32,
    /// Since the first frame of the burst left.
    until: Duration,
    /// What it took beyond the time of as many frames of the fastest call.
    excess: Duration,
}

impl Left {
    /// The report has one call in this number, the slowest ones.
    const CALLS_FOR_A_SLOW_ONE: usize = 10;

    fn new(from: Time, pace: Pace) -> Self {
        let (behind, fastest) = (Duration::ZERO, Duration::MAX);
        let (curve, slow) = (pace.curve(), Vec::new());
        Self { from, until: from, behind, curve, fastest, calls: 0, slow }
    }

    /// By one call that began at `now` and ended at `until`, frames left from the `first` one on.
    fn add(&mut self, (first, frames): (u32, u32), now: Time, until: Time, pace: Pace) {
        // A frame alone leaves as its call begins, the last of several as it ends.
        self.until = if frames == 1 { now } else { until };
        let (began, ended) = (now.since(self.from), until.since(self.from));
        self.behind = self.behind.max(pace.behind(first, began));
        let Some(curve) = &mut self.curve else { return };
        self.calls += 1;
        self.fastest = self.fastest.min((ended - began) / frames);
        let quick = self.fastest * frames;
        let excess = (ended - began).saturating_sub(quick);
        let is_slow = excess > curve.within();
        curve.left(first, began);
        if frames > 1 {
            curve.left(first + frames - 1, if is_slow { began + quick } else { ended });
        }
        if is_slow {
            self.slow.push(SlowCall { first, frames, until: ended, excess });
        }
    }

    /// With times since the burst was due.
    fn of(mut self, burst: u32, sent_frames: u32, due: Time) -> SentBurst {
        let from = self.from.since(due);
        let ns = |time: Duration| time.as_nanos() as u64;
        let mut sent = SentBurst {
            burst,
            sent_frames,
            from_ns: ns(from),
            until_ns: ns(self.until.since(due)),
            behind_ns: ns(self.behind),
            ..SentBurst::default()
        };
        if let Some(curve) = self.curve {
            let told = self.calls as usize / Self::CALLS_FOR_A_SLOW_ONE + 1;
            self.slow.sort_unstable_by_key(|call| Reverse(call.excess));
            let beyond = self.slow.get(told).map_or(Duration::ZERO, |call| call.excess);
            self.slow.truncate(told);
            self.slow.sort_unstable_by_key(|call| call.first);
            let (departures, within) = curve.into_departures();
            let departure = |left: &Departure| (left.frame, ns(from + left.at));
            let slow = |call: &SlowCall| (call.first, call.frames, ns(from + call.until));
            sent.departures = departures.iter().map(departure).collect();
            sent.slow = self.slow.iter().map(slow).collect();
            sent.within_ns = ns(within.max(beyond));
        }
        sent
    }
}

struct BurstSender<'a> {
    socket: &'a UdpSocket,
    /// Leads nowhere; without it the first frame of a burst is late.
    to_itself: Option<UdpSocket>,
    lease: &'a Lease,
    pace: Pace,
    frames: u32,
    frame_bytes: u32,
    mark: [u8; 4],
    /// Nothing is sent any more: nobody would wait for it to arrive.
    over_at: Time,
    cutting: Cutting,
    /// Payloads one after the other, for the kernel to cut.
    payloads: Vec<u8>,
    payload_bytes: usize,
}

/// Who makes frames of what is due at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cutting {
    ByKernel,
    Here,
}

impl<'a> BurstSender<'a> {
    fn new(
        proven: &'a ProvenSocket,
        stream: Stream<'_, BurstsLoad>,
        over_at: Time,
        lease: &'a Lease,
    ) -> Result<Self, FrameError> {
        let load = stream.load;
        let payload_bytes = stream.payload_bytes(load.frame_bytes)?;
        let segments = (udp::SEGMENTED_BYTES_MAX / payload_bytes).clamp(1, SEGMENTS_MAX);
        Ok(Self {
            socket: &proven.socket,
            to_itself: cache_warming::socket_to_itself(stream.family).ok(),
            lease,
            pace: Pace::new(load),
            frames: load.frames_per_burst,
            frame_bytes: load.frame_bytes,
            mark: proven.mark(Kind::Frame),
            over_at,
            cutting: match segments > 1 && !leaves_uncut(&proven.socket) {
                true => Cutting::ByKernel,
                false => Cutting::Here,
            },
            payloads: vec![0; segments * payload_bytes],
            payload_bytes,
        })
    }

    /// Waits until `due` and keeps warm, meanwhile, what it takes to send a frame.
    fn wait_warm(&mut self, due: Time) -> Result<Time, FrameError> {
        if let Some(to_itself) = self.to_itself.take() {
            wait_until(due - cache_warming::LASTS, self.lease)?;
            while clock::now() < due - cache_warming::ONE_TAKES {
                // Whether one of them finds its way is no matter.
                let _ = self.send_some(&to_itself, &[[0; HEAD_BYTES]; 2]);
                let _ = self.send_some(&to_itself, &[[0; HEAD_BYTES]; 1]);
                let _ = udp::rehearse(self.socket);
            }
            self.to_itself = Some(to_itself);
        }
        wait_until(due, self.lease)
    }

    /// Sends a burst that begins with frame `first`, tells `sent` of each call how many frames left
    /// by it, and returns when they did, if any.
    fn send_burst(
        &mut self,
        first: u64,
        began: Time,
        sent: &mut dyn FnMut(Time, u32),
    ) -> Result<Option<Left>, FrameError> {
        let (mut next, mut now, mut all) = (0, began, None);
        while next < self.frames && now < self.over_at {
            let due = self.pace.due_by(now.since(began) + self.pace.ahead).min(self.frames);
            let at_once = due.saturating_sub(next).clamp(1, SEGMENTS_MAX as u32);
            let mut heads = [[0; HEAD_BYTES]; SEGMENTS_MAX];
            for (place, of) in heads.iter_mut().zip(0..at_once) {
                let sequence = first + u64::from(next + of);
                let head = Head { sequence, unsent_before: 0, sent_at: Duration::ZERO };
                *place = head.marked(self.mark);
            }
            let left = self.send_frames(&heads[..at_once as usize])?;
            let until = clock::now();
            if left > 0 {
                sent(now, left);
                let all: &mut Left = all.get_or_insert_with(|| Left::new(now, self.pace));
                all.add((next, left), now, until, self.pace);
            }
            next += at_once;
            now = wait_until(began + self.pace.offset(next), self.lease)?;
        }
        Ok(all)
    }

    /// How many of the frames left; those for which the host has no room for long are given up.
    fn send_frames(&mut self, heads: &[HeadBytes]) -> Result<u32, FrameError> {
        const TRIES: u32 = 3;
        let (mut sent, mut tries) = (0, 0);
        let patient_until = clock::now() + NO_ROOM_MAX;
        while sent < heads.len() {
            match self.send_some(self.socket, &heads[sent..]) {
                Ok(count) => (sent, tries) = (sent + count, 0),
                Err(error) if self.is_cut_by_kernel() && udp::is_refusal_to_segment(&error) => {
                    self.cutting = Cutting::Here;
                }
                // News of an earlier frame comes in place of sending this one: once more.
                Err(error) if udp::is_about_an_earlier_datagram(&error) && tries < TRIES => {
                    tries += 1;
                }
                Err(error) if udp::is_too_big(&error) => {
                    return Err(FrameError::FrameTooLong { frame_bytes: self.frame_bytes });
                }
                Err(error) if udp::is_out_of_room(&error) && clock::now() < patient_until => {}
                Err(error)
                    if udp::is_out_of_room(&error) || udp::is_about_an_earlier_datagram(&error) =>
                {
                    break;
                }
                Err(source) => {
                    return Err(FrameError::Socket { doing: "send UDP frames", source });
                }
            }
        }
        Ok(sent as u32)
    }

    fn is_cut_by_kernel(&self) -> bool {
        self.cutting == Cutting::ByKernel
    }

    /// Sends the first of the frames, as many as one call takes.
    fn send_some(&mut self, by: &UdpSocket, heads: &[HeadBytes]) -> io::Result<usize> {
        let count = heads.len().min(self.payloads.len() / self.payload_bytes);
        if count == 1 || self.cutting == Cutting::Here {
            let padding = &self.payloads[HEAD_BYTES..self.payload_bytes];
            let mut datagrams = [Datagram { head: [0; HEAD_BYTES], padding }; BATCH];
            for (datagram, head) in datagrams.iter_mut().zip(heads) {
                datagram.head = *head;
            }
            return udp::send_batch(by, &datagrams[..heads.len().min(BATCH)]);
        }
        let payloads = self.payloads.chunks_exact_mut(self.payload_bytes);
        for (payload, head) in payloads.zip(heads) {
            payload[..HEAD_BYTES].copy_from_slice(head);
        }
        let datagrams = &self.payloads[..count * self.payload_bytes];
        udp::send_segmented(by, datagrams, self.payload_bytes)?;
        Ok(count)
    }
}

/// Whether what is sent in one piece leaves this host in one piece, as far as that can be known.
fn leaves_uncut(socket: &UdpSocket) -> bool {
    let is_uncut = || -> io::Result<bool> {
        match interfaces::name_of(socket.local_addr()?.ip())? {
            Some(name) => ethtool::takes_uncut_datagrams(&name),
            None => Ok(false),
        }
    };
    is_uncut().unwrap_or(false)
}

/// When the frames of a burst are due, counted from its beginning.
#[derive(Clone, Copy, Debug)]
struct Pace {
    frame_bits: u64,
    /// `None`: all at once.
    bps: Option<u64>,
    bursts: u32,
    /// Frames that will be due so soon share the call of the one that is: while the kernel cuts and
    /// sends them one after the other, about as fast as they are due, their time comes.
    ahead: Duration,
}

impl Pace {
    /// One call for each frame keeps up with frames that are this far apart.
    const ALONE: Duration = Duration::from_micros(2);
    const AHEAD: Duration = Duration::from_micros(10);

    fn new(load: &BurstsLoad) -> Self {
        let bps = load.rate_l1.map(Rate::as_bps);
        let alone = Self {
            frame_bits: frame_bits_l1(load),
            bps,
            bursts: load.bursts,
            ahead: Duration::ZERO,
        };
        let keeps_up = alone.offset(1) >= Self::ALONE;
        Self { ahead: if keeps_up { Duration::ZERO } else { Self::AHEAD }, ..alone }
    }

    /// Frame i is due i · bits / rate after the first one, rounded up to the nanosecond.
    fn offset(self, frame: u32) -> Duration {
        let Some(bps) = self.bps else { return Duration::ZERO };
        let bits_ns = u128::from(frame) * u128::from(self.frame_bits) * 1_000_000_000;
        Duration::from_nanos(bits_ns.div_ceil(bps.into()) as u64)
    }

    /// What a burst draws on, if it has a rate.
    fn curve(self) -> Option<DepartureCurve> {
        self.bps.map(|_| DepartureCurve::new(self.offset(1), self.bursts))
    }

    /// By how much a frame is late that leaves when so much time has passed; never without a rate.
    fn behind(self, frame: u32, passed: Duration) -> Duration {
        match self.bps {
            Some(_) => passed.saturating_sub(self.offset(frame)),
            None => Duration::ZERO,
        }
    }

    /// How many frames are due when so much time has passed.
    fn due_by(self, passed: Duration) -> u32 {
        let Some(bps) = self.bps else { return u32::MAX };
        let bits_ns = passed.as_nanos() * u128::from(bps);
        let intervals = bits_ns / (u128::from(self.frame_bits) * 1_000_000_000);
        u32::try_from(intervals + 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_at_a_gigabit_are_due_every_12_304_ns() {
        // 1518 bytes and 20 more are 12,304 bits, one nanosecond each; 84 bytes are 672 bits.
        let pace = |frame_bits| Pace {
            frame_bits,
            bps: Some(1_000_000_000),
            bursts: 1,
            ahead: Duration::ZERO,
        };
        assert_eq!(pace(12_304).offset(41), Duration::from_nanos(41 * 12_304));
        assert_eq!(pace(672).offset(999), Duration::from_nanos(671_328));
        assert_eq!(pace(672).due_by(Duration::from_nanos(671)), 1);
        assert_eq!(pace(672).due_by(Duration::from_nanos(672)), 2);
    }

    proptest! {
        #[test]
        fn a_frame_is_due_at_its_offset_and_not_before(
            frame_bits in 672_u64..100_000,
            bps in 1_000_u64..1_000_000_000_000,
            frame in 1_u32..1_000_000,
        ) {
            let pace = Pace { frame_bits, bps: Some(bps), bursts: 1, ahead: Duration::ZERO };
            let offset = pace.offset(frame);
            prop_assert!(pace.due_by(offset) > frame);
            prop_assert!(pace.due_by(offset - Duration::from_nanos(1)) <= frame);
        }
    }
}
