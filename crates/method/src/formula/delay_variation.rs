//! How one-way delays vary: RFC 5481 and the jitter of RFC 3550.

use alloc::vec::Vec;

use crate::{Number, Seconds};

/// RFC 3550 §6.4.1: each difference counts for a sixteenth.
const JITTER_GAIN: Number = Number::whole(16);

/// Each delay above the smallest: RFC 5481 §4.2.
pub fn packet_delay_variation(delays: &[Seconds]) -> Vec<Seconds> {
    let smallest = delays.iter().copied().reduce(Seconds::min).unwrap_or(Seconds::ZERO);
    delays.iter().map(|delay| *delay - smallest).collect()
}

/// Each delay above the one before it: RFC 5481 §4.1.
pub fn inter_packet_delay_variation(delays: &[Seconds]) -> Vec<Seconds> {
    delays.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// The interarrival jitter after each packet but the first.
pub fn interarrival_jitter(delays: &[Seconds]) -> Vec<Seconds> {
    let differences = inter_packet_delay_variation(delays);
    let smoothed = differences.into_iter().scan(Seconds::ZERO, |jitter, difference| {
        *jitter = *jitter + (Seconds(difference.0.abs()) - *jitter) / JITTER_GAIN;
        Some(*jitter)
    });
    smoothed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(values: &[&str]) -> Vec<Seconds> {
        values.iter().map(|text| Seconds::of_millis(Number::parse(text).unwrap())).collect()
    }

    #[test]
    fn variation_is_counted_from_the_smallest_delay_or_from_the_one_before() {
        let delays = millis(&["10", "12", "11", "15", "10.5"]);
        assert_eq!(packet_delay_variation(&delays), millis(&["0", "2", "1", "5", "0.5"]));
        assert_eq!(inter_packet_delay_variation(&delays), millis(&["2", "-1", "4", "-4.5"]));
    }

    /// 2/16 = 0.125; (1 - 0.125)/16 more is 0.1796875.
    #[test]
    fn jitter_follows_the_differences_by_a_sixteenth() {
        let delays = millis(&["10", "12", "11"]);
        assert_eq!(interarrival_jitter(&delays), millis(&["0.125", "0.1796875"]));
    }

    #[test]
    fn a_single_packet_does_not_vary() {
        assert_eq!(packet_delay_variation(&millis(&["10"])), millis(&["0"]));
        assert!(interarrival_jitter(&millis(&["10"])).is_empty());
        assert!(packet_delay_variation(&[]).is_empty());
    }
}
