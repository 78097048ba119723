//! UDP sockets that measure: many datagrams in a call, kernel arrival times, own drops.
#![expect(unsafe_code, reason = "batched UDP calls and their socket options have no safe wrapper")]

use std::fs;
use std::io;
use std::mem;
use std::net::UdpSocket;
use std::os::fd::{AsFd as _, AsRawFd};
use std::ptr;

use fp_model::{Dscp, Ecn, Time};
use libc::{c_int, c_void, cmsghdr, iovec, mmsghdr, socklen_t, timespec};
use rustix::net::SendFlags;

use super::wake::{Interest, wait};
use super::{clock, messages as batch};

/// Datagrams moved by one system call at most.
pub(crate) const BATCH: usize = 32;
/// As much of each datagram as is read: every header of ours fits, the rest is padding.
const HEAD_BYTES: usize = 32;
pub(crate) const RECEIVE_BUFFER_BYTES: c_int = 8 << 20;
/// A burst may leave faster than the interface takes it.
const SEND_BUFFER_BYTES: c_int = 4 << 20;

/// Readies a socket for measuring: it never blocks nor fragments, marks, stamps
/// arrivals in the kernel and has room for a burst.
pub(crate) fn set_up(socket: &UdpSocket, traffic_class: u8) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let traffic_class = c_int::from(traffic_class);
    // A dual-stack socket also speaks IPv4, so these hold for both kinds of socket.
    set_option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)?;
    set_option(socket, libc::IPPROTO_IP, libc::IP_TOS, traffic_class)?;
    if socket.local_addr()?.is_ipv6() {
        let probe = libc::IPV6_PMTUDISC_PROBE;
        set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, probe)?;
        set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, traffic_class)?;
    }
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    set_option(socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
    if socket.local_addr()?.is_ipv6() {
        set_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
    }
    // Only the host's administrator may exceed the host's limits; others get what it allows.
    [
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, SEND_BUFFER_BYTES),
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, RECEIVE_BUFFER_BYTES),
    ]
    .into_iter()
    .try_for_each(|(beyond_limit, within_limit, bytes)| {
        set_option(socket, libc::SOL_SOCKET, beyond_limit, bytes)
            .or_else(|_| set_option(socket, libc::SOL_SOCKET, within_limit, bytes))
    })
}

/// Waits until a datagram or an error can be read, or until `until`.
pub(crate) fn wait_readable(socket: &UdpSocket, until: Time) -> io::Result<()> {
    wait(&[(socket.as_fd(), Interest::Read)], until.since(clock::now()))
}

/// Bytes of received datagrams, the kernel's own bookkeeping included, that the socket can hold.
pub(crate) fn receive_buffer_bytes(socket: &UdpSocket) -> io::Result<u64> {
    let mut bytes: c_int = 0;
    get_option(socket, libc::SO_RCVBUF, &mut bytes)?;
    Ok(bytes.max(0) as u64)
}

/// Datagrams that this host took from the network and then dropped for want of room.
///
/// A socket counts all it drops, those with a wrong checksum too, which the network has spoilt; the
/// network namespace counts want of room apart, but of all its sockets. The smaller one is ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drops {
    of_socket: u32,
    for_want_of_room: Option<u64>,
}

impl Drops {
    /// Counters as they stand.
    pub(crate) fn read(socket: &UdpSocket) -> io::Result<Self> {
        // Nine counters, the drops being the last one.
        let mut counters = [0_u32; libc::SK_MEMINFO_DROPS as usize + 1];
        get_option(socket, libc::SO_MEMINFO, &mut counters)?;
        let of_socket = counters[libc::SK_MEMINFO_DROPS as usize];
        Ok(Self { of_socket, for_want_of_room: dropped_for_want_of_room() })
    }

    /// Datagrams that the socket dropped since `earlier` because its buffer was full.
    pub(crate) fn since(self, earlier: Self) -> u64 {
        let of_socket = self.of_socket_since(earlier);
        match (self.for_want_of_room, earlier.for_want_of_room) {
            (Some(now), Some(then)) => of_socket.min(now.saturating_sub(then)),
            _ => of_socket,
        }
    }

    /// Those that the network has spoilt.
    pub(crate) fn corrupt_since(self, earlier: Self) -> u64 {
        self.of_socket_since(earlier) - self.since(earlier)
    }

