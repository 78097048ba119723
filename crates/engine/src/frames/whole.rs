//! Frames made here from their first byte to their last, past the host's UDP and IP.
//!
//! The socket first sends a datagram without payload, and a packet socket sees that frame leave.
//! Its headers are the template of all that follow, with lengths, sequence and checksums of their
//! own. So the kernel chooses neighbour, addresses, ports and code point, and a flow that it
//! encrypts, translates or tags is not sent past it. The packet socket bypasses the queueing
//! discipline.

use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

use super::outlet::Outgoing;
use super::{HEAD_BYTES, HeadBytes};
use crate::control::socket::plain;
use crate::os::clock;
use crate::os::packet::{OwnFrame, OwnFrames, PacketSender};
use crate::os::udp::{self, BATCH};
use crate::os::wake::{Interest, wait};
use crate::udp::ProvenSocket;

/// A host that has shown the flow's key sends and receives already: its own frame leaves at once.
const SHOWN_WITHIN: Duration = Duration::from_millis(20);

/// Sends the frames of a flow, each like the one in which the host itself sends a datagram of the
/// flow: to the same neighbour, from and to the same addresses and ports, marked alike.
#[derive(Debug)]
pub(super) struct WholeFrames {
    sender: PacketSender,
    /// For each length of the cycle.
    templates: Vec<Template>,
    padding: Vec<u8>,
}

impl WholeFrames {
    /// `None` where the host sends the flow through an interface that has no Ethernet frames, to
    /// itself, or in another form than plain UDP: encrypted, say, or from a translated address.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`.
    pub(super) fn of_flow(
        proven: &ProvenSocket,
        payloads_bytes: &[usize],
    ) -> io::Result<Option<Self>> {
        let Some(OwnFrame { bytes, interface_index }) = own_frame(proven)? else { return Ok(None) };
        let Some(headers) = Headers::of_empty_datagram(&bytes) else { return Ok(None) };
        let template = |payload_bytes: &usize| Template::new(headers, *payload_bytes);
        let templates: Vec<_> = payloads_bytes.iter().map(template).collect();
        let padding = vec![0; templates.iter().map(|of| of.padding_bytes).max().unwrap_or(0)];
        Ok(Some(Self { sender: PacketSender::open(interface_index)?, templates, padding }))
    }

    /// Sends as many as a call takes; returns how many the host took.
    pub(super) fn send(&self, frames: &[Outgoing]) -> io::Result<usize> {
        let mut heads = [[0; WHOLE_HEAD_BYTES_MAX]; BATCH];
        let mut parts = [[&[][..]; 2]; BATCH];
        for ((frame, head), parts) in frames.iter().zip(&mut heads).zip(&mut parts) {
            let template = &self.templates[frame.place];
            let head_bytes = template.write(&frame.head, head);
            *parts = [&head[..head_bytes], &self.padding[..template.padding_bytes]];
        }
        self.sender.send_in_parts(&parts[..frames.len().min(BATCH)])
    }
}

/// Has the host send a datagram of the flow, which the far end passes over as it has no bytes, and
/// watches it leave.
fn own_frame(proven: &ProvenSocket) -> io::Result<Option<OwnFrame>> {
    let local = plain(proven.socket.local_addr()?);
    let peer = plain(proven.socket.peer_addr()?);
    if local.ip() == peer.ip() || local.ip().is_loopback() {
        return Ok(None);
    }
    let own = OwnFrames::of_flow(local, peer)?;
    match proven.socket.send(&[]) {
        Err(error) if !udp::is_about_an_earlier_datagram(&error) => return Err(error),
        Ok(_) | Err(_) => {}
    }
    let until = clock::now() + SHOWN_WITHIN;
    loop {
        if let Some(frame) = own.next()? {
            return Ok(Some(frame));
        }
        let left = until.since(clock::now());
        if left.is_zero() {
            return Ok(None);
        }
        wait(&[(own.as_fd(), Interest::Read)], left)?;
    }
}

const ETHERNET_BYTES: usize = 14;
const UDP_BYTES: usize = 8;
/// Ethernet, IPv6, UDP.
const HEADERS_BYTES_MAX: usize = ETHERNET_BYTES + 40 + UDP_BYTES;
const WHOLE_HEAD_BYTES_MAX: usize = HEADERS_BYTES_MAX + HEAD_BYTES;

