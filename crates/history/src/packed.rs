//! Documents in a tenth of their place: zlib.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use crate::error::Cause;

/// Documents become hardly smaller beyond.
const LEVEL: u8 = 6;
/// A file that somebody has tampered with does not fill the memory.
const DOCUMENT_BYTES_MAX: usize = 1 << 30;

pub(crate) fn pack(document: &[u8]) -> Vec<u8> {
    compress_to_vec_zlib(document, LEVEL)
}

pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, Cause> {
    decompress_to_vec_zlib_with_limit(packed, DOCUMENT_BYTES_MAX).map_err(|_| Cause::Spoilt)
}
