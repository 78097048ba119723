//! The first words on a data connection, the same for every one of a flow.
//!
//! The near end connects and says its key and which connection it is. The other end answers with a
//! full segment and gets one back. At its first full segment a kernel learns how densely they fill
//! its buffers and moves the window clamp for once; the trial then finds the window settled.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use fp_model::{TcpLoad, Time};
use rustix::net::RecvFlags;
use subtle::ConstantTimeEq as _;

use super::options::{hold_window_clamp, window_clamp};
use super::{SAMPLE_INTERVAL, TcpError, lease_holds};
use crate::half::FlowKey;
use crate::lease::Lease;
use crate::os::clock;
use crate::os::tcp::{self, Noting};

/// The flow's key and the connection's index, big-endian.
pub(super) const PREAMBLE_BYTES: usize = size_of::<FlowKey>() + size_of::<u32>();
/// What is sent only to be thrown away.
static GREETING: [u8; 32_767] = [0; 32_767];

/// What both ends know of a flow beforehand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow<'a> {
    pub(super) load: &'a TcpLoad,
    pub(super) key: &'a FlowKey,
    pub(super) peer: SocketAddr,
    pub(super) lease: &'a Lease,
    pub(super) deadline: Time,
}

impl Flow<'_> {
    pub(super) fn failed(&self, doing: &'static str, source: io::Error) -> TcpError {
        TcpError::Socket { doing, address: self.peer, source }
    }

    /// How long to wait for events before asking again.
    pub(super) fn patience(&self, ready: usize) -> Result<Duration, TcpError> {
        lease_holds(self.lease)?;
        let left = self.deadline.since(clock::now());
        if left.is_zero() {
            let wanted = self.load.connections;
            return Err(TcpError::Late { ready, wanted, peer: self.peer });
        }
        Ok(left.min(SAMPLE_INTERVAL))
    }

    pub(super) fn preamble(&self, index: usize) -> [u8; PREAMBLE_BYTES] {
        let mut bytes = [0; PREAMBLE_BYTES];
        let (key, place) = bytes.split_at_mut(self.key.len());
        key.copy_from_slice(self.key);
        place.copy_from_slice(&(index as u32).to_be_bytes());
        bytes
    }

    /// The index of the connection that begins so, if it belongs to this flow.
    pub(super) fn index_of(&self, preamble: &[u8; PREAMBLE_BYTES]) -> Option<usize> {
        let (key, place) = preamble.split_at(self.key.len());
        let is_ours: bool = key.ct_eq(self.key).into();
        let index = place.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
        (is_ours && index < self.load.connections).then_some(index as usize)
    }

    pub(super) fn greeting_bytes(&self) -> usize {
        (self.load.mss_bytes as usize).clamp(self.key.len(), GREETING.len())
    }

    /// The greeting begins with the key's complement: nobody else gives that answer to the key.
    pub(super) fn greet(&self, stream: &TcpStream) -> io::Result<()> {
        let mut greeting = GREETING[..self.greeting_bytes()].to_vec();
        greeting[..self.key.len()].copy_from_slice(&self.proof());
        write_whole(stream, &greeting)
    }

    fn proof(&self) -> FlowKey {
        self.key.map(|byte| !byte)
    }

    /// Reads more of the other end's greeting, of which so many bytes are `left`; how many came.
    pub(super) fn read_greeting(&self, mut stream: &TcpStream, left: usize) -> io::Result<usize> {
        let have = self.greeting_bytes() - left;
        let proof = self.proof();
        let Some(expected) = proof.get(have..).filter(|expected| !expected.is_empty()) else {
            return Ok(discard(stream, left)?.unwrap_or(0));
        };
        let mut bytes = FlowKey::default();
        match stream.read(&mut bytes[..expected.len()]) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) if bool::from(bytes[..read].ct_eq(&expected[..read])) => Ok(read),
            Ok(_) => Err(io::Error::new(ErrorKind::PermissionDenied, "it does not know the flow")),
            Err(error) if is_passing(&error) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Readies a new connection for the greeting: notes with what marking that comes, and keeps the window so small that the other end's greeting cannot lift it above its size:
    /// a segment of data lifts it by two.
    pub(super) fn receive_greeting(&self, stream: &TcpStream) -> io::Result<()> {
        tcp::note_traffic_class(stream, Noting::On)?;
        let lowered = window_clamp(self.load).saturating_sub(3 * self.load.mss_bytes);
        // No clamp at all is refused; the kernel makes the least window it knows of a low one.
        tcp::set_window_clamp(stream, lowered.max(1))
    }

    /// The other end's greeting has arrived.
    pub(super) fn settle(&self, stream: &TcpStream) -> io::Result<()> {
        tcp::note_traffic_class(stream, Noting::Off)?;
        hold_window_clamp(stream, window_clamp(self.load))
    }
}

/// An empty send buffer has room for a greeting; if not, the connection is of no use.
pub(super) fn write_whole(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    if stream.write(bytes)? == bytes.len() { Ok(()) } else { Err(ErrorKind::WriteZero.into()) }
}

/// Reads up to `most` bytes and throws them away; `None` when nothing is there yet.
///
/// # Errors
/// `UnexpectedEof` when the other end has closed.
pub(super) fn discard(stream: &TcpStream, most: usize) -> io::Result<Option<usize>> {
    let mut unused = [0_u8; GREETING.len()];
    let most = most.min(unused.len());
    match rustix::net::recv(stream, &mut unused[..most], RecvFlags::TRUNC) {
        Ok((_, 0)) => Err(ErrorKind::UnexpectedEof.into()),
        Ok((_, bytes)) => Ok(Some(bytes)),
        Err(errno) if is_passing(&errno.into()) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Not an error: to be tried again.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted
    )
}
