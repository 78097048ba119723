//! Flows over simulated networks, as `fullpipe sim NET flow` runs them.

use serde_json::Value;

use crate::folder::Folder;
use crate::result::{Finished, number, run, within_percent};

/// The flow step of this name.
fn flow<'a>(run: &'a Finished, name: &str) -> &'a Value {
    let mut flows = run.steps("flow").into_iter();
    flows
        .find(|flow| flow["flow"] == name)
        .unwrap_or_else(|| panic!("no {name} in {:#}", run.result))
}

fn rate(flow: &Value, end: &str, layer: &str) -> f64 {
    number(&flow[end], &format!("{layer}_bps"))
}

/// A full line: 1472 of 1538 bytes on the line are payload, or 1452 with IPv6; 1518 are frame.
#[test]
fn sixteen_udp_streams_fill_the_line_and_its_usage_is_counted_at_two_layers() {
    for (family, payload) in [("-4", 1472.0), ("-6", 1452.0)] {
        let words =
            ["sim", "fast-ethernet", "flow", "-q", family, "-u", "-b", "10M@l1", "-P", "16"];
        let run = run(&[&words[..], &["-t", "2"]].concat());
        assert_eq!((run.exit, run.status()), (0, "info"), "{}", run.stderr);
        let all = flow(&run, "all 16");
        let carried = rate(all, "received_rates", "l4");
        assert!(within_percent(carried, 100e6 * payload / 1538.0, 0.1), "{carried}");
        assert!(within_percent(number(all, "link_usage_l1_percent"), 100.0, 0.1), "{all}");
        let usage = number(all, "link_usage_percent");
        assert!(within_percent(usage, 100.0 * 1518.0 / 1538.0, 0.1), "{usage}");
        // 160 Mbit/s were offered to 100; a queue of 1000 packets, 12.3 % of a second's, drains late.
        let lost = number(all, "loss_percent");
        assert!((30.0..=37.6).contains(&lost), "{lost}");
        assert_eq!(number(all, "sent_packets"), number(all, "packets") + number(all, "lost"));
    }
}

/// Timestamps take 12 bytes of each segment of 1460 or, with IPv6, 1440.
#[test]
fn the_layers_of_tcp_are_those_of_full_segments() {
    for (family, segment) in [("-4", 1448.0), ("-6", 1428.0)] {
        let words =
            ["sim", "fast-ethernet", "flow", "-q", family, "-w", "64K", "-P", "4", "-t", "2"];
        let run = run(&words);
        let tcp = flow(&run, "tcp");
        let l4 = rate(tcp, "received_rates", "l4");
        for (layer, bytes) in [("l1", 1538.0), ("l2", 1518.0), ("l3", 1500.0)] {
            assert!((rate(tcp, "received_rates", layer) - l4 * bytes / segment).abs() <= 1.0);
        }
        assert!(l4 >= 0.985 * 100e6 * segment / 1538.0, "{l4}");
        assert_eq!(tcp["connections"].as_array().unwrap().len(), 4);
        assert_eq!(rate(tcp, "received_rates", "l4"), number(tcp, "rate_bps"));
    }
}

#[test]
fn the_sums_of_a_series_are_the_totals() {
    let words = ["sim", "lossy-50m", "flow", "-q", "--bidir", "-t", "3"];
    let imix = ["-u", "-b", "20M", "--imix", "-P", "2", "-O", "1"];
    for more in [&[][..], &imix] {
        let run = run(&[&words[..], more].concat());
        for flow in run.steps("flow") {
            let sum = |field: &str| -> f64 {
                flow["series"].as_array().unwrap().iter().map(|slot| number(slot, field)).sum()
            };
            assert_eq!(sum("received_bytes"), number(flow, "payload_bytes"), "{}", flow["flow"]);
            assert_eq!(sum("sent_bytes"), number(flow, "sent_payload_bytes"), "{}", flow["flow"]);
            assert_eq!(flow["conserved"], true);
        }
        assert!(run.steps("flow").len() >= 2);
    }
}

#[test]
fn a_count_of_packets_is_sent_exactly() {
    let words = ["sim", "ideal", "flow", "-q", "-u", "-b", "7M", "-l", "333"];
    let by_packets = run(&[&words[..], &["-k", "1000"]].concat());
    assert_eq!(number(flow(&by_packets, "udp"), "sent_packets"), 1000.0);
    assert_eq!(number(flow(&by_packets, "udp"), "payload_bytes"), 333_000.0);
    // 100,000 bytes are 300.3 packets.
    let by_bytes = run(&[&words[..], &["-n", "100K"]].concat());
    assert_eq!(number(flow(&by_bytes, "udp"), "packets"), 301.0);
}

