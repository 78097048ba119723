//! What services files say and what they are refused for.

use fp_method::y1564::{Colours, Directions};
use fp_model::{Dscp, FrameSizes};

use super::*;
use crate::yaml::schema;

/// A file with one service that has these keys.
fn one_service(keys: &str) -> String {
    let head = "schema: fullpipe.services/1\nservices:\n  - name: voice\n";
    let keys: Vec<_> = keys.lines().map(|line| format!("    {line}\n")).collect();
    format!("{head}{}", keys.concat())
}

fn service(keys: &str) -> Service {
    parse(&one_service(keys)).unwrap().services.remove(0)
}

fn frames(keys: &str) -> fp_method::y1564::Frames {
    match service(keys).traffic {
        Traffic::Frames(frames) => frames,
        Traffic::Tcp(_) => panic!("a service of frames"),
    }
}

fn dscp(code_point: u8) -> Dscp {
    Dscp::new(code_point).unwrap()
}

#[test]
fn the_example_is_a_set_of_three_services() {
    let services = parse(include_str!("../../../../examples/services.yaml")).unwrap();
    let names: Vec<_> = services.services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(names, ["voice", "video", "internet"]);
    // The example writes the defaults out.
    assert_eq!(services.configuration, Configuration::default());
    assert_eq!(services.duration, fp_method::y1564::PERFORMANCE_DEFAULT);
    let Traffic::Frames(video) = &services.services[1].traffic else { panic!("frames") };
    assert_eq!(video.colours, Colours::Aware { yellow_dscp: dscp(36) });
    assert_eq!(video.sizes.lengths(), [64, 512, 1024, 1518]);
    services.fit(Family::Ipv4, 1500, None).unwrap();
}

#[test]
fn the_commented_tcp_service_of_the_example_is_one() {
    let text = include_str!("../../../../examples/services.yaml");
    let (head, commented) = text.split_once("  # - name: backup").unwrap();
    let commented = format!("  - name: backup{}", commented.replace("\n  # ", "\n  "));
    let services = parse(&format!("{head}{commented}")).unwrap();
    let backup = services.services.last().unwrap();
    let Traffic::Tcp(tcp) = backup.traffic else { panic!("connections") };
    assert_eq!((tcp.connections, tcp.window_bytes, tcp.throughput_percent), (4, None, 90.0));
}

#[test]
fn what_a_service_leaves_out_is_both_ways_untagged_best_effort_and_blind() {
    let plain = service("frame_size: 512\ncir: 10M\ncriteria: {flr: 0.1%}");
    assert_eq!(plain.directions, Directions::Both);
    assert_eq!((plain.vlan_tags, plain.dscp, plain.dscp_received), (0, Dscp::BEST_EFFORT, None));
    assert_eq!(plain.cir_l2, Rate::mbps(10));
    let Traffic::Frames(frames) = plain.traffic else { panic!("frames") };
    assert_eq!(frames.sizes, FrameSizes::fixed(512));
    assert_eq!((frames.eir_l2, frames.cbs_bytes, frames.ebs_bytes), (Rate::ZERO, None, None));
    assert_eq!(frames.colours, Colours::Blind);
    assert_eq!(frames.criteria.flr, 0.001);
    assert_eq!(frames.criteria.ftd, None);
}

#[test]
fn a_class_must_arrive_as_it_was_sent_unless_the_file_says_otherwise() {
    let received = |keys: &str| {
        service(&format!("frame_size: 512\ncir: 1M\ncriteria: {{flr: 0}}\n{keys}")).dscp_received
    };
    assert_eq!(received("dscp: ef"), Some(dscp(46)));
    assert_eq!(received("dscp: ef\ndscp_received: any"), None);
    assert_eq!(received("dscp: ef\ndscp_received: cs5"), Some(dscp(40)));
    assert_eq!(received("vlan_tags: 1"), None);
}

#[test]
fn the_letters_of_an_emix_are_frame_lengths() {
    let sizes = |emix: &str| {
        frames(&format!("emix: {emix}\nvlan_tags: 1\ncir: 1M\ncriteria: {{flr: 0}}")).sizes
    };
    assert_eq!(sizes("abcdefg").lengths(), [64, 128, 256, 512, 1024, 1280, 1518]);
    // A packet of 1500 bytes with one tag.
    assert_eq!(sizes("AH").lengths(), [64, 1522]);
    assert_eq!(sizes("{sequence: hu, mtu: 9018, user: 300}").lengths(), [9018, 300]);
}

