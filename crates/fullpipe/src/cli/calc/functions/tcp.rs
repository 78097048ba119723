//! Windows, the metrics of RFC 6349 and the rules of TCP.

use fp_method::formula::metrics::{Segments, Timestamps};
use fp_method::formula::{bdp, load, metrics, tcp_rules};
use fp_method::{Bytes, Number};
use fp_model::{Family, Layer};

use crate::cli::calc::function::{
    Figure, Figures, Function, Inputs, Kind, Refusal, optional, required, shown,
};

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "bdp",
        case_name: "bdp",
        about: "Bandwidth-delay product and the smallest window that fills the path",
        params: &[
            required("rate", "bb_bps", Kind::Rate(Layer::L1), "Bottleneck bandwidth, at layer 1"),
            required("rtt", "rtt_s", Kind::Time, "Baseline round-trip time"),
        ],
        results: &[
            shown("bdp_bits", "bdp_bits", "bandwidth-delay product"),
            shown("min_rwnd_bytes", "min_rwnd_bytes", "smallest window"),
        ],
        evaluate: |inputs| {
            let bdp = bdp::bdp(inputs.rate("bb_bps")?, inputs.seconds("rtt_s")?);
            Ok(vec![("bdp_bits", bdp.bits().into()), ("min_rwnd_bytes", bdp.into())])
        },
    },
    Function {
        name: "window-per-connection",
        case_name: "window_per_connection",
        about: "Window of each of several connections that together fill the path",
        params: &[
            required("bdp", "bdp_bytes", Kind::Size, "Bandwidth-delay product"),
            required("connections", "connections", Kind::Count, "Connections"),
        ],
        results: &[shown("window_bytes", "window_bytes", "window")],
        evaluate: |inputs| {
            let connections = inputs.count("connections")?;
            let window = bdp::window_per_connection(inputs.bytes("bdp_bytes")?, connections);
            Ok(vec![("window_bytes", window.into())])
        },
    },
    Function {
        name: "window-throughput",
        case_name: "window_throughput",
        about: "Throughput that a window allows at a round-trip time",
        params: &[
            required("window", "window_bytes", Kind::Size, "TCP window"),
            required("rtt", "rtt_s", Kind::Time, "Round-trip time"),
            optional("cap", "cap_bps", Kind::Rate(Layer::L4), "Most that the link carries"),
        ],
        results: &[shown("bps", "throughput_bps", "throughput at layer 4")],
        evaluate: |inputs| {
            let cap_l4 = inputs.has("cap_bps").then(|| inputs.rate("cap_bps")).transpose()?;
            let (window, rtt) = (inputs.bytes("window_bytes")?, inputs.seconds("rtt_s")?);
            Ok(vec![("bps", bdp::window_throughput(window, rtt, cap_l4).into())])
        },
    },
    Function {
        name: "max-tcp",
        case_name: "max_tcp",
        about: "Most that TCP carries in full segments over Ethernet",
        params: &[
            required(
                "rate",
                "rate_bps",
                Kind::LayeredRate(Layer::L1),
                "Rate, at layer 1 unless it says",
            ),
            required("mtu", "mtu_bytes", Kind::Size, "Path MTU").or("1500"),
            optional("ipv6", "ipv6", Kind::Switch, "IPv6 instead of IPv4"),
            optional(
                "timestamps",
                "timestamps",
                Kind::Switch,
                "Segments carry the timestamps option",
            ),
            required("vlan-tags", "vlan_tags", Kind::Count, "VLAN tags of a frame").or("0"),
        ],
        results: &[
            shown("fps", "frames_fps", "frames"),
            shown("payload_bytes", "payload_bytes", "payload of a segment"),
            shown("l1_bytes", "line_bytes", "segment on the line"),
            shown("max_tcp_bps", "max_tcp_bps", "max TCP throughput at layer 4"),
            shown(
                "rfc6349_bps",
                "rfc6349_max_tcp_bps",
                "the same by RFC 6349, with 40 bytes of headers",
            ),
        ],
        evaluate: max_tcp,
    },
    Function {
        name: "max-tcp-of-frames",
        case_name: "max_tcp_throughput",
        about: "Most that TCP carries in frames of a given length on the line",
        params: &[
            required("link", "link_bps", Kind::Rate(Layer::L1), "Line rate, at layer 1"),
            required(
                "l1-bytes",
                "l1_bytes_per_frame",
                Kind::Size,
                "Frame on the line, 1538 for Ethernet",
            ),
            required("payload", "tcp_payload_per_frame", Kind::Size, "TCP payload of a frame"),
        ],
        results: &[
            shown("fps", "frames_fps", "frames"),
            shown("fps_floor", "whole_frames_fps", "whole frames"),
            shown("max_tcp_bps", "max_tcp_bps", "max TCP throughput at layer 4"),
            shown(
                "max_tcp_bps_floor_fps",
                "max_tcp_of_whole_frames_bps",
                "the same of whole frames",
            ),
        ],
        evaluate: |inputs| {
            let frame = inputs.bytes("l1_bytes_per_frame")?;
            let payload = inputs.bytes("tcp_payload_per_frame")?;
            let most = metrics::max_tcp(inputs.rate("link_bps")?, frame, payload);
            let whole_frames = most.frames.floor();
            Ok(vec![
                ("fps", most.frames.into()),
                ("fps_floor", whole_frames.into()),
                ("max_tcp_bps", most.throughput_l4.into()),
                ("max_tcp_bps_floor_fps", (payload * whole_frames.0).bits().into()),
            ])
        },
    },
    Function {
        name: "ideal-time",
        case_name: "ideal_transfer_time",
        about: "How long a block takes on a perfect path",
        params: &[
            required("block", "block_bytes", Kind::Size, "Bytes to transfer"),
            required("max-tcp", "max_tcp_bps", Kind::Rate(Layer::L4), "Most that TCP carries"),
        ],
        results: &[shown("seconds", "ideal_s", "ideal transfer time")],
        evaluate: |inputs| {
            let block = inputs.bytes("block_bytes")?;
            let ideal = metrics::ideal_transfer_time(block, inputs.rate("max_tcp_bps")?);
            Ok(vec![("seconds", ideal.into())])
        },
    },
    Function {
        name: "ttr",
        case_name: "ttr",
        about: "Transfer time ratio of two times",
        params: &[
            required("actual", "actual_s", Kind::Time, "Time the transfer took"),
            required("ideal", "ideal_s", Kind::Time, "Time it takes on a perfect path"),
        ],
        results: &[shown("ttr", "transfer_time_ratio", "transfer time ratio")],
        evaluate: |inputs| {
            let (actual, ideal) = (inputs.seconds("actual_s")?, inputs.seconds("ideal_s")?);
            Ok(vec![("ttr", metrics::transfer_time_ratio(actual, ideal).into())])
        },
    },
    Function {
        name: "ttr-of-rates",
        case_name: "ttr_from_rates",
        about: "Transfer time ratio of two rates",
        params: &[
            required("max-tcp", "max_tcp_bps", Kind::Rate(Layer::L4), "Most that TCP carries"),
            required("actual", "actual_bps", Kind::Rate(Layer::L4), "Throughput that was measured"),
        ],
        results: &[shown("ttr", "transfer_time_ratio", "transfer time ratio")],
        evaluate: |inputs| {
            let (actual, most) = (inputs.rate("actual_bps")?, inputs.rate("max_tcp_bps")?);
            Ok(vec![("ttr", metrics::transfer_time_ratio_of_rates(actual, most).into())])
        },
    },
    Function {
        name: "throughput",
        case_name: "throughput",
        about: "Throughput of good bytes in a time",
        params: &[
            required("good", "good_bytes", Kind::Size, "Bytes received once"),
            required("time", "seconds", Kind::Time, "Time of the transfer"),
        ],
        results: &[
            shown("bytes_per_s", "bytes_per_s", "bytes a second"),
            shown("bps", "throughput_bps", "throughput at layer 4"),
        ],
        evaluate: |inputs| {
            let rate = metrics::throughput(inputs.bytes("good_bytes")?, inputs.seconds("seconds")?);
            let bytes = rate.0 / Number::whole(8);
            Ok(vec![("bytes_per_s", bytes.into()), ("bps", rate.into())])
        },
    },
    Function {
        name: "efficiency",
        case_name: "tcp_efficiency_pct",
        about: "TCP efficiency: the share of bytes sent that were no retransmissions",
        params: &[
            required("tx", "tx_bytes", Kind::Size, "Bytes transmitted, retransmissions included"),
            required("retx", "retx_bytes", Kind::Size, "Bytes retransmitted"),
        ],
        results: &[shown("pct", "efficiency_percent", "TCP efficiency")],
        evaluate: |inputs| {
            let (sent, again) = (inputs.bytes("tx_bytes")?, inputs.bytes("retx_bytes")?);
            if again > sent {
                return Err(Refusal::new("retx_bytes", "must not exceed what was transmitted"));
            }
            Ok(vec![("pct", metrics::tcp_efficiency_percent(sent, again).into())])
        },
    },
    Function {
        name: "buffer-delay",
        case_name: "buffer_delay_pct",
        about: "Buffer delay: how much longer the round trip is under load",
        params: &[
            required("average", "avg_rtt_s", Kind::Time, "Average round-trip time of the transfer"),
            required("baseline", "baseline_rtt_s", Kind::Time, "Baseline round-trip time"),
        ],
        results: &[shown("pct", "buffer_delay_percent", "buffer delay")],
        evaluate: |inputs| {
            let average = inputs.seconds("avg_rtt_s")?;
            let percent = metrics::buffer_delay_percent(average, inputs.seconds("baseline_rtt_s")?);
            Ok(vec![("pct", percent.into())])
        },
    },
    Function {
        name: "average-rtt",
        case_name: "average_rtt",
        about: "Average of round-trip times sampled once a second",
        params: &[
            required("samples", "rtt_samples_s", Kind::Times, "Samples, such as 30ms,32ms"),
            required("duration", "duration_s", Kind::Time, "Duration of the transfer"),
        ],
        results: &[shown("avg_s", "rtt_mean_s", "average round-trip time")],
        evaluate: |inputs| {
            let samples = super::path::delays(inputs, "rtt_samples_s")?;
            let average = metrics::average_rtt(&samples, inputs.seconds("duration_s")?);
            Ok(vec![("avg_s", average.into())])
        },
    },
    Function {
        name: "connections",
        case_name: "connections_needed",
        about: "Connections of one window that fill the path",
        params: &[
            required("bdp", "bdp_bytes", Kind::Size, "Bandwidth-delay product"),
            required("window", "window_bytes", Kind::Size, "Window of each connection"),
        ],
        results: &[shown("n", "connections", "connections")],
        evaluate: |inputs| {
            let window = inputs.bytes("window_bytes")?;
            Ok(vec![("n", bdp::connections_needed(inputs.bytes("bdp_bytes")?, window).into())])
        },
    },
    Function {
        name: "window-scale",
        case_name: "window_scale_shift",
        about: "Smallest window scale option for a window",
        params: &[required("window", "window_bytes", Kind::Size, "TCP window")],
        results: &[
            shown("shift", "shift", "window scale"),
            shown("max_window", "max_window_bytes", "largest window with it"),
        ],
        evaluate: |inputs| {
            let scale = bdp::window_scale(inputs.bytes("window_bytes")?);
            Ok(vec![("shift", scale.shift.into()), ("max_window", scale.max_window_bytes.into())])
        },
    },
    Function {
        name: "rtt-of-window",
        case_name: "rtt_from_window_rate",
        about: "Round-trip time at which a window yields a throughput",
        params: &[
            required("window", "window_bytes", Kind::Size, "TCP window"),
            required("rate", "bps", Kind::Rate(Layer::L4), "Throughput"),
        ],
        results: &[shown("rtt_s", "rtt_s", "round-trip time")],
        evaluate: |inputs| {
            let window = inputs.bytes("window_bytes")?;
            Ok(vec![("rtt_s", bdp::rtt_of_window_at(window, inputs.rate("bps")?).into())])
        },
    },
    Function {
        name: "loss-limited",
        case_name: "loss_limited_throughput",
        about: "Throughput that random loss allows a Reno sender (Mathis)",
        params: &[
            required("mss", "mss", Kind::Size, "Maximum segment size"),
            required("rtt", "rtt_s", Kind::Time, "Round-trip time"),
            required("loss", "loss", Kind::Decimal, "Loss ratio, 0.001 for 0.1 %"),
        ],
        results: &[
            shown("bps_c1", "throughput_bps", "throughput at layer 4, constant 1"),
            shown("bps_c_sqrt3_2", "throughput_every_ack_bps", "the same, constant √(3/2)"),
        ],
        evaluate: |inputs| {
            let (mss, rtt) = (inputs.bytes("mss")?, inputs.seconds("rtt_s")?);
            let rate = tcp_rules::loss_limited_rate(mss, rtt, inputs.ratio("loss")?);
            let every_ack = rate * tcp_rules::mathis_constant();
            Ok(vec![("bps_c1", rate.into()), ("bps_c_sqrt3_2", every_ack.into())])
        },
    },
    Function {
        name: "initial-window-5681",
        case_name: "initial_window_5681",
        about: "Initial window of RFC 5681",
        params: &[required("smss", "smss", Kind::Size, "Sender maximum segment size")],
        results: &[shown("bytes", "initial_window_bytes", "initial window")],
        evaluate: |inputs| {
            Ok(vec![("bytes", tcp_rules::initial_window(inputs.count("smss")?).into())])
        },
    },
    Function {
        name: "initial-window",
        case_name: "initial_window_6928",
        about: "Initial window of RFC 6928, ten segments",
        params: &[required("mss", "mss", Kind::Size, "Maximum segment size")],
        results: &[shown("bytes", "initial_window_bytes", "initial window")],
        evaluate: |inputs| {
            Ok(vec![("bytes", tcp_rules::large_initial_window(inputs.bytes("mss")?).into())])
        },
    },
    Function {
        name: "ssthresh",
        case_name: "ssthresh",
        about: "Slow start threshold after a loss",
        params: &[
            required("flight", "flight", Kind::Size, "Bytes in flight"),
            required("smss", "smss", Kind::Size, "Sender maximum segment size"),
        ],
        results: &[shown("bytes", "ssthresh_bytes", "slow start threshold")],
        evaluate: |inputs| {
            let flight = inputs.bytes("flight")?;
            let threshold = tcp_rules::slow_start_threshold(flight, inputs.bytes("smss")?);
            Ok(vec![("bytes", threshold.into())])
        },
    },
    Function {
        name: "rto",
        case_name: "rto_sequence",
        about: "Retransmission timeout after each round-trip time sample",
        params: &[
            required("samples", "samples_s", Kind::Times, "Samples, such as 100ms,200ms"),
            required("granularity", "granularity_s", Kind::Time, "Granularity of the clock")
                .or("1ms"),
        ],
        results: &[shown("steps", "steps", "after each sample")],
        evaluate: |inputs| {
            let mut timer = tcp_rules::RetransmissionTimer::new(inputs.seconds("granularity_s")?);
            let step = |rtt| {
                let estimate = timer.on_sample(rtt);
                vec![
                    ("srtt", estimate.smoothed.0),
                    ("rttvar", estimate.variation.0),
                    ("rto_raw", estimate.raw_timeout.0),
                    ("rto", estimate.timeout.0),
                ]
            };
            let samples = super::path::delays(inputs, "samples_s")?;
            Ok(vec![("steps", Figure::Rows(samples.into_iter().map(step).collect()))])
        },
    },
    Function {
        name: "address-tuples",
        case_name: "address_pairs_needed",
        about: "Address and port combinations that so many connections need",
        params: &[
            required("connections", "connections", Kind::Count, "Connections"),
            required("ports", "ports", Kind::Count, "Source ports of an address").or("64512"),
        ],
        results: &[shown("pairs", "address_tuples", "combinations")],
        evaluate: |inputs| {
            let (connections, ports) = (inputs.number("connections")?, inputs.number("ports")?);
            Ok(vec![("pairs", load::address_tuples_needed(connections, ports).into())])
        },
    },
    Function {
        name: "ramp-rate",
        case_name: "ramp_rate",
        about: "Connections to open per second so that all are open after the ramp",
        params: &[
            required("connections", "connections", Kind::Count, "Connections"),
            required("ramp", "ramp_s", Kind::Time, "Time of the ramp"),
        ],
        results: &[shown("conn_per_s", "setup_rate_cps", "connection rate")],
        evaluate: |inputs| {
            let rate = load::ramp_rate(inputs.number("connections")?, inputs.seconds("ramp_s")?);
            Ok(vec![("conn_per_s", rate.into())])
        },
    },
];

