//! What became of a plan as JUnit XML, which test servers read: a suite for each round, a case for
//! each test.

use std::io;

use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::{ElementWriter, Writer};

use super::{Planned, Round, Status, Summary, Tested};

/// The document; ends with a line feed.
///
/// # Errors
/// None that memory does not have.
pub fn junit(summary: &Summary) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all: Vec<&Round> = summary.rounds.iter().collect();
    let counts = Counts::of(summary, &all);
    let suites =
        writer.create_element("testsuites").with_attribute(("name", &*plain(&summary.name)));
    counts.on(suites, summary.duration_s).write_inner_content(|writer| {
        summary.rounds.iter().try_for_each(|round| suite(writer, summary, round))
    })?;
    let mut text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    text.push('\n');
    Ok(text)
}

fn suite(writer: &mut Writer<Vec<u8>>, summary: &Summary, round: &Round) -> io::Result<()> {
    let name = match summary.rounds_planned {
        1 => plain(&summary.name),
        _ => plain(&format!("{}, round {}", summary.name, round.round)),
    };
    let lasted_s = round.tests.iter().map(|tested| tested.duration_s).sum();
    // The schema of JUnit has no time zone: it is UTC.
    let started = round.started.trim_end_matches('Z');
    let element = writer.create_element("testsuite").with_attribute(("name", &*name));
    let element = element.with_attribute(("timestamp", started));
    let element = Counts::of(summary, &[round]).on(element, lasted_s);
    element.write_inner_content(|writer| {
        summary
            .planned
            .iter()
            .try_for_each(|planned| case(writer, summary, planned, summary.tested(round, planned)))
    })?;
    Ok(())
}

fn case(
    writer: &mut Writer<Vec<u8>>,
    summary: &Summary,
    planned: &Planned,
    tested: Option<&Tested>,
) -> io::Result<()> {
    let lasted_s = tested.map_or(0.0, |tested| tested.duration_s);
    let class = plain(&format!("{}.{}", summary.name.replace('.', "_"), planned.method));
    let element = writer
        .create_element("testcase")
        .with_attribute(("name", &*plain(&planned.name)))
        .with_attribute(("classname", &*class))
        .with_attribute(("time", &*format!("{lasted_s:.3}")));
    let Some(tested) = tested else {
        return element
            .write_inner_content(|writer| {
                let skipped = writer.create_element("skipped");
                skipped.with_attribute(("message", "the plan ended before")).write_empty()?;
                Ok(())
            })
            .map(|_| ());
    };
    element.write_inner_content(|writer| outcome(writer, tested)).map(|_| ())
}

fn outcome(writer: &mut Writer<Vec<u8>>, tested: &Tested) -> io::Result<()> {
    let element = match tested.status {
        Status::Passed => None,
        Status::Failed => Some("failure"),
        Status::Inconclusive | Status::NotValid | Status::NotRun | Status::Aborted => Some("error"),
    };
    if let Some(element) = element {
        let unnamed = [String::from("the result says no reason")];
        let reasons = if tested.reasons.is_empty() { &unnamed[..] } else { &tested.reasons };
        for reason in reasons {
            let reason = plain(reason);
            writer
                .create_element(element)
                .with_attribute(("message", &*reason))
                .with_attribute(("type", tested.status.word()))
                .write_text_content(BytesText::new(&reason))?;
        }
    }
    let results = tested.runs.iter().filter_map(|run| run.result.as_deref());
    let said = tested.reasons.iter().map(String::as_str).chain(results).collect::<Vec<_>>();
    let said = plain(&said.join("\n"));
    writer.create_element("system-out").write_text_content(BytesText::new(&said))?;
    Ok(())
}

/// Characters that XML cannot hold, however escaped, are shown as what is not one.
pub(crate) fn plain(text: &str) -> String {
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|c| if is_allowed(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn of(summary: &Summary, rounds: &[&Round]) -> Self {
        let tests = summary.planned.len() * rounds.len();
        let ran = || rounds.iter().flat_map(|round| &round.tests);
        let failures = ran().filter(|tested| tested.status == Status::Failed).count();
        let passed = ran().filter(|tested| tested.status == Status::Passed).count();
        let count = ran().count();
        Self { tests, failures, errors: count - failures - passed, skipped: tests - count }
    }

    fn on<'a, W>(&self, element: ElementWriter<'a, W>, lasted_s: f64) -> ElementWriter<'a, W> {
        element
            .with_attribute(("tests", &*self.tests.to_string()))
            .with_attribute(("failures", &*self.failures.to_string()))
            .with_attribute(("errors", &*self.errors.to_string()))
            .with_attribute(("skipped", &*self.skipped.to_string()))
            .with_attribute(("time", &*format!("{lasted_s:.3}")))
    }
}
