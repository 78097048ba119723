//! What a connection counted, as the steps of several methods have it.

use alloc::vec::Vec;

use fp_model::ConnectionReport;
use fp_model::figure::{Cell, Column, Info, Part, Unit, cells, infos};

//= rfc6349 5.1
const COLUMNS: &[Column<ConnectionReport>; 11] = &[
    Info::new("good_bytes", "payload", Unit::Bytes).of(|report| report.good_bytes.into()),
    Info::new("transmitted_bytes", "transmitted", Unit::Bytes)
        .of(|report| report.transmitted_bytes.into()),
    Info::new("retransmitted_bytes", "retransmitted", Unit::Bytes)
        .of(|report| report.retransmitted_bytes.into()),
    Info::new("rtt_mean_ms", "RTT", Unit::Milliseconds)
        .of(|report| report.rtt_mean.map(Cell::ms).into()),
    Info::new("rtt_min_ms", "smallest RTT", Unit::Milliseconds)
        .of(|report| report.rtt_min.map(Cell::ms).into()),
    Info::new("window_effective_bytes", "window given", Unit::Bytes)
        .of(|report| report.window_effective_bytes.into()),
    Info::new("mss_bytes", "MSS", Unit::Bytes).of(|report| report.segment_bytes.into()),
    Info::new("congestion_control", "control", Unit::Word)
        .of(|report| report.congestion_control.clone().into()),
    Info::new("receive_window_limited_s", "limited by the window", Unit::Seconds)
        .of(|report| report.receive_window_limited.map(Cell::s).into()),
    Info::new("send_buffer_limited_s", "limited by the send buffer", Unit::Seconds)
        .of(|report| report.send_buffer_limited.map(Cell::s).into()),
    Info::new("busy_s", "busy", Unit::Seconds).of(|report| report.busy.map(Cell::s).into()),
];

pub(crate) const INFOS: &[Info; 11] = &infos(COLUMNS);

/// A connection with what a method knows of it beside what it counted: `infos` are [`INFOS`] and those of `more`.
pub(crate) fn part<S>(
    infos: &'static [Info],
    report: &ConnectionReport,
    (more, connection): (&[Column<S>], &S),
) -> Part {
    let cells: Vec<Cell> = cells(COLUMNS, report).chain(cells(more, connection)).collect();
    Part { columns: infos, cells }
}
