//! A judge that is told the truth says right, and of every lie that it is wrong.

use std::time::Duration;

use fp_model::Rate;
use fp_net::path::{LinkSpec, PoliceSpec};
use fp_net::sim::Severity;
use serde_json::json;

use super::*;
use crate::network::HostTroubles;
use crate::run::Sold;

/// 1 Gbit/s, a policer of 40 Mbit/s and 64,000 bytes, 10 ms in each direction.
fn policed() -> Network {
    let link = LinkSpec {
        line_rate: Some(Rate::mbps(1000)),
        police: Some(PoliceSpec::single_bucket(Rate::mbps(40), 64_000)),
        delay: Duration::from_millis(10),
        ..LinkSpec::default()
    };
    Network::new("policed".into(), vec![link.clone()], vec![link])
}

/// The same with nothing but a line of 100 Mbit/s.
fn line() -> Network {
    let link = LinkSpec {
        line_rate: Some(Rate::mbps(100)),
        delay: Duration::from_millis(10),
        ..LinkSpec::default()
    };
    Network::new("line".into(), vec![link.clone()], vec![link])
}

fn judged(method: Method, network: &Network, document: Value) -> Judgement {
    let directions = &[Direction::Download];
    let sold = Some(Sold { cir_bps: 40e6, cbs_bytes: 64_000, is_true: true, directions });
    let took = Duration::ZERO;
    let ran = Ran { document, ended_by: None, took, happenings: 0, sold, was_disturbed: false };
    judge(method, network, &Facts::of(network), &ran)
}

fn result(status: &str, steps: &[Value]) -> Value {
    json!({
        "verdict": {"status": status, "reasons": []},
        "validity": {"ok": true, "checks": []},
        "steps": steps,
    })
}

fn bottleneck(rate_bps: f64, kind: &str) -> Value {
    json!({
        "name": "bottleneck", "direction": "download", "rate_bps": rate_bps, "layer": "l2",
        "rate_l2_bps": rate_bps, "frame_bytes": 1518, "kind": kind, "base_loss_percent": 0.0,
    })
}

fn class_of(network: &Network, step: Value) -> Class {
    judged(Method::Test, network, result("pass", &[step])).class
}

#[test]
fn a_true_bottleneck_is_right_and_one_three_percent_off_is_wrong() {
    assert_eq!(class_of(&policed(), bottleneck(39.9e6, "policer")), Class::Right);
    assert_eq!(class_of(&policed(), bottleneck(38.8e6, "policer")), Class::Wrong);
    assert_eq!(class_of(&policed(), bottleneck(41.2e6, "policer")), Class::Wrong);
}

#[test]
fn a_policer_called_a_queue_is_wrong_and_one_not_called_anything_is_unknown() {
    assert_eq!(class_of(&policed(), bottleneck(40e6, "queue")), Class::Wrong);
    assert_eq!(class_of(&policed(), bottleneck(40e6, "unknown")), Class::Unknown);
    assert_eq!(class_of(&line(), bottleneck(98.7e6, "policer")), Class::Wrong);
    assert_eq!(class_of(&line(), bottleneck(98.7e6, "queue")), Class::Right);
}

#[test]
fn a_figure_that_is_off_within_its_own_interval_leaves_the_question_open() {
    let with = |least: f64, most: f64| {
        let mut step = bottleneck(35e6, "policer");
        step["rate_bps_at_least"] = json!(least);
        step["rate_bps_at_most"] = json!(most);
        judged(Method::Test, &policed(), result("pass", &[step]))
    };
    let open = with(30e6, 41e6);
    assert_eq!(open.class, Class::Unknown);
    assert!(open.figures.iter().any(|figure| figure.covers == Some(true)));
    assert_eq!(with(34e6, 36e6).class, Class::Wrong);
}

