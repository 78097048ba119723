//! The sending end: what may leave now, and what every acknowledgement and timeout changes.

mod connected;

use core::time::Duration;

use fp_model::{Rate, Sender as Writes, Time};

use crate::stream::PacedWrites;
use crate::tcp::congestion::Congestion;
use crate::tcp::flight::Flight;
use crate::tcp::recovery::Reduction;
use crate::tcp::rtt::RoundTrips;
use crate::tcp::{Ack, Algorithm, Echo, Segment};

pub(crate) use connected::{Manners, Outstanding, Resumption, ShortSegments};

/// A lost tail is probed for after two round trips and this: two clock ticks of Linux, or the time
/// for which a lone segment's acknowledgement may be delayed.
const PROBE_MARGIN: Duration = Duration::from_millis(8);
const LONE_PROBE_MARGIN: Duration = Duration::from_millis(200);

/// Room in the send buffer beyond a window, as the engine sets it.
const SEND_BUFFER_SPARE_BYTES: u64 = 128 << 10;

/// Probes of a closed window are no further apart.
const PERSIST_MAX: Duration = Duration::from_secs(60);

/// What a connection is set up with.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Payload of a full segment, options taken off.
    pub segment_bytes: u32,
    /// The window that the receiver offered in the handshake.
    pub window_bytes: u64,
    pub writes: Writes,
    pub algorithm: Algorithm,
    pub pacing: Option<Rate>,
}

#[derive(Debug)]
pub struct Sender {
    settings: Settings,
    manners: Manners,
    /// All before is acknowledged.
    acknowledged: u64,
    /// Where new payload begins.
    next: u64,
    /// How far the application has written.
    written: u64,
    /// How far it had written, or was to, when it stopped to write.
    held: Option<u64>,
    /// When it began to, if it has.
    writing_since: Option<Time>,
    /// When it writes next, if that is a matter of time.
    write_due: Option<Time>,
    /// The pace of the application, from this start of its times.
    paced: Option<(PacedWrites, Time)>,
    /// Of what that asks for, what was written or given up.
    passed_bytes: u64,
    /// How far the receiver's window reaches.
    window_end: u64,
    /// The largest window that it had.
    window_max: u64,
    /// The last position written is the end of the stream.
    is_closed: bool,
    persist: Option<Persist>,
    /// Where a probe of the closed window ended, if it went beyond `next`.
    persisted_to: u64,
    /// Retransmission timeouts since the receiver was last heard of.
    timeouts: u32,
    /// Acknowledgements that told nothing new, each for a segment beyond a hole.
    duplicates: u32,
    /// The window was reduced for marks up to here.
    marked_to: u64,
    /// The acknowledgement that is being taken tells of a mark.
    is_marked: bool,
    /// End of the last segment that was not full: a second one waits until it is acknowledged.
    short_end: u64,
    flight: Flight,
    rtt: RoundTrips,
    congestion: Congestion,
    usage: WindowUsage,
    phase: Phase,
    /// The end of the stream when a tail probe was sent.
    probed_at: Option<TailProbe>,
    timeout_from: Time,
    judge_again: Option<Time>,
    probe_at: Option<Time>,
    next_departure: Time,
    is_paced_back: bool,
    window_limit: WindowLimit,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Open,
    /// Filling holes until everything up to `end` is acknowledged.
    Recovery {
        end: u64,
        reduction: Reduction,
        before: Before,
    },
    /// The same after a timeout, by slow start.
    Loss {
        end: u64,
        before: Before,
    },
}

/// What a recovery goes back to if it turns out to have been unnecessary.
#[derive(Clone, Copy, Debug)]
struct Before {
    window: f64,
    slow_start_threshold: f64,
    /// When something was sent again for the first time.
    resent_at: Option<Time>,
}

/// The receiver's window is closed, and an acknowledgement that opens it may get lost.
#[derive(Clone, Copy, Debug)]
struct Persist {
    at: Time,
    probes: u32,
    is_due: bool,
}

#[derive(Clone, Copy, Debug)]
struct TailProbe {
    end: u64,
    is_due: bool,
    is_retransmission: bool,
}

/// Whether the congestion window was what held the sender back: only then may it grow.
#[derive(Debug, Default)]
struct WindowUsage {
    was_limiting: bool,
    outstanding_max: u32,
    measured_to: u64,
    has_sent: bool,
}

