//! TCP socket options and counters of Linux that no library offers.

#![expect(unsafe_code, reason = "system calls")]

use std::io;
use std::mem::{offset_of, size_of};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use libc::{c_int, c_ulong, c_void, socklen_t};

/// `SO_BUF_LOCK` of asm-generic/socket.h: whether the kernel may tune a buffer itself.
const SO_BUF_LOCK: c_int = 72;
/// `SIOCOUTQ` of linux/sockios.h.
const SIOCOUTQ: libc::Ioctl = 0x5411;

/// `struct tcp_info` of linux/tcp.h. Kernels append to it; what a kernel does not know reads as 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpInfo {
    flags: [u8; 8],
    timeouts_us: [u32; 2],
    pub(crate) snd_mss_bytes: u32,
    /// Of the segments that have come, as the kernel believes.
    pub(crate) rcv_mss_bytes: u32,
    segments: [u32; 5],
    last_ms: [u32; 4],
    pub(crate) pmtu_bytes: u32,
    pub(crate) rcv_ssthresh_bytes: u32,
    /// Smoothed; 0 before the first measurement.
    pub(crate) rtt_us: u32,
    pub(crate) rttvar_us: u32,
    snd_ssthresh_segments: u32,
    pub(crate) snd_cwnd_segments: u32,
    advmss_bytes: u32,
    reordering: u32,
    rcv_rtt_us: u32,
    rcv_space_bytes: u32,
    pub(crate) total_retrans_segments: u32,
    pacing_rates: [u64; 2],
    pub(crate) acked_bytes: u64,
    /// Payload, in order.
    pub(crate) received_bytes: u64,
    segments_both_ways: [u32; 2],
    pub(crate) notsent_bytes: u32,
    /// `u32::MAX` before the first measurement.
    pub(crate) min_rtt_us: u32,
    /// With payload; both wrap around.
    pub(crate) data_segs_in: u32,
    pub(crate) data_segs_out: u32,
    delivery_rate: u64,
    pub(crate) busy_us: u64,
    pub(crate) rwnd_limited_us: u64,
    pub(crate) sndbuf_limited_us: u64,
    delivered_segments: [u32; 2],
    /// Payload, retransmissions included.
    pub(crate) sent_bytes: u64,
    /// Payload, a repeated retransmission counted each time.
    pub(crate) retransmitted_bytes: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    /// The window that the other end advertised last.
    pub(crate) snd_wnd_bytes: u32,
    /// The window that this end advertised last.
    pub(crate) rcv_wnd_bytes: u32,
    rehash: u32,
    rto_counts: [u16; 2],
    rto_time_ms: u32,
}

impl TcpInfo {
    pub(crate) const fn has_timestamps(&self) -> bool {
        /// `TCPI_OPT_TIMESTAMPS` in `tcpi_options`.
        const TIMESTAMPS: u8 = 1;
        self.flags[5] & TIMESTAMPS != 0
    }
}

const _: () = assert!(size_of::<TcpInfo>() == 248);
const _: () = assert!(offset_of!(TcpInfo, rtt_us) == 68);
const _: () = assert!(offset_of!(TcpInfo, acked_bytes) == 120);
const _: () = assert!(offset_of!(TcpInfo, min_rtt_us) == 148);
const _: () = assert!(offset_of!(TcpInfo, busy_us) == 168);
const _: () = assert!(offset_of!(TcpInfo, sent_bytes) == 200);
const _: () = assert!(offset_of!(TcpInfo, snd_wnd_bytes) == 228);

