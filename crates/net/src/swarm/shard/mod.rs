//! One end's connections of one processor.

mod application;
mod arrival;
mod few;
mod steering;
mod terms;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::{ConnectionsLoad, Dscp, Family, Time};

use crate::checksum::Peer;
use crate::packet::{Link, Question};
use crate::swarm::account::Account;
use crate::swarm::mix::MixError;
use crate::swarm::outbox::Outbox;
use crate::swarm::place::{FreePlaces, Phase, Place, tick, tick_after};
use crate::swarm::plan::{Pair, PlanError};
use crate::swarm::ramp::{Allowance, Ramp};
use crate::swarm::table::Table;
use crate::swarm::tally::{Counters, Tally};
use crate::swarm::wheel::Wheel;
use crate::tcp::TCP_HEADER_BYTES;
use crate::tcp::connection::End;

use steering::Level;
use terms::{Sizes, Terms};

/// What a shard is to do, the same at both ends but for the role, the link and the secret.
#[derive(Clone, Debug)]
pub struct Setting {
    pub role: Role,
    pub load: ConnectionsLoad,
    pub family: Family,
    pub dscp: Dscp,
    /// From this end to whoever takes its frames: the far end, or the next hop on the way to it.
    pub link: Link,
    /// Who computes the checksums of what arrives.
    pub peer: Peer,
    /// Both ends have the same: payload is drawn from it.
    pub seed: u64,
    /// Nobody else knows it: initial sequence numbers are drawn from it.
    pub secret: u128,
    /// When the stages begin.
    pub start: Time,
}

/// Which end of its connections a shard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It opens them.
    Client,
    /// It takes them.
    Server,
}

/// How a shard comes to its end before the stages do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client closes all connections, no faster than they may be set up; where that is not
    /// bounded, as fast as they were established in the best second, and all within two seconds.
    /// The server takes no more.
    RampDown,
    /// All connections are broken off at once, and the peers are told.
    Abort,
}

/// Why there is no shard for a load: a sentence that says what would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingError {
    Addresses(PlanError),
    Mix(MixError),
    Stages,
    Segment(u32),
    Window(u32),
    Lifetime,
    Places(u32),
    TranslatedServers(u64),
}

/// The connections of one processor, at one end.
#[derive(Debug)]
pub struct Shard {
    terms: Terms,
    places: Vec<Place>,
    wheel: Wheel,
    free: FreePlaces,
    /// Of a server behind a translator.
    table: Option<Table>,
    /// How many were wanted when it was last polled.
    steered_to: u32,
    /// Those that are open until others have taken their stead, the oldest first; some may have
    /// ended meanwhile.
    retiring: VecDeque<u32>,
    retiring_count: u32,
    resting: u32,
    ramp: Ramp,
    setup: Option<Allowance>,
    /// When a connection was established last, or few were waiting for it.
    heard_at: Time,
    /// What is asked for as long as nobody answers.
    probes: Allowance,
    challenges: Allowance,
    level: Level,
    stopping: Option<Stop>,
    /// Where the next one to be closed is looked for.
    cursor: u32,
    tally: Tally,
    /// Where they are kept, one for each place.
    accounts: Vec<Account>,
}

/// A place where a connection has failed is tried again after so long.
const REST_TICKS: u32 = 1000;
/// RFC 5961 section 7: as many as Linux sends by default.
const CHALLENGES_PER_SECOND: u32 = 1000;
/// Where so many wait for an answer and none has come for so long, few are asked for in a second until
/// one comes: a table on the way that is full is not told any better by more of them, and whoever keeps
/// it has work with each.
const UNANSWERED_MAX: u32 = 1000;
const SILENCE_MAX: Duration = Duration::from_secs(1);
const PROBES_PER_SECOND: u32 = 100;
/// Who is told to stop has closed all connections after so long, unless their rate is bounded.
const CLOSING_SECONDS_MAX: u32 = 2;

