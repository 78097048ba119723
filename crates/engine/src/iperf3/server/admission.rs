//! Where connections and greetings arrive: each is handed to its test, begins one, or has to go.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fp_model::Time;
use rustix::event::epoll::EventFlags;

use super::{House, Server, session};
use crate::control::socket::plain;
use crate::far::guests::Guest;
use crate::far::{comes_again, lacks_descriptors};
use crate::iperf3::control::is_passing;
use crate::iperf3::sockets::udp_socket;
use crate::iperf3::wire::{Cookie, State, UDP_HELLO, UDP_REPLY};
use crate::kernel_tcp::watch::Watch;
use crate::os::clock;
use crate::os::udp::is_about_an_earlier_datagram;
use crate::os::wake::wait;

/// How long a connection may take to show a cookie.
const STRANGER_MAX: Duration = Duration::from_secs(5);
const LOOK_UP: Duration = Duration::from_millis(100);
/// Numbers of the two doors; connections have lower ones.
const LISTENER: u64 = u64::MAX;
const GREETINGS: u64 = u64::MAX - 1;
/// Greetings taken before connections have their turn.
const GREETINGS_MAX: u32 = 64;

pub(super) struct Admission<'a> {
    server: &'a Server,
    watch: Watch,
    /// In the order of their arrival.
    strangers: BTreeMap<u64, Stranger>,
    next_number: u64,
}

/// A connection that has not shown a whole cookie.
struct Stranger {
    stream: TcpStream,
    peer: SocketAddr,
    guest: Guest,
    until: Time,
    cookie: [u8; Cookie::BYTES],
    have: usize,
}

/// What became of a stranger.
enum Shown {
    NotYet,
    Cookie(Cookie),
}

impl<'a> Admission<'a> {
    pub(super) fn new(server: &'a Server) -> io::Result<Self> {
        let watch = Watch::new()?;
        watch.add(&server.listener, LISTENER, EventFlags::IN)?;
        watch.add(&server.greetings, GREETINGS, EventFlags::IN)?;
        Ok(Self { server, watch, strangers: BTreeMap::new(), next_number: 0 })
    }

    /// Waits a moment for whoever comes; tests that begin join `tests`.
    pub(super) fn attend(&mut self, tests: &mut Vec<JoinHandle<()>>) -> io::Result<()> {
        for k in 0..self.watch.wait(LOOK_UP)? {
            match self.watch.ready(k) {
                LISTENER => self.accept(tests)?,
                GREETINGS => self.answer_greetings(),
                number => self.advance(number, tests),
            }
        }
        let now = clock::now();
        // Closed with them, they leave the watch.
        self.strangers.retain(|_, stranger| now < stranger.until);
        Ok(())
    }