/// 10 MB over 100 Mbit/s of which 1448 of 1538 bytes are payload take 0.85 s and slow start; at
/// 20 Mbit/s each, two connections take 2 s.
#[test]
fn a_count_of_bytes_ends_the_run_when_they_have_arrived() {
    let words = ["sim", "line-100m-10ms", "flow", "-q", "-n", "10M", "-w", "64K", "-P", "2"];
    for (more, seconds) in [(&["-b", "20M"][..], 2.0..2.2), (&["--bidir"], 0.85..1.4)] {
        let run = run(&[&words[..], more].concat());
        assert_eq!((run.exit, run.status()), (0, "info"), "{}", run.stderr);
        for flow in run.steps("flow") {
            assert_eq!(number(flow, "payload_bytes"), 10e6);
            let took = 10e6 * 8.0 / number(flow, "rate_bps");
            assert!(seconds.contains(&took), "{more:?}: {took} s");
            let series = flow["series"].as_array().unwrap();
            let bytes: f64 = series.iter().map(|slot| number(slot, "received_bytes")).sum();
            assert!(bytes == 10e6 && series.len() <= 60, "{} slots", series.len());
        }
    }
    let limited = run(&[&words[..], &["-t", "500ms"]].concat());
    assert!(limited.reason_codes().contains(&"transfer_unfinished"), "{}", limited.stderr);
}

/// Larger packets than 1400 bytes vanish: 28 bytes of them are headers of UDP, 40 and 12 those of TCP
/// with its options. A length that was given stays, and is said to be too long.
#[test]
fn packets_are_as_long_as_the_path_takes() {
    let flow = |more: &[&str]| {
        let words = ["sim", "blackhole-1400", "flow", "-q", "-t", "1"];
        let run = run(&[&words[..], more].concat());
        let mtu: Vec<Value> = run.steps("path_mtu").into_iter().cloned().collect();
        (mtu, flow(&run, if more.is_empty() { "tcp" } else { "udp" }).clone(), run)
    };
    let (mtu, udp, run) = flow(&["-u", "-b", "1M"]);
    assert_eq!(
        (mtu.len(), &mtu[0]["mtu_bytes"], &mtu[0]["black_hole"]),
        (1, &1400.into(), &true.into())
    );
    assert_eq!(number(&udp, "payload_bytes"), 1372.0 * number(&udp, "packets"));
    assert!(number(&udp, "lost") == 0.0 && run.reason_codes().contains(&"path_mtu"));
    let (mtu, tcp, _) = flow(&[]);
    assert_eq!((mtu.len(), &tcp["connections"][0]["mss_bytes"]), (2, &1348.into()));
    let (mtu, udp, _) = flow(&["-u", "-l", "1472"]);
    assert_eq!((mtu.len(), number(&udp, "packets")), (0, 0.0));
    // Every second packet has its own length, every other one the path's.
    let (_, udp, run) = flow(&["-u", "--imix=gz"]);
    assert_eq!(number(&udp, "packets"), number(&udp, "lost"));
    assert!(run.reason_codes().contains(&"too_long"), "{:#}", run.result["verdict"]);
}

/// The five classes offer twice what the line carries, each 8 Mbit/s of payload: 8.36 on the line.
/// Two of them fit whole, the third has what is left of 20, and the others starve but for what the
/// queues still hold when the senders have ended.
#[test]
fn strict_priority_serves_classes_in_their_order() {
    let words = ["sim", "five-class-20m", "flow", "-q", "--classes", "five", "-u", "-b", "40M"];
    let run = run(&[&words[..], &["-t", "4"]].concat());
    let class = |name: &str| {
        let mut steps = run.steps("flow").into_iter();
        steps.find(|step| step["part"] == "class" && step["class"] == name).unwrap()
    };
    assert_eq!(number(class("EF"), "lost"), 0.0);
    assert_eq!(number(class("AF41"), "lost"), 0.0);
    let third = rate(class("AF31"), "received_rates", "l1") / 1e6;
    // 50 packets of its queue besides: 50 · 1538 · 8 / 4 s are 0.15 Mbit/s.
    assert!((20.0 - 2.0 * 8.36 - 0.05..=20.0 - 2.0 * 8.36 + 0.2).contains(&third), "{third}");
    for starved in ["AF21", "BE"] {
        assert!(number(class(starved), "loss_percent") > 95.0, "{starved}");
    }
    assert_eq!(class("EF")["dscp_received"], 46);
    assert!(run.reason_codes().contains(&"class_starved"));
    // The queues of the lower three hold 90 ms when the senders end: all came over the line.
    assert!(!run.reason_codes().contains(&"above_line"), "{:#}", run.result["verdict"]);
    let sums = run.steps("flow").into_iter().filter(|step| step["part"] == "sum");
    let usage: Vec<f64> = sums.map(|sum| number(sum, "link_usage_l1_percent")).collect();
    assert!(within_percent(usage[0], 100.0, 0.1), "{usage:?}");
}

