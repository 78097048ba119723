//! Whether ends that stood still can have held TCP connections back.

use core::time::Duration;

use fp_model::{ConnectionReport, Rate};

/// An end that stands still for this share of the time has changed what is carried by as much: no more
/// than the other checks let pass.
pub(crate) const SHARE_MAX: f64 = 0.01;
/// Kernels count what they waited for in ticks of up to 10 ms, one too many at both ends.
const TICKS: Duration = Duration::from_millis(20);
/// A kernel fills its windows with whole segments, which costs small ones 4 % of their rate: up to this
/// a window that decides and one that does not are not told apart.
pub(crate) const WHOLE_SEGMENTS: f64 = 0.05;

/// Connections that began and ended together, and what they carried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connections<'a> {
    pub(crate) each: &'a [ConnectionReport],
    pub(crate) lasts: Duration,
    pub(crate) rate_l4: Rate,
}

/// Up to this nobody can tell a stall from none.
pub(crate) fn longest_unnoticed(steady: Duration) -> Duration {
    steady.mul_f64(SHARE_MAX).max(TICKS)
}

impl Connections<'_> {
    /// For how long they depended on an end that runs; all the time where nothing shows that it was the
    /// network that limited them.
    ///
    /// A thread that waits for a processor changes nothing while the network alone decides: a kernel
    /// goes on sending what it was given and acknowledging what comes. That it was the network shows by
    /// a line that is full, by lost segments, by a queue, or by windows that are used in each round
    /// trip. Then the sender's kernel tells for how long it had nothing to send all the same, no room
    /// for more, or no window, and only for so long an end that stood still can have carried less. What
    /// a kernel holds bridges a stall of up to two round trips.
    pub(crate) fn exposed(&self, is_line_full: bool) -> Duration {
        if !is_line_full && !self.are_limited() {
            return self.lasts;
        }
        let waited = self.each.iter().map(|connection| self.waited_for_ends(connection));
        waited.max().unwrap_or(self.lasts)
    }

    fn are_limited(&self) -> bool {
        let has_lost = |each: &ConnectionReport| each.retransmitted_bytes.is_some_and(|b| b > 0);
        let queued = self.rtt_mean().zip(self.rtt_min()).is_some_and(|(mean, min)| mean >= min * 2);
        queued || self.each.iter().any(has_lost) || self.use_their_windows()
    }

    /// A window that is used in each round trip was given back as soon as it could be.
    fn use_their_windows(&self) -> bool {
        let windows = self.each.iter().map(|each| each.window_effective_bytes);
        let windows: Option<u64> = windows.sum();
        let most = windows.zip(self.rtt_mean()).map(|(bytes, rtt)| Rate::over(bytes, rtt));
        most.is_some_and(|most| self.rate_l4 >= most.scaled(1.0 - WHOLE_SEGMENTS))
    }

    /// Had nothing to send, no room in its buffer or no window; always where its sender does not tell.
    fn waited_for_ends(&self, connection: &ConnectionReport) -> Duration {
        let Some(busy) = connection.busy else { return self.lasts };
        let full = connection.send_buffer_limited.unwrap_or_default();
        let window = connection.receive_window_limited.unwrap_or_default();
        let window = if self.use_their_windows() { Duration::ZERO } else { window };
        (self.lasts.saturating_sub(busy) + full + window).min(self.lasts)
    }

    fn rtt_mean(&self) -> Option<Duration> {
        let known = || self.each.iter().filter_map(|each| each.rtt_mean);
        let sum: Duration = known().sum();
        sum.checked_div(known().count() as u32).filter(|rtt| !rtt.is_zero())
    }

    fn rtt_min(&self) -> Option<Duration> {
        self.each.iter().filter_map(|each| each.rtt_min).min()
    }
}
