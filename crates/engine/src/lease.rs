//! The dead-man's switch of a trial: a sender goes on only while its peer is heard.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use fp_model::contact::DEAD_MAN;
use fp_model::{Interruption, Time};
use fp_net::swarm::{Role, Stop};

use crate::end::End;

/// Shared by the control thread, which renews it, and by the threads of a trial, which ask.
#[derive(Clone, Debug)]
pub struct Lease {
    session: Arc<State>,
    trial: Arc<TrialState>,
    holder: Holder,
    end: End,
}

/// What counts as a sign of life, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Sender,
    Receiver,
}

#[derive(Debug, Default)]
struct TrialState {
    stopped: AtomicBool,
    unheard: AtomicBool,
    /// How this end's connections are to end before their time, once that is asked for.
    clients: OnceLock<Stop>,
    servers: OnceLock<Stop>,
}

impl TrialState {
    const fn of(&self, role: Role) -> &OnceLock<Stop> {
        match role {
            Role::Client => &self.clients,
            Role::Server => &self.servers,
        }
    }
}

#[derive(Debug)]
struct State {
    renewed_at: AtomicU64,
    data_at: AtomicU64,
    stopped: AtomicBool,
    /// A sender of this end paused, since the peer was not heard.
    paused: AtomicBool,
    /// How long the running trial outlives the peer's silence.
    patience_ns: AtomicU64,
    /// Silences of at least `DEAD_MAN` that are over.
    silences: Mutex<Vec<Silence>>,
}

/// A time in which neither the peer nor data of its flows arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    pub(crate) from: Time,
    pub(crate) until: Time,
}

impl Silence {
    /// The interruption as a trial sees it that started at `start`; its time is zero where it began before.
    pub(crate) fn seen_from(&self, start: Time, is_repeated: bool) -> Interruption {
        let (at, silent) = (self.from.since(start), self.until.since(self.from));
        Interruption { began: None, at, silent, is_repeated }
    }
}

impl Lease {
    /// A receiver floods nobody: it waits until the session is given up.
    const RECEIVER: Duration = Duration::from_secs(3);
    /// The longest patience that a peer is granted: a trial holds its memory and ports for this long.
    pub(crate) const PATIENCE_MAX: Duration = Duration::from_secs(120);
    /// Silences kept until somebody asks; later ones are dropped.
    const SILENCES_MAX: usize = 1000;

    pub fn new(now: Time) -> Self {
        let state = State {
            renewed_at: AtomicU64::new(now.as_nanos()),
            data_at: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            patience_ns: AtomicU64::new(0),
            silences: Mutex::default(),
        };
        Self {
            session: Arc::new(state),
            trial: Arc::default(),
            holder: Holder::Sender,
            end: End::Near,
        }
    }

    /// The lease of a far end, whose senders the near end must be able to stop by falling silent.
    pub(crate) fn of_far_end(now: Time) -> Self {
        Self { end: End::Far, ..Self::new(now) }
    }

    /// A lease that ends with this one, or alone when its trial does.
    pub fn for_trial(&self) -> Self {
        Self { trial: Arc::default(), ..self.clone() }
    }

    /// The same lease for a thread that only receives: where a flood of data drowns every message,
    /// the data itself says that its sender lives.
    pub(crate) fn for_receiver(&self) -> Self {
        Self { holder: Holder::Receiver, ..self.clone() }
    }

    /// Data of a flow arrived last at this time. Where a trial overloads the path, pulses drown in it
    /// as its own data does, and what gets through says that neither path nor peer is down.
    pub(crate) fn renew_by_data(&self, at: Time) {
        let before = self.session.data_at.fetch_max(at.as_nanos(), Ordering::Relaxed);
        self.note_silence(self.renewed_at().max(Time::from_nanos(before)), at);
    }

    /// When the peer was last heard of in any way.
    pub(crate) fn last_sign_of_life(&self) -> Time {
        self.renewed_at().max(Time::from_nanos(self.session.data_at.load(Ordering::Relaxed)))
    }

    fn renewed_at(&self) -> Time {
        Time::from_nanos(self.session.renewed_at.load(Ordering::Relaxed))
    }

