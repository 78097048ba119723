//! Runs a method across the kernel's own router, in real time.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Instant;

use anyhow::{Context as _, anyhow, ensure};
use fp_model::{Direction, Family};
use serde_json::Value;

use super::{RFC2544_FRAMES_BYTES, Ran, Sold, rate_cap};
use crate::facts::Facts;
use crate::method::Method;
use crate::routers::Routers;
use crate::watch::Watch;

/// Runs the method of the program beside this one across the network.
pub(super) fn run(
    method: Method,
    family: Family,
    routers: &Routers,
    facts: &Facts,
    sold: Option<Sold>,
) -> Ran {
    let watch = Watch::start();
    let began = now();
    let outcome = measured(&routers.script(family), words(method, facts, sold));
    let took = began.elapsed();
    let was_disturbed = watch.end().disturbance().is_some();
    let (document, ended_by) = match outcome {
        Ok(document) => {
            let is_whole = document.pointer("/verdict/status") != Some(&Value::from("aborted"));
            let why = document.pointer("/verdict/reasons").map(Value::to_string);
            (document, why.filter(|_| !is_whole))
        }
        Err(error) => (Value::Null, Some(format!("{error:#}"))),
    };
    Ran { document, ended_by, took, happenings: 0, sold, was_disturbed }
}

fn measured(script: &str, words: Vec<String>) -> anyhow::Result<Value> {
    /// No method takes as long.
    const PATIENCE_S: &str = "900";
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", PATIENCE_S, "unshare", "--net", "--mount"]);
    if !is_root()? {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["sh", "-c", script, "sh"]).arg(program()?);
    command.args(words).args(["--json", "--no-save", "--quiet"]);
    let Output { status, stdout, stderr } = command.output().context("timeout unshare sh")?;
    serde_json::from_slice(&stdout).map_err(|_| {
        let stderr = String::from_utf8_lossy(&stderr);
        anyhow!("{status}, without a document: {}", stderr.trim())
    })
}

/// Of a TCP trial: by itself it would last up to 30 s behind a policer, and a network for four minutes.
const TRIAL_S: u32 = 3;

/// The command line of the method; the far end follows.
fn words(method: Method, facts: &Facts, sold: Option<Sold>) -> Vec<String> {
    let frames =
        |lengths: &[u32]| lengths.iter().map(u32::to_string).collect::<Vec<String>>().join(",");
    match (method, sold) {
        (Method::Test, _) => vec!["test".into(), format!("--duration={TRIAL_S}s")],
        (Method::Rfc2544, _) => vec![
            "rfc2544".into(),
            "--tests=throughput".into(),
            format!("--frames={}", frames(&RFC2544_FRAMES_BYTES)),
            "--yes-saturate".into(),
            format!("--max-rate={}", rate_cap(facts).as_bps()),
        ],
        (Method::Burst, Some(Sold { cir_bps, cbs_bytes, directions, .. })) => vec![
            "burst".into(),
            format!("--cir={cir_bps}@l3"),
            format!("--cbs={cbs_bytes}"),
            // No host sends shorter ones back to back as fast as veth forwards them.
            "--frames=1518".into(),
            format!(
                "--direction={}",
                if directions == [Direction::Download] { "download" } else { "both" }
            ),
        ],
        (Method::Discover | Method::Burst | Method::Rfc7640 | Method::Y1564, _) => {
            vec!["burst".into(), "--discover".into()]
        }
    }
}

/// As `cargo xtask truth --kernel` builds it: in the folder of this program.
fn program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("fullpipe");
    ensure!(program.exists(), "{}: not built, use cargo xtask truth --kernel", program.display());
    Ok(program)
}

fn is_root() -> anyhow::Result<bool> {
    let output = Command::new("id").arg("-u").output().context("id -u")?;
    Ok(output.stdout.trim_ascii() == b"0")
}

#[expect(clippy::disallowed_methods, reason = "a run in real time is timed for people")]
fn now() -> Instant {
    Instant::now()
}
