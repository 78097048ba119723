//! A trial of frames at an even rate.

use core::time::Duration;

use fp_model::SentBy;
use fp_model::figure::{Cell, Column, Info, Unit, infos};

use super::FrameRate;
use crate::tester::TOLERATED;

/// One trial, both ways together where frames went both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialRow {
    /// What was to be sent, each way.
    pub offered: FrameRate,
    pub lasts: Duration,
    pub planned_frames: u64,
    pub sent_frames: u64,
    pub received_frames: u64,
    /// By the ends themselves.
    pub dropped_by_tester: u64,
    pub out_of_order_frames: Option<u64>,
    pub duplicate_frames: Option<u64>,
    /// Of two ways the slower one.
    pub sent_by: SentBy,
    pub passed: bool,
    /// The tester could not send or receive it as planned, however often it was tried.
    pub tester_limit: bool,
    /// Times that it was tried before, because the tester had spoilt it.
    pub repeats: u32,
    /// At the length that the plan asks of the final determination.
    pub confirmation: bool,
}

impl TrialRow {
    //= rfc2544 26.3
    pub fn loss_percent(&self) -> f64 {
        let lost = self.sent_frames.saturating_sub(self.received_frames);
        100.0 * lost as f64 / self.sent_frames.max(1) as f64
    }

    /// Whether the tester is why it failed: it could not send or receive as planned, and the network
    /// lost no larger share of what was sent than the tester left unsent.
    pub(in crate::rfc2544) fn failed_by_tester(&self) -> bool {
        let lost = self.sent_frames.saturating_sub(self.received_frames);
        let in_network = lost.saturating_sub(self.dropped_by_tester) as f64;
        let unsent = self.planned_frames.saturating_sub(self.sent_frames) as f64;
        let share_lost = in_network / self.sent_frames.max(1) as f64;
        let share_unsent = unsent / self.planned_frames.max(1) as f64;
        self.tester_limit && share_lost <= share_unsent + TOLERATED
    }
}

pub(super) const TRIAL: &[Column<TrialRow>; 15] = &[
    Info::new("rate_l1_bps", "rate (l1)", Unit::Rate).of(|trial| trial.offered.rate_l1.into()),
    Info::new("rate_fps", "frames/s", Unit::PerSecond)
        .of(|trial| trial.offered.frames_per_second().into()),
    Info::new("duration_s", "took", Unit::Seconds).of(|trial| Cell::s(trial.lasts)),
    Info::new("planned_frames", "planned", Unit::Count).of(|trial| trial.planned_frames.into()),
    Info::new("sent_frames", "sent", Unit::Count).of(|trial| trial.sent_frames.into()),
    Info::new("received_frames", "received", Unit::Count).of(|trial| trial.received_frames.into()),
    Info::new("loss_percent", "lost", Unit::Percent(3)).of(|trial| trial.loss_percent().into()),
    Info::new("dropped_by_tester_frames", "dropped by the tester", Unit::Count)
        .of(|trial| trial.dropped_by_tester.into()),
    Info::new("out_of_order_frames", "out of order", Unit::Count)
        .of(|trial| trial.out_of_order_frames.into()),
    Info::new("duplicate_frames", "duplicates", Unit::Count)
        .of(|trial| trial.duplicate_frames.into()),
    Info::new("sent_by", "sent by", Unit::Word).of(|trial| match trial.sent_by {
        SentBy::UdpSocket => "udp_socket".into(),
        SentBy::PacketSocket => "packet_socket".into(),
    }),
    Info::new("pass", "passed", Unit::Flag).of(|trial| trial.passed.into()),
    Info::new("tester_limit", "tester limit", Unit::Flag).of(|trial| trial.tester_limit.into()),
    Info::new("repeats", "repeats", Unit::Count).of(|trial| trial.repeats.into()),
    Info::new("final", "final", Unit::Flag).of(|trial| trial.confirmation.into()),
];

pub(super) static TRIALS: &[Info] = INFOS;
pub(super) const INFOS: &[Info; 15] = &infos(TRIAL);
