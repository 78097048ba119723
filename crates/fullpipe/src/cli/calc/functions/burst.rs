//! Bursts against a policer and the tests of CIR and CBS.

use fp_method::burst::{self, FrameBurst, OverloadTrial, Policer};
use fp_method::{BitsPerSecond, Bytes};
use fp_model::Layer;

use crate::cli::calc::function::{Figures, Function, Inputs, Kind, Refusal, required, shown};

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "burst-time",
        case_name: "burst_time",
        about: "How long a burst lasts on the line",
        params: &[
            required("burst", "burst_bytes", Kind::Size, "Bytes of the burst"),
            required("link", "link_bps", Kind::Rate(Layer::L2), "Rate at which they arrive"),
        ],
        results: &[shown("seconds", "burst_s", "burst time")],
        evaluate: |inputs| {
            let time = inputs.bytes("burst_bytes")? / inputs.rate("link_bps")?;
            Ok(vec![("seconds", time.into())])
        },
    },
    Function {
        name: "burst-interval",
        case_name: "transmission_interval",
        about: "Interval at which bursts have a mean rate",
        params: &[
            required("burst", "burst_bytes", Kind::Size, "Bytes of the burst"),
            required("rate", "rate_bps", Kind::Rate(Layer::L2), "Mean rate"),
        ],
        results: &[shown("seconds", "interval_s", "transmission interval")],
        evaluate: |inputs| {
            let time = inputs.bytes("burst_bytes")? / inputs.rate("rate_bps")?;
            Ok(vec![("seconds", time.into())])
        },
    },
    Function {
        name: "block-count",
        case_name: "block_count",
        about: "Blocks of a file",
        params: &[
            required("file", "file_bytes", Kind::Size, "File"),
            required("block", "block_bytes", Kind::Size, "Block"),
        ],
        results: &[shown("n", "blocks", "blocks")],
        evaluate: |inputs| {
            let block = inputs.bytes("block_bytes")?;
            Ok(vec![("n", burst::block_count(inputs.bytes("file_bytes")?, block).into())])
        },
    },
    Function {
        name: "policer-burst",
        case_name: "policer_burst_fluid",
        about: "What a policer lets through of a burst that flows evenly",
        params: &[
            required("cbs", "cbs", Kind::Size, "Committed burst size"),
            required("cir", "cir_bps", Kind::Rate(Layer::L2), "Committed information rate"),
            required("link", "link_bps", Kind::Rate(Layer::L2), "Rate at which the burst arrives"),
            required("burst", "burst", Kind::Size, "Bytes of the burst"),
        ],
        results: &[
            shown("burst_s", "burst_s", "burst time"),
            shown("refill_bytes", "refill_bytes", "tokens refilled meanwhile"),
            shown("left_bytes", "left_bytes", "tokens left"),
            shown("nonconforming_bytes", "dropped_bytes", "dropped"),
        ],
        evaluate: |inputs| {
            let (burst, link) = (inputs.bytes("burst")?, inputs.rate("link_bps")?);
            let outcome = burst::fluid_burst(policer(inputs)?, burst, link);
            Ok(vec![
                ("burst_s", outcome.lasts.into()),
                ("refill_bytes", outcome.refill.into()),
                ("left_bytes", outcome.left.into()),
                ("nonconforming_bytes", outcome.dropped.into()),
            ])
        },
    },
    Function {
        name: "policer-frames",
        case_name: "policer_burst_frames",
        about: "What a policer lets through of a burst of frames, and the CBS that this shows",
        params: &[
            required("cbs", "cbs", Kind::Size, "Committed burst size"),
            required("cir", "cir_bps", Kind::Rate(Layer::L2), "Committed information rate"),
            required("link", "link_bps", Kind::Rate(Layer::L1), "Line rate"),
            required("frame", "frame_bytes", Kind::Size, "Frame with FCS"),
            required("frames", "frames", Kind::Count, "Frames of the burst"),
            required("l1-overhead", "l1_overhead", Kind::Size, "Preamble and gap").or("20"),
        ],
        results: &[
            shown("admitted", "frames_received", "frames admitted"),
            shown("rx_bytes", "rx_bytes", "bytes admitted"),
            shown("first_drop_index", "first_dropped_frame", "first frame dropped, from 0"),
            shown("last_admitted_index", "last_admitted_frame", "last frame admitted, from 0"),
            shown(
                "cbs_est_last_admitted",
                "cbs_at_last_admitted_bytes",
                "CBS by the last frame admitted",
            ),
            shown("cbs_est_last_frame", "cbs_at_last_sent_bytes", "CBS by the last frame sent"),
            shown("cbs_lower", "cbs_at_least_bytes", "CBS at least"),
            shown("cbs_upper", "cbs_below_bytes", "CBS less than"),
        ],
        evaluate: policer_frames,
    },
    Function {
        name: "refill",
        case_name: "refill_after_idle",
        about: "Tokens in a bucket after an idle time",
        params: &[
            required("tokens", "start_tokens", Kind::Size, "Tokens before, in bytes"),
            required("cir", "cir_bps", Kind::Rate(Layer::L2), "Committed information rate"),
            required("idle", "idle_s", Kind::Time, "Idle time"),
            required("cbs", "cbs", Kind::Size, "Committed burst size"),
        ],
        results: &[
            shown("tokens", "tokens_bytes", "tokens"),
            shown("uncapped", "uncapped_bytes", "tokens without the brim"),
        ],
        evaluate: |inputs| {
            let (policer, idle) = (policer(inputs)?, inputs.seconds("idle_s")?);
            let uncapped = burst::tokens_after_idle(policer, inputs.bytes("start_tokens")?, idle);
            Ok(vec![("tokens", uncapped.min(policer.cbs).into()), ("uncapped", uncapped.into())])
        },
    },
    Function {
        name: "cbs-plan",
        case_name: "cbs_test_plan",
        about: "Bursts of a CBS test",
        params: &[
            required("cbs", "cbs", Kind::Size, "Committed burst size"),
            required("frame", "frame_bytes", Kind::Size, "Frame with FCS"),
            required("cir", "cir_bps", Kind::Rate(Layer::L2), "Committed information rate"),
            required("time", "test_s", Kind::Time, "Duration of the test").or("2s"),
        ],
        results: &[
            shown("frames_per_burst", "frames_per_burst", "frames of a burst"),
            shown("burst_bytes", "burst_bytes", "burst"),
            shown("period_s", "period_s", "period"),
            shown("bursts", "bursts", "bursts"),
            shown("frames_total", "frames_sent", "frames in all"),
        ],
        evaluate: |inputs| {
            let (policer, frame) = (policer(inputs)?, inputs.bytes("frame_bytes")?);
            let plan = burst::cbs_plan(policer, frame, inputs.seconds("test_s")?);
            let unfit = || Refusal::new("frame_bytes", "must be 1 at least and fit into the CBS");
            let plan = plan.ok_or_else(unfit)?;
            Ok(vec![
                ("frames_per_burst", plan.frames_per_burst.into()),
                ("burst_bytes", plan.burst.into()),
                ("period_s", plan.period.into()),
                ("bursts", plan.bursts.into()),
                ("frames_total", plan.frames_total.into()),
            ])
        },
    },
    Function {
        name: "rate-found",
        case_name: "throughput_found_behind_policer",
        about: "Rate that a search without loss finds behind a policer",
        params: &[
            required("cir", "cir_bps", Kind::Rate(Layer::L2), "Committed information rate"),
            required("cbs", "cbs", Kind::Size, "Committed burst size"),
            required("time", "trial_s", Kind::Time, "Duration of a trial"),
        ],
        results: &[shown("bps", "found_bps", "rate found at layer 2")],
        evaluate: |inputs| {
            let trial = inputs.seconds("trial_s")?;
            Ok(vec![("bps", burst::rate_found_behind(policer(inputs)?, trial).into())])
        },
    },
    Function {
        name: "policer-of-trials",
        case_name: "cir_cbs_from_two_trials",
        about: "CIR and CBS out of two overload trials of different length",
        params: &[
            required("rx1", "rx1", Kind::Size, "Bytes received in the first"),
            required("t1", "t1", Kind::Time, "Duration of the first"),
            required("rx2", "rx2", Kind::Size, "Bytes received in the second"),
            required("t2", "t2", Kind::Time, "Duration of the second"),
        ],
        results: &[shown("cir_bps", "cir_bps", "CIR at layer 2"), shown("cbs", "cbs_bytes", "CBS")],
        evaluate: |inputs| {
            let trial = |received, lasted| -> Result<_, Refusal> {
                let lasted = inputs.seconds(lasted)?;
                Ok(OverloadTrial { received: inputs.bytes(received)?, lasted })
            };
            let found = burst::policer_of(trial("rx1", "t1")?, trial("rx2", "t2")?);
            Ok(vec![("cir_bps", found.cir_l2.into()), ("cbs", found.cbs.into())])
        },
    },
    Function {
        name: "cir-of-goodput",
        case_name: "cir_from_tcp_goodput",
        about: "CIR that a policer must have for TCP to get a goodput through it",
        params: &[
            required("goodput", "goodput_bps", Kind::Rate(Layer::L4), "TCP goodput"),
            required("payload", "tcp_payload", Kind::Size, "TCP payload of a frame"),
            required("frame", "l2_frame", Kind::Size, "Frame with FCS"),
        ],
        results: &[shown("cir_bps", "cir_bps", "CIR at layer 2")],
        evaluate: |inputs| {
            let (payload, frame) = (inputs.bytes("tcp_payload")?, inputs.bytes("l2_frame")?);
            let cir = burst::cir_of_goodput(inputs.rate("goodput_bps")?, payload, frame);
            Ok(vec![("cir_bps", cir.into())])
        },
    },
    Function {
        name: "cbs-for-windows",
        case_name: "cbs_for_windows",
        about: "CBS with which TCP loses nothing of a window sent back to back",
        params: &[
            required("window", "total_window", Kind::Size, "Sum of the windows"),
            required("payload", "tcp_payload", Kind::Size, "TCP payload of a frame"),
            required("frame", "l2_frame", Kind::Size, "Frame with FCS"),
        ],
        results: &[shown("cbs_bytes", "cbs_bytes", "CBS")],
        evaluate: |inputs| {
            let (payload, frame) = (inputs.bytes("tcp_payload")?, inputs.bytes("l2_frame")?);
            let cbs: Bytes = burst::cbs_for_window(inputs.bytes("total_window")?, payload, frame);
            Ok(vec![("cbs_bytes", cbs.into())])
        },
    },
];

