//! Plans and what their runs leave.

use std::fs;

use serde_json::Value;

use crate::folder::Folder;
use crate::process::json;

/// Writes a plan whose lines follow the first, and says where.
pub(crate) fn plan(folder: &Folder, lines: &str) -> String {
    folder.written("plan.yaml", &format!("plan: fullpipe.plan/1\n{lines}"))
}

pub(crate) fn read(folder: &Folder, name: &str) -> Value {
    json(&fs::read_to_string(folder.file(name)).unwrap()).unwrap()
}

/// Name and status of every test of a round.
pub(crate) fn statuses(summary: &Value, round: usize) -> Vec<(&str, &str)> {
    let tests = summary["rounds"][round]["tests"].as_array().unwrap();
    let status = |test| -> Option<(&str, &str)> {
        let test: &Value = test;
        Some((test["name"].as_str()?, test["status"].as_str()?))
    };
    tests.iter().map(|test| status(test).unwrap()).collect()
}
