//! The buffer of a device out of its longest burst without loss: RFC 9004.

use crate::{Number, PerSecond, Seconds};

/// The two rates every formula needs, in frames of one length.
#[derive(Clone, Copy, Debug)]
pub struct FrameRates {
    /// The most the line carries.
    pub max: PerSecond,
    /// The most the device forwards without loss.
    pub throughput: PerSecond,
}

/// Only where a device forwards less than the line carries can its buffer be filled: §6.1.
pub fn is_applicable(rates: FrameRates) -> bool {
    rates.throughput < rates.max
}

/// How long the average burst lasted on the line: §6.4.
pub fn implied_buffer_time(average_burst_frames: Number, rates: FrameRates) -> Seconds {
    average_burst_frames / rates.max
}

/// The implied time less what was forwarded meanwhile: §6.4.
pub fn corrected_buffer_time(average_burst_frames: Number, rates: FrameRates) -> Seconds {
    let implied = implied_buffer_time(average_burst_frames, rates);
    implied - implied * (rates.throughput / rates.max)
}

/// The corrected time at a rate other than the line's: §7.
pub fn buffer_time_at(corrected: Seconds, rates: FrameRates, actual: PerSecond) -> Seconds {
    corrected * (rates.max / actual)
}

/// How long a buffer takes to fill at line rate: §4.
pub fn fill_time(buffer_frames: Number, rates: FrameRates) -> Seconds {
    buffer_frames / (rates.max - rates.throughput)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5000 frames at 1,488,095.238 a second last 3.36 ms; a device that forwards a million a
    /// second meanwhile has buffered a third of them.
    #[test]
    fn what_was_forwarded_during_the_burst_was_not_buffered() {
        let max = PerSecond(Number::ratio(10_000_000_000, 6720));
        let rates = FrameRates { max, throughput: PerSecond(Number::whole(1_000_000)) };
        let burst = Number::whole(5000);
        assert_eq!(implied_buffer_time(burst, rates).0, Number::parse("0.00336").unwrap());
        let corrected = corrected_buffer_time(burst, rates);
        assert_eq!(corrected.0, Number::parse("0.00110208").unwrap());
        let slower = buffer_time_at(corrected, rates, PerSecond(Number::whole(500_000)));
        assert_eq!(slower.0, Number::parse("0.00328").unwrap());
    }

    #[test]
    fn a_device_at_line_rate_never_fills_its_buffer() {
        let max = PerSecond(Number::whole(81_274));
        let rates = FrameRates { max, throughput: max };
        assert!(!is_applicable(rates));
        assert!(!fill_time(Number::whole(1000), rates).0.is_defined());
    }
}
