//! How much of each processor others take, seen by threads that sleep and are woken late.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use fp_model::Time;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::StopFlag;
use crate::os::{clock, schedule};

/// One processor while it was watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Processor {
    pub number: u32,
    /// How late a thread was woken: in 99 of 100 cases at most, and the worst.
    pub late_p99: Duration,
    pub late_max: Duration,
    /// The share of the time for which a thread was kept waiting beyond what a wake-up takes, 0 to 1.
    pub taken_share: f64,
    /// The share that the hypervisor gave to other machines; `None` where the kernel does not say.
    pub stolen_share: Option<f64>,
}

/// Between two wake-ups, which a stall of this length cannot hide behind.
const NAP: Duration = Duration::from_millis(1);

/// Watches every processor that this process may use, all at once.
///
/// # Errors
/// Where the kernel names no processors or gives no threads.
pub fn processors(lasts: Duration, stop: &StopFlag) -> io::Result<Vec<Processor>> {
    let allowed = sched_getaffinity(None)?;
    let numbers: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|at| allowed.is_set(*at)).collect();
    let before = Stolen::read();
    let until = clock::now() + lasts;
    let watched: Vec<io::Result<Vec<Duration>>> = thread::scope(|scope| {
        let threads: Vec<_> = numbers
            .iter()
            .map(|number| scope.spawn(move || lateness(*number, until, stop)))
            .collect();
        let ends = threads.into_iter().map(thread::ScopedJoinHandle::join);
        ends.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let after = Stolen::read();
    let found = numbers.iter().zip(watched).map(|(number, late)| {
        let stolen_share = share(before.get(*number), after.get(*number));
        Ok(processor(*number, late?, stolen_share))
    });
    found.collect()
}

/// Of each wake-up of a thread that only sleeps, pinned to a processor.
fn lateness(number: usize, until: Time, stop: &StopFlag) -> io::Result<Vec<Duration>> {
    let mut only = CpuSet::new();
    only.set(number);
    sched_setaffinity(None, &only)?;
    // Where the kernel refuses, timers are up to 50 µs late, as they are for every measurement.
    let _ = schedule::wake_on_time();
    let mut late = Vec::new();
    let mut now = clock::now();
    while now < until && !stop.is_set() {
        let due = now + NAP;
        clock::sleep_until(due);
        now = clock::now();
        late.push(now.since(due));
    }
    Ok(late)
}

fn processor(number: usize, mut late: Vec<Duration>, stolen_share: Option<f64>) -> Processor {
    late.sort_unstable();
    // An idle processor takes some time to wake a thread, too: half of the wake-ups met nothing else.
    let usual = late.get(late.len() / 2).copied().unwrap_or_default();
    let waited: Duration = late.iter().map(|late| late.saturating_sub(usual)).sum();
    let watched =
        NAP * u32::try_from(late.len()).unwrap_or(u32::MAX) + late.iter().sum::<Duration>();
    let rank = (late.len() * 99).div_ceil(100).saturating_sub(1);
    Processor {
        number: u32::try_from(number).unwrap_or(u32::MAX),
        late_p99: late.get(rank).copied().unwrap_or_default(),
        late_max: late.last().copied().unwrap_or_default(),
        taken_share: if watched.is_zero() { 0.0 } else { waited.div_duration_f64(watched) },
        stolen_share,
    }
}

/// Ticks of one processor since the host began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stolen {
    stolen: u64,
    all: u64,
}

impl Stolen {
    /// By the processor's number.
    fn read() -> Vec<Self> {
        Self::of(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal.
    fn of(text: &str) -> Vec<Self> {
        let lines = text.lines().filter_map(|line| {
            let (name, counts) = line.split_once(' ')?;
            let number: usize = name.strip_prefix("cpu")?.parse().ok()?;
            let counts = counts.split_ascii_whitespace().take(8).map(str::parse);
            let counts: Vec<u64> = counts.collect::<Result<_, _>>().ok()?;
            Some((number, Self { stolen: *counts.get(7)?, all: counts.iter().sum() }))
        });
        let mut found = Vec::new();
        for (number, ticks) in lines {
            found.resize(found.len().max(number + 1), Self { stolen: 0, all: 0 });
            found[number] = ticks;
        }
        found
    }
}

fn share(before: Option<&Stolen>, after: Option<&Stolen>) -> Option<f64> {
    let (before, after) = (before?, after?);
    let all = after.all.checked_sub(before.all).filter(|all| *all > 0)?;
    Some(after.stolen.saturating_sub(before.stolen) as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 100 ticks in between, 5 were stolen from the second processor.
    #[test]
    fn what_the_hypervisor_took_is_a_share_of_all_ticks_of_a_processor() {
        let before = "cpu 9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 80 0 0 0 0 0 0\n\
                      cpu1 10 0 10 70 0 0 0 10 0 0\nintr 5\n";
        let after = "cpu 9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 180 0 0 0 0 0 0\n\
                     cpu1 60 0 10 115 0 0 0 15 0 0\nintr 9\n";
        let (before, after) = (Stolen::of(before), Stolen::of(after));
        assert_eq!(share(before.first(), after.first()), Some(0.0));
        assert_eq!(share(before.get(1), after.get(1)), Some(0.05));
        assert_eq!(share(before.get(2), after.get(2)), None);
    }

    #[test]
    fn what_every_wake_up_takes_nobody_else_has_taken() {
        let seen = processor(0, vec![Duration::from_micros(50); 1000], None);
        assert_eq!(seen.late_max, Duration::from_micros(50));
        assert!(seen.taken_share == 0.0, "{seen:?}");
    }

    /// 99 wake-ups at their time and one 9 ms late: 9 of 109 ms were taken.
    #[test]
    fn a_single_stall_is_the_worst_and_no_percentile() {
        let mut late = vec![Duration::ZERO; 99];
        late.push(Duration::from_millis(9));
        let seen = processor(3, late, None);
        assert_eq!((seen.late_p99, seen.late_max), (Duration::ZERO, Duration::from_millis(9)));
        assert!((seen.taken_share - 9.0 / 109.0).abs() < 1e-9, "{seen:?}");
    }
}
