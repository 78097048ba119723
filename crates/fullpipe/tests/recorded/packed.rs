//! A recording as it is kept in a file: a result document, compressed in the format of zlib.

use std::path::Path;
use std::{fs, io};

use miniz_oxide::inflate::decompress_to_vec_zlib;

/// What follows the name of a recording in the name of its file.
pub(crate) const ENDING: &str = ".json.zz";

/// The document in this file, as the program wrote it.
///
/// # Errors
/// The file cannot be read, or holds no compressed text.
pub(crate) fn unpacked(file: &Path) -> io::Result<String> {
    let wrong = |why: String| io::Error::other(format!("{}: {why}", file.display()));
    let packed = fs::read(file).map_err(|error| wrong(error.to_string()))?;
    let bytes = decompress_to_vec_zlib(&packed).map_err(|error| wrong(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))
}
