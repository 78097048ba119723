//! Built-in sets of classes: what is sent at once with which code points.

use std::time::Duration;

use fp_model::{Direction, Dscp};

use super::options::ClassesOption;
use crate::flows::wanted::{Traffic, Wanted};

/// Name, code point and near port of a class.
type Class = (&'static str, u8, Option<u16>);

/// One of each class of RFC 4594 that networks commonly tell apart, the highest first.
const FIVE: [Class; 5] =
    [("EF", 46, None), ("AF41", 34, None), ("AF31", 26, None), ("AF21", 18, None), ("BE", 0, None)];
/// Three drop precedences of one class between the highest and the lowest, from ports of their own.
const NOTE: [Class; 5] = [
    ("46 EF", 46, Some(49_152)),
    ("10 AF11", 10, Some(49_153)),
    ("12 AF12", 12, Some(49_154)),
    ("14 AF13", 14, Some(49_155)),
    ("0 BE", 0, Some(49_156)),
];

/// Each class with its share of the traffic.
pub(super) fn wanted(
    classes: ClassesOption,
    directions: &[Direction],
    traffic: impl Fn(u32) -> anyhow::Result<Traffic>,
) -> anyhow::Result<Vec<Wanted>> {
    let classes = match classes {
        ClassesOption::Five => FIVE,
        ClassesOption::Note => NOTE,
    };
    let class = |(name, code_point, near_port): Class| {
        Ok(Wanted {
            name: name.into(),
            class: Some(name.into()),
            directions: directions.to_vec(),
            family: None,
            dscp: Dscp::new(code_point).unwrap_or_default(),
            near_port,
            begins: Duration::ZERO,
            traffic: traffic(classes.len() as u32)?,
            place: None,
        })
    };
    classes.into_iter().map(class).collect()
}
