//! Steps, and rows inside of them, as their columns have them.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Deref;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Cell, Column, Info, Kind, Known, Unit, one_way, shown};

/// A row of columns, as a connection of a TCP trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub columns: &'static [Info],
    pub cells: Vec<Cell>,
}

/// A step, from a run or read back from a document.
#[derive(Clone, Debug)]
pub struct Row {
    pub kind: &'static Kind,
    pub part: Part,
}

impl Deref for Row {
    type Target = Part;

    fn deref(&self) -> &Part {
        &self.part
    }
}

fn place(columns: &[Info], field: &str) -> usize {
    let place = columns.iter().position(|info| info.field == field);
    place.unwrap_or_else(|| panic!("there is no field '{field}'"))
}

/// What a step, or a part of one, has in these columns.
pub fn cells<S>(columns: &[Column<S>], part: &S) -> impl Iterator<Item = Cell> {
    columns.iter().map(|column| (column.of)(part))
}

impl Cell {
    /// A row of these columns.
    pub fn part<S>(infos: &'static [Info], columns: &[Column<S>], part: &S) -> Self {
        Self::Part(Box::new(Part::of(infos, columns, part)))
    }

    /// A row of these columns for each of these.
    pub fn parts<'a, S: 'a>(
        infos: &'static [Info],
        columns: &[Column<S>],
        parts: impl IntoIterator<Item = &'a S>,
    ) -> Self {
        Self::Parts(parts.into_iter().map(|part| Part::of(infos, columns, part)).collect())
    }
}

/// # Panics
/// Each where it has no such field: a misspelling, which the first test that shows it meets.
impl Part {
    pub fn of<S>(infos: &'static [Info], columns: &[Column<S>], part: &S) -> Self {
        Self { columns: infos, cells: cells(columns, part).collect() }
    }

    pub fn has(&self, field: &str) -> bool {
        self.columns.iter().any(|info| info.field == field)
    }

    fn place(&self, field: &str) -> usize {
        place(self.columns, field)
    }

