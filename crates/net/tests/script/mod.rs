//! Reads scripts and runs them against a connection in virtual time.

mod command;
mod stage;

use std::path::PathBuf;

use stage::Stage;

/// Runs all scripts of a file and gives their number; all that fail are named at once.
pub(crate) fn run_file(name: &str) -> usize {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tcp").join(name);
    let path = path.with_extension("script");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| {
        panic!("{}: {error}", path.display());
    });
    let scripts = scripts(&text);
    let failures: Vec<String> =
        scripts.iter().filter_map(|script| script.run(name).err()).collect();
    assert!(failures.is_empty(), "{} scripts failed:\n{}", failures.len(), failures.join("\n"));
    scripts.len()
}

struct Script<'a> {
    name: &'a str,
    /// With their numbers in the file.
    lines: Vec<(usize, &'a str)>,
}

fn scripts(text: &str) -> Vec<Script<'_>> {
    let mut scripts: Vec<Script<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(name) = line.strip_prefix("script ") {
            scripts.push(Script { name, lines: Vec::new() });
        } else if !line.is_empty() {
            match scripts.last_mut() {
                Some(script) => script.lines.push((index + 1, line)),
                None => panic!("line {} stands before any script", index + 1),
            }
        }
    }
    scripts
}

impl Script<'_> {
    fn run(&self, file: &str) -> Result<(), String> {
        let mut stage = Stage::default();
        let failed = |line: usize, text: &str, why: String| {
            format!("{file}.script:{line}: {}: `{text}`: {why}", self.name)
        };
        for (line, text) in &self.lines {
            stage.act(text).map_err(|why| failed(*line, text, why))?;
        }
        stage.expect_silence().map_err(|why| failed(0, "the end", why))
    }
}
