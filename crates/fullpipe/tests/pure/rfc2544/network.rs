//! Small networks, and the method run over their simulation.

use std::time::Duration;

use fp_method::rfc2544::{self, Plan, Report, Step, Test, Throughput, Way};
use fp_model::{Family, Rate};
use fp_net::path::{LinkSpec, PathSpec, PoliceSpec, QueueLimit, QueueSpec};
use fp_net::sim::SimTestbed;

/// A port of this rate with a millisecond of fibre behind it.
pub(crate) fn port(line: Rate) -> LinkSpec {
    LinkSpec {
        line_rate: Some(line),
        delay: Duration::from_millis(1),
        queue: Some(QueueSpec { limit: QueueLimit::Packets(1000), ..QueueSpec::default() }),
        ..LinkSpec::default()
    }
}

/// The same with a queue of so many packets.
pub(crate) fn port_with_queue(line: Rate, packets: u64) -> LinkSpec {
    let queue = QueueSpec { limit: QueueLimit::Packets(packets), ..QueueSpec::default() };
    LinkSpec { queue: Some(queue), ..port(line) }
}

pub(crate) fn policed(line: Rate, cir_l2: Rate, cbs_bytes: u64) -> LinkSpec {
    let police = PoliceSpec::single_bucket(cir_l2, cbs_bytes);
    LinkSpec { police: Some(police), ..port(line) }
}

/// These links on the way up, a plain gigabit port on the way down.
pub(crate) fn upwards(links: &[LinkSpec]) -> PathSpec {
    let far_to_near = vec![port(Rate::mbps(1000))];
    PathSpec { far_to_near, ..PathSpec::symmetric("under test", links.to_vec()) }
}

/// One test of one frame length upwards over a gigabit port.
pub(crate) fn plan(frame_bytes: u32, test: Test) -> Plan {
    Plan {
        frame_lengths_bytes: vec![frame_bytes],
        path_mtu_row: false,
        tests: vec![test],
        ways: vec![Way::Upload],
        line_rate_l1: Some(Rate::mbps(1000)),
        ..Plan::new(Family::Ipv4, 1500)
    }
}

pub(crate) fn run(plan: &Plan, path: &PathSpec) -> Report {
    let mut bed = SimTestbed::new(path, 1);
    let (report, end) = rfc2544::run(plan, &mut bed);
    end.unwrap();
    report
}

pub(crate) fn throughputs(report: &Report) -> Vec<&Throughput> {
    fn found(step: &Step) -> Option<&Throughput> {
        match step {
            Step::Throughput(found) => Some(found),
            _ => None,
        }
    }
    report.steps.iter().filter_map(found).collect()
}

/// The only throughput, in bits per second at layer 2, and the trials that it took.
pub(crate) fn rate_l2(report: &Report) -> (f64, usize) {
    let [found] = throughputs(report)[..] else { panic!("one throughput: {report:#?}") };
    let rate = found.found.map_or(0, |rate| rate.at(fp_model::Layer::L2).as_bps());
    (rate as f64, found.trials.len())
}
