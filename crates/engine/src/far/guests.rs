//! Who is connected: strangers that have still to show the token, and sessions; both in bounded number.

use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::source_of;

#[derive(Debug)]
pub(crate) struct Guests {
    present: Mutex<Vec<Present>>,
    next_id: AtomicU64,
    max_sessions: usize,
}

#[derive(Debug)]
struct Present {
    id: u64,
    source: IpAddr,
    /// Whoever has to make room finds this connection shut.
    door: Option<TcpStream>,
}

/// The presence of one connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Guest {
    guests: Arc<Guests>,
    id: u64,
}

const STRANGERS_MAX: usize = 512;
const STRANGERS_OF_ONE_SOURCE_MAX: usize = 16;

impl Guests {
    pub(crate) const fn at_most(max_sessions: usize) -> Self {
        Self { present: Mutex::new(Vec::new()), next_id: AtomicU64::new(0), max_sessions }
    }

    /// Notes a stranger. Where there are too many, the oldest of them has to go: whoever is quick
    /// to show the token gets in, however many dawdle.
    pub(crate) fn arrive(self: &Arc<Self>, address: IpAddr, door: TcpStream) -> Guest {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let source = source_of(address);
        let mut present = self.present();
        let of_source = |guest: &Present| guest.source == source;
        turn_out_oldest_stranger(&mut present, STRANGERS_OF_ONE_SOURCE_MAX, of_source);
        turn_out_oldest_stranger(&mut present, STRANGERS_MAX, |_| true);
        present.push(Present { id, source, door: Some(door) });
        Guest { guests: Arc::clone(self), id }
    }

    /// Sessions, strangers, and as many sessions as there may be.
    pub(super) fn count(&self) -> (u64, u64, u64) {
        let present = self.present();
        let strangers = present.iter().filter(|guest| guest.door.is_some()).count();
        let sessions = present.len() - strangers;
        (sessions as u64, strangers as u64, self.max_sessions as u64)
    }

    fn present(&self) -> MutexGuard<'_, Vec<Present>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn turn_out_oldest_stranger(
    present: &mut Vec<Present>,
    max: usize,
    counts: impl Fn(&Present) -> bool,
) {
    let is_counted = |guest: &Present| guest.door.is_some() && counts(guest);
    if present.iter().filter(|guest| is_counted(guest)).count() < max {
        return;
    }
    // Guests are in the order of their arrival.
    if let Some(oldest) = present.iter().position(is_counted)
        && let Some(door) = present.remove(oldest).door
    {
        // It fails where the stranger has left already.
        let _ = door.shutdown(Shutdown::Both);
    }
}

impl Guest {
    /// Makes a session of a stranger that has shown the token.
    ///
    /// # Errors
    /// The number of sessions, where there is no room for another.
    pub(crate) fn admit(&self) -> Result<(), usize> {
        let mut present = self.guests.present();
        let sessions = present.iter().filter(|guest| guest.door.is_none()).count();
        if sessions >= self.guests.max_sessions {
            return Err(sessions);
        }
        if let Some(guest) = present.iter_mut().find(|guest| guest.id == self.id) {
            guest.door = None;
        }
        Ok(())
    }

    /// Makes a stranger of a session that has nothing more to ask for: its place is free at once, and
    /// whoever then lingers behind `door` has to go before others do.
    pub(crate) fn step_back(&self, door: TcpStream) {
        let mut present = self.guests.present();
        if let Some(guest) = present.iter_mut().find(|guest| guest.id == self.id) {
            guest.door = Some(door);
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.guests.present().retain(|guest| guest.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn a_session_that_steps_back_leaves_its_place_to_the_next_one() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let door = || TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let guests = Arc::new(Guests::at_most(1));
        let arrive = || guests.arrive(Ipv4Addr::LOCALHOST.into(), door());
        let (first, second) = (arrive(), arrive());
        assert_eq!((first.admit(), second.admit()), (Ok(()), Err(1)));
        first.step_back(door());
        assert_eq!((second.admit(), guests.count()), (Ok(()), (1, 1, 1)));
        drop(first);
        assert_eq!(guests.count(), (1, 0, 1));
    }
}
