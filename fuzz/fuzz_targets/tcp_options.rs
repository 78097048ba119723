//! Any bytes as a TCP header, and as the options of one.

#![no_main]

#[path = "../../crates/net/tests/fuzz/header.rs"]
mod header;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    header::check_header(bytes);
    let options = &bytes[..bytes.len().min(40)];
    let words = 5 + options.len().div_ceil(4);
    let mut segment = vec![0; words * 4];
    segment[12] = (words as u8) << 4;
    segment[20..20 + options.len()].copy_from_slice(options);
    header::check_header(&segment);
});
