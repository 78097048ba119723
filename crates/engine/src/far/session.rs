//! One near end's session at the far end, from its first byte to the last socket closed.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use fp_model::contact::GIVEN_UP_AFTER;
use fp_model::{Direction, Family, FlowSpec, Interruption, TesterHealth, Time, Trial};
use fp_net::swarm::Stop;
use rustls::ServerConnection;

use super::beside::Beside;
use super::guests::Guest;
use super::tally::Happened;
use super::{House, admission};
use crate::Lease;
use crate::control::channel::{Channel, ChannelError};
use crate::control::line::{Line, LineError};
use crate::control::message::{
    Admission, Entry, FlowAddress, Hello, Message, PROTOCOL, TO_FAR_MAX_BYTES, common_protocol,
};
use crate::control::pairing::Token;
use crate::control::udp_heartbeat::UdpHeartbeat;
use crate::control::{host_facts, socket};
use crate::end::End;
use crate::flow::{self, Broken, Ended, FlowHalf, Mail, News, OPENING_MAX, Opening, RunningFlows};
use crate::half::Half;
use crate::os::{clock, interfaces, random};
use crate::swarm;

/// From the first byte to the token: the whole of it, not each wait.
const ENTRY_MAX: Duration = Duration::from_secs(5);
const PARTING_MAX: Duration = Duration::from_millis(500);
const LOOK_UP: Duration = Duration::from_millis(100);
/// Messages that may wait unread, each of the greatest length: a near end that obeys sends five in a trial.
const UNREAD_MAX: usize = 64;

/// The first protocol version whose near ends can be told of other trials.
const COUNTING_PROTOCOL: u32 = 5;

