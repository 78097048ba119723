//! `fullpipe rfc7640`: traffic management, tested to a far end or across an emulated network.

use std::time::Duration;

use anyhow::anyhow;
use fp_method::rfc7640::{
    self, Class, Directions, Plan, PolicerPlan, PortClass, QueuePlan, Scheduler, ShaperPlan,
    TcpPlan,
};
use fp_model::{
    CongestionControl, Dscp, Family, LayeredRate, Rate, Testbed, parse_dscp, parse_duration,
};
use fp_report::Work;

use super::cost::Cost;
use super::measure::{Ends, Measured, OutputArgs};
use super::port_class::{port_class, size};
use super::reach::ReachArgs;
use crate::exit::{Exit, Failure};
use crate::values::{layered_rate, percent, plain_rate, window};

/// Larger than any Ethernet interface has.
const MTU_BYTES_MAX: u32 = 65_535;

/// Tests what polices, queues or shapes traffic by RFC 7640
///
/// A policer is tested with --cir and --cbs, a queue or scheduler with --queue and --bandwidth, a
/// shaper with --shaper, --bc and --queue; all policers and shapers of a port are tested at once
/// with a --capacity for each, told apart by their code points. Stateless bursts show burst size achieved (BSA), loss,
/// delay and its variation, and how a shaper lets frames go; TCP patterns show their execution time
/// (TTPET), TCP efficiency and buffer delay.
///
/// FAR is the pairing string that `fullpipe serve` printed at the far end, or HOST[:PORT] with the
/// secret in --key-file or $FULLPIPE_KEY. With --lab, the tests run across an emulated network on
/// this machine and need neither a far end nor root. The tests load a network to the point of loss:
/// they are for isolated test environments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    reach: ReachArgs,
    #[command(flatten)]
    method: MethodArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    args.check()?;
    args.reach.run(&args.output, |ends, bed| args.method.measure(ends, bed))
}

impl Args {
    /// # Errors
    /// What is wrong whatever the ends are.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.method.check()
    }

    /// What the method takes, as far as its options tell.
    pub(crate) fn cost(&self) -> Cost {
        let ways = match self.method.direction {
            DirectionOption::Both => 2,
            DirectionOption::Download | DirectionOption::Upload => 1,
        };
        Cost::open(self.method.duration.saturating_mul(self.method.runs * ways))
    }
}

