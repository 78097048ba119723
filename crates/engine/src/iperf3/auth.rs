//! Authentication as iperf3 has it: name, password and time, encrypted with the server's RSA key.
//!
//! It keeps a secret from whoever listens, and nothing more: neither the server nor the parameters
//! of the test are authenticated, and the data flows in the clear.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use fp_model::Time;
use ring::digest;
use rsa::pkcs1::DecodeRsaPrivateKey as _;
use rsa::pkcs8::{DecodePrivateKey as _, DecodePublicKey as _};
use rsa::rand_core::OsRng;

use rsa::{Oaep, Pkcs1v15Encrypt, RsaPrivateKey, RsaPublicKey};
use sha1::Sha1;
use subtle::ConstantTimeEq as _;

/// How the text is filled up before it is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// iperf3 from 3.17 on.
    #[default]
    Oaep,
    /// iperf3 before it, and later ones with `--use-pkcs1-padding`.
    Pkcs1,
}

/// Who a client is to a server that wants to know.
#[derive(Clone)]
pub struct Credentials {
    user: String,
    password: String,
    server_key: RsaPublicKey,
    padding: Padding,
}

/// What a server admits clients by.
pub struct Authorisation {
    key: RsaPrivateKey,
    padding: Padding,
    users: Vec<User>,
    skew: Duration,
    /// The hashes of tokens that were shown while they were fresh: none is good twice.
    shown: Mutex<Vec<(Time, Hash)>>,
}

struct User {
    name: String,
    /// SHA-256 of `{name}password`.
    hash: Hash,
}

type Hash = [u8; 32];

/// A file of authentication that cannot be used: what is wrong and what it should be.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("cannot read {}: {source}", path.display())]
    NotRead { path: PathBuf, source: io::Error },
    #[error("{} holds no RSA {kind} key in PEM form: {reason}", path.display())]
    NotAKey { path: PathBuf, kind: &'static str, reason: String },
    #[error(
        "{}:{line}: write `user,hash` with the SHA-256 of `{{user}}password` in 64 hexadecimal \
         digits", path.display()
    )]
    NotAUser { path: PathBuf, line: usize },
    #[error("user and password are too long for the server's key")]
    TooLong,
    #[error("the user's name may not hold a line break")]
    Name,
}

/// Clocks of two hosts may differ by so much: iperf3's default.
pub const SKEW: Duration = Duration::from_secs(10);
/// Tokens of clients that were admitted within twice the skew; more, and the oldest is forgotten.
const SHOWN_MAX: usize = 4096;

impl Credentials {
    /// # Errors
    /// A key file that is none, or a name that cannot be told from what follows it.
    pub fn new(
        user: &str,
        password: &str,
        server_key: &Path,
        padding: Padding,
    ) -> Result<Self, AuthError> {
        if user.contains('\n') {
            return Err(AuthError::Name);
        }
        let pem = read(server_key)?;
        let server_key = RsaPublicKey::from_public_key_pem(&pem).map_err(|error| {
            let (path, reason) = (server_key.to_owned(), error.to_string());
            AuthError::NotAKey { path, kind: "public", reason }
        })?;
        Ok(Self { user: user.into(), password: password.into(), server_key, padding })
    }

    /// Good for this second only.
    pub(super) fn token(&self, wall: Time) -> Result<String, AuthError> {
        let Self { user, password, .. } = self;
        let seconds = wall.as_nanos() / 1_000_000_000;
        let text = format!("user: {user}\npwd:  {password}\nts:   {seconds}");
        let encrypted = match self.padding {
            Padding::Oaep => {
                self.server_key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), text.as_bytes())
            }
            Padding::Pkcs1 => self.server_key.encrypt(&mut OsRng, Pkcs1v15Encrypt, text.as_bytes()),
        };
        Ok(BASE64.encode(encrypted.map_err(|_| AuthError::TooLong)?))
    }
}

impl Authorisation {
    /// `users` has a line `user,hash` for each; lines that begin with # are comments.
    ///
    /// # Errors
    /// A file that cannot be read or is not what it should be.
    pub fn new(key: &Path, users: &Path, padding: Padding) -> Result<Self, AuthError> {
        let pem = read(key)?;
        let private = RsaPrivateKey::from_pkcs8_pem(&pem)
            .or_else(|error| RsaPrivateKey::from_pkcs1_pem(&pem).map_err(|_| error));
        let private = private.map_err(|error| {
            let (path, reason) = (key.to_owned(), error.to_string());
            AuthError::NotAKey { path, kind: "private", reason }
        })?;
        let users = users_in(&read(users)?)
            .map_err(|line| AuthError::NotAUser { path: users.to_owned(), line })?;
        Ok(Self { key: private, padding, users, skew: SKEW, shown: Mutex::default() })
    }

    /// The user who shows this token; whatever is wrong with it is not told.
    pub(super) fn admit(&self, token: &str, wall: Time) -> Option<&str> {
        let text = self.decrypted(token)?;
        let claim = Claim::of(&text)?;
        let user = self.user(&claim)?;
        let age = wall.since(claim.at).max(claim.at.since(wall));
        (age <= self.skew && self.is_new(token, wall)).then_some(&user.name)
    }

    fn decrypted(&self, token: &str) -> Option<String> {
        let encrypted = BASE64.decode(token.trim_end()).ok()?;
        let text = match self.padding {
            Padding::Oaep => self.key.decrypt_blinded(&mut OsRng, Oaep::new::<Sha1>(), &encrypted),
            Padding::Pkcs1 => self.key.decrypt_blinded(&mut OsRng, Pkcs1v15Encrypt, &encrypted),
        };
        String::from_utf8(text.ok()?).ok()
    }