/// How long the receiver's window held the sender back.
#[derive(Debug, Default)]
struct WindowLimit {
    since: Option<Time>,
    total: Duration,
}

impl Sender {
    /// The sending end of a connection on which nothing was sent yet.
    pub fn new(settings: Settings) -> Self {
        assert!(settings.segment_bytes > 0, "a segment without payload never ends a stream");
        Self {
            acknowledged: 0,
            next: 0,
            written: match settings.writes {
                Writes::Bulk => u64::MAX,
                Writes::Burst => settings.window_bytes,
                Writes::MicroBurst(_) => 0,
                Writes::Transfer { bytes } => bytes,
            },
            held: None,
            writing_since: None,
            write_due: None,
            paced: None,
            passed_bytes: 0,
            window_end: settings.window_bytes,
            window_max: settings.window_bytes,
            is_closed: false,
            persist: None,
            persisted_to: 0,
            timeouts: 0,
            duplicates: 0,
            marked_to: 0,
            is_marked: false,
            short_end: 0,
            flight: Flight::default(),
            rtt: RoundTrips::default(),
            congestion: Congestion::new(settings.algorithm),
            usage: WindowUsage::default(),
            phase: Phase::Open,
            probed_at: None,
            timeout_from: Time::ZERO,
            judge_again: None,
            probe_at: None,
            next_departure: Time::ZERO,
            is_paced_back: false,
            window_limit: WindowLimit::default(),
            settings,
            manners: Manners::default(),
        }
    }

    /// Of an application that writes at a pace, whose times count from `start`.
    pub fn paced(settings: Settings, writes: PacedWrites, start: Time) -> Self {
        Self { written: 0, paced: Some((writes, start)), ..Self::new(settings) }
    }

