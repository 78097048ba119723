//! What TCP made of the CIR of a service.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::figure::{Better, Cell, Column, Info, Spread, Unit, infos};
use fp_model::{Rate, Sample};

use crate::metric;

/// What TCP made of its CIR.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpFigures {
    pub connections: u32,
    pub window_bytes: u64,
    pub good_bytes: u64,
    pub retransmitted_bytes: Option<u64>,
    pub throughput_l4: Rate,
    /// Payload rate that the CIR carries.
    pub ideal_l4: Rate,
    pub efficiency_percent: Option<f64>,
    pub rtt_mean: Option<Duration>,
    /// Slots of the steady time.
    pub series: Vec<Sample>,
}

impl TcpFigures {
    pub fn share_percent(&self) -> f64 {
        100.0 * self.throughput_l4.as_bps() as f64 / self.ideal_l4.as_bps().max(1) as f64
    }
}

pub(super) const INFOS: &[Info; 9] = &infos(COLUMNS);

pub(super) const COLUMNS: &[Column<TcpFigures>; 9] = &[
    Info::new("connections", "connections", Unit::Count).of(|tcp| tcp.connections.into()),
    Info::new("window_bytes", "window", Unit::Bytes).of(|tcp| tcp.window_bytes.into()),
    Info::new("good_bytes", "payload", Unit::Bytes).of(|tcp| tcp.good_bytes.into()),
    Info::new("retransmitted_bytes", "retransmitted", Unit::Bytes)
        .metric(metric::RETRANSMITTED)
        .of(|tcp| tcp.retransmitted_bytes.into()),
    Info::new("throughput_bps", "throughput (l4)", Unit::Rate)
        .better(Better::Higher)
        .spread(Spread::Throughput)
        .metric(metric::THROUGHPUT_L4)
        .of(|tcp| tcp.throughput_l4.into()),
    Info::new("ideal_bps", "what the CIR carries", Unit::Rate)
        .metric(metric::PATH_IDEAL_L4)
        .of(|tcp| tcp.ideal_l4.into()),
    Info::new("share_percent", "share", Unit::Percent(1)).of(|tcp| tcp.share_percent().into()),
    Info::new("efficiency_percent", "efficiency", Unit::Percent(2))
        .metric(metric::TCP_EFFICIENCY)
        .of(|tcp| tcp.efficiency_percent.into()),
    Info::new("rtt_mean_ms", "RTT", Unit::Milliseconds)
        .metric(metric::RTT_MEAN)
        .of(|tcp| tcp.rtt_mean.map(Cell::ms).into()),
];
