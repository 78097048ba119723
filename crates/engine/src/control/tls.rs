//! TLS 1.3 on both ends: the far end shows its certificate, the near end knows its hash.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, PeerMisbehaved,
    ServerConfig, SignatureScheme,
};
use subtle::ConstantTimeEq as _;

use super::identity::{Identity, SUBJECT};
use super::pairing::{Secret, sha256};

pub(crate) fn far_end(identity: &Identity) -> Result<Arc<ServerConfig>, Error> {
    let certificate = CertificateDer::from(identity.certificate.clone());
    let key = PrivatePkcs8KeyDer::from(identity.private_key.clone());
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())?;
    // Sessions are never resumed: the pin is checked on each.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

pub(crate) fn near_end(secret: &Secret) -> Result<ClientConnection, Error> {
    let provider = Arc::new(ring::default_provider());
    let pinned =
        Pinned { certificate_hash: secret.certificate_hash, provider: Arc::clone(&provider) };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    let name = ServerName::try_from(SUBJECT).map_err(|error| Error::General(error.to_string()))?;
    ClientConnection::new(Arc::new(config), name)
}

/// Whether `error` says that the far end showed another certificate than the pinned one.
pub(crate) fn is_wrong_certificate(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(_))
}

/// Trusts one certificate by its hash; whoever shows it must also prove that it holds the key.
#[derive(Debug)]
struct Pinned {
    certificate_hash: [u8; 32],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if sha256(end_entity).ct_eq(&self.certificate_hash).into() {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        // TLS 1.2 is not offered.
        Err(PeerMisbehaved::SelectedUnofferedCipherSuite.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
