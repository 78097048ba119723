//! Any counter of a result over time: what each flow did in each trial, by the end that counted it.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::routing::get;
use axum::{Json, Router};
use fp_model::{Direction, Evidence, FlowSpec, Sample};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::House;
use super::refusal::{Refusal, Refused};
use super::results::{beside, history};
use super::series::{self, bps, ms};

/// Points of a curve, unless fewer are asked for.
const POINTS: usize = 1000;
const POINTS_MAX: usize = 10_000;

pub(super) fn routes() -> Router<House> {
    Router::new()
        .route("/results/{id}/counters", get(list))
        .route("/results/{id}/counters/{trial}/{flow}/{counter}", get(curve))
}

/// What is counted in every slot.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    end: End,
    value: fn(&Sample) -> Option<f64>,
}

/// Which end of a flow counts it.
#[derive(Clone, Copy)]
enum End {
    Sender,
    Receiver,
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "sent_bps",
        title: "sent",
        unit: "bit/s",
        end: End::Sender,
        value: |slot| bps(slot.sent_bytes, slot.lasts),
    },
    Kind {
        name: "received_bps",
        title: "received",
        unit: "bit/s",
        end: End::Receiver,
        value: |slot| bps(slot.received_bytes, slot.lasts),
    },
    Kind {
        name: "retransmitted_bps",
        title: "retransmitted",
        unit: "bit/s",
        end: End::Sender,
        value: |slot| bps(slot.retransmitted_bytes, slot.lasts),
    },
    Kind {
        name: "rtt_ms",
        title: "round-trip time",
        unit: "ms",
        end: End::Sender,
        value: |slot| slot.rtt.map(ms),
    },
    Kind {
        name: "cwnd_bytes",
        title: "congestion window",
        unit: "bytes",
        end: End::Sender,
        value: |slot| slot.cwnd_bytes.map(|bytes| bytes as f64),
    },
    Kind {
        name: "active_connections",
        title: "active connections",
        unit: "connections",
        end: End::Receiver,
        value: |slot| slot.active_connections.map(f64::from),
    },
];

/// A counter that a result has.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Counter {
    /// `TRIAL/FLOW/COUNTER`, as in the address of its curve.
    id: String,
    trial: String,
    flow: String,
    /// `near` or `far`.
    end: &'static str,
    /// Rates with the layer whose bytes they count.
    counter: String,
    unit: &'static str,
    /// Since the start of the trial.
    from_s: f64,
    until_s: f64,
    min: f64,
    max: f64,
    last: f64,
}

/// The counters of a result that have values.
#[utoipa::path(get, path = "/api/v1/results/{id}/counters", params(("id" = String, Path)),
    responses((status = 200, body = [Counter]), (status = 404, body = Refused)))]
pub(super) async fn list(
    State(house): State<House>,
    Path(id): Path<String>,
) -> Result<Json<Vec<Counter>>, Refusal> {
    beside(move || Ok(Json(counters(&evidence(&house, &id)?)))).await
}

fn evidence(house: &House, name: &str) -> Result<Arc<[Evidence]>, Refusal> {
    let Some(history) = history(&house.program)? else {
        return Err(fp_history::Error::Empty.into());
    };
    house.cache.evidence(&history, name)
}

fn counters(evidence: &[Evidence]) -> Vec<Counter> {
    let mut counters = Vec::new();
    for (trial, Evidence { trial: asked, observation }) in evidence.iter().enumerate() {
        for (flow, (spec, report)) in asked.flows.iter().zip(&observation.flows).enumerate() {
            let samples = series::samples(report);
            let known = KINDS.iter().filter_map(|kind| {
                let (from, until) = (samples.first()?, samples.last()?);
                let values = || samples.iter().filter_map(kind.value);
                Some(Counter {
                    id: format!("{trial}/{flow}/{}", kind.name),
                    trial: asked.name.clone(),
                    flow: series::label(spec),
                    end: end(kind.end, spec.direction),
                    counter: title(kind, spec),
                    unit: kind.unit,
                    from_s: from.at.as_secs_f64(),
                    until_s: (until.at + until.lasts).as_secs_f64(),
                    min: values().reduce(f64::min)?,
                    max: values().reduce(f64::max)?,
                    last: values().next_back()?,
                })
            });
            counters.extend(known);
        }
    }
    counters
}

fn title(kind: &Kind, spec: &FlowSpec) -> String {
    match kind.unit {
        "bit/s" => format!("{}, layer {}", kind.title, series::layer(&spec.load)),
        _ => kind.title.to_owned(),
    }
}

const fn end(end: End, direction: Direction) -> &'static str {
    match (end, direction) {
        (End::Sender, Direction::Upload) | (End::Receiver, Direction::Download) => "near",
        (End::Sender, Direction::Download) | (End::Receiver, Direction::Upload) => "far",
    }
}

