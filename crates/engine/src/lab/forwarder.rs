//! The thread in the middle: takes frames from one end and gives them to the other in time.
//!
//! It reads frames by AF_PACKET with the kernel's arrival times, so that a late wake-up does not
//! change what the links decide. It sleeps until shortly before the next frame is due and then
//! spins. Its nice value is -20: from a spinning real-time thread the kernel takes the processor
//! away for 50 ms in a second, and heartbeats that wait for that processor are late as well.

use std::io;
use std::mem;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::time::Duration;

use fp_model::{Emulation, Time};
use fp_net::link::{Frame, Lateness, Output, Way};
use fp_net::path::{LinkSpec, PathSpec};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::buffer::{Buffer, Pool};
use super::gateway::{Gateway, GatewayTruth};
use super::packet::{corrupt, dscp_if_routed, remark, wire_bytes};
use super::reordering::Reordering;
use super::truth::DirectionTruth;
use super::wiring::{Cable, ROUTER, Wiring};
use crate::os::packet::{PacketReceiver, PacketSender};
use crate::os::{clock, schedule};

/// What the owner of a lab asks of its forwarder.
#[derive(Debug)]
pub(super) enum Request {
    /// To be answered with what has been counted so far.
    Truth(SyncSender<io::Result<Counted>>),
    /// To be answered with what has been late since it was asked last.
    Lateness(SyncSender<Emulation>),
}

#[derive(Debug)]
pub(super) struct Counted {
    /// Near to far and far to near.
    pub(super) ways: [DirectionTruth; 2],
    pub(super) gateway: Option<GatewayTruth>,
}

/// Both directions of the path.
#[derive(Debug)]
pub(super) struct Forwarder {
    near_to_far: Lane,
    far_to_near: Lane,
    wiring: Wiring,
    /// Closed when the owner of the lab has gone.
    requests: Receiver<Request>,
    /// Rung when `requests` has something new.
    bell: Arc<OwnedFd>,
}

/// How long before a frame is due the thread is awake: longer than it takes to wake up.
const WAKE_AHEAD: Duration = Duration::from_micros(60);
/// How long after a frame the thread stays awake for the next one: waking it up for each would cost
/// the sender and the forwarder more than carrying it.
const LINGER: Duration = Duration::from_micros(20);
/// The most frames taken from one end before the other end has its turn.
const RECEIVE_BATCH: usize = 64;

impl Forwarder {
    /// For the current thread, which must be in the namespace in the middle.
    pub(super) fn new(
        path: &PathSpec,
        seed: u64,
        wiring: Wiring,
        requests: Receiver<Request>,
        bell: Arc<OwnedFd>,
    ) -> io::Result<Self> {
        let (near, far) = (&wiring.near, &wiring.far);
        let pool = Pool::default();
        let near_to_far = Lane::open(near, far, &path.near_to_far, seed, &pool)?;
        let far_to_near = Lane::open(far, near, &path.far_to_near, !seed, &pool)?;
        Ok(Self { near_to_far, far_to_near, wiring, requests, bell })
    }

    /// Forwards until the owner of the lab has gone.
    pub(super) fn run(mut self) -> io::Result<()> {
        schedule::wake_on_time()?;
        // An ordinary user is not allowed to; frames are then released a little less precisely.
        let _ = schedule::run_rather_than_others();
        let mut received_at = Time::ZERO;
        while self.attend() {
            let mut clocks = Clocks::read();
            let received =
                self.near_to_far.receive(&mut clocks) + self.far_to_near.receive(&mut clocks);
            self.near_to_far.carry(clocks.now);
            self.far_to_near.carry(clocks.now);
            self.near_to_far.answer(&mut self.far_to_near);
            self.far_to_near.answer(&mut self.near_to_far);
            if received > 0 {
                received_at = clocks.now;
            } else if clocks.now.since(received_at) > LINGER {
                self.wait()?;
            }
        }
        Ok(())
    }

    /// Whether to go on.
    fn attend(&mut self) -> bool {
        match self.requests.try_recv() {
            Ok(Request::Truth(answer)) => {
                // Who has asked may have gone meanwhile.
                let _ = answer.send(self.truth());
                true
            }
            Ok(Request::Lateness(answer)) => {
                let ways = [&mut self.near_to_far, &mut self.far_to_near];
                let [there, back] = ways.map(Lane::take_lateness);
                let _ = answer.send(there.with(&back).emulation());
                true
            }
            Err(TryRecvError::Empty) => true,
            Err(TryRecvError::Disconnected) => false,
        }
    }

