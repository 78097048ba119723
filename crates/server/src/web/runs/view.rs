//! A run as it is watched: what its events say so far.

use std::time::Duration;

use fp_model::{Observation, Rate, Sample, Trial};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::series::{self, Series, bps};

/// More slots of a flow are joined in pairs.
const SLOTS_MAX: usize = 2000;
/// Of what the program says.
const LINES_MAX: usize = 200;

/// One line of a program's `--json-stream`.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event {
    TrialStarted { t_s: f64, trial: Trial },
    Sample { flow: usize, sample: Slot },
    TrialFinished { observation: Observation },
    Result { result: Outcome },
}

/// What is needed of a result document.
#[derive(Debug, Deserialize)]
pub(super) struct Outcome {
    pub(super) id: String,
    pub(super) started: String,
    pub(super) verdict: Verdict,
}

#[derive(Debug, Deserialize)]
pub(super) struct Verdict {
    pub(super) status: String,
}

/// A slot as the stream has it.
#[derive(Debug, Deserialize)]
pub(super) struct Slot {
    t_s: f64,
    dt_s: f64,
    sent_bytes: Option<u64>,
    received_bytes: Option<u64>,
    retransmitted_bytes: Option<u64>,
    rtt_us: Option<f64>,
    cwnd_bytes: Option<u64>,
    active_connections: Option<u32>,
}

impl Slot {
    /// Of a trial that is steady between these seconds.
    fn sample(&self, [from_s, until_s]: [f64; 2]) -> Sample {
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Sample {
            at: seconds(self.t_s),
            lasts: seconds(self.dt_s),
            steady: (from_s..until_s).contains(&(self.t_s + self.dt_s / 2.0)),
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            retransmitted_bytes: self.retransmitted_bytes,
            rtt: self.rtt_us.map(|us| seconds(us / 1e6)),
            cwnd_bytes: self.cwnd_bytes,
            active_connections: self.active_connections,
        }
    }
}

/// A run in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(in super::super) struct Head {
    pub(super) id: String,
    pub(super) command: String,
    pub(super) method: String,
    pub(super) across: String,
    /// RFC 3339, UTC.
    pub(super) started: String,
    pub(super) state: State,
    pub(super) exit_code: Option<i32>,
    pub(super) verdict: Option<String>,
    /// In the history.
    pub(super) result_id: Option<String>,
    /// What the program said when it gave up.
    pub(super) error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Running,
    Stopping,
    Ended,
}

/// Everything that was seen of a run so far.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct RunView {
    head: Head,
    elapsed_s: f64,
    trials: Vec<TrialView>,
    lines: Vec<String>,
}

/// One trial of a run.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct TrialView {
    name: String,
    /// Since the run began.
    started_s: f64,
    /// As planned.
    lasts_s: f64,
    /// Between these what is measured counts; since the start of the trial.
    steady_s: [f64; 2],
    finished: bool,
    flows: Vec<FlowView>,
    /// The rate received in the steady time, in words.
    summary: Option<String>,
    /// The same as figures, once the trial has ended.
    received_bps: Received,
    /// One for each flow.
    series: Vec<Series>,
}

/// What arrived in the steady time of a trial, each direction by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Received {
    download: Option<f64>,
    upload: Option<f64>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct FlowView {
    direction: &'static str,
    kind: &'static str,
    connections: u32,
    dscp: u8,
    /// Whose bytes its rates count.
    layer: u8,
    label: String,
}

/// Something new, as watchers are told.
#[derive(Clone, Debug)]
pub(super) struct News {
    pub(super) event: &'static str,
    pub(super) data: String,
}

impl News {
    fn new(event: &'static str, data: &impl Serialize) -> Self {
        // Of values that are all finite numbers, texts and lists.
        let data = serde_json::to_string(data).unwrap_or_default();
        Self { event, data }
    }
}

#[derive(Serialize)]
struct TrialStarted<'a> {
    index: usize,
    trial: &'a TrialView,
}

#[derive(Serialize)]
struct TrialFinished<'a> {
    index: usize,
    summary: Option<&'a str>,
    received_bps: Received,
    series: Vec<Series>,
}

#[derive(Serialize)]
struct Line<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct SlotSeen {
    index: usize,
    flow: usize,
    t_s: f64,
    dt_s: f64,
    sent_bps: Option<f64>,
    received_bps: Option<f64>,
    retransmitted_bps: Option<f64>,
    rtt_ms: Option<f64>,
    cwnd_bytes: Option<u64>,
    active_connections: Option<u32>,
}

/// The state that events are added to.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) head: Head,
    trials: Vec<(TrialView, Vec<Vec<Sample>>)>,
    lines: Vec<String>,
}

