//! The near end: has trials run by itself and a far end, over whatever network lies between.

mod bursts;
pub(crate) mod connect;
mod early_stop;
pub(crate) mod join;
mod live;
mod transfer;
mod trial;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use fp_model::contact::DEAD_MAN;
use fp_model::{Abort, Event, Family, HostFacts, Interruption, Observation, Testbed, Time, Trial};
use fp_net::swarm::Stop;

pub use connect::ConnectError;
use connect::{CONNECT_MAX, Entered, family_of};

use self::trial::{Failure, LOOK_UP};
use crate::control::channel::ChannelError;
use crate::control::line::{Line, LineError};
use crate::control::message::Message;
use crate::control::{Pairing, host_facts};
use crate::end::End;
use crate::flow::Mail;
use crate::os::{clock, interfaces};
use crate::{Lease, StopFlag};

/// How a near end is to connect.
pub struct LiveOptions {
    /// `None` takes whichever the far end's name gives first.
    pub family: Option<Family>,
    /// Told of everything that happens in a trial.
    pub events: Box<dyn FnMut(Event) + Send>,
    /// Ends whatever runs within half a second; a trial of connections alone as soon as they are
    /// closed.
    pub stop: StopFlag,
}

/// This host, a far end and the real or emulated network between them.
#[derive(Debug)]
pub struct LiveTestbed {
    far: SocketAddr,
    far_name: String,
    far_protocol: u32,
    /// How long a trial goes on though the far end is silent.
    patience: Duration,
    far_facts: HostFacts,
    far_mtu_bytes: Option<u32>,
    /// The far end's address of the other family, if it has one.
    far_other: Option<IpAddr>,
    near_mtu_bytes: Option<u32>,
    options: LiveOptions,
    lease: Lease,
    mail: Receiver<Mail>,
    post: Sender<Mail>,
    line: Line,
    trials: u64,
    /// Since when trials can be run.
    ready: Time,
    /// How connections end that are open when a trial is stopped.
    when_stopped: Stop,
    /// The stop has been heeded: the trial ends by itself, soon.
    is_winding_down: bool,
    /// Why the far end is gone, once it is.
    lost: Option<String>,
    /// What was seen of the last trial, if it was broken off.
    broken_off: Option<Observation>,
}

/// The exchanges of clocks that the first trial rests on.
const EXCHANGES_MIN: u32 = 8;

impl LiveTestbed {
    /// # Errors
    /// A sentence on why there is no session with the far end.
    pub fn connect(pairing: &Pairing, options: LiveOptions) -> Result<Self, ConnectError> {
        let deadline = clock::now() + CONNECT_MAX;
        let entered = connect::connect(pairing, options.family, deadline, &options.stop)?;
        let Entered {
            channel,
            far,
            far_protocol,
            facts,
            interface_mtu_bytes,
            other_address,
            heartbeat,
        } = entered;
        let host = |error: std::io::Error| ConnectError::Host(error.to_string());
        let local = channel.local_address().map_err(host)?.ip().to_canonical();
        // An address that no interface holds is possible, and then its MTU is not known.
        let near_mtu_bytes = interfaces::mtu_of(local).ok().flatten();
        let lease = Lease::new(clock::now());
        let (post, mail) = mpsc::channel();
        let to_me = post.clone();
        // After the testbed nobody reads what the line still brings.
        let hear = Box::new(move |heard| {
            let _ = to_me.send(Mail::Line(heard));
            ControlFlow::Continue(())
        });
        let line = Line::start(channel, End::Near, heartbeat, lease.clone(), hear).map_err(host)?;
        let mut testbed = Self {
            far,
            far_name: pairing.far.to_string(),
            far_protocol,
            patience: Duration::ZERO,
            far_facts: facts,
            far_mtu_bytes: interface_mtu_bytes,
            far_other: other_address,
            near_mtu_bytes,
            options,
            lease,
            mail,
            post,
            line,
            trials: 0,
            ready: clock::now(),
            when_stopped: Stop::RampDown,
            is_winding_down: false,
            lost: None,
            broken_off: None,
        };
        testbed.learn_far_clock(deadline)?;
        Ok(testbed)
    }

    /// Has connections that are open when a trial is stopped be reset, all at once, instead of closed.
    pub const fn abort_when_stopped(&mut self) {
        self.when_stopped = Stop::Abort;
    }

    /// Has trials go on through silences of up to `patience`, as far as their loads allow, instead of
    /// being broken off and run once more.
    pub const fn be_patient(&mut self, patience: Duration) {
        self.patience = patience;
    }

