//! Simulated ports of which one service is not what was sold: that one fails, for that reason.

use crate::port::Port;
use crate::result::{number, within_percent};

/// Where a bandwidth profile is as it was sold, each figure follows from it: frames of 214 bytes
/// take 234 on the line; the policer lets 2 of 2.5 Mbit/s pass, so a fifth of the frames is lost.
#[test]
fn a_port_that_is_what_was_sold_passes_with_the_figures_of_its_profile() {
    let run = Port::sound().simulated(&[]);
    assert_eq!((run.exit, run.status()), (0, "pass"), "{:#}", run.result["verdict"]);
    assert_eq!(run.reason_codes(), ["services_met"]);
    for direction in ["download", "upload"] {
        let cir = run.step("voice", direction, "cir");
        assert!(within_percent(number(cir, "ir_bps"), 2e6, 0.1), "{cir}");
        assert!(within_percent(number(cir, "ulr_l1_bps"), 2e6 * 234.0 / 214.0, 0.1), "{cir}");
        assert_eq!(number(cir, "flr"), 0.0);
        // 5 ms, and 234 bytes at 1 Gbit/s.
        assert!((number(cir, "ftd_ms") - 5.0).abs() < 0.05, "{cir}");
        let policing = run.step("voice", direction, "policing");
        assert_eq!(number(policing, "offered_l2_bps"), 2.5e6);
        assert!(within_percent(number(policing, "ir_bps"), 2e6, 0.2), "{policing}");
        assert!(within_percent(number(policing, "flr"), 0.2, 1.0), "{policing}");
        let all = run.performance("voice", direction);
        assert!(within_percent(number(all, "ir_bps"), 2e6, 0.1), "{all}");
    }
}

/// 1.9 of 2 Mbit/s: a twentieth is lost at the full CIR, less what the bucket forgives at first.
#[test]
fn a_cir_that_is_too_small_loses_frames_at_the_full_cir() {
    let port = Port::sound().network("dscp: ef, cir: 2M", "dscp: ef, cir: 1.9M");
    let run = port.simulated(&[]);
    run.only_failed("voice", &["flr_exceeded", "ir_low"]);
    let full = run.step("voice", "upload", "cir");
    assert!((0.01..=0.05).contains(&number(full, "flr")), "{full}");
    let policing = run.step("voice", "upload", "policing");
    assert!(within_percent(number(policing, "ir_bps"), 1.9e6, 0.2), "{policing}");
    assert_eq!(policing["pass"], false);
}

/// A bucket of 15,000 bytes holds 70 frames of 214 bytes and what flows in during the burst, not
/// the 74 of a burst of 16,000.
#[test]
fn a_cbs_that_is_too_small_loses_frames_of_bursts_only() {
    let port = Port::sound().network("dscp: ef, cir: 2M, cbs: 16K", "dscp: ef, cir: 2M, cbs: 15K");
    let run = port.simulated(&[]);
    run.only_failed("voice", &["flr_exceeded"]);
    for step in run.of_services().filter(|step| step["service"] == "voice") {
        assert_eq!(step["pass"], step["step"] != "cbs", "{step}");
    }
    let bursts = run.step("voice", "download", "cbs");
    assert!(within_percent(number(bursts, "flr"), 4.0 / 74.0, 5.0), "{bursts}");
}

#[test]
fn a_class_that_is_remarked_on_the_way_does_not_arrive_as_it_was_sold() {
    let other_class = "far_to_near: *way\n  - near_to_far: {remark: {from: ef, to: cs5}}\n    \
                       far_to_near: {delay: 0}";
    let port = Port::sound()
        .network("far_to_near: *way", other_class)
        .services("frame_size: 214,", "frame_size: 214, direction: upload,");
    let run = port.simulated(&[]);
    run.only_failed("voice", &["dscp_remarked"]);
    let texts = run.reasons("dscp_remarked");
    assert!(texts[0].contains("sent with DSCP 46 arrive with 40, not 46"), "{texts:?}");
    let kept = port.services("dscp: ef,", "dscp: ef, dscp_received: cs5,").simulated(&[]);
    assert_eq!(kept.status(), "pass");
}

