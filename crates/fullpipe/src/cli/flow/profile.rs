//! A profile as it is written on the command line: `triangle:peak=300M,period=20s`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use fp_method::flow::{Arrivals, SharedProfile};
use fp_method::formula::profile::{Point, Profile, Wave};
use fp_model::{Layer, Rate, Step, parse_duration, parse_rate};

const KINDS: &str = "triangle, sawtooth, sine, square, constant, steps, poisson, on-off and csv";
const RATE_MAX: Rate = Rate::bps(1_000_000_000_000);
const LASTS_MAX: Duration = Duration::from_secs(86_400);
const PERIOD_MIN: Duration = Duration::from_millis(100);
/// As many intervals as a screen shows well.
const INTERVALS: u32 = 40;
const INTERVALS_MAX: u128 = 10_000;
const POINTS_MAX: usize = 10_000;
const CSV_BYTES_MAX: u64 = 1 << 20;

/// What a profile asks for.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    written: String,
    profile: Profile,
    arrivals: Arrivals,
    /// Its own length; `None` goes on for ever.
    lasts: Option<Duration>,
    interval: Option<Duration>,
}

impl Shape {
    /// As long as it has something new to ask for, or as any other flow.
    pub(super) fn lasts(&self) -> Duration {
        self.lasts.unwrap_or(Duration::from_secs(10))
    }

    /// What it asks for in this time, in the mean.
    pub(super) fn bytes_in(&self, time: Duration) -> u64 {
        if time.is_zero() {
            return 0;
        }
        let whole = self.profile.steps(time, time);
        whole.iter().map(|step| step.rate.bytes_in(step.lasts)).sum()
    }

    /// The mean rate of each of up to some hundred intervals, by the seconds in which it begins.
    #[cfg(feature = "ui")]
    pub(super) fn course(&self, time: Duration) -> Vec<(f64, f64)> {
        const POINTS: u32 = 400;
        let interval = self.interval_of(time).max(time / POINTS);
        let mut at = Duration::ZERO;
        let mut points = Vec::new();
        for step in self.profile.steps(time, interval) {
            let rate = step.rate.as_bps() as f64;
            points.push((at.as_secs_f64(), rate));
            at += step.lasts;
        }
        points.extend(points.last().map(|(_, rate)| (at.as_secs_f64(), *rate)));
        points
    }

    /// # Errors
    /// Where the profile cannot be followed for `time`.
    pub(super) fn check(&self, time: Duration) -> anyhow::Result<()> {
        let interval = self.interval_of(time);
        if interval > time || time.as_nanos() / interval.as_nanos() > INTERVALS_MAX {
            return Err(anyhow!(
                "--profile {}: an interval of {} s does not divide {} s well: give interval=TIME for \
                 1 to {INTERVALS_MAX} of them",
                self.written,
                interval.as_secs_f64(),
                time.as_secs_f64()
            ));
        }
        Ok(())
    }

    /// For a run of `time`.
    pub(super) fn shared(self, time: Duration) -> SharedProfile {
        let interval = self.interval_of(time);
        SharedProfile {
            written: self.written,
            profile: self.profile,
            arrivals: self.arrivals,
            interval,
        }
    }

    fn interval_of(&self, time: Duration) -> Duration {
        let even = self.lasts.unwrap_or(time).min(time) / INTERVALS;
        let even = even.clamp(Duration::from_millis(250), Duration::from_secs(1));
        self.interval.unwrap_or(even).max(Duration::from_millis(1))
    }
}

/// # Errors
/// What in the text is not a profile, and what would be one.
pub(super) fn parse(text: &str, seed: u64) -> anyhow::Result<Shape> {
    shape(text, seed).with_context(|| format!("--profile {text}"))
}

fn shape(text: &str, seed: u64) -> anyhow::Result<Shape> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match kind {
        "triangle" => wave(text, rest, Profile::Triangle),
        "sawtooth" => wave(text, rest, Profile::Sawtooth),
        "sine" => wave(text, rest, Profile::Sine),
        "square" => wave(text, rest, Profile::Square),
        "constant" => {
            let mut keys = Keys::of(rest)?;
            let rate_bps = keys.rate("rate")?;
            keys.endless(text, Profile::Constant { rate_bps }, Arrivals::Even)
        }
        "poisson" => {
            let mut keys = Keys::of(rest)?;
            let rate_bps = keys.rate("rate")?;
            let seed = keys.seed(seed)?;
            keys.endless(text, Profile::Constant { rate_bps }, Arrivals::Poisson { seed })
        }
        "on-off" | "onoff" => on_off(text, rest, seed),
        "steps" => steps(text, rest),
        "csv" => csv(text, Path::new(rest)),
        other => Err(anyhow!("there is no profile `{other}`: there are {KINDS}")),
    }
}

