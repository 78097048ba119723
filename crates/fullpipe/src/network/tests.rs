//! What lab files say, what they are refused for, and what the built-in networks are.

use std::fs;
use std::time::Duration;

use fp_model::{Dscp, PortRange, Rate, Time};
use fp_net::link::{Frame, Output, Way};
use fp_net::meter::{ColourMode, Coupling};
use fp_net::path::{
    Aqm, Charge, CrossPattern, CrossSpec, Exceed, FrameOrder, JitterDistribution, LinkSpec,
    LossSpec, OutageSpec, PrioritySpec, Probability, QueueLimit, TooBigAnswer,
};

use super::*;
use crate::yaml::schema;

/// A file with one link that has these keys.
fn one_link(keys: &str) -> String {
    let head = "lab: fullpipe.lab/1\nname: x\nlinks:\n  - near_to_far:\n";
    let keys: Vec<_> = keys.lines().map(|line| format!("      {line}\n")).collect();
    format!("{head}{}", keys.concat())
}

fn link(keys: &str) -> LinkSpec {
    parse(&one_link(keys)).unwrap().near_to_far.remove(0)
}

fn problem(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn share(share: f64) -> Probability {
    Probability::new(share).unwrap()
}

fn dscp(code_point: u8) -> Dscp {
    Dscp::new(code_point).unwrap()
}

#[test]
fn every_built_in_network_is_named_like_its_file_and_says_what_it_is_for() {
    for (name, text) in BUILT_IN {
        let path = parse(text).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert_eq!(path.name, name);
        assert!(path.description.len() > 40, "{name} lacks a description");
    }
    assert_eq!(list().count(), BUILT_IN.len());
    assert!(list().all(|(_, description)| !description.is_empty()));
}

/// The example of the manual with every key.
fn every_key() -> &'static str {
    let text = include_str!("../../../../lab/README.md");
    let (_, example) = text.split_once("```yaml\n").unwrap();
    example.split_once("```").unwrap().0
}

#[test]
fn whatever_is_a_network_file_fits_the_schema() {
    let built_in = BUILT_IN.iter().map(|(_, text)| *text);
    for text in built_in.chain([every_key(), &one_link("delay: 1ms\nshape: {rate: 1M}")]) {
        assert!(parse(text).is_ok() && schema::fits(SCHEMA, text), "{text}");
    }
}

#[test]
fn what_is_wrong_by_its_keys_fits_neither_parser_nor_schema() {
    let changes = [
        ("fullpipe.lab/1", "fullpipe.lab/2"),
        ("name: everything\n", ""),
        ("nat: masquerade", "nat: full-cone"),
        ("aqm: codel", "aqm: red"),
        ("charge: l2 ", "charge: l4 "),
        ("cir: 40M\n", "\n"),
        ("cbs: 64K\n", "\n"),
        ("coupling: false", "coupling: maybe"),
        ("exceed: {remark: af13}", "exceed: {mark: af13}"),
        ("rate: 50M\n", "rates: 50M\n"),
        ("p: 0.1%, ", ""),
        ("probability: 0.1%, ", ""),
        ("bytes: 1500, ", ""),
        ("to: be", "into: be"),
        ("lasts: 1s, ", ""),
        ("tcp_rtt: 20ms", "tcp: 20ms"),
        ("near_to_far: &way", "to_far: &way"),
    ];
    for (from, to) in changes {
        assert!(every_key().contains(from), "{from}");
        let text = every_key().replacen(from, to, 1);
        assert!(parse(&text).is_err() && !schema::fits(SCHEMA, &text), "{text}");
    }
}

#[test]
fn the_schema_has_the_keys_of_the_parser() {
    let places = [
        ("lab: ", ""),
        ("nat: masquerade", "gateway"),
        ("near_to_far: &way", "link"),
        ("line_rate: 1G", "direction"),
        ("packets: 500", "queue"),
        ("dscp: [af11", "police"),
        ("yellow: [", "colors"),
        ("rate: 50M", "shape"),
        ("normal: 1ms", "jitter"),
        ("gilbert_elliott:", "loss"),
        ("p: 0.1%", "gilbert_elliott"),
        ("probability: ", "reorder"),
        ("bytes: 1500", "mtu"),
        ("drr: [", "priority"),
        ("from: [cs1]", "remark"),
        ("start: 10s", "outage"),
        ("rate: 5M, frame_bytes", "cross"),
    ];
    schema::expect_keys(SCHEMA, every_key(), &places, parse);
}

