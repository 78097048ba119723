//! Runs `./demo` and `./check` on a bare Debian, as somebody does who has cloned the repository onto a
//! new machine: nothing is there but the minimal system. Or installs the package there and uses it.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};

const USAGE: &str = "usage: cargo xtask bare 12|13 [demo] [check] [package] [--share-crates]";

/// Where the repository is cloned to: everybody may enter it.
const CLONE: &str = "/srv/fullpipe";
/// Installs what `cargo xtask release` has made, from this folder of the clone.
const TRY_PACKAGE: &str = "packaging/try.sh";
const HANDED_OUT: &str = "handed-out";
/// As root finds it after logging in.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Run in mount and process namespaces of its own. $1: the new root; $2: a folder of crates to be
/// shared, or nothing; $3: the command; $4: the folder to run it in. The root is that of the whole
/// namespace: in one that `chroot` has changed the kernel allows no user namespace, which the tests of
/// ordinary users need.
const INSIDE: &str = r#"
set -eu
mount --rbind "$1" "$1"
mount --rbind /dev "$1/dev"
mount --rbind /sys "$1/sys"
mount -t proc proc "$1/proc"
if [ -n "$2" ]; then
    mkdir -p "$1/root/.cargo/registry"
    mount --bind "$2" "$1/root/.cargo/registry"
fi
cd "$1"
mkdir -p old
pivot_root . old
cd /
umount -l old
rmdir old
cd "$4"
exec "$3"
"#;

/// Removes the folder $1 once its standard input ends: whatever ended the program that holds the other
/// end. Processes in the folder may take a moment to end.
const CLEANER: &str = r#"
trap "" INT TERM HUP
cat >/dev/null
for time in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf --one-file-system "$1" && exit 0
    sleep 1
done
exit 1
"#;

/// What the command line asks for.
struct Order {
    codename: &'static str,
    scripts: Vec<&'static str>,
    share_crates: bool,
}

/// One line of the host's list of package sources.
#[derive(Debug, PartialEq, Eq)]
struct Archive {
    address: String,
    suite: String,
}

/// A folder that is gone when this is, and when the program has been killed as well.
struct Folder {
    path: PathBuf,
    cleaner: Child,
}

/// Makes the system, clones HEAD into it, runs the scripts one after the other and reports each.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let order = Order::read(words)?;
    ensure!(rustix::process::geteuid().is_root(), "a new root needs root: run this as root");
    install_debootstrap()?;
    let archives = archives(order.codename)?;

    let folder = Folder::new()?;
    let root = folder.path.join("root");
    say(&format!("unpacking Debian's {} into {}", order.codename, root.display()))?;
    unpack(&order, &archives, &root)?;
    clone_head(&root)?;
    if order.scripts.contains(&TRY_PACKAGE) {
        hand_over(&root)?;
    }
    let mut failed = Vec::new();
    for script in &order.scripts {
        say(&format!("./{script} on a bare {}", order.codename))?;
        let began = crate::now();
        let passed = run_inside(&order, &root, script)?;
        let outcome = if passed { "passed" } else { "failed" };
        let line = format!("./{script} {outcome} in {} s", began.elapsed().as_secs());
        say(&line)?;
        failed.extend((!passed).then_some(line));
    }
    folder.remove()?;
    ensure!(failed.is_empty(), "on a bare {}: {}", order.codename, failed.join(", "));
    Ok(())
}

impl Order {
    fn read(words: &[&str]) -> anyhow::Result<Self> {
        let (release, words) = words.split_first().context(USAGE)?;
        let codename = match *release {
            "12" => "bookworm",
            "13" => "trixie",
            other => anyhow::bail!("'{other}' is no release of Debian that this knows; {USAGE}"),
        };
        let mut order = Self { codename, scripts: Vec::new(), share_crates: false };
        for word in words {
            match *word {
                "demo" => order.scripts.push("demo"),
                "check" => order.scripts.push("check"),
                "package" => order.scripts.push(TRY_PACKAGE),
                "--share-crates" => order.share_crates = true,
                other => anyhow::bail!("'{other}' is unknown; {USAGE}"),
            }
        }
        if order.scripts.is_empty() {
            order.scripts = vec!["demo", "check"];
        }
        Ok(order)
    }
}