fn wave(text: &str, rest: &str, shape: fn(Wave) -> Profile) -> anyhow::Result<Shape> {
    let mut keys = Keys::of(rest)?;
    let peak_bps = keys.rate("peak")?;
    let low_bps = keys.take("low").map_or(Ok(Rate::ZERO), |text| rate("low", text))?;
    let period = keys.time("period")?.unwrap_or(Duration::from_secs(10));
    if low_bps > peak_bps {
        return Err(anyhow!("low is above peak: exchange them"));
    }
    if !(PERIOD_MIN..=LASTS_MAX).contains(&period) {
        return Err(anyhow!("a period lasts from 0.1 s to 24 h"));
    }
    let interval = keys.interval()?;
    keys.nothing_left("peak, low, period and interval")?;
    let profile = shape(Wave { low_bps, peak_bps, period_ns: period.as_nanos() as u64 });
    let written = text.to_owned();
    Ok(Shape { written, profile, arrivals: Arrivals::Even, lasts: Some(period), interval })
}

fn on_off(text: &str, rest: &str, seed: u64) -> anyhow::Result<Shape> {
    let mut keys = Keys::of(rest)?;
    let rate = keys.rate("rate")?;
    let mut mean = |key| {
        let time = keys.time(key)?.unwrap_or(Duration::from_secs(1));
        match time {
            time if (Duration::from_millis(1)..=Duration::from_secs(3600)).contains(&time) => {
                Ok(time)
            }
            _ => Err(anyhow!("{key} is a mean time from 1 ms to 1 h")),
        }
    };
    let (on_mean, off_mean) = (mean("on")?, mean("off")?);
    let seed = keys.seed(seed)?;
    let share = on_mean.as_secs_f64() / (on_mean + off_mean).as_secs_f64();
    let profile = Profile::Constant { rate_bps: rate.scaled(share) };
    keys.endless(text, profile, Arrivals::OnOff { rate, on_mean, off_mean, seed })
}

/// `10M/5s,50M/5s`: a rate and how long it lasts, one after the other.
fn steps(text: &str, rest: &str) -> anyhow::Result<Shape> {
    let step = |(place, part): (usize, &str)| {
        let here = format!("step {}", place + 1);
        let Some((bps, lasts)) = part.split_once('/') else {
            return Err(anyhow!("{here}, `{part}`: a step is a rate and a time, such as 10M/5s"));
        };
        let lasts = duration(&here, lasts)?;
        if lasts < Duration::from_millis(1) {
            return Err(anyhow!("{here}, `{part}`: a step lasts at least 1 ms"));
        }
        Ok(Step { rate: rate(&here, bps)?, lasts })
    };
    let steps: Vec<Step> = rest.split(',').enumerate().map(step).collect::<Result<_, _>>()?;
    let lasts = steps.iter().map(|step| step.lasts).sum();
    within_a_day(lasts)?;
    let profile = Profile::Steps { steps };
    let written = text.to_owned();
    Ok(Shape { written, profile, arrivals: Arrivals::Even, lasts: Some(lasts), interval: None })
}

/// Lines of `time,rate`: each rate stays until the time of the next.
fn csv(text: &str, file: &Path) -> anyhow::Result<Shape> {
    let shown = file.display();
    let meta = fs::metadata(file).with_context(|| format!("cannot read {shown}"))?;
    if !meta.is_file() || meta.len() > CSV_BYTES_MAX {
        return Err(anyhow!(
            "{shown} is no file of at most {CSV_BYTES_MAX} bytes: name one in CSV"
        ));
    }
    let read = fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let mut points: Vec<Point> = Vec::new();
    for (place, line) in read.lines().enumerate() {
        let point =
            point(line, place == 0).map_err(|error| anyhow!("{shown}:{}: {error}", place + 1))?;
        let Some(point) = point else { continue };
        if points.last().is_some_and(|last| point.at_ns <= last.at_ns) {
            return Err(anyhow!(
                "{shown}:{}: the time is not after that of the line before: sort the lines by time, \
                 each once",
                place + 1
            ));
        }
        points.push(point);
    }
    if points.is_empty() || points.len() > POINTS_MAX {
        return Err(anyhow!(
            "{shown} has {} points: 1 to {POINTS_MAX} lines of time,rate",
            points.len()
        ));
    }
    // The last rate lasts as long as the one before it.
    let at = |point: Option<&Point>| point.map_or(0, |point| point.at_ns);
    let (last, before) =
        (at(points.last()), at(points.len().checked_sub(2).and_then(|k| points.get(k))));
    let own = if points.len() > 1 { last - before } else { 10_000_000_000 };
    let lasts = Duration::from_nanos(last.saturating_add(own));
    within_a_day(lasts)?;
    let profile = Profile::Recorded { points };
    let written = text.to_owned();
    Ok(Shape { written, profile, arrivals: Arrivals::Even, lasts: Some(lasts), interval: None })
}