    fn of_socket_since(self, earlier: Self) -> u64 {
        u64::from(self.of_socket.wrapping_sub(earlier.of_socket))
    }
}

/// UDP datagrams of this thread's network namespace that found no room; `None` where the host does
/// not tell.
fn dropped_for_want_of_room() -> Option<u64> {
    let ipv4 = fs::read_to_string("/proc/thread-self/net/snmp").ok()?;
    let ipv6 = fs::read_to_string("/proc/thread-self/net/snmp6").unwrap_or_default();
    Some(room_errors_of_ipv4(&ipv4)? + room_errors_of_ipv6(&ipv6))
}

/// Datagrams of IPv4 dropped for want of room, by `/proc/net/snmp`: it has a line of names and one of values for each
/// protocol.
fn room_errors_of_ipv4(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let counters = names.split_whitespace().zip(values.split_whitespace());
    let ours = counters.filter(|(name, _)| ["RcvbufErrors", "MemErrors"].contains(name));
    Some(ours.filter_map(|(_, value)| value.parse::<u64>().ok()).sum())
}

/// Of a table with a name and a value on each line.
fn room_errors_of_ipv6(snmp6: &str) -> u64 {
    let counters = snmp6.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let ours = counters.filter(|(name, _)| ["Udp6RcvbufErrors", "Udp6MemErrors"].contains(name));
    ours.filter_map(|(_, value)| value.trim().parse::<u64>().ok()).sum()
}

/// Whether `error` is an ICMP message about an earlier datagram, which says nothing about the call
/// that returned it.
pub(crate) fn is_about_an_earlier_datagram(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::EMSGSIZE
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::ENOPROTOOPT
                | libc::EPROTO
                | libc::EACCES
                | libc::EOPNOTSUPP
                | libc::ENONET
        )
    )
}

/// Whether `error` says that a datagram was longer than an interface or a router takes.
pub(crate) fn is_too_big(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

/// Whether `error` says that there is no way to the peer: no route, or an interface that is down.
pub(crate) fn is_without_a_way(error: &io::Error) -> bool {
    let no_way = [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::ENETDOWN];
    error.raw_os_error().is_some_and(|code| no_way.contains(&code))
}

/// Whether `error` says that the host had no room for a datagram just now, or an interface that is
/// down.
pub(crate) fn is_out_of_room(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::ENETDOWN)
    )
}

/// A datagram to be sent: its head and what follows it.
#[derive(Clone, Copy)]
pub(crate) struct Datagram<'a, const N: usize> {
    pub(crate) head: [u8; N],
    pub(crate) padding: &'a [u8],
}

/// Sends as many of `datagrams` as a call takes; returns how many the kernel took. An error is
/// about the first one.
pub(crate) fn send_batch<const N: usize>(
    socket: &UdpSocket,
    datagrams: &[Datagram<'_, N>],
) -> io::Result<usize> {
    let count = datagrams.len().min(BATCH);
    let mut parts = [[EMPTY_PART; 2]; BATCH];
    let mut messages = [empty_message(); BATCH];
    for ((datagram, parts), message) in datagrams.iter().zip(&mut parts).zip(&mut messages) {
        *parts = [part(&datagram.head), part(datagram.padding)];
        message.msg_hdr.msg_iov = parts.as_mut_ptr();
        message.msg_hdr.msg_iovlen = 2;
    }
    // SAFETY: the first `count` messages point to parts that point to heads and paddings, all of
    // which outlive the call; the kernel only reads what a sent part points to.
    unsafe { batch::send(socket, &mut messages[..count]) }
}

/// The most datagrams that [`send_segmented`] sends at once.
pub(crate) const SEGMENTS_MAX: usize = 64;
/// Their payload together: what a UDP datagram over IPv4 carries.
pub(crate) const SEGMENTED_BYTES_MAX: usize = 65_507;

/// Sends `datagrams`, of `datagram_bytes` each, in one call that the kernel cuts: all leave or none.
///
/// # Errors
/// One that [`is_refusal_to_segment`] where the kernel or the interface does not cut datagrams.
pub(crate) fn send_segmented(
    socket: &UdpSocket,
    datagrams: &[u8],
    datagram_bytes: usize,
) -> io::Result<()> {
    let segment_bytes = u16::try_from(datagram_bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut control = Control([0; CONTROL_BYTES]);
    let mut part = part(datagrams);
    let mut message = empty_message().msg_hdr;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: the macro only computes a length.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<u16>() as u32) } as _;
    // SAFETY: the control buffer has room for the one message of two bytes whose length was just
    // computed, is aligned for it and outlives the call, as `datagrams` does; a send only reads.
    let sent = unsafe {
        let cmsg = libc::CMSG_FIRSTHDR(&raw const message);
        (*cmsg).cmsg_level = libc::SOL_UDP;
        (*cmsg).cmsg_type = libc::UDP_SEGMENT;
        (*cmsg).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
        ptr::write_unaligned(libc::CMSG_DATA(cmsg).cast::<u16>(), segment_bytes);
        libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Goes the way of a datagram to the peer as far as the choice of its route and next hop: for a
/// datagram of no bytes the kernel stops there, and nothing is sent.
pub(crate) fn rehearse(socket: &UdpSocket) -> io::Result<()> {
    const MSG_PROBE: u32 = 0x10;
    let flags = SendFlags::CONFIRM | SendFlags::from_bits_retain(MSG_PROBE);
    rustix::net::send(socket, &[], flags)?;
    Ok(())
}

/// Whether `error` says that datagrams cannot be cut by the kernel on their way out.
pub(crate) fn is_refusal_to_segment(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EIO | libc::ENOPROTOOPT))
        || error.kind() == io::ErrorKind::InvalidInput
}