impl Watched {
    pub(super) const fn new(head: Head) -> Self {
        Self { head, trials: Vec::new(), lines: Vec::new() }
    }

    pub(super) fn view(&self) -> RunView {
        let with_series = |(trial, samples): &(TrialView, Vec<Vec<Sample>>)| TrialView {
            series: samples.iter().map(|samples| Series::of(samples)).collect(),
            ..trial.clone()
        };
        let elapsed_s = self.trials.last().map_or(0.0, |(trial, samples)| {
            let ends = samples.iter().filter_map(|samples| samples.last());
            let until = ends.map(|slot| (slot.at + slot.lasts).as_secs_f64()).fold(0.0, f64::max);
            trial.started_s + until
        });
        RunView {
            head: self.head.clone(),
            elapsed_s,
            trials: self.trials.iter().map(with_series).collect(),
            lines: self.lines.clone(),
        }
    }

    pub(super) fn news(&self) -> News {
        News::new("view", &self.view())
    }

    pub(super) fn on_event(&mut self, event: Event) -> Option<News> {
        match event {
            Event::TrialStarted { t_s, trial } => Some(self.on_trial(t_s, &trial)),
            Event::Sample { flow, sample } => self.on_sample(flow, &sample),
            Event::TrialFinished { observation } => self.on_trial_end(&observation),
            Event::Result { result } => {
                self.head.started = result.started;
                self.head.verdict = Some(result.verdict.status);
                self.head.result_id = Some(result.id);
                None
            }
        }
    }

    fn on_trial(&mut self, t_s: f64, trial: &Trial) -> News {
        let timing = &trial.timing;
        let flow = |flow: &fp_model::FlowSpec| FlowView {
            direction: series::direction(flow.direction),
            kind: series::kind(&flow.load),
            connections: match &flow.load {
                fp_model::Load::Tcp(load) => load.connections,
                fp_model::Load::Connections(load) => load.connections_peak(),
                _ => 1,
            },
            dscp: flow.dscp.code_point(),
            layer: series::layer(&flow.load),
            label: series::label(flow),
        };
        let view = TrialView {
            name: trial.name.clone(),
            started_s: t_s,
            lasts_s: (timing.active() + timing.settle).as_secs_f64(),
            steady_s: [timing.warm_up, timing.active()].map(|time| time.as_secs_f64()),
            finished: false,
            flows: trial.flows.iter().map(flow).collect(),
            summary: None,
            received_bps: Received::default(),
            series: vec![Series::default(); trial.flows.len()],
        };
        let news =
            News::new("trial_started", &TrialStarted { index: self.trials.len(), trial: &view });
        self.trials.push((view, vec![Vec::new(); trial.flows.len()]));
        news
    }

    fn on_sample(&mut self, flow: usize, slot: &Slot) -> Option<News> {
        let index = self.trials.len().checked_sub(1)?;
        let (trial, flows) = &mut self.trials[index];
        let samples = flows.get_mut(flow)?;
        let sample = slot.sample(trial.steady_s);
        samples.push(sample);
        if samples.len() > SLOTS_MAX {
            *samples = Sample::joined(std::mem::take(samples), SLOTS_MAX);
        }
        let rate = |bytes| bps(bytes, sample.lasts);
        Some(News::new(
            "sample",
            &SlotSeen {
                index,
                flow,
                t_s: slot.t_s,
                dt_s: slot.dt_s,
                sent_bps: rate(sample.sent_bytes),
                received_bps: rate(sample.received_bytes),
                retransmitted_bps: rate(sample.retransmitted_bytes),
                rtt_ms: sample.rtt.map(series::ms),
                cwnd_bytes: sample.cwnd_bytes,
                active_connections: sample.active_connections,
            },
        ))
    }

    /// What was told while the trial ran gives way to what both ends have settled on.
    fn on_trial_end(&mut self, observation: &Observation) -> Option<News> {
        let index = self.trials.len().checked_sub(1)?;
        let (trial, flows) = &mut self.trials[index];
        for (samples, report) in flows.iter_mut().zip(&observation.flows) {
            *samples = series::samples(report).into_owned();
        }
        trial.finished = true;
        trial.received_bps = received(trial, flows);
        trial.summary = summary(trial.received_bps);
        for samples in flows.iter_mut() {
            *samples = Sample::joined(std::mem::take(samples), SLOTS_MAX);
        }
        let finished = TrialFinished {
            index,
            summary: trial.summary.as_deref(),
            received_bps: trial.received_bps,
            series: flows.iter().map(|samples| Series::of(samples)).collect(),
        };
        Some(News::new("trial_finished", &finished))
    }