#[test]
fn the_tests_may_be_shorter_and_have_other_steps() {
    let text = one_service("frame_size: 64\ncir: 1M\ncriteria: {flr: 0}");
    let services = parse(&format!(
        "{text}configuration: {{step_time: 2s, cir_steps: [50%, 75, 90, 100], policing: 125%, \
         margin: 2.5%, bursts: false}}\nperformance: {{duration: 2h}}\n"
    ))
    .unwrap();
    let configuration = services.configuration;
    assert_eq!(configuration.step, Duration::from_secs(2));
    assert_eq!(configuration.cir_steps_percent, [50, 75, 90, 100]);
    assert_eq!((configuration.policing_percent, configuration.margin_percent), (Some(125.0), 2.5));
    assert!(!configuration.bursts);
    assert_eq!(services.duration, Duration::from_secs(7200));
}

#[test]
fn a_file_that_breaks_off_anywhere_is_a_set_of_services_or_a_sentence() {
    let text = include_str!("../../../../examples/services.yaml");
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        if let Err(problem) = parse(&text[..end]) {
            assert!(problem.to_string().len() > 10, "{problem}");
        }
    }
}

/// Services between these lines, what is wrong with them, where, and what is allowed.
const WRONG_SERVICES: [(&str, &str); 30] = [
    ("frame_len: 64", "4:5: unknown key `frame_len`: allowed are name, direction, frame_size, "),
    ("frame_sizes: 64", "4:5: unknown key `frame_sizes`: did you mean `frame_size`? allowed are "),
    ("frame_size: 63\ncir: 1M", "4:17: `63`: must be a whole number from 64 to 9018"),
    ("frame_size: 9019\ncir: 1M", "4:17: `9019`: must be a whole number from 64 to 9018"),
    ("frame_size: 64", "4:5: the key `cir` is missing here"),
    ("frame_size: 64\ncir: 0", "5:10: `0`: must be more than zero"),
    ("frame_size: 64\ncir: fast", "5:10: `fast`: "),
    ("frame_size: 64\ncir: 40M@l1", "5:10: `40M@l1`: this rate is counted at l2"),
    ("cir: 1M\ncriteria: {flr: 0}", "3:5: a service needs `frame_size: 512`, `emix: abceg` or"),
    ("frame_size: 64\nemix: abc\ncir: 1M", "5:11: a service has a frame_size or an emix, not both"),
    ("emix: abx\ncir: 1M", "4:11: `x` is no frame length: a is 64 bytes, b 128, "),
    ("emix: au\ncir: 1M", "4:11: the letter u needs a length, as in `emix: {sequence: au, "),
    ("emix: ''\ncir: 1M", "4:11: a mix has 1 to 64 frame lengths, not 0"),
    ("frame_size: 64\ncir: 1M", "3:5: criteria are missing here, such as `criteria: {flr: 0.1%, "),
    ("frame_size: 64\ncir: 1M\ncriteria: {ftd: 1ms}", "6:16: the key `flr` is missing here"),
    (
        "frame_size: 64\ncir: 1M\ncriteria: {flr: 101%}",
        "6:21: `101%`: a share is from 0% to 100%, or from 0 to 1 without the sign",
    ),
    (
        "frame_size: 64\ncir: 1M\ncriteria: {flr: 0, ftd: 0ms}",
        "6:29: `0ms`: must be more than zero",
    ),
    ("frame_size: 64\ncir: 1M\ncriteria: {flr: 0, ftd: 61s}", "6:29: `61s`: at most 60 s"),
    (
        "frame_size: 1518\ncir: 1M\ncbs: 1517\ncriteria: {flr: 0}",
        "6:10: cbs of 1517 bytes is less than a frame of 1518 bytes, which would never pass: at \
         least 1518",
    ),
    (
        // 30 s of a megabit per second are 3.75 MB.
        "frame_size: 1518\ncir: 1M\ncbs: 3750001\ncriteria: {flr: 0}",
        "6:10: cbs of 3750001 bytes is more than its rate brings in 30 s: at most 3750000",
    ),
    (
        "frame_size: 64\ncir: 1M\nebs: 10K\ncriteria: {flr: 0}",
        "6:10: an ebs needs an eir, the rate that fills it",
    ),
    ("frame_size: 64\ncir: 1M\ndscp: gold", "6:11: `gold`: a DSCP is a number from 0 to 63 or "),
    ("frame_size: 64\ncir: 1M\nvlan_tags: 3", "6:16: `3`: must be a whole number from 0 to 2"),
    (
        "frame_size: 64\ncir: 1M\ndirection: up",
        "6:16: unknown value `up`: allowed are download, upload, both",
    ),
    (
        "frame_size: 64\ncir: 1M\ncolor_mode: aware\ncriteria: {flr: 0}",
        "6:17: color_mode aware needs a yellow_dscp, such as `yellow_dscp: af42`",
    ),
    (
        "frame_size: 64\ncir: 1M\nyellow_dscp: af42\ncriteria: {flr: 0}",
        "6:18: yellow_dscp counts only where color_mode is aware",
    ),
    (
        "frame_size: 64\ncir: 1M\ncolor_mode: aware\nyellow_dscp: be\ncriteria: {flr: 0}",
        "7:18: green and yellow frames are told apart by their DSCP: name another",
    ),
    (
        "cir: 1M\ntcp: {}\nframe_size: 64",
        "6:17: a service of TCP connections has cir, direction, dscp, vlan_tags and what `tcp`",
    ),
    ("cir: 1M\ntcp: {connections: 0}", "5:24: `0`: must be a whole number from 1 to 1000"),
    ("cir: 1M\ntcp: {window: 10}", "5:19: a window has at least 1000 bytes"),
];

