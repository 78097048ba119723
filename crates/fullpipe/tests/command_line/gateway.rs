//! Very many connections through the kernel's own translation of addresses, as root and as anybody:
//! what the tester says beside what the gateway itself counts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;

use serde_json::Value;

use super::folder::Folder;
use super::process::{Finished, as_an_ordinary_user, fullpipe, json};

type Run = fn(&[&str]) -> Finished;

/// The control connection, the question before the load, which is remembered for some seconds, and
/// what each processor is about to drop.
fn entries_beside_max() -> u64 {
    2 + thread::available_parallelism().unwrap().get() as u64
}

#[test]
fn the_gateway_has_a_state_for_each_connection() {
    has_a_state_for_each_connection(fullpipe);
}

#[test]
fn the_gateway_has_a_state_for_each_connection_as_an_ordinary_user() {
    has_a_state_for_each_connection(as_an_ordinary_user);
}

#[test]
fn a_gateway_without_a_free_port_is_named_with_how_many_it_has() {
    says_where_the_ports_end(fullpipe);
}

#[test]
fn a_gateway_without_a_free_port_is_named_with_how_many_it_has_as_an_ordinary_user() {
    says_where_the_ports_end(as_an_ordinary_user);
}

fn has_a_state_for_each_connection(run: Run) {
    let (finished, truth) = stress(run, "nat-gateway", "2000");
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

fn says_where_the_ports_end(run: Run) {
    const PORTS: u64 = 1000;
    let folder = Folder::new();
    let network = fullpipe(&["lab", "show", "nat-gateway"]).stdout;
    let network = network.replace("1024-65535", "20000-20999");
    let network = folder.written("thousand-ports.yaml", &network);
    let (finished, truth) = stress(run, &network, "3000");
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
    // On a host that stood still it says that as well.
    assert!(matches!(finished.exit, Some(1 | 4)), "{:?}", finished.exit);
}

/// The run's result, and what the network really did.
fn stress(run: Run, network: &str, connections: &str) -> (Finished, Value) {
    let folder = Folder::new();
    let truth = folder.file("truth.json");
    // The ordinary user is not the one who made the folder.
    let anybody = fs::Permissions::from_mode(0o777);
    fs::set_permissions(Path::new(&truth).parent().unwrap(), anybody).unwrap();
    let finished = run(&[
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
