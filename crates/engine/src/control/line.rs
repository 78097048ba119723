//! The thread that keeps a session's control connection: heartbeats, clocks, and the mail of both ways.

use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fp_model::Time;
use fp_model::contact::GIVEN_UP_AFTER;

use super::channel::{Channel, ChannelError};
use super::far_clock::{Exchange, FarClock};
use super::message::Message;
use super::sparing::Sparing;
use super::udp_heartbeat::UdpHeartbeat;
use crate::Lease;
use crate::end::End;
use crate::os::clock;
use crate::os::schedule::Promptly;
use crate::os::wake::{Interest, Wake, wait};

/// A live control connection; dropping it ends the session.
#[derive(Debug)]
pub(crate) struct Line {
    outgoing: Option<Sender<Message>>,
    wake: Arc<Wake>,
    far_clock: Arc<Mutex<FarClock>>,
    thread: Option<JoinHandle<()>>,
}

/// Why a line is dead.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error("it has not been heard of for {} s", .0.as_secs_f64())]
    Silent(Duration),
    #[error("it said: {0}")]
    Bye(String),
    #[error("it sends messages faster than they can be obeyed")]
    Flood,
    #[error("it sent a message out of turn: {0}")]
    OutOfTurn(&'static str),
}

/// What a line brings: each message that is not its own business, then why it ended. Whoever has
/// more to read than it can bear breaks the line.
pub(crate) type Hear = Box<dyn FnMut(Result<Message, LineError>) -> ControlFlow<()> + Send>;

pub(super) const HEARTBEAT: Duration = Duration::from_millis(250);
/// A little longer, so that the answers to the near end's pings usually do for a heartbeat.
const PULSE: Duration = Duration::from_millis(300);
/// The first exchanges, by which the far end's clock is known before the first trial.
const FIRST_EXCHANGES: u32 = 8;
const FIRST_HEARTBEAT: Duration = Duration::from_millis(4);

impl Line {
    /// Takes over `channel`, whose peer is known. `lease` lives as long as the line and as the peer
    /// is heard.
    pub(crate) fn start(
        channel: Channel,
        end: End,
        heartbeat: Option<UdpHeartbeat>,
        lease: Lease,
        hear: Hear,
    ) -> io::Result<Self> {
        let wake = Arc::new(Wake::new()?);
        let far_clock = Arc::new(Mutex::new(FarClock::default()));
        let (outgoing, to_send) = mpsc::channel();
        let now = clock::now();
        let keeper = Keeper {
            channel,
            end,
            heartbeat,
            lease,
            hear,
            to_send,
            wake: Arc::clone(&wake),
            far_clock: Arc::clone(&far_clock),
            pings: 0,
            spoke_at: now,
            ping_due: now,
            udp_heartbeat_due: now,
            udp_heartbeat_heard: None,
            sparing: None,
        };
        let thread = thread::Builder::new().name("control".into()).spawn(|| keeper.run())?;
        Ok(Self { outgoing: Some(outgoing), wake, far_clock, thread: Some(thread) })
    }

    /// Sends a message soon; a dead line swallows it and has told why.
    pub(crate) fn say(&self, message: Message) {
        if let Some(outgoing) = &self.outgoing {
            // It fails only when the keeper has ended, which `hear` has been told.
            let _ = outgoing.send(message);
            self.wake.ring();
        }
    }

    /// Whether nothing more will be heard.
    pub(crate) fn is_over(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(crate) fn far_clock(&self) -> FarClock {
        *self.far_clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.outgoing = None;
        self.wake.ring();
        if let Some(thread) = self.thread.take() {
            // A panic of the keeper has been reported on stderr.
            let _ = thread.join();
        }
    }
}

struct Keeper {
    channel: Channel,
    end: End,
    heartbeat: Option<UdpHeartbeat>,
    lease: Lease,
    hear: Hear,
    to_send: Receiver<Message>,
    wake: Arc<Wake>,
    far_clock: Arc<Mutex<FarClock>>,
    pings: u32,
    spoke_at: Time,
    ping_due: Time,
    udp_heartbeat_due: Time,
    udp_heartbeat_heard: Option<Time>,
    /// What the trial that runs leaves unsaid.
    sparing: Option<Sparing>,
}

enum Turn {
    Next,
    Over,
}

impl Keeper {
    fn run(mut self) {
        // Seldom and for a moment, and a late heartbeat ends a trial: before whatever never sleeps.
        // An ordinary user is not allowed to.
        let _promptly = Promptly::run_before_senders();
        let end = loop {
            match self.turn() {
                Ok(Turn::Next) => {}
                Ok(Turn::Over) => break None,
                Err(error) => break Some(error),
            }
        };
        self.lease.stop();
        self.channel.close();
        if let Some(error) = end {
            // Whether it is borne or not, it is the last.
            let _ = (self.hear)(Err(error));
        }
    }

    fn turn(&mut self) -> Result<Turn, LineError> {
        self.wake.hush();
        let turn = self.queue_mail()?;
        self.keep_alive(clock::now())?;
        // The last words of a peer that is gone count more than the error they end in.
        let exchanged = self.channel.exchange();
        while let Some(message) = self.channel.next()? {
            self.on_message(message)?;
        }
        exchanged?;
        if matches!(turn, Turn::Over) {
            return Ok(Turn::Over);
        }
        self.exchange_udp_heartbeats();
        let now = clock::now();
        let patience = GIVEN_UP_AFTER.max(self.lease.patience());
        let given_up_at = self.lease.last_sign_of_life() + patience;
        if now >= given_up_at {
            return Err(LineError::Silent(patience));
        }
        self.wait(self.heartbeat_due().min(self.udp_heartbeat_due).min(given_up_at).since(now))?;
        Ok(Turn::Next)
    }

