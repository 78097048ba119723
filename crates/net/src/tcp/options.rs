//! The options of a TCP header: RFC 9293 section 3.2, RFC 2018 and RFC 7323.

use crate::tcp::sequence::Sequence;

pub(crate) const OPTION_BYTES_MAX: usize = 40;
const SACKS_MAX: usize = 4;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub mss: Option<u16>,
    /// By how many bits the windows of the side that sends this are shifted.
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    pub timestamps: Option<Timestamps>,
    pub sacks: Sacks,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    pub value: u32,
    pub echo: u32,
}

/// Up to four blocks: where each begins, and what follows its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sacks {
    blocks: [(Sequence, Sequence); SACKS_MAX],
    count: u8,
}

impl Options {
    /// What is unknown or of the wrong length is passed over; where a length cannot be true, the
    /// rest is.
    //= rfc9293 MUST-4
    //= rfc9293 MUST-6
    //= rfc9293 MUST-7
    //= rfc9293 MUST-64
    //= rfc9293 MUST-68
    pub(crate) fn read(mut bytes: &[u8]) -> Self {
        let mut options = Self::default();
        // What nearly every segment has, and nothing else: RFC 7323 appendix A.
        if let [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, body @ ..] = bytes
            && body.len() == 8
        {
            options.take(TIMESTAMPS, body);
            return options;
        }
        while let Some((&kind, after_kind)) = bytes.split_first() {
            match kind {
                END => break,
                NO_OPERATION => bytes = after_kind,
                _ => {
                    let Some(&option_bytes) = after_kind.first() else { break };
                    let Some(body) = bytes.get(2..usize::from(option_bytes)) else { break };
                    options.take(kind, body);
                    bytes = &bytes[usize::from(option_bytes)..];
                }
            }
        }
        options
    }

    fn take(&mut self, kind: u8, body: &[u8]) {
        match (kind, body) {
            (MSS, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
            (WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (TIMESTAMPS, &[v0, v1, v2, v3, e0, e1, e2, e3]) => {
                let value = u32::from_be_bytes([v0, v1, v2, v3]);
                let echo = u32::from_be_bytes([e0, e1, e2, e3]);
                self.timestamps = Some(Timestamps { value, echo });
            }
            (SACK, blocks) if blocks.len().is_multiple_of(8) => {
                for block in blocks.chunks_exact(8) {
                    let edge = |at: usize| {
                        let bytes = [block[at], block[at + 1], block[at + 2], block[at + 3]];
                        Sequence::new(u32::from_be_bytes(bytes))
                    };
                    self.sacks.push(edge(0), edge(4));
                }
            }
            _ => {}
        }
    }

    /// Gives the length, a multiple of four; of the SACK blocks, as many are written as there is
    /// room for.
    //= rfc9293 MUST-69
    //= rfc2018 4
    pub(crate) fn write(&self, to: &mut [u8]) -> usize {
        let mut out = Output { to, at: 0 };
        if let Some(mss) = self.mss {
            out.push(&[MSS, 4]);
            out.push(&mss.to_be_bytes());
        }
        if self.sack_permitted {
            let alone: &[u8] = if self.timestamps.is_some() { &[] } else { &[NO_OPERATION; 2] };
            out.push(alone);
            out.push(&[SACK_PERMITTED, 2]);
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            let alone: &[u8] = if self.sack_permitted { &[] } else { &[NO_OPERATION; 2] };
            out.push(alone);
            out.push(&[TIMESTAMPS, 10]);
            out.push(&value.to_be_bytes());
            out.push(&echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            out.push(&[NO_OPERATION, WINDOW_SCALE, 3, shift]);
        }
        let room = (OPTION_BYTES_MAX - out.at).saturating_sub(4) / 8;
        let blocks = &self.sacks.as_slice()[..room.min(self.sacks.as_slice().len())];
        if !blocks.is_empty() {
            out.push(&[NO_OPERATION, NO_OPERATION, SACK, 2 + 8 * blocks.len() as u8]);
            for (start, end) in blocks {
                out.push(&start.get().to_be_bytes());
                out.push(&end.get().to_be_bytes());
            }
        }
        out.at
    }

    /// The length of what `write` writes.
    pub fn option_bytes(&self) -> u32 {
        let mut bytes = [0; OPTION_BYTES_MAX];
        self.write(&mut bytes) as u32
    }
}

impl Sacks {
    /// Adds a block where there is room for one.
    pub fn push(&mut self, start: Sequence, end: Sequence) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.count)) {
            *block = (start, end);
            self.count += 1;
        }
    }

