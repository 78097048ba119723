//! Which figures of a step are compared, what is better, and where their noise can be seen.

use std::time::Duration;

use fp_method::rounded;
use fp_model::Rate;

use crate::stored::fields::Fields;
use crate::text::{duration, grouped, rate};

/// A figure of a kind of step.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) field: &'static str,
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) better: Better,
    pub(super) spread: Spread,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    Higher,
    Lower,
    Neither,
}

/// How a figure is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Bits per second.
    Rate,
    Milliseconds,
    Microseconds,
    /// With so many decimals.
    Percent(usize),
    /// A share of one, as percent.
    Share,
    Bytes,
    Count,
    Ratio,
}

impl Unit {
    pub(super) fn shown(self, value: f64) -> String {
        let time = |nanos: f64| duration(Duration::from_nanos(nanos.max(0.0).round() as u64));
        match self {
            Self::Rate => rate(Rate::bps(value.max(0.0) as u64)),
            Self::Milliseconds => time(value * 1e6),
            Self::Microseconds => time(value * 1e3),
            Self::Percent(decimals) => format!("{} %", rounded(value, decimals)),
            Self::Share => format!("{:.4} %", 100.0 * value),
            Self::Bytes => format!("{} B", grouped(value.max(0.0).round() as u64)),
            Self::Count => grouped(value.max(0.0).round() as u64),
            Self::Ratio => format!("{value:.3}"),
        }
    }
}

/// Where one run shows how sure its figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// Fields with `_at_least` and `_at_most`.
    Bounds,
    /// What the series carried in its slots.
    Throughput,
    /// The round trips of the series' slots.
    Rtt,
    /// The field with the means of repetitions.
    Means(&'static str),
    /// The field with the deviation of repetitions.
    Deviation(&'static str),
    Nowhere,
}

impl Figure {
    pub(super) fn value(&self, step: Fields<'_>) -> Option<f64> {
        match self.field.split_once('.') {
            Some((outer, inner)) => step.inside(outer).number(inner),
            None => step.number(self.field),
        }
    }
}

const fn figure(
    field: &'static str,
    name: &'static str,
    unit: Unit,
    better: Better,
    spread: Spread,
) -> Figure {
    Figure { field, name, unit, better, spread }
}

use Better::{Higher, Lower, Neither};
use Spread::{Bounds, Deviation, Means, Nowhere, Rtt, Throughput};
use Unit::{Bytes, Count, Microseconds, Milliseconds, Percent, Ratio, Share};

static PATH_MTU: [Figure; 1] = [figure("mtu_bytes", "path MTU", Bytes, Higher, Nowhere)];
static BASELINE: [Figure; 2] = [
    figure("rtt_min_ms", "smallest RTT", Milliseconds, Lower, Nowhere),
    figure("rtt_p99_ms", "RTT, 99th percentile", Milliseconds, Lower, Nowhere),
];
static BOTTLENECK: [Figure; 1] = [figure("rate_bps", "bottleneck", Unit::Rate, Higher, Nowhere)];
static TCP: [Figure; 5] = [
    figure("throughput_bps", "throughput (l4)", Unit::Rate, Higher, Throughput),
    figure("transfer_time_ratio", "transfer time ratio", Ratio, Lower, Nowhere),
    figure("efficiency_percent", "efficiency", Percent(2), Higher, Nowhere),
    figure("buffer_delay_percent", "buffer delay", Percent(1), Lower, Nowhere),
    figure("rtt_mean_ms", "RTT", Milliseconds, Lower, Rtt),
];
static FLOW: [Figure; 5] = [
    figure("rate_bps", "rate received (l4)", Unit::Rate, Higher, Throughput),
    figure("loss_percent", "lost", Percent(3), Lower, Nowhere),
    figure("jitter_us", "jitter", Microseconds, Lower, Nowhere),
    figure("one_way_delay.mean_us", "delay one way", Microseconds, Lower, Nowhere),
    figure("rtt_mean_ms", "RTT", Milliseconds, Lower, Rtt),
];
static PROFILE: [Figure; 1] =
    [figure("tracking_error_percent", "tracking error", Percent(2), Lower, Nowhere)];
static CBS: [Figure; 2] = [
    figure("rx_burst_bytes_mean", "mean burst received", Bytes, Higher, Nowhere),
    figure("frames_lost", "frames lost", Count, Lower, Nowhere),
];
static POLICING: [Figure; 1] =
    [figure("estimated_cbs_bytes", "estimated CBS", Bytes, Neither, Bounds)];
static REFILL: [Figure; 1] =
    [figure("measured_cir_bps", "policer passes", Unit::Rate, Neither, Nowhere)];
static DISCOVERY: [Figure; 4] = [
    figure("cir_bps", "CIR", Unit::Rate, Neither, Bounds),
    figure("cbs_bytes", "CBS", Bytes, Neither, Bounds),
    figure("rate_bps", "shaper or line", Unit::Rate, Neither, Bounds),
    figure("bucket_bytes", "bucket", Bytes, Neither, Bounds),
];
static THROUGHPUT: [Figure; 1] =
    [figure("rate_l2_bps", "throughput (l2)", Unit::Rate, Higher, Nowhere)];
static LATENCY: [Figure; 2] = [
    figure("latency_mean_ms", "latency, mean", Milliseconds, Lower, Means("repetition_means_ms")),
    figure("latency_max_ms", "latency, max", Milliseconds, Lower, Nowhere),
];
static BACK_TO_BACK: [Figure; 1] =
    [figure("average_frames", "back-to-back frames", Count, Higher, Deviation("deviation_frames"))];
static RECOVERY: [Figure; 1] = [figure("recovery_ms", "recovery", Milliseconds, Lower, Nowhere)];
static SERVICE: [Figure; 6] = [
    figure("ir_bps", "information rate (l2)", Unit::Rate, Higher, Throughput),
    figure("throughput_bps", "throughput (l4)", Unit::Rate, Higher, Throughput),
    figure("flr", "frame loss ratio", Share, Lower, Nowhere),
    figure("ftd_ms", "frame transfer delay", Milliseconds, Lower, Nowhere),
    figure("fdv_ms", "frame delay variation", Milliseconds, Lower, Nowhere),
    figure("availability_percent", "availability", Percent(3), Higher, Nowhere),
];
static DEVICE: [Figure; 3] = [
    figure("bsa_bytes", "burst size achieved", Bytes, Neither, Nowhere),
    figure("depth_estimate_bytes", "bucket", Bytes, Neither, Nowhere),
    figure("sr_l2_bps", "shaper rate (l2)", Unit::Rate, Neither, Nowhere),
];

static STRESS: [Figure; 5] = [
    figure("connections_peak", "connections at once", Count, Higher, Nowhere),
    figure("setup_rate_cps_peak", "set up in the best second", Count, Higher, Nowhere),
    figure("failed_percent", "failed", Percent(3), Lower, Nowhere),
    figure("handshake_us.p99", "handshake, 99th percentile", Microseconds, Lower, Nowhere),
    figure("throughput_bps", "payload (l4)", Unit::Rate, Higher, Nowhere),
];

/// Of steps of this name; of others nothing is compared.
pub(super) fn of(name: &str) -> &'static [Figure] {
    match name {
        "path_mtu" => &PATH_MTU,
        "baseline_rtt" => &BASELINE,
        "bottleneck" => &BOTTLENECK,
        "tcp" => &TCP,
        "flow" => &FLOW,
        "profile" => &PROFILE,
        "cbs" => &CBS,
        "policing" => &POLICING,
        "rate" => &REFILL,
        "discovery" => &DISCOVERY,
        "rfc2544_throughput" => &THROUGHPUT,
        "rfc2544_latency" => &LATENCY,
        "rfc2544_back_to_back" => &BACK_TO_BACK,
        "rfc2544_recovery" => &RECOVERY,
        "y1564_configuration" | "y1564_performance" => &SERVICE,
        "stress" => &STRESS,
        name if name.starts_with("rfc7640_") => &DEVICE,
        _ => &[],
    }
}

