//! How fast a sender may go: slow start, Reno (RFC 5681) and CUBIC (RFC 9438).

use core::time::Duration;

use fp_model::Time;

/// RFC 6928.
//= rfc6928 2
const INITIAL_SEGMENTS: f64 = 10.0;
const SEGMENTS_MIN: f64 = 2.0;
/// RFC 9438 sections 4.6 and 5.
const CUBIC_BETA: f64 = 0.7;
const CUBIC_C: f64 = 0.4;

/// A window that is not known to have been too large may grow by a twentieth in a round trip at
/// least: there is no maximum to be careful of.
const GROWTH_WITHOUT_MAXIMUM: f64 = 20.0;
/// And by half at most: RFC 9438 section 4.2.
const GROWTH_MAX: f64 = 2.0;
/// While the window stands still, its pace of growth is not computed more often.
const SETTLED: Duration = Duration::from_micros(31_250);

/// How the window grows and shrinks. CUBIC comes without HyStart: slow start ends at the first
/// loss, as RFC 5681 has it, and not at a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Reno,
    Cubic,
}

/// The congestion window, in whole segments as Linux counts it.
#[derive(Debug)]
pub(crate) struct Congestion {
    algorithm: Algorithm,
    pub(crate) window: f64,
    pub(crate) slow_start_threshold: f64,
    /// Segments that have arrived since the window grew last: it grows when there are enough.
    credit: f64,
    /// CUBIC: where the window was when it was last reduced.
    window_max: f64,
    epoch: Option<Epoch>,
}

/// CUBIC's growth since the last reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Seconds from the start of the epoch until the window is back at its maximum.
    plateau_after_s: f64,
    plateau: f64,
    /// What Reno would have reached, and what has arrived since that last grew.
    estimate: f64,
    estimate_credit: f64,
    /// Segments that must be acknowledged for the window to grow by one segment.
    segments_per_growth: f64,
    /// Where the window was then, and when.
    computed_for: f64,
    computed_at: Time,
}

impl Congestion {
    pub(crate) const fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            window: INITIAL_SEGMENTS,
            slow_start_threshold: f64::INFINITY,
            credit: 0.0,
            window_max: 0.0,
            epoch: None,
        }
    }

    /// Begins or goes on with a window of so many segments.
    pub(crate) fn resumed(algorithm: Algorithm, segments: u8) -> Self {
        Self { window: f64::from(segments).max(1.0), ..Self::new(algorithm) }
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.window < self.slow_start_threshold
    }

    /// `count` more segments have arrived and the window was what held the sender back.
    pub(crate) fn on_delivered(&mut self, now: Time, count: u32, rtt_min: Duration) {
        let mut count = f64::from(count);
        if self.in_slow_start() {
            let room = self.slow_start_threshold - self.window;
            let grown = count.min(room);
            self.window += grown;
            count -= grown;
        }
        if count > 0.0 {
            let segments_per_growth = match self.algorithm {
                //= rfc5681 3.1
                Algorithm::Reno => self.window,
                Algorithm::Cubic => self.cubic_segments_per_growth(now, count, rtt_min),
            };
            self.grow(count, segments_per_growth);
        }
    }

    /// Once per window with a loss. Linux takes the share of the window, RFC 5681 of what is in
    /// flight; the two differ where the receiver's window is the smaller one.
    pub(crate) fn on_loss(&mut self) {
        let share = match self.algorithm {
            Algorithm::Reno => 0.5,
            //= rfc9438 4.6
            Algorithm::Cubic => CUBIC_BETA,
        };
        // RFC 9438 section 4.7: give way to newcomers.
        //= rfc9438 4.7
        let shrinking = self.window < self.window_max;
        self.window_max = if shrinking {
            libm::floor(self.window * (1.0 + CUBIC_BETA) / 2.0)
        } else {
            self.window
        };
        self.slow_start_threshold = libm::floor(self.window * share).max(SEGMENTS_MIN);
        self.epoch = None;
    }

    /// All is thought to be lost: what the path once carried says nothing any more. RFC 9438 section
    /// 4.8: the window grows from a plateau where it is when slow start ends.
    pub(crate) const fn on_timeout(&mut self) {
        self.window_max = 0.0;
        self.epoch = None;
        self.credit = 0.0;
    }

    fn grow(&mut self, count: f64, segments_per_growth: f64) {
        if self.credit >= segments_per_growth {
            self.credit = 0.0;
            self.window += 1.0;
        }
        self.credit += count;
        let grown = libm::floor(self.credit / segments_per_growth);
        self.credit -= grown * segments_per_growth;
        self.window += grown;
    }

    /// RFC 9438 section 4.2 to 4.5. As in Linux, the estimate of what Reno would have reached stays
    /// at its slow pace beyond the last maximum.
    //= rfc9438 4.2
    //= rfc9438 4.3
    fn cubic_segments_per_growth(&mut self, now: Time, count: f64, rtt_min: Duration) -> f64 {
        let (window, window_max) = (self.window, self.window_max);
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, window, window_max));
        epoch.estimate_credit += count;
        let stands_still = epoch.computed_for == window && now.since(epoch.computed_at) <= SETTLED;
        if stands_still {
            return epoch.segments_per_growth;
        }
        epoch.computed_for = window;
        epoch.computed_at = now;
        let mut needed = epoch.cubic_needs(now + rtt_min, window);
        if window_max == 0.0 {
            needed = needed.min(GROWTH_WITHOUT_MAXIMUM);
        }
        let ahead = epoch.advance_estimate(window) - window;
        if ahead > 0.0 {
            needed = needed.min(libm::floor(window / ahead));
        }
        epoch.segments_per_growth = needed.max(GROWTH_MAX);
        epoch.segments_per_growth
    }
}

