//! The list of the methods, and of the kinds of their steps.

use fp_model::figure::Kind;

pub use crate::definition::{Definition, Found, IsShown, Method, Ran};
use crate::{burst, flow, rfc2544, rfc6349, rfc7640, stress, y1564};

/// All of them, in the order in which they are listed.
pub static METHODS: [&Method; 7] = [
    &rfc6349::METHOD.method,
    &flow::METHOD.method,
    &rfc2544::METHOD.method,
    &y1564::METHOD.method,
    &burst::METHOD.method,
    &rfc7640::METHOD.method,
    &stress::METHOD.method,
];

impl Method {
    /// The method of this name in documents.
    pub fn named(name: &str) -> Option<&'static Self> {
        METHODS.into_iter().find(|method| method.name == name)
    }

    /// The method that the command `command` runs.
    pub fn of_command(command: &str) -> Option<&'static Self> {
        METHODS.into_iter().find(|method| method.command == command)
    }
}

/// A kind of several methods comes again with each.
fn all() -> impl Iterator<Item = &'static Kind> {
    METHODS.iter().flat_map(|method| method.kinds.iter().copied())
}

/// All kinds of steps, each once.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    let is_first =
        |place: usize, kind: &Kind| all().position(|other| other.name == kind.name) == Some(place);
    all().enumerate().filter(move |(place, kind)| is_first(*place, kind)).map(|(_, kind)| kind)
}

/// The kind of the steps that have this name in documents.
pub fn kind(name: &str) -> Option<&'static Kind> {
    all().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use fp_model::figure::{Block, Chart, Curves, Drawn, Estimates, Shown, Unit};

    use super::*;

    #[test]
    fn a_field_has_its_unit_among_its_words() {
        for info in kinds().flat_map(|kind| kind.columns) {
            let unit = match info.unit {
                Unit::Rate | Unit::RateOfLayer => "bps",
                Unit::Bytes | Unit::Amount => "bytes",
                Unit::Seconds => "s",
                Unit::Milliseconds => "ms",
                Unit::Microseconds => "us",
                Unit::PerSecond => "fps",
                Unit::Percent(_) | Unit::Difference(_) => "percent",
                Unit::Share(_)
                | Unit::Number(_)
                | Unit::Count
                | Unit::Word
                | Unit::Flag
                | Unit::Part(_)
                | Unit::Parts(_)
                | Unit::Series(_) => "",
            };
            let is_said = unit.is_empty() || info.field.split('_').any(|word| word == unit);
            assert!(is_said, "{} does not say {unit}", info.field);
        }
    }

    /// The names in a chart; a course finds its own by the step.
    fn drawn(block: &Block) -> Option<Vec<&'static str>> {
        let of = |drawn: &[Drawn]| drawn.iter().map(|one| one.field).collect::<Vec<_>>();
        let Block::Chart(chart) = block else { return None };
        Some(match chart {
            Chart::Pairs(_) | Chart::Course(_) => Vec::new(),
            Chart::Reached(chart) => of(&[chart.across, chart.possible, chart.reached]),
            Chart::Curves(Curves { points, across, up, name, .. }) => {
                [of(&[*across, *up]), [*points, *name].into()].concat()
            }
            Chart::Estimates(Estimates { name, configured, estimate, .. }) => {
                [of(&[*name]), [*configured, *estimate].into()].concat()
            }
            Chart::Followed(chart) => {
                [of(&chart.rates), [chart.error.field, chart.intervals].into()].concat()
            }
            Chart::Active(chart) => [chart.target].into(),
        })
    }

    #[test]
    fn tables_and_charts_show_fields_of_their_kind_or_of_rows_inside_of_it() {
        for kind in kinds() {
            let fields: Vec<String> = kind.fields().collect();
            let tables = kind.blocks.iter().filter_map(|block| match block {
                Block::Table(table) => Some(table.columns),
                Block::Chart(_) => None,
            });
            for field in kind.blocks.iter().filter_map(drawn).flatten() {
                let has_it = |path: &String| path.split('.').any(|part| part == field);
                assert!(fields.iter().any(has_it), "{field} of {}", kind.name);
            }
            for shown in tables.flatten() {
                if let Shown::Field(field) | Shown::As(field, _) = shown {
                    let is_it = |path: &String| path.rsplit('.').next() == Some(*field);
                    assert!(fields.iter().any(is_it), "{field} of {}", kind.name);
                }
            }
        }
    }

    #[test]
    fn the_field_that_stands_for_a_step_is_a_column_of_it() {
        for (kind, field) in
            kinds().flat_map(|kind| kind.main.iter().map(move |field| (kind, field)))
        {
            let is_column = kind.columns.iter().any(|info| info.field == *field);
            assert!(is_column, "{field} of {}", kind.name);
        }
    }
}
