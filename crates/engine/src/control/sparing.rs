//! What the ends of a session leave unsaid while a trial of frames fills the way that it would take.
//!
//! A heartbeat takes the tokens of a frame, and at 1 Mbit/s all that two ends say to each other is one
//! percent of what passes. So an end that sends holds its heartbeats back, because its frames are heard
//! as well, and the other one sends those by UDP, which nobody has to acknowledge.

use std::time::Duration;

use fp_model::contact::DEAD_MAN;
use fp_model::{Load, Time, Trial};

use super::line::HEARTBEAT;
use crate::end::End;

/// What an end leaves unsaid during one trial with frames or bursts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sparing {
    /// No live figures: the bursts, or trains, would meet them.
    pub(crate) is_mute: bool,
    /// All flows are of frames that one end sends, so that the other one's heartbeats by UDP meet none of them,
    is_one_way: bool,
    /// and this end sends them.
    is_sender: bool,
    /// The other end's heartbeats by UDP come through, for which this end's must have come before.
    hears_udp_heartbeats: bool,
    active: Duration,
    until: Time,
}

impl Sparing {
    /// From one heartbeat by UDP of a sender to the next: where none of its frames arrive, one may still be late
    /// by [`HEARTBEAT`] before the path is taken for dead.
    const HELD: Duration = DEAD_MAN.saturating_sub(HEARTBEAT);
    /// From one message that is acknowledged to the next.
    const SELDOM: Duration = Duration::from_secs(2);

    /// `None` where both ends say all that they say otherwise.
    pub(crate) fn of(trial: &Trial, end: End) -> Option<Self> {
        let is_mute = trial.flows.iter().any(|flow| match &flow.load {
            Load::Bursts(_) => true,
            Load::Frames(load) => load.trace || load.unwatched,
            Load::Probes(_) | Load::Tcp(_) | Load::Connections(_) => false,
        });
        let of_frames = |load: &Load| matches!(load, Load::Frames(_) | Load::Bursts(_));
        let flows = || trial.flows.iter();
        let is_sender = flows().all(|flow| end.sends(flow.direction));
        let is_receiver = flows().all(|flow| !end.sends(flow.direction));
        let is_one_way = flows().all(|flow| of_frames(&flow.load)) && (is_sender || is_receiver);
        (is_mute || is_one_way).then_some(Self {
            is_mute,
            is_one_way,
            is_sender: is_one_way && is_sender,
            hears_udp_heartbeats: false,
            active: trial.timing.active(),
            until: Time::ZERO,
        })
    }

    /// The trial begins at `at` on this end's clock, and the other end's last heartbeat by UDP came at `heard`.
    pub(crate) fn begin(&mut self, at: Time, heard: Option<Time>, now: Time) {
        self.until = at + self.active;
        self.hears_udp_heartbeats = heard.is_some_and(|heard| now.since(heard) < DEAD_MAN);
    }

    /// A heartbeat by UDP of the other end has come.
    pub(crate) const fn hear(&mut self) {
        self.hears_udp_heartbeats = true;
    }

    /// How long after a heartbeat by UDP the next one is due.
    pub(crate) fn udp_heartbeat(&self, now: Time) -> Option<Duration> {
        (self.is_sender && now < self.until).then_some(Self::HELD)
    }

    /// How long after a message the next one is due that says only that this end lives.
    pub(crate) fn message(&self, now: Time) -> Option<Duration> {
        (self.is_one_way && self.hears_udp_heartbeats && now < self.until).then_some(Self::SELDOM)
    }
}

#[cfg(test)]
mod tests {
    use fp_model::{
        Direction, Dscp, Family, FlowSpec, FrameSizes, FramesLoad, Pace, ProbesLoad, Rate, Timing,
    };

    use super::*;

    const UPLOAD: Direction = Direction::Upload;
    const LATER: Time = at(10_500);

    const fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn frames(trace: bool) -> Load {
        let pace = Pace::Constant { rate: Rate::mbps(1) };
        Load::Frames(FramesLoad { trace, ..FramesLoad::new(FrameSizes::fixed(512), pace) })
    }

