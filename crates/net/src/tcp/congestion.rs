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

/// How the window grows and shrinks. CUBIC comes without HyStart: slow start ends at the first
/// loss, as RFC 5681 has it, and not at a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Reno,
    Cubic,
}

/// The congestion window, in segments as Linux and RFC 9438 count it.
#[derive(Debug)]
pub(crate) struct Congestion {
    algorithm: Algorithm,
    pub(crate) window: f64,
    pub(crate) slow_start_threshold: f64,
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
    /// What Reno would have reached.
    estimate: f64,
}

impl Congestion {
    pub(crate) const fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            window: INITIAL_SEGMENTS,
            slow_start_threshold: f64::INFINITY,
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
    pub(crate) fn on_delivered(&mut self, now: Time, count: u32, smoothed_rtt: Duration) {
        let mut count = f64::from(count);
        if self.in_slow_start() {
            let room = self.slow_start_threshold - self.window;
            let grown = count.min(room);
            self.window += grown;
            count -= grown;
        }
        if count > 0.0 {
            match self.algorithm {
                //= rfc5681 3.1
                Algorithm::Reno => self.window += count / self.window,
                Algorithm::Cubic => self.grow_cubic(now, count, smoothed_rtt),
            }
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
        self.window_max =
            if shrinking { self.window * (1.0 + CUBIC_BETA) / 2.0 } else { self.window };
        self.slow_start_threshold = libm::floor(self.window * share).max(SEGMENTS_MIN);
        self.epoch = None;
    }

    /// RFC 9438 section 4.2 to 4.5.
    //= rfc9438 4.2
    //= rfc9438 4.3
    fn grow_cubic(&mut self, now: Time, count: f64, smoothed_rtt: Duration) {
        let window = self.window;
        let epoch = *self.epoch.get_or_insert_with(|| {
            let missing = (self.window_max - window).max(0.0);
            let plateau_after_s = libm::cbrt(missing / CUBIC_C);
            Epoch { start: now, plateau_after_s, plateau: window + missing, estimate: window }
        });
        let after_a_round_trip = now.since(epoch.start) + smoothed_rtt;
        let from_plateau_s = after_a_round_trip.as_secs_f64() - epoch.plateau_after_s;
        let cubic = epoch.plateau + CUBIC_C * from_plateau_s * from_plateau_s * from_plateau_s;
        let target = cubic.clamp(window, 1.5 * window);
        let reno_pace = if epoch.estimate < self.window_max {
            3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA)
        } else {
            1.0
        };
        let estimate = epoch.estimate + reno_pace * count / window;
        self.epoch = Some(Epoch { estimate, ..epoch });
        self.window = (window + (target - window) * count / window).max(estimate);
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
    /// window grows by 0.53 segments per round trip: 14 + 0.53 · 10 = 19.3.
    #[test]
    //= rfc9438 4.3
    fn cubic_is_no_slower_than_reno_where_windows_are_small() {
        let mut congestion = after_a_loss_at(Algorithm::Cubic, 20.0);
        round_trips(&mut congestion, 10);
        assert!((19.0..=19.5).contains(&congestion.window), "{}", congestion.window);
    }

    #[test]
    //= rfc9438 4.7
    fn cubic_that_shrinks_gives_way() {
        let mut congestion = after_a_loss_at(Algorithm::Cubic, 100.0);
        congestion.on_loss();
        // 70 · 1.7 / 2, less than the 70 at which it lost.
        assert_eq!(congestion.window_max, 59.5);
    }
}
