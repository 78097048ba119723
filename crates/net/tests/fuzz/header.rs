//! What bytes are: a TCP header that reads the same when it was written again, or none.

use fp_net::tcp::header::TCP_HEADER_BYTES_MAX;
use fp_net::tcp::{Header, Ports};

const PORTS: Ports = Ports { source: 0x1234, destination: 0x5678 };

/// Checks what stands at the start of these bytes, if a TCP header does.
pub(crate) fn check_header(bytes: &[u8]) {
    let Ok(read) = Header::read(bytes) else { return };
    let offset = bytes.get(12).map(|byte| usize::from(byte >> 4) * 4);
    assert_eq!(Some(read.header_bytes), offset);
    assert!((20..=bytes.len()).contains(&read.header_bytes));
    let (first, again) = (read.header, rewritten(&read.header));
    // Padding may take the room of a block.
    let blocks = first.options.sacks;
    assert!(blocks.as_slice().starts_with(again.options.sacks.as_slice()));
    let mut with_blocks = again;
    with_blocks.options.sacks = blocks;
    assert_eq!(with_blocks, first);
    assert_eq!(rewritten(&again), again, "what was written here has room for all of it");
}

fn rewritten(header: &Header) -> Header {
    let mut bytes = [0xaa; TCP_HEADER_BYTES_MAX];
    let header_bytes = header.write(PORTS, &mut bytes);
    assert_eq!(header_bytes as u32, 20 + header.options.option_bytes());
    assert!(bytes[header_bytes..].iter().all(|byte| *byte == 0xaa), "it writes what it says");
    let read = Header::read(&bytes[..header_bytes]).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!((read.ports, read.header_bytes), (PORTS, header_bytes));
    read.header
}
