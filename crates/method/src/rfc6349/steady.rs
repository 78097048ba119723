//! What the slots of a trial say: where its steady part begins, and how sure its mean is.

use alloc::vec::Vec;
use core::time::Duration;

/// Fewer batches say little of how far apart they lie.
const BATCHES_MIN: usize = 8;
/// Slots in a batch of MSER-5 (White, Cobb and Spratt 2000).
const MSER_SLOTS: usize = 5;
/// Less than two seconds of slots hold too few batches to tell a start from the rest.
const MSER_BATCHES_MIN: usize = 8;
/// Two clocks may be apart by so much: IEEE 802.3 allows each 100 parts in a million.
const CLOCKS: f64 = 1e-4;
/// The bottleneck is found to a quarter of a percent; twice that is more than it carries.
const ABOVE_THE_PATH: f64 = 1.005;
/// In a normal distribution 95 % lie so many standard deviations around the mean.
const NORMAL_95: f64 = 1.959_964;

/// A mean, and how far the truth may be from it in 95 of 100 cases, as a share of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    pub(super) value: f64,
    /// `None` where there are too few slots to tell.
    pub(super) spread: Option<f64>,
}

impl Mean {
    /// Of slots of like length in which bytes arrive `piece` by piece.
    pub(super) fn of(slots: &[f64], piece: f64) -> Self {
        let value = mean(slots);
        let whole = value * slots.len() as f64;
        let spread = half_width(slots, piece).filter(|_| value > 0.0).map(|half| {
            let edges = NORMAL_95 * libm::sqrt(edges(piece)) / whole;
            libm::sqrt(square(half / value) + square(edges) + square(CLOCKS))
        });
        Self { value, spread }
    }
}

/// Variance of a sum of slots by what its two edges cut off, each some of one piece, uniformly
/// distributed: a twelfth of its square.
const fn edges(piece: f64) -> f64 {
    2.0 * square(piece) / 12.0
}

fn mean(slots: &[f64]) -> f64 {
    slots.iter().sum::<f64>() / slots.len().max(1) as f64
}

const fn square(value: f64) -> f64 {
    value * value
}

/// Variance of the values; zero where there is but one.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| square(value - mean)).sum();
    squares / values.len().saturating_sub(1).max(1) as f64
}

/// Half of the interval that holds the mean in 95 of 100 cases. Neighbouring slots are not
/// independent: the largest of what batches of 1, 2, 4 … of them say, as long as there are eight.
/// What the edges of a batch cut off is in the next one, and widens nothing, as long as it explains
/// how far the batches lie apart.
fn half_width(slots: &[f64], piece: f64) -> Option<f64> {
    let with_batches = |length: usize| {
        let count = slots.len() / length;
        let from = slots.len() - count * length;
        let means: Vec<f64> = slots[from..].chunks(length).map(mean).collect();
        // The variance of a mean that counts one piece more or less in half of the cases, at most.
        let edges = square(piece / length as f64) / 4.0;
        let seen = variance(&means);
        let own = if seen <= edges * chance_99(count - 1) { 0.0 } else { seen - edges };
        student_95(count - 1) * libm::sqrt(own / count as f64)
    };
    if slots.len() < 2 {
        return None;
    }
    let lengths = (0..).map(|power| 1 << power);
    let lengths = lengths.take_while(|length| *length == 1 || slots.len() / length >= BATCHES_MIN);
    lengths.map(with_batches).reduce(f64::max)
}

/// Student's t: within so many standard errors of the mean lie 95 %.
fn student_95(degrees: usize) -> f64 {
    const FEW: [f64; 6] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447];
    match degrees {
        0 => f64::INFINITY,
        1..=6 => FEW[degrees - 1],
        _ => {
            // Abramowitz and Stegun 26.7.5: right to two thousandths from 7 degrees on.
            let (z, n) = (NORMAL_95, degrees as f64);
            let (z3, z5) = (z * z * z, z * z * z * z * z);
            let z7 = z5 * z * z;
            z + (z3 + z) / (4.0 * n)
                + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
                + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * n * n * n)
        }
    }
}

/// How many times as large as the truth a variance is by chance, in one of 100 cases: the quantile of
/// chi-squared by Wilson and Hilferty (1931), right to a hundredth from 3 degrees on.
fn chance_99(degrees: usize) -> f64 {
    const NORMAL_99: f64 = 2.326_348;
    let part = 2.0 / (9.0 * degrees.max(1) as f64);
    let root = 1.0 - part + NORMAL_99 * libm::sqrt(part);
    root * root * root
}

/// Where the steady part of a trial begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// Slots that do not belong to it.
    pub(super) slot: usize,
    /// Not within the first half of the trial: there is no steady part.
    pub(super) is_missing: bool,
}

/// The later of the two starts that the slots show.
pub(super) fn start(slots: &[f64], path: f64, piece: f64) -> Start {
    let [rise, surplus] = [rise(slots, piece), surplus(slots, path, piece)];
    Start { slot: rise.slot.max(surplus.slot), is_missing: rise.is_missing || surplus.is_missing }
}

