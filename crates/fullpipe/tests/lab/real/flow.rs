//! Flows over the lab, with real traffic.

use std::fs;

use serde_json::Value;

use crate::across::measured;
use crate::folder::Folder;
use crate::result::number;

/// Whatever the host is busy with, both ends count the same connection, and no kernel hands out what
/// was not sent.
#[test]
fn tcp_both_ways_is_seen_alike_by_both_ends() {
    let run = measured(&["flow", "--lab", "fast-ethernet", "-q", "-P", "2", "--bidir", "-t", "1"]);
    assert_eq!((run.exit, run.status()), (0, "info"), "{}", run.stderr);
    let flows = run.steps("flow");
    assert_eq!(flows.len(), 2);
    for flow in flows {
        let (sent, received) = (number(flow, "sent_payload_bytes"), number(flow, "payload_bytes"));
        assert!(received > 0.0 && received <= sent, "{flow}");
        // What a line of 100 Mbit/s carries in full segments, and half as much by accident.
        assert!(number(flow, "rate_bps") <= 1.5 * 100e6 * 1448.0 / 1538.0, "{flow}");
        assert_eq!(flow["conserved"], true);
        assert_eq!(flow["connections"].as_array().unwrap().len(), 2);
    }
}

/// Of connections that no kernel knows: what both ends say of them is what the links passed of their
/// code point, and nothing else has it.
#[test]
fn fullpipes_own_tcp_is_what_the_network_passed() {
    let folder = Folder::new();
    let truth = folder.file("truth.json");
    let words = ["flow", "--lab", "fast-ethernet", "-q", "--engine", "user", "--dscp", "10"];
    let more = ["-P", "2", "-b", "10M", "-R", "-t", "1", "--truth", &truth];
    let run = measured(&[&words[..], &more].concat());
    assert_eq!((run.exit, run.status()), (0, "info"), "{}", run.stderr);
    let truth: Value = serde_json::from_str(&fs::read_to_string(&truth).unwrap()).unwrap();
    let [flow] = run.steps("flow")[..] else { panic!("{:#}", run.result["steps"]) };
    let connections = flow["connections"].as_array().unwrap();
    assert_eq!((&flow["engine"], connections.len()), (&Value::from("user"), 2));
    assert_eq!(
        (flow["dscp_received"].as_u64(), &flow["conserved"]),
        (Some(10), &Value::from(true))
    );
    let (sent, received) = (number(flow, "sent_payload_bytes"), number(flow, "payload_bytes"));
    // 2.5 MB in a second, less what a host that stands still leaves out.
    assert!(received > 1e6 && received <= sent && sent <= 2.51e6, "{received} of {sent}");
    let passed = |way: &str, count: &str| number(&truth[way]["by_dscp"]["10"]["passed"], count);
    let (frames, bytes) = (passed("far_to_near", "frames"), passed("far_to_near", "bytes"));
    let evidence = run.result["evidence"].as_array().unwrap().last().unwrap();
    let series = evidence["observation"]["flows"][0]["series"].as_array().unwrap();
    let whole: f64 = series.iter().map(|slot| number(slot, "sent_bytes")).sum();
    // Headers of Ethernet, IPv4 and TCP with timestamps, and the FCS are 70 bytes; those few that open
    // a connection or prove a far end have some more or less of them.
    let payload = bytes - 70.0 * frames;
    assert!((payload - whole).abs() <= 200.0, "{payload} passed, {whole} sent");
    let answers = passed("near_to_far", "frames");
    assert!(answers >= frames / 3.0 && answers <= frames + 20.0, "{answers} to {frames}");
}

