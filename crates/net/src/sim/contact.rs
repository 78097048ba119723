//! The control connection of two simulated ends, as far as outages of the path silence it.

use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use fp_model::contact::{DEAD_MAN, GIVEN_UP_AFTER};
use fp_model::{Abort, Interruption, Time};

use crate::path::{OutageSpec, PathSpec};

/// When the ends cannot hear each other: while a link of either direction is down.
#[derive(Debug)]
pub(super) struct Contact {
    outages: Vec<OutageSpec>,
    /// How long a trial that can goes on in silence.
    pub(super) patience: Duration,
}

/// What became of a trial for the silences in it.
pub(super) enum Outcome {
    /// It was run to its end, with these silences in it, and its ends could meet at this time.
    Whole(Vec<Interruption>, Time),
    /// It was broken off, and its ends heard each other again at this time.
    BrokenOff(Vec<Interruption>, Time),
    /// The session ended at this time.
    Lost(Abort, Time),
}

impl Contact {
    pub(super) fn over(path: &PathSpec) -> Self {
        let links = path.near_to_far.iter().chain(&path.far_to_near);
        let outages = links.filter_map(|link| link.outage).collect();
        Self { outages, patience: Duration::ZERO }
    }

    /// Of a trial that ran from `start` to `end` on a network that came up at zero.
    pub(super) fn outcome(&self, trial: Range<Time>, survives_silence: bool) -> Outcome {
        let silences = self.silences(&trial);
        let patience = if survives_silence { self.patience } else { Duration::ZERO };
        let heard_again = silences.iter().map(|silence| silence.end).max();
        let heard_again = heard_again.unwrap_or(trial.end).max(trial.end);
        let lasts = |silence: &Range<Time>| silence.end.since(silence.start);
        let given_up_after = GIVEN_UP_AFTER.max(patience);
        if let Some(silence) = silences.iter().find(|silence| lasts(silence) >= given_up_after) {
            let seconds = given_up_after.as_secs_f64();
            let why = format!("the far end is lost: it has not been heard of for {seconds} s");
            return Outcome::Lost(Abort::Lost(why), silence.start + given_up_after);
        }
        let breaks_after = DEAD_MAN.max(patience);
        let is_broken_off = silences.iter().any(|silence| {
            lasts(silence) >= breaks_after && silence.start + breaks_after <= trial.end
        });
        let interruption = |silence: &Range<Time>| Interruption {
            began: Some(trial.start.since(Time::ZERO)),
            at: silence.start.since(trial.start),
            silent: lasts(silence),
            is_repeated: is_broken_off,
        };
        let interruptions = silences.iter().map(interruption).collect();
        match is_broken_off {
            true => Outcome::BrokenOff(interruptions, heard_again),
            false => Outcome::Whole(interruptions, heard_again),
        }
    }

    /// Those that a sender would notice and that overlap the trial, in order, joined where they touch.
    fn silences(&self, trial: &Range<Time>) -> Vec<Range<Time>> {
        let mut silences: Vec<_> =
            self.outages.iter().flat_map(|outage| occurrences(outage, trial)).collect();
        silences.sort_by_key(|silence| silence.start);
        let mut joined: Vec<Range<Time>> = Vec::new();
        for silence in silences {
            match joined.last_mut() {
                Some(last) if silence.start <= last.end => last.end = last.end.max(silence.end),
                Some(_) | None => joined.push(silence),
            }
        }
        joined.retain(|silence| silence.end.since(silence.start) >= DEAD_MAN);
        joined
    }
}

fn occurrences(outage: &OutageSpec, trial: &Range<Time>) -> Vec<Range<Time>> {
    let first = Time::ZERO + outage.start;
    let every = outage.every.filter(|every| !every.is_zero());
    let mut from = first;
    if let Some(every) = every {
        let passed = trial.start.since(first).as_nanos() / every.as_nanos();
        from = first + every * u32::try_from(passed.saturating_sub(1)).unwrap_or(u32::MAX);
    }
    let mut all = Vec::new();
    while from < trial.end {
        let silence = from..from + outage.lasts;
        if silence.end > trial.start {
            all.push(silence);
        }
        let Some(every) = every else { break };
        from = from + every;
    }
    all
}
