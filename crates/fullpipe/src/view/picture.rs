//! The screen of a run: what it shows, drawn into cells of whatever size there is.

mod chart;

use std::time::Duration;

use fp_model::{Rate, Time};
use fp_report::{StepLine, StepOutcome, duration, rate, trial_line};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span as Words};
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::curve::Quantity;
use super::state::{Span, View};
use crate::time_left::clock;

/// Whether colours may be used: they never stand alone for what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Palette {
    Colours,
    Plain,
}

impl Palette {
    fn of(self, colour: Color) -> Style {
        match self {
            Self::Colours => Style::new().fg(colour),
            Self::Plain => Style::new(),
        }
    }

    /// Of download and upload.
    fn direction(self, place: usize) -> Style {
        self.of(if place == 0 { Color::Cyan } else { Color::Yellow })
    }
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);

/// The rows that a chart takes at least, its heading and its axis included.
const CHART_ROWS_MIN: u16 = 8;

const HELP: &str = "\
q, Esc, Ctrl-C   end the run; what was measured is kept
                 (once more: end at once)
Tab, Shift-Tab   another curve
1 … 5            throughput, retransmitted, round trip, missing, active
Left, Right      the trial, the last minute, the whole run
Up, Down         earlier and later steps
? or h           this page, and back

Times below the curves are those of trials, one after the
other. 'Missing' are frames that were sent in this trial and
have not arrived.";

/// Draws all of it.
pub(crate) fn draw(frame: &mut Frame<'_>, view: &View, now: Time, palette: Palette) {
    let area = frame.area();
    if area.is_empty() {
        return;
    }
    let steps = steps_rows(view, area.height);
    let figures = figures(view, palette);
    let figures_rows = u16::try_from(figures.len()).unwrap_or(u16::MAX).max(1);
    let [title, trial, now_row, charts, steps, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(figures_rows),
        Constraint::Fill(1),
        Constraint::Length(steps),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(title_line(view, now, area.width)), title);
    frame.render_widget(Paragraph::new(trial_row(view, now, trial.width)), trial);
    frame.render_widget(Paragraph::new(figures), now_row);
    if view.shows_help {
        let text = Paragraph::new(HELP).wrap(Wrap { trim: false });
        let both = Rect { height: charts.height + steps.height, ..charts };
        frame.render_widget(Clear, both);
        frame.render_widget(text, both);
    } else {
        draw_charts(frame, view, charts, palette);
        draw_steps(frame, view, steps, palette);
    }
    frame.render_widget(Paragraph::new(keys_line(view)), keys);
}

/// A third of the screen, at least what a small one has left of a chart.
fn steps_rows(view: &View, height: u16) -> u16 {
    let wanted = u16::try_from(view.steps.len()).unwrap_or(u16::MAX).saturating_add(1);
    let most = (height / 3).max(height.saturating_sub(4 + 2 * CHART_ROWS_MIN).min(height / 2));
    wanted.clamp(2, most.max(2))
}

fn title_line(view: &View, now: Time, width: u16) -> Line<'static> {
    let elapsed = view.elapsed(now);
    let whole = view.left.map(|left| format!(" of about {}", clock(elapsed + left)));
    let clock = format!("{}{}", clock(elapsed), whole.unwrap_or_default());
    let left = if view.across.is_empty() {
        String::from("fullpipe")
    } else {
        format!("fullpipe · {}", plain(&view.across))
    };
    Line::styled(apart(&left, &clock, width), BOLD.add_modifier(Modifier::REVERSED))
}

/// One text at the left, one at the right, the left one cut where there is no room for both.
fn apart(left: &str, right: &str, width: u16) -> String {
    let width = usize::from(width);
    let room = width.saturating_sub(right.chars().count() + 1);
    let left = fp_report::shortened(left, room);
    let gap = width.saturating_sub(left.chars().count() + right.chars().count());
    format!("{left}{}{right}", " ".repeat(gap))
}

/// A name may come from a file: what steers a terminal is not passed on.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The trial under way, how far it is and what is left of it.
fn trial_row(view: &View, now: Time, width: u16) -> Line<'static> {
    const BAR: usize = 16;
    if view.is_stopping {
        return Line::styled("ending the run: what was measured is kept …", BOLD);
    }
    let Some(running) = &view.trial else {
        let what = if view.trials_done == 0 { "meeting the far end …" } else { "next trial …" };
        return Line::from(what);
    };
    let progress = running.progress(now);
    let filled = (progress.share() * BAR as f64) as usize;
    let bar = format!("[{}{}]", "#".repeat(filled), "-".repeat(BAR - filled));
    let phase = if running.is_warming_up(now) { "warm-up" } else { "" };
    let right = match width {
        0..50 => tenths(progress.left()),
        _ => format!("{phase:>7} {bar} {} left", tenths(progress.left())),
    };
    Line::from(apart(&plain(&trial_line(&running.trial)), &right, width))
}

