//! The manual's reference: the options of every command as its parser tells them, and the keys of every
//! file as its schema does.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value};

/// Files that a user writes, with the name of their schema.
const FORMATS: [(&str, &str); 4] = [
    ("lab", "Network files"),
    ("flows", "Files of flows"),
    ("services", "Files of services"),
    ("plan", "Plans"),
];
/// Kinds of reasons, each with the heading of its table.
const REASONS: [(&str, &str); 3] = [
    ("finding", "Findings: what the owner of the path should know whatever was asked"),
    ("reason", "Reasons of verdicts and remarks"),
    ("self-check", "Self-checks of the tester: one that fails makes a result invalid"),
];
/// A command whose own commands repeat the options of others.
const REPEATING: &str = "sim";

/// The chapter of options.
pub(crate) fn options(program: &Path) -> anyhow::Result<String> {
    let mut out = String::from(
        "# Reference: options\n\nWhat `--help` says of each command. Made of the program itself by \
         `cargo xtask book`.\n",
    );
    let mut next = VecDeque::from([Vec::new()]);
    while let Some(words) = next.pop_front() {
        let help = printed(program, &words, "--help")?;
        let name = ["fullpipe"].into_iter().chain(words.iter().map(String::as_str));
        let name = name.collect::<Vec<_>>().join(" ");
        write!(out, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end())?;
        if words.last().is_some_and(|last| last == REPEATING) {
            continue;
        }
        let commands = commands(&help).filter(|command| *command != "help");
        next.extend(commands.map(|command| [&words[..], &[command.to_owned()]].concat()));
    }
    Ok(out)
}

/// The chapter of files.
pub(crate) fn files(program: &Path) -> anyhow::Result<String> {
    let commands: Vec<String> =
        commands(&printed(program, &[], "--help")?).map(str::to_owned).collect();
    let mut out = String::from(
        "# Reference: files\n\nThe keys of every file that fullpipe reads, as its schemas have them \
         (`fullpipe schema KIND` prints one for an editor or a validator; `fullpipe schema result` that of \
         results). A key in bold has to be there. Made of the program itself by `cargo xtask book`.\n",
    );
    for (kind, title) in FORMATS {
        let text = printed(program, &["schema".to_owned()], kind)?;
        let schema: Value =
            serde_json::from_str(&text).with_context(|| format!("schema {kind}"))?;
        Keys { defs: &schema["$defs"], commands: &commands, out: &mut out }.file(title, &schema)?;
    }
    Ok(out)
}

/// The chapter of reasons.
pub(crate) fn reasons(program: &Path) -> anyhow::Result<String> {
    let text = printed(program, &["schema".to_owned()], "result")?;
    let schema: Value = serde_json::from_str(&text).context("schema result")?;
    let codes = schema["$defs"]["code"]["oneOf"].as_array().context("the reasons of a result")?;
    let mut out = String::from(
        "# Reference: reasons\n\nEvery reason that a result can have, by its `code` in the JSON: what it says, \
         and what to do. The text of a reason in a result has the figures. Made of the program itself by \
         `cargo xtask book`.\n",
    );
    for (title, about) in REASONS {
        write!(out, "\n## {about}\n\n| code | says | do |\n| --- | --- | --- |\n")?;
        for code in codes.iter().filter(|code| code["title"] == title) {
            let text = code["description"].as_str().unwrap_or_default();
            let (says, remedy) = text.split_once('\n').unwrap_or((text, ""));
            writeln!(out, "| `{}` | {says} | {remedy} |", bare(&code["const"]))?;
        }
    }
    Ok(out)
}

fn printed(program: &Path, words: &[String], last: &str) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    let run = command.args(words).arg(last).env("NO_COLOR", "1").env("COLUMNS", "100").output()?;
    ensure!(run.status.success(), "{words:?} {last}: {}", String::from_utf8_lossy(&run.stderr));
    Ok(String::from_utf8(run.stdout)?)
}

/// The names below the line that announces them; what continues one is indented further.
fn commands(help: &str) -> impl Iterator<Item = &str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty())
}

/// Writes the keys of a schema as tables.
struct Keys<'a> {
    /// What `$ref` names.
    defs: &'a Value,
    /// Keys of these names hold the options of the command.
    commands: &'a [String],
    out: &'a mut String,
}

