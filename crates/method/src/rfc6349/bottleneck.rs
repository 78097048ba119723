//! Step 2 of RFC 6349, second part: the bottleneck bandwidth of each direction.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, Direction, FlowSpec, FrameSizes, FramesLoad, FramesReport, Layer, LayeredRate, Pace,
    PacketLayout, Rate, Step as PaceStep, Timing, Trial,
};

use super::{Bottleneck, LimitKind, Plan, Run, SearchKind, Source, Step, frames, settle};
use crate::mlr::{LoadClass, LoadTrial, SearchGoal};
use crate::search::{Search, SearchPlan, Step as SearchStep};
use crate::{Number, Seconds};

const UDP_HEADER_BYTES: u32 = 8;
/// Trials that look for the order of magnitude: each offers eight times as much as the last.
const FIRST_RATE_L2: Rate = Rate::mbps(8);
const GROWTH: f64 = 8.0;
/// A tester that sends less than this often what it sent at an eighth of the rate is at its end.
const SENDS_MORE: f64 = 1.5;
const SCALE_STEADY: Duration = Duration::from_millis(250);
const SCALE_WARM_UP: Duration = Duration::from_millis(150);
/// Beyond the shortfall of lower rates, this much says that the rate is too high.
const OVERLOAD_LOSS: f64 = 0.05;
/// Long enough at 1.3 times the rate to empty a bucket of 1 MB at 100 Mbit/s and of any size that
/// the rate fills in a tenth of a second.
const DRAIN: Duration = Duration::from_millis(400);
const OVERLOAD: f64 = 1.3;
const STEADY: Duration = Duration::from_millis(1000);
/// A step of the search, relative to the rate.
const RESOLUTION: f64 = 0.0025;
/// Trials that the tester spoilt are repeated, so often at most in a search.
const REPEATS: u32 = 5;
/// Trials that the most contested load of an MLRsearch gets.
const MLR_TRIALS: i64 = 3;
/// A shortfall below this is jitter against an empty bucket, not a rate that is too high.
const TOLERATED: f64 = 0.001;
/// A queue shows as delay beyond this, or beyond the time of two frames.
const POLICER_DELAY_MAX: Duration = Duration::from_millis(2);

//= rfc6349 3.2.2
/// Finds the bottleneck of one direction, or takes what the plan says it is.
pub(super) fn find(
    run: &mut Run<'_>,
    direction: Direction,
    path_mtu: u32,
    rtt: Duration,
) -> Result<Bottleneck, Abort> {
    let headers = run.plan.family.ip_header_bytes() + UDP_HEADER_BYTES;
    let packet = PacketLayout::ethernet(path_mtu, path_mtu - headers);
    let bottleneck = match run.plan.cir {
        Some(cir) => given(direction, cir, packet),
        None => Finder::new(run, direction, packet, rtt).search()?,
    };
    run.report.steps.push(Step::Bottleneck(bottleneck));
    Ok(bottleneck)
}

fn given(direction: Direction, cir: LayeredRate, packet: PacketLayout) -> Bottleneck {
    Bottleneck {
        direction,
        limit: cir,
        packet,
        source: Source::Given,
        kind: LimitKind::Unknown,
        trials: 0,
        base_loss: 0.0,
        overload_delay: None,
    }
}

struct Finder<'a, 'b> {
    run: &'a mut Run<'b>,
    direction: Direction,
    packet: PacketLayout,
    rtt: Duration,
    trials: u32,
    repeats_left: u32,
    /// Growth of the one-way delay in the trials that offered too much.
    overload_delay: Option<Duration>,
    /// The same, of the median frame: a queue delays all of them, a busy host some.
    overload_delay_median: Option<Duration>,
}

/// The first rate that was too much.
struct Scale {
    overload_l2: Rate,
    received_l2: Rate,
    /// Not even the rates that passed came through whole, or none was tried.
    lossy: bool,
}

/// One trial, with what the ends themselves dropped of it.
pub(super) struct Stream {
    pub(super) seen: FramesReport,
    pub(super) dropped_frames: u64,
    /// Of either end, as a share of one processor.
    pub(super) busiest_thread: f64,
}

