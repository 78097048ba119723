//! The path between the ends, the alarms they set, and the clock that all of it shares.

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};
use core::time::Duration;

use fp_model::{Direction, Dscp, Emulation, PacketLayout, Rate, Time};

use crate::link::random::{Purpose, Random};
use crate::link::{Frame, Lateness, Output, Way};
use crate::path::{LinkSpec, PathSpec, QueueLimit, QueueSpec};
use crate::sim::host::{End, Host, Layer};
use crate::sim::trouble::{Stops, Trouble};
use crate::swarm::Role;
use crate::tcp::{Ack, Segment};

const FRAME_BYTES_MIN: u32 = 64;
/// At what a host hands frames to a path whose first link sets no pace.
const HOST_RATE: Rate = Rate::mbps(10_000);
/// No host begins to send on all of its connections in the same nanosecond, and the losses of
/// connections in lock-step are not those of any network.
const START_SPREAD: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct Network {
    near_to_far: Way<Envelope>,
    far_to_near: Way<Envelope>,
    near_line: Rate,
    far_line: Rate,
    interface_mtu_bytes: u32,
    alarms: BinaryHeap<Reverse<Alarm>>,
    alarms_set: u64,
    starts: Random,
    pub(crate) near: Host,
    pub(crate) far: Host,
    emulation: Option<EmulationTrouble>,
    /// What has arrived and waits for a host that stands still.
    held: BinaryHeap<Reverse<Held>>,
    trial: u32,
    now: Time,
    happenings: u64,
}

/// A host of the emulated network that stands still, and how late frames are for it in this trial.
#[derive(Debug)]
struct EmulationTrouble {
    stops: Stops,
    late: Lateness,
}

/// Something that happens later than the network would have it, in the order in which it came.
#[derive(Debug)]
struct Held {
    at: Time,
    order: u64,
    next: Stage,
    end: End,
    happening: Happening,
}

/// Through what a packet goes at the end of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Kernel,
    /// The one for whom it is.
    Flow,
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// What one end sends to the other.
#[derive(Clone, Debug)]
pub(crate) enum Packet {
    Probe {
        number: u32,
        sent_at: Time,
    },
    Answer {
        number: u32,
        sent_at: Time,
    },
    Numbered {
        sequence: u64,
        unsent_before: u32,
        sent_at: Time,
    },
    Data {
        connection: u32,
        segment: Segment,
    },
    Ack {
        connection: u32,
        ack: Ack,
    },
    /// As it would be on the wire, for this end of many connections.
    Whole {
        to: Role,
        frame: Box<[u8]>,
    },
}

#[derive(Clone, Debug)]
struct Envelope {
    /// Who comes late is nobody's: flows end with their trial.
    trial: u32,
    flow: u32,
    packet: Packet,
}

/// Who is to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sleeper {
    /// The next packet of a schedule is due.
    Schedule,
    Sender(u32),
    Receiver(u32),
    /// The applications at both ends of a connection, when they go on.
    Writer(u32),
    Reader(u32),
    /// The ends of many connections.
    Client,
    Server,
}

/// Alarms ring in the order of time and, at the same time, in the order in which they were set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm {
    at: Time,
    order: u64,
    flow: usize,
    sleeper: Sleeper,
    end: End,
}

#[derive(Debug)]
pub(crate) enum Happening {
    /// With the code point that the packet has then.
    Arrival {
        flow: usize,
        packet: Packet,
        dscp: Dscp,
    },
    /// A frame that is not as it was sent: only who looks at its checksum may see what it was.
    Corrupt {
        flow: usize,
        packet: Packet,
    },
    TooBig {
        flow: usize,
    },
    Alarm {
        flow: usize,
        sleeper: Sleeper,
    },
}

impl Network {
    pub(crate) fn new(path: &PathSpec, seed: u64) -> Self {
        let mut network = Self {
            near_to_far: Way::new(&with_host(&path.near_to_far), seed),
            far_to_near: Way::new(&with_host(&path.far_to_near), !seed),
            near_line: line_of(&path.near_to_far),
            far_line: line_of(&path.far_to_near),
            interface_mtu_bytes: path.interface_mtu_bytes(),
            alarms: BinaryHeap::new(),
            alarms_set: 0,
            starts: Random::new(seed, 0, Purpose::Start),
            near: Host::default(),
            far: Host::default(),
            emulation: None,
            held: BinaryHeap::new(),
            trial: 0,
            now: Time::ZERO,
            happenings: 0,
        };
        network.near_to_far.come_up(Time::ZERO);
        network.far_to_near.come_up(Time::ZERO);
        network
    }

    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    pub(crate) const fn happenings(&self) -> u64 {
        self.happenings
    }

    /// From now on with these troubles.
    pub(crate) fn trouble(&mut self, trouble: Trouble) {
        (self.near, self.far) = (Host::new(trouble.near), Host::new(trouble.far));
        let emulation = |stops| EmulationTrouble { stops, late: Lateness::new() };
        self.emulation = trouble.network.map(emulation);
    }

