//! Shares of the ideal, or of what was sold, that are asked of trials.

use super::{TcpStep, Thresholds};

/// What a trial says of the share of the ideal that was asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Met,
    Missed,
    Undecided,
}

/// Met where all of the interval is above what was asked, and missed where all of it is below, of the least
/// ideal, too, as far as the bottleneck is known. While both directions are loaded, as much less is asked as
/// acknowledgements may cost that wait behind data.
pub(super) fn standing(thresholds: &Thresholds, step: &TcpStep) -> Standing {
    if step.good_bytes == 0 {
        return Standing::Missed;
    }
    let asked = asked_percent(thresholds, step);
    let Some([least, most]) = step.judged.share_percent_bounds else { return Standing::Undecided };
    let needed = needed_percent(thresholds, step);
    let needed_at_least = needed * least_part(step);
    let stays = |needed: f64| needed / step.share_percent();
    // Windows that cannot carry what was asked say nothing of a path that carries it, unless they did. They
    // carry less than their size in a round trip where that takes longer, which larger ones make up for, or
    // where segments are lost, which they do not.
    let windows = 100.0 * step.part_of_ideal(step.judged.windows_l4);
    let is_asked = asked <= windows || least >= asked;
    let is_lossy = step.retransmitted_bytes.is_some_and(|bytes| bytes > 0);
    let tells_less = asked.min(threshold_percent(thresholds, step)) <= windows || is_lossy;
    let settled = &step.judged.settled;
    if is_asked && least >= needed && settled.stays_above(stays(needed)) {
        Standing::Met
    } else if tells_less && most < needed_at_least && settled.stays_below(stays(needed_at_least)) {
        Standing::Missed
    } else {
        Standing::Undecided
    }
}

/// The share of the ideal that the bottleneck allows at least; all of it where the rate is that which was sold.
pub(super) fn least_part(step: &TcpStep) -> f64 {
    let least = step.part_of_ideal(step.judged.ideal_l4_bounds.0);
    if step.judged.sold_l4.is_some() { 1.0 } else { least.min(1.0) }
}

/// The share that a trial must carry: of what was sold, or of the ideal if nothing was sold.
pub(super) fn threshold_percent(thresholds: &Thresholds, step: &TcpStep) -> f64 {
    let both = thresholds.bidirectional_percent.filter(|_| step.bidirectional);
    both.unwrap_or(thresholds.throughput_percent)
}

/// The share of the ideal that a trial must carry.
pub(super) fn asked_percent(thresholds: &Thresholds, step: &TcpStep) -> f64 {
    threshold_percent(thresholds, step) * step.part_sold()
}

/// The same, less what acknowledgements may cost that wait behind data. If the path carries more than
/// was sold, they first use what was not sold.
pub(super) fn needed_percent(thresholds: &Thresholds, step: &TcpStep) -> f64 {
    let (sold, assured) = (step.part_sold(), step.part_of_ideal(step.judged.assured_l4));
    let needed = if sold > 1.0 { sold * assured } else { sold.min(assured) };
    threshold_percent(thresholds, step) * needed
}
