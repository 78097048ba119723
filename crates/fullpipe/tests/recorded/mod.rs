//! Results that were recorded once, for tests of what is made of a result.

pub(crate) mod packed;

use std::path::Path;

/// The result document that was recorded under this name, as the program wrote it.
pub(crate) fn text(name: &str) -> String {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/evidence"));
    packed::unpacked(&folder.join(format!("{name}{}", packed::ENDING))).unwrap()
}
