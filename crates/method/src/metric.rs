//! Every metric of the steps of a test, under one name whichever kind of step has it.

use fp_model::figure::Metric;

pub const RATE_L1: Metric = Metric::new("rate_l1_bits_per_second", "Rate on the line (l1)");
pub const RATE_L2: Metric = Metric::new("rate_l2_bits_per_second", "Frame rate (l2)");
pub const RATE_L3: Metric = Metric::new("rate_l3_bits_per_second", "Rate of IP packets (l3)");
pub const RTT_MEAN: Metric = Metric::new("rtt_mean_seconds", "Mean round trip");
pub const THROUGHPUT_L4: Metric =
    Metric::new("throughput_l4_bits_per_second", "TCP throughput (l4)");
pub const PATH_IDEAL_L4: Metric =
    Metric::new("path_ideal_l4_bits_per_second", "What windows that fill the path reach (l4)");
pub const TCP_EFFICIENCY: Metric =
    Metric::new("tcp_efficiency_ratio", "Share of bytes not retransmitted");
pub const BUFFER_DELAY: Metric =
    Metric::new("buffer_delay_ratio", "Growth of the round trip under load");
pub const RETRANSMITTED: Metric =
    Metric::new("retransmitted_bytes", "Payload that TCP retransmitted");
pub const CBS: Metric = Metric::new("cbs_bytes", "Committed burst size as estimated");
pub const LATENCY_MEAN: Metric = Metric::new("latency_mean_seconds", "Mean latency of frames");
pub const PATH_MTU: Metric = Metric::new("path_mtu_bytes", "Path MTU");
pub const RTT_MIN: Metric = Metric::new("rtt_min_seconds", "Shortest round trip");
pub const THROUGHPUT_IDEAL_L4: Metric =
    Metric::new("throughput_ideal_l4_bits_per_second", "What TCP could have reached (l4)");
pub const RATE_L4: Metric = Metric::new("rate_l4_bits_per_second", "Rate of payload (l4)");
pub const INFORMATION_RATE_L2: Metric =
    Metric::new("information_rate_l2_bits_per_second", "Information rate of a service (l2)");
pub const FRAME_DELAY: Metric =
    Metric::new("frame_delay_seconds", "Mean frame transfer delay of a service");
pub const FRAME_DELAY_VARIATION: Metric =
    Metric::new("frame_delay_variation_seconds", "Frame delay variation of a service");
pub const JITTER: Metric = Metric::new("jitter_seconds", "Jitter of UDP flows (RFC 3550)");
pub const LOSS: Metric = Metric::new("loss_ratio", "Share of the packets that was lost");
pub const FRAME_LOSS: Metric =
    Metric::new("frame_loss_ratio", "Share of a service's frames that was lost");
pub const AVAILABILITY: Metric =
    Metric::new("availability_ratio", "Share of the time with the service");
pub const CONNECTIONS: Metric =
    Metric::new("connections", "Connections that were open at once at most");
pub const CONNECTIONS_PER_SECOND: Metric =
    Metric::new("connections_per_second", "Set up in the best second");
