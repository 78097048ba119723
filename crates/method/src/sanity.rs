//! What holds of the trials of every method: counts that both ends agree on, ends that may not send
//! and receive whole frames.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use core::time::Duration;

use fp_model::{
    Abort, Direction, Dscp, FlowReport, FlowSpec, FramesReport, Observation, Rate, Slots, Testbed,
    Trial,
};

use crate::formula::conservation;
use crate::outage;
use crate::reason::Code;
use crate::verdict::{Check, Event, Reason, Report};

/// Up to this rate frames leave through UDP sockets wherever they are sent.
const FAST_FRAMES_S: f64 = 50_000.0;

/// A testbed, with a look at what its ends count and by what they send.
pub(crate) struct SanityChecked<'a> {
    bed: &'a mut dyn Testbed,
    near: Refused,
    far: Refused,
    /// Trials whose counts contradict each other, and the first contradiction.
    contradictory_trials: u32,
    contradiction: Option<String>,
    remarked: Vec<Reason>,
    interrupted: Vec<Interrupted>,
    /// What else happened, with when its trial began.
    events: Vec<(Option<Duration>, Event)>,
    repeats_outages: bool,
    /// The trial during which most trials of other near ends ran at the far end, and how many.
    shared: Option<(String, u32)>,
    /// The trial that was broken off, with what was seen of it.
    broken_off: Option<(Trial, Observation)>,
}

const BROKEN_OFF: Code = Code::TrialBrokenOff;

/// A trial in which nothing was heard or nothing arrived for a while.
#[derive(Clone, Debug)]
struct Interrupted {
    trial: String,
    kind: Kind,
    /// When the attempt at the trial began, from when trials could be run.
    began: Option<Duration>,
    /// From the start of the attempt, if that is known.
    at: Option<Duration>,
    lasts: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What was observed is of another attempt.
    Repeated,
    ContactLost,
    Outage,
}

impl Kind {
    const fn code(self) -> Code {
        match self {
            Self::Repeated => Code::TrialRepeated,
            Self::ContactLost => Code::ContactLost,
            Self::Outage => Code::Outage,
        }
    }
}

/// The fastest stream of frames, each second, for which an end had to do without packet sockets.
#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    frames_s: f64,
}

impl<'a> SanityChecked<'a> {
    pub(crate) fn over(bed: &'a mut dyn Testbed) -> Self {
        Self {
            bed,
            near: Refused::default(),
            far: Refused::default(),
            contradictory_trials: 0,
            contradiction: None,
            remarked: Vec::new(),
            interrupted: Vec::new(),
            events: Vec::new(),
            repeats_outages: false,
            shared: None,
            broken_off: None,
        }
    }

    /// Repeats once each trial in which nothing arrived for a while, and lets no trial count that ran
    /// beside those of other near ends: for methods that look for a property of the path which an
    /// outage or another's load would hide.
    pub(crate) const fn repeating_outages(mut self) -> Self {
        self.repeats_outages = true;
        self
    }

    /// The last word on a report: whether its counts can be believed, what remains to be said, and
    /// whether what was found concerns the owner of the path.
    pub(crate) fn conclude<S>(self, report: &mut Report<S>) {
        let trials = f64::from(self.contradictory_trials);
        let why = self.contradiction.as_ref().map(|first| {
            format!(
                "the counts of {} cannot be true ({first}): an end counts wrongly or something on \
                 the path answers in its place, so no figure of this run holds",
                if self.contradictory_trials == 1 { "a trial" } else { "several trials" }
            )
        });
        report.submit(Check::at_most(Code::CountsConserved, trials, 0.0, "trials"), why);
        self.tell_of_others(report);
        report.verdict.reasons.extend(self.remarks());
        report.verdict.reasons.extend(self.interruptions());
        report.verdict.reasons.extend(self.broken_off.as_ref().map(broken_off));
        report.verdict.heed_findings();
        report.events = self.into_events();
    }

    fn into_events(self) -> Vec<Event> {
        let mut events = self.events;
        events.extend(self.interrupted.into_iter().map(|one| {
            let event = Event {
                at: one.began.zip(one.at).map(|(began, at)| began + at),
                trial: one.trial,
                code: one.kind.code(),
                lasts: Some(one.lasts),
            };
            (one.began, event)
        }));
        events.extend(self.broken_off.map(|(trial, seen)| {
            let at = seen.began.zip(seen.broken_off).map(|(began, at)| began + at);
            (seen.began, Event { at, trial: trial.name, code: BROKEN_OFF, lasts: None })
        }));
        events.sort_by_key(|(began, event)| event.at.or(*began));
        events.into_iter().map(|(_, event)| event).collect()
    }

