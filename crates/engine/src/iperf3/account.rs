//! The figures of a test while it runs: by intervals, and from the end of the omitted time.

use std::time::Duration;

use fp_model::Time;

use super::processor::{ProcessorTime, ProcessorUse};
use super::traffic::{Count, Role, Stream, Traffic};
use super::wire::{Results, StreamResult};

/// What all streams did from one look to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// From the start of the test.
    pub from: Duration,
    pub until: Duration,
    /// Before the figures begin.
    pub omitted: bool,
    pub streams: Vec<StreamInterval>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StreamInterval {
    pub id: u32,
    /// That of the end which tells.
    pub role: Role,
    /// Payload.
    pub bytes: u64,
    /// Of the end that sends TCP.
    pub tcp: Option<TcpInterval>,
    /// Of UDP; at the receiver those that arrived.
    pub packets: Option<u64>,
    /// Of the end that receives UDP.
    pub arrival: Option<Arrival>,
}

/// What the kernel of a sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpInterval {
    pub retransmitted_segments: u64,
    pub cwnd_bytes: u64,
    /// The window that the receiver advertised.
    pub window_bytes: u64,
    pub rtt: Duration,
    pub rtt_variation: Duration,
    pub path_mtu_bytes: u32,
}

/// How datagrams arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    pub lost_packets: u64,
    pub out_of_order: u64,
    pub duplicates: u64,
    /// At the end.
    pub jitter: Duration,
}

/// Keeps the accounts of the streams of a test.
#[derive(Debug)]
pub(super) struct Account {
    started: Time,
    /// Where the figures begin.
    began: Time,
    base: Vec<Mark>,
    looked: Time,
    last: Vec<Mark>,
    processor: ProcessorTime,
}

/// A stream at one instant.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    count: Count,
    retransmitted_segments: Option<u64>,
}

/// The whole of a stream, closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Balance {
    pub(super) id: u32,
    pub(super) role: Role,
    /// From the end of the omitted time on.
    pub(super) measured: Count,
    pub(super) retransmitted_segments: Option<u64>,
    /// From the beginning.
    pub(super) whole: Count,
}

/// All streams, closed.
#[derive(Debug)]
pub(super) struct Closed {
    pub(super) lasted: Duration,
    pub(super) balances: Vec<Balance>,
    pub(super) processor: ProcessorUse,
    congestion: Option<String>,
}

impl Account {
    /// From the very beginning: a fast server's first bytes are here before it has said so.
    pub(super) fn open(traffic: &Traffic, now: Time) -> Self {
        let from_zero = |mark| Mark { count: Count::default(), ..mark };
        let marks: Vec<_> = marks(traffic).into_iter().map(from_zero).collect();
        Self {
            started: now,
            began: now,
            base: marks.clone(),
            looked: now,
            last: marks,
            processor: ProcessorTime::now(),
        }
    }

    /// The omitted time is over: the figures begin.
    pub(super) fn begin(&mut self, traffic: &Traffic, now: Time) {
        self.began = now;
        self.base = marks(traffic);
        self.processor = ProcessorTime::now();
    }

    pub(super) fn interval(&mut self, traffic: &Traffic, now: Time, omitted: bool) -> Interval {
        let marks = marks(traffic);
        let streams = traffic.streams().iter().zip(&marks).zip(&self.last);
        let interval = Interval {
            from: self.looked.since(self.started),
            until: now.since(self.started),
            omitted,
            streams: streams.map(|((stream, now), last)| of_stream(stream, now, last)).collect(),
        };
        (self.looked, self.last) = (now, marks);
        interval
    }

    /// Payload since the figures began, sent and received.
    pub(super) fn bytes(&self, traffic: &Traffic, role: Role) -> u64 {
        let streams = traffic.streams().iter().zip(&self.base);
        let ours = streams.filter(|(stream, _)| stream.role == role);
        ours.map(|(stream, base)| stream.count().since(&base.count).bytes).sum()
    }

