//! Runs a method over the simulator's links, in virtual time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fp_method::{burst, rfc2544, rfc6349, rfc7640, y1564};
use fp_model::{Abort, Dscp, Family, FrameSizes, HostFacts, Layer, LayeredRate, Rate};
use fp_net::sim::SimTestbed;
use fp_report::{Labels, Run, Work};
use serde_json::Value;

use super::{RFC2544_FRAMES_BYTES, Ran, SERVICE_LOSS, Sold, rate_cap};
use crate::facts::{Facts, interface_mtu_bytes};
use crate::method::Method;
use crate::network::Network;

/// Frame lengths of the burst test, of the command line's eight.
const BURST_FRAMES_BYTES: [u32; 2] = [256, 1518];

/// What a method says and why there is no more of it.
type Said = (Work, Result<(), Abort>);

/// Runs the method with the plan that its defaults and the policer make.
pub(super) fn run(method: Method, network: &Network, facts: &Facts, sold: Option<Sold>) -> Ran {
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
    Ran { document, ended_by, took, happenings, sold, was_disturbed: false }
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
            Work::run(&rfc6349::METHOD, plan, bed)
        }
        (Method::Rfc2544, _) => {
            let plan = rfc2544::Plan {
                tests: vec![rfc2544::Test::Throughput],
                frame_lengths_bytes: RFC2544_FRAMES_BYTES.into(),
                rate_cap_l1: rate_cap(facts),
                ..rfc2544::Plan::new(family, mtu_bytes)
            };
            Work::run(&rfc2544::METHOD, plan, bed)
        }
        (Method::Rfc7640, Some(sold)) => {
            let plan = rfc7640_plan(family, mtu_bytes, sold, facts);
            Work::run(&rfc7640::METHOD, plan, bed)
        }
        (Method::Y1564, Some(sold)) => {
            let plan = y1564_plan(family, mtu_bytes, sold, facts);
            Work::run(&y1564::METHOD, plan, bed)
        }
        (Method::Discover | Method::Burst | Method::Rfc7640 | Method::Y1564, sold) => {
            let plan = burst_plan(family, mtu_bytes, sold, facts);
            Work::run(&burst::METHOD, plan, bed)
        }
    }
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
    // Of lengths that the path does not carry the test would have to say that it is not valid.
    let longest = facts.download.frame_bytes.min(facts.upload.frame_bytes);
    let fits = |bytes: &u32| f64::from(*bytes) + 20.0 <= cbs_bytes as f64 && *bytes <= longest;
    let fitting: Vec<u32> = BURST_FRAMES_BYTES.into_iter().filter(fits).collect();
    let shorter = (cbs_bytes as u32 - 20).min(longest);
    let frame_bytes = if fitting.is_empty() { vec![shorter] } else { fitting };
    let plan = burst::Plan::new(family, mtu_bytes, goal);
    let ways = if let [_] = directions { burst::Ways::Download } else { burst::Ways::Both };
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
