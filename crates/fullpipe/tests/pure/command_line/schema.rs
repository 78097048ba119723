//! What `fullpipe schema` prints is what results are.

use serde_json::{Value, json};

use crate::command_line::evidence::{evidence, table};
use crate::process::fullpipe;
use crate::recorded;
use crate::schema::takes;

fn result_schema() -> Value {
    let printed = fullpipe(&["schema", "result"]);
    assert_eq!(printed.exit, Some(0), "{}", printed.stderr);
    serde_json::from_str(&printed.stdout).unwrap()
}

#[test]
fn every_recorded_result_fits_the_schema_of_results() {
    let schema = result_schema();
    for recording in table::read(evidence()).unwrap() {
        let result = serde_json::from_str(&recorded::text(&recording.name)).unwrap();
        assert!(takes(&schema, &result), "{}", recording.name);
    }
}

#[test]
fn what_is_no_result_does_not_fit() {
    let schema = result_schema();
    let result: Value = serde_json::from_str(&recorded::text("rfc6349-sim")).unwrap();
    let tcp = result["steps"].as_array().unwrap().iter().position(|step| step["name"] == "tcp");
    let tcp = format!("/steps/{}", tcp.unwrap());
    let changes = [
        ("/schema", json!("fullpipe.result/2")),
        ("/method", json!("ping")),
        ("/duration_s", json!("long")),
        ("/verdict/status", json!("good")),
        ("/verdict/reasons", json!([{"code": "x", "text": "y"}])),
        ("/validity/ok", json!("yes")),
        (&*format!("{tcp}/throughput_bps"), json!("fast")),
        (&*format!("{tcp}/direction"), json!(1)),
        (&*format!("{tcp}/pass"), json!("pass")),
        (&*format!("{tcp}/name"), json!("udp")),
        (&*format!("{tcp}/series"), json!([{"t_s": 0.0, "what": 1}])),
    ];
    for (place, wrong) in changes {
        let mut changed = result.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = wrong;
        assert!(!takes(&schema, &changed), "{place}");
    }
}

#[test]
fn an_unknown_kind_is_a_sentence_that_names_the_known_ones() {
    let refused = fullpipe(&["schema", "results"]);
    assert_eq!((refused.exit, refused.stdout.as_str()), (Some(2), ""));
    for kind in ["result", "lab", "flows", "plan", "services"] {
        assert!(refused.stderr.contains(kind), "{}", refused.stderr);
        let printed = fullpipe(&["schema", kind]);
        assert_eq!(printed.exit, Some(0), "{}", printed.stderr);
        serde_json::from_str::<Value>(&printed.stdout).unwrap();
    }
}
