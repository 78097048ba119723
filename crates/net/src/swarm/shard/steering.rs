//! How many connections there are: opened, renewed and closed as the stages ask.

use fp_model::{Close, HeldConnections, Time};

use super::{Role, SILENCE_MAX, Shard, Stop, UNANSWERED_MAX};
use crate::swarm::outbox::Outbox;
use crate::swarm::place::{Phase, micros, tick};
use crate::tcp::Connection;

/// The number that is wanted for some time, if the stages ask for one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    wanted: Option<u32>,
    is_reached: bool,
}

impl Shard {
    pub(super) fn steer(&mut self, now: Time, outbox: &mut Outbox) {
        if self.stopping == Some(Stop::Abort) {
            self.abort_all(now, outbox);
        }
        if self.terms.role == Role::Server {
            return;
        }
        if self.stopping == Some(Stop::RampDown) {
            self.abort_pending(now, outbox);
        }
        self.set_level(now);
        let wanted = self.wanted(now);
        self.steered_to = wanted;
        while self.occupied() < wanted && self.may_open(outbox) && self.take_question(now) {
            self.open_next(now, outbox);
        }
        let counters = &self.tally.counters;
        let is_stuck = self.free.is_empty(&self.places) && counters.pending + counters.closing == 0;
        if is_stuck && self.occupied() < wanted {
            // There is no place for who would take the stead of others: one goes first.
            self.close_retiring(now, outbox);
        }
        while self.tally.counters.active > wanted && !outbox.is_full() && self.may_close(now) {
            self.close_one(now, outbox);
        }
    }

    /// When `steer` has something to do again.
    pub(super) fn next_steering(&self, now: Time) -> Option<Time> {
        let counters = &self.tally.counters;
        if self.stopping == Some(Stop::Abort) {
            return (!self.is_over()).then_some(now);
        }
        if self.terms.role == Role::Server {
            return None;
        }
        if self.stopping == Some(Stop::RampDown) && counters.pending > 0 {
            return Some(now);
        }
        let wanted = self.wanted(now);
        let may = self.setup.as_ref().map_or(now, |setup| setup.next().max(now));
        if self.occupied() < wanted && !self.free.is_empty(&self.places) {
            return Some(if self.is_answered(now) { may } else { may.max(self.probes.next()) });
        }
        if counters.active > wanted {
            return Some(if self.stopping.is_some() { may } else { now });
        }
        let change = || self.ramp.next_change(now);
        if self.stopping.is_none() { change() } else { None }
    }

    fn wanted(&self, now: Time) -> u32 {
        if self.stopping.is_some() { 0 } else { self.ramp.wanted(now) }
    }

    /// Connections that count as wanted: open, on their way, or tried and to be tried again.
    fn occupied(&self) -> u32 {
        let counters = &self.tally.counters;
        counters.active + counters.pending + self.resting - self.retiring_count
    }

    fn may_open(&self, outbox: &Outbox) -> bool {
        !outbox.is_full() && !self.free.is_empty(&self.places)
    }

    fn take_question(&mut self, now: Time) -> bool {
        (self.is_answered(now) || self.probes.take(now)) && self.take_setup(now)
    }

    /// Or there are few who wait, or not for long.
    fn is_answered(&self, now: Time) -> bool {
        let is_silent = now.since(self.heard_at) >= SILENCE_MAX;
        self.tally.counters.pending < UNANSWERED_MAX || !is_silent
    }

    fn take_setup(&mut self, now: Time) -> bool {
        self.setup.as_mut().is_none_or(|setup| setup.take(now))
    }

    /// What the stages ask for is done at once; who wants to end before keeps to a rate.
    fn may_close(&mut self, now: Time) -> bool {
        self.stopping.is_none() || self.take_setup(now)
    }

    fn open_next(&mut self, now: Time, outbox: &mut Outbox) {
        let Some(index) = self.free.take(&self.places) else { return };
        let place = &mut self.places[index as usize];
        place.turn = if place.turn + 1 == self.terms.sizes.turns { 0 } else { place.turn + 1 };
        let pair = self.pair_of(index);
        let initial = self.initial_sequence(now, &pair);
        let number = self.terms.number_at(index, self.places[index as usize].turn);
        let place = &mut self.places[index as usize];
        place.connection = Some(Connection::open(initial));
        place.behaviour = self.terms.mix.place(number);
        place.left = 0;
        place.since = micros(now);
        if self.tally.counters.pending < UNANSWERED_MAX {
            self.heard_at = now;
        }
        self.set_phase(index, Phase::Pending);
        self.tally.counters.attempted += 1;
        self.tend(now, index, Some(pair), outbox);
        self.tally.on_state(None, self.places[index as usize].state());
    }

