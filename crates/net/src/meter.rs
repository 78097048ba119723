//! Token-bucket meters of MEF 10, RFC 2697, RFC 2698 and RFC 4115 in exact integer arithmetic.
//!
//! A bucket starts full, is refilled continuously and admits a frame when it holds at least as many
//! tokens as the frame has bytes. Nothing is ever rounded: tokens are counted in
//! [`TokenBucket::TOKENS_PER_BYTE`]ths of a byte, so that one bit per second for one nanosecond is
//! one token.

use core::time::Duration;

use fp_model::{Rate, Time};

/// What a meter makes of a frame, and how the frame was marked before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Colour {
    Green,
    Yellow,
    Red,
}

/// Whether the colour that a frame already bears counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColourMode {
    Blind,
    Aware,
}

impl ColourMode {
    /// The colour that a meter in this mode believes of a frame marked `pre`.
    const fn believes(self, pre: Colour) -> Colour {
        match self {
            Self::Blind => Colour::Green,
            Self::Aware => pre,
        }
    }
}

/// What becomes of tokens that overflow the committed bucket: MEF's coupling flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupling {
    /// CF = 0: they are lost, yellow frames never exceed EIR.
    Uncoupled,
    /// CF = 1: they fall into the excess bucket, yellow frames may use what green ones left.
    Coupled,
}

/// Tokens that grow with time up to a burst size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    rate: Rate,
    capacity: u128,
    level: u128,
}

impl TokenBucket {
    /// Eight bits times a thousand million nanoseconds.
    pub const TOKENS_PER_BYTE: u128 = 8_000_000_000;

    /// A full bucket of `burst_bytes`, refilled at `rate`.
    pub const fn full(rate: Rate, burst_bytes: u64) -> Self {
        let capacity = burst_bytes as u128 * Self::TOKENS_PER_BYTE;
        Self { rate, capacity, level: capacity }
    }

    /// Adds the tokens of `elapsed` and returns those that found no room.
    pub const fn refill(&mut self, elapsed: Duration) -> u128 {
        self.pour((self.rate.as_bps() as u128).saturating_mul(elapsed.as_nanos()))
    }

    /// Adds `tokens` and returns those that found no room.
    pub const fn pour(&mut self, tokens: u128) -> u128 {
        let room = self.capacity - self.level;
        if tokens <= room {
            self.level += tokens;
            0
        } else {
            self.level = self.capacity;
            tokens - room
        }
    }

    pub const fn holds(&self, frame_bytes: u32) -> bool {
        frame_bytes as u128 * Self::TOKENS_PER_BYTE <= self.level
    }

    /// Takes the tokens of a frame if they are there, and says whether they were.
    pub const fn admit(&mut self, frame_bytes: u32) -> bool {
        let admitted = self.holds(frame_bytes);
        if admitted {
            self.level -= frame_bytes as u128 * Self::TOKENS_PER_BYTE;
        }
        admitted
    }

    /// Tokens now in the bucket.
    pub const fn level(&self) -> u128 {
        self.level
    }
}

/// The parameters of a MEF bandwidth profile; frames are counted from destination address to FCS,
/// unless whoever meters them charges other bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BandwidthProfileSpec {
    pub cir_l2: Rate,
    pub cbs_bytes: u64,
    pub eir_l2: Rate,
    pub ebs_bytes: u64,
    pub coupling: Coupling,
    pub mode: ColourMode,
}

/// The meter of a single-flow bandwidth profile, MEF 10.2 §7.11.
///
/// Uncoupled it is the two-rate three-colour marker of RFC 4115, read as its flow chart has it
/// (a frame of exactly the tokens left is admitted), where its prose says otherwise.
#[derive(Clone, Debug)]
pub struct BandwidthProfile {
    committed: TokenBucket,
    excess: TokenBucket,
    coupling: Coupling,
    mode: ColourMode,
    metered: Time,
}