    fn user(&self, claim: &Claim<'_>) -> Option<&User> {
        let hash = claim.hash();
        let mut claimed = self.users.iter().filter(|user| user.name == claim.user);
        claimed.find(|user| user.hash.ct_eq(&hash).into())
    }

    fn is_new(&self, token: &str, wall: Time) -> bool {
        let hash = sha256(token.trim_end().as_bytes());
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.retain(|(at, _)| wall.since(*at) <= 2 * self.skew);
        let is_new = shown.iter().all(|(_, earlier)| *earlier != hash);
        if shown.len() >= SHOWN_MAX {
            shown.remove(0);
        }
        shown.push((wall, hash));
        is_new
    }
}

/// What a decrypted token says.
#[derive(Debug, PartialEq)]
struct Claim<'a> {
    user: &'a str,
    password: &'a str,
    at: Time,
}

impl<'a> Claim<'a> {
    /// The last line is the time and the first one the name; a password may hold anything.
    fn of(text: &'a str) -> Option<Self> {
        let (user, rest) = text.strip_prefix("user: ")?.split_once('\n')?;
        let (password, seconds) = rest.strip_prefix("pwd:  ")?.rsplit_once("\nts:   ")?;
        let seconds: u64 = seconds.trim_end().parse().ok()?;
        let at = Time::from_nanos(seconds.checked_mul(1_000_000_000)?);
        Some(Self { user, password, at })
    }

    fn hash(&self) -> Hash {
        sha256(format!("{{{}}}{}", self.user, self.password).as_bytes())
    }
}

fn sha256(bytes: &[u8]) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

fn read(path: &Path) -> Result<String, AuthError> {
    fs::read_to_string(path).map_err(|source| AuthError::NotRead { path: path.to_owned(), source })
}

/// The number of the first line that is none of a user.
fn users_in(text: &str) -> Result<Vec<User>, usize> {
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(index, line)| user(line).ok_or(index + 1))
        .collect()
}

fn user(line: &str) -> Option<User> {
    let (name, digits) = line.split_once(',')?;
    let digits = digits.trim();
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, at) in hash.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(User { name: name.trim().to_owned(), hash })
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl fmt::Debug for Authorisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorisation").field("users", &self.users.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn ends(padding: Padding) -> (Credentials, Authorisation) {
        let key = RsaPrivateKey::new(&mut OsRng, 1024).unwrap();
        let credentials = Credentials {
            user: "mario".into(),
            password: "rossi:\n 1".into(),
            server_key: key.to_public_key(),
            padding,
        };
        let hash = sha256(b"{mario}rossi:\n 1");
        let users = vec![User { name: "mario".into(), hash }];
        let shown = Mutex::default();
        (credentials, Authorisation { key, padding, users, skew: SKEW, shown })
    }

    #[test]
    fn a_token_is_good_once_and_for_ten_seconds() {
        for padding in [Padding::Oaep, Padding::Pkcs1] {
            let (credentials, authorisation) = ends(padding);
            let now = Time::from_nanos(1_700_000_000 * SECOND);
            let token = credentials.token(now).unwrap();
            assert_eq!(authorisation.admit(&token, now), Some("mario"), "{padding:?}");
            assert_eq!(authorisation.admit(&token, now), None, "shown twice");
            for seconds in [11, 3600] {
                let stale = credentials.token(now).unwrap();
                let later = now + Duration::from_secs(seconds);
                assert_eq!(authorisation.admit(&stale, later), None);
                let of_the_future = credentials.token(later).unwrap();
                assert_eq!(authorisation.admit(&of_the_future, now), None);
            }
        }
    }

    #[test]
    fn another_password_another_padding_and_another_key_are_refused() {
        let (good, authorisation) = ends(Padding::Oaep);
        let now = Time::from_nanos(1_700_000_000 * SECOND);
        let refused = |credentials: Credentials| {
            let token = credentials.token(now).unwrap();
            assert_eq!(authorisation.admit(&token, now), None);
        };
        refused(Credentials { password: "verdi".into(), ..good.clone() });
        refused(Credentials { user: "luigi".into(), ..good.clone() });
        refused(Credentials { padding: Padding::Pkcs1, ..good });
        refused(ends(Padding::Oaep).0);
    }

    #[test]
    fn the_file_of_users_names_its_wrong_line() {
        let hash = "0123456789abcdef".repeat(4);
        let users = users_in(&format!("# who may\n\nmario,{hash}\nluigi , {hash}\n")).unwrap();
        assert_eq!(users.iter().map(|u| u.name.as_str()).collect::<Vec<_>>(), ["mario", "luigi"]);
        assert_eq!(users[0].hash[..3], [0x01, 0x23, 0x45]);
        for wrong in ["mario", "mario,12", &format!("mario,{}", "ä".repeat(32))] {
            assert_eq!(users_in(&format!("# \n{wrong}\n")).err(), Some(2), "{wrong}");
        }
    }

    #[test]
    fn a_claim_has_a_name_a_password_and_a_time() {
        let claim = Claim::of("user: a b\npwd:  x\nts:   7\nts:   8").unwrap();
        let at = Time::from_nanos(8 * SECOND);
        assert_eq!(claim, Claim { user: "a b", password: "x\nts:   7", at });
        assert_eq!(Claim::of("user: a\npwd:  x\nts:   99999999999999999999"), None);
    }

    proptest! {
        #[test]
        fn garbage_is_no_claim_and_no_panic(text in ".{0,200}") {
            prop_assert_eq!(Claim::of(&text), None);
        }
    }
}
