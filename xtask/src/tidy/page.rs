//! Whether the page of the web interface, which stands in the repository, was made from its sources.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use super::Complaint;

/// Everything that decides what the page becomes, and the page; `web/build.mjs` has the same list.
const HASHED: [&str; 6] =
    ["build.mjs", "package-lock.json", "package.json", "src", "tsconfig.json", "dist"];

const WHAT_TO_DO: &str = "run `npm --prefix web ci && npm --prefix web run build`, and commit \
     web/dist and web/dist.sha256";

/// Compares the files below `web` with the hashes that its build has written.
pub(super) fn errors(web: &Path) -> anyhow::Result<Vec<Complaint>> {
    let list = web.join("dist.sha256");
    let text = fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    let mut listed = BTreeMap::new();
    for (line, entry) in (1..).zip(text.lines()) {
        let (hash, path) = entry.split_once("  ").context("a line without a hash and a path")?;
        listed.insert(path, (line, hash));
    }

    let mut errors = Vec::new();
    for path in HASHED.iter().map(|name| files(web, name)).collect::<Result<Vec<_>, _>>()?.concat()
    {
        let found = sum(&web.join(&path))?;
        match listed.remove(path.as_str()) {
            Some((_, hash)) if hash == found => {}
            Some((line, _)) => errors.push(complaint(line, &format!("{path} has changed"))),
            None => errors.push(complaint(1, &format!("{path} is new"))),
        }
    }
    errors.extend(
        listed.iter().map(|(path, (line, _))| complaint(*line, &format!("{path} is gone"))),
    );
    Ok(errors)
}

fn complaint(line: usize, what: &str) -> Complaint {
    let text = format!("{what} since the page was built: {WHAT_TO_DO}");
    Complaint::new(Path::new("web/dist.sha256"), line, text)
}

/// The file `name` below `web`, or every file in the folder of that name, relative to `web`.
fn files(web: &Path, name: &str) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    let mut left = vec![PathBuf::from(name)];
    while let Some(path) = left.pop() {
        let whole = web.join(&path);
        if whole.is_dir() {
            for entry in fs::read_dir(&whole).with_context(|| whole.display().to_string())? {
                left.push(path.join(entry?.file_name()));
            }
        } else if whole.exists() {
            files.push(path.to_str().context("a name that is no text")?.to_owned());
        }
    }
    Ok(files)
}

/// The SHA-256 of a file in hexadecimal digits.
fn sum(path: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    let mut digits = String::new();
    for byte in Sha256::digest(bytes) {
        write!(digits, "{byte:02x}")?;
    }
    Ok(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of the empty text, FIPS 180-4.
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn texts(web: &Path) -> Vec<String> {
        errors(web).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_source_that_has_changed_come_or_gone_since_the_build_is_named() {
        let web = std::env::temp_dir().join(format!("fullpipe-page-{}", std::process::id()));
        fs::create_dir_all(web.join("src")).unwrap();
        fs::create_dir_all(web.join("dist")).unwrap();
        for file in ["build.mjs", "src/main.tsx", "dist/app.js"] {
            fs::write(web.join(file), "").unwrap();
        }
        let list = format!("{EMPTY}  build.mjs\n{EMPTY}  dist/app.js\n{EMPTY}  src/main.tsx\n");
        fs::write(web.join("dist.sha256"), list).unwrap();
        assert_eq!(texts(&web), [""; 0]);

        fs::write(web.join("src/main.tsx"), "changed").unwrap();
        fs::write(web.join("src/new.tsx"), "").unwrap();
        fs::remove_file(web.join("dist/app.js")).unwrap();
        let found = texts(&web).join("\n");
        fs::remove_dir_all(&web).unwrap();
        for part in
            [":3: src/main.tsx has changed", ":1: src/new.tsx is new", ":2: dist/app.js is gone"]
        {
            assert!(found.contains(part), "{found}");
        }
        assert_eq!(found.lines().count(), 3, "{found}");
    }
}