impl BandwidthProfile {
    /// Both buckets full at `now`.
    pub const fn new(spec: &BandwidthProfileSpec, now: Time) -> Self {
        Self {
            committed: TokenBucket::full(spec.cir_l2, spec.cbs_bytes),
            excess: TokenBucket::full(spec.eir_l2, spec.ebs_bytes),
            coupling: spec.coupling,
            mode: spec.mode,
            metered: now,
        }
    }

    /// Meters one frame that arrived at `now` marked `pre`.
    ///
    /// Frames come in the order of their arrival; to one that claims to be earlier than the frame
    /// before it no time has passed.
    pub fn colour(&mut self, now: Time, frame_bytes: u32, pre: Colour) -> Colour {
        self.refill(now);
        let pre = self.mode.believes(pre);
        if pre == Colour::Green && self.committed.admit(frame_bytes) {
            Colour::Green
        } else if pre != Colour::Red && self.excess.admit(frame_bytes) {
            Colour::Yellow
        } else {
            Colour::Red
        }
    }

    fn refill(&mut self, now: Time) {
        let elapsed = now.since(self.metered);
        let overflow = self.committed.refill(elapsed);
        self.excess.refill(elapsed);
        if self.coupling == Coupling::Coupled {
            self.excess.pour(overflow);
        }
        self.metered = self.metered.max(now);
    }

    /// As of the frame metered last.
    pub const fn committed(&self) -> &TokenBucket {
        &self.committed
    }

    /// As of the frame metered last.
    pub const fn excess(&self) -> &TokenBucket {
        &self.excess
    }
}

/// The single-rate three-colour marker of RFC 2697: what overflows C falls into E.
///
/// The RFC counts bytes of IP packets.
#[derive(Clone, Debug)]
pub struct SingleRateMarker {
    committed: TokenBucket,
    excess: TokenBucket,
    mode: ColourMode,
    metered: Time,
}

impl SingleRateMarker {
    /// Both buckets full at `now`.
    pub const fn new(cir_l3: Rate, burst: BurstSizes, mode: ColourMode, now: Time) -> Self {
        Self {
            committed: TokenBucket::full(cir_l3, burst.committed_bytes),
            excess: TokenBucket::full(Rate::ZERO, burst.beyond_bytes),
            mode,
            metered: now,
        }
    }

    /// Meters one packet that arrived at `now` marked `pre`.
    pub fn colour(&mut self, now: Time, packet_bytes: u32, pre: Colour) -> Colour {
        let overflow = self.committed.refill(now.since(self.metered));
        self.excess.pour(overflow);
        self.metered = self.metered.max(now);
        let pre = self.mode.believes(pre);
        if pre == Colour::Green && self.committed.admit(packet_bytes) {
            Colour::Green
        } else if pre != Colour::Red && self.excess.admit(packet_bytes) {
            Colour::Yellow
        } else {
            Colour::Red
        }
    }

    /// The bucket of the committed rate, as the last metered packet left it.
    pub const fn committed(&self) -> &TokenBucket {
        &self.committed
    }

    /// The bucket of the excess, as the last metered packet left it.
    pub const fn excess(&self) -> &TokenBucket {
        &self.excess
    }
}

/// The burst sizes of a marker: the committed one, and the excess or peak one beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstSizes {
    pub committed_bytes: u64,
    /// EBS of RFC 2697, PBS of RFC 2698.
    pub beyond_bytes: u64,
}

/// The rates of the two-rate marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkerRates {
    pub committed_l3: Rate,
    pub peak_l3: Rate,
}

/// The two-rate three-colour marker of RFC 2698: a green packet takes from both buckets.
///
/// The RFC counts bytes of IP packets.
#[derive(Clone, Debug)]
pub struct TwoRateMarker {
    committed: TokenBucket,
    peak: TokenBucket,
    mode: ColourMode,
    metered: Time,
}

impl TwoRateMarker {
    /// Both buckets full at `now`.
    pub const fn new(rates: MarkerRates, burst: BurstSizes, mode: ColourMode, now: Time) -> Self {
        Self {
            committed: TokenBucket::full(rates.committed_l3, burst.committed_bytes),
            peak: TokenBucket::full(rates.peak_l3, burst.beyond_bytes),
            mode,
            metered: now,
        }
    }