#[test]
fn the_example_with_every_key_is_a_network() {
    let example = every_key();
    let path = parse(example).unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!((path.near_to_far.len(), path.far_to_near.len()), (2, 2));
    assert!(path.gateway.is_some());
    let LinkSpec {
        line_rate: Some(_),
        vlan_tags: 1,
        police: Some(_),
        police_classes,
        shape: Some(_),
        shape_classes,
        delay: _,
        jitter: Some(_),
        loss: Some(_),
        reorder: Some(_),
        duplicate: Some(_),
        corrupt: Some(_),
        mtu: Some(_),
        queue: Some(_),
        priority: Some(_),
        remark,
        outage: Some(_),
        cross,
    } = &path.near_to_far[0]
    else {
        panic!("a key is missing")
    };
    let lists = [remark.len(), police_classes.len(), shape_classes.len(), cross.len()];
    assert_eq!(lists, [2, 1, 1, 4]);
}

#[test]
fn a_gateway_translates_to_the_ports_that_it_is_given() {
    let ports = |keys: &str| {
        let text =
            format!("lab: fullpipe.lab/1\nname: x\ngateway: {keys}\nlinks: [near_to_far: {{}}]");
        parse(&text).map(|path| path.gateway.unwrap().ports).map_err(|problem| problem.to_string())
    };
    let range = |first, last| Ok::<_, String>(PortRange { first, last });
    assert_eq!(ports("{nat: masquerade}"), range(1024, 65_535));
    assert_eq!(ports("{nat: masquerade, ports: 20000-20999}"), range(20_000, 20_999));
    assert_eq!(ports("{nat: masquerade, ports: 7}"), range(7, 7));
    for wrong in ["0-9", "9-8", "1-65536", "all"] {
        let refused = ports(&format!("{{nat: masquerade, ports: {wrong}}}")).unwrap_err();
        assert!(refused.starts_with("3:") && refused.contains("from 1 to 65535"), "{refused}");
    }
    assert!(ports("{nat: full-cone}").unwrap_err().contains("masquerade"));
    assert!(ports("{ports: 7}").unwrap_err().contains("nat"));
    assert_eq!(load("nat-gateway").unwrap().gateway.unwrap().ports, range(1024, 65_535).unwrap());
    assert_eq!(load("ideal").unwrap().gateway, None);
}

/// A frame of 64 bytes is small enough for every MTU and alone in every queue.
#[test]
fn every_built_in_network_can_be_built_and_carries_a_frame() {
    for (name, text) in BUILT_IN {
        let path = parse(text).unwrap();
        for links in [&path.near_to_far, &path.far_to_near] {
            let mut way = Way::new(links, 1);
            way.on_frame(Time::ZERO, Frame { frame_bytes: 64, dscp: dscp(0), body: () });
            let due = way.poll_timeout().unwrap();
            assert!(matches!(way.poll(due), Some(Output::Deliver { .. })), "{name}");
        }
    }
}

#[test]
fn the_largest_values_that_a_file_may_have_can_be_built() {
    let links = [link(
        "line_rate: 1T\nqueue: {packets: 10000000}\nmtu: 65535\n\
         police: {cir: 1T, cbs: 1Gi, eir: 1T, ebs: 1Gi}\n\
         shape: {rate: 1T, burst: 1Gi, queue: {bytes: 1Gi, aqm: codel}}\ndelay: 60s\n\
         jitter: {normal: 60s, keep_order: false}\nreorder: {probability: 1, hold: 60s}\n\
         priority: {drr: [{dscp: ef, quantum: 1Gi}]}\noutage: {start: 720h, lasts: 720h}",
    )];
    let mut way = Way::new(&links, u64::MAX);
    way.on_frame(Time::ZERO, Frame { frame_bytes: 65_553, dscp: dscp(0), body: () });
    // At most 60 s of delay, 4·60 s of jitter and 60 s held back.
    let due = way.poll(Time::ZERO + Duration::from_secs(361));
    assert!(matches!(due, Some(Output::Deliver { .. })));
}

