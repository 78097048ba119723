//! The service performance test: all services at once, each at its CIR.

use core::time::Duration;

use fp_model::Abort;

use super::steps::{Offered, Step};
use super::{Run, offer, step};
use crate::tester::REPEATS;

/// A longer test is not repeated for the tester's sake: it is said to be spoilt at once.
const REPEATED_UP_TO: Duration = Duration::from_secs(60);

pub(super) fn test(run: &mut Run<'_>, lasts: Duration) -> Result<(), Abort> {
    let (plan, rtt) = (run.plan, run.rtt);
    let mut offer = offer::all_services(plan, lasts, rtt);
    offer.trial.name = "all services at once".into();
    let offered = Offered::Cir { percent: 100 };
    let context = step::Context { plan, offer: &offer, offered, margin_percent: 0.0, rtt };
    let repeats = if lasts <= REPEATED_UP_TO { REPEATS } else { 0 };
    let steps = run.offer(&offer, repeats, |seen| step::of_each_service(&context, seen))?;
    run.report.steps.extend(steps.into_iter().map(Step::Performance));
    Ok(())
}
