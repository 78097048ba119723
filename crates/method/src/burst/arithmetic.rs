//! What passes a policer of a burst, what that says about it, and the CBS test's plan.
//!
//! The arithmetic of RFC 7640 §6.1.1 and of the CBS tests of hardware testers. A policer's bytes are
//! those of the frame from destination address to FCS.

use crate::{BitsPerSecond, Bytes, Number, Seconds};

/// The most frames of one burst that are followed one by one.
const MOST_FRAMES: u64 = 100_000_000;

/// A token bucket that is full when a burst begins.
#[derive(Clone, Copy, Debug)]
pub struct Policer {
    pub cir_l2: BitsPerSecond,
    pub cbs: Bytes,
}

/// The CBS test: bursts of whole frames as large as the CBS, as often as the CIR allows.
#[derive(Clone, Copy, Debug)]
pub struct CbsPlan {
    pub frames_per_burst: Number,
    pub burst: Bytes,
    /// From one burst to the next; the mean rate is exactly the CIR.
    pub period: Seconds,
    pub bursts: Number,
    pub frames_total: Number,
}

/// The plan for frames of one length; `None` where not even one frame fits into the CBS.
pub fn cbs_plan(policer: Policer, frame: Bytes, test: Seconds) -> Option<CbsPlan> {
    let frames_per_burst = (policer.cbs / frame).floor();
    if frames_per_burst.partial_cmp(&Number::ONE).is_none_or(core::cmp::Ordering::is_lt) {
        return None;
    }
    let burst = frame * frames_per_burst;
    let period = burst / policer.cir_l2;
    let bursts = (test / period).floor();
    Some(CbsPlan {
        frames_per_burst,
        burst,
        period,
        bursts,
        frames_total: frames_per_burst * bursts,
    })
}

/// What a policer makes of a burst that flows into it evenly.
#[derive(Clone, Copy, Debug)]
pub struct FluidBurst {
    pub lasts: Seconds,
    /// Tokens that came back while it lasted.
    pub refill: Bytes,
    /// Tokens left behind it.
    pub left: Bytes,
    pub dropped: Bytes,
}

pub fn fluid_burst(policer: Policer, burst: Bytes, arrival_l2: BitsPerSecond) -> FluidBurst {
    let lasts = burst / arrival_l2;
    let refill = policer.cir_l2 * lasts;
    let balance = policer.cbs + refill - burst;
    FluidBurst {
        lasts,
        refill,
        left: balance.max(Bytes::ZERO).min(policer.cbs),
        dropped: (Bytes::ZERO - balance).max(Bytes::ZERO),
    }
}

/// The tokens in a bucket that held `tokens` an idle time ago, had it no brim.
pub fn tokens_after_idle(policer: Policer, tokens: Bytes, idle: Seconds) -> Bytes {
    tokens + policer.cir_l2 * idle
}

/// Frames of one length, back to back.
#[derive(Clone, Copy, Debug)]
pub struct FrameBurst {
    pub frames: u64,
    pub frame_bytes: u32,
    /// Preamble and gap, 20 on Ethernet.
    pub l1_overhead_bytes: u32,
    pub line_l1: BitsPerSecond,
}

/// What of a burst passed, and what that says about the policer; frames are counted from 0.
#[derive(Clone, Copy, Debug)]
pub struct FrameBurstOutcome {
    pub admitted_frames: u64,
    pub received: Bytes,
    pub first_dropped: Option<u64>,
    pub last_admitted: Option<u64>,
    /// What was received less the refill until the last frame that passed: the better estimate,
    /// low by less than the refill between two frames.
    pub cbs_at_last_admitted: Bytes,
    /// The same until the last frame that was sent: low by up to one frame more.
    pub cbs_at_last_sent: Bytes,
    /// No smaller CBS would have admitted every frame that passed; undefined where none did.
    pub cbs_at_least: Bytes,
    /// The CBS is smaller than this: it would have admitted a frame that was dropped, or it holds
    /// less than a frame and the refill between two, so that it may have overflowed in the midst of
    /// the burst. Undefined where no frame was dropped.
    pub cbs_below: Bytes,
}

