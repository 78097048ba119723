//! What goes over the wire of iperf3: cookie, states, parameters, results and datagram heads.
//!
//! Nothing here reads a socket or a clock. A control connection begins with the client's cookie;
//! then single bytes tell of states, and two of the states are followed by a JSON document behind
//! its length. Each TCP stream begins with the cookie of the test it belongs to, each UDP stream
//! with a greeting of four bytes each way.

pub mod datagram;
pub mod parameters;
pub mod results;

use std::fmt;
use std::io;

use serde::{Deserialize, Deserializer, de};

use crate::os::random;

pub use datagram::{Counter, DatagramHead};
pub use parameters::{End, Parameters, ParametersError, Transport, Way};
pub use results::{Results, ResultsError, StreamResult};

/// The port of the control connection and of all streams, TCP and UDP.
pub const DEFAULT_PORT: u16 = 5201;
/// What a client sends first on a new UDP stream.
pub const UDP_HELLO: [u8; 4] = *b"9876";
/// What a server answers.
pub const UDP_REPLY: [u8; 4] = *b"6789";
/// What servers of old answer: 987654321 as their processor wrote it.
pub const UDP_REPLY_OF_OLD: [u8; 4] = 987_654_321_u32.to_le_bytes();
/// Streams of one direction.
pub const STREAMS_MAX: u32 = 128;

/// The name of a test, chosen by its client: 36 characters and a zero byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cookie([u8; Self::BYTES]);

impl Cookie {
    pub const BYTES: usize = 37;
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

    /// One that nobody can guess.
    ///
    /// # Errors
    /// Where the kernel refuses its random source to this process.
    pub fn random() -> io::Result<Self> {
        let mut cookie = [0; Self::BYTES];
        let letters = random::bytes::<{ Self::BYTES - 1 }>()?;
        for (character, letter) in cookie.iter_mut().zip(letters) {
            *character = Self::ALPHABET[usize::from(letter) % Self::ALPHABET.len()];
        }
        Ok(Self(cookie))
    }

    /// `None` for what no client would send: characters that cannot be seen, or no end.
    pub fn of(bytes: [u8; Self::BYTES]) -> Option<Self> {
        let (last, characters) = bytes.split_last()?;
        let is_cookie = *last == 0 && characters.iter().all(u8::is_ascii_graphic);
        is_cookie.then_some(Self(bytes))
    }

    pub const fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({})", String::from_utf8_lossy(&self.0[..Self::BYTES - 1]))
    }
}

/// What one end tells the other in a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum State {
    TestStart = 1,
    TestRunning = 2,
    TestEnd = 4,
    ParamExchange = 9,
    CreateStreams = 10,
    ServerTerminate = 11,
    ClientTerminate = 12,
    ExchangeResults = 13,
    DisplayResults = 14,
    IperfStart = 15,
    IperfDone = 16,
    AccessDenied = -1,
    ServerError = -2,
}

impl State {
    const ALL: [Self; 13] = [
        Self::TestStart,
        Self::TestRunning,
        Self::TestEnd,
        Self::ParamExchange,
        Self::CreateStreams,
        Self::ServerTerminate,
        Self::ClientTerminate,
        Self::ExchangeResults,
        Self::DisplayResults,
        Self::IperfStart,
        Self::IperfDone,
        Self::AccessDenied,
        Self::ServerError,
    ];

    pub const fn byte(self) -> u8 {
        (self as i8).cast_unsigned()
    }

    pub fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.byte() == byte)
    }
}

/// Why a server ended a test: its own number for it, and its host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub reason: i32,
    pub errno: i32,
}

impl Trouble {
    pub const BYTES: usize = 8;
    pub const RECEIVE_PARAMETERS: i32 = 114;
    pub const CREATE_STREAM: i32 = 200;
    pub const NOT_AUTHORISED: i32 = 142;
    pub const LASTED_TOO_LONG: i32 = 160;

    pub const fn of(bytes: [u8; Self::BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h] = bytes;
        Self { reason: i32::from_be_bytes([a, b, c, d]), errno: i32::from_be_bytes([e, f, g, h]) }
    }

    pub fn bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.reason.to_be_bytes());
        bytes[4..].copy_from_slice(&self.errno.to_be_bytes());
        bytes
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Self::NOT_AUTHORISED => f.write_str("it does not accept this user and password"),
            Self::LASTED_TOO_LONG => f.write_str("the test lasted longer than it allows"),
            Self::RECEIVE_PARAMETERS => f.write_str("it did not accept the test's parameters"),
            reason => write!(f, "its error {reason}, errno {}", self.errno),
        }
    }
}

/// The numbers of the streams of a test, in the order in which they are opened. There is no 2.
pub fn stream_ids() -> impl Iterator<Item = u32> {
    std::iter::once(1).chain(3..)
}

/// A whole number however JSON spells it: 10, 10.0 or 1e1.
fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    // Older versions write -1 as the 2^64 - 1 that it is without a sign.
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Whole(i64),
        Broken(f64),
    }
    match Number::deserialize(from)? {
        Number::Whole(number) => Ok(number),
        Number::Broken(number) if (0.0..=LIMIT).contains(&number) => {
            Ok((number as u64).cast_signed())
        }
        Number::Broken(number) if (-LIMIT / 2.0..0.0).contains(&number) => Ok(number as i64),
        Number::Broken(_) => Err(de::Error::custom("a number beyond all counting")),
    }
}

fn whole_if_there<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    whole(from).map(Some)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cookie_has_36_letters_and_digits_of_base_32_and_a_zero() {
        let cookie = Cookie::random().unwrap();
        let (last, characters) = cookie.as_bytes().split_last().unwrap();
        assert_eq!((*last, characters.len()), (0, 36));
        assert!(characters.iter().all(|c| Cookie::ALPHABET.contains(c)), "{cookie:?}");
        assert_eq!(Cookie::of(*cookie.as_bytes()), Some(cookie));
        assert_ne!(Cookie::random().unwrap(), cookie);
    }

    #[test]
    fn what_begins_like_another_protocol_is_no_cookie() {
        let http: [u8; 37] = *b"GET / HTTP/1.1\r\nHost: 10.0.0.2:5201\r\n";
        assert_eq!(Cookie::of(http), None);
        assert_eq!(Cookie::of([b'a'; 37]), None);
    }

    #[test]
    fn streams_are_numbered_1_3_4_5() {
        assert_eq!(stream_ids().take(4).collect::<Vec<_>>(), [1, 3, 4, 5]);
    }

    #[test]
    fn denial_and_error_are_negative_bytes() {
        assert_eq!((State::AccessDenied.byte(), State::ServerError.byte()), (0xff, 0xfe));
    }

    proptest! {
        #[test]
        fn a_byte_is_a_state_or_nothing(byte: u8) {
            match State::of(byte) {
                Some(state) => prop_assert_eq!(state.byte(), byte),
                None => prop_assert!(![1, 2, 4, 9, 10, 11, 12, 13, 14, 15, 16, 254, 255].contains(&byte)),
            }
        }

        #[test]
        fn a_trouble_comes_back_as_it_went(reason: i32, errno: i32) {
            let trouble = Trouble { reason, errno };
            prop_assert_eq!(Trouble::of(trouble.bytes()), trouble);
        }
    }
}
