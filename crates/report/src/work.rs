//! What a method asked and found, whichever method it is.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use fp_method::methods::{Definition, Method};
use fp_method::verdict::{Check, Event, Report, Verdict};
use fp_model::figure::Row;
use fp_model::{Abort, Testbed};
use serde::Serialize;
use serde_json::{Value, json};

/// What was asked of a method and what it found.
#[derive(Clone, Debug)]
pub struct Work(Arc<dyn AnyWork + Send + Sync>);

/// What follows from the steps of any method.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    pub verdict: &'a Verdict,
    /// What the tester checked of itself.
    pub checks: &'a [Check],
    /// Where the run departs from its standard.
    pub deviations: &'a [String],
    /// What happened to trials, in the order of time.
    pub events: &'a [Event],
}

#[derive(Debug)]
struct WorkOf<P: 'static, S: 'static> {
    definition: &'static Definition<P, S>,
    plan: P,
    report: Report<S>,
}

trait AnyWork: Debug {
    fn method(&self) -> &'static Method;
    fn outcome(&self) -> Outcome<'_>;
    fn plan(&self) -> &dyn Any;
    fn plan_in_json(&self) -> Value;
    /// A `Vec` of the method's own steps.
    fn steps(&self) -> &dyn Any;
    fn rows(&self) -> Vec<Row>;
    fn is_met(&self, place: usize) -> Option<bool>;
}

impl<P, S> AnyWork for WorkOf<P, S>
where
    P: Serialize + Debug + 'static,
    S: Debug + 'static,
{
    fn method(&self) -> &'static Method {
        &self.definition.method
    }

    fn outcome(&self) -> Outcome<'_> {
        let Report { verdict, checks, deviations, events, steps: _ } = &self.report;
        Outcome { verdict, checks, deviations, events }
    }

    fn plan(&self) -> &dyn Any {
        &self.plan
    }

    fn plan_in_json(&self) -> Value {
        json!(self.plan)
    }

    fn steps(&self) -> &dyn Any {
        &self.report.steps
    }

    fn rows(&self) -> Vec<Row> {
        self.report.steps.iter().map(self.definition.row).collect()
    }

    fn is_met(&self, place: usize) -> Option<bool> {
        (self.definition.is_met)(&self.plan, &self.report, place)
    }
}

impl Work {
    pub fn new<P, S>(definition: &'static Definition<P, S>, plan: P, report: Report<S>) -> Self
    where
        P: Serialize + Debug + Send + Sync + 'static,
        S: Debug + Send + Sync + 'static,
    {
        Self(Arc::new(WorkOf { definition, plan, report }))
    }

    /// Runs the method; the second part says why it ended early, if it did.
    pub fn run<P, S>(
        definition: &'static Definition<P, S>,
        plan: P,
        bed: &mut dyn Testbed,
    ) -> (Self, Result<(), Abort>)
    where
        P: Serialize + Debug + Send + Sync + 'static,
        S: Debug + Send + Sync + 'static,
    {
        let (report, end) = (definition.run)(&plan, bed);
        (Self::new(definition, plan, report), end)
    }

    pub fn method(&self) -> &'static Method {
        self.0.method()
    }

    pub fn outcome(&self) -> Outcome<'_> {
        self.0.outcome()
    }

    /// The plan, if it is of this type.
    pub fn plan<P: 'static>(&self) -> Option<&P> {
        self.0.plan().downcast_ref()
    }

    /// The steps, if they are of this type.
    pub fn steps<S: 'static>(&self) -> Option<&[S]> {
        self.0.steps().downcast_ref::<Vec<S>>().map(Vec::as_slice)
    }

    pub(crate) fn plan_in_json(&self) -> Value {
        self.0.plan_in_json()
    }

    /// The steps as documents have them.
    pub(crate) fn steps_in_json(&self) -> Vec<Value> {
        let step = |(place, row): (usize, Row)| {
            let mut step = json!(row);
            if row.kind.is_judged {
                step["pass"] = json!(self.0.is_met(place));
            }
            step
        };
        self.0.rows().into_iter().enumerate().map(step).collect()
    }
}
