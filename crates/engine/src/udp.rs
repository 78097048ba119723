//! UDP flows go only to an address that has shown, by the flow's key, that it wants them.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use fp_model::Time;
use subtle::ConstantTimeEq as _;

use crate::control::socket::{any_address, plain};
use crate::half::FlowKey;
use crate::lease::Lease;
use crate::marking::Marking;
use crate::os::{clock, udp};

/// How often the near end repeats its proof until it is confirmed.
const REPEAT: Duration = Duration::from_millis(50);

/// Why a flow of UDP datagrams could not be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("cannot {doing}: {source}")]
    Socket { doing: &'static str, source: io::Error },
    #[error(
        "the far end {far} did not confirm the UDP flow: let UDP to port {} through every firewall \
         on the way, both ways", far.port()
    )]
    NotConfirmed { far: SocketAddr },
    #[error(
        "no UDP datagram of this flow came from {peer}: let UDP through every firewall on the way"
    )]
    NotProven { peer: Peer },
    #[error("frames of {frame_bytes} bytes are too short: use {least_bytes} bytes or more")]
    FrameTooShort { frame_bytes: u32, least_bytes: u32 },
    #[error("packets of {packet_bytes} bytes are too short: use {least_bytes} bytes or more")]
    PacketTooShort { packet_bytes: u32, least_bytes: u32 },
    #[error(
        "frames of {frame_bytes} bytes do not fit the interface they leave by: use shorter frames"
    )]
    FrameTooLong { frame_bytes: u32 },
    #[error("the trial was broken off: it was stopped, or the other end is no longer heard")]
    Ended,
}

/// Whom a far end awaits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(Option<IpAddr>);

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => write!(f, "{address}"),
            None => f.write_str("any address of the other family"),
        }
    }
}

impl FrameError {
    /// For `map_err` of a system call that was made to do something.
    pub(crate) fn socket(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Socket { doing, source }
    }
}

/// A socket connected to an address that has shown the flow's key.
#[derive(Debug)]
pub(crate) struct ProvenSocket {
    pub(crate) socket: UdpSocket,
    key: FlowKey,
}

/// What a datagram of a flow is; each kind bears its own mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Frame = 1,
    Probe,
    Answer,
    Done,
}

impl ProvenSocket {
    /// What datagrams of this flow begin with, by their kind: whoever does not know the key cannot
    /// forge it, and strays of another flow do not bear it.
    pub(crate) fn mark(&self, kind: Kind) -> [u8; 4] {
        let [a, b, c, d, ..] = self.key;
        u32::from_be_bytes([a, b, c, d]).wrapping_add(kind as u32).to_be_bytes()
    }

    /// Confirms each proof that waits in the socket, of a far end. What comes after them stays there.
    pub(crate) fn confirm(&self) -> Result<(), FrameError> {
        let near = self.socket.peer_addr().map_err(FrameError::socket("name the near end"))?;
        while let Some((proof, from)) = receive(&self.socket, Reading::Look)? {
            let is_near = from == near;
            if is_near && !is_same(&proof, &self.key) {
                break;
            }
            receive(&self.socket, Reading::Take)?;
            if is_near {
                send_if_possible(&self.socket, &confirmation_of(&self.key))?;
            }
        }
        Ok(())
    }
}

/// Shows the far end that this end is where it says, and waits for the confirmation.
///
/// The key goes out again and again until the far end answers with its complement. That it does only
/// when it can take what follows, so that this end may begin.
pub(crate) fn prove_near(
    far: SocketAddr,
    marking: Marking,
    key: &FlowKey,
    lease: &Lease,
    deadline: Time,
) -> Result<ProvenSocket, FrameError> {
    let socket = connected_socket(far, marking).map_err(|source| {
        let doing = match marking.near_port {
            Some(_) => "open a UDP socket at the port asked for",
            None => "open a UDP socket to the far end",
        };
        FrameError::Socket { doing, source }
    })?;
    let mut next_proof = clock::now();
    while clock::now() < deadline {
        if !lease.is_live(clock::now()) {
            return Err(FrameError::Ended);
        }
        if clock::now() >= next_proof {
            send_if_possible(&socket, key)?;
            next_proof = clock::now() + REPEAT;
        }
        udp::wait_readable(&socket, next_proof.min(deadline))
            .map_err(FrameError::socket("wait for the far end's UDP confirmation"))?;
        if receive(&socket, Reading::Take)?
            .is_some_and(|(proof, _)| is_same(&proof, &confirmation_of(key)))
        {
            return Ok(ProvenSocket { socket, key: *key });
        }
    }
    Err(FrameError::NotConfirmed { far })
}