/// A line of a CSV file; `None` where there is nothing on it, or a heading.
fn point(line: &str, is_first: bool) -> anyhow::Result<Option<Point>> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let Some((at, bps)) = line.split_once([',', ';', '\t']) else {
        return Err(anyhow!("`{line}`: a line is a time and a rate, such as 2.5,10M"));
    };
    if is_first && at.trim().chars().all(|c| c.is_alphabetic() || c == '_') {
        return Ok(None);
    }
    let at = duration("time", at.trim())?;
    Ok(Some(Point { at_ns: at.as_nanos() as u64, rate_bps: rate("rate", bps.trim())? }))
}

fn within_a_day(lasts: Duration) -> anyhow::Result<()> {
    if lasts <= LASTS_MAX && !lasts.is_zero() {
        return Ok(());
    }
    Err(anyhow!("a profile lasts at most 24 h, this one {} s", lasts.as_secs()))
}

fn duration(key: &str, text: &str) -> anyhow::Result<Duration> {
    if text.trim_start().starts_with('-') {
        return Err(anyhow!("{key}, `{text}`: a time is not negative: profiles begin at 0"));
    }
    parse_duration(text).map_err(|error| anyhow!("{key}, `{text}`: {error}"))
}

fn rate(key: &str, text: &str) -> anyhow::Result<Rate> {
    match parse_rate(text).map_err(|error| anyhow!("{key}, `{text}`: {error}"))? {
        (_, Some(Layer::L1 | Layer::L2 | Layer::L3)) => {
            Err(anyhow!("{key}, `{text}`: the rates of a profile are those of payload (l4)"))
        }
        (rate, _) if rate > RATE_MAX => Err(anyhow!("{key}, `{text}`: a rate is at most 1T")),
        (rate, _) => Ok(rate),
    }
}

/// `key=value,key=value`.
struct Keys<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Keys<'a> {
    fn of(text: &'a str) -> anyhow::Result<Self> {
        let parts = text.split(',').filter(|part| !part.is_empty());
        let pair = |part: &'a str| {
            part.split_once('=')
                .ok_or_else(|| anyhow!("`{part}`: expected key=value, such as peak=300M"))
        };
        parts.map(pair).collect::<Result<_, _>>().map(Self)
    }

    fn take(&mut self, key: &str) -> Option<&'a str> {
        let place = self.0.iter().position(|(known, _)| *known == key)?;
        Some(self.0.remove(place).1)
    }

    /// A rate that must be there and be more than zero.
    fn rate(&mut self, key: &str) -> anyhow::Result<Rate> {
        let Some(text) = self.take(key) else { return Err(anyhow!("{key}=RATE is missing")) };
        match rate(key, text)? {
            Rate::ZERO => Err(anyhow!("{key} must be more than zero")),
            rate => Ok(rate),
        }
    }

    fn time(&mut self, key: &str) -> anyhow::Result<Option<Duration>> {
        self.take(key).map(|text| duration(key, text)).transpose()
    }

    fn interval(&mut self) -> anyhow::Result<Option<Duration>> {
        match self.time("interval")? {
            Some(time) if time < Duration::from_millis(10) => {
                Err(anyhow!("an interval is at least 10 ms"))
            }
            time => Ok(time),
        }
    }

    fn seed(&mut self, by_default: u64) -> anyhow::Result<u64> {
        let Some(text) = self.take("seed") else { return Ok(by_default) };
        text.parse().map_err(|_| anyhow!("seed, `{text}`: a whole number from 0 to {}", u64::MAX))
    }

    fn nothing_left(&self, known: &str) -> anyhow::Result<()> {
        match self.0.first() {
            Some((key, _)) => Err(anyhow!("there is no key `{key}` here: there are {known}")),
            None => Ok(()),
        }
    }

    fn endless(
        mut self,
        text: &str,
        profile: Profile,
        arrivals: Arrivals,
    ) -> anyhow::Result<Shape> {
        let interval = self.interval()?;
        self.nothing_left("rate, on, off, seed and interval")?;
        Ok(Shape { written: text.to_owned(), profile, arrivals, lasts: None, interval })
    }
}
