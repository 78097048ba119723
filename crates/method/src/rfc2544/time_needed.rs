//! How long a run takes, before it begins.

use core::time::Duration;

use super::offer::LEARNING;
use super::{Plan, SearchKind, Test};

/// Path MTU, round trip and line rate.
const PREPARATION: Duration = Duration::from_secs(8);

/// If the network carries what the line does, and at most where it does not and nothing has to be
/// repeated.
pub fn time_needed(plan: &Plan) -> (Duration, Duration) {
    let lengths = plan.frame_lengths_bytes.len() + usize::from(plan.path_mtu_row);
    let rows = (lengths * plan.ways.len()) as u32;
    let settle = plan.durations.settle;
    let row = |least: bool| -> Duration {
        plan.tests.iter().map(|test| of_test(plan, *test, least, settle)).sum()
    };
    (PREPARATION + row(true) * rows, PREPARATION + row(false) * rows)
}

fn of_test(plan: &Plan, test: Test, least: bool, settle: Duration) -> Duration {
    let durations = &plan.durations;
    let trial = durations.trial + settle + durations.overload.max(LEARNING);
    let confirmation = durations.confirmation.map_or(Duration::ZERO, |lasts| lasts + settle);
    match test {
        Test::Throughput => trial * trials(plan, least) + confirmation,
        Test::Latency => (durations.latency + settle) * plan.latency_repetitions,
        Test::FrameLoss => {
            let steps = (100.0 / plan.loss_step_percent) as u32;
            (durations.trial + settle + LEARNING) * if least { 2 } else { steps.max(2) }
        }
        Test::BackToBack if least => Duration::ZERO,
        Test::BackToBack => {
            let bursts = if plan.search == SearchKind::Fast { 8 } else { 30 };
            (durations.burst_settle + durations.burst_max / 10) * bursts * plan.burst_repetitions
        }
        Test::Recovery => durations.recovery * 2 + settle,
    }
}

/// Of the search for one throughput.
fn trials(plan: &Plan, least: bool) -> u32 {
    let halvings = libm::ceil(libm::log2(100.0 / plan.resolution_percent)) as u32;
    match (plan.search, least) {
        (SearchKind::Binary | SearchKind::Fast, true) => 1,
        (SearchKind::Binary, false) => 1 + halvings,
        (SearchKind::Fast, false) => 4,
        (SearchKind::Mlr, true) => 3 * plan.goals.len() as u32,
        (SearchKind::Mlr, false) => 12 * plan.goals.len() as u32,
    }
}
