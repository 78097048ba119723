//! Any bytes as a frame: refused, or read, and then the same when it was written and read again.

#![no_main]

#[path = "../../crates/net/tests/fuzz/frame.rs"]
mod frame;
#[path = "../../crates/net/tests/fuzz/header.rs"]
mod header;

use fp_net::checksum::Peer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((how, bytes)) = bytes.split_first() else { return };
    let mut bytes = bytes.to_vec();
    if how & 1 == 0 {
        frame::mend(&mut bytes);
    }
    frame::check_frame(&bytes, if how & 2 == 0 { Peer::Network } else { Peer::LocalKernel });
});