    /// One connection: its cookie has mostly come with it.
    fn accept(&mut self, tests: &mut Vec<JoinHandle<()>>) -> io::Result<()> {
        let (stream, peer) = match self.server.listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if comes_again(&error) => return Ok(()),
            // Until a test gives some back, a pause keeps the processor free.
            Err(error) if lacks_descriptors(&error) => return wait(&[], LOOK_UP),
            Err(error) => return Err(error),
        };
        let number = self.next_number;
        self.next_number += 1;
        match self.receive(stream, plain(peer)) {
            Ok(stranger) => {
                let watched = self.watch.add(&stranger.stream, number, EventFlags::IN);
                self.strangers.insert(number, stranger);
                watched?;
                self.advance(number, tests);
            }
            // The client finds its connection closed.
            Err(error) => self.house().log.line(format_args!("{peer} turned away: {error}")),
        }
        Ok(())
    }

    fn receive(&self, stream: TcpStream, peer: SocketAddr) -> io::Result<Stranger> {
        stream.set_nonblocking(true)?;
        let guest = self.house().guests.arrive(peer.ip(), stream.try_clone()?);
        let until = clock::now() + STRANGER_MAX;
        Ok(Stranger { stream, peer, guest, until, cookie: [0; Cookie::BYTES], have: 0 })
    }

    fn house(&self) -> &'a Arc<House> {
        &self.server.house
    }

    /// Whoever shows no cookie, or breaks off, is dropped and the others go on.
    fn advance(&mut self, number: u64, tests: &mut Vec<JoinHandle<()>>) {
        let Some(mut stranger) = self.strangers.remove(&number) else { return };
        match stranger.read() {
            Ok(Shown::NotYet) => {
                self.strangers.insert(number, stranger);
            }
            Ok(Shown::Cookie(cookie)) => {
                // Of the same connection under another handle nothing is to be told here any more.
                let _ = self.watch.remove(&stranger.stream);
                self.admit(number, stranger, cookie, tests);
            }
            Err(_) => {
                let _ = self.watch.remove(&stranger.stream);
                // What is not a client is told so as iperf3 tells it, if it listens.
                let _ = stranger.stream.write(&[State::AccessDenied.byte()]);
            }
        }
    }

    /// A stream of a test that waits for it, or a new test.
    fn admit(
        &self,
        number: u64,
        stranger: Stranger,
        cookie: Cookie,
        tests: &mut Vec<JoinHandle<()>>,
    ) {
        let Stranger { stream, peer, guest, .. } = stranger;
        let Some(stream) = self.house().expected.hand_over(&cookie, number, stream) else {
            return;
        };
        let house = Arc::clone(self.house());
        let test = thread::Builder::new()
            .name("iperf3-test".into())
            .spawn(move || session::attend(&house, &guest, stream, peer, cookie));
        match test {
            Ok(test) => tests.push(test),
            Err(error) => self.house().log.line(format_args!("{peer} turned away: {error}")),
        }
    }

    fn answer_greetings(&self) {
        let mut hello = [0; 8];
        for _ in 0..GREETINGS_MAX {
            match self.server.greetings.recv_from(&mut hello) {
                Ok((bytes, from)) => self.answer(&hello[..bytes], plain(from)),
                Err(error) if is_about_an_earlier_datagram(&error) => {}
                Err(_) => return,
            }
        }
    }

    /// Only the address of a control connection whose test waits for UDP streams gets an answer.
    fn answer(&self, hello: &[u8], from: SocketAddr) {
        if hello.len() != UDP_HELLO.len() {
            return;
        }
        let mut waiting = vec![from];
        while let Some(from) = waiting.pop() {
            match self.open(from) {
                Ok(strays) => waiting.extend(strays),
                Err(error) => {
                    self.house().log.line(format_args!("{from}: no UDP stream: {error}"));
                }
            }
        }
    }

    /// Binds a stream to where its greeting came from. Until it was bound to its peer, the socket
    /// took greetings of others as well: those are given back.
    fn open(&self, from: SocketAddr) -> io::Result<Vec<SocketAddr>> {
        let Some(udp) = self.house().expected.udp_from(from.ip()) else { return Ok(Vec::new()) };
        let socket = udp_socket(Some(udp.local), from, &udp.asked)?;
        let strays = strays(&socket, from);
        match socket.send(&UDP_REPLY) {
            Err(error) if !is_about_an_earlier_datagram(&error) => return Err(error),
            Ok(_) | Err(_) => {}
        }
        self.house().expected.hand_over_udp(from.ip(), socket);
        Ok(strays)
    }
}

fn strays(socket: &UdpSocket, peer: SocketAddr) -> Vec<SocketAddr> {
    let mut strays = Vec::new();
    let mut hello = [0; 8];
    for _ in 0..GREETINGS_MAX {
        match socket.recv_from(&mut hello) {
            Ok((bytes, from)) if bytes == UDP_HELLO.len() && plain(from) != peer => {
                strays.push(plain(from));
            }
            Ok(_) => {}
            Err(error) if is_about_an_earlier_datagram(&error) => {}
            Err(_) => break,
        }
    }
    strays
}

impl Stranger {
    fn read(&mut self) -> io::Result<Shown> {
        while self.have < Cookie::BYTES {
            match self.stream.read(&mut self.cookie[self.have..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.have += bytes,
                Err(error) if is_passing(&error) => return Ok(Shown::NotYet),
                Err(error) => return Err(error),
            }
        }
        let cookie = Cookie::of(self.cookie).ok_or(ErrorKind::InvalidData)?;
        Ok(Shown::Cookie(cookie))
    }
}