/// A datagram as it arrived.
pub(crate) struct Arrival<'a> {
    /// Its first bytes, `HEAD_BYTES` at most.
    pub(crate) head: &'a [u8],
    /// Length of its whole payload.
    pub(crate) payload_bytes: usize,
    /// On the monotonic clock, as the kernel took it from the interface.
    pub(crate) at: Time,
    pub(crate) traffic_class: Option<u8>,
}

impl Arrival<'_> {
    pub(crate) fn dscp(&self) -> Option<Dscp> {
        self.traffic_class.map(Dscp::of_traffic_class)
    }

    pub(crate) fn ecn(&self) -> Option<Ecn> {
        self.traffic_class.map(Ecn::of_traffic_class)
    }
}

/// Room for what one call receives.
#[derive(Debug)]
pub(crate) struct Inbox {
    heads: [[u8; HEAD_BYTES]; BATCH],
    payload_bytes: [usize; BATCH],
    arrived_at: [Time; BATCH],
    traffic_class: [Option<u8>; BATCH],
    count: usize,
}

/// Control messages with a timestamp and a traffic class take 56 bytes.
const CONTROL_BYTES: usize = 64;

/// Room for control messages, aligned as the kernel reads and writes them.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL_BYTES]);

impl Inbox {
    pub(crate) fn new() -> Self {
        Self {
            heads: [[0; HEAD_BYTES]; BATCH],
            payload_bytes: [0; BATCH],
            arrived_at: [Time::ZERO; BATCH],
            traffic_class: [None; BATCH],
            count: 0,
        }
    }

    /// Takes what has arrived, without waiting; returns how many datagrams.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.count = 0;
        let mut controls = [Control([0; CONTROL_BYTES]); BATCH];
        let mut parts = [EMPTY_PART; BATCH];
        let mut messages = [empty_message(); BATCH];
        for (index, message) in messages.iter_mut().enumerate() {
            let head = &mut self.heads[index];
            parts[index] = iovec { iov_base: head.as_mut_ptr().cast(), iov_len: head.len() };
            message.msg_hdr.msg_iov = &raw mut parts[index];
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = controls[index].0.as_mut_ptr().cast();
            message.msg_hdr.msg_controllen = controls[index].0.len() as _;
        }
        // MSG_TRUNC: the whole length of a datagram although only its head is read.
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: every message points to a part, and that to a head of `self`, and to a control
        // buffer; each with its true length, none shared, all outlive the call.
        let received = unsafe {
            let messages = messages.as_mut_ptr();
            libc::recvmmsg(socket.as_raw_fd(), messages, BATCH as _, flags as _, ptr::null_mut())
        };
        let count = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        let ahead = clock::wall_ahead_of_monotonic();
        for (index, message) in messages[..count].iter().enumerate() {
            self.payload_bytes[index] = message.msg_len as usize;
            let control = control_of(&message.msg_hdr);
            self.arrived_at[index] = match control.stamp {
                Some(wall) => clock::monotonic(wall, ahead),
                None => clock::now(),
            };
            self.traffic_class[index] = control.traffic_class;
        }
        self.count = count;
        Ok(count)
    }

    pub(crate) fn arrivals(&self) -> impl Iterator<Item = Arrival<'_>> {
        (0..self.count).map(|index| {
            let payload_bytes = self.payload_bytes[index];
            let head = &self.heads[index][..payload_bytes.min(HEAD_BYTES)];
            let traffic_class = self.traffic_class[index];
            Arrival { head, payload_bytes, at: self.arrived_at[index], traffic_class }
        })
    }
}

