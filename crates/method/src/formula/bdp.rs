//! The bandwidth-delay product and the windows and connections that fill it: RFC 6349 §3.3 and §5.1.

use crate::{BitsPerSecond, Bytes, Number, Seconds};

/// The largest window without the window scale option.
pub(crate) const UNSCALED_WINDOW: u64 = 65_535;
/// RFC 7323 §2.3: a larger shift is taken as this one.
const LARGEST_SHIFT: u32 = 14;

/// What is under way when the path is full: the smallest receive window and send buffer that fill
/// it.
//= rfc6349 3.3.1
pub fn bdp(bottleneck_l1: BitsPerSecond, baseline_rtt: Seconds) -> Bytes {
    bottleneck_l1 * baseline_rtt
}

/// The window of each of `connections` that together fill the path, in whole bytes.
pub fn window_per_connection(bdp: Bytes, connections: u64) -> Bytes {
    (bdp / Number::from(connections)).ceil()
}

/// How many connections of one window fill the path.
//= rfc6349 5.1
pub fn connections_needed(bdp: Bytes, window: Bytes) -> Number {
    (bdp / window).ceil()
}

/// One window per round trip, and never more than the link carries.
//= rfc6349 3.3.1
pub fn window_throughput(
    window: Bytes,
    rtt: Seconds,
    max_tcp_l4: Option<BitsPerSecond>,
) -> BitsPerSecond {
    let throughput_l4 = window / rtt;
    max_tcp_l4.map_or(throughput_l4, |cap| throughput_l4.min(cap))
}

/// The round-trip time at which a window yields a rate.
pub fn rtt_of_window_at(window: Bytes, throughput_l4: BitsPerSecond) -> Seconds {
    window / throughput_l4
}

/// The window scale option of RFC 7323.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowScale {
    pub shift: u32,
    /// The largest window that can be announced with this shift.
    pub max_window_bytes: u64,
}

/// The smallest shift with which `window` can be announced, or the largest there is.
pub fn window_scale(window: Bytes) -> WindowScale {
    let announced = |shift: u32| UNSCALED_WINDOW << shift;
    let fits = |shift: &u32| window <= Bytes::whole(announced(*shift));
    let shift = (0..LARGEST_SHIFT).find(fits).unwrap_or(LARGEST_SHIFT);
    WindowScale { shift, max_window_bytes: announced(shift) }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use fp_model::Rate;

    use super::*;

    /// The worked example of the application note: 100 Mbit/s, 10.211 ms, four connections.
    //= rfc6349 3.3.1
    #[test]
    fn four_windows_of_31910_bytes_fill_100_mbit_at_10_211_ms() {
        let bdp = bdp(Rate::mbps(100).into(), Duration::from_micros(10_211).into());
        assert_eq!(bdp.bits(), Number::whole(1_021_100));
        assert_eq!(window_per_connection(bdp, 4), Bytes::whole(31_910));
    }

    /// RFC 6349 table 5.1: 500 Mbit/s, 5 ms, 312.5 KB.
    //= rfc6349 5.1
    #[test]
    fn smaller_windows_need_more_connections() {
        let bdp = Bytes::whole(312_500);
        for (window, connections) in [(16_000, 20), (32_000, 10), (64_000, 5), (128_000, 3)] {
            let needed = connections_needed(bdp, Bytes::whole(window));
            assert_eq!(needed.to_u64(), Some(connections));
        }
    }

    /// RFC 6349 figure 3.3.1a: 16 KB over a T3 at 10 ms carry 12.8 Mbit/s, 64 KB all of it.
    #[test]
    fn a_window_is_capped_by_what_the_link_carries() {
        let rtt = Duration::from_millis(10).into();
        let cap = BitsPerSecond(Number::whole(42_795_520));
        let small = window_throughput(Bytes::whole(16_000), rtt, Some(cap));
        assert_eq!(small.to_rate(), Some(Rate::bps(12_800_000)));
        assert_eq!(window_throughput(Bytes::whole(64_000), rtt, Some(cap)), cap);
        assert!(!window_throughput(Bytes::whole(1), Seconds::ZERO, None).0.is_defined());
    }

    #[test]
    fn the_window_scale_grows_to_14_and_no_further() {
        assert_eq!(window_scale(Bytes::whole(65_535)).shift, 0);
        assert_eq!(window_scale(Bytes::whole(65_536)).shift, 1);
        let most = window_scale(Bytes::whole(2_000_000_000));
        assert_eq!(most, WindowScale { shift: 14, max_window_bytes: 65_535 << 14 });
    }
}