#[test]
fn a_file_that_breaks_off_anywhere_is_a_network_or_a_sentence() {
    for (_, text) in BUILT_IN {
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            if let Err(problem) = parse(&text[..end]) {
                assert!(problem.to_string().len() > 10, "{problem}");
            }
        }
    }
}

/// The hardware tester's metro line: a gigabit port, CIR 40 Mbit/s, 54 ms there and back.
#[test]
fn the_metro_network_polices_a_gigabit_port() {
    let path = load("metro-40m-cbs64k").unwrap();
    for way in [&path.near_to_far, &path.far_to_near] {
        let [link] = way.as_slice() else { panic!("one link") };
        assert_eq!(link.line_rate, Some(Rate::mbps(1000)));
        assert_eq!(link.delay, Duration::from_millis(27));
        let police = link.police.as_ref().unwrap();
        assert_eq!((police.profile.cir_l2, police.profile.cbs_bytes), (Rate::mbps(40), 64_000));
        assert_eq!(police.exceed, Exceed::Drop);
    }
}

#[test]
fn the_ways_of_the_100_mbit_line_add_up_to_its_round_trip_time() {
    let path = load("line-100m-10ms").unwrap();
    let delay = path.near_to_far[0].delay + path.far_to_near[0].delay;
    assert_eq!(delay, Duration::from_micros(10_211));
}

#[test]
fn a_way_back_that_is_left_out_is_like_the_way_there_and_meets_the_last_link_first() {
    let text = "lab: fullpipe.lab/1\nname: two\nlinks:\n  - near_to_far: {delay: 1ms}\n  \
                - near_to_far: {delay: 2ms}\n    far_to_near: {delay: 3ms}\n";
    let path = parse(text).unwrap();
    let delays = |links: &[LinkSpec]| -> Vec<u128> {
        links.iter().map(|link| link.delay.as_millis()).collect()
    };
    assert_eq!(delays(&path.near_to_far), [1, 2]);
    assert_eq!(delays(&path.far_to_near), [3, 1]);
}

#[test]
fn a_policer_may_have_every_attribute_of_a_bandwidth_profile() {
    let police = link(
        "police: {cir: 10M@l2, cbs: 12176, eir: 5M, ebs: 20Ki, coupling: true, color_aware: true,\n  \
         colors: {yellow: [af12, 20], red: af13}, mark_yellow: af12, exceed: {remark: cs1}}",
    )
    .police
    .unwrap();
    let profile = police.profile;
    assert_eq!((profile.cir_l2, profile.cbs_bytes), (Rate::mbps(10), 12_176));
    assert_eq!((profile.eir_l2, profile.ebs_bytes), (Rate::mbps(5), 20_480));
    assert_eq!((profile.coupling, profile.mode), (Coupling::Coupled, ColourMode::Aware));
    assert_eq!(police.colours.yellow, [dscp(12), dscp(20)]);
    assert_eq!(police.colours.red, [dscp(14)]);
    assert_eq!(police.mark_yellow, Some(dscp(12)));
    assert_eq!(police.exceed, Exceed::Remark(dscp(8)));
}

#[test]
fn a_policer_counts_the_bytes_of_the_layer_it_charges() {
    for (name, charge) in [
        ("l1", Charge::L1),
        ("l2", Charge::L2),
        ("l2-without-fcs", Charge::L2WithoutFcs),
        ("l3", Charge::L3),
    ] {
        let police = link(&format!("police: {{charge: {name}, cir: 10M, cbs: 12176}}")).police;
        assert_eq!(police.unwrap().charge, charge);
    }
    assert_eq!(link("police: {cir: 10M@l2, cbs: 12176}").police.unwrap().charge, Charge::L2);
    // A full packet has 1500 bytes, its frame 1538 on the line.
    for keys in ["charge: l3, cir: 1M@l3, cbs: 1500", "charge: l1, cir: 1M@l1, cbs: 1538"] {
        link(&format!("police: {{{keys}}}"));
    }
}

