//! The simulator's TCP beside Linux's over the same networks: losses, round-trip times and receive
//! windows, of which `cargo xtask bench linux-grid` has measured the kernel's throughput.
//!
//! Both lose the frames of the same numbers, so that even a run of few losses can be compared.

use std::time::Duration;

use fp_model::{
    CongestionControl, Direction, Dscp, Family, FlowReport, FlowSpec, Load, Pace, Rate, Sender,
    TcpEngine, TcpLoad, Testbed as _, Timing, Trial,
};
use fp_net::path::{LinkSpec, LossSpec, PathSpec, Probability, QueueLimit, QueueSpec};
use fp_net::sim::SimTestbed;
use serde::Deserialize;

/// Of each round-trip time.
const CELLS: usize = 12;
/// What a median needs.
const RUNS_MIN: usize = 3;
/// How far the medians may be apart.
const TOLERANCE: f64 = 0.15;

#[derive(Debug, Deserialize)]
struct Table {
    line_bps: u64,
    cells: Vec<Cell>,
}

#[derive(Debug, Deserialize)]
struct Cell {
    loss_percent: f64,
    rtt_ms: u32,
    window_bytes: u64,
    queue_bytes: u64,
    warm_up_s: u64,
    steady_s: u64,
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
struct Run {
    seed: u64,
    rate_bps: u64,
}

impl Cell {
    fn path(&self, line_bps: u64) -> PathSpec {
        let loss = Probability::new(self.loss_percent / 100.0).map(LossSpec::Random);
        let back = LinkSpec {
            line_rate: Some(Rate::bps(line_bps)),
            delay: Duration::from_millis(self.rtt_ms.into()) / 2,
            ..LinkSpec::default()
        };
        let limit = QueueLimit::Bytes(self.queue_bytes);
        let there = LinkSpec {
            loss: loss.filter(|_| self.loss_percent > 0.0),
            queue: Some(QueueSpec { limit, ..QueueSpec::default() }),
            ..back.clone()
        };
        PathSpec {
            name: "grid".into(),
            description: String::new(),
            gateway: None,
            near_to_far: vec![there],
            far_to_near: vec![back],
        }
    }

    #[track_caller]
    fn simulated_bps(&self, line_bps: u64, seed: u64) -> u64 {
        let load = TcpLoad {
            connections: 1,
            window_bytes: self.window_bytes,
            mss_bytes: 1460,
            sender: Sender::Bulk,
            congestion_control: CongestionControl::Cubic,
            pacing: None,
            pace: Pace::Unlimited,
            write_bytes: None,
            engine: TcpEngine::Kernel,
        };
        let load = Load::Tcp(load);
        let flow = FlowSpec::new(Direction::Upload, Family::Ipv4, Dscp::BEST_EFFORT, load);
        let timing = Timing {
            warm_up: Duration::from_secs(self.warm_up_s),
            steady: Duration::from_secs(self.steady_s),
            settle: Duration::from_secs(1),
        };
        let trial = Trial { name: "grid".into(), flows: vec![flow], timing };
        let seen = SimTestbed::new(&self.path(line_bps), seed).run(&trial);
        match seen.map(|seen| seen.flows) {
            Ok(flows) => match &flows[0] {
                FlowReport::Tcp(report) => report.connections[0].good_bytes * 8 / self.steady_s,
                other => panic!("a TCP flow has a TCP report, not {other:?}"),
            },
            Err(abort) => panic!("{abort}"),
        }
    }
}

fn median(mut rates: Vec<u64>) -> f64 {
    rates.sort_unstable();
    rates[rates.len() / 2] as f64
}

/// What is simulated beside what was measured: the cells that are further apart than the tolerance.
fn cells_apart(rtt_ms: u32) -> (usize, String) {
    let read = serde_json::from_str(include_str!("golden/linux-grid.json"));
    let table: Table = read.unwrap_or_else(|error| panic!("golden/linux-grid.json: {error}"));
    let cells: Vec<&Cell> = table.cells.iter().filter(|cell| cell.rtt_ms == rtt_ms).collect();
    assert_eq!(cells.len(), CELLS, "of 4 losses and 3 windows");
    let (mut figures, mut apart) = (Vec::new(), 0);
    for cell in cells {
        assert!(cell.runs.len() >= RUNS_MIN, "{cell:?} lacks runs: cargo xtask bench linux-grid");
        let measured: Vec<u64> = cell.runs.iter().map(|run| run.rate_bps).collect();
        let simulate = |run: &Run| cell.simulated_bps(table.line_bps, run.seed);
        let simulated: Vec<u64> = cell.runs.iter().map(simulate).collect();
        let ratio = median(simulated.clone()) / median(measured.clone());
        let is_apart = (ratio - 1.0).abs() > TOLERANCE;
        apart += usize::from(is_apart);
        figures.push(format!(
            "{} %, {} ms, {} bytes: {:+.1} %{}, Linux {}, simulated {}",
            cell.loss_percent,
            cell.rtt_ms,
            cell.window_bytes,
            (ratio - 1.0) * 100.0,
            if is_apart { " <- apart" } else { "" },
            megabits(&measured),
            megabits(&simulated),
        ));
    }
    (apart, figures.join("\n"))
}

fn megabits(rates: &[u64]) -> String {
    let shown: Vec<String> =
        rates.iter().map(|rate| format!("{:.2}", *rate as f64 / 1e6)).collect();
    shown.join(" ")
}

#[track_caller]
fn assert_none_is_apart(rtt_ms: u32) {
    let (apart, figures) = cells_apart(rtt_ms);
    assert_eq!(apart, 0, "so many of {CELLS} cells are apart:\n{figures}");
}

#[test]
fn throughput_is_linux_s_over_a_round_trip_of_5_ms() {
    assert_none_is_apart(5);
}

#[test]
fn throughput_is_linux_s_over_a_round_trip_of_20_ms() {
    assert_none_is_apart(20);
}

#[test]
fn throughput_is_linux_s_over_a_round_trip_of_100_ms() {
    assert_none_is_apart(100);
}
