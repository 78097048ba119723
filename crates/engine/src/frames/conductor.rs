//! One thread for the frames of several flows: so each leaves when it is due, however many flows there
//! are, where as many threads would keep each other from running.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use fp_model::{FramesLoad, Time, Timing};

use super::Stream;
use super::sender::FrameSender;
use crate::half::{FramesSenderHalf, SenderSlot};
use crate::lease::Lease;
use crate::os::clock;
use crate::os::schedule::{self, Promptly};
use crate::pace::wait_until;
use crate::udp::{FrameError, ProvenSocket};

/// Up to this rate the sender sleeps between frames; above it, it watches the clock all the time.
/// At 40 Mbit/s of 1518-byte frames that is a sixth of a processor, at this rate half of one.
const SLEEPS_UP_TO_FRAMES_PER_SECOND: u64 = 10_000;
/// The longest that a flow waits for being taken up by a thread that sends already.
const NAP_MAX: Duration = Duration::from_millis(2);

/// What the flows of a trial share that one thread sends.
#[derive(Debug, Default)]
pub(crate) struct Conductor(Mutex<Podium>);

#[derive(Debug, Default)]
struct Podium {
    /// A flow's thread that sends the frames of all.
    is_taken: bool,
    newcomers: Vec<Part>,
}

/// A flow among those that one thread sends.
#[derive(Debug)]
struct Part {
    sender: FrameSender,
    /// To the flow's own thread; `None`: this is the one.
    told: Option<Sender<Told>>,
}

/// What a flow's thread hears of its frames when another one sends them.
enum Told {
    Slot(usize, SenderSlot),
    Over(Box<Result<FramesSenderHalf, FrameError>>),
}

impl Conductor {
    /// As many as the host has processors to watch the clock with, and to leave to whoever receives.
    pub(crate) fn for_host() -> Vec<Arc<Self>> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        (0..processors.div_ceil(2)).map(|_| Arc::default()).collect()
    }

    /// Sends the frames of a flow, as [`FrameSender`] does. The first flow's thread sends those of all.
    ///
    /// # Errors
    /// Frames too short or too long, a socket that fails, a lease that ended.
    pub(crate) fn send(
        &self,
        proven: ProvenSocket,
        stream: Stream<'_, FramesLoad>,
        timing: &Timing,
        start: Time,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, SenderSlot),
    ) -> Result<FramesSenderHalf, FrameError> {
        let sender = FrameSender::new(proven, stream, timing, start)?;
        match self.join(sender) {
            Joined::Conducts(sender) => self.conduct(*sender, lease, progress),
            Joined::Follows(told) => follow(&told, progress),
        }
    }

    fn join(&self, sender: FrameSender) -> Joined {
        let mut podium = self.podium();
        if podium.is_taken {
            let (tell, told) = mpsc::channel();
            podium.newcomers.push(Part { sender, told: Some(tell) });
            return Joined::Follows(told);
        }
        podium.is_taken = true;
        Joined::Conducts(Box::new(sender))
    }

    /// Until no flow has anything left to send.
    fn conduct(
        &self,
        sender: FrameSender,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, SenderSlot),
    ) -> Result<FramesSenderHalf, FrameError> {
        let _last_words = LastWords(self);
        // A kernel that refuses wakes it up to 50 µs late, which the watching of the clock covers.
        let _ = schedule::wake_on_time();
        let mut parts = vec![Part { sender, told: None }];
        let mut promptly = run_on_time(&parts);
        let mut own = Err(FrameError::Ended);
        while let Some(joined) = self.take_up(&mut parts) {
            if joined > 0 {
                drop(promptly.take());
                promptly = run_on_time(&parts);
            }
            let now = clock::now();
            let instants = parts.iter_mut().map(|part| part.sender.next_instant(now));
            let Some((index, at)) = instants.enumerate().min_by_key(|(_, at)| *at) else {
                continue;
            };
            let over = match at {
                Some(at) => parts[index].advance(at, now, lease, progress).err().map(Err),
                None => Some(Ok(())),
            };
            if let Some(outcome) = over {
                let Part { sender, told } = parts.swap_remove(index);
                let half = outcome.map(|()| sender.finish());
                match told {
                    // Its thread is gone where nobody listens.
                    Some(told) => drop(told.send(Told::Over(Box::new(half)))),
                    None => own = half,
                }
            }
        }
        own
    }

    /// Adds the flows that have come meanwhile, and says how many; `None` when there are none at all:
    /// who comes now sends its own frames.
    fn take_up(&self, parts: &mut Vec<Part>) -> Option<usize> {
        let mut podium = self.podium();
        let joined = podium.newcomers.len();
        parts.append(&mut podium.newcomers);
        podium.is_taken = !parts.is_empty();
        podium.is_taken.then_some(joined)
    }

    fn podium(&self) -> MutexGuard<'_, Podium> {
        // Nobody panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Joined {
    Conducts(Box<FrameSender>),
    Follows(Receiver<Told>),
}

/// Has the current thread woken when it is due, and before ordinary threads if it leaves them most
/// of the processor: the kernel takes a processor away from real-time threads that never sleep. Such a
/// one runs rather than others, where the host allows it.
fn run_on_time(parts: &[Part]) -> Option<Promptly> {
    let rates = parts.iter().map(|part| part.sender.peak_frames_per_second());
    let sleeps = rates.fold(0, u64::saturating_add) <= SLEEPS_UP_TO_FRAMES_PER_SECOND;
    if !sleeps {
        let _ = schedule::run_rather_than_others();
    }
    sleeps.then(Promptly::run)
}

impl Part {
    /// Does what is due at `at`, or waits for a while.
    fn advance(
        &mut self,
        at: Time,
        now: Time,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, SenderSlot),
    ) -> Result<(), FrameError> {
        if at > now + NAP_MAX {
            clock::sleep_until(now + NAP_MAX);
            return if lease.is_live(clock::now()) { Ok(()) } else { Err(FrameError::Ended) };
        }
        let now = wait_until(at, lease)?;
        if let Some((slot, seen)) = self.sender.proceed(now, lease.may_send(now))? {
            match &self.told {
                Some(told) => drop(told.send(Told::Slot(slot, seen))),
                None => progress(slot, seen),
            }
        }
        Ok(())
    }
}

fn follow(
    told: &Receiver<Told>,
    progress: &mut dyn FnMut(usize, SenderSlot),
) -> Result<FramesSenderHalf, FrameError> {
    loop {
        match told.recv() {
            Ok(Told::Slot(slot, seen)) => progress(slot, seen),
            Ok(Told::Over(half)) => return *half,
            // The thread that sent for this one panicked.
            Err(mpsc::RecvError) => return Err(FrameError::Ended),
        }
    }
}

/// Lets go those who wait for a thread that panics.
struct LastWords<'a>(&'a Conductor);

impl Drop for LastWords<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            *self.0.podium() = Podium::default();
        }
    }
}