    pub fn info(&self, field: &str) -> &'static Info {
        &self.columns[self.place(field)]
    }

    fn unit(&self, field: &str) -> Unit {
        self.info(field).unit
    }

    /// What a field has, as people read it.
    pub fn text(&self, field: &str) -> String {
        match &self.cells[self.place(field)] {
            Cell::Word(word) => word.clone().into_owned(),
            Cell::Flag(flag) => if *flag { "yes" } else { "no" }.into(),
            _ => self.shown(field),
        }
    }

    /// The first of two numbers as a share of the second, in percent.
    pub fn share(&self, of: &str, whole: &str) -> String {
        let share = |(of, whole): (Known<f64>, Known<f64>)| 100.0 * of.value / whole.value.max(1.0);
        let percent = self.number(of).zip(self.number(whole)).map(share);
        percent.map_or_else(unknown, |percent| Unit::Percent(1).shown(percent))
    }

    /// A number with its interval beside another one that it is a part of.
    pub fn beside(&self, of: &str, whole: &str) -> String {
        shown::beside(&self.shown(of), &self.value(whole))
    }

    /// The two numbers, where both are known.
    pub fn both(&self, of: &str, whole: &str) -> Option<[f64; 2]> {
        Some([self.estimate(of)?, self.estimate(whole)?])
    }

    /// The second of two numbers with the first one as what was reached of it, where both are known.
    pub fn pair(&self, name: String, of: &str, whole: &str) -> Option<Pair> {
        let [reached, possible] = self.both(of, whole)?;
        Some(Pair { name, possible, reached })
    }

    /// Empty where there is none.
    pub fn word(&self, field: &str) -> &str {
        match &self.cells[self.place(field)] {
            Cell::Word(word) => word,
            _ => "",
        }
    }

    /// A row inside of it.
    pub fn part(&self, field: &str) -> Option<&Self> {
        match &self.cells[self.place(field)] {
            Cell::Part(part) => Some(part),
            _ => None,
        }
    }

    /// Rows inside of it; none where it has none.
    pub fn parts(&self, field: &str) -> &[Self] {
        match &self.cells[self.place(field)] {
            Cell::Parts(parts) => parts,
            _ => &[],
        }
    }

    /// A one-way delay by two clocks that agree to what another field says: of a delay below that only an upper
    /// bound is known.
    pub fn one_way(&self, field: &str, error: &str) -> String {
        let time = |field: &str| {
            let unit = self.unit(field);
            self.number(field).map(|known| shown::time(unit, known.value))
        };
        let error = time(error).unwrap_or_default();
        time(field).map_or_else(unknown, |delay| one_way(delay, error))
    }

    pub fn flag(&self, field: &str) -> Option<bool> {
        match self.cells[self.place(field)] {
            Cell::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// `None` where it is not known.
    pub fn number(&self, field: &str) -> Option<Known<f64>> {
        self.cells[self.place(field)].number()
    }

    /// The same without its interval.
    pub fn estimate(&self, field: &str) -> Option<f64> {
        Some(self.number(field)?.value)
    }

    /// A number as people read it, with the ends of its interval: for one that is not in the middle of it.
    pub fn between(&self, field: &str) -> String {
        let unit = self.unit(field);
        self.number(field).map_or_else(unknown, |known| unit.between(known))
    }

    /// A number as people read it, with its interval; a dash where it is not known.
    pub fn shown(&self, field: &str) -> String {
        self.shown_as(self.unit(field), field)
    }

    /// The ends of its interval.
    pub fn ends(&self, field: &str) -> String {
        let ends = self.number(field).and_then(|known| known.at_least.zip(known.at_most));
        ends.map_or_else(unknown, |(least, most)| self.unit(field).ends(least, most))
    }

    /// The numbers of a list; none where it has none.
    pub fn list(&self, field: &str) -> Vec<f64> {
        match &self.cells[self.place(field)] {
            Cell::List(cells) => {
                cells.iter().filter_map(|cell| Some(cell.number()?.value)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A number without its interval.
    pub fn value(&self, field: &str) -> String {
        let unit = self.unit(field);
        self.number(field).map_or_else(unknown, |known| unit.shown(known.value))
    }

    /// A number without its unit, as a count with its thousands apart.
    pub fn grouped(&self, field: &str) -> String {
        self.shown_as(Unit::Count, field)
    }

    /// The same in another unit than its own.
    pub fn shown_as(&self, unit: Unit, field: &str) -> String {
        self.number(field).map_or_else(unknown, |known| unit.within(known))
    }
}

impl Row {
    /// A table's rows of it: itself.
    pub fn alone(&self) -> Vec<Self> {
        [self.clone()].into()
    }

    /// A table's rows of it: itself, or nothing.
    pub fn when(&self, is_shown: bool) -> Vec<Self> {
        if is_shown { self.alone() } else { Vec::new() }
    }

    /// A table's rows of it: those in one of its fields.
    pub fn each(&self, field: &str) -> Vec<Self> {
        self.parts(field).iter().map(|part| self.of(part.clone())).collect()
    }

    /// A row inside of it.
    const fn of(&self, part: Part) -> Self {
        Self { kind: self.kind, part }
    }

    /// The same under a name: `columns` are one for the name and those of the part.
    pub fn inside(&self, columns: &'static [Info], name: impl Into<Cell>, part: &Part) -> Self {
        let cells = core::iter::once(name.into()).chain(part.cells.iter().cloned()).collect();
        self.of(Part { columns, cells })
    }

    /// The figure that stands for the step in a list, with its name where it has no unit; empty where none does.
    pub fn main(&self) -> String {
        let mut fields = self.kind.main.iter();
        let Some(field) = fields.find(|field| self.number(field).is_some()) else {
            return String::new();
        };
        let info = self.info(field);
        match info.unit {
            Unit::Count | Unit::Number(_) | Unit::PerSecond => {
                format!("{} {}", self.shown(field), info.name)
            }
            _ => self.shown(field),
        }
    }

    /// That of the flow, where both may be loaded; empty where its kind has none.
    pub fn direction(&self) -> &str {
        let mut fields = ["flow_direction", "direction"].into_iter();
        fields.find(|field| self.has(field)).map_or("", |field| self.word(field))
    }
}

/// Of something with a name, how much was possible and how much was reached, in bits per second.
#[derive(Clone, Debug)]
pub struct Pair {
    pub name: String,
    pub possible: f64,
    pub reached: f64,
}

/// What stands in the place of a figure that is not known.
pub fn unknown() -> String {
    "–".into()
}

/// As documents have it: a field for each column, beside it the ends of its interval.
impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.kind.name)?;
        entries(&mut map, &self.part)?;
        map.end()
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entries(&mut map, self)?;
        map.end()
    }
}

fn entries<M: SerializeMap>(map: &mut M, part: &Part) -> Result<(), M::Error> {
    let written = part.columns.iter().zip(&part.cells).filter(|(_, cell)| **cell != Cell::Absent);
    for (info, cell) in written {
        map.serialize_entry(info.field, cell)?;
        if info.has_interval {
            for (field, end) in info.ends().iter().zip(cell.ends()) {
                map.serialize_entry(field, &end)?;
            }
        }
    }
    Ok(())
}
