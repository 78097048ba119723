//! What a far end is known by: a self-signed certificate with its key, and the token of its near ends.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, KeyPair};
use serde::{Deserialize, Serialize};

use super::pairing::{Secret, Token, sha256};
use crate::os::random;

/// Made when the far end starts; kept in memory, or in a file over restarts.
pub struct Identity {
    pub(crate) certificate: Vec<u8>,
    /// PKCS #8.
    pub(crate) private_key: Vec<u8>,
    pub(crate) token: Token,
}

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("no key could be made: {0}")]
    NotMade(String),
    #[error("the key file {path} cannot be read: {error}")]
    NotRead { path: PathBuf, error: io::Error },
    #[error("the key file {path} cannot be written: {error}")]
    NotWritten { path: PathBuf, error: io::Error },
    #[error(
        "{path} is no key file of a far end ({error}): remove it to have a new one made, or name \
         another"
    )]
    NotAKeyFile { path: PathBuf, error: String },
}

/// The name in the certificate; near ends trust its hash, not its name.
pub(crate) const SUBJECT: &str = "fullpipe";
const KEY_FILE_FORM: &str = "fullpipe.key/1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    schema: String,
    certificate: String,
    private_key: String,
    token: String,
}

impl Identity {
    /// # Errors
    /// Where the kernel gives no random bytes.
    pub fn new() -> Result<Self, IdentityError> {
        let not_made = |error: rcgen::Error| IdentityError::NotMade(error.to_string());
        let key = KeyPair::generate().map_err(not_made)?;
        let named = CertificateParams::new([SUBJECT.to_owned()]).map_err(not_made)?;
        let certificate = named.self_signed(&key).map_err(not_made)?;
        let token = random::bytes().map_err(|error| IdentityError::NotMade(error.to_string()))?;
        Ok(Self {
            certificate: certificate.der().to_vec(),
            private_key: key.serialize_der(),
            token: Token(token),
        })
    }

    /// That of the key file at `path`; where there is none, a new one, which is written there for
    /// its owner's eyes only.
    ///
    /// # Errors
    /// Where the file cannot be read or written or holds something else.
    pub fn kept_in(path: &Path) -> Result<Self, IdentityError> {
        match fs::read_to_string(path) {
            Ok(text) => Self::read(&text)
                .map_err(|error| IdentityError::NotAKeyFile { path: path.into(), error }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let identity = Self::new()?;
                identity
                    .write(path)
                    .map_err(|error| IdentityError::NotWritten { path: path.into(), error })?;
                Ok(identity)
            }
            Err(error) => Err(IdentityError::NotRead { path: path.into(), error }),
        }
    }

    fn read(text: &str) -> Result<Self, String> {
        let file: KeyFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.schema != KEY_FILE_FORM {
            return Err(format!("its schema is '{}' and not '{KEY_FILE_FORM}'", file.schema));
        }
        let bytes = |name: &str, text: &str| {
            BASE64_STANDARD.decode(text).map_err(|error| format!("{name}: {error}"))
        };
        let token = bytes("token", &file.token)?;
        Ok(Self {
            certificate: bytes("certificate", &file.certificate)?,
            private_key: bytes("private_key", &file.private_key)?,
            token: Token(token.try_into().map_err(|_| "its token has not 16 bytes".to_owned())?),
        })
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let file = KeyFile {
            schema: KEY_FILE_FORM.to_owned(),
            certificate: BASE64_STANDARD.encode(&self.certificate),
            private_key: BASE64_STANDARD.encode(&self.private_key),
            token: BASE64_STANDARD.encode(self.token.0),
        };
        let text = serde_json::to_string_pretty(&file)?;
        let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        to.write_all(text.as_bytes())?;
        to.write_all(b"\n")?;
        to.sync_all()
    }

    /// What a near end needs.
    pub fn secret(&self) -> Secret {
        Secret { certificate_hash: sha256(&self.certificate), token: self.token }
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity(…)")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_file_gives_the_same_secret_again_and_only_its_owner_reads_it() {
        let name = random::bytes::<8>().unwrap().map(|byte| format!("{byte:02x}")).concat();
        let path = std::env::temp_dir().join(format!("fullpipe-key-{name}"));
        let made = Identity::kept_in(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        let kept = Identity::kept_in(&path).unwrap();
        fs::write(&path, "{}").unwrap();
        let refused = Identity::kept_in(&path).unwrap_err();
        fs::remove_file(&path).unwrap();
        assert_eq!(made.secret(), kept.secret());
        assert_eq!(mode & 0o777, 0o600);
        assert!(matches!(refused, IdentityError::NotAKeyFile { .. }), "{refused}");
    }

    #[test]
    fn two_far_ends_have_nothing_in_common() {
        let (one, other) = (Identity::new().unwrap().secret(), Identity::new().unwrap().secret());
        assert_ne!(one.certificate_hash, other.certificate_hash);
        assert_ne!(one.token, other.token);
    }
}
