//! Single packets from the near end, each answered by the far end.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Direction, ProbesLoad, ProbesReport, RttSummary, Time};

use crate::sim::host::{End, Layer};
use crate::sim::identity::Identity;
use crate::sim::network::{Network, Packet, Sleeper};
use crate::sim::series::Seen;

#[derive(Debug)]
pub(crate) struct ProbeFlow {
    pub(crate) identity: Identity,
    load: ProbesLoad,
    next: u32,
    arrived: Seen,
    answered: Seen,
    round_trips: Vec<Duration>,
    report: ProbesReport,
}

impl ProbeFlow {
    pub(crate) fn new(identity: Identity, load: ProbesLoad) -> Self {
        Self {
            identity,
            load,
            next: 0,
            arrived: Seen::default(),
            answered: Seen::default(),
            round_trips: Vec::new(),
            report: ProbesReport::default(),
        }
    }

    pub(crate) fn start(&mut self, network: &mut Network) {
        match network.host(End::Near).sends_from(Layer::Program, network.now()) {
            None => self.on_alarm(network),
            Some(at) => network.set_alarm(at, self.identity.index, Sleeper::Schedule, End::Near),
        }
    }

    /// The next probe is due.
    pub(crate) fn on_alarm(&mut self, network: &mut Network) {
        if self.next == self.load.count {
            return;
        }
        let (number, sent_at) = (self.next, network.now());
        if self.send(Direction::Upload, Packet::Probe { number, sent_at }, network) {
            self.report.sent += 1;
        } else {
            self.report.refused += 1;
        }
        self.next += 1;
        let due = self.identity.start + self.load.interval * self.next;
        network.set_alarm(due, self.identity.index, Sleeper::Schedule, End::Near);
    }

    pub(crate) fn on_packet(&mut self, packet: Packet, network: &mut Network) {
        match packet {
            Packet::Probe { number, sent_at } => {
                if self.arrived.insert(number.into()) {
                    self.report.arrived += 1;
                    // An answer that cannot leave is one that the near end does not get.
                    self.send(Direction::Download, Packet::Answer { number, sent_at }, network);
                }
            }
            Packet::Answer { number, sent_at } => {
                if self.answered.insert(number.into()) {
                    self.report.answered += 1;
                    self.round_trips.push(network.now().since(sent_at));
                }
            }
            Packet::Numbered { .. }
            | Packet::Data { .. }
            | Packet::Ack { .. }
            | Packet::Whole { .. } => {}
        }
    }

    pub(crate) const fn on_too_big(&mut self) {
        self.report.too_big_answers += 1;
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.next == self.load.count && self.report.answered == self.report.sent
    }

    pub(crate) fn ends_at(&self) -> Time {
        let Identity { start, timing, .. } = self.identity;
        start + self.load.interval * self.load.count + timing.settle
    }

    pub(crate) fn into_report(self) -> ProbesReport {
        ProbesReport { rtt: RttSummary::of(self.round_trips), ..self.report }
    }

    /// Whether the packet left: the size of the flow's direction is the one that is tried.
    fn send(&self, direction: Direction, packet: Packet, network: &mut Network) -> bool {
        let packet_bytes = if direction == self.identity.direction {
            self.load.packet_bytes
        } else {
            self.load.answer_bytes
        };
        let leaves = packet_bytes <= self.identity.interface_mtu_bytes;
        if leaves {
            network.send(self.identity.index, direction, self.identity.dscp, packet_bytes, packet);
        }
        leaves
    }
}
