//! A line for each interval of a run of flows, all flows of a direction in sum, while it goes on.

use std::ops::Range;
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
    /// The end of what is in a line.
    told_until: Duration,
    /// Slots that are not yet wholly in a line.
    slots: Vec<Sample>,
}

impl Progress {
    pub const HEADER: &str =
        "      interval     direction      payload      rate (l4)  retransmitted  RTT";

    pub fn of(trial: &Trial, interval: Duration) -> Self {
        let flow = |spec: &FlowSpec| Flow {
            direction: spec.direction,
            payload: payload_share(spec),
            known_until: Duration::ZERO,
            told_until: Duration::ZERO,
            slots: Vec::new(),
        };
        let ends = trial.timing.active();
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
        let (mut received, mut bps, mut resent) = (0.0, 0.0, 0.0);
        let mut rtts = Vec::new();
        for flow in self.flows.iter_mut().filter(|flow| flow.direction == direction) {
            let told = flow.told_until..until.min(flow.known_until);
            let mut bytes = 0.0;
            for slot in &flow.slots {
                let share = share_within(slot, &told, self.ends);
                if share <= 0.0 {
                    continue;
                }
                // Of a far end that tells nothing before the end, what was sent to it.
                let of_slot = slot.received_bytes.or(slot.sent_bytes).unwrap_or_default();
                bytes += share * of_slot as f64 * flow.payload;
                resent += share * slot.retransmitted_bytes.unwrap_or_default() as f64;
                rtts.extend(slot.rtt);
            }
            received += bytes;
            bps += 8.0 * bytes / told.end.saturating_sub(told.start).as_secs_f64().max(1e-9);
            flow.told_until = told.end;
            flow.slots.retain(|slot| slot.at + slot.lasts > told.end);
        }
        let resent = resent as u64;
        let count = u32::try_from(rtts.len()).unwrap_or(u32::MAX);
        let rtt = rtts.iter().sum::<Duration>().checked_div(count);
        let interval = format!("{:.1}–{:.1} s", from.as_secs_f64(), until.as_secs_f64());
        let line = format!(
            "{interval:>16}  {direction:<9} {:>12} {:>14} {:>13}  {}",
            amount(received as u64),
            rate(Rate::bps(bps as u64)),
            if resent > 0 { amount(resent) } else { String::new() },
            rtt.map_or_else(String::new, duration),
        );
        Some(line.trim_end().to_owned())
    }
}

/// The part of what a slot carried that belongs to `told`: a slot that reaches over the end of a line is
/// shared out between this one and the next. What it carried was sent before `ends`, also if it lasts
/// longer.
fn share_within(slot: &Sample, told: &Range<Duration>, ends: Duration) -> f64 {
    let slot_ends = (slot.at + slot.lasts).min(ends.max(slot.at));
    let from = slot.at.max(told.start);
    let until = slot_ends.min(told.end);
    let lasts = slot_ends.saturating_sub(slot.at);
    until.saturating_sub(from).as_secs_f64() / lasts.as_secs_f64().max(1e-9)
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

#[cfg(test)]
mod tests {
    use fp_model::{Dscp, Family, FrameSizes, FramesLoad, Pace, Timing};

    use super::*;

    const SLOT: Duration = Duration::from_millis(150);

    /// What a line says of its payload, in bits per second.
    fn bps(line: &str) -> f64 {
        let rate = line.split_whitespace().find_map(|word| word.parse::<f64>().ok().map(|_| word));
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| word.ends_with("bit/s")).unwrap();
        assert!(rate.is_some(), "{line}");
        let unit = match words[at] {
            "Mbit/s" => 1e6,
            "kbit/s" => 1e3,
            other => panic!("{other} in {line}"),
        };
        words[at - 1].replace(',', "").parse::<f64>().unwrap() * unit
    }

    /// A constant 10 Mbit/s, told of in slots that divide no interval, reads 10 Mbit/s in each line.
    #[test]
    fn slots_are_shared_out_between_the_lines_that_they_overlap() {
        let load =
            FramesLoad::new(FrameSizes::fixed(1000), Pace::Constant { rate: Rate::mbps(10) });
        let load = Load::Frames(load);
        let flow = FlowSpec::new(Direction::Upload, Family::Ipv4, Dscp::BEST_EFFORT, load);
        let payload = payload_share(&flow);
        for interval_ms in [500, 1000, 2000] {
            let flow = flow.clone();
            let timing = Timing {
                warm_up: Duration::ZERO,
                steady: Duration::from_secs(10),
                settle: Duration::ZERO,
            };
            let trial = Trial { name: "constant".into(), flows: vec![flow], timing };
            let mut progress = Progress::of(&trial, Duration::from_millis(interval_ms));
            let mut lines = Vec::new();
            for place in 0..67 {
                let at = SLOT * place;
                let sends = SLOT.min(Duration::from_secs(10).saturating_sub(at));
                let bytes = (10e6 / 8.0 * sends.as_secs_f64() / payload) as u64;
                // As across real frames, where the last slot lasts until all is over.
                let lasts = if sends < SLOT { sends + Duration::from_secs(1) } else { SLOT };
                let slot = Sample { at, lasts, received_bytes: Some(bytes), ..Sample::default() };
                lines.extend(progress.on_sample(0, &slot));
            }
            lines.extend(progress.rest());
            assert_eq!(lines.len() as u64, 10_000 / interval_ms);
            for line in lines {
                assert!((bps(&line) / 10e6 - 1.0).abs() < 0.01, "{interval_ms} ms: {line}");
            }
        }
    }
}
