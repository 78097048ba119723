//! Packet ports: whole Ethernet frames in and out of this process, in batches, past the host's IP
//! stack.
//!
//! A port receives what is sent to the prefixes that it was opened for, with the ARP messages and
//! neighbour solicitations that ask for them, and nothing else. Frames are untagged and without
//! FCS. A port sends whatever it is given: towards whom is for its owner to decide.
//!
//! Consumers are compiled for each kind of port. The classic filter of a packet socket and the
//! program of AF_XDP are made from the same rules.

mod error;
mod host;
mod memory;
mod packet;
mod xdp;

use std::io;

use fp_model::Time;

use crate::os::frame_filter::FrameFilter;
use crate::os::netlink::Mac;

pub use crate::os::frame_filter::{ClientIs, Prefix, Share};
pub use error::PortError;
pub(crate) use host::HostPort;
pub use memory::MemoryPort;
pub use packet::PacketPort;
pub use xdp::XdpPort;

/// One thread's way to send and receive frames. Nothing but [`FrameIo::wait`] waits.
pub trait FrameIo {
    /// The address at which frames are to arrive: the owner's answer to ARP and neighbour
    /// solicitations.
    fn mac(&self) -> Mac;

    /// Shows the frames that have arrived, in order and at most [`RECEIVE_BATCH`] of them, and
    /// returns how many those were.
    ///
    /// # Errors
    /// Where the interface is gone.
    fn receive(&mut self, on_frame: impl FnMut(ArrivedFrame<'_>)) -> io::Result<usize>;

    /// Sends the first frames of a batch, as many as the port has room for, and returns how many.
    /// The others are the caller's to send again later, or to forget.
    ///
    /// # Errors
    /// Where the interface is down or gone, or takes no frames of this length.
    fn send(&mut self, frames: FrameBatch<'_>) -> io::Result<usize>;

    /// Until frames have arrived or it is `until`; a signal may end it early.
    ///
    /// # Errors
    /// Where the kernel has no memory for it.
    fn wait(&mut self, until: Time) -> io::Result<()>;

    /// Since the port was opened.
    ///
    /// # Errors
    /// Where the kernel does not tell.
    fn counters(&mut self) -> io::Result<PortCounters>;
}

/// The most frames that one [`FrameIo::receive`] shows, so that a thread comes round to sending.
pub const RECEIVE_BATCH: usize = 64;

/// A frame as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct ArrivedFrame<'a> {
    pub bytes: &'a [u8],
    pub checksum: TransportChecksum,
}

/// What stands in the checksum field of an arrived TCP segment.
///
/// A frame that never left its host, as over a veth pair, may have no more there than the folded sum
/// of the pseudo-header (`CHECKSUM_PARTIAL`): the interface was to do the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportChecksum {
    /// The checksum.
    Whole,
    /// The sum of the pseudo-header.
    PseudoHeader,
    /// One of the two: the port cannot tell, and the consumer accepts either.
    Either,
}

/// Frames one after the other in one buffer.
#[derive(Clone, Copy, Debug)]
pub struct FrameBatch<'a> {
    bytes: &'a [u8],
    lens: &'a [u16],
}

impl<'a> FrameBatch<'a> {
    /// `lens` are those of the frames in `bytes`, which hold nothing else.
    pub fn new(bytes: &'a [u8], lens: &'a [u16]) -> Self {
        let total: usize = lens.iter().map(|len| usize::from(*len)).sum();
        assert_eq!(total, bytes.len(), "the lengths of a batch's frames add up to its own");
        Self { bytes, lens }
    }

    /// How many frames there are.
    pub const fn len(&self) -> usize {
        self.lens.len()
    }

    pub const fn is_empty(&self) -> bool {
        self.lens.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.bytes;
        self.lens.iter().map(move |len| {
            let (frame, others) = rest.split_at(usize::from(*len));
            rest = others;
            frame
        })
    }

    /// What is left of the batch when the first frames have been sent.
    #[must_use]
    pub fn after(self, frames: usize) -> Self {
        let (sent, lens) = self.lens.split_at(frames);
        let sent_bytes: usize = sent.iter().map(|len| usize::from(*len)).sum();
        Self { bytes: &self.bytes[sent_bytes..], lens }
    }
}

/// What became of a port's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Shown to whoever receives.
    pub received_frames: u64,
    /// Taken from whoever sends.
    pub sent_frames: u64,
    /// Arrived for this port and lost, because there was no room for them.
    pub overrun_frames: u64,
    /// Times that a frame found no room to be sent.
    pub send_refusals: u64,
}

fn filter_of(prefixes: &[Prefix], share: Share) -> Result<FrameFilter, PortError> {
    let (count, most) = (prefixes.len(), FrameFilter::PREFIXES_MAX);
    if count > most {
        return Err(PortError::TooManyPrefixes { count, most });
    }
    Ok(FrameFilter::new(prefixes, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_its_frames_in_order_and_what_is_left_of_them() {
        let batch = FrameBatch::new(b"onetwothree", &[3, 3, 5]);
        assert_eq!(batch.iter().collect::<Vec<_>>(), [&b"one"[..], b"two", b"three"]);
        assert_eq!(batch.after(2).iter().collect::<Vec<_>>(), [&b"three"[..]]);
        assert!(batch.after(3).is_empty());
    }
}
