//! Section 26.3: what is lost at the highest rate and at lower ones.

use alloc::vec::Vec;

use fp_model::Abort;

use super::line::Line;
use super::offer::Offer;
use super::steps::FrameLoss;
use super::{Run, Step, Way};

/// The test ends after so many trials in a row that lost nothing.
const CLEAN_TRIALS: usize = 2;

//= rfc2544 26.3
pub(super) fn frame_loss(
    run: &mut Run<'_>,
    way: Way,
    line: Line,
    frame_bytes: u32,
) -> Result<(), Abort> {
    let highest = line.highest(frame_bytes);
    let step = run.plan.loss_step_percent;
    let mut trials = Vec::new();
    let shares = (0..).map(|place| 100.0 - f64::from(place) * step);
    for percent in shares.take_while(|percent| *percent > 0.0) {
        let rate = highest.with_rate(highest.rate_l1.scaled(percent / 100.0));
        let lasts = run.plan.durations.trial;
        let offer = Offer { purpose: "frame loss", ..Offer::plain(way, rate, lasts) };
        let seen = run.offer(&offer)?;
        let row = seen.row(run.plan.accepted_loss_ratio);
        run.health.spoilt_trials += u32::from(row.tester_limit && seen.dropped_by_tester > 0);
        trials.push(row);
        let clean = trials.iter().rev().take_while(|row| row.loss_percent() == 0.0).count();
        if clean == CLEAN_TRIALS {
            break;
        }
    }
    run.report.steps.push(Step::FrameLoss(FrameLoss { way, frame_bytes, highest, trials }));
    Ok(())
}
