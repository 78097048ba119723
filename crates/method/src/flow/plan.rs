//! What the user asks of a run of flows.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Direction, FlowSpec, FramesLoad, Load, Pace, PacketLayout, Rate, Step, Timing};
use serde::{Deserialize, Serialize};

use super::path::PathAsk;
use crate::formula::profile::Profile;
use crate::formula::seconds;

/// Every input of a run after defaults were filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the path is asked before: its answers have made the flows what they are.
    #[serde(default)]
    pub path: Vec<PathAsk>,
    pub flows: Vec<PlannedFlow>,
    pub timing: Timing,
    pub lines: Lines,
    /// What the flows of each direction follow together.
    pub profile: Option<SharedProfile>,
    pub criteria: Criteria,
}

/// A flow with the name by which its user knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedFlow {
    pub name: String,
    /// Flows of one class are shown in sum as well.
    pub class: Option<String>,
    pub spec: FlowSpec,
}

/// Layer 1 rates of the slowest line in each direction, where they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    #[serde(rename = "download_bps")]
    pub download: Option<Rate>,
    #[serde(rename = "upload_bps")]
    pub upload: Option<Rate>,
}

impl Lines {
    pub const fn towards(&self, direction: Direction) -> Option<Rate> {
        match direction {
            Direction::Download => self.download,
            Direction::Upload => self.upload,
        }
    }
}

/// A rate over time that all flows of a direction follow together, each with an even share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedProfile {
    /// As the user wrote it.
    pub written: String,
    /// Of payload; of random arrivals, their mean.
    pub profile: Profile,
    pub arrivals: Arrivals,
    /// Where it is compared with what became of it.
    #[serde(rename = "interval_s", with = "seconds")]
    pub interval: Duration,
}

/// How what a profile asks for comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Arrivals {
    /// By every instant as much as the profile asks for.
    #[default]
    Even,
    /// Packets independent of each other.
    Poisson { seed: u64 },
    /// At `rate`, or not at all, for times that are distributed exponentially.
    OnOff {
        #[serde(rename = "rate_bps")]
        rate: Rate,
        #[serde(rename = "on_mean_s", with = "seconds")]
        on_mean: Duration,
        #[serde(rename = "off_mean_s", with = "seconds")]
        off_mean: Duration,
        seed: u64,
    },
}

/// What a run must meet, each direction in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    /// Of payload received.
    #[serde(rename = "rate_min_bps")]
    pub rate_min_l4: Option<Rate>,
    /// Of the packets sent.
    pub loss_max_percent: Option<f64>,
}

impl Plan {
    /// In words for whoever watches.
    pub fn title(&self) -> String {
        let count = self.flows.len();
        match self.flows.as_slice() {
            [flow] => format!("{}, {}", flow.name, flow.spec.direction),
            _ => format!("{count} flows"),
        }
    }

    /// The same with all flows on the way of `shared`.
    #[must_use]
    pub fn following(mut self, shared: SharedProfile) -> Self {
        let active = self.timing.active();
        for direction in [Direction::Download, Direction::Upload] {
            let streams = |flow: &PlannedFlow| match flow.spec.direction == direction {
                true => flow.streams(),
                false => 0,
            };
            let streams: u32 = self.flows.iter().map(streams).sum();
            let mine = self.flows.iter_mut().enumerate();
            let mine = mine.filter(|(_, flow)| flow.spec.direction == direction);
            mine.for_each(|(place, flow)| flow.follow(&shared, active, streams, place as u64));
        }
        self.profile = Some(shared);
        self
    }
}

impl PlannedFlow {
    /// Connections, or the one stream of frames.
    pub const fn streams(&self) -> u32 {
        match &self.spec.load {
            Load::Tcp(load) => load.connections,
            Load::Frames(_) | Load::Probes(_) | Load::Bursts(_) | Load::Connections(_) => 1,
        }
    }

    /// Takes an even share. `place` makes what is drawn by chance another in each flow.
    fn follow(&mut self, shared: &SharedProfile, active: Duration, streams: u32, place: u64) {
        let share = 1.0 / f64::from(streams);
        let (family, tags) = (self.spec.family, self.spec.vlan_tags);
        match &mut self.spec.load {
            Load::Frames(load) => {
                let headers_bytes = PacketLayout::udp_headers_bytes(family, tags);
                let l2 = l2_per_payload(load, headers_bytes);
                load.pace = shared.pace(active, share * l2, place);
                in_whole_frames(load);
            }
            Load::Tcp(load) => load.pace = shared.pace(active, share, place),
            Load::Probes(_) | Load::Bursts(_) | Load::Connections(_) => {}
        }
    }
}

/// Each step of a pace begins with a frame, so that many short ones would send more than they ask
/// for: with as many whole frames in each as make up for those before it, they do not.
fn in_whole_frames(load: &mut FramesLoad) {
    let Pace::Steps { steps } = &mut load.pace else { return };
    let bits_each = load.sizes.cycle_bytes() as f64 * 8.0 / load.sizes.lengths().len() as f64;
    let (mut wanted, mut frames) = (0.0, 0.0);
    for step in steps {
        let lasts = step.lasts.as_secs_f64();
        wanted += step.rate.as_bps() as f64 * lasts / bits_each;
        let of_step = libm::floor(wanted + 0.5) - frames;
        frames += of_step;
        // Rounded down: the frame after them is due when the step is over.
        step.rate = Rate::bps((of_step * bits_each / lasts) as u64);
    }
}

/// Bytes of frame for each byte of payload.
fn l2_per_payload(load: &FramesLoad, headers_bytes: u32) -> f64 {
    let headers = u64::from(headers_bytes) * load.sizes.lengths().len() as u64;
    let frame_bytes = load.sizes.cycle_bytes();
    frame_bytes as f64 / frame_bytes.saturating_sub(headers).max(1) as f64
}

impl SharedProfile {
    /// A step in each interval would be a stair: a tenth of it is smooth.
    const STEPS_PER_INTERVAL: u32 = 10;
    /// What a trial may say to the far end of each flow.
    const STEPS_MAX: u128 = 600;
    const STEP_MIN: Duration = Duration::from_millis(10);

    /// The pace of a flow whose rate is `scale` times that of the profile.
    fn pace(&self, active: Duration, scale: f64, place: u64) -> Pace {
        match self.arrivals {
            Arrivals::Even => self.even(active, scale),
            Arrivals::Poisson { seed } => {
                let rate = self.profile.peak().scaled(scale);
                Pace::Poisson { rate, seed: seed.wrapping_add(place) }
            }
            Arrivals::OnOff { rate, on_mean, off_mean, seed } => {
                let seed = seed.wrapping_add(place);
                Pace::OnOff { rate: rate.scaled(scale), on_mean, off_mean, seed }
            }
        }
    }

    fn even(&self, active: Duration, scale: f64) -> Pace {
        let least = active.as_nanos().div_ceil(Self::STEPS_MAX) as u64;
        let parts = (1..=Self::STEPS_PER_INTERVAL).rev();
        let mut fine = parts.map(|parts| self.interval / parts);
        let least = Duration::from_nanos(least).max(Self::STEP_MIN);
        let step = fine.find(|step| *step >= least).unwrap_or(self.interval.max(least));
        let steps = self.profile.steps(active, step);
        let scaled = |step: &Step| Step { rate: step.rate.scaled(scale), ..*step };
        Pace::Steps { steps: steps.iter().map(scaled).collect() }
    }
}
