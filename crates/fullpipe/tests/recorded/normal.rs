//! A result document without what differs from run to run: who measured, when, and on which host.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// What a simulation is said to have taken: how long it took says something of the host alone.
const SIMULATED_S: f64 = 0.1;
/// The version of the program that every recording names.
const VERSION: &str = "0.1.0";

/// The document of the recording of this name, with an identifier and a time that follow from the
/// name. The hosts lose their name, a simulation its duration as well.
///
/// # Errors
/// The text is no JSON.
pub(crate) fn normalised(name: &str, document: &str) -> serde_json::Result<String> {
    let mut result: Value = serde_json::from_str(document)?;
    let bytes: [u8; 32] = Sha256::digest(name).into();
    let [a, b, c, d, e, f, g, h, hour, minute, second, ..] = bytes;
    result["id"] = json!(format!("{:016x}", u64::from_be_bytes([a, b, c, d, e, f, g, h])));
    let (hour, minute, second) = (hour % 24, minute % 60, second % 60);
    result["started"] = json!(format!("2026-01-01T{hour:02}:{minute:02}:{second:02}Z"));
    result["tool"]["version"] = json!(VERSION);
    let is_simulated = result["near"]["name"] == "simulation";
    if is_simulated {
        result["duration_s"] = json!(SIMULATED_S);
    }
    for end in ["near", "far"] {
        result[end]["version"] = json!(VERSION);
        if !is_simulated {
            result[end]["name"] = json!(end);
        }
    }
    Ok(format!("{result:#}\n"))
}
