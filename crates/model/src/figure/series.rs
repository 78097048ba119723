//! The slots of a series, as documents have them.

use alloc::vec::Vec;

use serde::ser::{Serialize, Serializer};

use super::{Cell, Column, Info, Part, Unit, infos};
use crate::{ConnectionsSample, Sample};

#[derive(Clone, Debug, PartialEq)]
pub enum Series {
    Flow(Vec<Sample>),
    Connections(Vec<ConnectionsSample>),
}

pub const T: Info = Info::new("t_s", "begins at", Unit::Seconds);
pub const DT: Info = Info::new("dt_s", "lasts", Unit::Seconds);
pub const SENT: Info = Info::new("sent_bytes", "sent", Unit::Bytes);
pub const RECEIVED: Info = Info::new("received_bytes", "received", Unit::Bytes);
pub const RETRANSMITTED: Info = Info::new("retransmitted_bytes", "retransmitted", Unit::Bytes);
pub const RTT: Info = Info::new("rtt_us", "RTT", Unit::Microseconds);
const CWND: Info = Info::new("cwnd_bytes", "congestion window", Unit::Bytes);
pub const IN_USE: Info = Info::new("active_connections", "connections in use", Unit::Count);
pub const ACTIVE: Info = Info::new("active", "active", Unit::Count);

/// The columns of a slot of a flow.
pub static SLOT: &[Info] = &infos(FLOW);

const FLOW: &[Column<Sample>; 8] = &[
    T.of(|slot| Cell::s(slot.at)),
    DT.of(|slot| Cell::s(slot.lasts)),
    SENT.of(|slot| slot.sent_bytes.into()),
    RECEIVED.of(|slot| slot.received_bytes.into()),
    RETRANSMITTED.of(|slot| slot.retransmitted_bytes.into()),
    RTT.of(|slot| slot.rtt.map(Cell::us).into()),
    CWND.of(|slot| slot.cwnd_bytes.into()),
    IN_USE.of(|slot| slot.active_connections.into()),
];

/// The columns of a slot of very many connections.
pub static CONNECTIONS_SLOT: &[Info] = &infos(CONNECTIONS);

/// Those of a flow, with what else is counted of connections.
const CONNECTIONS: &[Column<ConnectionsSample>; 16] = &[
    T.of(|slot| Cell::s(slot.at)),
    DT.of(|slot| Cell::s(slot.lasts)),
    SENT.of(|_| Cell::Unknown),
    // Payload that arrived at either end.
    RECEIVED.of(|slot| (slot.upload_good_bytes + slot.download_good_bytes).into()),
    RETRANSMITTED.of(|_| Cell::Unknown),
    RTT.of(|_| Cell::Unknown),
    CWND.of(|_| Cell::Unknown),
    IN_USE.of(|slot| slot.active.into()),
    ACTIVE.of(|slot| slot.active.into()),
    Info::new("attempted", "asked for", Unit::Count).of(|slot| slot.attempted.into()),
    Info::new("established", "established", Unit::Count).of(|slot| slot.established.into()),
    Info::new("closed", "closed", Unit::Count).of(|slot| slot.closed.into()),
    Info::new("failed", "failed", Unit::Count).of(|slot| slot.failed.into()),
    Info::new("transactions", "transactions", Unit::Count).of(|slot| slot.transactions.into()),
    Info::new("upload_good_bytes", "from clients", Unit::Bytes)
        .of(|slot| slot.upload_good_bytes.into()),
    Info::new("download_good_bytes", "from servers", Unit::Bytes)
        .of(|slot| slot.download_good_bytes.into()),
];

/// A slot of a flow.
pub fn slot(sample: &Sample) -> Part {
    Part::of(SLOT, FLOW, sample)
}

/// A slot of very many connections.
pub fn connections_slot(sample: &ConnectionsSample) -> Part {
    Part::of(CONNECTIONS_SLOT, CONNECTIONS, sample)
}

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flow(samples) => serializer.collect_seq(samples.iter().map(slot)),
            Self::Connections(samples) => {
                serializer.collect_seq(samples.iter().map(connections_slot))
            }
        }
    }
}

impl From<&[Sample]> for Cell {
    fn from(samples: &[Sample]) -> Self {
        Self::Series(Series::Flow(samples.into()))
    }
}

impl From<&[ConnectionsSample]> for Cell {
    fn from(samples: &[ConnectionsSample]) -> Self {
        Self::Series(Series::Connections(samples.into()))
    }
}