impl Shard {
    /// All memory that it will hold for idle connections is allocated here.
    ///
    /// # Errors
    /// What of the setting cannot be, with the numbers.
    pub fn new(setting: Setting) -> Result<Self, SettingError> {
        let (start, secret, role) = (setting.start, setting.secret, setting.role);
        let ramp = Ramp::new(&setting.load.stages, start);
        let setup = setting.load.setup_rate_max.map(|rate| Allowance::new(rate, start));
        let terms = Terms::new(setting)?;
        let Sizes { places, turns } = terms.sizes;
        let needs_table = terms.is_translated && role == Role::Server;
        Ok(Self {
            // The first time each place is used its turn is the first one.
            places: (0..places).map(|_| Place::new(turns - 1)).collect(),
            wheel: Wheel::new(places, tick(start)),
            free: FreePlaces::new(),
            table: needs_table.then(|| Table::new(places, secret)),
            retiring: VecDeque::new(),
            steered_to: 0,
            retiring_count: 0,
            resting: 0,
            ramp,
            setup,
            heard_at: start,
            probes: Allowance::new(PROBES_PER_SECOND, start),
            challenges: Allowance::new(CHALLENGES_PER_SECOND, start),
            level: Level::default(),
            stopping: None,
            cursor: 0,
            tally: Tally::default(),
            accounts: Vec::new(),
            terms,
        })
    }

    /// Has the stages begin at another instant than its setting said, as long as nothing has begun:
    /// memory for very many connections takes longer to allocate than a start is known ahead.
    ///
    /// # Panics
    /// Where a connection was tried already.
    pub fn begin_at(&mut self, start: Time) {
        assert_eq!(self.tally.counters.attempted, 0, "a load begins once");
        self.terms.start = start;
        self.ramp.begin_at(start);
        self.challenges.begin_at(start);
        if let Some(setup) = &mut self.setup {
            setup.begin_at(start);
        }
    }

    /// Sends this part's frames to `link` from now on, in place of the link it was made with.
    pub fn send_by(&mut self, link: Link) {
        self.terms.link = link;
    }