impl Epoch {
    fn new(now: Time, window: f64, window_max: f64) -> Self {
        let missing = (window_max - window).max(0.0);
        Self {
            start: now,
            plateau_after_s: libm::cbrt(missing / CUBIC_C),
            plateau: window + missing,
            estimate: window,
            estimate_credit: 0.0,
            segments_per_growth: f64::INFINITY,
            // Of no window yet.
            computed_for: 0.0,
            computed_at: now,
        }
    }

    /// So many segments for each by which the window grows, to be on the cubic curve `then`.
    fn cubic_needs(&self, then: Time, window: f64) -> f64 {
        let from_plateau_s = then.since(self.start).as_secs_f64() - self.plateau_after_s;
        let cubic = self.plateau + CUBIC_C * from_plateau_s * from_plateau_s * from_plateau_s;
        let missing = libm::floor(cubic) - window;
        if missing > 0.0 { libm::floor(window / missing) } else { 100.0 * window }
    }

    /// By a segment for so many that have arrived.
    fn advance_estimate(&mut self, window: f64) -> f64 {
        let needed = window * (1.0 + CUBIC_BETA) / (3.0 * (1.0 - CUBIC_BETA));
        let steps = libm::floor(self.estimate_credit / needed);
        self.estimate += steps;
        self.estimate_credit -= steps * needed;
        self.estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn after_a_loss_at(algorithm: Algorithm, window: f64) -> Congestion {
        let mut congestion = Congestion::new(algorithm);
        congestion.window = window;
        congestion.on_loss();
        congestion.window = congestion.slow_start_threshold;
        congestion
    }

    /// A whole window is delivered in each round trip.
    fn round_trips(congestion: &mut Congestion, count: u32) {
        for k in 0..count {
            let now = Time::ZERO + RTT * k;
            for _ in 0..congestion.window as u32 {
                congestion.on_delivered(now, 1, RTT);
            }
        }
    }

    #[test]
    //= rfc6928 2
    //= rfc5681 3.1
    fn slow_start_doubles_the_window_in_a_round_trip() {
        let mut congestion = Congestion::new(Algorithm::Reno);
        round_trips(&mut congestion, 3);
        assert_eq!(congestion.window, 80.0);
    }

    #[test]
    fn reno_halves_and_then_gains_a_segment_per_round_trip() {
        let mut congestion = after_a_loss_at(Algorithm::Reno, 100.0);
        assert_eq!(congestion.window, 50.0);
        round_trips(&mut congestion, 10);
        // A little less than 10: each gain within a round trip makes the next one smaller.
        assert!((59.5..=60.0).contains(&congestion.window), "{}", congestion.window);
    }

    /// K = cbrt(1000 · 0.3 / 0.4) = 9.09 s: 91 round trips of 100 ms after a loss at 1000.
    #[test]
    //= rfc9438 4.2
    //= rfc9438 4.6
    fn cubic_is_back_at_its_plateau_after_k() {
        let mut congestion = after_a_loss_at(Algorithm::Cubic, 1000.0);
        assert_eq!(congestion.window, 700.0);
        round_trips(&mut congestion, 91);
        assert!((997.0..=1003.0).contains(&congestion.window), "{}", congestion.window);
    }

    /// RFC 9438 section 4.3: at 20 segments Reno would be faster than the cubic function, so the
    /// window grows by 0.53 segments per round trip: 14 + 0.53 · 10 = 19.3, and it is a round trip
    /// behind, in whole segments.
    #[test]
    //= rfc9438 4.3
    fn cubic_is_no_slower_than_reno_where_windows_are_small() {
        let mut congestion = after_a_loss_at(Algorithm::Cubic, 20.0);
        round_trips(&mut congestion, 10);
        assert_eq!(congestion.window, 18.0);
    }

    /// At the last maximum RFC 9438 would have Reno's own pace follow, a segment per round trip, and
    /// Linux goes on with 0.53: 14 + 0.53 · 30 = 29.9 in place of 39, and the window is a round trip
    /// behind, in whole segments.
    #[test]
    fn cubic_keeps_its_slow_pace_beyond_the_last_maximum() {
        let mut congestion = after_a_loss_at(Algorithm::Cubic, 20.0);
        round_trips(&mut congestion, 30);
        assert_eq!(congestion.window, 28.0);
    }

    /// There is no plateau to be careful of: a twentieth per round trip.
    #[test]
    fn cubic_begins_anew_after_a_timeout() {
        let mut congestion = after_a_loss_at(Algorithm::Cubic, 1000.0);
        congestion.on_timeout();
        round_trips(&mut congestion, 1);
        assert_eq!(congestion.window, 735.0);
    }

    #[test]
    //= rfc9438 4.7
    fn cubic_that_shrinks_gives_way() {
        let mut congestion = after_a_loss_at(Algorithm::Cubic, 100.0);
        congestion.on_loss();
        // 70 · 1.7 / 2 = 59.5, less than the 70 at which it lost.
        assert_eq!(congestion.window_max, 59.0);
    }
}