    pub(crate) fn begin_trial(&mut self) {
        self.trial += 1;
        self.alarms.clear();
        self.held.clear();
        self.near.begin_trial();
        self.far.begin_trial();
        if let Some(EmulationTrouble { late, .. }) = &mut self.emulation {
            *late = Lateness::new();
        }
    }

    /// What the emulated network has to say of itself.
    pub(crate) fn lateness(&self) -> Option<Emulation> {
        self.emulation.as_ref().map(|emulation| emulation.late.emulation())
    }

    pub(crate) const fn host(&self, end: End) -> &Host {
        match end {
            End::Near => &self.near,
            End::Far => &self.far,
        }
    }

    pub(crate) const fn host_mut(&mut self, end: End) -> &mut Host {
        match end {
            End::Near => &mut self.near,
            End::Far => &mut self.far,
        }
    }

    /// The largest packet that an end's own interface takes.
    pub(crate) const fn interface_mtu_bytes(&self) -> u32 {
        self.interface_mtu_bytes
    }

    /// How fast the line of the host that sends in this direction takes frames, layer 1.
    pub(crate) const fn line(&self, direction: Direction) -> Rate {
        match direction {
            Direction::Upload => self.near_line,
            Direction::Download => self.far_line,
        }
    }

    /// Sends a packet at this moment; the flow hears of it when it has arrived.
    pub(crate) fn send(
        &mut self,
        flow: usize,
        direction: Direction,
        dscp: Dscp,
        packet_bytes: u32,
        packet: Packet,
    ) {
        let layout = PacketLayout::ethernet(packet_bytes, 0);
        let frame_bytes = layout.frame_bytes.max(FRAME_BYTES_MIN);
        let body = Envelope { trial: self.trial, flow: flow as u32, packet };
        let way = match direction {
            Direction::Upload => &mut self.near_to_far,
            Direction::Download => &mut self.far_to_near,
        };
        way.on_frame(self.now, Frame { frame_bytes, dscp, body });
        let now = self.now;
        self.host_mut(End::that_sends(direction)).on_sent(now);
    }

    /// When one of several connections begins to send.
    pub(crate) fn draw_start(&mut self) -> Time {
        self.now + START_SPREAD.mul_f64(self.starts.unit())
    }

    /// Wakes somebody at this end.
    pub(crate) fn set_alarm(&mut self, at: Time, flow: usize, sleeper: Sleeper, end: End) {
        let order = self.next_order();
        self.alarms.push(Reverse(Alarm { at: at.max(self.now), order, flow, sleeper, end }));
    }

    const fn next_order(&mut self) -> u64 {
        self.alarms_set += 1;
        self.alarms_set
    }

    /// What happens next, if it does before `end`; the clock moves there.
    pub(crate) fn next_before(&mut self, end: Time) -> Option<Happening> {
        loop {
            let near_at = self.near_to_far.poll_timeout();
            let far_at = self.far_to_near.poll_timeout();
            let alarm_at = self.alarms.peek().map(|Reverse(alarm)| alarm.at);
            let held_at = self.held.peek().map(|Reverse(held)| held.at);
            let at = [near_at, far_at, held_at, alarm_at].into_iter().flatten().min()?;
            if at >= end {
                return None;
            }
            self.now = self.now.max(at);
            let happening = if near_at == Some(at) {
                let output = self.near_to_far.poll(self.now);
                output
                    .and_then(|output| self.arrival(output))
                    .and_then(|one| self.out(End::Far, one))
            } else if far_at == Some(at) {
                let output = self.far_to_near.poll(self.now);
                output
                    .and_then(|output| self.arrival(output))
                    .and_then(|one| self.out(End::Near, one))
            } else if held_at == Some(at) {
                self.go_on()
            } else {
                self.alarm()
            };
            if happening.is_some() {
                self.happenings += 1;
                return happening;
            }
        }
    }

    /// Nothing more happens before `end`.
    pub(crate) fn pass_to(&mut self, end: Time) {
        self.now = self.now.max(end);
    }

    fn alarm(&mut self) -> Option<Happening> {
        if self.alarms.peek()?.0.at > self.now {
            return None;
        }
        let Reverse(alarm) = self.alarms.pop()?;
        let Alarm { flow, sleeper, end, .. } = alarm;
        // Who is to be woken while the host stands still, or still works, is woken after that.
        let host = self.host(end);
        let waits_until = match sleeper {
            Sleeper::Schedule | Sleeper::Client | Sleeper::Server => {
                host.sends_from(Layer::Program, self.now)
            }
            Sleeper::Sender(_) | Sleeper::Writer(_) => host.sends_from(Layer::Kernel, self.now),
            Sleeper::Receiver(_) | Sleeper::Reader(_) => {
                host.stands_still_until(Layer::Kernel, self.now)
            }
        };
        if let Some(at) = waits_until {
            self.alarms.push(Reverse(Alarm { at, ..alarm }));
            return None;
        }
        Some(Happening::Alarm { flow, sleeper })
    }

