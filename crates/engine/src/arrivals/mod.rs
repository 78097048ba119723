//! The frames of a flow as they reach this end, from wherever the host lets them be taken.

pub(crate) mod datagram;

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::time::Duration;

use fp_model::Receiver;
use socket2::SockRef;

use crate::frames::HEAD_BYTES;
use crate::half::Unshown;
use crate::os::packet::{PacketReceiver, ReceivedFrame};
use crate::os::udp::{self, Arrival, BATCH, Drops, Inbox};
use crate::os::{clock, interfaces, packet_filter};
use crate::udp::{FrameError, Kind, ProvenSocket};
use datagram::{Checksum, Packet};

/// Arrival times are the kernel's, so that there is no hurry as long as there is room.
const LOOK_INTERVAL_MAX: Duration = Duration::from_millis(1);
/// A host may take the processor away between giving a frame to the socket and to the ring.
const RING_LATE_MAX: Duration = Duration::from_millis(20);

/// Takes what arrives for a flow.
///
/// Where the process may, through a ring that it shares with the kernel, which is twice as fast as
/// the flow's socket. The socket stays open meanwhile, so that the host refuses nothing.
#[derive(Debug)]
pub(crate) struct Arrivals {
    proven: ProvenSocket,
    source: Source,
    inbox: Inbox,
    drops_before: Drops,
    buffer_bytes: u64,
    /// What the ring did not show.
    unshown: Unshown,
    payload_bytes_max: usize,
    packet_sockets_refused: bool,
}

#[derive(Debug)]
enum Source {
    Socket,
    Ring(PacketReceiver),
    /// A ring that has not shown yet whether it sees the flow.
    Untried(PacketReceiver),
}

/// Whether more may be waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Nothing,
    Perhaps,
}

/// What the first frame in a ring says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    Nothing,
    Frames,
    /// Several frames as one, for the socket to take apart.
    Merged,
}

impl Arrivals {
    /// For frames with a payload of up to so many bytes. What was sent before is not all seen.
    pub(crate) fn open(proven: ProvenSocket, payload_bytes_max: usize) -> Result<Self, FrameError> {
        let drops_before = Drops::read(&proven.socket).map_err(reading())?;
        let buffer_bytes = udp::receive_buffer_bytes(&proven.socket).map_err(reading())?;
        let ring = open_ring(&proven, payload_bytes_max);
        // An ordinary user may have no ring.
        let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let packet_sockets_refused = ring.as_ref().is_err_and(is_refused);
        Ok(Self {
            proven,
            source: ring.ok().flatten().map_or(Source::Socket, Source::Untried),
            inbox: Inbox::new(),
            drops_before,
            buffer_bytes,
            unshown: Unshown::default(),
            payload_bytes_max,
            packet_sockets_refused,
        })
    }

    /// Confirms each proof of the near end, as [`ProvenSocket::confirm`] does.
    pub(crate) fn confirm(&self) -> Result<(), FrameError> {
        self.proven.confirm()
    }

    /// What the frames of the flow begin with.
    pub(crate) fn mark(&self) -> [u8; 4] {
        self.proven.mark(Kind::Frame)
    }

    /// There is no ring, for want of a right.
    pub(crate) const fn packet_sockets_refused(&self) -> bool {
        self.packet_sockets_refused
    }

