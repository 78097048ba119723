//! Delays, capacity, responsiveness and service tests of a path.

use fp_method::formula::capacity::{self, Feedback, RateAdjustment};
use fp_method::formula::rpm::{self, ForeignProbes, Label};
use fp_method::formula::stamp::{self, Authentication, FourTimes};
use fp_method::formula::{delay_variation, mbm};
use fp_method::y1564::{self, Profile};
use fp_method::{Number, Seconds};
use fp_model::Layer;

use crate::cli::calc::function::{
    Figure, Figures, Function, Inputs, Kind, Param, Refusal, Shown, optional, required, shown,
};

const DELAYS: Param =
    required("delays", "delays_ms", Kind::MillisList, "One-way delays, such as 10ms,12ms");
const AUTHENTICATED: Param =
    optional("authenticated", "authenticated", Kind::Switch, "Packets carry an HMAC");
const PACKET_SIZE: &[Shown] = &[shown("bytes", "packet_bytes", "packet")];
const CIR: Param = required("cir", "cir_bps", Kind::Rate(Layer::L2), "Committed information rate");
const EIR: Param = required("eir", "eir_bps", Kind::Rate(Layer::L2), "Excess information rate");
const RPM: &[Shown] = &[
    shown("foreign", "foreign_rpm", "new connections"),
    shown("loaded", "loaded_rpm", "connections under load"),
    shown("rpm", "responsiveness_rpm", "responsiveness"),
];

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "pdv",
        case_name: "pdv",
        about: "Packet delay variation: each delay above the smallest (RFC 5481)",
        params: &[DELAYS],
        results: &[
            shown("pdv_ms", "pdv_ms", "packet delay variation"),
            shown("range_ms", "range_ms", "range"),
        ],
        evaluate: |inputs| {
            let variation = delay_variation::packet_delay_variation(&delays_ms(inputs)?);
            let range = variation.iter().copied().reduce(Seconds::max).map(Seconds::millis);
            let range = range.unwrap_or(Number::UNDEFINED);
            Ok(vec![("pdv_ms", millis(variation)), ("range_ms", range.into())])
        },
    },
    Function {
        name: "ipdv",
        case_name: "ipdv",
        about: "Inter-packet delay variation: each delay above the one before (RFC 5481)",
        params: &[DELAYS],
        results: &[shown("ipdv_ms", "ipdv_ms", "inter-packet delay variation")],
        evaluate: |inputs| {
            let variation = delay_variation::inter_packet_delay_variation(&delays_ms(inputs)?);
            Ok(vec![("ipdv_ms", millis(variation))])
        },
    },
    Function {
        name: "jitter",
        case_name: "rtp_jitter",
        about: "Interarrival jitter after each packet (RFC 3550)",
        params: &[DELAYS],
        results: &[shown("jitter_ms", "jitter_ms", "jitter")],
        evaluate: |inputs| {
            let jitter = delay_variation::interarrival_jitter(&delays_ms(inputs)?);
            Ok(vec![("jitter_ms", millis(jitter))])
        },
    },
    Function {
        name: "stamp-size",
        case_name: "stamp_packet_size",
        about: "Base packet of STAMP",
        params: &[AUTHENTICATED],
        results: PACKET_SIZE,
        evaluate: |inputs| {
            Ok(vec![("bytes", stamp::stamp_packet_bytes(authentication(inputs)?).into())])
        },
    },
    Function {
        name: "twamp-reflector-min",
        case_name: "twamp_reflector_min",
        about: "Smallest packet of a TWAMP reflector",
        params: &[AUTHENTICATED],
        results: PACKET_SIZE,
        evaluate: |inputs| {
            let bytes = stamp::twamp_reflector_min_bytes(authentication(inputs)?);
            Ok(vec![("bytes", bytes.into())])
        },
    },
    Function {
        name: "twamp-sender-min",
        case_name: "twamp_sender_min",
        about: "Smallest packet of a TWAMP sender",
        params: &[AUTHENTICATED],
        results: PACKET_SIZE,
        evaluate: |inputs| {
            let bytes = stamp::twamp_sender_min_bytes(authentication(inputs)?);
            Ok(vec![("bytes", bytes.into())])
        },
    },
    Function {
        name: "error-estimate",
        case_name: "error_estimate_decode",
        about: "Error estimate field of a test packet",
        params: &[required("word", "word", Kind::Count, "The field, 0 to 65535")],
        results: &[
            shown("valid", "valid", "valid"),
            shown("synchronized", "synchronized", "synchronised"),
            shown("seconds", "error_s", "error"),
        ],
        evaluate: |inputs| {
            let field = u16::try_from(inputs.count("word")?);
            let field = field.map_err(|_| Refusal::new("word", "must be 0 to 65535"))?;
            Ok(match stamp::decode_error_estimate(field) {
                None => vec![("valid", false.into())],
                Some(estimate) => vec![
                    ("valid", true.into()),
                    ("synchronized", estimate.synchronized.into()),
                    ("seconds", estimate.error.into()),
                ],
            })
        },
    },
    Function {
        name: "ntp-timestamp",
        case_name: "unix_to_ntp",
        about: "NTP timestamp of a time since 1970",
        params: &[
            required("unix", "unix_s", Kind::Count, "Seconds since 1970"),
            required("nanos", "nanos", Kind::Count, "Nanoseconds of the second").or("0"),
        ],
        results: &[
            shown("seconds", "seconds", "seconds field"),
            shown("fraction", "fraction", "fraction field"),
        ],
        evaluate: |inputs| {
            let nanos = inputs.small_count("nanos")?;
            let stamp = stamp::ntp_timestamp(inputs.count("unix_s")?, nanos);
            let stamp = stamp.ok_or_else(|| Refusal::new("nanos", "must be below 1000000000"))?;
            Ok(vec![("seconds", stamp.seconds.into()), ("fraction", stamp.fraction.into())])
        },
    },
    Function {
        name: "stamp-delays",
        case_name: "stamp_delays",
        about: "Delays out of the four timestamps of a test packet",
        params: &[
            required("t1", "t1", Kind::Time, "Sent"),
            required("t2", "t2", Kind::Time, "Received by the reflector"),
            required("t3", "t3", Kind::Time, "Sent back"),
            required("t4", "t4", Kind::Time, "Received back"),
        ],
        results: &[
            shown("rtt_s", "rtt_s", "round trip"),
            shown("forward_s", "forward_s", "forward"),
            shown("backward_s", "backward_s", "backward"),
            shown("reflector_s", "reflector_s", "in the reflector"),
        ],
        evaluate: |inputs| {
            let time = |key| inputs.signed(key).map(Seconds);
            let times =
                FourTimes { t1: time("t1")?, t2: time("t2")?, t3: time("t3")?, t4: time("t4")? };
            Ok(vec![
                ("rtt_s", times.round_trip().into()),
                ("forward_s", times.forward().into()),
                ("backward_s", times.backward().into()),
                ("reflector_s", times.reflector().into()),
            ])
        },
    },
    Function {
        name: "capacity-row",
        case_name: "capacity_rate_row",
        about: "Sending rate of a row of the rate table (RFC 9097)",
        params: &[required("index", "index", Kind::Count, "Row")],
        results: &[shown("mbps", "rate_mbps", "rate at layer 3")],
        evaluate: |inputs| {
            Ok(vec![("mbps", capacity::row_rate(inputs.count("index")?).megabits().into())])
        },
    },
    Function {
        name: "capacity-rows",
        case_name: "capacity_rows_below_10g",
        about: "Rows of the rate table below 10 Gbit/s",
        params: &[],
        results: &[shown("n", "rows", "rows")],
        evaluate: |_| Ok(vec![("n", capacity::rows_below_ten_gigabit().into())]),
    },
    Function {
        name: "capacity-backoff",
        case_name: "lost_status_backoff",
        about: "How long a sender waits for lost status messages (RFC 9097)",
        params: &[
            required("upper-delay", "udrt_s", Kind::Time, "Upper delay limit").or("90ms"),
            required("feedback", "ft_s", Kind::Time, "Feedback interval").or("50ms"),
            required("lost", "w", Kind::Count, "Messages lost before"),
        ],
        results: &[shown("seconds", "wait_s", "wait")],
        evaluate: |inputs| {
            let (upper, interval) = (inputs.seconds("udrt_s")?, inputs.seconds("ft_s")?);
            let wait = capacity::lost_status_backoff(upper, interval, inputs.count("w")?);
            Ok(vec![("seconds", wait.into())])
        },
    },
    Function {
        name: "capacity-adjust",
        case_name: "capacity_algorithm_b",
        about: "Rows after each feedback message, type B (RFC 9097)",
        params: &[
            required(
                "steps",
                "steps",
                Kind::Feedback,
                "Feedback as ERRORS:DELAYRANGE, such as 0:5ms,20:5ms",
            ),
            required("start", "start_row", Kind::Count, "Row to begin with").or("0"),
        ],
        results: &[
            shown("rows", "rows", "rows"),
            shown("slow_adj", "slow_adjustments", "slow adjustments"),
        ],
        evaluate: adjust,
    },
    Function {
        name: "mbm-targets",
        case_name: "mbm_targets",
        about: "Window and run length that a rate needs (RFC 8337)",
        params: &[
            required("rate", "rate_bps", Kind::Rate(Layer::L4), "Target rate"),
            required("rtt", "rtt_s", Kind::Time, "Target round-trip time"),
            required("mtu", "mtu", Kind::Size, "Packet").or("1500"),
            required("headers", "header", Kind::Size, "Headers of a packet").or("64"),
        ],
        results: &[
            shown("window_packets", "window_packets", "window"),
            shown("run_length", "run_length_packets", "packets between losses"),
        ],
        evaluate: |inputs| {
            let (mtu, headers) = (inputs.bytes("mtu")?, inputs.bytes("header")?);
            if headers >= mtu {
                return Err(Refusal::new("header", "must be smaller than the packet"));
            }
            let rate = inputs.rate("rate_bps")?;
            let targets = mbm::targets(rate, inputs.seconds("rtt_s")?, mtu, headers);
            Ok(vec![
                ("window_packets", targets.window_packets.into()),
                ("run_length", targets.run_length_packets.into()),
            ])
        },
    },
    Function {
        name: "mbm-bursts",
        case_name: "mbm_bursts",
        about: "Full-rate bursts in which one loss is allowed (RFC 8337)",
        params: &[
            required("window", "window_packets", Kind::Count, "Window in packets"),
            required("run-length", "run_length", Kind::Count, "Packets between losses"),
            required("rtt", "rtt_s", Kind::Time, "Target round-trip time"),
        ],
        results: &[shown("bursts", "bursts", "bursts"), shown("seconds", "bursts_s", "their time")],
        evaluate: |inputs| {
            let targets = mbm::Targets {
                window_packets: inputs.number("window_packets")?,
                run_length_packets: inputs.number("run_length")?,
            };
            let bursts = mbm::bursts_between_losses(&targets);
            let time = inputs.seconds("rtt_s")? * bursts;
            Ok(vec![("bursts", bursts.into()), ("seconds", time.into())])
        },
    },
    Function {
        name: "sprt",
        case_name: "sprt",
        about: "Lines of the sequential probability ratio test (RFC 8337)",
        params: &[
            required("alpha", "alpha", Kind::Decimal, "Chance of a wrong rejection").or("0.05"),
            required("beta", "beta", Kind::Decimal, "Chance of a wrong acceptance").or("0.05"),
            required("run-length", "run_length", Kind::Decimal, "Packets between losses"),
        ],
        results: &[
            shown("k", "k", "k"),
            shown("h1", "h1", "h1"),
            shown("h2", "h2", "h2"),
            shown("s", "slope", "s"),
            shown("min_packets_zero_loss", "lossless_packets", "packets without loss that accept"),
        ],
        evaluate: |inputs| {
            let run_length = inputs.number("run_length")?;
            if run_length <= Number::whole(4) {
                return Err(Refusal::new("run_length", "must be more than 4 packets"));
            }
            let (alpha, beta) = (inputs.ratio("alpha")?, inputs.ratio("beta")?);
            let test = mbm::sequential_test(alpha, beta, run_length);
            let packets = mbm::lossless_packets_to_accept(&test);
            Ok(vec![
                ("k", test.k.into()),
                ("h1", test.h1.into()),
                ("h2", test.h2.into()),
                ("s", test.s.into()),
                ("min_packets_zero_loss", packets.into()),
            ])
        },
    },
    Function {
        name: "rpm",
        case_name: "rpm",
        about: "Responsiveness out of probes with TLS",
        params: &[
            required("tcp", "tcp_f_ms", Kind::Millis, "TCP handshake of a new connection"),
            required("tls", "tls_f_ms", Kind::Millis, "TLS round trip of a new connection"),
            required("http", "http_f_ms", Kind::Millis, "Request on a new connection"),
            required("loaded", "http_l_ms", Kind::Millis, "Request on a connection under load"),
        ],
        results: RPM,
        evaluate: |inputs| {
            let tls = Some(inputs.millis("tls_f_ms")?);
            responsiveness(inputs, tls)
        },
    },
    Function {
        name: "rpm-tcp",
        case_name: "rpm_tcp_only",
        about: "Responsiveness out of probes without TLS",
        params: &[
            required("tcp", "tcp_f_ms", Kind::Millis, "TCP handshake of a new connection"),
            required("http", "http_f_ms", Kind::Millis, "Request on a new connection"),
            required("loaded", "http_l_ms", Kind::Millis, "Request on a connection under load"),
        ],
        results: RPM,
        evaluate: |inputs| responsiveness(inputs, None),
    },
    Function {
        name: "rpm-class",
        case_name: "rpm_class",
        about: "Round trips per minute and what a user makes of them",
        params: &[required("rtt", "rtt_ms", Kind::Millis, "Round-trip time under load")],
        results: &[
            shown("rpm", "responsiveness_rpm", "responsiveness"),
            shown("label", "label", "label"),
        ],
        evaluate: |inputs| {
            let rpm = rpm::round_trips_per_minute(inputs.millis("rtt_ms")?);
            let label = Label::of(rpm).map(|label| Figure::Text(label.name().to_owned()));
            Ok(vec![("rpm", rpm.into()), ("label", label.unwrap_or(Number::UNDEFINED.into()))])
        },
    },
    Function {
        name: "y1564-steps",
        case_name: "y1564_steps",
        about: "Step load of a service test",
        params: &[CIR],
        results: &[shown("steps_bps", "steps_bps", "steps at layer 2")],
        evaluate: |inputs| {
            let steps = y1564::step_load(inputs.rate("cir_bps")?);
            Ok(vec![("steps_bps", Figure::List(steps.map(|step| step.0).to_vec()))])
        },
    },
    Function {
        name: "y1564-policing-rate",
        case_name: "y1564_policing_rate",
        about: "Rate of the policing step of a service test",
        params: &[CIR, EIR],
        results: &[shown("bps", "policing_bps", "rate at layer 2")],
        evaluate: |inputs| Ok(vec![("bps", y1564::policing_rate(profile(inputs)?).into())]),
    },
    Function {
        name: "y1564-eir",
        case_name: "y1564_eir_pass",
        about: "Whether the EIR step of a service test passes",
        params: &[
            CIR,
            EIR,
            required("flr", "flr_sac", Kind::Decimal, "Accepted frame loss ratio"),
            required("received", "rx_ir_bps", Kind::Rate(Layer::L2), "Rate received"),
        ],
        results: &[shown("pass", "pass", "pass")],
        evaluate: |inputs| {
            let (accepted, received) = (inputs.ratio("flr_sac")?, inputs.rate("rx_ir_bps")?);
            let passes = y1564::eir_step_passes(profile(inputs)?, accepted, received);
            Ok(vec![("pass", passes.into())])
        },
    },
];

