//! When the next frame may leave a queue: behind the one before it on a line, or when a shaper's
//! token bucket has enough tokens.

use fp_model::{PacketLayout, Rate, Time};

/// An instant between two nanoseconds, exact at one rate: `parts` / bits-per-second of a nanosecond
/// after `nanos`.
///
/// Frames that follow each other add up without any rounding, so that a rate at which a bit does
/// not take whole nanoseconds is met exactly in the long run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant {
    nanos: u64,
    parts: u64,
}

impl Instant {
    /// The first whole nanosecond that is not before this.
    pub(crate) fn ceil(self) -> Time {
        Time::from_nanos(self.nanos + u64::from(self.parts > 0))
    }

    fn after(self, bytes: u64, rate: u64) -> Self {
        let parts = bytes * PARTS_PER_BYTE + self.parts;
        Self { nanos: self.nanos + parts / rate, parts: parts % rate }
    }

    /// Zero where that would be before all time.
    fn before(self, bytes: u64, rate: u64) -> Self {
        let parts = bytes * PARTS_PER_BYTE;
        let (mut nanos, mut remainder) = (parts / rate, parts % rate);
        if remainder > self.parts {
            nanos += 1;
            remainder = self.parts + rate - remainder;
        } else {
            remainder = self.parts - remainder;
        }
        match self.nanos.checked_sub(nanos) {
            Some(nanos) => Self { nanos, parts: remainder },
            None => Self::default(),
        }
    }
}

impl From<Time> for Instant {
    fn from(time: Time) -> Self {
        Self { nanos: time.as_nanos(), parts: 0 }
    }
}

/// Eight bits of a thousand million nanoseconds each, divided by bits per second.
const PARTS_PER_BYTE: u64 = 8_000_000_000;

/// The most bytes whose time can be counted in 64 bits; also the deepest bucket.
pub(crate) const MOST_BYTES: u64 = 1 << 30;

/// The fastest rate at which time can be counted in 64 bits: 1 Tbit/s.
pub(crate) const FASTEST: Rate = Rate::bps(1_000_000_000_000);

/// What a queue waits for.
#[derive(Clone, Debug)]
pub(crate) enum Gate {
    Line(Line),
    Shaper(Shaper),
}

impl Gate {
    pub(crate) fn line(rate: Rate) -> Self {
        Self::Line(Line { rate: checked(rate), free_at: Instant::default() })
    }

    pub(crate) fn shaper(rate: Rate, burst_bytes: u64) -> Self {
        assert!(burst_bytes <= MOST_BYTES, "a shaper's bucket holds at most 1 GiB");
        Self::Shaper(Shaper { rate: checked(rate), burst_bytes, full_at: Instant::default() })
    }

    /// The earliest that a frame of `frame_bytes` may go.
    pub(crate) fn ready_at(&self, frame_bytes: u32) -> Instant {
        match self {
            Self::Line(line) => line.free_at,
            Self::Shaper(shaper) => {
                let spare = shaper.burst_bytes.saturating_sub(u64::from(frame_bytes));
                shaper.full_at.before(spare, shaper.rate)
            }
        }
    }

    /// When a frame is out that goes at `start`.
    pub(crate) fn out_at(&self, start: Instant, frame_bytes: u32) -> Instant {
        match self {
            Self::Line(line) => start.after(l1_bytes(frame_bytes), line.rate),
            Self::Shaper(_) => start,
        }
    }

    /// A frame goes at `start`; returns when it is out.
    pub(crate) fn pass(&mut self, start: Instant, frame_bytes: u32) -> Instant {
        let out_at = self.out_at(start, frame_bytes);
        match self {
            Self::Line(line) => line.free_at = out_at,
            Self::Shaper(shaper) => {
                let full_at = shaper.full_at.max(start);
                shaper.full_at = full_at.after(u64::from(frame_bytes), shaper.rate);
            }
        }
        out_at
    }
}

/// Carries one frame after the other.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Bits per second at layer 1.
    rate: u64,
    free_at: Instant,
}

