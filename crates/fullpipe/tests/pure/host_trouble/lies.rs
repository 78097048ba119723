//! Far ends that count what cannot be: no run that they take part in is valid.

use fp_method::verdict::Status;
use fp_model::FlowReport;

use super::subject::{Outcome, Subject};

fn expect_invalid(subject: Subject, lie: fn(&mut FlowReport)) -> Option<String> {
    let Outcome { verdict, checks, end, .. } = subject.run_with_liar(lie);
    let is_broken = checks.iter().any(|check| check.name.word() == "counts_conserved" && !check.ok);
    let is_said = verdict.reasons.iter().any(|reason| reason.code.word() == "counts_conserved");
    // What cannot be measured at all is broken off, and has no verdict either.
    let is_refused = verdict.status == Status::Invalid || end.is_err();
    (!(is_broken && is_said && is_refused))
        .then(|| format!("{subject:?}: {end:?}, {verdict:#?}, {checks:?}"))
}

fn expect_all_invalid(lie: fn(&mut FlowReport)) {
    let believed = Subject::ALL.into_iter().filter_map(|subject| expect_invalid(subject, lie));
    let believed: Vec<String> = believed.collect();
    assert!(believed.is_empty(), "{}", believed.join("\n"));
}

#[test]
fn no_method_believes_an_end_that_receives_more_than_was_sent() {
    expect_all_invalid(|report| match report {
        FlowReport::Probes(probes) => probes.arrived = probes.sent + 1,
        FlowReport::Frames(frames) => {
            frames.received_frames = frames.sent_frames + 1;
            frames.lossy_seconds = Some(Vec::new());
        }
        FlowReport::Bursts(bursts) => {
            for burst in &mut bursts.bursts {
                burst.received_frames = burst.sent_frames + 1;
            }
        }
        FlowReport::Tcp(tcp) => {
            for slot in &mut tcp.series {
                slot.received_bytes = slot.received_bytes.map(|bytes| bytes * 2 + 100_000);
            }
        }
        FlowReport::Connections(counted) => counted.established = counted.attempted + 1,
    });
}

/// One frame in a trial is enough.
#[test]
fn no_method_believes_an_end_whose_counters_go_backwards() {
    expect_all_invalid(|report| match report {
        FlowReport::Probes(probes) => probes.answered = probes.arrived + 1,
        FlowReport::Frames(frames) => {
            frames.received_frames = frames.received_frames.saturating_sub(1);
        }
        FlowReport::Bursts(bursts) => bursts.planned_bursts = 0,
        FlowReport::Tcp(tcp) => tcp.whole_good_bytes /= 2,
        FlowReport::Connections(counted) => counted.established /= 2,
    });
}