    /// Who looks for a rate found that of a shared path, which is no result; to whom the path is only
    /// to carry what was asked, it is a finding.
    fn tell_of_others<S>(&self, report: &mut Report<S>) {
        let Some((trial, most)) = &self.shared else { return };
        let text = format!(
            "the far end ran trials of other near ends during the trial '{trial}' (at once: {most}): \
             they share its link and its host; run the test again while nobody else tests with it"
        );
        let check = Check::at_most(Code::FarEndShared, f64::from(*most), 0.0, "other trials");
        if self.repeats_outages {
            report.submit(check, Some(text));
        } else {
            report.verdict.reasons.push(Reason { code: check.name, text, step: None });
        }
    }

    fn look_at_others(&mut self, trial: &Trial, seen: &Observation) {
        let most = self.shared.as_ref().map_or(0, |(_, most)| *most);
        if seen.other_trials > most {
            self.shared = Some((trial.name.clone(), seen.other_trials));
        }
        if seen.other_trials > 0 {
            let (trial, code) = (trial.name.clone(), Code::FarEndShared);
            self.events.push((seen.began, Event { at: None, trial, code, lasts: None }));
        }
    }

    /// A finding for each direction whose packets arrived with another code point than they were sent
    /// with, in methods that ask for none in particular.
    pub(crate) fn remarked(&self) -> Vec<Reason> {
        self.remarked.clone()
    }

    /// A remark for each end that fell back: it changes no verdict, what it lost or sent late is in
    /// the trials.
    fn remarks(&self) -> Vec<Reason> {
        let ends = [
            (self.near, "near", "run fullpipe as root, or give its file that right"),
            (self.far, "far", "run `fullpipe serve` there as root, or give its file that right"),
        ];
        let refused = ends.into_iter().filter(|(refused, ..)| refused.frames_s > 0.0);
        let remark = |(refused, end, remedy): (Refused, &str, &str)| Reason {
            code: Code::NoPacketSockets,
            text: format!(
                "the {end} end may open no packet sockets (CAP_NET_RAW): streams of up to {:.0} \
                 frames/s went through its UDP sockets, which carry fewer frames and less evenly; \
                 if that is not enough, {remedy} (setcap cap_net_raw+ep)",
                refused.frames_s
            ),
            step: None,
        };
        refused.map(remark).collect()
    }

    /// A finding for each kind of interruption, which names the longest one.
    fn interruptions(&self) -> Vec<Reason> {
        let kinds = [Kind::Repeated, Kind::ContactLost, Kind::Outage];
        let finding = |kind: Kind| {
            let mine = self.interrupted.iter().filter(|known| known.kind == kind);
            let longest = mine.clone().max_by_key(|known| known.lasts)?;
            let (lasts, name) = (longest.lasts.as_secs_f64(), &longest.trial);
            let at = longest
                .at
                .map_or_else(String::new, |at| format!(" from {:.1} s on", at.as_secs_f64()));
            let what = match kind {
                Kind::Repeated => "was interrupted and repeated",
                Kind::ContactLost => {
                    "had no contact between its ends, and what was due counts as lost"
                }
                Kind::Outage => "received nothing of what was sent, and that counts as lost",
            };
            let text = match mine.count() {
                1 => format!("the trial '{name}' {what}: for {lasts:.1} s{at}"),
                count => format!(
                    "interruptions: {count}; at the longest the trial '{name}' {what}: for \
                     {lasts:.1} s{at}"
                ),
            };
            Some(Reason { code: kind.code(), text, step: None })
        };
        kinds.into_iter().filter_map(finding).collect()
    }

    fn look_at_counts(&mut self, trial: &Trial, seen: &Observation) {
        if let Some(contradiction) = conservation::contradiction(trial, seen) {
            self.contradictory_trials += 1;
            self.contradiction.get_or_insert(contradiction);
        }
    }

    fn look_at_code_points(&mut self, trial: &Trial, seen: &Observation) {
        for (flow, report) in trial.flows.iter().zip(&seen.flows) {
            let Some(arrived) = another_code_point(flow, report) else { continue };
            let (direction, sent) = (flow.direction, flow.dscp.code_point());
            let how = if arrived == Dscp::BEST_EFFORT { "bleached" } else { "remarked" };
            let text = format!(
                "{direction}: packets sent with DSCP {sent} arrived with {}: {how} on the way",
                arrived.code_point()
            );
            if self.remarked.iter().all(|known| known.text != text) {
                self.remarked.push(Reason { code: Code::DscpChanged, text, step: None });
            }
        }
    }
}

