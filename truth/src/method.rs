//! The methods under judgement: each run over a network in virtual time, with its defaults, and what
//! it has to say as its result document says it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fp_method::{burst, rfc2544, rfc6349, rfc7640, y1564};
use fp_model::{Abort, Direction, Dscp, Family, FrameSizes, HostFacts, Layer, LayeredRate, Rate};
use fp_net::sim::SimTestbed;
use fp_report::{Labels, Run, Work};
use serde_json::Value;

use crate::facts::{Bucket, DirectionFacts, Facts, Kind, interface_mtu_bytes};
use crate::kernel;
use crate::network::Network;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Method {
    /// RFC 6349.
    Test,
    /// What policer there is.
    Discover,
    /// Whether a known policer is as sold.
    Burst,
    /// Throughput of three frame lengths and that of the path MTU.
    Rfc2544,
    /// The policer.
    Rfc7640,
    /// One service, by itself and for a while.
    Y1564,
}

impl Method {
    pub(crate) const ALL: [Self; 6] =
        [Self::Test, Self::Discover, Self::Burst, Self::Rfc2544, Self::Rfc7640, Self::Y1564];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Discover => "discover",
            Self::Burst => "burst",
            Self::Rfc2544 => "rfc2544",
            Self::Rfc7640 => "rfc7640",
            Self::Y1564 => "y1564",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// What a run came to.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// `fullpipe.result/1` without evidence.
    pub(crate) document: Value,
    /// Why there is no more of it: the run was broken off, or the method itself failed.
    pub(crate) ended_by: Option<String>,
    /// On the path, in virtual time.
    pub(crate) took: Duration,
    /// Frames and timers that the simulator had to deal with.
    pub(crate) happenings: u64,
    /// What the plan says of the policer, if the method needs that.
    pub(crate) sold: Option<Sold>,
    /// In real time: something else kept this host busy.
    pub(crate) was_disturbed: bool,
}

/// The policer as the plan describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sold {
    pub(crate) cir_bps: f64,
    pub(crate) cbs_bytes: u64,
    /// The policer is what was sold.
    pub(crate) is_true: bool,
    /// Where it stands: download alone, or both.
    pub(crate) directions: &'static [Direction],
}

const DOWNLOAD: &[Direction] = &[Direction::Download];
const BOTH: &[Direction] = &[Direction::Download, Direction::Upload];

/// The longest fill time of a bucket that the command line accepts.
const FILLS_IN_S: f64 = 30.0;
/// In trials of ten seconds, a bucket of more forgives a rate that is a tenth too high.
const FORGIVES_S: f64 = 0.3;
/// Bursts of whole frames are shorter than the bucket by up to a frame: in fewer, that hides a rate that
/// is a tenth too high.
const LEAST_FRAMES: f64 = 50.0;

impl Sold {
    /// Every third seed gets a CIR that is a tenth too high, the next one a CBS that is half as large
    /// again as the longest burst that the policer lets through (its bucket, and what refills it during
    /// the burst), the third one the truth. No tolerance covers either lie.
    fn of(bucket: &Bucket, frame_bytes: u32, seed: u64) -> Self {
        let is_shallow = 8.0 * bucket.cbs_bytes <= FORGIVES_S * bucket.cir_bps;
        let is_whole = bucket.cbs_bytes >= LEAST_FRAMES * f64::from(frame_bytes);
        let fed_bps = 8.0 * bucket.fed_frames_s * f64::from(frame_bytes);
        let spent = 1.0 - bucket.cir_bps / fed_bps;
        let [cir, cbs] = match seed % 3 {
            0 if is_shallow && is_whole => [1.1, 1.0],
            1 if is_whole && spent > 0.2 => [1.0, 1.5 / spent],
            _ => [1.0, 1.0],
        };
        Self {
            cir_bps: (bucket.cir_bps * cir).round(),
            cbs_bytes: (bucket.cbs_bytes * cbs).round() as u64,
            is_true: cir == 1.0 && cbs == 1.0,
            directions: DOWNLOAD,
        }
    }

