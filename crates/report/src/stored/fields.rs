//! A step of a stored result with its figures as people read them: the same words, units and digits
//! as on the screen, by the same functions.

use fp_method::rounded;
use fp_model::Rate;
use fp_model::figure::Unit;
use serde_json::Value;

use crate::text::{grouped, rate, unknown};

/// The fields of one object; what is `null` or not there is shown as unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a Value);

impl<'a> Fields<'a> {
    pub(crate) fn number(self, field: &str) -> Option<f64> {
        self.0[field].as_f64()
    }

    pub(crate) fn count(self, field: &str) -> Option<u64> {
        self.0[field].as_u64()
    }

    pub(crate) fn flag(self, field: &str) -> Option<bool> {
        self.0[field].as_bool()
    }

    /// Empty where there is none.
    pub(crate) fn word(self, field: &str) -> &'a str {
        self.0[field].as_str().unwrap_or_default()
    }

    /// The field's own fields.
    pub(crate) fn inside(self, field: &str) -> Self {
        Self(&self.0[field])
    }

    /// Each element of a list; none where it is none.
    pub(crate) fn each(self, field: &str) -> impl Iterator<Item = Self> + Clone + use<'a> {
        self.0[field].as_array().map_or(&[][..], Vec::as_slice).iter().map(Fields)
    }

    /// Of a field in bits per second.
    pub(crate) fn rate(self, field: &str) -> String {
        self.number(field).map_or_else(unknown, |bps| rate(Rate::bps(bps.max(0.0) as u64)))
    }

    /// Of a field in seconds.
    pub(crate) fn seconds(self, field: &str) -> String {
        self.shown(Unit::Seconds, field)
    }

    /// Of a field in microseconds.
    pub(crate) fn microseconds(self, field: &str) -> String {
        self.shown(Unit::Microseconds, field)
    }

    fn shown(self, unit: Unit, field: &str) -> String {
        self.number(field).map_or_else(unknown, |value| unit.shown(value))
    }

    /// A count with its thousands apart; of a figure that is not whole, the nearest.
    pub(crate) fn grouped(self, field: &str) -> String {
        self.number(field).map_or_else(unknown, |count| grouped(count.max(0.0).round() as u64))
    }

    /// With so many decimals, and the unit behind a blank.
    pub(crate) fn decimals(self, field: &str, decimals: usize, unit: &str) -> String {
        let blank = if unit.is_empty() { "" } else { " " };
        let text = |value| format!("{}{blank}{unit}", rounded(value, decimals));
        self.number(field).map_or_else(unknown, text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_are_shown_as_on_the_screen() {
        let value = json!({"a_bps": 15_092_338, "c": 63_712, "d": 97.346});
        let fields = Fields(&value);
        assert_eq!(fields.rate("a_bps"), "15.09 Mbit/s");
        assert_eq!(fields.grouped("c"), "63,712");
        assert_eq!(fields.decimals("d", 2, "%"), "97.35 %");
    }

    /// A deviation of a hundred-thousandth below is none that these decimals show.
    #[test]
    fn what_rounds_to_zero_has_no_minus() {
        let value = json!({"a": -0.001, "b": -0.006});
        let fields = Fields(&value);
        assert_eq!(fields.decimals("a", 2, "%"), "0.00 %");
        assert_eq!(fields.decimals("a", 1, ""), "0.0");
        assert_eq!(fields.decimals("b", 2, "%"), "-0.01 %");
    }

    #[test]
    fn what_is_not_known_is_never_shown_as_nothing() {
        let value = json!({"a": null});
        let fields = Fields(&value);
        for text in [
            fields.rate("a"),
            fields.seconds("b"),
            fields.grouped("a"),
            fields.decimals("b", 1, "%"),
            fields.inside("a").rate("deeper"),
        ] {
            assert_eq!(text, "–");
        }
        assert_eq!(fields.each("a").count(), 0);
    }
}
