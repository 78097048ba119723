//! What a frame that arrives does.

use fp_model::{Ecn, Time};

use super::application::{self, UNKNOWN};
use super::terms::ANNOUNCEMENT_BYTES;
use super::{Outcome, Role, Shard};
use crate::packet::{Frame, Question, Segment, Unread};
use crate::swarm::outbox::Outbox;
use crate::swarm::place::{Phase, micros, tick};
use crate::swarm::plan::Pair;
use crate::swarm::table::Table;
use crate::tcp::connection::{Arrival, Reaction, State, reset_for};
use crate::tcp::{Connection, Flags, Sequence, Tuple, initial_sequence};

use core::net::{IpAddr, SocketAddr};

impl Shard {
    /// Handles a frame that arrived; one that does not belong to the load is ignored.
    pub fn on_frame(&mut self, now: Time, frame: &[u8], outbox: &mut Outbox) {
        match Frame::read(frame, self.terms.peer) {
            Ok(Frame::Tcp(segment)) => self.on_segment(now, &segment, outbox),
            Ok(Frame::Question(question)) => self.on_question(&question, outbox),
            Err(Unread::Spoilt) => self.tally.counters.bad_checksums += 1,
            Err(Unread::Foreign) => self.tally.counters.foreign_frames += 1,
        }
    }

    /// The addresses of this end are this shard's, and nobody else answers for them.
    fn on_question(&mut self, question: &Question, outbox: &mut Outbox) {
        let is_own = |address: IpAddr| match self.terms.role {
            Role::Client => self.terms.plan.is_client(address),
            Role::Server => self.terms.plan.is_server(address),
        };
        if is_own(question.target) {
            let own = self.terms.link.source;
            outbox.push(|frame| question.answer(own, frame));
        } else {
            self.tally.counters.foreign_frames += 1;
        }
    }

    fn on_segment(&mut self, now: Time, segment: &Segment<'_>, outbox: &mut Outbox) {
        let arrived = Pair { addresses: segment.envelope.addresses, ports: segment.ports };
        let is_known = match self.terms.role {
            Role::Client => self.on_segment_to_client(now, &arrived.reversed(), segment, outbox),
            Role::Server => self.on_segment_to_server(now, &arrived, segment, outbox),
        };
        if is_known.is_none() {
            self.tally.counters.foreign_frames += 1;
        }
    }

    /// `None`: it is no connection of the load's.
    fn on_segment_to_client(
        &mut self,
        now: Time,
        pair: &Pair,
        segment: &Segment<'_>,
        outbox: &mut Outbox,
    ) -> Option<()> {
        let (index, turn) = self.terms.place_of(self.terms.plan.number(pair)?)?;
        let place = &self.places[index as usize];
        if place.connection.is_some() && place.turn == turn {
            self.deliver(now, index, segment, outbox);
        } else {
            self.answer_stray(pair, segment, outbox);
        }
        Some(())
    }

    fn on_segment_to_server(
        &mut self,
        now: Time,
        pair: &Pair,
        segment: &Segment<'_>,
        outbox: &mut Outbox,
    ) -> Option<()> {
        if self.table.is_some() {
            return self.on_translated_segment(now, pair, segment, outbox);
        }
        let (index, turn) = self.terms.place_of(self.terms.plan.number(pair)?)?;
        let place = &mut self.places[index as usize];
        let is_same = place.turn == turn;
        let flags = segment.header.flags;
        let asks = flags.has(Flags::SYN) && !flags.has(Flags::ACK) && !flags.has(Flags::RST);
        match &mut place.connection {
            Some(_) if is_same => self.deliver(now, index, segment, outbox),
            // The client has done with what was here, or what was here has not heard of that.
            Some(connection) if asks => match connection.state() {
                State::LastAck | State::Closing | State::TimeWait | State::Closed => {
                    let before = place.state();
                    self.tally.on_state(before, None);
                    self.finish(index, Outcome::Closed);
                    self.accept(now, index, turn, segment, outbox);
                }
                State::SynSent
                | State::SynReceived
                | State::Established
                | State::FinWait1
                | State::FinWait2
                | State::CloseWait => {
                    if self.challenges.take(now) {
                        connection.challenge();
                        self.tend_counted(now, index, outbox);
                    } else {
                        self.tally.counters.forgone_challenges += 1;
                    }
                }
            },
            None if asks => self.accept(now, index, turn, segment, outbox),
            Some(_) | None => self.answer_stray(pair, segment, outbox),
        }
        Some(())
    }