/// Meters a burst frame by frame, each arriving when the one before it has left the line.
///
/// `None` for a burst without frames or with more than a hundred million, and where rates or sizes
/// are beyond exact arithmetic.
pub fn frame_burst(policer: Policer, burst: &FrameBurst) -> Option<FrameBurstOutcome> {
    if !(1..=MOST_FRAMES).contains(&burst.frames) {
        return None;
    }
    let on_the_line = u64::from(burst.frame_bytes) + u64::from(burst.l1_overhead_bytes);
    let refill = policer.cir_l2 * (Bytes::whole(on_the_line) / burst.line_l1);
    let bucket = Bucket::new(policer.cbs, refill, burst.frame_bytes)?;
    bucket.follow(burst.frames, u64::from(burst.frame_bytes))
}

/// Tokens in integers: bytes times the common denominator of CBS and refill.
struct Bucket {
    per_byte: i128,
    capacity: i128,
    refill: i128,
    frame: i128,
}

impl Bucket {
    fn new(cbs: Bytes, refill: Bytes, frame_bytes: u32) -> Option<Self> {
        let ((cbs, cbs_parts), (refill, refill_parts)) = (cbs.0.as_ratio()?, refill.0.as_ratio()?);
        let per_byte = cbs_parts.checked_mul(refill_parts)?;
        let bucket = Self {
            per_byte,
            capacity: cbs.checked_mul(refill_parts)?,
            refill: refill.checked_mul(cbs_parts)?,
            frame: per_byte.checked_mul(frame_bytes.into())?,
        };
        // What the loop adds up over all its frames must fit as well.
        let most = i128::from(MOST_FRAMES);
        bucket.refill.checked_mul(most)?.checked_add(bucket.frame.checked_mul(most)?)?;
        bucket.capacity.checked_add(bucket.refill)?;
        Some(bucket)
    }

    fn follow(&self, frames: u64, frame_bytes: u64) -> Option<FrameBurstOutcome> {
        let mut tokens = self.capacity;
        let mut admitted: u64 = 0;
        let (mut first_dropped, mut last_admitted) = (None, None);
        let (mut at_least, mut below) = (None, None);
        for frame in 0..frames {
            // Bytes admitted with this frame, less the tokens that had come back by then.
            let needed = i128::from(admitted + 1) * self.frame - i128::from(frame) * self.refill;
            if tokens >= self.frame {
                tokens -= self.frame;
                admitted += 1;
                last_admitted = Some(frame);
                at_least = at_least.max(Some(needed));
            } else {
                first_dropped = first_dropped.or(Some(frame));
                below = below.min(Some(needed)).or(Some(needed));
            }
            tokens = self.capacity.min(tokens + self.refill);
        }
        let bytes = |tokens: i128| Bytes(Number::ratio(tokens, self.per_byte));
        let undefined = Bytes(Number::UNDEFINED);
        let received = Bytes::whole(admitted.checked_mul(frame_bytes)?);
        let less_refill = |frame: u64| received - bytes(i128::from(frame) * self.refill);
        Some(FrameBurstOutcome {
            admitted_frames: admitted,
            received,
            first_dropped,
            last_admitted,
            cbs_at_last_admitted: last_admitted.map_or(undefined, less_refill),
            cbs_at_last_sent: less_refill(frames - 1),
            cbs_at_least: at_least.map_or(undefined, bytes),
            cbs_below: below.map_or(undefined, |bound| bytes(bound.max(self.frame + self.refill))),
        })
    }
}

/// The rate at which a search without loss ends where every trial begins with a full bucket: the
/// CIR and, spread over the trial, the CBS.
pub fn rate_found_behind(policer: Policer, trial: Seconds) -> BitsPerSecond {
    policer.cir_l2 + policer.cbs / trial
}

