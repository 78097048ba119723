//! Whether something else kept the processors of this host from a test meanwhile: told by the host
//! itself, by no code of the product.

#![expect(clippy::unwrap_used, reason = "a host without /proc is none that tests run on")]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A timer wakes a thread that only sleeps within tens of microseconds. One that wakes up later than
/// this was kept waiting by whoever had the processor, and so was whoever measured.
const OVERSLEPT_MAX: Duration = Duration::from_millis(2);
/// Processor time of other programs, or that the hypervisor gave to other machines, in percent of one
/// processor. The host counts both in ticks of 10 ms, so that a second of an idle host shows a few.
const FOREIGN_PERCENT_MAX: f64 = 10.0;

/// Watches the host from its start to its end.
#[derive(Debug)]
pub(crate) struct Watch {
    began: Instant,
    busy_before: Busy,
    has_ended: Arc<AtomicBool>,
    sleeper: JoinHandle<Duration>,
}

/// What happened on the host beside the test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) overslept_max: Duration,
    pub(crate) foreign_percent: f64,
}

impl Watch {
    #[expect(
        clippy::disallowed_methods,
        reason = "what is measured is the host, by no code of ours"
    )]
    pub(crate) fn start() -> Self {
        let has_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&has_ended);
        let sleeper = thread::spawn(move || {
            let mut overslept_max = Duration::ZERO;
            while !ended.load(Ordering::Relaxed) {
                overslept_max = overslept_max.max(oversleep());
            }
            overslept_max
        });
        Self { began: Instant::now(), busy_before: Busy::now(), has_ended, sleeper }
    }

    pub(crate) fn end(self) -> Seen {
        self.has_ended.store(true, Ordering::Relaxed);
        let overslept_max = self.sleeper.join().unwrap();
        let foreign_s = Busy::now().foreign_s - self.busy_before.foreign_s;
        let foreign_percent = 100.0 * foreign_s / self.began.elapsed().as_secs_f64();
        Seen { overslept_max, foreign_percent }
    }
}

impl Seen {
    /// How the host was disturbed, as a sentence; `None` where it was quiet.
    pub(crate) fn disturbance(&self) -> Option<String> {
        let Self { overslept_max, foreign_percent } = *self;
        let is_quiet = overslept_max <= OVERSLEPT_MAX && foreign_percent <= FOREIGN_PERCENT_MAX;
        (!is_quiet).then(|| {
            format!(
                "a thread that slept woke up {:.1} ms late, and other programs used {:.0} % of a \
                 processor",
                overslept_max.as_secs_f64() * 1e3,
                foreign_percent.max(0.0)
            )
        })
    }
}

/// How much longer than it wanted this thread has slept.
#[expect(clippy::disallowed_methods, reason = "what is measured is the host, by no code of ours")]
fn oversleep() -> Duration {
    const NAP: Duration = Duration::from_millis(2);
    let began = Instant::now();
    thread::sleep(NAP);
    began.elapsed() - NAP
}

/// Processor time since the host started that is not this process's, nor its children's.
#[derive(Clone, Copy, Debug)]
struct Busy {
    foreign_s: f64,
}

impl Busy {
    fn now() -> Self {
        /// `USER_HZ`, the same on every architecture that Rust's standard library runs on.
        const TICKS_PER_S: f64 = 100.0;
        let host = fs::read_to_string("/proc/stat").unwrap();
        let [user, nice, system, _idle, _wait, _irq, _soft_irq, stolen] =
            numbers::<8>(host.lines().next().unwrap().trim_start_matches("cpu"));
        let process = fs::read_to_string("/proc/self/stat").unwrap();
        // The name of the program may have spaces; eleven fields stand between it and the times.
        let after_name = process.rsplit(')').next().unwrap();
        let own: u64 = numbers::<15>(after_name)[11..].iter().sum();
        Self { foreign_s: ((user + nice + system + stolen) as f64 - own as f64) / TICKS_PER_S }
    }
}

/// The first words of a line as numbers; one that is no number, or negative, counts as nothing.
fn numbers<const COUNT: usize>(line: &str) -> [u64; COUNT] {
    let mut words = line.split_whitespace();
    std::array::from_fn(|_| words.next().unwrap().parse().unwrap_or(0))
}
