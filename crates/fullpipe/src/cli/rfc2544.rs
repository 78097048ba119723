//! `fullpipe rfc2544`: benchmarks by frames, to a far end or across an emulated network.

use std::time::Duration;

use anyhow::anyhow;
use fp_method::rfc2544::{
    self, Criteria, Durations, Goal, LeastThroughput, Plan, SearchKind, Test, Threshold, Way,
};
use fp_model::{Dscp, FramesLoad, Layer, LayeredRate, Rate, Testbed, parse_duration, parse_rate};
use fp_report::Work;
use fp_report::summary::whole_time;

use super::cost::Cost;
use super::measure::{Ends, Measured, OutputArgs};
use super::reach::ReachArgs;
use crate::exit::{Exit, Failure};
use crate::stderr::tell;
use crate::values::{any_percent, dscp, percent, plain_rate, trial_time};

/// More than this is not sent into a network that may be somebody's, unless the user says so.
const CAP_L1: Rate = Rate::mbps(100);

/// Runs the tests of RFC 2544: throughput, latency, frame loss, back-to-back frames (RFC 9004),
/// system recovery
///
/// RFC 2544 is for isolated test environments (RFC 6815): its tests load a network to the point of
/// loss and must not be run over networks that carry anybody's traffic. They validate no CIR and no
/// service level: see `fullpipe burst` and `fullpipe y1564`. To a far end, no more than 100 Mbit/s
/// are sent unless --yes-saturate is given.
///
/// FAR is the pairing string that `fullpipe serve` printed at the far end, or HOST[:PORT] with the
/// secret in --key-file or $FULLPIPE_KEY. With --lab, the tests run across an emulated network on
/// this machine and need neither a far end nor root. Frame lengths count from destination address
/// to FCS, rates of lines at layer 1.
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
    args.reach.run(&args.output, |ends, bed| args.method.measure(ends, bed))
}

impl Args {
    /// What the method takes, as far as its options tell.
    pub(crate) fn cost(&self) -> Cost {
        let any = Ends { is_quiet: true, ..Ends::unknown() };
        let (least, _) = rfc2544::time_needed(&self.method.plan(&any));
        Cost::open(least)
    }
}