impl Stream {
    /// Whether all frames that were due left, in the time they were due in, and the ends dropped
    /// none of those that arrived.
    fn is_sound(&self, steady: Duration) -> bool {
        let Self { seen, dropped_frames, .. } = self;
        let unsent = seen.planned_frames.saturating_sub(seen.sent_frames);
        let stretch = seen.sent_in.as_secs_f64() / steady.as_secs_f64();
        unsent as f64 <= TOLERATED * seen.planned_frames as f64
            && (stretch - 1.0).abs() <= TOLERATED
            && *dropped_frames as f64 <= TOLERATED * seen.received_frames as f64
    }
}

/// A rate to be tried.
struct Load {
    rate: Rate,
    /// Offered before it, to empty the bucket of a policer.
    overload_l2: Rate,
    base_loss: f64,
}

impl<'a, 'b> Finder<'a, 'b> {
    fn new(
        run: &'a mut Run<'b>,
        direction: Direction,
        packet: PacketLayout,
        rtt: Duration,
    ) -> Self {
        Self {
            run,
            direction,
            packet,
            rtt,
            trials: 0,
            repeats_left: REPEATS,
            overload_delay: None,
            overload_delay_median: None,
        }
    }

    fn search(mut self) -> Result<Bottleneck, Abort> {
        let scale = match self.scale()? {
            Ok(scale) => scale,
            Err(reached_l2) => return Ok(self.not_reached(reached_l2)),
        };
        let base_loss = self.base_loss(&scale)?;
        let overload_l2 = scale.received_l2.scaled(OVERLOAD).min(scale.overload_l2);
        let lowest_l2 = scale.received_l2.scaled(0.5);
        let plan = SearchPlan {
            lowest: lowest_l2,
            highest: overload_l2,
            initial: overload_l2,
            resolution: scale.received_l2.scaled(RESOLUTION),
            // What jitter and chance explain has been taken off.
            accepted_loss_ratio: 0.0,
        };
        let mut search = match self.run.plan.search {
            SearchKind::Binary => Search::binary(plan),
            SearchKind::Fast | SearchKind::Mlr => Search::fast(plan),
        };
        let mut rate = search.first();
        let found_l2 = loop {
            let load = Load { rate, overload_l2, base_loss };
            let loss = match self.run.plan.search {
                SearchKind::Binary | SearchKind::Fast => self.once(&load)?,
                SearchKind::Mlr => self.until_classified(&load)?,
            };
            match search.judge(loss) {
                SearchStep::Found(found) => break found,
                SearchStep::Try(next) => rate = next,
            }
        };
        Ok(self.found(found_l2, base_loss))
    }

    /// Raises the rate until much more is lost than at the rates before, or until the tester cannot
    /// send more: a host that stood still in a short trial sends less than it was asked for, but at
    /// the next rate more than before.
    fn scale(&mut self) -> Result<Result<Scale, Rate>, Abort> {
        let limit = self.packet.convert(self.run.plan.rate_limit, Layer::L2);
        let mut rate = FIRST_RATE_L2.min(limit);
        let mut passed_loss: Option<f64> = None;
        let mut most_sent_l2 = Rate::ZERO;
        loop {
            let pace = Pace::Constant { rate };
            let seen = self.trial(pace, SCALE_WARM_UP, SCALE_STEADY, "order of magnitude")?.seen;
            if seen.received_frames == 0 {
                return Err(self.nothing_arrives());
            }
            let received_l2 = received_rate(&seen, self.packet.frame_bytes);
            let sent_l2 = sent_rate(&seen, self.packet.frame_bytes);
            let loss = shortfall(&seen).max(0.0);
            if loss > passed_loss.unwrap_or(0.0) + OVERLOAD_LOSS {
                let lossy = passed_loss.is_none_or(|loss| loss > 0.0);
                self.overloaded(&seen);
                return Ok(Ok(Scale { overload_l2: sent_l2, received_l2, lossy }));
            }
            passed_loss = Some(passed_loss.unwrap_or(0.0).max(loss));
            if rate >= limit || sent_l2 <= most_sent_l2.scaled(SENDS_MORE) {
                return Ok(Err(received_l2));
            }
            most_sent_l2 = sent_l2;
            rate = rate.scaled(GROWTH).min(limit);
        }
    }

