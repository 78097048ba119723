//! The receiving end of a flow: reads at once, throws away, counts.

use std::io;
use std::net::TcpStream;

use fp_model::{Dscp, TcpLoad, Time, Timing};
use rustix::event::epoll::EventFlags;
use rustix::net::RecvFlags;

use super::counters::Segments;
use super::greeting::is_passing;
use super::options::{hold_window_clamp, window_clamp};
use super::schedule::{Schedule, Tick};
use super::watch::Watch;
use super::{TcpError, lease_holds, reset};
use crate::half::{ReceiverSlot, TcpReceiverHalf};
use crate::lease::Lease;
use crate::os::{clock, tcp};

/// Taken from one connection at a time, so that the others have their turn.
const READ_BYTES: usize = 4 << 20;
/// The kernel may move a window whenever segments fill the buffer more or less densely than before, so
/// it is looked after each time this share of it has been read.
const LOOKS_PER_WINDOW: u64 = 16;

/// Receives a flow until all of a transfer is there or all connections are closed, or to the end of
/// the trial.
///
/// `progress` is told of each slot at its end; after the end of a transfer there are none.
///
/// # Errors
/// A connection that breaks before the steady time is over, or a silent peer; the connections are
/// then reset.
pub fn receive(
    streams: Vec<TcpStream>,
    load: &TcpLoad,
    timing: &Timing,
    start: Time,
    lease: &Lease,
    progress: &mut dyn FnMut(usize, ReceiverSlot),
) -> Result<TcpReceiverHalf, TcpError> {
    let mut receiver = Receiver::new(streams, load, timing, start);
    let outcome = receiver.run(lease, progress);
    if outcome.is_err() {
        reset(receiver.connections.iter().map(|connection| &connection.stream));
    }
    outcome.map(|()| receiver.into_half())
}

struct Receiver {
    connections: Vec<Connection>,
    open: usize,
    /// From the first byte of each to its end: now, and the most since the last cut.
    active: u32,
    active_most: u32,
    window_clamp: u32,
    /// All of a transfer.
    transfer_bytes: Option<u64>,
    schedule: Schedule,
    /// Good bytes of all connections, and how many of them are in a slot that has been cut.
    good_bytes: u64,
    cut_bytes: u64,
    slots: Vec<ReceiverSlot>,
    start: Time,
    first_byte: Option<Time>,
    last_byte: Time,
    unused: Vec<u8>,
}

struct Connection {
    stream: TcpStream,
    /// Read since its window was looked after.
    unwatched_bytes: u64,
    good_bytes: u64,
    good_bytes_at_steady_start: u64,
    good_bytes_at_steady_end: u64,
    /// Segments that the kernel had counted at the end of the last interval, and those of the steady time.
    segments_at_cut: u32,
    steady_segments: Segments,
}

impl Receiver {
    fn new(streams: Vec<TcpStream>, load: &TcpLoad, timing: &Timing, start: Time) -> Self {
        let connections: Vec<_> = streams.into_iter().map(Connection::new).collect();
        let schedule = Schedule::new(timing, start, clock::now());
        Self {
            open: connections.len(),
            active: 0,
            active_most: 0,
            connections,
            window_clamp: window_clamp(load),
            transfer_bytes: load.transfer_bytes(),
            slots: Vec::with_capacity(schedule.slots()),
            schedule,
            good_bytes: 0,
            cut_bytes: 0,
            start,
            first_byte: None,
            last_byte: start,
            unused: vec![0; READ_BYTES],
        }
    }