/// What is asked of the method.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// Tests to run; all but frame-loss need the throughput and run it first
    #[arg(long, value_enum, value_delimiter = ',', default_values = TestOption::ALL)]
    tests: Vec<TestOption>,
    /// Frame lengths (default: 64,128,256,512,1024,1280,1518, over IPv6 84 instead of 64)
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', value_parser = frame_length)]
    frames: Vec<u32>,
    /// Leave out the frames that are as long as the path takes
    #[arg(long)]
    no_mtu_row: bool,
    /// Which way frames are sent; both: one after the other
    #[arg(long, value_enum, default_value = "both")]
    direction: DirectionOption,
    /// Send both ways at once, each at the same rate
    #[arg(long, conflicts_with = "direction")]
    bidirectional: bool,
    /// What the medium carries at layer 1 (default: found with the longest frames)
    #[arg(long, value_name = "RATE", value_parser = line_rate)]
    line_rate: Option<Rate>,
    /// Offer no more than this at layer 1 (default: 10G in the lab, 100M to a far end)
    #[arg(long, value_name = "RATE", value_parser = line_rate)]
    max_rate: Option<Rate>,
    /// Send as much to a far end as the tests ask for: the network carries nobody else's traffic
    #[arg(long)]
    yes_saturate: bool,
    /// How rates and bursts are searched
    #[arg(long, value_enum, default_value = "fast")]
    search: SearchOption,
    /// A step of the binary and the fast search, of the rate that they find
    #[arg(long, value_name = "PERCENT", default_value = "0.1%", value_parser = resolution)]
    resolution: f64,
    /// A trial passes if no more than this is lost
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    accept_loss: f64,
    /// A goal of --search mlr, such as loss=0.5%,exceed=50%,initial=1s,final=1s,sum=21s,width=0.5%;
    /// may be repeated: the first one's is the throughput
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = goal)]
    goal: Vec<Goal>,
    /// Length of a trial of the searches and of the frame loss test (default: 1 s)
    #[arg(long, value_name = "TIME", value_parser = trial_time)]
    trial: Option<Duration>,
    /// Confirm each throughput by a trial of this length; the RFC asks for 60 s at least
    #[arg(long = "final", value_name = "TIME", value_parser = trial_time)]
    confirmation: Option<Duration>,
    /// Trials, pauses and repetitions as long and as many as the RFCs ask for: this takes hours
    #[arg(long)]
    rfc_durations: bool,
    /// Overload a path for so long before each trial of a search, to empty buckets and fill queues
    #[arg(long, value_name = "TIME", value_parser = pause)]
    overload: Option<Duration>,
    /// Wait for late frames and let the network rest after each trial
    #[arg(long, value_name = "TIME", value_parser = pause)]
    settle: Option<Duration>,
    /// Repetitions of the latency test (default: 3; the RFC asks for 20)
    #[arg(long, value_name = "N", value_parser = repetitions)]
    latency_repetitions: Option<u32>,
    /// Repetitions of the back-to-back test (default: 5; the RFC asks for 50)
    #[arg(long, value_name = "N", value_parser = repetitions)]
    burst_repetitions: Option<u32>,
    /// The longest burst that is tried (default: 2 s)
    #[arg(long, value_name = "TIME", value_parser = burst_time)]
    burst_max: Option<Duration>,
    /// From one trial of the frame loss test to the next; the RFC allows 10 % at most
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = loss_step)]
    loss_step: f64,
    /// DSCP of all test traffic, a number from 0 to 63
    #[arg(long, value_name = "N", default_value = "0", value_parser = dscp)]
    dscp: Dscp,
    /// VLAN tags that the network puts on each frame; frame lengths include them
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u8).range(..=2))]
    vlan_tags: u8,
    /// The throughput of all frames, or of those of a length, passes with this share of the line
    /// (1518:95%) or this rate (64:40M@l2)
    #[arg(long, value_name = "[BYTES:]PERCENT|RATE", value_parser = least_throughput)]
    pass_throughput: Vec<LeastThroughput>,
    /// A mean latency passes that is no longer
    #[arg(long, value_name = "TIME", value_parser = pause)]
    pass_latency: Option<Duration>,
    /// The frame loss at the highest rate passes that is no greater
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pass_loss: Option<f64>,
    /// An average burst passes that is no shorter
    #[arg(long, value_name = "FRAMES")]
    pass_burst: Option<u64>,
    /// A recovery passes that is no longer
    #[arg(long, value_name = "TIME", value_parser = pause)]
    pass_recovery: Option<Duration>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum TestOption {
    Throughput,
    Latency,
    FrameLoss,
    BackToBack,
    Recovery,
}

impl TestOption {
    const ALL: [&str; 5] = ["throughput", "latency", "frame-loss", "back-to-back", "recovery"];