    fn nothing_arrives(&self) -> Abort {
        Abort::Lost(format!(
            "{}: none of the frames of {} bytes arrived, though single probes did: look for a \
             firewall or a rate limit for UDP, or give the rate with --cir",
            self.direction, self.packet.frame_bytes
        ))
    }

    /// The loss at half of what gets through: there, the rate is not its cause.
    fn base_loss(&mut self, scale: &Scale) -> Result<f64, Abort> {
        if !scale.lossy {
            return Ok(0.0);
        }
        let pace = Pace::Constant { rate: scale.received_l2.scaled(0.5).max(Rate::bps(1000)) };
        let seen = self.trial(pace, SCALE_WARM_UP, STEADY * 2, "loss at half the rate")?.seen;
        Ok(loss_ratio(&seen))
    }

    /// The shortfall that a rate explains, in one trial.
    fn once(&mut self, load: &Load) -> Result<f64, Abort> {
        let seen = self.offer(load.rate, load.overload_l2)?;
        let excess = excess(&seen, load.base_loss);
        if excess > 0.0 {
            self.overloaded(&seen);
        }
        Ok(excess)
    }

    /// More was offered than fits: what the delay grew by then is what a queue holds.
    fn overloaded(&mut self, seen: &FramesReport) {
        self.overload_delay = self.overload_delay.max(seen.delay_growth_p99);
        self.overload_delay_median = self.overload_delay_median.max(seen.delay_growth_median());
    }

    /// The same of as many trials as the load needs to be classified, RFC 9971: where most of them
    /// lost nothing, nothing; else the mean of those that did.
    fn until_classified(&mut self, load: &Load) -> Result<f64, Abort> {
        let duration = Seconds::from(self.steady(load.rate));
        let goal = SearchGoal {
            final_duration: duration,
            duration_sum: duration * Number::whole(MLR_TRIALS),
            loss_ratio: Number::ZERO,
            exceed_ratio: Number::ratio(1, 2),
        };
        let (mut trials, mut losses) = (Vec::new(), Vec::new());
        loop {
            let loss = self.once(load)?;
            trials.push(LoadTrial { duration, loss_ratio: Number::nearest(loss) });
            if loss > 0.0 {
                losses.push(loss);
            }
            match goal.classify(&trials) {
                LoadClass::Undecided => {}
                LoadClass::LowerBound => return Ok(0.0),
                LoadClass::UpperBound => {
                    return Ok(losses.iter().sum::<f64>() / losses.len().max(1) as f64);
                }
            }
        }
    }

    /// Offers a rate after the bucket was emptied, so that what passes is what is earned. A trial
    /// that was not sent as planned, or that a receiver could not follow, says nothing and is
    /// repeated; the last one is taken as it is.
    fn offer(&mut self, rate: Rate, overload_l2: Rate) -> Result<FramesReport, Abort> {
        let drain = PaceStep { rate: overload_l2, lasts: DRAIN };
        let steady = self.steady(rate);
        let steps = vec![drain, PaceStep { rate, lasts: steady }];
        let stream = loop {
            let pace = Pace::Steps { steps: steps.clone() };
            let stream = self.trial(pace, DRAIN, steady, "bottleneck")?;
            if self.repeats_left == 0 || stream.is_sound(steady) {
                break stream;
            }
            self.repeats_left -= 1;
        };
        self.run.health.add_stream(&stream);
        Ok(stream.seen)
    }

    /// A second, and more where a second holds too few frames to tell two steps apart.
    fn steady(&self, rate: Rate) -> Duration {
        let frames = 4.0 / RESOLUTION;
        let needed = rate.time_for(u64::from(self.packet.frame_bytes)).mul_f64(frames);
        let asked = self.run.plan.trial.unwrap_or(STEADY);
        needed.clamp(asked.min(Duration::from_secs(10)), Duration::from_secs(10))
    }