#[test]
fn a_policer_may_stand_for_some_classes_only() {
    let policed = link(
        "police: [{dscp: ef, cir: 2M, cbs: 20K}, {dscp: [af41, af42], cir: 8M, cbs: 40K},\n  \
         {cir: 10M, cbs: 50K}]",
    );
    assert_eq!(policed.police.unwrap().profile.cir_l2, Rate::mbps(10));
    let classes = policed.police_classes.into_iter();
    let classes: Vec<_> = classes.map(|class| (class.dscp, class.police.profile.cir_l2)).collect();
    let (voice, video) = (vec![dscp(46)], vec![dscp(34), dscp(36)]);
    assert_eq!(classes, [(voice, Rate::mbps(2)), (video, Rate::mbps(8))]);
}

#[test]
fn a_colour_aware_policer_believes_the_drop_precedences_of_af_unless_told_otherwise() {
    let police = link("police: {cir: 10M, cbs: 12176, color_aware: true}").police.unwrap();
    assert_eq!(police.colours.yellow, [12, 20, 28, 36].map(dscp));
    assert_eq!(police.colours.red, [14, 22, 30, 38].map(dscp));
}

#[test]
fn loss_is_random_or_in_bursts_or_every_nth() {
    assert_eq!(link("loss: 1%").loss, Some(LossSpec::Random(share(0.01))));
    assert_eq!(link("loss: 0.001").loss, Some(LossSpec::Random(share(0.001))));
    assert_eq!(link("loss: {random: 0.1%}").loss, Some(LossSpec::Random(share(0.001))));
    assert_eq!(link("loss: {every: 100}").loss, Some(LossSpec::Every(100)));
    let Some(LossSpec::GilbertElliott(chain)) =
        link("loss: {gilbert_elliott: {p: 1%, r: 20%, loss_in_bad: 50%}}").loss
    else {
        panic!("loss in bursts")
    };
    assert_eq!((chain.to_bad, chain.to_good), (share(0.01), share(0.2)));
    assert_eq!((chain.loss_in_good, chain.loss_in_bad), (Probability::NEVER, share(0.5)));
}

#[test]
fn delay_may_jitter_with_or_without_order() {
    let uniform = link("delay: 10ms\njitter: 2ms").jitter.unwrap();
    let two = Duration::from_millis(2);
    assert_eq!(uniform.distribution, JitterDistribution::Uniform(two));
    assert_eq!(uniform.order, FrameOrder::Kept);
    let normal = link("jitter: {normal: 2ms, keep_order: false}").jitter.unwrap();
    assert_eq!(normal.distribution, JitterDistribution::Normal(two));
    assert_eq!(normal.order, FrameOrder::Free);
}

#[test]
fn an_mtu_answers_by_icmp_unless_told_to_be_silent() {
    let answering = link("mtu: 1400").mtu.unwrap();
    assert_eq!((answering.bytes, answering.too_big), (1400, TooBigAnswer::Icmp));
    let silent = link("mtu: {bytes: 1400, icmp: false}").mtu.unwrap();
    assert_eq!((silent.bytes, silent.too_big), (1400, TooBigAnswer::Silence));
}

#[test]
fn a_queue_stands_before_the_line_or_without_one_before_the_shaper() {
    let line = link("line_rate: 20M\nqueue: {bytes: 1M}");
    assert_eq!(line.queue.unwrap().limit, QueueLimit::Bytes(1_000_000));
    let shaper = link("shape: {rate: 20M, burst: 10K}\nqueue: {packets: 50, aqm: codel}");
    let shape = shaper.shape.unwrap();
    assert_eq!((shape.rate, shape.burst_bytes), (Rate::mbps(20), 10_000));
    assert_eq!((shape.queue.limit, shape.queue.aqm), (QueueLimit::Packets(50), Aqm::CODEL));
    assert_eq!(shaper.queue, None);
}

