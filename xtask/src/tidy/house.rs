//! The limits of `house.toml`: what the repository may hold at most, each held where it was won.

use std::collections::BTreeMap;

use anyhow::Context as _;

use super::figures::Figures;
use super::{Complaint, TextFile};

/// Groups whose limits leave room, so that a small change need not touch the file.
const WITH_ROOM: [&str; 3] = ["production_lines", "shares", "document_bytes"];

/// How far a limit with room stands above the figure, per thousand, and how far it may stand above it.
const ROOM_PER_1000: u64 = 5;
const ROOM_MAX_PER_1000: u64 = 20;

/// `house.toml`: the limits of each group by their names.
pub(super) type Limits = BTreeMap<String, BTreeMap<String, u64>>;

pub(super) fn limits(file: &TextFile) -> anyhow::Result<Limits> {
    toml::from_str(&file.text).with_context(|| file.path.display().to_string())
}

/// Figures above their limits, limits that are too high, and what has only one of the two.
pub(super) fn errors(file: &TextFile, limits: &Limits, figures: &Figures) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for ((group, name), figure) in figures {
        let value = figure.value;
        let limit = limits.get(*group).and_then(|group| group.get(name)).copied();
        let wanted = if WITH_ROOM.contains(group) { with_room(value) } else { value };
        let text = match limit {
            None => format!("{group}.{name} is {value}: write `{name} = {wanted}` under [{group}]"),
            Some(limit) if value > limit => format!(
                "{group}.{name} is {value}, over the limit of {limit}{}: bring it down, or raise the \
                 limit and say why in the commit",
                figure.places()
            ),
            Some(limit) if is_too_high(group, limit, value) => {
                format!("{group}.{name} is {value}: lower the limit to {wanted} in house.toml")
            }
            Some(_) => continue,
        };
        complaints.push(Complaint::new(&file.path, line_of(file, group, name), text));
    }
    for (group, names) in limits {
        let unknown = names.keys().filter(|name| !figures.contains_key(&(group, (*name).clone())));
        complaints.extend(unknown.map(|name| {
            let text = format!("{group}.{name} is nothing that is measured: delete the line");
            Complaint::new(&file.path, line_of(file, group, name), text)
        }));
    }
    complaints
}

fn with_room(value: u64) -> u64 {
    value + (value * ROOM_PER_1000).div_ceil(1000)
}

/// Whether what was won must be written down.
fn is_too_high(group: &str, limit: u64, value: u64) -> bool {
    if WITH_ROOM.contains(&group) {
        // Of a small figure the room itself may be more than the share.
        limit > with_room(value) && limit * 1000 > value * (1000 + ROOM_MAX_PER_1000)
    } else {
        limit > value
    }
}

/// The line of a limit, or of its group, or the first one.
fn line_of(file: &TextFile, group: &str, name: &str) -> usize {
    let lines = || file.text.lines().map(str::trim);
    let Some(head) = lines().position(|line| line == format!("[{group}]")) else {
        return 1;
    };
    let body = lines().skip(head + 1).take_while(|line| !line.starts_with('['));
    let key =
        |line: &str| line.split('=').next().map(|key| key.trim().trim_matches('"').to_owned());
    let found = body.map(key).position(|key| key.as_deref() == Some(name));
    head + 1 + found.map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figure;
    use super::*;

    const LIMITS: &str = "[production_lines]\nnet = 1005\n\n[banned_words]\n\"so much\" = 7\n";

    fn complaints(net: u64, so_much: u64) -> Vec<String> {
        let file = TextFile { path: "house.toml".into(), text: LIMITS.into() };
        let figure = |value| Figure { value, at: vec!["a.rs:9".into()] };
        let figures = Figures::from([
            (("production_lines", "net".into()), figure(net)),
            (("banned_words", "so much".into()), figure(so_much)),
        ]);
        let limits = limits(&file).unwrap();
        errors(&file, &limits, &figures).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_figure_at_its_limit_passes() {
        assert_eq!(complaints(1005, 7), [""; 0]);
    }

    #[test]
    fn a_figure_over_its_limit_is_named_with_its_line_and_its_place() {
        let found = complaints(1006, 8).join("\n");
        assert!(found.contains("house.toml:2: production_lines.net is 1006, over"), "{found}");
        assert!(found.contains("house.toml:5: banned_words.so much is 8, over"), "{found}");
        assert!(found.contains("(a.rs:9)"), "{found}");
    }

    #[test]
    fn a_count_that_fell_must_be_written_down() {
        let found = complaints(1005, 6);
        assert!(found[0].ends_with("is 6: lower the limit to 6 in house.toml"), "{found:?}");
    }

    #[test]
    fn lines_may_fall_by_two_percent_before_they_must_be_written_down() {
        assert_eq!(complaints(986, 7), [""; 0]);
        // 985 · 1.02 = 1004.7
        let found = complaints(985, 7);
        assert!(found[0].ends_with("lower the limit to 990 in house.toml"), "{found:?}");
    }

    #[test]
    fn a_figure_without_a_limit_and_a_limit_without_a_figure_are_refused() {
        let file = TextFile { path: "house.toml".into(), text: LIMITS.into() };
        let figures = Figures::from([(
            ("document_bytes", "README.md".into()),
            Figure { value: 2000, at: Vec::new() },
        )]);
        let found = errors(&file, &limits(&file).unwrap(), &figures);
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(texts[0].ends_with("write `README.md = 2010` under [document_bytes]"), "{texts:?}");
        assert_eq!(texts.iter().filter(|text| text.contains("delete the line")).count(), 2);
    }
}
