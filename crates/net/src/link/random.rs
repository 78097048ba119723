//! Repeatable randomness: one stream of numbers for each impairment of each link, and more.

use core::f64::consts::TAU;

use crate::path::Probability;

/// xoshiro256++ by Blackman and Vigna, seeded through their SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: [u64; 4],
}

/// What a stream is drawn for: switching one impairment on must not shift another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Loss = 1,
    Corruption,
    Duplication,
    Jitter,
    Reordering,
    /// Not a link's: when the ends begin to send.
    Start,
    /// When the frames of a stream are due.
    Departures,
    /// How long a sender is on and off.
    Spells,
    /// What goes wrong with a host.
    Trouble,
    /// When others send across a link.
    Cross,
}

impl Random {
    /// `part` is the link's place, or whatever else has a stream of its own.
    pub(crate) fn new(seed: u64, part: u64, purpose: Purpose) -> Self {
        let mut mix = SplitMix64(seed);
        mix.0 = mix.next() ^ part;
        mix.0 = mix.next() ^ (purpose as u64);
        Self { state: [mix.next(), mix.next(), mix.next(), mix.next()] }
    }

    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let drawn = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c2, d2) = (c ^ a, d ^ b);
        self.state = [a ^ d2, b ^ c2, c2 ^ (b << 17), d2.rotate_left(45)];
        drawn
    }

    /// From 0 up to but not including 1, in steps of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn happens(&mut self, probability: Probability) -> bool {
        self.unit() < probability.as_f64()
    }

    /// With mean 1, distributed exponentially.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// With mean 0 and standard deviation 1, after Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(TAU * self.unit())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct SplitMix64(u64);

/// The golden ratio in 64 bits: by so much its counter advances.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    /// Its numbers from this one on.
    pub(crate) const fn at(seed: u64, number: u64) -> Self {
        Self(seed.wrapping_add(STEP.wrapping_mul(number)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs for seed 0 as published with the generator's reference code.
    #[test]
    fn splitmix_draws_the_published_numbers() {
        let mut mix = SplitMix64(0);
        assert_eq!(mix.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix.next(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn splitmix_begins_anywhere() {
        let mut whole = SplitMix64(7);
        whole.next();
        whole.next();
        assert_eq!(SplitMix64::at(7, 2).next(), whole.next());
    }

    /// For the state 1, 2, 3, 4 the first output is rotl(1 + 4, 23) + 1 = 5·2²³ + 1 = 41,943,041;
    /// the next state is (7, 0, 2¹⁸ + 2, 6·2⁴⁵), so the second is rotl(7 + 6·2⁴⁵, 23) + 7, where
    /// 6·2⁴⁵·2²³ wraps round to 6·2⁴ = 96: 7·2²³ + 96 + 7 = 58,720,359.
    #[test]
    fn xoshiro_draws_what_its_definition_says() {
        let mut random = Random { state: [1, 2, 3, 4] };
        assert_eq!(random.next(), 41_943_041);
        assert_eq!(random.next(), 58_720_359);
    }

    #[test]
    fn streams_differ_by_seed_link_and_purpose() {
        let first = |seed, link, purpose| Random::new(seed, link, purpose).next();
        let one = first(1, 0, Purpose::Loss);
        assert_eq!(one, first(1, 0, Purpose::Loss));
        assert_ne!(one, first(2, 0, Purpose::Loss));
        assert_ne!(one, first(1, 1, Purpose::Loss));
        assert_ne!(one, first(1, 0, Purpose::Jitter));
    }

    #[test]
    fn a_certainty_always_happens_and_an_impossibility_never() {
        let mut random = Random::new(7, 0, Purpose::Loss);
        let certain = Probability::new(1.0).unwrap();
        assert!((0..1000).all(|_| random.happens(certain)));
        assert!(!(0..1000).any(|_| random.happens(Probability::NEVER)));
    }
}
