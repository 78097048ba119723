//! Responsiveness under load in round trips per minute: draft-ietf-ippm-responsiveness.

use crate::{Number, Seconds};

const MILLIS_PER_MINUTE: Number = Number::whole(60_000);

/// Round trips in a minute.
pub fn round_trips_per_minute(rtt: Seconds) -> Number {
    MILLIS_PER_MINUTE / rtt.millis()
}

/// What new connections beside the load saw, as trimmed means.
#[derive(Clone, Copy, Debug)]
pub struct ForeignProbes {
    pub tcp: Seconds,
    /// Per round trip of the handshake; `None` where there was no TLS.
    pub tls: Option<Seconds>,
    pub http: Seconds,
}

impl ForeignProbes {
    pub fn round_trips_per_minute(&self) -> Number {
        let (sum, count) = match self.tls {
            Some(tls) => (self.tcp + tls + self.http, 3),
            None => (self.tcp + self.http, 2),
        };
        round_trips_per_minute(sum / Number::whole(count))
    }
}

/// The mean of what new connections and those that carry the load saw.
pub fn responsiveness(foreign: &ForeignProbes, loaded_http: Seconds) -> Number {
    let sum = foreign.round_trips_per_minute() + round_trips_per_minute(loaded_http);
    sum / Number::whole(2)
}

/// What a user makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    Poor,
    Fair,
    Good,
    Excellent,
}

impl Label {
    /// `None` where undefined.
    pub fn of(rpm: Number) -> Option<Self> {
        let limits = [(300, Self::Poor), (1000, Self::Fair)];
        let below = limits.into_iter().find(|(limit, _)| rpm < Number::whole(*limit));
        let good = if rpm > Number::whole(6000) { Self::Excellent } else { Self::Good };
        rpm.is_defined().then(|| below.map_or(good, |(_, label)| label))
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Poor => "poor",
            Self::Fair => "fair",
            Self::Good => "good",
            Self::Excellent => "excellent",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(value: i64) -> Seconds {
        Seconds::of_millis(Number::whole(value))
    }

    /// Idle connects of 20 and 30 ms, 100 ms within the load: 2400 and 600.
    #[test]
    fn responsiveness_is_the_mean_of_foreign_and_loaded_round_trips() {
        let foreign = ForeignProbes { tcp: millis(20), tls: None, http: millis(30) };
        assert_eq!(foreign.round_trips_per_minute(), Number::whole(2400));
        assert_eq!(responsiveness(&foreign, millis(100)), Number::whole(1500));
        let with_tls = ForeignProbes { tls: Some(millis(20)), ..foreign };
        assert_eq!(with_tls.round_trips_per_minute(), Number::ratio(18_000, 7));
    }

    #[test]
    fn a_label_says_what_a_round_trip_time_feels_like() {
        let label = |rtt| Label::of(round_trips_per_minute(millis(rtt))).map(Label::name);
        assert_eq!(
            [201, 61, 59, 11, 9].map(label),
            [Some("poor"), Some("fair"), Some("good"), Some("good"), Some("excellent"),]
        );
        assert_eq!(label(0), None);
    }
}
