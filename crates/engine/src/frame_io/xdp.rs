//! A port of AF_XDP: faster than packet sockets where root has it.
//!
//! A port belongs to one receive queue, which the interface chooses for each frame. A trial of
//! connections uses AF_XDP where the load asks for it and the interface has a single queue.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use fp_model::Time;
use rustix::net::netdevice::index_to_name;
use rustix::net::{AddressFamily, SocketType, socket};
use socket2::SockRef;

use super::{
    ArrivedFrame, FrameBatch, FrameIo, PortCounters, PortError, Prefix, RECEIVE_BATCH, Share,
    TransportChecksum, filter_of,
};
use crate::os::netlink::{Interface, Mac};
use crate::os::packet::Joined;
use crate::os::redirect::Redirect;
use crate::os::xdp::XdpSocket;
use crate::os::{clock, ethtool, wake};

/// One receive queue of an interface. The host's IP stack never sees what it receives, and all that
/// is not for it arrives at the host as ever.
///
/// A program on the interface hands the frames over. It is gone with the last port, or with the
/// process, by whatever that ends.
#[derive(Debug)]
pub struct XdpPort {
    socket: XdpSocket,
    mac: Mac,
    _redirect: Arc<Redirect>,
    _joined: Arc<Joined>,
    counters: PortCounters,
}

impl XdpPort {
    /// One port for each receive queue of an interface of the current thread's network namespace.
    /// Which connection's frames arrive at which queue is the interface's choice.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN` and `CAP_BPF` on the host itself, where the interface has a program or
    /// such a socket already, where its frames are too long, and for too many prefixes.
    pub fn open_all(interface: &Interface, prefixes: &[Prefix]) -> Result<Vec<Self>, PortError> {
        let filter = filter_of(prefixes, Share::ALL)?;
        let longest = XdpSocket::MAX_FRAME_BYTES;
        if interface.max_frame_bytes() > longest {
            return Err(PortError::FramesTooLong { mtu: interface.mtu_bytes, most: longest - 14 });
        }
        let queues = receive_queues(interface).map_err(PortError::of_xdp_sockets)?;
        let redirect = Redirect::attach(interface.index, &filter, queues)?;
        let redirect = Arc::new(redirect);
        let open = || -> io::Result<Vec<Self>> {
            let joined = Joined::on(interface.index)?;
            if prefixes.iter().any(|prefix| prefix.address().is_ipv6()) {
                joined.all_groups()?;
            }
            let joined = Arc::new(joined);
            let port = |queue| {
                let socket = open_when_free(interface, queue)?;
                redirect.hand_over(queue, socket.as_fd())?;
                Ok(Self {
                    socket,
                    mac: interface.mac,
                    _redirect: Arc::clone(&redirect),
                    _joined: Arc::clone(&joined),
                    counters: PortCounters::default(),
                })
            };
            (0..queues).map(port).collect()
        };
        open().map_err(PortError::of_xdp_sockets)
    }

    /// The only port of an interface that has one receive queue.
    ///
    /// # Errors
    /// As [`Self::open_all`], and where there are several.
    pub fn open_only(interface: &Interface, prefixes: &[Prefix]) -> Result<Self, PortError> {
        let queues = receive_queues(interface).map_err(PortError::of_xdp_sockets)?;
        if queues != 1 {
            return Err(PortError::SeveralQueues { queues });
        }
        let mut ports = Self::open_all(interface, prefixes)?;
        ports.pop().ok_or(PortError::SeveralQueues { queues: 0 })
    }

    /// Whether the driver moves frames to and from the port's memory without copying them.
    ///
    /// # Errors
    /// Where the kernel does not tell.
    pub fn is_zero_copy(&self) -> io::Result<bool> {
        self.socket.is_zero_copy()
    }
}

fn receive_queues(interface: &Interface) -> io::Result<u32> {
    let any = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    ethtool::receive_queues(&index_to_name(any, interface.index as u32)?)
}

/// The kernel frees a queue some time after its socket has been closed.
fn open_when_free(interface: &Interface, queue: u32) -> io::Result<XdpSocket> {
    const PATIENCE: Duration = Duration::from_secs(1);
    const PAUSE: Duration = Duration::from_millis(10);
    let deadline = clock::now() + PATIENCE;
    loop {
        match XdpSocket::open(interface.index, queue, interface.max_frame_bytes()) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && clock::now() < deadline => {
                clock::sleep_until(clock::now() + PAUSE);
            }
            outcome => return outcome,
        }
    }
}

impl FrameIo for XdpPort {
    fn mac(&self) -> Mac {
        self.mac
    }

    fn receive(&mut self, mut on_frame: impl FnMut(ArrivedFrame<'_>)) -> io::Result<usize> {
        let shown = self.socket.receive(RECEIVE_BATCH as u32, |bytes| {
            on_frame(ArrivedFrame { bytes, checksum: TransportChecksum::Either });
        });
        self.counters.received_frames += shown as u64;
        self.socket.push()?;
        Ok(shown)
    }

    fn send(&mut self, frames: FrameBatch<'_>) -> io::Result<usize> {
        let taken = self.socket.send(frames.iter())?;
        self.counters.sent_frames += taken as u64;
        self.counters.send_refusals += u64::from(taken < frames.len());
        Ok(taken)
    }

    fn wait(&mut self, until: Time) -> io::Result<()> {
        self.socket.push()?;
        let timeout = until.since(clock::now());
        wake::wait(&[(self.socket.as_fd(), wake::Interest::Read)], timeout)?;
        // That of an interface which has gone down or away would end every wait at once.
        SockRef::from(&self.socket).take_error()?.map_or(Ok(()), Err)
    }

    fn counters(&mut self) -> io::Result<PortCounters> {
        self.counters.overrun_frames = self.socket.overruns()?;
        Ok(self.counters)
    }
}
