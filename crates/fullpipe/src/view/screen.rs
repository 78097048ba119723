//! The whole screen of a terminal: taken, drawn a few times a second, and given back.

use std::io::{self, Stderr, Write as _};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fp_engine::os::{clock, signal, terminal};
use fp_model::{Event, Observation, Time};
use fp_report::StepLine;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use ratatui::crossterm::terminal::{EnterAlternateScreen, enable_raw_mode};
use ratatui::crossterm::{cursor, execute};

use super::curve::Quantity;
use super::picture::{self, Palette};
use super::state::{View, Wish};
use crate::time_left;

/// How often the screen is drawn: seldom enough not to be in a measurement's way.
const FRAME: Duration = Duration::from_millis(200);
/// How soon a key is heard.
const KEYS: Duration = Duration::from_millis(50);

/// What the screen is told of.
enum Message {
    Event(Box<Event>),
    Across(String),
    Steps(Vec<StepLine>),
    Line(String),
    Closed,
}

/// A process has one terminal: where it hears, while its screen is taken.
static OPEN: Mutex<Option<Sender<Message>>> = Mutex::new(None);

/// The screen of the terminal on stderr, until it is dropped.
#[derive(Debug)]
pub(crate) struct Screen {
    thread: Option<JoinHandle<Vec<String>>>,
}

impl Screen {
    /// Takes the screen.
    ///
    /// # Errors
    /// Where the terminal cannot be set so.
    pub(crate) fn open(palette: Palette) -> io::Result<Self> {
        give_back_in_a_panic();
        signal::stop_flag()?;
        terminal::keep()?;
        let terminal = taken().inspect_err(|_| {
            terminal::restore();
        })?;
        let (to_screen, messages) = mpsc::channel();
        let show = move || show(terminal, &messages, palette);
        let thread =
            thread::Builder::new().name("screen".into()).spawn(show).inspect_err(|_| {
                terminal::restore();
            })?;
        *open() = Some(to_screen);
        Ok(Self { thread: Some(thread) })
    }

    pub(crate) fn on_event(&self, event: &Event) {
        let event = match event {
            // What was observed may be large, and the screen shows nothing of it.
            Event::Finished(_) => Event::Finished(Observation::default()),
            Event::Started(_) | Event::Sampled { .. } | Event::Counted { .. } => event.clone(),
        };
        send(Message::Event(Box::new(event)));
    }
}

/// What stands between the ends.
pub(crate) fn on_across(across: &str) {
    send(Message::Across(across.to_owned()));
}

/// The steps so far.
pub(crate) fn on_steps(steps: &[StepLine]) {
    send(Message::Steps(steps.to_vec()));
}

/// Whether the screen is taken.
pub(crate) fn is_open() -> bool {
    open().is_some()
}

/// A line for stderr, kept until the screen is given back; whether it is kept.
pub(crate) fn keep_line(line: &str) -> bool {
    send(Message::Line(line.to_owned()))
}

fn send(message: Message) -> bool {
    open().as_ref().is_some_and(|screen| screen.send(message).is_ok())
}

fn open() -> std::sync::MutexGuard<'static, Option<Sender<Message>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Screen {
    fn drop(&mut self) {
        send(Message::Closed);
        *open() = None;
        // A panic of the screen has been reported on stderr.
        let lines = self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        terminal::restore();
        for line in lines {
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

/// A panic is reported on the ordinary screen, where it stays to be read.
fn give_back_in_a_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            terminal::restore();
            report(panic);
        }));
    });
}

fn taken() -> io::Result<Terminal<CrosstermBackend<Stderr>>> {
    enable_raw_mode()?;
    execute!(io::stderr(), EnterAlternateScreen, cursor::Hide)?;
    Terminal::new(CrosstermBackend::new(io::stderr()))
}

/// Draws until the run is over, or the terminal is gone; the lines that were kept.
fn show(
    mut terminal: Terminal<CrosstermBackend<Stderr>>,
    messages: &Receiver<Message>,
    palette: Palette,
) -> Vec<String> {
    let mut view = View::new(clock::now());
    let mut lines = Vec::new();
    let mut drawn: Option<Time> = None;
    let mut hears_keys = true;
    loop {
        // Without a keyboard there are still signals.
        let keys = if hears_keys { keys(&mut view) } else { Ok(false) };
        hears_keys &= keys.is_ok();
        let is_over = hear(messages, &mut view, &mut lines);
        let now = clock::now();
        let is_due = drawn.is_none_or(|drawn| now.since(drawn) >= FRAME);
        if is_over {
            return lines;
        }
        if is_due || keys.unwrap_or(false) {
            view.left = time_left::left();
            let draw = |frame: &mut ratatui::Frame<'_>| picture::draw(frame, &view, now, palette);
            if terminal.draw(draw).is_err() {
                // Nobody looks any more; the run goes on.
                return rest(messages, lines);
            }
            drawn = Some(now);
        }
    }
}

/// Takes in what has been told; whether the run is over.
fn hear(messages: &Receiver<Message>, view: &mut View, lines: &mut Vec<String>) -> bool {
    // A simulation tells faster than anybody looks.
    const AT_ONCE: usize = 10_000;
    let mut wait = KEYS;
    for _ in 0..AT_ONCE {
        match messages.recv_timeout(wait) {
            Ok(Message::Event(event)) => view.on_event(clock::now(), &event),
            Ok(Message::Across(across)) => view.across = across,
            Ok(Message::Steps(steps)) => view.on_steps(steps),
            Ok(Message::Line(line)) => lines.push(line),
            Ok(Message::Closed) | Err(RecvTimeoutError::Disconnected) => return true,
            Err(RecvTimeoutError::Timeout) => return false,
        }
        wait = Duration::ZERO;
    }
    false
}

fn rest(messages: &Receiver<Message>, mut lines: Vec<String>) -> Vec<String> {
    while let Ok(message) = messages.recv() {
        match message {
            Message::Line(line) => lines.push(line),
            Message::Closed => break,
            Message::Event(_) | Message::Across(_) | Message::Steps(_) => {}
        }
    }
    lines
}

/// Does what keys ask for; whether there were any, or the size has changed.
fn keys(view: &mut View) -> io::Result<bool> {
    let mut has_some = false;
    while event::poll(Duration::ZERO)? {
        has_some = true;
        let Input::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        if let KeyCode::Char(digit @ '1'..='5') = key.code {
            view.quantity = Quantity::ALL[digit as usize - '1' as usize];
        }
        let Some(wish) = wish(key) else { continue };
        if wish == Wish::Stop {
            signal::interrupt()?;
        }
        view.on_wish(wish);
    }
    Ok(has_some)
}

fn wish(key: KeyEvent) -> Option<Wish> {
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Wish::Stop,
        KeyCode::Char('q') | KeyCode::Esc => Wish::Stop,
        KeyCode::Tab => Wish::NextQuantity,
        KeyCode::BackTab => Wish::PreviousQuantity,
        KeyCode::Right => Wish::Longer,
        KeyCode::Left => Wish::Shorter,
        KeyCode::Up => Wish::EarlierSteps,
        KeyCode::Down => Wish::LaterSteps,
        KeyCode::Char('?' | 'h') => Wish::Help,
        _ => return None,
    })
}