pub(super) const EMPTY_PART: iovec = iovec { iov_base: ptr::null_mut(), iov_len: 0 };

pub(super) fn part(bytes: &[u8]) -> iovec {
    iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

pub(super) fn empty_message() -> mmsghdr {
    // SAFETY: a C struct of integers and pointers, for which zero is a valid value: no address, no
    // parts, no control buffer. Its padding differs between C libraries, hence no literal.
    unsafe { mem::zeroed() }
}

/// What the kernel says of a received message beside its bytes.
#[derive(Default)]
struct Received {
    stamp: Option<Time>,
    traffic_class: Option<u8>,
}

/// The traffic class in the control messages of a header, if one tells of it.
pub(super) fn traffic_class_of(header: &libc::msghdr) -> Option<u8> {
    control_of(header).traffic_class
}

fn control_of(header: &libc::msghdr) -> Received {
    let mut received = Received::default();
    // SAFETY: `header` was filled by recvmmsg or as its buffer was by getsockopt, so its control buffer holds whole control messages
    // up to the length it names; the macros stay within it, and each message has the size that its
    // level and type say.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(&cmsghdr { cmsg_level, cmsg_type, cmsg_len, .. }) = control.as_ref() {
            match (cmsg_level, cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let stamp = ptr::read_unaligned(libc::CMSG_DATA(control).cast::<timespec>());
                    let nanos = stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64;
                    received.stamp = Some(Time::from_nanos(nanos));
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => {
                    // A byte with a datagram, an int of a connection.
                    let is_int = cmsg_len >= libc::CMSG_LEN(size_of::<c_int>() as _) as _;
                    let class = match is_int {
                        true => ptr::read_unaligned(libc::CMSG_DATA(control).cast::<c_int>()) as u8,
                        false => ptr::read(libc::CMSG_DATA(control)),
                    };
                    received.traffic_class = Some(class);
                }
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    let class = ptr::read_unaligned(libc::CMSG_DATA(control).cast::<c_int>());
                    received.traffic_class = Some(class as u8);
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    received
}

pub(super) fn set_option(
    socket: &impl AsRawFd,
    level: c_int,
    name: c_int,
    value: c_int,
) -> io::Result<()> {
    let value_ptr: *const c_void = (&raw const value).cast();
    let value_bytes = size_of::<c_int>() as socklen_t;
    // SAFETY: `value` is an int that outlives the call, and its length is given.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value_ptr, value_bytes) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads a socket-level option into `value`, all of whose bit patterns must be valid.
fn get_option<T: Copy>(socket: &UdpSocket, name: c_int, value: &mut T) -> io::Result<()> {
    let mut value_bytes = size_of::<T>() as socklen_t;
    let value_ptr: *mut c_void = ptr::from_mut(value).cast();
    // SAFETY: the kernel writes at most `value_bytes` bytes into `value`, which is used only with
    // integers and arrays of them.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            value_ptr,
            &raw mut value_bytes,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_room_is_told_from_wrong_checksums() {
        let snmp = "Tcp: RtoMin RtoMax\nTcp: 200 120000\n\
            Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors \
            IgnoredMulti MemErrors\nUdp: 7495 0 9 7498 4 2 5 0 3\nUdpLite: RcvbufErrors\n";
        assert_eq!(room_errors_of_ipv4(snmp), Some(7));
        let snmp6 = "Udp6InErrors                    \t6\nUdp6RcvbufErrors \t4\n\
            Udp6InCsumErrors                \t2\nUdpLite6RcvbufErrors\t1\n";
        assert_eq!(room_errors_of_ipv6(snmp6), 4);
        let read = |of_socket, room| Drops { of_socket, for_want_of_room: room };
        assert_eq!(read(9, Some(7)).since(read(0, Some(0))), 7);
        assert_eq!(read(2, Some(7)).since(read(u32::MAX, Some(0))), 3);
        assert_eq!(read(9, None).since(read(4, Some(0))), 5);
    }
}
