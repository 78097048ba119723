//! One end of the control connection: every read and every write has a deadline.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use fp_model::Time;
use serde_json::Value;
use socket2::{SockRef, TcpKeepalive};

use super::wire::{State, Trouble};
use crate::StopFlag;
use crate::control::socket::plain;
use crate::os::clock;
use crate::os::wake::{Interest, wait};

/// How long an end may take to say what the protocol makes it say next.
pub(super) const PATIENCE: Duration = Duration::from_secs(8);
/// How often a wait looks whether it is to stop.
const LOOK_UP: Duration = Duration::from_millis(50);
/// Taken from the connection at a time: what is declared to be long is believed as it comes.
const READ_BYTES: usize = 16 << 10;

/// A control connection on which nothing waits for ever.
#[derive(Debug)]
pub(super) struct Control {
    stream: TcpStream,
    stop: StopFlag,
}

/// Why a control connection cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum ControlError {
    #[error("it said nothing for {} s", PATIENCE.as_secs())]
    Silent,
    #[error("it closed the connection")]
    Closed,
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    #[error("it does not speak iperf3: the byte {0} is none of its states")]
    NotAState(u8),
    #[error("it does not speak iperf3: it said {said:?} out of turn")]
    OutOfTurn { said: State },
    #[error("it announced a message of {bytes} bytes where {most} are allowed")]
    TooLong { bytes: u32, most: usize },
    #[error("it is busy with another test: try again later")]
    Denied,
    #[error("it broke the test off: {0}")]
    Trouble(Trouble),
    #[error("it was ended while the test ran")]
    Terminated,
    #[error("stopped")]
    Stopped,
}

impl Control {
    /// # Errors
    /// Where the kernel does not let the connection be tuned.
    pub(super) fn new(stream: TcpStream, stop: StopFlag) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        // Neither end says a word while a test runs. Who is gone without one is missed in ten
        // seconds.
        let keepalive = TcpKeepalive::new()
            .with_time(Duration::from_secs(2))
            .with_interval(Duration::from_secs(1))
            .with_retries(8);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        Ok(Self { stream, stop })
    }

    pub(super) fn peer(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr().map(plain)
    }

    pub(super) fn local(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr().map(plain)
    }

    pub(super) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The next state, whatever it is.
    pub(super) fn state(&mut self) -> Result<State, ControlError> {
        self.state_by(clock::now() + PATIENCE)
    }

    pub(super) fn state_by(&mut self, deadline: Time) -> Result<State, ControlError> {
        let mut byte = [0];
        self.read(&mut byte, deadline)?;
        State::of(byte[0]).ok_or(ControlError::NotAState(byte[0]))
    }

    /// The next state, which must be `wanted`.
    pub(super) fn expect(&mut self, wanted: State) -> Result<(), ControlError> {
        match self.state()? {
            said if said == wanted => Ok(()),
            said => Err(self.unexpected(said)),
        }
    }

    /// What it means that the other end said this instead of what was due.
    pub(super) fn unexpected(&mut self, said: State) -> ControlError {
        match said {
            State::AccessDenied => ControlError::Denied,
            State::ServerTerminate | State::ClientTerminate => ControlError::Terminated,
            State::ServerError => self.trouble().map_or_else(|e| e, ControlError::Trouble),
            said => ControlError::OutOfTurn { said },
        }
    }

    fn trouble(&mut self) -> Result<Trouble, ControlError> {
        let mut bytes = [0; Trouble::BYTES];
        self.read(&mut bytes, clock::now() + PATIENCE)?;
        Ok(Trouble::of(bytes))
    }

    /// The state that has arrived already, if one has.
    pub(super) fn state_at_hand(&mut self) -> Result<Option<State>, ControlError> {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(0) => Err(ControlError::Closed),
            Ok(_) => State::of(byte[0]).map(Some).ok_or(ControlError::NotAState(byte[0])),
            Err(error) if is_passing(&error) => Ok(None),
            Err(error) => Err(ControlError::Broken(error)),
        }
    }

    /// A JSON document behind its length.
    pub(super) fn json(&mut self, most: usize) -> Result<Vec<u8>, ControlError> {
        let deadline = clock::now() + PATIENCE;
        let mut length = [0; 4];
        self.read(&mut length, deadline)?;
        let bytes = u32::from_be_bytes(length);
        if bytes as usize > most {
            return Err(ControlError::TooLong { bytes, most });
        }
        let mut document = Vec::new();
        while document.len() < bytes as usize {
            let had = document.len();
            document.resize((had + READ_BYTES).min(bytes as usize), 0);
            self.read(&mut document[had..], deadline)?;
        }
        Ok(document)
    }

    fn read(&mut self, mut into: &mut [u8], deadline: Time) -> Result<(), ControlError> {
        while !into.is_empty() {
            match self.stream.read(into) {
                Ok(0) => return Err(ControlError::Closed),
                Ok(count) => into = &mut into[count..],
                Err(error) if is_passing(&error) => self.wait(Interest::Read, deadline)?,
                Err(error) => return Err(ControlError::Broken(error)),
            }
        }
        Ok(())
    }

    pub(super) fn say(&mut self, state: State) -> Result<(), ControlError> {
        self.write(&[state.byte()])
    }

    pub(super) fn say_trouble(&mut self, trouble: Trouble) -> Result<(), ControlError> {
        let mut bytes = vec![State::ServerError.byte()];
        bytes.extend(trouble.bytes());
        self.write(&bytes)
    }

    pub(super) fn write_json(&mut self, document: &Value) -> Result<(), ControlError> {
        let text = document.to_string();
        // What we write is bounded by the number of streams: megabytes at most.
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend(text.as_bytes());
        self.write(&bytes)
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), ControlError> {
        let deadline = clock::now() + PATIENCE;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if is_passing(&error) => self.wait(Interest::Write, deadline)?,
                Err(error) => return Err(ControlError::Broken(error)),
            }
        }
        Ok(())
    }

    fn wait(&self, interest: Interest, deadline: Time) -> Result<(), ControlError> {
        let left = deadline.since(clock::now());
        if left.is_zero() {
            return Err(ControlError::Silent);
        }
        if self.stop.is_set() {
            return Err(ControlError::Stopped);
        }
        wait(&[(self.stream.as_fd(), interest)], left.min(LOOK_UP)).map_err(ControlError::Broken)
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