    /// Shows a batch of what has arrived to `on_frame`, in the order of arrival, without waiting.
    pub(crate) fn take(&mut self, on_frame: impl FnMut(Arrival<'_>)) -> Result<Left, FrameError> {
        if let Source::Untried(_) = self.source {
            return self.try_ring(on_frame);
        }
        if let Source::Ring(ring) = &mut self.source {
            return Ok(take_from_ring(ring, self.payload_bytes_max, &mut self.unshown, on_frame));
        }
        let count = self.take_batch().map_err(reading())?;
        Ok(self.show_batch(count, on_frame))
    }

    /// Decides between ring and socket as soon as one of them has a frame. The kernel gives a frame
    /// to both, one right after the other: where the socket alone has it for long, the ring is blind.
    fn try_ring(&mut self, on_frame: impl FnMut(Arrival<'_>)) -> Result<Left, FrameError> {
        let sight = self.sight();
        let count = if sight == Sight::Nothing { self.take_batch().map_err(reading())? } else { 0 };
        let has_frame = self.inbox.arrivals().any(|arrival| is_frame(arrival.payload_bytes));
        let patience = if has_frame { RING_LATE_MAX } else { Duration::ZERO };
        match (sight, self.sight_within(patience)) {
            (Sight::Nothing, Sight::Nothing) if !has_frame => Ok(Left::Nothing),
            (_, Sight::Frames) => {
                // A socket that takes in what nobody reads is full soon: no harm but the work.
                let nothing = packet_filter::nothing();
                let _ = SockRef::from(&self.proven.socket).attach_filter(&nothing);
                self.source = match mem::replace(&mut self.source, Source::Socket) {
                    Source::Untried(ring) => Source::Ring(ring),
                    decided @ (Source::Socket | Source::Ring(_)) => decided,
                };
                self.take(on_frame)
            }
            (_, Sight::Nothing | Sight::Merged) => {
                self.source = Source::Socket;
                Ok(self.show_batch(count, on_frame))
            }
        }
    }

    fn sight_within(&mut self, patience: Duration) -> Sight {
        const PAUSE: Duration = Duration::from_micros(100);
        let deadline = clock::now() + patience;
        loop {
            let (sight, now) = (self.sight(), clock::now());
            if sight != Sight::Nothing || now >= deadline {
                return sight;
            }
            clock::sleep_until(now + PAUSE);
        }
    }

    /// Passes over what is left of the proof that began the flow.
    fn sight(&mut self) -> Sight {
        let Source::Untried(ring) = &mut self.source else { return Sight::Nothing };
        loop {
            let Some(frame) = ring.peek() else { return Sight::Nothing };
            match read(&frame) {
                Packet::Merged { .. } => return Sight::Merged,
                Packet::Datagram { payload, .. } if payload.len() > self.payload_bytes_max => {
                    return Sight::Merged;
                }
                Packet::Datagram { payload, .. } if is_frame(payload.len()) => {
                    return Sight::Frames;
                }
                Packet::Spoilt => return Sight::Frames,
                Packet::Datagram { .. } => {}
            }
            ring.receive(|_proof| ());
        }
    }

    /// A batch from the socket; an error that tells of an earlier datagram is no batch at all.
    fn take_batch(&mut self) -> io::Result<usize> {
        match self.inbox.receive(&self.proven.socket) {
            Err(error) if udp::is_out_of_room(&error) => Ok(0),
            Err(error) if udp::is_about_an_earlier_datagram(&error) => Ok(0),
            received => received,
        }
    }

    fn show_batch(&self, count: usize, on_frame: impl FnMut(Arrival<'_>)) -> Left {
        self.inbox.arrivals().for_each(on_frame);
        if count == BATCH { Left::Perhaps } else { Left::Nothing }
    }

    /// How long the receiver may rest at most: until an eighth of its room can have filled.
    pub(crate) fn look_interval(&self, frame_bytes: u32, frames_per_second: u64) -> Duration {
        // The kernel charges a frame with its memory, of which about a kilobyte is its own.
        const KERNEL_BYTES: u64 = 1024;
        let room = match &self.source {
            Source::Socket => self.buffer_bytes / (u64::from(frame_bytes) + KERNEL_BYTES),
            Source::Ring(ring) | Source::Untried(ring) => ring.slots() as u64,
        };
        let fills_in = (room / 8).saturating_mul(1_000_000_000) / frames_per_second.max(1);
        Duration::from_nanos(fills_in).min(LOOK_INTERVAL_MAX)
    }

    pub(crate) fn receiver(&self) -> Receiver {
        match self.source {
            Source::Socket | Source::Untried(_) => Receiver::Socket,
            Source::Ring(_) => Receiver::Ring,
        }
    }

    pub(crate) fn unshown(&self) -> Result<Unshown, FrameError> {
        let Source::Ring(ring) = &self.source else {
            let drops = Drops::read(&self.proven.socket).map_err(reading())?;
            return Ok(Unshown {
                dropped_frames: drops.since(self.drops_before),
                corrupt_frames: drops.corrupt_since(self.drops_before),
            });
        };
        let overruns = ring.take_overruns().map_err(reading())?;
        let Unshown { dropped_frames, corrupt_frames } = self.unshown;
        Ok(Unshown { dropped_frames: dropped_frames + overruns, corrupt_frames })
    }
}

fn reading() -> impl FnOnce(io::Error) -> FrameError {
    FrameError::socket("receive UDP frames")
}

/// A ring for the flow at the interface that has its address; `None` where frames of the host to
/// itself arrive, which the kernel does not cut.
fn open_ring(
    proven: &ProvenSocket,
    payload_bytes_max: usize,
) -> io::Result<Option<PacketReceiver>> {
    const HEADER_BYTES_MAX: usize = 48;
    let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let local = plain(proven.socket.local_addr()?);
    let peer = plain(proven.socket.peer_addr()?);
    if local.ip() == peer.ip() || local.ip().is_loopback() {
        return Ok(None);
    }
    let Some(index) = interfaces::index_of(local.ip())? else { return Ok(None) };
    let packet_bytes_max = HEADER_BYTES_MAX + payload_bytes_max;
    PacketReceiver::open_for_flow(index, local, peer, packet_bytes_max).map(Some)
}

/// Whether a datagram is long enough not to be part of the proof that began the flow.
const fn is_frame(payload_bytes: usize) -> bool {
    payload_bytes >= HEAD_BYTES
}

fn read<'a>(frame: &ReceivedFrame<'a>) -> Packet<'a> {
    let is_unverified = frame.is_unverified();
    let checksum = if is_unverified { Checksum::ToVerify } else { Checksum::Verified };
    datagram::read(frame.bytes, checksum)
}

fn take_from_ring(
    ring: &mut PacketReceiver,
    payload_bytes_max: usize,
    unshown: &mut Unshown,
    mut on_frame: impl FnMut(Arrival<'_>),
) -> Left {
    const RING_BATCH: usize = 64;
    let ahead = clock::wall_ahead_of_monotonic();
    for _ in 0..RING_BATCH {
        let took_one = ring.receive(|frame| match read(&frame) {
            Packet::Datagram { payload, traffic_class } if payload.len() <= payload_bytes_max => {
                let at = clock::monotonic(frame.arrived_at_wall, ahead);
                let payload_bytes = payload.len();
                let traffic_class = Some(traffic_class);
                on_frame(Arrival { head: payload, payload_bytes, at, traffic_class });
            }
            Packet::Datagram { payload, .. } => {
                unshown.dropped_frames += payload.len().div_ceil(payload_bytes_max) as u64;
            }
            Packet::Merged { payload_bytes } => {
                unshown.dropped_frames += payload_bytes.div_ceil(payload_bytes_max) as u64;
            }
            Packet::Spoilt => unshown.corrupt_frames += 1,
        });
        if !took_one {
            return Left::Nothing;
        }
    }
    Left::Perhaps
}
