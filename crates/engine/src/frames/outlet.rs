//! The way by which the frames of a flow leave this host.
//!
//! Frames at a rate leave one by one. The UDP socket sends them up to 50,000 per second, and above
//! where whole frames are not possible: those need `CAP_NET_RAW` and a flow of plain UDP over
//! Ethernet. The evidence names the method (`sent_by`). `bench/RESULTS.md` says why AF_XDP is not
//! one of them.

use std::io;
use std::net::UdpSocket;

use fp_model::SentBy;

use super::whole::WholeFrames;
use super::{HEAD_BYTES, HeadBytes};
use crate::os::udp::{self, BATCH, Datagram};
use crate::udp::ProvenSocket;

/// Above this rate frames leave whole where they may.
const WHOLE_ABOVE_FRAMES_PER_SECOND: u64 = 50_000;

/// Either way leads to nobody but the peer that has shown the flow's key.
#[derive(Debug)]
pub(super) enum Outlet {
    Datagrams(Datagrams),
    Whole(WholeFrames),
}

/// A frame about to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    /// Of its length in the cycle of lengths.
    pub(super) place: usize,
    pub(super) head: HeadBytes,
}

impl Outlet {
    /// For frames whose payload has one of these lengths, in turn.
    pub(super) fn open(
        proven: ProvenSocket,
        payloads_bytes: &[usize],
        frames_per_second: u64,
    ) -> Self {
        let mut refused = false;
        if frames_per_second > WHOLE_ABOVE_FRAMES_PER_SECOND {
            match WholeFrames::of_flow(&proven, payloads_bytes) {
                Ok(Some(whole)) => return Self::Whole(whole),
                // Whatever stands in the way, the socket has shown that it leads to the peer.
                Ok(None) => {}
                Err(error) => refused = error.kind() == io::ErrorKind::PermissionDenied,
            }
        }
        Self::Datagrams(Datagrams::new(proven.socket, payloads_bytes, refused))
    }

    /// Frames that were to leave whole do not, for want of a right.
    pub(super) const fn packet_sockets_refused(&self) -> bool {
        match self {
            Self::Datagrams(datagrams) => datagrams.packet_sockets_refused,
            Self::Whole(_) => false,
        }
    }

    pub(super) const fn sent_by(&self) -> SentBy {
        match self {
            Self::Datagrams(_) => SentBy::UdpSocket,
            Self::Whole(_) => SentBy::PacketSocket,
        }
    }

    /// Sends as many of the frames as a call takes; returns how many the host took. An error is
    /// about the first one.
    pub(super) fn send(&self, frames: &[Outgoing]) -> io::Result<usize> {
        match self {
            Self::Datagrams(datagrams) => datagrams.send(frames),
            Self::Whole(whole) => whole.send(frames),
        }
    }
}

/// What the host's UDP and IP make frames of.
#[derive(Debug)]
pub(super) struct Datagrams {
    socket: UdpSocket,
    /// What follows the head in the longest frame, and how much of it in each length of the cycle.
    padding: Vec<u8>,
    paddings_bytes: Vec<usize>,
    packet_sockets_refused: bool,
}

impl Datagrams {
    fn new(socket: UdpSocket, payloads_bytes: &[usize], packet_sockets_refused: bool) -> Self {
        let paddings_bytes: Vec<_> =
            payloads_bytes.iter().map(|payload_bytes| payload_bytes - HEAD_BYTES).collect();
        let padding = vec![0; paddings_bytes.iter().copied().max().unwrap_or(0)];
        Self { socket, padding, paddings_bytes, packet_sockets_refused }
    }

    fn send(&self, frames: &[Outgoing]) -> io::Result<usize> {
        let mut datagrams = [Datagram { head: [0; HEAD_BYTES], padding: &[] }; BATCH];
        for (datagram, frame) in datagrams.iter_mut().zip(frames) {
            datagram.head = frame.head;
            datagram.padding = &self.padding[..self.paddings_bytes[frame.place]];
        }
        udp::send_batch(&self.socket, &datagrams[..frames.len().min(BATCH)])
    }
}
