//! Which figures of a step are compared, what is better, and where their noise can be seen.

use std::time::Duration;

use fp_method::rounded;
use fp_model::Rate;

use crate::stored::fields::Fields;
use crate::text::{duration, grouped, rate, rate_within};

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
    /// The same, of the layer that the step's field `layer` names.
    RateOfLayer,
    Milliseconds,
    Microseconds,
    /// With so many decimals.
    Percent(usize),
    /// A share of one, as percent.
    Share,
    Bytes,
    Count,
}

impl Unit {
    pub(super) fn shown(self, value: f64) -> String {
        let time = |nanos: f64| duration(Duration::from_nanos(nanos.max(0.0).round() as u64));
        match self {
            Self::Rate | Self::RateOfLayer => rate(bps(value)),
            Self::Milliseconds => time(value * 1e6),
            Self::Microseconds => time(value * 1e3),
            Self::Percent(decimals) => format!("{} %", rounded(value, decimals)),
            Self::Share => format!("{:.4} %", 100.0 * value),
            Self::Bytes => format!("{} B", grouped(value.max(0.0).round() as u64)),
            Self::Count => grouped(value.max(0.0).round() as u64),
        }
    }

    /// With the interval in which it is known, if that is known.
    pub(super) fn within(self, measured: Measured) -> String {
        let Measured { value, at_least, at_most } = measured;
        match (self, at_least, at_most) {
            (Self::Rate | Self::RateOfLayer, ..) => {
                rate_within(bps(value), at_least.map(bps), at_most.map(bps))
            }
            (_, None, None) => self.shown(value),
            (_, Some(least), None) => format!("at least {}", self.shown(least)),
            (_, None, Some(most)) => format!("at most {}", self.shown(most)),
            (_, Some(least), Some(most)) => {
                format!("{} ± {}", self.shown(value), self.shown((most - least) / 2.0))
            }
        }
    }

    /// The largest difference from `value` that is too small to matter, however certain it is. Of
    /// times, 50 µs are a clock's and a scheduler's own.
    pub(super) fn negligible(self, value: f64) -> f64 {
        let share = |part: f64| part * value.abs();
        match self {
            Self::Rate | Self::RateOfLayer => share(0.005),
            Self::Milliseconds => share(0.01).max(0.05),
            Self::Microseconds => share(0.01).max(50.0),
            Self::Percent(_) => 0.1,
            // Loss ratios are promised in hundredths of a percent; bytes and frames are counted.
            Self::Share | Self::Bytes | Self::Count => 0.0,
        }
    }
}

const fn bps(value: f64) -> Rate {
    Rate::bps(value.max(0.0) as u64)
}

/// A figure of one run, with the ends of its own interval as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) value: f64,
    pub(super) at_least: Option<f64>,
    pub(super) at_most: Option<f64>,
}

/// Where one run shows how sure a figure is that has no interval of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
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
    /// Of this step; a rate of another layer than that of the step `beside` is converted to its
    /// layer.
    pub(super) fn measured(&self, step: Fields<'_>, beside: Fields<'_>) -> Option<Measured> {
        let (step_of, field) = match self.field.split_once('.') {
            Some((outer, inner)) => (step.inside(outer), inner),
            None => (step, self.field),
        };
        let value = step_of.number(field)?;
        let scale = if self.unit == Unit::RateOfLayer { conversion(step, beside)? } else { 1.0 };
        let bound = |ending: &str| Some(scale * step_of.number(&format!("{field}_{ending}"))?);
        let (at_least, at_most) = (bound("at_least"), bound("at_most"));
        Some(Measured { value: scale * value, at_least, at_most })
    }
}

/// By what a rate of the layer of `step` is multiplied to be one of the layer of `beside`.
fn conversion(step: Fields<'_>, beside: Fields<'_>) -> Option<f64> {
    let [from, to] = [step, beside].map(|step| step.word("layer"));
    if from == to {
        return Some(1.0);
    }
    let at = |layer: &str| step.number(&format!("rate_{layer}_bps"));
    Some(at(to)? / at(from)?.max(1.0))
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
use Spread::{Deviation, Means, Nowhere, Rtt, Throughput};
use Unit::{Bytes, Count, Microseconds, Milliseconds, Percent, Share};

static PATH_MTU: [Figure; 1] = [figure("mtu_bytes", "path MTU", Bytes, Higher, Nowhere)];
static BASELINE: [Figure; 2] = [
    figure("rtt_min_ms", "smallest RTT", Milliseconds, Lower, Nowhere),
    figure("rtt_p99_ms", "RTT, 99th percentile", Milliseconds, Lower, Nowhere),
];
static BOTTLENECK: [Figure; 1] =
    [figure("rate_bps", "bottleneck", Unit::RateOfLayer, Higher, Nowhere)];
/// The transfer time ratio and the buffer delay follow from the throughput and the RTT beside what
/// the path allows: they say nothing of a change that these do not say.
static TCP: [Figure; 3] = [
    figure("throughput_bps", "throughput (l4)", Unit::Rate, Higher, Throughput),
    figure("efficiency_percent", "efficiency", Percent(2), Higher, Nowhere),
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
    [figure("estimated_cbs_bytes", "estimated CBS", Bytes, Neither, Nowhere)];
static REFILL: [Figure; 1] =
    [figure("measured_cir_bps", "policer passes", Unit::Rate, Neither, Nowhere)];
static DISCOVERY: [Figure; 4] = [
    figure("cir_bps", "CIR", Unit::Rate, Neither, Nowhere),
    figure("cbs_bytes", "CBS", Bytes, Neither, Nowhere),
    figure("rate_bps", "shaper or line", Unit::Rate, Neither, Nowhere),
    figure("bucket_bytes", "bucket", Bytes, Neither, Nowhere),
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
static DEVICE: [Figure; 4] = [
    figure("bsa_bytes", "burst size achieved", Bytes, Neither, Nowhere),
    figure("rate_estimate_l2_bps", "rate of the policer (l2)", Unit::Rate, Neither, Nowhere),
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
        // The window of a throughput trial follows from the rate and the RTT of the path, which may
        // be what has changed; the windows of a walk are the parts in which it goes up.
        let walk = step.word("role") == "walk";
        if let Some(fraction) = step.number("window_fraction").filter(|_| walk) {
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
        let again = (self.again > 0).then(|| format!("trial {}", self.again + 1));
        let words: Vec<&str> = self.words.iter().chain(&again).map(String::as_str).collect();
        if words.is_empty() { name } else { format!("{name}, {}", words.join(", ")) }
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
