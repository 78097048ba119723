//! Documents from a stored result.

use std::fs;

use crate::folder::Folder;
use crate::process::{Finished, fullpipe};
use crate::recorded;

/// A recorded result in a file of the folder.
fn result(folder: &Folder, name: &str) -> String {
    folder.written("result.json", &recorded::text(name))
}

/// Behind a bucket that is too small for TCP's bursts.
const FAILING: &str = "rfc6349-bucket-sim";

#[test]
fn other_thresholds_judge_the_same_evidence_again_and_say_so() {
    let folder = Folder::new();
    let file = result(&folder, FAILING);
    let again = folder.file("again.json");
    let change = ["--judge-with", "thresholds.throughput_percent=1", "-o", &again];
    let run = fullpipe(&[&["report", &file][..], &change].concat());
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    let [before, after] = [&file, &again].map(|file| {
        let text = fs::read_to_string(file).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    });
    assert_eq!(
        (&before["verdict"]["status"], &after["verdict"]["status"]),
        (&"fail".into(), &"pass".into())
    );
    for part in ["id", "started", "across", "evidence", "near", "duration_s"] {
        assert_eq!(before[part], after[part], "{part}");
    }
    // The figures are the same, and only what they are judged by is another.
    let steps = |result: &serde_json::Value| -> Vec<serde_json::Value> {
        let mut steps = result["steps"].as_array().unwrap().clone();
        for step in &mut steps {
            step.as_object_mut().unwrap().remove("pass");
        }
        steps
    };
    assert_eq!(steps(&before), steps(&after));
    assert_ne!(before["steps"], after["steps"]);
    assert_eq!(after["judged_again"]["plan"]["thresholds.throughput_percent"], 1);
    let html = folder.file("again.html");
    fullpipe(&["report", &again, "--html", &html]);
    let html = fs::read_to_string(html).unwrap();
    assert!(html.contains("Judged again from the evidence"), "{html}");
}

#[test]
fn what_the_evidence_cannot_answer_is_refused() {
    let folder = Folder::new();
    let file = result(&folder, FAILING);
    let refused = |change: &str| -> Finished {
        let run = fullpipe(&["report", &file, "--judge-with", change]);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
        run
    };
    assert!(refused("dscp=46").stderr.contains("something else would have been measured"));
    assert!(refused("threshold.x=1").stderr.contains("has no field 'threshold', it has cir"));
    assert!(refused("thresholds.x=1").stderr.contains("'thresholds' has no field 'x'"));
    assert!(refused("thresholds.throughput_percent=much").stderr.contains("no plan of the method"));
    assert!(refused("thresholds").stderr.contains("a field and a value"));
}

#[test]
fn a_file_that_is_no_result_is_told_and_nothing_is_written() {
    let folder = Folder::new();
    let whole = recorded::text("flow-tcp-sim");
    let newer = whole.replacen("fullpipe.result/1", "fullpipe.result/7", 1);
    for (text, says) in [
        (&whole[..whole.len() / 3], "ends in the middle"),
        (newer.as_str(), "update fullpipe"),
        ("{\"schema\": \"fullpipe.run/1\"}", "not a result"),
        ("{\"name\": 1}", "no result of fullpipe"),
        ("", "ends in the middle"),
    ] {
        let file = folder.written("input.json", text);
        let html = folder.written("there.html", "as it was");
        let run = fullpipe(&["report", &file, "--html", &html]);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
        assert!(run.stderr.contains(says) && run.stderr.contains(&file), "{}", run.stderr);
        assert_eq!(fs::read_to_string(&html).unwrap(), "as it was");
    }
}

/// Where certificate, Markdown and tables of a result are.
struct Documents(Folder);

impl Documents {
    fn of(name: &str) -> (Self, serde_json::Value) {
        let folder = Folder::new();
        let file = result(&folder, name);
        Self::of_file(folder, &file)
    }

