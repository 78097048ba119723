//! Whatever else may come to a far end's port, or answer at its place, is refused with a sentence.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use fp_engine::control::Pairing;
use fp_engine::near::ConnectError;
use fp_engine::os::clock;
use fp_model::{Direction, Family, Rate};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, ServerConfig, ServerConnection,
    SignatureScheme, StreamOwned,
};
use serde_json::{Value, json};

use crate::child::FAR;
use crate::real::control::broken::End;
use crate::real::control::far_end::{FarEnd, LOOPBACK, connect, flow, frames, trial, within};

/// A peer that believes any certificate and says what a test wants.
struct Stranger<C: std::ops::DerefMut<Target = rustls::ConnectionCommon<S>>, S: rustls::SideData>(
    StreamOwned<C, TcpStream>,
);

#[derive(Debug)]
struct BelievesAnything;

impl ServerCertVerifier for BelievesAnything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::ED25519]
    }
}

fn dial(far: SocketAddr) -> Stranger<ClientConnection, rustls::client::ClientConnectionData> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(BelievesAnything))
        .with_no_client_auth();
    let name = ServerName::try_from("fullpipe").unwrap();
    let tls = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(far).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
    Stranger(StreamOwned::new(tls, stream))
}

impl<C: std::ops::DerefMut<Target = rustls::ConnectionCommon<S>>, S: rustls::SideData>
    Stranger<C, S>
{
    fn say(&mut self, message: &Value) {
        let json = message.to_string();
        self.announce(json.len() as u32);
        self.0.write_all(json.as_bytes()).unwrap();
        self.0.flush().unwrap();
    }

    fn announce(&mut self, bytes: u32) {
        self.0.write_all(&bytes.to_be_bytes()).unwrap();
        self.0.flush().unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut prefix = [0; 4];
        self.0.read_exact(&mut prefix).unwrap();
        let mut json = vec![0; u32::from_be_bytes(prefix) as usize];
        self.0.read_exact(&mut json).unwrap();
        serde_json::from_slice(&json).unwrap()
    }

    /// The next message of this kind; heartbeats and others are passed over.
    fn hear_of(&mut self, kind: &str) -> Value {
        loop {
            let message = self.hear();
            if message["message"] == kind {
                return message;
            }
        }
    }

    /// Whether the peer has closed, after whatever it still said.
    fn is_closed(&mut self) -> bool {
        match self.0.read_to_end(&mut Vec::new()) {
            Ok(_) => true,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

/// Form, hash and token of the secret, as its documentation says.
fn secret_bytes(pairing: &Pairing) -> Vec<u8> {
    let text = pairing.to_string();
    BASE64_URL_SAFE_NO_PAD.decode(text.split_once('#').unwrap().1).unwrap()
}

fn token(pairing: &Pairing) -> Value {
    json!({ "token": &secret_bytes(pairing)[33..49] })
}

fn enter(far: &FarEnd) -> Stranger<ClientConnection, rustls::client::ClientConnectionData> {
    let mut near = dial(far.address());
    near.say(&json!({ "protocol": 5 }));
    near.say(&token(&far.pairing));
    assert_eq!(near.hear(), json!({ "protocol": 5 }));
    assert_eq!(near.hear()["entry"], "welcome");
    near
}

#[test]
fn a_far_end_with_another_certificate_is_not_believed() {
    let (one, other) = (FarEnd::at(LOOPBACK), FarEnd::at(LOOPBACK));
    let mixed = Pairing { far: one.pairing.far.clone(), secret: other.pairing.secret.clone() };
    let refused = connect(&mixed).unwrap_err();
    assert_eq!(refused, ConnectError::WrongKey(one.pairing.far.to_string()));
    assert!(!one.has_logged("session begins"));
}

#[test]
fn a_near_end_with_another_token_is_not_admitted() {
    let far = FarEnd::at(LOOPBACK);
    let mut near = dial(far.address());
    near.say(&json!({ "protocol": 5 }));
    near.say(&json!({ "token": vec![0; 16] }));
    assert_eq!(near.hear(), json!({ "protocol": 5 }));
    assert_eq!(near.hear(), json!({ "entry": "wrong_token" }));
    assert!(near.is_closed());
    within(Duration::from_secs(2), "a line is logged", || far.has_logged("wrong token"));
}

#[test]
fn a_near_end_of_another_version_is_told_ours() {
    let far = FarEnd::at(LOOPBACK);
    let mut near = dial(far.address());
    near.say(&json!({ "protocol": 99, "of": "a later version" }));
    assert_eq!(near.hear(), json!({ "protocol": 5 }));
    assert!(near.is_closed());
    let line = "it speaks protocol 99, this end speaks 5";
    within(Duration::from_secs(2), "a line is logged", || far.has_logged(line));
}

/// Listens in the place of a far end and gives its one guest to `host`.
fn impostor(
    host: impl FnOnce(TcpStream) + Send + 'static,
) -> (SocketAddr, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (address, std::thread::spawn(move || host(listener.accept().unwrap().0)))
}

/// A pairing string for a certificate of our own, as `fullpipe serve` would print it.
fn pairing_for(address: SocketAddr, certificate: &[u8]) -> Pairing {
    let sha256 = |bytes: &[u8]| ring::digest::digest(&ring::digest::SHA256, bytes);
    let mut secret = vec![1];
    secret.extend(sha256(certificate).as_ref());
    secret.extend([7; 16]);
    let sum = sha256(&secret);
    secret.extend(&sum.as_ref()[..2]);
    let secret = BASE64_URL_SAFE_NO_PAD.encode(secret);
    Pairing::parse(&format!("fp://{address}#{secret}")).unwrap()
}

/// A far end that shows the right certificate and says `messages`.
fn scripted_far_end(messages: Vec<Value>) -> (Pairing, std::thread::JoinHandle<()>) {
    let key = rcgen::KeyPair::generate().unwrap();
    let named = rcgen::CertificateParams::new(["fullpipe".to_owned()]).unwrap();
    let certificate = named.self_signed(&key).unwrap().der().clone();
    let shown = certificate.clone();
    let (address, hosting) = impostor(move |stream| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![shown], key.into())
            .unwrap();
        let tls = ServerConnection::new(Arc::new(config)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        let mut far = Stranger(StreamOwned::new(tls, stream));
        far.hear();
        for message in &messages {
            far.say(message);
        }
        far.is_closed();
    });
    (pairing_for(address, &certificate), hosting)
}

#[test]
fn a_far_end_of_another_version_is_named_with_what_to_update() {
    let (pairing, hosting) = scripted_far_end(vec![json!({ "protocol": 99 })]);
    let refused = connect(&pairing).unwrap_err();
    let far = pairing.far.to_string();
    assert_eq!(
        refused.to_string(),
        format!("far end {far} speaks protocol 99, this end speaks 5: update this end")
    );
    hosting.join().unwrap();
}

fn welcome() -> Value {
    json!({ "entry": "welcome", "interface_mtu_bytes": null, "pulse": null, "facts": {
        "name": "x", "kernel": "x", "processors": 1, "version": "x" } })
}

#[test]
fn a_far_end_that_leaves_while_we_connect_has_gone() {
    let bye = json!({ "message": "bye", "reason": "it was stopped" });
    let (pairing, hosting) = scripted_far_end(vec![json!({ "protocol": 5 }), welcome(), bye]);
    let gone = format!("the far end {} has gone: it was stopped", pairing.far);
    assert_eq!(connect(&pairing).unwrap_err().to_string(), gone);
    hosting.join().unwrap();
}

#[test]
fn a_far_end_that_never_answers_a_ping_is_given_up_within_three_seconds() {
    let (pairing, hosting) = scripted_far_end(vec![json!({ "protocol": 5 }), welcome()]);
    let begun = clock::now();
    assert!(connect(&pairing).is_err());
    assert!(clock::now().since(begun) < Duration::from_secs(3));
    hosting.join().unwrap();
}

#[test]
fn a_far_end_that_talks_nonsense_is_refused() {
    let scripts = [
        vec![json!({ "protocol": 5 }), json!({ "entry": "come in" })],
        vec![json!({ "protocol": 5 }), welcome(), json!({ "message": "dance" })],
        vec![json!({ "protocol": 5 }), welcome(), json!({ "message": "stop", "trial": 1, "x": 1 })],
        vec![json!([[[[[[[[[[]]]]]]]]]])],
    ];
    for script in scripts {
        let (pairing, hosting) = scripted_far_end(script);
        let refused = connect(&pairing).unwrap_err();
        assert!(matches!(refused, ConnectError::NotAFarEnd(..)), "{refused}");
        hosting.join().unwrap();
    }
}

#[test]
fn what_is_not_a_far_end_is_told_from_one_that_is_not_there() {
    let (address, hosting) = impostor(|mut stream| {
        // A stranger may leave before it has read this.
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let refused = connect(&pairing_for(address, b"none")).unwrap_err();
    assert!(matches!(refused, ConnectError::NotAFarEnd(..)), "{refused}");
    hosting.join().unwrap();

    let (address, hosting) = impostor(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let begun = clock::now();
    let refused = connect(&pairing_for(address, b"none")).unwrap_err();
    assert!(matches!(refused, ConnectError::Mute { .. }), "{refused}");
    assert!(clock::now().since(begun) < Duration::from_secs(3));
    hosting.join().unwrap();

    let nobody = TcpListener::bind((LOOPBACK, 0)).unwrap().local_addr().unwrap();
    let refused = connect(&pairing_for(nobody, b"none")).unwrap_err();
    assert_eq!(refused, ConnectError::Refused(nobody.to_string()));
}

#[test]
fn garbage_and_oversized_messages_end_their_own_connection_only() {
    let far = FarEnd::at(LOOPBACK);
    let mut garbage = TcpStream::connect(far.address()).unwrap();
    garbage.write_all(b"GET / HTTP/1.1\r\nHost: far\r\n\r\n").unwrap();
    garbage.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
    // Closed, with or without an alert of TLS before.
    let end = garbage.read_to_end(&mut Vec::new());
    assert!(!end.is_err_and(|error| error.kind() == ErrorKind::WouldBlock));

    let mut stranger = dial(far.address());
    stranger.announce(4097);
    assert!(stranger.is_closed());
    let mut guest = enter(&far);
    guest.announce(64 * 1024 + 1);
    assert!(guest.is_closed());
    let mut guest = enter(&far);
    guest.say(&json!({ "message": "done", "trial": 1, "halves": [], "health": {
        "dropped_packets": 0, "longest_stall_ns": 0, "busiest_thread": 0.0 } }));
    assert!(guest.hear_of("bye")["reason"].as_str().unwrap().contains("out of turn"));
    assert!(guest.is_closed());
    assert!(connect(&far.pairing).is_ok());
}

#[test]
fn a_stranger_that_talks_on_after_a_wrong_word_is_not_remembered() {
    let mut far = End::be(FAR, "1");
    let pairing = Pairing::parse(&far.says()).unwrap();
    let far_address: SocketAddr = pairing.far.to_string().parse().unwrap();
    let quiet = far.peak_memory_bytes();
    for first_word in [4096, 4097] {
        let mut stranger = dial(far_address);
        stranger.announce(first_word);
        let flood = vec![b'x'; 1 << 20];
        // The far end reads on until it has waited long enough, and then resets the connection.
        let written = (0..100).take_while(|_| stranger.0.write_all(&flood).is_ok()).count();
        assert!(written > 0);
    }
    let grown = far.peak_memory_bytes().saturating_sub(quiet);
    // A message of 4 KiB, a TLS record of 16 KiB, and the stack and arena of a thread.
    assert!(grown < 4 << 20, "{grown} bytes");
}

/// One message many times, as it travels.
fn many(message: &Value, times: usize) -> Vec<u8> {
    let json = message.to_string();
    let prefix = (json.len() as u32).to_be_bytes();
    [prefix.as_slice(), json.as_bytes()].concat().repeat(times)
}

#[test]
fn a_guest_that_never_reads_or_never_waits_is_dropped() {
    let far = FarEnd::at(LOOPBACK);
    // The answer to a ping has some 70 bytes: a MiB of them may wait, and a few the kernel holds.
    let pings = many(&json!({ "message": "ping", "sent_ns": 0 }), 10_000);
    let mut deaf = enter(&far);
    let written = (0..200).take_while(|_| deaf.0.write_all(&pings).is_ok()).count();
    assert!(written < 200);
    let line = "it does not read what it is told";
    within(Duration::from_secs(2), "a line is logged", || far.has_logged(line));

    let flows = vec![flow(Direction::Upload, Family::Ipv4, frames(Rate::mbps(8))); 16];
    let spec = serde_json::to_value(trial(Duration::from_secs(1), flows)).unwrap();
    let prepare = json!({ "message": "prepare", "trial": 1, "spec": spec });
    let mut hasty = enter(&far);
    // It may be dropped before all is written.
    let _ = hasty.0.write_all(&many(&prepare, 1000));
    let line = "faster than they can be obeyed";
    within(Duration::from_secs(2), "a line is logged", || far.has_logged(line));
    assert!(connect(&far.pairing).is_ok());
}

#[test]
fn a_crowd_that_dawdles_keeps_nobody_out_and_is_shown_the_door() {
    let far = FarEnd::at(LOOPBACK);
    let begun = clock::now();
    let mut crowd: Vec<_> = (0..100).map(|_| TcpStream::connect(far.address()).unwrap()).collect();
    for dawdler in &mut crowd {
        // The first byte of a TLS record, and no more; most are shut already.
        let _ = dawdler.write_all(&[0x16]);
    }
    let knocked = clock::now();
    connect(&far.pairing).unwrap();
    assert!(clock::now().since(knocked) < Duration::from_secs(1));
    for mut dawdler in crowd {
        dawdler.set_read_timeout(Some(Duration::from_secs(8))).unwrap();
        let end = dawdler.read_to_end(&mut Vec::new());
        assert!(!end.is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
    }
    // Five seconds for the last of them, and the far end's own time to look up.
    assert!(clock::now().since(begun) < Duration::from_secs(7));
}

#[test]
fn no_datagram_goes_to_an_address_that_has_not_proven_itself() {
    let far = FarEnd::at(LOOPBACK);
    let mut near = enter(&far);
    let download = flow(Direction::Download, Family::Ipv4, frames(Rate::mbps(8)));
    let spec = serde_json::to_value(trial(Duration::from_secs(1), vec![download])).unwrap();
    near.say(&json!({ "message": "prepare", "trial": 1, "spec": spec }));
    let ready = near.hear_of("ready");
    let port = ready["doors"][0]["port"].as_u64().unwrap() as u16;
    let key: Vec<u8> = serde_json::from_value(ready["doors"][0]["key"].clone()).unwrap();
    let wrong_key = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    let wrong_address = UdpSocket::bind(("127.0.0.2", 0)).unwrap();
    wrong_key.send_to(&[0; 16], (LOOPBACK, port)).unwrap();
    wrong_key.send_to(&key[..15], (LOOPBACK, port)).unwrap();
    wrong_address.send_to(&key, (LOOPBACK, port)).unwrap();
    // The near end stays, answers each heartbeat, and never shows the key.
    let failed = loop {
        let message = near.hear();
        match message["message"].as_str() {
            Some("failed") => break message,
            Some("pulse") => near.say(&json!({ "message": "ping", "sent_ns": 0 })),
            _ => {}
        }
    };
    assert!(failed["reason"].as_str().unwrap().contains("127.0.0.1"));
    for socket in [wrong_key, wrong_address] {
        socket.set_nonblocking(true).unwrap();
        let received = socket.recv(&mut [0; 2048]).map_err(|error| error.kind());
        assert_eq!(received, Err(ErrorKind::WouldBlock));
    }
}
