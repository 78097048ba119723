//! Many sockets waited for at once.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};

use crate::os::wake::{self, Interest};

/// Taken from the kernel at a time; the rest waits for the next round.
const EVENTS_MAX: usize = 256;

/// Sockets waited for, each under a number.
pub(crate) struct Watch {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Watch {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, events: Vec::with_capacity(EVENTS_MAX) })
    }

    /// Errors are always awaited, besides what `flags` say.
    pub(crate) fn add(&self, socket: impl AsFd, number: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(number), flags)?)
    }

    pub(crate) fn change(
        &self,
        socket: impl AsFd,
        number: u64,
        flags: EventFlags,
    ) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, socket, EventData::new_u64(number), flags)?)
    }

    pub(crate) fn remove(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, socket)?)
    }

    /// Waits for events, at most `patience`; how many sockets have some.
    pub(crate) fn wait(&mut self, patience: Duration) -> io::Result<usize> {
        if self.take_ready()? == 0 && !patience.is_zero() {
            // Only newer kernels than Linux 5.10 know an epoll that waits for less than milliseconds.
            wake::wait(&[(self.epoll.as_fd(), Interest::Read)], patience)?;
            self.take_ready()?;
        }
        Ok(self.events.len())
    }

    /// Those that have events already.
    fn take_ready(&mut self) -> io::Result<usize> {
        self.events.clear();
        let room = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, room, Some(&Timespec::default())) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(self.events.len()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The number of the `k`th socket that the last wait found.
    pub(crate) fn ready(&self, k: usize) -> u64 {
        self.events[k].data.u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::clock;

    /// The quickest of many, as a host that stands still makes any of them longer.
    #[test]
    fn a_wait_ends_within_the_millisecond_in_which_it_is_to_end() {
        let mut watch = Watch::new().unwrap();
        let patience = Duration::from_micros(100);
        let mut quickest = Duration::MAX;
        for _ in 0..200 {
            let began = clock::now();
            assert_eq!(watch.wait(patience).unwrap(), 0);
            quickest = quickest.min(clock::now().since(began));
        }
        assert!((patience..Duration::from_micros(500)).contains(&quickest), "{quickest:?}");
    }
}