#[test]
fn a_bad_service_is_told_with_line_column_and_what_is_allowed() {
    for (keys, expected) in WRONG_SERVICES {
        let told = parse(&one_service(keys)).unwrap_err().to_string();
        assert!(told.starts_with(expected), "{keys}\n  told:     {told}\n  expected: {expected}");
    }
}

#[test]
fn a_bad_file_is_told_with_line_column_and_what_is_allowed() {
    let good = one_service("frame_size: 64\ncir: 1M\ncriteria: {flr: 0}");
    let twice = format!("{good}{}", good.split_once("services:\n").unwrap().1);
    for (text, expected) in [
        ("", "1:1: the file is empty or ends too early: it begins with `schema: fullpipe.serv"),
        ("lab: fullpipe.lab/1", "1:1: unknown key `lab`: "),
        ("schema: fullpipe.services/2\nservices: []", "1:9: `fullpipe.services/2` is a file of"),
        ("schema: fullpipe.lab/1\nservices: []", "1:9: `fullpipe.lab/1` is not a services file: "),
        ("schema: fullpipe.services/1\nservices: []", "2:11: 1 to 16 services are allowed, not 0"),
        (&twice, "7:11: a second service `voice`: each has a name of its own"),
        (&format!("{good}configuration: {{step_time: 61s}}"), "7:28: `61s`: at most 60 s"),
        (
            &format!("{good}configuration: {{cir_steps: [25, 101]}}"),
            "7:33: `101`: must be a whole number from 1 to 100",
        ),
        (
            &format!("{good}configuration: {{policing: 100%}}"),
            "7:27: `100%`: the policing step offers more than 100% of CIR and EIR",
        ),
        (&format!("{good}performance: {{duration: 10ms}}"), "7:25: `10ms`: at least 1 s"),
    ] {
        let told = parse(text).unwrap_err().to_string();
        assert!(told.starts_with(expected), "{text}\n  told:     {told}\n  expected: {expected}");
    }
}

/// IPv6 takes 20 bytes more than IPv4: 64 − 18 − 40 − 8 leaves no room for a number. A packet of
/// 1500 bytes has a frame of 1518, with one tag of 1522.
#[test]
fn frames_that_do_not_fit_between_the_ends_are_told_with_their_place() {
    let services = |keys: &str| {
        parse(&one_service(&format!("{keys}\ncir: 1M\ncriteria: {{flr: 0}}"))).unwrap()
    };
    let short = services("frame_size: 64");
    short.fit(Family::Ipv4, 1500, None).unwrap();
    let told = short.fit(Family::Ipv6, 1500, None).unwrap_err().error.to_string();
    assert!(told.contains(":4:17: frames of 64 to 64 bytes cannot be sent here"), "{told}");
    assert!(told.contains("has 84 to 1518 bytes"), "{told}");
    services("vlan_tags: 1\nemix: {sequence: h}").fit(Family::Ipv4, 1500, None).unwrap();
    let long =
        services("vlan_tags: 1\nframe_size: 1523").fit(Family::Ipv4, 1500, None).unwrap_err();
    assert!(long.error.to_string().contains(":5:17: "), "{}", long.error);
}

