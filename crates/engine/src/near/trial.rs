//! One trial, conducted: doors opened at the far end, flows connected, a common start, both halves joined.
//!
//! Both ends meet over one address family. For a flow of the other family the far end names the
//! address of the same interface in that family, and the flow's key is admitted there.

use std::net::SocketAddr;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use fp_model::{Abort, Clocks, Interruption, Load, Observation, TesterHealth, Time, Trial};

use super::LiveTestbed;
use super::early_stop;
use super::join::flow_reports;
use super::live::Live;
use crate::control::far_clock::DRIFT;
use crate::control::message::{FlowAddress, Message, TO_FAR_MAX_BYTES, encode};
use crate::end::End;
use crate::flow::{self, Broken, FlowHalf, Mail, News, OPENING_MAX, Opening, RunningFlows};
use crate::half::Half;
use crate::lease::Silence;
use crate::os::clock;
use crate::swarm;

/// What a trial has told at the end of a wait.
enum Told {
    Far(Message),
    Flow { flow: usize, news: News },
}

/// Both ends' halves as they come in.
pub(super) struct Gathered {
    near: Vec<Option<Half>>,
    near_health: TesterHealth,
    far: Option<(Vec<Half>, TesterHealth)>,
    /// When the far end did not hear this one.
    silences: Vec<Interruption>,
    other_trials: u32,
}

/// Why a trial gave no observation.
pub(super) enum Failure {
    Final(Abort),
    /// One end did not hear the other for a while: it may be worth another try.
    Unheard(Abort),
}

/// The first protocol version in which a trial can go on in silence.
const PATIENT_PROTOCOL: u32 = 5;
/// How soon a stop is noticed.
pub(super) const LOOK_UP: Duration = Duration::from_millis(50);
/// What the far end may take to answer, or to report after the last slot.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// A flow that breaks may be the first to notice that the far end is gone; then the control
/// connection soon knows why.
const EXPLANATION_MAX: Duration = Duration::from_millis(2600);
const START_AHEAD_MIN: Duration = Duration::from_millis(100);
/// Probes are so few that a slow start of the far end's thread disturbs nothing.
const PROBES_START_AHEAD: Duration = Duration::from_millis(5);

impl LiveTestbed {
    pub(super) fn conduct(&mut self, trial: &Trial) -> Result<Observation, Failure> {
        let doors = self.prepare(trial)?;
        let flows = self.open(trial, &doors)?;
        self.await_open(&flows)?;
        let began = self.line.far_clock();
        let at = self.start(trial, &flows)?;
        let gathered = self.gather(trial, &flows, at)?;
        drop(flows);
        let clocks = Clocks {
            offset_ns: began.offset_ns(),
            error: began.error_since(at, &self.line.far_clock(), clock::now()),
        };
        let silences = gathered.silences.clone();
        let mut observation = self.joined(trial, gathered, clocks)?;
        observation.interruptions = self.interruptions(at, false);
        observation.interruptions.extend(silences);
        Ok(observation.begun(at.since(self.ready)))
    }

    /// How long such a trial may go on in silence, if the far end knows how.
    fn patience_for(&self, trial: &Trial) -> Duration {
        let survives = trial.survives_silence() && self.far_protocol >= PATIENT_PROTOCOL;
        if survives { self.patience } else { Duration::ZERO }
    }

    /// The silences of the far end since the last trial.
    pub(super) fn interruptions(&self, began: Time, is_repeated: bool) -> Vec<Interruption> {
        let silences = self.lease.take_silences();
        let seen = |silence: &Silence| Interruption {
            began: Some(began.since(self.ready)),
            ..silence.seen_from(began, is_repeated)
        };
        silences.iter().map(seen).collect()
    }

