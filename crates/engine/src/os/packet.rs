//! Raw Ethernet frames: received through a ring with kernel timestamps, sent in batches, looked at
//! on their way out.
#![expect(unsafe_code, reason = "packet rings are memory shared with the kernel")]

use std::ffi::c_void;
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use fp_model::Time;
use libc::{c_int, iovec, mmsghdr, sockaddr_ll, tpacket_req, tpacket2_hdr};
use socket2::SockRef;

use super::frame_filter::FrameFilter;
use super::mapping::Mapping;
use super::netlink::Mac;
use super::udp::{EMPTY_PART, empty_message, part};
use super::{messages, packet_filter, udp};

/// Receives every frame that arrives at one interface, in the order of arrival.
#[derive(Debug)]
pub struct PacketReceiver {
    socket: OwnedFd,
    ring: Ring,
    next_slot: usize,
}

/// A received frame, without FCS.
#[derive(Debug)]
pub struct ReceivedFrame<'a> {
    pub bytes: &'a [u8],
    /// When it arrived, on the wall clock.
    pub arrived_at_wall: Time,
    pub(super) status: u32,
}

impl ReceivedFrame<'_> {
    /// Whether its transport checksum is still to be filled in by an interface: it holds the sum of
    /// the pseudo-header alone.
    pub(crate) const fn lacks_checksum(&self) -> bool {
        self.status & libc::TP_STATUS_CSUMNOTREADY != 0
    }

    /// Whether its transport checksum has not been looked at: it may be wrong.
    pub(crate) const fn is_unverified(&self) -> bool {
        // Of a frame that never left the host the checksum is still to be filled in.
        self.status & (libc::TP_STATUS_CSUM_VALID | libc::TP_STATUS_CSUMNOTREADY) == 0
    }
}

impl PacketReceiver {
    /// How many frames of an interface may wait until they are lost.
    pub const SLOTS: usize = 16_384;

    /// # Errors
    /// Without `CAP_NET_RAW`, or without memory for the ring.
    pub fn open(interface_index: i32, max_frame_bytes: usize) -> io::Result<Self> {
        let socket = packet_socket(libc::SOCK_RAW)?;
        stamp_on_entry(&socket)?;
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &1)?;
        let slot_bytes = (RING_HEADROOM + max_frame_bytes).next_power_of_two();
        let ring = Ring::new(&socket, slot_bytes, Self::SLOTS)?;
        bind(&socket, interface_index, libc::ETH_P_ALL as u16)?;
        Ok(Self { socket, ring, next_slot: 0 })
    }

    /// Receives the IP packets of one UDP flow alone, without what is before them in a frame. A
    /// `local` address that is not of this `interface_index` makes it see nothing.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or without memory for the ring.
    pub(crate) fn open_for_flow(
        interface_index: i32,
        local: SocketAddr,
        peer: SocketAddr,
        max_packet_bytes: usize,
    ) -> io::Result<Self> {
        const RING_BYTES: usize = 16 << 20;
        let socket = packet_socket(libc::SOCK_DGRAM)?;
        stamp_on_entry(&socket)?;
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &1)?;
        SockRef::from(&socket).attach_filter(&packet_filter::flow(local, peer))?;
        let slot_bytes = (RING_HEADROOM + max_packet_bytes).next_power_of_two();
        let ring = Ring::new(&socket, slot_bytes, (RING_BYTES / slot_bytes).max(64))?;
        let ethernet_protocol = match local {
            SocketAddr::V4(_) => libc::ETH_P_IP,
            SocketAddr::V6(_) => libc::ETH_P_IPV6,
        };
        bind(&socket, interface_index, ethernet_protocol as u16)?;
        Ok(Self { socket, ring, next_slot: 0 })
    }

    /// Receives the frames that `filter` takes, and nothing else from the first one on.
    ///
    /// # Errors
    /// Without `CAP_NET_RAW`, or without memory for the ring.
    pub(crate) fn open_for(
        interface_index: i32,
        filter: &FrameFilter,
        max_frame_bytes: usize,
    ) -> io::Result<Self> {
        let socket = packet_socket(libc::SOCK_RAW)?;
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &1)?;
        SockRef::from(&socket).attach_filter(&packet_filter::frames(filter))?;
        let slot_bytes = (RING_HEADROOM + max_frame_bytes).next_power_of_two();
        let ring = Ring::new(&socket, slot_bytes, Self::SLOTS)?;
        bind(&socket, interface_index, libc::ETH_P_ALL as u16)?;
        Ok(Self { socket, ring, next_slot: 0 })
    }

    /// How many frames may wait until they are lost.
    pub(crate) const fn slots(&self) -> usize {
        self.ring.slots
    }

    /// Shows the next frame that has arrived to `on_frame`; `false` where there is none.
    pub fn receive(&mut self, on_frame: impl FnOnce(ReceivedFrame<'_>)) -> bool {
        let Some(frame) = self.ring.frame(self.next_slot) else { return false };
        on_frame(frame);
        self.ring.release(self.next_slot);
        self.next_slot = (self.next_slot + 1) % self.ring.slots;
        true
    }

    /// The next frame, which stays where it is.
    pub(crate) fn peek(&self) -> Option<ReceivedFrame<'_>> {
        self.ring.frame(self.next_slot)
    }

    /// How many frames were lost, since the last time it was asked, because the ring was full.
    pub fn take_overruns(&self) -> io::Result<u64> {
        // SAFETY: both fields are plain counters.
        let mut statistics: libc::tpacket_stats = unsafe { zeroed() };
        let mut len = size_of_val(&statistics) as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes of a structure that lives through the call.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut len,
            )
        };
        checked(result)?;
        Ok(statistics.tp_drops.into())
    }
}