#[test]
fn bounds_without_a_figure_leave_the_question_open_unless_the_truth_is_beyond_them() {
    let with = |key: &str, bound: f64| {
        let mut step = bottleneck(0.0, "unknown");
        step["rate_bps"] = Value::Null;
        step[key] = json!(bound);
        class_of(&policed(), step)
    };
    assert_eq!(with("rate_bps_at_least", 39e6), Class::Unknown);
    assert_eq!(with("rate_bps_at_least", 41e6), Class::Wrong);
    assert_eq!(with("rate_bps_at_most", 41e6), Class::Unknown);
    assert_eq!(with("rate_bps_at_most", 39e6), Class::Wrong);
}

/// 100 Mbit/s on the line are 98.6996 Mbit/s of frames.
#[test]
fn a_rate_is_compared_at_the_layer_that_it_names() {
    let at = |layer: &str, bps: f64| {
        let mut step = bottleneck(bps, "queue");
        step["layer"] = json!(layer);
        class_of(&line(), step)
    };
    assert_eq!((at("l1", 100e6), at("l2", 98.7e6)), (Class::Right, Class::Right));
    assert_eq!((at("l3", 97.53e6), at("l1", 97.53e6)), (Class::Right, Class::Wrong));
}

#[test]
fn a_limit_that_was_not_reached_leaves_the_question_open_unless_more_is_claimed_than_there_is() {
    assert_eq!(class_of(&policed(), bottleneck(20e6, "not_reached")), Class::Unknown);
    assert_eq!(class_of(&policed(), bottleneck(60e6, "not_reached")), Class::Wrong);
}

#[test]
fn loss_that_is_not_there_is_wrong() {
    let mut step = bottleneck(40e6, "policer");
    step["base_loss_percent"] = json!(4.0);
    assert_eq!(class_of(&policed(), step), Class::Wrong);
}

#[test]
fn a_path_mtu_is_right_to_the_byte() {
    let mtu = |bytes: u32, hole: bool| json!({"name": "path_mtu", "direction": "upload", "mtu_bytes": bytes, "black_hole": hole});
    assert_eq!(class_of(&line(), mtu(1500, false)), Class::Right);
    assert_eq!(class_of(&line(), mtu(1499, false)), Class::Wrong);
    assert_eq!(class_of(&line(), mtu(1500, true)), Class::Wrong);
}

/// Twice 10 ms, and 138 bytes at 100 Mbit/s in each direction: 20.02208 ms.
#[test]
fn a_round_trip_off_by_more_than_two_percent_is_wrong() {
    let rtt = |ms: f64| json!({"name": "baseline_rtt", "rtt_min_ms": ms});
    assert_eq!(class_of(&line(), rtt(20.02208)), Class::Right);
    assert_eq!(class_of(&line(), rtt(19.5)), Class::Wrong);
    assert_eq!(class_of(&line(), rtt(20.6)), Class::Wrong);
}

/// 1448 bytes of each of 8,127.44 frames/s: 94.148 Mbit/s.
#[test]
fn more_throughput_than_the_line_carries_is_wrong() {
    let tcp = |bps: f64| {
        json!({
            "name": "tcp", "direction": "download", "flow_direction": "download",
            "role": "throughput", "throughput_bps": bps, "ideal_bps": 94.148e6, "mss_bytes": 1448,
            "transfer_s": 2.5,
        })
    };
    assert_eq!(class_of(&line(), tcp(94.1e6)), Class::Right);
    assert_eq!(class_of(&line(), tcp(97e6)), Class::Wrong);
}

#[test]
fn a_verdict_that_arithmetic_decides_otherwise_is_wrong() {
    let with = |passes, status| {
        let network = Network { passes, ..line() };
        judged(Method::Test, &network, result(status, &[])).class
    };
    assert_eq!(with(Some(true), "fail"), Class::Wrong);
    assert_eq!(with(Some(false), "pass"), Class::Wrong);
    assert_eq!(with(Some(true), "pass"), Class::Right);
    assert_eq!(with(Some(true), "inconclusive"), Class::Unknown);
    // By default the queue holds a thousand packets, six times the bandwidth-delay product.
    assert_eq!(with(None, "fail"), Class::Wrong);
}

