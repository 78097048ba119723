//! A method has one title, wherever it is named for people.

use std::fs;

use fp_report::Method;

use crate::folder::Folder;
use crate::process::{fullpipe, json};
use crate::recorded;

const RECORDED: [(&str, Method); 7] = [
    ("rfc6349-sim", Method::Rfc6349),
    ("flow-udp-sim", Method::Flow),
    ("rfc2544-latency-sim", Method::Rfc2544),
    ("y1564-loss-sim", Method::Y1564),
    ("burst-50k-sim", Method::Burst),
    ("rfc7640-sim", Method::Rfc7640),
    ("stress-slow-sim", Method::Stress),
];

#[test]
fn screen_certificate_and_test_report_have_the_title_of_the_method() {
    assert_eq!(RECORDED.map(|(_, method)| method).len(), Method::ALL.len());
    for (name, method) in RECORDED {
        let folder = Folder::new();
        let text = recorded::text(name);
        assert_eq!(json(&text).unwrap()["method"], method.name());
        let file = folder.written("result.json", &text);
        let title = method.title();
        let screen = fullpipe(&["report", &file]);
        let head = screen.stdout.lines().nth(1).unwrap();
        assert!(head.starts_with(&format!("{title} · ")), "{title}: {}", screen.stdout);
        let (html, xml) = (folder.file("c.html"), folder.file("j.xml"));
        fullpipe(&["report", &file, "--html", &html, "--junit", &xml]);
        let html = fs::read_to_string(html).unwrap();
        assert!(html.contains(&format!("<h1>{title}</h1>")), "{title}: {}", &html[..2000]);
        let xml = fs::read_to_string(xml).unwrap();
        assert!(xml.contains(&format!("name=\"{title}: ")), "{title}: {xml}");
    }
}

#[test]
fn the_methods_of_a_simulation_are_listed_by_their_titles() {
    let help = fullpipe(&["sim", "ideal", "--help"]).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for method in Method::ALL {
        let line = format!("{} {}", method.command(), method.title());
        assert!(help.contains(&line), "{line}: {help}");
    }
}
