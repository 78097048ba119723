//! The slots of a series, as documents have them.

use super::{Cell, Column, Info, Part, Unit, infos};
use crate::Sample;

pub(super) const SLOT: &[Info] = &infos(COLUMNS);

const COLUMNS: &[Column<Sample>; 8] = &[
    Info::new("t_s", "begins at", Unit::Seconds).of(|slot| Cell::s(slot.at)),
    Info::new("dt_s", "lasts", Unit::Seconds).of(|slot| Cell::s(slot.lasts)),
    Info::new("sent_bytes", "sent", Unit::Bytes).of(|slot| slot.sent_bytes.into()),
    Info::new("received_bytes", "received", Unit::Bytes).of(|slot| slot.received_bytes.into()),
    Info::new("retransmitted_bytes", "retransmitted", Unit::Bytes)
        .of(|slot| slot.retransmitted_bytes.into()),
    Info::new("rtt_us", "RTT", Unit::Microseconds).of(|slot| slot.rtt.map(Cell::us).into()),
    Info::new("cwnd_bytes", "congestion window", Unit::Bytes).of(|slot| slot.cwnd_bytes.into()),
    Info::new("active_connections", "connections in use", Unit::Count)
        .of(|slot| slot.active_connections.into()),
];

/// A slot of a series.
pub fn slot(sample: &Sample) -> Part {
    Part::of(SLOT, COLUMNS, sample)
}
