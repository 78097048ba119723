//! Who may know whom: the dependency arrows between the crates, and what the pure ones promise.

use std::path::Path;

use anyhow::Context as _;
use toml::Table;

use super::{Complaint, TextFile};

/// One crate of the house.
struct Room {
    name: &'static str,
    folder: &'static str,
    may_know: &'static [&'static str],
    /// Inner attributes that its root file must carry.
    promises: &'static [&'static str],
}

const PURE: &[&str] = &["#![no_std]", "#![forbid(unsafe_code)]"];
const SAFE: &[&str] = &["#![forbid(unsafe_code)]"];

/// Two chains that meet in `fp-model` below and in `fullpipe` above.
const HOUSE: [Room; 12] = [
    Room { name: "fp-model", folder: "crates/model", may_know: &[], promises: PURE },
    Room { name: "fp-method", folder: "crates/method", may_know: &["fp-model"], promises: PURE },
    Room { name: "fp-net", folder: "crates/net", may_know: &["fp-model"], promises: PURE },
    Room {
        name: "fp-report",
        folder: "crates/report",
        may_know: &["fp-method", "fp-model"],
        promises: SAFE,
    },
    // Denied in the workspace's lints, for `os` alone to lift.
    Room {
        name: "fp-engine",
        folder: "crates/engine",
        may_know: &["fp-net", "fp-model"],
        promises: &[],
    },
    // It keeps what it is given and need not know what that is.
    Room { name: "fp-history", folder: "crates/history", may_know: &[], promises: SAFE },
    // It runs nothing itself: methods and engines are for the processes that it starts.
    Room {
        name: "fp-server",
        folder: "crates/server",
        may_know: &["fp-history", "fp-model", "fp-report"],
        promises: SAFE,
    },
    Room {
        name: "fullpipe",
        folder: "crates/fullpipe",
        may_know: &[
            "fp-model",
            "fp-method",
            "fp-net",
            "fp-report",
            "fp-engine",
            "fp-history",
            "fp-server",
        ],
        promises: SAFE,
    },
    Room {
        name: "bench",
        folder: "bench",
        may_know: &["fp-model", "fp-net", "fp-engine", "fp-history"],
        promises: SAFE,
    },
    Room {
        name: "truth",
        folder: "truth",
        may_know: &["fp-model", "fp-method", "fp-net", "fp-report"],
        promises: SAFE,
    },
    // Nobody: what runs the checks builds in seconds.
    Room { name: "xtask", folder: "xtask", may_know: &[], promises: SAFE },
    // Outside the workspace.
    Room { name: "fp-fuzz", folder: "fuzz", may_know: &["fp-model", "fp-net"], promises: &[] },
];

pub(super) fn errors(
    manifests: &[TextFile],
    sources: &[TextFile],
) -> anyhow::Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for manifest in manifests {
        let table: Table =
            manifest.text.parse().with_context(|| manifest.path.display().to_string())?;
        complaints.extend(forbidden_arrows(manifest, &table));
    }
    for file in sources {
        complaints.extend(broken_promises(file));
    }
    Ok(complaints)
}

fn forbidden_arrows(manifest: &TextFile, table: &Table) -> Vec<Complaint> {
    let Some(package) = table.get("package") else {
        return Vec::new();
    };
    let name = package.get("name").and_then(|name| name.as_str()).unwrap_or_default();
    let Some(room) = HOUSE.iter().find(|room| room.name == name) else {
        let text = format!("crate `{name}` has no place yet: give it one in tidy's HOUSE");
        return vec![Complaint::new(&manifest.path, 1, text)];
    };
    let mut complaints = Vec::new();
    for known in dependencies(table) {
        let ours = HOUSE.iter().any(|other| other.name == known);
        if ours && !room.may_know.contains(&known) {
            let text =
                format!("{name} must not know {known}: move what needs both to who knows both");
            complaints.push(Complaint::new(&manifest.path, line_of(manifest, known), text));
        }
    }
    complaints
}

/// The names under every `dependencies` table, those of single targets included.
fn dependencies(table: &Table) -> Vec<&str> {
    let mut names = Vec::new();
    for (key, value) in table {
        let Some(inner) = value.as_table() else { continue };
        match key.as_str() {
            "dependencies" | "dev-dependencies" | "build-dependencies" => {
                names.extend(inner.iter().map(|(name, spec)| renamed(name, spec)));
            }
            "target" => {
                let targets = inner.values().filter_map(|target| target.as_table());
                names.extend(targets.flat_map(dependencies));
            }
            _ => {}
        }
    }
    names
}

/// The crate meant: a dependency may stand under another name.
fn renamed<'a>(name: &'a str, spec: &'a toml::Value) -> &'a str {
    spec.get("package").and_then(|package| package.as_str()).unwrap_or(name)
}

fn line_of(manifest: &TextFile, name: &str) -> usize {
    manifest.text.lines().position(|line| line.contains(name)).map_or(1, |index| index + 1)
}

fn broken_promises(file: &TextFile) -> Vec<Complaint> {
    let is_root = |room: &&Room| {
        let folder = Path::new(room.folder).join("src");
        file.path == folder.join("lib.rs") || file.path == folder.join("main.rs")
    };
    let Some(room) = HOUSE.iter().find(is_root) else {
        return Vec::new();
    };
    let broken = room.promises.iter().filter(|promise| !file.text.lines().any(|l| l == **promise));
    broken
        .map(|promise| {
            let text = format!("{} promises `{promise}`: put it under the opening", room.name);
            Complaint::new(&file.path, 1, text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(manifest: &str) -> Vec<String> {
        let file = TextFile { path: "Cargo.toml".into(), text: manifest.into() };
        errors(&[file], &[]).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_allowed_arrow_and_foreign_crates_pass() {
        let manifest = "[package]\nname = \"fp-report\"\n[dependencies]\n\
                        fp-method.workspace = true\nserde = \"1\"\n";
        assert_eq!(complaints(manifest), Vec::<String>::new());
    }

    #[test]
    fn a_method_that_knows_the_engine_is_refused_with_its_line() {
        let manifest =
            "[package]\nname = \"fp-method\"\n[dependencies]\nfp-engine.workspace = true\n";
        let found = complaints(manifest);
        assert!(found[0].starts_with("Cargo.toml:4: fp-method must not know fp-engine"));
    }

    #[test]
    fn arrows_in_test_and_target_tables_and_under_another_name_count() {
        for table in ["dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
            let manifest = format!(
                "[package]\nname = \"fp-net\"\n[{table}]\nwords = {{ package = \"fp-method\" }}\n"
            );
            assert_eq!(complaints(&manifest).len(), 1, "{table}");
        }
    }

    #[test]
    fn nobody_may_know_the_binary() {
        for room in &HOUSE {
            assert!(!room.may_know.contains(&"fullpipe"), "{}", room.name);
        }
    }

    #[test]
    fn a_crate_without_a_place_is_refused() {
        assert_eq!(complaints("[package]\nname = \"fp-common\"\n").len(), 1);
    }

    #[test]
    fn a_pure_crate_that_uses_std_is_refused() {
        let path = "crates/net/src/lib.rs".into();
        let file = TextFile { path, text: "//! A net.\n#![forbid(unsafe_code)]\n".into() };
        let found = errors(&[], &[file]).unwrap();
        assert!(found[0].text.contains("#![no_std]"), "{found:?}");
        assert_eq!(found.len(), 1);
    }
}
