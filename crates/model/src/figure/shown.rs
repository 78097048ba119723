//! Figures as people read them: the one place that rounds and names units.

use alloc::format;
use alloc::string::String;
use core::time::Duration;

use super::{Known, Unit};
use crate::{Rate, grouped, rounded, signed};

/// How a number is written: `each` of its unit are one, or of times so many are a second, with `decimals`, before `name`.
struct Scale {
    each: f64,
    decimals: usize,
    name: &'static str,
}

const fn scale(each: f64, decimals: usize, name: &'static str) -> Scale {
    Scale { each, decimals, name }
}

impl Unit {
    /// A number with half of its interval, `39.98 ± 0.04 Mbit/s`; with the one end that is known, `at least 938.00
    /// Mbit/s`.
    pub fn within(self, known: Known<f64>) -> String {
        let Known { value, at_least, at_most } = known;
        match (at_least, at_most) {
            (Some(least), None) => format!("at least {}", self.shown(least)),
            (None, Some(most)) => format!("at most {}", self.shown(most)),
            // What was given or counted has none.
            (Some(least), Some(most)) if most > least => {
                let scale = self.scale(value);
                let half = self.digits((most - least) / 2.0, &scale);
                format!("{} ± {half}{}", self.digits(value, &scale), ending(&scale))
            }
            (None, None) | (Some(_), Some(_)) => self.shown(value),
        }
    }

    /// A number with both ends of its interval, `0.19 % (0.10 … 0.30 %)`.
    pub fn between(self, known: Known<f64>) -> String {
        let Known { value, at_least: Some(least), at_most: Some(most) } = known else {
            return self.within(known);
        };
        format!("{} ({})", self.shown(value), self.ends(least, most))
    }

    /// The ends of its interval, `63,986 … 64,011 B`.
    pub fn ends(self, least: f64, most: f64) -> String {
        let [lower, upper] = [least, most].map(|end| self.scale(end));
        let is_same = lower.name == upper.name;
        let first = if is_same { self.digits(least, &upper) } else { self.shown(least) };
        format!("{first} … {}", self.shown(most))
    }

    /// A number alone.
    pub fn shown(self, value: f64) -> String {
        match self {
            Self::Percent(_) | Self::Share(_) if value == 0.0 => return "0 %".into(),
            Self::Seconds | Self::Milliseconds | Self::Microseconds if value == 0.0 => {
                return "0 s".into();
            }
            _ => {}
        }
        let scale = self.scale(value);
        format!("{}{}", self.digits(value, &scale), ending(&scale))
    }

    fn digits(self, value: f64, Scale { each, decimals, .. }: &Scale) -> String {
        let whole = |value: f64| (value.max(0.0) + 0.5) as u64;
        match self {
            Self::PerSecond => grouped(value.max(0.0) as u64),
            Self::Bytes
            | Self::Count
            | Self::Word
            | Self::Flag
            | Self::Part(_)
            | Self::Parts(_)
            | Self::Series(_) => grouped(whole(value)),
            Self::Rate | Self::RateOfLayer | Self::Amount => {
                format!("{:.decimals$}", value.max(0.0) / each)
            }
            Self::Seconds | Self::Milliseconds | Self::Microseconds => {
                format!("{:.decimals$}", time(self, value).as_secs_f64() * each)
            }
            Self::Difference(_) => signed(value, *decimals),
            Self::Percent(_) | Self::Share(_) | Self::Number(_) => rounded(value / each, *decimals),
        }
    }

    /// The unit that suits a value.
    fn scale(self, value: f64) -> Scale {
        match self {
            Self::Rate | Self::RateOfLayer => match value {
                ..1e3 => scale(1.0, 0, "bit/s"),
                ..1e6 => scale(1e3, 2, "kbit/s"),
                ..1e10 => scale(1e6, 2, "Mbit/s"),
                _ => scale(1e9, 3, "Gbit/s"),
            },
            Self::Seconds | Self::Milliseconds | Self::Microseconds => match value * self.base() {
                10.0.. => scale(1.0, 1, "s"),
                0.001.. => scale(1e3, 2, "ms"),
                _ => scale(1e6, 1, "µs"),
            },
            Self::Percent(decimals) => scale(1.0, enough(value, decimals), "%"),
            Self::Difference(decimals) => scale(1.0, decimals.into(), "%"),
            Self::Share(decimals) => scale(0.01, enough(100.0 * value, decimals), "%"),
            Self::Number(decimals) => scale(1.0, decimals.into(), ""),
            Self::Bytes => scale(1.0, 0, "B"),
            Self::Amount => match value {
                ..1e4 => scale(1.0, 0, "B"),
                ..1e6 => scale(1e3, 2, "kB"),
                ..1e9 => scale(1e6, 2, "MB"),
                _ => scale(1e9, 2, "GB"),
            },
            Self::PerSecond
            | Self::Count
            | Self::Word
            | Self::Flag
            | Self::Part(_)
            | Self::Parts(_)
            | Self::Series(_) => scale(1.0, 0, ""),
        }
    }

