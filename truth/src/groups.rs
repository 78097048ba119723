//! What kinds of networks a network belongs to, for the lines of a table.

use fp_model::Family;

use crate::facts::{DirectionFacts, Facts, Kind, is_clean, loses, wavers};
use crate::network::Network;

/// The groups in the order of the table.
pub(crate) const GROUPS: [&str; 21] = [
    "all",
    "clean",
    "loss",
    "jitter",
    "loss and jitter",
    "duplicates",
    "cross traffic",
    "line",
    "policer",
    "two buckets",
    "cascade",
    "bucket before a slower line",
    "asymmetric",
    "deep queue",
    "tiny queue",
    "deep bucket",
    "tiny bucket",
    "MTU not 1500",
    "IPv6",
    "1G and more",
    "host trouble",
];

/// Those that the network belongs to.
pub(crate) fn of(network: &Network, facts: &Facts) -> Vec<&'static str> {
    let ways = [&facts.download, &facts.upload];
    let any = |is: fn(&DirectionFacts) -> bool| ways.into_iter().any(is);
    let links = || network.all_links();
    let lossy = links().any(loses);
    let wavering = links().any(wavers);
    let rates = ways.map(|way| way.frames_s);
    let belongs = |group: &&str| match *group {
        "all" => true,
        "clean" => links().all(is_clean) && network.trouble.is_none(),
        "loss" => lossy && !wavering,
        "jitter" => wavering && !lossy,
        "loss and jitter" => lossy && wavering,
        "duplicates" => links().any(|link| link.duplicate.is_some()),
        "cross traffic" => any(|way| way.is_crossed),
        "line" => any(|way| way.kind() == Kind::Queue),
        "policer" => any(|way| way.kind() == Kind::Policer),
        "two buckets" => any(|way| way.bucket.is_some_and(|bucket| bucket.eir_bps > 0.0)),
        "cascade" => network.path.near_to_far.len() > 1,
        "bucket before a slower line" => {
            any(|way| way.bucket.is_some() && way.kind() == Kind::Queue)
        }
        "asymmetric" => rates[0].max(rates[1]) > 2.0 * rates[0].min(rates[1]),
        "deep queue" => any(|way| way.kind() == Kind::Queue && way.queue_s >= 0.4),
        "tiny queue" => any(|way| way.kind() == Kind::Queue && way.queue_s * way.frames_s <= 10.5),
        "deep bucket" => any(|way| depth_s(way).is_some_and(|depth_s| depth_s >= 0.5)),
        "tiny bucket" => any(|way| {
            let frames = 10.0 * f64::from(way.frame_bytes);
            way.bucket.is_some_and(|bucket| bucket.cbs_bytes <= frames)
        }),
        "MTU not 1500" => ways.into_iter().any(|way| way.frame_bytes != 1518),
        "IPv6" => network.family == Family::Ipv6,
        "1G and more" => any(|way| way.rate_bps(20) >= 1e9),
        "host trouble" => network.trouble.is_some(),
        _ => false,
    };
    GROUPS.iter().filter(|group| belongs(group)).copied().collect()
}

/// How long the bucket takes to fill.
fn depth_s(way: &DirectionFacts) -> Option<f64> {
    way.bucket.map(|bucket| 8.0 * bucket.cbs_bytes / bucket.cir_bps)
}
