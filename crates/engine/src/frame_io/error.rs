//! Why a packet port cannot be opened, and what to do about it.

use std::io;

use crate::os::redirect::{Refused, Step};

#[derive(Debug, thiserror::Error)]
pub enum PortError {
    #[error(
        "a packet port looks for {most} prefixes at most, not {count}: name fewer, shorter ones"
    )]
    TooManyPrefixes { count: usize, most: usize },
    #[error("cannot open packet sockets ({error}): {remedy}")]
    PacketSockets { error: io::Error, remedy: &'static str },
    #[error("AF_XDP takes packets of {most} bytes at most, not {mtu}: lower the interface's MTU")]
    FramesTooLong { mtu: u32, most: usize },
    #[error(
        "connections go by AF_XDP where an interface has one receive queue, and this one has \
         {queues}: set it to one (`ethtool -L INTERFACE combined 1`), or use packet sockets instead"
    )]
    SeveralQueues { queues: u32 },
    #[error("cannot {what} for AF_XDP ({error}{detail}): {remedy}")]
    Program { what: &'static str, error: io::Error, detail: String, remedy: &'static str },
    #[error("cannot open AF_XDP sockets ({error}): {remedy}")]
    XdpSockets { error: io::Error, remedy: &'static str },
}

const OR_PACKET_SOCKETS: &str = "use packet sockets instead";
const RIGHTS: &str = "run it as root, or with CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, outside of user \
                      namespaces; or use packet sockets instead";

impl PortError {
    pub(super) fn of_packet_sockets(error: io::Error) -> Self {
        let remedy = match error.kind() {
            io::ErrorKind::PermissionDenied => "run it as root or with CAP_NET_RAW",
            io::ErrorKind::OutOfMemory => "free 16 MiB of memory for each processor that it uses",
            _ => "see whether the interface is there and up",
        };
        Self::PacketSockets { error, remedy }
    }

    pub(super) fn of_xdp_sockets(error: io::Error) -> Self {
        let remedy = match error.raw_os_error() {
            Some(libc::EPERM) => RIGHTS,
            Some(libc::EBUSY) => "end the other program that uses AF_XDP on this interface",
            Some(libc::ENOMEM | libc::ENOBUFS) => "free 10 MiB of memory for each receive queue",
            Some(libc::ENETDOWN) => "set the interface up",
            _ => OR_PACKET_SOCKETS,
        };
        Self::XdpSockets { error, remedy }
    }
}

impl From<Refused> for PortError {
    fn from(refused: Refused) -> Self {
        let Refused { what, error, verifier } = refused;
        let remedy = match (what, error.raw_os_error()) {
            (_, Some(libc::EPERM)) => RIGHTS,
            (Step::Attach, Some(libc::EBUSY | libc::EEXIST)) => {
                "the interface has an XDP program already: `ip link` shows it"
            }
            _ => "it takes Linux 5.9; use packet sockets instead",
        };
        let what = match what {
            Step::MakeTable => "make the table of sockets",
            Step::LoadProgram => "load the program",
            Step::Attach => "attach the program",
        };
        let detail = verifier.map(|line| format!("; {line}")).unwrap_or_default();
        Self::Program { what, error, detail, remedy }
    }
}
