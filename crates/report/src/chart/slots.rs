//! A series of a stored result as rates over time, with no more slots than a chart can show.

use fp_model::figure::series::{DT, IN_USE, RECEIVED, RETRANSMITTED, RTT, SENT, T};

use crate::stored::fields::Fields;

/// More cannot be told apart in print.
const SLOTS_MAX: usize = 160;

/// What was counted from one instant to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Slot {
    pub(crate) from_s: f64,
    pub(crate) lasts_s: f64,
    /// Received; of a far end that does not tell, sent.
    pub(crate) bps: f64,
    pub(crate) retransmitted_bps: f64,
    pub(crate) rtt_us: Option<f64>,
    /// The most at one time.
    pub(crate) active: Option<f64>,
}

impl Slot {
    pub(crate) fn until_s(&self) -> f64 {
        self.from_s + self.lasts_s
    }
}

/// The slots of a step's series, from 0 on.
pub(crate) fn of(step: Fields<'_>) -> Vec<Slot> {
    let samples: Vec<Fields<'_>> = step.each("series").collect();
    let Some(begin_s) = samples.first().and_then(|sample| sample.number(T.field)) else {
        return Vec::new();
    };
    let each = samples.len().div_ceil(SLOTS_MAX).max(1);
    samples.chunks(each).filter_map(|chunk| slot(chunk, begin_s)).collect()
}

fn slot(samples: &[Fields<'_>], begin_s: f64) -> Option<Slot> {
    let from_s = samples.first()?.number(T.field)?;
    let sum = |of: &dyn Fn(Fields<'_>) -> Option<f64>| -> f64 {
        samples.iter().filter_map(|sample| of(*sample)).sum()
    };
    let lasts_s = sum(&|sample| sample.number(DT.field));
    if lasts_s <= 0.0 {
        return None;
    }
    let bytes = sum(&|sample| sample.number(RECEIVED.field).or(sample.number(SENT.field)));
    let again = sum(&|sample| sample.number(RETRANSMITTED.field));
    let rtts: Vec<f64> = samples.iter().filter_map(|sample| sample.number(RTT.field)).collect();
    let rtt_us = (!rtts.is_empty()).then(|| rtts.iter().sum::<f64>() / rtts.len() as f64);
    let active = samples.iter().filter_map(|sample| sample.number(IN_USE.field));
    Some(Slot {
        active: active.reduce(f64::max),
        from_s: from_s - begin_s,
        lasts_s,
        bps: bytes * 8.0 / lasts_s,
        retransmitted_bps: again * 8.0 / lasts_s,
        rtt_us,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn series(count: usize) -> Value {
        let slot = |place: usize| {
            json!({
                "t_s": 0.5 + place as f64 * 0.1, "dt_s": 0.1, "received_bytes": 12_500,
                "sent_bytes": null, "retransmitted_bytes": 1_250, "rtt_us": 54_000.0,
            })
        };
        json!({"series": (0..count).map(slot).collect::<Vec<_>>()})
    }

    #[test]
    fn a_slot_is_the_rate_of_what_came_in_its_time() {
        let found = of(Fields(&series(3)));
        assert_eq!(found.len(), 3);
        // 12,500 bytes in 0.1 s are 1 Mbit/s.
        assert!((found[0].bps - 1e6).abs() < 1.0 && found[0].from_s == 0.0);
        assert!((found[2].retransmitted_bps - 1e5).abs() < 1.0);
    }

    #[test]
    fn of_a_long_series_the_means_are_drawn_and_no_time_is_left_out() {
        let found = of(Fields(&series(1000)));
        assert!(found.len() <= SLOTS_MAX);
        let lasts: f64 = found.iter().map(|slot| slot.lasts_s).sum();
        assert!((lasts - 100.0).abs() < 1e-6);
        assert!(found.iter().all(|slot| (slot.bps - 1e6).abs() < 1.0));
    }

    #[test]
    fn a_step_without_a_series_has_no_slots() {
        assert!(of(Fields(&json!({}))).is_empty());
        assert!(of(Fields(&json!({"series": [{"t_s": null}]}))).is_empty());
    }
}
