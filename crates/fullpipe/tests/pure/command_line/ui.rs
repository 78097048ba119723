//! `fullpipe ui`: the interface for scripts, and who may not come in.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::process::{Running, command, fullpipe, json};
use crate::recorded;

/// An interface that a browser got into.
struct Ui {
    process: Running,
    address: String,
    cookie: String,
    folder: Folder,
}

/// What came back.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        json(&self.text()).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One request as it stands, over a connection of its own.
fn ask(address: &str, method: &str, path: &str, fields: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let fields: String =
        fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\n{fields}Content-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_lowercase(), body: answer[end + 4..].to_vec() }
}

impl Ui {
    fn start() -> Self {
        let folder = Folder::new();
        let mut command = command(&["ui", "--port", "0", "--no-browser"]);
        command.env("FULLPIPE_DATA", folder.file("history"));
        let mut process = Running::start(command);
        let (address, token) = way_in(&process.line());
        let answer = ask(&address, "GET", &format!("/?token={token}"), &[("Host", &address)], "");
        assert_eq!(answer.status, 303, "{}", answer.head);
        let cookie = answer.head.split("set-cookie: ").nth(1).unwrap();
        assert!(cookie.contains("httponly") && cookie.contains("samesite=strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { process, address, cookie, folder }
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        let fields =
            [("Host", self.address.as_str()), ("Cookie", &self.cookie), ("X-Fullpipe", "1")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        ask(&self.address, method, &format!("/api/v1{path}"), &fields, &body)
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &Value::Null)
    }

    /// Starts a run and follows its events to the last one.
    fn run_to_its_end(&self, order: &Value) -> (String, Vec<(String, Value)>) {
        let started = self.ask("POST", "/runs", order);
        assert_eq!(started.status, 201, "{}", started.text());
        let id = started.json()["id"].as_str().unwrap().to_owned();
        (id.clone(), self.events(&id))
    }

    fn events(&self, id: &str) -> Vec<(String, Value)> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let (address, cookie) = (&self.address, &self.cookie);
        write!(
            stream,
            "GET /api/v1/runs/{id}/events HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n"
        )
        .unwrap();
        let mut seen = Vec::new();
        let mut events = Vec::new();
        let mut buffer = [0; 65_536];
        while !events.iter().any(|(event, _)| event == "ended") {
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0, "{}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&buffer[..count]);
            events = events_in(&String::from_utf8_lossy(&unchunked(&seen)));
            let ended_before =
                events.first().is_some_and(|(_, view)| view["head"]["state"] == "ended");
            if ended_before {
                break;
            }
        }
        events
    }
}

fn way_in(line: &str) -> (String, String) {
    let address = line.trim_end().strip_prefix("http://").unwrap();
    let (address, token) = address.split_once("/?token=").unwrap();
    (address.to_owned(), token.to_owned())
}

/// The chunks of a body behind its head that have wholly arrived.
fn unchunked(seen: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let Some(mut at) = seen.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4) else {
        return body;
    };
    while let Some(line) = seen[at..].windows(2).position(|two| two == b"\r\n") {
        let length = std::str::from_utf8(&seen[at..at + line]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        let from = at + line + 2;
        let Some(chunk) = seen.get(from..from + length) else { break };
        body.extend_from_slice(chunk);
        at = from + length + 2;
        if at > seen.len() {
            break;
        }
    }
    body
}

fn events_in(text: &str) -> Vec<(String, Value)> {
    let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
    let event = |block: &str| {
        let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
        Some((field("event: ")?.to_owned(), json(field("data: ")?).unwrap()))
    };
    whole.split("\n\n").filter_map(event).collect()
}

fn simulated(options: &Value) -> Value {
    json!({
        "method": "flow",
        "target": {"kind": "sim", "network": "line-100m-10ms"},
        "options": options,
        "labels": {"site": "<script>alert(1)</script>"},
    })
}

/// Two seconds of 40 Mbit/s of payload, in frames that carry 1472 bytes in 1518.
const FRAMES_BITS: f64 = 80e6 * 1518.0 / 1472.0;

/// In virtual time: ordered, watched, kept, explored and printed.
#[test]
fn a_run_is_ordered_watched_and_found_again() {
    let ui = Ui::start();
    let options = json!([{"name": "udp", "value": "true"}, {"name": "bitrate", "value": "40M"},
        {"name": "time", "value": "2s"}]);
    let order = simulated(&options);
    let checked = ui.ask("POST", "/runs/check", &order).json();
    assert!(checked["command"].as_str().unwrap().starts_with("fullpipe sim line-100m-10ms flow"));
    let (id, events) = ui.run_to_its_end(&order);
    assert_eq!(events[0].0, "view");
    let view = ui.get(&format!("/runs/{id}")).json();
    assert_eq!((&view["head"]["state"], &view["head"]["exit_code"]), (&json!("ended"), &json!(0)));
    let trial = view["trials"].as_array().unwrap().last().unwrap();
    let received: Vec<f64> =
        serde_json::from_value(trial["series"][0]["received_bps"].clone()).unwrap();
    let lasted: Vec<f64> = serde_json::from_value(trial["series"][0]["dt_s"].clone()).unwrap();
    let bits: f64 = received.iter().zip(&lasted).map(|(bps, dt)| bps * dt).sum();
    assert!((bits / FRAMES_BITS - 1.0).abs() < 0.01, "{bits}");
    let result = view["head"]["result_id"].as_str().unwrap();
    result_is_shown(&ui, result);
    let listed = ui.get("/results?method=flow&limit=5").json();
    assert_eq!((&listed["count"], &listed["results"][0]["id"]), (&json!(1), &json!(result)));
    assert_eq!(ui.get("/results?method=burst").json()["count"], 0);
    assert_eq!(ui.get(&format!("/compare?first={result}&second={result}")).status, 422);
    ui.run_to_its_end(&order);
    let compared = ui.get(&format!("/compare?first={result}&second=last"));
    assert_eq!(compared.status, 200, "{}", compared.text());
    ui.process.send(Signal::INT);
    let run = ui.process.finish();
    assert_eq!(run.exit, Some(0), "{}", run.stderr);
}

fn result_is_shown(ui: &Ui, result: &str) {
    let document = ui.get(&format!("/results/{result}")).json();
    assert_eq!((&document["method"], &document["evidence"]), (&json!("flow"), &Value::Null));
    assert!(ui.get(&format!("/results/{result}?evidence=1")).json()["evidence"].is_array());
    let page = ui.get(&format!("/results/{result}/certificate.html"));
    assert!(page.head.contains("sandbox") && page.text().contains("&lt;script&gt;"));
    assert!(!page.text().contains("<script"));
    assert!(ui.get(&format!("/results/{result}/certificate.pdf")).body.starts_with(b"%PDF-"));
    assert!(ui.get(&format!("/results/{result}/series.csv")).text().contains("received_bytes"));
    assert_eq!(ui.get(&format!("/results/{result}/nothing.csv")).status, 404);
    let counters = ui.get(&format!("/results/{result}/counters")).json();
    let received = counters
        .as_array()
        .unwrap()
        .iter()
        .find(|counter| counter["counter"] == "received, layer 2" && counter["end"] == "far");
    let counter = received.unwrap();
    let id = counter["id"].as_str().unwrap();
    let curve = ui.get(&format!("/results/{result}/counters/{id}?points=1")).json();
    let [mean, from_s, until_s] = [&curve["mean"][0], &counter["from_s"], &counter["until_s"]]
        .map(|value| value.as_f64().unwrap());
    let bits = mean * (until_s - from_s);
    assert!((bits / FRAMES_BITS - 1.0).abs() < 0.01, "{bits}");
}

/// A recording of each method across the lab.
const RECORDED: [&str; 7] = [
    "rfc6349-lab",
    "burst-lab",
    "rfc2544-lab",
    "y1564-lab",
    "rfc7640-lab",
    "flow-classes-lab",
    "stress-lab",
];

#[test]
fn a_result_of_any_method_is_the_same_document_here_as_at_the_command_line() {
    let ui = Ui::start();
    for name in RECORDED {
        let file = ui.folder.written(&format!("{name}.json"), &recorded::text(name));
        let mut import = command(&["history", "--import", &file]);
        import.env("FULLPIPE_DATA", ui.folder.file("history"));
        assert_eq!(Running::start(import).finish().exit, Some(0));
        let result = json(&recorded::text(name)).unwrap();
        let of_result = format!("/results/{}", result["id"].as_str().unwrap());
        assert_eq!(ui.get(&format!("{of_result}?evidence=1")).json(), result, "{name}");
        let files = ["certificate.html", "certificate.pdf", "certificate.md", "junit.xml"];
        let written = files.map(|document| ui.folder.file(document));
        let [html, pdf, markdown, junit] = written.each_ref().map(String::as_str);
        let options = ["--html", html, "--pdf", pdf, "--markdown", markdown, "--junit", junit];
        assert_eq!(fullpipe(&[&["report", &file], &options[..]].concat()).exit, Some(0));
        for (document, written) in files.iter().zip(&written) {
            let shown = ui.get(&format!("{of_result}/{document}")).body;
            assert!(shown == std::fs::read(written).unwrap(), "{document} of {name}");
        }
    }
    assert_eq!(ui.get("/results?limit=50").json()["count"], RECORDED.len());
}

#[test]
fn a_run_is_stopped_and_what_it_measured_is_kept() {
    let ui = Ui::start();
    let order = json!({
        "method": "flow",
        "target": {"kind": "far", "address": "127.0.0.1:1", "key": ""},
    });
    let (id, _) = ui.run_to_its_end(&order);
    let head = &ui.get(&format!("/runs/{id}")).json()["head"];
    assert!(head["exit_code"].as_i64().unwrap() >= 2, "{head}");
    assert!(head["error"].as_str().unwrap().len() > 10, "{head}");
    assert_eq!(ui.ask("DELETE", "/runs/r99", &Value::Null).status, 404);
    assert_eq!(ui.ask("DELETE", &format!("/runs/{id}"), &Value::Null).status, 202);
    assert!(!ui.folder.file("history").is_empty());
}

#[test]
fn what_cannot_be_ordered_is_said_with_its_place() {
    let ui = Ui::start();
    let refused = |order: &Value| {
        let answer = ui.ask("POST", "/runs", order);
        assert_eq!(answer.status, 422, "{}", answer.text());
        answer.json()["error"].as_str().unwrap().to_owned()
    };
    let fast = json!([{"name": "bitrate", "value": "fast"}]);
    assert!(refused(&simulated(&fast)).contains("fast"));
    let mut order = simulated(&json!([]));
    order["target"] =
        json!({"kind": "lab", "yaml": "lab: fullpipe.lab/1\nname: mine\nlinkz: []\n"});
    assert!(refused(&order).starts_with("3:1: "), "{}", refused(&order));
    let read = ui.ask("POST", "/networks/check", &json!({"yaml": "lab: 1"}));
    assert_eq!(read.status, 422);
    let networks = ui.get("/networks").json();
    let first = &networks.as_array().unwrap()[1];
    let read = ui.ask("POST", "/networks/check", &json!({"yaml": first["yaml"]}));
    assert_eq!(read.json()["path"], first["path"]);
    let long = json!({"yaml": "x".repeat(2_000_000)});
    assert_eq!(ui.ask("POST", "/networks/check", &long).status, 413);
}

#[test]
fn nobody_else_comes_in() {
    let ui = Ui::start();
    let (host, cookie) = (ui.address.as_str(), ui.cookie.as_str());
    let status =
        |method, fields: &[(&str, &str)]| ask(host, method, "/api/v1/runs", fields, "").status;
    let known = [("Host", host), ("Cookie", cookie)];
    assert_eq!(status("GET", &known), 200);
    assert_eq!(status("GET", &known[..1]), 401);
    assert_eq!(status("GET", &[("Host", "evil.example"), known[1]]), 403);
    assert_eq!(status("POST", &known), 403);
    let ours = ("X-Fullpipe", "1");
    assert_eq!(status("POST", &[known[0], known[1], ours, ("Origin", "http://evil.example")]), 403);
    assert_eq!(status("GET", &[known[0], known[1], ("Sec-Fetch-Site", "cross-site")]), 403);
    let page = ask(host, "GET", "/", &known, "");
    assert!(page.head.contains("content-security-policy: default-src 'self'"), "{}", page.head);
    assert!(!page.head.contains("access-control"), "{}", page.head);
}

#[test]
fn the_interface_for_scripts_is_described() {
    let ui = Ui::start();
    let described = ui.get("/openapi.json").json();
    let paths = described["paths"].as_object().unwrap();
    for path in ["/api/v1/runs", "/api/v1/runs/{id}/events", "/api/v1/results/{id}/{document}"] {
        assert!(paths.contains_key(path), "{path}");
    }
    let forms = ui.get("/methods").json();
    assert!(forms.as_array().unwrap().iter().any(|form| form["name"] == "y1564"));
}

#[test]
fn a_port_in_use_is_named_with_a_remedy() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let run = fullpipe(&["ui", "--no-browser", "--port", &port]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(3), ""), "{}", run.stderr);
    assert!(run.stderr.contains("--port") && run.stderr.contains(&port), "{}", run.stderr);
}
