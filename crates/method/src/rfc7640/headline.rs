//! What stands for a run: the largest burst that passed whole, or the rate of a shaper.

use fp_model::figure::{Headline, Row};

pub(super) fn headline(steps: &[Row]) -> Option<Headline> {
    let of = |step: &Row, field: &str| {
        step.has(field).then(|| step.number(field)).flatten().map(|known| known.value)
    };
    steps.iter().find_map(|step| {
        let burst = of(step, "bsa_bytes");
        let burst = burst.map(|bytes| Headline::new("burst accepted", bytes, Headline::BYTES));
        let rate = || of(step, "sr_l2_bps");
        burst.or_else(|| Some(Headline::new("shaper rate (l2)", rate()?, Headline::BITS)))
    })
}
