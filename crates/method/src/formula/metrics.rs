//! The metrics of RFC 6349 §4: maximum TCP throughput, transfer time ratio, efficiency, buffer delay.

use core::time::Duration;

use fp_model::{Family, Layer, PacketLayout};

use crate::formula::number::PERCENT;
use crate::{BitsPerSecond, Bytes, Number, PerSecond, Seconds};

/// Full TCP segments of one flow: what decides how much of the line is payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    pub mtu_bytes: u32,
    pub family: Family,
    pub timestamps: Timestamps,
    pub vlan_tags: u32,
}

/// Whether segments carry the timestamps option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timestamps {
    Off,
    On,
}

impl Segments {
    /// The bytes of a full segment at each layer; `None` where the MTU has no room for payload.
    pub fn layout(&self) -> Option<PacketLayout> {
        let ip_header = self.family.ip_header_bytes();
        let options = match self.timestamps {
            Timestamps::Off => 0,
            Timestamps::On => PacketLayout::TCP_TIMESTAMPS_BYTES,
        };
        let payload_bytes =
            self.mtu_bytes.checked_sub(ip_header + PacketLayout::TCP_HEADER_BYTES + options)?;
        let tags = self.vlan_tags.checked_mul(PacketLayout::VLAN_TAG_BYTES)?;
        let frame_bytes =
            self.mtu_bytes.checked_add(PacketLayout::ETHERNET_L2_OVERHEAD)?.checked_add(tags)?;
        frame_bytes.checked_add(PacketLayout::ETHERNET_L1_OVERHEAD)?;
        let layout = PacketLayout { payload_bytes, packet_bytes: self.mtu_bytes, frame_bytes };
        (payload_bytes > 0).then_some(layout)
    }
}

/// The most that TCP can carry over a link.
#[derive(Clone, Copy, Debug)]
pub struct MaxTcp {
    pub frames: PerSecond,
    pub throughput_l4: BitsPerSecond,
}

impl MaxTcp {
    /// With a whole number of frames in a second, as the RFC's own examples have it.
    pub fn of_whole_frames(&self) -> BitsPerSecond {
        self.throughput_l4 * (self.frames.floor() / self.frames)
    }
}

/// Frames of `frame` bytes, counted at the layer of `rate`, each with `payload` bytes of TCP data.
//= rfc6349 4.1.1
pub fn max_tcp(rate: BitsPerSecond, frame: Bytes, payload: Bytes) -> MaxTcp {
    MaxTcp { frames: PerSecond(rate.0 / frame.bits()), throughput_l4: rate * (payload / frame) }
}

/// The most that TCP can carry where `rate` is counted at `layer`.
pub fn max_tcp_of(rate: BitsPerSecond, layer: Layer, layout: &PacketLayout) -> MaxTcp {
    let frame = Bytes::whole(layout.bytes_at(layer).into());
    max_tcp(rate, frame, Bytes::whole(layout.payload_bytes.into()))
}

/// How long a block takes on a perfect path.
//= rfc6349 4.1.2
pub fn ideal_transfer_time(block: Bytes, max_tcp_l4: BitsPerSecond) -> Seconds {
    block / max_tcp_l4
}

//= rfc6349 4.1.2
pub fn transfer_time_ratio(actual: Seconds, ideal: Seconds) -> Number {
    actual / ideal
}

/// The transfer time ratio of the same bytes at two rates.
pub fn transfer_time_ratio_of_rates(actual_l4: BitsPerSecond, ideal_l4: BitsPerSecond) -> Number {
    ideal_l4 / actual_l4
}

/// The share of the bytes sent that had not been sent before, in percent; undefined where nothing
/// was sent.
//= rfc6349 4.2
pub fn tcp_efficiency_percent(transmitted: Bytes, retransmitted: Bytes) -> Number {
    (transmitted - retransmitted) / transmitted * PERCENT
}

/// How much longer the round trip was under load than at rest, in percent of the latter.
//= rfc6349 4.3
pub fn buffer_delay_percent(average_rtt: Seconds, baseline_rtt: Seconds) -> Number {
    (average_rtt - baseline_rtt) / baseline_rtt * PERCENT
}

/// Of samples taken once a second.
//= rfc6349 4.3
pub fn average_rtt(samples: &[Seconds], duration: Seconds) -> Seconds {
    let sum = samples.iter().fold(Seconds::ZERO, |sum, sample| sum + *sample);
    Seconds(sum.0 / duration.0)
}

/// Of bytes that the receiver got once, over the time of the transfer.
pub fn throughput(good: Bytes, transfer: Seconds) -> BitsPerSecond {
    good / transfer
}