/// What a step is: the same in two runs of one method.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) name: String,
    /// Directions, roles, lengths: what tells it from others of its name.
    words: Vec<String>,
    /// Counts steps that are the same in all of that.
    pub(super) again: usize,
    /// In its document; it orders and does not tell apart.
    place: usize,
}

impl Key {
    pub(super) fn of(step: Fields<'_>, place: usize) -> Self {
        const WORDS: [&str; 9] = [
            "service",
            "flow",
            "part",
            "profile",
            "direction",
            "flow_direction",
            "role",
            "sender",
            "step",
        ];
        let mut words: Vec<String> = Vec::new();
        for field in WORDS {
            let word = step.word(field).to_owned();
            if !word.is_empty() && !words.contains(&word) && word != "flow" {
                words.push(word);
            }
        }
        if let Some(fraction) = step.number("window_fraction") {
            words.push(format!("{:.0} % of the window", 100.0 * fraction));
        }
        if let Some(percent) = step.count("cir_percent") {
            words.push(format!("{percent} % CIR"));
        }
        if step.number("frame_bytes").is_some() && step.word("name") != "bottleneck" {
            words.push(format!("{} bytes", step.grouped("frame_bytes")));
        }
        Self { name: step.word("name").to_owned(), words, again: 0, place }
    }

    pub(super) fn words(&self) -> String {
        let name = self.name.trim_start_matches("rfc2544_").trim_start_matches("rfc7640_");
        let name = name.trim_start_matches("y1564_").replace('_', " ");
        let name = match name.as_str() {
            "path mtu" => String::from("path MTU"),
            "baseline rtt" => String::from("baseline RTT"),
            "tcp" | "cbs" => name.to_uppercase(),
            _ => name,
        };
        if self.words.is_empty() { name } else { format!("{name}, {}", self.words.join(", ")) }
    }

    pub(super) const fn place(&self) -> usize {
        self.place
    }

    fn identity(&self) -> (&str, &[String], usize) {
        (&self.name, &self.words, self.again)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.identity().cmp(&other.identity())
    }
}