fn max_tcp(inputs: &Inputs) -> Result<Figures, Refusal> {
    let family =
        if inputs.has("ipv6") && inputs.flag("ipv6")? { Family::Ipv6 } else { Family::Ipv4 };
    let stamped = inputs.has("timestamps") && inputs.flag("timestamps")?;
    let segments = Segments {
        mtu_bytes: inputs.small_count("mtu_bytes")?,
        family,
        timestamps: if stamped { Timestamps::On } else { Timestamps::Off },
        vlan_tags: inputs.small_count("vlan_tags")?,
    };
    let no_room =
        || Refusal::new("mtu_bytes", "has no room for headers and payload, or is too large");
    let layout = segments.layout().ok_or_else(no_room)?;
    let plain = Segments { family: Family::Ipv4, timestamps: Timestamps::Off, ..segments };
    let layer = layer(inputs)?;
    let rate = inputs.rate("rate_bps")?;
    let most = metrics::max_tcp_of(rate, layer, &layout);
    let by_rfc = metrics::max_tcp_of(rate, layer, &plain.layout().ok_or_else(no_room)?);
    Ok(vec![
        ("fps", most.frames.into()),
        ("payload_bytes", layout.payload_bytes.into()),
        ("l1_bytes", Bytes::whole(layout.bytes_at(Layer::L1).into()).into()),
        ("max_tcp_bps", most.throughput_l4.into()),
        ("rfc6349_bps", by_rfc.throughput_l4.into()),
    ])
}

fn layer(inputs: &Inputs) -> Result<Layer, Refusal> {
    match inputs.text("layer")? {
        "l1" => Ok(Layer::L1),
        "l2" => Ok(Layer::L2),
        "l3" => Ok(Layer::L3),
        "l4" => Ok(Layer::L4),
        _ => Err(Refusal::new("layer", "must be one of l1, l2, l3 and l4")),
    }
}