    /// What [`Self::new`] allocates for as many connections as this load has at most.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn bytes_needed(
        load: &ConnectionsLoad,
        family: Family,
        role: Role,
    ) -> Result<u64, SettingError> {
        let Sizes { places, .. } = Sizes::new(load, family)?;
        let table = match role {
            Role::Server if load.addresses.translated => Table::bytes_needed(places),
            Role::Client | Role::Server => 0,
        };
        let each = size_of::<Place>() as u64;
        Ok(u64::from(places) * each + Wheel::bytes_needed(places) + table)
    }

    /// The longest frame that it sends: an outbox needs room for so many bytes each.
    pub fn frame_bytes_max(&self) -> usize {
        let pair = self.terms.plan.pair(0);
        let segment_bytes = TCP_HEADER_BYTES as usize + usize::from(self.terms.profile.mss_bytes);
        let longest = self.terms.headers_bytes(&pair) + segment_bytes;
        longest.max(Question::FRAME_BYTES_MAX)
    }

    /// Does what is due, as long as the outbox has room.
    pub fn poll(&mut self, now: Time, outbox: &mut Outbox) {
        while !outbox.is_full() {
            let Some(index) = self.wheel.pop_due(tick(now)) else { break };
            self.on_timer(now, index, outbox);
        }
        self.steer(now, outbox);
    }

    /// When to poll again; `None`: only when a frame arrives.
    pub fn next_due(&self, now: Time) -> Option<Time> {
        let timer = self.wheel.next_due().map(|due| {
            let ahead = (due.wrapping_sub(tick(now)) as i32).max(0) as u64;
            let begun = now.as_nanos() % 1_000_000;
            if ahead == 0 { now } else { now + Duration::from_nanos(ahead * 1_000_000 - begun) }
        });
        [timer, self.next_steering(now)].into_iter().flatten().min()
    }

    /// Ends all connections, whatever the stages say.
    pub fn stop(&mut self, stop: Stop) {
        // Who has said that all be broken off has said it.
        if self.stopping != Some(Stop::Abort) {
            self.stopping = Some(stop);
        }
        // Whatever number was held, nobody wants it any more.
        self.level = Level::default();
        if self.setup.is_none() {
            self.setup = Some(Allowance::new(self.closing_rate(), self.terms.start));
        }
    }

    /// What the path has shown to carry, and more only where that would take long.
    fn closing_rate(&self) -> u32 {
        let established = &self.tally.established_in_second;
        let best = established.iter().copied().max().unwrap_or_default();
        best.max(self.tally.counters.active.div_ceil(CLOSING_SECONDS_MAX))
    }

    /// It was stopped, and no connection is left.
    pub fn is_over(&self) -> bool {
        let Counters { pending, active, closing, .. } = self.tally.counters;
        self.stopping.is_some() && pending == 0 && active == 0 && closing == 0
    }

    pub const fn counters(&self) -> &Counters {
        &self.tally.counters
    }

    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    fn on_timer(&mut self, now: Time, index: u32, outbox: &mut Outbox) {
        match self.places[index as usize].phase {
            Phase::Free => {}
            Phase::Resting => self.free(index),
            Phase::Pending | Phase::Open | Phase::Retiring | Phase::Closing => {
                let place = &mut self.places[index as usize];
                let before = place.state();
                let Some(connection) = &mut place.connection else { return };
                let reaction = connection.on_timeout(now, &self.terms.profile);
                if let Some(end) = reaction.end {
                    self.tally.on_state(before, None);
                    self.on_end(now, index, end);
                    return;
                }
                self.retire_in_time(now, index);
                self.tend(now, index, None, outbox);
                self.tally.on_state(before, self.places[index as usize].state());
            }
        }
    }

    /// Has the application of a place act, sends what there is to send, and sees to when to come
    /// back. `pair` is what its frames bear, where that is known.
    fn tend(&mut self, now: Time, index: u32, pair: Option<Pair>, outbox: &mut Outbox) {
        let number = self.number_of(index);
        let account = self.account_place(number);
        let place = &mut self.places[index as usize];
        let (terms, table) = (&self.terms, self.table.as_ref());
        let mut pair = pair;
        let payload_due = application::act(terms, place, now);
        let Some(connection) = &mut place.connection else { return };
        let mut is_blocked = false;
        loop {
            if outbox.is_full() {
                is_blocked = true;
                break;
            }
            let Some(transmit) = connection.poll_transmit(now, &terms.profile) else { break };
            let pair = pair.get_or_insert_with(|| terms.pair_of(table, index, place.turn));
            terms.push(pair, number, &transmit, outbox);
            if let Some(account) = account.and_then(|place| self.accounts.get_mut(place)) {
                account.on_sent(transmit.payload_bytes, transmit.resent.is_some());
            }
            match transmit.resent {
                Some(resent) => self.tally.on_resent(resent),
                None => self.tally.counters.sent_bytes += u64::from(transmit.payload_bytes),
            }
            application::refill(terms, place.phase, place.behaviour, connection, now);
        }
        if !is_blocked && terms.is_done(connection) {
            self.finish(index, Outcome::Closed);
            return;
        }
        let timeout = connection.poll_timeout(now).map(tick_after);
        let due = [timeout, payload_due, terms.lifetime_due(place)];
        self.come_back(now, index, is_blocked, due);
    }

    /// A deadline that is set already is left where it is if it is earlier: most never come.
    fn come_back(&mut self, now: Time, index: u32, is_blocked: bool, due: [Option<u32>; 3]) {
        let passing = tick(now);
        let ahead = |due: u32| (due.wrapping_sub(passing) as i32).max(1);
        let next = if is_blocked { Some(0) } else { due.into_iter().flatten().map(ahead).min() };
        let Some(next) = next else { return };
        let set = self.wheel.due(index).map(|due| due.wrapping_sub(passing) as i32);
        if set.is_none_or(|set| set > next) {
            self.wheel.set(index, passing.wrapping_add(next as u32));
        }
    }

    fn on_end(&mut self, now: Time, index: u32, end: End) {
        let is_client = self.terms.role == Role::Client;
        let outcome = match (self.places[index as usize].phase, end) {
            (Phase::Pending, End::Refused | End::Reset) if is_client => Outcome::Refused,
            // The client has given it up.
            (Phase::Pending, End::Refused | End::Reset) => Outcome::Closed,
            (Phase::Pending, End::TimedOut) => Outcome::NoAnswer,
            (Phase::Open | Phase::Retiring, End::Reset | End::Refused) => {
                if self.terms.is_closed_by_reset() { Outcome::Closed } else { Outcome::Reset }
            }
            (_, End::TimedOut) => Outcome::TimedOut,
            (_, End::Closed) | (Phase::Closing, End::Reset | End::Refused) => Outcome::Closed,
            (Phase::Free | Phase::Resting, End::Reset | End::Refused) => return,
        };
        if outcome.is_failure() {
            self.tally.on_failure(now, self.terms.start);
        }
        self.finish(index, outcome);
        if outcome.is_failure() && is_client {
            self.rest(now, index);
        }
    }

    /// The connection of a place is no more.
    fn finish(&mut self, index: u32, outcome: Outcome) {
        let place = &mut self.places[index as usize];
        place.connection = None;
        let counters = &mut self.tally.counters;
        match outcome {
            Outcome::Closed if place.phase == Phase::Pending => counters.given_up += 1,
            Outcome::Closed => counters.closed += 1,
            Outcome::NoAnswer => counters.failed.no_answer += 1,
            Outcome::Refused => counters.failed.refused += 1,
            Outcome::Reset => counters.failed.reset += 1,
            Outcome::TimedOut => counters.failed.timed_out += 1,
        }
        let is_client = self.terms.role == Role::Client;
        if let Some(table) = &mut self.table {
            table.remove(&self.places, index);
        }
        self.wheel.cancel(index);
        if is_client && !outcome.is_failure() || self.table.is_some() {
            self.free(index);
        } else {
            self.set_phase(index, Phase::Free);
        }
        self.note_level();
    }

    /// Sees to it that the counters say how many places are in each phase.
    fn set_phase(&mut self, index: u32, phase: Phase) {
        let before = core::mem::replace(&mut self.places[index as usize].phase, phase);
        self.retiring_count -= u32::from(before == Phase::Retiring);
        self.retiring_count += u32::from(phase == Phase::Retiring);
        if let Some(count) = self.count_of(before) {
            *count -= 1;
        }
        if let Some(count) = self.count_of(phase) {
            *count += 1;
        }
    }

    const fn count_of(&mut self, phase: Phase) -> Option<&mut u32> {
        match phase {
            Phase::Free => None,
            Phase::Resting => Some(&mut self.resting),
            Phase::Pending => Some(&mut self.tally.counters.pending),
            Phase::Open | Phase::Retiring => Some(&mut self.tally.counters.active),
            Phase::Closing => Some(&mut self.tally.counters.closing),
        }
    }

    fn free(&mut self, index: u32) {
        self.set_phase(index, Phase::Free);
        self.free.give(index, &mut self.places);
    }

    fn rest(&mut self, now: Time, index: u32) {
        self.set_phase(index, Phase::Resting);
        self.wheel.set(index, tick(now).wrapping_add(REST_TICKS));
    }
}