/// What is asked of the method.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// Run only this test of those that the other options describe
    #[arg(long, value_enum)]
    test: Option<TestOption>,
    /// CIR of the policer (l2)
    #[arg(long, value_name = "RATE", value_parser = plain_rate, requires = "cbs")]
    cir: Option<Rate>,
    /// CBS of the policer, in bytes of layer 2 frames: 64K is 64,000
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "cir")]
    cbs: Option<u64>,
    /// EIR of the policer (l2; without it, the EBS gets what overflows the CBS)
    #[arg(long, value_name = "RATE", value_parser = plain_rate, requires = "ebs")]
    eir: Option<Rate>,
    /// EBS of the policer
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "cir")]
    ebs: Option<u64>,
    /// Length of the queue, of that of each class, or of the shaper's
    #[arg(long, value_name = "SIZE", value_parser = size)]
    queue: Option<u64>,
    /// What the queue waits for: the bottleneck bandwidth (l2 unless named: 20M@l1)
    #[arg(long, value_name = "RATE[@LAYER]", value_parser = layered_rate, requires = "queue")]
    bandwidth: Option<LayeredRate>,
    /// What decides which queue is served
    #[arg(long, value_enum, default_value = "fifo", requires = "bandwidth")]
    scheduler: SchedulerOption,
    /// Classes by DSCP, the first with the highest priority, or each with its weight: EF:3,AF41:1
    #[arg(long, value_name = "DSCP[:WEIGHT],…", value_delimiter = ',', value_parser = class)]
    classes: Vec<Class>,
    /// Rate of the shaper (l2)
    #[arg(long, value_name = "RATE", value_parser = plain_rate, requires_all = ["bc", "queue"])]
    shaper: Option<Rate>,
    /// Bc: what the shaper lets go at once
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "shaper")]
    bc: Option<u64>,
    /// Be: what it lets go beyond that
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "shaper")]
    be: Option<u64>,
    /// What is sent at once to the shaper (default: as much as its queue holds)
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "shaper")]
    burst: Option<u64>,
    /// A policer (dscp=ef,cir=2M,cbs=16K, also eir and ebs) or a shaper
    /// (dscp=af41,shaper=20M,bc=16K,queue=128K, also be and burst) of several on one port, all of
    /// which are tested at once; 2 to 8 times
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = port_class)]
    capacity: Vec<PortClass>,
    /// Frame length from destination address to FCS
    #[arg(long, value_name = "BYTES", value_parser = frame_bytes, default_value = "1518")]
    frame: u32,
    /// Rate of frames within a burst (l1; default: as fast as the host puts them on its line)
    #[arg(long, value_name = "RATE", value_parser = plain_rate)]
    line_rate: Option<Rate>,
    /// Which way traffic is sent; both is one after the other
    #[arg(long, value_enum, default_value = "both")]
    direction: DirectionOption,
    /// How often each test is run (the RFC asks for 10)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(default_value = "3")]
    runs: u32,
    /// How long each run lasts (the RFC asks for 60 s of a policer, 30 s of queue and shaper)
    #[arg(long, short = 't', value_name = "TIME", value_parser = trial_time, default_value = "1s")]
    duration: Duration,
    /// The most by which a rate, or a class's share in points, may differ
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "2%")]
    tolerance: f64,
    /// Leave out the patterns over TCP
    #[arg(long)]
    stateless: bool,
    /// Receive window of each TCP connection
    #[arg(long, short, value_name = "SIZE", value_parser = window, default_value = "64K")]
    window: u64,
    /// Congestion control of the senders
    #[arg(long, visible_alias = "cc", short = 'C', value_enum, default_value = "cubic")]
    congestion: CongestionOption,
    /// What a connection writes at once in the micro-burst pattern (default: a window)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    micro_burst: Option<u64>,
    /// From one micro burst to the next (default: so that they take four fifths of the rate)
    #[arg(long, value_name = "TIME", value_parser = micro_interval)]
    micro_interval: Option<Duration>,
    /// DSCP of policer, fifo and shaper traffic, a number or a name such as ef
    #[arg(long, value_name = "DSCP", default_value = "0", value_parser = dscp)]
    dscp: Dscp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TestOption {
    Policer,
    Queue,
    Shaper,
    Capacity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SchedulerOption {
    Fifo,
    Strict,
    Wfq,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum DirectionOption {
    Download,
    Upload,
    Both,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CongestionOption {
    Cubic,
    Reno,
    Bbr,
}

impl MethodArgs {
    /// # Errors
    /// What is wrong whatever the ends are.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let plan = self.plan(Family::Ipv4, MTU_BYTES_MAX)?;
        plan.check().map_err(Failure::bad_input)
    }

    /// Runs the method between these ends.
    ///
    /// # Errors
    /// What of the plan cannot be run between them.
    pub(crate) fn measure(&self, ends: &Ends, bed: &mut dyn Testbed) -> Result<Measured, Failure> {
        let plan = self.plan(ends.family, ends.interface_mtu_bytes)?;
        plan.check().map_err(Failure::bad_input)?;
        if let Some(line_l1) = ends.line_l1 {
            plan.check_behind(line_l1).map_err(Failure::bad_input)?;
        }
        Ok(Work::run(&rfc7640::METHOD, plan, bed).into())
    }

    fn plan(&self, family: Family, interface_mtu_bytes: u32) -> Result<Plan, Failure> {
        let wanted = |test| self.test.is_none_or(|only| only == test);
        Ok(Plan {
            directions: match self.direction {
                DirectionOption::Download => Directions::Download,
                DirectionOption::Upload => Directions::Upload,
                DirectionOption::Both => Directions::Both,
            },
            dscp: self.dscp,
            frame_bytes: self.frame,
            line_rate_l1: self.line_rate,
            policer: self.policer().filter(|_| wanted(TestOption::Policer)),
            queue: self.queue()?.filter(|_| wanted(TestOption::Queue)),
            shaper: self.shaper().filter(|_| wanted(TestOption::Shaper)),
            capacity: if wanted(TestOption::Capacity) { self.capacity.clone() } else { Vec::new() },
            runs: self.runs,
            trial: self.duration,
            tolerance_percent: self.tolerance,
            tcp: (!self.stateless).then(|| self.tcp()),
            ..Plan::new(family, interface_mtu_bytes)
        })
    }

    fn policer(&self) -> Option<PolicerPlan> {
        Some(PolicerPlan {
            cir_l2: self.cir?,
            cbs_bytes: self.cbs?,
            eir_l2: self.eir.unwrap_or(Rate::ZERO),
            ebs_bytes: self.ebs.unwrap_or(0),
        })
    }

    fn queue(&self) -> Result<Option<QueuePlan>, Failure> {
        let classes = || self.classes.clone();
        let scheduler = match self.scheduler {
            SchedulerOption::Fifo if self.classes.is_empty() => Scheduler::Fifo,
            SchedulerOption::Fifo => {
                return Err(Failure::bad_input(anyhow!(
                    "classes need a scheduler that tells them apart: --scheduler strict or wfq"
                )));
            }
            SchedulerOption::Strict => Scheduler::Strict { classes: classes() },
            SchedulerOption::Wfq => Scheduler::Wfq { classes: classes() },
        };
        let (Some(queue_bytes), Some(bandwidth)) = (self.queue, self.bandwidth) else {
            if self.queue.is_some() && self.shaper.is_none() {
                return Err(Failure::bad_input(anyhow!(
                    "a queue waits for a line or a shaper: give --bandwidth or --shaper too"
                )));
            }
            return Ok(None);
        };
        Ok(Some(QueuePlan { queue_bytes, bandwidth, scheduler }))
    }

    fn shaper(&self) -> Option<ShaperPlan> {
        let queue_bytes = self.queue?;
        Some(ShaperPlan {
            rate_l2: self.shaper?,
            bc_bytes: self.bc?,
            be_bytes: self.be.unwrap_or(0),
            queue_bytes,
            burst_bytes: self.burst.unwrap_or(queue_bytes),
        })
    }

    const fn tcp(&self) -> TcpPlan {
        TcpPlan {
            window_bytes: self.window,
            congestion_control: match self.congestion {
                CongestionOption::Cubic => CongestionControl::Cubic,
                CongestionOption::Reno => CongestionControl::Reno,
                CongestionOption::Bbr => CongestionControl::Bbr,
            },
            micro_burst_bytes: self.micro_burst,
            micro_burst_interval: self.micro_interval,
        }
    }
}

fn frame_bytes(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(bytes @ 64..=9018) => Ok(bytes),
        Ok(_) | Err(_) => Err("a frame has from 64 to 9018 bytes".into()),
    }
}

fn class(text: &str) -> Result<Class, String> {
    let (name, weight) = text.split_once(':').unwrap_or((text, "1"));
    match weight.trim().parse() {
        Ok(weight @ 1..=1000) => Ok(Class { dscp: dscp(name)?, weight }),
        Ok(_) | Err(_) => Err("a weight is a number from 1 to 1000, as in ef:3".into()),
    }
}

fn dscp(text: &str) -> Result<Dscp, String> {
    parse_dscp(text.trim()).map_err(|error| error.to_string())
}

fn trial_time(text: &str) -> Result<Duration, String> {
    time(text, Duration::from_millis(100), "a run takes from 0.1 s to 1 h")
}

fn micro_interval(text: &str) -> Result<Duration, String> {
    time(text, Duration::from_micros(100), "an interval is from 100 us to 1 h")
}

fn time(text: &str, least: Duration, allowed: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (least..=Duration::from_secs(3600)).contains(&time) { Ok(time) } else { Err(allowed.into()) }
}
