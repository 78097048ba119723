//! Streams of frames as UDP: whoever receives counts them, and a stock server tells totals alone.

use std::os::fd::AsFd as _;
use std::time::Duration;

use fp_model::{
    Direction, DscpCount, FlowReport, FramesReport, Jitter, Load, Observation, PacketLayout,
    Sample, Slot, TesterHealth, Time, Timing, Trial,
};
use fp_net::stream::Schedule;

use super::ask::Ask;
use super::session::{Session, host};
use super::{Iperf3Testbed, in_order};
use crate::Marking;
use crate::iperf3::client::{ClientError, dial};
use crate::iperf3::traffic::{Count, Offer, Role, Stream, StreamError, Traffic};
use crate::iperf3::wire::{Results, StreamResult, Transport, Way};
use crate::os::wake::{Interest, wait};
use crate::os::{clock, tcp};

const LOOK_UP: Duration = Duration::from_millis(20);
/// What is due at the end of a trial leaves so much later at most.
const LATE_MAX: Duration = Duration::from_millis(100);
/// What was sent last is waited for so long at most before the server is told of the end.
const SETTLE_MAX: Duration = Duration::from_secs(2);

pub(super) fn run(
    bed: &mut Iperf3Testbed,
    trial: &Trial,
    ask: &Ask,
) -> Result<Observation, ClientError> {
    let mut session = bed.session()?;
    let asked = &ask.parameters;
    session.ask(asked)?;
    let marking = |stream: usize| Marking::of(&trial.flows[ask.flows[stream]]);
    let (control, stop) = (&session.control, &bed.options.stop);
    let streams = dial::streams(control, asked, &session.cookie, marking, stop)?;
    let mut traffic = Traffic::receive(Transport::Udp, streams, asked.counter)
        .map_err(|source| host("start to receive", source))?;
    session.begin()?;
    let start = clock::now() + ask.lead;
    let mut series = Series::new(trial, ask, start);
    let blocks_each = blocks_each(trial, ask);
    traffic
        .send(Transport::Udp, Offer::without_end(asked).ending_after(blocks_each))
        .map_err(|source| host("start to send", source))?;
    let mut end = trial.timing.active();
    series.until(bed, &mut session, &traffic, end)?;
    // The sender's thread began a little later than the trial.
    let latest = end + LATE_MAX;
    while end < latest && blocks_each.is_some_and(|blocks| is_sending(&traffic, blocks)) {
        end += LATE_MAX / 10;
        series.until(bed, &mut session, &traffic, end)?;
    }
    let far = bed.far.to_string();
    let broken = |error: StreamError| {
        let (far, why) = (far.clone(), error.to_string());
        ClientError::Server { far, why }
    };
    traffic.stop_sending().map_err(broken)?;
    if traffic.streams().iter().any(|stream| stream.role == Role::Sender) {
        let active = trial.timing.active();
        let settle = trial.timing.settle.min(SETTLE_MAX);
        series.until(bed, &mut session, &traffic, active + settle)?;
    }
    session.say_end()?;
    traffic.drain().map_err(broken)?;
    series.cut_the_rest(bed, &traffic);
    let results = session.exchange(series.results(&traffic))?;
    let flows = ask.flows.iter().enumerate().map(|(index, &place)| {
        let report = series.report(&session, &traffic, index, &results)?;
        Ok((place, FlowReport::Frames(report)))
    });
    let flows = flows.collect::<Result<Vec<_>, ClientError>>()?;
    let (near, far) = (TesterHealth::default(), TesterHealth::default());
    Ok(Observation { flows: in_order(flows), near, far, ..Observation::default() })
}

/// The frames that a stream of this end has in all: those that are due. A test that begins before
/// its trial has others as well.
fn blocks_each(trial: &Trial, ask: &Ask) -> Option<u64> {
    let Load::Frames(load) = &trial.flows.first()?.load else { return None };
    ask.lead.is_zero().then(|| Schedule::new(load, &trial.timing).frames_due())
}

/// Whether a stream of this end has sent fewer than so many.
fn is_sending(traffic: &Traffic, blocks: u64) -> bool {
    let mut sent = traffic.streams().iter().filter(|stream| stream.role == Role::Sender);
    sent.any(|stream| stream.count().packets < blocks)
}

/// What this end counts of all streams, slot by slot.
struct Series<'a> {
    trial: &'a Trial,
    ask: &'a Ask,
    grid: Vec<Slot>,
    start: Time,
    has_begun: bool,
    cut: usize,
    streams: Vec<Counted>,
}

/// By stream.
#[derive(Clone, Default)]
struct Counted {
    /// At the beginning of the steady time, at its end and at the last cut.
    began: Option<Count>,
    ended: Count,
    last: Count,
    series: Vec<Sample>,
}

impl<'a> Series<'a> {
    fn new(trial: &'a Trial, ask: &'a Ask, start: Time) -> Self {
        // Without a warm-up everything counts, the first byte included.
        let began = trial.timing.warm_up.is_zero().then(Count::default);
        let counted = Counted { began, ..Counted::default() };
        let streams = vec![counted; ask.flows.len()];
        let (grid, has_begun) = (trial.timing.grid(), ask.lead.is_zero());
        Self { trial, ask, grid, start, has_begun, cut: 0, streams }
    }