impl SanityChecked<'_> {
    fn observe(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let outcome = self.bed.run(trial);
        if outcome.is_err() {
            self.broken_off = self.bed.broken_off().map(|seen| (trial.clone(), seen));
        }
        let seen = outcome?;
        let noted = |one: &fp_model::Interruption| Interrupted {
            trial: trial.name.clone(),
            kind: if one.is_repeated { Kind::Repeated } else { Kind::ContactLost },
            began: one.began,
            at: Some(one.at),
            lasts: one.silent,
        };
        self.interrupted.extend(seen.interruptions.iter().map(noted));
        Ok(seen)
    }

    /// Whether the ends had lost contact, or nothing arrived for a while; either is noted as the cause
    /// of a repetition.
    fn is_to_be_repeated(&mut self, trial: &Trial, seen: &Observation) -> bool {
        let mut lost_contact = false;
        let silences = seen.interruptions.iter().filter(|one| !one.is_repeated).count();
        let noted = self.interrupted.iter_mut().rev().filter(|one| one.kind == Kind::ContactLost);
        for silence in noted.take(silences) {
            silence.kind = Kind::Repeated;
            lost_contact = true;
        }
        lost_contact || self.note_outages(trial, seen, Kind::Repeated)
    }

    /// Notes times in which a stream was interrupted and no silence of the ends has been noted that
    /// explains it: whether there is one.
    fn note_outages(&mut self, trial: &Trial, seen: &Observation, kind: Kind) -> bool {
        if seen.interruptions.iter().any(|one| !one.is_repeated) {
            return false;
        }
        let Some(longest) = outage::longest(trial, seen) else { return false };
        let (at, lasts) = (longest.at, longest.lasts);
        let (trial, began) = (trial.name.clone(), seen.began);
        self.interrupted.push(Interrupted { trial, kind, began, at, lasts });
        true
    }
}

impl Testbed for SanityChecked<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let mut seen = self.observe(trial)?;
        if self.repeats_outages && self.is_to_be_repeated(trial, &seen) {
            seen = self.observe(trial)?;
        }
        self.note_outages(trial, &seen, Kind::Outage);
        let fastest = seen.flows.iter().filter_map(frames_s).fold(0.0, f64::max);
        if fastest > FAST_FRAMES_S {
            self.near.add(seen.near.packet_sockets_refused, fastest);
            self.far.add(seen.far.packet_sockets_refused, fastest);
        }
        self.look_at_others(trial, &seen);
        self.look_at_counts(trial, &seen);
        self.look_at_code_points(trial, &seen);
        Ok(seen)
    }

    fn broken_off(&mut self) -> Option<Observation> {
        self.broken_off.as_ref().map(|(_, seen)| seen.clone())
    }
}

impl Refused {
    fn add(&mut self, is_refused: bool, frames_s: f64) {
        if is_refused {
            self.frames_s = self.frames_s.max(frames_s);
        }
    }
}

/// What was seen of the trial that ended a run before its time.
fn broken_off((trial, seen): &(Trial, Observation)) -> Reason {
    let until = seen.broken_off.unwrap_or_default();
    let amounts = trial.flows.iter().zip(&seen.flows).filter_map(|(flow, report)| {
        let received = match report.slots() {
            Slots::Bytes(slots) => {
                slots.iter().filter_map(|slot| slot.received_bytes).fold(0, u64::saturating_add)
            }
            Slots::Connections(_) => return None,
        };
        Some((flow.direction, received))
    });
    let amounts: Vec<_> = amounts.collect();
    let of = |direction: Direction| {
        let mine = amounts.iter().filter(|(of, _)| *of == direction);
        let received = mine.clone().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        let mbps = Rate::over(received, until).as_bps() as f64 / 1e6;
        let megabytes = received as f64 / 1e6;
        (mine.count() > 0)
            .then(|| format!(", {direction} {megabytes:.2} MB received, {mbps:.2} Mbit/s"))
    };
    let received: String =
        [Direction::Download, Direction::Upload].into_iter().filter_map(of).collect();
    let text = format!(
        "the trial '{}' was broken off after {:.1} s{received}",
        trial.name,
        until.as_secs_f64()
    );
    Reason { code: BROKEN_OFF, text, step: None }
}

/// How many frames the sender gave to its host in a second.
fn frames_s(flow: &FlowReport) -> Option<f64> {
    let FramesReport { sent_frames, sent_in, .. } = flow.frames()?;
    (!sent_in.is_zero()).then(|| *sent_frames as f64 / sent_in.as_secs_f64())
}