    fn prepare(&mut self, trial: &Trial) -> Result<Vec<FlowAddress>, Failure> {
        // Connections have addresses of their own: the link carries either family.
        let mut on_sockets = trial.flows.iter().filter(|flow| !swarm::is_by_frames(&flow.load));
        if let Some(flow) = on_sockets.find(|flow| self.far_address_of(flow.family).is_none()) {
            let abort = Abort::Testbed(format!(
                "the far end {} has told of no {} address on the interface where it is reached: \
                 name it by a name that has one, or leave out the flows of that family",
                self.far_name, flow.family
            ));
            return Err(abort.into());
        }
        let patience = self.patience_for(trial);
        self.lease.bear(patience);
        let patience_ms = patience.as_millis() as u64;
        let prepare = Message::Prepare { trial: self.trials, spec: trial.clone(), patience_ms };
        let bytes = encode(&prepare).map_or(usize::MAX, |framed| framed.len());
        if bytes > TO_FAR_MAX_BYTES {
            let abort = Abort::Testbed(format!(
                "the trial is {bytes} bytes long and {TO_FAR_MAX_BYTES} fit a message to the far \
                 end: take fewer flows, or fewer steps in their paces"
            ));
            return Err(abort.into());
        }
        self.line.say(prepare);
        let deadline = clock::now() + ANSWER_MAX;
        match self.await_told(deadline)? {
            Told::Far(Message::Ready { doors, .. }) if doors.len() == trial.flows.len() => {
                Ok(doors)
            }
            Told::Far(_) | Told::Flow { .. } => Err(self.out_of_turn().into()),
        }
    }

    fn open(&self, trial: &Trial, doors: &[FlowAddress]) -> Result<RunningFlows, Abort> {
        let halves = trial.flows.iter().zip(doors).enumerate();
        let halves = halves.map(|(flow, (spec, door))| {
            let mut far = self.far;
            if let Some(address) = self.far_other.filter(|_| spec.family != self.family()) {
                far = SocketAddr::new(address, far.port());
            }
            far.set_port(door.port);
            let opening = match swarm::is_by_frames(&spec.load) {
                true => Opening::DialFrames { far: self.far.ip(), door: door.frames },
                false => Opening::Dial(far),
            };
            FlowHalf {
                end: End::Near,
                trial: self.trials,
                flow,
                spec: spec.clone(),
                timing: trial.timing,
                key: door.key,
                opening,
            }
        });
        RunningFlows::open(halves.collect(), self.lease.for_trial(), &self.post)
            .map_err(|error| Abort::Testbed(format!("no thread could be started: {error}")))
    }

    fn await_open(&mut self, flows: &RunningFlows) -> Result<(), Failure> {
        let deadline = clock::now() + OPENING_MAX + ANSWER_MAX;
        for _ in 0..flows.count() {
            match self.await_told(deadline)? {
                Told::Flow { news: News::Open, .. } => {}
                Told::Flow { news: News::Over(Err(broken)), flow } => {
                    return Err(self.explained(flow, &broken));
                }
                Told::Flow { .. } | Told::Far(_) => return Err(self.out_of_turn().into()),
            }
        }
        Ok(())
    }

    /// Fixes the instant at which both ends begin, each on its own clock.
    fn start(&mut self, trial: &Trial, flows: &RunningFlows) -> Result<Time, Abort> {
        let rtt = self.control_rtt();
        let only_probes = trial.flows.iter().all(|flow| matches!(flow.load, Load::Probes(_)));
        let ahead = match only_probes {
            true => rtt + PROBES_START_AHEAD,
            false => START_AHEAD_MIN.max(rtt * 3),
        };
        let at = clock::now() + ahead;
        let far_at = self.line.far_clock().at(at).ok_or_else(|| self.out_of_turn())?;
        self.line.say(Message::Start { trial: self.trials, at_ns: far_at.as_nanos() });
        flows.start(at);
        Ok(at)
    }

