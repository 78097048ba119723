//! Prints words, lines and areas on pages from top to bottom, each as part of something or as an
//! ornament.

use pdf_writer::types::StructRole;
use pdf_writer::{Content, Name, Str};

use super::font::{Fonts, Style, TypeFace, Weight};
use super::tree::{NodeId, Tree};
use super::{Paper, PdfError};
use crate::document::draw::{Ink, Pen, Point};

pub(super) const MARGIN: f64 = 40.0;
const TOP: f64 = 44.0;
/// Below it stands the foot of the page.
const FOOT: f64 = 52.0;

pub(super) struct Press {
    paper: Paper,
    pub(super) fonts: Fonts,
    pub(super) pages: Vec<Content>,
    pub(super) tree: Tree,
    /// Headings with their page and their place on it, from the top.
    pub(super) headings: Vec<(String, usize, f64)>,
    /// Where the next thing is printed, from the top of the page.
    pub(super) at: f64,
}

/// How words look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type {
    pub(super) weight: Weight,
    pub(super) size: f64,
    pub(super) ink: Ink,
}

impl Type {
    pub(super) const fn regular(size: f64) -> Self {
        Self { weight: Weight::Regular, size, ink: Ink::Black }
    }

    pub(super) const fn bold(size: f64) -> Self {
        Self { weight: Weight::Bold, size, ink: Ink::Black }
    }

    pub(super) const fn in_ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }
}

impl Press {
    pub(super) fn new(paper: Paper) -> Result<Self, PdfError> {
        Ok(Self {
            paper,
            fonts: Fonts::new()?,
            pages: vec![Content::new()],
            tree: Tree::new(),
            headings: Vec::new(),
            at: TOP,
        })
    }

    pub(super) const fn size(&self) -> (f64, f64) {
        self.paper.size()
    }

    /// Between the margins.
    pub(super) const fn width(&self) -> f64 {
        self.paper.size().0 - 2.0 * MARGIN
    }

    const fn bottom(&self) -> f64 {
        self.paper.size().1 - FOOT
    }

    /// The page that is being printed.
    pub(super) fn page(&self) -> usize {
        self.pages.len() - 1
    }

    pub(super) fn is_page_top(&self) -> bool {
        self.at <= TOP
    }

    /// Goes on with a new page unless there is so much room on this one; whether it did.
    pub(super) fn need(&mut self, height: f64) -> bool {
        if self.at + height <= self.bottom() || self.is_page_top() {
            return false;
        }
        self.pages.push(Content::new());
        self.at = TOP;
        true
    }

    /// Room to what comes next, which a new page has by itself.
    pub(super) fn space(&mut self, height: f64) {
        if !self.is_page_top() {
            self.at += height;
        }
    }

    pub(super) fn node(&mut self, role: StructRole) -> NodeId {
        self.tree.add(Tree::ROOT, role)
    }

    /// What `print` prints is the content of `node`; it stays on one page.
    pub(super) fn print(&mut self, node: NodeId, print: impl FnOnce(&mut Self)) {
        let page = self.page();
        let mark = self.tree.mark(node, page);
        let tag = self.tree.role(node).to_name();
        self.ink(page).begin_marked_content_with_properties(tag).properties().identify(mark);
        print(self);
        self.ink(page).end_marked_content();
    }

    /// What `print` prints says nothing: lines, grounds, what is repeated on each page.
    pub(super) fn ornament(&mut self, print: impl FnOnce(&mut Self)) {
        let page = self.page();
        self.ink(page).begin_marked_content(Name(b"Artifact"));
        print(self);
        self.ink(page).end_marked_content();
    }

    fn ink(&mut self, page: usize) -> &mut Content {
        &mut self.pages[page]
    }

    /// From `left` on, their foot at `foot`.
    pub(super) fn words(&mut self, (left, foot): Point, text: &str, letters: Type) {
        let page = self.page();
        self.words_on(page, (left, foot), text, letters);
    }

    pub(super) fn words_on(&mut self, page: usize, (left, foot): Point, text: &str, letters: Type) {
        if text.is_empty() {
            return;
        }
        let up = self.size().1 - foot;
        let runs = self.fonts.encoded(text, letters.weight);
        let [red, green, blue] = shares(letters.ink);
        let content = self.ink(page);
        content.begin_text().set_fill_rgb(red, green, blue);
        content.next_line(left as f32, up as f32);
        for run in runs {
            content.set_font(name(run.style), letters.size as f32).show(Str(&run.bytes));
        }
        content.end_text();
    }

    /// Up to `right`.
    pub(super) fn words_before(&mut self, (right, foot): Point, text: &str, letters: Type) {
        let width = self.width_of(text, letters);
        self.words((right - width, foot), text, letters);
    }

    pub(super) fn width_of(&self, text: &str, letters: Type) -> f64 {
        self.face(letters.weight).width(text, letters.size)
    }

    pub(super) const fn face(&self, weight: Weight) -> TypeFace<'_> {
        self.fonts.face(weight)
    }

    pub(super) fn line(&mut self, points: &[Point], pen: Pen) {
        let height = self.size().1;
        let page = self.page();
        let content = self.ink(page);
        let [red, green, blue] = shares(pen.ink);
        content.set_stroke_rgb(red, green, blue).set_line_width(pen.width as f32);
        let dashes = pen.dash.lengths().iter().map(|length| *length as f32);
        content.set_dash_pattern(dashes, 0.0);
        for (place, (x, y)) in points.iter().enumerate() {
            let (x, y) = (*x as f32, (height - y) as f32);
            if place == 0 {
                content.move_to(x, y)
            } else {
                content.line_to(x, y)
            };
        }
        content.stroke();
    }

    /// A line from margin to margin.
    pub(super) fn rule(&mut self, at: f64, pen: Pen) {
        let (from, to) = (MARGIN, MARGIN + self.width());
        self.line(&[(from, at), (to, at)], pen);
    }

    pub(super) fn area(&mut self, points: &[Point], ink: Ink) {
        let height = self.size().1;
        let page = self.page();
        let content = self.ink(page);
        let [red, green, blue] = shares(ink);
        content.set_fill_rgb(red, green, blue);
        for (place, (x, y)) in points.iter().enumerate() {
            let (x, y) = (*x as f32, (height - y) as f32);
            if place == 0 {
                content.move_to(x, y)
            } else {
                content.line_to(x, y)
            };
        }
        content.close_path().fill_nonzero();
    }
}

/// A font's name on every page.
pub(super) const fn name(style: Style) -> Name<'static> {
    match style {
        Style::Regular => Name(b"R"),
        Style::Bold => Name(b"B"),
        Style::Symbols => Name(b"S"),
    }
}

fn shares(ink: Ink) -> [f32; 3] {
    ink.rgb().map(|part| f32::from(part) / 255.0)
}
