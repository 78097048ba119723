//! What each connection does, by its number.

use alloc::vec::Vec;
use core::fmt;

use fp_model::{Behaviour, ConnectionsShare};

/// The behaviours of a load in the order in which connections take them, again and again.
#[derive(Debug)]
pub(super) struct Mix {
    behaviours: Vec<Behaviour>,
    order: Vec<u8>,
}

/// Why a mix cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixError {
    Shares(usize),
    Weights(u64),
    /// A request or a response of no byte would never have arrived.
    Empty,
    /// The rate is zero, at which nothing would ever be sent.
    NoRate,
}

const SHARES_MAX: usize = 200;
const WEIGHTS_MAX: u64 = 10_000;

impl Mix {
    pub(super) fn new(shares: &[ConnectionsShare]) -> Result<Self, MixError> {
        if shares.is_empty() || shares.len() > SHARES_MAX {
            return Err(MixError::Shares(shares.len()));
        }
        let weights: u64 = shares.iter().map(|share| u64::from(share.weight)).sum();
        if !(1..=WEIGHTS_MAX).contains(&weights) {
            return Err(MixError::Weights(weights));
        }
        for share in shares {
            check(&share.behaviour)?;
        }
        Ok(Self {
            behaviours: shares.iter().map(|share| share.behaviour).collect(),
            order: order(shares, weights),
        })
    }

    /// Its place among the behaviours.
    pub(super) fn place(&self, number: u32) -> u8 {
        self.order[number as usize % self.order.len()]
    }

    pub(super) fn behaviour(&self, place: u8) -> Behaviour {
        self.behaviours[usize::from(place)]
    }
}

/// Whoever is furthest behind its share comes next, so that each comes as evenly as it can.
fn order(shares: &[ConnectionsShare], weights: u64) -> Vec<u8> {
    let mut owed: Vec<i64> = shares.iter().map(|_| 0).collect();
    let next = |_| {
        for (owed, share) in owed.iter_mut().zip(shares) {
            *owed += i64::from(share.weight);
        }
        let most = owed.iter().copied().max().unwrap_or_default();
        let place = owed.iter().position(|owed| *owed == most).unwrap_or_default();
        owed[place] -= weights as i64;
        place as u8
    };
    (0..weights).map(next).collect()
}

fn check(behaviour: &Behaviour) -> Result<(), MixError> {
    match behaviour {
        Behaviour::Hold => Ok(()),
        Behaviour::Transaction { request_bytes, response_bytes, .. } => {
            if *request_bytes == 0 || *response_bytes == 0 { Err(MixError::Empty) } else { Ok(()) }
        }
        Behaviour::Download { rate } | Behaviour::Upload { rate } | Behaviour::Both { rate } => {
            if rate.is_some_and(|rate| rate.as_bps() == 0) {
                Err(MixError::NoRate)
            } else {
                Ok(())
            }
        }
    }
}

impl fmt::Display for MixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shares(count) => {
                write!(f, "a mix has 1 to {SHARES_MAX} behaviours, not {count}")
            }
            Self::Weights(weights) => {
                write!(f, "the weights of a mix add up to 1 to {WEIGHTS_MAX}, not {weights}")
            }
            Self::Empty => f.write_str("a request and its response have at least one byte each"),
            Self::NoRate => f.write_str("nothing is ever sent at a rate of zero"),
        }
    }
}

impl core::error::Error for MixError {}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use fp_model::Rate;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const fn share(weight: u32) -> ConnectionsShare {
        ConnectionsShare { weight, behaviour: Behaviour::Hold }
    }

    proptest! {
        #[test]
        fn each_behaviour_has_its_weight_and_comes_evenly(weights in vec(0_u32..50, 1..8)) {
            let total: u32 = weights.iter().sum();
            prop_assume!(total > 0);
            let shares: Vec<_> = weights.iter().map(|weight| share(*weight)).collect();
            let mix = Mix::new(&shares).unwrap();
            let mut counts = vec![0_u32; weights.len()];
            for number in 0..total {
                counts[usize::from(mix.place(number))] += 1;
                // Never further from its share than the number of behaviours.
                for (count, weight) in counts.iter().zip(&weights) {
                    let due = (number + 1) * weight;
                    prop_assert!((count * total).abs_diff(due) <= total * weights.len() as u32);
                }
            }
            prop_assert_eq!(counts, weights);
            prop_assert_eq!(mix.place(total), mix.place(0));
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let of = |behaviour| Mix::new(&[ConnectionsShare { weight: 1, behaviour }]).err();
        assert_eq!(Mix::new(&[]).err(), Some(MixError::Shares(0)));
        assert_eq!(Mix::new(&[share(0)]).err(), Some(MixError::Weights(0)));
        assert_eq!(Mix::new(&[share(10_001)]).err(), Some(MixError::Weights(10_001)));
        assert_eq!(of(Behaviour::Upload { rate: Some(Rate::ZERO) }), Some(MixError::NoRate));
        let (request_bytes, think) = (1, core::time::Duration::ZERO);
        let asks = Behaviour::Transaction { request_bytes, response_bytes: 0, think };
        assert_eq!(of(asks), Some(MixError::Empty));
    }
}