/// What became of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Closed,
    NoAnswer,
    Refused,
    Reset,
    TimedOut,
}

impl Outcome {
    const fn is_failure(self) -> bool {
        match self {
            Self::Closed => false,
            Self::NoAnswer | Self::Refused | Self::Reset | Self::TimedOut => true,
        }
    }
}

impl From<PlanError> for SettingError {
    fn from(error: PlanError) -> Self {
        Self::Addresses(error)
    }
}

impl From<MixError> for SettingError {
    fn from(error: MixError) -> Self {
        Self::Mix(error)
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Addresses(error) => error.fmt(f),
            Self::Mix(error) => error.fmt(f),
            Self::Stages => f.write_str("no stage has a connection: name at least one that does"),
            Self::Segment(bytes) => write!(
                f,
                "a segment of many connections has {} to {} bytes, not {bytes}",
                terms::MSS_BYTES.start(),
                terms::MSS_BYTES.end()
            ),
            Self::Window(bytes) => write!(
                f,
                "a window has {} to {} bytes, not {bytes}",
                terms::WINDOW_BYTES.start(),
                terms::WINDOW_BYTES.end()
            ),
            Self::Lifetime => f.write_str("a lifetime is from 1 ms to 24 days"),
            Self::Places(count) => {
                write!(f, "one processor has up to {} connections, not {count}", terms::PLACES_MAX)
            }
            Self::TranslatedServers(count) => write!(
                f,
                "behind a translator there are up to {} servers and ports of theirs, not {count}",
                crate::swarm::table::SERVERS_MAX
            ),
        }
    }
}

impl core::error::Error for SettingError {}
