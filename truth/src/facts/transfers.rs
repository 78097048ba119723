//! What TCP with the windows of `test` carries, where that follows from arithmetic.

use fp_model::{Direction, Family};
use fp_net::path::{LinkSpec, LossSpec, QueueLimit};

use super::{DirectionFacts, FRAMING_BYTES, Kind, is_clean};
use crate::network::Network;

/// Connections of the test by default.
const CONNECTIONS: f64 = 4.0;
/// Headers of TCP with timestamps.
const TCP_BYTES: u32 = 32;
/// Windows of the test are never smaller over a line, RFC 7323 section 2.2 and its own least of 8
/// segments.
const LEAST_WINDOWS_BYTES: f64 = 65_535.0;
const LEAST_WINDOWS_FRAMES: f64 = 8.0;
/// Share of the ideal that a trial has to carry.
const ASKED: f64 = 0.95;

/// Whether TCP with windows of the bandwidth-delay product carries what is asked, where that follows
/// from arithmetic.
///
/// *It passes* where nothing is lost, delayed or changed, and either a queue in front of the slowest
/// line holds as much as the windows (so that even windows released at once lose nothing, and the
/// line never idles), or each bucket of the policer holds three times as much (in `t` seconds windows
/// let at most `W·(1 + t/RTT)` bytes go, which is a bucket of `W` refilled at the CIR; twice that for
/// acknowledgements in clumps, and once more for those of the other direction); every other queue on the
/// way has room for them as well. Directions of more
/// than 1:10 are left out, where acknowledgements alone may fill the slower one.
///
/// *It fails* where random loss of single frames keeps the windows too small: three times the mean window
/// of RFC 9438 section 5 (CUBIC's or Reno's, whichever is larger) still carries less than is asked. A trial of
/// 2 s must meet at least 100 losses, so that its failure is no chance.
pub(super) fn passes(network: &Network, ways: [&DirectionFacts; 2], rtt_s: f64) -> Option<bool> {
    if network.trouble.is_some() || ways.iter().any(|way| way.is_crossed) {
        return None;
    }
    let header_bytes = if network.family == Family::Ipv6 { 40 } else { 20 } + TCP_BYTES;
    let segment_bits = |way: &DirectionFacts| {
        8.0 * f64::from(way.frame_bytes.saturating_sub(FRAMING_BYTES + header_bytes))
    };
    let fails = |direction| {
        let way = match direction {
            Direction::Download => ways[0],
            Direction::Upload => ways[1],
        };
        let share = lost_singly(network.links(direction))?;
        let cubic = 1.054 * (rtt_s / share).powf(0.75);
        let window = cubic.max(1.2 / share.sqrt());
        let carried = CONNECTIONS * 3.0 * window * segment_bits(way) / rtt_s;
        let ideal = way.frames_s * segment_bits(way);
        (carried < ASKED * ideal && 2.0 * carried / segment_bits(way) * share >= 100.0)
            .then_some(())
    };
    if [Direction::Download, Direction::Upload].into_iter().any(|way| fails(way).is_some()) {
        return Some(false);
    }
    let rates = ways.map(|way| way.rate_bps(0));
    let is_even = rates[0].max(rates[1]) <= 10.0 * rates[0].min(rates[1]);
    let holds = |way: &DirectionFacts| {
        let windows = windows_bytes(way, rtt_s);
        match way.kind() {
            Kind::Queue => {
                !way.has_codel
                    && way.bucket.is_none()
                    && way.queue_s * way.rate_bps(0) / 8.0 >= windows
            }
            Kind::Policer => way.bucket.is_some_and(|bucket| {
                let holds = |rate_bps: f64, bytes: f64| rate_bps == 0.0 || bytes >= 3.0 * windows;
                holds(bucket.cir_bps, bucket.cbs_bytes) && holds(bucket.eir_bps, bucket.ebs_bytes)
            }),
            Kind::Host => false,
        }
    };
    let is_single = |way: &DirectionFacts| way.headroom >= 1.2;
    let clean = network.all_links().all(is_clean) && is_even;
    let directions = [Direction::Download, Direction::Upload].into_iter().zip(ways);
    let has_room = directions.into_iter().all(|(direction, way)| {
        has_room(network.links(direction), way.frame_bytes, windows_bytes(way, rtt_s))
    });
    (clean && has_room && ways.into_iter().all(|way| holds(way) && is_single(way))).then_some(true)
}

/// Whether windows that are sent at once find room in every queue.
fn has_room(links: &[LinkSpec], frame_bytes: u32, windows_bytes: f64) -> bool {
    let shapers = links.iter().filter_map(|link| Some(link.shape.as_ref()?.queue));
    links.iter().filter_map(|link| link.queue).chain(shapers).all(|queue| match queue.limit {
        QueueLimit::Bytes(bytes) => bytes as f64 >= windows_bytes,
        QueueLimit::Packets(packets) => packets as f64 * f64::from(frame_bytes) >= windows_bytes,
    })
}

/// The windows of the test by default: the bandwidth-delay product, unless that is too little.
pub(crate) fn windows_bytes(way: &DirectionFacts, rtt_s: f64) -> f64 {
    let least = LEAST_WINDOWS_BYTES.max(LEAST_WINDOWS_FRAMES * f64::from(way.frame_bytes));
    least.max(way.rate_bps(20) / 8.0 * rtt_s)
}

/// The share of frames lost one by one; `None` where they are lost in bursts.
fn lost_singly(links: &[LinkSpec]) -> Option<f64> {
    let mut share = 0.0;
    for link in links {
        match link.loss {
            None => {}
            Some(LossSpec::Random(lost)) => share += lost.as_f64(),
            Some(LossSpec::Every(_) | LossSpec::GilbertElliott(_)) => return None,
        }
    }
    (share > 0.0).then_some(share)
}