/// A frame of 64 bytes takes 84 on the line: 76.19 Mbit/s of such frames fill 100 Mbit/s.
#[test]
fn services_that_the_line_does_not_carry_together_are_told_with_the_one_that_is_too_much() {
    let services = |second: &str| {
        let first = one_service("frame_size: 64\ncir: 66M\ncriteria: {flr: 0}");
        let second = format!(
            "  - name: more\n    frame_size: 64\n    direction: upload\n    cir: {second}\n    \
             criteria: {{flr: 0}}\n"
        );
        parse(&format!("{first}{second}")).unwrap()
    };
    let line = Some(Rate::mbps(100));
    services("10.1M").fit(Family::Ipv4, 1500, line).unwrap();
    let told = services("10.2M").fit(Family::Ipv4, 1500, line).unwrap_err().error.to_string();
    assert!(told.contains(":10:10: with this CIR the services need 100.01"), "{told}");
    assert!(told.contains("(upload, "), "{told}");
}

/// Every key that a services file may have.
const EVERY_KEY: &str = "schema: fullpipe.services/1
configuration: {step_time: 2s, cir_steps: [50, 100%], policing: 125%, margin: 1%, bursts: true}
performance: {duration: 5min}
services:
  - {name: 1, direction: upload, frame_size: 512, vlan_tags: 1, dscp: af41, dscp_received: any,
     cir: 10M, cbs: 64K, eir: 5000000, ebs: 64Ki, color_mode: aware, yellow_dscp: af42,
     criteria: {flr: 0.001, ftd: 20ms, fdv: 5ms, availability: 99.99%}}
  - {name: two, emix: {sequence: ahu, mtu: 1500, user: 300}, cir: 1M, criteria: {flr: 0}}
  - {name: three, emix: adg, direction: both, cir: 1M, color_mode: blind, criteria: {flr: 0}}
  - {name: four, cir: 1M, tcp: {connections: 4, window: 64K, throughput: 90%}}
";

fn fits_the_schema(text: &str) -> bool {
    schema::fits(SCHEMA, text)
}

#[test]
fn whatever_is_a_services_file_fits_the_schema() {
    let example = include_str!("../../../../examples/services.yaml");
    let short = one_service("frame_size: 64\ncir: 1M\ncriteria: {flr: 0}");
    for text in [example, EVERY_KEY, &short] {
        assert!(parse(text).is_ok() && fits_the_schema(text), "{text}");
    }
}

#[test]
fn what_is_wrong_by_its_keys_fits_neither_parser_nor_schema() {
    let changes = [
        ("schema: fullpipe.services/1", "schema: fullpipe.services/2"),
        ("step_time: 2s", "step: 2s"),
        ("cir_steps: [50, 100%]", "cir_steps: []"),
        ("bursts: true", "bursts: maybe"),
        ("duration: 5min", "lasts: 5min"),
        ("name: 1, ", ""),
        ("direction: upload", "direction: sideways"),
        ("cir: 10M, ", ""),
        ("frame_size: 512, ", ""),
        ("frame_size: 512, ", "frame_size: 512, emix: ag, "),
        ("color_mode: aware", "color_mode: blue"),
        ("flr: 0.001, ", ""),
        ("sequence: ahu, ", ""),
        ("cir: 1M, criteria: {flr: 0}}", "cir: 1M}"),
        ("cir: 1M, tcp", "cir: 1M, criteria: {flr: 0}, tcp"),
        ("window: 64K", "windows: 64K"),
    ];
    for (from, to) in changes {
        assert!(EVERY_KEY.contains(from), "{from}");
        let text = EVERY_KEY.replacen(from, to, 1);
        assert!(parse(&text).is_err() && !fits_the_schema(&text), "{text}");
    }
}

#[test]
fn the_schema_has_the_keys_of_the_parser() {
    let places = [
        ("schema: ", ""),
        ("step_time", "configuration"),
        ("duration", "performance"),
        ("name: 1", "service"),
        ("sequence", "emix"),
        ("flr: 0.001", "criteria"),
        ("connections", "tcp"),
    ];
    schema::expect_keys(SCHEMA, EVERY_KEY, &places, parse);
}