    /// Cuts what is over, until so long after the start.
    fn until(
        &mut self,
        bed: &mut Iperf3Testbed,
        session: &mut Session,
        traffic: &Traffic,
        end: Duration,
    ) -> Result<(), ClientError> {
        loop {
            let now = clock::now();
            if bed.options.stop.is_set() {
                return Err(ClientError::Stopped);
            }
            session.listen()?;
            if !self.has_begun && now >= self.start {
                self.has_begun = true;
                for (counted, stream) in self.streams.iter_mut().zip(traffic.streams()) {
                    counted.last = stream.count();
                }
            }
            while self.cut + 1 < self.grid.len() && self.start + self.grid[self.cut].end <= now {
                self.cut_next(bed, traffic, now);
            }
            if now >= self.start + end {
                return Ok(());
            }
            let due = match self.has_begun {
                true => self.start + self.grid[self.cut].end.min(end),
                false => self.start,
            };
            wait(&[(session.control.as_fd(), Interest::Read)], due.since(now).min(LOOK_UP))
                .map_err(|source| host("wait for the iperf3 server", source))?;
        }
    }

    fn cut_the_rest(&mut self, bed: &mut Iperf3Testbed, traffic: &Traffic) {
        while self.cut < self.grid.len() {
            self.cut_next(bed, traffic, clock::now());
        }
    }

    fn cut_next(&mut self, bed: &mut Iperf3Testbed, traffic: &Traffic, now: Time) {
        let slot = self.grid[self.cut];
        let begins_steady = self.grid.get(self.cut + 1).is_some_and(|next| next.steady);
        let frame_bytes = u64::from(self.frame_bytes());
        for (counted, (stream, &flow)) in
            self.streams.iter_mut().zip(traffic.streams().iter().zip(&self.ask.flows))
        {
            let sample = counted.cut(stream, slot, now.since(self.start), frame_bytes);
            if begins_steady && !slot.steady {
                counted.began = Some(counted.last);
            }
            if slot.steady {
                counted.ended = counted.last;
            }
            bed.sampled(self.trial, flow, sample);
        }
        self.cut += 1;
    }

    fn frame_bytes(&self) -> u32 {
        self.ask.parameters.block_bytes + self.headers_bytes()
    }

    fn headers_bytes(&self) -> u32 {
        self.trial
            .flows
            .first()
            .map_or(0, |flow| PacketLayout::udp_headers_bytes(flow.family, flow.vlan_tags))
    }

    /// As the server is told.
    fn results(&self, traffic: &Traffic) -> Vec<StreamResult> {
        let signed = |count| i64::try_from(count).unwrap_or(i64::MAX);
        let result = |(stream, counted): (&std::sync::Arc<Stream>, &Counted)| {
            let began = counted.began.unwrap_or_default();
            let measured = counted.last.since(&began);
            let lost = match stream.role {
                Role::Sender => 0,
                Role::Receiver => counted.last.lost_packets(),
            };
            StreamResult {
                id: stream.id.into(),
                bytes: signed(measured.bytes),
                retransmits: -1,
                jitter: counted.last.jitter.as_secs_f64(),
                errors: signed(lost),
                omitted_errors: Some(0),
                packets: signed(counted.last.packets),
                omitted_packets: Some(signed(began.packets)),
                end_time: self.trial.timing.steady.as_secs_f64(),
                ..StreamResult::default()
            }
        };
        traffic.streams().iter().zip(&self.streams).map(result).collect()
    }

    fn report(
        &self,
        session: &Session,
        traffic: &Traffic,
        index: usize,
        results: &Results,
    ) -> Result<FramesReport, ClientError> {
        let (stream, counted) = (&traffic.streams()[index], &self.streams[index]);
        let told =
            results.stream(stream.id).ok_or_else(|| session.untold("figures of a stream"))?;
        let began = counted.began.unwrap_or_default();
        let direction = self.trial.flows[self.ask.flows[index]].direction;
        let report = match direction {
            Direction::Upload => self.upload(session, counted, &began, told)?,
            Direction::Download => self.download(counted, &began, told),
        };
        let bytes = |frames: u64| frames * u64::from(self.frame_bytes());
        let Load::Frames(load) = &self.trial.flows[self.ask.flows[index]].load else {
            return Err(session.untold("frames"));
        };
        let planned = Schedule::new(load, &self.trial.timing).planned_frames();
        Ok(FramesReport {
            planned_frames: planned.max(report.sent_frames),
            sent_bytes: bytes(report.sent_frames),
            received_bytes: bytes(report.received_frames),
            dscp_received: vec![DscpCount { dscp: None, frames: report.received_frames }],
            series: self.series_of(counted, direction),
            ..report
        })
    }

    /// Whether the server goes on sending while the last packets from here are on their way to it.
    fn outlasts_trial(&self) -> bool {
        self.ask.parameters.way == Way::Both
    }