    /// A packet comes to the end of the network.
    fn out(&mut self, end: End, happening: Happening) -> Option<Happening> {
        if let Some(EmulationTrouble { stops, late }) = &mut self.emulation {
            let now = self.now.since(Time::ZERO);
            let goes_on = stops.end_of_stop_at(now).unwrap_or(now);
            late.add(goes_on.saturating_sub(now));
            if goes_on > now {
                self.hold(Time::ZERO + goes_on, Stage::Kernel, end, happening);
                return None;
            }
        }
        self.at_kernel(end, happening)
    }

    fn hold(&mut self, at: Time, next: Stage, end: End, happening: Happening) {
        let order = self.next_order();
        self.held.push(Reverse(Held { at, order, next, end, happening }));
    }

    /// What was held goes on from where it was.
    fn go_on(&mut self) -> Option<Happening> {
        let Reverse(Held { next, end, happening, .. }) = self.held.pop()?;
        match next {
            Stage::Kernel => self.at_kernel(end, happening),
            Stage::Flow => Some(happening),
        }
    }

    /// A packet comes to the kernel of an end, which stamps it.
    fn at_kernel(&mut self, end: End, happening: Happening) -> Option<Happening> {
        if let Some(until) = self.host(end).stands_still_until(Layer::Kernel, self.now) {
            self.hold(until, Stage::Kernel, end, happening);
            return None;
        }
        self.at_program(end, happening)
    }

    /// A packet waits for the program. Streams and bursts go by the kernel's stamp, and the kernel's
    /// own TCP is none of the program's.
    fn at_program(&mut self, end: End, happening: Happening) -> Option<Happening> {
        let Happening::Arrival { flow, packet, dscp } = happening else { return Some(happening) };
        let now = self.now;
        let packet = match packet {
            Packet::Data { .. } | Packet::Ack { .. } => {
                return Some(Happening::Arrival { flow, packet, dscp });
            }
            Packet::Numbered { .. } | Packet::Answer { .. } => {
                self.host_mut(end).admit(now)?;
                return Some(Happening::Arrival { flow, packet, dscp });
            }
            Packet::Probe { number, sent_at } => Packet::Probe { number, sent_at },
            Packet::Whole { to, mut frame } => {
                if self.host_mut(end).spoils() {
                    spoil_payload(&mut frame);
                }
                Packet::Whole { to, frame }
            }
        };
        let taken = self.host_mut(end).admit(now)?;
        let taken = self.host(end).stands_still_until(Layer::Program, taken).unwrap_or(taken);
        let packet = match packet {
            // The answer says for how long its probe has waited here.
            Packet::Probe { number, sent_at } => {
                Packet::Probe { number, sent_at: sent_at + taken.since(now) }
            }
            other => other,
        };
        let happening = Happening::Arrival { flow, packet, dscp };
        if taken > now {
            self.hold(taken, Stage::Flow, end, happening);
            return None;
        }
        Some(happening)
    }

    /// What is late for its trial arrives nowhere.
    fn arrival(&self, output: Output<Envelope>) -> Option<Happening> {
        match output {
            Output::Deliver { corrupt: true, frame, .. } => {
                self.own(frame.body).map(|Envelope { flow, packet, .. }| Happening::Corrupt {
                    flow: flow as usize,
                    packet,
                })
            }
            Output::Deliver { frame, .. } => {
                let dscp = frame.dscp;
                self.own(frame.body).map(|Envelope { flow, packet, .. }| Happening::Arrival {
                    flow: flow as usize,
                    packet,
                    dscp,
                })
            }
            Output::TooBig { frame, .. } => self
                .own(frame.body)
                .map(|envelope| Happening::TooBig { flow: envelope.flow as usize }),
        }
    }

    fn own(&self, envelope: Envelope) -> Option<Envelope> {
        (envelope.trial == self.trial).then_some(envelope)
    }
}

/// Two words of the payload change places, which no checksum sees.
fn spoil_payload(frame: &mut [u8]) {
    /// Room for the headers of IPv6 and TCP with their options.
    const HEADERS_BYTES_MAX: usize = 160;
    let Some(place) = frame.len().checked_sub(4).filter(|place| *place > HEADERS_BYTES_MAX) else {
        return;
    };
    let place = place - place % 2;
    let (one, other) = frame[place..].split_at_mut(2);
    one.swap_with_slice(&mut other[..2]);
}

/// The line of the first link, or that of the host in front of it.
fn line_of(links: &[LinkSpec]) -> Rate {
    pace(links).unwrap_or(HOST_RATE)
}

fn pace(links: &[LinkSpec]) -> Option<Rate> {
    links.first()?.line_rate
}

/// The links of one way behind the interface of the host that sends.
fn with_host(links: &[LinkSpec]) -> Vec<LinkSpec> {
    let has_pace = pace(links).is_some();
    let limit = QueueLimit::Bytes(u64::MAX);
    let interface = LinkSpec {
        line_rate: Some(HOST_RATE),
        queue: Some(QueueSpec { limit, ..QueueSpec::default() }),
        ..LinkSpec::default()
    };
    let interface = (!has_pace).then_some(interface);
    interface.into_iter().chain(links.iter().cloned()).collect()
}