#[test]
fn a_queue_blamed_where_there_is_none_is_wrong() {
    let mut document = result("fail", &[]);
    document["verdict"]["reasons"] =
        json!([{"code": "throughput_low_delay", "text": "a queue fills", "step": null}]);
    assert_eq!(judged(Method::Test, &policed(), document.clone()).class, Class::Wrong);
    let line = Network { passes: Some(false), ..line() };
    assert_eq!(judged(Method::Test, &line, document).class, Class::Right);
}

#[test]
fn an_invalid_run_is_false_where_no_host_was_troubled() {
    let mut document = result("invalid", &[bottleneck(10e6, "queue")]);
    document["validity"]["ok"] = json!(false);
    assert_eq!(judged(Method::Test, &policed(), document.clone()).class, Class::Invalid);
    let trouble = Some(HostTroubles { severity: Severity::Heavy, seed: 1 });
    let troubled = Network { trouble, ..policed() };
    assert_eq!(judged(Method::Test, &troubled, document).class, Class::Unknown);
}

#[test]
fn a_run_that_was_broken_off_is_invalid() {
    let network = policed();
    let ended_by = Some("look for a firewall".into());
    let (document, took) = (result("aborted", &[]), Duration::ZERO);
    let ran = Ran { document, ended_by, took, happenings: 0, sold: None, was_disturbed: false };
    let judgement = judge(Method::Discover, &network, &Facts::of(&network), &ran);
    assert_eq!(judgement.class, Class::Invalid);
}

fn found(cir_bps: f64, cbs_bytes: f64, offset: i32) -> Value {
    json!({
        "name": "discovery", "direction": "download", "found": "policer", "cir_bps": cir_bps,
        "cbs_bytes": cbs_bytes, "charged_layer": "l2", "charged_offset_bytes": offset,
        "excess": null,
    })
}

fn discovered(network: &Network, step: Value) -> Class {
    judged(Method::Discover, network, result("info", &[step])).class
}

#[test]
fn a_policer_is_right_in_rate_depth_charge_and_number_of_buckets() {
    assert_eq!(discovered(&policed(), found(40e6, 64e3, 0)), Class::Right);
    assert_eq!(discovered(&policed(), found(33.6e6, 64e3, 0)), Class::Wrong);
    assert_eq!(discovered(&policed(), found(40e6, 1478.0, 0)), Class::Wrong);
    assert_eq!(discovered(&policed(), found(40e6, 64e3, -18)), Class::Wrong);
    let mut two = found(40e6, 64e3, 0);
    two["excess"] = json!({"eir_bps": 6.4e6, "ebs_bytes": 1e4});
    assert_eq!(discovered(&policed(), two), Class::Wrong);
}

#[test]
fn a_policer_where_there_is_none_is_wrong_and_a_line_is_a_line() {
    assert_eq!(discovered(&line(), found(98.7e6, 64e3, 0)), Class::Wrong);
    let none = |line_bps: f64, lost: f64| {
        json!({
            "name": "discovery", "direction": "download", "found": "no_policer",
            "line_rate_l1_bps": line_bps, "sent_bytes": 2e7, "loss_percent": lost,
        })
    };
    assert_eq!(discovered(&line(), none(100e6, 0.0)), Class::Right);
    assert_eq!(discovered(&line(), none(90e6, 0.0)), Class::Wrong);
    assert_eq!(discovered(&line(), none(100e6, 95.79)), Class::Wrong);
    // 20 MB at 1 Gbit/s went through a bucket of 64 kB: they did not.
    assert_eq!(discovered(&policed(), none(1e9, 0.0)), Class::Wrong);
}

