//! Criteria of an RFC 6349 run that nothing was measured for.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use fp_model::Direction;

use super::{Plan, Role, Step, TcpStep, Thresholds};
use crate::verdict::{Status, Verdict};

/// The criteria without a measurement, each a sentence.
pub(super) fn criteria(plan: &Plan, steps: &[Step]) -> Vec<String> {
    let Thresholds { efficiency_percent, buffer_delay_percent, .. } = plan.thresholds;
    if plan.thresholds == Thresholds::default() {
        return Vec::new();
    }
    let unreached = unreached(steps);
    let mut all: Vec<String> = unreached
        .iter()
        .map(|direction| {
            format!(
                "{direction}: what was asked was compared with nothing, because the tester did not \
                 reach the limit of the path: give what was sold with --cir"
            )
        })
        .collect();
    let mut expect = |is_asked: bool, what: &str, is_known: fn(&TcpStep) -> bool| {
        let is_unknown = |direction: &Direction| {
            let mut mine = throughputs(steps).filter(|step| step.direction == *direction);
            mine.any(|step| !is_known(step)) && !unreached.contains(direction)
        };
        let directions = [Direction::Download, Direction::Upload];
        let unknown = directions.iter().filter(|direction| is_asked && is_unknown(direction));
        all.extend(unknown.map(|direction| {
            format!(
                "{direction}: the {what} asked for is unknown: the sending end does not tell it"
            )
        }));
    };
    expect(efficiency_percent.is_some(), "TCP efficiency", |s| s.efficiency_percent.is_some());
    expect(buffer_delay_percent.is_some(), "buffer delay", |s| s.buffer_delay_percent.is_some());
    all
}

/// Of a path whose limit was reached in one direction alone, the other one is not decided.
pub(super) fn heed_half(verdict: &mut Verdict, steps: &[Step]) {
    if verdict.status == Status::Pass && !unreached(steps).is_empty() {
        verdict.status = Status::Inconclusive;
    }
}

fn unreached(steps: &[Step]) -> Vec<Direction> {
    let direction = |step: &Step| match step {
        Step::Bottleneck(limit) if !limit.is_known() => Some(limit.direction),
        Step::PathMtu(_) | Step::BaselineRtt(_) | Step::Bottleneck(_) | Step::Tcp(_) => None,
    };
    steps.iter().filter_map(direction).collect()
}

fn throughputs(steps: &[Step]) -> impl Iterator<Item = &TcpStep> {
    steps.iter().filter_map(|step| match step {
        Step::Tcp(tcp) if tcp.role == Role::Throughput => Some(tcp),
        Step::PathMtu(_) | Step::BaselineRtt(_) | Step::Bottleneck(_) | Step::Tcp(_) => None,
    })
}
