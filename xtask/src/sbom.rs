//! What the binary that is handed out is made of, as a bill of materials in CycloneDX's JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{program, tidy};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// A crate by its name and version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    name: String,
    version: String,
}

/// What `cargo tree` says of a crate.
#[derive(Debug, Default)]
struct Part {
    licence: String,
    depends_on: BTreeSet<Id>,
}

#[derive(Debug, Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Debug, Deserialize)]
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
    checksum: Option<String>,
}

/// Prints the bill of `fullpipe` as it is built for a target, the same bytes for the same commit. What is
/// linked and is no crate is given as `NAME vVERSION|LICENCE`.
pub(crate) fn print(triple: &str, no_crates: &[&str]) -> anyhow::Result<()> {
    let lock = fs::read_to_string(tidy::root().join("Cargo.lock")).context("Cargo.lock")?;
    let bill = bill(&tree(triple)?, &lock, triple, no_crates)?;
    Ok(writeln!(std::io::stdout(), "{bill:#}")?)
}

/// Every crate that is linked, with its depth in the tree before it and its licence behind it. Crates that
/// only build others, procedural macros among them, are left out.
fn tree(triple: &str) -> anyhow::Result<String> {
    let mut tree = program::cargo();
    tree.args(["tree", "--locked", "--package", "fullpipe", "--target", triple]);
    tree.args(["--edges", "normal,no-proc-macro", "--no-dedupe", "--charset", "ascii"]);
    tree.args(["--prefix", "depth", "--format", " {p}|{l}"]);
    let output = tree.current_dir(tidy::root()).output().context("cargo tree")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn bill(tree: &str, lock: &str, triple: &str, no_crates: &[&str]) -> anyhow::Result<Value> {
    let (root, parts) = parts(tree)?;
    let lock: Lock = toml::from_str(lock).context("Cargo.lock")?;
    let mut components = BTreeMap::new();
    for (id, part) in &parts {
        let locked = lock.package.iter().find(|it| it.name == id.name && it.version == id.version);
        let locked = locked.with_context(|| format!("{} is not in Cargo.lock", reference(id)))?;
        components.insert(id, component(id, part, locked)?);
    }
    let mut program = components.remove(&root).context("cargo tree names its root")?;
    program["type"] = "application".into();
    let mut components: Vec<Value> = components.into_values().collect();
    for line in no_crates {
        let read =
            read(&format!("1 {line}")).with_context(|| format!("'{line}' is nothing linked"));
        let (_, id, licence) = read?;
        components.push(library(&id, &format!("pkg:generic/{}@{}", id.name, id.version), &licence));
    }
    let dependencies = parts.iter().map(|(id, part)| {
        let depends_on: Vec<String> = part.depends_on.iter().map(reference).collect();
        json!({ "ref": reference(id), "dependsOn": depends_on })
    });
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": program,
            "properties": [{ "name": "fullpipe:target", "value": triple }],
        },
        "components": components,
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

/// The root of a tree, and all of its crates.
fn parts(tree: &str) -> anyhow::Result<(Id, BTreeMap<Id, Part>)> {
    let mut parts: BTreeMap<Id, Part> = BTreeMap::new();
    let mut above: Vec<Id> = Vec::new();
    for line in tree.lines() {
        let (depth, id, licence) =
            read(line).with_context(|| format!("cargo tree says '{line}'"))?;
        ensure!(!licence.is_empty(), "{} names no licence", reference(&id));
        above.truncate(depth);
        ensure!(above.len() == depth, "cargo tree leaves out what stands above '{line}'");
        if let Some(parent) = above.last() {
            parts.entry(parent.clone()).or_default().depends_on.insert(id.clone());
        }
        parts.entry(id.clone()).or_default().licence = licence;
        above.push(id);
    }
    let root = above.into_iter().next().context("cargo tree says nothing")?;
    Ok((root, parts))
}

fn read(line: &str) -> Option<(usize, Id, String)> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split(' ');
    let depth = words.next()?.parse().ok()?;
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    // Older manifests write `MIT/Apache-2.0`, which is no expression of SPDX.
    Some((depth, Id { name, version }, licence.trim().replace('/', " OR ")))
}

