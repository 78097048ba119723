//! One end's halves of the flows of a trial: opened, begun at one instant, each in its own thread.

mod sockets;
mod stretch;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fp_model::{FlowSpec, TesterHealth, Time, Timing};
use fp_net::swarm::{Role, Stop};

use crate::Lease;
use crate::control::line::LineError;
use crate::control::message::{FramesDoor, Message, Seen};
use crate::end::End;
use crate::frames::Conductor;
use crate::half::{FlowKey, Half};
use crate::os::clock;
use crate::os::thread_usage::ThreadUsage;
use crate::swarm;

use sockets::Opened;
pub(crate) use sockets::listen;
use stretch::Stretches;

/// What reaches the thread that conducts a session.
#[derive(Debug)]
pub(crate) enum Mail {
    Line(Result<Message, LineError>),
    Flow { trial: u64, flow: usize, news: News },
}

/// What a flow's thread tells.
#[derive(Debug)]
pub(crate) enum News {
    /// Connected to its peer: it can be started.
    Open,
    Progress {
        stretch: usize,
        seen: Seen,
    },
    Over(Result<Ended, Broken>),
}

/// Why a half has no result.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) reason: String,
    /// Whether only the peer's heartbeats were missing.
    pub(crate) unheard: bool,
}

/// A half that ran to its end, and what its thread went through.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) half: Half,
    pub(crate) longest_stall: Duration,
    pub(crate) processor_share: f64,
}

/// How a flow reaches the other end: the near end always goes, the far end waits.
#[derive(Debug)]
pub(crate) enum Opening {
    Dial(SocketAddr),
    /// From an address, or from whoever shows the flow's key.
    AwaitTcp {
        listener: TcpListener,
        peer: Option<IpAddr>,
    },
    AwaitUdp {
        socket: UdpSocket,
        peer: Option<IpAddr>,
    },
    /// By frames.
    DialFrames {
        far: IpAddr,
        door: Option<FramesDoor>,
    },
    AwaitFrames(Box<swarm::Listening>),
}

/// All that a flow's thread needs.
#[derive(Debug)]
pub(crate) struct FlowHalf {
    pub(crate) end: End,
    pub(crate) trial: u64,
    pub(crate) flow: usize,
    pub(crate) spec: FlowSpec,
    pub(crate) timing: Timing,
    pub(crate) key: FlowKey,
    pub(crate) opening: Opening,
}

/// The flows of one trial while they run; dropping them ends them.
#[derive(Debug)]
pub(crate) struct RunningFlows {
    lease: Lease,
    starts: Vec<Sender<Time>>,
    threads: Vec<JoinHandle<()>>,
}

/// How long a flow may take until its two ends have met.
pub(crate) const OPENING_MAX: Duration = Duration::from_secs(5);

impl RunningFlows {
    /// Opens all `halves`; each tells `post` how it fares.
    ///
    /// # Errors
    /// Where the host has no thread left.
    pub(crate) fn open(
        halves: Vec<FlowHalf>,
        lease: Lease,
        post: &Sender<Mail>,
    ) -> io::Result<Self> {
        let mut running = Self { lease, starts: Vec::new(), threads: Vec::new() };
        let conductors = Conductor::for_host();
        for (half, conductor) in halves.into_iter().zip(conductors.iter().cycle()) {
            let (start, started) = mpsc::channel();
            let (lease, post) = (running.lease.clone(), post.clone());
            let conductor = Arc::clone(conductor);
            let name = format!("flow {}", half.flow);
            let thread = thread::Builder::new().name(name).spawn(move || {
                half.run(&started, &lease, &conductor, &post);
            })?;
            running.starts.push(start);
            running.threads.push(thread);
        }
        Ok(running)
    }

    /// Lets all flows begin at `at`.
    pub(crate) fn start(&self, at: Time) {
        for start in &self.starts {
            // A flow that has ended already has told why.
            let _ = start.send(at);
        }
    }

    /// Has all flows of connections in which this end has such a role come to an end.
    pub(crate) fn wind_down(&self, role: Role, stop: Stop) {
        self.lease.wind_down(role, stop);
    }

    pub(crate) const fn count(&self) -> usize {
        self.threads.len()
    }
}

impl Drop for RunningFlows {
    fn drop(&mut self) {
        self.lease.stop_trial();
        for thread in self.threads.drain(..) {
            // A panic of a flow has been reported on stderr.
            let _ = thread.join();
        }
    }
}

