//! What the user asks of an RFC 7640 run, and what of it makes no sense.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::{
    CongestionControl, Directions, Dscp, Family, FramesLoad, Layer, LayeredRate, PacketLayout, Rate,
};
use serde::{Deserialize, Serialize};

use crate::formula::seconds;

/// A burst that takes longer to be paid for is no burst.
const INTERVAL_MAX: Duration = Duration::from_secs(30);

/// Every input of a run after defaults were filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub family: Family,
    /// Largest packet that both ends could send.
    pub interface_mtu_bytes: u32,
    pub directions: Directions,
    /// Of all traffic but that of a scheduler's classes.
    pub dscp: Dscp,
    /// From destination address to FCS.
    pub frame_bytes: u32,
    /// Of frames within a burst; `None` is as fast as the host puts them on its line.
    #[serde(rename = "line_rate_l1_bps")]
    pub line_rate_l1: Option<Rate>,
    pub policer: Option<PolicerPlan>,
    pub queue: Option<QueuePlan>,
    pub shaper: Option<ShaperPlan>,
    /// All policers and shapers of a port, to be tested at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacity: Vec<PortClass>,
    /// How often each test is run: Tr.
    pub runs: u32,
    /// How long a run of a stateless test lasts: Td.
    #[serde(rename = "trial_s", with = "seconds")]
    pub trial: Duration,
    /// By how much a rate or a class's share may differ from what was configured.
    pub tolerance_percent: f64,
    /// The stateful tests of queue and shaper; `None` leaves them out.
    pub tcp: Option<TcpPlan>,
}

/// Token buckets that drop, counted in bytes of layer 2 frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicerPlan {
    #[serde(rename = "cir_l2_bps")]
    pub cir_l2: Rate,
    pub cbs_bytes: u64,
    #[serde(rename = "eir_l2_bps")]
    pub eir_l2: Rate,
    pub ebs_bytes: u64,
}

impl PolicerPlan {
    /// What passes at once after a pause.
    pub const fn depth_bytes(&self) -> u64 {
        self.cbs_bytes.saturating_add(self.ebs_bytes)
    }

    pub const fn rate_l2(&self) -> Rate {
        Rate::bps(self.cir_l2.as_bps().saturating_add(self.eir_l2.as_bps()))
    }

    //= rfc7640 6.1.1
    /// How long empty buckets take to fill: CBS·8/CIR, or longer where the excess bucket does. An
    /// excess bucket without a rate of its own gets what overflows the committed one.
    pub fn refill(&self) -> Duration {
        let Self { cir_l2, cbs_bytes, eir_l2, ebs_bytes } = *self;
        if ebs_bytes == 0 {
            cir_l2.time_for(cbs_bytes)
        } else if eir_l2 == Rate::ZERO {
            cir_l2.time_for(self.depth_bytes())
        } else {
            cir_l2.time_for(cbs_bytes).max(eir_l2.time_for(ebs_bytes))
        }
    }
}

/// A queue in front of a line that is too slow, or one for each class of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuePlan {
    /// QL, that of each class.
    pub queue_bytes: u64,
    /// BB.
    pub bandwidth: LayeredRate,
    pub scheduler: Scheduler,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Scheduler {
    Fifo,
    /// The first class is served first.
    Strict {
        classes: Vec<Class>,
    },
    /// Weighted fair queueing, or any other that gives shares by weight.
    Wfq {
        classes: Vec<Class>,
    },
}

