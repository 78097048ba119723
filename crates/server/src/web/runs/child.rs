//! The process of a run: our own program with the words of its command line.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};

use super::super::order::{Checked, Order, Target};
use super::Run;
use super::view::Event;

/// A folder for this process and its user alone.
pub(super) fn private_folder() -> io::Result<PathBuf> {
    let of_process = |attempt: u32| {
        std::env::temp_dir().join(format!("fullpipe-ui-{}-{attempt}", std::process::id()))
    };
    let mut attempt = 0;
    loop {
        let folder = of_process(attempt);
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Puts a network file into `folder`; the same text has the same name.
pub(super) fn network_file(folder: &Path, text: &str) -> io::Result<String> {
    let mut hash = DefaultHasher::new();
    text.hash(&mut hash);
    let file = folder.join(format!("network-{:016x}.yaml", hash.finish()));
    let mut options = std::fs::OpenOptions::new();
    let mut open = options.write(true).create(true).truncate(true).mode(0o600).open(&file)?;
    open.write_all(text.as_bytes())?;
    Ok(file.display().to_string())
}

pub(super) fn spawn(order: &Order, checked: &Checked) -> io::Result<Child> {
    // Whatever has become of the file that this program was started from.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("fullpipe").args(&checked.words).arg("--json-stream");
    match &order.target {
        // A whole pairing string has the secret in it, which is for no command line.
        Target::Far { address, key } => {
            let secret = if key.is_empty() { address } else { key };
            if !key.is_empty() || address.contains('#') {
                command.env("FULLPIPE_KEY", secret.trim());
            }
        }
        Target::Lab { .. } => {}
        Target::Sim { .. } => {
            command.arg("--save");
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn()
}

/// Passes on what the process says until it has ended.
pub(super) async fn follow(mut child: Child, run: Arc<Run>) {
    let events = child.stdout.take().map(|stdout| lines(stdout, |line| on_event(&run, line)));
    let texts = child.stderr.take().map(|stderr| lines(stderr, |line| on_line(&run, line)));
    let pid = child.id();
    let ask = async {
        run.stop.notified().await;
        ask_to_end(pid);
        std::future::pending::<()>().await;
    };
    let said = async {
        tokio::join!(
            async {
                if let Some(events) = events {
                    events.await
                }
            },
            async {
                if let Some(texts) = texts {
                    texts.await
                }
            },
        );
    };
    tokio::select! {
        () = said => {}
        () = ask => {}
    }
    let code = child.wait().await.ok().and_then(|status| status.code());
    run.on(|watched| Some(watched.on_end(code)));
    run.ended.notify_one();
}

fn ask_to_end(pid: Option<u32>) {
    let pid = pid.and_then(|pid| Pid::from_raw(pid.cast_signed()));
    if let Some(pid) = pid {
        // It may have ended by itself meanwhile; it was not waited for yet, so the number is its own.
        let _ = kill_process(pid, Signal::INT);
    }
}

async fn lines(from: impl AsyncRead + Unpin, mut on_line: impl FnMut(&str)) {
    let mut lines = BufReader::new(from).lines();
    // What is no text, or cannot be read any more, is no line.
    while let Ok(Some(line)) = lines.next_line().await {
        on_line(&line);
    }
}

fn on_event(run: &Run, line: &str) {
    match serde_json::from_str::<Event>(line) {
        Ok(event) => run.on(|watched| watched.on_event(event)),
        Err(_) => on_line(run, line),
    }
}

fn on_line(run: &Run, line: &str) {
    run.on(|watched| Some(watched.on_line(line)));
}