#[test]
fn classes_are_served_strictly_or_by_deficit_round_robin() {
    let strict = link("line_rate: 20M\npriority: {strict: [ef, [af41, 10], be]}").priority;
    let classes = vec![vec![dscp(46)], vec![dscp(34), dscp(10)], vec![dscp(0)]];
    assert_eq!(strict, Some(PrioritySpec::Strict(classes)));
    let Some(PrioritySpec::Drr(classes)) = link(
        "line_rate: 20M\n\
         priority: {drr: [{dscp: af11, weight: 3}, {dscp: [be], quantum: 1518}]}",
    )
    .priority
    else {
        panic!("deficit round robin")
    };
    // Three full frames of 1518 bytes.
    assert_eq!(classes.iter().map(|c| c.quantum_bytes).collect::<Vec<_>>(), [4554, 1518]);
}

#[test]
fn remarking_takes_one_rule_or_several() {
    let one = link("remark: {from: ef, to: be}").remark;
    assert_eq!(one.iter().map(|r| (r.from, r.to)).collect::<Vec<_>>(), [(Some(dscp(46)), dscp(0))]);
    let several = link("remark: [{from: [46, 34], to: 8}, {to: 0}]").remark;
    let rules: Vec<_> = several.iter().map(|rule| (rule.from, rule.to)).collect();
    let (ef, af41) = (Some(dscp(46)), Some(dscp(34)));
    assert_eq!(rules, [(ef, dscp(8)), (af41, dscp(8)), (None, dscp(0))]);
}

#[test]
fn others_send_in_one_of_four_ways() {
    let cross = |keys: &str| link(&format!("cross: {keys}")).cross;
    let of = |pattern, rate, frame_bytes, dscp| CrossSpec {
        pattern,
        rate_l2: Rate::mbps(rate),
        frame_bytes,
        dscp,
    };
    let ms = Duration::from_millis;
    let best_effort = Dscp::BEST_EFFORT;
    assert_eq!(
        cross("[{rate: 5M, frame_bytes: 64, dscp: 8}, {rate: 50M, on: 20ms, off: 80ms}]"),
        [
            of(CrossPattern::Constant, 5, 64, Dscp::new(8).unwrap()),
            of(CrossPattern::OnOff { on: ms(20), off: ms(80) }, 50, 1518, best_effort),
        ]
    );
    let tcp = of(CrossPattern::Tcp { rtt: ms(20) }, 1000, 1518, best_effort);
    assert_eq!(cross("{rate: 1G, tcp_rtt: 20ms}"), [tcp]);
    let bytes = vec![3000, 0, 64_000];
    let replayed = of(CrossPattern::Replayed { bytes }, 0, 1518, best_effort);
    assert_eq!(cross("{bytes_per_ms: [3000, 0, 64K]}"), [replayed]);
}

#[test]
fn an_outage_may_return() {
    let every = Some(Duration::from_secs(60));
    assert_eq!(
        link("outage: {start: 5s, lasts: 500ms, every: 1m}").outage,
        Some(OutageSpec {
            start: Duration::from_secs(5),
            lasts: Duration::from_millis(500),
            every
        })
    );
}

