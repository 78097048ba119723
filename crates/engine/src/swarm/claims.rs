//! Which addresses the trials of a far end have now: no two of them the same.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::SwarmError;
use crate::frame_io::Prefix;

/// Shared by all sessions of a far end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims(Arc<Mutex<Vec<Prefix>>>);

/// Addresses that are a flow's as long as this lives.
#[derive(Debug)]
pub(crate) struct Claim {
    claims: Claims,
    prefixes: Vec<Prefix>,
}

impl Claims {
    /// # Errors
    /// Where another flow has some of these: each would take what is for the other.
    pub(crate) fn take(&self, prefixes: Vec<Prefix>) -> Result<Claim, SwarmError> {
        let mut taken = self.lock();
        let shared = prefixes.iter().find(|own| taken.iter().any(|other| other.overlaps(own)));
        if let Some(shared) = shared {
            return Err(SwarmError::Taken(*shared));
        }
        taken.extend(&prefixes);
        Ok(Claim { claims: self.clone(), prefixes })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Prefix>> {
        // Nothing that can panic is done with it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims.lock().retain(|taken| !self.prefixes.contains(taken));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_one_flows_until_it_ends() {
        let prefix = |text: &str, len| Prefix::new(text.parse().unwrap(), len).unwrap();
        let claims = Claims::default();
        let first = claims.take(vec![prefix("198.18.0.0", 24), prefix("198.19.0.0", 24)]).unwrap();
        let refused = claims.clone().take(vec![prefix("198.19.0.128", 25)]).unwrap_err();
        assert!(refused.to_string().contains("198.19.0.128/25"), "{refused}");
        let wider = || claims.take(vec![prefix("198.18.0.0", 16)]);
        assert!(wider().is_err());
        let _beside = claims.take(vec![prefix("198.18.1.0", 24)]).unwrap();
        drop(first);
        assert!(wider().is_err(), "it has what is beside");
        assert!(claims.take(vec![prefix("198.18.0.0", 24)]).is_ok());
    }
}