impl Folder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("fullpipe-bare-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| path.display().to_string())?;
        let mut cleaner = Command::new("sh");
        cleaner.args(["-c", CLEANER, "sh"]).arg(&path).stdin(Stdio::piped());
        let cleaner = cleaner.spawn().context("sh")?;
        Ok(Self { path, cleaner })
    }

    fn remove(mut self) -> anyhow::Result<()> {
        drop(self.cleaner.stdin.take());
        let status = self.cleaner.wait()?;
        ensure!(status.success(), "{} could not be removed: remove it", self.path.display());
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.cleaner.stdin.take());
        // Why there is no `remove` is told already.
        let _ = self.cleaner.wait();
    }
}

fn say(what: &str) -> anyhow::Result<()> {
    writeln!(std::io::stderr(), "\n==> bare: {what}").context("stderr")
}

fn install_debootstrap() -> anyhow::Result<()> {
    if Command::new("debootstrap").arg("--version").stdout(Stdio::null()).status().is_ok() {
        return Ok(());
    }
    say("installing debootstrap: apt-get install debootstrap")?;
    succeed(Command::new("apt-get").args(["update", "-q"]))?;
    succeed(Command::new("apt-get").args(["install", "-y", "-q", "debootstrap"]))
}

/// The minimal system, with the host's package sources and its way to them.
fn unpack(order: &Order, archives: &[Archive], root: &Path) -> anyhow::Result<()> {
    let main = archives.iter().find(|archive| archive.suite == order.codename);
    let main = main.with_context(|| {
        "apt's sources on this machine name no archive of Debian: add one to /etc/apt/sources.list"
    })?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", order.codename]).arg(root).arg(&main.address);
    succeed(debootstrap.stdout(Stdio::null()))?;

    let mut sources = String::new();
    for Archive { address, suite } in archives {
        writeln!(sources, "deb {address} {suite} main")?;
    }
    fs::write(root.join("etc/apt/sources.list"), sources)?;
    fs::copy("/etc/resolv.conf", root.join("etc/resolv.conf")).context("/etc/resolv.conf")?;
    // Authorities that this machine trusts beyond Debian's: its network may lie behind a proxy.
    let authorities = Path::new("/usr/local/share/ca-certificates");
    if authorities.is_dir() {
        let target = root.join("usr/local/share/");
        succeed(Command::new("cp").arg("-RL").arg(authorities).arg(target))?;
    }
    Ok(())
}

/// The commit at which the repository stands, without what is not committed.
fn clone_head(root: &Path) -> anyhow::Result<()> {
    let (from, to) = (crate::tidy::root(), root.join(CLONE.trim_start_matches('/')));
    let git = |folder: &Path, words: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(words);
        git
    };
    let head = git(from, &["rev-parse", "HEAD"]).output().context("git")?;
    ensure!(head.status.success(), "git names no HEAD in {}", from.display());
    let head = String::from_utf8(head.stdout)?;
    succeed(git(from, &["clone", "--quiet", "--no-checkout", "--no-hardlinks", "."]).arg(&to))?;
    succeed(&mut git(&to, &["checkout", "--quiet", "--detach", head.trim()]))
}

/// What is to be installed there, as this machine has made it.
fn hand_over(root: &Path) -> anyhow::Result<()> {
    let from = crate::program::target().join(HANDED_OUT);
    ensure!(from.is_dir(), "{} is missing: cargo xtask release makes it", from.display());
    let to = root.join(CLONE.trim_start_matches('/'));
    succeed(Command::new("cp").arg("-R").arg(from).arg(to))
}

/// Whether `script` passed. It is killed with this program.
fn run_inside(order: &Order, root: &Path, script: &str) -> anyhow::Result<bool> {
    let crates = if order.share_crates { shared_crates()? } else { PathBuf::new() };
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"]);
    command.args(["sh", "-c", INSIDE, "sh"]).arg(root).arg(crates);
    command.args([&format!("./{script}"), CLONE]).stdin(Stdio::null());
    command.env_clear().env("PATH", PATH).env("HOME", "/root").env("TERM", "dumb");
    Ok(command.status().context("setpriv")?.success())
}

