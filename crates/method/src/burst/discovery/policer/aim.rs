//! How trains that meet a bucket are sent.

use core::time::Duration;

use fp_model::BurstReport;

use super::super::{Burst, Quiet, seconds};
use super::seen::arrival_spacing;
use super::{BELOW_THE_LINE, FASTER_LEAST, Measured, PAUSE_MAX, WIDTH};
use crate::infer::bucket::Fates;

/// A train is longer by this factor than one that empties a bucket as deep as is expected.
pub(crate) const EMPTIES: f64 = 1.2;
/// Frames are offered at this multiple of the bucket's rate where the line carries it: two of three are refused.
pub(super) const FASTER: f64 = 3.0;
/// Frames of a train: when the bucket has won a frame is known to the distance of two frames at both
/// ends, so that the rate is known to one part in this number.
const FRAMES: f64 = 10_000.0;
/// Behind the knee each frame that passes is a run of its own, and a far end keeps 200,000 of them.
const WATCHED_FRAMES_MAX: f64 = 100_000.0;
/// Before it up to 32 of them are one run: with frames of 1,500 bytes these are 750 MB.
pub(crate) const FRAMES_MAX: f64 = 500_000.0;
/// Frames that an empty bucket wins during a train, or the time for which it is watched: with the
/// second length of frames that is a rate to 1 %.
const REFILLS: f64 = 100.0;
const WATCHED_S: f64 = 0.1;
/// Where frames come less evenly than planned, an empty bucket is watched longer for an interval of this share
/// of its rate.
const UNEVEN_WIDTH: f64 = 0.002;
const WATCHED_MAX_S: f64 = 2.0;
/// A pause fills a bucket of a few frames at any rate that a search finds.
pub(super) const PAUSE_LEAST_S: f64 = 0.2;
/// The next pause is longer by more than what surely fills a bucket.
pub(super) const FILLS: f64 = 1.1;
/// How often a train that no bucket explains, or whose frames wait in front of one, is sent again with a
/// third of the excess over the bucket's rate: a 27th of it at last.
const SLOWER: u32 = 3;
/// A train is repeated that a bucket explains only with more slack, in frames, where the sender does not
/// know exactly enough when its frames left: less is within the interval of the depth.
const SLACK_FRAMES: f64 = 0.5;

/// How the next train is sent, by what the trains before it showed.
pub(super) struct Aim {
    /// The rate and the depth of the bucket, in frames.
    pub(super) frames_s: f64,
    pub(super) held: f64,
    /// Frames per second of the slowest line in front of the bucket.
    pub(super) line: f64,
    pub(super) pause_s: f64,
    /// How long frames may still be queued when a train has ended.
    pub(super) queued: Duration,
    /// Frames that are sent in a second, where the trains are not to choose.
    pub(super) offered: Option<f64>,
    /// What overflows at the rate of a train may be a queue where this is not known.
    pub(super) is_policer: bool,
    /// For how long the empty bucket is watched, at least.
    pub(super) watched_s: f64,
    /// What the rate delivers at least.
    pub(super) expected: f64,
    pub(super) respaced: bool,
    pub(super) slower: u32,
}

impl Aim {
    pub(super) fn new(
        [frames_s, held, line]: [f64; 3],
        full: bool,
        settles_s: f64,
        quiet: &Quiet,
    ) -> Self {
        let pause_s = if full { (held / frames_s).max(PAUSE_LEAST_S) } else { PAUSE_LEAST_S };
        let held = if full { held } else { held.min(frames_s * (pause_s + settles_s)) };
        let line = if line < 1.05 * frames_s { f64::INFINITY } else { line };
        let expected = frames_s * (1.0 - quiet.loss());
        Self {
            frames_s,
            held,
            line,
            pause_s,
            queued: Duration::ZERO,
            offered: None,
            is_policer: true,
            watched_s: WATCHED_S,
            expected,
            respaced: false,
            slower: 0,
        }
    }

    /// A train as fast as shows the bucket exactly, within what a line carries.
    pub(super) fn burst(&mut self, frame_bytes: u32) -> Burst {
        let Self { frames_s, held, line, .. } = *self;
        let watched = (REFILLS / frames_s).max(self.watched_s);
        let shows_best = (FASTER * frames_s).max(FRAMES / watched.max(held / frames_s));
        let wanted = self.offered.unwrap_or(shows_best);
        let offered = wanted.min(BELOW_THE_LINE * line).max(FASTER_LEAST * frames_s);
        let longest = PAUSE_MAX.as_secs_f64();
        let empties = (EMPTIES * held / (offered - frames_s)).min(longest);
        let watched = watched.min(WATCHED_FRAMES_MAX / offered);
        self.pause_s = self.pause_s.min(longest);
        Burst {
            frame_bytes,
            frames: (offered * (empties + watched)).min(FRAMES_MAX) as u32,
            frames_s: Some(offered),
            pause: seconds(self.pause_s),
            queued: self.queued,
        }
    }