    fn series_of(&self, counted: &Counted, direction: Direction) -> Vec<Sample> {
        let mut series = counted.series.clone();
        if direction == Direction::Download && self.outlasts_trial() {
            series.retain(|slot| slot.steady || slot.at < self.trial.timing.warm_up);
        }
        series
    }

    /// What the server received: from its omitted time on, if there is one.
    fn upload(
        &self,
        session: &Session,
        counted: &Counted,
        began: &Count,
        told: &StreamResult,
    ) -> Result<FramesReport, ClientError> {
        let known = |count: i64| u64::try_from(count).map_err(|_| session.untold("packets"));
        let arrived = known(told.packets.saturating_sub(told.errors))?;
        let Timing { warm_up, steady, .. } = self.trial.timing;
        let (sent, received) = if warm_up.is_zero() {
            (counted.last.packets, arrived)
        } else {
            let received = known(told.bytes / i64::from(self.ask.parameters.block_bytes))?;
            let sent = match told.omitted_packets {
                // Their numbers tell which ones it counts, whenever they came.
                Some(omitted) => counted.last.packets.saturating_sub(known(omitted)?),
                None => self.sent_for(session, counted, began, [arrived, received]),
            };
            (sent, received)
        };
        let jitter = Duration::try_from_secs_f64(told.jitter).ok();
        let sent = sent.max(received);
        // What the server counts of the warm-up was sent before the steady time.
        let in_steady = counted.last.since(began).packets;
        let share = sent as f64 / in_steady.max(1) as f64;
        Ok(FramesReport {
            sent_in: if warm_up.is_zero() { steady } else { steady.mul_f64(share.clamp(0.5, 2.0)) },
            sent_frames: sent,
            received_frames: received,
            jitter: jitter.map(|rfc3550| Jitter { rfc3550, mean: None }),
            ..FramesReport::default()
        })
    }

    /// What this end sent of what a server counts that does not tell how much it omitted: its clock
    /// began half a round trip before ours, and what it counts first left another half before it
    /// came. What arrived in all and did not count was sent before, and what was lost then is not
    /// known.
    fn sent_for(
        &self,
        session: &Session,
        counted: &Counted,
        began: &Count,
        [arrived, received]: [u64; 2],
    ) -> u64 {
        let since = counted.last.since(began).packets + self.sent_in_a_round_trip(session);
        let omitted = arrived.saturating_sub(received);
        since.clamp(received, counted.last.packets.saturating_sub(omitted).max(received))
    }

    fn sent_in_a_round_trip(&self, session: &Session) -> u64 {
        let rtt = tcp::info(session.control.stream()).map_or(0, |info| info.min_rtt_us);
        let rtt = Duration::from_micros(if rtt == u32::MAX { 0 } else { rtt.into() });
        let bytes = self.ask.parameters.rate.map_or(0, |rate| rate.bytes_in(rtt));
        bytes / u64::from(self.ask.parameters.block_bytes)
    }

    /// What came here. Of a test without an omitted time the server tells how many it sent; else
    /// the numbers of those that came tell.
    fn download(&self, counted: &Counted, began: &Count, told: &StreamResult) -> FramesReport {
        let ends_with_trial = !self.outlasts_trial();
        let ended = if ends_with_trial { &counted.last } else { &counted.ended };
        let seen = ended.since(began);
        let sent = match self.trial.timing.warm_up.is_zero() && ends_with_trial {
            true => u64::try_from(told.packets).unwrap_or(seen.packets),
            false => seen.packets,
        };
        let arrival = seen.arrival();
        let lasted = Duration::try_from_secs_f64(told.end_time - told.start_time).ok();
        let lasted = lasted.filter(|lasted| !lasted.is_zero() && ends_with_trial);
        FramesReport {
            sent_in: lasted.unwrap_or(self.trial.timing.steady),
            received_in: lasted,
            sent_frames: sent.max(seen.received_packets),
            received_frames: seen.received_packets,
            out_of_order_frames: Some(arrival.out_of_order),
            duplicate_frames: Some(arrival.duplicates),
            jitter: Some(Jitter { rfc3550: arrival.jitter, mean: None }),
            ..FramesReport::default()
        }
    }
}

impl Counted {
    fn cut(&mut self, stream: &Stream, slot: Slot, cut: Duration, frame_bytes: u64) -> Sample {
        let at = self.series.last().map_or(Duration::ZERO, |last| last.at + last.lasts);
        let mut sample =
            Sample { at, lasts: cut.saturating_sub(at), steady: slot.steady, ..Sample::default() };
        if sample.lasts.is_zero() {
            // A look that came late has cut several slots at once.
            return sample;
        }
        let now = stream.count();
        let since = now.since(&self.last);
        self.last = now;
        match stream.role {
            Role::Sender => sample.sent_bytes = Some(since.packets * frame_bytes),
            Role::Receiver => sample.received_bytes = Some(since.received_packets * frame_bytes),
        }
        self.series.push(sample);
        sample
    }
}