    fn of_file(folder: Folder, file: &str) -> (Self, serde_json::Value) {
        let names = ["html", "pdf", "csv", "junit", "markdown"];
        let options = names.map(|name| (format!("--{name}"), folder.file(name)));
        let options: Vec<&str> =
            options.iter().flat_map(|(option, file)| [option.as_str(), file.as_str()]).collect();
        let run = fullpipe(&[&["report", file][..], &options].concat());
        assert_eq!((run.exit, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
        let text = fs::read_to_string(file).unwrap();
        (Self(folder), serde_json::from_str(&text).unwrap())
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.file(name)).unwrap()
    }

    /// What is shown of the result on a terminal, as after the test.
    fn screen(&self) -> String {
        fullpipe(&["report", &self.0.file("result.json")]).stdout
    }

    /// What a reader of the PDF sees, words as they follow each other.
    fn pdf(&self) -> String {
        super::pdf::text(&fs::read(self.0.file("pdf")).unwrap())
    }
}

#[test]
fn a_label_is_text_whatever_it_says() {
    let folder = Folder::new();
    let mut result: serde_json::Value =
        serde_json::from_str(&recorded::text("flow-tcp-sim")).unwrap();
    for (label, text) in
        [("site", "<script>alert(1)</script>"), ("label", "=cmd()"), ("order", "a|b")]
    {
        result["labels"][label] = text.into();
    }
    let file = folder.written("hostile.json", &result.to_string());
    let (documents, _) = Documents::of_file(folder, &file);
    let html = documents.text("html");
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !html.contains("<script"));
    let pdf = documents.pdf();
    assert!(pdf.contains("<script>alert(1)</script>") && pdf.contains("=cmd()"), "{pdf}");
    assert!(documents.text("markdown").contains("\\<script\\>"));
    let run = documents.text("csv/run.csv");
    assert!(run.contains("'=cmd()") && !run.contains(",=cmd"), "{run}");
    assert!(documents.text("junit").contains("&lt;script&gt;"));
}

/// The file that lacks them says so itself, and so does whoever wrote it.
#[test]
fn letters_that_no_font_of_a_pdf_has_are_told() {
    let folder = Folder::new();
    let file = result(&folder, "flow-tcp-sim");
    let [pdf, html] = ["site.pdf", "site.html"].map(|name| folder.file(name));
    let run = fullpipe(&["report", &file, "--site", "東京", "--pdf", &pdf, "--html", &html]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    let sentence = "The fonts of this file have no letter for U+4EAC, U+6771: a question mark \
                    stands for each of them. The same document as HTML shows them.";
    assert!(run.stderr.contains(&format!("{pdf}: {sentence}\n")), "{}", run.stderr);
    let printed = super::pdf::text(&fs::read(&pdf).unwrap());
    assert!(printed.contains(sentence) && printed.contains("??"), "{printed}");
    assert!(fs::read_to_string(&html).unwrap().contains("東京"));
}

/// Rates and times as the screen shows them, worked out here from the document's own fields.
mod shown {
    use serde_json::Value;

    pub(super) fn rate(step: &Value, field: &str) -> String {
        format!("{:.2} Mbit/s", step[field].as_f64().unwrap() / 1e6)
    }

    pub(super) fn milliseconds(step: &Value, field: &str) -> String {
        format!("{:.2} ms", step[field].as_f64().unwrap())
    }

    /// What rounds to zero is not below it.
    pub(super) fn deviation(step: &Value, field: &str) -> String {
        let hundredths = (100.0 * step[field].as_f64().unwrap()).round_ties_even() as i64;
        let sign = if hundredths < 0 { '-' } else { '+' };
        let digits = hundredths.unsigned_abs();
        format!("{sign}{}.{:02} %", digits / 100, digits % 100)
    }

    pub(super) fn grouped(step: &Value, field: &str) -> String {
        let digits = format!("{}", step[field].as_f64().unwrap().round());
        let mut out = String::new();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                out.push(',');
            }
            out.push(digit);
        }
        out
    }
}

