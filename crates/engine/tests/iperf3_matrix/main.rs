//! Our client with the packaged server and the packaged client with ours, in every combination of
//! flags: what the two ends counted is compared.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cell;
mod judge;
#[path = "../packaged/mod.rs"]
mod packaged;
mod run;

use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use cell::{Cell, Extra};
use fp_engine::iperf3::wire::Way;
use libtest_mimic::{Arguments, Failed, Trial};

/// Cells that run at the same time: most of them wait for their second to pass.
const AT_ONCE: usize = 8;

/// Each cell by itself takes minutes; those that meet each option once take seconds together.
fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let each = cell::all().into_iter().map(|cell| {
        let name = cell.to_string().split_whitespace().collect::<Vec<_>>().join("_");
        Trial::test(format!("soak::{name}"), move || outcome(&cell).map_err(Failed::from))
    });
    let together = Trial::test("real::each_option_is_understood_by_the_packaged_program", || {
        all_at_once(&of_each_option())
    });
    libtest_mimic::run(&arguments, each.chain([together]).collect()).exit_code()
}

/// Each option forward, and the three ways without any.
fn of_each_option() -> Vec<Cell> {
    let is_chosen =
        |cell: &Cell| cell.way == Way::Forward || (cell.extra, cell.streams) == (Extra::Plain, 3);
    cell::all().into_iter().filter(is_chosen).collect()
}

fn all_at_once(cells: &[Cell]) -> Result<(), Failed> {
    let queue = Mutex::new(cells.iter());
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                // The lock is free again before the cell runs.
                let next = || queue.lock().unwrap().next();
                while let Some(cell) = next() {
                    if let Err(why) = outcome(cell) {
                        wrong.lock().unwrap().push(why);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

fn outcome(cell: &Cell) -> Result<(), String> {
    let judged = run::run(cell).and_then(|outcome| judge::judge(cell, &outcome));
    judged.map(drop).map_err(|why| format!("{cell}: {}: {why}", judge::HEADER))
}