    pub(super) fn close(&self, traffic: &Traffic, now: Time) -> Closed {
        let streams = traffic.streams().iter().zip(marks(traffic)).zip(&self.base);
        let balances = streams.map(|((stream, end), base)| Balance {
            id: stream.id,
            role: stream.role,
            measured: end.count.since(&base.count),
            retransmitted_segments: retransmitted(&end, base),
            whole: end.count,
        });
        Closed {
            lasted: now.since(self.began),
            balances: balances.collect(),
            processor: self.processor.used_until(ProcessorTime::now()),
            congestion: traffic.streams().first().and_then(|stream| stream.congestion()),
        }
    }
}

impl Closed {
    /// The results of the test as they are sent to the other end.
    pub(super) fn results(&self) -> Results {
        let sends = self.balances.iter().any(|balance| balance.role == Role::Sender);
        let counts = self.balances.iter().any(|b| b.retransmitted_segments.is_some());
        Results {
            cpu_util_total: self.processor.total_percent(),
            cpu_util_user: self.processor.user_percent,
            cpu_util_system: self.processor.system_percent,
            sender_has_retransmits: if sends { counts.into() } else { -1 },
            congestion_used: self.congestion.clone(),
            server_output_text: None,
            server_output_json: None,
            streams: self.balances.iter().map(|balance| self.result(balance)).collect(),
        }
    }

    fn result(&self, balance: &Balance) -> StreamResult {
        let whole = &balance.whole;
        let omitted_packets = whole.packets - balance.measured.packets;
        let lost = match balance.role {
            Role::Sender => 0,
            Role::Receiver => whole.lost_packets(),
        };
        let omitted_lost = lost.saturating_sub(balance.measured.lost_packets());
        StreamResult {
            id: balance.id.into(),
            bytes: signed(balance.measured.bytes),
            retransmits: balance.retransmitted_segments.map_or(-1, signed),
            jitter: balance.measured.jitter.as_secs_f64(),
            errors: signed(lost),
            omitted_errors: Some(signed(omitted_lost)),
            packets: signed(whole.packets),
            omitted_packets: Some(signed(omitted_packets)),
            start_time: 0.0,
            end_time: self.lasted.as_secs_f64(),
        }
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn marks(traffic: &Traffic) -> Vec<Mark> {
    let mark = |stream: &Stream| Mark {
        count: stream.count(),
        retransmitted_segments: match stream.role {
            Role::Sender => stream.tcp_info().map(|tcp| tcp.total_retrans_segments.into()),
            Role::Receiver => None,
        },
    };
    traffic.streams().iter().map(|stream| mark(stream)).collect()
}

fn retransmitted(now: &Mark, then: &Mark) -> Option<u64> {
    Some(now.retransmitted_segments?.saturating_sub(then.retransmitted_segments?))
}

fn of_stream(stream: &Stream, now: &Mark, last: &Mark) -> StreamInterval {
    let since = now.count.since(&last.count);
    let (is_udp, receives) = (stream.is_udp(), stream.role == Role::Receiver);
    let packets = if receives { since.received_packets } else { since.packets };
    StreamInterval {
        id: stream.id,
        role: stream.role,
        bytes: since.bytes,
        tcp: if receives { None } else { tcp_interval(stream, now, last) },
        packets: is_udp.then_some(packets),
        arrival: (is_udp && receives).then_some(since.arrival()),
    }
}

fn tcp_interval(stream: &Stream, now: &Mark, last: &Mark) -> Option<TcpInterval> {
    let tcp = stream.tcp_info()?;
    Some(TcpInterval {
        retransmitted_segments: retransmitted(now, last)?,
        cwnd_bytes: u64::from(tcp.snd_cwnd_segments) * u64::from(tcp.snd_mss_bytes),
        window_bytes: tcp.snd_wnd_bytes.into(),
        rtt: Duration::from_micros(tcp.rtt_us.into()),
        rtt_variation: Duration::from_micros(tcp.rttvar_us.into()),
        path_mtu_bytes: tcp.pmtu_bytes,
    })
}

impl Count {
    pub(super) fn arrival(&self) -> Arrival {
        Arrival {
            lost_packets: self.lost_packets(),
            out_of_order: self.out_of_order,
            duplicates: self.duplicates,
            jitter: self.jitter,
        }
    }
}