/// A full bucket of 64,000 bytes passes 66,700 bytes of a burst at 1 Gbit/s.
#[test]
fn no_policer_found_by_a_burst_that_a_full_bucket_passes_leaves_the_question_open() {
    let step = json!({
        "name": "discovery", "direction": "download", "found": "no_policer",
        "line_rate_l1_bps": 1e9, "sent_bytes": 60_000, "loss_percent": 0.0,
    });
    assert_eq!(discovered(&policed(), step), Class::Unknown);
}

#[test]
fn a_queue_that_carried_no_more_than_the_bucket_behind_it_passes_leaves_the_question_open() {
    let queue = |carried_bytes: f64, rate_bps: f64| {
        let step = json!({
            "name": "discovery", "direction": "download", "found": "shaper", "rate_bps": rate_bps,
            "carried_bytes": carried_bytes, "charged_layer": "l1", "charged_offset_bytes": 20,
        });
        discovered(&policed(), step)
    };
    assert_eq!(queue(60e3, 1e9), Class::Unknown);
    assert_eq!(queue(60e3, 1.1e9), Class::Wrong);
    assert_eq!(queue(80e3, 1e9), Class::Wrong);
}

#[test]
fn a_bucket_before_a_slower_line_is_named_as_it_is_or_the_line_is() {
    let slower = |mbps| LinkSpec { line_rate: Some(Rate::mbps(mbps)), ..LinkSpec::default() };
    let mut links = policed().path.far_to_near;
    links.push(slower(30));
    let network = Network::new(String::new(), links.clone(), links);
    let shaper = json!({
        "name": "discovery", "direction": "download", "found": "shaper", "rate_bps": 30e6,
        "charged_layer": "l1", "charged_offset_bytes": 20, "bucket_bytes": 1538,
    });
    assert_eq!(discovered(&network, shaper), Class::Right);
    assert_eq!(discovered(&network, found(40e6, 64e3, 0)), Class::Right);
    assert_eq!(discovered(&network, found(30e6, 64e3, 0)), Class::Wrong);
}

fn sold(method: Method, network: &Network, document: Value, is_true: bool) -> Class {
    let directions = &[Direction::Download];
    let sold = Some(Sold { cir_bps: 40e6, cbs_bytes: 64_000, is_true, directions });
    let ran = Ran {
        document,
        ended_by: None,
        took: Duration::ZERO,
        happenings: 0,
        sold,
        was_disturbed: false,
    };
    judge(method, network, &Facts::of(network), &ran).class
}

#[test]
fn a_policer_as_sold_passes_and_another_fails() {
    for method in [Method::Burst, Method::Rfc7640, Method::Y1564] {
        let judged = |status: &str, is_true| sold(method, &policed(), result(status, &[]), is_true);
        assert_eq!((judged("pass", true), judged("fail", true)), (Class::Right, Class::Wrong));
        assert_eq!((judged("fail", false), judged("pass", false)), (Class::Right, Class::Wrong));
        assert_eq!(judged("info", true), Class::Unknown);
    }
}

#[test]
fn a_policer_as_sold_is_not_to_blame_for_loss() {
    let mut network = policed();
    network.path.far_to_near[0].loss =
        fp_net::path::Probability::new(0.01).map(fp_net::path::LossSpec::Random);
    let mut document = result("fail", &[]);
    document["verdict"]["reasons"] = json!([{"code": "burst_lost", "text": "", "step": null}]);
    assert_eq!(sold(Method::Burst, &network, document.clone(), true), Class::Wrong);
    document["verdict"]["reasons"] = json!([{"code": "random_loss", "text": "", "step": null}]);
    assert_eq!(sold(Method::Burst, &network, document, true), Class::Right);
    // A service that may lose a thousandth of its frames does not pass with a hundredth.
    assert_eq!(sold(Method::Y1564, &network, result("pass", &[]), true), Class::Wrong);
    assert_eq!(sold(Method::Y1564, &network, result("fail", &[]), true), Class::Right);
}

