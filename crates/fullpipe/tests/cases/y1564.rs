//! Services on a port that is what was sold, or is not.
//!
//! Steps are short, and so is what they resolve: in 1 s a rate of frames of 1518 bytes is known to
//! 12 kbit/s. The lab releases a frame up to 50 microseconds late, and a busy host later.

use super::Run;
use crate::port::Port;
use crate::result::{Finished, number, within_percent};

/// A busy host holds frames up in the lab, and now and then loses one: what is not looked at here is
/// not to decide.
fn sold() -> Port {
    let port = Port::sound()
        .services("flr: 0.1%", "flr: 1%")
        .services("{step_time: 2s}", "{step_time: 1s, cir_steps: [50, 100]}");
    port.services("ftd: 20ms, fdv: 5ms", "ftd: 20ms")
        .services(", fdv: 10ms", "")
        .services(", fdv: 20ms", "")
}

fn over(run: Run, port: &Port, words: &[&str]) -> Finished {
    let (_folder, network, services) = port.written();
    run(&network, "y1564", &[&[&services, "--duration", "3s"], words].concat())
}

/// All at once.
pub(crate) fn three_services_side_by_side_have_what_was_sold(run: Run) {
    expect_sold(&over(run, &sold(), &["--performance-only"]));
}

/// By themselves, and all at once.
pub(crate) fn three_services_pass_a_port_that_is_what_was_sold(run: Run) {
    let run = over(run, &sold(), &[]);
    expect_sold(&run);
    for direction in ["download", "upload"] {
        let beyond = run.step("voice", direction, "policing");
        assert!(within_percent(number(beyond, "ir_bps"), 2e6, 1.5), "{beyond}");
    }
}

/// The rates are those of the policers: the lab meters by the kernel's timestamps. A sender that is
/// held up leaves frames out, up to 1 % of them before a step is repeated.
fn expect_sold(run: &Finished) {
    assert_eq!((run.exit, run.status()), (0, "pass"), "{:#}", run.result["verdict"]);
    for direction in ["download", "upload"] {
        for (service, cir) in [("voice", 2e6), ("video", 6e6), ("internet", 10e6)] {
            let step = run.performance(service, direction);
            assert!(within_percent(number(step, "ir_bps"), cir, 1.5), "{step}");
            assert!((4.9..=7.0).contains(&number(step, "ftd_ms")), "{step}");
            let marks = &step["dscp_received"];
            assert_eq!(marks.as_array().map(Vec::len), Some(1), "{marks}");
        }
    }
}

/// A policer that lets too much pass is simulated only.
pub(crate) fn of_three_services_exactly_the_misconfigured_one_fails(run: Run) {
    let profile = "dscp: ef, cir: 2M, cbs: 16K";
    let cases = [
        ("dscp: ef, cir: 1.8M, cbs: 16K", &["flr_exceeded", "ir_low"][..]),
        ("dscp: ef, cir: 2M, cbs: 12K", &["flr_exceeded"][..]),
    ];
    for (configured, codes) in cases {
        over(run, &sold().network(profile, configured), &[]).only_failed("voice", codes);
    }
}
