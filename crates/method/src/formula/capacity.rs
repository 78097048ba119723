//! Maximum IP-layer capacity: the rate table and the rate adjustment of RFC 9097.

use crate::{BitsPerSecond, Number, Seconds};

/// Rows up to here are whole megabits; above them a step is 100 Mbit/s.
pub const HIGH_SPEED_ROW: u64 = 1000;
const ABOVE_HIGH_SPEED_ROW: u64 = HIGH_SPEED_ROW + 1;
/// 10 Gbit/s; above it a step is a gigabit.
const TEN_GIGABIT_ROW: u64 = 1090;
const FAST_INCREASE_ROWS: u64 = 10;
const FAST_DECREASE_ROWS: u64 = 30;
/// As many bad reports in a row confirm congestion.
const CONGESTION_REPORTS: u64 = 3;
const SEQUENCE_ERROR_LIMIT: Number = Number::whole(10);
const LOW_DELAY_LIMIT_MS: Number = Number::whole(30);
const HIGH_DELAY_LIMIT_MS: Number = Number::whole(90);

/// The sending rate of a row, counted at layer 3: §8.1 and table 1.
pub fn row_rate(row: u64) -> BitsPerSecond {
    let megabits = match row {
        0 => Number::ratio(1, 2),
        1..=HIGH_SPEED_ROW => row.into(),
        ABOVE_HIGH_SPEED_ROW..=TEN_GIGABIT_ROW => {
            Number::from(HIGH_SPEED_ROW + 100 * (row - HIGH_SPEED_ROW))
        }
        _ => Number::whole(10_000) + Number::from(row - TEN_GIGABIT_ROW) * Number::whole(1000),
    };
    BitsPerSecond(megabits * Number::whole(1_000_000))
}

/// Rows whose rate is below 10 Gbit/s.
pub const fn rows_below_ten_gigabit() -> u64 {
    TEN_GIGABIT_ROW
}

/// How long a sender waits for status messages that do not come, the `lost_before`th time: §8.1.
pub fn lost_status_backoff(
    upper_delay_limit: Seconds,
    feedback_interval: Seconds,
    lost_before: u64,
) -> Seconds {
    upper_delay_limit + feedback_interval * (Number::whole(2) + Number::from(lost_before))
}

/// What the receiver reports of one feedback interval.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    pub sequence_errors: Number,
    pub delay_range: Seconds,
}

/// The rate adjustment of type B: appendix A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateAdjustment {
    pub row: u64,
    /// Bad reports since the rate last went up fast.
    pub slow_adjustments: u64,
}

impl RateAdjustment {
    pub const fn starting_at(row: u64) -> Self {
        Self { row, slow_adjustments: 0 }
    }

    pub fn on_feedback(&mut self, feedback: Feedback) {
        let delay_ms = feedback.delay_range.millis();
        let lossless = feedback.sequence_errors <= SEQUENCE_ERROR_LIMIT;
        if lossless && delay_ms < LOW_DELAY_LIMIT_MS {
            self.go_up();
        } else if !lossless || delay_ms > HIGH_DELAY_LIMIT_MS {
            self.go_down();
        }
    }

    fn go_up(&mut self) {
        if self.row < HIGH_SPEED_ROW && self.slow_adjustments < CONGESTION_REPORTS {
            // The jump ends at the row where steps become a hundred times larger.
            self.row = HIGH_SPEED_ROW.min(self.row + FAST_INCREASE_ROWS);
            self.slow_adjustments = 0;
        } else {
            self.row = self.row.saturating_add(1);
        }
    }

    fn go_down(&mut self) {
        self.slow_adjustments += 1;
        let confirmed = self.slow_adjustments == CONGESTION_REPORTS;
        let rows = if confirmed && self.row < HIGH_SPEED_ROW { FAST_DECREASE_ROWS } else { 1 };
        self.row = self.row.saturating_sub(rows);
    }
}

#[cfg(test)]
mod tests {
    use fp_model::Rate;

    use super::*;

    #[test]
    fn the_rate_table_grows_by_one_by_hundred_and_by_thousand_megabits() {
        for (row, megabits) in [(1, 1), (1000, 1000), (1001, 1100), (1090, 10_000), (1091, 11_000)]
        {
            assert_eq!(row_rate(row).to_rate(), Some(Rate::mbps(megabits)));
        }
        assert_eq!(row_rate(0).to_rate(), Some(Rate::bps(500_000)));
    }

    /// With limits of 90 ms and an interval of 50 ms: 190, 240, 290 ms.
    #[test]
    fn each_lost_status_message_adds_one_interval() {
        let wait = |lost| {
            let upper = Seconds::of_millis(Number::whole(90));
            lost_status_backoff(upper, Seconds::of_millis(Number::whole(50)), lost)
                .millis()
                .to_u64()
        };
        assert_eq!([0, 1, 2].map(wait), [Some(190), Some(240), Some(290)]);
    }

    #[test]
    fn the_rate_goes_up_fast_until_congestion_is_confirmed_by_three_bad_reports() {
        let good = Feedback { sequence_errors: Number::ZERO, delay_range: Seconds::ZERO };
        let bad = Feedback { sequence_errors: Number::whole(20), ..good };
        let mut adjustment = RateAdjustment::starting_at(0);
        let mut rows = [0; 9];
        for (row, report) in
            rows.iter_mut().zip([good, good, good, good, bad, bad, bad, good, good])
        {
            adjustment.on_feedback(report);
            *row = adjustment.row;
        }
        assert_eq!(rows, [10, 20, 30, 40, 39, 38, 8, 9, 10]);
    }

    #[test]
    fn the_rate_never_jumps_over_the_first_gigabit_row() {
        let good = Feedback { sequence_errors: Number::ZERO, delay_range: Seconds::ZERO };
        let mut adjustment = RateAdjustment::starting_at(995);
        adjustment.on_feedback(good);
        assert_eq!(adjustment.row, 1000);
        adjustment.on_feedback(good);
        assert_eq!(adjustment.row, 1001);
    }
}