/// Twice what the line carries: what each class got is what the links passed of its code point.
#[test]
pub(super) fn classes_get_what_the_network_gave_them() {
    let folder = Folder::new();
    let truth = folder.file("truth.json");
    let words = ["flow", "--lab", "five-class-20m", "-q", "--classes", "five", "-u", "-b", "40M"];
    let run = measured(&[&words[..], &["-t", "2", "--truth", &truth]].concat());
    let truth: Value = serde_json::from_str(&fs::read_to_string(&truth).unwrap()).unwrap();
    let classes: Vec<&Value> =
        run.steps("flow").into_iter().filter(|flow| flow["part"] == "class").collect();
    assert_eq!(classes.len(), 5);
    for class in &classes {
        let dscp = class["dscp_sent"].to_string();
        let passed = &truth["near_to_far"]["by_dscp"][&dscp]["passed"];
        expect_passed(class, number(passed, "frames"), number(passed, "bytes"));
    }
    let goodput: Vec<f64> = classes.iter().map(|class| number(class, "packets")).collect();
    // The two that fit whole send the same; a host that is late may cost one of them a few.
    assert!(goodput[1] > goodput[2] && goodput[2] > goodput[3], "{goodput:?}");
    assert!(goodput[0] > goodput[2] && goodput[2] > goodput[4], "{goodput:?}");
}

/// Packets of 1472 bytes of payload. Beside them the links pass greetings of less than 200 bytes, which
/// are repeated until the other end answers, and in the default class the control connection.
fn expect_passed(class: &Value, frames: f64, bytes: f64) {
    let got = number(class, "packets");
    assert!(got <= frames, "{got} of {frames}: {class}");
    if class["dscp_sent"] != 0 {
        assert!(bytes <= got * 1518.0 + (frames - got) * 200.0, "{bytes} in {frames}: {class}");
    }
}

/// IPv4 and IPv6 both ways in one trial, each flow with a code point of its own: what both ends count
/// is what the links passed, to the frame and to the byte.
#[test]
fn flows_of_both_families_share_a_trial_and_are_what_the_network_passed() {
    let folder = Folder::new();
    let truth = folder.file("truth.json");
    let mut flows = String::from("schema: fullpipe.flows/1\nflows:\n");
    for (dscp, family, direction) in
        [(10, 4, "upload"), (12, 6, "upload"), (14, 4, "download"), (18, 6, "download")]
    {
        flows += &format!(
            "  - {{name: udp {dscp}, transport: udp, family: ipv{family}, direction: {direction}, \
             dscp: {dscp}, payload: 400, pps: 200}}\n  - {{name: tcp {dscp}, family: ipv{family}, \
             direction: {direction}, dscp: {}, rate: 2M}}\n",
            dscp + 20
        );
    }
    let file = folder.written("flows.yaml", &flows);
    let words = ["flow", "--lab", "fast-ethernet", "-q", "--flows", &file, "-t", "1"];
    let run = measured(&[&words[..], &["--truth", &truth]].concat());
    assert_eq!(run.exit, 0, "{}", run.stderr);
    let truth: Value = serde_json::from_str(&fs::read_to_string(&truth).unwrap()).unwrap();
    let singles: Vec<&Value> =
        run.steps("flow").into_iter().filter(|flow| flow["part"] == "flow").collect();
    assert_eq!(singles.len(), 8);
    for flow in singles {
        let way = if flow["direction"] == "upload" { "near_to_far" } else { "far_to_near" };
        let passed = &truth[way]["by_dscp"][flow["dscp_sent"].to_string()]["passed"];
        let (frames, bytes) = (number(passed, "frames"), number(passed, "bytes"));
        assert_eq!(flow["conserved"], true, "{flow}");
        if flow["transport"] == "udp" {
            // Greetings of the two ends besides, which are repeated until they are answered.
            let got = number(flow, "packets");
            assert!(got >= 190.0 && got <= frames, "{got} of {frames}: {flow}");
            let headers = if flow["family"] == "ipv4" { 46.0 } else { 66.0 };
            let others = (frames - got) * 100.0;
            let exact = got * (400.0 + headers);
            assert!(bytes >= exact && bytes <= exact + others, "{bytes} for {exact}");
        } else {
            assert!(number(flow, "payload_bytes") > 0.9 * 250_000.0, "{flow}");
            assert!(number(flow, "payload_bytes") < bytes, "{flow}");
        }
    }
}