fn policer(inputs: &Inputs) -> Result<Policer, Refusal> {
    let cir_l2: BitsPerSecond = inputs.rate("cir_bps")?;
    Ok(Policer { cir_l2, cbs: inputs.bytes("cbs")? })
}

fn policer_frames(inputs: &Inputs) -> Result<Figures, Refusal> {
    let sent = FrameBurst {
        frames: inputs.count("frames")?,
        frame_bytes: inputs.small_count("frame_bytes")?,
        l1_overhead_bytes: inputs.small_count("l1_overhead")?,
        line_l1: inputs.rate("link_bps")?,
    };
    let outcome = burst::frame_burst(policer(inputs)?, &sent);
    let unfit = || {
        let wrong = "must be 1 to 100,000,000, at a line rate above 0 and with sizes below 2^64";
        Refusal::new("frames", wrong)
    };
    let outcome = outcome.ok_or_else(unfit)?;
    Ok(vec![
        ("admitted", outcome.admitted_frames.into()),
        ("rx_bytes", outcome.received.into()),
        ("first_drop_index", outcome.first_dropped.into()),
        ("last_admitted_index", outcome.last_admitted.into()),
        ("cbs_est_last_admitted", outcome.cbs_at_last_admitted.into()),
        ("cbs_est_last_frame", outcome.cbs_at_last_sent.into()),
        ("cbs_lower", outcome.cbs_at_least.into()),
        ("cbs_upper", outcome.cbs_below.into()),
    ])
}
