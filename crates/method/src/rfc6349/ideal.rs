//! What TCP carries at best: in one direction, in both at once, and as a sender of bursts.

use core::time::Duration;

use fp_model::{Family, LayeredRate, PacketLayout, Rate};

/// The smallest frame, FCS included.
const MIN_FRAME_BYTES: u32 = 64;
/// Data segments for each acknowledgement, RFC 1122 section 4.2.3.2.
pub(super) const SEGMENTS_PER_ACK: u64 = 2;
/// How long Linux keeps back the acknowledgement of a segment that no second one follows. RFC 1122
/// section 4.2.3.2 allows half a second.
pub(super) const DELAYED_ACK: Duration = Duration::from_millis(40);

/// The link that limits one direction, and what payload takes of it, in bytes at the layer at which
/// the limit is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    rate_bps: f64,
    /// For each byte of payload in this direction.
    data: f64,
    /// For each byte of payload in the other direction: its acknowledgements.
    acks: f64,
}

impl Link {
    /// With segments of `segment_bytes` in packets of `packet_bytes`.
    pub(super) fn new(
        limit: LayeredRate,
        family: Family,
        packet_bytes: u32,
        segment_bytes: u32,
    ) -> Self {
        let full = PacketLayout::ethernet(packet_bytes, segment_bytes);
        let headers = family.ip_header_bytes()
            + PacketLayout::TCP_HEADER_BYTES
            + PacketLayout::TCP_TIMESTAMPS_BYTES;
        let mut ack = PacketLayout::ethernet(headers, 0);
        ack.frame_bytes = ack.frame_bytes.max(MIN_FRAME_BYTES);
        let segment = f64::from(segment_bytes.max(1));
        Self {
            rate_bps: limit.rate.as_bps() as f64,
            data: f64::from(full.bytes_at(limit.layer)) / segment,
            acks: f64::from(ack.bytes_at(limit.layer)) / segment / SEGMENTS_PER_ACK as f64,
        }
    }

    //= rfc6349 4.1.1
    /// Payload that full segments carry with the other direction idle, in bits per second.
    pub(super) fn alone_bps(&self) -> f64 {
        self.rate_bps / self.data
    }

    /// Payload of the other direction whose acknowledgements fill the link, in bits per second.
    pub(super) fn acknowledged_bps(&self) -> f64 {
        self.rate_bps / self.acks
    }

    /// How full the link is with these rates of payload, acknowledgements included.
    pub(super) fn fill(&self, payload_bps: f64, other_bps: f64) -> f64 {
        (payload_bps * self.data + other_bps * self.acks) / self.rate_bps
    }

    /// The bytes on the link for a window of each direction.
    pub(super) fn load_bytes(&self, window_bytes: f64, other_bytes: f64) -> f64 {
        window_bytes * self.data + other_bytes * self.acks
    }

    /// How long the link takes to carry so many bytes of its own.
    pub(super) fn time_for(&self, bytes: f64) -> Duration {
        Duration::try_from_secs_f64(8.0 * bytes / self.rate_bps).unwrap_or(Duration::MAX)
    }
}

/// How full the fuller of both links is.
///
/// Receivers that acknowledge more than two segments at once fill the links with less: where the sum
/// says more than full, the data alone counts.
pub(super) fn fuller(links: [&Link; 2], payload_bps: [f64; 2]) -> f64 {
    let [here, there] = payload_bps;
    let with_acks = links[0].fill(here, there).max(links[1].fill(there, here));
    let data = links[0].fill(here, 0.0).max(links[1].fill(there, 0.0));
    with_acks.min(data.max(1.0))
}

/// The share of what each direction carries alone that both carry at once, the same for both:
/// above zero however different the links are.
pub(super) fn even_share(links: [&Link; 2]) -> f64 {
    let alone = links.map(Link::alone_bps);
    1.0 / links[0].fill(alone[0], alone[1]).max(links[1].fill(alone[1], alone[0]))
}

/// A sender that writes a window whenever the last one is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct BurstSender {
    pub(super) connections: u32,
    pub(super) window_bytes: u64,
    pub(super) segment_bytes: u32,
    /// Without the time that the data itself takes on the line.
    pub(super) rtt: Duration,
    pub(super) pacing: Option<Rate>,
    /// What a frame and a window take on the line; a policer keeps nothing back.
    pub(super) frame_time: Duration,
    pub(super) window_time: Duration,
}

impl BurstSender {
    /// What all connections carry if none waits for another: each a window per cycle, from its first
    /// byte to its last acknowledgement.
    pub(super) fn rate(&self) -> Rate {
        let segment = u64::from(self.segment_bytes.max(1));
        let paced = self.pacing.map(|pacing| {
            // The last segment leaves when those before it have been paced.
            let before = self.window_bytes - segment.min(self.window_bytes);
            pacing.time_for(before) + self.frame_time
        });
        let leaves_in = self.window_time.max(paced.unwrap_or_default());
        let segments = self.window_bytes / segment;
        // The last segment of an odd number has no second one to be acknowledged with.
        let is_odd = self.window_bytes.is_multiple_of(segment) && segments % SEGMENTS_PER_ACK == 1;
        // Nor has one that comes after the receiver has given up waiting for it.
        let is_odd = is_odd || self.frame_time >= DELAYED_ACK;
        let delayed = if is_odd { DELAYED_ACK } else { Duration::ZERO };
        let window = u64::from(self.connections) * self.window_bytes;
        Rate::over(window, self.rtt + leaves_in + delayed)
    }
}

