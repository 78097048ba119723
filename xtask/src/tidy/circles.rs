//! Modules of a crate that import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::production::Production;

/// More modules than this that need each other cannot be read one after the other.
const SMALL_CIRCLE: usize = 3;

/// How many re-exports lead from a name to its definition, at most.
const RE_EXPORTS: usize = 4;

/// The path of a module or of a name from the crate's root.
type ModulePath = Vec<String>;

/// Which of the modules of a folder each of them needs.
type Needs = BTreeMap<String, BTreeSet<String>>;

/// What one file says of others.
#[derive(Default)]
struct Module {
    /// Everything it imports or names by a path.
    paths: Vec<ModulePath>,
    /// The names that its `use` declarations bring, for itself and for its children.
    names: BTreeMap<String, ModulePath>,
}

/// The large circles of one crate, each as the modules that all need each other.
///
/// Judged are the modules that stand side by side in one folder, each with all below it: that a folder's
/// own file and the files in it name each other is how a folder works.
pub(super) fn large_circles(files: &[&Production<'_>]) -> Vec<Vec<String>> {
    let modules: BTreeMap<ModulePath, Module> =
        files.iter().filter_map(|file| module(file)).collect();
    let mut folders: BTreeMap<ModulePath, Needs> = BTreeMap::new();
    for (own, module) in &modules {
        for path in &module.paths {
            let target = resolve(&modules, path, RE_EXPORTS);
            let together = own.iter().zip(&target).take_while(|(a, b)| a == b).count();
            let (folder, below) = own.split_at(together);
            if let (Some(from), Some(to)) = (below.first(), target.get(together)) {
                let needs = folders.entry(folder.to_vec()).or_default();
                needs.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    let mut large = Vec::new();
    for (folder, needs) in &folders {
        for circle in circles(needs).iter().filter(|circle| circle.len() > SMALL_CIRCLE) {
            let name =
                |module: &&String| [folder.as_slice(), &[(*module).clone()]].concat().join("::");
            large.push(circle.iter().map(name).collect());
        }
    }
    large
}

/// `control::pulse` for `crates/engine/src/control/pulse.rs`; none outside `src`.
fn module_path(file: &Path) -> Option<ModulePath> {
    let parts: Vec<String> = file.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let src = parts.iter().position(|part| part == "src")?;
    let (name, folders) = parts[src + 1..].split_last()?;
    let mut path = folders.to_vec();
    if !["mod.rs", "lib.rs", "main.rs"].contains(&name.as_str()) {
        path.push(name.trim_end_matches(".rs").to_owned());
    }
    Some(path)
}

/// What a file says of others, by its own path.
fn module(file: &Production<'_>) -> Option<(ModulePath, Module)> {
    let own = module_path(file.path)?;
    let tokens = tokens(&file.code);
    let children: BTreeSet<&str> =
        tokens.windows(3).filter(|t| t[0] == "mod" && t[2] == ";").map(|t| t[1]).collect();
    let mut module = Module::default();
    let mut at = 0;
    while at < tokens.len() {
        let before = if at == 0 { "" } else { tokens[at - 1] };
        let is_use = tokens[at] == "use";
        let is_path = tokens.get(at + 1) == Some(&"::") && before != "::" && before != "in";
        if !is_use && !is_path {
            at += 1;
            continue;
        }
        let mut leaves = Vec::new();
        at += usize::from(is_use);
        read_tree(&tokens, &mut at, &mut Vec::new(), &mut leaves);
        for leaf in leaves {
            let Some(path) = from_root(&own, &children, &leaf.path) else { continue };
            if is_use && let Some(name) = leaf.name {
                module.names.insert(name.to_owned(), path.clone());
            }
            module.paths.push(path);
        }
    }
    Some((own, module))
}

/// Identifiers, `::`, and every other visible character by itself.
fn tokens(code: &str) -> Vec<&str> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = code.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let len = match bytes[at] {
            byte if is_word(byte) => bytes[at..].iter().take_while(|byte| is_word(**byte)).count(),
            b':' if bytes.get(at + 1) == Some(&b':') => 2,
            byte if byte.is_ascii() => 1,
            _ => code[at..].chars().next().map_or(1, char::len_utf8),
        };
        if !bytes[at].is_ascii_whitespace() {
            tokens.push(&code[at..at + len]);
        }
        at += len;
    }
    tokens
}

/// The end of one branch of `a::{b, c::{d as e}}`.
struct Leaf<'a> {
    path: Vec<&'a str>,
    /// What it is called here; none for `*`.
    name: Option<&'a str>,
}

/// Reads one path or tree of paths from `tokens[*at..]`.
fn read_tree<'a>(
    tokens: &[&'a str],
    at: &mut usize,
    prefix: &mut Vec<&'a str>,
    leaves: &mut Vec<Leaf<'a>>,
) {
    let prefix_len = prefix.len();
    while let Some(token) = tokens.get(*at).copied() {
        *at += 1;
        match token {
            "{" => {
                while tokens.get(*at).is_some_and(|token| *token != "}") {
                    read_tree(tokens, at, prefix, leaves);
                    *at += usize::from(tokens.get(*at) == Some(&","));
                }
                *at += 1;
                break;
            }
            "*" => {
                leaves.push(Leaf { path: prefix.clone(), name: None });
                break;
            }
            _ if token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                // `a::{self}` is `a` itself.
                if token != "self" || prefix.is_empty() {
                    prefix.push(token);
                }
                if tokens.get(*at) == Some(&"::") {
                    *at += 1;
                    continue;
                }
                let mut name = prefix.last().copied();
                if tokens.get(*at) == Some(&"as") {
                    name = tokens.get(*at + 1).copied();
                    *at += 2;
                }
                leaves.push(Leaf { path: prefix.clone(), name });
                break;
            }
            // The generic arguments of a type: the path was as long as it is.
            _ => {
                leaves.push(Leaf { path: prefix.clone(), name: None });
                break;
            }
        }
    }
    prefix.truncate(prefix_len);
}

