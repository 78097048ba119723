//! A run can be judged again from its evidence and its plan, both as JSON.

use std::time::Duration;

use fp_method::flow::{self, Arrivals, Criteria, Lines, PathAsk, Plan, PlannedFlow, SharedProfile};
use fp_method::formula::profile::{Profile, Wave};
use fp_model::{
    CongestionControl, Direction, Dscp, Evidence, Family, FlowSpec, FrameSizes, FramesLoad, Load,
    Pace, Rate, Recorder, Replay, Sender, TcpEngine, TcpLoad, Timing,
};
use fp_net::path::{LinkSpec, PathSpec};
use fp_net::sim::SimTestbed;
use fp_report::Work;
use serde_json::Value;

fn plan() -> Plan {
    let tcp = Load::Tcp(TcpLoad {
        connections: 2,
        window_bytes: 64_000,
        mss_bytes: 1460,
        sender: Sender::Bulk,
        congestion_control: CongestionControl::Cubic,
        pacing: None,
        pace: Pace::Unlimited,
        write_bytes: None,
        engine: TcpEngine::Kernel,
    });
    let udp = Load::Frames(FramesLoad::new(
        FrameSizes::new(vec![64, 570, 1518]).unwrap(),
        Pace::Constant { rate: Rate::mbps(1) },
    ));
    let planned = |name: &str, direction, load| PlannedFlow {
        name: name.into(),
        class: None,
        spec: FlowSpec::new(direction, Family::Ipv4, Dscp::BEST_EFFORT, load),
    };
    let wave = Wave { low_bps: Rate::mbps(1), peak_bps: Rate::mbps(9), period_ns: 1_000_000_000 };
    let ask = |direction| PathAsk { family: Family::Ipv4, direction, limit_bytes: 1500 };
    let plan = Plan {
        path: vec![ask(Direction::Upload), ask(Direction::Download)],
        flows: vec![
            planned("tcp", Direction::Upload, tcp),
            planned("udp", Direction::Upload, udp.clone()),
            planned("back", Direction::Download, udp),
        ],
        timing: Timing {
            warm_up: Duration::ZERO,
            steady: Duration::from_secs(2),
            settle: Duration::from_millis(200),
        },
        lines: Lines { download: None, upload: Some(Rate::mbps(10)) },
        profile: None,
        criteria: Criteria { rate_min_l4: Some(Rate::mbps(1)), loss_max_percent: Some(1.0) },
    };
    plan.following(SharedProfile {
        written: "sawtooth".into(),
        profile: Profile::Sawtooth(wave),
        arrivals: Arrivals::Even,
        interval: Duration::from_millis(100),
    })
}

#[test]
fn the_evidence_of_a_run_gives_the_same_report() {
    let link = LinkSpec { line_rate: Some(Rate::mbps(10)), ..LinkSpec::default() };
    let path = PathSpec::symmetric("ten", vec![link]);
    let asked = plan();
    let mut recorder = Recorder::new(SimTestbed::new(&path, 1));
    let (report, end) = flow::run(&asked, &mut recorder);
    end.unwrap();
    let (_, evidence) = recorder.into_parts();
    let written = serde_json::to_string(&(&asked, &evidence)).unwrap();
    let (plan, evidence): (Plan, Vec<Evidence>) = serde_json::from_str(&written).unwrap();
    assert_eq!(plan, asked);
    let (again, end) = flow::run(&plan, &mut Replay::of(evidence));
    end.unwrap();
    assert_eq!(report, again);
    // The path each way, three flows, a sum of the two that go the same way, a profile for each way.
    assert_eq!(report.steps.len(), 8);
}

/// Across the lab and in virtual time.
#[test]
fn the_evidence_of_a_result_gives_the_same_report_to_the_last_byte() {
    for name in [
        "flow-tcp-sim",
        "flow-udp-sim",
        "flow-classes-sim",
        "flow-profile-sim",
        "flow-loss-sim",
        "flow-tcp-lab",
        "flow-udp-lab",
        "flow-classes-lab",
    ] {
        let result: Value = serde_json::from_str(&crate::recorded::text(name)).unwrap();
        let again = crate::judged::again(
            &result,
            |_| {},
            |plan: Plan, bed| Work::run(&flow::METHOD, plan, bed),
        );
        crate::judged::expect_the_same(&result, &again);
    }
}
