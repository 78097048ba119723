//! A method has one title, wherever it is named for people.

use std::fs;

use fp_method::methods::METHODS;

use crate::folder::Folder;
use crate::process::{fullpipe, json};
use crate::recorded;

/// A recording of each.
const RECORDED: [(&str, &str); 7] = [
    ("rfc6349-sim", "rfc6349"),
    ("flow-udp-sim", "flow"),
    ("rfc2544-latency-sim", "rfc2544"),
    ("y1564-loss-sim", "y1564"),
    ("burst-50k-sim", "burst"),
    ("rfc7640-sim", "rfc7640"),
    ("stress-slow-sim", "stress"),
];

#[test]
fn screen_certificate_and_test_report_have_the_title_of_the_method() {
    for method in METHODS {
        let (name, _) =
            RECORDED.into_iter().find(|(_, recorded)| *recorded == method.name).unwrap();
        let folder = Folder::new();
        let text = recorded::text(name);
        assert_eq!(json(&text).unwrap()["method"], method.name);
        let file = folder.written("result.json", &text);
        let title = method.title;
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
    for method in METHODS {
        let line = format!("{} {}", method.command, method.title);
        assert!(help.contains(&line), "{line}: {help}");
    }
}
