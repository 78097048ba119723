//! What a shard keeps of each connection where there are few of them.

use core::time::Duration;

use crate::tcp::connection::Reaction;

/// Counted since the connection was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Payload that left, with all that was sent again.
    pub sent_bytes: u64,
    pub resent_bytes: u64,
    /// Segments with payload, with all that were sent again.
    pub sent_segments: u64,
    /// Payload that arrived, once and in order.
    pub received_bytes: u64,
    /// Segments with payload in the window.
    pub received_segments: u64,
    /// Of the last one of these.
    pub received_traffic_class: Option<u8>,
    pub round_trips: RoundTripSum,
}

/// The round trips that a sender has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTripSum {
    pub samples: u64,
    pub sum: Duration,
    /// The shortest of all.
    pub min: Option<Duration>,
}

impl Account {
    pub(super) fn on_sent(&mut self, payload_bytes: u32, is_resent: bool) {
        let bytes = u64::from(payload_bytes);
        self.sent_bytes += bytes;
        self.resent_bytes += if is_resent { bytes } else { 0 };
        self.sent_segments += u64::from(bytes > 0);
    }

    pub(super) fn on_reaction(&mut self, traffic_class: u8, reaction: &Reaction) {
        if reaction.payload.is_some() {
            self.received_segments += 1;
            self.received_traffic_class = Some(traffic_class);
        }
        self.received_bytes += reaction.received_bytes;
        if let Some(rtt) = reaction.rtt {
            self.round_trips.add(rtt);
        }
    }
}

impl RoundTripSum {
    fn add(&mut self, rtt: Duration) {
        self.samples += 1;
        self.sum += rtt;
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
    }

    /// The mean of what was measured since it stood at `before`.
    pub fn mean_since(&self, before: &Self) -> Option<Duration> {
        let samples = self.samples.checked_sub(before.samples).filter(|samples| *samples > 0)?;
        let nanos = self.sum.saturating_sub(before.sum).as_nanos() / u128::from(samples);
        Some(Duration::from_nanos(nanos as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_of_what_was_measured_since() {
        let mut round_trips = RoundTripSum::default();
        round_trips.add(Duration::from_millis(1));
        let before = round_trips;
        assert_eq!(round_trips.mean_since(&before), None);
        for millis in [20, 40] {
            round_trips.add(Duration::from_millis(millis));
        }
        assert_eq!(round_trips.mean_since(&before), Some(Duration::from_millis(30)));
        assert_eq!(round_trips.min, Some(Duration::from_millis(1)));
    }
}