    fn wait(&self, timeout: Duration) -> Result<(), ChannelError> {
        let mut sources = vec![self.channel.interest(), (self.wake.as_fd(), Interest::Read)];
        sources
            .extend(self.heartbeat.as_ref().map(|heartbeat| (heartbeat.as_fd(), Interest::Read)));
        Ok(wait(&sources, timeout)?)
    }

    fn exchange_udp_heartbeats(&mut self) {
        let now = clock::now();
        if let Some(heartbeat) = &mut self.heartbeat
            && heartbeat.listen()
        {
            self.lease.renew(now);
            self.udp_heartbeat_heard = Some(now);
            self.sparing.iter_mut().for_each(Sparing::hear);
        }
        if now >= self.udp_heartbeat_due {
            let held = self.sparing.and_then(|sparing| sparing.udp_heartbeat(now));
            self.udp_heartbeat_due = now + held.unwrap_or(HEARTBEAT);
            if let Some(heartbeat) = &mut self.heartbeat {
                heartbeat.beat();
            }
        }
    }

    fn queue_mail(&mut self) -> Result<Turn, LineError> {
        loop {
            match self.to_send.try_recv() {
                Ok(Message::Progress { .. }) if self.sparing.is_some_and(|it| it.is_mute) => {}
                Ok(message) => {
                    self.heed(&message);
                    self.queue(&message)?;
                }
                Err(TryRecvError::Empty) => return Ok(Turn::Next),
                Err(TryRecvError::Disconnected) => return Ok(Turn::Over),
            }
        }
    }

    fn queue(&mut self, message: &Message) -> Result<(), LineError> {
        self.spoke_at = clock::now();
        Ok(self.channel.queue(message)?)
    }

    fn heartbeat_due(&self) -> Time {
        match self.end {
            End::Near => self.ping_due,
            End::Far => self.spoke_at + self.seldom(self.spoke_at).unwrap_or(PULSE),
        }
    }

    fn seldom(&self, now: Time) -> Option<Duration> {
        self.sparing.and_then(|sparing| sparing.message(now))
    }

    /// Both ends know from the same messages when a trial begins and ends.
    fn heed(&mut self, message: &Message) {
        match message {
            Message::Prepare { spec, .. } => self.sparing = Sparing::of(spec, self.end),
            Message::Start { at_ns, .. } => self.begin(Time::from_nanos(*at_ns)),
            Message::Done { .. } | Message::Failed { .. } | Message::Stop { .. } => {
                self.sparing = None;
                self.ping_due = self.ping_due.min(clock::now() + HEARTBEAT);
            }
            _ => {}
        }
    }

    /// A trial begins at this time on the far end's clock: what is to be said before its frames come is
    /// said at once.
    fn begin(&mut self, at: Time) {
        let Some(sparing) = &mut self.sparing else { return };
        let now = clock::now();
        let at = match self.end {
            End::Near => self.far_clock.lock().unwrap_or_else(PoisonError::into_inner).near_at(at),
            End::Far => at,
        };
        sparing.begin(at, self.udp_heartbeat_heard, now);
        self.udp_heartbeat_due = now;
        self.ping_due = now + sparing.message(now).unwrap_or(HEARTBEAT);
    }

    fn keep_alive(&mut self, now: Time) -> Result<(), LineError> {
        if now < self.heartbeat_due() {
            return Ok(());
        }
        match self.end {
            End::Far => self.queue(&Message::Pulse {}),
            End::Near => {
                self.pings = self.pings.saturating_add(1);
                let first = self.pings < FIRST_EXCHANGES;
                let next = self.seldom(now).unwrap_or(HEARTBEAT);
                self.ping_due = now + if first { FIRST_HEARTBEAT } else { next };
                self.queue(&Message::Ping { sent_ns: now.as_nanos() })
            }
        }
    }

    fn on_message(&mut self, message: Message) -> Result<(), LineError> {
        let now = clock::now();
        self.lease.renew(now);
        match (self.end, message) {
            (End::Far, Message::Ping { sent_ns }) => {
                let received_ns = now.as_nanos();
                let answered_ns = clock::now().as_nanos();
                self.queue(&Message::Pong { sent_ns, received_ns, answered_ns })?;
                self.channel.flush()?;
            }
            (End::Near, Message::Pong { sent_ns, received_ns, answered_ns }) => {
                let exchange = Exchange {
                    near_sent: Time::from_nanos(sent_ns),
                    far_received: Time::from_nanos(received_ns),
                    far_answered: Time::from_nanos(answered_ns),
                    near_received: now,
                };
                self.far_clock
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .on_exchange(&exchange);
            }
            (End::Near, Message::Pulse {}) => {}
            (_, Message::Bye { reason }) => return Err(LineError::Bye(reason)),
            (_, Message::Ping { .. } | Message::Pong { .. } | Message::Pulse {}) => {
                return Err(LineError::OutOfTurn("a heartbeat of the other end"));
            }
            (_, message) => {
                self.heed(&message);
                if (self.hear)(Ok(message)).is_break() {
                    return Err(LineError::Flood);
                }
            }
        }
        Ok(())
    }
}