    const fn exactly(bucket: &Bucket) -> Self {
        let Bucket { cir_bps, cbs_bytes, .. } = *bucket;
        Self { cir_bps, cbs_bytes: cbs_bytes as u64, is_true: true, directions: DOWNLOAD }
    }
}

/// What a method says and why there is no more of it.
type Said = (Work, Result<(), Abort>);

/// Runs the method over the network; `None` where it has nothing to do there: there is nothing to sell
/// where the limit is no policer of one bucket, or one that takes half a minute to fill.
pub(crate) fn run(method: Method, network: &Network, facts: &Facts) -> Option<Ran> {
    let sold = match method {
        Method::Test | Method::Discover | Method::Rfc2544 => None,
        Method::Burst | Method::Rfc7640 | Method::Y1564 => Some(sold(method, network, facts)?),
    };
    if let Some(routers) = &network.routers {
        return Some(kernel::run(method, network, routers, facts, sold));
    }
    let mut bed = SimTestbed::new(&network.path, network.seed);
    if let Some(trouble) = network.trouble {
        bed = bed.with_trouble(trouble.of_hosts());
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| said(method, sold, network, facts, &mut bed)));
    let (took, happenings) = (bed.simulated(), bed.happenings());
    let (document, ended_by) = match outcome {
        Ok((work, end)) => (document(work, took), end.err().map(|abort| abort.to_string())),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            (Value::Null, Some(format!("the method panicked: {}", said.unwrap_or("no reason"))))
        }
    };
    Some(Ran { document, ended_by, took, happenings, sold, was_disturbed: false })
}

fn said(
    method: Method,
    sold: Option<Sold>,
    network: &Network,
    facts: &Facts,
    bed: &mut SimTestbed,
) -> Said {
    let (mtu_bytes, family) = (interface_mtu_bytes(network), network.family);
    match (method, sold) {
        (Method::Test, _) => {
            let plan = rfc6349::Plan::new(family, mtu_bytes);
            let (report, end) = rfc6349::run(&plan, bed);
            (Work::Rfc6349 { plan, report }, end)
        }
        (Method::Rfc2544, _) => {
            let plan = rfc2544::Plan {
                tests: vec![rfc2544::Test::Throughput],
                frame_lengths_bytes: RFC2544_FRAMES_BYTES.into(),
                rate_cap_l1: rate_cap(facts),
                ..rfc2544::Plan::new(family, mtu_bytes)
            };
            let (report, end) = rfc2544::run(&plan, bed);
            (Work::Rfc2544 { plan, report }, end)
        }
        (Method::Rfc7640, Some(sold)) => {
            let plan = rfc7640_plan(family, mtu_bytes, sold, facts);
            let (report, end) = rfc7640::run(&plan, bed);
            (Work::Rfc7640 { plan, report }, end)
        }
        (Method::Y1564, Some(sold)) => {
            let plan = y1564_plan(family, mtu_bytes, sold, facts);
            let (report, end) = y1564::run(&plan, bed);
            (Work::Y1564 { plan, report }, end)
        }
        (Method::Discover | Method::Burst | Method::Rfc7640 | Method::Y1564, sold) => {
            let plan = burst_plan(family, mtu_bytes, sold, facts);
            let (report, end) = burst::run(&plan, bed);
            (Work::Burst { plan, report }, end)
        }
    }
}