    /// Meters one packet that arrived at `now` marked `pre`.
    pub fn colour(&mut self, now: Time, packet_bytes: u32, pre: Colour) -> Colour {
        let elapsed = now.since(self.metered);
        self.committed.refill(elapsed);
        self.peak.refill(elapsed);
        self.metered = self.metered.max(now);
        let pre = self.mode.believes(pre);
        if pre == Colour::Red || !self.peak.admit(packet_bytes) {
            Colour::Red
        } else if pre == Colour::Yellow || !self.committed.admit(packet_bytes) {
            Colour::Yellow
        } else {
            Colour::Green
        }
    }

    /// The bucket of the committed rate, as the last metered packet left it.
    pub const fn committed(&self) -> &TokenBucket {
        &self.committed
    }

    /// The bucket of the peak rate, as the last metered packet left it.
    pub const fn peak(&self) -> &TokenBucket {
        &self.peak
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use proptest::prelude::*;

    const SPEC: BandwidthProfileSpec = BandwidthProfileSpec {
        cir_l2: Rate::mbps(40),
        cbs_bytes: 64_000,
        eir_l2: Rate::ZERO,
        ebs_bytes: 0,
        coupling: Coupling::Uncoupled,
        mode: ColourMode::Blind,
    };

    /// 42 frames of 1518 bytes are 63,756; at gigabit they come every 12.304 µs, in which 61.52
    /// bytes flow back: 43 frames pass before the first is dropped.
    #[test]
    fn a_burst_at_line_rate_passes_until_the_committed_burst_is_used_up() {
        let mut profile = BandwidthProfile::new(&SPEC, Time::ZERO);
        let first_red = (0..88).find(|frame| {
            let now = Time::from_nanos(frame * (1518 + 20) * 8);
            profile.colour(now, 1518, Colour::Green) == Colour::Red
        });
        assert_eq!(first_red, Some(43));
    }

    #[test]
    fn a_frame_of_exactly_the_tokens_left_is_admitted() {
        let mut profile = BandwidthProfile::new(&SPEC, Time::ZERO);
        assert_eq!(profile.colour(Time::ZERO, 64_000, Colour::Green), Colour::Green);
        // 1518 bytes at 40 Mbit/s are there after 303.6 µs, and not a nanosecond earlier.
        let early = Time::from_nanos(303_599);
        assert_eq!(profile.colour(early, 1518, Colour::Green), Colour::Red);
        let ready = Time::from_nanos(303_600);
        assert_eq!(profile.colour(ready, 1518, Colour::Green), Colour::Green);
        assert_eq!(profile.committed().level(), 0);
    }

    #[test]
    fn time_that_runs_backwards_refills_nothing_twice() {
        let mut profile = BandwidthProfile::new(&SPEC, Time::from_nanos(1_000_000));
        assert_eq!(
            profile.colour(Time::from_nanos(1_000_000), 64_000, Colour::Green),
            Colour::Green
        );
        assert_eq!(profile.colour(Time::ZERO, 64, Colour::Green), Colour::Red);
        // 12,800 ns later 64 bytes have come back, once.
        let later = Time::from_nanos(1_012_800);
        assert_eq!(profile.colour(later, 64, Colour::Green), Colour::Green);
        assert_eq!(profile.colour(later, 64, Colour::Green), Colour::Red);
    }

    #[test]
    fn only_a_coupled_profile_lets_yellow_frames_use_what_green_ones_left() {
        let spec = BandwidthProfileSpec { ebs_bytes: 3000, mode: ColourMode::Aware, ..SPEC };
        for (coupling, second) in
            [(Coupling::Uncoupled, Colour::Red), (Coupling::Coupled, Colour::Yellow)]
        {
            let mut profile =
                BandwidthProfile::new(&BandwidthProfileSpec { coupling, ..spec }, Time::ZERO);
            assert_eq!(profile.colour(Time::ZERO, 3000, Colour::Yellow), Colour::Yellow);
            // 3000 bytes at 40 Mbit/s take 600 µs, and the committed bucket was full.
            let later = Time::from_nanos(600_000);
            assert_eq!(profile.colour(later, 3000, Colour::Yellow), second);
        }
    }

    #[test]
    fn the_single_rate_marker_fills_the_excess_bucket_only_when_the_committed_is_full() {
        let burst = BurstSizes { committed_bytes: 3000, beyond_bytes: 2000 };
        let mut meter =
            SingleRateMarker::new(Rate::bps(2_000_000), burst, ColourMode::Blind, Time::ZERO);
        let marks = [(); 5].map(|()| meter.colour(Time::ZERO, 1000, Colour::Green));
        use Colour::{Green, Yellow};
        assert_eq!(marks, [Green, Green, Green, Yellow, Yellow]);
        // 250,000 bytes a second: after 16 ms 4000 bytes came, 3000 to C and 1000 to E.
        meter.colour(Time::from_nanos(16_000_000), 0, Colour::Green);
        assert_eq!(meter.committed().level(), 3000 * TokenBucket::TOKENS_PER_BYTE);
        assert_eq!(meter.excess().level(), 1000 * TokenBucket::TOKENS_PER_BYTE);
    }

    #[test]
    fn the_two_rate_marker_takes_green_packets_from_both_buckets() {
        let rates = MarkerRates { committed_l3: Rate::mbps(2), peak_l3: Rate::mbps(3) };
        let burst = BurstSizes { committed_bytes: 3000, beyond_bytes: 4500 };
        let mut meter = TwoRateMarker::new(rates, burst, ColourMode::Blind, Time::ZERO);
        let marks = [(); 4].map(|()| meter.colour(Time::ZERO, 1500, Colour::Green));
        assert_eq!(marks, [Colour::Green, Colour::Green, Colour::Yellow, Colour::Red]);
    }

    fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
        prop::collection::vec((0_u64..2_000_000, 1_u32..10_000), 1..200)
    }

