//! A port of packet sockets: it works wherever `CAP_NET_RAW` is had, in a user namespace too.
//!
//! Frames arrive in a ring and leave by `sendmmsg`, which is faster than a send ring. Several ports
//! share an interface: a filter gives each the connections whose client port, divided by the number
//! of ports, leaves the port's place as the remainder. The host's stack drops what is sent to the
//! port's own MAC address instead of refusing it.

use std::array;
use std::io;
use std::os::fd::AsFd as _;

use fp_model::Time;
use rustix::io::Errno;
use socket2::SockRef;

use super::{
    ArrivedFrame, FrameBatch, FrameIo, PortCounters, PortError, Prefix, RECEIVE_BATCH, Share,
    TransportChecksum, filter_of,
};
use crate::os::netlink::{Interface, Mac};
use crate::os::packet::{Joined, PacketReceiver, PacketSender};
use crate::os::{clock, wake};

/// Receives through a ring that the kernel fills, sends past the queueing discipline.
///
/// The host's IP stack disregards frames to the port's MAC address, which is not the interface's. Of
/// those to the interface's it would make what a host or router makes of packets to others: drop,
/// forward or refuse them by ICMP.
#[derive(Debug)]
pub struct PacketPort {
    receiver: PacketReceiver,
    sender: PacketSender,
    mac: Mac,
    _joined: Joined,
    counters: PortCounters,
}

impl PacketPort {
    /// On an interface of the current thread's network namespace, for the frames to `prefixes`.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, without memory for the ring, or for too many prefixes.
    pub fn open(
        interface: &Interface,
        prefixes: &[Prefix],
        share: Share,
    ) -> Result<Self, PortError> {
        let filter = filter_of(prefixes, share)?;
        let max_frame_bytes = interface.max_frame_bytes();
        let open = || -> io::Result<Self> {
            let index = interface.index;
            let mac = beside(interface.mac);
            let joined = Joined::on(index)?;
            joined.address(mac)?;
            if prefixes.iter().any(|prefix| prefix.address().is_ipv6()) {
                joined.all_groups()?;
            }
            Ok(Self {
                receiver: PacketReceiver::open_for(index, &filter, max_frame_bytes)?,
                sender: PacketSender::open(index)?,
                mac,
                _joined: joined,
                counters: PortCounters::default(),
            })
        };
        open().map_err(PortError::of_packet_sockets)
    }
}

/// An address of our own, the same for all ports of an interface.
const fn beside(mac: Mac) -> Mac {
    const LOCALLY_ADMINISTERED: u8 = 0x02;
    let [first, others @ ..] = mac;
    let [b, c, d, e, f] = others;
    [(first ^ 0x40) | LOCALLY_ADMINISTERED, b, c, d, e, f]
}

impl FrameIo for PacketPort {
    fn mac(&self) -> Mac {
        self.mac
    }

    fn receive(&mut self, mut on_frame: impl FnMut(ArrivedFrame<'_>)) -> io::Result<usize> {
        let mut shown = 0;
        while shown < RECEIVE_BATCH
            && self.receiver.receive(|frame| {
                let checksum = if frame.lacks_checksum() {
                    TransportChecksum::PseudoHeader
                } else {
                    TransportChecksum::Whole
                };
                on_frame(ArrivedFrame { bytes: frame.bytes, checksum });
            })
        {
            shown += 1;
        }
        self.counters.received_frames += shown as u64;
        Ok(shown)
    }

    fn send(&mut self, frames: FrameBatch<'_>) -> io::Result<usize> {
        let mut rest = frames;
        while !rest.is_empty() {
            let mut all = rest.iter();
            let batch: [&[u8]; PacketSender::BATCH] =
                array::from_fn(|_| all.next().unwrap_or_default());
            let batch = &batch[..rest.len().min(PacketSender::BATCH)];
            match self.sender.send(batch) {
                Ok(sent) => rest = rest.after(sent),
                Err(error) if has_no_room(&error) => {
                    self.counters.send_refusals += 1;
                    break;
                }
                // The caller has to know of those that went before: the next call fails again.
                Err(_) if rest.len() < frames.len() => break,
                Err(error) => return Err(error),
            }
        }
        let sent = frames.len() - rest.len();
        self.counters.sent_frames += sent as u64;
        Ok(sent)
    }

    fn wait(&mut self, until: Time) -> io::Result<()> {
        let timeout = until.since(clock::now());
        wake::wait(&[(self.receiver.as_fd(), wake::Interest::Read)], timeout)?;
        // That of an interface which has gone down or away would end every wait at once.
        SockRef::from(&self.receiver).take_error()?.map_or(Ok(()), Err)
    }

    fn counters(&mut self) -> io::Result<PortCounters> {
        self.counters.overrun_frames += self.receiver.take_overruns()?;
        Ok(self.counters)
    }
}

/// Whether the frame was not taken now and may be later.
fn has_no_room(error: &io::Error) -> bool {
    let passing = [Errno::AGAIN, Errno::NOBUFS, Errno::INTR];
    Errno::from_io_error(error).is_some_and(|error| passing.contains(&error))
}