/// The path from the crate's root; none for what stands outside the crate or needs no path.
fn from_root(own: &[String], children: &BTreeSet<&str>, path: &[&str]) -> Option<ModulePath> {
    let (mut base, mut rest) = match path.split_first()? {
        (&"crate", rest) => (&own[..0], rest),
        (&"self", rest) => (own, rest),
        (&"super", _) => (own, path),
        (child, _) if children.contains(child) => (own, path),
        _ => return None,
    };
    while rest.first() == Some(&"super") {
        base = &base[..base.len().saturating_sub(1)];
        rest = &rest[1..];
    }
    Some(base.iter().cloned().chain(rest.iter().map(|part| (*part).to_owned())).collect())
}

/// The module in which `path` is defined, re-exports followed.
fn resolve(
    modules: &BTreeMap<ModulePath, Module>,
    path: &[String],
    re_exports: usize,
) -> ModulePath {
    let known = (0..=path.len()).rev().find(|len| modules.contains_key(&path[..*len]));
    let (module, names) = path.split_at(known.unwrap_or(0));
    if let Some((name, rest)) = names.split_first()
        && re_exports > 0
        && let Some(meant) = modules.get(module).and_then(|module| module.names.get(name))
    {
        return resolve(modules, &[meant.as_slice(), rest].concat(), re_exports - 1);
    }
    module.to_vec()
}

/// The groups whose members reach each other, each module in one group at most.
fn circles(needs: &Needs) -> Vec<Vec<&String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        needs.keys().map(|from| (from, reach(needs, from))).collect();
    let mut circles: Vec<Vec<&String>> = Vec::new();
    for (module, reaches) in &reached {
        let circle: Vec<&String> = reaches
            .iter()
            .filter(|other| reached.get(**other).is_some_and(|back| back.contains(*module)))
            .copied()
            .collect();
        if circle.first() == Some(module) {
            circles.push(circle);
        }
    }
    circles
}

/// All modules that `from` needs, directly or through others.
fn reach<'a>(needs: &'a Needs, from: &'a String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut left = vec![from];
    while let Some(module) = left.pop() {
        let next = needs.get(module).into_iter().flatten();
        left.extend(next.filter(|next| reached.insert(*next)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::TextFile;
    use super::super::production::production;
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let file = |(path, text): &(&str, &str)| TextFile {
            path: format!("crates/x/src/{path}").into(),
            text: (*text).into(),
        };
        let sources: Vec<TextFile> = files.iter().map(file).collect();
        large_circles(&production(&sources).iter().collect::<Vec<_>>())
    }

    #[test]
    fn modules_that_import_from_the_command_line_which_runs_them_make_a_circle() {
        let circles = found(&[
            ("main.rs", "mod cli;\nmod a;\nmod b;\nmod c;\nfn main() { cli::run() }\n"),
            ("cli/mod.rs", "mod run;\nenum Exit {}\n"),
            ("cli/run.rs", "use crate::{a, b::B as Other};\nfn f() { super::super::c::f() }\n"),
            ("a.rs", "use crate::cli::{self};\n"),
            ("b/mod.rs", "mod inner;\n"),
            ("b/inner.rs", "fn f() -> crate::cli::Exit {}\n"),
            ("c.rs", "use super::{cli::Exit, a::A};\n"),
        ]);
        assert_eq!(circles, [["a", "b", "c", "cli"]]);
    }

    #[test]
    fn the_same_modules_over_a_module_of_its_own_make_none() {
        let circles = found(&[
            ("cli/mod.rs", "mod run;\nuse crate::exit::Exit;\n"),
            ("cli/run.rs", "use crate::{a, b::B, c};\nuse super::run;\n"),
            // A name that `cli` merely passes on is not its own.
            ("a.rs", "use crate::cli::Exit;\n"),
            ("b.rs", "// use crate::cli::run;\nuse crate::exit::{Exit};\n"),
            ("c.rs", "use super::exit::*;\n#[cfg(test)]\nuse crate::cli::run;\n"),
            ("exit.rs", "pub(in crate::cli) enum Exit {}\n"),
        ]);
        assert!(circles.is_empty(), "{circles:?}");
    }

    #[test]
    fn a_circle_is_found_among_the_files_of_a_folder() {
        let circles = found(&[
            ("sim/mod.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("sim/a.rs", "use super::b::B;\n"),
            ("sim/b.rs", "use crate::sim::c::C;\n"),
            ("sim/c.rs", "use super::d;\n"),
            ("sim/d.rs", "fn f(x: super::a::A) {}\n"),
        ]);
        assert_eq!(circles, [["sim::a", "sim::b", "sim::c", "sim::d"]]);
    }

    #[test]
    fn a_circle_of_three_modules_is_small() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("a.rs", "use crate::b::B;\n"),
            ("b.rs", "use super::c::C;\n"),
            ("c.rs", "use crate::a::{self};\n"),
            ("d.rs", "use crate::a::A;\n"),
        ];
        assert!(found(&files).is_empty());
    }
}