impl AsFd for PacketReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sends frames out of one interface, past its queueing discipline.
#[derive(Debug)]
pub struct PacketSender {
    socket: OwnedFd,
}

impl PacketSender {
    /// The most frames that one call sends.
    pub const BATCH: usize = 64;

    /// # Errors
    /// Without `CAP_NET_RAW`.
    pub fn open(interface_index: i32) -> io::Result<Self> {
        let socket = packet_socket(libc::SOCK_RAW)?;
        set(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
        bind(&socket, interface_index, 0)?;
        Ok(Self { socket })
    }

    /// Sends `frames`, at most [`Self::BATCH`] of them, and returns how many went out; an error is
    /// that of the first one.
    pub fn send<B: AsRef<[u8]>>(&self, frames: &[B]) -> io::Result<usize> {
        assert!(frames.len() <= Self::BATCH, "a batch has at most {} frames", Self::BATCH);
        // SAFETY: all-zero vectors and headers are valid: they point to nothing.
        let mut vectors: [iovec; Self::BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut headers: [mmsghdr; Self::BATCH] = unsafe { zeroed() };
        for (i, frame) in frames.iter().enumerate() {
            let bytes = frame.as_ref();
            vectors[i] = iovec { iov_base: bytes.as_ptr() as *mut c_void, iov_len: bytes.len() };
            headers[i].msg_hdr.msg_iov = &raw mut vectors[i];
            headers[i].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: the first `frames.len()` headers point to one vector each and these to frames;
        // all of them live through the call, and a send only reads the frames.
        unsafe { messages::send(&self.socket, &mut headers[..frames.len()]) }
    }

    /// Sends frames of two parts each, at most [`Self::BATCH`] of them, and returns how many went
    /// out; an error is that of the first one.
    pub(crate) fn send_in_parts(&self, frames: &[[&[u8]; 2]]) -> io::Result<usize> {
        assert!(frames.len() <= Self::BATCH, "a batch has at most {} frames", Self::BATCH);
        if let [frame] = frames {
            return self.send_one(frame).map(|()| 1);
        }
        let mut vectors = [[EMPTY_PART; 2]; Self::BATCH];
        let mut headers = [empty_message(); Self::BATCH];
        for ((frame, vectors), header) in frames.iter().zip(&mut vectors).zip(&mut headers) {
            *vectors = frame.map(part);
            header.msg_hdr.msg_iov = vectors.as_mut_ptr();
            header.msg_hdr.msg_iovlen = 2;
        }
        // SAFETY: the first `frames.len()` headers point to two vectors each and these to parts of
        // frames; all of them live through the call, and a send only reads the frames.
        unsafe { messages::send(&self.socket, &mut headers[..frames.len()]) }
    }

    fn send_one(&self, frame: &[&[u8]; 2]) -> io::Result<()> {
        let mut vectors = frame.map(part);
        let mut header = empty_message().msg_hdr;
        header.msg_iov = vectors.as_mut_ptr();
        header.msg_iovlen = 2;
        // SAFETY: the header points to two vectors and these to the parts of the frame; all live
        // through the call, which only reads.
        let sent = unsafe {
            libc::sendmsg(self.socket.as_raw_fd(), &raw const header, libc::MSG_DONTWAIT)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Shows the frames of one UDP flow of this host as they leave it.
#[derive(Debug)]
pub(crate) struct OwnFrames {
    socket: OwnedFd,
}

/// A frame on its way out, without FCS.
#[derive(Debug)]
pub(crate) struct OwnFrame {
    pub(crate) bytes: Vec<u8>,
    pub(crate) interface_index: i32,
}

impl OwnFrames {
    /// # Errors
    /// Without `CAP_NET_RAW`.
    pub(crate) fn of_flow(local: SocketAddr, peer: SocketAddr) -> io::Result<Self> {
        let socket = packet_socket(libc::SOCK_RAW)?;
        SockRef::from(&socket).attach_filter(&packet_filter::own_flow(local, peer))?;
        const ANY_INTERFACE: i32 = 0;
        bind(&socket, ANY_INTERFACE, libc::ETH_P_ALL as u16)?;
        Ok(Self { socket })
    }

    /// The next frame, at the first interface that it leaves by; `None` where there is none yet, or
    /// where that interface has no Ethernet frames.
    pub(crate) fn next(&self) -> io::Result<Option<OwnFrame>> {
        const FRAME_BYTES_MAX: usize = 2048;
        let mut bytes = vec![0; FRAME_BYTES_MAX];
        // SAFETY: an all-zero address is valid.
        let mut from: sockaddr_ll = unsafe { zeroed() };
        let mut from_len = size_of::<sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the kernel writes at most the bytes that each buffer has; both live through the
        // call.
        let len = unsafe {
            libc::recvfrom(
                self.socket.as_raw_fd(),
                bytes.as_mut_ptr().cast(),
                bytes.len(),
                libc::MSG_DONTWAIT,
                (&raw mut from).cast(),
                &raw mut from_len,
            )
        };
        let Ok(len) = usize::try_from(len) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
        };
        bytes.truncate(len);
        let is_ethernet = from.sll_hatype == libc::ARPHRD_ETHER;
        Ok(is_ethernet.then_some(OwnFrame { bytes, interface_index: from.sll_ifindex }))
    }
}

impl AsFd for OwnFrames {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What an interface receives beside what is sent to its own address, as long as this lives.
#[derive(Debug)]
pub(crate) struct Joined {
    socket: OwnedFd,
    interface_index: i32,
}

impl Joined {
    /// # Errors
    /// Without `CAP_NET_RAW`.
    pub(crate) fn on(interface_index: i32) -> io::Result<Self> {
        Ok(Self { socket: packet_socket(libc::SOCK_RAW)?, interface_index })
    }

    /// The frames to one more address of its own.
    pub(crate) fn address(&self, mac: Mac) -> io::Result<()> {
        self.join(libc::PACKET_MR_UNICAST, &mac)
    }

    /// The frames to all multicast groups.
    pub(crate) fn all_groups(&self) -> io::Result<()> {
        self.join(libc::PACKET_MR_ALLMULTI, &[])
    }

    fn join(&self, kind: c_int, address: &[u8]) -> io::Result<()> {
        let mut request = libc::packet_mreq {
            mr_ifindex: self.interface_index,
            mr_type: kind as u16,
            mr_alen: address.len() as u16,
            mr_address: [0; 8],
        };
        request.mr_address[..address.len()].copy_from_slice(address);
        set(&self.socket, libc::PACKET_ADD_MEMBERSHIP, &request)
    }
}

/// What the kernel puts before a frame in its slot: the header, an address and alignment.
const RING_HEADROOM: usize = 128;

/// The memory of a receive ring: slots that belong to the kernel or to us, by their status.
#[derive(Debug)]
struct Ring {
    memory: Mapping,
    slot_bytes: usize,
    slots: usize,
}

impl Ring {
    fn new(socket: &OwnedFd, slot_bytes: usize, slots: usize) -> io::Result<Self> {
        let block_bytes = slot_bytes.max(1 << 16);
        let total_bytes = slot_bytes * slots;
        let request = tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: (total_bytes / block_bytes) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        set(socket, libc::PACKET_RX_RING, &request)?;
        let memory = Mapping::of(socket.as_fd(), 0, total_bytes)?;
        Ok(Self { memory, slot_bytes, slots })
    }

    /// The frame in a slot, if it is ours.
    fn frame(&self, slot: usize) -> Option<ReceivedFrame<'_>> {
        if self.status(slot).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot is ours until we release it: the kernel has written a header there,
        // slots are aligned for it, and nobody writes meanwhile.
        let header = unsafe { self.slot(slot).cast::<tpacket2_hdr>().read() };
        let start = usize::from(header.tp_mac).min(self.slot_bytes);
        let len = (header.tp_snaplen as usize).min(self.slot_bytes - start);
        // SAFETY: the bytes lie in the slot, as the line above makes sure, and are ours as it is.
        let bytes = unsafe { std::slice::from_raw_parts(self.slot(slot).add(start).as_ptr(), len) };
        let nanos = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
        let (status, arrived_at_wall) = (header.tp_status, Time::from_nanos(nanos));
        Some(ReceivedFrame { bytes, arrived_at_wall, status })
    }

    /// Gives a slot back to the kernel.
    fn release(&self, slot: usize) {
        self.status(slot).store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }

    fn status(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: a slot begins with its status word, which both sides access atomically.
        unsafe { AtomicU32::from_ptr(self.slot(slot).cast().as_ptr()) }
    }

    fn slot(&self, slot: usize) -> NonNull<u8> {
        assert!(slot < self.slots, "the ring has {} slots", self.slots);
        self.memory.at(slot * self.slot_bytes, self.slot_bytes)
    }
}

/// A packet socket that receives nothing until it is bound.
/// Whether this process may have packet sockets.
pub(crate) fn may_open() -> io::Result<()> {
    packet_socket(libc::SOCK_RAW).map(drop)
}

fn packet_socket(kind: c_int) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes no pointer.
    let fd = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor is new and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn bind(socket: &OwnedFd, interface_index: i32, ethernet_protocol: u16) -> io::Result<()> {
    // SAFETY: an all-zero address is valid.
    let mut address: sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ethernet_protocol.to_be();
    address.sll_ifindex = interface_index;
    let len = size_of::<sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address lives through the call and has this length.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) }).map(drop)
}

/// Has the kernel stamp a frame when its interface has it, before it waits for a processor to look at
/// it; a ring alone would have it stamped afterwards.
fn stamp_on_entry(socket: &OwnedFd) -> io::Result<()> {
    udp::set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

fn set<T>(socket: &OwnedFd, option: c_int, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads no more than the value's own bytes.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    checked(result).map(drop)
}

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