    const fn test(self) -> Test {
        match self {
            Self::Throughput => Test::Throughput,
            Self::Latency => Test::Latency,
            Self::FrameLoss => Test::FrameLoss,
            Self::BackToBack => Test::BackToBack,
            Self::Recovery => Test::Recovery,
        }
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum DirectionOption {
    Download,
    Upload,
    Both,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SearchOption {
    Binary,
    Fast,
    Mlr,
}

impl MethodArgs {
    /// Runs the tests between these ends.
    pub(crate) fn measure(&self, ends: &Ends, bed: &mut dyn Testbed) -> Result<Measured, Failure> {
        let plan = self.plan(ends);
        expect_possible(&plan)?;
        if !ends.is_quiet {
            announce(&plan);
        }
        Ok(Work::run(&rfc2544::METHOD, plan, bed).into())
    }

    fn plan(&self, ends: &Ends) -> Plan {
        let defaults = Plan::new(ends.family, ends.interface_mtu_bytes);
        let strict = self.rfc_durations;
        let goals = match (self.goal.is_empty(), strict) {
            (false, _) => self.goal.clone(),
            (true, true) => vec![Plan::RFC2544_GOAL],
            (true, false) => defaults.goals.clone(),
        };
        let frames = if self.frames.is_empty() {
            defaults.frame_lengths_bytes.clone()
        } else {
            self.frames.clone()
        };
        let repetitions =
            |asked: Option<u32>, rfc, default| asked.unwrap_or(if strict { rfc } else { default });
        Plan {
            dscp: self.dscp,
            vlan_tags: self.vlan_tags,
            tests: self.tests.iter().map(|test| test.test()).collect(),
            frame_lengths_bytes: frames,
            path_mtu_row: !self.no_mtu_row,
            ways: self.ways(),
            line_rate_l1: self.line_rate,
            rate_cap_l1: self.cap(ends, defaults.rate_cap_l1),
            search: match self.search {
                SearchOption::Binary => SearchKind::Binary,
                SearchOption::Fast => SearchKind::Fast,
                SearchOption::Mlr => SearchKind::Mlr,
            },
            resolution_percent: self.resolution,
            accepted_loss_ratio: self.accept_loss / 100.0,
            goals,
            durations: self.durations(),
            latency_repetitions: repetitions(
                self.latency_repetitions,
                20,
                defaults.latency_repetitions,
            ),
            burst_repetitions: repetitions(self.burst_repetitions, 50, defaults.burst_repetitions),
            loss_step_percent: self.loss_step,
            criteria: self.criteria(),
            ..defaults
        }
    }

    fn ways(&self) -> Vec<Way> {
        match (self.bidirectional, self.direction) {
            (true, _) => vec![Way::Bidirectional],
            (false, DirectionOption::Download) => vec![Way::Download],
            (false, DirectionOption::Upload) => vec![Way::Upload],
            (false, DirectionOption::Both) => vec![Way::Download, Way::Upload],
        }
    }

    fn cap(&self, ends: &Ends, most: Rate) -> Rate {
        let unasked = if ends.is_isolated || self.yes_saturate { most } else { CAP_L1 };
        let asked = self.max_rate.unwrap_or(unasked.max(self.line_rate.unwrap_or_default()));
        if ends.is_isolated || self.yes_saturate { asked } else { asked.min(CAP_L1) }
    }

    fn durations(&self) -> Durations {
        let base = if self.rfc_durations { Durations::RFC } else { Durations::SHORT };
        Durations {
            trial: self.trial.unwrap_or(base.trial),
            confirmation: self.confirmation.or(base.confirmation),
            overload: self.overload.unwrap_or(base.overload),
            settle: self.settle.unwrap_or(base.settle),
            burst_max: self.burst_max.unwrap_or(base.burst_max),
            ..base
        }
    }

    fn criteria(&self) -> Criteria {
        Criteria {
            throughput: self.pass_throughput.clone(),
            latency: self.pass_latency,
            loss_percent: self.pass_loss,
            burst_frames: self.pass_burst,
            recovery: self.pass_recovery,
        }
    }
}

/// What only the family and the interfaces say.
fn expect_possible(plan: &Plan) -> Result<(), Failure> {
    let least = FramesLoad::least_frame_bytes(plan.family, plan.vlan_tags);
    let most = plan.longest_frame_bytes(plan.interface_mtu_bytes);
    for bytes in &plan.frame_lengths_bytes {
        if *bytes < least {
            return Err(Failure::bad_input(anyhow!(
                "--frames: {bytes} bytes are too short for these packets: use {least} or more"
            )));
        }
        if *bytes > most {
            return Err(Failure::bad_input(anyhow!(
                "--frames: {bytes} bytes are more than the interfaces of both ends take: use \
                 {most} or less"
            )));
        }
    }
    Ok(())
}

fn announce(plan: &Plan) {
    let (least, most) = rfc2544::time_needed(plan);
    let rate = fp_report::rate(plan.rate_cap_l1);
    tell(&format!(
        "this takes {} if the network carries what its line does, and up to about {} if it does \
         not; no more than {rate} (l1) is sent",
        whole_time(least),
        whole_time(most)
    ));
}

fn frame_length(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(bytes @ 64..=9018) => Ok(bytes),
        Ok(_) | Err(_) => Err("a frame has from 64 to 9018 bytes, its FCS included".into()),
    }
}

fn line_rate(text: &str) -> Result<Rate, String> {
    let (rate, layer) = parse_rate(text).map_err(|error| error.to_string())?;
    match layer {
        Some(Layer::L2 | Layer::L3 | Layer::L4) => Err("this rate is one at @l1".into()),
        Some(Layer::L1) | None if rate < Rate::bps(64_000) => {
            Err("this rate is 64k or more".into())
        }
        Some(Layer::L1) | None => plain_rate(&rate.as_bps().to_string()),
    }
}

fn resolution(text: &str) -> Result<f64, String> {
    match percent(text) {
        Ok(percent) if (0.001..=10.0).contains(&percent) => Ok(percent),
        Ok(_) | Err(_) => Err("a percentage from 0.001 to 10".into()),
    }
}

fn loss_step(text: &str) -> Result<f64, String> {
    match percent(text) {
        Ok(percent) if (0.1..=10.0).contains(&percent) => Ok(percent),
        Ok(_) | Err(_) => Err("a percentage from 0.1 to 10".into()),
    }
}

fn repetitions(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count @ 1..=1000) => Ok(count),
        Ok(_) | Err(_) => Err("a number from 1 to 1000".into()),
    }
}

