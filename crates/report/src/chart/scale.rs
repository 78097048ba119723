//! From figures to places on paper, and at which round figures marks stand.

/// Along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    from: f64,
    to: f64,
    at_from: f64,
    at_to: f64,
}

impl Scale {
    /// From `from`, drawn at `at_from`, to `to`, drawn at `at_to`.
    pub(crate) fn new((from, to): (f64, f64), (at_from, at_to): (f64, f64)) -> Self {
        // A figure that never changes has a place too.
        let to = if to > from { to } else { from + 1.0 };
        Self { from, to, at_from, at_to }
    }

    /// From zero to a round figure that is not below `most`, with about so many ticks.
    pub(crate) fn from_zero(most: f64, ticks: usize, places: (f64, f64)) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = step(most, ticks);
        Self::new((0.0, (most / step - 1e-9).ceil() * step), places)
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = (value.clamp(self.from, self.to) - self.from) / (self.to - self.from);
        self.at_from + share * (self.at_to - self.at_from)
    }

    /// Where it begins and ends.
    pub(crate) const fn edges(&self) -> (f64, f64) {
        (self.at_from, self.at_to)
    }

    /// About so many round figures.
    pub(crate) fn ticks(&self, count: usize) -> Vec<f64> {
        let step = step(self.to - self.from, count);
        let first = (self.from / step - 1e-9).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        (first..=last).map(|place| place as f64 * step).collect()
    }

    /// A tick with as many decimals as its neighbours need.
    pub(crate) fn label(&self, tick: f64, count: usize) -> String {
        let step = step(self.to - self.from, count);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        format!("{tick:.decimals$}")
    }
}

/// 1, 2 or 5 times a power of ten, so that about `count` steps cover `range`.
fn step(range: f64, count: usize) -> f64 {
    let rough = range / count.max(1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|round| round * power >= rough * 0.999);
    round.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_axis() {
        let scale = Scale::from_zero(37.75, 4, (100.0, 0.0));
        assert_eq!(scale.ticks(4), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(scale.at(20.0), 50.0);
        assert_eq!((scale.at(0.0), scale.at(40.0)), (100.0, 0.0));
    }

    #[test]
    fn labels_have_the_decimals_that_tell_them_apart() {
        let scale = Scale::from_zero(0.9, 4, (0.0, 1.0));
        let labels: Vec<String> = scale.ticks(4).iter().map(|tick| scale.label(*tick, 4)).collect();
        assert_eq!(labels, ["0.0", "0.5", "1.0"]);
        let scale = Scale::new((54.0, 58.3), (0.0, 1.0));
        let labels: Vec<String> = scale.ticks(3).iter().map(|tick| scale.label(*tick, 3)).collect();
        assert_eq!(labels, ["54", "56", "58"]);
    }

    #[test]
    fn a_figure_that_is_always_nothing_has_an_axis_too() {
        let scale = Scale::from_zero(0.0, 2, (10.0, 0.0));
        assert_eq!(scale.at(0.0), 10.0);
        assert!(scale.ticks(2).len() >= 2);
    }
}