/// Why a stranger did not become a guest.
#[derive(Debug, thiserror::Error)]
enum NotAdmitted {
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    #[error(transparent)]
    Socket(#[from] io::Error),
    #[error("it speaks protocol {0}, this end speaks {PROTOCOL}")]
    Protocol(u32),
    #[error("it showed a wrong token")]
    WrongToken,
    #[error("there are {0} sessions already")]
    Full(usize),
}

impl NotAdmitted {
    const fn happened(&self) -> Happened {
        match self {
            Self::Channel(_) | Self::Tls(_) | Self::Socket(_) => Happened::RefusedOther,
            Self::Protocol(_) => Happened::RefusedProtocol,
            Self::WrongToken => Happened::RefusedToken,
            Self::Full(_) => Happened::RefusedFull,
        }
    }
}

/// Serves whoever is at the other end of `stream` until one of the two ends it.
pub(super) fn attend(house: &House, guest: Guest, stream: TcpStream, peer: SocketAddr) {
    let admitted = admit(house, stream, &guest, peer);
    house.tally.count(match &admitted {
        Ok(_) => Happened::Session,
        Err(refused) => refused.happened(),
    });
    let admitted = match admitted {
        Ok(admitted) => admitted,
        Err(
            refused @ (NotAdmitted::Protocol(_) | NotAdmitted::WrongToken | NotAdmitted::Full(_)),
        ) => return house.log.line(format_args!("{peer} not admitted: {refused}")),
        // Port scanners are not worth a line each.
        Err(NotAdmitted::Channel(_) | NotAdmitted::Tls(_) | NotAdmitted::Socket(_)) => return,
    };
    house.log.line(format_args!("{peer} session begins"));
    let outcome = Session::begin(house, admitted, peer).map(|mut session| session.conduct());
    match outcome {
        Ok(Over { trials, why }) => {
            house.log.line(format_args!("{peer} session ends after {trials} trials: {why}"));
        }
        Err(error) => house.log.line(format_args!("{peer} session failed: {error}")),
    }
}

/// A near end that has shown the token.
struct Admitted {
    channel: Channel,
    heartbeat: Option<UdpHeartbeat>,
    protocol: u32,
}

fn admit(
    house: &House,
    stream: TcpStream,
    guest: &Guest,
    peer: SocketAddr,
) -> Result<Admitted, NotAdmitted> {
    let deadline = clock::now() + ENTRY_MAX;
    let tls = ServerConnection::new(house.tls.clone())?;
    let mut channel = Channel::far(tls, socket::prepare(stream)?);
    let outcome = check_entry(house, &mut channel, guest, deadline);
    if outcome.is_err() {
        let parting = clock::now() + PARTING_MAX;
        channel.part(parting.min(deadline));
    }
    let protocol = outcome?;
    let heartbeat = welcome(house, &mut channel, peer)?;
    Ok(Admitted { channel, heartbeat, protocol })
}

/// The near end's protocol version.
fn check_entry(
    house: &House,
    channel: &mut Channel,
    guest: &Guest,
    deadline: Time,
) -> Result<u32, NotAdmitted> {
    let hello: Hello = channel.receive(deadline, &house.stop)?;
    channel.queue(&Hello { protocol: PROTOCOL })?;
    if common_protocol(PROTOCOL, hello.protocol).is_none() {
        return Err(NotAdmitted::Protocol(hello.protocol));
    }
    let entry: Entry = channel.receive(deadline, &house.stop)?;
    if Token(entry.token) != house.secret.token {
        channel.queue(&Admission::WrongToken {})?;
        return Err(NotAdmitted::WrongToken);
    }
    if let Err(sessions) = guest.admit() {
        channel.queue(&Admission::Full { sessions })?;
        return Err(NotAdmitted::Full(sessions));
    }
    Ok(hello.protocol)
}

fn welcome(
    house: &House,
    channel: &mut Channel,
    peer: SocketAddr,
) -> Result<Option<UdpHeartbeat>, NotAdmitted> {
    let local = socket::plain(channel.local_address()?);
    // An address that no interface holds is possible, and then its MTU is not known.
    let interface_mtu_bytes = interfaces::mtu_of(local.ip()).ok().flatten();
    // Without heartbeats by UDP those of the connection have to do.
    let opened = UdpHeartbeat::far(local, &house.data_ports, peer.ip()).ok();
    let (heartbeat, address) = opened.unzip();
    let facts = host_facts();
    let other_address = interfaces::other_family_of(local.ip()).ok().flatten();
    channel.queue(&Admission::Welcome {
        facts,
        interface_mtu_bytes,
        other_address,
        pulse: address,
    })?;
    channel.allow(TO_FAR_MAX_BYTES);
    channel.exchange()?;
    Ok(heartbeat)
}

struct Session<'a> {
    house: &'a House,
    local: SocketAddr,
    peer: SocketAddr,
    near_protocol: u32,
    lease: Lease,
    mail: Receiver<Mail>,
    /// How many messages of the near end are in the mail.
    unread: Arc<AtomicUsize>,
    post: Sender<Mail>,
    running: Option<RunningTrial>,
    trials: u64,
    /// Last, so that the flows are gone before the near end sees the connection close.
    line: Line,
}

struct RunningTrial {
    id: u64,
    flows: RunningFlows,
    halves: Vec<Option<Half>>,
    health: TesterHealth,
    started: Option<Started>,
}

/// Once the near end has said when a trial begins.
struct Started {
    /// By this end's clock.
    at: Time,
    beside: Beside,
}

struct Over {
    trials: u64,
    why: Why,
}

enum Why {
    Line(LineError),
    Stopped,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(LineError::Channel(ChannelError::Closed)) => f.write_str("done"),
            Self::Line(error) => write!(f, "{error}"),
            Self::Stopped => f.write_str("the far end was stopped"),
        }
    }
}