/// Which part of a curve, and in how many points.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// Seconds since the start of the trial.
    from: Option<f64>,
    until: Option<f64>,
    points: Option<usize>,
}

/// A counter over time. Each point stands for as many slots as had to be joined.
#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Curve {
    /// The middle of each point's slots, since the start of the trial.
    t_s: Vec<f64>,
    mean: Vec<Option<f64>>,
    min: Vec<Option<f64>>,
    max: Vec<Option<f64>>,
    unit: &'static str,
    /// In the part that was asked for, before they were joined.
    slots: usize,
}

/// A counter of a flow in a trial over time.
#[utoipa::path(get, path = "/api/v1/results/{id}/counters/{trial}/{flow}/{counter}",
    params(("id" = String, Path), ("trial" = usize, Path), ("flow" = usize, Path),
        ("counter" = String, Path), Part),
    responses((status = 200, body = Curve), (status = 404, body = Refused)))]
pub(super) async fn curve(
    State(house): State<House>,
    Path((id, trial, flow, counter)): Path<(String, usize, usize, String)>,
    Query(part): Query<Part>,
) -> Result<Json<Curve>, Refusal> {
    let nothing = || Refusal::unknown("this result has no such counter");
    let kind = KINDS.iter().find(|kind| kind.name == counter).ok_or_else(nothing)?;
    beside(move || {
        let evidence = evidence(&house, &id)?;
        let report = evidence.get(trial).and_then(|trial| trial.observation.flows.get(flow));
        Ok(Json(drawn(&series::samples(report.ok_or_else(nothing)?), kind, &part)))
    })
    .await
}

fn drawn(samples: &[Sample], kind: &Kind, part: &Part) -> Curve {
    let (from, until) = (part.from.unwrap_or(0.0), part.until.unwrap_or(f64::INFINITY));
    let asked: Vec<&Sample> = samples
        .iter()
        .filter(|slot| (slot.at + slot.lasts).as_secs_f64() > from && slot.at.as_secs_f64() < until)
        .collect();
    let points = part.points.unwrap_or(POINTS).clamp(1, POINTS_MAX);
    let mut curve = Curve { unit: kind.unit, slots: asked.len(), ..Curve::default() };
    for slots in asked.chunks(asked.len().div_ceil(points).max(1)) {
        let (first, last) = (slots[0], slots[slots.len() - 1]);
        curve.t_s.push((first.at + last.at + last.lasts).as_secs_f64() / 2.0);
        let values = || slots.iter().filter_map(|slot| (kind.value)(slot));
        curve.min.push(values().reduce(f64::min));
        curve.max.push(values().reduce(f64::max));
        curve.mean.push(mean(slots, kind.value));
    }
    curve
}

/// Weighed by how long each slot lasts.
fn mean(slots: &[&Sample], value: fn(&Sample) -> Option<f64>) -> Option<f64> {
    let weighed = slots.iter().filter_map(|slot| Some((value(slot)?, slot.lasts.as_secs_f64())));
    let (sum, seconds) = weighed
        .fold((0.0, 0.0), |(sum, all), (value, lasts)| (value.mul_add(lasts, sum), all + lasts));
    (seconds > 0.0).then(|| sum / seconds)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A hundred slots of 100 ms, in the n-th of which n · 1000 bytes arrive.
    fn samples() -> Vec<Sample> {
        let lasts = Duration::from_millis(100);
        (0..100_u32)
            .map(|n| Sample {
                at: lasts * n,
                lasts,
                received_bytes: Some(u64::from(n) * 1000),
                ..Sample::default()
            })
            .collect()
    }

    fn received(part: &Part) -> Curve {
        let kind = KINDS.iter().find(|kind| kind.name == "received_bps").unwrap();
        drawn(&samples(), kind, part)
    }

    #[test]
    fn joined_slots_keep_their_mean_and_their_extremes() {
        let curve = received(&Part { points: Some(10), ..Part::default() });
        assert_eq!((curve.t_s.len(), curve.slots), (10, 100));
        // Slots 10 to 19: 10,000 to 19,000 bytes in a tenth of a second each.
        assert_eq!(curve.t_s[1], 1.5);
        assert_eq!((curve.min[1], curve.max[1]), (Some(800e3), Some(1.52e6)));
        assert!((curve.mean[1].unwrap() - 1.16e6).abs() < 1e-3);
    }

    #[test]
    fn a_part_has_the_slots_that_reach_into_it() {
        let curve = received(&Part { from: Some(2.05), until: Some(2.2), points: None });
        assert_eq!((curve.slots, curve.mean), (2, vec![Some(1.6e6), Some(1.68e6)]));
    }

    #[test]
    fn what_was_never_told_has_no_value() {
        let kind = KINDS.iter().find(|kind| kind.name == "rtt_ms").unwrap();
        let curve = drawn(&samples(), kind, &Part { points: Some(1), ..Part::default() });
        assert_eq!((curve.mean, curve.min), (vec![None], vec![None]));
    }
}
