//! The end that opens the data connections of a flow.

use std::io;
use std::net::{SocketAddr, TcpStream};

use fp_model::{TcpLoad, Time};
use rustix::event::epoll::EventFlags;

use super::greeting::{Flow, write_whole};
use super::options::data_socket;
use super::watch::Watch;
use super::{TcpError, reset};
use crate::half::FlowKey;
use crate::lease::Lease;
use crate::marking::Marking;

/// Connections that come up at the same time: more would overrun a listener's queue.
const BATCH: usize = 64;

/// Opens the data connections of a flow, by index.
///
/// The other end must be in `accept` meanwhile, or come to it before the deadline.
///
/// # Errors
/// The first connection that cannot be opened, the deadline, or a silent peer.
pub fn connect(
    far: SocketAddr,
    load: &TcpLoad,
    marking: Marking,
    key: &FlowKey,
    lease: &Lease,
    deadline: Time,
) -> Result<Vec<TcpStream>, TcpError> {
    let flow = Flow { load, key, peer: far, lease, deadline };
    let watch = Watch::new().map_err(TcpError::Watch)?;
    let mut dials = Dials { flow, watch, begun: Vec::new(), up: 0 };
    let outcome = dials.all_up(marking);
    let streams = dials.begun.into_iter().map(|dial| dial.stream).collect::<Vec<_>>();
    if outcome.is_err() {
        reset(&streams);
    }
    outcome.map(|()| streams)
}

struct Dials<'a> {
    flow: Flow<'a>,
    watch: Watch,
    /// By the connection's index.
    begun: Vec<Dial>,
    up: usize,
}

struct Dial {
    stream: TcpStream,
    stage: Stage,
}

#[derive(Clone, Copy)]
enum Stage {
    /// Until the SYN is answered.
    Connecting,
    /// So many bytes of the other end's greeting are to come.
    Greeted {
        left: usize,
    },
    Up,
}

impl Dials<'_> {
    fn all_up(&mut self, marking: Marking) -> Result<(), TcpError> {
        let wanted = self.flow.load.connections as usize;
        while self.up < wanted {
            while self.begun.len() < wanted && self.begun.len() - self.up < BATCH {
                self.dial(marking).map_err(|source| self.flow.failed("connect to", source))?;
            }
            let patience = self.flow.patience(self.up)?;
            for k in 0..self.watch.wait(patience).map_err(TcpError::Watch)? {
                self.advance(self.watch.ready(k) as usize)?;
            }
        }
        Ok(())
    }

    fn dial(&mut self, marking: Marking) -> io::Result<()> {
        let far = self.flow.peer.ip();
        let socket = data_socket(far, self.flow.load, marking.traffic_class)?;
        marking.bind(&socket, self.begun.len(), far)?;
        match socket.connect(&self.flow.peer.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let stream = TcpStream::from(socket);
        self.watch.add(&stream, self.begun.len() as u64, EventFlags::OUT)?;
        self.begun.push(Dial { stream, stage: Stage::Connecting });
        Ok(())
    }

    fn advance(&mut self, index: usize) -> Result<(), TcpError> {
        match self.begun[index].stage {
            Stage::Connecting => {
                self.present(index).map_err(|source| self.flow.failed("connect to", source))
            }
            Stage::Greeted { left } => self
                .take_greeting(index, left)
                .map_err(|source| TcpError::Refused { index, source }),
            Stage::Up => Ok(()),
        }
    }

    /// The SYN has been answered.
    fn present(&mut self, index: usize) -> io::Result<()> {
        let dial = &mut self.begun[index];
        if let Some(error) = dial.stream.take_error()? {
            return Err(error);
        }
        self.flow.receive_greeting(&dial.stream)?;
        write_whole(&dial.stream, &self.flow.preamble(index))?;
        dial.stage = Stage::Greeted { left: self.flow.greeting_bytes() };
        self.watch.change(&dial.stream, index as u64, EventFlags::IN)
    }

    fn take_greeting(&mut self, index: usize, left: usize) -> io::Result<()> {
        let dial = &mut self.begun[index];
        let left = left - self.flow.read_greeting(&dial.stream, left)?;
        dial.stage = Stage::Greeted { left };
        if left == 0 {
            self.flow.settle(&dial.stream)?;
            self.flow.greet(&dial.stream)?;
            self.watch.remove(&dial.stream)?;
            dial.stage = Stage::Up;
            self.up += 1;
        }
        Ok(())
    }
}