    /// An authenticated message of the peer has arrived.
    pub fn renew(&self, now: Time) {
        let paused = self.session.paused.swap(false, Ordering::Relaxed);
        let from = if paused { self.renewed_at() } else { self.last_sign_of_life() };
        self.note_silence(from, now);
        self.session.renewed_at.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// The threads of data and of control may both end the same silence: it is noted once.
    fn note_silence(&self, from: Time, until: Time) {
        if until.since(from) < DEAD_MAN {
            return;
        }
        let mut silences = self.silences();
        let is_noted = silences.last().is_some_and(|last| last.from >= from);
        if !is_noted && silences.len() < Self::SILENCES_MAX {
            silences.push(Silence { from, until });
        }
    }

    /// Lets the next trial go on for this long while the peer is silent.
    pub(crate) fn bear(&self, patience: Duration) {
        let patience = patience.min(Self::PATIENCE_MAX);
        self.session.patience_ns.store(patience.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn patience(&self) -> Duration {
        Duration::from_nanos(self.session.patience_ns.load(Ordering::Relaxed))
    }

    /// The silences of the peer since this was last asked.
    pub(crate) fn take_silences(&self) -> Vec<Silence> {
        std::mem::take(&mut *self.silences())
    }

    fn silences(&self) -> std::sync::MutexGuard<'_, Vec<Silence>> {
        // Nobody panics while it holds the lock.
        self.session.silences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a sender of a trial that goes on may send just now: the near end must be able to stop a
    /// far end by falling silent.
    pub(crate) fn may_send(&self, now: Time) -> bool {
        let may = self.end == End::Near || self.is_heard(now);
        if !may {
            self.session.paused.store(true, Ordering::Relaxed);
        }
        may
    }

    fn is_heard(&self, now: Time) -> bool {
        now.since(self.renewed_at()) < DEAD_MAN
    }

    /// Ends the session, with all of its trials, for good.
    pub fn stop(&self) {
        self.session.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends the trial for every thread that holds this lease or a clone of it, for good.
    pub fn stop_trial(&self) {
        self.trial.stopped.store(true, Ordering::Relaxed);
    }

    /// Has this end's connections of the trial come to an end, and their halves with them; what was
    /// said first holds.
    pub(crate) fn wind_down(&self, role: Role, stop: Stop) {
        let _ = self.trial.of(role).set(stop);
    }

    /// Whether they are to come to an end, and how.
    pub(crate) fn winding_down(&self, role: Role) -> Option<Stop> {
        self.trial.of(role).get().copied()
    }

    /// Whether a thread of the trial may go on; to be asked at least ten times a second.
    pub fn is_live(&self, now: Time) -> bool {
        let stopped = self.session.stopped.load(Ordering::Relaxed)
            || self.trial.stopped.load(Ordering::Relaxed);
        let silent_for = match self.holder {
            Holder::Sender => now.since(self.renewed_at()),
            Holder::Receiver => now.since(self.last_sign_of_life()),
        };
        let patience = match self.holder {
            Holder::Sender => DEAD_MAN,
            Holder::Receiver => Self::RECEIVER,
        };
        let patience = patience.max(self.patience());
        let live = !stopped && silent_for < patience;
        if !stopped && !live {
            self.trial.unheard.store(true, Ordering::Relaxed);
        }
        live
    }

    /// Whether a thread of the trial was refused because the peer was silent, and not because
    /// anybody had ended the trial.
    pub(crate) fn went_unheard(&self) -> bool {
        self.trial.unheard.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_three_heartbeats_after_the_last_renewal() {
        let lease = Lease::new(Time::ZERO);
        let later = Time::ZERO + Duration::from_millis(749);
        assert!(lease.is_live(later));
        assert!(!lease.is_live(Time::ZERO + Duration::from_millis(750)));
        lease.renew(later);
        assert!(lease.is_live(Time::ZERO + Duration::from_millis(1490)));
        lease.stop();
        assert!(!lease.is_live(later));
    }

    #[test]
    fn a_trial_ends_alone_but_never_outlives_its_session() {
        let session = Lease::new(Time::ZERO);
        let (first, second) = (session.for_trial(), session.for_trial());
        first.stop_trial();
        assert!(!first.is_live(Time::ZERO));
        assert!(second.is_live(Time::ZERO) && session.is_live(Time::ZERO));
        session.stop();
        assert!(!second.is_live(Time::ZERO));
        assert!(!first.went_unheard() && !second.went_unheard());
    }

    #[test]
    fn a_trial_remembers_that_it_ended_unheard_although_the_peer_is_back() {
        let session = Lease::new(Time::ZERO);
        let trial = session.for_trial();
        let silent = Time::ZERO + DEAD_MAN;
        assert!(!trial.is_live(silent));
        session.renew(silent);
        assert!(trial.is_live(silent) && trial.went_unheard());
        assert!(!session.for_trial().went_unheard());
    }

    #[test]
    fn a_patient_trial_outlives_a_silence_in_which_the_far_end_may_not_send() {
        let session = Lease::new(Time::ZERO);
        session.bear(Duration::from_secs(30));
        let trial = session.for_trial();
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        assert!(trial.is_live(at(4000)) && !trial.is_heard(at(4000)));
        session.renew(at(4000));
        assert!(trial.is_live(at(4100)) && trial.is_heard(at(4100)) && !trial.went_unheard());
        assert_eq!(session.take_silences(), [Silence { from: Time::ZERO, until: at(4000) }]);
        assert_eq!(session.take_silences(), []);
        assert!(!trial.is_live(at(34_000)) && trial.went_unheard());
        session.bear(Duration::ZERO);
        assert!(!session.for_trial().is_live(at(4750)));
    }

    #[test]
    fn pulses_that_drown_in_the_data_of_a_trial_are_no_silence() {
        let far = Lease::of_far_end(Time::ZERO);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let data_until =
            |until: u64| (0..=until).step_by(100).for_each(|ms| far.renew_by_data(at(ms)));
        data_until(2000);
        far.renew(at(2050));
        assert_eq!(far.take_silences(), []);
        // Whatever is heard first ends a silence, and the other does not note it again.
        far.renew_by_data(at(3000));
        far.renew(at(3001));
        assert_eq!(far.take_silences(), [Silence { from: at(2050), until: at(3000) }]);
        // A sender that had to pause says so, whatever it received meanwhile.
        data_until(4000);
        assert!(!far.may_send(at(4000)));
        far.renew(at(4010));
        assert_eq!(far.take_silences(), [Silence { from: at(3001), until: at(4010) }]);
    }

    #[test]
    fn data_keeps_a_receiver_but_never_a_sender() {
        let sender = Lease::new(Time::ZERO);
        let receiver = sender.for_receiver();
        let flooded = Time::ZERO + Duration::from_secs(10);
        receiver.renew_by_data(flooded);
        assert!(receiver.is_live(flooded) && !sender.is_live(flooded));
        assert!(!receiver.is_live(flooded + Duration::from_secs(3)));
        sender.stop();
        assert!(!receiver.is_live(flooded));
    }
}