    fn trial(
        &mut self,
        pace: Pace,
        warm_up: Duration,
        steady: Duration,
        what: &str,
    ) -> Result<Stream, Abort> {
        let Plan { family, dscp, .. } = *self.run.plan;
        let sizes = FrameSizes::fixed(self.packet.frame_bytes);
        let load = fp_model::Load::Frames(FramesLoad { sizes, pace });
        let flow = FlowSpec::new(self.direction, family, dscp, load);
        // What an overload has queued must be gone before the next trial begins.
        let queue = self.overload_delay.unwrap_or_default();
        let timing = Timing { warm_up, steady, settle: settle(self.rtt) + queue };
        let name = format!("{what}, {}", self.direction);
        let trial = Trial { name, flows: vec![flow], timing };
        self.trials += 1;
        let seen = self.run.beyond_the_tester(&trial)?;
        let report = frames(&trial, &seen)?;
        if report.sent_frames == 0 {
            return Err(Abort::Testbed(format!("no frame could be sent in '{}'", trial.name)));
        }
        Ok(Stream {
            seen: report.clone(),
            dropped_frames: seen.near.dropped_packets + seen.far.dropped_packets,
            busiest_thread: seen.busiest_thread(),
        })
    }

    fn found(&self, found_l2: Rate, base_loss: f64) -> Bottleneck {
        let frame_time = found_l2.max(Rate::bps(1)).time_for(u64::from(self.packet.frame_bytes));
        let kind = match self.overload_delay_median {
            Some(delay) if delay <= POLICER_DELAY_MAX.max(frame_time * 2) => LimitKind::Policer,
            Some(_) => LimitKind::Queue,
            None => LimitKind::Unknown,
        };
        self.bottleneck(found_l2, kind, base_loss)
    }

    fn not_reached(&self, reached_l2: Rate) -> Bottleneck {
        self.bottleneck(reached_l2, LimitKind::NotReached, 0.0)
    }

    fn bottleneck(&self, rate_l2: Rate, kind: LimitKind, base_loss: f64) -> Bottleneck {
        let at_l2 = LayeredRate { rate: rate_l2, layer: Layer::L2 };
        let layer = match kind {
            LimitKind::Policer => Layer::L2,
            LimitKind::Queue | LimitKind::NotReached | LimitKind::Unknown => Layer::L1,
        };
        Bottleneck {
            direction: self.direction,
            limit: LayeredRate { rate: self.packet.convert(at_l2, layer), layer },
            packet: self.packet,
            source: Source::Measured,
            kind,
            trials: self.trials,
            base_loss,
            overload_delay: self.overload_delay,
        }
    }
}

fn loss_ratio(seen: &FramesReport) -> f64 {
    let lost = seen.sent_frames.saturating_sub(seen.received_frames);
    lost as f64 / seen.sent_frames.max(1) as f64
}

/// By how much the rate received falls short of the rate sent, as a share of it: what a full
/// bucket or queue drops, and what a queue that is not yet full holds back.
fn shortfall(seen: &FramesReport) -> f64 {
    let received_in = seen.received_in.unwrap_or(seen.sent_in).max(Duration::from_nanos(1));
    let stretch = seen.sent_in.as_secs_f64() / received_in.as_secs_f64();
    1.0 - (1.0 - loss_ratio(seen)) * stretch
}

/// The shortfall that the rate explains: what is lost at any rate and what jitter costs taken off.
fn excess(seen: &FramesReport, base_loss: f64) -> f64 {
    let excess = 1.0 - (1.0 - shortfall(seen)) / (1.0 - base_loss);
    let frames = seen.sent_frames.max(1) as f64;
    // Three standard deviations of a binomial count with the base loss.
    let chance = 3.0 * libm::sqrt(base_loss * (1.0 - base_loss) / frames);
    if excess <= TOLERATED + chance { 0.0 } else { excess.min(1.0) }
}

fn received_rate(seen: &FramesReport, frame_bytes: u32) -> Rate {
    let bytes = seen.received_frames * u64::from(frame_bytes);
    Rate::over(bytes, seen.received_in.unwrap_or(seen.sent_in))
}

fn sent_rate(seen: &FramesReport, frame_bytes: u32) -> Rate {
    Rate::over(seen.sent_frames * u64::from(frame_bytes), seen.sent_in)
}
