//! What holds of the trials of every method: counts that both ends agree on, ends that may not send
//! and receive whole frames.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use fp_model::{
    Abort, Dscp, FlowReport, FlowSpec, FramesReport, Interruption, Observation, Testbed, Trial,
};

use crate::conservation;
use crate::verdict::{Check, Reason, Report};

/// Up to this rate frames leave through UDP sockets wherever they are sent.
const FAST_FRAMES_S: f64 = 50_000.0;

/// A testbed, with a look at what its ends count and by what they send.
pub(crate) struct Watched<'a> {
    bed: &'a mut dyn Testbed,
    near: Refused,
    far: Refused,
    /// Trials whose counts contradict each other, and the first contradiction.
    contradictory_trials: u32,
    contradiction: Option<String>,
    remarked: Vec<Reason>,
    interrupted: Vec<(String, Interruption)>,
}

/// The fastest stream of frames, each second, for which an end had to do without packet sockets.
#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    frames_s: f64,
}

impl<'a> Watched<'a> {
    pub(crate) fn over(bed: &'a mut dyn Testbed) -> Self {
        Self {
            bed,
            near: Refused::default(),
            far: Refused::default(),
            contradictory_trials: 0,
            contradiction: None,
            remarked: Vec::new(),
            interrupted: Vec::new(),
        }
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
        report.submit(Check::at_most("counts_conserved", trials, 0.0, "trials"), why);
        report.verdict.reasons.extend(self.remarks());
        report.verdict.reasons.extend(self.interruptions());
        report.verdict.heed_findings();
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
            code: "no_packet_sockets",
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

    /// A finding for the trials that were broken off and run once more, and one for those that went on
    /// through a silence of the far end.
    fn interruptions(&self) -> Vec<Reason> {
        let of = |is_repeated: bool| {
            let mine = self.interrupted.iter().filter(|(_, one)| one.is_repeated == is_repeated);
            let (mut trials, mut count, mut longest) = (Vec::new(), 0, None::<Interruption>);
            for (trial, one) in mine {
                count += 1;
                if !trials.contains(&trial) {
                    trials.push(trial);
                }
                longest = longest.filter(|most| most.silent >= one.silent).or(Some(*one));
            }
            let longest = longest?;
            let (at, silent) = (longest.at.as_secs_f64(), longest.silent.as_secs_f64());
            let which = match trials.as_slice() {
                [trial] => format!("a trial ({trial})"),
                trials => format!("{} trials", trials.len()),
            };
            let often = if count > 1 { format!(", {count} times, the longest") } else { "".into() };
            let what = match is_repeated {
                true => "was broken off and run once more",
                false => "went on, and what was lost in it is counted",
            };
            Some(Reason {
                code: if is_repeated { "trial_repeated" } else { "contact_lost" },
                text: format!(
                    "{which} {what}: no contact with the far end for {silent:.1} s from {at:.1} s \
                     on{often}"
                ),
                step: None,
            })
        };
        [true, false].into_iter().filter_map(of).collect()
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
                self.remarked.push(Reason { code: "dscp_changed", text, step: None });
            }
        }
    }
}

impl Testbed for Watched<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let seen = self.bed.run(trial)?;
        let fastest = seen.flows.iter().filter_map(frames_s).fold(0.0, f64::max);
        if fastest > FAST_FRAMES_S {
            self.near.add(seen.near.packet_sockets_refused, fastest);
            self.far.add(seen.far.packet_sockets_refused, fastest);
        }
        let named = |one: &Interruption| (trial.name.clone(), *one);
        self.interrupted.extend(seen.interruptions.iter().map(named));
        self.look_at_counts(trial, &seen);
        self.look_at_code_points(trial, &seen);
        Ok(seen)
    }

    fn broken_off(&mut self) -> Option<Observation> {
        self.bed.broken_off()
    }
}

impl Refused {
    fn add(&mut self, is_refused: bool, frames_s: f64) {
        if is_refused {
            self.frames_s = self.frames_s.max(frames_s);
        }
    }
}

/// How many frames the sender gave to its host in a second.
fn frames_s(flow: &FlowReport) -> Option<f64> {
    match flow {
        FlowReport::Frames(FramesReport { sent_frames, sent_in, .. }) if !sent_in.is_zero() => {
            Some(*sent_frames as f64 / sent_in.as_secs_f64())
        }
        FlowReport::Frames(_)
        | FlowReport::Probes(_)
        | FlowReport::Bursts(_)
        | FlowReport::Tcp(_)
        | FlowReport::Connections(_) => None,
    }
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
        let mut watched = Watched::over(&mut bed);
        let second = Duration::from_secs(1);
        let timing = Timing { warm_up: Duration::ZERO, steady: second, settle: Duration::ZERO };
        watched.run(&Trial { name: "any".into(), flows: Vec::new(), timing }).unwrap();
        watched.remarks()
    }

    #[test]
    fn an_end_that_falls_back_is_named_with_the_remedy_where_frames_come_fast() {
        assert_eq!(said(50_000), []);
        let [remark] = &said(148_809)[..] else { panic!("one end fell back") };
        assert_eq!(remark.code, "no_packet_sockets");
        for part in ["the far end", "148809 frames/s", "`fullpipe serve`", "cap_net_raw"] {
            assert!(remark.text.contains(part), "{part}: {}", remark.text);
        }
    }
}
