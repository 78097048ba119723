//! A group of like TCP connections, both ends of each.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    ConnectionReport, Dscp, Sample, Sender as Writes, Slot, TcpLoad, TcpReport, Time, Timing,
};

use crate::sim::host::{End, Layer};
use crate::sim::identity::Identity;
use crate::sim::network::{Network, Packet, Sleeper};
use crate::sim::series::{Series, TcpSlot};
use crate::stream::{PacedWrites, Unit};
use crate::tcp::{
    Ack, Algorithm, Receiver, Segment, Sender, Settings, TCP_HEADER_BYTES, TIMESTAMP_OPTION_BYTES,
    WINDOW_BYTES_MAX,
};

#[derive(Debug)]
pub(crate) struct TcpFlow {
    pub(crate) identity: Identity,
    load: TcpLoad,
    segment_bytes: u32,
    connections: Vec<Connection>,
    is_stopped: bool,
    now: Time,
    series: Series,
    last_received: Time,
    whole_good_bytes: u64,
    dscp_received: Option<Dscp>,
    /// Connections from the first byte of each to its end: now, and the most in the slot that fills.
    active: u32,
    active_most: u32,
}

#[derive(Debug)]
struct Connection {
    sender: Sender,
    receiver: Receiver,
    sender_alarm: Option<Time>,
    receiver_alarm: Option<Time>,
    /// The application stands still and does not read, or does not write.
    is_unread: bool,
    is_unwritten: bool,
    /// For a host that is busy.
    is_waiting: bool,
    /// Of the slot that fills.
    slot: Figures,
    steady: Figures,
}

#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    good_bytes: u64,
    transmitted_bytes: u64,
    retransmitted_bytes: u64,
    sent_segments: u64,
    received_segments: u64,
    rtt_sum: Duration,
    rtt_count: u32,
    rtt_min: Option<Duration>,
    window_limited: Duration,
}

impl TcpFlow {
    pub(crate) fn new(identity: Identity, load: TcpLoad, algorithm: Algorithm) -> Self {
        // As a kernel does with what no interface or window scale can carry.
        let mss_fits = identity.interface_mtu_bytes - identity.ip_header_bytes - TCP_HEADER_BYTES;
        let segment_bytes = load.mss_bytes.min(mss_fits) - TIMESTAMP_OPTION_BYTES;
        let load = TcpLoad { window_bytes: load.window_bytes.min(WINDOW_BYTES_MAX), ..load };
        let settings = |index| Settings {
            segment_bytes,
            window_bytes: load.window_bytes,
            writes: match load.sender {
                Writes::Transfer { bytes } => {
                    Writes::Transfer { bytes: load.share_of(bytes, index) }
                }
                writes => writes,
            },
            algorithm,
            pacing: load.pacing,
        };
        let Identity { begins, ref timing, start, .. } = identity;
        let unit = match load.write_bytes {
            Some(bytes) => Unit::Write { bytes },
            None => Unit::Segment { bytes: segment_bytes },
        };
        let sender = |index| match PacedWrites::of(&load.pace, index, begins, timing, unit) {
            Some(writes) => Sender::paced(settings(index), writes, start),
            None => Sender::new(settings(index)),
        };
        let connection = |index| Connection {
            sender: sender(index),
            receiver: Receiver::new(load.window_bytes, segment_bytes),
            sender_alarm: None,
            receiver_alarm: None,
            is_unread: false,
            is_unwritten: false,
            is_waiting: false,
            slot: Figures::default(),
            steady: Figures::default(),
        };
        let connections = (0..load.connections).map(connection).collect();
        Self {
            identity,
            load,
            segment_bytes,
            connections,
            is_stopped: false,
            now: identity.start,
            series: Series::default(),
            last_received: identity.start,
            whole_good_bytes: 0,
            dscp_received: None,
            active: 0,
            active_most: 0,
        }
    }

    pub(crate) fn start(&mut self, network: &mut Network) {
        for connection in 0..self.load.connections {
            // Writes that follow a pace are due at its times.
            let drawn = network.draw_start();
            let start = if self.load.pace.is_unlimited() { drawn } else { network.now() };
            let at = start + self.identity.begins;
            network.set_alarm(at, self.identity.index, Sleeper::Sender(connection), self.sends());
        }
    }

    const fn sends(&self) -> End {
        End::that_sends(self.identity.direction)
    }

    const fn receives(&self) -> End {
        End::that_receives(self.identity.direction)
    }

    /// The application is told to stop, and the connections are broken off.
    pub(crate) const fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// All of a transfer has arrived.
    pub(crate) fn is_over(&self) -> bool {
        self.load.transfer_bytes().is_some_and(|bytes| self.whole_good_bytes >= bytes)
    }

    pub(crate) const fn is_transfer(&self) -> bool {
        self.load.transfer_bytes().is_some()
    }