/// Wrong keys of a link, where in the file it is said, and what.
const WRONG_LINKS: [(&str, &str); 42] = [
    (
        "lin_rate: 1G",
        "5:7: unknown key `lin_rate`: did you mean `line_rate`? allowed are line_rate, ",
    ),
    ("bandwidth: 1G", "5:7: unknown key `bandwidth`: allowed are line_rate, vlan_tags, police, "),
    ("line_rate: 40Q", "5:18: `40Q`: a rate is a number of bit/s with k, M, G or T, such as 40M"),
    ("line_rate: -1M", "5:18: `-1M`: a rate cannot be negative"),
    ("line_rate: 0", "5:18: `0`: must be more than zero"),
    ("line_rate: 2T", "5:18: `2T`: at most 1T"),
    ("line_rate: 40M@l2", "5:18: `40M@l2`: this rate is counted at l1"),
    ("line_rate: [1G]", "5:18: expected a single value here, not a list or keys with values"),
    ("delay: 27 parsecs", "5:14: `27 parsecs`: a time is a number of seconds, or with ns, us, ms"),
    ("delay: 1h", "5:14: `1h`: at most 60 s"),
    ("police: 40M", "5:7: expected keys with values here"),
    ("police: {cir: 40M}", "5:16: the key `cbs` is missing here"),
    (
        "police: [{cir: 4M, cbs: 64K}, {cir: 2M, cbs: 64K}]",
        "5:37: a second policer without dscp: only one can take all other classes",
    ),
    (
        "police: [{dscp: ef, cir: 4M, cbs: 64K}, {dscp: [be, ef], cir: 2M, cbs: 64K}]",
        "5:54: a class has two policers: each code point may be in one of them only",
    ),
    (
        "police: {cir: 40M, cbs: 1000}",
        "5:31: cbs of 1000 bytes is less than the largest frame of 1518",
    ),
    (
        "police: {charge: l4, cir: 40M, cbs: 64K}",
        "5:24: unknown value `l4`: did you mean `l1`? allowed are l1, l2, l2-without-fcs, l3",
    ),
    ("police: {charge: l1, cir: 40M@l2, cbs: 64K}", "5:33: `40M@l2`: this rate is counted at l1"),
    (
        "police: {charge: l1, cir: 40M, cbs: 1518}",
        "5:43: cbs of 1518 bytes is less than the largest frame of 1538",
    ),
    ("police: {cir: 40M, cbs: 64K, eir: 1M}", "5:15: an eir needs an ebs"),
    ("police: {cir: 0, cbs: 64K}", "5:21: a policer with neither cir nor eir passes nothing"),
    ("police: {cir: 40M, cbs: 64K, color_aware: perhaps}", "5:49: must be true or false"),
    (
        "police: {cir: 40M, cbs: 64K, exceed: burn}",
        "5:44: unknown value `burn`: allowed are drop, remark",
    ),
    (
        "police: {cir: 40M, cbs: 64K, exceed: {remark: 64}}",
        "5:53: `64`: a DSCP is a number from 0 to 63",
    ),
    ("loss: 101%", "5:13: `101%`: a share is from 0% to 100%, or from 0 to 1 without the sign"),
    ("loss: 5", "5:13: `5`: a share is from 0% to 100%, or from 0 to 1 without the sign"),
    ("loss: {random: -1%}", "5:22: `-1%`: a share is from 0% to 100%"),
    ("loss: {random: 1%, every: 3}", "5:13: loss is one of `random: 1%`, `every: 100` and"),
    ("loss: {every: 0}", "5:21: `0`: must be a whole number of at least 1"),
    ("mtu: 60", "5:12: an MTU is the size of an IP packet, from 68 to 65535 bytes"),
    ("queue: {bytes: 1M}", "5:14: a queue needs a line_rate or a shape to wait for"),
    (
        "line_rate: 1G\nqueue: {bytes: 1M, packets: 3}",
        "6:35: a queue has a limit in bytes or in packets",
    ),
    ("line_rate: 1G\nqueue: {aqm: red}", "6:20: unknown value `red`: allowed are fifo, codel"),
    ("line_rate: 1G\npriority: {}", "6:17: priority is either strict, such as"),
    (
        "outage: {start: 1s, lasts: 2s, every: 2s}",
        "5:45: outages that come before the last one ended",
    ),
    ("cross: {rate: 5M, on: 20ms}", "5:14: cross is one of `{rate: 5M}`, `{rate: 50M, on:"),
    ("cross: {on: 20ms, off: 80ms}", "5:14: cross needs a rate, such as `rate: 5M`"),
    ("cross: {rate: 0}", "5:21: `0`: must be more than zero"),
    (
        "cross: {rate: 5M, frame_bytes: 2000}",
        "5:38: `2000`: must be a whole number from 64 to 1518",
    ),
    ("cross: {bytes_per_ms: [0, 0]}", "5:29: in some millisecond there are bytes"),
    ("cross: {bytes_per_ms: [1], rate: 5M}", "5:40: bytes_per_ms are a rate already"),
    ("shape: {rate: 1M, burst: 1K}", "5:32: burst of 1000 bytes is less than the largest frame"),
    ("delay: 1ms\ndelay: 2ms", "6:7: the key `delay` is here a second time"),
];

#[test]
fn a_bad_link_is_told_with_line_column_and_what_is_allowed() {
    for (keys, expected) in WRONG_LINKS {
        let told = problem(&one_link(keys));
        assert!(told.starts_with(expected), "{keys}\n  told:     {told}\n  expected: {expected}");
    }
}