/// With which code point packets arrived that were sent with another; `None` where all that is known
/// arrived as sent.
fn another_code_point(flow: &FlowSpec, report: &FlowReport) -> Option<Dscp> {
    let mut arrived: Vec<Dscp> = match report {
        FlowReport::Frames(report) => {
            report.dscp_received.iter().filter_map(|count| count.dscp).collect()
        }
        FlowReport::Bursts(report) => {
            let runs = report.bursts.iter().flat_map(|burst| &burst.arrived);
            runs.filter_map(|run| run.dscp).collect()
        }
        FlowReport::Tcp(report) => {
            report.connections.iter().filter_map(|each| each.dscp_received).collect()
        }
        FlowReport::Probes(_) | FlowReport::Connections(_) => Vec::new(),
    };
    arrived.retain(|dscp| *dscp != flow.dscp);
    arrived.first().copied()
}
#[cfg(test)]
mod tests {
    use alloc::vec;
    use core::time::Duration;

    use fp_model::{TesterHealth, Timing};

    use super::*;
    use crate::verdict::Status;

    /// A far end without packet sockets that sends so many frames in a second.
    struct Unprivileged(u64);

    impl Testbed for Unprivileged {
        fn run(&mut self, _: &Trial) -> Result<Observation, Abort> {
            let sent = FramesReport {
                sent_frames: self.0,
                sent_in: Duration::from_secs(1),
                ..FramesReport::default()
            };
            let far = TesterHealth { packet_sockets_refused: true, ..TesterHealth::default() };
            let flows = vec![FlowReport::Frames(sent)];
            Ok(Observation { flows, far, ..Observation::default() })
        }
    }

    fn said(frames_s: u64) -> Vec<Reason> {
        let mut bed = Unprivileged(frames_s);
        let mut checked = SanityChecked::over(&mut bed);
        let second = Duration::from_secs(1);
        let timing = Timing { warm_up: Duration::ZERO, steady: second, settle: Duration::ZERO };
        checked.run(&Trial { name: "any".into(), flows: Vec::new(), timing }).unwrap();
        checked.remarks()
    }

    /// A far end that runs this many trials of other near ends, trial by trial.
    struct Shared(Vec<u32>);

    impl Testbed for Shared {
        fn run(&mut self, _: &Trial) -> Result<Observation, Abort> {
            Ok(Observation { other_trials: self.0.remove(0), ..Observation::default() })
        }
    }

    /// What a report of three trials says that has passed.
    fn concluded(others: [u32; 3], looks_for_a_rate: bool) -> Report<()> {
        let mut bed = Shared(others.to_vec());
        let mut checked = SanityChecked::over(&mut bed);
        if looks_for_a_rate {
            checked = checked.repeating_outages();
        }
        let second = Duration::from_secs(1);
        let timing = Timing { warm_up: Duration::ZERO, steady: second, settle: Duration::ZERO };
        for name in ["first", "second", "third"] {
            checked.run(&Trial { name: name.into(), flows: Vec::new(), timing }).unwrap();
        }
        let mut report = Report::default();
        report.verdict.status = Status::Pass;
        checked.conclude(&mut report);
        report
    }

    #[test]
    fn a_rate_found_beside_trials_of_others_is_invalid_and_elsewhere_they_are_a_finding() {
        let report = concluded([0, 2, 1], true);
        assert_eq!(report.verdict.status, Status::Invalid);
        let check = report.checks.iter().find(|check| check.name == Code::FarEndShared).unwrap();
        assert_eq!((check.ok, check.value, check.limit), (false, 2.0, 0.0));
        let [reason] = &report.verdict.reasons[..] else { panic!("{:?}", report.verdict) };
        assert_eq!(reason.code, Code::FarEndShared);
        assert!(reason.text.contains("'second' (at once: 2)"), "{}", reason.text);

        let report = concluded([0, 2, 1], false);
        assert_eq!(report.verdict.status, Status::Findings);
        assert_eq!(report.verdict.reasons[0].code, Code::FarEndShared);
        assert!(report.checks.iter().all(|check| check.ok));
    }

    #[test]
    fn a_far_end_that_served_one_near_end_alone_is_not_worth_a_word() {
        for looks_for_a_rate in [true, false] {
            let report = concluded([0; 3], looks_for_a_rate);
            assert_eq!((report.verdict.status, report.verdict.reasons), (Status::Pass, vec![]));
            assert!(report.checks.iter().all(|check| check.name != Code::FarEndShared));
        }
    }

    #[test]
    fn an_end_that_falls_back_is_named_with_the_remedy_where_frames_come_fast() {
        assert_eq!(said(50_000), []);
        let [remark] = &said(148_809)[..] else { panic!("one end fell back") };
        assert_eq!(remark.code, Code::NoPacketSockets);
        for part in ["the far end", "148809 frames/s", "`fullpipe serve`", "cap_net_raw"] {
            assert!(remark.text.contains(part), "{part}: {}", remark.text);
        }
    }
}
