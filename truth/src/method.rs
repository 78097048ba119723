//! The methods under judgement: each run over a network in virtual time, with its defaults, and what
//! it has to say as its result document says it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fp_method::{burst, rfc6349};
use fp_model::{Abort, Direction, Family, HostFacts, Layer, LayeredRate, Rate};
use fp_net::sim::SimTestbed;
use fp_report::{Labels, Run, Work};
use serde_json::Value;

use crate::facts::{Bucket, Facts, Kind, interface_mtu_bytes};
use crate::network::Network;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Method {
    /// RFC 6349.
    Test,
    /// What policer there is.
    Discover,
    /// Whether a known policer is as sold; judged of downloads.
    Burst,
}

impl Method {
    pub(crate) const ALL: [Self; 3] = [Self::Test, Self::Discover, Self::Burst];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Discover => "discover",
            Self::Burst => "burst",
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
    /// What was sold, where that was told.
    pub(crate) sold: Option<Sold>,
}

/// What the burst test is told of a policer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sold {
    pub(crate) cir_bps: f64,
    pub(crate) cbs_bytes: u64,
    /// The policer is what was sold.
    pub(crate) is_true: bool,
}

impl Sold {
    /// What the burst test is told of a network with this policer: of every third seed too high a CIR, of
    /// the next ones too large a CBS. By a tenth and by half, which no tolerance covers.
    fn of(bucket: &Bucket, seed: u64) -> Self {
        let [cir, cbs] = match seed % 3 {
            0 => [1.1, 1.0],
            1 => [1.0, 1.5],
            _ => [1.0, 1.0],
        };
        Self {
            cir_bps: (bucket.cir_bps * cir).round(),
            cbs_bytes: (bucket.cbs_bytes * cbs).round() as u64,
            is_true: cir == 1.0 && cbs == 1.0,
        }
    }

    const fn exactly(bucket: &Bucket) -> Self {
        let Bucket { cir_bps, cbs_bytes, .. } = *bucket;
        Self { cir_bps, cbs_bytes: cbs_bytes as u64, is_true: true }
    }
}

/// Runs the method over the network; `None` where it has nothing to do there: there is nothing to sell
/// where no policer of one bucket limits, or one that takes half a minute to fill.
pub(crate) fn run(method: Method, network: &Network, facts: &Facts) -> Option<Ran> {
    let (mtu_bytes, family) = (interface_mtu_bytes(network), network.family);
    let mut bed = SimTestbed::new(&network.path, network.seed);
    if let Some(trouble) = network.trouble {
        bed = bed.with_trouble(trouble.of_hosts());
    }
    let sold = match method {
        Method::Test | Method::Discover => None,
        Method::Burst => Some(sold(network, facts)?),
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| match (method, sold) {
        (Method::Test, _) => {
            let plan = rfc6349::Plan::new(family, mtu_bytes);
            let (report, end) = rfc6349::run(&plan, &mut bed);
            (Work::Rfc6349 { plan, report }, end)
        }
        (Method::Discover | Method::Burst, sold) => {
            let plan = burst_plan(family, mtu_bytes, sold, facts);
            let (report, end) = burst::run(&plan, &mut bed);
            (Work::Burst { plan, report }, end)
        }
    }));
    let (took, happenings) = (bed.simulated(), bed.happenings());
    let (document, ended_by) = match outcome {
        Ok((work, end)) => (document(work, took), end.err().map(|abort: Abort| abort.to_string())),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            (Value::Null, Some(format!("the method panicked: {}", said.unwrap_or("no reason"))))
        }
    };
    Some(Ran { document, ended_by, took, happenings, sold })
}

/// Half a minute is what the command line allows a bucket to take to fill.
const FILLS_IN_S: f64 = 30.0;

fn sold(network: &Network, facts: &Facts) -> Option<Sold> {
    let way = &facts.download;
    let is_limit = way.kinds == [Kind::Policer];
    // There is no word for frames without their FCS.
    let can_be_said = |bucket: &Bucket| bucket.offset_bytes != -4;
    let bucket = way.bucket.filter(|bucket| is_limit && bucket.eir_bps == 0.0)?;
    let bucket = Some(bucket).filter(can_be_said)?;
    let sold = if network.methods.is_empty() {
        Sold::of(&bucket, network.seed)
    } else {
        Sold::exactly(&bucket)
    };
    let fed_bps = 8.0 * bucket.fed_frames_s * f64::from(way.frame_bytes);
    let can_be_tested =
        sold.cbs_bytes as f64 * 8.0 <= FILLS_IN_S * sold.cir_bps && sold.cir_bps <= 0.9 * fed_bps;
    can_be_tested.then_some(sold)
}

/// Frame lengths of the burst test: the command line's are eight, which takes long and adds no case.
const BURST_FRAMES_BYTES: [u32; 2] = [256, 1518];

fn burst_plan(family: Family, mtu_bytes: u32, sold: Option<Sold>, facts: &Facts) -> burst::Plan {
    let Some(Sold { cir_bps, cbs_bytes, .. }) = sold else {
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
    burst::Plan {
        frame_bytes,
        ways: burst::Ways::Download,
        ..burst::Plan::new(family, mtu_bytes, goal)
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