    pub(super) fn on_line(&mut self, text: &str) -> News {
        if self.lines.len() == LINES_MAX {
            self.lines.remove(0);
        }
        if let Some(sentence) = text.strip_prefix("fullpipe: ") {
            self.head.error = Some(sentence.to_owned());
        }
        self.lines.push(text.to_owned());
        News::new("line", &Line { text })
    }

    pub(super) fn on_end(&mut self, code: Option<i32>) -> News {
        self.head.state = State::Ended;
        self.head.exit_code = code;
        News::new("ended", &self.head)
    }
}

fn received(trial: &TrialView, samples: &[Vec<Sample>]) -> Received {
    let towards = |wanted: &str| {
        let flows = trial.flows.iter().zip(samples).filter(|(flow, _)| flow.direction == wanted);
        let rates = flows.filter_map(|(_, samples)| {
            let steady = || samples.iter().filter(|slot| slot.steady);
            let bytes = steady().filter_map(|slot| slot.received_bytes).sum::<u64>();
            let lasts = steady().map(|slot| slot.lasts).sum();
            bps(Some(bytes).filter(|bytes| *bytes > 0), lasts)
        });
        rates.reduce(|sum, rate| sum + rate)
    };
    Received { download: towards("download"), upload: towards("upload") }
}

fn summary(Received { download, upload }: Received) -> Option<String> {
    let both = [("download", download), ("upload", upload)];
    let known: Vec<String> = both
        .into_iter()
        .filter_map(|(way, rate)| {
            Some(format!("{way} {}", fp_report::rate(Rate::bps(rate? as u64))))
        })
        .collect();
    (!known.is_empty()).then(|| known.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn watched() -> Watched {
        let text = |text: &str| text.to_owned();
        Watched::new(Head {
            id: text("r1"),
            command: text("fullpipe flow"),
            method: text("flow"),
            across: text("lab ideal"),
            started: text("2026-11-22T11:29:28Z"),
            state: State::Running,
            exit_code: None,
            verdict: None,
            result_id: None,
            error: None,
        })
    }

    /// Slots of half a second, of which the last two are steady.
    fn slots(received_bytes: [u64; 3]) -> Vec<Value> {
        let slot = |(place, bytes): (usize, &u64)| {
            json!({
                "at_ns": place * 500_000_000, "lasts_ns": 500_000_000, "steady": place > 0,
                "sent_bytes": bytes, "received_bytes": bytes, "retransmitted_bytes": 0,
                "rtt_ns": null, "cwnd_bytes": null, "active_connections": 1,
            })
        };
        received_bytes.iter().enumerate().map(slot).collect()
    }

    #[test]
    fn a_trial_that_has_ended_shows_what_both_ends_have_settled_on() {
        let mut run = watched();
        let load = json!({
            "kind": "tcp", "connections": 1, "window_bytes": 65_535, "mss_bytes": 1460,
            "sender": "bulk", "congestion_control": "cubic", "pacing_bps": null,
        });
        let flow = json!({"direction": "upload", "family": "ipv4", "dscp": 0, "load": load});
        let timing = json!({"warm_up_ns": 500_000_000, "steady_ns": 1_000_000_000, "settle_ns": 0});
        let trial = json!({"name": "a trial", "flows": [flow], "timing": timing});
        let started = json!({"event": "trial_started", "t_s": 0.0, "trial": trial});
        let health = json!({"dropped_packets": 0, "longest_stall_ns": 0, "busiest_thread": 0.0, "receiver": null});
        let report = json!({
            "kind": "tcp", "connections": [], "series": slots([9, 1_000_000, 3_000_000]),
            "whole_good_bytes": 4_000_009, "whole_until_ns": 1_500_000_000,
        });
        let observation = json!({"flows": [report], "near": health, "far": health});
        let live = json!({"t_s": 0.0, "dt_s": 1.5, "received_bytes": 7});
        for event in [
            started,
            json!({"event": "sample", "t_s": 1.0, "flow": 0, "sample": live}),
            json!({"event": "trial_finished", "t_s": 2.0, "observation": observation}),
        ] {
            run.on_event(serde_json::from_value(event).unwrap());
        }
        let view = serde_json::to_value(run.view()).unwrap();
        let trial = &view["trials"][0];
        // 4 MB in the steady second.
        assert_eq!(trial["received_bps"], json!({"download": null, "upload": 32e6}));
        assert_eq!(trial["summary"], "upload 32.00 Mbit/s");
        assert_eq!(trial["series"][0]["received_bps"], json!([144.0, 16e6, 48e6]));
        assert_eq!(trial["series"][0]["active_connections"], json!([1, 1, 1]));
    }
}
