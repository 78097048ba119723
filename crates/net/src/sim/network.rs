//! The path between the ends, the alarms they set, and the clock that all of it shares.

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::time::Duration;

use fp_model::{Direction, Dscp, PacketLayout, Rate, Time};

use crate::link::random::{Purpose, Random};
use crate::link::{Frame, Output, Way};
use crate::path::{LinkSpec, PathSpec, QueueLimit, QueueSpec};
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
    trial: u32,
    now: Time,
    happenings: u64,
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

    pub(crate) fn begin_trial(&mut self) {
        self.trial += 1;
        self.alarms.clear();
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
    }

    /// When one of several connections begins to send.
    pub(crate) fn draw_start(&mut self) -> Time {
        self.now + START_SPREAD.mul_f64(self.starts.unit())
    }

    pub(crate) fn set_alarm(&mut self, at: Time, flow: usize, sleeper: Sleeper) {
        self.alarms_set += 1;
        let order = self.alarms_set;
        self.alarms.push(Reverse(Alarm { at: at.max(self.now), order, flow, sleeper }));
    }

    /// What happens next, if it does before `end`; the clock moves there.
    pub(crate) fn next_before(&mut self, end: Time) -> Option<Happening> {
        loop {
            let near_at = self.near_to_far.poll_timeout();
            let far_at = self.far_to_near.poll_timeout();
            let alarm_at = self.alarms.peek().map(|Reverse(alarm)| alarm.at);
            let at = [near_at, far_at, alarm_at].into_iter().flatten().min()?;
            if at >= end {
                return None;
            }
            self.now = self.now.max(at);
            let happening = if near_at == Some(at) {
                self.near_to_far.poll(self.now).and_then(|output| self.arrival(output))
            } else if far_at == Some(at) {
                self.far_to_near.poll(self.now).and_then(|output| self.arrival(output))
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
        let Reverse(Alarm { flow, sleeper, .. }) = self.alarms.pop()?;
        Some(Happening::Alarm { flow, sleeper })
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