/// Each of these, one after the other, in one row of a table of HTML, on one line of the screen, and
/// in this order in the PDF.
fn expect_row(documents: &Documents, screen: &str, cells: &[String]) {
    let in_order = |text: &str| {
        let mut rest = text;
        cells.iter().all(|cell| match rest.split_once(cell.as_str()) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    };
    let screen = without_errors(screen);
    assert!(screen.lines().any(in_order), "{cells:?} in {screen}");
    let html = without_errors(&documents.text("html"));
    assert!(html.split("<tr>").any(in_order), "{cells:?} in the HTML");
    let markdown = without_errors(&documents.text("markdown"));
    assert!(markdown.lines().any(in_order), "{cells:?} in {markdown}");
    let (whole, pdf) = (cells.join(" "), without_errors(&documents.pdf()));
    assert!(pdf.contains(&whole), "{whole} in {pdf}");
}

/// Beside a rate stands how well it is known.
fn without_errors(screen: &str) -> String {
    let mut parts = screen.split(" ± ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.find(' ').map_or("", |end| &part[end..]))
}

#[test]
fn screen_json_html_and_pdf_of_a_test_show_the_same_figures_to_the_last_digit() {
    let (documents, result) = Documents::of(FAILING);
    let screen = documents.screen();
    let steps = result["steps"].as_array().unwrap();
    let trials: Vec<_> = steps.iter().filter(|step| step["role"] == "throughput").collect();
    assert!(trials.len() >= 6);
    for step in trials {
        let share =
            100.0 * step["throughput_bps"].as_f64().unwrap() / step["ideal_bps"].as_f64().unwrap();
        let grade = step["buffer_delay_grade"].as_str().unwrap_or_default();
        let sender = step["sender"].as_str().unwrap().to_owned();
        let throughput = shown::rate(step, "throughput_bps").replace(" Mbit/s", "");
        let carried = [
            sender.clone(),
            format!("{} × {}", step["connections"], shown::grouped(step, "window_bytes")),
            throughput,
            format!("of {}", shown::rate(step, "ideal_bps")),
            format!("{share:.1} %"),
        ];
        let metrics = [
            sender,
            format!("{:.3}", step["transfer_time_ratio"].as_f64().unwrap()),
            format!("{:.2} %", step["efficiency_percent"].as_f64().unwrap()),
            [&shown::milliseconds(step, "buffer_delay_ms"), grade].join(" ").trim_end().to_owned(),
            shown::milliseconds(step, "rtt_mean_ms"),
        ];
        expect_row(&documents, &screen, &carried);
        expect_row(&documents, &screen, &metrics);
    }
    // And every digit of the document is in the tables.
    let tcp = documents.text("csv/tcp.csv");
    for step in steps.iter().filter(|step| step["name"] == "tcp") {
        assert!(tcp.contains(&step["efficiency_percent"].to_string()), "{tcp}");
    }
}

/// Whoever is shown a single page of it sees what it is not.
#[test]
fn every_page_of_a_simulation_says_so_and_none_of_a_measurement() {
    for (name, is_simulated) in [(FAILING, true), ("rfc6349-lab", false)] {
        let (documents, _) = Documents::of(name);
        let pdf = documents.pdf();
        let pages = pdf.matches("page ").count();
        assert!(pages > 1, "{name}");
        let expected = |count: usize| if is_simulated { count } else { 0 };
        assert_eq!(pdf.matches("SIMULATION").count(), expected(pages), "{name}");
        assert_eq!(documents.text("html").matches(">SIMULATION<").count(), expected(1), "{name}");
    }
}

#[test]
fn screen_json_html_and_pdf_of_a_burst_test_show_the_same_figures() {
    let (documents, result) = Documents::of("burst-sim");
    let screen = documents.screen();
    let steps = result["steps"].as_array().unwrap();
    let policing: Vec<_> = steps.iter().filter(|step| step["name"] == "policing").collect();
    assert!(policing.len() >= 6);
    for step in policing {
        let bytes = |field: &str| format!("{} B", shown::grouped(step, field));
        let cells = [
            bytes("configured_burst_bytes"),
            bytes("tx_burst_bytes"),
            bytes("rx_burst_bytes_mean"),
            bytes("estimated_cbs_bytes"),
            shown::deviation(step, "deviation_percent"),
        ];
        expect_row(&documents, &screen, &cells);
    }
}

/// A hundred-thousandth below what was configured, of which two decimals of a percent show nothing.
#[test]
fn a_deviation_that_rounds_to_zero_is_not_below_it_in_any_document() {
    let folder = Folder::new();
    let file = result(&folder, "burst-sim");
    let mut value: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for step in value["steps"].as_array_mut().unwrap() {
        if step["name"] == "policing" {
            step["deviation_percent"] = serde_json::json!(-0.001);
        }
    }
    let file = folder.written("below.json", &value.to_string());
    let screen = fullpipe(&["report", &file]).stdout;
    let (documents, _) = Documents::of_file(folder, &file);
    for text in [&screen, &documents.text("html"), &documents.text("markdown"), &documents.pdf()] {
        assert!(text.contains("+0.00 %") && !text.contains("-0.00"), "{text}");
    }
    let table = documents.text("csv/policing.csv");
    assert!(table.contains(",-0.001,"), "every digit, for programs: {table}");
}

#[test]
fn a_table_of_series_has_a_row_for_each_interval_and_its_sums_are_the_totals() {
    let (documents, result) = Documents::of(FAILING);
    let text = documents.text("csv/series.csv");
    let mut lines = text.lines();
    let heads: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let (step, received) = (column("step"), column("received_bytes"));
    let mut sums = std::collections::BTreeMap::<usize, u64>::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), heads.len(), "{line}");
        *sums.entry(cells[step].parse().unwrap()).or_default() +=
            cells[received].parse::<u64>().unwrap();
    }
    let steps = result["steps"].as_array().unwrap();
    let tcp = steps.iter().enumerate().filter(|(_, step)| step["name"] == "tcp");
    let totals: Vec<(usize, u64)> =
        tcp.map(|(place, step)| (place, step["good_bytes"].as_u64().unwrap())).collect();
    assert_eq!(sums.into_iter().collect::<Vec<_>>(), totals);
}

