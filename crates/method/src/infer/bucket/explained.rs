//! Which of two buckets explains a train.

use super::{Bucket, Fates, Lost};
use crate::formula::bounds::Bounds;
use crate::infer::DECIDES;
use crate::infer::rate::Quiet;

/// A train, and the bucket that may explain it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Explained<'a> {
    pub(crate) fates: &'a Fates,
    pub(crate) lost: Lost,
    pub(crate) by: Option<Bucket>,
    /// Within these its rate was searched.
    pub(crate) rates: Bounds,
}

impl Explained<'_> {
    /// Which of two are likely.
    ///
    /// Slack hides losses: these are compared with the same. Which frame of those within it takes a token is open, and
    /// that it always was the one which less slack lets pass would be chance. Half of one that is needed is too little.
    pub(crate) fn likely_of(both: [Self; 2], quiet: &Quiet) -> [Option<Bucket>; 2] {
        let fits = both.map(|one| one.by.filter(|fit| fit.is_likely(quiet)));
        let [Some(one), Some(other)] = fits else { return fits };
        let slack = one.slack.max(other.slack);
        let [one, other] = [(both[0], one), (both[1], other)].map(|(of, fit)| {
            let (alike, needed) = match fit.slack == slack {
                true => (Some(fit), slack / 2.0),
                false => (of.fates.fit(of.rates, quiet, of.lost, slack), fit.slack),
            };
            let slot = of.rates.estimate * of.fates.spacing();
            let won = of.fates.passed(of.fates.knee(quiet).frame);
            let open = won * libm::log(1.0 + 2.0 * needed / slot);
            alike.unwrap_or(fit).log_likelihood(quiet) - open
        });
        [fits[0].filter(|_| one > other - DECIDES), fits[1].filter(|_| other > one - DECIDES)]
    }
}