/// 64,000 bytes at 1 Gbit/s, of which a line of 100 Mbit/s takes a tenth meanwhile.
#[test]
fn a_burst_that_a_queue_behind_the_policer_drops_may_fail() {
    let with = |bytes| {
        let queue = Some(fp_net::path::QueueSpec {
            limit: fp_net::path::QueueLimit::Bytes(bytes),
            aqm: fp_net::path::Aqm::Fifo,
        });
        let mut links = policed().path.far_to_near;
        links.push(LinkSpec { line_rate: Some(Rate::mbps(100)), queue, ..LinkSpec::default() });
        let network = Network::new(String::new(), links.clone(), links);
        sold(Method::Burst, &network, result("fail", &[]), true)
    };
    assert_eq!((with(50_000), with(60_000)), (Class::Right, Class::Wrong));
}

fn throughput(frame_bytes: u32, frames_s: f64) -> Class {
    let step = json!({
        "name": "rfc2544_throughput", "direction": "upload", "frame_bytes": frame_bytes,
        "rate_fps": frames_s,
    });
    judged(Method::Rfc2544, &line(), result("info", &[step])).class
}

/// 100,000,000 / (8 · 148) = 84,459.5 frames/s of 128 bytes.
#[test]
fn the_throughput_of_a_line_is_what_its_gaps_leave() {
    assert_eq!(throughput(128, 84_400.0), Class::Right);
    assert_eq!(throughput(128, 80_000.0), Class::Wrong);
    assert_eq!(throughput(1518, 84_400.0), Class::Wrong);
}

/// The line takes packets of 1500 bytes.
#[test]
fn a_length_that_does_not_fit_the_path_is_said_not_to() {
    let too_long = |frame_bytes: u32| {
        let step = json!({
            "name": "rfc2544_throughput", "direction": "upload", "frame_bytes": frame_bytes,
            "rate_fps": null, "limit": "path_mtu",
        });
        judged(Method::Rfc2544, &line(), result("info", &[step])).class
    };
    assert_eq!((too_long(1518), too_long(1519)), (Class::Wrong, Class::Right));
}

/// Both buckets of 64,000 and 32,000 bytes, refilled at 40 and 20 Mbit/s, at 1 Gbit/s (987 Mbit/s of
/// frames): the committed one lasts 540.7 µs, in which the other one misses 1,352 bytes.
#[test]
fn two_buckets_are_told_apart_or_seem_one_with_both_their_tokens() {
    let mut network = policed();
    let police = network.path.far_to_near[0].police.as_mut().unwrap();
    police.profile.eir_l2 = Rate::mbps(20);
    police.profile.ebs_bytes = 32_000;
    let mut apart = found(40e6, 64e3, 0);
    apart["excess"] = json!({"eir_bps": 20e6, "ebs_bytes": 32_000});
    assert_eq!(discovered(&network, apart), Class::Right);
    // Which of the two buckets there may be is left open.
    assert_eq!(discovered(&network, found(60e6, 94_648.0, 0)), Class::Unknown);
    assert_eq!(discovered(&network, found(60e6, 88_000.0, 0)), Class::Wrong);
    assert_eq!(discovered(&network, found(40e6, 64e3, 0)), Class::Wrong);
    let mut alone = found(60e6, 96e3, 0);
    alone["excess_shown_from_cbs_bytes"] = json!(10_000);
    assert_eq!(discovered(&network, alone), Class::Wrong);
}

/// Of 90 to 110 half is a tenth of the middle.
#[test]
fn how_wide_an_interval_is_is_half_of_it_by_its_middle() {
    let width = |said: Value| {
        Right::exactly(100.0).judged("rate", Said::of(&said, "rate").unwrap()).width.unwrap()
    };
    let of = |most: f64| json!({"rate": 101.0, "rate_at_least": 90.0, "rate_at_most": most});
    assert!((width(of(110.0)) - 0.1).abs() < 1e-12);
    let open = json!({"rate": 101.0, "rate_at_least": 90.0, "rate_at_most": null});
    assert!(width(open).is_infinite());
}