    /// A connection whose time is over stays until another is established.
    pub(super) fn retire_in_time(&mut self, now: Time, index: u32) {
        let due = self.terms.lifetime_due(&self.places[index as usize]);
        if due.is_some_and(|due| due.wrapping_sub(tick(now)) as i32 <= 0) {
            self.set_phase(index, Phase::Retiring);
            self.retiring.push_back(index);
        }
    }

    fn close_retiring(&mut self, now: Time, outbox: &mut Outbox) {
        if outbox.is_full() {
            return;
        }
        if let Some(index) = self.next_retiring() {
            self.close(now, index, outbox);
        }
    }

    /// One more is established, in whose favour another may go.
    pub(super) fn give_way(&mut self, now: Time, outbox: &mut Outbox) {
        if self.retiring_count > 0 && self.tally.counters.active > self.steered_to {
            self.close_retiring(now, outbox);
        }
    }

    /// Those that have failed or closed meanwhile are not in the way.
    fn next_retiring(&mut self) -> Option<u32> {
        while let Some(index) = self.retiring.pop_front() {
            if self.places[index as usize].phase == Phase::Retiring {
                return Some(index);
            }
        }
        None
    }

    fn close_one(&mut self, now: Time, outbox: &mut Outbox) {
        let index = self.next_retiring().or_else(|| self.next_at_cursor(Phase::Open));
        if let Some(index) = index {
            self.close(now, index, outbox);
        }
    }

    /// Looks through all places once at most.
    fn next_at_cursor(&mut self, phase: Phase) -> Option<u32> {
        let count = self.places.len() as u32;
        for _ in 0..count {
            let index = self.cursor;
            self.cursor = if index + 1 == count { 0 } else { index + 1 };
            if self.places[index as usize].phase == phase {
                return Some(index);
            }
        }
        None
    }

    fn close(&mut self, now: Time, index: u32, outbox: &mut Outbox) {
        let place = &mut self.places[index as usize];
        let before = place.state();
        let Some(connection) = &mut place.connection else { return };
        match self.terms.close {
            Close::Fin => connection.close(),
            Close::Reset => connection.abort(),
        }
        self.leave_open(index);
        self.tend(now, index, None, outbox);
        self.tally.on_state(before, self.places[index as usize].state());
    }

    /// One end has closed.
    pub(super) fn leave_open(&mut self, index: u32) {
        if self.places[index as usize].is_open() {
            self.set_phase(index, Phase::Closing);
            self.note_level();
        }
    }

    fn abort_pending(&mut self, now: Time, outbox: &mut Outbox) {
        while self.tally.counters.pending > 0 && !outbox.is_full() {
            let Some(index) = self.next_at_cursor(Phase::Pending) else { return };
            self.abort(now, index, outbox);
        }
    }

    fn abort_all(&mut self, now: Time, outbox: &mut Outbox) {
        for phase in [Phase::Pending, Phase::Closing, Phase::Open, Phase::Retiring] {
            let counted = |shard: &Self| match phase {
                Phase::Pending => shard.tally.counters.pending,
                Phase::Closing => shard.tally.counters.closing,
                Phase::Open | Phase::Retiring => shard.tally.counters.active,
                Phase::Free | Phase::Resting => 0,
            };
            while counted(self) > 0 && !outbox.is_full() {
                let Some(index) = self.next_at_cursor(phase) else { break };
                self.abort(now, index, outbox);
            }
        }
    }

    fn abort(&mut self, now: Time, index: u32, outbox: &mut Outbox) {
        let place = &mut self.places[index as usize];
        let before = place.state();
        let Some(connection) = &mut place.connection else { return };
        connection.abort();
        self.leave_open(index);
        self.tend(now, index, None, outbox);
        self.tally.on_state(before, self.places[index as usize].state());
    }

    fn set_level(&mut self, now: Time) {
        let is_level = self.stopping.is_none() && self.ramp.is_level(now);
        let wanted = is_level.then(|| self.ramp.wanted(now)).filter(|wanted| *wanted > 0);
        if self.level.wanted != wanted {
            self.level = Level { wanted, is_reached: false };
        }
        self.note_level();
    }

    /// Another number of connections is open.
    pub(super) fn note_level(&mut self) {
        let Level { wanted: Some(wanted), is_reached } = self.level else { return };
        let counters = &mut self.tally.counters;
        let active = counters.active;
        self.level.is_reached = is_reached || active >= wanted;
        if !self.level.is_reached {
            return;
        }
        let first = HeldConnections { wanted, least: active, most: active };
        counters.held = Some(match counters.held {
            Some(held) if held.wanted > wanted => held,
            Some(held) if held.wanted == wanted => HeldConnections {
                wanted,
                least: held.least.min(active),
                most: held.most.max(active),
            },
            Some(_) | None => first,
        });
    }
}