/// Slow start: MSER-5 leaves out the slots without which the error of the mean is smallest. That of
/// slots which merely differ is some start too: it counts where it shifts the mean by more than the
/// interval around it and than the bottleneck is known to.
fn rise(slots: &[f64], piece: f64) -> Start {
    let whole = Start { slot: 0, is_missing: false };
    let means: Vec<f64> = slots.chunks_exact(MSER_SLOTS).map(mean).collect();
    if means.len() < MSER_BATCHES_MIN {
        return whole;
    }
    let error = |from: usize| {
        let left = &means[from..];
        variance(left) / left.len() as f64
    };
    let half = means.len() / 2;
    let Some(best) = (0..=half).min_by(|a, b| error(*a).total_cmp(&error(*b))) else {
        return whole;
    };
    let left = &slots[best * MSER_SLOTS..];
    let shift = (mean(left) - mean(slots)).abs();
    let rest = Mean::of(left, piece);
    let least = rest.spread.unwrap_or(f64::INFINITY).max(ABOVE_THE_PATH - 1.0);
    if shift <= least * rest.value {
        whole
    } else if best == half {
        Start { is_missing: true, ..whole }
    } else {
        Start { slot: best * MSER_SLOTS, ..whole }
    }
}

/// A path carries no more than it can: what arrives beyond that was on this side of it before, held
/// back behind a hole or paid for by what a bucket had saved. The steady part begins when that is
/// through.
fn surplus(slots: &[f64], path: f64, piece: f64) -> Start {
    let mut sum = 0.0;
    let sums = slots.iter().map(|slot| {
        sum += slot - ABOVE_THE_PATH * path;
        sum
    });
    let most = sums.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
    match most {
        Some((place, surplus)) if surplus > piece => {
            let is_missing = place + 1 > slots.len() / 2;
            Start { slot: if is_missing { 0 } else { place + 1 }, is_missing }
        }
        _ => Start { slot: 0, is_missing: false },
    }
}

/// Whether a mean is what a longer trial would find too, seen from either side of a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// A longer trial would not carry less.
    pub from_above: bool,
    /// A longer trial would not carry more.
    pub from_below: bool,
    /// Between these, as shares of the mean, lies the last third of the trial.
    pub leads_to: [f64; 2],
}

impl Settled {
    /// One loss more in each connection costs CUBIC a quarter of 30 % over the time that it takes to
    /// recover: (t/K − 1)³ is −1/4 in the mean from 0 to K.
    const ONE_LOSS_MORE: f64 = 0.3 / 4.0;

    /// Whether the mean of a longer trial would be above this share of this one's as well.
    pub(super) fn stays_above(&self, share: f64) -> bool {
        let least = self.leads_to[0].min(1.0 - Self::ONE_LOSS_MORE);
        self.from_above || least >= share
    }

    pub(super) fn stays_below(&self, share: f64) -> bool {
        self.from_below || self.leads_to[1] < share
    }
}

/// What a steady part is judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steady<'a> {
    pub(super) slots: &'a [f64],
    /// In which something was retransmitted, in the same order.
    pub(super) resent: &'a [bool],
    /// Something was retransmitted before.
    pub(super) lost_before: bool,
    pub(super) lasts: Duration,
    /// Slots within one do not stand for themselves.
    pub(super) rtt: Duration,
    /// In which a window that lost a segment is back.
    pub(super) epoch: Duration,
    /// In which bytes arrive, in the unit of the slots.
    pub(super) piece: f64,
    pub(super) is_missing: bool,
}

impl Steady<'_> {
    /// After a loss the window first falls short of what the path carries and then grows beyond: two
    /// epochs hold one of each. Losses that go on through all of a trial leave no window the time to
    /// recover, so that little is no more in a longer one; much may become less.
    pub(super) fn settled(&self) -> Settled {
        let third = self.slots.len() / 3;
        let mut thirds = self.resent.chunks(third.max(1)).take(3);
        let is_clean = !self.resent.contains(&true);
        let goes_on = third > 0 && thirds.all(|part| part.contains(&true));
        let is_long = self.lasts >= self.epoch * 2;
        let (trend, error) = self.trend(third);
        let recovers = self.lost_before || !is_clean;
        Settled {
            from_above: !self.is_missing && (is_clean || is_long && trend >= -error),
            from_below: !self.is_missing && trend <= error && (!recovers || goes_on || is_long),
            leads_to: self.leads_to(third, error),
        }
    }

    /// By how much the last third lies above the first, and how much of that may be chance.
    fn trend(&self, third: usize) -> (f64, f64) {
        if third == 0 {
            return (0.0, f64::INFINITY);
        }
        let (first, last) = (&self.slots[..third], &self.slots[self.slots.len() - third..]);
        let slot = self.lasts.as_secs_f64() / self.slots.len() as f64;
        let dependent = (self.rtt.as_secs_f64() / slot).max(1.0);
        let independent = (third as f64 / dependent).max(1.0);
        let error = libm::sqrt((variance(first) + variance(last)) / independent);
        let edges = libm::sqrt(edges(self.piece)) / third as f64;
        (mean(last) - mean(first), NORMAL_95 * (error + edges))
    }

    /// What the last third leaves to be expected.
    fn leads_to(&self, third: usize, error: f64) -> [f64; 2] {
        let value = mean(self.slots);
        if third == 0 || value <= 0.0 {
            return [f64::NEG_INFINITY, f64::INFINITY];
        }
        let last = mean(&self.slots[self.slots.len() - third..]);
        [(last - error) / value, (last + error) / value]
    }
}

#[cfg(test)]
mod tests;