/// The crates that this machine has downloaded.
fn shared_crates() -> anyhow::Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let registry = home.context("neither CARGO_HOME nor HOME is set")?.join("registry");
    ensure!(registry.is_dir(), "{} is missing: there are no crates to share", registry.display());
    Ok(registry)
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot run {name}"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}

/// The host's archives of Debian, with the suites of `codename` in place of the host's own.
fn archives(codename: &str) -> anyhow::Result<Vec<Archive>> {
    let release = fs::read_to_string("/etc/os-release").context("/etc/os-release")?;
    let own = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let own = own.context("/etc/os-release names no VERSION_CODENAME: this needs a Debian")?;
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    if let Ok(entries) = fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
    }
    let mut archives = Vec::new();
    for file in files {
        // Either may be absent.
        let text = fs::read_to_string(&file).unwrap_or_default();
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("list") => archives.extend(one_line_sources(&text)),
            Some("sources") => archives.extend(deb822_sources(&text)),
            _ => {}
        }
    }
    archives.retain_mut(|archive| {
        let more = archive.suite.strip_prefix(own.trim_matches('"')).unwrap_or("other");
        let wanted = ["", "-updates", "-security"].contains(&more);
        archive.suite = format!("{codename}{more}");
        wanted
    });
    Ok(archives)
}

/// `deb [OPTIONS] ADDRESS SUITE COMPONENT...`, where `main` is among the components.
fn one_line_sources(text: &str) -> Vec<Archive> {
    let archive = |line: &str| {
        let rest = line.trim().strip_prefix("deb ")?.trim_start();
        let rest = match rest.strip_prefix('[') {
            Some(options) => options.split_once(']')?.1,
            None => rest,
        };
        let mut words = rest.split_whitespace();
        let (address, suite) = (words.next()?.to_owned(), words.next()?.to_owned());
        words.any(|component| component == "main").then_some(Archive { address, suite })
    };
    text.lines().filter_map(archive).collect()
}

/// Paragraphs of fields, one line each, as `man sources.list` describes them.
fn deb822_sources(text: &str) -> Vec<Archive> {
    let mut archives = Vec::new();
    for paragraph in text.split("\n\n") {
        let field = |name: &str| -> Vec<&str> {
            let mut lines = paragraph.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.unwrap_or_default().split_whitespace().collect()
        };
        let binary = field("Types").contains(&"deb") && field("Components").contains(&"main");
        if !binary || field("Enabled") == ["no"] {
            continue;
        }
        for address in field("URIs") {
            for suite in field("Suites") {
                archives.push(Archive { address: address.to_owned(), suite: suite.to_owned() });
            }
        }
    }
    archives
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(address: &str, suite: &str) -> Archive {
        Archive { address: address.to_owned(), suite: suite.to_owned() }
    }

    #[test]
    fn both_forms_of_apts_sources_are_read() {
        let lines = "# deb http://a.example/ old main\n\
            deb [arch=amd64 signed-by=/k] http://a.example/debian bookworm main contrib\n\
            deb-src http://a.example/debian bookworm main\n\
            deb http://a.example/other bookworm contrib\n";
        assert_eq!(one_line_sources(lines), [archive("http://a.example/debian", "bookworm")]);

        let paragraphs = "Types: deb\n# a comment\nURIs: http://a.example/debian\n\
            Suites: bookworm bookworm-updates\nComponents: main\n\n\
            Types: deb\nURIs: http://b.example\nSuites: x\nComponents: main\nEnabled: no\n\n\
            Types: deb-src\nURIs: http://b.example\nSuites: x\nComponents: main\n";
        let found = deb822_sources(paragraphs);
        let debian = |suite| archive("http://a.example/debian", suite);
        assert_eq!(found, [debian("bookworm"), debian("bookworm-updates")]);
    }

    #[test]
    fn an_order_without_scripts_runs_both() {
        let order = Order::read(&["13", "--share-crates"]).unwrap();
        assert_eq!((order.codename, order.share_crates), ("trixie", true));
        assert_eq!(order.scripts, ["demo", "check"]);
        assert_eq!(Order::read(&["12", "check"]).unwrap().scripts, ["check"]);
        assert_eq!(Order::read(&["12", "package"]).unwrap().scripts, [TRY_PACKAGE]);
        assert!(Order::read(&["14"]).is_err());
    }
}
