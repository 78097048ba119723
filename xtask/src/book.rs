//! What the manual shows of the program: outputs and pictures, made by running it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::{program, reference, tidy};

/// A line for each output: its name, a tabulator, and the words of the command.
const LIST: &str = "docs/outputs.txt";
const FOLDER: &str = "docs/src/outputs";
/// Outputs that are drawn as a terminal, too, with the command that stands above them.
const PICTURES: [(&str, &str); 1] = [("test-cbs64k", "fullpipe sim metro-40m-cbs64k test")];
/// The output that README shows, between its command and the end of the block.
const IN_README: &str = "burst-discover";

/// What each file of the book's outputs has to be.
struct Made {
    file: PathBuf,
    text: String,
}

/// Writes all of them anew.
pub(crate) fn write() -> anyhow::Result<()> {
    for Made { file, text } in made()? {
        fs::write(&file, text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

/// Compares what is there with what the program says now, and follows the links.
pub(crate) fn check() -> anyhow::Result<()> {
    let made = made()?;
    let differs = |made: &&Made| fs::read_to_string(&made.file).ok().as_ref() != Some(&made.text);
    let old: Vec<String> =
        made.iter().filter(differs).map(|made| made.file.display().to_string()).collect();
    ensure!(old.is_empty(), "not what the program says (cargo xtask book): {}", old.join(", "));
    let broken = broken_links()?;
    ensure!(broken.is_empty(), "links and inclusions that lead nowhere: {}", broken.join(", "));
    Ok(())
}

/// Links of README and of the book's chapters to files that are not there, and the same of what chapters include,
/// or that begins elsewhere than behind an empty line; each with the file that it stands in.
fn broken_links() -> anyhow::Result<Vec<String>> {
    let chapters = tidy::root().join("docs/src");
    let mut files = vec![tidy::root().join("README.md")];
    for entry in fs::read_dir(&chapters).context("docs/src")? {
        files.push(entry?.path());
    }
    let mut broken = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "md")) {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let folder = file.parent().context("a file is in a folder")?;
        for target in targets(&text) {
            let is_elsewhere = target.contains("://") || target.starts_with('#');
            let path = target.split(['#', ':']).next().unwrap_or_default();
            if !is_elsewhere && !begins_a_part(&folder.join(path), target) {
                broken.push(format!("{target} in {}", file.display()));
            }
        }
    }
    Ok(broken)
}

/// Whether a file is there, and the lines that are included of it, `FILE:FROM:TO`, begin where a part of it does.
fn begins_a_part(file: &Path, target: &str) -> bool {
    let Ok(text) = fs::read(file) else { return file.is_dir() };
    let from = target.split(':').nth(1).and_then(|from| from.parse::<usize>().ok()).unwrap_or(1);
    let lines = String::from_utf8_lossy(&text);
    from == 1 || lines.lines().nth(from - 2).is_some_and(str::is_empty)
}

/// What `](TARGET)` and `{{#include TARGET}}` name.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let included = text.split("{{#include ").skip(1).filter_map(|rest| rest.split_once("}}"));
    links.chain(included).map(|(target, _)| target.trim())
}

fn made() -> anyhow::Result<Vec<Made>> {
    let (program, root) = (program::built()?, tidy::root());
    let list = fs::read_to_string(root.join(LIST)).context(LIST)?;
    let mut made = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, words) = line.split_once('\t').with_context(|| format!("{LIST}: {line}"))?;
        let text = output(&program, root, words)?;
        let file = |ending: &str| root.join(FOLDER).join(format!("{name}.{ending}"));
        if let Some((_, command)) = PICTURES.iter().find(|(pictured, _)| *pictured == name) {
            made.push(Made { file: file("svg"), text: picture(command, &text) });
        }
        if name == IN_README {
            let command = words.trim_end_matches(" -q --no-save");
            made.push(in_readme(root, command, &text)?);
        }
        made.push(Made { file: file("txt"), text });
    }
    for (name, text) in [
        ("options", reference::options(&program)?),
        ("files", reference::files(&program)?),
        ("reasons", reference::reasons(&program)?),
    ] {
        made.push(Made { file: root.join(format!("docs/src/reference-{name}.md")), text });
    }
    Ok(made)
}

/// What a command prints, without the time at which it ran and how long it took.
fn output(program: &Path, root: &Path, words: &str) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command.args(words.split(' ')).current_dir(root).env("NO_COLOR", "1").env("COLUMNS", "100");
    let run = command.output().with_context(|| program.display().to_string())?;
    let has_result = matches!(run.status.code(), Some(0 | 1 | 4 | 5));
    ensure!(has_result, "{words}: {}", String::from_utf8_lossy(&run.stderr));
    let printed = String::from_utf8(run.stdout)?;
    let mut lines: Vec<&str> = printed.lines().collect();
    let title = lines.get(1).map(|title| title.split(" · ").take(2).collect::<Vec<_>>());
    let title = title.unwrap_or_default().join(" · ");
    let title = title.trim_end_matches(" ·").to_owned();
    if let Some(second) = lines.get_mut(1) {
        *second = &title;
    }
    // Where the title was folded, the time stands by itself.
    if lines.get(2).is_some_and(|third| !third.is_empty()) {
        lines.remove(2);
    }
    Ok(lines.join("\n") + "\n")
}

/// README with this output in the block that begins with its command.
fn in_readme(root: &Path, command: &str, text: &str) -> anyhow::Result<Made> {
    let file = root.join("README.md");
    let readme = fs::read_to_string(&file).context("README.md")?;
    let begin = format!("$ fullpipe {command}\n");
    let (before, rest) = readme.split_once(&begin).with_context(|| format!("README: {begin}"))?;
    let (_, after) = rest.split_once("```\n").context("README: the end of the output")?;
    Ok(Made { file, text: format!("{before}{begin}{text}```\n{after}") })
}

/// The text of a terminal as SVG, verdicts in colour.
fn picture(command: &str, text: &str) -> String {
    const CELL: f64 = 8.43;
    const LINE: usize = 18;
    let lines: Vec<&str> = text.lines().collect();
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
    let (width, height) = ((columns as f64 * CELL) as usize + 40, (lines.len() + 2) * LINE + 24);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n\
         <g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"14\" \
         fill=\"#e6edf3\">\n\
         <text x=\"16\" y=\"30\"><tspan fill=\"#8b949e\">$ </tspan>{}</text>\n",
        escaped(command)
    );
    for (place, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = 38 + (place + 1) * LINE;
        // Writing to a string cannot fail.
        let _ = writeln!(svg, "<text x=\"16\" y=\"{y}\">{}</text>", coloured(&escaped(line)));
    }
    svg + "</g>\n</svg>\n"
}

/// Blanks as ones that are not drawn as one.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}

/// The first verdict of a line in its colour.
fn coloured(line: &str) -> String {
    for (word, colour) in [("FAIL", "#ff7b72"), ("PASS", "#7ee787"), ("pass", "#7ee787")] {
        let whole = |(_, after): &(&str, &str)| !after.starts_with(char::is_alphabetic);
        if let Some((before, after)) = line.split_once(word).filter(whole) {
            return format!("{before}<tspan fill=\"{colour}\">{word}</tspan>{after}");
        }
    }
    line.to_owned()
}
