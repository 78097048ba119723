//! Emulated networks: those that are built in, and those in files of the user.

mod file;
mod spec;

use std::path::Path;

use anyhow::anyhow;
use fp_net::path::PathSpec;

use crate::exit::Failure;
use crate::yaml::{Kind, Problem, nearest};

/// The built-in networks by name.
const BUILT_IN: [(&str, &str); 12] = [
    ("ideal", include_str!("../../../../lab/ideal.yaml")),
    ("line-100m-10ms", include_str!("../../../../lab/line-100m-10ms.yaml")),
    ("metro-40m-cbs64k", include_str!("../../../../lab/metro-40m-cbs64k.yaml")),
    ("metro-40m-cbs275k", include_str!("../../../../lab/metro-40m-cbs275k.yaml")),
    ("fast-ethernet", include_str!("../../../../lab/fast-ethernet.yaml")),
    ("gigabit", include_str!("../../../../lab/gigabit.yaml")),
    ("transatlantic-limited", include_str!("../../../../lab/transatlantic-limited.yaml")),
    ("five-class-20m", include_str!("../../../../lab/five-class-20m.yaml")),
    ("bufferbloat-20m", include_str!("../../../../lab/bufferbloat-20m.yaml")),
    ("lossy-50m", include_str!("../../../../lab/lossy-50m.yaml")),
    ("blackhole-1400", include_str!("../../../../lab/blackhole-1400.yaml")),
    ("nat-gateway", include_str!("../../../../lab/nat-gateway.yaml")),
];

/// The JSON Schema of network files.
pub(crate) const SCHEMA: &str = include_str!("schema.json");

const KIND: Kind =
    Kind { key: "lab", schema: "fullpipe.lab/1", describes: "network", name: "network file" };

/// The network that is built in under this name, or described in the file at this path.
///
/// # Errors
/// Bad input: no such network or file, or what in the file is wrong, where, and what is allowed.
pub(crate) fn load(name_or_path: &str) -> Result<PathSpec, Failure> {
    let text = source(name_or_path)?;
    let located = |problem: Problem| anyhow!("{}:{problem}", place(name_or_path));
    parse(&text).map_err(located).map_err(Failure::bad_input)
}

/// The text of a network's file.
///
/// # Errors
/// Bad input: no such network or file.
pub(crate) fn source(name_or_path: &str) -> Result<String, Failure> {
    if let Some((_, text)) = built_in(name_or_path) {
        return Ok((*text).to_owned());
    }
    let path = Path::new(name_or_path);
    let read = if path.exists() || looks_like_a_file(name_or_path) {
        KIND.text_of(path)
    } else {
        Err(unknown(name_or_path))
    };
    read.map_err(Failure::bad_input)
}

/// Name and description of each built-in network.
pub(crate) fn list() -> impl Iterator<Item = (&'static str, String)> {
    BUILT_IN.iter().map(|(name, text)| {
        let description = parse(text).map(|path| path.description);
        // The tests parse every one of these files.
        (*name, description.unwrap_or_default())
    })
}

/// What a network file says, in its own words: its name, what it is and the links of each direction.
///
/// # Errors
/// `LINE:COLUMN: what is wrong`.
#[cfg(feature = "ui")]
pub(crate) fn outline(text: &str) -> Result<serde_json::Value, String> {
    let path = parse(text).map_err(|problem| problem.to_string())?;
    let file: serde_json::Value = KIND.read(text).map_err(|problem| problem.to_string())?;
    let links = file["links"].as_array().map_or(&[][..], Vec::as_slice);
    let there = |link: &serde_json::Value| link["near_to_far"].clone();
    let back = |link: &serde_json::Value| match &link["far_to_near"] {
        serde_json::Value::Null => there(link),
        way => way.clone(),
    };
    Ok(serde_json::json!({
        "name": path.name,
        "description": path.description,
        "near_to_far": links.iter().map(there).collect::<Vec<_>>(),
        "far_to_near": links.iter().map(back).collect::<Vec<_>>(),
    }))
}

fn parse(text: &str) -> Result<PathSpec, Problem> {
    spec::path(&KIND.read(text)?)
}

fn built_in(name: &str) -> Option<&'static (&'static str, &'static str)> {
    BUILT_IN.iter().find(|(built_in, _)| *built_in == name)
}

/// Where the text of a network stands, for messages.
fn place(name_or_path: &str) -> String {
    match built_in(name_or_path) {
        Some((name, _)) => format!("lab/{name}.yaml"),
        None => name_or_path.to_owned(),
    }
}

fn looks_like_a_file(text: &str) -> bool {
    text.contains('/') || text.ends_with(".yaml") || text.ends_with(".yml")
}

fn unknown(name: &str) -> anyhow::Error {
    let names: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let suggestion = match nearest(name, &names) {
        Some(nearest) => format!("did you mean {nearest}? "),
        None => String::new(),
    };
    anyhow!(
        "there is no network {name}: {suggestion}name a network file, or one of {}",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests;
