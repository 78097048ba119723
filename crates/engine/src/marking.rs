//! What the packets of a flow bear, from the first one on.

use std::io;
use std::net::{IpAddr, SocketAddr};

use fp_model::FlowSpec;
use socket2::Socket;

use crate::control::socket::any_address;

/// The marking, and from where on the near end's ports are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// As in the IPv4 TOS or IPv6 traffic class octet; both ends' packets bear it.
    pub traffic_class: u8,
    /// `None` leaves the choice to the near end's host.
    pub near_port: Option<u16>,
}

impl Marking {
    pub(crate) const fn of(spec: &FlowSpec) -> Self {
        Self { traffic_class: spec.traffic_class(), near_port: spec.near_port }
    }

    /// Of the connection of this index: 0 asks the host for any. A trial whose ports end before its
    /// connections do is not admitted.
    pub(crate) fn port_of(self, index: usize) -> u16 {
        self.near_port.map_or(0, |first| first.saturating_add(index as u16))
    }

    /// Where the connection of this index to `far` begins, if its port is asked for.
    pub(crate) fn near_of(self, index: usize, far: IpAddr) -> Option<SocketAddr> {
        let any = any_address(far.is_ipv4());
        self.near_port.map(|_| SocketAddr::new(any, self.port_of(index)))
    }

    /// Gives the socket of the connection of this index to `far` its port, if one is asked for.
    pub(crate) fn bind(self, socket: &Socket, index: usize, far: IpAddr) -> io::Result<()> {
        let Some(near) = self.near_of(index, far) else { return Ok(()) };
        // The port may still be waiting for its last connection to be forgotten.
        socket.set_reuse_address(true)?;
        socket.bind(&near.into()).map_err(|error| {
            let why = format!("this end's port {} cannot be used: {error}", near.port());
            io::Error::new(error.kind(), why)
        })
    }
}