#[test]
fn a_path_that_takes_too_long_fails_those_who_asked_for_a_shorter_one() {
    let port = Port::sound().network("delay: 5ms", "delay: 25ms");
    let run = port.simulated(&[]);
    run.only_failed("voice", &["ftd_exceeded"]);
    let full = run.step("voice", "download", "cir");
    assert!((number(full, "ftd_ms") - 25.0).abs() < 0.05, "{full}");
}

/// Evenly spread over 6 ms: the slowest in a thousand take most of these longer than the fastest.
#[test]
fn a_delay_that_varies_too_much_fails_those_who_asked_for_a_steadier_one() {
    let port = Port::sound()
        .network("delay: 5ms", "delay: 6ms\n      jitter: {uniform: 3ms, keep_order: false}");
    let run = port.simulated(&[]);
    run.only_failed("voice", &["fdv_exceeded"]);
    let all = run.performance("voice", "upload");
    assert!((5.9..=6.1).contains(&number(all, "fdv_ms")), "{all}");
}

/// One frame of 200, in each direction.
#[test]
fn a_path_that_loses_frames_fails_those_who_asked_for_fewer() {
    let port = Port::sound()
        .network("delay: 5ms", "loss: {every: 200}\n      delay: 5ms")
        .services("flr: 0.1%, ftd: 30ms", "flr: 1%, ftd: 30ms")
        .services("flr: 0.1%, ftd: 50ms", "flr: 1%, ftd: 50ms");
    let run = port.simulated(&["--performance-only"]);
    run.only_failed("voice", &["flr_exceeded"]);
    let text = run.reasons("flr_exceeded")[0];
    assert!(text.starts_with("voice, download, all services at once: frame loss ratio 0."));
    assert!(text.ends_with("at most 0.1 % accepted"), "{text}");
}

/// Ten seconds in a row with more than half of the frames lost are an outage, and what is lost in
/// it is not loss; nine are none.
#[test]
fn an_outage_of_nine_seconds_is_loss_and_one_of_eleven_is_unavailable_time() {
    let run = |lasts: &str| {
        let outage = format!("delay: 5ms\n      outage: {{start: 12s, lasts: {lasts}}}");
        let port = Port::sound().network("delay: 5ms", &outage);
        let port = port.services("flr: 0.1%", "availability: 99%, flr: 3%");
        port.simulated(&["--performance-only", "--duration", "40s"])
    };
    let nine = run("9s");
    assert_eq!(nine.status(), "fail");
    assert_eq!(
        (nine.reasons("flr_exceeded").len(), nine.reasons("availability_low").len()),
        (6, 0)
    );
    let step = nine.performance("voice", "upload");
    assert_eq!((number(step, "availability_percent"), number(step, "unavailable_s")), (100.0, 0.0));
    assert!((number(step, "flr") - 9.0 / 40.0).abs() < 0.001, "{step}");
    let eleven = run("11s");
    assert_eq!(
        (eleven.reasons("flr_exceeded").len(), eleven.reasons("availability_low").len()),
        (0, 6)
    );
    let step = eleven.performance("internet", "download");
    // The seconds in which it begins and ends count as its majority says.
    let unavailable = number(step, "unavailable_s");
    assert!((10.0..=12.0).contains(&unavailable), "{step}");
    let available = 100.0 * (1.0 - unavailable / 40.0);
    assert!((number(step, "availability_percent") - available).abs() < 1e-9, "{step}");
}

/// 2 Mbit/s in frames of 214 bytes are 1168 a second, 5841 in 5 s: without loss they show less than
/// 3/5841 = 0.05 %.
#[test]
fn a_loss_ratio_that_so_few_frames_cannot_show_is_said() {
    let port = Port::sound().services("flr: 0.1%, ftd: 20ms", "flr: 0.001%, ftd: 20ms");
    let run = port.simulated(&["--performance-only"]);
    assert_eq!(run.status(), "pass");
    let told = run.reasons("flr_not_shown");
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("voice: 584") && told[0].contains("0.051"), "{told:?}");
}

/// Steps of 2 s: four of the CIR, one beyond it and one of bursts for voice; two more with an EIR,
/// for video and internet; 5 s of all at once: (6 + 8 + 8)·2 s + 5 s.
#[test]
fn the_time_it_takes_is_said_before_it_starts() {
    let said = Port::sound().said_by_the_simulation();
    let announced = said.find("this takes 49 s of test traffic (3 services)").unwrap();
    assert!(announced < said.find('·').unwrap(), "{said}");
}
