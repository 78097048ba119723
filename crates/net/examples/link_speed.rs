//! How long a frame takes to compute through emulated links of several kinds, in nanoseconds.

use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::Duration;

use fp_model::{Dscp, Rate, Time};
use fp_net::link::{Frame, Output, Way};
use fp_net::path::{
    Aqm, LinkSpec, LossSpec, PoliceSpec, PrioritySpec, Probability, QueueLimit, QueueSpec,
    ReorderSpec, ShapeSpec,
};

const FRAMES: u64 = 1_000_000;
const RUNS: usize = 7;

fn main() -> io::Result<()> {
    for (name, links) in networks() {
        let mut runs: Vec<f64> = (0..RUNS).map(|_| nanos_per_frame(&links)).collect();
        runs.sort_by(f64::total_cmp);
        let (fastest, median) = (runs[0], runs[RUNS / 2]);
        writeln!(io::stdout(), "{name:24} {fastest:6.1} ns/frame, median of {RUNS} {median:6.1}")?;
    }
    Ok(())
}

/// Frames of 64 and 1518 bytes, one each 10 µs, polled as each enters.
fn nanos_per_frame(links: &[LinkSpec]) -> f64 {
    let mut way = Way::new(links, 1);
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    let begin = std::time::Instant::now();
    let mut delivered = 0_u64;
    for number in 0..FRAMES {
        let now = Time::from_nanos(number * 10_000);
        let frame_bytes = if number % 2 == 0 { 64 } else { 1518 };
        let dscp = Dscp::new((number % 5) as u8 * 8).unwrap_or_default();
        way.on_frame(now, Frame { frame_bytes, dscp, body: number });
        while let Some(output) = way.poll(now) {
            delivered += u64::from(matches!(black_box(output), Output::Deliver { .. }));
        }
        black_box(way.poll_timeout());
    }
    black_box(delivered);
    begin.elapsed().as_nanos() as f64 / FRAMES as f64
}

fn networks() -> Vec<(&'static str, Vec<LinkSpec>)> {
    let line = LinkSpec {
        line_rate: Some(Rate::mbps(1000)),
        delay: Duration::from_millis(10),
        ..LinkSpec::default()
    };
    let dscp = |codes: &[u8]| codes.iter().filter_map(|code| Dscp::new(*code)).collect();
    let classes = vec![dscp(&[32]), dscp(&[24]), dscp(&[16]), dscp(&[8]), dscp(&[0])];
    let queue = QueueSpec { limit: QueueLimit::Packets(1000), aqm: Aqm::CODEL };
    let share = |share| Probability::new(share).unwrap_or_default();
    let shape = ShapeSpec { rate: Rate::mbps(900), burst_bytes: 10_000, queue };
    vec![
        ("nothing", vec![LinkSpec::default()]),
        ("delay", vec![LinkSpec { line_rate: None, ..line.clone() }]),
        ("line, delay", vec![line.clone()]),
        ("line, policer, delay", vec![LinkSpec { police: Some(police()), ..line.clone() }]),
        (
            "line, loss, delay",
            vec![LinkSpec { loss: Some(LossSpec::Random(share(0.01))), ..line.clone() }],
        ),
        ("codel, shaper, delay", vec![LinkSpec { shape: Some(shape), ..line.clone() }]),
        (
            "strict priority, line",
            vec![LinkSpec { priority: Some(PrioritySpec::Strict(classes)), ..line.clone() }],
        ),
        (
            "reordering (a heap)",
            vec![LinkSpec {
                reorder: Some(ReorderSpec {
                    probability: share(0.01),
                    hold: Duration::from_millis(1),
                }),
                ..line.clone()
            }],
        ),
        ("three lines", vec![line.clone(), line.clone(), line]),
    ]
}

fn police() -> PoliceSpec {
    PoliceSpec::single_bucket(Rate::mbps(500), 64_000)
}
