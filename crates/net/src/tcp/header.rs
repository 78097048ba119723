//! The TCP header, read from and written to bytes: RFC 9293 section 3.1.

use core::fmt;
use core::ops::BitOr;

use crate::tcp::TCP_HEADER_BYTES;
use crate::tcp::options::{OPTION_BYTES_MAX, Options};
use crate::tcp::sequence::Sequence;

/// The largest header there is.
pub const TCP_HEADER_BYTES_MAX: usize = TCP_HEADER_BYTES as usize + OPTION_BYTES_MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    pub source: u16,
    pub destination: u16,
}

/// All of the header but what tells connections apart. Urgent data are not told apart from others:
/// the urgent pointer is neither read nor set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    pub sequence: Sequence,
    /// Means something with `Flags::ACK` alone.
    pub acknowledgement: Sequence,
    pub flags: Flags,
    /// As it stands in the header, not scaled.
    pub window: u16,
    pub options: Options,
}

/// The control bits.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u8);

/// Why bytes are no TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// Less than 20 bytes.
    Short,
    /// The header says that it is shorter than 20 bytes or longer than the segment.
    Offset,
}

/// A header with what stands around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    pub ports: Ports,
    pub header: Header,
    /// Where the payload begins.
    pub header_bytes: usize,
}

impl Header {
    /// From the start of a segment. Its checksum is the caller's business.
    //= rfc9293 MUST-5
    pub fn read(segment: &[u8]) -> Result<Read, HeaderError> {
        let fixed: &[u8; TCP_HEADER_BYTES as usize] =
            segment.first_chunk().ok_or(HeaderError::Short)?;
        let header_bytes = usize::from(fixed[12] >> 4) * 4;
        let options = segment.get(fixed.len()..header_bytes).ok_or(HeaderError::Offset)?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let number = |at: usize| Sequence::new(u32::from(word(at)) << 16 | u32::from(word(at + 2)));
        let header = Self {
            sequence: number(4),
            acknowledgement: number(8),
            flags: Flags(fixed[13]),
            window: word(14),
            options: Options::read(options),
        };
        let ports = Ports { source: word(0), destination: word(2) };
        Ok(Read { ports, header, header_bytes })
    }

    /// Writes the header with a checksum of zero and gives its length.
    ///
    /// # Panics
    ///
    /// If `to` has no room for it: 60 bytes always are enough.
    pub fn write(&self, ports: Ports, to: &mut [u8]) -> usize {
        let fixed_bytes = TCP_HEADER_BYTES as usize;
        let header_bytes = fixed_bytes + self.options.write(&mut to[fixed_bytes..]);
        to[0..2].copy_from_slice(&ports.source.to_be_bytes());
        to[2..4].copy_from_slice(&ports.destination.to_be_bytes());
        to[4..8].copy_from_slice(&self.sequence.get().to_be_bytes());
        to[8..12].copy_from_slice(&self.acknowledgement.get().to_be_bytes());
        to[12] = (header_bytes as u8 / 4) << 4;
        to[13] = self.flags.0;
        to[14..16].copy_from_slice(&self.window.to_be_bytes());
        to[16..20].fill(0);
        header_bytes
    }
}

impl Flags {
    pub const FIN: Self = Self(1);
    pub const SYN: Self = Self(1 << 1);
    pub const RST: Self = Self(1 << 2);
    pub const PSH: Self = Self(1 << 3);
    pub const ACK: Self = Self(1 << 4);
    pub const URG: Self = Self(1 << 5);
    pub const ECE: Self = Self(1 << 6);
    pub const CWR: Self = Self(1 << 7);

    /// With the letters by which each is written.
    const NAMES: [(Self, char); 8] = [
        (Self::SYN, 'S'),
        (Self::FIN, 'F'),
        (Self::RST, 'R'),
        (Self::PSH, 'P'),
        (Self::ACK, 'A'),
        (Self::URG, 'U'),
        (Self::ECE, 'E'),
        (Self::CWR, 'C'),
    ];

    pub const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 == flag.0
    }

    /// With the flag where `is_set` holds.
    #[must_use]
    pub const fn with(self, flag: Self, is_set: bool) -> Self {
        if is_set { Self(self.0 | flag.0) } else { self }
    }

    /// `None`: a letter is none of `SFRPAUEC`.
    pub fn parse(letters: &str) -> Option<Self> {
        let flag = |letter| Self::NAMES.iter().find(|(_, name)| *name == letter);
        letters.chars().try_fold(Self::default(), |flags, letter| Some(flags | flag(letter)?.0))
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, rhs: Self) -> Self {
        Self(self.0 | rhs.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = Self::NAMES.iter().filter(|(flag, _)| self.has(*flag));
        set.try_for_each(|(_, name)| write!(out, "{name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::options::{Sacks, Timestamps};

    const PORTS: Ports = Ports { source: 0x1234, destination: 0x0050 };

    /// Byte by byte as RFC 9293 section 3.1 draws it: MSS 1460, SACK permitted, timestamps 1 and 2,
    /// a shift of 7.
    #[test]
    fn a_syn_is_written_as_the_rfc_draws_it() {
        let header = Header {
            sequence: Sequence::new(0x0102_0304),
            acknowledgement: Sequence::new(0),
            flags: Flags::SYN,
            window: 65_535,
            options: Options {
                mss: Some(1460),
                window_scale: Some(7),
                sack_permitted: true,
                timestamps: Some(Timestamps { value: 1, echo: 2 }),
                sacks: Sacks::default(),
            },
        };
        let mut bytes = [0xaa; TCP_HEADER_BYTES_MAX];
        let header_bytes = header.write(PORTS, &mut bytes);
        #[rustfmt::skip]
        let want = [
            0x12, 0x34, 0x00, 0x50, 1, 2, 3, 4, 0, 0, 0, 0, 0xa0, 0x02, 0xff, 0xff, 0, 0, 0, 0,
            2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 7,
        ];
        assert_eq!(bytes[..header_bytes], want);
    }

    #[test]
    fn what_is_too_short_or_lies_about_its_length_is_no_header() {
        let mut bytes = [0; 24];
        assert_eq!(Header::read(&bytes[..19]), Err(HeaderError::Short));
        for words in [0, 4, 7, 15] {
            bytes[12] = words << 4;
            assert_eq!(Header::read(&bytes), Err(HeaderError::Offset));
        }
        bytes[12] = 5 << 4;
        assert_eq!(Header::read(&bytes).unwrap().header_bytes, 20);
    }

    #[test]
    fn flags_are_written_by_their_letters() {
        assert_eq!(Flags::parse("SA"), Some(Flags::SYN | Flags::ACK));
        assert_eq!(alloc::format!("{:?}", Flags::ACK | Flags::FIN), "FA");
        assert_eq!(Flags::parse("X"), None);
    }
}
