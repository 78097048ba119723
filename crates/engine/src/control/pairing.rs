//! The pairing string `fp://HOST:PORT#SECRET`: where the far end is and how both ends know each other.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest;
use subtle::ConstantTimeEq as _;

/// The port that RFC 6349 suggests by its number.
pub const DEFAULT_PORT: u16 = 6349;

/// A far end and the secret that it shares with its near ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    pub far: FarAddress,
    pub secret: Secret,
}

/// `HOST[:PORT]` as a person writes it; an IPv6 address with a port stands in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarAddress {
    pub host: Host,
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    Name(String),
    Address(IpAddr),
}

/// What a near end must know of a far end: the hash of its certificate, and the token it asks for.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    pub(crate) certificate_hash: [u8; 32],
    pub(crate) token: Token,
}

/// Admits a near end to a far end; never printed, compared in constant time.
#[derive(Clone, Copy)]
pub(crate) struct Token(pub(crate) [u8; 16]);

/// What is wrong with a pairing string: a sentence that says what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairingError {
    #[error(
        "a pairing string begins with fp://, as in fp://HOST:PORT#SECRET: copy the line that \
         `fullpipe serve` printed"
    )]
    NotAPairingString,
    #[error(
        "the pairing string has no secret after a '#': copy the whole line that `fullpipe serve` \
         printed and put it in quotes, or give the secret with --key-file or $FULLPIPE_KEY"
    )]
    NoSecret,
    #[error(
        "the secret is written in a form that this version does not know: use the same version of \
         fullpipe at both ends"
    )]
    OtherForm,
    #[error("the secret is damaged: copy all {SECRET_CHARACTERS} characters that follow the '#'")]
    Damaged,
    #[error("the far end's host is missing: write HOST or HOST:PORT")]
    NoHost,
    #[error(
        "'{0}' is no host: write a name of letters, digits, '-', '_' and '.', an IPv4 address, or an \
         IPv6 address, in brackets where a port follows"
    )]
    BadHost(String),
    #[error("'{0}' is no port: write a number from 1 to 65535")]
    BadPort(String),
}

impl PairingError {
    /// Whether it is the secret that is wrong, and not the address.
    pub const fn is_of_the_secret(&self) -> bool {
        match self {
            Self::NoSecret | Self::OtherForm | Self::Damaged => true,
            Self::NotAPairingString | Self::NoHost | Self::BadHost(_) | Self::BadPort(_) => false,
        }
    }
}

const SCHEME: &str = "fp://";
/// The form of the secret, the certificate's hash, the token and a check sum: no padding in base64.
const SECRET_BYTES: usize = 1 + 32 + 16 + 2;
const SECRET_CHARACTERS: usize = SECRET_BYTES / 3 * 4;
const FORM: u8 = 1;

impl Pairing {
    /// # Errors
    /// A sentence on what is wrong with `text` and what is allowed.
    pub fn parse(text: &str) -> Result<Self, PairingError> {
        let rest = text.trim().strip_prefix(SCHEME).ok_or(PairingError::NotAPairingString)?;
        let (far, secret) = rest.split_once('#').ok_or(PairingError::NoSecret)?;
        let far = far.strip_suffix('/').unwrap_or(far);
        Ok(Self { far: far.parse()?, secret: secret.parse()? })
    }

    /// Of `far` as a user gives it: a whole pairing string, or `HOST[:PORT]` with the secret, or a
    /// pairing string that holds it, in `key`.
    ///
    /// # Errors
    /// A sentence on what is wrong and what is allowed.
    pub fn of(far: &str, key: Option<&str>) -> Result<Self, PairingError> {
        let far = far.trim();
        match (far.strip_prefix(SCHEME), key) {
            _ if far.contains('#') => Self::parse(far),
            (Some(rest), Some(key)) => Ok(Self { far: rest.parse()?, secret: secret_in(key)? }),
            (None, Some(key)) => Ok(Self { far: far.parse()?, secret: secret_in(key)? }),
            (_, None) => Err(PairingError::NoSecret),
        }
    }
}