    fn truth(&mut self) -> io::Result<Counted> {
        let (near, far) = (&self.wiring.near, &self.wiring.far);
        let ways = [self.near_to_far.truth(near, far)?, self.far_to_near.truth(far, near)?];
        let gateway = near.gateway.as_ref().map(Gateway::truth).transpose()?;
        Ok(Counted { ways, gateway })
    }

    /// Sleeps until shortly before the next frame is due, or until there is something to do.
    fn wait(&self) -> io::Result<()> {
        let due = [&self.near_to_far, &self.far_to_near].into_iter().filter_map(Lane::due).min();
        let timeout = match due.map(|due| (due - WAKE_AHEAD).since(clock::now())) {
            // Too close to sleep: the caller asks again and again.
            Some(Duration::ZERO) => return Ok(()),
            Some(timeout) => Some(Timespec {
                tv_sec: timeout.as_secs() as i64,
                tv_nsec: timeout.subsec_nanos().into(),
            }),
            None => None,
        };
        let mut polled = [
            PollFd::new(&self.near_to_far.receiver, PollFlags::IN),
            PollFd::new(&self.far_to_near.receiver, PollFlags::IN),
            PollFd::new(&*self.bell, PollFlags::IN),
        ];
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if !polled[2].revents().is_empty() {
            // The only failure is that somebody else has hushed it.
            let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
        }
        self.near_to_far.forget_error(polled[0].revents())?;
        self.far_to_near.forget_error(polled[1].revents())
    }
}

/// The monotonic clock, and how far the wall clock is ahead of it: taken in an instant, because a
/// thread that is interrupted between the two would have frames arrive too early by as much.
struct Clocks {
    now: Time,
    wall_ahead_ns: u64,
}

impl Clocks {
    fn read() -> Self {
        Self { wall_ahead_ns: clock::wall_ahead_of_monotonic(), now: clock::now() }
    }

    /// When a frame arrived that the kernel stamped with the wall clock.
    ///
    /// One that seems to come from the future has arrived since the clocks were read, by many
    /// milliseconds if the host stood still in between; or the wall clock was set.
    fn arrival(&mut self, stamped: Time) -> Time {
        let arrived = clock::monotonic(stamped, self.wall_ahead_ns);
        if arrived <= self.now {
            return arrived;
        }
        *self = Self::read();
        clock::monotonic(stamped, self.wall_ahead_ns).min(self.now)
    }
}

/// One direction of the path.
#[derive(Debug)]
struct Lane {
    receiver: PacketReceiver,
    sender: PacketSender,
    reordering: Reordering,
    way: Way<Buffer>,
    pool: Pool,
    /// Frames that are to be sent now.
    due: Vec<Due>,
    /// Answers to packets that were too big.
    answers: Vec<Vec<u8>>,
    /// Since the owner asked last, and before.
    late: Lateness,
    late_before: Lateness,
    unsent_frames: u64,
    overrun_frames: u64,
}

impl Lane {
    fn open(
        from: &Cable,
        to: &Cable,
        links: &[LinkSpec],
        seed: u64,
        pool: &Pool,
    ) -> io::Result<Self> {
        let mut way = Way::new(links, seed);
        way.come_up(clock::now());
        Ok(Self {
            receiver: PacketReceiver::open(from.port.index, from.max_frame_bytes())?,
            sender: PacketSender::open(to.port.index)?,
            reordering: Reordering::new(way.least_delay()),
            way,
            pool: pool.clone(),
            due: Vec::with_capacity(PacketSender::BATCH),
            answers: Vec::new(),
            late: Lateness::new(),
            late_before: Lateness::new(),
            unsent_frames: 0,
            overrun_frames: 0,
        })
    }

    /// Takes frames that have arrived, at most a batch, and returns how many.
    fn receive(&mut self, clocks: &mut Clocks) -> usize {
        let Self { receiver, reordering, pool, .. } = self;
        let mut take_one = || {
            receiver.receive(|frame| {
                let Some(dscp) = dscp_if_routed(frame.bytes) else { return };
                let left_at = clocks.arrival(frame.arrived_at_wall);
                let frame_bytes = wire_bytes(frame.bytes);
                let body = pool.copy_of(frame.bytes);
                reordering.push(left_at, Frame { frame_bytes, dscp, body });
            })
        };
        (0..RECEIVE_BATCH).take_while(|_| take_one()).count()
    }

    /// Everything up to `now` happens.
    fn carry(&mut self, now: Time) {
        while let Some((left_at, frame)) = self.reordering.next(now) {
            self.way.on_frame(left_at, frame);
        }
        self.release(now);
    }

