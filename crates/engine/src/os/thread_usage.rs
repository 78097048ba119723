//! What the calling thread got of a processor, and what it was kept waiting for one.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use fp_model::Time;
use rustix::time::{ClockId, clock_gettime};

use super::clock;

/// Watches the thread that made it.
#[derive(Debug)]
pub(crate) struct ThreadUsage {
    began_at: Time,
    processor_at_begin: Duration,
    /// Where the kernel keeps no such statistics stalls stay unknown: zero.
    schedule: Option<File>,
    waited: Duration,
    longest_stall: Duration,
}

impl ThreadUsage {
    pub(crate) fn begin() -> Self {
        let schedule = File::open("/proc/thread-self/schedstat").ok();
        let mut usage = Self {
            began_at: clock::now(),
            processor_at_begin: processor_time(),
            schedule,
            waited: Duration::ZERO,
            longest_stall: Duration::ZERO,
        };
        usage.waited = usage.waited_now();
        usage
    }

    /// To be called several times a second: what was waited since the last time bounds a stall.
    pub(crate) fn look(&mut self) {
        let waited = self.waited_now();
        self.longest_stall = self.longest_stall.max(waited.saturating_sub(self.waited));
        self.waited = waited;
    }

    pub(crate) const fn longest_stall(&self) -> Duration {
        self.longest_stall
    }

    /// The share of one processor that the thread has used, 0 to 1.
    pub(crate) fn processor_share(&self) -> f64 {
        let passed = clock::now().since(self.began_at);
        let used = processor_time().saturating_sub(self.processor_at_begin);
        if passed.is_zero() { 0.0 } else { (used.as_secs_f64() / passed.as_secs_f64()).min(1.0) }
    }

    /// Time spent ready to run but not running: the second number of schedstat.
    fn waited_now(&self) -> Duration {
        let mut text = [0; 128];
        let count = self.schedule.as_ref().and_then(|file| file.read_at(&mut text, 0).ok());
        let text = std::str::from_utf8(&text[..count.unwrap_or(0)]).unwrap_or("");
        let waited_ns = text.split_ascii_whitespace().nth(1).and_then(|ns| ns.parse().ok());
        Duration::from_nanos(waited_ns.unwrap_or(0))
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Processor time starts at zero and grows.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