fn pause(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time <= Duration::from_secs(600) { Ok(time) } else { Err("a time of 10 min at most".into()) }
}

//= rfc9004 6.2
fn burst_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (Duration::from_millis(1)..=Duration::from_secs(30)).contains(&time) {
        Ok(time)
    } else {
        Err("a burst takes from 1 ms to 30 s".into())
    }
}

fn least_throughput(text: &str) -> Result<LeastThroughput, String> {
    let (frame_bytes, threshold) = match text.split_once(':') {
        None => (None, text),
        Some((bytes, threshold)) => (Some(frame_length(bytes)?), threshold),
    };
    let at_least = if threshold.ends_with('%') {
        Threshold::Percent { percent_of_line: percent(threshold)? }
    } else {
        let (rate, layer) = parse_rate(threshold).map_err(|error| error.to_string())?;
        match layer.unwrap_or(Layer::L2) {
            Layer::L4 => return Err("this rate may be at @l1, @l2 or @l3".into()),
            layer => Threshold::Rate(LayeredRate { rate, layer }),
        }
    };
    Ok(LeastThroughput { frame_bytes, at_least })
}

//= rfc9971 4.6.7
/// A search goal; what is not named stays as it is by default.
fn goal(text: &str) -> Result<Goal, String> {
    let mut goal = Plan::SHORT_GOAL;
    for part in text.split(',') {
        let Some((key, value)) = part.split_once('=') else {
            return Err(format!("'{part}' is no KEY=VALUE such as loss=0.5%"));
        };
        let time = || parse_duration(value).map_err(|error| format!("{key}: {error}"));
        let share = || any_percent(value).map(|percent| percent / 100.0);
        match key {
            "loss" => goal.loss_ratio = share()?,
            "exceed" => goal.exceed_ratio = share()?,
            "width" => goal.width = share()?,
            "initial" => goal.initial_duration = time()?,
            "final" => goal.final_duration = time()?,
            "sum" => goal.duration_sum = time()?,
            _ => {
                return Err(format!("'{key}' is none of loss, exceed, initial, final, sum, width"));
            }
        }
    }
    goal.initial_duration = goal.initial_duration.min(goal.final_duration);
    goal.duration_sum = goal.duration_sum.max(goal.final_duration);
    let short = Duration::from_millis(10);
    if goal.initial_duration < short {
        return Err("trials take 10 ms at least".into());
    }
    if goal.loss_ratio >= 1.0 || goal.exceed_ratio >= 1.0 {
        return Err("loss and exceed are below 100 %".into());
    }
    if !(0.00001..=0.5).contains(&goal.width) {
        return Err("a width is from 0.001 to 50 %".into());
    }
    Ok(goal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        method: MethodArgs,
    }

    fn cap(words: &[&str], is_isolated: bool) -> Rate {
        let ends = Ends { is_isolated, is_quiet: true, ..Ends::unknown() };
        let line = Line::parse_from([&["rfc2544"], words].concat());
        line.method.plan(&ends).rate_cap_l1
    }

    //= rfc6815 5
    #[test]
    fn a_network_that_may_be_somebodys_is_not_saturated_unless_the_user_says_so() {
        assert_eq!(cap(&[], false), Rate::mbps(100));
        assert_eq!(cap(&["--line-rate", "1G"], false), Rate::mbps(100));
        assert_eq!(cap(&["--max-rate", "1G"], false), Rate::mbps(100));
        assert_eq!(cap(&["--max-rate", "20M"], false), Rate::mbps(20));
        assert_eq!(cap(&["--yes-saturate"], false), Rate::mbps(10_000));
        assert_eq!(cap(&["--yes-saturate", "--max-rate", "1G"], false), Rate::mbps(1000));
        assert_eq!(cap(&[], true), Rate::mbps(10_000));
    }
}