/// The plan's policer: that of the download, and of both directions where both are set alike.
fn sold(method: Method, network: &Network, facts: &Facts) -> Option<Sold> {
    let can_be_said = |bucket: &Bucket| match method {
        // There is no word for frames without their FCS.
        Method::Burst => bucket.offset_bytes != -4,
        _ => bucket.offset_bytes == 0,
    };
    let single = |way: &DirectionFacts| {
        let is_limit = way.kinds == [Kind::Policer];
        way.bucket.filter(|bucket| is_limit && bucket.eir_bps == 0.0 && can_be_said(bucket))
    };
    let way = &facts.download;
    let mut bucket = single(way)?;
    let upload = single(&facts.upload);
    let fed_frames_s = upload.map_or(f64::INFINITY, |upload| upload.fed_frames_s);
    let is_both = upload
        .is_some_and(|upload| Bucket { fed_frames_s: bucket.fed_frames_s, ..upload } == bucket);
    if is_both {
        bucket.fed_frames_s = bucket.fed_frames_s.min(fed_frames_s);
    }
    let sold = if network.methods.is_empty() {
        Sold::of(&bucket, way.frame_bytes, network.seed)
    } else {
        Sold::exactly(&bucket)
    };
    let fed_bps = 8.0 * bucket.fed_frames_s * f64::from(way.frame_bytes);
    // More than the CIR must come, and in the policing step of a service a quarter more.
    let room = if method == Method::Y1564 { 1.4 } else { 1.1 };
    let can_be_tested =
        sold.cbs_bytes as f64 * 8.0 <= FILLS_IN_S * sold.cir_bps && sold.cir_bps * room <= fed_bps;
    let directions = if is_both { BOTH } else { DOWNLOAD };
    can_be_tested.then_some(Sold { directions, ..sold })
}

/// Frame lengths of the burst test: the command line's are eight, which takes long and adds no case.
const BURST_FRAMES_BYTES: [u32; 2] = [256, 1518];
/// The same of RFC 2544's seven.
pub(crate) const RFC2544_FRAMES_BYTES: [u32; 2] = [256, 1518];

/// RFC 2544's trials begin at the rate of the port, which may be a thousand times that of the path: three
/// times the faster direction's leaves the method as much to find, for far fewer frames.
pub(crate) fn rate_cap(facts: &Facts) -> Rate {
    const ABOVE: f64 = 3.0;
    let fastest_bps = facts.download.rate_bps(20).max(facts.upload.rate_bps(20));
    Rate::bps((ABOVE * fastest_bps) as u64).min(Rate::mbps(10_000))
}

fn burst_plan(family: Family, mtu_bytes: u32, sold: Option<Sold>, facts: &Facts) -> burst::Plan {
    let Some(Sold { cir_bps, cbs_bytes, directions, .. }) = sold else {
        return burst::Plan::new(family, mtu_bytes, burst::Goal::Discover);
    };
    let layer = match facts.download.offset_bytes {
        20 => Layer::L1,
        -18 => Layer::L3,
        _ => Layer::L2,
    };
    let cir = LayeredRate { rate: Rate::bps(cir_bps as u64), layer };
    let goal = burst::Goal::Verify { cir, cbs_bytes };
    let fits = |bytes: &u32| f64::from(*bytes) + 20.0 <= cbs_bytes as f64;
    let fitting: Vec<u32> = BURST_FRAMES_BYTES.into_iter().filter(fits).collect();
    let frame_bytes = if fitting.is_empty() { vec![cbs_bytes as u32 - 20] } else { fitting };
    let plan = burst::Plan::new(family, mtu_bytes, goal);
    let ways = if directions == BOTH { burst::Ways::Both } else { burst::Ways::Download };
    burst::Plan { frame_bytes, ways, ..plan }
}

/// The longest frame of an Ethernet that the path and the bucket take.
fn longest_frame_bytes(sold: Sold, facts: &Facts) -> u32 {
    let held = u32::try_from(sold.cbs_bytes).unwrap_or(u32::MAX);
    facts.download.frame_bytes.min(1518).min(held)
}

