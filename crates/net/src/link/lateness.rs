//! How late an emulated network let frames go: the quality of its own timing.

use alloc::boxed::Box;
use alloc::vec;
use core::time::Duration;

use fp_model::Emulation;
use serde::Serialize;

/// Counts of frames by microseconds of lateness; the last slot holds all that were later.
#[derive(Clone, Debug)]
pub struct Lateness {
    frames: Box<[u64]>,
    max: Duration,
    /// How late at most a frame came to the network, after one that had left behind it.
    pub overtaken_max: Duration,
}

/// Of all frames of one direction, between the time at which they were due and the system call
/// that sent them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatenessSummary {
    pub frames: u64,
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
    pub max_us: Option<f64>,
}

const SLOTS: usize = 10_000;

impl Default for Lateness {
    fn default() -> Self {
        Self::new()
    }
}

impl Lateness {
    pub fn new() -> Self {
        Self { frames: vec![0; SLOTS].into(), max: Duration::ZERO, overtaken_max: Duration::ZERO }
    }

    pub fn add(&mut self, late: Duration) {
        let micros = usize::try_from(late.as_micros()).unwrap_or(usize::MAX);
        self.frames[micros.min(SLOTS - 1)] += 1;
        self.max = self.max.max(late);
    }

    pub fn summary(&self) -> LatenessSummary {
        let frames = self.frames.iter().sum();
        if frames == 0 {
            return LatenessSummary::default();
        }
        LatenessSummary {
            frames,
            p50_us: self.percentile(frames, 50),
            p99_us: self.percentile(frames, 99),
            max_us: Some(self.max.as_nanos() as f64 / 1e3),
        }
    }

    /// The frames counted here and there.
    pub fn with(mut self, other: &Self) -> Self {
        for (mine, theirs) in self.frames.iter_mut().zip(&other.frames) {
            *mine += theirs;
        }
        let overtaken_max = self.overtaken_max.max(other.overtaken_max);
        Self { max: self.max.max(other.max), overtaken_max, ..self }
    }

    pub fn emulation(&self) -> Emulation {
        let frames = self.frames.iter().sum();
        let late_p99 = Duration::from_micros(self.percentile(frames, 99).unwrap_or_default());
        Emulation {
            late_p99: late_p99.min(self.max),
            late_max: self.max,
            overtaken_max: self.overtaken_max,
        }
    }

    /// The least slot that `percent` of the frames do not exceed, rounded up to its end.
    fn percentile(&self, frames: u64, percent: u64) -> Option<u64> {
        let rank = (frames * percent).div_ceil(100);
        let mut seen = 0;
        let slot = self.frames.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(slot as u64 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_frames_counted() {
        let mut lateness = Lateness::new();
        assert_eq!(lateness.summary(), LatenessSummary::default());
        for micros in 0..100 {
            lateness.add(Duration::from_micros(micros));
        }
        lateness.add(Duration::from_secs(1));
        let summary = lateness.summary();
        // 101 frames: the 51st was 50 to 51 µs late, the 100th 99 to 100 µs.
        assert_eq!((summary.frames, summary.p50_us, summary.p99_us), (101, Some(51), Some(100)));
        assert_eq!(summary.max_us, Some(1e6));
    }

    #[test]
    fn both_directions_together_are_as_late_as_their_frames() {
        let [mut some, mut other] = [(); 2].map(|()| Lateness::new());
        assert_eq!(some.clone().with(&other).emulation(), Emulation::default());
        for micros in 0..50 {
            some.add(Duration::from_micros(2 * micros));
            other.add(Duration::from_micros(2 * micros + 1));
        }
        other.overtaken_max = Duration::from_millis(3);
        let late = some.with(&other).emulation();
        assert_eq!(late.late_p99, Duration::from_micros(99));
        assert_eq!(late.late_max, Duration::from_micros(99));
        assert_eq!(late.overtaken_max, Duration::from_millis(3));
    }
}