    /// Whether a line in front of the bucket that is slower than the train spaced the frames itself,
    /// for the first time.
    pub(super) fn meets_a_slower_line(&mut self, report: &BurstReport, fates: &Fates) -> bool {
        let came = arrival_spacing(report).unwrap_or(0.0);
        let is_slower = came > 1.02 * fates.spacing()
            && 0.9 / came > FASTER_LEAST * self.frames_s
            && self.line * came > 1.0;
        let is_first = is_slower && !self.respaced;
        if is_slower {
            (self.line, self.respaced) = (1.0 / came, true);
        }
        is_first
    }

    pub(super) fn is_longest(&self, burst: Burst) -> bool {
        f64::from(burst.frames) >= FRAMES_MAX || self.pause_s >= PAUSE_MAX.as_secs_f64()
    }

    pub(super) fn lengthen(&mut self) {
        self.held *= 4.0;
        self.pause_s = (1.2 * self.held / self.frames_s).max(self.pause_s);
    }

    /// Whether too little is behind the knee: now it is known where that is.
    pub(super) fn shows_too_little(&mut self, burst: Burst, fates: &Fates, quiet: &Quiet) -> bool {
        let knee = fates.knee(quiet);
        let behind = fates.passed(knee.frame);
        if behind >= REFILLS / 3.0 || f64::from(burst.frames) >= FRAMES_MAX {
            return false;
        }
        let passes = fates.passes(quiet).estimate;
        let forgiven = knee.passed - passes * fates.at(knee.frame);
        self.held = (1.2 * forgiven).max(1.5 * self.held);
        self.frames_s = passes.min(self.frames_s).max(0.1 * self.frames_s);
        self.pause_s = (1.2 * self.held / self.frames_s).max(self.pause_s);
        true
    }

    pub(super) fn has_to_be_repeated(&mut self, measured: &Measured) -> bool {
        if self.slower == SLOWER {
            return false;
        }
        let sent = 1.0 / measured.fates.spacing();
        // Where frames wait in front of the bucket, it has won tokens meanwhile.
        let waits = (measured.waited.0 - measured.waited.1) * measured.passes.estimate;
        let waits = self.is_policer && waits > SLACK_FRAMES;
        if (measured.likely().is_empty() || waits) && sent > 1.1 * self.expected {
            // Two buckets, or a queue that overflows at such a rate.
            self.slower += 1;
            self.line = (self.expected + (sent - self.expected) / 3.0) / BELOW_THE_LINE;
            self.frames_s = measured.passes.estimate.max(self.expected);
            self.pause_s += 0.5;
            return true;
        }
        let unsure = measured.fates.unsure * measured.passes.estimate;
        let slack = measured.likely().iter().map(|fit| fit.slack).reduce(f64::min).unwrap_or(0.0);
        let is_unsure = unsure > SLACK_FRAMES && slack > SLACK_FRAMES;
        self.slower += u32::from(is_unsure);
        is_unsure
    }

    /// Whether the bucket is watched once more, and for how long.
    pub(super) fn watches_longer(&mut self, measured: &Measured) -> bool {
        let is_first = self.watched_s == WATCHED_S;
        let uneven = measured.likely().iter().all(|fit| fit.slack > 0.0);
        let (rate, depth) = (measured.rate(), measured.depth());
        // No time tells when the first frame left.
        let untold = 2.0 * measured.fates.unsure * rate.estimate / depth.estimate;
        let rate = rate.width() / if uneven { UNEVEN_WIDTH } else { WIDTH };
        let vague = rate.max((depth.width() - untold) / WIDTH);
        let is_vague = vague > 1.0;
        let wanted = (self.watched_s * vague).min(WATCHED_MAX_S);
        self.watched_s = self.watched_s.max(wanted);
        if measured.rate_with_room().is_none() {
            // Fewer frames in a second leave less room.
            self.offered = Some(1.0 / measured.fates.spacing());
        }
        is_first && is_vague && !measured.likely().is_empty()
    }

    /// The next train meets a bucket that may be deeper than this one showed. The pauses double, so
    /// that all of them take four fill times at most until one is long enough.
    pub(super) fn follow(&mut self, measured: &Measured, fills_s: f64) {
        self.frames_s = measured.rate().estimate;
        self.held = 1.5 * (1.1 * measured.depth().estimate + 3.0);
        self.pause_s = (2.0 * self.pause_s).max(FILLS * fills_s);
    }
}