impl Scheduler {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Strict { .. } => "strict",
            Self::Wfq { .. } => "wfq",
        }
    }

    pub fn classes(&self) -> &[Class] {
        match self {
            Self::Fifo => &[],
            Self::Strict { classes } | Self::Wfq { classes } => classes,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    pub dscp: Dscp,
    /// Without meaning under strict priority.
    pub weight: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShaperPlan {
    #[serde(rename = "rate_l2_bps")]
    pub rate_l2: Rate,
    /// Bc and Be: what may leave at once after a pause.
    pub bc_bytes: u64,
    pub be_bytes: u64,
    /// QL.
    pub queue_bytes: u64,
    /// What is sent at once.
    pub burst_bytes: u64,
}

impl ShaperPlan {
    pub const fn at_once_bytes(&self) -> u64 {
        self.bc_bytes.saturating_add(self.be_bytes)
    }
}

/// A class of traffic on a port, and what stands in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortClass {
    pub dscp: Dscp,
    #[serde(flatten)]
    pub device: Device,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    Policer(PolicerPlan),
    Shaper(ShaperPlan),
}

/// The test patterns of appendix B that run over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpPlan {
    /// Receive window of each connection.
    pub window_bytes: u64,
    pub congestion_control: CongestionControl,
    /// What a connection writes at once; `None` is a window.
    pub micro_burst_bytes: Option<u64>,
    /// From one burst of a connection to the next; `None`: so that the bursts of all connections
    /// take four fifths of the rate.
    #[serde(rename = "micro_burst_interval_s", with = "seconds::if_known")]
    pub micro_burst_interval: Option<Duration>,
}

impl Default for TcpPlan {
    /// The windows of the RFC's examples.
    fn default() -> Self {
        Self {
            window_bytes: 64_000,
            congestion_control: CongestionControl::Cubic,
            micro_burst_bytes: None,
            micro_burst_interval: None,
        }
    }
}

/// What of a plan makes no sense, and what would: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPlan(String);

impl fmt::Display for BadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for BadPlan {}

impl Plan {
    //= rfc7640 6
    /// The runs that the RFC asks for at least.
    pub const RUNS_MIN: u32 = 10;
    /// The shortest runs that the RFC asks for, of policers and then of queues and shapers.
    pub const POLICER_TRIAL_MIN: Duration = Duration::from_secs(60);
    pub const TRIAL_MIN: Duration = Duration::from_secs(30);

    /// The defaults between ends whose interfaces have this MTU, without any test.
    pub fn new(family: Family, interface_mtu_bytes: u32) -> Self {
        Self {
            family,
            interface_mtu_bytes,
            directions: Directions::Both,
            dscp: Dscp::BEST_EFFORT,
            frame_bytes: 1518,
            line_rate_l1: None,
            policer: None,
            queue: None,
            shaper: None,
            capacity: Vec::new(),
            runs: 3,
            trial: Duration::from_secs(1),
            tolerance_percent: 2.0,
            tcp: Some(TcpPlan::default()),
        }
    }

    /// A frame of the plan at each layer; the payload does not matter.
    pub(super) const fn layout(&self) -> PacketLayout {
        PacketLayout::ethernet(self.frame_bytes - PacketLayout::ETHERNET_L2_OVERHEAD, 0)
    }

    /// What frames of the plan make of a rate at layer 2.
    pub(super) fn at_l2(&self, limit: LayeredRate) -> Rate {
        self.layout().convert(limit, Layer::L2)
    }

    pub(super) fn line_rate_l2(&self) -> Option<Rate> {
        self.line_rate_l1.map(|rate| self.at_l2(LayeredRate { rate, layer: Layer::L1 }))
    }

    /// # Errors
    /// The first thing that cannot be meant, with what is possible.
    pub fn check(&self) -> Result<(), BadPlan> {
        self.check_frame()?;
        let one = self.policer.is_some() || self.queue.is_some() || self.shaper.is_some();
        if !one && self.capacity.is_empty() {
            return bad(
                "there is nothing to test: give a policer (--cir and --cbs), a queue (--queue and \
                 --bandwidth), a shaper (--shaper, --bc and --queue) or several of a port \
                 (--capacity)",
            );
        }
        self.policer.iter().try_for_each(|policer| self.check_policer(policer))?;
        self.queue.iter().try_for_each(|queue| self.check_queue(queue))?;
        self.shaper.iter().try_for_each(|shaper| self.check_shaper(shaper))?;
        self.check_capacity()
    }

