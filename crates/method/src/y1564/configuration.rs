//! The service configuration test: one service after the other, step by step.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, Rate};

use super::offer::{self, Offer};
use super::plan::{Configuration, Frames, Plan, Service, Traffic};
use super::steps::{Offered, ServiceStep, Step};
use super::{Run, step};
use crate::tester::REPEATS;

pub(super) fn test(
    run: &mut Run<'_>,
    configuration: &Configuration,
    place: usize,
) -> Result<(), Abort> {
    let service = &run.plan.services[place];
    for offered in steps_of(service, configuration) {
        let name = format!("{}, {offered}", service.name);
        let mut offer = offer_of(run, configuration, (place, offered));
        offer.trial.name = name;
        let steps = measure(run, configuration, &offer, offered)?;
        run.report.steps.extend(steps.into_iter().map(Step::Configuration));
    }
    Ok(())
}

/// What is offered of a service, in this order.
fn steps_of(service: &Service, configuration: &Configuration) -> Vec<Offered> {
    let Traffic::Frames(frames) = &service.traffic else {
        return Vec::from([Offered::Cir { percent: 100 }]);
    };
    let percents = configuration.cir_steps_percent.iter();
    let mut steps: Vec<_> = percents.map(|percent| Offered::Cir { percent: *percent }).collect();
    if frames.eir_l2 > Rate::ZERO {
        steps.push(Offered::Eir);
    }
    steps.push(Offered::Policing);
    if configuration.bursts && frames.cbs_bytes.is_some() {
        steps.push(Offered::Cbs);
    }
    if configuration.bursts && tests_ebs(frames) {
        steps.push(Offered::Ebs);
    }
    steps
}

/// Without colours the excess bucket is only met behind the committed one, whose size must be known.
fn tests_ebs(frames: &Frames) -> bool {
    let has_excess = frames.eir_l2 > Rate::ZERO && frames.ebs_bytes.is_some();
    has_excess && (frames.cbs_bytes.is_some() || frames.is_colour_aware())
}

fn offer_of(
    run: &Run<'_>,
    configuration: &Configuration,
    (place, offered): (usize, Offered),
) -> Offer {
    let (plan, rtt, lasts) = (run.plan, run.rtt, configuration.step);
    match &plan.services[place].traffic {
        Traffic::Tcp(tcp) => offer::connections(plan, place, *tcp, lasts, rtt),
        Traffic::Frames(frames) => match offered {
            Offered::Cbs | Offered::Ebs => {
                offer::bursts(plan, place, (frames, offered), lasts, rtt)
            }
            Offered::Cir { .. } | Offered::Eir | Offered::Policing => {
                let rates = offer::rates(&plan.services[place], frames, configuration, offered);
                offer::stream(plan, place, (frames, rates), lasts, rtt)
            }
        },
    }
}

fn measure(
    run: &mut Run<'_>,
    configuration: &Configuration,
    offer: &Offer,
    offered: Offered,
) -> Result<Vec<ServiceStep>, Abort> {
    let (plan, rtt) = (run.plan, run.rtt);
    let context =
        step::Context { plan, offer, offered, margin_percent: configuration.margin_percent, rtt };
    run.offer(offer, REPEATS, |seen| step::of_each_service(&context, seen))
}

impl Plan {
    /// How long the run takes at least, for whoever has to wait.
    pub fn lasts(&self) -> Duration {
        let configuration = self.configuration.iter().flat_map(|configuration| {
            let steps = self.services.iter().map(|service| steps_of(service, configuration).len());
            steps.map(|steps| configuration.step * steps as u32)
        });
        configuration.chain(self.performance).sum()
    }
}
