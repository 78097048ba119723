//! What a far end counts of those who come: for whoever watches over it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counted since the far end began, but for what is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub sessions: u64,
    /// Now.
    pub sessions_active: u64,
    pub sessions_limit: u64,
    /// Connections that have not shown the token yet, now.
    pub strangers: u64,
    pub refused_token: u64,
    pub refused_full: u64,
    pub refused_protocol: u64,
    /// They spoke no TLS, nothing at all, or went away.
    pub refused_other: u64,
    pub trials_done: u64,
    pub trials_failed: u64,
}

/// What may happen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happened {
    Session,
    RefusedToken,
    RefusedFull,
    RefusedProtocol,
    RefusedOther,
    TrialDone,
    TrialFailed,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    sessions: AtomicU64,
    refused_token: AtomicU64,
    refused_full: AtomicU64,
    refused_protocol: AtomicU64,
    refused_other: AtomicU64,
    trials_done: AtomicU64,
    trials_failed: AtomicU64,
}

impl Tally {
    pub(super) fn count(&self, happened: Happened) {
        let counter = match happened {
            Happened::Session => &self.sessions,
            Happened::RefusedToken => &self.refused_token,
            Happened::RefusedFull => &self.refused_full,
            Happened::RefusedProtocol => &self.refused_protocol,
            Happened::RefusedOther => &self.refused_other,
            Happened::TrialDone => &self.trials_done,
            Happened::TrialFailed => &self.trials_failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Without what only the guests know.
    pub(super) fn figures(&self) -> Figures {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Figures {
            sessions: read(&self.sessions),
            refused_token: read(&self.refused_token),
            refused_full: read(&self.refused_full),
            refused_protocol: read(&self.refused_protocol),
            refused_other: read(&self.refused_other),
            trials_done: read(&self.trials_done),
            trials_failed: read(&self.trials_failed),
            ..Figures::default()
        }
    }
}
