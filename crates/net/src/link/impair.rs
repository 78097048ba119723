//! What befalls single frames by chance: loss, corruption, duplication.

use super::random::{Purpose, Random};
use crate::path::{GilbertElliott, LinkSpec, LossSpec, Probability};

#[derive(Clone, Debug)]
pub(crate) struct Impairments {
    loss: Option<Loss>,
    corruption: Option<Chance>,
    duplication: Option<Chance>,
}

/// What befell one frame; of a lost one nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) lost: bool,
    pub(crate) corrupted: bool,
    pub(crate) duplicated: bool,
}

impl Impairments {
    pub(crate) fn new(link: &LinkSpec, seed: u64, index: usize) -> Self {
        let random = |purpose| Random::new(seed, index as u64, purpose);
        let chance = |probability: Option<Probability>, purpose| {
            Some(Chance { probability: probability?, random: random(purpose) })
        };
        Self {
            loss: link.loss.map(|spec| Loss::new(spec, random(Purpose::Loss))),
            corruption: chance(link.corrupt, Purpose::Corruption),
            duplication: chance(link.duplicate, Purpose::Duplication),
        }
    }

    pub(crate) fn next_fate(&mut self) -> Fate {
        let happens = |chance: &mut Option<Chance>| chance.as_mut().is_some_and(Chance::happens);
        // Every chance is drawn for every frame, so that a lost frame shifts none of them.
        Fate {
            lost: self.loss.as_mut().is_some_and(Loss::takes_next),
            corrupted: happens(&mut self.corruption),
            duplicated: happens(&mut self.duplication),
        }
    }
}

#[derive(Clone, Debug)]
struct Chance {
    probability: Probability,
    random: Random,
}

impl Chance {
    fn happens(&mut self) -> bool {
        self.random.happens(self.probability)
    }
}

#[derive(Clone, Debug)]
enum Loss {
    Random(Chance),
    GilbertElliott { chain: GilbertElliott, bad: bool, random: Random },
    Every { period: u64, since_last: u64 },
}

impl Loss {
    fn new(spec: LossSpec, random: Random) -> Self {
        match spec {
            LossSpec::Random(probability) => Self::Random(Chance { probability, random }),
            LossSpec::GilbertElliott(chain) => Self::GilbertElliott { chain, bad: false, random },
            LossSpec::Every(period) => Self::Every { period: period.max(1), since_last: 0 },
        }
    }

    fn takes_next(&mut self) -> bool {
        match self {
            Self::Random(chance) => chance.happens(),
            Self::GilbertElliott { chain, bad, random } => {
                let turns = random.happens(if *bad { chain.to_good } else { chain.to_bad });
                *bad ^= turns;
                random.happens(if *bad { chain.loss_in_bad } else { chain.loss_in_good })
            }
            Self::Every { period, since_last } => {
                *since_last += 1;
                let takes = *since_last == *period;
                if takes {
                    *since_last = 0;
                }
                takes
            }
        }
    }
}
