//! What an application writes to one of its connections, and how much of it is left.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use fp_model::{TcpLoad, Timing};
use fp_net::stream::{PacedWrites, Unit};

use super::counters::Counters;
use super::payload::Payload;
use crate::os::tcp;

/// Written to one connection at a time, so that the others have their turn.
const TURN_BYTES: usize = 256 << 10;
/// How long an application that finds no room waits before it looks again.
pub(super) const LOOK_INTERVAL_MAX: Duration = Duration::from_millis(1);

/// One sending connection.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) counters: Counters,
    /// What the kernel has not taken yet of the present window, or of the bursts that are due.
    left_bytes: usize,
    /// The bursts that were due so far.
    due_bytes: u64,
    /// What a paced application writes, and how much of it has been written or given up.
    paced: Option<PacedWrites>,
    passed_bytes: u64,
    /// What is left of this connection's share of a transfer; `None` of one that goes on.
    unsent_bytes: Option<u64>,
    /// What one write holds, if the application says.
    write_bytes: Option<usize>,
}

impl Connection {
    /// The connection of this index of `load`.
    pub(super) fn new(
        stream: TcpStream,
        counters: Counters,
        load: &TcpLoad,
        index: u32,
        begins: Duration,
        timing: &Timing,
    ) -> Self {
        let unit = match load.write_bytes {
            Some(bytes) => Unit::Write { bytes },
            None => Unit::Segment { bytes: counters.latest.snd_mss_bytes },
        };
        Self {
            stream,
            counters,
            left_bytes: 0,
            due_bytes: 0,
            paced: PacedWrites::of(&load.pace, index, begins, timing, unit),
            passed_bytes: 0,
            unsent_bytes: load.transfer_bytes().map(|bytes| load.share_of(bytes, index)),
            write_bytes: load.write_bytes.map(|bytes| bytes as usize),
        }
    }

    pub(super) const fn is_paced(&self) -> bool {
        self.paced.is_some()
    }

    /// Of a transfer.
    pub(super) const fn has_sent_all(&self) -> bool {
        matches!(self.unsent_bytes, Some(0))
    }

    /// Whether more bursts or windows than the kernel takes are due.
    pub(super) const fn is_full(&self) -> bool {
        self.left_bytes > 0
    }

    /// As much as there is room for, within a turn.
    pub(super) fn take_turn(&mut self, payload: &Payload) -> io::Result<()> {
        // A write of any length is one turn at least.
        let turn = self.write_bytes.map_or(TURN_BYTES, |bytes| bytes.max(TURN_BYTES));
        self.write(payload, turn).map(drop)
    }

    /// Whole segments for what has been acknowledged of the window.
    pub(super) fn fill_window(&mut self, payload: &Payload, window_bytes: usize) -> io::Result<()> {
        let segment_bytes = self.counters.latest.snd_mss_bytes.max(1) as usize;
        let unacknowledged_bytes = tcp::unacknowledged_bytes(&self.stream)? as usize;
        let room = window_bytes.saturating_sub(unacknowledged_bytes);
        self.write(payload, room / segment_bytes * segment_bytes).map(drop)
    }

    /// The whole window in one write, if the one before has been acknowledged.
    pub(super) fn send_window(&mut self, payload: &Payload, window_bytes: usize) -> io::Result<()> {
        if self.left_bytes == 0 {
            if tcp::unacknowledged_bytes(&self.stream)? > 0 {
                return Ok(());
            }
            self.left_bytes = window_bytes.min(advertised_bytes(&self.stream)?);
        }
        self.left_bytes -= payload.write(&self.stream, self.left_bytes)?;
        Ok(())
    }

    /// Writes what the pace has brought by `elapsed`, as far as there is room; when it brings more.
    pub(super) fn send_paced(
        &mut self,
        payload: &Payload,
        elapsed: Duration,
    ) -> io::Result<Option<Duration>> {
        let Some(paced) = &self.paced else { return Ok(None) };
        self.passed_bytes = self.passed_bytes.max(paced.bytes_given_up_by(elapsed));
        let due_bytes = paced.bytes_by(elapsed).saturating_sub(self.passed_bytes);
        let next = paced.next_after(elapsed);
        let written = self.write(payload, usize::try_from(due_bytes).unwrap_or(usize::MAX))? as u64;
        self.passed_bytes += written;
        let is_full = written < due_bytes && !self.has_sent_all();
        Ok(if is_full { Some(elapsed + LOOK_INTERVAL_MAX) } else { next })
    }

    /// Everything up to `due_bytes` of the stream, each burst in one write.
    pub(super) fn send_due(&mut self, payload: &Payload, due_bytes: u64) -> io::Result<()> {
        let more = due_bytes - self.due_bytes;
        self.due_bytes = due_bytes;
        self.left_bytes = self.left_bytes.saturating_add(more as usize);
        if self.left_bytes > 0 {
            self.left_bytes -= payload.write(&self.stream, self.left_bytes)?;
        }
        Ok(())
    }

    /// Hands up to `most` bytes to the kernel in writes of the application's size; how many it took.
    fn write(&mut self, payload: &Payload, most: usize) -> io::Result<usize> {
        let unsent = self.unsent_bytes.map_or(usize::MAX, |bytes| bytes as usize);
        let mut left = most.min(unsent);
        let mut taken = 0;
        while left > 0 {
            let want = self.write_bytes.map_or(left, |bytes| bytes.min(left));
            let took = payload.write(&self.stream, want)?;
            (taken, left) = (taken + took, left - took);
            if took < want {
                break;
            }
        }
        self.unsent_bytes = self.unsent_bytes.map(|bytes| bytes - taken as u64);
        Ok(taken)
    }
}

/// A write beyond the advertised window would wait for a second round trip.
fn advertised_bytes(stream: &TcpStream) -> io::Result<usize> {
    let info = tcp::info(stream)?;
    // Kernels before Linux 5.4 do not say.
    let known = (info.snd_wnd_bytes > 0).then_some(info.snd_wnd_bytes.max(info.snd_mss_bytes));
    Ok(known.map_or(usize::MAX, |bytes| bytes as usize))
}