    fn learn_far_clock(&mut self, deadline: Time) -> Result<(), ConnectError> {
        const LOOK_UP: Duration = Duration::from_millis(2);
        while self.line.far_clock().exchanges < EXCHANGES_MIN {
            if self.options.stop.is_set() {
                return Err(ConnectError::Stopped);
            }
            match self.mail.recv_timeout(LOOK_UP) {
                Err(RecvTimeoutError::Timeout) if clock::now() < deadline => {}
                Ok(Mail::Line(Err(error))) => return Err(self.not_connected(&error)),
                Ok(_) => return Err(self.not_connected(&LineError::OutOfTurn("one of a trial"))),
                Err(_) => return Err(ConnectError::Mute { far: self.far_name.clone() }),
            }
        }
        Ok(())
    }

    /// Whether nobody was there who speaks as a far end, or one who has left.
    fn not_connected(&mut self, error: &LineError) -> ConnectError {
        match error {
            LineError::OutOfTurn(_)
            | LineError::Channel(ChannelError::Message(_) | ChannelError::Tls(_)) => {
                ConnectError::NotAFarEnd(self.far_name.clone(), error.to_string())
            }
            LineError::Bye(_) | LineError::Silent(_) | LineError::Flood | LineError::Channel(_) => {
                ConnectError::Lost(self.lost(error).to_string())
            }
        }
    }

    pub const fn far_facts(&self) -> &HostFacts {
        &self.far_facts
    }

    pub fn near_facts(&self) -> HostFacts {
        host_facts()
    }

    /// Whether the two ends meet over IPv4 or IPv6.
    pub fn family(&self) -> Family {
        family_of(self.far.ip())
    }

    /// Where flows of this family find the far end, as far as that is known.
    pub fn far_address_of(&self, family: Family) -> Option<IpAddr> {
        if family == self.family() { Some(self.far.ip()) } else { self.far_other }
    }

    /// Where the far end is.
    pub const fn far_address(&self) -> SocketAddr {
        self.far
    }

    /// The MTU of the interface towards the far end; `None` where no interface holds our address.
    pub const fn near_interface_mtu_bytes(&self) -> Option<u32> {
        self.near_mtu_bytes
    }

    /// The MTU of the interface at which the far end is reached, as it says.
    pub const fn far_interface_mtu_bytes(&self) -> Option<u32> {
        self.far_mtu_bytes
    }

    /// The shortest round trip on the control connection so far.
    pub fn control_rtt(&self) -> Duration {
        // The testbed connects only after several exchanges.
        self.line.far_clock().rtt().unwrap_or_default()
    }

    fn attempt(&mut self, trial: &Trial) -> Result<Observation, Failure> {
        self.trials += 1;
        self.is_winding_down = false;
        self.broken_off = None;
        (self.options.events)(Event::Started(trial.clone()));
        let outcome = self.conduct(trial);
        match &outcome {
            Ok(observation) => (self.options.events)(Event::Finished(observation.clone())),
            Err(_) => self.line.say(Message::Stop { trial: self.trials }),
        }
        outcome
    }

    /// Waits as long as the line does until the far end is heard: whether it is. A host that was
    /// paused, or a burst of losses, ends a trial for want of heartbeats, but not the session.
    fn is_heard_again(&mut self) -> bool {
        while !self.line.is_over() && !self.options.stop.is_set() {
            if self.lease.is_live(clock::now()) {
                return true;
            }
            clock::sleep_until(clock::now() + LOOK_UP);
        }
        false
    }

    fn lost(&mut self, why: &LineError) -> Abort {
        let sentence = match why {
            LineError::Bye(reason) => {
                format!("the far end {} has gone: {}", self.far_name, reason)
            }
            error => format!("the far end {} is lost: {error}", self.far_name),
        };
        self.lost = Some(sentence.clone());
        Abort::Lost(sentence)
    }
}

impl Testbed for LiveTestbed {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        if let Some(sentence) = &self.lost {
            return Err(Abort::Lost(sentence.clone()));
        }
        let began = clock::now();
        let mut outcome = self.attempt(trial);
        let broken_off_at = clock::now();
        if matches!(outcome, Err(Failure::Unheard(_))) && self.is_heard_again() {
            let mut broken_off = self.interruptions(began, true);
            if broken_off.is_empty() {
                // The far end alone did not hear the other.
                let at = broken_off_at.since(began).saturating_sub(DEAD_MAN);
                let (silent, began) = (DEAD_MAN, Some(began.since(self.ready)));
                broken_off.push(Interruption { began, at, silent, is_repeated: true });
            }
            outcome = self.attempt(trial).map(|mut seen| {
                seen.interruptions.splice(0..0, broken_off);
                seen
            });
        }
        outcome.map_err(Failure::into_abort)
    }

    fn broken_off(&mut self) -> Option<Observation> {
        self.broken_off.take()
    }
}

impl fmt::Debug for LiveOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveOptions").field("family", &self.family).finish_non_exhaustive()
    }
}
