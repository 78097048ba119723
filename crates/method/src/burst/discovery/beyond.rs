//! What trains let pass beyond the rate of a bucket: whatever else is on the path, one that has this rate holds
//! that at least.

use alloc::vec::Vec;

use fp_model::BurstReport;

use super::policer::Measured;
use super::{Bounds, Charge, Look, arrivals};
use crate::infer::departures::{departures, unsure};

/// The least delay of a train's frames, in seconds, by what is known of their departures.
fn shortest(report: &BurstReport) -> f64 {
    let left = departures(report);
    let delays = arrivals(report).into_iter();
    let delays = delays.filter_map(|one| Some(one.at - left.get(one.frame as usize)?));
    let least = delays.fold(f64::INFINITY, f64::min);
    least - report.sent_from.as_secs_f64() - unsure(report)
}

/// Frames that arrived beyond those that a bucket, full at first, won until then: `frames_s` in a second.
///
/// A frame that left `l` after the first one and took `e` to the bucket and `n` behind it met the bucket
/// `l + e - e0` after the first one did. That is no more than `l` and what its delay `e + n` exceeds
/// `shortest` of the path, since no path is shorter than the way of the first frame to the bucket, `e0`, and
/// of this one behind it. Within one train, all may have waited where the first one did not, or the first one alone.
/// Over several trains clocks drift and routes change, which makes `shortest` less, and what was held less.
fn beyond(report: &BurstReport, shortest: f64, frames_s: f64) -> f64 {
    let left = departures(report);
    let shortest = shortest + report.sent_from.as_secs_f64();
    let (mut latest, mut most) = (0.0_f64, 0.0_f64);
    for arrival in arrivals(report) {
        let left_at = left.get(arrival.frame as usize).copied().unwrap_or(0.0);
        latest = latest.max(left_at).max(arrival.at - shortest);
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
        let shortest = held.clone().map(|(bytes, train)| (*bytes, shortest(train)));
        let shortest: Vec<_> = shortest.collect();
        let held = held.map(|(frame_bytes, report)| {
            let charged = charge.charged(f64::from(*frame_bytes));
            let alike = shortest.iter().filter(|(bytes, _)| bytes == frame_bytes);
            let shortest = alike.map(|(_, shortest)| *shortest).fold(f64::INFINITY, f64::min);
            charged * beyond(report, shortest, bytes_s / charged)
        });
        held.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
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

    /// What a bucket held by one train, and by another that no bucket touched and that waited nowhere.
    fn held(train: &BurstReport, quiet_s: f64, frames_s: f64) -> f64 {
        beyond(train, shortest(train).min(quiet_s), frames_s)
    }

    #[test]
    fn what_passes_beyond_the_rate_is_what_the_bucket_held() {
        let train = through(|_| 1e-3, |_| 2e-3);
        let of_train = held(&train, 3e-3, RATE);
        assert!((HOLDS - 1.0..=HOLDS).contains(&of_train), "{of_train}");
        assert!(held(&train, 3e-3, RATE / 2.0) > HOLDS);
        assert_eq!(held(&BurstReport::default(), 0.0, RATE), 0.0);
    }

    /// Queues in front of the bucket or behind it, frames that take longer now and then, and a first frame
    /// for which a host behind the bucket wakes up, while all others wait in front of it.
    #[test]
    fn delays_never_make_it_more() {
        let delays: [fn(u32) -> f64; 6] = [
            |_| 0.0,
            |frame| 0.3e-3 * f64::from(frame.min(100)),
            |frame| {
                0.1e-3 * f64::from(frame.min(100)) - 0.05e-3 * f64::from(frame.saturating_sub(100))
            },
            |frame| 0.2e-3 * f64::from(frame * 7 % 11) / 11.0,
            |frame| if frame == 0 { 5e-3 } else { 0.0 },
            |frame| 5e-3 * f64::from(frame.min(1)),
        ];
        let pairs: Vec<_> =
            delays.iter().flat_map(|one| delays.map(|other| (*one, other))).collect();
        for (place, (in_front, behind)) in pairs.into_iter().enumerate() {
            let held = held(&through(in_front, behind), 0.0, RATE);
            assert!(held <= HOLDS, "{place}: {held}");
        }
        let by_itself = through(delays[5], delays[4]);
        assert!(held(&by_itself, f64::INFINITY, RATE) > HOLDS);
    }
}
