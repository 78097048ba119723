//! Which tests wait for their streams, and which address may open UDP streams just now.

use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::iperf3::wire::{Cookie, Parameters};

/// The tests that wait for streams.
#[derive(Debug, Default)]
pub(super) struct Expected {
    tests: Mutex<Vec<Test>>,
    left: Condvar,
}

#[derive(Debug)]
struct Test {
    cookie: Cookie,
    /// Who may open UDP streams of it, and what they are to be like; `None` of a test over TCP.
    udp: Option<UdpAsked>,
    post: Sender<Arrived>,
}

/// What is needed to answer the greeting of a UDP stream.
#[derive(Clone, Debug)]
pub(super) struct UdpAsked {
    pub(super) peer: IpAddr,
    /// As the client reaches this server.
    pub(super) local: SocketAddr,
    pub(super) asked: Parameters,
}

/// A stream of a test.
#[derive(Debug)]
pub(super) enum Arrived {
    /// With its place in the order in which all connections came.
    Tcp {
        order: u64,
        stream: TcpStream,
    },
    Udp(UdpSocket),
}

/// The expectation of one test, until it is dropped.
#[derive(Debug)]
pub(super) struct Expectation<'a> {
    expected: &'a Expected,
    cookie: Cookie,
    pub(super) arrivals: Receiver<Arrived>,
}

impl Expected {
    /// Waits for streams of this test. The greeting of a UDP stream says nothing but where it comes
    /// from, so that of two tests from one address the second waits for the first to have all of
    /// its streams; `None` where that takes longer than `patience`, or the cookie is not its own.
    pub(super) fn expect(
        &self,
        cookie: Cookie,
        udp: Option<UdpAsked>,
        patience: Duration,
    ) -> Option<Expectation<'_>> {
        let is_in_the_way = |tests: &mut Vec<Test>| {
            let of = |test: &Test| test.udp.as_ref().map(|udp| udp.peer);
            let peer = udp.as_ref().map(|udp| udp.peer);
            tests.iter().any(|test| test.cookie == cookie || (peer.is_some() && of(test) == peer))
        };
        let (mut tests, _) = self
            .left
            .wait_timeout_while(self.tests(), patience, is_in_the_way)
            .unwrap_or_else(PoisonError::into_inner);
        if is_in_the_way(&mut tests) {
            return None;
        }
        let (post, arrivals) = mpsc::channel();
        tests.push(Test { cookie, udp, post });
        Some(Expectation { expected: self, cookie, arrivals })
    }

    fn tests(&self) -> MutexGuard<'_, Vec<Test>> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a connection to the test whose cookie it shows; gives it back where there is none.
    pub(super) fn hand_over(
        &self,
        cookie: &Cookie,
        order: u64,
        stream: TcpStream,
    ) -> Option<TcpStream> {
        let tests = self.tests();
        match tests.iter().find(|test| test.cookie == *cookie && test.udp.is_none()) {
            // A test that is just over has no use for it, and nobody else has.
            Some(test) => {
                let _ = test.post.send(Arrived::Tcp { order, stream });
                None
            }
            None => Some(stream),
        }
    }

    /// What a UDP stream from this address is to be like; `None` where none is expected.
    pub(super) fn udp_from(&self, peer: IpAddr) -> Option<UdpAsked> {
        let tests = self.tests();
        let mut asked = tests.iter().filter_map(|test| test.udp.as_ref());
        asked.find(|udp| udp.peer == peer).cloned()
    }

    pub(super) fn hand_over_udp(&self, peer: IpAddr, socket: UdpSocket) {
        let tests = self.tests();
        let is_theirs = |test: &&Test| test.udp.as_ref().is_some_and(|udp| udp.peer == peer);
        if let Some(test) = tests.iter().find(is_theirs) {
            // A test that is just over has no use for it.
            let _ = test.post.send(Arrived::Udp(socket));
        }
    }
}

impl Drop for Expectation<'_> {
    fn drop(&mut self) {
        self.expected.tests().retain(|test| test.cookie != self.cookie);
        self.expected.left.notify_all();
    }
}
