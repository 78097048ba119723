//! Our client with the packaged server and the packaged client with ours, in every combination of
//! flags: prints the table, and compares what the two ends counted.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that prints its table")]

mod cell;
mod judge;
mod run;

use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use cell::Cell;
use fp_engine::os::clock;

/// Cells that run at the same time: most of them wait for their second to pass.
const AT_ONCE: usize = 8;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |cell: &Cell| {
        let name = format!("iperf3_matrix {cell}");
        wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()))
    };
    let cells: Vec<Cell> = cell::all().into_iter().filter(is_wanted).collect();
    if words.iter().any(|word| word == "--list") {
        cells.iter().for_each(|cell| println!("{cell}: test"));
        return ExitCode::SUCCESS;
    }
    let started = clock::now();
    let queue = Mutex::new(cells.iter().enumerate());
    let rows = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                // The lock is free again before the cell runs.
                let next = || queue.lock().unwrap().next();
                while let Some((at, cell)) = next() {
                    let verdict = run::run(cell).and_then(|outcome| judge::judge(cell, &outcome));
                    rows.lock().unwrap().push((at, verdict));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(at, _)| *at);
    println!("{:<37} {}", "ours   over way     -P      extra", judge::HEADER);
    for (at, verdict) in &rows {
        let (mark, text) = match verdict {
            Ok(text) => ("ok  ", text),
            Err(text) => ("FAIL", text),
        };
        println!("{} {mark} {text}", cells[*at]);
    }
    let failed = rows.iter().filter(|(_, verdict)| verdict.is_err()).count();
    let took = clock::now().since(started).as_secs_f64();
    println!("{} cells, {failed} failed, in {took:.1} s", cells.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