    /// When there will be something to do.
    fn due(&self) -> Option<Time> {
        self.way.poll_timeout().into_iter().chain(self.reordering.look_at()).min()
    }

    /// Sends the frames that are due at `now`, at most a batch.
    fn release(&mut self, now: Time) {
        while self.due.len() < PacketSender::BATCH {
            match self.way.poll(now) {
                None => break,
                Some(Output::Deliver { at, frame, corrupt }) => {
                    self.due.push(Due { at, body: as_delivered(frame, corrupt) });
                }
                Some(Output::TooBig { mtu, frame, .. }) => {
                    self.answers.push(ROUTER.too_big(frame.body.bytes(), mtu));
                }
            }
        }
        if self.due.is_empty() {
            return;
        }
        let sent_at = clock::now();
        for due in &self.due {
            self.late.add(sent_at.since(due.at));
        }
        self.unsent_frames += send_all(&self.sender, &self.due);
        self.due.clear();
    }

    /// Tells senders what was too big: out of the port they are at, past the links of that lane.
    fn answer(&mut self, back: &mut Self) {
        for answers in self.answers.chunks(PacketSender::BATCH) {
            back.unsent_frames += send_all(&back.sender, answers);
        }
        self.answers.clear();
    }

    /// How late frames were since this was asked last.
    fn take_lateness(&mut self) -> Lateness {
        let mut late = mem::replace(&mut self.late, Lateness::new());
        late.overtaken_max = self.reordering.take_overtaken_max();
        let before = mem::replace(&mut self.late_before, Lateness::new());
        self.late_before = before.with(&late);
        late
    }

    /// Of the direction from one end of the path to the other.
    fn truth(&mut self, from: &Cable, to: &Cable) -> io::Result<DirectionTruth> {
        self.overrun_frames += self.receiver.take_overruns()?;
        Ok(DirectionTruth {
            links: self.way.truth(),
            lab_overrun_frames: self.overrun_frames + from.dropped()?.to_middle,
            lab_undelivered_frames: self.unsent_frames + to.dropped()?.to_end,
            lateness: self.late_before.clone().with(&self.late).summary(),
        })
    }

    /// Somebody at an end of the path has taken its interface down: the socket says so once.
    fn forget_error(&self, events: PollFlags) -> io::Result<()> {
        if events.contains(PollFlags::ERR) {
            let _what = rustix::net::sockopt::socket_error(&self.receiver)?;
        }
        Ok(())
    }
}

/// A frame that is to be sent.
#[derive(Debug)]
struct Due {
    at: Time,
    body: Buffer,
}

impl AsRef<[u8]> for Due {
    fn as_ref(&self) -> &[u8] {
        self.body.bytes()
    }
}

/// The frame with what the path has done to its bytes.
fn as_delivered(frame: Frame<Buffer>, is_corrupt: bool) -> Buffer {
    let mut body = frame.body;
    if dscp_if_routed(body.bytes()) != Some(frame.dscp) {
        remark(body.bytes_mut(), frame.dscp);
    }
    if is_corrupt {
        corrupt(body.bytes_mut());
    }
    body
}

/// Returns how many frames did not reach the interface. Those that the interface itself dropped
/// (`ENOBUFS`) are in its own count.
fn send_all<B: AsRef<[u8]>>(sender: &PacketSender, frames: &[B]) -> u64 {
    let (mut next, mut unsent) = (0, 0);
    while next < frames.len() {
        match sender.send(&frames[next..]) {
            Ok(sent) => next += sent,
            Err(error) => {
                unsent += u64::from(error.raw_os_error() != Some(libc::ENOBUFS));
                next += 1;
            }
        }
    }
    unsent
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that the host has held up between its look at the clocks and its look at the frames.
    #[test]
    fn a_frame_that_came_after_the_clocks_were_read_keeps_its_time() {
        let before = clock::now();
        let mut clocks = Clocks { now: before - Duration::from_millis(20), ..Clocks::read() };
        let arrived = clocks.arrival(clock::wall());
        // One clock is converted into the other to within microseconds.
        assert!(arrived + Duration::from_millis(1) >= before, "{arrived:?}, {before:?}");
        assert!(arrived <= clock::now());
    }

    #[test]
    fn no_frame_has_come_in_the_future() {
        let mut clocks = Clocks::read();
        let arrived = clocks.arrival(clock::wall() + Duration::from_secs(1));
        assert!(arrived <= clock::now());
    }
}
