//! A figure has one home: its field in documents, its name and unit for people, which change of it is
//! better, its metric, and where a step keeps it. What documents, comparisons and metrics say of a step is made
//! from this.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::ser::{Serialize, SerializeMap as _, Serializer};

mod shown;

pub use shown::{duration, rate};

/// A value and the interval that holds the truth in 95 of 100 cases, as far as it has ends: a bottleneck that
/// was not reached has no upper one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known<T> {
    pub value: T,
    pub at_least: Option<T>,
    pub at_most: Option<T>,
}

impl<T> Known<T> {
    pub const fn alone(value: T) -> Self {
        Self { value, at_least: None, at_most: None }
    }

    #[must_use]
    pub fn map<U>(self, of: impl Fn(T) -> U) -> Known<U> {
        let [at_least, at_most] = [self.at_least, self.at_most].map(|end| end.map(&of));
        Known { value: of(self.value), at_least, at_most }
    }
}

/// What a step has in a column, in the column's unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Unknown,
    Flag(bool),
    Word(Cow<'static, str>),
    Whole(Known<u64>),
    Real(Known<f64>),
}

impl Cell {
    /// `None` of words, of flags and of what is not known.
    pub fn number(&self) -> Option<Known<f64>> {
        match self {
            Self::Whole(known) => Some(known.map(|whole| whole as f64)),
            Self::Real(known) => Some(*known),
            Self::Unknown | Self::Flag(_) | Self::Word(_) => None,
        }
    }

    /// A time in milliseconds.
    pub fn ms(time: Duration) -> Self {
        Self::Real(Known::alone(time.as_nanos() as f64 / 1e6))
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&'static str> for Cell {
    fn from(word: &'static str) -> Self {
        Self::Word(Cow::Borrowed(word))
    }
}

impl From<String> for Cell {
    fn from(word: String) -> Self {
        Self::Word(Cow::Owned(word))
    }
}

impl From<u32> for Cell {
    fn from(whole: u32) -> Self {
        Self::from(u64::from(whole))
    }
}

impl From<u64> for Cell {
    fn from(whole: u64) -> Self {
        Self::Whole(Known::alone(whole))
    }
}

/// What the number in a column counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Word,
    Flag,
    /// Bits per second, of the layer that stands in the name.
    Rate,
    /// Bits per second, of the layer that the step's field `layer` names.
    RateOfLayer,
    Bytes,
    Seconds,
    Milliseconds,
    Microseconds,
    /// With this number of decimals.
    Percent(u8),
    /// A share of one, which people read as percent.
    Share,
    Count,
}

/// Which change of a figure is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
    /// Nobody can say; that it has changed is worth knowing.
    Neither,
    /// It is no result, but what was asked for or how it was measured, and is not compared.
    NotCompared,
}

/// Where one run shows how sure a figure is that has no interval of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// What the series carried in its slots.
    Throughput,
    /// The round trips of the series' slots.
    Rtt,
    /// The field with the means of repetitions.
    Means(&'static str),
    /// The field with the deviation of repetitions.
    Deviation(&'static str),
    Nowhere,
}

/// A metric: its name without the program's prefix, and what it means. It is in seconds, ratios, bytes or bits
/// per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    pub help: &'static str,
}

/// A column without the type of its steps.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    pub field: &'static str,
    /// For people.
    pub name: &'static str,
    pub unit: Unit,
    pub better: Better,
    pub spread: Spread,
    /// In documents the ends of its interval stand beside it, as `_at_least` and `_at_most`.
    pub has_interval: bool,
    pub metric: Option<Metric>,
}

/// A column of the steps of a kind. A member that a step does not have is an error of the compiler.
#[derive(Debug)]
pub struct Column<S> {
    pub info: Info,
    pub of: fn(&S) -> Cell,
}

impl Info {
    pub const fn new(field: &'static str, name: &'static str, unit: Unit) -> Self {
        Self {
            field,
            name,
            unit,
            better: Better::NotCompared,
            spread: Spread::Nowhere,
            has_interval: false,
            metric: None,
        }
    }

    #[must_use]
    pub const fn better(self, better: Better) -> Self {
        Self { better, ..self }
    }

    #[must_use]
    pub const fn metric(self, name: &'static str, help: &'static str) -> Self {
        Self { metric: Some(Metric { name, help }), ..self }
    }

    /// The fields of the ends of its interval.
    pub fn ends(&self) -> [String; 2] {
        ["at_least", "at_most"].map(|end| format!("{}_{end}", self.field))
    }