/// What came through in a trial that offered more than the CIR to a full bucket.
#[derive(Clone, Copy, Debug)]
pub struct OverloadTrial {
    pub received: Bytes,
    pub lasted: Seconds,
}

/// CIR and CBS out of two overload trials of different length.
pub fn policer_of(short: OverloadTrial, long: OverloadTrial) -> Policer {
    let cir_l2 = (long.received - short.received) / (long.lasted - short.lasted);
    Policer { cir_l2, cbs: short.received - cir_l2 * short.lasted }
}

/// The CIR that a policer of frames must have for TCP to get `goodput_l4` through it.
pub fn cir_of_goodput(goodput_l4: BitsPerSecond, payload: Bytes, frame: Bytes) -> BitsPerSecond {
    goodput_l4 * (frame / payload)
}

/// The frame bytes of a window: the CBS with which TCP loses nothing although it sends the whole
/// window back to back.
pub fn cbs_for_window(window: Bytes, payload: Bytes, frame: Bytes) -> Bytes {
    window * (frame / payload)
}

/// Blocks of a file that is read block by block, the last of them perhaps not full.
pub fn block_count(file: Bytes, block: Bytes) -> Number {
    (file / block).ceil()
}

#[cfg(test)]
mod tests {
    use fp_model::Rate;
    use proptest::prelude::*;

    use super::*;

    fn policer() -> Policer {
        Policer { cir_l2: Rate::mbps(40).into(), cbs: Bytes::whole(64_000) }
    }

    fn seconds(text: &str) -> Seconds {
        Seconds(Number::parse(text).unwrap())
    }

    /// Figure 13 of the application note: 64,000 bytes at 40 Mbit/s for two seconds.
    #[test]
    fn the_cbs_plan_has_the_frames_and_bursts_of_the_application_note() {
        let rows = [
            (64, 1000, 156, 156_000),
            (128, 500, 156, 78_000),
            (256, 250, 156, 39_000),
            (512, 125, 156, 19_500),
            (768, 83, 156, 12_948),
            (1024, 62, 157, 9734),
            (1280, 50, 156, 7800),
            (1518, 42, 156, 6552),
        ];
        for (frame, per_burst, bursts, total) in rows {
            let plan = cbs_plan(policer(), Bytes::whole(frame), seconds("2")).unwrap();
            assert_eq!(plan.frames_per_burst.to_u64(), Some(per_burst));
            assert_eq!(plan.bursts.to_u64(), Some(bursts), "bursts of {frame}-byte frames");
            assert_eq!(plan.frames_total.to_u64(), Some(total));
        }
        assert!(cbs_plan(policer(), Bytes::whole(64_001), seconds("2")).is_none());
        assert!(cbs_plan(policer(), Bytes::ZERO, seconds("2")).is_none());
    }

    /// 135 KB at gigabit last 1.08 ms, in which 5400 bytes come back: 69.4 of 135 KB pass.
    #[test]
    fn a_burst_of_twice_the_cbs_loses_what_the_bucket_cannot_cover() {
        let burst = fluid_burst(policer(), Bytes::whole(135_000), Rate::mbps(1000).into());
        assert_eq!(burst.lasts, seconds("0.00108"));
        assert_eq!(burst.refill, Bytes::whole(5400));
        assert_eq!(burst.left, Bytes::ZERO);
        assert_eq!(burst.dropped, Bytes::whole(65_600));
        let fits = fluid_burst(policer(), Bytes::whole(64_000), Rate::mbps(1000).into());
        assert_eq!((fits.left, fits.dropped), (Bytes::whole(2560), Bytes::ZERO));
    }

