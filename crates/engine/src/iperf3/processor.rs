//! What a test cost this host: processor time of the whole process, as iperf3 tells it.

use std::fs;

use fp_model::Time;
use rustix::param::clock_ticks_per_second;

use crate::os::clock;

/// The process at one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessorTime {
    at: Time,
    /// Seconds; zero where the kernel does not tell.
    user_s: f64,
    system_s: f64,
}

/// Percent of one processor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessorUse {
    pub user_percent: f64,
    pub system_percent: f64,
}

impl ProcessorTime {
    pub(super) fn now() -> Self {
        let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let (user_s, system_s) = times_in(&text).unwrap_or_default();
        Self { at: clock::now(), user_s, system_s }
    }

    pub(super) fn used_until(self, later: Self) -> ProcessorUse {
        let passed_s = later.at.since(self.at).as_secs_f64();
        if passed_s == 0.0 {
            return ProcessorUse::default();
        }
        ProcessorUse {
            user_percent: (later.user_s - self.user_s) / passed_s * 100.0,
            system_percent: (later.system_s - self.system_s) / passed_s * 100.0,
        }
    }
}

impl ProcessorUse {
    pub const fn total_percent(self) -> f64 {
        self.user_percent + self.system_percent
    }
}

/// Fields 14 and 15 of /proc/PID/stat; the second field, a name in brackets, may hold anything.
fn times_in(stat: &str) -> Option<(f64, f64)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let (user, system) = (ticks.next()?.ok()?, ticks.next()?.ok()?);
    let per_second = clock_ticks_per_second() as f64;
    Some((user as f64 / per_second, system as f64 / per_second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let stat = "12 (a) 9 9 (b) S 1 12 12 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0";
        let ticks = clock_ticks_per_second() as f64;
        assert_eq!(times_in(stat), Some((250.0 / ticks, 50.0 / ticks)));
        assert_eq!(times_in("12 (cut) S 1"), None);
    }

    #[test]
    fn half_a_second_of_two_is_a_quarter() {
        let then = ProcessorTime { at: Time::ZERO, user_s: 1.0, system_s: 2.0 };
        let at = Time::from_nanos(2_000_000_000);
        let used = then.used_until(ProcessorTime { at, user_s: 1.5, system_s: 2.1 });
        assert!((used.user_percent - 25.0).abs() < 1e-9, "{used:?}");
        assert!((used.total_percent() - 30.0).abs() < 1e-9, "{used:?}");
        assert_eq!(then.used_until(then), ProcessorUse::default());
    }
}