/// Lets a frame go when the bucket holds its bytes, or is full if it never can.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    /// Bits per second at layer 2.
    rate: u64,
    burst_bytes: u64,
    /// When the bucket is full again if no more frames go.
    full_at: Instant,
}

fn l1_bytes(frame_bytes: u32) -> u64 {
    u64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD)
}

fn checked(rate: Rate) -> u64 {
    assert!(rate > Rate::ZERO, "at a rate of zero nothing ever leaves");
    assert!(rate <= FASTEST, "a line or a shaper runs at 1 Tbit/s at most");
    rate.as_bps()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes `count` frames, each as early as it may go; returns the last one's way out.
    fn pass_all(gate: &mut Gate, count: u32, frame_bytes: u32) -> Instant {
        (0..count)
            .fold(Instant::default(), |_, _| gate.pass(gate.ready_at(frame_bytes), frame_bytes))
    }

    /// 1518 + 20 bytes at 100 Mbit/s are 1538·80 ns.
    #[test]
    fn a_thousand_frames_on_a_line_end_when_their_bits_do() {
        let mut line = Gate::line(Rate::mbps(100));
        assert_eq!(pass_all(&mut line, 1000, 1518).ceil(), Time::from_nanos(1000 * 1538 * 80));
    }

    /// At 3 Mbit/s a frame of 64 bytes takes 84·8/3 µs = 224,000 ns and at 7 Mbit/s 96,000 ns:
    /// whole. At 44.21 Mbit/s (T3) it takes 15,200.18 ns: 44,210 frames take 84·8·44,210/44.21 µs =
    /// 672 ms to the nanosecond.
    #[test]
    fn a_rate_whose_bits_are_not_whole_nanoseconds_is_met_exactly_in_the_long_run() {
        let mut line = Gate::line(Rate::bps(44_210_000));
        assert_eq!(pass_all(&mut line, 1, 64).ceil(), Time::from_nanos(15_201));
        let end = pass_all(&mut line, 44_209, 64);
        assert_eq!(end, Instant { nanos: 672_000_000, parts: 0 });
    }

    /// Ten frames of 1000 bytes empty a bucket of 10,000; at 8 Mbit/s a byte takes a microsecond.
    #[test]
    fn a_shaper_lets_a_burst_go_at_once_and_then_one_frame_each_time_its_bytes_are_there() {
        let mut shaper = Gate::shaper(Rate::mbps(8), 10_000);
        let start = Instant::from(Time::from_nanos(50_000));
        for _ in 0..10 {
            assert!(shaper.ready_at(1000) <= start);
            shaper.pass(start, 1000);
        }
        for later in 1..=3 {
            let ready = shaper.ready_at(1000);
            assert_eq!(ready.ceil(), Time::from_nanos(50_000 + later * 1_000_000));
            shaper.pass(ready, 1000);
        }
    }

    /// A bucket of one frame, never full between two: 7,777,777 frames·8 bit·1518 bytes at
    /// 7,777,777 bit/s take 8·1518 s.
    #[test]
    fn a_shaper_keeps_its_rate_without_rounding() {
        let mut shaper = Gate::shaper(Rate::bps(7_777_777), 1518);
        pass_all(&mut shaper, 77_778, 1518);
        let last = pass_all(&mut shaper, 77_777, 1518);
        // The first goes at zero, so frame n goes after n·1518 bytes: here n = 155,554.
        let parts = 155_554_u128 * 1518 * u128::from(PARTS_PER_BYTE);
        assert_eq!(u128::from(last.nanos), parts / 7_777_777);
        assert_eq!(u128::from(last.parts), parts % 7_777_777);
    }

    #[test]
    fn a_frame_larger_than_the_bucket_waits_until_the_bucket_is_full() {
        let mut shaper = Gate::shaper(Rate::mbps(8), 1000);
        shaper.pass(Instant::from(Time::ZERO), 1000);
        assert_eq!(shaper.ready_at(1500).ceil(), Time::from_nanos(1_000_000));
    }
}