    fn gather(
        &mut self,
        trial: &Trial,
        flows: &RunningFlows,
        at: Time,
    ) -> Result<Gathered, Failure> {
        let lasts = lasts(trial);
        // What the far end says in an outage arrives when TCP retransmits it: its timer has doubled to
        // at most the length of the outage by then.
        let deadline = at + lasts + lasts.mul_f64(DRIFT) + ANSWER_MAX + 2 * self.lease.patience();
        let mut live = Live::of(trial);
        let gathered = self.gather_until(trial, flows, deadline, &mut live);
        if gathered.is_err() {
            let began = at.since(self.ready);
            self.broken_off = live.broken_off().map(|seen| seen.begun(began));
        }
        gathered
    }

    fn gather_until(
        &mut self,
        trial: &Trial,
        flows: &RunningFlows,
        deadline: Time,
        live: &mut Live<'_>,
    ) -> Result<Gathered, Failure> {
        let mut gathered = Gathered {
            near: (0..flows.count()).map(|_| None).collect(),
            near_health: TesterHealth::default(),
            far: None,
            silences: Vec::new(),
            other_trials: 0,
        };
        let mut early_stop = None;
        while !gathered.is_complete() {
            let told = match self.await_told(deadline) {
                Err(Failure::Final(Abort::Stopped)) if early_stop::is_possible(trial) => {
                    early_stop = Some(self.wind_down(trial, flows));
                    continue;
                }
                told => told?,
            };
            self.note(told, live, &mut gathered)?;
            if let Some(early_stop) = &mut early_stop {
                self.wind_down_further(trial, flows, &gathered, early_stop);
            }
        }
        Ok(gathered)
    }

    fn note(
        &mut self,
        told: Told,
        live: &mut Live<'_>,
        gathered: &mut Gathered,
    ) -> Result<(), Failure> {
        let (flow, stretch, seen) = match told {
            Told::Far(Message::Progress { flow, stretch, seen, .. }) => (flow, stretch, seen),
            Told::Flow { flow, news: News::Progress { stretch, seen } } => (flow, stretch, seen),
            Told::Far(Message::Done { halves, health, silences, other_trials, .. }) => {
                gathered.far = Some((halves, health));
                gathered.silences = silences;
                gathered.other_trials = other_trials;
                return Ok(());
            }
            Told::Flow { flow, news: News::Over(Ok(ended)) } => {
                flow::note_health(&mut gathered.near_health, &ended);
                gathered.near[flow] = Some(ended.half);
                return Ok(());
            }
            Told::Flow { flow, news: News::Over(Err(broken)) } => {
                return Err(self.explained(flow, &broken));
            }
            Told::Flow { news: News::Open, .. } | Told::Far(_) => {
                return Err(self.out_of_turn().into());
            }
        };
        if let Some(event) = live.on_seen(flow, stretch, seen) {
            (self.options.events)(event);
        }
        Ok(())
    }

    fn joined(
        &self,
        trial: &Trial,
        gathered: Gathered,
        clocks: Clocks,
    ) -> Result<Observation, Abort> {
        let near_halves = gathered.near.into_iter().flatten().collect();
        let (far_halves, far) = gathered.far.unwrap_or_default();
        let other_trials = gathered.other_trials;
        let flows =
            flow_reports(trial, near_halves, far_halves, clocks.error).map_err(|error| {
                Abort::Testbed(format!("the far end {} is not sound: {error}", self.far_name))
            })?;
        let (near, clocks) = (gathered.near_health, Some(clocks));
        Ok(Observation { flows, near, far, clocks, other_trials, ..Observation::default() })
    }

