//! Headings, sentences, lists, facts, the verdict and the lines to sign on.

use pdf_writer::types::StructRole;

use super::font::Weight;
use super::press::{MARGIN, Press, Type};
use super::tree::NodeId;
use super::wrap::wrap;
use crate::document::draw::{Ink, Pen};
use crate::document::{Banner, Fact, Tone};

const TITLE: Type = Type::bold(19.0);
const HEADING: Type = Type::bold(12.5).in_ink(Ink::Blue);
const TEXT: Type = Type::regular(9.0);
const NAME: Type = Type::regular(9.0).in_ink(Ink::Grey);
const LEADING: f64 = 12.6;

pub(super) const fn ink(tone: Tone) -> Ink {
    match tone {
        Tone::Good => Ink::Green,
        Tone::Bad => Ink::Red,
        Tone::Doubtful => Ink::Brown,
        Tone::Neutral => Ink::Grey,
    }
}

pub(super) fn title(press: &mut Press, text: &str) {
    let node = press.node(StructRole::H1);
    for line in wrap(text, press.face(Weight::Bold), TITLE.size, press.width()) {
        press.at += 19.0;
        let foot = press.at;
        press.print(node, |press| press.words((MARGIN, foot), &line, TITLE));
        press.at += 5.0;
    }
    press.at += 5.0;
    let at = press.at;
    press.ornament(|press| press.rule(at, Pen::new(Ink::Blue, 2.2)));
    press.at += 10.0;
}

/// With `least` of what follows on the same page.
pub(super) fn heading(press: &mut Press, text: &str, least: f64) {
    press.space(18.0);
    press.need(22.0 + least);
    let (page, at) = (press.page(), press.at);
    press.headings.push((text.to_owned(), page, at));
    let node = press.node(StructRole::H2);
    press.at += 12.5;
    let foot = press.at;
    press.print(node, |press| press.words((MARGIN, foot), text, HEADING));
    press.at += 6.0;
}

pub(super) fn text(press: &mut Press, text: &str) {
    press.space(4.0);
    let node = press.node(StructRole::P);
    for line in wrap(text, press.face(Weight::Regular), TEXT.size, press.width()) {
        press.need(LEADING);
        press.at += LEADING;
        let foot = press.at - 3.0;
        press.print(node, |press| press.words((MARGIN, foot), &line, TEXT));
    }
    press.at += 3.0;
}

pub(super) fn list(press: &mut Press, items: &[String]) {
    const INDENT: f64 = 12.0;
    press.space(4.0);
    let list = press.node(StructRole::L);
    for item in items {
        let entry = press.tree.add(list, StructRole::LI);
        let (dot, body) =
            (press.tree.add(entry, StructRole::Lbl), press.tree.add(entry, StructRole::LBody));
        let lines = wrap(item, press.face(Weight::Regular), TEXT.size, press.width() - INDENT);
        press.need(LEADING * lines.len().min(3) as f64);
        for (place, line) in lines.iter().enumerate() {
            press.need(LEADING);
            press.at += LEADING;
            let foot = press.at - 3.0;
            if place == 0 {
                press.print(dot, |press| press.words((MARGIN + 2.0, foot), "•", TEXT));
            }
            press.print(body, |press| press.words((MARGIN + INDENT, foot), line, TEXT));
        }
        press.at += 2.0;
    }
}

/// In a frame, with a bar at its left.
pub(super) fn verdict(press: &mut Press, banner: &Banner) {
    const HEIGHT: f64 = 38.0;
    let word_type = Type::bold(19.0).in_ink(ink(banner.tone));
    press.space(8.0);
    press.need(HEIGHT);
    let (left, right) = (MARGIN, MARGIN + press.width());
    let (top, foot) = (press.at, press.at + HEIGHT);
    let ink = ink(banner.tone);
    press.ornament(|press| {
        press.area(&[(left, top), (left + 7.0, top), (left + 7.0, foot), (left, foot)], ink);
        let frame = [(left, top), (right, top), (right, foot), (left, foot), (left, top)];
        press.line(&frame, Pen::new(ink, 1.2));
    });
    let node = press.node(StructRole::P);
    let width = press.width_of(&banner.word, word_type);
    let start = left + 20.0;
    press.print(node, |press| {
        press.words((start, top + 26.0), &banner.word, word_type);
    });
    let from = start + width + 16.0;
    let letters = Type::regular(10.5);
    let lines =
        wrap(&banner.sentence, press.face(Weight::Regular), letters.size, right - from - 10.0);
    let first = top + 23.0 - (lines.len() as f64 - 1.0) * 6.5;
    press.print(node, |press| {
        for (place, line) in lines.iter().enumerate() {
            press.words((from, first + place as f64 * 13.0), line, letters);
        }
    });
    press.at = foot + 4.0;
}

/// Two beside each other, a hair line under each row; a long one has a row for itself.
pub(super) fn facts(press: &mut Press, facts: &[Fact]) {
    press.space(4.0);
    let list = press.node(StructRole::L);
    let mut left = facts;
    while let [first, rest @ ..] = left {
        let is_pair = !first.is_long() && rest.first().is_some_and(|second| !second.is_long());
        let count = if is_pair { 2 } else { 1 };
        row(press, list, &left[..count]);
        left = &left[count..];
    }
    press.at += 4.0;
}

fn row(press: &mut Press, list: NodeId, facts: &[Fact]) {
    const GAP: f64 = 22.0;
    const NAMES: f64 = 92.0;
    let half = (press.width() - GAP) / 2.0;
    let column = if facts.iter().any(Fact::is_long) { press.width() } else { half };
    let cells: Vec<[Vec<String>; 2]> = facts
        .iter()
        .map(|fact| {
            let font = press.face(Weight::Regular);
            let room = column - NAMES - 8.0;
            [wrap(&fact.name, font, NAME.size, NAMES), wrap(&fact.text, font, TEXT.size, room)]
        })
        .collect();
    let lines = cells.iter().flatten().map(Vec::len).max().unwrap_or(1);
    let height = lines as f64 * LEADING + 4.0;
    press.need(height);
    let top = press.at;
    for (place, [name, text]) in cells.iter().enumerate() {
        let left = MARGIN + place as f64 * (column + GAP);
        let entry = press.tree.add(list, StructRole::LI);
        for (role, lines, letters, left) in [
            (StructRole::Lbl, name, NAME, left),
            (StructRole::LBody, text, TEXT, left + NAMES + 8.0),
        ] {
            let node = press.tree.add(entry, role);
            press.print(node, |press| {
                for (place, line) in lines.iter().enumerate() {
                    let foot = top + (place + 1) as f64 * LEADING - 2.0;
                    press.words((left, foot), line, letters);
                }
            });
        }
        press.ornament(|press| {
            let at = top + height;
            press.line(&[(left, at), (left + column, at)], Pen::new(Ink::Pale, 0.6));
        });
    }
    press.at = top + height;
}

/// Lines beside each other with room above.
pub(super) fn signatures(press: &mut Press, names: &[String]) {
    const GAP: f64 = 24.0;
    press.space(44.0);
    press.need(16.0);
    let width = (press.width() - GAP * (names.len() as f64 - 1.0)) / names.len().max(1) as f64;
    let at = press.at;
    for (place, name) in names.iter().enumerate() {
        let left = MARGIN + place as f64 * (width + GAP);
        let line = [(left, at), (left + width, at)];
        press.ornament(|press| press.line(&line, Pen::new(Ink::Black, 0.8)));
        let node = press.node(StructRole::P);
        press.print(node, |press| press.words((left, at + 11.0), name, NAME));
    }
    press.at += 16.0;
}
