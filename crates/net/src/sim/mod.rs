//! Trials under a virtual clock: a simulated minute in a fraction of a second.
//!
//! The links are those of the lab and the TCP is `crate::tcp`; this drives both from one queue of
//! events. Both ends are ideal unless they are given a [`Trouble`]: they react at once, drop nothing
//! and share one clock.

mod bursts;
mod connections;
mod contact;
mod flow;
mod frames;
mod host;
mod identity;
mod network;
mod probes;
mod series;
mod tcp;
mod trouble;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::{Abort, Event, FlowReport, Observation, Slot, Testbed, Time, Trial};

use crate::path::PathSpec;
use contact::{Contact, Outcome};
use flow::Flow;
use network::{Happening, Network};

pub use trouble::{ClockTrouble, HostTrouble, Intake, Part, Severity, Stops, Trouble, WrongStamps};

/// A near end and a far end with an emulated path between them, in virtual time.
///
/// The path lives as long as the testbed, its clock goes on from trial to trial, and the same
/// seed, path and trials give the same observations.
pub struct SimTestbed {
    network: Network,
    contact: Contact,
    /// What was seen of the last trial, if it was broken off.
    broken_off: Option<Observation>,
    watcher: Option<Box<dyn FnMut(Event) + Send>>,
}

impl SimTestbed {
    pub fn new(path: &PathSpec, seed: u64) -> Self {
        Self {
            network: Network::new(path, seed),
            contact: Contact::over(path),
            broken_off: None,
            watcher: None,
        }
    }

    /// Tells `watcher` of each trial, each slot and each observation, as fast as they come.
    #[must_use]
    pub fn with_events(self, watcher: impl FnMut(Event) + Send + 'static) -> Self {
        Self { watcher: Some(Box::new(watcher)), ..self }
    }

    /// With hosts that are not ideal, from the next trial on.
    #[must_use]
    pub fn with_trouble(mut self, trouble: Trouble) -> Self {
        self.network.trouble(trouble);
        self
    }

    /// Has trials go on through silences of up to `patience`, as far as their loads allow, instead of
    /// being broken off and repeated.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.contact.patience = patience;
        self
    }

    /// How long the trials so far would have taken on a real network.
    pub fn simulated(&self) -> Duration {
        self.network.now().since(Time::ZERO)
    }

    /// Happenings simulated so far: frames that arrived, timers that rang.
    pub const fn happenings(&self) -> u64 {
        self.network.happenings()
    }

    fn tell(&mut self, event: impl FnOnce() -> Event) {
        if let Some(watcher) = &mut self.watcher {
            watcher(event());
        }
    }

    /// Plays one slot after the other, and after the last one until no flow waits any more.
    fn play(&mut self, trial: &Trial, flows: &mut [Flow]) {
        let start = self.network.now();
        let are_transfers = flows.iter().all(Flow::is_transfer);
        let slots = if are_transfers { trial.timing.beats() } else { trial.timing.grid() };
        for slot in slots {
            if slot.start == trial.timing.active() {
                flows.iter_mut().for_each(|flow| flow.stop(&mut self.network));
            }
            self.play_until(start + slot.end, flows);
            if are_transfers && flows.iter().all(Flow::is_over) {
                let end = self.network.now().since(start);
                self.close_slot(Slot { end, ..slot }, flows);
                return;
            }
            self.close_slot(slot, flows);
        }
        if let Some(end) = flows.iter().filter_map(Flow::ends_at).max() {
            self.play_until(end, flows);
        }
    }

    /// What both ends have to say of the trial, and of themselves.
    fn observation(&self, trial: &Trial, start: Time, flows: Vec<Flow>) -> Observation {
        let network = &self.network;
        let now = network.now();
        let clocks = host::clocks(&network.near, &network.far, now.since(start));
        let clock_error = clocks.unwrap_or_default().error;
        let report = |flow: Flow| flow.into_report(network, clock_error);
        Observation {
            began: Some(start.since(Time::ZERO)),
            flows: flows.into_iter().map(report).collect(),
            near: network.near.health(&trial.timing, start, now),
            far: network.far.health(&trial.timing, start, now),
            emulation: network.lateness(),
            clocks,
            ..Observation::default()
        }
    }

    fn close_slot(&mut self, slot: Slot, flows: &mut [Flow]) {
        for flow in flows {
            if let Some(event) = flow.close_slot(slot) {
                self.tell(|| event);
            }
        }
    }

    /// All that happens before `end`.
    fn play_until(&mut self, end: Time, flows: &mut [Flow]) {
        while !flows.iter().all(Flow::is_over) {
            let Some(happening) = self.network.next_before(end) else {
                self.network.pass_to(end);
                return;
            };
            match happening {
                Happening::Arrival { flow, packet, dscp } => {
                    flows[flow].on_packet(packet, dscp, &mut self.network);
                }
                Happening::Corrupt { flow, packet } => {
                    flows[flow].on_corrupt(packet, &mut self.network);
                }
                Happening::TooBig { flow } => flows[flow].on_too_big(),
                Happening::Alarm { flow, sleeper } => {
                    flows[flow].on_alarm(sleeper, &mut self.network);
                }
            }
        }
    }
}

impl Testbed for SimTestbed {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let mut interruptions = Vec::new();
        loop {
            let (start, mut observation) = self.attempt(trial)?;
            let run = start..self.network.now();
            let (why, at) = match self.contact.outcome(run, trial.survives_silence()) {
                Outcome::BrokenOff(broken_off, heard_again) if interruptions.is_empty() => {
                    self.network.pass_to(heard_again);
                    interruptions = broken_off;
                    continue;
                }
                Outcome::Whole(silences, heard_again) => {
                    self.network.pass_to(heard_again);
                    interruptions.extend(silences);
                    observation.interruptions = interruptions;
                    return Ok(observation);
                }
                Outcome::BrokenOff(_, at) => (Abort::Lost(UNHEARD.into()), at),
                Outcome::Lost(why, at) => (why, at),
            };
            let seen = until(trial, &observation, at.since(start));
            self.broken_off = seen.map(|seen| seen.begun(start.since(Time::ZERO)));
            self.network.pass_to(at);
            return Err(why);
        }
    }

    fn broken_off(&mut self) -> Option<Observation> {
        self.broken_off.take()
    }
}

/// Why a trial that was broken off twice is given up.
const UNHEARD: &str = "the far end was not heard for so long that the trial was broken off twice";

/// What both ends could have reported of the trial by this time.
fn until(trial: &Trial, seen: &Observation, at: Duration) -> Option<Observation> {
    let slots = |flow: &FlowReport| flow.slots().until(at);
    Observation::of_broken_off(trial, seen.flows.iter().map(slots).collect())
}

impl SimTestbed {
    fn attempt(&mut self, trial: &Trial) -> Result<(Time, Observation), Abort> {
        self.broken_off = None;
        self.network.begin_trial();
        let each = trial.flows.iter().enumerate();
        let flows: Result<Vec<Flow>, Abort> =
            each.map(|(index, spec)| Flow::new(index, spec, trial.timing, &self.network)).collect();
        let mut flows = flows?;
        self.tell(|| Event::Started(trial.clone()));
        for flow in &mut flows {
            flow.start(&mut self.network);
        }
        let start = self.network.now();
        self.play(trial, &mut flows);
        let observation = self.observation(trial, start, flows);
        self.tell(|| Event::Finished(observation.clone()));
        Ok((start, observation))
    }
}

impl fmt::Debug for SimTestbed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimTestbed").field("simulated", &self.simulated()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod paces;
#[cfg(test)]
mod tests;