    proptest! {
        #[test]
        fn green_bytes_never_exceed_cbs_plus_cir_times_the_time_from_any_frame_to_any_later(
            arrivals in arrivals(), bps in 1_u64..10_000_000_000, cbs_bytes in 0_u64..100_000,
        ) {
            let spec = BandwidthProfileSpec { cir_l2: Rate::bps(bps), cbs_bytes, ..SPEC };
            let mut profile = BandwidthProfile::new(&spec, Time::ZERO);
            let mut now = 0;
            let mut greens = Vec::new();
            for (gap, bytes) in arrivals {
                now += gap;
                if profile.colour(Time::from_nanos(now), bytes, Colour::Green) == Colour::Green {
                    greens.push((now, bytes));
                }
            }
            for first in 0..greens.len() {
                let mut tokens = 0;
                for (at, bytes) in &greens[first..] {
                    tokens += u128::from(*bytes) * TokenBucket::TOKENS_PER_BYTE;
                    let refilled = u128::from(bps) * u128::from(at - greens[first].0);
                    let burst = u128::from(cbs_bytes) * TokenBucket::TOKENS_PER_BYTE;
                    prop_assert!(tokens <= burst + refilled);
                }
            }
        }

        #[test]
        fn an_uncoupled_profile_marks_yellow_at_most_ebs_plus_eir_times_time(
            arrivals in arrivals(), bps in 1_u64..10_000_000_000, ebs_bytes in 0_u64..100_000,
        ) {
            let spec = BandwidthProfileSpec { eir_l2: Rate::bps(bps), ebs_bytes, ..SPEC };
            let mut profile = BandwidthProfile::new(&spec, Time::ZERO);
            let (mut now, mut yellow) = (0, 0_u128);
            for (gap, bytes) in arrivals {
                now += gap;
                if profile.colour(Time::from_nanos(now), bytes, Colour::Green) == Colour::Yellow {
                    yellow += u128::from(bytes) * TokenBucket::TOKENS_PER_BYTE;
                }
            }
            let burst = u128::from(ebs_bytes) * TokenBucket::TOKENS_PER_BYTE;
            prop_assert!(yellow <= burst + u128::from(bps) * u128::from(now));
        }
    }
}