    pub(crate) fn on_packet(&mut self, packet: Packet, dscp: Dscp, network: &mut Network) {
        self.now = network.now();
        match packet {
            Packet::Data { connection, segment } => {
                self.dscp_received = Some(dscp);
                self.on_data(connection, &segment, network);
            }
            Packet::Ack { connection, ack } if !self.is_stopped => {
                self.on_ack(connection, &ack);
                self.transmit(connection, network);
            }
            Packet::Ack { .. }
            | Packet::Probe { .. }
            | Packet::Answer { .. }
            | Packet::Numbered { .. }
            | Packet::Whole { .. } => {}
        }
    }

    pub(crate) fn on_alarm(&mut self, sleeper: Sleeper, network: &mut Network) {
        self.now = network.now();
        match sleeper {
            Sleeper::Sender(connection) if !self.is_stopped => {
                let ends = &mut self.connections[connection as usize];
                ends.sender_alarm = None;
                if ends.sender.poll_timeout().is_some_and(|at| at <= self.now) {
                    ends.sender.on_timeout(self.now);
                }
                self.transmit(connection, network);
            }
            Sleeper::Receiver(connection) => {
                self.connections[connection as usize].receiver_alarm = None;
                self.acknowledge(connection, network);
            }
            Sleeper::Reader(connection) => {
                self.read(connection, network);
                self.acknowledge(connection, network);
            }
            Sleeper::Writer(connection) if !self.is_stopped => {
                self.connections[connection as usize].is_waiting = false;
                self.transmit(connection, network);
            }
            Sleeper::Sender(_)
            | Sleeper::Writer(_)
            | Sleeper::Schedule
            | Sleeper::Client
            | Sleeper::Server => {}
        }
    }

    pub(crate) fn close_slot(&mut self, slot: Slot) -> Sample {
        let end = self.identity.start + slot.end;
        let mut cwnd_bytes = 0;
        for Connection { sender, slot: figures, steady, .. } in &mut self.connections {
            cwnd_bytes += sender.congestion_window_bytes();
            let window_limited = sender.window_limited(end);
            let closed = core::mem::take(figures);
            figures.window_limited = window_limited;
            if slot.steady {
                steady.add(&closed, window_limited);
            }
        }
        let active_connections = core::mem::replace(&mut self.active_most, self.active);
        self.series.close(slot, Some(TcpSlot { cwnd_bytes, active_connections }))
    }

    pub(crate) fn into_report(self) -> TcpReport {
        let busy = self.identity.timing.steady;
        let report = |ends: &Connection| ConnectionReport {
            good_bytes: ends.steady.good_bytes,
            transmitted_bytes: Some(ends.steady.transmitted_bytes),
            retransmitted_bytes: Some(ends.steady.retransmitted_bytes),
            rtt_mean: ends.steady.rtt_sum.checked_div(ends.steady.rtt_count),
            rtt_min: ends.steady.rtt_min,
            window_effective_bytes: Some(self.load.window_bytes),
            segment_bytes: Some(self.segment_bytes),
            congestion_control: String::from(
                self.load.congestion_control.name().unwrap_or("cubic"),
            ),
            receive_window_limited: Some(ends.steady.window_limited),
            // Applications write as soon as there is room for it.
            send_buffer_limited: Some(Duration::ZERO),
            busy: Some(busy),
            sent_segments: Some(ends.steady.sent_segments),
            received_segments: Some(ends.steady.received_segments),
            dscp_received: self.dscp_received,
        };
        TcpReport {
            connections: self.connections.iter().map(report).collect(),
            whole_good_bytes: self.whole_good_bytes,
            whole_until: self.last_received.since(self.identity.start),
            series: match self.is_transfer() {
                true => Sample::joined(self.series.into_samples(), Timing::SLOTS_MAX),
                false => self.series.into_samples(),
            },
        }
    }

    fn on_data(&mut self, connection: u32, segment: &Segment, network: &mut Network) {
        self.read(connection, network);
        let ends = &mut self.connections[connection as usize];
        let before = ends.receiver.next();
        ends.receiver.on_segment(self.now, segment);
        ends.slot.received_segments += 1;
        let next = ends.receiver.next();
        let good_bytes = next - before;
        if good_bytes > 0 {
            self.active += u32::from(before == 0);
            self.active_most = self.active_most.max(self.active);
            let is_whole = match self.load.sender {
                Writes::Transfer { bytes } => next >= self.load.share_of(bytes, connection),
                Writes::Bulk | Writes::Burst | Writes::MicroBurst(_) => false,
            };
            self.active -= u32::from(is_whole);
            ends.slot.good_bytes += good_bytes;
            self.series.received_bytes += good_bytes;
            self.whole_good_bytes += good_bytes;
            self.last_received = self.now;
        }
        self.acknowledge(connection, network);
    }

    fn on_ack(&mut self, connection: u32, ack: &Ack) {
        let ends = &mut self.connections[connection as usize];
        if let Some(rtt) = ends.sender.on_ack(self.now, ack) {
            ends.slot.rtt_sum += rtt;
            ends.slot.rtt_count += 1;
            ends.slot.rtt_min = Some(ends.slot.rtt_min.map_or(rtt, |min| min.min(rtt)));
            self.series.on_rtt(rtt);
        }
    }

