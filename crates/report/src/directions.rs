//! What became of each direction of a run: the rows that were judged, and the one that decides.

use fp_method::methods::Method;
use serde_json::Value;

use crate::stored::fields::Fields;
use crate::{read, sentence};

/// The judged steps of a direction.
pub(crate) struct Judged {
    pub(crate) direction: &'static str,
    /// `None` where no step missed what was asked of it, and one could not be judged.
    pub(crate) is_met: Option<bool>,
    pub(crate) met: usize,
    pub(crate) of: usize,
    /// The figure of the first step that missed what was asked of it, or could not be judged, or met it;
    /// what the verdict says of that step where no figure stands for it, and nothing where it says
    /// nothing.
    pub(crate) figure: String,
}

impl Judged {
    /// `2 of 3 met`.
    pub(crate) fn count(&self) -> String {
        format!("{} of {} met", self.met, self.of)
    }
}

/// The directions in which a result document has judged steps.
pub(crate) fn of(result: &Value) -> Vec<Judged> {
    let method = Method::named(Fields(result).word("method"));
    let steps: Vec<Fields<'_>> = Fields(result).each("steps").collect();
    let reasons: Vec<Fields<'_>> = Fields(result).inside("verdict").each("reasons").collect();
    let judged = |direction: &'static str| {
        let is_of = |step: Fields<'_>| match step.word("flow_direction") {
            "" => step.word("direction") == direction,
            of_flow => of_flow == direction,
        };
        let outcome = |met: bool| {
            let all = steps.iter().copied().enumerate();
            all.filter(move |(_, step)| is_of(*step) && step.flag("pass") == Some(met))
        };
        let (met, missed) = (outcome(true).count(), outcome(false).count());
        let why = |place: usize| {
            let reason =
                reasons.iter().find(|reason| reason.count("step") == Some(place as u64))?;
            let text = reason.word("text");
            Some(text.strip_prefix(&format!("{direction}: ")).unwrap_or(text).to_owned())
        };
        // Steps that were to be judged and could not be; the walk to the whole window is not judged.
        let open: Vec<(usize, Fields<'_>)> = steps
            .iter()
            .copied()
            .enumerate()
            .filter(|(place, step)| {
                let is_open =
                    step.0.get("pass") == Some(&Value::Null) && step.word("role") != "walk";
                is_of(*step) && is_open && why(*place).is_some()
            })
            .collect();
        let (is_met, (place, decides)) = if let Some(first) = outcome(false).next() {
            (Some(false), first)
        } else if let Some(first) = open.first() {
            (None, *first)
        } else {
            (Some(true), outcome(true).next()?)
        };
        let said = || sentence::of_step(method?, &read::row(decides)?);
        let figure = said().or_else(|| why(place)).unwrap_or_default();
        Some(Judged { direction, is_met, met, of: met + missed + open.len(), figure })
    };
    ["download", "upload", "bidirectional"].into_iter().filter_map(judged).collect()
}
