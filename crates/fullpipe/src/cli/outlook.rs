//! When a run will be over: its method is run in virtual time across a path like the one found so far, and
//! the trials that come there tell which are still to come here.

mod known;

use std::time::Duration;

use fp_engine::os::clock;
use fp_model::{Abort, Evidence, FlowSpec, Load, Observation, Recorder, Testbed, Time, Trial};
use fp_net::sim::SimTestbed;
use fp_report::Work;

use super::measure::{Ends, Measured};
use crate::exit::Failure;
use known::Known;

/// No prediction may keep a run waiting for longer.
const PATIENCE: Duration = Duration::from_millis(500);

/// The trials of a run like this one.
#[derive(Debug)]
pub(super) struct Outlook {
    patience: Duration,
    known: Option<Known>,
    /// Their names, and the time from the start of each to the end of the run.
    trials: Vec<(String, Duration)>,
    /// Those that are over here.
    place: usize,
    /// When the run is over, from its start, where its plan alone tells.
    planned: Option<Duration>,
}

impl Default for Outlook {
    fn default() -> Self {
        Self { patience: PATIENCE, known: None, trials: Vec::new(), place: 0, planned: None }
    }
}

impl Outlook {
    /// Takes in what a run has found so far.
    pub(super) fn learn(
        &mut self,
        ends: &Ends,
        evidence: &[Evidence],
        work: &Work,
        method: &impl Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
    ) {
        if let Some(plan) = work.plan::<fp_method::y1564::Plan>() {
            // Before what was planned the path's MTU and round trip are looked at.
            let is_probes = |flow: &FlowSpec| matches!(flow.load, Load::Probes(_));
            if let Some(last) = evidence.last().filter(|one| one.trial.flows.iter().all(is_probes))
            {
                let timing = &last.trial.timing;
                let began = last.observation.began.unwrap_or_default();
                self.planned = Some(began + timing.active() + plan.lasts());
            }
        }
        let Some(mut known) = Known::of(evidence, work) else { return };
        if let Some(before) = &self.known {
            known.keep(before);
        }
        if self.known.as_ref() == Some(&known) {
            return;
        }
        let path = known.path();
        self.known = Some(known);
        let mut bed = Hasty {
            bed: Recorder::new(SimTestbed::new(&path, 1)),
            until: clock::now() + self.patience,
        };
        let outcome = method(ends, &mut bed);
        if !matches!(outcome, Ok(Measured { end: Ok(()), .. })) {
            // The next one is of another path, and may take less time.
            self.trials.clear();
            return;
        }
        let trials = bed.bed.into_parts().1;
        let begins = |one: &Evidence| one.observation.began.unwrap_or_default();
        let whole =
            trials.last().map_or(Duration::ZERO, |last| begins(last) + last.trial.timing.active());
        self.trials = trials
            .iter()
            .map(|one| (one.trial.name.clone(), whole.saturating_sub(begins(one))))
            .collect();
        // What has been run here stands there as well, as far as it was the same.
        self.place = 0;
        for one in evidence {
            self.from(&one.trial, Duration::ZERO);
        }
    }

    /// How long the run takes from the start of this trial on, its own time included, when it has taken
    /// this long until then.
    pub(super) fn from(&mut self, trial: &Trial, elapsed: Duration) -> Option<Duration> {
        let Some((_, whole)) = self.trials.first().cloned() else {
            return self.planned.map(|planned| planned.saturating_sub(elapsed));
        };
        let from = |place: usize| self.trials.get(place).map_or(Duration::ZERO, |(_, left)| *left);
        // What nobody foresaw takes its own time, and then the rest.
        let (place, own, over) = match self.next(&trial.name) {
            Some(place) => (place, Duration::ZERO, place + 1),
            None => (self.place, trial.timing.active(), self.place),
        };
        self.place = over;
        // Hosts take their time between two trials, and repeat some, which no simulation does.
        let late = elapsed.saturating_sub(whole - from(place)) / self.place.max(1) as u32;
        Some(own + from(place) + late * self.trials.len().saturating_sub(place) as u32)
    }

    /// Which of the trials one of this name is: of those of its kind that come next together the one of the
    /// very name, or else the first, unless it only repeats the last one.
    fn next(&self, name: &str) -> Option<usize> {
        let is = |place: usize| self.trials.get(place).is_some_and(|(known, _)| same(known, name));
        let first = (self.place..self.trials.len()).find(|place| is(*place));
        let together = first.into_iter().flat_map(|first| (first..).take_while(|place| is(*place)));
        let very = together.clone().find(|place| self.trials[*place].0 == name);
        let last = self.place.checked_sub(1).map(|last| &self.trials[last].0);
        let repeats = last.is_some_and(|last| last == name || same(last, name) && !is(self.place));
        if very.is_none() && repeats { None } else { very.or(first) }
    }
}

/// Whether two trials differ by no more than the numbers in their names, which may be the path's.
fn same(name: &str, other: &str) -> bool {
    let [one, other] = [name, other].map(|name| name.chars().filter(|c| !c.is_ascii_digit()));
    one.eq(other)
}

/// A simulation that gives up.
struct Hasty {
    bed: Recorder<SimTestbed>,
    until: Time,
}

impl Testbed for Hasty {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        if clock::now() > self.until { Err(Abort::Stopped) } else { self.bed.run(trial) }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use fp_method::{burst, rfc2544, rfc6349, rfc7640};
    use fp_model::{Family, Layer, LayeredRate, Rate};
    use fp_net::path::PathSpec;