fn component(id: &Id, part: &Part, locked: &Locked) -> anyhow::Result<Value> {
    let mut component = library(id, &reference(id), &part.licence);
    match (locked.source.as_deref(), &locked.checksum) {
        (Some(REGISTRY), Some(checksum)) => {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        // Of this repository: a crate of the same name may be somebody else's.
        (None, None) => {
            component["purl"] = format!("{}?download_url=file://.", reference(id)).into();
        }
        _ => anyhow::bail!("{} is neither of this repository nor of the registry", reference(id)),
    }
    Ok(component)
}

fn library(id: &Id, purl: &str, licence: &str) -> Value {
    json!({
        "type": "library",
        "bom-ref": purl,
        "name": id.name,
        "version": id.version,
        "licenses": [{ "expression": licence }],
        "purl": purl,
    })
}

/// The package URL of a crate, by which the other parts of a bill refer to it.
fn reference(id: &Id) -> String {
    format!("pkg:cargo/{}@{}", id.name, id.version.replace('+', "%2B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "\
0 fullpipe v0.1.0 (/home/me/fullpipe/crates/fullpipe)|Apache-2.0
1 fp-net v0.1.0 (/home/me/fullpipe/crates/net)|Apache-2.0
2 libm v0.2.16|MIT
1 libm v0.2.16|MIT
1 toml v1.2.1+spec-1.1.0|MIT/Apache-2.0
";
    const LOCK: &str = r#"
[[package]]
name = "fullpipe"
version = "0.1.0"
[[package]]
name = "fp-net"
version = "0.1.0"
[[package]]
name = "libm"
version = "0.2.16"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "b6d2"
[[package]]
name = "libm"
version = "0.1.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "ffff"
[[package]]
name = "toml"
version = "1.2.1+spec-1.1.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "9a3c"
"#;

    #[test]
    fn every_linked_crate_stands_once_with_version_licence_purl_and_hash() {
        let bill = bill(TREE, LOCK, "some-target", &["musl v1.2.5|MIT"]).unwrap();
        let rows: Vec<[&str; 4]> = bill["components"].as_array().unwrap().iter().map(row).collect();
        assert_eq!(
            rows,
            [
                ["fp-net", "Apache-2.0", "pkg:cargo/fp-net@0.1.0?download_url=file://.", ""],
                ["libm", "MIT", "pkg:cargo/libm@0.2.16", "b6d2"],
                ["toml", "MIT OR Apache-2.0", "pkg:cargo/toml@1.2.1%2Bspec-1.1.0", "9a3c"],
                ["musl", "MIT", "pkg:generic/musl@1.2.5", ""],
            ]
        );
        assert_eq!(bill["metadata"]["component"]["name"], "fullpipe");
        assert_eq!(bill["metadata"]["component"]["type"], "application");
    }

    fn row(component: &Value) -> [&str; 4] {
        [
            component["name"].as_str().unwrap(),
            component["licenses"][0]["expression"].as_str().unwrap(),
            component["purl"].as_str().unwrap(),
            component["hashes"][0]["content"].as_str().unwrap_or_default(),
        ]
    }

    #[test]
    fn who_depends_on_whom_is_as_deep_as_the_tree() {
        let bill = bill(TREE, LOCK, "some-target", &[]).unwrap();
        let of = |at: usize| bill["dependencies"][at]["dependsOn"].clone();
        assert_eq!(of(0), json!(["pkg:cargo/libm@0.2.16"]), "fp-net");
        assert_eq!(
            of(1),
            json!([
                "pkg:cargo/fp-net@0.1.0",
                "pkg:cargo/libm@0.2.16",
                "pkg:cargo/toml@1.2.1%2Bspec-1.1.0"
            ])
        );
        assert_eq!(of(2), json!([]), "libm");
    }

    #[test]
    fn a_bill_names_neither_folders_nor_times_nor_chance() {
        let bill = bill(TREE, LOCK, "some-target", &[]).unwrap();
        assert!(!bill.to_string().contains("/home/me"));
        assert_eq!(bill.get("serialNumber"), None);
        assert_eq!(bill["metadata"].get("timestamp"), None);
    }

    #[test]
    fn a_crate_without_a_licence_or_from_elsewhere_is_refused() {
        let bare = bill("0 fullpipe v0.1.0 (/x)|\n", LOCK, "some-target", &[]);
        assert!(bare.unwrap_err().to_string().contains("names no licence"));
        let elsewhere = LOCK.replace("registry+https://github.com/rust-lang", "git+https://host/x");
        let elsewhere = bill(TREE, &elsewhere, "some-target", &[]);
        assert!(elsewhere.unwrap_err().to_string().contains("neither of this repository nor"));
    }
}