    /// The largest difference from `value` that is too small to matter, however certain it is. Of times, 50 µs are
    /// a clock's and a scheduler's own; loss ratios are promised in hundredths of a percent.
    pub fn negligible(self, value: f64) -> f64 {
        let share = |part: f64| part * value.abs();
        match self {
            Self::Rate | Self::RateOfLayer => share(0.005),
            Self::Seconds | Self::Milliseconds | Self::Microseconds => {
                share(0.01).max(5e-5 / self.base())
            }
            Self::Percent(_) | Self::Difference(_) => 0.1,
            Self::Share(_)
            | Self::Number(_)
            | Self::Bytes
            | Self::Amount
            | Self::PerSecond
            | Self::Count
            | Self::Word
            | Self::Flag
            | Self::Part(_)
            | Self::Parts(_)
            | Self::Series(_) => 0.0,
        }
    }

    /// What one of it is in the units of metrics: seconds, ratios, bytes, bits per second.
    pub const fn base(self) -> f64 {
        match self {
            Self::Milliseconds => 1e-3,
            Self::Microseconds => 1e-6,
            Self::Percent(_) | Self::Difference(_) => 1e-2,
            _ => 1.0,
        }
    }
}

/// How many decimals show two digits of a number that is not zero: those that it has by default, or more. Of one that
/// has none by default, as many as tell it from zero.
fn enough(value: f64, decimals: u8) -> usize {
    let last_digit = (0..decimals).fold(1.0, |digit, _| digit / 10.0);
    let least = if decimals == 0 { 0.5 } else { 10.0 * last_digit };
    let smaller = core::iter::successors(Some(least), |least| Some(least / 10.0));
    let more = smaller.take_while(|least| value != 0.0 && value.abs() < *least).count();
    usize::from(decimals) + more
}

/// Of a number in a unit of time, to a whole nanosecond.
pub(super) fn time(unit: Unit, value: f64) -> Duration {
    Duration::from_nanos((value * unit.base() * 1e9 + 0.5).max(0.0) as u64)
}

fn ending(Scale { name, .. }: &Scale) -> String {
    if name.is_empty() { String::new() } else { format!(" {name}") }
}

/// A rate in the unit that suits it, three decimals at most.
pub fn rate(rate: Rate) -> String {
    Unit::Rate.shown(rate.as_bps() as f64)
}

/// Beginning with a capital letter.
pub fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>());
    first.unwrap_or_default() + letters.as_str()
}

/// `37.12 ± 0.05 of 40.00 Mbit/s`: the unit once, where both have the same.
pub fn beside(found: &str, whole: &str) -> String {
    match (found.rsplit_once(' '), whole.rsplit_once(' ')) {
        (Some((figure, unit)), Some((_, same))) if unit == same => format!("{figure} of {whole}"),
        _ => format!("{found} of {whole}"),
    }
}

/// A one-way delay by two clocks that agree to `error`: of a delay below that only an upper bound is
/// known.
pub fn one_way(delay: Duration, error: Duration) -> String {
    if delay < error { format!("< {}", duration(delay + error)) } else { duration(delay) }
}

/// Bytes in the unit that suits them.
pub fn amount(bytes: u64) -> String {
    Unit::Amount.shown(bytes as f64)
}

/// A time in the unit that suits it.
pub fn duration(time: Duration) -> String {
    Unit::Seconds.shown(time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_half_of_its_interval_or_the_one_end_that_is_known() {
        let within =
            |at_least, at_most| Unit::Rate.within(Known { value: 39.98e6, at_least, at_most });
        assert_eq!(within(Some(39.94e6), Some(40.02e6)), "39.98 ± 0.04 Mbit/s");
        assert_eq!(within(Some(39.5e6), None), "at least 39.50 Mbit/s");
        assert_eq!(within(None, Some(40.5e6)), "at most 40.50 Mbit/s");
        assert_eq!(within(Some(39.98e6), Some(39.98e6)), "39.98 Mbit/s");
    }

    #[test]
    fn figures_have_the_unit_that_suits_them() {
        assert_eq!(rate(Rate::bps(94_928_479)), "94.93 Mbit/s");
        assert_eq!(rate(Rate::mbps(45_600)), "45.600 Gbit/s");
        assert_eq!(duration(Duration::from_micros(10_211)), "10.21 ms");
        assert_eq!(duration(Duration::from_nanos(12_300)), "12.3 µs");
        assert_eq!(Unit::Milliseconds.shown(20.045), "20.05 ms", "of whole nanoseconds");
        assert_eq!(Unit::Bytes.shown(63_712.0), "63,712 B");
        assert_eq!([9_999, 63_712, 2_400_000].map(amount), ["9999 B", "63.71 kB", "2.40 MB"]);
        assert_eq!(Unit::Share(4).shown(0.001), "0.1000 %");
        let losses = [0.0, 2e-7, 3.4e-4, 0.005, 0.2].map(|percent| Unit::Percent(2).shown(percent));
        assert_eq!(
            losses,
            ["0 %", "0.00000020 %", "0.00034 %", "0.0050 %", "0.20 %"],
            "none is hidden"
        );
    }
}
