//! What the screen shows of a run: fed by its events and by keys, without a terminal.

use std::time::Duration;

use fp_model::{ConnectionsSample, Direction, Event, Load, Sample, Time, Trial};
use fp_report::StepLine;

use super::curve::{Curve, Quantity};

/// What somebody may ask of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// End the run and keep what was measured.
    Stop,
    NextQuantity,
    PreviousQuantity,
    Longer,
    Shorter,
    EarlierSteps,
    LaterSteps,
    Help,
}

/// How much of the past the curves show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Span {
    Trial,
    #[default]
    Minute,
    Run,
}

/// A run under way.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) across: String,
    begun: Time,
    /// How long the run will still take, where that can be told.
    pub(crate) left: Option<Duration>,
    pub(crate) trial: Option<Running>,
    pub(crate) trials_done: usize,
    /// How long all trials took that are over.
    before: Duration,
    /// How long those before the last one took.
    trial_from: Duration,
    /// Download and upload.
    pub(crate) curves: [Curve; 2],
    pub(crate) steps: Vec<StepLine>,
    pub(crate) quantity: Quantity,
    pub(crate) span: Span,
    /// Steps between the last one that is shown and the last one.
    pub(crate) steps_below: usize,
    pub(crate) shows_help: bool,
    pub(crate) is_stopping: bool,
}

/// A trial under way.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) trial: Trial,
    begun: Time,
    /// The end of the last slot that is known.
    known: Duration,
}

/// How far a trial is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Progress {
    pub(crate) elapsed: Duration,
    pub(crate) whole: Duration,
}

impl Progress {
    pub(crate) fn share(self) -> f64 {
        let whole = self.whole.as_secs_f64();
        if whole > 0.0 { (self.elapsed.as_secs_f64() / whole).min(1.0) } else { 1.0 }
    }

    pub(crate) const fn left(self) -> Duration {
        self.whole.saturating_sub(self.elapsed)
    }
}

impl Running {
    /// By the slots that are known, and by the clock before there are any.
    pub(crate) fn progress(&self, now: Time) -> Progress {
        let timing = &self.trial.timing;
        let whole = timing.active();
        let elapsed = if self.known.is_zero() { now.since(self.begun) } else { self.known };
        Progress { elapsed: elapsed.min(whole), whole }
    }

    pub(crate) fn is_warming_up(&self, now: Time) -> bool {
        self.progress(now).elapsed < self.trial.timing.warm_up
    }

    /// Of which layer the rates are.
    pub(crate) fn layer(&self) -> &'static str {
        let is_tcp = |flow: &fp_model::FlowSpec| matches!(flow.load, Load::Tcp(_));
        let tcp = self.trial.flows.iter().filter(|flow| is_tcp(flow)).count();
        match (tcp, self.trial.flows.len()) {
            (0, _) => "l2",
            (tcp, all) if tcp == all => "l4",
            _ => "TCP l4, frames l2",
        }
    }
}