impl FlowHalf {
    fn run(
        self,
        started: &Receiver<Time>,
        lease: &Lease,
        conductor: &Arc<Conductor>,
        post: &Sender<Mail>,
    ) {
        let (trial, flow) = (self.trial, self.flow);
        // Nobody reads the mail of a session that is over.
        let tell = |news| drop(post.send(Mail::Flow { trial, flow, news }));
        let _last_words = LastWords(&tell);
        let mut usage = ThreadUsage::begin();
        let outcome = self.run_opened(started, lease, conductor, &tell, &mut usage);
        let ended = outcome.map(|half| Ended {
            half,
            longest_stall: usage.longest_stall(),
            processor_share: usage.processor_share(),
        });
        let unheard = lease.went_unheard();
        tell(News::Over(ended.map_err(|reason| Broken { reason, unheard })));
    }

    fn run_opened(
        self,
        started: &Receiver<Time>,
        lease: &Lease,
        conductor: &Arc<Conductor>,
        tell: &dyn Fn(News),
        usage: &mut ThreadUsage,
    ) -> Result<Half, String> {
        let mut opened = Opened::meet(
            self.end,
            self.opening,
            (&self.spec, &self.timing),
            &self.key,
            lease,
            conductor,
        )?;
        tell(News::Open);
        // Near ends begin when their flows are confirmed, and have nothing to confirm.
        let confirm = || if self.end == End::Far { opened.confirm() } else { Ok(()) };
        let start = await_start(started, lease, confirm)?;
        *usage = ThreadUsage::begin();
        let mut stretches = Stretches::of(&self.timing, tell, usage);
        let half = opened.run(self.end, &self.spec, &self.timing, start, lease, &mut stretches);
        stretches.flush();
        half.map(|half| half.by_slots(&self.timing, &self.spec.load))
    }
}

/// Tells of a flow whose thread panics, so that nobody waits for its half.
struct LastWords<'a>(&'a dyn Fn(News));

impl Drop for LastWords<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let reason = "its thread panicked, which is a fault of fullpipe: please report it";
            (self.0)(News::Over(Err(Broken { reason: reason.to_owned(), unheard: false })));
        }
    }
}

/// The near end says the start when all its flows are confirmed; until then it may have missed that.
fn await_start(
    started: &Receiver<Time>,
    lease: &Lease,
    mut confirm: impl FnMut() -> Result<(), String>,
) -> Result<Time, String> {
    const LOOK_UP: Duration = Duration::from_millis(10);
    loop {
        confirm()?;
        match started.recv_timeout(LOOK_UP) {
            Ok(at) => return Ok(at),
            Err(RecvTimeoutError::Timeout) if lease.is_live(clock::now()) => {}
            Err(_) => return Err("it was ended before it began".to_owned()),
        }
    }
}

/// Adds what one flow's thread went through to what is known of its end.
pub(crate) fn note_health(health: &mut TesterHealth, ended: &Ended) {
    health.longest_stall = health.longest_stall.max(ended.longest_stall);
    health.busiest_thread = health.busiest_thread.max(ended.processor_share);
    let (dropped_frames, receiver, refused) = match &ended.half {
        Half::FramesReceiver(half) => {
            (half.unshown.dropped_frames, half.receiver, half.packet_sockets_refused)
        }
        Half::FramesSender(half) => (0, None, half.packet_sockets_refused),
        Half::BurstsReceiver(half) => (half.dropped_frames, half.receiver, false),
        Half::Connections(half) => {
            health.longest_stall = health.longest_stall.max(half.longest_stall());
            health.busiest_thread = health.busiest_thread.max(half.busiest_thread);
            (half.dropped_frames, None, false)
        }
        Half::TcpSender(half) => (half.dropped_frames, None, false),
        Half::TcpReceiver(half) => (half.dropped_frames, None, false),
        Half::BurstsSender(_) | Half::ProbesNear(_) | Half::ProbesFar(_) => (0, None, false),
    };
    health.packet_sockets_refused |= refused;
    health.receiver = [health.receiver, receiver].into_iter().flatten().min();
    health.dropped_packets = health.dropped_packets.saturating_add(dropped_frames);
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_flow_that_panics_is_told_of_and_one_that_ends_is_not_told_of_twice() {
        let told = RefCell::new(Vec::new());
        let tell = |news| told.borrow_mut().push(news);
        drop(LastWords(&tell));
        assert!(told.borrow().is_empty());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _last_words = LastWords(&tell);
            panic!("as meant");
        }));
        assert!(panicked.is_err());
        assert!(matches!(told.borrow().as_slice(), [News::Over(Err(_))]));
    }
}