/// Waits for the key from the peer's address, or from any where that is not known, and binds the socket to
/// where it came from. The near end hears of that by [`ProvenSocket::confirm`].
///
/// Nothing is ever sent to any other address, and to this one a datagram for each that it sends.
pub(crate) fn prove_far(
    socket: UdpSocket,
    traffic_class: u8,
    key: &FlowKey,
    peer: Option<IpAddr>,
    lease: &Lease,
    deadline: Time,
) -> Result<ProvenSocket, FrameError> {
    udp::set_up(&socket, traffic_class).map_err(FrameError::socket("set up a UDP socket"))?;
    let peer = peer.map(|peer| peer.to_canonical());
    while clock::now() < deadline {
        if !lease.is_live(clock::now()) {
            return Err(FrameError::Ended);
        }
        let wait = deadline.min(clock::now() + REPEAT);
        udp::wait_readable(&socket, wait).map_err(FrameError::socket("wait for a UDP proof"))?;
        let Some((proof, from)) = receive(&socket, Reading::Look)? else { continue };
        if peer.is_none_or(|peer| peer == from.ip().to_canonical()) && is_same(&proof, key) {
            // The proof stays in the socket until it is confirmed.
            socket.connect(from).map_err(FrameError::socket("connect a UDP socket"))?;
            return Ok(ProvenSocket { socket, key: *key });
        }
        receive(&socket, Reading::Take)?;
    }
    Err(FrameError::NotProven { peer: Peer(peer) })
}

fn connected_socket(far: SocketAddr, marking: Marking) -> io::Result<UdpSocket> {
    let far = plain(far);
    let socket = UdpSocket::bind((any_address(far.is_ipv4()), marking.port_of(0)))?;
    udp::set_up(&socket, marking.traffic_class)?;
    socket.connect(far)?;
    Ok(socket)
}

fn confirmation_of(key: &FlowKey) -> FlowKey {
    key.map(|byte| !byte)
}

/// In constant time, so that the time taken tells nothing about the key.
fn is_same(proof: &[u8], key: &FlowKey) -> bool {
    proof.ct_eq(key).into()
}

/// Sends a datagram that will be repeated: one that cannot leave is as good as lost.
fn send_if_possible(socket: &UdpSocket, datagram: &FlowKey) -> Result<(), FrameError> {
    match socket.send(datagram) {
        Ok(_) => Ok(()),
        Err(error) if udp::is_about_an_earlier_datagram(&error) => Ok(()),
        Err(error) if udp::is_out_of_room(&error) => Ok(()),
        Err(source) => Err(FrameError::Socket { doing: "send a UDP proof", source }),
    }
}

/// What becomes of a datagram that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Take,
    /// It stays in the socket.
    Look,
}