/// By how much longer a round trip takes under load, as a grade from A+ to F that many users know: that of
/// the bufferbloat test of DSLReports (its FAQ, number 17930), which has no E.
pub fn grade(buffered: Duration) -> &'static str {
    const LIMITS_MS: [(u128, &str); 5] = [(5, "A+"), (30, "A"), (60, "B"), (200, "C"), (400, "D")];
    let below = LIMITS_MS.iter().find(|(limit_ms, _)| buffered.as_millis() < *limit_ms);
    below.map_or("F", |(_, grade)| grade)
}

#[cfg(test)]
mod tests {
    use fp_model::Rate;

    use super::*;

    const PLAIN: Segments = Segments {
        mtu_bytes: 1500,
        family: Family::Ipv4,
        timestamps: Timestamps::Off,
        vlan_tags: 0,
    };

    /// 100 Mbit/s over 1538 bytes are 8127 frames a second of 1460 bytes: 94.9 Mbit/s.
    //= rfc6349 4.1.1
    #[test]
    fn fast_ethernet_carries_94_9_mbit_of_tcp() {
        let layout = PLAIN.layout().unwrap();
        let most = max_tcp_of(Rate::mbps(100).into(), Layer::L1, &layout);
        assert_eq!(most.frames.floor().0.to_u64(), Some(8127));
        assert_eq!(most.throughput_l4.to_rate(), Some(Rate::bps(94_928_478)));
        assert_eq!(most.of_whole_frames().to_rate(), Some(Rate::bps(8127 * 1460 * 8)));
    }

    #[test]
    fn a_rate_means_more_payload_the_higher_it_is_counted() {
        let layout = PLAIN.layout().unwrap();
        let at = |layer| max_tcp_of(Rate::mbps(40).into(), layer, &layout).throughput_l4.to_rate();
        assert_eq!(at(Layer::L1), Some(Rate::bps(37_971_391)));
        assert_eq!(at(Layer::L2), Some(Rate::bps(38_471_673)));
        assert_eq!(at(Layer::L3), Some(Rate::bps(38_933_333)));
        assert_eq!(at(Layer::L4), Some(Rate::mbps(40)));
    }

    #[test]
    fn timestamps_ipv6_and_tags_take_their_bytes_from_the_payload() {
        let payload = |segments: Segments| segments.layout().unwrap().payload_bytes;
        assert_eq!(payload(Segments { timestamps: Timestamps::On, ..PLAIN }), 1448);
        assert_eq!(payload(Segments { family: Family::Ipv6, ..PLAIN }), 1440);
        let tagged = Segments { vlan_tags: 2, ..PLAIN }.layout().unwrap();
        assert_eq!(tagged.bytes_at(Layer::L1), 1546);
        assert_eq!(Segments { mtu_bytes: 40, ..PLAIN }.layout(), None);
        assert_eq!(Segments { mtu_bytes: u32::MAX, ..PLAIN }.layout(), None);
    }

    /// 100 MB at 94.9 Mbit/s take 8.43 s: the table of the RFC rounds them up to 9.
    //= rfc6349 4.1.2
    #[test]
    fn a_transfer_of_12_s_that_should_take_8_has_a_ratio_of_1_5() {
        let ratio =
            transfer_time_ratio(Duration::from_secs(12).into(), Duration::from_secs(8).into());
        assert_eq!(ratio, Number::ratio(3, 2));
        let ideal = ideal_transfer_time(Bytes::whole(100_000_000), Rate::bps(94_900_000).into());
        assert_eq!(ideal.millis().floor().to_u64(), Some(8429));
    }

    //= rfc6349 4.2
    #[test]
    fn two_retransmitted_of_102_segments_are_an_efficiency_of_98_04_percent() {
        let percent = tcp_efficiency_percent(Bytes::whole(102_000), Bytes::whole(2000));
        assert_eq!(percent, Number::ratio(10_000, 102));
        assert!(!tcp_efficiency_percent(Bytes::ZERO, Bytes::ZERO).is_defined());
    }

    //= rfc6349 4.3
    #[test]
    fn a_grade_begins_where_the_next_better_one_ends() {
        let of = |micros| grade(Duration::from_micros(micros));
        assert_eq!([0, 4_999, 5_000, 29_999].map(of), ["A+", "A+", "A", "A"]);
        assert_eq!([30_000, 60_000, 200_000, 400_000].map(of), ["B", "C", "D", "F"]);
    }

    #[test]
    fn seven_milliseconds_on_top_of_25_are_a_buffer_delay_of_28_percent() {
        let samples = [30, 32, 34, 32].map(|ms| Duration::from_millis(ms).into());
        let average = average_rtt(&samples, Duration::from_secs(4).into());
        // One sample a second: their sum over the seconds.
        assert_eq!(average, Duration::from_millis(32).into());
        let percent = buffer_delay_percent(average, Duration::from_millis(25).into());
        assert_eq!(percent, Number::whole(28));
    }
}
