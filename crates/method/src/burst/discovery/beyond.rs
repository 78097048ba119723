//! What trains let pass beyond the rate of a bucket: whatever else is on the path, one that has this rate holds
//! that at least.

use fp_model::BurstReport;

use super::policer::Measured;
use super::{Bounds, Charge, Look, arrivals};
use crate::infer::departures::{departures, unsure};

/// Frames that arrived beyond those that a bucket, full at first, won until then: `frames_s` in a second. A frame
/// met it later than it left by what its delay exceeds the shortest, at most.
fn beyond(report: &BurstReport, frames_s: f64) -> f64 {
    let left = departures(report);
    let curve = arrivals(report);
    let left_at = |frame: u32| left.get(frame as usize).copied().unwrap_or(0.0);
    let shortest =
        curve.iter().map(|one| one.at - left_at(one.frame)).fold(f64::INFINITY, f64::min);
    let (mut latest, mut most) = (0.0_f64, 0.0_f64);
    for arrival in &curve {
        latest = latest.max(left_at(arrival.frame)).max(arrival.at - shortest);
        most = most.max(f64::from(arrival.count) - frames_s * latest);
    }
    most - frames_s * unsure(report)
}

impl Look<'_> {
    /// What a bucket is that held more than was found of it by what a frame is said to be charged. Where long
    /// frames alone show no more, short ones are charged otherwise.
    pub(super) fn deeper(
        &self,
        long: &Measured,
        charge: &Charge,
        [cir, cbs]: [Bounds; 2],
    ) -> Option<(Charge, [Bounds; 2])> {
        let held = self.held_bytes(cir.at_most / 8.0, charge);
        if held <= cbs.at_most {
            return None;
        }
        let long_bytes = f64::from(self.search.frame_bytes);
        let [rate, shown] = [long.rate(), long.depth()].map(|of| of.scaled(long_bytes));
        let of_long = Charge { layer: None, ..*charge };
        if self.held_bytes(rate.at_most, &of_long) <= shown.at_most {
            let cbs = Bounds { at_most: f64::INFINITY, ..shown };
            return Some((of_long, [rate.scaled(8.0), cbs]));
        }
        let cbs = Bounds { estimate: held, at_least: held, at_most: f64::INFINITY };
        Some((*charge, [cir, cbs]))
    }

    /// Bytes that a bucket held at least which wins `bytes_s`, by trains whose frames are known to cost what is said.
    fn held_bytes(&self, bytes_s: f64, charge: &Charge) -> f64 {
        let is_known = |bytes: u32| charge.layer.is_some() || bytes == self.search.frame_bytes;
        let held = self.sent.iter().filter(|(bytes, _)| is_known(*bytes));
        let held = held.map(|(frame_bytes, report)| {
            let charged = charge.charged(f64::from(*frame_bytes));
            charged * beyond(report, bytes_s / charged)
        });
        held.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::time::Duration;

    use fp_model::ArrivedRun;

    use super::*;

    const RATE: f64 = 1000.0;
    const HOLDS: f64 = 20.0;

    /// 200 frames, one each 250 µs, `in_front` of a bucket of 20 frames that wins one each millisecond for some
    /// seconds, and as long behind it as `behind` says of one.
    fn through(in_front: fn(u32) -> f64, behind: fn(u32) -> f64) -> BurstReport {
        let at = |seconds: f64| Duration::from_secs_f64(seconds);
        let (mut tokens, mut before) = (HOLDS, 0.0);
        let arrived = (0..200).filter_map(|frame: u32| {
            let meets = 0.25e-3 * f64::from(frame) + in_front(frame);
            tokens = f64::min(HOLDS, tokens + RATE * (meets - before)) - 1.0;
            before = meets;
            let passes = tokens >= 0.0;
            tokens += f64::from(u8::from(!passes));
            let arrives = at(meets + behind(frame));
            let run =
                ArrivedRun { first: frame, frames: 1, dscp: None, from: arrives, until: arrives };
            passes.then_some(run)
        });
        let (sent_frames, sent_until) = (200, at(199.0 * 0.25e-3));
        BurstReport {
            sent_frames,
            sent_until,
            arrived: arrived.collect(),
            ..BurstReport::default()
        }
    }

    #[test]
    fn what_passes_beyond_the_rate_is_what_the_bucket_held() {
        let held = beyond(&through(|_| 1e-3, |_| 2e-3), RATE);
        assert!((HOLDS - 1.0..=HOLDS).contains(&held), "{held}");
        assert!(beyond(&through(|_| 1e-3, |_| 2e-3), RATE / 2.0) > HOLDS);
        assert_eq!(beyond(&BurstReport::default(), RATE), 0.0);
    }

    /// Queues in front of the bucket or behind it, and frames that take longer now and then.
    #[test]
    fn delays_never_make_it_more() {
        let delays: [fn(u32) -> f64; 4] = [
            |_| 0.0,
            |frame| 0.3e-3 * f64::from(frame.min(100)),
            |frame| {
                0.1e-3 * f64::from(frame.min(100)) - 0.05e-3 * f64::from(frame.saturating_sub(100))
            },
            |frame| 0.2e-3 * f64::from(frame * 7 % 11) / 11.0,
        ];
        let pairs: Vec<_> =
            delays.iter().flat_map(|one| delays.map(|other| (*one, other))).collect();
        for (place, (in_front, behind)) in pairs.into_iter().enumerate() {
            let held = beyond(&through(in_front, behind), RATE);
            assert!(held <= HOLDS, "{place}: {held}");
        }
    }
}