    fn trial(seconds: u64, flows: &[(Direction, Load)]) -> Trial {
        let steady = Duration::from_secs(seconds);
        let timing = Timing { warm_up: Duration::ZERO, steady, settle: Duration::ZERO };
        let flow = |(direction, load): &(Direction, Load)| {
            FlowSpec::new(*direction, Family::Ipv4, Dscp::BEST_EFFORT, load.clone())
        };
        Trial { name: String::new(), flows: flows.iter().map(flow).collect(), timing }
    }

    /// At ten seconds, a tenth of a second before the trial begins.
    fn begun(trial: &Trial, end: End, heard: Option<Time>) -> Sparing {
        let mut sparing = Sparing::of(trial, end).unwrap();
        sparing.begin(at(10_100), heard, at(10_000));
        sparing
    }

    #[test]
    fn who_sends_frames_alone_holds_its_heartbeats_until_the_last_one() {
        let trial = trial(2, &[(UPLOAD, frames(true))]);
        let held = Some(Duration::from_millis(500));
        let ends = [End::Near, End::Far].map(|end| begun(&trial, end, Some(at(9_900))));
        assert_eq!(ends.map(|end| end.udp_heartbeat(LATER)), [held, None]);
        assert_eq!(ends.map(|end| end.udp_heartbeat(at(12_100))), [None, None]);
        let both = [(UPLOAD, frames(true)), (Direction::Download, frames(true))];
        let both = self::trial(2, &both);
        let ends = [End::Near, End::Far].map(|end| begun(&both, end, Some(at(9_900))));
        assert_eq!(
            ends.map(|end| (end.udp_heartbeat(LATER), end.message(LATER))),
            [(None, None); 2]
        );
    }

    #[test]
    fn what_is_acknowledged_is_seldom_said_where_heartbeats_come_through() {
        let trial = trial(2, &[(UPLOAD, frames(true))]);
        for end in [End::Near, End::Far] {
            let seldom = Some(Duration::from_secs(2));
            assert_eq!(begun(&trial, end, Some(at(9_900))).message(LATER), seldom);
            assert_eq!(begun(&trial, end, Some(at(9_900))).message(at(12_100)), None);
            for unheard in [None, Some(at(0))] {
                let mut sparing = begun(&trial, end, unheard);
                assert_eq!(sparing.message(LATER), None);
                sparing.hear();
                assert_eq!(sparing.message(LATER), seldom);
            }
        }
    }

    #[test]
    fn live_figures_are_told_where_somebody_may_watch() {
        let is_mute = |seconds, flows: &[(Direction, Load)]| {
            Sparing::of(&trial(seconds, flows), End::Near).map(|sparing| sparing.is_mute)
        };
        assert_eq!(is_mute(60, &[(UPLOAD, frames(true))]), Some(true));
        assert_eq!(is_mute(4, &[(UPLOAD, frames(false))]), Some(false));
        let pace = Pace::Constant { rate: Rate::mbps(1) };
        let unwatched = FramesLoad::new(FrameSizes::fixed(512), pace).unwatched();
        assert_eq!(is_mute(4, &[(UPLOAD, Load::Frames(unwatched))]), Some(true));
        let interval = Duration::from_millis(10);
        let probes = ProbesLoad { packet_bytes: 100, answer_bytes: 100, count: 10, interval };
        let probes = (UPLOAD, Load::Probes(probes));
        assert_eq!(is_mute(60, std::slice::from_ref(&probes)), None);
        // Beside probes, both ends say all that they say otherwise.
        assert_eq!(is_mute(4, &[probes.clone(), (UPLOAD, frames(false))]), None);
        let beside =
            begun(&trial(2, &[probes, (UPLOAD, frames(true))]), End::Near, Some(at(9_900)));
        assert_eq!((beside.udp_heartbeat(LATER), beside.message(LATER)), (None, None));
    }
}