    fn run(
        &mut self,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, ReceiverSlot),
    ) -> Result<(), TcpError> {
        let mut watch = Watch::new().map_err(TcpError::Watch)?;
        for (index, connection) in self.connections.iter().enumerate() {
            let added = watch.add(&connection.stream, index as u64, EventFlags::IN);
            added.map_err(TcpError::Watch)?;
        }
        loop {
            lease_holds(lease)?;
            self.look(clock::now(), lease, progress)?;
            if self.schedule.is_over() || self.has_all() {
                return Ok(());
            }
            let patience = self.schedule.poll_timeout().since(clock::now());
            for k in 0..watch.wait(patience).map_err(TcpError::Watch)? {
                self.read(watch.ready(k) as usize, &watch)?;
            }
        }
    }

    /// Cuts the slots that are over, and the present one as soon as nothing more can come.
    fn look(
        &mut self,
        now: Time,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, ReceiverSlot),
    ) -> Result<(), TcpError> {
        while let Some(tick) = self.schedule.poll(now) {
            if self.first_byte.is_some() {
                lease.renew_by_data(self.last_byte);
            }
            self.hold_windows()?;
            if let Tick::Cut(slot) = tick {
                progress(slot, self.cut(slot, now));
            }
        }
        let is_closed = self.open == 0 && self.schedule.is_settling();
        if (is_closed || self.has_all())
            && let Some(Tick::Cut(slot)) = self.schedule.cut_next(now)
        {
            progress(slot, self.cut(slot, now));
        }
        Ok(())
    }

    fn has_all(&self) -> bool {
        self.transfer_bytes.is_some_and(|bytes| self.good_bytes >= bytes)
    }

    fn hold_windows(&self) -> Result<(), TcpError> {
        for (index, connection) in self.connections.iter().enumerate() {
            hold_window_clamp(&connection.stream, self.window_clamp)
                .map_err(|source| TcpError::Broken { index, source })?;
        }
        Ok(())
    }

    fn cut(&mut self, slot: usize, now: Time) -> ReceiverSlot {
        let steady = self.schedule.is_steady(slot);
        let steady_next = self.schedule.begins_steady(slot + 1);
        for connection in &mut self.connections {
            connection.count_segments(steady);
            if steady {
                connection.good_bytes_at_steady_end = connection.good_bytes;
            } else if steady_next {
                connection.good_bytes_at_steady_start = connection.good_bytes;
                connection.good_bytes_at_steady_end = connection.good_bytes;
            }
        }
        let cut = ReceiverSlot {
            cut_ns: self.schedule.elapsed(now).as_nanos() as u64,
            received_bytes: self.good_bytes - self.cut_bytes,
            active_connections: Some(self.active_most),
        };
        self.cut_bytes = self.good_bytes;
        self.active_most = self.active;
        self.slots.push(cut);
        cut
    }

    /// Reads once from a connection that has something to say.
    fn read(&mut self, index: usize, watch: &Watch) -> Result<(), TcpError> {
        let connection = &mut self.connections[index];
        let is_first = connection.good_bytes == 0;
        match connection.read(&mut self.unused, self.window_clamp) {
            Ok(0) => self.close(index, watch),
            Ok(bytes) => {
                self.active += u32::from(is_first);
                self.active_most = self.active_most.max(self.active);
                self.last_byte = clock::now();
                self.first_byte.get_or_insert(self.last_byte);
                self.good_bytes += bytes as u64;
                Ok(())
            }
            Err(error) if is_passing(&error) => Ok(()),
            // The sender drops what the path did not carry in time.
            Err(_) if self.schedule.is_settling() => self.close(index, watch),
            Err(source) => Err(TcpError::Broken { index, source }),
        }
    }

    fn close(&mut self, index: usize, watch: &Watch) -> Result<(), TcpError> {
        self.open -= 1;
        self.active -= u32::from(self.connections[index].good_bytes > 0);
        watch.remove(&self.connections[index].stream).map_err(TcpError::Watch)
    }

    fn into_half(self) -> TcpReceiverHalf {
        TcpReceiverHalf {
            slots: self.slots,
            beats_per_slot: 1,
            good_bytes: self.connections.iter().map(Connection::steady_good_bytes).collect(),
            received_segments: self.connections.iter().map(|c| c.steady_segments.known()).collect(),
            dscp_received: self.connections.iter().map(Connection::dscp_received).collect(),
            whole_good_bytes: self.good_bytes,
            whole_until_ns: self.last_byte.since(self.start).as_nanos() as u64,
            dropped_frames: 0,
        }
    }
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        // A connection that has broken already is found out when it is read.
        let segments_at_cut = tcp::info(&stream).map_or(0, |info| info.data_segs_in);
        Self {
            stream,
            unwatched_bytes: u64::MAX,
            good_bytes: 0,
            good_bytes_at_steady_start: 0,
            good_bytes_at_steady_end: 0,
            segments_at_cut,
            steady_segments: Segments::default(),
        }
    }

    /// Throws away what has arrived, up to the length of `unused`; 0 at the end of the stream.
    fn read(&mut self, unused: &mut [u8], window_clamp: u32) -> io::Result<usize> {
        let (_, bytes) = rustix::net::recv(&self.stream, unused, RecvFlags::TRUNC)?;
        self.good_bytes += bytes as u64;
        self.unwatched_bytes = self.unwatched_bytes.saturating_add(bytes as u64);
        if self.unwatched_bytes >= u64::from(window_clamp) / LOOKS_PER_WINDOW {
            self.unwatched_bytes = 0;
            hold_window_clamp(&self.stream, window_clamp)?;
        }
        Ok(bytes)
    }

    /// At a cut: what arrived since the last one belongs to a slot that is steady or not.
    fn count_segments(&mut self, steady: bool) {
        // A connection that has broken has nothing more to count.
        let Ok(info) = tcp::info(&self.stream) else { return };
        if steady {
            self.steady_segments.add(self.segments_at_cut, info.data_segs_in);
        }
        self.segments_at_cut = info.data_segs_in;
    }

    fn dscp_received(&self) -> Option<Dscp> {
        // A kernel that does not tell leaves it unknown.
        let noted = tcp::noted_traffic_class(&self.stream).ok().flatten();
        noted.map(Dscp::of_traffic_class)
    }

    fn steady_good_bytes(&self) -> u64 {
        self.good_bytes_at_steady_end - self.good_bytes_at_steady_start
    }
}
