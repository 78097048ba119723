//! A TLS connection that carries messages and never blocks.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use fp_model::Time;
use rustls::{ClientConnection, Connection, ServerConnection};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::message::{self, Inbox, MessageError, UNKNOWN_PEER_MAX_BYTES};
use crate::StopFlag;
use crate::os::clock;
use crate::os::wake::{Interest, wait};

#[derive(Debug)]
pub(crate) struct Channel {
    tls: Connection,
    socket: TcpStream,
    inbox: Inbox,
    peer_has_closed: bool,
    unread: Unread,
}

/// Why a channel carries nothing more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    #[error("it closed the connection")]
    Closed,
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    #[error("it does not speak TLS as it should: {0}")]
    Tls(#[from] rustls::Error),
    #[error("it sent {0}")]
    Message(#[from] MessageError),
    #[error("it does not read what it is told")]
    Unread,
    #[error("it did not answer in time")]
    Late,
    #[error("stopped")]
    Stopped,
}

/// What may wait for the peer to read it, besides the longest message that waits: more than is said
/// while a trial floods the path.
const UNREAD_MAX_BYTES: usize = 1 << 20;

/// What waits for the peer to read it.
#[derive(Debug, Default)]
struct Unread {
    bytes: usize,
    longest_message_bytes: usize,
}

impl Unread {
    fn add(&mut self, message_bytes: usize) -> Result<(), ChannelError> {
        let longest_message_bytes = self.longest_message_bytes.max(message_bytes);
        let bytes = self.bytes + message_bytes;
        if bytes > longest_message_bytes + UNREAD_MAX_BYTES {
            return Err(ChannelError::Unread);
        }
        *self = Self { bytes, longest_message_bytes };
        Ok(())
    }

    /// Bytes on the wire: a little more than those of the messages.
    const fn sent(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Channel {
    pub(crate) fn near(tls: ClientConnection, socket: TcpStream) -> Self {
        Self::over(tls.into(), socket)
    }

    pub(crate) fn far(tls: ServerConnection, socket: TcpStream) -> Self {
        Self::over(tls.into(), socket)
    }

    fn over(mut tls: Connection, socket: TcpStream) -> Self {
        // What may wait is counted here, message by message.
        tls.set_buffer_limit(None);
        Self {
            tls,
            socket,
            inbox: Inbox::new(UNKNOWN_PEER_MAX_BYTES),
            peer_has_closed: false,
            unread: Unread::default(),
        }
    }

    /// The longest message that is read from now on.
    pub(crate) const fn allow(&mut self, max_bytes: usize) {
        self.inbox.allow(max_bytes);
    }

    pub(crate) fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Queues a message; it leaves with the next [`Self::exchange`].
    pub(crate) fn queue<M: Serialize>(&mut self, message: &M) -> Result<(), ChannelError> {
        let framed = message::encode(message)?;
        self.unread.add(framed.len())?;
        Ok(self.tls.writer().write_all(&framed)?)
    }

    /// What the socket is to be waited for.
    pub(crate) fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        let interest = match self.tls.wants_write() {
            true => Interest::ReadOrWrite,
            false => Interest::Read,
        };
        (self.socket.as_fd(), interest)
    }

    /// Writes and reads what can be without waiting.
    pub(crate) fn exchange(&mut self) -> Result<(), ChannelError> {
        // A peer that has closed takes nothing more, but what it said last is still to be read.
        let flushed = self.flush();
        self.fill()?;
        flushed?;
        // What was read may want an answer of TLS itself.
        self.flush()
    }

    /// Writes what can be without waiting.
    pub(crate) fn flush(&mut self) -> Result<(), ChannelError> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut &self.socket) {
                Ok(bytes) => self.unread.sent(bytes),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.unread = Unread::default();
        Ok(())
    }

    fn fill(&mut self) -> Result<(), ChannelError> {
        // Enough for one turn: a peer that sends without end must not keep us from our own work.
        for _ in 0..64 {
            self.take_in()?;
            // The rest waits with the peer until the messages have been read.
            if self.inbox.room() == 0 {
                break;
            }
            match self.tls.read_tls(&mut &self.socket) {
                Ok(0) => {
                    self.peer_has_closed = true;
                    break;
                }
                Ok(_) => self.decrypt()?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn decrypt(&mut self) -> Result<(), ChannelError> {
        if let Err(error) = self.tls.process_new_packets() {
            // The alert that tells the peer why; it may be gone already.
            let _ = self.tls.write_tls(&mut &self.socket);
            return Err(error.into());
        }
        Ok(())
    }

    /// Moves what has been decrypted to the inbox, as far as that has room.
    fn take_in(&mut self) -> Result<(), ChannelError> {
        let mut bytes = [0; 4096];
        loop {
            let room = self.inbox.room().min(bytes.len());
            if room == 0 {
                return Ok(());
            }
            match self.tls.reader().read(&mut bytes[..room]) {
                Ok(0) => {
                    self.peer_has_closed = true;
                    return Ok(());
                }
                Ok(count) => self.inbox.push(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // It has closed without a word: what it said before counts.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.peer_has_closed = true;
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next message that has arrived whole.
    ///
    /// # Errors
    /// [`ChannelError::Closed`] once the peer has closed and all that it said has been read.
    pub(crate) fn next<M: DeserializeOwned>(&mut self) -> Result<Option<M>, ChannelError> {
        self.take_in()?;
        match self.inbox.next()? {
            Some(json) => Ok(Some(message::decode(&json)?)),
            None if self.peer_has_closed => Err(ChannelError::Closed),
            None => Ok(None),
        }
    }

    /// Waits for the next message; for the handshake only.
    pub(crate) fn receive<M: DeserializeOwned>(
        &mut self,
        deadline: Time,
        stop: &StopFlag,
    ) -> Result<M, ChannelError> {
        const LOOK_UP: std::time::Duration = std::time::Duration::from_millis(50);
        loop {
            self.exchange()?;
            if let Some(message) = self.next()? {
                return Ok(message);
            }
            let left = deadline.since(clock::now());
            if left.is_zero() {
                return Err(ChannelError::Late);
            }
            if stop.is_set() {
                return Err(ChannelError::Stopped);
            }
            wait(&[self.interest()], left.min(LOOK_UP))?;
        }
    }

    /// Closes and waits until the peer has closed too, so that it reads what was said last. What
    /// it still says is thrown away unread.
    pub(crate) fn part(&mut self, deadline: Time) {
        self.close();
        let mut unread = [0; 4096];
        while clock::now() < deadline {
            let sources = [(self.socket.as_fd(), Interest::Read)];
            if wait(&sources, deadline.since(clock::now())).is_err() {
                return;
            }
            match self.socket.read(&mut unread) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Says good-bye as far as the socket takes it.
    pub(crate) fn close(&mut self) {
        self.tls.send_close_notify();
        // Nobody is left to tell where this fails: the connection is over either way.
        let _ = self.flush();
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}