fn rfc7640_plan(family: Family, mtu_bytes: u32, sold: Sold, facts: &Facts) -> rfc7640::Plan {
    let policer = rfc7640::PolicerPlan {
        cir_l2: Rate::bps(sold.cir_bps as u64),
        cbs_bytes: sold.cbs_bytes,
        eir_l2: Rate::ZERO,
        ebs_bytes: 0,
    };
    rfc7640::Plan {
        policer: Some(policer),
        directions: match sold.directions {
            [_] => rfc7640::Directions::Download,
            _ => rfc7640::Directions::Both,
        },
        frame_bytes: longest_frame_bytes(sold, facts),
        ..rfc7640::Plan::new(family, mtu_bytes)
    }
}

/// Of the frames of a service, that may be lost.
pub(crate) const SERVICE_LOSS: f64 = 0.001;

fn y1564_plan(family: Family, mtu_bytes: u32, sold: Sold, facts: &Facts) -> y1564::Plan {
    let criteria =
        y1564::Criteria { flr: SERVICE_LOSS, ftd: None, fdv: None, availability_percent: None };
    let frames = y1564::Frames {
        sizes: FrameSizes::fixed(longest_frame_bytes(sold, facts)),
        eir_l2: Rate::ZERO,
        cbs_bytes: Some(sold.cbs_bytes),
        ebs_bytes: None,
        colours: y1564::Colours::Blind,
        criteria,
    };
    let service = y1564::Service {
        name: "sold".into(),
        directions: match sold.directions {
            [_] => y1564::Directions::Download,
            _ => y1564::Directions::Both,
        },
        vlan_tags: 0,
        dscp: Dscp::BEST_EFFORT,
        dscp_received: None,
        cir_l2: Rate::bps(sold.cir_bps as u64),
        traffic: y1564::Traffic::Frames(frames),
    };
    y1564::Plan {
        family,
        interface_mtu_bytes: mtu_bytes,
        services: vec![service],
        configuration: Some(y1564::Configuration::default()),
        performance: Some(Duration::from_secs(10)),
    }
}

fn document(work: Work, took: Duration) -> Value {
    fp_report::json(&Run {
        id: String::new(),
        started: String::new(),
        lasted: took,
        across: String::new(),
        labels: Labels::default(),
        near: HostFacts::default(),
        far: HostFacts::default(),
        work,
        evidence: Vec::new(),
    })
}

/// As documents name it.
pub(crate) fn direction_of(text: &str) -> Option<Direction> {
    match text {
        "download" => Some(Direction::Download),
        "upload" => Some(Direction::Upload),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 Mbit/s and 121,440 bytes, 80 full frames, behind 1 Gbit/s.
    const BUCKET: Bucket = Bucket {
        cir_bps: 40e6,
        cbs_bytes: 121_440.0,
        eir_bps: 0.0,
        ebs_bytes: 0.0,
        offset_bytes: 0,
        is_marked: false,
        fed_frames_s: 81_274.4,
    };

    #[test]
    fn every_third_policer_is_sold_with_too_high_a_rate_or_too_large_a_bucket() {
        let [rate, depth, truth] = [0, 1, 2].map(|seed| Sold::of(&BUCKET, 1518, seed));
        assert_eq!((rate.cir_bps, rate.cbs_bytes, rate.is_true), (44e6, 121_440, false));
        // The line carries 986.996 Mbit/s of frames: 1.5 / (1 - 40 / 986.996) buckets are 1.563358.
        assert_eq!((depth.cbs_bytes, depth.is_true), (189_854, false));
        assert_eq!((truth.cir_bps, truth.cbs_bytes, truth.is_true), (40e6, 121_440, true));
    }

    #[test]
    fn nothing_is_made_up_that_the_policer_would_forgive() {
        let shallow = Bucket { cbs_bytes: 15_180.0, ..BUCKET };
        let deep = Bucket { cbs_bytes: 10e6, ..BUCKET };
        assert!((0..3).all(|seed| Sold::of(&shallow, 1518, seed).is_true));
        assert!(Sold::of(&deep, 1518, 0).is_true);
    }
}