    /// Whether no device lets more pass than a line of this rate before it carries.
    ///
    /// # Errors
    /// The first one that does.
    pub fn check_behind(&self, line_l1: Rate) -> Result<(), BadPlan> {
        let line_l2 = self.at_l2(LayeredRate { rate: line_l1, layer: Layer::L1 });
        match self.rates_l2().into_iter().find(|(_, rate_l2)| *rate_l2 > line_l2) {
            Some((what, rate_l2)) => bad(&format!(
                "{what} of {} Mbit/s (l2) is above the line, which carries {} Mbit/s (l1): give a \
                 lower one, or check its unit and layer",
                rate_l2.as_bps() as f64 / 1e6,
                line_l1.as_bps() as f64 / 1e6
            )),
            None => Ok(()),
        }
    }

    /// What devices let pass in the long run.
    fn rates_l2(&self) -> Vec<(&'static str, Rate)> {
        let cir = |policer: &PolicerPlan| ("the CIR", policer.cir_l2);
        let shaped = |shaper: &ShaperPlan| ("the shaper's rate", shaper.rate_l2);
        let of_the_port = self.capacity.iter().map(|class| match &class.device {
            Device::Policer(policer) => cir(policer),
            Device::Shaper(shaper) => shaped(shaper),
        });
        let bandwidth = |queue: &QueuePlan| ("the bandwidth", self.at_l2(queue.bandwidth));
        let policer = self.policer.iter().map(cir);
        let (queue, shaper) = (self.queue.iter().map(bandwidth), self.shaper.iter().map(shaped));
        policer.chain(queue).chain(shaper).chain(of_the_port).collect()
    }

    fn check_capacity(&self) -> Result<(), BadPlan> {
        let classes = &self.capacity;
        if !classes.is_empty() && !(2..=8).contains(&classes.len()) {
            return bad(
                "a port is tested with 2 to 8 policers and shapers: one --capacity for each",
            );
        }
        distinct(classes.iter().map(|class| class.dscp))?;
        let mut all_l2 = Rate::ZERO;
        for class in classes {
            let rate_l2 = match &class.device {
                Device::Policer(policer) => {
                    self.check_policer(policer)?;
                    policer.rate_l2()
                }
                Device::Shaper(shaper) => {
                    self.check_shaper(shaper)?;
                    shaper.rate_l2
                }
            };
            all_l2 = Rate::bps(all_l2.as_bps().saturating_add(rate_l2.as_bps()));
        }
        if classes.is_empty() {
            Ok(())
        } else {
            self.check_below_line("all classes together", all_l2)
        }
    }

    fn check_frame(&self) -> Result<(), BadPlan> {
        let overhead = PacketLayout::ETHERNET_L2_OVERHEAD;
        let least = FramesLoad::least_frame_bytes(self.family, 0);
        let most = self.interface_mtu_bytes + overhead;
        if (least..=most).contains(&self.frame_bytes) {
            return Ok(());
        }
        let frame_bytes = self.frame_bytes;
        bad(&format!(
            "frames of {frame_bytes} bytes cannot be sent between these ends: {least} to {most} can"
        ))
    }

    fn check_policer(&self, policer: &PolicerPlan) -> Result<(), BadPlan> {
        let PolicerPlan { cbs_bytes, ebs_bytes, .. } = *policer;
        self.check_holds_frame("CBS", cbs_bytes)?;
        if ebs_bytes > 0 {
            self.check_holds_frame("EBS", ebs_bytes)?;
        }
        if policer.eir_l2 > Rate::ZERO && ebs_bytes == 0 {
            return bad("an EIR without an EBS never lets a frame pass: give --ebs too");
        }
        if policer.cir_l2 == Rate::ZERO {
            return bad("CIR must be more than zero");
        }
        self.check_below_line("CIR and EIR together", policer.rate_l2())?;
        check_interval("the buckets", policer.refill())
    }

