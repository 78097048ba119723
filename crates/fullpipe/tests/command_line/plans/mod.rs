//! Plans: tests one after the other, judged, kept and gone on with.

mod junit;
mod lab;
mod sim;

use std::fs;

use serde_json::Value;

use super::folder::Folder;
use super::process::json;

/// Writes a plan whose lines follow the first, and says where.
fn plan(folder: &Folder, lines: &str) -> String {
    folder.written("plan.yaml", &format!("plan: fullpipe.plan/1\n{lines}"))
}

fn read(folder: &Folder, name: &str) -> Value {
    json(&fs::read_to_string(folder.file(name)).unwrap()).unwrap()
}

/// Name and status of every test of a round.
fn statuses(summary: &Value, round: usize) -> Vec<(&str, &str)> {
    let tests = summary["rounds"][round]["tests"].as_array().unwrap();
    let status = |test| -> Option<(&str, &str)> {
        let test: &Value = test;
        Some((test["name"].as_str()?, test["status"].as_str()?))
    };
    tests.iter().map(|test| status(test).unwrap()).collect()
}
