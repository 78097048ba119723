//! The listening end of the kernel's TCP: a process of one thread that takes connections as long as
//! its file descriptors last, and answers on them or counts what arrives.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, accept_with, bind, listen, socket_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::super::pair::pin;
use super::SERVER_PORT;

/// More than connections are ever asked for at once.
pub(super) const BACKLOG: i32 = 1 << 20;
/// Shown by one call of epoll.
pub(super) const EVENTS_MAX: usize = 512;
pub(super) const BUFFER_BYTES: usize = 256 << 10;
/// For the program, libraries, epoll and what is found open.
const OTHER_DESCRIPTORS: u64 = 64;
const LISTENER: u64 = u64::MAX;

/// What becomes of what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The same.
    Echo,
    /// None; the bytes are told when all connections have ended.
    Count,
}

/// Ends with this value.
pub(super) struct ServerProcess(Child);

impl ServerProcess {
    pub(super) fn start(listener: OwnedFd, answer: Answer) -> anyhow::Result<Self> {
        let answer = match answer {
            Answer::Echo => "echo",
            Answer::Count => "count",
        };
        let server = Command::new(std::env::current_exe()?)
            .args(["stress-server", answer])
            .stdin(Stdio::from(listener))
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self(server))
    }

    /// Waits for all connections to end.
    pub(super) fn counted_bytes(&mut self) -> anyhow::Result<u64> {
        let output = self.0.stdout.as_mut().context("the server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        line.trim().parse().context("the server has counted nothing")
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It has ended already where it failed, which is reported.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In the current network namespace, at all its addresses.
pub(super) fn listener() -> anyhow::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let listener = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    bind(&listener, &SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, SERVER_PORT))?;
    listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// As many as the system grants; gives how many connections this process may have.
pub(super) fn raise_descriptor_limit() -> anyhow::Result<usize> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    let most = maximum.unwrap_or(1 << 20).saturating_sub(OTHER_DESCRIPTORS);
    Ok(usize::try_from(most)?)
}

/// Takes connections of the listener that is the standard input, until it is killed.
pub(crate) fn serve(answer: &str) -> anyhow::Result<()> {
    let answer = match answer {
        "echo" => Answer::Echo,
        "count" => Answer::Count,
        _ => bail!("'{answer}' is no answer"),
    };
    pin(1)?;
    let streams_max = raise_descriptor_limit()?;
    let listener = std::io::stdin().as_fd().try_clone_to_owned()?;
    let mut server = Server {
        answer,
        listener,
        events: epoll::create(CreateFlags::CLOEXEC)?,
        streams: Vec::new(),
        streams_max,
        ended: 0,
        received_bytes: 0,
    };
    server.run()
}

struct Server {
    answer: Answer,
    listener: OwnedFd,
    events: OwnedFd,
    /// `None`: it has ended.
    streams: Vec<Option<OwnedFd>>,
    streams_max: usize,
    ended: usize,
    received_bytes: u64,
}

impl Server {
    fn run(&mut self) -> anyhow::Result<()> {
        // One of several processes is woken.
        let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
        epoll::add(&self.events, &self.listener, EventData::new_u64(LISTENER), flags)?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
        loop {
            epoll::wait(&self.events, spare_capacity(&mut events), None)?;
            for event in events.drain(..) {
                match event.data.u64() {
                    LISTENER => self.accept()?,
                    stream => self.receive(stream as usize, &mut buffer)?,
                }
            }
        }
    }

    fn accept(&mut self) -> anyhow::Result<()> {
        while self.streams.len() < self.streams_max {
            match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(stream) => {
                    let number = EventData::new_u64(self.streams.len() as u64);
                    epoll::add(&self.events, &stream, number, EventFlags::IN)?;
                    self.streams.push(Some(stream));
                }
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        // The rest is for other processes.
        Ok(epoll::delete(&self.events, &self.listener)?)
    }

    fn receive(&mut self, number: usize, buffer: &mut [u8]) -> anyhow::Result<()> {
        let Some(stream) = &self.streams[number] else { return Ok(()) };
        let received = match read(stream, &mut *buffer) {
            Ok(0) | Err(Errno::CONNRESET) => return self.end(number),
            Err(Errno::AGAIN) => return Ok(()),
            received => received?,
        };
        self.received_bytes += received as u64;
        if self.answer == Answer::Echo {
            // A small answer always finds room in an empty send buffer.
            write(stream, &buffer[..received])?;
        }
        Ok(())
    }

    fn end(&mut self, number: usize) -> anyhow::Result<()> {
        self.streams[number] = None;
        self.ended += 1;
        if self.answer == Answer::Count && self.ended == self.streams.len() {
            writeln!(std::io::stdout(), "{}", self.received_bytes)?;
        }
        Ok(())
    }
}
