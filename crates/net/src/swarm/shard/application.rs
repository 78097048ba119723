//! What the application behind a connection does.

use core::time::Duration;

use fp_model::{Behaviour, Rate, Time};

use super::Role;
use super::terms::{ANNOUNCEMENT_BYTES, Terms};
use crate::swarm::place::{Phase, Place, micros, tick, tick_after};
use crate::swarm::tally::Tally;
use crate::tcp::{Connection, TIMESTAMP_OPTION_BYTES};

/// A place of the mix for a connection of which nobody has said yet what it is to do.
pub(super) const UNKNOWN: u8 = u8::MAX;

/// A connection is established, and what it is to do is known.
pub(super) fn begin(terms: &Terms, place: &mut Place, now: Time) {
    let behaviour = terms.mix.behaviour(place.behaviour);
    let announces = terms.is_translated && !matches!(behaviour, Behaviour::Hold);
    let announcement_bytes = if announces { ANNOUNCEMENT_BYTES } else { 0 };
    let Some(connection) = &mut place.connection else { return };
    if announces && terms.role == Role::Client {
        connection.send(now, &terms.profile, announcement_bytes.into());
    }
    match (terms.role, behaviour) {
        (Role::Client, Behaviour::Transaction { .. }) => ask(terms, place, now),
        (Role::Server, Behaviour::Transaction { request_bytes, .. }) => {
            // What it had to tell of itself comes before the first request.
            place.left = request_bytes.saturating_add(announcement_bytes);
        }
        (_, Behaviour::Hold)
        | (_, Behaviour::Download { .. } | Behaviour::Upload { .. } | Behaviour::Both { .. }) => {}
    }
}

/// So much more of the peer's stream has arrived.
pub(super) fn on_received(
    terms: &Terms,
    place: &mut Place,
    now: Time,
    bytes: u64,
    tally: &mut Tally,
) {
    if place.behaviour == UNKNOWN || place.left == 0 {
        return;
    }
    let Behaviour::Transaction { request_bytes, response_bytes, think } =
        terms.mix.behaviour(place.behaviour)
    else {
        return;
    };
    let mut bytes = bytes;
    while bytes > 0 && place.left > 0 {
        let taken = bytes.min(place.left.into());
        place.left -= taken as u32;
        bytes -= taken;
        if place.left > 0 {
            return;
        }
        match terms.role {
            Role::Client => {
                tally.counters.transactions += 1;
                tally.transaction.add(u64::from(micros(now).wrapping_sub(place.due)) * 1000);
                place.due = tick_after(now + think);
            }
            Role::Server => {
                tally.counters.transactions += 1;
                if let Some(connection) = &mut place.connection {
                    connection.send(now, &terms.profile, response_bytes.into());
                }
                place.left = request_bytes;
            }
        }
    }
}

/// Has the application write what is due; gives the tick at which more will be.
pub(super) fn act(terms: &Terms, place: &mut Place, now: Time) -> Option<u32> {
    if !place.is_open() || place.behaviour == UNKNOWN {
        return None;
    }
    let behaviour = terms.mix.behaviour(place.behaviour);
    if let Behaviour::Transaction { .. } = behaviour {
        if terms.role == Role::Server || place.left > 0 {
            return None;
        }
        if place.due.wrapping_sub(tick(now)) as i32 > 0 {
            return Some(place.due);
        }
        ask(terms, place, now);
        return None;
    }
    let connection = place.connection.as_mut()?;
    match writes(terms.role, behaviour)? {
        None => {
            write_ahead(terms, connection, now);
            None
        }
        Some(rate) => write_in_time(terms, connection, place.since, rate, now),
    }
}

/// The same of one that writes as much as the connection takes, while what it wrote leaves.
pub(super) fn refill(
    terms: &Terms,
    phase: Phase,
    behaviour: u8,
    connection: &mut Connection,
    now: Time,
) {
    let is_open = matches!(phase, Phase::Open | Phase::Retiring) && behaviour != UNKNOWN;
    let is_unlimited = || writes(terms.role, terms.mix.behaviour(behaviour)) == Some(None);
    if connection.unsent_bytes() < terms.backlog_bytes() / 2 && is_open && is_unlimited() {
        write_ahead(terms, connection, now);
    }
}

/// At what rate this end's application writes a stream; the inner `None` is as much as it can.
const fn writes(role: Role, behaviour: Behaviour) -> Option<Option<Rate>> {
    match (role, behaviour) {
        (Role::Client, Behaviour::Upload { rate } | Behaviour::Both { rate })
        | (Role::Server, Behaviour::Download { rate } | Behaviour::Both { rate }) => Some(rate),
        (Role::Client, Behaviour::Download { .. })
        | (Role::Server, Behaviour::Upload { .. })
        | (_, Behaviour::Hold | Behaviour::Transaction { .. }) => None,
    }
}

fn write_ahead(terms: &Terms, connection: &mut Connection, now: Time) {
    let missing = terms.backlog_bytes().saturating_sub(connection.unsent_bytes());
    connection.send(now, &terms.profile, missing);
}

/// Whole segments, as many as the rate has carried since the connection was established; gives the
/// tick at which it has carried another one. What the connection does not take is made up for later.
fn write_in_time(
    terms: &Terms,
    connection: &mut Connection,
    since: u32,
    rate: Rate,
    now: Time,
) -> Option<u32> {
    if connection.unsent_bytes() >= terms.backlog_bytes() {
        return None;
    }
    let segment_bytes = u64::from(terms.profile.mss_bytes) - u64::from(TIMESTAMP_OPTION_BYTES);
    let elapsed = Duration::from_millis(tick(now).wrapping_sub(since).into());
    let owed = rate.bytes_in(elapsed).saturating_sub(connection.written());
    let room = terms.backlog_bytes().next_multiple_of(segment_bytes);
    let bytes = (owed / segment_bytes * segment_bytes).min(room);
    if bytes > 0 {
        connection.send(now, &terms.profile, bytes);
    }
    let next = rate.time_for(connection.written() + segment_bytes).as_nanos();
    Some(since.wrapping_add(next.div_ceil(1_000_000) as u32))
}

fn ask(terms: &Terms, place: &mut Place, now: Time) {
    let Behaviour::Transaction { request_bytes, response_bytes, .. } =
        terms.mix.behaviour(place.behaviour)
    else {
        return;
    };
    let Some(connection) = &mut place.connection else { return };
    connection.send(now, &terms.profile, request_bytes.into());
    place.left = response_bytes;
    place.due = micros(now);
}
