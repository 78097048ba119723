//! Frame rates, link usage, RFC 2544 and RFC 9004.

use fp_method::formula::back_to_back::{self, FrameRates};
use fp_method::formula::ethernet::{self, Encapsulation};
use fp_model::Layer;

use crate::cli::calc::function::{Function, Inputs, Kind, Refusal, optional, required, shown};

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "link-usage",
        case_name: "link_usage_pct",
        about: "Share of an Ethernet line that a stream takes",
        params: &[
            required("rate", "payload_bps", Kind::Rate(Layer::L4), "Payload rate of the stream"),
            required("link", "link_bps", Kind::Rate(Layer::L1), "Line rate"),
            required("payload", "payload", Kind::Size, "Payload of a packet"),
            required(
                "headers",
                "ip_and_transport",
                Kind::Size,
                "IP and transport headers: 28 UDPv4, 40 TCPv4, 48 UDPv6, 60 TCPv6",
            ),
        ],
        results: &[
            shown("l2_pct", "frames_percent", "counted in frames (layer 2)"),
            shown("l1_pct", "line_percent", "counted on the line (layer 1)"),
        ],
        evaluate: |inputs| {
            let (payload_l4, line) = (inputs.rate("payload_bps")?, inputs.rate("link_bps")?);
            let headers = inputs.bytes("ip_and_transport")?;
            let stream = Encapsulation::ethernet(inputs.bytes("payload")?, headers);
            let usage = |coefficient| ethernet::link_usage_percent(payload_l4, coefficient, line);
            Ok(vec![
                ("l2_pct", usage(stream.coefficient_l2()).into()),
                ("l1_pct", usage(stream.coefficient_l1()).into()),
            ])
        },
    },
    Function {
        name: "link-usage-coefficient",
        case_name: "link_usage_coefficient",
        about: "Bytes at layer 2 and 1 for each byte of payload",
        params: &[
            required("payload", "payload", Kind::Size, "Payload of a packet"),
            required("headers", "ip_and_transport", Kind::Size, "IP and transport headers"),
            required("l2", "l2", Kind::Size, "Layer-2 header and FCS").or("18"),
            required("l1", "l1", Kind::Size, "Preamble and gap").or("20"),
        ],
        results: &[
            shown("l2_coef", "frame_per_payload", "frame bytes per byte of payload"),
            shown("l1_coef", "line_per_payload", "bytes on the line per byte of payload"),
        ],
        evaluate: |inputs| {
            let stream = Encapsulation {
                payload: inputs.bytes("payload")?,
                headers: inputs.bytes("ip_and_transport")?,
                framing: inputs.bytes("l2")?,
                on_the_line: inputs.bytes("l1")?,
            };
            Ok(vec![
                ("l2_coef", stream.coefficient_l2().into()),
                ("l1_coef", stream.coefficient_l1().into()),
            ])
        },
    },
    Function {
        name: "max-pps",
        case_name: "max_pps",
        about: "Most packets a second that a line carries",
        params: &[
            required("link", "link_bps", Kind::Rate(Layer::L1), "Line rate"),
            required("l1-bytes", "l1_bytes", Kind::Size, "Packet on the line: frame and 20 bytes"),
        ],
        results: &[shown("pps", "packets_pps", "packet rate")],
        evaluate: |inputs| {
            let on_the_line = inputs.bytes("l1_bytes")?;
            Ok(vec![("pps", ethernet::frame_rate(inputs.rate("link_bps")?, on_the_line).into())])
        },
    },
    Function {
        name: "max-fps",
        case_name: "max_fps_floor",
        about: "Most whole frames a second that an Ethernet line carries",
        params: &[
            required("link", "link_bps", Kind::Rate(Layer::L1), "Line rate"),
            required("frame", "frame_bytes", Kind::Size, "Frame with FCS"),
        ],
        results: &[shown("fps", "frames_fps", "whole frames")],
        evaluate: |inputs| {
            let frame = inputs.bytes("frame_bytes")?;
            Ok(vec![("fps", ethernet::max_frame_rate(inputs.rate("link_bps")?, frame).into())])
        },
    },
    Function {
        name: "trial-counts",
        case_name: "two_port_trial_counts",
        about: "Frames and rates of several ports at full line rate",
        params: &[
            required("frame", "frame_bytes", Kind::Size, "Frame with FCS"),
            required("link", "link_bps", Kind::Rate(Layer::L1), "Line rate of a port"),
            required("ports", "ports", Kind::Count, "Ports").or("2"),
            required("time", "trial_s", Kind::Time, "Duration of the trial"),
        ],
        results: &[
            shown("tx_frames", "sent_frames", "frames sent"),
            shown("l1_mbps", "line_mbps", "rate at layer 1"),
            shown("l2_mbps", "frames_mbps", "rate at layer 2"),
        ],
        evaluate: |inputs| {
            let (link, frame) = (inputs.rate("link_bps")?, inputs.bytes("frame_bytes")?);
            let trial = inputs.seconds("trial_s")?;
            let counts = ethernet::trial_counts(link, frame, inputs.count("ports")?, trial);
            Ok(vec![
                ("tx_frames", counts.sent_frames.into()),
                ("l1_mbps", counts.rate_l1.megabits().into()),
                ("l2_mbps", counts.rate_l2.megabits().into()),
            ])
        },
    },
    Function {
        name: "udp-lengths",
        case_name: "udp_test_frame_lengths",
        about: "Length fields of the UDP test frame of RFC 2544",
        params: &[required("frame", "frame_bytes", Kind::Size, "Frame with FCS")],
        results: &[
            shown("ip_total_length", "ip_total_length_bytes", "IP total length"),
            shown("udp_length", "udp_length_bytes", "UDP length"),
        ],
        evaluate: |inputs| {
            let lengths = ethernet::udp_test_frame_lengths(inputs.small_count("frame_bytes")?);
            let short =
                || Refusal::new("frame_bytes", "must be 46 at least: 18 Ethernet, 20 IP, 8 UDP");
            let (ip_total, udp) = lengths.ok_or_else(short)?;
            Ok(vec![("ip_total_length", ip_total.into()), ("udp_length", udp.into())])
        },
    },
    Function {
        name: "frame-loss",
        case_name: "frame_loss_pct",
        about: "Share of the frames sent that were lost",
        params: &[
            required("tx", "tx", Kind::Count, "Frames sent"),
            required("rx", "rx", Kind::Count, "Frames received"),
        ],
        results: &[shown("pct", "loss_percent", "frame loss")],
        evaluate: |inputs| {
            let (sent, received) = (inputs.number("tx")?, inputs.number("rx")?);
            if received > sent {
                return Err(Refusal::new(
                    "rx",
                    "must not exceed the frames sent: count no duplicates",
                ));
            }
            Ok(vec![("pct", ethernet::frame_loss_percent(sent, received).into())])
        },
    },
    Function {
        name: "back-to-back",
        case_name: "b2b_buffer_time",
        about: "Buffer time of a device out of its longest burst (RFC 9004)",
        params: &[
            required("frames", "avg_b2b_frames", Kind::Decimal, "Average longest burst in frames"),
            required("max-fps", "max_fps", Kind::Decimal, "Most frames a second on the line"),
            required(
                "throughput-fps",
                "throughput_fps",
                Kind::Decimal,
                "Throughput in frames a second",
            ),
            optional("actual-fps", "actual_fps", Kind::Decimal, "Frame rate to state the time for"),
        ],
        results: &[
            shown("implied_s", "implied_s", "implied buffer time"),
            shown("corrected_s", "corrected_s", "corrected buffer time"),
            shown("actual_s", "actual_s", "buffer time at the actual rate"),
        ],
        evaluate: |inputs| {
            let (rates, frames) = (frame_rates(inputs)?, inputs.number("avg_b2b_frames")?);
            let corrected = back_to_back::corrected_buffer_time(frames, rates);
            let mut figures = vec![
                ("implied_s", back_to_back::implied_buffer_time(frames, rates).into()),
                ("corrected_s", corrected.into()),
            ];
            if inputs.has("actual_fps") {
                let actual = inputs.per_second("actual_fps")?;
                let time = back_to_back::buffer_time_at(corrected, rates, actual);
                figures.push(("actual_s", time.into()));
            }
            Ok(figures)
        },
    },
    Function {
        name: "back-to-back-applies",
        case_name: "b2b_frame_size_applicable",
        about: "Whether a frame length can be tested for its longest burst",
        params: &[
            required("max-fps", "max_fps", Kind::Decimal, "Most frames a second on the line"),
            required(
                "throughput-fps",
                "throughput_fps",
                Kind::Decimal,
                "Throughput in frames a second",
            ),
        ],
        results: &[shown("applicable", "applicable", "applicable")],
        evaluate: |inputs| {
            Ok(vec![("applicable", back_to_back::is_applicable(frame_rates(inputs)?).into())])
        },
    },
    Function {
        name: "buffer-fill-time",
        case_name: "buffer_fill_time",
        about: "How long a buffer takes to fill at line rate",
        params: &[
            required("frames", "buffer_frames", Kind::Decimal, "Buffer in frames"),
            required("max-fps", "max_fps", Kind::Decimal, "Most frames a second on the line"),
            required(
                "throughput-fps",
                "throughput_fps",
                Kind::Decimal,
                "Throughput in frames a second",
            ),
        ],
        results: &[shown("seconds", "fill_s", "fill time")],
        evaluate: |inputs| {
            let (rates, frames) = (frame_rates(inputs)?, inputs.number("buffer_frames")?);
            if rates.throughput > rates.max {
                return Err(Refusal::new(
                    "throughput_fps",
                    "must not exceed what the line carries",
                ));
            }
            Ok(vec![("seconds", back_to_back::fill_time(frames, rates).into())])
        },
    },
];

fn frame_rates(inputs: &Inputs) -> Result<FrameRates, Refusal> {
    let throughput = inputs.per_second("throughput_fps")?;
    Ok(FrameRates { max: inputs.per_second("max_fps")?, throughput })
}