    fn on_translated_segment(
        &mut self,
        now: Time,
        pair: &Pair,
        segment: &Segment<'_>,
        outbox: &mut Outbox,
    ) -> Option<()> {
        let table = self.table.as_mut()?;
        let seen = Table::seen(&self.terms.plan, pair)?;
        if let Some(index) = table.find(&self.places, seen) {
            self.deliver_translated(now, index, segment, outbox);
            return Some(());
        }
        let flags = segment.header.flags;
        let asks = flags.has(Flags::SYN) && !flags.has(Flags::ACK) && !flags.has(Flags::RST);
        if !asks {
            self.answer_stray(pair, segment, outbox);
            return Some(());
        }
        let index = self.free.take(&self.places)?;
        table.insert(&mut self.places, index, seen);
        self.accept(now, index, seen.port, segment, outbox);
        if self.places[index as usize].connection.is_none() {
            self.table.as_mut()?.remove(&self.places, index);
            self.free(index);
        }
        Some(())
    }

    /// Before the client has told its number, nothing else of it can be checked: it will come again.
    fn deliver_translated(
        &mut self,
        now: Time,
        index: u32,
        segment: &Segment<'_>,
        outbox: &mut Outbox,
    ) {
        let place = &self.places[index as usize];
        let is_announced = place.behaviour != UNKNOWN || segment.payload.is_empty();
        let announced = || {
            let position = place.connection.as_ref()?.position_of(&segment.header);
            let bytes: &[u8; ANNOUNCEMENT_BYTES as usize] =
                segment.payload.first_chunk().filter(|_| position == 0)?;
            let number = (u64::from_be_bytes(*bytes) >> 32) as u32;
            let is_right = self.terms.announcement(number) == *bytes;
            (is_right && self.terms.place_of(number).is_some()).then_some(number)
        };
        match (is_announced, if is_announced { None } else { announced() }) {
            (true, _) => self.deliver(now, index, segment, outbox),
            (false, Some(number)) => {
                if let Some(table) = &mut self.table {
                    table.learn(index, number);
                }
                self.places[index as usize].behaviour = self.terms.mix.place(number);
                if self.places[index as usize].is_open() {
                    application::begin(&self.terms, &mut self.places[index as usize], now);
                }
                self.deliver(now, index, segment, outbox);
            }
            (false, None) => {}
        }
    }

    /// Tells a peer that there is no such connection; a full outbox keeps silent, as the peer will
    /// ask again.
    fn answer_stray(&self, pair: &Pair, segment: &Segment<'_>, outbox: &mut Outbox) {
        if let Some(reset) = reset_for(&segment.header, segment.payload.len() as u32) {
            self.terms.push_reset(&self.terms.as_sent_here(pair), &reset, outbox);
        }
    }

    /// What the frames of a place bear.
    pub(super) fn pair_of(&self, index: u32) -> Pair {
        self.terms.pair_of(self.table.as_ref(), index, self.places[index as usize].turn)
    }

    pub(super) fn number_of(&self, index: u32) -> Option<u32> {
        match &self.table {
            Some(table) => table.number(index),
            None => Some(self.terms.number_at(index, self.places[index as usize].turn)),
        }
    }

    pub(super) fn initial_sequence(&self, now: Time, pair: &Pair) -> Sequence {
        let (source, destination) = (pair.addresses.source(), pair.addresses.destination());
        let local = SocketAddr::new(source, pair.ports.source);
        let remote = SocketAddr::new(destination, pair.ports.destination);
        initial_sequence(self.terms.secret, now, &Tuple { local, remote })
    }

