//! What both ends report of a burst, as its buckets see it.

use alloc::vec;
use alloc::vec::Vec;

use fp_model::{BurstReport, BurstsReport, Dscp};

use super::super::{Quiet, arrivals, mean_spacing};
use super::Measured;
use crate::burst::SecondBucket;
use crate::infer::bucket::{Fate, Fates, Lost};
use crate::infer::departures::{departures, lateness, unsure};

/// Which of the frames that arrived a bucket let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granted {
    /// All that any bucket let pass.
    ByAny,
    /// Those marked as the first one: another bucket marks what it lets pass.
    AsTheFirst,
    /// Those marked so.
    As(Dscp),
}

/// What became of the frames of a burst, which a line may have sent `slot` seconds apart.
pub(super) fn fates(report: &BurstReport, granted: Granted, slot: f64, quiet: &Quiet) -> Fates {
    let left = departures(report);
    let (of, late, unsure) = (fates_of(report, granted), vec![0.0; left.len()], unsure(report));
    let mut fates = Fates { of, late, left, unsure, uneven: unsure };
    let frames_s = fates.passes(quiet).estimate;
    fates.uneven += quiet.delayed(frames_s) / frames_s.max(1.0);
    // What is sent faster than that is spaced by something else.
    let slot = if slot < fates.spacing() { slot } else { 0.0 };
    Fates { late: lateness(report, &fates.left, slot), ..fates }
}

fn fates_of(report: &BurstReport, granted: Granted) -> Vec<Fate> {
    let mut of = vec![Fate::Missing; report.sent_frames as usize];
    let plain = report.arrived.first().and_then(|run| run.dscp);
    for run in &report.arrived {
        let fate = match granted {
            Granted::ByAny => Fate::Arrived,
            Granted::AsTheFirst if run.dscp == plain => Fate::Arrived,
            Granted::AsTheFirst => Fate::Missing,
            Granted::As(dscp) if run.dscp == Some(dscp) => Fate::Arrived,
            Granted::As(_) => Fate::Elsewhere,
        };
        let frames = run.first as usize..(run.first + run.frames) as usize;
        if let Some(frames) = of.get_mut(frames) {
            frames.fill(fate);
        }
    }
    for twice in &report.twice {
        if let Some(fate) = of.get_mut(*twice as usize).filter(|fate| **fate == Fate::Arrived) {
            *fate = Fate::Twice;
        }
    }
    of
}

/// By how much longer the last third of a burst was under way than what came long before its knee, and three
/// standard errors of that.
pub(super) fn waited(report: &BurstReport, knee: usize, quiet: &Quiet) -> (f64, f64) {
    let curve = arrivals(report);
    let left = departures(report);
    let mean = |from: u32, to: u32| {
        let points = curve.iter().filter(|point| (from..to).contains(&point.frame));
        let delays: Vec<f64> =
            points.filter_map(|point| Some(point.at - left.get(point.frame as usize)?)).collect();
        (delays.iter().sum::<f64>() / delays.len().max(1) as f64, delays.len().max(1) as f64)
    };
    let first = mean(0, (knee as u32 / 3).max(1));
    let last = mean(report.sent_frames * 2 / 3, report.sent_frames);
    let error = quiet.scatter() * libm::sqrt(1.0 / first.1 + 1.0 / last.1);
    (last.0 - first.0, 3.0 * error + quiet.sooner(first.1) + 1e-6)
}

/// Seconds from one frame to the next, by when those arrived that did.
pub(super) fn arrival_spacing(report: &BurstReport) -> Option<f64> {
    mean_spacing(&arrivals(report))
}

/// Code points of frames that came marked otherwise than the first of their burst.
pub(super) fn marked(seen: &BurstsReport) -> Vec<Dscp> {
    let mut found = Vec::new();
    for burst in &seen.bursts {
        let plain = burst.arrived.first().and_then(|run| run.dscp);
        for dscp in burst.arrived.iter().filter_map(|run| run.dscp) {
            if Some(dscp) != plain && !found.contains(&dscp) {
                found.push(dscp);
            }
        }
    }
    found
}

/// The excess bucket, by the frames that it marks.
pub(super) fn excess(long: &Measured, marked: &[Dscp], charged: f64) -> Option<SecondBucket> {
    let marked = *marked.first()?;
    let of = fates_of(long.seen.bursts.first()?, Granted::As(marked));
    let (dscp, fates) = (Some(marked), Fates { of, ..long.fates.clone() });
    let everything = SecondBucket { rate_bps: None, depth_bytes: None, dscp };
    if !fates.is_refused(&long.quiet) {
        return Some(everything);
    }
    let fit = fates.explained(fates.passes(&long.quiet), &long.quiet, Lost::Behind);
    // One without room passes one of each few frames at any rate.
    let has_room = fit.filter(|fit| fates.find_room_in(fit.frames, fit.frames_s));
    let fit = has_room.filter(|fit| fit.is_likely(&long.quiet));
    let Some(fit) = fit else { return Some(everything) };
    Some(SecondBucket {
        rate_bps: Some(fit.frames_s.scaled(8.0 * charged)),
        depth_bytes: Some(fit.frames.scaled(charged)),
        dscp,
    })
}
