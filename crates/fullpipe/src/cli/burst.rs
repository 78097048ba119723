//! `fullpipe burst`: the CBS test, the policing test and the discovery of an unknown policer.

use std::time::Duration;

use anyhow::anyhow;
use fp_method::burst::{self, Goal, Plan, Ways};
use fp_model::{Dscp, Family, LayeredRate, PacketLayout, Testbed};
use fp_report::Work;

use super::cost::Cost;
use super::measure::{Ends, Measured, OutputArgs};
use super::reach::ReachArgs;
use crate::exit::{Exit, Failure};
use crate::values::{burst_size, dscp, frame_bytes, layered_rate, percent, trial_time, vlan_tags};

/// Tests bursts against a policer: the CBS test and the policing test, or finds out what policer
/// there is
///
/// The CBS test sends bursts of the CBS at line rate, as often as the CIR allows, and passes if no
/// frame is lost. The policing test sends bursts of twice the CBS and estimates the policer's CBS by
/// which frames passed. With --discover, nothing need be known.
///
/// FAR is the pairing string that `fullpipe serve` printed at the far end, or HOST[:PORT] with the
/// secret in --key-file or $FULLPIPE_KEY. With --lab, the test runs across an emulated network on
/// this machine and needs neither a far end nor root.
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
        self.method.cost()
    }
}

/// What is asked of the method.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// The CIR; its layer, at which frames are charged, is l2 unless named (40M@l1)
    #[arg(long, value_name = "RATE[@LAYER]", value_parser = layered_rate)]
    cir: Option<LayeredRate>,
    /// The CBS in bytes of the same layer: 64K is 64,000
    #[arg(long, value_name = "SIZE", value_parser = burst_size)]
    cbs: Option<u64>,
    /// Find CIR, CBS and what a frame is charged instead of being told
    #[arg(long, conflicts_with_all = ["cir", "cbs"])]
    discover: bool,
    /// Frame lengths from destination address to FCS, VLAN tags included
    #[arg(
        long,
        value_name = "BYTES,…",
        value_delimiter = ',',
        value_parser = frame_bytes,
        default_value = "64,128,256,512,768,1024,1280,1518"
    )]
    frames: Vec<u32>,
    /// The policing test passes with an estimated CBS as close to the configured one
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "2%")]
    tolerance: f64,
    /// Which way bursts are sent; both is one after the other
    #[arg(long, value_enum, default_value = "both")]
    direction: DirectionOption,
    /// Send bursts both ways at once
    #[arg(long, conflicts_with_all = ["direction", "discover"])]
    bidirectional: bool,
    /// VLAN tags that the network puts on each frame
    #[arg(long, value_name = "N", value_parser = vlan_tags, default_value = "0")]
    vlan_tags: u8,
    /// How long bursts of one frame length are sent
    #[arg(long, short = 't', value_name = "TIME", value_parser = trial_time, default_value = "2s")]
    duration: Duration,
    /// DSCP of all test traffic, a number from 0 to 63
    #[arg(long, value_name = "N", default_value = "0", value_parser = dscp)]
    dscp: Dscp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DirectionOption {
    Download,
    Upload,
    Both,
}

impl MethodArgs {
    /// Runs the method between these ends.
    ///
    /// # Errors
    /// What of the plan cannot be run.
    pub(crate) fn measure(&self, ends: &Ends, bed: &mut dyn Testbed) -> Result<Measured, Failure> {
        let plan = self.plan(ends)?;
        Ok(Work::run(&burst::METHOD, plan, bed).into())
    }

    fn plan(&self, ends: &Ends) -> Result<Plan, Failure> {
        let plan = self.plan_between(ends.family, ends.interface_mtu_bytes)?;
        plan.check(ends.line_l1).map_err(Failure::bad_input)?;
        expect_fitting(&plan)?;
        Ok(plan)
    }

    fn plan_between(&self, family: Family, interface_mtu_bytes: u32) -> Result<Plan, Failure> {
        let ways = match (self.bidirectional, self.direction) {
            (true, _) => Ways::Bidirectional,
            (false, DirectionOption::Download) => Ways::Download,
            (false, DirectionOption::Upload) => Ways::Upload,
            (false, DirectionOption::Both) => Ways::Both,
        };
        Ok(Plan {
            dscp: self.dscp,
            vlan_tags: self.vlan_tags,
            ways,
            frame_bytes: self.frames.clone(),
            test: self.duration,
            tolerance_percent: self.tolerance,
            ..Plan::new(family, interface_mtu_bytes, self.goal()?)
        })
    }

    /// # Errors
    /// What is wrong whatever the ends are.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        const ETHERNET_MTU_BYTES: u32 = 1500;
        let plan = self.plan_between(Family::Ipv4, ETHERNET_MTU_BYTES)?;
        plan.check(None).map_err(Failure::bad_input)
    }

    /// The CBS test sends at the CIR; that of the policer at most two buckets in the time that fills
    /// one.
    fn cost(&self) -> Cost {
        let ways = match (self.bidirectional, self.direction) {
            (false, DirectionOption::Both) => 2,
            (_, DirectionOption::Download | DirectionOption::Upload | DirectionOption::Both) => 1,
        };
        let Some(cir) = self.cir else { return Cost::open(self.duration * ways) };
        let at_once = if self.bidirectional { 2 } else { 1 };
        let bytes = cir.rate.bytes_in(self.duration).saturating_mul((1 + 2) * at_once);
        let each = Cost { at_least: self.duration * 2, at_most_bytes: Some(bytes) };
        each.times(ways * self.frames.len() as u32)
    }

    fn goal(&self) -> Result<Goal, Failure> {
        match (self.discover, self.cir, self.cbs) {
            (true, ..) => Ok(Goal::Discover),
            (false, Some(cir), Some(cbs_bytes)) => Ok(Goal::Verify { cir, cbs_bytes }),
            (false, ..) => Err(Failure::bad_input(anyhow!(
                "there is nothing to test against: give --cir and --cbs, or have them found out \
                 with --discover"
            ))),
        }
    }
}

/// What only the interfaces say: the path may carry less, and then what fits is tested.
fn expect_fitting(plan: &Plan) -> Result<(), Failure> {
    let tags_bytes = PacketLayout::VLAN_TAG_BYTES * u32::from(plan.vlan_tags);
    let most = plan.interface_mtu_bytes + PacketLayout::ETHERNET_L2_OVERHEAD + tags_bytes;
    if plan.frame_bytes.iter().any(|bytes| *bytes <= most) {
        return Ok(());
    }
    Err(Failure::bad_input(anyhow!(
        "--frames: none of these lengths fits the interfaces of both ends: use {most} bytes or less"
    )))
}
