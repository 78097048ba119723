//! Servers that say nothing, nonsense or too much: the client ends in time with a sentence.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::iperf3::client::{self, ClientError, ClientPlan};
use fp_engine::iperf3::wire::{Cookie, End, State, Transport};
use fp_engine::os::clock;

use crate::real::iperf3::far_side::plan;

/// Runs a client against a server that acts on its control connection, and on what follows.
fn meets(act: impl FnOnce(TcpStream, &TcpListener) + Send) -> ClientError {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let started = clock::now();
    let plan =
        ClientPlan { end: End::After(Duration::from_secs(1)), ..plan(address, Transport::Tcp) };
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let (mut control, _) = listener.accept().unwrap();
            let mut cookie = [0; Cookie::BYTES];
            control.read_exact(&mut cookie).unwrap();
            act(control, &listener);
        });
        client::run(&plan, &mut |_| {}, &StopFlag::default())
    });
    assert!(clock::now().since(started) < Duration::from_secs(10), "the client hung");
    outcome.unwrap_err()
}

/// Until the client closes.
fn wait_for_the_end(mut stream: TcpStream) {
    let mut rest = [0; 4096];
    while stream.read(&mut rest).is_ok_and(|bytes| bytes > 0) {}
}

fn say(stream: &mut TcpStream, state: State) {
    stream.write_all(&[state.byte()]).unwrap();
}

fn take_json(stream: &mut TcpStream) {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut json = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut json).unwrap();
}

/// As a good server up to the results.
fn up_to_the_results(control: &mut TcpStream, listener: &TcpListener) -> TcpStream {
    say(control, State::ParamExchange);
    take_json(control);
    say(control, State::CreateStreams);
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; Cookie::BYTES]).unwrap();
    say(control, State::TestStart);
    say(control, State::TestRunning);
    let mut sink = stream.try_clone().unwrap();
    thread::spawn(move || std::io::copy(&mut sink, &mut std::io::sink()));
    let mut end = [0];
    control.read_exact(&mut end).unwrap();
    assert_eq!(end[0], State::TestEnd.byte());
    say(control, State::ExchangeResults);
    take_json(control);
    stream
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let error = meets(|control, _| wait_for_the_end(control));
    assert!(error.to_string().contains("said nothing"), "{error}");
}

#[test]
fn a_server_that_closes_or_babbles_is_named() {
    let error = meets(|control, _| drop(control));
    assert!(error.to_string().contains("closed"), "{error}");
    let error = meets(|mut control, _| {
        control.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n").unwrap();
        wait_for_the_end(control);
    });
    assert!(error.to_string().contains("does not speak iperf3"), "{error}");
    let error = meets(|mut control, _| {
        say(&mut control, State::TestRunning);
        wait_for_the_end(control);
    });
    assert!(error.to_string().contains("out of turn"), "{error}");
}

#[test]
fn a_server_that_is_busy_or_in_trouble_is_believed() {
    let error = meets(|mut control, _| say(&mut control, State::AccessDenied));
    assert!(error.to_string().contains("busy"), "{error}");
    let error = meets(|mut control, _| {
        say(&mut control, State::ParamExchange);
        take_json(&mut control);
        let trouble = [&[State::ServerError.byte()][..], &142_u32.to_be_bytes(), &[0; 4]].concat();
        control.write_all(&trouble).unwrap();
        wait_for_the_end(control);
    });
    assert!(error.to_string().contains("does not accept this user"), "{error}");
}

#[test]
fn results_that_are_announced_too_long_or_make_no_sense_are_refused() {
    let error = meets(|mut control, listener| {
        let _stream = up_to_the_results(&mut control, listener);
        control.write_all(&u32::MAX.to_be_bytes()).unwrap();
        wait_for_the_end(control);
    });
    assert!(error.to_string().contains("4294967295 bytes"), "{error}");
    let error = meets(|mut control, listener| {
        let _stream = up_to_the_results(&mut control, listener);
        control.write_all(&[0, 0, 0, 2]).unwrap();
        control.write_all(b"[]").unwrap();
        wait_for_the_end(control);
    });
    assert!(error.to_string().contains("results"), "{error}");
}

#[test]
fn a_server_that_stops_in_the_middle_of_its_results_is_given_up() {
    let error = meets(|mut control, listener| {
        let _stream = up_to_the_results(&mut control, listener);
        control.write_all(&[0, 0, 1, 0, b'{']).unwrap();
        wait_for_the_end(control);
    });
    assert!(error.to_string().contains("said nothing"), "{error}");
}

#[test]
fn nobody_at_the_port_is_a_sentence_with_a_remedy() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let plan = plan(address, Transport::Tcp);
    let error = client::run(&plan, &mut |_| {}, &StopFlag::default()).unwrap_err();
    assert!(error.to_string().contains("fullpipe serve --iperf3"), "{error}");
}