/// The next datagram, if there is one, and where it came from.
fn receive(
    socket: &UdpSocket,
    reading: Reading,
) -> Result<Option<(Vec<u8>, SocketAddr)>, FrameError> {
    // One byte more than a proof, so that a longer datagram does not pass for one.
    let mut buffer = [0; size_of::<FlowKey>() + 1];
    let received = match reading {
        Reading::Take => socket.recv_from(&mut buffer),
        Reading::Look => socket.peek_from(&mut buffer),
    };
    match received {
        Ok((len, from)) => Ok(Some((buffer[..len].to_vec(), from))),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if udp::is_about_an_earlier_datagram(&error) => Ok(None),
        Err(source) => Err(FrameError::Socket { doing: "receive a UDP proof", source }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::thread;

    use fp_model::Family;

    use super::*;

    const KEY: FlowKey = *b"0123456789abcdef";
    const PLAIN: Marking = Marking { traffic_class: 0, near_port: None };

    /// A lease of a minute: one renewed in the future.
    pub(crate) fn long_lease() -> Lease {
        Lease::new(clock::now() + Duration::from_secs(60))
    }

    fn soon() -> Time {
        clock::now() + Duration::from_secs(5)
    }

    fn far_socket() -> (UdpSocket, u16) {
        // Dual-stack, as the far end serves: IPv4 peers appear with mapped addresses.
        let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).unwrap();
        let port = socket.local_addr().unwrap().port();
        (socket, port)
    }

    /// Both ends of a flow over loopback, the near one first.
    pub(crate) fn proven_pair(family: Family, lease: &Lease) -> (ProvenSocket, ProvenSocket) {
        let host: IpAddr = match family {
            Family::Ipv4 => Ipv4Addr::LOCALHOST.into(),
            Family::Ipv6 => Ipv6Addr::LOCALHOST.into(),
        };
        let (far, port) = far_socket();
        thread::scope(|scope| {
            let far = scope.spawn(move || {
                let far = prove_far(far, 0, &KEY, Some(host), lease, soon()).unwrap();
                far.confirm().unwrap();
                far
            });
            let near = prove_near((host, port).into(), PLAIN, &KEY, lease, soon());
            (near.unwrap(), far.join().unwrap())
        })
    }

    /// The same socket once more, for an end that keeps it.
    pub(crate) fn again(proven: &ProvenSocket) -> ProvenSocket {
        ProvenSocket { socket: proven.socket.try_clone().unwrap(), key: proven.key }
    }

    /// A socket at `from` that waits for an answer a second at most.
    fn stranger(from: Ipv4Addr) -> UdpSocket {
        let socket = UdpSocket::bind((from, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        socket
    }

    /// Runs the far end, which confirms for as long as `near` acts, and returns what became of it.
    fn far_while(near: impl FnOnce(u16)) -> Result<ProvenSocket, FrameError> {
        let (far, port) = far_socket();
        let lease = long_lease();
        let peer = IpAddr::from(Ipv4Addr::LOCALHOST);
        thread::scope(|scope| {
            let deadline = clock::now() + Duration::from_millis(1500);
            let lease = &lease;
            let (ended, end) = mpsc::channel::<()>();
            let far = scope.spawn(move || {
                let far = prove_far(far, 0, &KEY, Some(peer), lease, deadline)?;
                while end.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout) {
                    far.confirm()?;
                }
                Ok(far)
            });
            near(port);
            drop(ended);
            far.join().unwrap()
        })
    }

    #[test]
    fn the_key_from_another_address_is_neither_believed_nor_answered() {
        let result = far_while(|port| {
            let other = stranger(Ipv4Addr::new(127, 0, 0, 2));
            other.send_to(&KEY, (Ipv4Addr::LOCALHOST, port)).unwrap();
            assert!(other.recv(&mut [0; 64]).is_err(), "the far end answered a stranger");
        });
        assert!(matches!(result, Err(FrameError::NotProven { .. })));
    }

    #[test]
    fn a_wrong_key_from_the_right_address_is_not_answered() {
        let result = far_while(|port| {
            let near = stranger(Ipv4Addr::LOCALHOST);
            let mut longer = KEY.to_vec();
            longer.push(0);
            for wrong in [&KEY[..15], &longer, &KEY.map(|byte| byte ^ 1)] {
                near.send_to(wrong, (Ipv4Addr::LOCALHOST, port)).unwrap();
            }
            assert!(near.recv(&mut [0; 64]).is_err(), "the far end answered a wrong key");
        });
        assert!(matches!(result, Err(FrameError::NotProven { .. })));
    }

    #[test]
    fn a_near_end_that_missed_its_confirmation_gets_another_one() {
        let result = far_while(|port| {
            let near = stranger(Ipv4Addr::LOCALHOST);
            for _ in 0..2 {
                near.send_to(&KEY, (Ipv4Addr::LOCALHOST, port)).unwrap();
                let mut confirmation = [0; 64];
                let (len, _) = near.recv_from(&mut confirmation).unwrap();
                // A datagram is never answered by a longer one.
                assert_eq!(&confirmation[..len], confirmation_of(&KEY));
            }
        });
        assert_eq!(result.unwrap().key, KEY);
    }

    #[test]
    fn a_far_end_may_make_itself_ready_before_the_near_end_hears_of_it() {
        let (far, port) = far_socket();
        let near = stranger(Ipv4Addr::LOCALHOST);
        near.send_to(&KEY, (Ipv4Addr::LOCALHOST, port)).unwrap();
        let peer = Some(Ipv4Addr::LOCALHOST.into());
        let far = prove_far(far, 0, &KEY, peer, &long_lease(), soon()).unwrap();
        near.set_nonblocking(true).unwrap();
        assert!(near.recv(&mut [0; 64]).is_err(), "confirmed before it was ready");
        near.set_nonblocking(false).unwrap();
        far.confirm().unwrap();
        let mut confirmation = [0; 64];
        let len = near.recv(&mut confirmation).unwrap();
        assert_eq!(&confirmation[..len], confirmation_of(&KEY));
    }

    #[test]
    fn what_the_near_end_sends_next_stays_in_the_socket() {
        let (far, port) = far_socket();
        let near = stranger(Ipv4Addr::LOCALHOST);
        near.send_to(&KEY, (Ipv4Addr::LOCALHOST, port)).unwrap();
        let peer = Some(Ipv4Addr::LOCALHOST.into());
        let far = prove_far(far, 0, &KEY, peer, &long_lease(), soon()).unwrap();
        far.confirm().unwrap();
        near.send_to(b"first probe", (Ipv4Addr::LOCALHOST, port)).unwrap();
        near.send_to(&KEY, (Ipv4Addr::LOCALHOST, port)).unwrap();
        udp::wait_readable(&far.socket, soon()).unwrap();
        far.confirm().unwrap();
        let mut read = [0; 64];
        let len = far.socket.recv(&mut read).unwrap();
        assert_eq!(&read[..len], b"first probe");
    }

    #[test]
    fn nobody_waits_for_a_proof_when_the_lease_has_ended() {
        let lease = long_lease();
        lease.stop();
        let (far, port) = far_socket();
        let host = IpAddr::from(Ipv4Addr::LOCALHOST);
        let near = prove_near((host, port).into(), PLAIN, &KEY, &lease, soon());
        assert!(matches!(near, Err(FrameError::Ended)));
        let far = prove_far(far, 0, &KEY, Some(host), &lease, soon());
        assert!(matches!(far, Err(FrameError::Ended)));
    }

    #[test]
    fn an_end_that_nobody_confirms_says_which_port_to_open() {
        let lease = long_lease();
        // Bound and silent: a firewall that drops would look like this.
        let (_silent, port) = far_socket();
        let far = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let deadline = clock::now() + Duration::from_millis(200);
        let error = prove_near(far, PLAIN, &KEY, &lease, deadline).unwrap_err();
        assert!(error.to_string().contains(&format!("let UDP to port {port} through")));
    }

    #[test]
    fn each_kind_of_datagram_bears_its_own_mark() {
        let (near, far) = proven_pair(Family::Ipv4, &long_lease());
        let marks =
            [Kind::Frame, Kind::Probe, Kind::Answer, Kind::Done].map(|kind| near.mark(kind));
        let distinct: std::collections::BTreeSet<_> = marks.into_iter().collect();
        assert_eq!(distinct.len(), 4);
        assert!(!distinct.contains(&KEY[..4]), "a proof would pass for a datagram");
        assert_eq!(near.mark(Kind::Probe), far.mark(Kind::Probe));
    }
}
