//! Sizes, timestamps and delays of STAMP, TWAMP and OWAMP: RFC 8762, RFC 5357, RFC 4656.

use crate::{Number, Seconds};

/// From 1900, where NTP counts from, to 1970.
const NTP_OF_UNIX_EPOCH_S: u64 = 2_208_988_800;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Whether test packets carry an HMAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    Off,
    On,
}

/// The base packet of either end of STAMP: RFC 8762 §4.2.
pub const fn stamp_packet_bytes(authentication: Authentication) -> u32 {
    match authentication {
        Authentication::Off => 44,
        Authentication::On => 112,
    }
}

/// The smallest test packet of a TWAMP sender: RFC 4656 §4.1.2.
pub const fn twamp_sender_min_bytes(authentication: Authentication) -> u32 {
    match authentication {
        Authentication::Off => 14,
        Authentication::On => 48,
    }
}

/// The smallest test packet of a TWAMP reflector: RFC 5357 §4.2.1.
pub const fn twamp_reflector_min_bytes(authentication: Authentication) -> u32 {
    match authentication {
        Authentication::Off => 41,
        Authentication::On => 112,
    }
}

/// How well a clock that stamped a packet knows the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorEstimate {
    /// To UTC by an external source.
    pub synchronized: bool,
    pub error: Seconds,
}

/// Reads the error estimate field; `None` where its multiplier is 0 and the packet is to be
/// discarded: RFC 4656 §4.1.2.
pub fn decode_error_estimate(field: u16) -> Option<ErrorEstimate> {
    let synchronized = field & 0x8000 != 0;
    let scale = (field >> 8) & 0x3f;
    let multiplier = i128::from(field & 0xff);
    // The error is multiplier · 2^(scale − 32) seconds.
    let error = Number::ratio(multiplier << scale, 1 << 32);
    (multiplier != 0).then_some(ErrorEstimate { synchronized, error: Seconds(error) })
}

/// The 64-bit timestamp of NTP: seconds of its era and 2^-32ths of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NtpTimestamp {
    pub seconds: u32,
    pub fraction: u32,
}

/// Of the time since 1970; `None` for more nanoseconds than a second has.
pub fn ntp_timestamp(unix_s: u64, nanos: u32) -> Option<NtpTimestamp> {
    if u64::from(nanos) >= NANOS_PER_SECOND {
        return None;
    }
    // The field wraps in 2036 by design.
    let seconds = unix_s.wrapping_add(NTP_OF_UNIX_EPOCH_S) as u32;
    let fraction = ((u64::from(nanos) << 32) / NANOS_PER_SECOND) as u32;
    Some(NtpTimestamp { seconds, fraction })
}

/// Sent, received there, sent back, received here; the inner two by the far end's clock.
#[derive(Clone, Copy, Debug)]
pub struct FourTimes {
    pub t1: Seconds,
    pub t2: Seconds,
    pub t3: Seconds,
    pub t4: Seconds,
}

impl FourTimes {
    /// Without the time that the reflector kept the packet; needs no common clock.
    pub fn round_trip(&self) -> Seconds {
        self.t4 - self.t1 - self.reflector()
    }

    /// Needs synchronised clocks.
    pub fn forward(&self) -> Seconds {
        self.t2 - self.t1
    }

    /// Needs synchronised clocks.
    pub fn backward(&self) -> Seconds {
        self.t4 - self.t3
    }

    pub fn reflector(&self) -> Seconds {
        self.t3 - self.t2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0x8F83: synchronised, scale 15, multiplier 131: 131 / 2^17 s.
    #[test]
    fn an_error_estimate_is_a_multiplier_and_a_power_of_two() {
        let estimate = decode_error_estimate(0x8f83).unwrap();
        assert!(estimate.synchronized);
        assert_eq!(estimate.error.0, Number::ratio(131, 1 << 17));
        // The largest scale, 63, and the largest multiplier.
        let largest = decode_error_estimate(0x3fff).unwrap();
        assert_eq!(largest.error.0, Number::whole(255 << 31));
        assert_eq!(decode_error_estimate(0x0f00), None);
    }

    #[test]
    fn half_a_second_is_half_of_two_to_the_32() {
        let expected = NtpTimestamp { seconds: 3_908_988_800, fraction: 1 << 31 };
        assert_eq!(ntp_timestamp(1_700_000_000, 500_000_000), Some(expected));
        assert_eq!(ntp_timestamp(0, 1_000_000_000), None);
        // 7 February 2036: the era ends.
        assert_eq!(ntp_timestamp(2_085_978_496, 0), Some(NtpTimestamp { seconds: 0, fraction: 0 }));
    }

    #[test]
    fn the_time_in_the_reflector_is_none_of_the_round_trip() {
        let at = |millis| Seconds::of_millis(Number::whole(millis));
        let times = FourTimes { t1: at(100), t2: at(140), t3: at(141), t4: at(181) };
        assert_eq!(times.round_trip(), at(80));
        assert_eq!((times.forward(), times.backward()), (at(40), at(40)));
    }
}