    use super::*;
    use crate::network;

    /// A run whose every trial is foretold before it begins, and what was foretold: how far the run was on
    /// the path, and how long it would still take.
    struct Foretold<'a> {
        bed: Recorder<SimTestbed>,
        outlook: Outlook,
        method: &'a dyn Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
        said: &'a RefCell<Vec<(Duration, Option<Duration>)>>,
        is_over: &'a Cell<Duration>,
    }

    impl Testbed for Foretold<'_> {
        fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
            let left = self.outlook.from(trial, Duration::ZERO);
            let seen = self.bed.run(trial)?;
            let began = seen.began.unwrap();
            self.said.borrow_mut().push((began, left));
            self.is_over.set(began + trial.timing.active());
            let mut so_far = super::super::live_steps::SoFar(self.bed.evidence().iter());
            let measured = (self.method)(&Ends::unknown(), &mut so_far).unwrap();
            self.outlook.learn(&Ends::unknown(), self.bed.evidence(), &measured.work, &self.method);
            Ok(seen)
        }
    }

    /// How far the trial at each share of a run was off with what it said of the run's whole time, with
    /// that share.
    fn errors(
        net: &PathSpec,
        method: &dyn Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
    ) -> Vec<(f64, f64)> {
        let (said, is_over) = (RefCell::default(), Cell::default());
        let bed = Recorder::new(SimTestbed::new(net, 3));
        let outlook = Outlook { patience: Duration::from_secs(60), ..Outlook::default() };
        let mut run = Foretold { bed, outlook, method, said: &said, is_over: &is_over };
        method(&Ends::unknown(), &mut run).unwrap();
        let whole = is_over.get().as_secs_f64();
        let share = |began: Duration| began.as_secs_f64() / whole;
        said.take()
            .iter()
            .map(|(began, left)| match left {
                Some(left) => (share(*began), share(*began + *left) - 1.0),
                None => (share(*began), f64::INFINITY),
            })
            .collect()
    }

    /// From when one direction is known, the end of the whole run is known within a fifth: of paths that need
    /// no trial a second time, which chance decides.
    fn expect_foretold(
        names: &[&str],
        method: &dyn Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
    ) {
        for name in names {
            let errors = errors(&network::load(name).unwrap(), method);
            let off = errors.iter().find(|(share, off)| *share > 0.35 && off.abs() >= 0.2);
            assert!(off.is_none(), "{name}: {off:?}");
        }
    }

    #[test]
    fn the_end_of_a_test_is_foretold_within_a_fifth_once_one_direction_is_known() {
        let names = ["metro-40m-cbs64k", "metro-40m-cbs275k", "line-100m-10ms", "bufferbloat-20m"];
        expect_foretold(&names, &|ends, bed| {
            let plan = rfc6349::Plan::new(Family::Ipv4, ends.interface_mtu_bytes);
            Ok(Work::run(&rfc6349::METHOD, plan, bed).into())
        });
    }

    /// The same of a benchmark, whose trials are as many as what passes is below the line.
    #[test]
    fn the_end_of_a_benchmark_is_foretold_within_a_fifth_once_one_direction_is_known() {
        expect_foretold(
            &["metro-40m-cbs64k", "line-100m-10ms", "bufferbloat-20m"],
            &|ends, bed| {
                let plan = rfc2544::Plan::new(Family::Ipv4, ends.interface_mtu_bytes);
                Ok(Work::run(&rfc2544::METHOD, plan, bed).into())
            },
        );
    }

    /// The same of what is to find a policer that was sold.
    #[test]
    fn the_end_of_a_burst_test_is_foretold_within_a_fifth_once_one_direction_is_known() {
        let cir = LayeredRate { rate: Rate::mbps(40), layer: Layer::L2 };
        for goal in [burst::Goal::Verify { cir, cbs_bytes: 64_000 }, burst::Goal::Discover] {
            expect_foretold(&["metro-40m-cbs64k"], &|ends, bed| {
                let plan = burst::Plan::new(Family::Ipv4, ends.interface_mtu_bytes, goal);
                Ok(Work::run(&burst::METHOD, plan, bed).into())
            });
        }
    }

    /// The same of tests of a device that the plan describes.
    #[test]
    fn the_end_of_a_device_test_is_foretold_within_a_fifth_once_one_direction_is_known() {
        let policer = rfc7640::PolicerPlan {
            cir_l2: Rate::mbps(40),
            cbs_bytes: 64_000,
            eir_l2: Rate::ZERO,
            ebs_bytes: 0,
        };
        expect_foretold(&["metro-40m-cbs64k"], &|ends, bed| {
            let plan = rfc7640::Plan::new(Family::Ipv4, ends.interface_mtu_bytes);
            let plan = rfc7640::Plan { policer: Some(policer), ..plan };
            Ok(Work::run(&rfc7640::METHOD, plan, bed).into())
        });
        let bandwidth = LayeredRate { rate: Rate::mbps(20), layer: Layer::L1 };
        let queue = rfc7640::QueuePlan {
            queue_bytes: 600_000,
            bandwidth,
            scheduler: rfc7640::Scheduler::Fifo,
        };
        expect_foretold(&["bufferbloat-20m"], &|ends, bed| {
            let plan = rfc7640::Plan::new(Family::Ipv4, ends.interface_mtu_bytes);
            let plan = rfc7640::Plan { queue: Some(queue.clone()), ..plan };
            Ok(Work::run(&rfc7640::METHOD, plan, bed).into())
        });
    }
}