#[test]
fn a_bad_file_is_told_with_line_column_and_what_is_allowed() {
    let empty = "the file is empty or ends too early: it begins with `lab: fullpipe.lab/1`";
    let wrong = [
        ("", format!("1:1: {empty}")),
        ("# nothing\n", format!("2:1: {empty}")),
        ("name: x\n", "1:1: the key `lab` is missing here".to_owned()),
        ("- 1\n", "1:1: expected keys with values here".to_owned()),
        (
            "lab: fullpipe.lab/2\nname: x\nlinks: []\n",
            "1:6: `fullpipe.lab/2` is a file of another version: this program reads \
             `fullpipe.lab/1`"
                .to_owned(),
        ),
        (
            "lab: fullpipe.lab/1\nname: x\nlinks: []\n",
            "3:8: a path has 1 to 16 links, here are 0".to_owned(),
        ),
        (
            "lab: fullpipe.lab/1\nname: x\nlinks:\n  - far_to_near: {}\n",
            "4:5: the key `near_to_far` is missing here".to_owned(),
        ),
        (
            "lab: fullpipe.lab/1\nname: x\nlinks:\n  - near_to_far: *way\n",
            "4:18: alias references unknown anchor".to_owned(),
        ),
        (
            "lab: fullpipe.lab/1\n---\nlab: fullpipe.lab/1\n",
            "1:1: the key `name` is missing here".to_owned(),
        ),
    ];
    for (text, expected) in wrong {
        assert_eq!(problem(text), expected, "{text}");
    }
}

/// Each of nine lists repeats the one before nine times: 9⁹ values in 300 bytes.
#[test]
fn an_alias_bomb_is_refused() {
    let mut text = "lab: fullpipe.lab/1\nname: x\nlinks:\n  - near_to_far:\n".to_owned();
    text.push_str(
        "      priority:\n        strict:\n          - &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n",
    );
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("          - &a{level} [{aliases}]\n"));
    }
    problem(&text);
    let mut flat =
        "lab: fullpipe.lab/1\nname: x\nlinks:\n  - &link\n    near_to_far: {}\n".to_owned();
    flat.push_str(&"  - *link\n".repeat(5000));
    let told = problem(&flat);
    assert!(
        told.ends_with("the file grows too large here when its aliases are followed"),
        "{told}"
    );
}

fn failure(name_or_path: &str) -> String {
    let failure = load(name_or_path).unwrap_err();
    assert_eq!(failure.exit, crate::exit::Exit::BadInput);
    format!("{:#}", failure.error)
}

#[test]
fn an_unknown_network_is_told_with_the_nearest_and_all_others() {
    let told = failure("metro-40m-cbs64");
    assert!(
        told.starts_with("there is no network metro-40m-cbs64: did you mean metro-40m-cbs64k?")
    );
    assert!(told.contains("name a network file, or one of ideal, line-100m-10ms, "), "{told}");
    assert!(
        failure("xyzzy").starts_with("there is no network xyzzy: name a network file, or one of")
    );
}

#[test]
fn a_file_that_cannot_be_read_is_bad_input() {
    assert!(failure("no/such.yaml").starts_with("cannot read the network file no/such.yaml: "));
    assert_eq!(failure("/"), "/ is not a file: name a network file in YAML");
}

#[test]
fn a_bad_file_is_told_with_its_path() {
    let dir = std::env::temp_dir().join(format!("fullpipe-network-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let shown = |name: &str, bytes: &[u8]| {
        let path = dir.join(name);
        fs::write(&path, bytes).unwrap();
        (path.display().to_string(), failure(&path.display().to_string()))
    };
    let (path, told) = shown("a.yaml", b"lab: fullpipe.lab/1\nname: x\nlinks: 3\n");
    assert_eq!(told, format!("{path}:3:8: expected a list here"));
    let (path, told) = shown("b.yaml", b"lab: \xff\n");
    assert_eq!(told, format!("{path} is not text in UTF-8: byte 5 is not part of a character"));
    let (path, told) = shown("c.yaml", &[b'#'; 65_537]);
    assert_eq!(told, format!("{path} has 65537 bytes: a network file has at most 65536"));
    fs::remove_dir_all(&dir).unwrap();
}
