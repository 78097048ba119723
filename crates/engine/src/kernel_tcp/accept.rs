//! The end that waits for the data connections of a flow.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use fp_model::{TcpLoad, Time};
use rustix::event::epoll::EventFlags;

use super::greeting::{Flow, PREAMBLE_BYTES, discard, is_passing};
use super::watch::Watch;
use super::{TcpError, reset};
use crate::half::FlowKey;
use crate::lease::Lease;

/// Connections that have not proven themselves, beyond those expected; one more and the oldest is
/// dropped.
const STRANGERS_MAX: usize = 256;
/// The listener's number; connections have lower ones.
const LISTENER: u64 = u64::MAX;

/// Takes the data connections of a flow from `peer`, or from wherever they come, by index.
///
/// Connections from elsewhere, with another key or without a word are dropped; none of them keeps
/// the others waiting.
///
/// # Errors
/// The deadline, a silent peer, or what the kernel refuses.
pub fn accept(
    listener: &TcpListener,
    load: &TcpLoad,
    key: &FlowKey,
    peer: Option<IpAddr>,
    lease: &Lease,
    deadline: Time,
) -> Result<Vec<TcpStream>, TcpError> {
    let at = listener.local_addr().map_err(TcpError::Watch)?;
    let peer = peer.map(|peer| peer.to_canonical());
    let other = SocketAddr::new(peer.unwrap_or(at.ip()), at.port());
    let flow = Flow { load, key, peer: other, lease, deadline };
    let watch = Watch::new().map_err(TcpError::Watch)?;
    let up = (0..load.connections).map(|_| None).collect();
    let mut arrivals =
        Arrivals { flow, peer, watch, unproven: BTreeMap::new(), next_number: 0, up };
    let outcome = arrivals.all_up(listener);
    let streams = arrivals.up.into_iter().flatten().collect::<Vec<_>>();
    if outcome.is_err() {
        reset(&streams);
    }
    outcome.map(|()| streams)
}

struct Arrivals<'a> {
    flow: Flow<'a>,
    /// `None`: whoever shows the key.
    peer: Option<IpAddr>,
    watch: Watch,
    /// In the order of their arrival.
    unproven: BTreeMap<u64, Arrival>,
    next_number: u64,
    /// By the connection's index.
    up: Vec<Option<TcpStream>>,
}

struct Arrival {
    stream: TcpStream,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    /// So much of the preamble has been read.
    Preamble { bytes: [u8; PREAMBLE_BYTES], have: usize },
    /// The key was right; so many bytes of the greeting are to come.
    Greeted { index: usize, left: usize },
}

impl Arrivals<'_> {
    fn all_up(&mut self, listener: &TcpListener) -> Result<(), TcpError> {
        self.watch.add(listener, LISTENER, EventFlags::IN).map_err(TcpError::Watch)?;
        loop {
            let ready = self.up.iter().flatten().count();
            if ready == self.up.len() {
                return Ok(());
            }
            let patience = self.flow.patience(ready)?;
            for k in 0..self.watch.wait(patience).map_err(TcpError::Watch)? {
                let number = self.watch.ready(k);
                if number == LISTENER {
                    self.take(listener).map_err(|e| self.flow.failed("accept from", e))?;
                } else {
                    self.advance(number);
                }
            }
        }
    }

    fn take(&mut self, listener: &TcpListener) -> io::Result<()> {
        let (stream, from) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if is_passing(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        if self.peer.is_some_and(|peer| peer != from.ip().to_canonical()) {
            return Ok(());
        }
        stream.set_nonblocking(true)?;
        self.flow.receive_greeting(&stream)?;
        if self.unproven.len() >= STRANGERS_MAX + self.up.len() {
            self.unproven.pop_first();
        }
        let number = self.next_number;
        self.next_number += 1;
        self.watch.add(&stream, number, EventFlags::IN)?;
        let stage = Stage::Preamble { bytes: [0; PREAMBLE_BYTES], have: 0 };
        self.unproven.insert(number, Arrival { stream, stage });
        Ok(())
    }

    /// Whoever says something wrong, or breaks off, is dropped and the others go on.
    fn advance(&mut self, number: u64) {
        let Some(mut arrival) = self.unproven.remove(&number) else { return };
        match arrival.read(&self.flow) {
            Ok(None) => {
                self.unproven.insert(number, arrival);
            }
            Ok(Some(index)) if self.up[index].is_none() => {
                if self.watch.remove(&arrival.stream).is_ok() {
                    self.up[index] = Some(arrival.stream);
                }
            }
            Ok(Some(_)) | Err(_) => {}
        }
    }
}

impl Arrival {
    /// The connection's index once all has been said.
    fn read(&mut self, flow: &Flow<'_>) -> io::Result<Option<usize>> {
        match self.stage {
            Stage::Preamble { bytes, have } => self.read_preamble(flow, bytes, have),
            Stage::Greeted { index, left } => {
                let left = left - discard(&self.stream, left)?.unwrap_or(0);
                self.stage = Stage::Greeted { index, left };
                if left > 0 {
                    return Ok(None);
                }
                flow.settle(&self.stream)?;
                Ok(Some(index))
            }
        }
    }

    fn read_preamble(
        &mut self,
        flow: &Flow<'_>,
        mut bytes: [u8; PREAMBLE_BYTES],
        mut have: usize,
    ) -> io::Result<Option<usize>> {
        match (&self.stream).read(&mut bytes[have..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => have += read,
            Err(error) if is_passing(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
        self.stage = Stage::Preamble { bytes, have };
        if have == PREAMBLE_BYTES {
            let index = flow.index_of(&bytes).ok_or(ErrorKind::PermissionDenied)?;
            flow.greet(&self.stream)?;
            self.stage = Stage::Greeted { index, left: flow.greeting_bytes() };
        }
        Ok(None)
    }
}