impl View {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            across: String::new(),
            begun: now,
            left: None,
            trial: None,
            trials_done: 0,
            before: Duration::ZERO,
            trial_from: Duration::ZERO,
            curves: Default::default(),
            steps: Vec::new(),
            quantity: Quantity::default(),
            span: Span::default(),
            steps_below: 0,
            shows_help: false,
            is_stopping: false,
        }
    }

    pub(crate) const fn elapsed(&self, now: Time) -> Duration {
        now.since(self.begun)
    }

    pub(crate) fn on_event(&mut self, now: Time, event: &Event) {
        match event {
            Event::Started(trial) => {
                // A trial that was broken off and begun again has taken its time as well.
                self.close_trial();
                self.trial_from = self.before;
                self.curves.iter_mut().for_each(|curve| curve.begin_trial(self.before));
                let trial = trial.clone();
                self.trial = Some(Running { trial, begun: now, known: Duration::ZERO });
            }
            Event::Sampled { flow, direction, sample } => {
                let Some(running) = &mut self.trial else { return };
                let timing = &running.trial.timing;
                // What comes after that is late, and says nothing of a rate.
                if sample.at >= timing.active() {
                    return;
                }
                running.known = running.known.max(sample.at + sample.lasts);
                let load = running.trial.flows.get(*flow).map(|flow| &flow.load);
                let is_of_frames = matches!(load, Some(Load::Frames(_)));
                self.curves[place(*direction)].on_sample(sample, is_of_frames);
            }
            Event::Counted { direction, sample, .. } => self.on_connections(*direction, sample),
            Event::Finished(_) => {
                self.close_trial();
                self.trials_done += 1;
            }
        }
    }

    /// What came from the far end is drawn as download; how many are open, with who opened them.
    fn on_connections(&mut self, opened: Direction, counted: &ConnectionsSample) {
        let Some(running) = &mut self.trial else { return };
        let timing = &running.trial.timing;
        let steady_until = timing.active();
        if counted.at >= steady_until {
            return;
        }
        running.known = running.known.max(counted.at + counted.lasts);
        // Whoever opens is the client: what it sends goes the way of the flow.
        let (with_the_flow, back) = (counted.upload_good_bytes, counted.download_good_bytes);
        for direction in [Direction::Download, Direction::Upload] {
            let is_of_flow = direction == opened;
            let good_bytes = if is_of_flow { with_the_flow } else { back };
            let sample = Sample {
                at: counted.at,
                lasts: counted.lasts,
                steady: true,
                received_bytes: Some(good_bytes),
                active_connections: is_of_flow.then_some(counted.active),
                ..Sample::default()
            };
            self.curves[place(direction)].on_sample(&sample, false);
        }
    }

    fn close_trial(&mut self) {
        if let Some(ended) = self.trial.take() {
            self.before += ended.known;
        }
    }

    pub(crate) fn on_steps(&mut self, steps: Vec<StepLine>) {
        // Whoever looks at earlier ones goes on seeing them.
        if self.steps_below > 0 {
            self.steps_below += steps.len().saturating_sub(self.steps.len());
        }
        self.steps = steps;
    }

    pub(crate) fn on_wish(&mut self, wish: Wish) {
        let turned = |by: usize| {
            let all = Quantity::ALL;
            let now = all.iter().position(|quantity| *quantity == self.quantity).unwrap_or(0);
            all[(now + by) % all.len()]
        };
        match wish {
            Wish::Stop => self.is_stopping = true,
            Wish::NextQuantity => self.quantity = turned(1),
            Wish::PreviousQuantity => self.quantity = turned(Quantity::ALL.len() - 1),
            Wish::Longer => {
                self.span = if self.span == Span::Trial { Span::Minute } else { Span::Run };
            }
            Wish::Shorter => {
                self.span = if self.span == Span::Run { Span::Minute } else { Span::Trial };
            }
            Wish::EarlierSteps => {
                self.steps_below = (self.steps_below + 1).min(self.steps.len().saturating_sub(1));
            }
            Wish::LaterSteps => self.steps_below = self.steps_below.saturating_sub(1),
            Wish::Help => self.shows_help = !self.shows_help,
        }
    }

    /// From when to when the curves are shown, as time of trials.
    pub(crate) fn window(&self) -> (Duration, Duration) {
        const MINUTE: Duration = Duration::from_secs(60);
        const LEAST: Duration = Duration::from_secs(1);
        let last = self.curves.iter().filter_map(|curve| curve.slots().last());
        let until = last.map(|slot| slot.until).max().unwrap_or_default().max(LEAST);
        let from = match self.span {
            Span::Trial => self.trial_from.min(until.saturating_sub(LEAST)),
            Span::Minute => until.saturating_sub(MINUTE),
            Span::Run => Duration::ZERO,
        };
        (from, until)
    }
}

pub(crate) const fn place(direction: Direction) -> usize {
    match direction {
        Direction::Download => 0,
        Direction::Upload => 1,
    }
}

#[cfg(test)]
mod tests {
    use fp_model::{
        CongestionControl, Dscp, Family, FlowSpec, Observation, Sample, Sender, TcpEngine, TcpLoad,
        Timing,
    };
    use fp_report::StepOutcome;

    use super::*;

    fn trial() -> Trial {
        let load = TcpLoad {
            connections: 4,
            window_bytes: 65_535,
            mss_bytes: 1460,
            sender: Sender::Bulk,
            congestion_control: CongestionControl::Cubic,
            pacing: None,
            pace: fp_model::Pace::Unlimited,
            write_bytes: None,
            engine: TcpEngine::Kernel,
        };
        let flow = FlowSpec::new(Direction::Upload, Family::Ipv4, Dscp::default(), Load::Tcp(load));
        let timing = Timing {
            warm_up: Duration::from_secs(1),
            steady: Duration::from_secs(3),
            settle: Duration::from_secs(1),
        };
        Trial { name: String::from("TCP"), flows: vec![flow], timing }
    }

