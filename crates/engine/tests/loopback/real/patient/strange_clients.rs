//! Clients that say nothing, nonsense or too much: they are dropped in time and disturb nobody.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::iperf3::client;
use fp_engine::iperf3::wire::{Cookie, State, Transport, Trouble};
use fp_engine::os::clock;

use crate::real::iperf3::far_side::{Serving, plan};

/// Whatever happens, a client is rid of the server after this.
const PATIENCE: Duration = Duration::from_secs(10);
const PARAMETERS: &[u8] = br#"{"tcp":true,"time":1,"parallel":1,"len":1000}"#;

fn connect(serving: &Serving) -> TcpStream {
    let stream = TcpStream::connect(serving.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Everything that the server says until it closes.
fn heard(mut stream: TcpStream) -> Vec<u8> {
    let mut heard = Vec::new();
    match stream.read_to_end(&mut heard) {
        Ok(_) => heard,
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => heard,
        Err(error) => panic!("after {heard:?}: {error}"),
    }
}

fn with_cookie(serving: &Serving) -> TcpStream {
    let mut stream = connect(serving);
    stream.write_all(Cookie::random().unwrap().as_bytes()).unwrap();
    stream
}

fn with_parameters(serving: &Serving, json: &[u8]) -> TcpStream {
    let mut stream = with_cookie(serving);
    let mut state = [0];
    stream.read_exact(&mut state).unwrap();
    assert_eq!(state[0], State::ParamExchange.byte());
    stream.write_all(&(json.len() as u32).to_be_bytes()).unwrap();
    stream.write_all(json).unwrap();
    stream
}

fn a_test_goes_through(serving: &Serving) {
    for transport in [Transport::Tcp, Transport::Udp] {
        let plan = plan(serving.address, transport);
        let started = clock::now();
        let report = client::run(&plan, &mut |_| {}, &StopFlag::default()).unwrap();
        assert!(report.complete);
        assert!(clock::now().since(started) < Duration::from_secs(5));
    }
}

#[test]
fn idle_half_open_and_dawdling_clients_disturb_nobody_and_are_dropped() {
    // One that never opens its streams, one that tests, and one that is about to leave.
    let serving = Serving::start(None, 3);
    let silent = connect(&serving);
    let mut part = connect(&serving);
    part.write_all(b"abc").unwrap();
    let cookie = with_cookie(&serving);
    let mut half_length = with_cookie(&serving);
    half_length.write_all(&[0, 0]).unwrap();
    let no_streams = with_parameters(&serving, PARAMETERS);
    let mut short = with_cookie(&serving);
    short.write_all(&200_u32.to_be_bytes()).unwrap();
    short.write_all(PARAMETERS).unwrap();
    a_test_goes_through(&serving);
    for (stream, says) in [
        (silent, &[][..]),
        (part, &[]),
        (cookie, &[State::ParamExchange]),
        (half_length, &[State::ParamExchange]),
        (short, &[State::ParamExchange]),
        (no_streams, &[State::CreateStreams, State::ServerError]),
    ] {
        let states: Vec<u8> = says.iter().map(|state| state.byte()).collect();
        let heard = heard(stream);
        assert!(heard.starts_with(&states), "{heard:?} where {says:?} was due");
    }
}

#[test]
fn nonsense_is_answered_at_once() {
    let serving = Serving::start(None, 2);
    let started = clock::now();
    let trouble = |json: &[u8]| {
        let heard = heard(with_parameters(&serving, json));
        assert_eq!(heard[0], State::ServerError.byte(), "{heard:?}");
        let trouble = Trouble::of(heard[1..9].try_into().unwrap());
        assert_eq!(trouble.reason, Trouble::RECEIVE_PARAMETERS);
    };
    trouble(b"not JSON");
    trouble(b"{}");
    trouble(br#"{"tcp":true,"parallel":100000}"#);
    trouble(br#"{"udp":true,"len":1e300}"#);
    trouble("[".repeat(8000).as_bytes());
    let mut http = connect(&serving);
    http.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:5201\r\n\r\n").unwrap();
    assert_eq!(heard(http), [State::AccessDenied.byte()]);
    for bytes in [8193, u32::MAX] {
        let mut oversized = with_cookie(&serving);
        oversized.write_all(&bytes.to_be_bytes()).unwrap();
        assert_eq!(heard(oversized), [State::ParamExchange.byte()]);
    }
    assert!(clock::now().since(started) < Duration::from_secs(5));
    a_test_goes_through(&serving);
}

#[test]
fn a_stream_with_another_cookie_does_not_join_a_test() {
    let serving = Serving::start(None, 2);
    let mut waiting = with_parameters(&serving, PARAMETERS);
    let mut state = [0];
    waiting.read_exact(&mut state).unwrap();
    assert_eq!(state[0], State::CreateStreams.byte());
    let mut stranger = with_cookie(&serving);
    stranger.read_exact(&mut state).unwrap();
    assert_eq!(state[0], State::ParamExchange.byte(), "it is a client of its own");
    let left = heard(waiting);
    assert!(!left.contains(&State::TestStart.byte()) || left[0] == State::ServerError.byte());
}

#[test]
fn udp_goes_to_the_address_of_the_control_connection_and_to_no_other() {
    let serving = Serving::start(None, 2);
    let json = br#"{"udp":true,"time":1,"parallel":1,"len":1000,"reverse":true}"#;
    let mut control = with_parameters(&serving, json);
    let mut state = [0];
    control.read_exact(&mut state).unwrap();
    assert_eq!(state[0], State::CreateStreams.byte());
    let victim = UdpSocket::bind("127.0.0.2:0").unwrap();
    victim.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    victim.send_to(b"9876", serving.address).unwrap();
    assert!(
        victim.recv(&mut [0; 2000]).is_err(),
        "an address that asked for nothing got an answer"
    );
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.send_to(b"9876", serving.address).unwrap();
    let mut reply = [0; 8];
    let (bytes, from) = peer.recv_from(&mut reply).unwrap();
    assert_eq!((&reply[..bytes], from), (&b"6789"[..], serving.address));
}

#[test]
fn a_client_that_vanishes_ends_its_test() {
    let serving = Serving::start(None, 1);
    let json =
        br#"{"udp":true,"time":60,"parallel":1,"len":1000,"bandwidth":1000000,"reverse":true}"#;
    let mut control = with_parameters(&serving, json);
    let mut state = [0];
    control.read_exact(&mut state).unwrap();
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.send_to(b"9876", serving.address).unwrap();
    peer.recv(&mut [0; 8]).unwrap();
    assert_eq!(peer.recv(&mut [0; 2000]).unwrap(), 1000);
    drop(control);
    // The data ends within a second.
    peer.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let deadline = clock::now() + Duration::from_secs(3);
    while peer.recv(&mut [0; 2000]).is_ok() {
        assert!(clock::now() < deadline, "it goes on sending to nobody");
    }
    a_test_goes_through(&serving);
}

#[test]
fn random_bytes_at_every_step_leave_the_server_as_it_was() {
    let serving = Serving::start(None, 4);
    // Any seed but zero: Marsaglia's xorshift.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..200_u32 {
        let bytes: Vec<u8> = (0..next() % 300).map(|_| next() as u8).collect();
        let mut stream = match round % 3 {
            0 => connect(&serving),
            1 => with_cookie(&serving),
            _ => with_parameters(&serving, PARAMETERS),
        };
        // The server may have closed before all was said.
        let _ = stream.write_all(&bytes);
        greet(serving.address, &bytes);
    }
    a_test_goes_through(&serving);
}

fn greet(server: SocketAddr, bytes: &[u8]) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(bytes, server).unwrap();
}