    /// Says where a step has it, which ends the description.
    pub const fn of<S>(self, of: fn(&S) -> Cell) -> Column<S> {
        Column { info: self, of }
    }
}

/// The same columns without the type of their steps.
pub const fn infos<S, const N: usize>(columns: &[Column<S>; N]) -> [Info; N] {
    let mut infos = [columns[0].info; N];
    let mut place = 1;
    while place < N {
        infos[place] = columns[place].info;
        place += 1;
    }
    infos
}

/// A kind of step, as documents know it.
#[derive(Debug)]
pub struct Kind {
    /// In documents.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    pub columns: &'static [Info],
    /// The field that stands for the step in a list.
    pub main: &'static str,
    /// The step in a sentence, beside its title.
    pub fact: fn(&Row) -> String,
}

impl Kind {
    /// The fields of a document, those of intervals among them.
    pub fn fields(&self) -> impl Iterator<Item = String> + use<'_> {
        self.columns.iter().flat_map(|info| {
            let ends = info.has_interval.then(|| info.ends()).into_iter().flatten();
            core::iter::once(info.field.into()).chain(ends)
        })
    }
}

/// The steps of a kind, and where they have what is in its columns.
#[derive(Debug)]
pub struct Steps<S: 'static> {
    pub kind: Kind,
    pub columns: &'static [Column<S>],
}

impl<S> Steps<S> {
    pub fn row(&'static self, step: &S) -> Row {
        let cells = self.columns.iter().map(|column| (column.of)(step)).collect();
        Row { kind: &self.kind, cells }
    }
}

/// A step as its columns have it, from a run or read back from a document.
#[derive(Clone, Debug)]
pub struct Row {
    pub kind: &'static Kind,
    pub cells: Vec<Cell>,
}

impl Row {
    /// # Panics
    /// Where the kind has no such field: a misspelling, which the first test that shows it meets.
    fn place(&self, field: &str) -> usize {
        let place = self.kind.columns.iter().position(|info| info.field == field);
        place.unwrap_or_else(|| panic!("a step '{}' has no field '{field}'", self.kind.name))
    }

    /// Empty where there is none.
    pub fn word(&self, field: &str) -> &str {
        match &self.cells[self.place(field)] {
            Cell::Word(word) => word,
            _ => "",
        }
    }

    /// Empty where its kind has none.
    pub fn direction(&self) -> &str {
        let has_one = self.kind.columns.iter().any(|info| info.field == "direction");
        if has_one { self.word("direction") } else { "" }
    }

    pub fn flag(&self, field: &str) -> bool {
        self.cells[self.place(field)] == Cell::Flag(true)
    }

    /// A number as people read it, with its interval; a dash where it is not known.
    pub fn shown(&self, field: &str) -> String {
        self.shown_as(self.kind.columns[self.place(field)].unit, field)
    }

    /// The same without its unit, as a count with its thousands apart.
    pub fn grouped(&self, field: &str) -> String {
        self.shown_as(Unit::Count, field)
    }

    fn shown_as(&self, unit: Unit, field: &str) -> String {
        let known = self.cells[self.place(field)].number();
        known.map_or_else(|| "–".into(), |known| unit.within(known))
    }
}

/// As documents have it: a field for each column, beside it the ends of its interval.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.kind.name)?;
        let columns = self.kind.columns.iter().zip(&self.cells);
        for (info, cell) in columns {
            map.serialize_entry(info.field, cell)?;
            if info.has_interval {
                for (field, end) in info.ends().iter().zip(cell.ends()) {
                    map.serialize_entry(field, &end)?;
                }
            }
        }
        map.end()
    }
}

impl Cell {
    /// Of its interval; unknown where it has none.
    fn ends(&self) -> [Self; 2] {
        let whole = |end: Option<u64>| end.map_or(Self::Unknown, Self::from);
        let real =
            |end: Option<f64>| end.map_or(Self::Unknown, |end| Self::Real(Known::alone(end)));
        match self {
            Self::Whole(known) => [known.at_least, known.at_most].map(whole),
            Self::Real(known) => [known.at_least, known.at_most].map(real),
            Self::Unknown | Self::Flag(_) | Self::Word(_) => [Self::Unknown, Self::Unknown],
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unknown => serializer.serialize_none(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Word(word) => serializer.serialize_str(word),
            Self::Whole(known) => serializer.serialize_u64(known.value),
            Self::Real(known) => serializer.serialize_f64(known.value),
        }
    }
}