fn secret_in(key: &str) -> Result<Secret, PairingError> {
    match key.trim().split_once('#') {
        Some((_, secret)) => secret.parse(),
        None => key.parse(),
    }
}

impl fmt::Display for Pairing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}#{}", self.far, self.secret.reveal())
    }
}

impl FromStr for FarAddress {
    type Err = PairingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text, DEFAULT_PORT)
    }
}

impl FarAddress {
    /// # Errors
    /// A sentence on what is wrong with `text` and what is allowed.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, PairingError> {
        if text.is_empty() {
            return Err(PairingError::NoHost);
        }
        let (host, port) = split_port(text)?;
        let port = match port {
            Some(port) => parse_port(port)?,
            None => default_port,
        };
        Ok(Self { host, port })
    }
}

fn split_port(text: &str) -> Result<(Host, Option<&str>), PairingError> {
    let bad_host = || PairingError::BadHost(text.to_owned());
    if let Some(bracketed) = text.strip_prefix('[') {
        let (address, rest) = bracketed.split_once(']').ok_or_else(bad_host)?;
        let address: Ipv6Addr = address.parse().map_err(|_| bad_host())?;
        let port = match rest {
            "" => None,
            _ => Some(rest.strip_prefix(':').ok_or_else(bad_host)?),
        };
        return Ok((Host::Address(address.into()), port));
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Ok((Host::Address(address.into()), None));
    }
    match text.split_once(':') {
        Some((host, port)) => Ok((host.parse()?, Some(port))),
        None => Ok((text.parse()?, None)),
    }
}

fn parse_port(text: &str) -> Result<u16, PairingError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if port > 0 && digits => Ok(port),
        _ => Err(PairingError::BadPort(text.to_owned())),
    }
}

impl FromStr for Host {
    type Err = PairingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        match text.parse() {
            Ok(address) => Ok(Self::Address(address)),
            Err(_) if text.is_empty() => Err(PairingError::NoHost),
            Err(_) if text.len() <= 253 && text.bytes().all(allowed) => {
                Ok(Self::Name(text.to_owned()))
            }
            Err(_) => Err(PairingError::BadHost(text.to_owned())),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl fmt::Display for FarAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            host => write!(f, "{host}:{}", self.port),
        }
    }
}

impl Secret {
    /// The text that follows the '#'.
    pub fn reveal(&self) -> String {
        let mut bytes = Vec::with_capacity(SECRET_BYTES);
        bytes.push(FORM);
        bytes.extend(self.certificate_hash);
        bytes.extend(self.token.0);
        bytes.extend(check_sum(&bytes));
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }
}

impl FromStr for Secret {
    type Err = PairingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PairingError::NoSecret);
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| PairingError::Damaged)?;
        if bytes.first().is_some_and(|form| *form != FORM) {
            return Err(PairingError::OtherForm);
        }
        let bytes: [u8; SECRET_BYTES] = bytes.try_into().map_err(|_| PairingError::Damaged)?;
        let (body, sum) = bytes.split_at(SECRET_BYTES - 2);
        if sum != check_sum(body) {
            return Err(PairingError::Damaged);
        }
        let mut certificate_hash = [0; 32];
        certificate_hash.copy_from_slice(&body[1..33]);
        let mut token = [0; 16];
        token.copy_from_slice(&body[33..]);
        Ok(Self { certificate_hash, token: Token(token) })
    }
}