/// Times in seconds, none of them negative.
pub(super) fn delays(inputs: &Inputs, key: &str) -> Result<Vec<Seconds>, Refusal> {
    let numbers = inputs.numbers(key)?;
    if numbers.is_empty() {
        return Err(Refusal::new(key, "must not be empty"));
    }
    if numbers.iter().any(|number| *number < Number::ZERO) {
        return Err(Refusal::new(key, "must not be negative"));
    }
    Ok(numbers.into_iter().map(Seconds).collect())
}

/// One-way delays; clocks that are not synchronised make them negative.
fn delays_ms(inputs: &Inputs) -> Result<Vec<Seconds>, Refusal> {
    let numbers = inputs.numbers("delays_ms")?;
    if numbers.is_empty() {
        return Err(Refusal::new("delays_ms", "must not be empty"));
    }
    Ok(numbers.into_iter().map(Seconds::of_millis).collect())
}

fn millis(times: Vec<Seconds>) -> Figure {
    Figure::List(times.into_iter().map(Seconds::millis).collect())
}

fn authentication(inputs: &Inputs) -> Result<Authentication, Refusal> {
    let on = inputs.has("authenticated") && inputs.flag("authenticated")?;
    Ok(if on { Authentication::On } else { Authentication::Off })
}

fn adjust(inputs: &Inputs) -> Result<Figures, Refusal> {
    let mut adjustment = RateAdjustment::starting_at(inputs.count("start_row")?);
    let (mut rows, mut slow) = (Vec::new(), Vec::new());
    for step in inputs.rows("steps")? {
        adjustment.on_feedback(Feedback {
            sequence_errors: step.number("seq_err")?,
            delay_range: step.millis("delay_range_ms")?,
        });
        rows.push(Number::from(adjustment.row));
        slow.push(Number::from(adjustment.slow_adjustments));
    }
    Ok(vec![("rows", Figure::List(rows)), ("slow_adj", Figure::List(slow))])
}

fn responsiveness(inputs: &Inputs, tls: Option<Seconds>) -> Result<Figures, Refusal> {
    let (tcp, http) = (inputs.millis("tcp_f_ms")?, inputs.millis("http_f_ms")?);
    let (foreign, loaded) = (ForeignProbes { tcp, tls, http }, inputs.millis("http_l_ms")?);
    Ok(vec![
        ("foreign", foreign.round_trips_per_minute().into()),
        ("loaded", rpm::round_trips_per_minute(loaded).into()),
        ("rpm", rpm::responsiveness(&foreign, loaded).into()),
    ])
}

fn profile(inputs: &Inputs) -> Result<Profile, Refusal> {
    let eir_l2 = inputs.rate("eir_bps")?;
    Ok(Profile { cir_l2: inputs.rate("cir_bps")?, eir_l2 })
}