#[test]
fn a_certificate_is_tagged_and_fits_either_paper() {
    let folder = Folder::new();
    let file = result(&folder, FAILING);
    for (paper, size) in [("a4", "[0 0 595.28 841.89]"), ("letter", "[0 0 612 792]")] {
        let pdf = folder.file(paper);
        let run = fullpipe(&["report", &file, "--pdf", &pdf, "--paper", paper]);
        assert_eq!(run.exit, Some(0), "{}", run.stderr);
        let bytes = fs::read(&pdf).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for part in [size, "/Marked true", "/Lang (en)", "/TH", "/Figure", "/Alt ", "/ToUnicode"] {
            assert!(text.contains(part), "{part}");
        }
        // The same document gives the same bytes.
        fullpipe(&["report", &file, "--pdf", &pdf, "--paper", paper]);
        assert_eq!(fs::read(&pdf).unwrap(), bytes);
    }
}

#[test]
fn junit_has_a_case_for_each_step_and_those_that_failed_say_why() {
    let (documents, result) = Documents::of(FAILING);
    let text = documents.text("junit");
    let steps = result["steps"].as_array().unwrap().len();
    let checks = result["validity"]["checks"].as_array().unwrap().len();
    assert_eq!(text.matches("<testcase ").count(), steps + checks + 1, "{text}");
    let reasons = result["verdict"]["reasons"].as_array().unwrap();
    let of_steps = reasons.iter().filter(|reason| reason["step"].is_number()).count();
    assert_eq!(text.matches("<failure ").count(), of_steps + 1, "{text}");
}
