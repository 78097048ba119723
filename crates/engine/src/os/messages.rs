//! Many datagrams or frames in one call of the kernel.

use std::io;
use std::os::fd::AsRawFd;

use libc::mmsghdr;

/// Sends messages without waiting, and returns how many of them, from the first on, went out. The
/// kernel is called directly: musl's `sendmmsg` sends them one by one.
///
/// # Errors
/// That of the first message.
///
/// # Safety
/// Every message points to memory that lives through the call, with its true lengths; padding between
/// the members of a message is zero.
#[expect(unsafe_code, reason = "rustix sends no batches")]
pub(super) unsafe fn send(socket: &impl AsRawFd, messages: &mut [mmsghdr]) -> io::Result<usize> {
    // SAFETY: the kernel reads what the messages point to, as the caller has promised, and writes a
    // length into each.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendmmsg,
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            messages.len(),
            libc::MSG_DONTWAIT,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}