#[cfg(test)]
mod tests {
    use fp_model::Layer;

    use super::*;

    fn link(megabits: u64, layer: Layer) -> Link {
        let limit = LayeredRate { rate: Rate::mbps(megabits), layer };
        Link::new(limit, Family::Ipv4, 1500, 1448)
    }

    fn is_about(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 1e-4
    }

    /// A full segment takes 1538 bytes at layer 1, 1518 at layer 2 and 1500 at layer 3; two of them an
    /// acknowledgement of 20 + 20 + 12 bytes: 90, 70 and 52.
    //= rfc6349 4.1.1
    #[test]
    fn payload_takes_headers_and_acknowledgements_of_the_layer_at_which_a_limit_is_counted() {
        for (layer, frame, ack) in
            [(Layer::L1, 1538.0, 90.0), (Layer::L2, 1518.0, 70.0), (Layer::L3, 1500.0, 52.0)]
        {
            let link = link(100, layer);
            assert!(is_about(link.alone_bps(), 100e6 * 1448.0 / frame), "{link:?}");
            assert!(is_about(link.fill(0.0, 1448e4), 0.05 * ack / 1e3), "{link:?}");
        }
    }

    /// 100 Mbit/s both: s (1 + 45 / 1538) = 1. 500 down and 10 up at layer 2: the upload's link
    /// carries 1 + 50 × 35 / 1518 times as much as it can.
    #[test]
    fn both_directions_at_once_carry_the_same_share_of_what_each_carries_alone() {
        let line = link(100, Layer::L1);
        assert!(is_about(even_share([&line, &line]), 1538.0 / 1583.0));
        let (down, up) = (link(500, Layer::L2), link(10, Layer::L2));
        let share = even_share([&down, &up]);
        assert!(is_about(share, 1518.0 / (1518.0 + 50.0 * 35.0)), "{share}");
        assert!(is_about(even_share([&up, &down]), share), "whichever is named first");
        let carried = [share * down.alone_bps(), share * up.alone_bps()];
        assert!(is_about(fuller([&down, &up], carried), 1.0));
    }

    #[test]
    fn the_share_is_above_zero_up_to_an_asymmetry_of_1000() {
        for up in [1, 10, 100, 1000] {
            let share = even_share([&link(1000, Layer::L1), &link(up, Layer::L1)]);
            assert!(share > 0.0 && share < 1.0, "{up}: {share}");
        }
    }

    /// With an acknowledgement for 20 segments, 100 down and 1 up: data takes 95 of 100 down, and 2.8
    /// times what the upload's link holds is not what crossed it.
    #[test]
    fn links_are_no_fuller_than_full_unless_data_alone_says_so() {
        let (down, up) = (link(100, Layer::L1), link(1, Layer::L1));
        let carried = [0.95 * down.alone_bps(), 0.1 * up.alone_bps()];
        assert!(is_about(fuller([&down, &up], carried), 1.0));
        assert!(is_about(fuller([&down, &down], [1.06 * down.alone_bps(), 0.0]), 1.06));
    }

    /// Four windows of 28,960 bytes, 20 segments, in 50 ms and the 2.461 ms that 20 frames of 1538
    /// bytes take at 100 Mbit/s: 115,840 × 8 / 52.461 ms.
    #[test]
    fn a_burst_waits_for_its_last_acknowledgement() {
        let line = link(100, Layer::L1);
        let sender = BurstSender {
            connections: 4,
            window_bytes: 28_960,
            segment_bytes: 1448,
            rtt: Duration::from_millis(50),
            pacing: None,
            frame_time: line.time_for(1538.0),
            window_time: line.time_for(20.0 * 1538.0),
        };
        let bps = |sender: BurstSender| sender.rate().as_bps() as f64;
        assert!(is_about(bps(sender), 926_720.0 / 0.052_460_8), "{}", bps(sender));
        // Paced at 10 Mbit/s the first 19 segments, 27,512 bytes, take 22.010 ms, the last 0.123 ms.
        let paced = BurstSender { pacing: Some(Rate::mbps(10)), ..sender };
        assert!(is_about(bps(paced), 926_720.0 / 0.072_132_6), "{}", bps(paced));
        // Of 19 segments the last waits for its acknowledgement: 2.338 ms on the line and 40 ms more.
        let odd = BurstSender {
            window_bytes: 27_512,
            window_time: line.time_for(19.0 * 1538.0),
            ..sender
        };
        assert!(is_about(bps(odd), 880_384.0 / 0.092_337_8), "{}", bps(odd));
    }
}
