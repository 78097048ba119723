//! What fits on an Ethernet line: frame rates, link usage and the counts of RFC 2544 trials.

use fp_model::PacketLayout;

use crate::formula::number::PERCENT;
use crate::{BitsPerSecond, Bytes, Number, PerSecond, Seconds};

/// Preamble, start delimiter and gap: what a frame takes on the line beside itself.
const ON_THE_LINE: Bytes = Bytes(Number::whole(PacketLayout::ETHERNET_L1_OVERHEAD as i64));
/// Addresses, type and FCS.
const FRAMING: Bytes = Bytes(Number::whole(PacketLayout::ETHERNET_L2_OVERHEAD as i64));
const IPV4_HEADER: u32 = 20;

/// Frames that take `on_the_line` bytes each at layer 1.
pub fn frame_rate(line_l1: BitsPerSecond, on_the_line: Bytes) -> PerSecond {
    PerSecond(line_l1.0 / on_the_line.bits())
}

/// The frames of one length that a line carries in a second, in whole frames: RFC 2544 appendix B.
pub fn max_frame_rate(line_l1: BitsPerSecond, frame: Bytes) -> PerSecond {
    frame_rate(line_l1, frame + ON_THE_LINE).floor()
}

/// A stream of like packets and what each layer adds to their payload.
#[derive(Clone, Copy, Debug)]
pub struct Encapsulation {
    pub payload: Bytes,
    /// IP header and transport header.
    pub headers: Bytes,
    pub framing: Bytes,
    pub on_the_line: Bytes,
}

impl Encapsulation {
    pub fn ethernet(payload: Bytes, headers: Bytes) -> Self {
        Self { payload, headers, framing: FRAMING, on_the_line: ON_THE_LINE }
    }

    /// Bytes of frame for each byte of payload.
    pub fn coefficient_l2(&self) -> Number {
        (self.payload + self.headers + self.framing) / self.payload
    }

    /// Bytes on the line for each byte of payload.
    pub fn coefficient_l1(&self) -> Number {
        self.coefficient_l2() + self.on_the_line / self.payload
    }
}

/// The percentage of a line that a stream takes, `coefficient` bytes on it per byte of payload.
pub fn link_usage_percent(
    payload_l4: BitsPerSecond,
    coefficient: Number,
    line: BitsPerSecond,
) -> Number {
    payload_l4 * coefficient / line * PERCENT
}

/// What several ports of a tester send together in one trial at full line rate.
#[derive(Clone, Copy, Debug)]
pub struct TrialCounts {
    pub sent_frames: Number,
    pub rate_l1: BitsPerSecond,
    pub rate_l2: BitsPerSecond,
}

/// Each of `ports` sends whole frames per second for `trial`.
pub fn trial_counts(
    line_l1: BitsPerSecond,
    frame: Bytes,
    ports: u64,
    trial: Seconds,
) -> TrialCounts {
    let of_one_port = max_frame_rate(line_l1, frame) * trial;
    let sent_frames = (of_one_port * Number::from(ports)).floor();
    let rate = |each: Bytes| each * sent_frames / trial;
    TrialCounts { sent_frames, rate_l1: rate(frame + ON_THE_LINE), rate_l2: rate(frame) }
}

/// The length fields of the UDP test frame of RFC 2544 appendix C.2.6.4, IP length first; `None`
/// where a frame is too short for its headers.
pub fn udp_test_frame_lengths(frame_bytes: u32) -> Option<(u32, u32)> {
    let ip_total = frame_bytes.checked_sub(PacketLayout::ETHERNET_L2_OVERHEAD)?;
    let udp = ip_total.checked_sub(IPV4_HEADER)?;
    (udp >= PacketLayout::UDP_HEADER_BYTES).then_some((ip_total, udp))
}

/// The share of the frames sent that never came, in percent: RFC 2544 §26.3.
pub fn frame_loss_percent(sent: Number, received: Number) -> Number {
    (sent - received) / sent * PERCENT
}

#[cfg(test)]
mod tests {
    use fp_model::Rate;

    use super::*;

    #[test]
    fn ten_megabit_ethernet_carries_the_frame_rates_of_rfc_2544_appendix_b() {
        let lengths = [64, 128, 256, 512, 768, 1024, 1280, 1518];
        let rates = [14_880, 8445, 4528, 2349, 1586, 1197, 961, 812];
        for (length, rate) in lengths.into_iter().zip(rates) {
            let most = max_frame_rate(Rate::mbps(10).into(), Bytes::whole(length));
            assert_eq!(most.0.to_u64(), Some(rate));
        }
    }

    /// 95.7 Mbit/s of UDP payload in 1472-byte datagrams: 98.69 % of the line in frames, and with
    /// preamble and gap all of it.
    #[test]
    fn a_line_that_seems_to_have_room_is_full_at_layer_1() {
        let stream = Encapsulation::ethernet(Bytes::whole(1472), Bytes::whole(28));
        let usage = |coefficient| {
            link_usage_percent(Rate::bps(95_700_000).into(), coefficient, Rate::mbps(100).into())
        };
        assert_eq!(stream.coefficient_l2(), Number::ratio(1518, 1472));
        assert_eq!(usage(stream.coefficient_l2()).floor().to_u64(), Some(98));
        assert!(usage(stream.coefficient_l1()) > Number::ratio(9999, 100));
    }

    /// Two ports of 100 Mbit/s for ten seconds: 2 × 8127 × 10.
    #[test]
    fn ports_send_whole_frames_each_second() {
        let counts =
            trial_counts(Rate::mbps(100).into(), Bytes::whole(1518), 2, Seconds(Number::whole(10)));
        assert_eq!(counts.sent_frames.to_u64(), Some(162_540));
        assert_eq!(counts.rate_l2.to_rate(), Some(Rate::bps(16_254 * 1518 * 8)));
    }

    #[test]
    fn a_udp_test_frame_has_its_ip_and_udp_length() {
        assert_eq!(udp_test_frame_lengths(256), Some((238, 218)));
        assert_eq!(udp_test_frame_lengths(45), None);
        assert_eq!(udp_test_frame_lengths(0), None);
    }
}