    fn accept(
        &mut self,
        now: Time,
        index: u32,
        turn: u16,
        segment: &Segment<'_>,
        outbox: &mut Outbox,
    ) {
        if self.stopping.is_some() {
            return;
        }
        self.places[index as usize].turn = turn;
        let pair = answering(segment);
        let initial = self.initial_sequence(now, &pair);
        let passive = Connection::passive(&self.terms.profile, initial, &segment.header);
        let number = self.number_of(index);
        let place = &mut self.places[index as usize];
        place.connection = passive;
        place.behaviour = number.map_or(UNKNOWN, |number| self.terms.mix.place(number));
        place.left = 0;
        place.since = micros(now);
        self.set_phase(index, Phase::Pending);
        self.tally.counters.attempted += 1;
        self.tend(now, index, Some(pair), outbox);
        self.tally.on_state(None, self.places[index as usize].state());
    }

    fn deliver(&mut self, now: Time, index: u32, segment: &Segment<'_>, outbox: &mut Outbox) {
        let place = &mut self.places[index as usize];
        let before = place.state();
        let Some(connection) = &mut place.connection else { return };
        let ecn = Ecn::of_traffic_class(segment.envelope.traffic_class);
        let payload_bytes = segment.payload.len() as u32;
        let arrival = Arrival { header: &segment.header, payload_bytes, ecn };
        let reaction = connection.on_segment(now, &self.terms.profile, &arrival);
        if reaction.challenged && !self.challenges.take(now) {
            connection.forgo_challenge();
            self.tally.counters.forgone_challenges += 1;
        }
        if let Some(reset) = reaction.reply {
            self.terms.push_reset(&answering(segment), &reset, outbox);
        }
        self.note(now, index, segment, &reaction);
        if let Some(end) = reaction.end {
            self.tally.on_state(before, None);
            self.on_end(now, index, end);
            return;
        }
        self.tend(now, index, Some(answering(segment)), outbox);
        self.tally.on_state(before, self.places[index as usize].state());
        if reaction.established {
            self.give_way(now, outbox);
        }
    }

    /// What a reaction means to counters and to the application.
    fn note(&mut self, now: Time, index: u32, segment: &Segment<'_>, reaction: &Reaction) {
        if reaction.established {
            self.on_established(now, index);
        }
        let number = self.number_of(index);
        if let Some(account) = self.account_of(number) {
            account.on_reaction(segment.envelope.traffic_class, reaction);
        }
        let counters = &mut self.tally.counters;
        counters.duplicate_acks += u64::from(reaction.duplicate_ack);
        if let Some(placed) = reaction.payload {
            let from = placed.skip as usize;
            let payload = &segment.payload[from..from + placed.payload_bytes as usize];
            let is_right =
                number.is_some_and(|number| self.terms.is_right(number, placed.position, payload));
            if !is_right {
                counters.corrupt_payload_bytes += payload.len() as u64;
            }
            counters.out_of_order += u64::from(reaction.received_bytes == 0);
        }
        counters.received_bytes += reaction.received_bytes;
        if let Some(rtt) = reaction.rtt {
            self.tally.rtt.add(rtt.as_nanos() as u64);
        }
        let place = &mut self.places[index as usize];
        if reaction.received_bytes > 0 {
            let bytes = reaction.received_bytes;
            application::on_received(&self.terms, place, now, bytes, &mut self.tally);
        }
        if reaction.peer_closed {
            self.on_peer_closed(index);
        }
    }

    fn on_established(&mut self, now: Time, index: u32) {
        self.set_phase(index, Phase::Open);
        let place = &mut self.places[index as usize];
        let waited = u64::from(micros(now).wrapping_sub(place.since));
        place.since = tick(now);
        self.tally.handshake.add(waited * 1000);
        self.heard_at = now;
        self.tally.on_established(now.since(self.terms.start));
        if place.behaviour != UNKNOWN {
            application::begin(&self.terms, place, now);
        }
        self.note_level();
    }

    /// This end has no more to say either.
    fn on_peer_closed(&mut self, index: u32) {
        let place = &mut self.places[index as usize];
        if let Some(connection) = &mut place.connection {
            connection.close();
        }
        self.leave_open(index);
    }

    pub(super) fn tend_counted(&mut self, now: Time, index: u32, outbox: &mut Outbox) {
        let before = self.places[index as usize].state();
        self.tend(now, index, None, outbox);
        self.tally.on_state(before, self.places[index as usize].state());
    }
}

/// What the frames bear that go back to where a segment came from.
const fn answering(segment: &Segment<'_>) -> Pair {
    Pair { addresses: segment.envelope.addresses, ports: segment.ports }.reversed()
}