impl<'a> Session<'a> {
    fn begin(house: &'a House, admitted: Admitted, peer: SocketAddr) -> io::Result<Self> {
        let Admitted { channel, heartbeat, protocol: near_protocol } = admitted;
        let local = channel.local_address()?;
        let lease = Lease::of_far_end(clock::now());
        let (post, mail) = mpsc::channel();
        let to_me = post.clone();
        let unread = Arc::new(AtomicUsize::new(0));
        let arrived = Arc::clone(&unread);
        let hear = Box::new(move |heard| {
            let before = arrived.fetch_add(1, Ordering::Relaxed);
            // The session outlives its line, so that the mail is always read.
            let _ = to_me.send(Mail::Line(heard));
            if before < UNREAD_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let line = Line::start(channel, End::Far, heartbeat, lease.clone(), hear)?;
        let local = socket::plain(local);
        Ok(Self {
            house,
            local,
            peer,
            near_protocol,
            lease,
            mail,
            unread,
            post,
            running: None,
            trials: 0,
            line,
        })
    }

    fn conduct(&mut self) -> Over {
        let why = loop {
            if self.house.is_closing() {
                let reason = "it was stopped".to_owned();
                self.line.say(Message::Bye { reason });
                break Why::Stopped;
            }
            match self.mail.recv_timeout(LOOK_UP) {
                Ok(Mail::Line(Ok(message))) => {
                    self.unread.fetch_sub(1, Ordering::Relaxed);
                    if let Err(error) = self.on_message(message) {
                        self.line.say(Message::Bye { reason: error.to_string() });
                        break Why::Line(error);
                    }
                }
                Ok(Mail::Line(Err(error))) => break Why::Line(error),
                Ok(Mail::Flow { trial, flow, news }) => self.on_news(trial, flow, news),
                Err(RecvTimeoutError::Timeout) if !self.line.is_over() => {}
                Err(_) => break Why::Line(LineError::Silent(GIVEN_UP_AFTER)),
            }
        };
        self.lease.stop();
        self.running = None;
        Over { trials: self.trials, why }
    }

    fn on_message(&mut self, message: Message) -> Result<(), LineError> {
        match message {
            Message::Prepare { trial, spec, patience_ms } => {
                let granted = spec.survives_silence().then(|| Duration::from_millis(patience_ms));
                self.lease.bear(granted.unwrap_or_default());
                self.prepare(trial, &spec);
            }
            Message::Start { trial, at_ns } => self.start(trial, Time::from_nanos(at_ns)),
            Message::WindDown { trial, direction, is_abort } => {
                self.wind_down(trial, direction, is_abort);
            }
            Message::Stop { trial } => {
                self.running.take_if(|running| running.id == trial);
            }
            _ => return Err(LineError::OutOfTurn("one of a far end")),
        }
        Ok(())
    }

    fn prepare(&mut self, trial: u64, spec: &Trial) {
        // A near end that begins anew has given up what ran before.
        self.running = None;
        self.trials += 1;
        match self.open(trial, spec) {
            Ok(doors) => self.line.say(Message::Ready { trial, doors }),
            Err(reason) => self.fail(trial, reason, false),
        }
    }

    fn open(&mut self, trial: u64, spec: &Trial) -> Result<Vec<FlowAddress>, String> {
        let networks = &self.house.connection_networks;
        admission::admit(spec, networks).map_err(|refusal| refusal.to_string())?;
        let mut doors = Vec::with_capacity(spec.flows.len());
        let mut halves = Vec::with_capacity(spec.flows.len());
        for (flow, flow_spec) in spec.flows.iter().enumerate() {
            let (door, half) = self.open_flow(trial, flow, flow_spec, spec)?;
            doors.push(door);
            halves.push(half);
        }
        let count = halves.len();
        let flows = RunningFlows::open(halves, self.lease.for_trial(), &self.post)
            .map_err(|error| format!("no thread could be started: {error}"))?;
        let halves = (0..count).map(|_| None).collect();
        let health = TesterHealth::default();
        // What was silent before is not of this trial.
        self.lease.take_silences();
        self.running = Some(RunningTrial { id: trial, flows, halves, health, started: None });
        Ok(doors)
    }

    fn open_flow(
        &self,
        trial: u64,
        flow: usize,
        spec: &FlowSpec,
        whole: &Trial,
    ) -> Result<(FlowAddress, FlowHalf), String> {
        let key = random::bytes().map_err(|error| format!("no random bytes: {error}"))?;
        let (opening, port, frames) = match swarm::connections_of(spec, &whole.timing) {
            Some((by_frames, load)) => {
                let ends = [self.local.ip(), self.peer.ip()];
                let listening = swarm::listen(ends, &by_frames, &load, &self.house.claims);
                let listening = listening.map_err(|error| error.to_string())?;
                let door = listening.door();
                (Opening::AwaitFrames(Box::new(listening)), 0, Some(door))
            }
            None => {
                let (opening, port) = self.listen(spec)?;
                (opening, port, None)
            }
        };
        let (spec, timing) = (spec.clone(), whole.timing);
        let half = FlowHalf { end: End::Far, trial, flow, spec, timing, key, opening };
        Ok((FlowAddress { port, key, frames }, half))
    }

    fn listen(&self, spec: &FlowSpec) -> Result<(Opening, u16), String> {
        let ports = &self.house.data_ports;
        let (at, peer) = self.meeting_place(spec.family);
        flow::listen(at, ports, spec, peer)
    }

    /// Where the near end is awaited, and from where if that is known: which address of the other
    /// family it has is not. Where the interface has none of that family, the near end may know one
    /// of another interface by this end's name.
    fn meeting_place(&self, family: Family) -> (SocketAddr, Option<IpAddr>) {
        if self.local.is_ipv4() == (family == Family::Ipv4) {
            return (self.local, Some(self.peer.ip()));
        }
        let other = interfaces::other_family_of(self.local.ip()).ok().flatten();
        let address = other.unwrap_or_else(|| socket::any_address(family == Family::Ipv4));
        (SocketAddr::new(address, self.local.port()), None)
    }

    fn start(&mut self, trial: u64, at: Time) {
        let now = clock::now();
        let soon = at <= now + OPENING_MAX && now <= at + OPENING_MAX;
        match &mut self.running {
            Some(running) if running.id == trial && soon => {
                running.started = Some(Started { at, beside: self.house.trials.begin() });
                running.flows.start(at);
            }
            Some(running) if running.id == trial => {
                self.fail(trial, format!("it was to start {:?} ahead", at.since(now)), false);
            }
            // Its failure or its end is on its way to the near end.
            _ => {}
        }
    }

    /// A trial that is over has told of all there was.
    fn wind_down(&self, trial: u64, direction: Direction, is_abort: bool) {
        let Some(running) = self.running.as_ref().filter(|running| running.id == trial) else {
            return;
        };
        let stop = if is_abort { Stop::Abort } else { Stop::RampDown };
        running.flows.wind_down(swarm::role_of(End::Far, direction), stop);
    }

    fn fail(&mut self, trial: u64, reason: String, unheard: bool) {
        self.running = None;
        self.house.tally.count(Happened::TrialFailed);
        self.line.say(Message::Failed { trial, reason, unheard });
    }

    fn on_news(&mut self, trial: u64, flow: usize, news: News) {
        // What flows of an earlier trial still had to say is of no use.
        let Some(running) = self.running.as_mut().filter(|running| running.id == trial) else {
            return;
        };
        match news {
            News::Open => {}
            News::Progress { stretch, seen } => {
                self.line.say(Message::Progress { trial, flow, stretch, seen });
            }
            News::Over(Ok(ended)) => {
                running.on_half(flow, ended);
                self.tell_if_complete();
            }
            News::Over(Err(Broken { reason, unheard })) => {
                self.fail(trial, format!("flow {flow}: {reason}"), unheard);
            }
        }
    }

    /// The silences of the near end in a trial that outlived them, from its start.
    fn silences_since(&self, start: Time) -> Vec<Interruption> {
        let silences = self.lease.take_silences();
        if self.lease.patience().is_zero() {
            return Vec::new();
        }
        silences.iter().map(|silence| silence.seen_from(start, false)).collect()
    }

    fn tell_if_complete(&mut self) {
        let complete = self.running.take_if(|running| running.halves.iter().all(Option::is_some));
        if let Some(RunningTrial { id, halves, health, started, .. }) = complete {
            let mut halves: Vec<Half> = halves.into_iter().flatten().collect();
            Half::bound_runs(&mut halves);
            self.house.tally.count(Happened::TrialDone);
            let start = started.as_ref().map_or_else(clock::now, |started| started.at);
            let silences = self.silences_since(start);
            let is_told = |_: &Started| self.near_protocol >= COUNTING_PROTOCOL;
            let others = started.filter(is_told).map(|started| started.beside.most_others());
            let other_trials = others.unwrap_or_default();
            self.line.say(Message::Done { trial: id, halves, health, silences, other_trials });
        }
    }
}

impl RunningTrial {
    fn on_half(&mut self, flow: usize, ended: Ended) {
        flow::note_health(&mut self.health, &ended);
        if let Some(half) = self.halves.get_mut(flow) {
            *half = Some(ended.half);
        }
    }
}
