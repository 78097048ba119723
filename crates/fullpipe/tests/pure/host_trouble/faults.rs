//! For each check of each method a trouble that makes it speak, and what it then says.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use fp_method::reason::Code;
use fp_method::verdict::Status;
use fp_net::sim::{ClockTrouble, HostTrouble, Intake, Part, Stops, Trouble};

use super::subject::{Network, Outcome, Subject};

/// A trouble, and the check that it breaks.
struct Fault {
    subject: Subject,
    check: &'static str,
    /// Part of the sentence that tells the user why.
    said: &'static str,
    trouble: Trouble,
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Other programs have the processors for so long, again and again.
const fn taken_away(lasts: Duration, every: Duration) -> Stops {
    let (from, part) = (ms(3), Part::Program);
    Stops { from, lasts, every: Some(every), part, is_counted: true }
}

fn stopped(stops: Stops) -> HostTrouble {
    HostTrouble { stops: vec![stops], ..HostTrouble::default() }
}

fn near(near: HostTrouble) -> Trouble {
    Trouble { near, ..Trouble::default() }
}

pub(super) fn far(far: HostTrouble) -> Trouble {
    Trouble { far, ..Trouble::default() }
}

/// An end that takes no more packets than these, and has no room for more than `room` others.
pub(super) fn takes(packets_per_second: u64, room: u64) -> HostTrouble {
    let intake = Intake { packets_per_second, room_packets: room, is_counted: true };
    HostTrouble { intake: Some(intake), ..HostTrouble::default() }
}

fn sends(packets_per_second: u64) -> HostTrouble {
    HostTrouble { sends_per_second: Some(packets_per_second), ..HostTrouble::default() }
}

fn emulated_on(stops: Stops) -> Trouble {
    Trouble { network: Some(stops), ..Trouble::default() }
}

/// 55 of 200 ms, as on a virtual machine of a crowded host.
const CROWDED: Stops = taken_away(ms(55), ms(200));

/// The far end stands still for most of the first five seconds, in which the idle path is measured.
fn slow_to_answer() -> HostTrouble {
    let stops = (0..25).map(|k| Stops {
        from: ms(200 * k),
        lasts: ms(198),
        every: None,
        part: Part::Host,
        is_counted: false,
    });
    HostTrouble { stops: stops.collect(), ..HostTrouble::default() }
}

fn of_rfc6349() -> Vec<Fault> {
    let fault = |check, said, trouble| Fault { subject: Subject::Rfc6349, check, said, trouble };
    vec![
        // 5,000 of the 8,127 frames that the line carries.
        fault("tester_drops", "the tester itself dropped packets", far(takes(5000, 50))),
        fault("frames_unsent", "could not send as planned", near(stopped(CROWDED))),
        fault("tester_stall", "kept the tester from running", {
            near(stopped(taken_away(ms(600), ms(7000))))
        }),
        fault("baseline_rtt_is_lowest", "a lower round trip was seen under load", {
            far(slow_to_answer())
        }),
        fault("emulation_lateness", "kept the emulated network from letting packets go", {
            emulated_on(taken_away(ms(50), ms(200)))
        }),
    ]
}

fn of_burst() -> Vec<Fault> {
    let flaw = |said, trouble| Fault {
        subject: Subject::Burst,
        check: "trials_not_as_planned",
        said,
        trouble,
    };
    // Bursts of half a millisecond are sent in four pieces.
    let ragged = taken_away(Duration::from_micros(1150), Duration::from_micros(1300));
    vec![
        Fault {
            check: "tester_drops",
            ..flaw("the tester itself dropped frames", far(takes(20_000, 20)))
        },
        flaw("the tester itself dropped frames", far(takes(20_000, 20))),
        flaw("not all frames could be sent", near(stopped(CROWDED))),
        flaw("the sender could not send at line rate", near(stopped(ragged))),
    ]
}

fn of_frames_and_bursts() -> Vec<Fault> {
    let fault = |subject, check, said, trouble| Fault { subject, check, said, trouble };
    vec![
        fault(Subject::Rfc2544, "trials_spoilt_by_tester", "the tester itself spoilt", {
            far(takes(5000, 10))
        }),
        fault(Subject::Y1564, "frames_unsent", "could not be sent on time", {
            near(stopped(CROWDED))
        }),
        // The CIR is 5,000 frames a second.
        fault(Subject::Y1564, "steps_spoilt_by_tester", "the receiving end itself lost", {
            far(takes(4900, 10))
        }),
        fault(Subject::Rfc7640Policer, "tester_drops", "the tester itself dropped packets", {
            far(takes(20_000, 20))
        }),
        fault(Subject::Rfc7640Policer, "spoilt_trials", "bursts were not sent as planned", {
            near(stopped(CROWDED))
        }),
    ]
}

fn of_flow_and_stress() -> Vec<Fault> {
    let fault = |subject, check, said, trouble| Fault { subject, check, said, trouble };
    let spoils = HostTrouble { payload_spoilt_one_in: Some(50), ..HostTrouble::default() };
    let stall = taken_away(ms(1500), ms(2000));
    vec![
        fault(Subject::FlowOfFrames, "frames_unsent", "could not send all packets", {
            near(stopped(CROWDED))
        }),
        fault(Subject::FlowOfFrames, "tester_drops", "the receiving end itself dropped", {
            far(takes(7000, 50))
        }),
        // 36 of the 60 Mbit/s asked for.
        fault(Subject::FlowOfTcp, "busiest_thread", "an end used a processor up", {
            near(sends(3000))
        }),
        fault(Subject::FlowOfTcp, "tester_stall", "a host kept an end from running", {
            near(stopped(stall))
        }),
        // 36 Mbit/s in a round trip that is ten times as long as the path's.
        fault(Subject::FlowOfTcp, "emulation_lateness", "letting packets go in time", {
            emulated_on(taken_away(ms(50), ms(200)))
        }),
        fault(Subject::Stress, "connections_unasked", "did not get to ask for all", {
            near(stopped(Stops { from: ms(500), every: None, ..taken_away(ms(3510), ms(0)) }))
        }),
        fault(Subject::Stress, "tester_drops", "an end itself dropped packets", {
            far(takes(3000, 5))
        }),
        fault(Subject::Stress, "tester_stall", "for longer than its peers wait", {
            far(stopped(stall))
        }),
        fault(Subject::Stress, "corrupt_payload", "payload arrived that was not sent", {
            near(spoils)
        }),
    ]
}

fn all() -> impl Iterator<Item = Fault> {
    [of_rfc6349(), of_burst(), of_frames_and_bursts(), of_flow_and_stress()].into_iter().flatten()
}

fn is_broken(outcome: &Outcome, name: &str) -> bool {
    outcome.checks.iter().any(|check| check.name.word() == name && !check.ok)
}

#[test]
fn each_check_speaks_of_the_trouble_that_it_is_for_and_the_run_is_invalid() {
    let silent: Vec<String> = all().filter_map(|fault| otherwise(&fault)).collect();
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

/// What else than the check speaks came out.
fn otherwise(Fault { subject, check, said, trouble }: &Fault) -> Option<String> {
    let outcome = subject.run(Network::Right, trouble.clone(), 1);
    let is_said = outcome.verdict.reasons.iter().any(|reason| reason.text.contains(said));
    let is_invalid = outcome.end.is_ok() && outcome.verdict.status == Status::Invalid;
    let is_right = is_broken(&outcome, check) && is_said && is_invalid;
    (!is_right).then(|| {
        let reasons = outcome.verdict.reasons.iter().map(|reason| (reason.code, &reason.text));
        let broken: Vec<_> = outcome.checks.iter().filter(|check| !check.ok).collect();
        let reasons: Vec<_> = reasons.collect();
        let status = outcome.verdict.status;
        format!("{subject:?}, {check}: {status}, {reasons:#?}, broken: {broken:?}")
    })
}

/// The names that the sources of a method give to checks.
fn names_of_checks(method: &str) -> BTreeSet<String> {
    let file = format!("{}/../method/src/{method}/verdict.rs", env!("CARGO_MANIFEST_DIR"));
    let source = fs::read_to_string(&file).unwrap();
    let makers = ["Check::at_most(", "Check::at_least("];
    let after = makers.iter().flat_map(|maker| source.split(maker).skip(1));
    let code = |text: &str| {
        let name = text.split("Code::").nth(1).unwrap().split(',').next().unwrap();
        let code = Code::all().find(|code| format!("{code:?}") == name).unwrap();
        assert!(code.is_check(), "{name}");
        code.word().to_owned()
    };
    after.map(code).collect()
}

#[test]
fn no_check_is_without_a_trouble() {
    let methods: BTreeSet<_> = Subject::ALL.map(Subject::method).into();
    for method in methods {
        let faults = all().filter(|fault| fault.subject.method() == method);
        let known: BTreeSet<_> = faults.map(|fault| fault.check.to_owned()).collect();
        assert_eq!(known, names_of_checks(method), "{method}");
    }
}

/// The clocks' error that is claimed is what a delay is believed to be wrong by.
#[test]
fn a_clock_that_is_apart_shows_as_the_error_of_delays() {
    let clock = ClockTrouble { ahead_ns: 700_000, ..ClockTrouble::default() };
    let apart = far(HostTrouble { clock, ..HostTrouble::default() });
    let outcome = Subject::Y1564.run(Network::Right, apart, 1);
    assert_eq!(outcome.verdict.status, Status::Pass, "{:#?}", outcome.verdict);
}
