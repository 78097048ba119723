//! A stored result as JUnit XML, which test servers read: a case for each step and each self-check.

use std::io;

use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::{ElementWriter, Writer};

use crate::certificate::title;
use crate::steps;
use crate::stored::Stored;
use crate::stored::fields::Fields;
use crate::summary::plain;

/// What became of a step or a check.
struct Case {
    class: String,
    name: String,
    outcome: Outcome,
}

enum Outcome {
    Passed,
    /// The network did not meet what was asked.
    Failed(Vec<String>),
    /// It cannot be said.
    Error(Vec<String>),
}

/// The document; ends with a line feed.
///
/// # Errors
/// None that memory does not have.
pub fn junit(result: &Stored) -> io::Result<String> {
    let cases = cases(result);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let suites = writer.create_element("testsuites").with_attribute(("name", "fullpipe"));
    let suites = counted(suites, &cases, result.duration_s());
    suites.write_inner_content(|writer| {
        let name = plain(&format!("{}: {}", title(result.method()), result.across()));
        // The schema of JUnit has no time zone: it is UTC.
        let started = plain(result.started().trim_end_matches('Z'));
        let suite = writer.create_element("testsuite").with_attribute(("name", &*name));
        let suite = suite.with_attribute(("timestamp", &*started));
        let suite = counted(suite, &cases, result.duration_s());
        suite.write_inner_content(|writer| {
            properties(writer, result)?;
            cases.iter().try_for_each(|case| write(writer, case))
        })?;
        Ok(())
    })?;
    let mut text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    text.push('\n');
    Ok(text)
}

fn cases(result: &Stored) -> Vec<Case> {
    let value = Fields(result.value());
    let class = format!("fullpipe.{}", result.method());
    let verdict = value.inside("verdict");
    let reasons = |step: Option<u64>| -> Vec<String> {
        let of_step = verdict.each("reasons").filter(|reason| reason.count("step") == step);
        of_step.map(|reason| reason.word("text").to_owned()).collect()
    };
    let status = result.verdict();
    let of_step = |(place, step): (usize, Fields<'_>)| {
        let reasons = reasons(Some(place as u64));
        let outcome = match status {
            "fail" if !reasons.is_empty() && step.flag("pass") != Some(true) => {
                Outcome::Failed(reasons)
            }
            "invalid" | "inconclusive" if !reasons.is_empty() => Outcome::Error(reasons),
            _ => Outcome::Passed,
        };
        let name = format!("{} {}", place + 1, steps::name(step));
        Case { class: format!("{class}.{}", step.word("name")), name, outcome }
    };
    let mut cases: Vec<Case> = value.each("steps").enumerate().map(of_step).collect();
    for check in value.inside("validity").each("checks") {
        let name = check.word("name").replace('_', " ");
        let said = format!(
            "{name}: {} {}, limit {}",
            check.decimals("value", 2, ""),
            check.word("unit"),
            check.decimals("limit", 2, "")
        );
        let is_held = check.flag("ok") != Some(false);
        let outcome = if is_held { Outcome::Passed } else { Outcome::Error(vec![said]) };
        cases.push(Case { class: format!("{class}.self_check"), name, outcome });
    }
    let mut said = reasons(None);
    if said.is_empty() {
        said.push(format!("the verdict is {status}"));
    }
    let outcome = match status {
        "pass" | "info" => Outcome::Passed,
        "fail" => Outcome::Failed(said),
        _ => Outcome::Error(said),
    };
    cases.push(Case { class, name: String::from("verdict"), outcome });
    cases
}

fn properties(writer: &mut Writer<Vec<u8>>, result: &Stored) -> io::Result<()> {
    let labels = result.labels();
    let labels = crate::Labels::NAMES.iter().zip(labels.each());
    let known = labels.filter_map(|(name, text)| Some((*name, text.clone()?)));
    let run = [("id", result.id().to_owned()), ("across", result.across().to_owned())];
    writer.create_element("properties").write_inner_content(|writer| {
        for (name, text) in run.into_iter().chain(known) {
            let property = writer.create_element("property").with_attribute(("name", name));
            property.with_attribute(("value", &*plain(&text))).write_empty()?;
        }
        Ok(())
    })?;
    Ok(())
}

fn write(writer: &mut Writer<Vec<u8>>, case: &Case) -> io::Result<()> {
    let element = writer
        .create_element("testcase")
        .with_attribute(("name", &*plain(&case.name)))
        .with_attribute(("classname", &*plain(&case.class)));
    let (kind, said) = match &case.outcome {
        Outcome::Passed => return element.write_empty().map(|_| ()),
        Outcome::Failed(said) => ("failure", said),
        Outcome::Error(said) => ("error", said),
    };
    element.write_inner_content(|writer| {
        for text in said {
            let text = plain(text);
            let element = writer.create_element(kind).with_attribute(("message", &*text));
            element.write_text_content(BytesText::new(&text))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn counted<'a, W>(
    element: ElementWriter<'a, W>,
    cases: &[Case],
    lasted_s: f64,
) -> ElementWriter<'a, W> {
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let errors = count(|outcome| matches!(outcome, Outcome::Error(_)));
    element
        .with_attribute(("tests", &*cases.len().to_string()))
        .with_attribute(("failures", &*failures.to_string()))
        .with_attribute(("errors", &*errors.to_string()))
        .with_attribute(("time", &*format!("{lasted_s:.3}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(status: &str, reasons: &str) -> String {
        let text = format!(
            "{{\"schema\":\"fullpipe.result/1\",\"id\":\"1\",\"method\":\"rfc6349\",\
             \"started\":\"2026-11-22T07:00:00Z\",\"across\":\"<lab>\",\"duration_s\":1.5,\
             \"verdict\":{{\"status\":\"{status}\",\"reasons\":{reasons}}},\
             \"validity\":{{\"checks\":[{{\"name\":\"tester_stall\",\"ok\":{},\"value\":700,\
             \"limit\":500,\"unit\":\"ms\"}}]}},\
             \"steps\":[{{\"name\":\"path_mtu\",\"direction\":\"download\"}},\
             {{\"name\":\"tcp\",\"direction\":\"upload\",\"connections\":4,\
             \"window_bytes\":63712}}]}}",
            status != "invalid"
        );
        junit(&Stored::read(text).unwrap()).unwrap()
    }

    #[test]
    fn the_step_that_a_reason_names_has_failed_and_no_other() {
        let text = result("fail", r#"[{"code":"slow","text":"15 & 40","step":1}]"#);
        assert!(text.contains(r#"tests="4" failures="2" errors="0""#), "{text}");
        let case =
            r#"<testcase name="2 tcp upload 4 × 63,712 bytes" classname="fullpipe.rfc6349.tcp">"#;
        assert!(text.contains(case), "{text}");
        assert!(text.contains(r#"<failure message="15 &amp; 40">15 &amp; 40</failure>"#), "{text}");
        assert!(text.contains("&lt;lab&gt;"), "{text}");
    }

    #[test]
    fn a_spoilt_run_is_an_error_and_a_passed_one_has_none() {
        let text = result("invalid", "[]");
        assert!(text.contains(r#"failures="0" errors="2""#), "{text}");
        assert!(text.contains("tester stall: 700.00 ms, limit 500.00"), "{text}");
        assert!(result("pass", "[]").contains(r#"failures="0" errors="0""#));
    }
}
