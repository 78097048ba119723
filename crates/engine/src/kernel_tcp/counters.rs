//! What the sender's kernel knows of a connection, and what changed during the steady time.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::sockopt;

use crate::half::TcpSenderConnection;
use crate::os::tcp::{self, TcpInfo};

/// The counters of one sending connection through a trial.
#[derive(Debug)]
pub(super) struct Counters {
    start: TcpInfo,
    steady_start: TcpInfo,
    steady_end: TcpInfo,
    pub(super) latest: TcpInfo,
    window_max_bytes: u32,
    sent_segments: Segments,
    rtt_sum_us: u64,
    rtt_samples: u64,
}

impl Counters {
    /// Of a connection that has carried nothing of the trial yet.
    pub(super) fn new(stream: &TcpStream) -> io::Result<Self> {
        let start = tcp::info(stream)?;
        Ok(Self {
            start,
            steady_start: start,
            steady_end: start,
            latest: start,
            window_max_bytes: 0,
            sent_segments: Segments::default(),
            rtt_sum_us: 0,
            rtt_samples: 0,
        })
    }

    //= rfc6349 4.3
    /// Reads the kernel's counters once; what is read in the steady time enters the mean round-trip time.
    pub(super) fn sample(&mut self, stream: &TcpStream, steady: bool) -> io::Result<()> {
        let before = self.latest.data_segs_out;
        self.latest = tcp::info(stream)?;
        if steady {
            self.sent_segments.add(before, self.latest.data_segs_out);
            self.window_max_bytes = self.window_max_bytes.max(self.latest.snd_wnd_bytes);
            if self.latest.rtt_us > 0 {
                self.rtt_sum_us += u64::from(self.latest.rtt_us);
                self.rtt_samples += 1;
            }
        }
        Ok(())
    }

    pub(super) fn begin_steady(&mut self) {
        self.steady_start = self.latest;
        self.steady_end = self.latest;
    }

    pub(super) fn end_steady_slot(&mut self) {
        self.steady_end = self.latest;
    }

    /// Since the start of the trial.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.latest.sent_bytes - self.start.sent_bytes
    }

    /// Since the start of the trial.
    pub(super) fn retransmitted_bytes(&self) -> u64 {
        self.latest.retransmitted_bytes - self.start.retransmitted_bytes
    }

    pub(super) fn rtt(&self) -> Option<Duration> {
        let rtt_us = u64::from(self.latest.rtt_us);
        (rtt_us > 0).then(|| Duration::from_micros(rtt_us))
    }

    pub(super) fn cwnd_bytes(&self) -> u64 {
        u64::from(self.latest.snd_cwnd_segments) * u64::from(self.latest.snd_mss_bytes)
    }

    //= rfc6349 4.2
    /// What changed from the first to the last cut of the steady time.
    pub(super) fn steady(&self, stream: &TcpStream) -> TcpSenderConnection {
        let (from, to) = (&self.steady_start, &self.steady_end);
        let min_rtt_ns = u64::from(to.min_rtt_us) * 1000;
        TcpSenderConnection {
            transmitted_bytes: to.sent_bytes - from.sent_bytes,
            retransmitted_bytes: to.retransmitted_bytes - from.retransmitted_bytes,
            rtt_mean_ns: (self.rtt_sum_us * 1000).checked_div(self.rtt_samples),
            rtt_min_ns: (to.min_rtt_us < u32::MAX).then_some(min_rtt_ns),
            window_effective_bytes: positive(u64::from(self.window_max_bytes)),
            sent_segments: self.sent_segments.known(),
            segment_bytes: (to.snd_mss_bytes > 0).then_some(to.snd_mss_bytes),
            congestion_control: sockopt::tcp_congestion(stream).unwrap_or_default(),
            receive_window_limited_ns: Some((to.rwnd_limited_us - from.rwnd_limited_us) * 1000),
            send_buffer_limited_ns: Some((to.sndbuf_limited_us - from.sndbuf_limited_us) * 1000),
            busy_ns: Some((to.busy_us - from.busy_us) * 1000),
        }
    }
}

/// A sum of what a counter of 32 bits has counted from one look at it to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segments(u64);

impl Segments {
    pub(super) fn add(&mut self, before: u32, now: u32) {
        self.0 += u64::from(now.wrapping_sub(before));
    }

    pub(super) fn known(self) -> Option<u64> {
        positive(self.0)
    }
}

/// A kernel that does not know a figure leaves it at 0.
fn positive(value: u64) -> Option<u64> {
    (value > 0).then_some(value)
}