    fn acknowledge(&mut self, connection: u32, network: &mut Network) {
        let Identity { index, dscp, ip_header_bytes, .. } = self.identity;
        let ends = &mut self.connections[connection as usize];
        if let Some(ack) = ends.receiver.poll_transmit(self.now) {
            let packet_bytes = ip_header_bytes + ack.segment_bytes();
            let packet = Packet::Ack { connection, ack };
            network.send(index, self.identity.back(), dscp, packet_bytes, packet);
        }
        if let Some(at) = ends.receiver.poll_timeout()
            && ends.receiver_alarm.is_none_or(|alarm| at < alarm)
        {
            ends.receiver_alarm = Some(at);
            network.set_alarm(at, index, Sleeper::Receiver(connection), self.receives());
        }
    }

    /// The application does not read while it stands still.
    fn read(&mut self, connection: u32, network: &mut Network) {
        let end = self.receives();
        let stands_still = network.host(end).stands_still_until(Layer::Program, self.now);
        let ends = &mut self.connections[connection as usize];
        match stands_still {
            None if ends.is_unread => {
                ends.receiver.release(self.now);
                ends.is_unread = false;
            }
            None => {}
            Some(until) if !ends.is_unread => {
                ends.receiver.hold();
                ends.is_unread = true;
                network.set_alarm(until, self.identity.index, Sleeper::Reader(connection), end);
            }
            Some(_) => {}
        }
    }

    /// The application does not write while it stands still. Says whether the host can send now.
    fn write(&mut self, connection: u32, network: &mut Network) -> bool {
        let (end, index) = (self.sends(), self.identity.index);
        let stands_still = network.host(end).stands_still_until(Layer::Program, self.now);
        let ends = &mut self.connections[connection as usize];
        match stands_still {
            None if ends.is_unwritten => {
                ends.sender.release();
                ends.is_unwritten = false;
            }
            None => {}
            Some(until) if !ends.is_unwritten => {
                ends.sender.hold();
                ends.is_unwritten = true;
                network.set_alarm(until, index, Sleeper::Writer(connection), end);
            }
            Some(_) => {}
        }
        self.may_send(connection, network)
    }

    /// Whether the host can send now; it is asked again when it can.
    fn may_send(&mut self, connection: u32, network: &mut Network) -> bool {
        let (end, index) = (self.sends(), self.identity.index);
        let Some(at) = network.host(end).sends_from(Layer::Kernel, self.now) else { return true };
        let ends = &mut self.connections[connection as usize];
        if !ends.is_waiting {
            ends.is_waiting = true;
            network.set_alarm(at, index, Sleeper::Writer(connection), end);
        }
        false
    }

    fn transmit(&mut self, connection: u32, network: &mut Network) {
        let Identity { index, direction, dscp, ip_header_bytes, .. } = self.identity;
        let mut may_send = self.write(connection, network);
        while may_send {
            let ends = &mut self.connections[connection as usize];
            let Some(segment) = ends.sender.poll_transmit(self.now) else { break };
            let payload_bytes = u64::from(segment.payload_bytes);
            ends.slot.transmitted_bytes += payload_bytes;
            ends.slot.sent_segments += 1;
            self.series.sent_bytes += payload_bytes;
            if segment.is_retransmission {
                ends.slot.retransmitted_bytes += payload_bytes;
                self.series.retransmitted_bytes += payload_bytes;
            }
            let packet_bytes = ip_header_bytes + segment.segment_bytes();
            let packet = Packet::Data { connection, segment };
            network.send(index, direction, dscp, packet_bytes, packet);
            may_send = self.may_send(connection, network);
        }
        self.set_sender_alarm(connection, network);
    }

    /// One alarm follows the deadline, which acknowledgements keep pushing back.
    fn set_sender_alarm(&mut self, connection: u32, network: &mut Network) {
        let ends = &mut self.connections[connection as usize];
        if let Some(at) = ends.sender.poll_timeout()
            && ends.sender_alarm.is_none_or(|alarm| at < alarm)
        {
            ends.sender_alarm = Some(at);
            let end = End::that_sends(self.identity.direction);
            network.set_alarm(at, self.identity.index, Sleeper::Sender(connection), end);
        }
    }
}

impl Figures {
    /// `window_limited`: since the start of the connection, as it was kept at the slot's start.
    fn add(&mut self, slot: &Self, window_limited: Duration) {
        self.good_bytes += slot.good_bytes;
        self.transmitted_bytes += slot.transmitted_bytes;
        self.retransmitted_bytes += slot.retransmitted_bytes;
        self.sent_segments += slot.sent_segments;
        self.received_segments += slot.received_segments;
        self.rtt_sum += slot.rtt_sum;
        self.rtt_count += slot.rtt_count;
        self.rtt_min = [self.rtt_min, slot.rtt_min].into_iter().flatten().min();
        self.window_limited += window_limited.saturating_sub(slot.window_limited);
    }
}
