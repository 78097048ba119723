//! What the user asks of a service activation test.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Directions, Dscp, Family, FrameSizes, Rate};
use serde::{Deserialize, Serialize};

/// Every input of a run after defaults were filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub family: Family,
    /// Largest packet that both ends could send.
    pub interface_mtu_bytes: u32,
    pub services: Vec<Service>,
    /// The test of one service after the other; `None` leaves it out.
    pub configuration: Option<Configuration>,
    /// Length of the test of all services at once; `None` leaves it out.
    #[serde(rename = "performance_s", with = "crate::formula::seconds::if_known")]
    pub performance: Option<Duration>,
}

/// How each service is tested by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// Steady time of each step.
    #[serde(rename = "step_s", with = "crate::formula::seconds")]
    pub step: Duration,
    /// Shares of the CIR, in this order.
    pub cir_steps_percent: Vec<u32>,
    /// What the policing step offers, in percent of CIR and EIR together; `None` is
    /// [`super::policing_rate`].
    pub policing_percent: Option<f64>,
    /// So much more than CIR and EIR may come through in the policing step.
    pub margin_percent: f64,
    /// Whether CBS and EBS are tested where a service names them.
    pub bursts: bool,
}

impl Configuration {
    pub const STEP_MIN: Duration = Duration::from_secs(1);
    pub const STEP_MAX: Duration = Duration::from_secs(60);
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            step: Duration::from_secs(10),
            cir_steps_percent: Vec::from([25, 50, 75, 100]),
            policing_percent: None,
            margin_percent: 1.0,
            bursts: true,
        }
    }
}

/// Of the test of all services at once, by default: the shortest that operators use.
pub const PERFORMANCE_DEFAULT: Duration = Duration::from_secs(15 * 60);

/// One class of traffic with what it was sold as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Service {
    pub name: String,
    pub directions: Directions,
    pub vlan_tags: u8,
    pub dscp: Dscp,
    /// The code point with which its frames must arrive; `None` is not judged.
    pub dscp_received: Option<Dscp>,
    #[serde(rename = "cir_l2_bps")]
    pub cir_l2: Rate,
    pub traffic: Traffic,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Traffic {
    Frames(Frames),
    Tcp(Tcp),
}

/// A constant rate of frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frames {
    #[serde(rename = "frame_bytes")]
    pub sizes: FrameSizes,
    #[serde(rename = "eir_l2_bps")]
    pub eir_l2: Rate,
    /// `None` is not tested.
    pub cbs_bytes: Option<u64>,
    /// `None` is not tested.
    pub ebs_bytes: Option<u64>,
    pub colours: Colours,
    pub criteria: Criteria,
}

impl Frames {
    pub const fn is_colour_aware(&self) -> bool {
        matches!(self.colours, Colours::Aware { .. })
    }
}

/// Whether the network looks at the colour that frames bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Colours {
    Blind,
    Aware {
        /// Frames of the service with this code point are yellow.
        yellow_dscp: Dscp,
    },
}

/// What a service's frames must meet; `None` is shown and not judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    /// Frame loss ratio, at most.
    pub flr: f64,
    /// Mean frame transfer delay, at most.
    #[serde(rename = "ftd_s", with = "crate::formula::seconds::if_known")]
    pub ftd: Option<Duration>,
    /// Frame delay variation, at most.
    #[serde(rename = "fdv_s", with = "crate::formula::seconds::if_known")]
    pub fdv: Option<Duration>,
    /// At least.
    pub availability_percent: Option<f64>,
}

/// TCP connections that use what their CIR gives them, as RFC 6349 loads a path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tcp {
    pub connections: u32,
    /// Receive window of each connection; `None` divides what the CIR carries in a round trip.
    pub window_bytes: Option<u64>,
    /// Of the payload that the CIR can carry, at least.
    pub throughput_percent: f64,
}

impl Tcp {
    pub const THROUGHPUT_PERCENT: f64 = 95.0;
}
