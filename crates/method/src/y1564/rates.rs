//! The rates and limits of a service activation test.

use crate::{BitsPerSecond, Number};

/// From an EIR of this share of the CIR on, the policing step offers more of the EIR, below it more of the CIR.
const NOTABLE_EXCESS: (i128, i128) = (1, 5);
const POLICING_FACTOR: (i128, i128) = (5, 4);

/// The rates a service was sold with, in bits of layer-2 frames.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    pub cir_l2: BitsPerSecond,
    pub eir_l2: BitsPerSecond,
}

/// The CIR in steps of a quarter.
pub fn step_load(cir_l2: BitsPerSecond) -> [BitsPerSecond; 4] {
    [1, 2, 3, 4].map(|quarters| cir_l2 * Number::ratio(quarters, 4))
}

/// The rate that a policer must cut: CIR and 1.25 EIR, or where the EIR is under a fifth of the
/// CIR 1.25 CIR and EIR.
pub fn policing_rate(profile: Profile) -> BitsPerSecond {
    let factor = Number::ratio(POLICING_FACTOR.0, POLICING_FACTOR.1);
    let notable = profile.cir_l2 * Number::ratio(NOTABLE_EXCESS.0, NOTABLE_EXCESS.1);
    if profile.eir_l2 >= notable {
        profile.cir_l2 + profile.eir_l2 * factor
    } else {
        profile.cir_l2 * factor + profile.eir_l2
    }
}

/// Whether what came through in the EIR step of a service without colours is within the CIR, less
/// the accepted loss, and CIR and EIR together.
pub fn eir_step_passes(
    profile: Profile,
    accepted_loss_ratio: Number,
    received_l2: BitsPerSecond,
) -> bool {
    let least = profile.cir_l2 * (Number::ONE - accepted_loss_ratio);
    least <= received_l2 && received_l2 <= profile.cir_l2 + profile.eir_l2
}

#[cfg(test)]
mod tests {
    use fp_model::Rate;

    use super::*;

    const fn mbps(rate: i64) -> BitsPerSecond {
        BitsPerSecond(Number::whole(rate * 1_000_000))
    }

    #[test]
    fn the_step_load_goes_up_by_quarters_of_the_cir() {
        assert_eq!(step_load(mbps(100)), [mbps(25), mbps(50), mbps(75), mbps(100)]);
    }

    #[test]
    fn the_policing_rate_raises_the_larger_of_the_two_rates() {
        let with_excess = Profile { cir_l2: mbps(100), eir_l2: mbps(50) };
        assert_eq!(policing_rate(with_excess).to_rate(), Some(Rate::bps(162_500_000)));
        let without = Profile { cir_l2: mbps(100), eir_l2: mbps(0) };
        assert_eq!(policing_rate(without), mbps(125));
        let edge = Profile { cir_l2: mbps(100), eir_l2: mbps(20) };
        assert_eq!(policing_rate(edge), mbps(125));
    }

    #[test]
    fn the_eir_step_passes_between_the_cir_less_loss_and_cir_plus_eir() {
        let profile = Profile { cir_l2: mbps(100), eir_l2: mbps(50) };
        let passes = |bps| eir_step_passes(profile, Number::ratio(1, 1000), Rate::bps(bps).into());
        assert!(passes(99_900_000) && passes(150_000_000));
        assert!(!passes(99_899_999) && !passes(150_000_001));
    }
}
