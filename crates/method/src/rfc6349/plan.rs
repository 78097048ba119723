//! What the user asks of an RFC 6349 run.

use core::time::Duration;

use fp_model::{CongestionControl, Dscp, Family, Layer, LayeredRate, Rate, Sender};
use serde::{Deserialize, Serialize};

use crate::formula::seconds;

/// Every input of a run after defaults were filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub family: Family,
    /// Largest packet that the near end's interface takes: where the search for the path MTU ends.
    pub interface_mtu_bytes: u32,
    pub dscp: Dscp,
    /// The rate that was sold, with which throughput is compared.
    pub cir: Option<LayeredRate>,
    /// Whether the bottleneck is measured although a rate was sold: what was sold does not say what
    /// the path is. If not, the sold rate is taken for the bottleneck, as older versions did and as
    /// is done with a far end that cannot time frames.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub measures_beside_cir: bool,
    /// The bottleneck is looked for with no more than this.
    pub rate_limit: LayeredRate,
    pub windows: Windows,
    pub senders: Senders,
    pub congestion_control: CongestionControl,
    /// Pacing limit of each connection.
    #[serde(rename = "pacing_bps")]
    pub pacing: Option<Rate>,
    /// Steady time of each TCP trial; `None`: as long as it takes to decide.
    #[serde(rename = "trial_s", with = "seconds::if_known")]
    pub trial: Option<Duration>,
    /// What trials are run again for, longer or with larger windows, until they decide it: the
    /// thresholds as they were when the run was planned, so that its evidence can be judged by
    /// others. `None`: no trial is run again.
    #[serde(default)]
    pub decides: Option<Thresholds>,
    /// Compares with the RFC's 40 bytes of headers instead of those really used.
    pub strict_headers: bool,
    pub thresholds: Thresholds,
}

/// How the bandwidth-delay product is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum Windows {
    /// So many connections; each has its share as window.
    Connections { connections: u32 },
    /// Connections of this window, as many as fill the bandwidth-delay product.
    Window { window_bytes: u64 },
    /// Exactly these.
    Both { connections: u32, window_bytes: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Senders {
    Bulk,
    Burst,
    /// One after the other: a smooth sender hides a shallow policer.
    Both,
}

impl Senders {
    pub const fn list(self) -> &'static [Sender] {
        match self {
            Self::Bulk => &[Sender::Bulk],
            Self::Burst => &[Sender::Burst],
            Self::Both => &[Sender::Bulk, Sender::Burst],
        }
    }
}

/// What a throughput trial must reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Of the ideal throughput, at least.
    pub throughput_percent: f64,
    /// The same while both directions are loaded, of the fuller link; `None`: the same share.
    pub bidirectional_percent: Option<f64>,
    /// TCP efficiency, at least.
    pub efficiency_percent: Option<f64>,
    /// Buffer delay, at most.
    pub buffer_delay_percent: Option<f64>,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            throughput_percent: 95.0,
            bidirectional_percent: None,
            efficiency_percent: None,
            buffer_delay_percent: None,
        }
    }
}

impl Plan {
    /// The defaults for a path whose near end has an interface of this MTU.
    pub fn new(family: Family, interface_mtu_bytes: u32) -> Self {
        Self {
            family,
            interface_mtu_bytes,
            dscp: Dscp::BEST_EFFORT,
            cir: None,
            measures_beside_cir: false,
            rate_limit: LayeredRate { rate: Rate::mbps(10_000), layer: Layer::L2 },
            windows: Windows::Connections { connections: 4 },
            senders: Senders::Both,
            congestion_control: CongestionControl::Cubic,
            pacing: None,
            trial: None,
            decides: Some(Thresholds::default()),
            strict_headers: false,
            thresholds: Thresholds::default(),
        }
    }

    /// The rate that was sold, unless it is taken for the bottleneck.
    pub(super) fn sold(&self) -> Option<LayeredRate> {
        self.cir.filter(|_| self.measures_beside_cir)
    }
}