    /// The next word on the trial that runs, from either end.
    fn await_told(&mut self, deadline: Time) -> Result<Told, Failure> {
        loop {
            if self.options.stop.is_set() && !self.is_winding_down {
                return Err(Abort::Stopped.into());
            }
            match self.mail.recv_timeout(LOOK_UP) {
                Ok(Mail::Line(Ok(message))) if trial_of(&message) != Some(self.trials) => {}
                Ok(Mail::Line(Ok(Message::Failed { reason, unheard, .. }))) => {
                    return Err(Failure::of(self.failed_far(&reason), unheard));
                }
                Ok(Mail::Line(Ok(message))) => return Ok(Told::Far(message)),
                Ok(Mail::Line(Err(error))) => return Err(self.lost(&error).into()),
                Ok(Mail::Flow { trial, .. }) if trial != self.trials => {}
                Ok(Mail::Flow { flow, news, .. }) => return Ok(Told::Flow { flow, news }),
                Err(RecvTimeoutError::Timeout) if clock::now() < deadline => {}
                Err(_) => {
                    let sentence = format!("the far end {} did not report in time", self.far_name);
                    return Err(Abort::Lost(sentence).into());
                }
            }
        }
    }

    fn failed_far(&self, reason: &str) -> Abort {
        Abort::Testbed(format!("the far end {} could not run the trial: {reason}", self.far_name))
    }

    fn out_of_turn(&self) -> Abort {
        Abort::Testbed(format!("the far end {} said something out of turn", self.far_name))
    }

    /// Why a flow of ours broke: because the far end is gone, if that is found out in time.
    fn explained(&mut self, flow: usize, broken: &Broken) -> Failure {
        let ours = Abort::Testbed(format!("flow {flow}: {}", broken.reason));
        let ours = Failure::of(ours, broken.unheard);
        // While the peer is heard it has had the time to say more after a look-up or two.
        let deadline = clock::now() + EXPLANATION_MAX;
        let heard_by = clock::now() + 4 * LOOK_UP;
        while clock::now() < deadline {
            if clock::now() >= heard_by && self.lease.is_live(clock::now()) {
                return ours;
            }
            match self.await_told(clock::now() + LOOK_UP) {
                Err(Failure::Final(Abort::Lost(_))) if self.lost.is_none() => {}
                Err(failure) => return failure,
                Ok(_) => {}
            }
        }
        ours
    }
}

impl Failure {
    const fn of(abort: Abort, unheard: bool) -> Self {
        if unheard { Self::Unheard(abort) } else { Self::Final(abort) }
    }

    pub(super) fn into_abort(self) -> Abort {
        match self {
            Self::Final(abort) | Self::Unheard(abort) => abort,
        }
    }
}

impl From<Abort> for Failure {
    fn from(abort: Abort) -> Self {
        Self::Final(abort)
    }
}

impl Gathered {
    /// This end's half of a flow, once it is there.
    pub(super) fn near_half(&self, flow: usize) -> Option<&Half> {
        self.near.get(flow)?.as_ref()
    }

    pub(super) fn far_half(&self, flow: usize) -> Option<&Half> {
        self.far.as_ref()?.0.get(flow)
    }

    fn is_complete(&self) -> bool {
        self.far.is_some() && self.near.iter().all(Option::is_some)
    }
}

fn lasts(trial: &Trial) -> Duration {
    let timing = &trial.timing;
    let probing = |load: &Load| match load {
        Load::Probes(probes) => probes.interval * probes.count,
        Load::Frames(_) | Load::Bursts(_) | Load::Tcp(_) | Load::Connections(_) => Duration::ZERO,
    };
    let probing = trial.flows.iter().map(|flow| probing(&flow.load)).max().unwrap_or_default();
    probing.max(timing.active()) + timing.settle
}

const fn trial_of(message: &Message) -> Option<u64> {
    match message {
        Message::Prepare { trial, .. }
        | Message::Ready { trial, .. }
        | Message::Start { trial, .. }
        | Message::Progress { trial, .. }
        | Message::Done { trial, .. }
        | Message::Failed { trial, .. }
        | Message::WindDown { trial, .. }
        | Message::Stop { trial } => Some(*trial),
        Message::Ping { .. } | Message::Pong { .. } | Message::Pulse {} | Message::Bye { .. } => {
            None
        }
    }
}
