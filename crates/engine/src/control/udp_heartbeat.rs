//! Heartbeats by UDP, beside those of the control connection: each stands for itself.
//!
//! Where a trial floods one way of the path, the control connection stalls in both: its
//! acknowledgements drown. A heartbeat needs none, and gets through the way that is not flooded.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use ring::hmac;
use subtle::ConstantTimeEq as _;

use super::message::FlowAddress;
use super::socket::{any_address, plain};
use crate::DataPorts;
use crate::end::End;
use crate::os::random;

/// One end's heartbeat; the far end's goes only to where a fresh one of the near end came from.
#[derive(Debug)]
pub(crate) struct UdpHeartbeat {
    end: End,
    socket: UdpSocket,
    key: hmac::Key,
    peer: IpAddr,
    to: Option<SocketAddr>,
    sent: u64,
    heard: u64,
}

const COUNT_BYTES: usize = 8;
const TAG_BYTES: usize = 16;
const BYTES: usize = COUNT_BYTES + TAG_BYTES;

impl UdpHeartbeat {
    /// The near end's, to the address that the far end at `far` has named.
    pub(crate) fn near(far: SocketAddr, address: &FlowAddress) -> io::Result<Self> {
        let mut to = plain(far);
        to.set_port(address.port);
        let socket = UdpSocket::bind((any_address(to.is_ipv4()), 0))?;
        socket.connect(to)?;
        Self::over(End::Near, socket, &address.key, to.ip(), Some(to))
    }

    /// The far end's at `local`, on one of `ports`, with the address to tell the near end. What the flows need is
    /// left to them: a trial runs without heartbeats by UDP, and not without ports.
    pub(crate) fn far(
        mut local: SocketAddr,
        ports: &DataPorts,
        peer: IpAddr,
    ) -> io::Result<(Self, FlowAddress)> {
        let ports = ports.beyond_the_flows().ok_or(io::ErrorKind::AddrInUse)?;
        let socket = ports.first_free(|port| {
            local.set_port(port);
            UdpSocket::bind(local)
        })?;
        let address =
            FlowAddress { port: socket.local_addr()?.port(), key: random::bytes()?, frames: None };
        Ok((Self::over(End::Far, socket, &address.key, peer, None)?, address))
    }

    fn over(
        end: End,
        socket: UdpSocket,
        key: &[u8],
        peer: IpAddr,
        to: Option<SocketAddr>,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        Ok(Self { end, socket, key, peer, to, sent: 0, heard: 0 })
    }

    /// Sends one, if it is known where to.
    pub(crate) fn beat(&mut self) {
        let Some(to) = self.to else { return };
        self.sent += 1;
        let datagram = written(&self.key, self.end, self.sent);
        // A heartbeat that cannot leave is as good as lost, and the next one is soon due.
        let _ = match self.end {
            End::Near => self.socket.send(&datagram),
            End::Far => self.socket.send_to(&datagram, to),
        };
    }

    /// Reads what has arrived: whether the peer was heard.
    pub(crate) fn listen(&mut self) -> bool {
        let mut heard = false;
        // One byte more than a heartbeat, so that a longer datagram does not pass for one.
        let mut datagram = [0; BYTES + 1];
        for _ in 0..64 {
            match self.socket.recv_from(&mut datagram) {
                Ok((count, from)) => heard |= self.on_datagram(&datagram[..count], from),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // An ICMP message about an earlier heartbeat says nothing of the next.
                Err(_) => {}
            }
        }
        heard
    }

    fn on_datagram(&mut self, datagram: &[u8], from: SocketAddr) -> bool {
        let Some(count) = read(&self.key, self.end.other(), datagram) else { return false };
        // A heartbeat counts once, in its order: a copy from elsewhere leads nobody astray.
        if count <= self.heard || from.ip().to_canonical() != self.peer {
            return false;
        }
        self.heard = count;
        self.to = Some(from);
        true
    }
}

impl AsFd for UdpHeartbeat {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn written(key: &hmac::Key, from: End, count: u64) -> [u8; BYTES] {
    let mut datagram = [0; BYTES];
    let (number, tag) = datagram.split_at_mut(COUNT_BYTES);
    number.copy_from_slice(&count.to_be_bytes());
    tag.copy_from_slice(&tag_of(key, from, count));
    datagram
}

fn read(key: &hmac::Key, from: End, datagram: &[u8]) -> Option<u64> {
    let (number, tag) = datagram.split_first_chunk::<COUNT_BYTES>()?;
    let count = u64::from_be_bytes(*number);
    let genuine: bool = tag.ct_eq(&tag_of(key, from, count)).into();
    genuine.then_some(count)
}

/// The authentication tag of the sender and the count, so that no heartbeat can be sent back.
fn tag_of(key: &hmac::Key, from: End, count: u64) -> [u8; TAG_BYTES] {
    let mut signed = [0; 1 + COUNT_BYTES];
    signed[0] = match from {
        End::Near => b'n',
        End::Far => b'f',
    };
    signed[1..].copy_from_slice(&count.to_be_bytes());
    let mut tag = [0; TAG_BYTES];
    tag.copy_from_slice(&hmac::sign(key, &signed).as_ref()[..TAG_BYTES]);
    tag
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn key(byte: u8) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &[byte; 16])
    }

    #[test]
    fn a_heartbeat_is_read_by_its_key_and_its_direction_only() {
        let heartbeat = written(&key(1), End::Near, 7);
        assert_eq!(read(&key(1), End::Near, &heartbeat), Some(7));
        assert_eq!(read(&key(2), End::Near, &heartbeat), None);
        assert_eq!(read(&key(1), End::Far, &heartbeat), None);
        assert_eq!(read(&key(1), End::Near, &heartbeat[..BYTES - 1]), None);
        for at in 0..BYTES {
            let mut changed = heartbeat;
            changed[at] ^= 1;
            assert_eq!(read(&key(1), End::Near, &changed), None);
        }
    }

    #[test]
    fn a_heartbeat_leaves_two_data_ports_to_the_flows() {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let ports = |last| DataPorts::between(50_000, last).unwrap();
        assert!(UdpHeartbeat::far(at, &ports(50_001), at.ip()).is_err());
        let (_, address) = UdpHeartbeat::far(at, &ports(50_100), at.ip()).unwrap();
        assert!((50_002..=50_100).contains(&address.port));
    }

    #[test]
    fn a_far_end_sends_only_to_where_the_newest_heartbeat_came_from() {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (mut far, address) = UdpHeartbeat::far(at, &DataPorts::ANY, at.ip()).unwrap();
        let from = |octet: u8, port| SocketAddr::from(([127, 0, 0, octet], port));
        let heartbeat =
            |count| written(&hmac::Key::new(hmac::HMAC_SHA256, &address.key), End::Near, count);
        far.beat();
        assert_eq!(far.sent, 0);
        assert!(!far.on_datagram(&heartbeat(5), from(2, 1000)), "of another host");
        assert!(far.on_datagram(&heartbeat(5), from(1, 1000)));
        assert!(!far.on_datagram(&heartbeat(5), from(1, 2000)), "a copy");
        assert!(!far.on_datagram(&heartbeat(4), from(1, 2000)), "an old one");
        assert_eq!(far.to, Some(from(1, 1000)));
        assert!(far.on_datagram(&heartbeat(6), from(1, 2000)));
        assert_eq!(far.to, Some(from(1, 2000)));
    }
}