    fn check_queue(&self, queue: &QueuePlan) -> Result<(), BadPlan> {
        self.check_holds_frame("the queue", queue.queue_bytes)?;
        if queue.bandwidth.layer == Layer::L4 {
            return bad("the bottleneck bandwidth is one at @l1, @l2 or @l3");
        }
        let bandwidth_l2 = self.at_l2(queue.bandwidth);
        self.check_below_line("the bottleneck bandwidth", bandwidth_l2)?;
        check_interval("the queue", bandwidth_l2.time_for(queue.queue_bytes))?;
        let classes = queue.scheduler.classes();
        if queue.scheduler != Scheduler::Fifo && !(2..=8).contains(&classes.len()) {
            return bad("a scheduler has 2 to 8 classes: name them by --classes ef:3,af41:1");
        }
        distinct(classes.iter().map(|class| class.dscp))
    }

    fn check_shaper(&self, shaper: &ShaperPlan) -> Result<(), BadPlan> {
        let ShaperPlan { bc_bytes, queue_bytes, burst_bytes, .. } = *shaper;
        self.check_holds_frame("Bc", bc_bytes)?;
        self.check_holds_frame("the shaper's queue", queue_bytes)?;
        self.check_holds_frame("a burst", burst_bytes)?;
        let room_bytes = queue_bytes.saturating_add(shaper.at_once_bytes());
        if burst_bytes > room_bytes {
            return bad(&format!(
                "the shaper's queue is smaller than a burst: {queue_bytes} bytes and a Bc and Be \
                 of {} hold no {burst_bytes} bytes",
                shaper.at_once_bytes()
            ));
        }
        if burst_bytes <= shaper.at_once_bytes() {
            return bad(&format!(
                "a burst of {burst_bytes} bytes is never shaped, because Bc and Be let {} go at \
                 once: send more",
                shaper.at_once_bytes()
            ));
        }
        self.check_below_line("the shaper's rate", shaper.rate_l2)?;
        check_interval("the shaper's queue", shaper.rate_l2.time_for(burst_bytes))
    }

    fn check_holds_frame(&self, what: &str, bytes: u64) -> Result<(), BadPlan> {
        if bytes >= u64::from(self.frame_bytes) {
            return Ok(());
        }
        bad(&format!(
            "{what} of {bytes} bytes holds no frame of {} bytes: make it larger or --frame smaller",
            self.frame_bytes
        ))
    }

    fn check_below_line(&self, what: &str, rate_l2: Rate) -> Result<(), BadPlan> {
        if rate_l2 == Rate::ZERO {
            return bad(&format!("{what} must be more than zero"));
        }
        match self.line_rate_l2() {
            Some(line_l2) if rate_l2 >= line_l2 => bad(&format!(
                "{what} of {} bit/s is no limit behind a line that carries {} bit/s of such frames",
                rate_l2.as_bps(),
                line_l2.as_bps()
            )),
            Some(_) | None => Ok(()),
        }
    }
}

fn distinct(classes: impl Iterator<Item = Dscp> + Clone) -> Result<(), BadPlan> {
    for (place, dscp) in classes.clone().enumerate() {
        if classes.clone().take(place).any(|other| other == dscp) {
            return bad(&format!(
                "two classes have the code point {}: each needs one of its own",
                dscp.code_point()
            ));
        }
    }
    Ok(())
}

fn check_interval(what: &str, interval: Duration) -> Result<(), BadPlan> {
    if interval <= INTERVAL_MAX {
        return Ok(());
    }
    bad(&format!(
        "{what} take{} {:.0} s from full to empty and back, at most {} s are tested: mind the units",
        if what.ends_with('s') { "" } else { "s" },
        interval.as_secs_f64(),
        INTERVAL_MAX.as_secs()
    ))
}