impl Keys<'_> {
    fn file(&mut self, title: &str, schema: &Value) -> anyhow::Result<()> {
        write!(self.out, "\n## {title}\n\n")?;
        if let Some(about) = schema["description"].as_str() {
            write!(self.out, "{about}\n\n")?;
        }
        let mut tables = VecDeque::from([(String::new(), schema.clone())]);
        let mut seen: Vec<Value> = Vec::new();
        while let Some((name, of)) = tables.pop_front() {
            let Some(keys) = of["properties"].as_object() else { continue };
            if seen.contains(&of) {
                continue;
            }
            if !name.is_empty() {
                write!(self.out, "\n### {title}: `{name}`\n\n")?;
            }
            self.table(title, &of, keys)?;
            for (key, value) in keys.iter().filter(|(key, _)| !self.commands.contains(key)) {
                tables.extend(self.objects(key, value));
            }
            seen.push(of);
        }
        Ok(())
    }

    fn table(&mut self, title: &str, of: &Value, keys: &Map<String, Value>) -> anyhow::Result<()> {
        let required: Vec<&str> =
            of["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        self.out.push_str("| key | what it holds |\n| --- | --- |\n");
        for (key, value) in keys {
            let mark = if required.contains(&key.as_str()) { "**" } else { "" };
            let mut text = self.meaning(value);
            let tables = self.objects(key, value);
            let link = |(name, _): &(String, Value)| format!("[{name}](#{})", anchor(title, name));
            let mut links: Vec<String> = tables.iter().map(link).collect();
            links.dedup();
            if !text.is_empty() && !links.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&links.join(", "));
            if self.commands.contains(key) && value["properties"].is_object() {
                text = format!("the options of `fullpipe {key}` without their dashes");
            }
            writeln!(self.out, "| {mark}`{key}`{mark} | {} |", text.replace('|', "\\|"))?;
        }
        Ok(())
    }

    /// What a value may be: its own words, then those of what it refers to.
    fn meaning(&self, value: &Value) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut add = |of: &Value| {
            parts.extend(of["description"].as_str().map(|text| text.trim_end_matches('.').into()));
            parts.extend(of.get("const").map(|only| format!("`{}`", bare(only))));
            let listed = of["enum"].as_array().map(|all| {
                all.iter().map(|one| format!("`{}`", bare(one))).collect::<Vec<_>>().join(", ")
            });
            parts.extend(listed);
        };
        add(value);
        let referred = self.referred(value);
        if referred != value {
            add(referred);
        }
        if parts.is_empty() && self.objects("", value).is_empty() {
            let types: Vec<String> = match &referred["type"] {
                Value::Array(all) => all.iter().filter(|one| *one != "null").map(bare).collect(),
                Value::Null => inner(referred).map(|part| self.meaning(part)).collect(),
                one => vec![bare(one)],
            };
            parts.push(types.join(" or "));
        }
        parts.dedup();
        parts.join(". ")
    }

    fn referred<'v>(&'v self, value: &'v Value) -> &'v Value {
        let name = value["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/"));
        name.map_or(value, |name| &self.defs[name])
    }

    /// The objects that a value is, or is a list of, or may be, each with its name.
    fn objects(&self, key: &str, value: &Value) -> Vec<(String, Value)> {
        let of = self.referred(value);
        let name = value["$ref"].as_str().and_then(|name| name.rsplit('/').next());
        let name = name.unwrap_or(key);
        if of["properties"].is_object() {
            return vec![(name.to_owned(), of.clone())];
        }
        inner(of).flat_map(|part| self.objects(name, part)).collect()
    }
}

/// What a value may be, and what a list or a map is of.
fn inner(of: &Value) -> impl Iterator<Item = &Value> {
    let either = ["oneOf", "anyOf"].into_iter().filter_map(|word| of[word].as_array()).flatten();
    let inside = ["items", "additionalProperties"].into_iter().map(|word| &of[word]);
    either.chain(inside.filter(|inside| inside.is_object()))
}

/// The fragment that mdBook gives the heading of a table, for links to it.
fn anchor(title: &str, name: &str) -> String {
    format!("{title}-{name}").to_lowercase().replace(' ', "-")
}

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_that_help_lists_and_not_how_it_goes_on() {
        let help = "Does things\n\nCommands:\n  test  Tests a path,\n        and more\n  lab   Runs one\n\n\
                    Options:\n  -h  Help\n";
        assert_eq!(commands(help).collect::<Vec<_>>(), ["test", "lab"]);
        assert_eq!(commands("No others\n").count(), 0);
    }

    #[test]
    fn every_key_of_a_schema_is_in_a_table_and_every_object_has_one() {
        let schema: Value = serde_json::from_str(
            r##"{
                "description": "Two links.",
                "required": ["links"],
                "properties": {
                    "links": {"description": "In order.", "items": {"$ref": "#/$defs/link"}},
                    "test": {"properties": {"cir": {"type": "string"}}}
                },
                "$defs": {
                    "link": {"properties": {"rate": {"$ref": "#/$defs/rate"}, "on": {"type": "boolean"}}},
                    "rate": {"description": "Such as 1G|2G."}
                }
            }"##,
        )
        .unwrap();
        let mut out = String::new();
        let commands = ["test".to_owned()];
        let mut keys = Keys { defs: &schema["$defs"], commands: &commands, out: &mut out };
        keys.file("Files", &schema).unwrap();
        let rows = [
            "| **`links`** | In order: [link](#files-link) |",
            "| `test` | the options of `fullpipe test` without their dashes |",
            "### Files: `link`",
            "| `rate` | Such as 1G\\|2G |",
            "| `on` | boolean |",
        ];
        for row in rows {
            assert!(out.lines().any(|line| line == row), "{row}: {out}");
        }
    }
}
