//! One test of the server: from the client's cookie to the results, a deadline for every step.

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::time::Duration;

use fp_model::{Rate, Time};
use socket2::Socket;

use super::House;
use super::expected::{Arrived, Expectation, UdpAsked};
use crate::far::guests::Guest;
use crate::iperf3::account::{Account, Closed};
use crate::iperf3::control::{Control, ControlError, PATIENCE};
use crate::iperf3::sockets::dress_tcp;
use crate::iperf3::traffic::{Offer, Role, Socket as StreamSocket, Stream, Traffic};
use crate::iperf3::wire::{
    Cookie, End, Parameters, ParametersError, Results, ResultsError, State, Transport, Trouble,
    stream_ids,
};
use crate::os::clock;
use crate::os::wake::{Interest, wait};

/// Beyond the time that was asked for: slow starts, long round trips, what is still on its way.
const GRACE: Duration = Duration::from_secs(10);
/// A test in which nothing moves for so long is over.
const STALL: Duration = Duration::from_secs(10);
const LOOK_UP: Duration = Duration::from_millis(50);

/// Why a test came to no end: a clause for the log.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Control(#[from] ControlError),
    #[error("its parameters cannot be served: {0}")]
    Parameters(#[from] ParametersError),
    #[error("its results cannot be used: {0}")]
    Results(#[from] ResultsError),
    #[error("it is not authorised")]
    NotAuthorised,
    #[error("this server runs {0} tests already")]
    Full(usize),
    #[error("only {ready} of {wanted} streams came in {} s", PATIENCE.as_secs())]
    Streams { ready: usize, wanted: usize },
    #[error("another test of this address waits for its UDP streams")]
    Turn,
    #[error("the test lasted longer than this server allows")]
    TooLong,
    #[error("nothing came through for {} s", STALL.as_secs())]
    Stalled,
    #[error("this host failed: {0}")]
    Host(#[from] io::Error),
}

impl Failure {
    /// What the client is told, if anything.
    const fn trouble(&self) -> Option<Trouble> {
        let reason = match self {
            Self::Parameters(_) => Trouble::RECEIVE_PARAMETERS,
            Self::NotAuthorised => Trouble::NOT_AUTHORISED,
            Self::Streams { .. } | Self::Turn | Self::Host(_) => Trouble::CREATE_STREAM,
            Self::TooLong | Self::Stalled => Trouble::LASTED_TOO_LONG,
            Self::Control(_) | Self::Results(_) | Self::Full(_) => return None,
        };
        Some(Trouble { reason, errno: 0 })
    }
}

pub(super) fn attend(
    house: &House,
    guest: &Guest,
    stream: TcpStream,
    peer: SocketAddr,
    cookie: Cookie,
) {
    let outcome =
        Control::new(stream, house.stop.clone()).map_err(Failure::Host).and_then(|control| {
            let mut session = Session { house, guest, control, cookie };
            session.run().inspect_err(|failure| session.say_why(failure))
        });
    match outcome {
        Ok(summary) => house.log.line(format_args!("{peer} iperf3: {summary}")),
        Err(failure) => house.log.line(format_args!("{peer} iperf3 ended: {failure}")),
    }
}

struct Session<'a> {
    house: &'a House,
    guest: &'a Guest,
    control: Control,
    cookie: Cookie,
}

impl Session<'_> {
    fn run(&mut self) -> Result<String, Failure> {
        self.control.say(State::ParamExchange)?;
        let asked = Parameters::read(&self.control.json(Parameters::BYTES_MAX)?)?;
        self.authorise(&asked)?;
        self.guest.admit().map_err(Failure::Full)?;
        let streams = self.streams(&asked)?;
        let mut traffic = Traffic::receive(asked.transport, streams, asked.counter)?;
        let started = clock::now();
        // Before the first byte: each of them counts.
        let account = Account::open(&traffic, started);
        self.control.say(State::TestStart)?;
        self.control.say(State::TestRunning)?;
        traffic.send(asked.transport, Offer::without_end(&asked))?;
        let closed = self.conduct(&asked, &mut traffic, account, started)?;
        let summary = summary(&asked, &closed);
        self.exchange(&asked, &closed, &summary)?;
        Ok(summary)
    }

    /// What the client is told of a failure; it may be gone.
    fn say_why(&mut self, failure: &Failure) {
        let _ = match (failure, failure.trouble()) {
            (_, Some(trouble)) => self.control.say_trouble(trouble),
            (Failure::Full(_), _) => self.control.say(State::AccessDenied),
            (Failure::Control(ControlError::Stopped), _) => {
                self.control.say(State::ServerTerminate)
            }
            (_, None) => Ok(()),
        };
    }

    fn authorise(&self, asked: &Parameters) -> Result<(), Failure> {
        let Some(authorisation) = &self.house.authorisation else { return Ok(()) };
        let token = asked.authtoken.as_deref().ok_or(Failure::NotAuthorised)?;
        authorisation.admit(token, clock::wall()).map(drop).ok_or(Failure::NotAuthorised)
    }

    /// The client opens those that it sends on first.
    fn streams(&mut self, asked: &Parameters) -> Result<Vec<Stream>, Failure> {
        let (theirs, ours) = asked.streams_of_client();
        let peer = self.control.peer()?;
        let udp = match asked.transport {
            Transport::Tcp => None,
            Transport::Udp => {
                let local = self.control.local()?;
                Some(UdpAsked { peer: peer.ip(), local, asked: asked.clone() })
            }
        };
        let expectation =
            self.house.expected.expect(self.cookie, udp, PATIENCE).ok_or(Failure::Turn)?;
        self.control.say(State::CreateStreams)?;
        let sockets = self.collect(&expectation, (theirs + ours) as usize, peer.ip(), asked)?;
        let roles = std::iter::repeat_n(Role::Receiver, theirs as usize)
            .chain(std::iter::repeat_n(Role::Sender, ours as usize));
        let streams = roles.zip(stream_ids()).zip(sockets);
        Ok(streams.map(|((role, id), socket)| Stream::new(id, role, socket)).collect())
    }

    fn collect(
        &mut self,
        expectation: &Expectation<'_>,
        wanted: usize,
        peer: IpAddr,
        asked: &Parameters,
    ) -> Result<Vec<StreamSocket>, Failure> {
        let deadline = clock::now() + PATIENCE;
        let mut arrived = Vec::new();
        while arrived.len() < wanted {
            if let Some(said) = self.control.state_at_hand()? {
                return Err(self.control.unexpected(said).into());
            }
            if self.house.stop.is_set() {
                return Err(ControlError::Stopped.into());
            }
            if clock::now() >= deadline {
                return Err(Failure::Streams { ready: arrived.len(), wanted });
            }
            match expectation.arrivals.recv_timeout(LOOK_UP) {
                Ok(Arrived::Tcp { order, stream }) => {
                    let socket = Socket::from(stream);
                    dress_accepted(&socket, peer, asked)?;
                    arrived.push((order, StreamSocket::Tcp(socket.into())));
                }
                Ok(Arrived::Udp(socket)) => {
                    arrived.push((arrived.len() as u64, StreamSocket::Udp(socket)));
                }
                // The other end of the channel lives as long as the expectation.
                Err(_) => {}
            }
        }
        arrived.sort_by_key(|(order, _)| *order);
        Ok(arrived.into_iter().map(|(_, socket)| socket).collect())
    }

    /// Until the client says that it is over.
    fn conduct(
        &mut self,
        asked: &Parameters,
        traffic: &mut Traffic,
        mut account: Account,
        started: Time,
    ) -> Result<Closed, Failure> {
        let mut omit_until = (!asked.omit.is_zero()).then_some(started + asked.omit);
        let mut limits = Limits::new(asked, self.house.max_duration, started);
        loop {
            let now = clock::now();
            match self.control.state_at_hand()? {
                Some(State::TestEnd) => break,
                Some(said) => return Err(self.control.unexpected(said).into()),
                None => {}
            }
            if self.house.stop.is_set() {
                return Err(ControlError::Stopped.into());
            }
            if omit_until.is_some_and(|until| now >= until) {
                omit_until = None;
                account.begin(traffic, now);
            }
            limits.look(traffic, now)?;
            let next = omit_until.map_or(LOOK_UP, |until| until.since(now).min(LOOK_UP));
            wait(&[(self.control.as_fd(), Interest::Read)], next)?;
        }
        // A stream that broke as the client ended its part is no failure.
        let _ = traffic.stop_sending();
        traffic.half_close();
        let ended = clock::now();
        let _ = traffic.drain();
        let last_at = traffic.counts().iter().map(|count| count.last_at).max();
        Ok(account.close(traffic, last_at.map_or(ended, |at| at.max(ended))))
    }

    fn exchange(
        &mut self,
        asked: &Parameters,
        closed: &Closed,
        summary: &str,
    ) -> Result<(), Failure> {
        self.control.say(State::ExchangeResults)?;
        Results::read(&self.control.json(Results::OF_CLIENT_BYTES_MAX)?)?;
        let mut ours = closed.results();
        if asked.wants_server_output {
            ours.server_output_text = Some(format!("{}{summary}\n", lines(asked, closed)));
        }
        // Numbers and short strings always have a form in JSON.
        self.control.write_json(&serde_json::to_value(ours).unwrap_or_default())?;
        // A client may begin its next test as soon as it has read this. Where the connection has no
        // second handle, the place is free when it ends.
        if let Ok(door) = self.control.stream().try_clone() {
            self.guest.step_back(door);
        }
        self.control.say(State::DisplayResults)?;
        match self.control.state() {
            // Clients differ in how they leave, and all has been said.
            Ok(_) | Err(ControlError::Closed | ControlError::Broken(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A congestion control that this host does not have, or does not allow, is no reason to refuse a
/// test: the results say which one was used.
fn dress_accepted(socket: &Socket, peer: IpAddr, asked: &Parameters) -> io::Result<()> {
    if let Some(name) = &asked.congestion {
        let _ = rustix::net::sockopt::set_tcp_congestion(socket, name);
    }
    dress_tcp(socket, peer, asked)
}

/// How long a test may last, and how long nothing may move.
struct Limits {
    until: Time,
    moved: u64,
    moved_at: Time,
    patience: Duration,
}

impl Limits {
    fn new(asked: &Parameters, max_duration: Duration, now: Time) -> Self {
        let lasts = match asked.end {
            End::After(time) => (asked.omit + time).min(max_duration),
            End::Bytes(_) | End::Blocks(_) | End::Never => max_duration,
        };
        let block = |rate: Rate| {
            let blocks = u64::from(asked.burst_blocks.max(1)) * 2;
            rate.time_for(u64::from(asked.block_bytes) * blocks)
        };
        let patience = asked.rate.map_or(STALL, |rate| STALL.max(block(rate)));
        Self { until: now + lasts + GRACE, moved: 0, moved_at: now, patience }
    }

    fn look(&mut self, traffic: &Traffic, now: Time) -> Result<(), Failure> {
        let moved = traffic.counts().iter().map(|count| count.bytes).sum();
        if moved != self.moved {
            (self.moved, self.moved_at) = (moved, now);
        }
        if now >= self.until {
            Err(Failure::TooLong)
        } else if now.since(self.moved_at) >= self.patience {
            Err(Failure::Stalled)
        } else {
            Ok(())
        }
    }
}

/// A line for each stream.
fn lines(asked: &Parameters, closed: &Closed) -> String {
    let mut text = String::new();
    for balance in &closed.balances {
        let count = &balance.measured;
        let rate = Rate::over(count.bytes, closed.lasted).as_bps() as f64 / 1e6;
        let does = match balance.role {
            Role::Sender => "sent",
            Role::Receiver => "received",
        };
        // Writing to a string does not fail.
        let _ =
            write!(text, "stream {}: {does} {} bytes, {rate:.3} Mbit/s", balance.id, count.bytes);
        if asked.transport == Transport::Udp && balance.role == Role::Receiver {
            let jitter = count.jitter.as_secs_f64() * 1000.0;
            let (lost, of) = (count.lost_packets(), count.packets);
            let _ = write!(text, ", jitter {jitter:.3} ms, {lost} of {of} datagrams lost");
        }
        text += "\n";
    }
    text
}

fn summary(asked: &Parameters, closed: &Closed) -> String {
    let transport = match asked.transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    };
    let of = |role| {
        let ours = closed.balances.iter().filter(move |balance| balance.role == role);
        ours.map(|balance| balance.measured.bytes).sum::<u64>()
    };
    let streams = closed.balances.len();
    let (received, sent) = (of(Role::Receiver), of(Role::Sender));
    let lasted = closed.lasted.as_secs_f64();
    format!(
        "{streams} {transport} stream{}, {received} bytes received, {sent} bytes sent in \
         {lasted:.3} s",
        if streams == 1 { "" } else { "s" }
    )
}
