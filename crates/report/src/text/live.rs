//! A line for each interval of a run of flows, all flows of a direction in sum, while it goes on.

use std::time::Duration;

use fp_model::{Direction, FlowSpec, Load, PacketLayout, Rate, Sample, Trial};

use super::{amount, duration, rate};

/// What has been told of a trial's flows so far.
#[derive(Debug)]
pub struct Progress {
    flows: Vec<Flow>,
    interval: Duration,
    /// Intervals told of, by direction: download, upload.
    told: [u32; 2],
    ends: Duration,
}

#[derive(Debug)]
struct Flow {
    direction: Direction,
    /// Bytes of payload for each byte of the series.
    payload: f64,
    known_until: Duration,
    slots: Vec<Sample>,
}

impl Progress {
    pub const HEADER: &str =
        "      interval     direction      payload      rate (l4)  sent again  RTT";

    pub fn of(trial: &Trial, interval: Duration) -> Self {
        let flow = |spec: &FlowSpec| Flow {
            direction: spec.direction,
            payload: payload_share(spec),
            known_until: Duration::ZERO,
            slots: Vec::new(),
        };
        let ends = trial.timing.warm_up + trial.timing.steady;
        Self { flows: trial.flows.iter().map(flow).collect(), interval, told: [0; 2], ends }
    }

    /// The lines that are due once this slot of a flow is known.
    pub fn on_sample(&mut self, flow: usize, sample: &Sample) -> Vec<String> {
        let Some(flow) = self.flows.get_mut(flow) else { return Vec::new() };
        flow.slots.push(*sample);
        flow.known_until = sample.at + sample.lasts;
        let direction = flow.direction;
        let mut lines = Vec::new();
        while let Some(line) = self.line(direction) {
            lines.push(line);
        }
        lines
    }

    /// The lines of what is left of an interval when all is over.
    pub fn rest(&mut self) -> Vec<String> {
        let until = self.flows.iter().map(|flow| flow.known_until).max().unwrap_or_default();
        self.ends = self.ends.min(until);
        self.flows.iter_mut().for_each(|flow| flow.known_until = until);
        let directions = [Direction::Download, Direction::Upload];
        let has_some = |direction: &Direction| {
            self.flows.iter().any(|flow| flow.direction == *direction && !flow.slots.is_empty())
        };
        let left: Vec<Direction> = directions.into_iter().filter(has_some).collect();
        left.into_iter().filter_map(|direction| self.line(direction)).collect()
    }

    /// The next interval of a direction, once every flow of it has told of all of it.
    fn line(&mut self, direction: Direction) -> Option<String> {
        // A slot is cut by a thread that may be a little early.
        const EARLY: Duration = Duration::from_millis(20);
        let told = &mut self.told[usize::from(direction == Direction::Upload)];
        let from = self.interval * *told;
        let until = (from + self.interval).min(self.ends);
        let mine = || self.flows.iter().filter(|flow| flow.direction == direction);
        if from >= until || mine().any(|flow| flow.known_until + EARLY < until) {
            return None;
        }
        *told += 1;
        let mut received = 0.0;
        let (mut resent, mut rtts) = (0, Vec::new());
        for flow in self.flows.iter_mut().filter(|flow| flow.direction == direction) {
            let is_past = |slot: &Sample| slot.at + slot.lasts <= until + EARLY;
            let past = flow.slots.iter().take_while(|slot| is_past(slot)).count();
            for slot in flow.slots.drain(..past) {
                // Of a far end that tells nothing before the end, what was sent to it.
                let bytes = slot.received_bytes.or(slot.sent_bytes).unwrap_or_default();
                received += bytes as f64 * flow.payload;
                resent += slot.retransmitted_bytes.unwrap_or_default();
                rtts.extend(slot.rtt);
            }
        }
        let count = u32::try_from(rtts.len()).unwrap_or(u32::MAX);
        let rtt = rtts.iter().sum::<Duration>().checked_div(count);
        let interval = format!("{:.1}–{:.1} s", from.as_secs_f64(), until.as_secs_f64());
        let line = format!(
            "{interval:>16}  {direction:<9} {:>12} {:>14} {:>11}  {}",
            amount(received as u64),
            rate(Rate::over(received as u64, until - from)),
            if resent > 0 { amount(resent) } else { String::new() },
            rtt.map_or_else(String::new, duration),
        );
        Some(line.trim_end().to_owned())
    }
}

/// A series of frames counts all of a frame.
fn payload_share(spec: &FlowSpec) -> f64 {
    match &spec.load {
        Load::Frames(load) => {
            let headers = PacketLayout::udp_headers_bytes(spec.family, spec.vlan_tags);
            let headers = u64::from(headers) * load.sizes.lengths().len() as u64;
            let frame_bytes = load.sizes.cycle_bytes();
            frame_bytes.saturating_sub(headers) as f64 / frame_bytes.max(1) as f64
        }
        Load::Tcp(_) | Load::Probes(_) | Load::Bursts(_) | Load::Connections(_) => 1.0,
    }
}