fn tenths(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// The latest figures of each direction that the trial loads, a row each.
fn figures(view: &View, palette: Palette) -> Vec<Line<'static>> {
    let Some(running) = &view.trial else { return Vec::new() };
    let is_loaded = |place: &usize| {
        running.trial.flows.iter().any(|flow| super::state::place(flow.direction) == *place)
    };
    let row = |place: usize| {
        let text = figures_of(view, place, running.layer());
        Line::styled(text, palette.direction(place))
    };
    (0..view.curves.len()).filter(is_loaded).map(row).collect()
}

fn figures_of(view: &View, place: usize, layer: &str) -> String {
    let name = ["↓ download", "↑ upload  "][place];
    // The last slot may not have all flows in it yet, the one before has.
    let slots = view.curves[place].slots();
    let last_whole = slots.len().saturating_sub(2);
    let Some(slot) = slots.get(last_whole) else { return name.to_owned() };
    let mut text = name.to_owned();
    if let Some(bps) = slot.value(Quantity::Throughput) {
        text += &format!(" {} ({layer})", rate(Rate::bps(bps as u64)));
    }
    if let Some(seconds) = slot.value(Quantity::RoundTrip) {
        text += &format!(", RTT {}", duration(Duration::from_secs_f64(seconds)));
    }
    if let Some(share) = slot.value(Quantity::Retransmitted) {
        text += &format!(", {share:.2} % retransmitted");
    }
    if let Some(share) = slot.value(Quantity::Missing) {
        text += &format!(", {share:.3} % missing");
    }
    text
}

/// The chosen curve on top; the others below where there is room for them.
fn draw_charts(frame: &mut Frame<'_>, view: &View, area: Rect, palette: Palette) {
    let count = usize::from((area.height / CHART_ROWS_MIN).max(1));
    let chosen = Quantity::ALL.iter().position(|one| *one == view.quantity).unwrap_or(0);
    let in_turn = Quantity::ALL.iter().cycle().skip(chosen).take(Quantity::ALL.len());
    let has_some =
        |quantity: &&Quantity| **quantity == view.quantity || chart::has_points(view, **quantity);
    let shown: Vec<Quantity> = in_turn.filter(has_some).take(count).copied().collect();
    let areas = Layout::vertical(shown.iter().map(|_| Constraint::Fill(1))).split(area);
    for (quantity, area) in shown.iter().zip(areas.iter()) {
        chart::draw(frame, view, *quantity, *area, palette);
    }
}

fn draw_steps(frame: &mut Frame<'_>, view: &View, area: Rect, palette: Palette) {
    let rows = usize::from(area.height.saturating_sub(1));
    let last = view.steps.len() - view.steps_below.min(view.steps.len());
    let first = last.saturating_sub(rows);
    let count = view.steps.len();
    let heading = match (count, first, view.steps_below) {
        (0, ..) => format!("steps: none done yet, {} trials", view.trials_done),
        (_, 0, 0) => format!("steps: {count} done, {} trials", view.trials_done),
        _ => format!("steps {}–{last} of {count} done, {} trials", first + 1, view.trials_done),
    };
    let mut lines = vec![Line::styled(heading, FAINT)];
    let steps = view.steps[first..last].iter().enumerate();
    lines
        .extend(steps.map(|(place, step)| step_line(first + place + 1, step, area.width, palette)));
    frame.render_widget(Paragraph::new(lines), area);
}

/// Verdict, name and figure of a step, then what the verdict says of it as far as there is room.
fn step_line(number: usize, step: &StepLine, width: u16, palette: Palette) -> Line<'static> {
    let (word, style) = match step.outcome {
        StepOutcome::Passed => ("pass", palette.of(Color::Green)),
        StepOutcome::Failed => ("FAIL", palette.of(Color::Red).add_modifier(Modifier::BOLD)),
        StepOutcome::Remarked => ("note", palette.of(Color::Magenta)),
        StepOutcome::Done => ("done", FAINT),
    };
    let mut text = format!("{number:>3} {}", plain(&step.name));
    if !step.figure.is_empty() {
        text += &format!(": {}", plain(&step.figure));
    }
    if !step.remark.is_empty() {
        text += &format!(" – {}", plain(&step.remark));
    }
    let room = usize::from(width).saturating_sub(word.len() + 1);
    Line::from(vec![
        Words::styled(word, style),
        Words::raw(format!(" {}", fp_report::shortened(&text, room))),
    ])
}

fn keys_line(view: &View) -> Line<'static> {
    let span = match view.span {
        Span::Trial => "this trial",
        Span::Minute => "the last minute",
        Span::Run => "the whole run",
    };
    Line::styled(format!("q end · Tab curve · ←→ {span} · ↑↓ steps · ? help"), FAINT)
}

#[cfg(test)]
mod tests;
