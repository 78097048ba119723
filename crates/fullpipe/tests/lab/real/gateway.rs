//! Very many connections through the kernel's own translation of addresses: what the tester says
//! beside what the gateway itself counts.

use std::fs;
use std::thread;

use serde_json::Value;

use crate::folder::Folder;
use crate::process::{Finished, fullpipe, json};

/// The control connection, the question before the load, which is remembered for some seconds, and
/// what each processor is about to drop.
fn entries_beside_max() -> u64 {
    2 + thread::available_parallelism().unwrap().get() as u64
}

#[test]
fn the_gateway_has_a_state_for_each_connection() {
    let (finished, truth) = stress("nat-gateway", "2000");
    let result = finished.json();
    let step = &result["steps"][0];
    let gateway = &truth["gateway"];
    assert_eq!(step["connections_peak"], 2000, "{step}");
    assert_eq!(step["established"], 2000, "{step}");
    let peak = gateway["conntrack_entries_peak"].as_u64().unwrap();
    assert!((2001..=2000 + entries_beside_max()).contains(&peak), "{gateway}");
    assert_eq!((&gateway["invalid"], &gateway["insert_failed"]), (&0.into(), &0.into()));
    assert_eq!(result["plan"]["load"]["addresses"]["translated"], true, "{}", result["plan"]);
}

#[test]
pub(super) fn a_gateway_without_a_free_port_is_named_with_how_many_it_has() {
    const PORTS: u64 = 1000;
    let folder = Folder::new();
    let network = fullpipe(&["lab", "show", "nat-gateway"]).stdout;
    let network = network.replace("1024-65535", "20000-20999");
    let network = folder.written("thousand-ports.yaml", &network);
    let (finished, truth) = stress(&network, "3000");
    let result = finished.json();
    let (step, gateway) = (&result["steps"][0], &truth["gateway"]);
    let held = step["connections_peak"].as_u64().unwrap();
    // The question before the load has one of them, unless its connection takes it.
    assert!((PORTS - 1..=PORTS).contains(&held), "{step} {gateway}");
    let peak = gateway["conntrack_entries_peak"].as_u64().unwrap();
    assert!((held + 1..=held + entries_beside_max()).contains(&peak), "{held} {gateway}");
    // Each of the others was asked for once at least.
    assert!(gateway["insert_failed"].as_u64().unwrap() >= 3000 - PORTS, "{gateway}");
    assert_eq!(gateway["invalid"], 0, "{gateway}");
    let reasons = result["verdict"]["reasons"].as_array().unwrap();
    let limit = reasons.iter().find(|reason| reason["code"] == "limit_found").unwrap();
    let text = format!("new connections stopped being answered at {held} active");
    assert_eq!(limit["text"], text);
    let statuses = [(Some(1), "fail"), (Some(4), "invalid")];
    let status = result["verdict"]["status"].as_str().unwrap();
    // The limit is found and named whether or not the host kept the tester from measuring all else.
    assert!(statuses.contains(&(finished.exit, status)), "{:?}: {status}", finished.exit);
}

/// The run's result, and what the network really did.
fn stress(network: &str, connections: &str) -> (Finished, Value) {
    let folder = Folder::new();
    let truth = folder.file("truth.json");
    let finished = fullpipe(&[
        "stress",
        "--lab",
        network,
        "--connections",
        connections,
        "--ramp-up",
        "500ms",
        "--steady",
        "2s",
        "--ramp-down",
        "500ms",
        "--truth",
        &truth,
        "-q",
        "--json",
    ]);
    let truth = json(&fs::read_to_string(&truth).unwrap())
        .unwrap_or_else(|error| panic!("{error}: {finished:#?}"));
    (finished, truth)
}