/// Tells a slip of the mouse from a wrong secret.
fn check_sum(body: &[u8]) -> [u8; 2] {
    let hash = sha256(body);
    [hash[0], hash[1]]
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hosts() -> impl Strategy<Value = Host> {
        prop_oneof![
            "[a-z][a-z0-9-]{0,20}(\\.[a-z]{2,5})?".prop_map(Host::Name),
            any::<[u8; 4]>().prop_map(|octets| Host::Address(IpAddr::from(octets))),
            any::<[u8; 16]>().prop_map(|octets| Host::Address(IpAddr::from(octets))),
        ]
    }

    fn pairings() -> impl Strategy<Value = Pairing> {
        (hosts(), 1..=u16::MAX, any::<[u8; 32]>(), any::<[u8; 16]>()).prop_map(
            |(host, port, certificate_hash, token)| Pairing {
                far: FarAddress { host, port },
                secret: Secret { certificate_hash, token: Token(token) },
            },
        )
    }

    proptest! {
        #[test]
        fn a_pairing_string_reads_back_as_it_was_written(pairing in pairings()) {
            prop_assert_eq!(Pairing::parse(&pairing.to_string()), Ok(pairing));
        }

        #[test]
        fn any_text_is_read_or_refused_with_a_sentence(text in "(fp://)?\\PC{0,80}(#\\PC{0,80})?") {
            if let Err(error) = Pairing::parse(&text) {
                prop_assert!(error.to_string().contains(':'));
            }
        }
    }

    #[test]
    fn one_changed_character_of_the_secret_is_noticed() {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let good = secret().reveal().into_bytes();
        let mut unnoticed = 0;
        for place in 0..good.len() {
            for other in alphabet.iter().filter(|letter| **letter != good[place]) {
                let mut changed = good.clone();
                changed[place] = *other;
                let read = String::from_utf8(changed).unwrap().parse::<Secret>();
                unnoticed += usize::from(read.is_ok());
            }
        }
        // 68 places, 63 other letters: of 4,284 changes 16 bits of check sum miss 0.07.
        assert!(unnoticed <= 1, "{unnoticed}");
    }

    fn secret() -> Secret {
        Secret { certificate_hash: [7; 32], token: Token([9; 16]) }
    }

    #[test]
    fn a_host_without_a_port_is_asked_at_6349() {
        let text = secret().reveal();
        for far in ["far.example", "10.0.0.2", "2001:db8::1", "[2001:db8::1]"] {
            let pairing = Pairing::of(far, Some(&text)).unwrap();
            assert_eq!(pairing.far.port, 6349, "{far}");
            assert_eq!(pairing.secret, secret());
        }
        let pairing = Pairing::of("[::1]:7000", Some(&format!("fp://other:1#{text}\n"))).unwrap();
        assert_eq!(pairing.far.to_string(), "[::1]:7000");
    }

    #[test]
    fn each_malformed_pairing_string_gets_its_own_sentence() {
        let good = secret().reveal();
        let longer = format!("{good}AAAA");
        let cases = [
            ("far.example:6349", "", PairingError::NotAPairingString),
            ("fp://far.example:6349", "", PairingError::NoSecret),
            ("fp://far.example:6349#", "", PairingError::NoSecret),
            ("fp://far.example:6349#", &good[..40], PairingError::Damaged),
            ("fp://far.example:6349#", &longer, PairingError::Damaged),
            ("fp://far.example:6349#", "Ag", PairingError::OtherForm),
            ("fp://#", &good, PairingError::NoHost),
            ("fp://:6349#", &good, PairingError::NoHost),
            ("fp://far:0#", &good, PairingError::BadPort("0".into())),
            ("fp://far:+1#", &good, PairingError::BadPort("+1".into())),
            ("fp://far:99999#", &good, PairingError::BadPort("99999".into())),
            ("fp://fa r:1#", &good, PairingError::BadHost("fa r".into())),
            ("fp://[::1#", &good, PairingError::BadHost("[::1".into())),
            ("fp://[::1]6349#", &good, PairingError::BadHost("[::1]6349".into())),
        ];
        for (start, secret, expected) in cases {
            assert_eq!(Pairing::parse(&format!("{start}{secret}")), Err(expected), "{start}");
        }
    }

    #[test]
    fn a_secret_is_not_shown_by_debug() {
        let shown = format!("{:?}", secret());
        assert_eq!(shown, "Secret(…)");
    }
}