    /// 88 frames of 1518 bytes at gigabit: 45 pass; the estimate at the last that passed is off by
    /// 58 bytes, the one at the last sent by a thousand.
    #[test]
    fn the_last_frame_that_passed_tells_the_cbs_best() {
        let burst = FrameBurst {
            frames: 88,
            frame_bytes: 1518,
            l1_overhead_bytes: 20,
            line_l1: Rate::mbps(1000).into(),
        };
        let outcome = frame_burst(policer(), &burst).unwrap();
        assert_eq!((outcome.admitted_frames, outcome.received), (45, Bytes::whole(68_310)));
        assert_eq!((outcome.first_dropped, outcome.last_admitted), (Some(43), Some(71)));
        // 68,310 less 71 and 87 times 61.52 bytes.
        assert_eq!(outcome.cbs_at_last_admitted.0, Number::parse("63942.08").unwrap());
        assert_eq!(outcome.cbs_at_last_sent.0, Number::parse("62957.76").unwrap());
    }

    /// 1301 bytes of line time bring 237.4 bytes back. After the first frame 237 are left, and after
    /// the fifth dropped one the bucket would hold 1661: it overflows at 1518, and what is lost there
    /// makes it look smaller than it is. A bucket of a frame and a refill, 1518.4 bytes, never does.
    #[test]
    fn a_bucket_of_hardly_more_than_a_frame_overflows_in_the_midst_of_a_burst() {
        let policer = Policer { cir_l2: Rate::bps(182_484_455).into(), cbs: Bytes::whole(1518) };
        let line_l1 = Rate::mbps(1000).into();
        let burst = FrameBurst { frames: 1500, frame_bytes: 1281, l1_overhead_bytes: 20, line_l1 };
        let outcome = frame_burst(policer, &burst).unwrap();
        assert!(outcome.cbs_at_least <= policer.cbs && policer.cbs < outcome.cbs_below);
        assert!(outcome.cbs_below < Bytes::whole(1519));
    }

    #[test]
    fn a_burst_that_cannot_be_followed_is_refused() {
        let burst = FrameBurst {
            frames: 0,
            frame_bytes: 64,
            l1_overhead_bytes: 20,
            line_l1: Rate::mbps(1000).into(),
        };
        assert!(frame_burst(policer(), &burst).is_none());
        assert!(frame_burst(policer(), &FrameBurst { frames: u64::MAX, ..burst }).is_none());
        let dead = FrameBurst { frames: 1, line_l1: Rate::ZERO.into(), ..burst };
        assert!(frame_burst(policer(), &dead).is_none());
    }

    /// 64 KB over a second are 512 kbit/s: 1.28 % too much.
    #[test]
    fn two_trial_lengths_undo_the_bias_of_a_full_bucket() {
        let one = rate_found_behind(policer(), seconds("1"));
        assert_eq!(one.to_rate(), Some(Rate::bps(40_512_000)));
        let trial = |text| {
            let lasted = seconds(text);
            OverloadTrial { received: rate_found_behind(policer(), lasted) * lasted, lasted }
        };
        let found = policer_of(trial("1"), trial("2"));
        assert_eq!((found.cir_l2, found.cbs), (policer().cir_l2, policer().cbs));
    }

    proptest! {
        #[test]
        fn the_true_cbs_lies_within_the_bounds_that_a_burst_gives(
            cbs in 1518_u64..300_000, cir in 1_u64..900_000_000, frame_bytes in 64_u32..=1518,
            frames in 1_u64..2000,
        ) {
            let policer = Policer { cir_l2: Rate::bps(cir).into(), cbs: Bytes::whole(cbs) };
            let line_l1 = Rate::mbps(1000).into();
            let burst = FrameBurst { frames, frame_bytes, l1_overhead_bytes: 20, line_l1 };
            let outcome = frame_burst(policer, &burst).unwrap();
            prop_assert!(outcome.cbs_at_least <= policer.cbs);
            if outcome.first_dropped.is_some() {
                prop_assert!(policer.cbs < outcome.cbs_below);
            }
            let refill = policer.cir_l2 * seconds("0.000012304") * Number::from(frames);
            prop_assert!(outcome.received <= policer.cbs + refill);
        }
    }
}
