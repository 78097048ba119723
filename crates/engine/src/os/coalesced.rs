//! Receiving UDP datagrams that the kernel has put together again: many for the price of one.
#![expect(unsafe_code, reason = "control messages of a batched receive have no safe wrapper")]

use std::fmt;
use std::io;
use std::mem::size_of;
use std::net::UdpSocket;
use std::os::fd::AsRawFd as _;
use std::ptr;

use fp_model::Time;
use libc::{c_int, cmsghdr, iovec, timespec};

use super::clock;
use super::udp::{EMPTY_PART, empty_message, set_option};

/// Runs of datagrams taken in one call.
const RUNS: usize = 8;
/// What the kernel puts together at most.
const RUN_BYTES: usize = 1 << 16;
/// A timestamp and a length take 40 bytes.
const CONTROL_BYTES: usize = 64;

/// Lets the kernel hand over datagrams of one length as one run, and stamp it as it arrives.
///
/// # Errors
/// What the kernel refuses; without runs each datagram is one of its own.
pub(crate) fn set_up(socket: &UdpSocket) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    // Kernels before Linux 5.0 do not know it, and nothing is lost but speed.
    let _ = set_option(socket, libc::SOL_UDP, libc::UDP_GRO, 1);
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Room for what one call receives.
pub(crate) struct RunsInbox {
    bytes: Vec<u8>,
    runs: [Run; RUNS],
    count: usize,
}

#[derive(Clone, Copy, Default)]
struct Run {
    bytes: usize,
    /// Of each datagram but the last, which may be shorter.
    datagram_bytes: usize,
    arrived_at: Time,
}

/// Room for control messages, aligned as the kernel writes them.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL_BYTES]);

impl RunsInbox {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; RUNS * RUN_BYTES], runs: [Run::default(); RUNS], count: 0 }
    }

    /// Takes what has arrived, without waiting; returns how many runs.
    pub(crate) fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.count = 0;
        let mut controls = [Control([0; CONTROL_BYTES]); RUNS];
        let mut parts = [EMPTY_PART; RUNS];
        let mut messages = [empty_message(); RUNS];
        for (index, room) in self.bytes.chunks_exact_mut(RUN_BYTES).enumerate() {
            parts[index] = iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
            let message = &mut messages[index].msg_hdr;
            message.msg_iov = &raw mut parts[index];
            message.msg_iovlen = 1;
            message.msg_control = controls[index].0.as_mut_ptr().cast();
            message.msg_controllen = controls[index].0.len() as _;
        }
        // SAFETY: every message points to a part, and that to a stretch of `self.bytes`, and to a
        // control buffer; each with its true length, none shared, all outlive the call.
        let received = unsafe {
            let messages = messages.as_mut_ptr();
            let flags = libc::MSG_DONTWAIT;
            libc::recvmmsg(socket.as_raw_fd(), messages, RUNS as _, flags as _, ptr::null_mut())
        };
        let count = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        let ahead = clock::wall_ahead_of_monotonic();
        for (run, message) in self.runs.iter_mut().zip(&messages[..count]) {
            let bytes = message.msg_len as usize;
            let (wall, datagram_bytes) = control_of(&message.msg_hdr);
            let arrived_at = wall.map_or_else(clock::now, |wall| clock::monotonic(wall, ahead));
            *run = Run { bytes, datagram_bytes: datagram_bytes.unwrap_or(bytes), arrived_at };
        }
        self.count = count;
        Ok(count)
    }

    /// The datagrams in their order, each with the time at which its run arrived.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = (&[u8], Time)> {
        let rooms = self.bytes.chunks_exact(RUN_BYTES);
        self.runs[..self.count].iter().zip(rooms).flat_map(|(run, room)| {
            let datagrams = room[..run.bytes.min(RUN_BYTES)].chunks(run.datagram_bytes.max(1));
            datagrams.map(|datagram| (datagram, run.arrived_at))
        })
    }
}

impl fmt::Debug for RunsInbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunsInbox").field("count", &self.count).finish_non_exhaustive()
    }
}

/// When the run arrived, by the wall clock, and the length of its datagrams.
fn control_of(header: &libc::msghdr) -> (Option<Time>, Option<usize>) {
    let (mut stamp, mut datagram_bytes) = (None, None);
    // SAFETY: `header` was filled by recvmmsg, so its control buffer holds whole control messages
    // up to the length it names; the macros stay within it, and each message has the size that its
    // level and type say.
    unsafe {
        let mut control = libc::CMSG_FIRSTHDR(header);
        while let Some(&cmsghdr { cmsg_level, cmsg_type, .. }) = control.as_ref() {
            match (cmsg_level, cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let at = ptr::read_unaligned(libc::CMSG_DATA(control).cast::<timespec>());
                    let nanos = at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64;
                    stamp = Some(Time::from_nanos(nanos));
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let bytes = ptr::read_unaligned(libc::CMSG_DATA(control).cast::<c_int>());
                    datagram_bytes = usize::try_from(bytes).ok();
                }
                _ => {}
            }
            control = libc::CMSG_NXTHDR(header, control);
        }
    }
    (stamp, datagram_bytes)
}

const _: () = assert!(
    CONTROL_BYTES >= 2 * size_of::<cmsghdr>() + size_of::<timespec>() + size_of::<u64>(),
    "both control messages must fit"
);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::os::udp;

    #[test]
    fn a_run_comes_apart_into_the_datagrams_that_were_sent() {
        let near = UdpSocket::bind("127.0.0.1:0").unwrap();
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        near.connect(far.local_addr().unwrap()).unwrap();
        set_up(&far).unwrap();
        let sent: Vec<u8> = (0..10_u8).flat_map(|number| [number; 100]).collect();
        let before = clock::now();
        udp::send_segmented(&near, &sent[..950], 100).unwrap();
        near.send(&[10; 7]).unwrap();
        let mut inbox = RunsInbox::new();
        let mut seen = Vec::new();
        while seen.len() < 11 {
            udp::wait_readable(&far, clock::now() + Duration::from_secs(5)).unwrap();
            inbox.receive(&far).unwrap();
            seen.extend(inbox.datagrams().map(|(datagram, at)| (datagram.to_vec(), at)));
        }
        for (number, (datagram, at)) in seen.iter().enumerate() {
            let bytes = match number {
                9 => 50,
                10 => 7,
                _ => 100,
            };
            assert_eq!(*datagram, vec![number as u8; bytes]);
            // The two clocks are compared within microseconds.
            assert!(*at + Duration::from_millis(1) > before && *at < clock::now());
        }
    }
}
