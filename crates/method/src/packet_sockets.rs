//! Ends that may not send and receive whole frames: told to the user where frames come fast.

use alloc::format;
use alloc::vec::Vec;

use fp_model::{Abort, FlowReport, FramesReport, Observation, Testbed, Trial};

use crate::verdict::Reason;

/// Up to this rate frames leave through UDP sockets wherever they are sent.
const FAST_FRAMES_S: f64 = 50_000.0;

/// A testbed, with a look at which of its ends fell back to UDP sockets.
pub(crate) struct PacketSockets<'a> {
    bed: &'a mut dyn Testbed,
    near: Refused,
    far: Refused,
}

/// The fastest stream of frames, each second, for which an end had to do without packet sockets.
#[derive(Clone, Copy, Debug, Default)]
struct Refused {
    frames_s: f64,
}

impl<'a> PacketSockets<'a> {
    pub(crate) fn watched(bed: &'a mut dyn Testbed) -> Self {
        Self { bed, near: Refused::default(), far: Refused::default() }
    }

    /// A remark for each end that fell back: it spoils no verdict, what it lost or sent late is in
    /// the trials.
    pub(crate) fn remarks(&self) -> Vec<Reason> {
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
}

impl Testbed for PacketSockets<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let seen = self.bed.run(trial)?;
        let fastest = seen.flows.iter().filter_map(frames_s).fold(0.0, f64::max);
        if fastest > FAST_FRAMES_S {
            self.near.add(seen.near.packet_sockets_refused, fastest);
            self.far.add(seen.far.packet_sockets_refused, fastest);
        }
        Ok(seen)
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
        let mut watched = PacketSockets::watched(&mut bed);
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
