//! A figure has one home: its field in documents, its name and unit for people, which change of it is
//! better, its metric, and where a step keeps it. What documents, comparisons and metrics say of a step is made
//! from this.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::ser::{Serialize, Serializer};

use crate::{Dscp, Rate};

mod chart;
mod headline;
mod row;
pub mod series;
mod shown;

pub use chart::{Active, Chart, Course, Curves, Drawn, Estimates, Followed, Pairs, Reached};
pub use headline::Headline;
pub use row::{Pair, Part, Row, cells, unknown};
pub use series::{CONNECTIONS_SLOT, SLOT, Series, connections_slot, slot};
pub use shown::{amount, beside, capital, duration, one_way, rate};

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

    /// With both ends, or none.
    pub fn within(value: T, ends: Option<[T; 2]>) -> Self {
        let (at_least, at_most) = ends.map(<(T, T)>::from).unzip();
        Self { value, at_least, at_most }
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
    /// Of steps that have no such field.
    Absent,
    Unknown,
    Flag(bool),
    Word(Cow<'static, str>),
    Whole(Known<u64>),
    Signed(i32),
    Real(Known<f64>),
    /// Not known but for the ends of its interval.
    Ends(Box<[Self; 2]>),
    List(Vec<Self>),
    Part(Box<Part>),
    Parts(Vec<Part>),
    /// Read where it is drawn: a row that is read back from a document has none.
    Series(Series),
}

impl Cell {
    /// `None` of words, of flags and of what is not known.
    pub fn number(&self) -> Option<Known<f64>> {
        match self {
            Self::Whole(known) => Some(known.map(|whole| whole as f64)),
            Self::Signed(whole) => Some(Known::alone(f64::from(*whole))),
            Self::Real(known) => Some(*known),
            _ => None,
        }
    }

    /// A number with the ends of its interval, as far as they are known.
    pub fn known<T: Into<Self>>(value: Option<T>, [at_least, at_most]: [Option<T>; 2]) -> Self
    where
        Known<T>: Into<Self>,
    {
        match value {
            Some(value) => Known { value, at_least, at_most }.into(),
            None => Self::Ends(Box::new([at_least.into(), at_most.into()])),
        }
    }

    /// A time in milliseconds.
    pub fn ms(time: Duration) -> Self {
        Self::from(time.as_nanos() as f64 / 1e6)
    }

    /// A time in microseconds.
    pub fn us(time: Duration) -> Self {
        Self::from(time.as_nanos() as f64 / 1e3)
    }

    /// A time in seconds.
    pub fn s(time: Duration) -> Self {
        Self::from(time.as_secs_f64())
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

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(known: Option<T>) -> Self {
        known.map_or(Self::Unknown, Into::into)
    }
}

impl From<f64> for Cell {
    fn from(real: f64) -> Self {
        Self::Real(Known::alone(real))
    }
}

impl From<Known<f64>> for Cell {
    fn from(real: Known<f64>) -> Self {
        Self::Real(real)
    }
}

impl From<Known<Rate>> for Cell {
    fn from(rate: Known<Rate>) -> Self {
        Self::Whole(rate.map(Rate::as_bps))
    }
}

impl From<Dscp> for Cell {
    fn from(dscp: Dscp) -> Self {
        Self::from(u32::from(dscp.code_point()))
    }
}

impl From<Rate> for Cell {
    fn from(rate: Rate) -> Self {
        Self::from(rate.as_bps())
    }
}

impl From<i32> for Cell {
    fn from(whole: i32) -> Self {
        Self::Signed(whole)
    }
}

impl From<u32> for Cell {
    fn from(whole: u32) -> Self {
        Self::from(u64::from(whole))
    }
}

impl From<usize> for Cell {
    fn from(whole: usize) -> Self {
        Self::from(whole as u64)
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
    /// Bytes whose last digit nobody needs.
    Amount,
    Seconds,
    Milliseconds,
    Microseconds,
    /// With this number of decimals.
    Percent(u8),
    /// The same of more or less than something, with its sign.
    Difference(u8),
    /// A share of one, which people read as percent, with this number of decimals.
    Share(u8),
    /// Frames a second: a rate that was not reached is not said.
    PerSecond,
    /// With this number of decimals, and no unit.
    Number(u8),
    Count,
    /// No number, but a row of these columns.
    Part(&'static [Info]),
    /// No number, but rows of these columns.
    Parts(&'static [Info]),
    /// No number, but slots of time with these columns.
    Series(&'static [Info]),
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

impl Metric {
    pub const fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help }
    }
}

/// A column without the type of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    pub field: &'static str,
    /// For people.
    pub name: &'static str,
    pub unit: Unit,
    pub better: Better,
    pub spread: Spread,
    /// In documents the ends of its interval stand beside it, as `_at_least` and `_at_most`.
    pub has_interval: bool,
    /// A list of such values.
    pub is_list: bool,
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
            is_list: false,
            metric: None,
        }
    }

    #[must_use]
    pub const fn better(self, better: Better) -> Self {
        Self { better, ..self }
    }

    #[must_use]
    pub const fn spread(self, spread: Spread) -> Self {
        Self { spread, ..self }
    }

    #[must_use]
    pub const fn metric(self, metric: Metric) -> Self {
        Self { metric: Some(metric), ..self }
    }

    /// With an interval: a cell has the ends that are known.
    #[must_use]
    pub const fn interval(self) -> Self {
        Self { has_interval: true, ..self }
    }

    #[must_use]
    pub const fn list(self) -> Self {
        Self { is_list: true, ..self }
    }

    /// Its field, and those of the ends of its interval.
    fn fields(&self) -> impl Iterator<Item = String> {
        let ends = self.has_interval.then(|| self.ends()).into_iter().flatten();
        core::iter::once(self.field.into()).chain(ends)
    }

    /// The paths of its fields, those of intervals and of parts among them.
    fn paths(&self) -> Vec<String> {
        match self.unit {
            Unit::Part(columns) => inside(self, ".", columns),
            Unit::Parts(columns) | Unit::Series(columns) => inside(self, ".N.", columns),
            _ if self.is_list => [format!("{}.N", self.field)].into(),
            _ => self.fields().collect(),
        }
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

/// The paths of the fields inside of one.
fn inside(info: &Info, between: &str, columns: &[Info]) -> Vec<String> {
    let path = |field: String| format!("{}{between}{field}", info.field);
    columns.iter().flat_map(Info::paths).map(path).collect()
}

/// These columns, of steps or of a table, and more of them.
///
/// # Panics
/// Where the sum has not as many as both together, in the compiler.
pub const fn and<T: Copy, const N: usize, const M: usize, const SUM: usize>(
    columns: &[T; N],
    more: &[T; M],
) -> [T; SUM] {
    assert!(N + M == SUM, "as many as both together");
    let mut all = [more[0]; SUM];
    let mut place = 0;
    while place < SUM {
        all[place] = if place < N { columns[place] } else { more[place - N] };
        place += 1;
    }
    all
}

/// A kind of step, as documents know it.
#[derive(Debug)]
pub struct Kind {
    /// In documents.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// Documents have in `pass` whether a step meets what was asked of it, as the verdict has it.
    pub is_judged: bool,
    pub columns: &'static [Info],
    /// Of these fields the first that is known stands for the step in a list.
    pub main: &'static [&'static str],
    /// What was found in words, each under its name; nothing of what stands in a table.
    pub facts: fn(&Row) -> Vec<(&'static str, String)>,
    pub blocks: &'static [Block],
}

/// What a document shows of the steps of a kind.
#[derive(Clone, Copy, Debug)]
pub enum Block {
    Table(&'static Table),
    Chart(Chart),
}

/// A table of steps of a kind.
#[derive(Debug)]
pub struct Table {
    /// Steps with another one stand in another table.
    pub caption: fn(&Row) -> String,
    /// What a step has in it: the step itself, rows inside of it, or nothing.
    pub rows: fn(&Row) -> Vec<Row>,
    pub columns: &'static [Shown],
    /// What one has to know to read it, of the first step in it; empty where there is nothing.
    pub note: fn(&Row) -> String,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub enum Shown {
    /// What a field has, under its name.
    Field(&'static str),
    /// The same under another head.
    As(&'static str, &'static str),
    /// Words, under this head.
    Words(&'static str, fn(&Row) -> String),
    /// The same of a figure that the tester limits where the last of these says so.
    Limit(&'static str, fn(&Row) -> String, fn(&Row) -> bool),
    /// A figure that is made of several fields.
    Figure(&'static str, fn(&Row) -> String),
    /// A figure beside what it is a part of, which plain characters draw at the end of the row.
    Bar(&'static str, fn(&Row) -> String, fn(&Row) -> Option<[f64; 2]>),
    /// What became of what was asked of a step; no column where nothing was asked of any.
    Result,
}

impl Kind {
    pub fn is_of(&self, step: &Row) -> bool {
        step.kind.name == self.name
    }

    /// The steps of this kind.
    pub fn among<'a>(
        &self,
        steps: &'a [Row],
    ) -> impl Iterator<Item = &'a Row> + Clone + use<'_, 'a> {
        steps.iter().filter(|step| self.is_of(step))
    }

    /// The paths of the fields of a document, those of intervals and of parts among them.
    pub fn fields(&self) -> impl Iterator<Item = String> + use<'_> {
        let pass = self.is_judged.then(|| "pass".into());
        self.columns.iter().flat_map(Info::paths).chain(pass)
    }

    /// Whether `path` leads to a single value: `a.b` is the field `b` of the field `a`, places in lists are numbers.
    pub fn has(&self, path: &str) -> bool {
        let is_place = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
        let part = |part| if is_place(part) { "N" } else { part };
        let wanted: Vec<&str> = path.split('.').map(part).collect();
        let wanted = wanted.join(".");
        self.fields().any(|known| known == wanted)
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
        self.row_and(step, Vec::new())
    }

    /// With the cells of the kind's columns that are not of the step itself.
    pub fn row_and(&'static self, step: &S, more: Vec<Cell>) -> Row {
        let mut part = Part::of(self.kind.columns, self.columns, step);
        part.cells.extend(more);
        part.cells.resize(self.kind.columns.len(), Cell::Absent);
        Row { kind: &self.kind, part }
    }
}

impl Cell {
    /// Of its interval; unknown where it has none.
    fn ends(&self) -> [Self; 2] {
        match self {
            Self::Whole(known) => [known.at_least, known.at_most].map(Self::from),
            Self::Real(known) => [known.at_least, known.at_most].map(Self::from),
            Self::Ends(ends) => *ends.clone(),
            _ => [Self::Unknown, Self::Unknown],
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent | Self::Unknown | Self::Ends(_) => serializer.serialize_none(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Word(word) => serializer.serialize_str(word),
            Self::Whole(known) => serializer.serialize_u64(known.value),
            Self::Signed(whole) => serializer.serialize_i32(*whole),
            Self::Real(known) => serializer.serialize_f64(known.value),
            Self::List(cells) => serializer.collect_seq(cells),
            Self::Part(part) => part.serialize(serializer),
            Self::Parts(parts) => serializer.collect_seq(parts),
            Self::Series(series) => series.serialize(serializer),
        }
    }
}
