//! Results that were recorded once, for tests of what is made of a result: for each method at least
//! one of the lab, with real frames, and one of the simulation.
//!
//! Each recorded simulation is run again and must give the same bytes; each recording is judged
//! again from its evidence and must give the same result; all have the fields of today's documents.
//! `older/` holds results as an earlier fullpipe stored them, each beside the same run in a later
//! form; they are never made anew. The hash of every document made from a recording is committed
//! (`documents.sha256`).

pub(crate) mod packed;

use std::path::Path;

/// The result document that was recorded under this name, as the program wrote it.
pub(crate) fn text(name: &str) -> String {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/evidence"));
    packed::unpacked(&folder.join(format!("{name}{}", packed::ENDING))).unwrap()
}