/// The experiment of the application note: a window of 2 MB over 145 ms carries 110.3 Mbit/s.
#[test]
fn a_triangle_is_followed_up_to_the_window_and_above_it_the_limiter_bites() {
    let limit = |peak: &str, window: &str, flows: &str| {
        let profile = format!("triangle:peak={peak},period=12s");
        let words = ["sim", "transatlantic-limited", "flow", "-q", "--profile"];
        let run = run(&[&words[..], &[&profile, "-w", window, "-P", flows]].concat());
        let step = run.steps("profile")[0].clone();
        (step["limit"]["kind"].as_str().unwrap().to_owned(), step)
    };
    for peak in ["50M", "100M"] {
        assert_eq!(limit(peak, "2M", "1").0, "followed", "{peak}");
    }
    for peak in ["200M", "250M"] {
        let (kind, step) = limit(peak, "2M", "1");
        assert_eq!(kind, "window", "{step:#}");
        let window = number(&step["limit"], "limit_bps");
        assert!(within_percent(window, 2e6 * 8.0 / 0.145, 0.5), "{window}");
    }
    for peak in ["300M", "500M"] {
        assert_eq!(limit(peak, "2M", "1").0, "rate_limit", "{peak}");
    }
    // Two flows with half of the window and of the rate each: the limiter bites later.
    assert_eq!(limit("400M", "1M", "2").0, "window");
    assert_eq!(limit("500M", "1M", "2").0, "rate_limit");
}

#[test]
fn what_the_path_allows_is_followed_within_a_percent() {
    let profiles = ["triangle:peak=60M,period=10s", "sine:peak=60M,low=10M,period=5s"];
    for profile in profiles {
        for transport in [&["-u"][..], &["-P", "2"]] {
            let words = ["sim", "line-100m-10ms", "flow", "-q", "--profile", profile];
            let run = run(&[&words[..], transport].concat());
            let step = run.steps("profile")[0];
            let error = number(step, "tracking_error_percent");
            assert!(error <= 1.0, "{profile} {transport:?}: {error}");
            let intervals = step["intervals"].as_array().unwrap();
            let bits = |field: &str| -> f64 {
                intervals.iter().map(|each| number(each, field) * number(each, "dt_s")).sum()
            };
            assert!(within_percent(bits("received_bps"), bits("target_bps"), 0.2), "{profile}");
        }
    }
}

#[test]
fn chance_has_a_seed() {
    let packets = |seed: &str| {
        let words = ["sim", "ideal", "flow", "-q", "-u", "--profile", "poisson:rate=5M"];
        let run = run(&[&words[..], &["--profile-seed", seed, "-t", "2"]].concat());
        number(flow(&run, "udp"), "packets")
    };
    assert_eq!(packets("7"), packets("7"));
    assert_ne!(packets("7"), packets("8"));
    // 5 Mbit/s in payloads of 1472 bytes are 849 packets in 2 s, a deviation of 29.
    assert!((849.0_f64 - packets("7")).abs() < 4.0 * 29.2);
}

#[test]
fn a_changed_dscp_is_told() {
    let folder = Folder::new();
    let links = "lab: fullpipe.lab/1\nname: bleaching\nlinks:\n  - near_to_far: {remark: {from: ef, \
                 to: be}}\n";
    let net = folder.written("bleaching.yaml", links);
    let run = run(&["sim", &net, "flow", "-q", "-u", "--dscp", "ef", "-t", "1"]);
    let udp = flow(&run, "udp");
    assert_eq!((&udp["dscp_sent"], &udp["dscp_received"]), (&46.into(), &0.into()));
    assert!(run.reason_codes().contains(&"dscp_changed"), "{:#}", run.result["verdict"]);
}

#[test]
fn flows_of_a_file_run_all_at_once() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/flows.yaml");
    let run = run(&["sim", "line-100m-10ms", "flow", "-q", "--flows", example, "-t", "4"]);
    assert_eq!((run.exit, run.status()), (0, "info"), "{}", run.stderr);
    // 50 packets a second of 160 bytes: 64 kbit/s.
    let voice = flow(&run, "voice 4");
    assert!(within_percent(number(voice, "rate_bps"), 64_000.0, 1.0), "{voice}");
    // Half of the time, at 2 Mbit/s.
    let backup = flow(&run, "backup");
    assert!(within_percent(number(backup, "payload_bytes"), 2e6 / 8.0 * 2.0, 2.0), "{backup}");
    assert_eq!(flow(&run, "web")["streams"], 4);
}

#[test]
fn criteria_decide_pass_or_fail() {
    let words = ["sim", "fast-ethernet", "flow", "-q", "-u", "-t", "1", "-b"];
    let of = |more: &[&str]| {
        let run = run(&[&words[..], more].concat());
        (run.exit, run.status().to_owned(), run.reason_codes().join(" "))
    };
    assert_eq!(of(&["50M", "--max-loss", "0"]).1, "pass");
    let (exit, status, codes) = of(&["300M", "--max-loss", "1%", "--min-rate", "99M"]);
    assert_eq!((exit, status.as_str()), (1, "fail"));
    assert!(codes.contains("loss_high") && codes.contains("rate_low"), "{codes}");
}