    /// Takes an acknowledgement; gives the round trip it measured, if it measured one.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) -> Option<Duration> {
        let advanced = ack.next > self.acknowledged;
        let moves_window = self.moves_window(ack);
        let is_duplicate = ack.next == self.acknowledged && !moves_window;
        let rtt = if advanced { self.round_trip(now, ack) } else { None };
        if let Some(rtt) = rtt {
            self.rtt.on_sample(rtt);
        }
        if advanced {
            self.acknowledged = ack.next;
            self.next = self.next.max(ack.next);
            // The probe of a closed window may have been the last there was to send.
            self.persist.take_if(|_| self.next == self.written);
            self.timeout_from = now;
            self.timeouts = 0;
        }
        let rtt_min = self.rtt.min().unwrap_or_default();
        let delivered = self.flight.on_ack(now, ack, rtt_min);
        let delivered = self.heed_duplicates(delivered, is_duplicate);
        if advanced {
            self.undo_if_spurious(ack.echo);
        }
        self.end_tail_probe(ack, advanced);
        self.end_phase();
        self.find_losses(now);
        self.adjust_window(now, delivered, advanced);
        self.write(now);
        self.schedule_probe(now);
        rtt
    }

    /// The next segment that may leave now, lost ones first.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.write(now);
        self.is_paced_back = self.next_departure > now;
        if self.is_paced_back {
            return None;
        }
        let segment = self
            .window_probe(now)
            .or_else(|| self.tail_probe(now))
            .or_else(|| self.lost_or_new(now));
        match &segment {
            Some(segment) => self.on_sent(now, segment),
            None => self.on_nothing_sent(now),
        }
        segment
    }

    /// When to call `on_timeout` and ask for segments again.
    pub fn poll_timeout(&self) -> Option<Time> {
        let departure = self.is_paced_back.then_some(self.next_departure);
        let persist = self.persist.map(|persist| persist.at);
        let alarms = [
            departure,
            persist,
            self.judge_again,
            self.probe_at,
            self.retransmit_at(),
            self.write_due,
        ];
        alarms.into_iter().flatten().min()
    }

    pub fn on_timeout(&mut self, now: Time) {
        let is_due = |alarm: Option<Time>| alarm.is_some_and(|at| at <= now);
        if let Some(persist) = self.persist.as_mut().filter(|persist| persist.at <= now) {
            persist.probes += 1;
            let wait = self.rtt.timeout().saturating_mul(1 << persist.probes.min(16));
            persist.at = now + wait.min(PERSIST_MAX);
            persist.is_due = true;
            self.timeouts += 1;
        } else if is_due(self.probe_at) {
            self.probe_at = None;
            self.probed_at =
                Some(TailProbe { end: self.next, is_due: true, is_retransmission: false });
        } else if is_due(self.retransmit_at()) {
            self.on_retransmission_timeout(now);
        } else if is_due(self.judge_again) {
            self.find_losses(now);
            self.adjust_window(now, 0, false);
        }
    }

    /// The congestion window in payload.
    pub fn congestion_window_bytes(&self) -> u64 {
        self.congestion.window as u64 * u64::from(self.settings.segment_bytes)
    }

    /// How long until now the receiver's window was what held the sender back.
    pub fn window_limited(&self, now: Time) -> Duration {
        let current = self.window_limit.since.map_or(Duration::ZERO, |since| now.since(since));
        self.window_limit.total + current
    }

    fn round_trip(&self, now: Time, ack: &Ack) -> Option<Duration> {
        match ack.echo {
            Echo::At(sent_at) => Some(now.since(sent_at)),
            Echo::Until(sent_by) => {
                self.flight.round_trip(now, ack.next).or(Some(now.since(sent_by)))
            }
            Echo::Unknown => self.flight.round_trip(now, ack.next),
        }
    }

    /// Segments presumed on their way.
    fn in_flight(&self) -> u32 {
        self.flight.in_flight().saturating_sub(self.duplicates)
    }

    fn tail_probe(&mut self, now: Time) -> Option<Segment> {
        let mut probe = self.probed_at.filter(|probe| probe.is_due)?;
        let segment = self.new_segment(now).or_else(|| {
            probe.is_retransmission = true;
            self.flight.resend_last(now)
        });
        self.probed_at = Some(TailProbe { is_due: false, ..probe });
        segment
    }

    fn lost_or_new(&mut self, now: Time) -> Option<Segment> {
        if self.in_flight() >= self.congestion.window as u32 {
            return None;
        }
        self.flight.resend_lost(now).or_else(|| self.new_segment(now))
    }

    /// A full segment, or the last part of what was written or fits the window: Linux and Minshall
    /// have one such part under way at a time.
    fn new_segment(&mut self, now: Time) -> Option<Segment> {
        let left = self.written.min(self.window_end).saturating_sub(self.next);
        let payload_bytes = u64::from(self.settings.segment_bytes).min(left);
        let is_short = payload_bytes < u64::from(self.settings.segment_bytes);
        if payload_bytes == 0 || is_short && !self.may_be_short(payload_bytes) {
            return None;
        }
        Some(self.send_new(now, payload_bytes))
    }

    fn send_new(&mut self, now: Time, payload_bytes: u64) -> Segment {
        self.persist = None;
        let segment = self.flight.send(now, self.next, payload_bytes as u32);
        self.next = segment.end();
        if payload_bytes < u64::from(self.settings.segment_bytes) {
            self.short_end = segment.end();
        }
        segment
    }

    fn on_sent(&mut self, now: Time, segment: &Segment) {
        self.usage.has_sent = true;
        self.window_limit.stop(now);
        if let Phase::Recovery { reduction, .. } = &mut self.phase {
            reduction.on_sent();
        }
        if let Some(rate) = self.settings.pacing {
            self.next_departure = now + rate.time_for(segment.payload_bytes.into());
        }
        if self.flight.head_start() == Some(segment.start) {
            self.timeout_from = now;
        }
        if !segment.is_retransmission {
            self.schedule_probe(now);
        } else if let Phase::Recovery { before, .. } | Phase::Loss { before, .. } = &mut self.phase
        {
            before.resent_at.get_or_insert(now);
        }
    }

    /// As Linux judges whether the window was used: at the end of each spell of sending.
    fn on_nothing_sent(&mut self, now: Time) {
        let is_limiting = self.in_flight() >= self.congestion.window as u32;
        if is_limiting || core::mem::take(&mut self.usage.has_sent) {
            self.usage.on_sent(
                self.acknowledged,
                self.next,
                self.flight.outstanding(),
                is_limiting,
            );
        }
        if self.flight.is_empty() && self.written > self.next && self.persist.is_none() {
            let at = now + self.rtt.timeout();
            self.persist = Some(Persist { at, probes: 0, is_due: false });
        }
        let left = self.window_end.saturating_sub(self.next);
        let is_window_full = left < u64::from(self.settings.segment_bytes);
        if is_window_full && !is_limiting && self.written > self.window_end {
            self.window_limit.start(now);
        }
    }

    /// The application stops to write: what it has written is still sent, and of one that always has
    /// more to send that is what the send buffer holds, a window and a little more.
    pub(crate) fn hold(&mut self) {
        if self.held.is_none() {
            self.held = Some(self.written);
            let buffered = self.acknowledged + self.settings.window_bytes + SEND_BUFFER_SPARE_BYTES;
            self.written = self.written.min(buffered.max(self.next));
            self.write_due = None;
        }
    }

    /// It writes again.
    pub(crate) const fn release(&mut self) {
        if let Some(written) = self.held.take() {
            self.written = written;
        }
    }

    fn write(&mut self, now: Time) {
        if self.held.is_some() {
            return;
        }
        if let Some((writes, start)) = &self.paced {
            let elapsed = now.since(*start);
            self.write_due = writes.next_after(elapsed).map(|due| *start + due);
            self.passed_bytes = self.passed_bytes.max(writes.bytes_given_up_by(elapsed));
            let due = writes.bytes_by(elapsed).saturating_sub(self.passed_bytes);
            let room_end = self.acknowledged + self.settings.window_bytes + SEND_BUFFER_SPARE_BYTES;
            let written = due.min(room_end.saturating_sub(self.written)).min(self.unwritten());
            self.passed_bytes += written;
            self.written += written;
            return;
        }
        match self.settings.writes {
            Writes::Bulk | Writes::Transfer { .. } => {}
            Writes::Burst if self.acknowledged == self.written => {
                self.written += self.settings.window_bytes;
            }
            Writes::Burst => {}
            Writes::MicroBurst(pattern) => {
                let since = *self.writing_since.get_or_insert(now);
                let elapsed = now.since(since);
                self.written = pattern.bytes_due(elapsed);
                self.write_due = pattern.next_due(elapsed).map(|due| since + due);
            }
        }
    }

    /// What a paced application has left to write.
    const fn unwritten(&self) -> u64 {
        match self.settings.writes {
            Writes::Transfer { bytes } => bytes.saturating_sub(self.written),
            Writes::Bulk | Writes::Burst | Writes::MicroBurst(_) => u64::MAX,
        }
    }

    fn find_losses(&mut self, now: Time) {
        self.judge_again = None;
        if !self.manners.has_sack {
            return;
        }
        let is_recovering = !matches!(self.phase, Phase::Open);
        if self.flight.has_hole() || is_recovering {
            let rtt_min = self.rtt.min().unwrap_or_default();
            self.judge_again = self.flight.find_losses(now, rtt_min, is_recovering);
        }
    }

    fn adjust_window(&mut self, now: Time, delivered: u32, advanced: bool) {
        let lost = self.flight.lost();
        let is_marked = core::mem::take(&mut self.is_marked);
        if lost > 0 && matches!(self.phase, Phase::Open) {
            let before = self.reduce();
            let reduction = Reduction::new(before.window, self.congestion.slow_start_threshold);
            self.phase = Phase::Recovery { end: self.next, reduction, before };
        }
        match &mut self.phase {
            Phase::Recovery { reduction, .. } => {
                let in_flight = self.flight.in_flight().saturating_sub(self.duplicates);
                let window = reduction.window(delivered, in_flight, advanced && lost == 0);
                self.congestion.window = window;
            }
            Phase::Open | Phase::Loss { .. } => {
                if advanced && !is_marked && self.usage.may_grow(&self.congestion) {
                    let rtt_min = self.rtt.min().unwrap_or_default();
                    self.congestion.on_delivered(now, delivered, rtt_min);
                }
            }
        }
    }

    fn end_phase(&mut self) {
        match self.phase {
            Phase::Recovery { end, .. } if self.acknowledged >= end => {
                self.congestion.window = self.congestion.slow_start_threshold;
                self.phase = Phase::Open;
            }
            Phase::Loss { end, .. } if self.acknowledged >= end => self.phase = Phase::Open,
            Phase::Open | Phase::Recovery { .. } | Phase::Loss { .. } => {}
        }
    }

    fn reduce(&mut self) -> Before {
        let Congestion { window, slow_start_threshold, .. } = self.congestion;
        self.congestion.on_loss();
        Before { window, slow_start_threshold, resent_at: None }
    }

    /// What the first retransmission was to replace has arrived after all: RFC 3522 and 4015.
    fn undo_if_spurious(&mut self, echo: Echo) {
        let sent_by = match echo {
            Echo::At(at) | Echo::Until(at) => at,
            Echo::Unknown => return,
        };
        let (Phase::Recovery { before, .. } | Phase::Loss { before, .. }) = self.phase else {
            return;
        };
        if before.resent_at.is_some_and(|resent_at| sent_by < resent_at) {
            self.congestion.window = self.congestion.window.max(before.window);
            self.congestion.slow_start_threshold = before.slow_start_threshold;
            self.flight.take_back_losses();
            self.phase = Phase::Open;
        }
    }

    /// RFC 6298 section 5.4 to 5.7 and RFC 5681 section 3.1: once per loss the threshold falls.
    fn on_retransmission_timeout(&mut self, now: Time) {
        let before = match self.phase {
            Phase::Loss { before, .. } => before,
            Phase::Recovery { before, .. } => before,
            Phase::Open => self.reduce(),
        };
        self.phase = Phase::Loss { end: self.next, before };
        self.congestion.on_timeout();
        self.flight.lose_overdue(now, self.rtt.smoothed().unwrap_or_default());
        self.duplicates = 0;
        self.congestion.window = f64::from(self.flight.in_flight()) + 1.0;
        self.timeouts += 1;
        self.rtt.back_off();
        self.timeout_from = now;
        self.probed_at = None;
        self.probe_at = None;
    }

    fn retransmit_at(&self) -> Option<Time> {
        (!self.flight.is_empty()).then(|| self.timeout_from + self.rtt.timeout())
    }

    /// RFC 8985 section 7.2: where the timeout would come first, the probe takes its place.
    //= rfc8985 7.2
    fn schedule_probe(&mut self, now: Time) {
        self.probe_at = None;
        let is_quiet = matches!(self.phase, Phase::Open) && !self.flight.has_hole();
        if !is_quiet || self.probed_at.is_some() || self.flight.is_empty() {
            return;
        }
        if !self.manners.has_sack {
            return;
        }
        let Some(smoothed) = self.rtt.smoothed() else { return };
        let is_lone = self.flight.outstanding() == 1;
        let margin = if is_lone { LONE_PROBE_MARGIN } else { PROBE_MARGIN };
        let probe_at = now + smoothed * 2 + margin;
        self.probe_at = self.retransmit_at().map(|at| at.min(probe_at));
    }

    /// RFC 8985 section 7.4: a probe that was the only copy to arrive has repaired a loss, for
    /// which the window shrinks as for any other.
    fn end_tail_probe(&mut self, ack: &Ack, advanced: bool) {
        let Some(probe) = self.probed_at.filter(|probe| !probe.is_due) else { return };
        if ack.next < probe.end {
            return;
        }
        let is_harmless = !probe.is_retransmission || ack.sacks.tell_of_duplicate() || !advanced;
        if is_harmless {
            self.probed_at = None;
        } else if ack.next > probe.end {
            self.probed_at = None;
            if matches!(self.phase, Phase::Open) {
                self.reduce();
                self.congestion.window = self.congestion.slow_start_threshold;
            }
        }
    }
}

impl WindowUsage {
    fn on_sent(&mut self, acknowledged: u64, next: u64, outstanding: u32, is_limiting: bool) {
        let is_new_window = acknowledged >= self.measured_to;
        let is_more = !self.was_limiting && outstanding > self.outstanding_max;
        if is_new_window || is_limiting || is_more {
            self.was_limiting = is_limiting;
            self.outstanding_max = outstanding;
            self.measured_to = next;
        }
    }

    /// In slow start to twice what was used, RFC 7661's thought; afterwards only a full window.
    fn may_grow(&self, congestion: &Congestion) -> bool {
        let twice_used = f64::from(2 * self.outstanding_max);
        self.was_limiting || congestion.in_slow_start() && congestion.window < twice_used
    }
}

impl WindowLimit {
    fn start(&mut self, now: Time) {
        self.since.get_or_insert(now);
    }

    fn stop(&mut self, now: Time) {
        if let Some(since) = self.since.take() {
            self.total += now.since(since);
        }
    }
}
