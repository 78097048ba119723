//! What the packets of a flow bear, from the first one on.

use fp_model::FlowSpec;

/// The marking, and from where on the near end's ports are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bearing {
    /// As in the IPv4 TOS or IPv6 traffic class octet; both ends' packets bear it.
    pub traffic_class: u8,
    /// `None` leaves the choice to the near end's host.
    pub near_port: Option<u16>,
}

impl Bearing {
    pub(crate) const fn of(spec: &FlowSpec) -> Self {
        Self { traffic_class: spec.traffic_class(), near_port: spec.near_port }
    }

    /// Of the connection of this index: 0 asks the host for any. A trial whose ports end before its
    /// connections do is not admitted.
    pub(crate) fn port_of(self, index: usize) -> u16 {
        self.near_port.map_or(0, |first| first.saturating_add(index as u16))
    }
}
