//! What many connections have in common: how this TCP behaves, and what it offers.

use core::time::Duration;

use crate::tcp::rtt::Timeouts;
use crate::tcp::sender::ShortSegments;
use crate::tcp::{Algorithm, TIMESTAMP_OPTION_BYTES};

/// RFC 9293 section 3.7.1: what a peer takes that does not say so.
pub const MSS_DEFAULT_IPV4: u16 = 536;
pub const MSS_DEFAULT_IPV6: u16 = 1220;
/// A peer that asks for less than options take would get no payload at all.
const MSS_MIN: u16 = 64;
/// RFC 7323 section 2.3.
pub(crate) const SHIFT_MAX: u8 = 14;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What is offered to the peer and sent at most, options included: the interface's MTU less the
    /// headers of IP and TCP.
    pub mss_bytes: u16,
    /// What is sent to a peer that offers none.
    pub mss_default_bytes: u16,
    /// The receive window.
    pub window_bytes: u32,
    pub algorithm: Algorithm,
    pub extensions: Extensions,
    pub nagle: Nagle,
    /// For how long an acknowledgement may wait for company, less than 500 ms.
    pub delayed_ack: Duration,
    /// A timeout is never less than this above the smoothed round trip.
    pub rto_margin_min: Duration,
    /// R2 of RFC 9293 section 3.8.3: after so many the connection is given up.
    pub retransmissions_max: u8,
    pub syn_retransmissions_max: u8,
    pub maximum_segment_lifetime: Duration,
    /// For how long a peer is waited for that has seen all of ours and does not close; `None`: for
    /// ever.
    pub fin_wait_2: Option<Duration>,
}

/// What is asked for in a handshake, and used where the peer agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    pub timestamps: bool,
    pub window_scaling: bool,
    pub sack: bool,
    pub ecn: bool,
}

/// Whether a second segment that is not full waits for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    On,
    Off,
}

impl Default for Profile {
    /// As RFCs have it, with the smaller timeouts of Linux.
    fn default() -> Self {
        Self {
            mss_bytes: 1460,
            mss_default_bytes: MSS_DEFAULT_IPV4,
            window_bytes: 65_535,
            algorithm: Algorithm::Cubic,
            extensions: Extensions {
                timestamps: true,
                window_scaling: true,
                sack: true,
                ecn: false,
            },
            nagle: Nagle::On,
            delayed_ack: Duration::from_millis(40),
            rto_margin_min: Duration::from_millis(200),
            retransmissions_max: 15,
            //= rfc9293 MUST-23
            syn_retransmissions_max: 7,
            maximum_segment_lifetime: Duration::from_secs(120),
            fin_wait_2: None,
        }
    }
}

impl Profile {
    /// By how much windows are shifted that are offered to a peer who can shift as well.
    //= rfc7323 2.2
    pub(crate) fn shift(&self) -> u8 {
        let fits = |shift: &u8| self.window_bytes >> shift <= u32::from(u16::MAX);
        (0..SHIFT_MAX).find(fits).unwrap_or(SHIFT_MAX)
    }

    /// The most payload of a segment to a peer who offers this.
    //= rfc9293 MUST-16
    pub(crate) fn payload_bytes_max(&self, peer_mss: u16, has_timestamps: bool) -> u32 {
        let options = if has_timestamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        u32::from(peer_mss.min(self.mss_bytes).max(MSS_MIN)) - options
    }

    pub(crate) const fn short_segments(&self) -> ShortSegments {
        match self.nagle {
            Nagle::On => ShortSegments::Nagle,
            Nagle::Off => ShortSegments::AtOnce,
        }
    }

    /// A segment that is not full waits until what is under way is acknowledged.
    pub(crate) const fn short_segments_wait(&self) -> bool {
        matches!(self.nagle, Nagle::On)
    }

    pub(crate) const fn timeouts(&self, without_sample: Duration) -> Timeouts {
        Timeouts { without_sample, margin_min: self.rto_margin_min }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc7323 2.2
    #[test]
    fn the_shift_is_the_least_that_can_tell_the_window() {
        let shift = |window_bytes| Profile { window_bytes, ..Profile::default() }.shift();
        assert_eq!([shift(1), shift(65_535), shift(65_536), shift(131_071)], [0, 0, 1, 1]);
        assert_eq!([shift(131_072), shift(1 << 30), shift(u32::MAX)], [2, 14, 14]);
    }

    //= rfc9293 MUST-16
    #[test]
    fn payload_is_the_smaller_mss_without_the_options() {
        let profile = Profile::default();
        assert_eq!(profile.payload_bytes_max(536, false), 536);
        assert_eq!(profile.payload_bytes_max(9000, true), 1448);
        assert_eq!(profile.payload_bytes_max(0, true), 52);
    }
}