/// The counters of a connection.
///
/// # Errors
/// `Unsupported` on a kernel before Linux 4.19, which does not count sent bytes.
pub(crate) fn info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let mut info = TcpInfo::default();
    let mut length = size_of::<TcpInfo>() as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`, plain integers throughout.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast::<c_void>(),
            &raw mut length,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    if (length as usize) < offset_of!(TcpInfo, dsack_dups) {
        let old = "this kernel does not count the bytes TCP sends: use Linux 4.19 or newer";
        return Err(io::Error::new(io::ErrorKind::Unsupported, old));
    }
    Ok(info)
}

/// The largest window the socket will advertise; before `connect` or `listen` it also decides the
/// window scale.
pub(crate) fn set_window_clamp(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)
}

pub(crate) fn window_clamp(socket: impl AsFd) -> io::Result<u32> {
    get(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP).map(|bytes| bytes as u32)
}

/// Bytes of payload and headers per second.
pub(crate) fn set_max_pacing_rate(socket: impl AsFd, bytes_per_s: u64) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, bytes_per_s as c_ulong)
}

/// The longest pause before a repetition; kernels before 6.15 refuse it.
pub(crate) fn set_rto_max(socket: impl AsFd, pause: Duration) -> io::Result<()> {
    /// `TCP_RTO_MAX_MS`, which libc does not name yet.
    const TCP_RTO_MAX_MS: c_int = 44;
    let pause_ms = c_int::try_from(pause.as_millis()).unwrap_or(c_int::MAX);
    set(socket, libc::IPPROTO_TCP, TCP_RTO_MAX_MS, pause_ms)
}

/// How many bytes must have arrived before the socket becomes readable.
pub(crate) fn set_receive_low_water(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    set(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Whether the kernel is to note the traffic class of what arrives over IPv6; over IPv4 it notes
/// that of the packet with which an accepted connection came up.
pub(crate) fn note_traffic_class(socket: &TcpStream, noting: Noting) -> io::Result<()> {
    if is_ipv4(socket)? {
        return Ok(());
    }
    set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, noting as c_int)
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Noting {
    Off = 0,
    On = 1,
}

/// The traffic class that the kernel has noted; `None` where it does not tell.
pub(crate) fn noted_traffic_class(socket: &TcpStream) -> io::Result<Option<u8>> {
    /// Of linux/in.h and linux/in6.h: what would come with a datagram, for a stream.
    const IP_PKTOPTIONS: c_int = 9;
    const IPV6_2292PKTOPTIONS: c_int = 6;
    let is_ipv4 = is_ipv4(socket)?;
    let (level, switch, option) = match is_ipv4 {
        true => (libc::IPPROTO_IP, libc::IP_RECVTOS, IP_PKTOPTIONS),
        false => (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, IPV6_2292PKTOPTIONS),
    };
    set(socket, level, switch, 1)?;
    let mut control = [0_u64; 16];
    let mut length = size_of_val(&control) as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `control`, plain integers.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            control.as_mut_ptr().cast::<c_void>(),
            &raw mut length,
        )
    };
    set(socket, level, switch, 0)?;
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: an all-zero header is valid: no address, no parts, no control messages.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_control = control.as_mut_ptr().cast::<c_void>();
    header.msg_controllen = length as _;
    Ok(super::udp::traffic_class_of(&header))
}

fn is_ipv4(socket: &TcpStream) -> io::Result<bool> {
    Ok(socket.peer_addr()?.ip().to_canonical().is_ipv4())
}

/// A socket buffer that the kernel tunes unless it has been set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Buffer {
    Send = 1,
    Receive = 2,
}

/// Gives a buffer that has been set back to the kernel's tuning, at its present size.
pub(crate) fn let_kernel_tune(socket: impl AsFd, buffer: Buffer) -> io::Result<()> {
    let locked = get(&socket, libc::SOL_SOCKET, SO_BUF_LOCK)?;
    set(&socket, libc::SOL_SOCKET, SO_BUF_LOCK, locked & !(buffer as c_int))
}

/// Bytes written and not yet acknowledged.
pub(crate) fn unacknowledged_bytes(socket: impl AsFd) -> io::Result<u32> {
    let mut bytes: c_int = 0;
    // SAFETY: SIOCOUTQ writes one int.
    let result = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), SIOCOUTQ, &raw mut bytes) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes as u32) }
}

/// `T` is the integer that the kernel documents for the option.
fn set<T: Copy>(socket: impl AsFd, level: c_int, option: c_int, value: T) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes from `value`, which lives until the return.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw const value).cast::<c_void>(),
            size_of::<T>() as socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn get(socket: impl AsFd, level: c_int, option: c_int) -> io::Result<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            option,
            (&raw mut value).cast::<c_void>(),
            &raw mut length,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}