    pub fn as_slice(&self) -> &[(Sequence, Sequence)] {
        &self.blocks[..usize::from(self.count)]
    }
}

struct Output<'a> {
    to: &'a mut [u8],
    at: usize,
}

impl Output<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.to[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Options {
        Options::read(bytes)
    }

    //= rfc9293 MUST-4
    //= rfc9293 MUST-64
    #[test]
    fn options_stand_at_any_offset_and_in_any_order() {
        let options = read(&[1, 3, 3, 9, 1, 1, 2, 4, 2, 24, 4, 2, 0, 99]);
        let want = Options {
            mss: Some(536),
            window_scale: Some(9),
            sack_permitted: true,
            ..Options::default()
        };
        assert_eq!(options, want);
    }

    //= rfc9293 MUST-6
    //= rfc9293 MUST-68
    #[test]
    fn unknown_options_are_passed_over() {
        assert_eq!(read(&[254, 4, 1, 2, 2, 4, 2, 24]).mss, Some(536));
        assert_eq!(read(&[30, 2, 2, 4, 2, 24]).mss, Some(536));
    }

    //= rfc9293 MUST-7
    #[test]
    fn known_options_of_a_wrong_length_are_passed_over() {
        assert_eq!(read(&[2, 3, 9, 2, 4, 2, 24]).mss, Some(536));
        assert_eq!(read(&[8, 6, 1, 2, 3, 4, 3, 3, 7]).window_scale, Some(7));
        assert_eq!(read(&[5, 9, 0, 0, 0, 0, 0, 0, 0]).sacks.as_slice(), []);
    }

    #[test]
    fn a_length_that_cannot_be_true_ends_the_options() {
        for length in [0, 1, 5, 255] {
            assert_eq!(
                read(&[4, 2, 2, length, 2, 24]),
                Options { sack_permitted: true, ..Options::default() }
            );
        }
        assert_eq!(read(&[2]), Options::default());
    }

    #[test]
    fn nothing_behind_the_end_of_the_list_is_read() {
        assert_eq!(read(&[0, 2, 4, 2, 24]), Options::default());
    }

    //= rfc2018 4
    /// 40 bytes hold four blocks, or three beside the timestamps.
    #[test]
    fn as_many_blocks_are_written_as_there_is_room_for() {
        let mut options = Options::default();
        for k in 0..5 {
            options.sacks.push(Sequence::new(20 * k), Sequence::new(20 * k + 10));
        }
        let written = |options: &Options| {
            let mut bytes = [0; OPTION_BYTES_MAX];
            let option_bytes = options.write(&mut bytes);
            (option_bytes, read(&bytes[..option_bytes]).sacks.as_slice().len())
        };
        assert_eq!(written(&options), (36, 4));
        options.timestamps = Some(Timestamps::default());
        assert_eq!(written(&options), (40, 3));
    }

    fn any_options() -> impl Strategy<Value = Options> {
        let numbers = vec((any::<u32>(), any::<u32>()), 0..=3);
        let timestamps = proptest::option::of((any::<u32>(), any::<u32>()));
        let flags = (any::<bool>(), any::<Option<u16>>(), any::<Option<u8>>());
        (numbers, timestamps, flags).prop_map(|(blocks, timestamps, flags)| {
            let (is_syn, mss, window_scale) = flags;
            let mut options = Options {
                timestamps: timestamps.map(|(value, echo)| Timestamps { value, echo }),
                ..Options::default()
            };
            if is_syn {
                return Options { mss, window_scale, sack_permitted: true, ..options };
            }
            for (start, end) in blocks {
                options.sacks.push(Sequence::new(start), Sequence::new(end));
            }
            options
        })
    }

    //= rfc9293 MUST-69
    proptest! {
        #[test]
        fn what_is_written_is_read_again(options in any_options()) {
            let mut bytes = [0; OPTION_BYTES_MAX];
            let option_bytes = options.write(&mut bytes);
            prop_assert_eq!(option_bytes % 4, 0);
            prop_assert_eq!(options.option_bytes() as usize, option_bytes);
            prop_assert_eq!(read(&bytes[..option_bytes]), options);
        }

        #[test]
        fn garbage_is_survived(bytes in vec(any::<u8>(), 0..=40)) {
            let options = read(&bytes);
            let mut again = Vec::from([0; OPTION_BYTES_MAX]);
            options.write(&mut again);
        }
    }
}
