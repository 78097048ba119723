//! The evidence of the results that were looked at last, as it was read: each look at a curve is one
//! of many at the same result.

use std::sync::{Arc, Mutex, PoisonError};

use fp_history::History;
use fp_model::Evidence;
use serde::Deserialize;

use super::refusal::Refusal;

/// The evidence of two runs is kept: of the one shown, and of another drawn over it.
const KEPT: usize = 2;

/// What is kept, the latest last.
#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<Vec<(String, Arc<[Evidence]>)>>);

/// What is read of a result document: the rest is as long again.
#[derive(Deserialize)]
struct Document {
    evidence: Vec<Evidence>,
}

impl Cache {
    /// The evidence of the result that `name` stands for.
    ///
    /// # Errors
    /// That there is no such result, or that its evidence cannot be read.
    pub(super) fn evidence(
        &self,
        history: &History,
        name: &str,
    ) -> Result<Arc<[Evidence]>, Refusal> {
        // A run that has been deleted is not found, whatever is kept of it.
        let id = history.find(name)?.id;
        if let Some(known) = self.take(&id) {
            return Ok(self.put(id, known));
        }
        let document: Document =
            serde_json::from_slice(&history.document(&id)?).map_err(|error| {
                Refusal::not_done(format!("the evidence of run {id} cannot be read: {error}"))
            })?;
        Ok(self.put(id, document.evidence.into()))
    }

    fn take(&self, id: &str) -> Option<Arc<[Evidence]>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(known, _)| known == id)?;
        Some(kept.remove(place).1)
    }

    fn put(&self, id: String, evidence: Arc<[Evidence]>) -> Arc<[Evidence]> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Two that looked at once have both read it.
        kept.retain(|(known, _)| *known != id);
        let beyond = (kept.len() + 1).saturating_sub(KEPT);
        kept.drain(..beyond);
        kept.push((id, Arc::clone(&evidence)));
        evidence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_that_were_looked_at_last_are_kept() {
        let cache = Cache::default();
        for id in ["a", "b"] {
            cache.put(id.into(), Arc::from([]));
        }
        let again = cache.take("a").unwrap();
        cache.put("a".into(), again);
        cache.put("c".into(), Arc::from([]));
        assert!(cache.take("b").is_none());
        assert!(cache.take("a").is_some() && cache.take("c").is_some());
    }
}