    fn sampled(at_ms: u64) -> Event {
        let sample = Sample {
            at: Duration::from_millis(at_ms),
            lasts: Duration::from_millis(200),
            received_bytes: Some(1000),
            ..Sample::default()
        };
        Event::Sampled { flow: 0, direction: Direction::Upload, sample }
    }

    const START: Time = Time::from_nanos(5_000_000_000);

    #[test]
    fn a_trial_is_as_far_as_its_last_slot_and_by_the_clock_before_the_first() {
        let mut view = View::new(START);
        view.on_event(START, &Event::Started(trial()));
        let after = Time::from_nanos(5_300_000_000);
        let progress = |view: &View| view.trial.as_ref().unwrap().progress(after);
        assert_eq!(progress(&view).elapsed, Duration::from_millis(300));
        assert!(view.trial.as_ref().unwrap().is_warming_up(after));
        view.on_event(after, &sampled(800));
        // 1.0 s of 1 + 3.
        assert_eq!((progress(&view).share(), progress(&view).left().as_secs()), (0.25, 3));
        assert!(!view.trial.as_ref().unwrap().is_warming_up(after));
        // What arrives while the path falls idle belongs to no curve.
        view.on_event(after, &sampled(4000));
        assert_eq!(view.curves[1].slots().len(), 1);
    }

    #[test]
    fn trials_stand_behind_each_other_and_the_curves_show_as_much_of_them_as_is_wanted() {
        let mut view = View::new(START);
        for _ in 0..2 {
            view.on_event(START, &Event::Started(trial()));
            view.on_event(START, &sampled(3800));
            view.on_event(START, &Event::Finished(Observation::default()));
        }
        assert_eq!((view.trials_done, view.trial.is_none()), (2, true));
        let seconds = |view: &View| (view.window().0.as_secs(), view.window().1.as_secs());
        assert_eq!(seconds(&view), (0, 8));
        view.on_wish(Wish::Shorter);
        assert_eq!(seconds(&view), (4, 8), "the last trial alone");
    }

    #[test]
    fn many_connections_are_drawn_by_what_they_carry_and_how_many_are_open() {
        let mut view = View::new(START);
        view.on_event(START, &Event::Started(trial()));
        let sample = ConnectionsSample {
            at: Duration::from_secs(2),
            lasts: Duration::from_secs(1),
            active: 70,
            upload_good_bytes: 1_000,
            download_good_bytes: 2_000,
            ..ConnectionsSample::default()
        };
        let direction = Direction::Download;
        view.on_event(START, &Event::Counted { flow: 0, direction, sample });
        let drawn = |direction: Direction, quantity| {
            view.curves[place(direction)].slots()[0].value(quantity)
        };
        // The far end opens: its payload comes here.
        assert_eq!(drawn(Direction::Download, Quantity::Throughput), Some(8_000.0));
        assert_eq!(drawn(Direction::Upload, Quantity::Throughput), Some(16_000.0));
        assert_eq!(drawn(Direction::Download, Quantity::Active), Some(70.0));
        assert_eq!(drawn(Direction::Upload, Quantity::Active), None);
    }

    #[test]
    fn who_looks_at_earlier_steps_goes_on_seeing_them() {
        let step = |number: usize| StepLine {
            name: number.to_string(),
            figure: String::new(),
            outcome: StepOutcome::Done,
            remark: String::new(),
        };
        let mut view = View::new(START);
        view.on_steps((0..5).map(step).collect());
        view.on_wish(Wish::EarlierSteps);
        view.on_steps((0..7).map(step).collect());
        assert_eq!(view.steps_below, 3);
        (0..9).for_each(|_| view.on_wish(Wish::EarlierSteps));
        assert_eq!(view.steps_below, 6, "the first one stays");
    }

    #[test]
    fn keys_turn_the_curves_round_and_back() {
        let mut view = View::new(START);
        view.on_wish(Wish::PreviousQuantity);
        assert_eq!(view.quantity, Quantity::Active);
        view.on_wish(Wish::NextQuantity);
        assert_eq!(view.quantity, Quantity::Throughput);
    }
}
