//! What bytes are: a frame that reads the same when it was written again, or none.

use fp_net::checksum::Peer;
use fp_net::packet::{Frame, Link, MacAddress, Question, Segment, Unread};
use fp_net::tcp::Header;
use fp_net::tcp::header::TCP_HEADER_BYTES_MAX;

use crate::header::check_header;

const TAG_TYPES: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
const TCP: u8 = 6;
const ICMPV6: u8 = 58;
const PACKET_BYTES_MAX: usize = 65_535;

/// Checks what a frame is.
pub(crate) fn check_frame(bytes: &[u8], peer: Peer) {
    match Frame::read(bytes, peer) {
        Ok(Frame::Tcp(segment)) => check_segment(bytes, &segment),
        Ok(Frame::Question(question)) => check_question(bytes, &question),
        Err(Unread::Foreign | Unread::Spoilt) => {}
    }
}

fn check_segment(bytes: &[u8], segment: &Segment<'_>) {
    let (whole, part) = (bytes.as_ptr_range(), segment.payload.as_ptr_range());
    assert!(whole.start <= part.start && part.end <= whole.end);
    let headers_bytes = segment.envelope.headers_bytes();
    assert!(headers_bytes + 20 + segment.payload.len() <= bytes.len());
    let room = headers_bytes + TCP_HEADER_BYTES_MAX + segment.payload.len();
    if room > PACKET_BYTES_MAX {
        return;
    }
    let mut frame = vec![0xaa; room];
    let fill = |payload: &mut [u8]| payload.copy_from_slice(segment.payload);
    let payload_bytes = segment.payload.len();
    let length =
        segment.envelope.write(segment.ports, &segment.header, payload_bytes, fill, &mut frame);
    frame.truncate(length);
    check_header(&frame[headers_bytes..]);
    let Ok(Frame::Tcp(again)) = Frame::read(&frame, Peer::Network) else { panic!("{frame:?}") };
    assert_eq!((again.envelope, again.ports), (segment.envelope, segment.ports));
    assert_eq!(again.payload, segment.payload);
    // Of the options, see there.
    let options = again.header.options;
    assert_eq!(again.header, Header { options, ..segment.header });
    check_sums(&frame);
}

fn check_question(bytes: &[u8], question: &Question) {
    assert!(bytes.len() >= question.link.header_bytes() + 28);
    let mut frame = vec![0xaa; Question::FRAME_BYTES_MAX];
    let length = question.write(&mut frame);
    let Ok(Frame::Question(again)) = Frame::read(&frame[..length], Peer::Network) else {
        panic!("{frame:?}")
    };
    // It goes to whoever may have the address.
    let link = Link { destination: again.link.destination, ..question.link };
    assert_eq!(again, Question { link, ..*question });
    check_sums(&frame[..length]);
    let length = question.answer(MacAddress([2, 0, 0, 0, 0, 9]), &mut frame);
    assert_eq!(Frame::read(&frame[..length], Peer::Network).err(), Some(Unread::Foreign));
    check_sums(&frame[..length]);
}

fn check_sums(frame: &[u8]) {
    let mut mended = frame.to_vec();
    mend(&mut mended);
    assert_eq!(mended, frame, "sums in 16-bit words, one after the other, are the same");
}

/// Puts right checksums where a frame has room for them, as nobody draws them by chance.
pub(crate) fn mend(frame: &mut [u8]) {
    let mut at = 12;
    while frame.get(at..at + 2).is_some_and(|own| TAG_TYPES.iter().any(|tag| tag == own)) {
        at += 4;
    }
    let Some((own, packet)) = frame.get_mut(at..).and_then(|rest| rest.split_at_mut_checked(2))
    else {
        return;
    };
    match own {
        [0x08, 0x00] => mend_ipv4(packet),
        [0x86, 0xdd] => mend_ipv6(packet),
        _ => {}
    }
}

fn mend_ipv4(packet: &mut [u8]) {
    let Some(first) = packet.first() else { return };
    let header_bytes = usize::from(first & 0xf) * 4;
    if header_bytes < 20 || packet.len() < header_bytes {
        return;
    }
    packet[10..12].fill(0);
    let sum = folded(sum(&packet[..header_bytes]));
    packet[10..12].copy_from_slice(&(!sum).to_be_bytes());
    let packet_bytes = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let (header, rest) = packet.split_at_mut(header_bytes);
    let segment_bytes = packet_bytes.checked_sub(header_bytes);
    if let Some(segment) = segment_bytes.and_then(|bytes| rest.get_mut(..bytes)) {
        mend_segment(&header[12..20], header[9], segment);
    }
}

fn mend_ipv6(packet: &mut [u8]) {
    let Some((header, rest)) = packet.split_at_mut_checked(40) else { return };
    let payload_bytes = usize::from(u16::from_be_bytes([header[4], header[5]]));
    if let Some(segment) = rest.get_mut(..payload_bytes) {
        mend_segment(&header[8..40], header[6], segment);
    }
}

fn mend_segment(addresses: &[u8], protocol: u8, segment: &mut [u8]) {
    let at = match protocol {
        TCP => 16,
        ICMPV6 => 2,
        _ => return,
    };
    if segment.len() < at + 2 {
        return;
    }
    segment[at..at + 2].fill(0);
    let all = sum(addresses) + u32::from(protocol) + segment.len() as u32 + sum(segment);
    segment[at..at + 2].copy_from_slice(&(!folded(all)).to_be_bytes());
}

/// Of 16-bit words, the last one filled up by a zero.
fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| (*low).into());
    bytes.chunks(2).map(word).sum()
}

fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}