fn bad<T>(sentence: &str) -> Result<T, BadPlan> {
    Err(BadPlan(sentence.into()))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    fn policed(policer: PolicerPlan) -> Plan {
        Plan { policer: Some(policer), ..Plan::new(Family::Ipv4, 1500) }
    }

    const POLICER: PolicerPlan = PolicerPlan {
        cir_l2: Rate::mbps(100),
        cbs_bytes: 64_000,
        eir_l2: Rate::ZERO,
        ebs_bytes: 0,
    };

    const SHAPER: ShaperPlan = ShaperPlan {
        rate_l2: Rate::mbps(50),
        bc_bytes: 32_000,
        be_bytes: 0,
        queue_bytes: 512_000,
        burst_bytes: 512_000,
    };

    //= rfc7640 6.1.1
    #[test]
    fn sixty_four_kilobytes_at_100_mbit_are_paid_for_in_5_12_ms() {
        assert_eq!(POLICER.refill(), Duration::from_micros(5120));
        let both = PolicerPlan { eir_l2: Rate::mbps(10), ebs_bytes: 64_000, ..POLICER };
        assert_eq!(both.refill(), Duration::from_micros(51_200));
        let overflow = PolicerPlan { ebs_bytes: 64_000, ..POLICER };
        assert_eq!(overflow.refill(), Duration::from_micros(10_240));
    }

    #[test]
    fn what_cannot_be_meant_is_said_before_anything_is_sent() {
        let said = |plan: Plan| plan.check().unwrap_err().to_string();
        assert!(said(Plan::new(Family::Ipv4, 1500)).starts_with("there is nothing to test"));
        let small = policed(PolicerPlan { cbs_bytes: 1500, ..POLICER });
        assert!(said(small).starts_with("CBS of 1500 bytes holds no frame of 1518 bytes"));
        let slow = Plan { line_rate_l1: Some(Rate::mbps(100)), ..policed(POLICER) };
        assert!(said(slow).contains("is no limit behind a line that carries 98699610 bit/s"));
        let units = policed(PolicerPlan { cir_l2: Rate::bps(100), ..POLICER });
        assert!(said(units).contains("the buckets take 5120 s"));
        let long = Plan { frame_bytes: 9018, ..policed(POLICER) };
        assert!(said(long).ends_with("64 to 1518 can"));
        let short = Plan { family: Family::Ipv6, frame_bytes: 64, ..policed(POLICER) };
        assert!(said(short).ends_with("84 to 1518 can"));
        assert_eq!(policed(POLICER).check(), Ok(()));
    }

    #[test]
    fn a_shaper_must_hold_the_burst_and_shape_it() {
        let shaped = |shaper| Plan { shaper: Some(shaper), ..Plan::new(Family::Ipv4, 1500) };
        assert_eq!(shaped(SHAPER).check(), Ok(()));
        let said = |shaper| shaped(shaper).check().unwrap_err().to_string();
        let large = said(ShaperPlan { burst_bytes: 600_000, ..SHAPER });
        assert!(large.starts_with("the shaper's queue is smaller than a burst"), "{large}");
        let small = said(ShaperPlan { burst_bytes: 32_000, ..SHAPER });
        assert!(small.starts_with("a burst of 32000 bytes is never shaped"), "{small}");
    }

    #[test]
    fn classes_are_told_apart_by_their_code_points() {
        let class = Class { dscp: Dscp::BEST_EFFORT, weight: 1 };
        let bandwidth = LayeredRate { rate: Rate::mbps(100), layer: Layer::L1 };
        let of = |classes| {
            let scheduler = Scheduler::Wfq { classes };
            let queue = QueuePlan { queue_bytes: 64_000, bandwidth, scheduler };
            Plan { queue: Some(queue), ..Plan::new(Family::Ipv4, 1500) }.check()
        };
        assert!(of(Vec::from([class])).is_err());
        let twice = of(Vec::from([class, class])).unwrap_err().0;
        assert!(twice.starts_with("two classes have the code point 0"));
    }
}