/// What stands before the payload in each frame of a flow, lengths and checksums apart.
#[derive(Clone, Copy, Debug)]
struct Headers {
    bytes: [u8; HEADERS_BYTES_MAX],
    ip: IpVersion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IpVersion {
    V4,
    V6,
}

impl IpVersion {
    const fn header_bytes(self) -> usize {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}

impl Headers {
    /// `None` unless the frame is that of a UDP datagram without payload, untagged, its IP header
    /// without options.
    fn of_empty_datagram(frame: &[u8]) -> Option<Self> {
        let ip = match (frame.get(12..14)?, frame.get(ETHERNET_BYTES)?) {
            ([0x08, 0x00], 0x45) => IpVersion::V4,
            ([0x86, 0xdd], first) if first >> 4 == 6 => IpVersion::V6,
            _ => return None,
        };
        let of_frame = frame.get(..ETHERNET_BYTES + ip.header_bytes() + UDP_BYTES)?;
        let mut bytes = [0; HEADERS_BYTES_MAX];
        bytes[..of_frame.len()].copy_from_slice(of_frame);
        Some(Self { bytes, ip })
    }
}

/// A frame of one length without its head.
#[derive(Clone, Copy, Debug)]
struct Template {
    bytes: [u8; WHOLE_HEAD_BYTES_MAX],
    /// Where UDP begins.
    udp_at: usize,
    /// Behind the head, all zero.
    padding_bytes: usize,
    /// Of the words that its UDP checksum covers, the head left out.
    sum: u32,
}

impl Template {
    fn new(headers: Headers, payload_bytes: usize) -> Self {
        let Headers { bytes: of_flow, ip } = headers;
        let mut bytes = [0; WHOLE_HEAD_BYTES_MAX];
        bytes[..HEADERS_BYTES_MAX].copy_from_slice(&of_flow);
        let udp_at = ETHERNET_BYTES + ip.header_bytes();
        let udp_bytes = ((UDP_BYTES + payload_bytes) as u16).to_be_bytes();
        bytes[udp_at + 4..udp_at + 6].copy_from_slice(&udp_bytes);
        bytes[udp_at + 6..udp_at + 8].fill(0);
        let header = &mut bytes[ETHERNET_BYTES..udp_at];
        let addresses_at = match ip {
            IpVersion::V4 => {
                let packet_bytes = (ip.header_bytes() + UDP_BYTES + payload_bytes) as u16;
                header[2..4].copy_from_slice(&packet_bytes.to_be_bytes());
                header[10..12].fill(0);
                let checksum = !folded(sum(header));
                header[10..12].copy_from_slice(&checksum.to_be_bytes());
                12
            }
            IpVersion::V6 => {
                header[4..6].copy_from_slice(&udp_bytes);
                8
            }
        };
        const UDP: u32 = 17;
        let pseudo_header = sum(&header[addresses_at..]) + UDP + sum(&udp_bytes);
        let sum = pseudo_header + sum(&bytes[udp_at..udp_at + UDP_BYTES]);
        Self { bytes, udp_at, padding_bytes: payload_bytes - HEAD_BYTES, sum }
    }

    /// Writes the frame down to the end of its head, and returns how many bytes that is.
    fn write(&self, head: &HeadBytes, to: &mut [u8; WHOLE_HEAD_BYTES_MAX]) -> usize {
        let head_at = self.udp_at + UDP_BYTES;
        *to = self.bytes;
        to[head_at..head_at + HEAD_BYTES].copy_from_slice(head);
        // RFC 768: zero would say that there is none.
        let checksum = match !folded(self.sum + sum(head)) {
            0 => 0xffff,
            checksum => checksum,
        };
        to[head_at - 2..head_at].copy_from_slice(&checksum.to_be_bytes());
        head_at + HEAD_BYTES
    }
}

/// Of whole 16-bit words, fewer than 65,536 of them.
fn sum(bytes: &[u8]) -> u32 {
    let (words, _) = bytes.as_chunks::<2>();
    words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum()
}

/// RFC 1071: carries are added at the other end.
fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    (once + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arrivals::datagram::{self, Checksum, Packet};

    /// As a host sends a datagram without payload, with DSCP 46; checksums are not filled in.
    fn own_frame(ip: IpVersion, addresses: &[u8; 32], ports: [u8; 4]) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        match ip {
            IpVersion::V4 => {
                frame.extend([8, 0, 0x45, 0xb8, 0, 28, 0x12, 0x34, 0x40, 0, 64, 17, 0xee, 0xee]);
                frame.extend(&addresses[..8]);
            }
            IpVersion::V6 => {
                frame.extend([0x86, 0xdd, 0x6b, 0x81, 0x23, 0x45, 0, 8, 17, 64]);
                frame.extend(addresses);
            }
        }
        frame.extend(ports);
        frame.extend([0, 8, 0xee, 0xee]);
        frame
    }

    proptest! {
        #[test]
        fn each_frame_is_sound_and_carries_its_head(
            ip in prop_oneof![Just(IpVersion::V4), Just(IpVersion::V6)],
            addresses in any::<[u8; 32]>(),
            ports in any::<[u8; 4]>(),
            head in any::<HeadBytes>(),
            padding_bytes in 0_usize..9000,
        ) {
            let own = own_frame(ip, &addresses, ports);
            let headers = Headers::of_empty_datagram(&own).unwrap();
            let template = Template::new(headers, HEAD_BYTES + padding_bytes);
            let mut whole_head = [0; WHOLE_HEAD_BYTES_MAX];
            let head_bytes = template.write(&head, &mut whole_head);
            prop_assert_eq!(template.padding_bytes, padding_bytes);
            let mut frame = whole_head[..head_bytes].to_vec();
            frame.resize(head_bytes + padding_bytes, 0);
            // Ethernet and the addresses as the host sends them.
            prop_assert_eq!(&frame[..14], &own[..14]);
            let payload = [&head[..], &vec![0; padding_bytes]].concat();
            // DSCP 46.
            let expected = Packet::Datagram { payload: &payload, traffic_class: 0xb8 };
            prop_assert_eq!(datagram::read(&frame[14..], Checksum::ToVerify), expected);
            let udp_checksum = &frame[head_bytes - HEAD_BYTES - 2..head_bytes - HEAD_BYTES];
            prop_assert_ne!(udp_checksum, &[0, 0], "a checksum of zero is none");
        }

        #[test]
        fn no_bytes_but_those_of_an_own_frame_are_taken_for_one(
            bytes in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let is_ip = bytes.len() >= 42 && [[8, 0], [0x86, 0xdd]].contains(&[bytes[12], bytes[13]]);
            prop_assert!(is_ip || Headers::of_empty_datagram(&bytes).is_none());
        }
    }

    #[test]
    fn a_host_that_tags_its_frames_is_left_to_do_so() {
        let mut tagged = own_frame(IpVersion::V4, &[7; 32], [1, 2, 3, 4]);
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        assert!(Headers::of_empty_datagram(&tagged).is_none());
    }
}
