//! Path MTU and baseline RTT as steps of a document.

use alloc::format;
use alloc::string::String;

use fp_model::ProbedBy;
use fp_model::figure::{Better, Cell, Column, Info, Kind, Row, Steps, Unit, and, infos};

use super::{BaselineRtt, PathMtu};

pub static PATH_MTU: Steps<PathMtu> = Steps {
    kind: Kind {
        name: "path_mtu",
        title: "path MTU",
        is_judged: false,
        main: &["mtu_bytes"],
        columns: &and::<_, _, 1, 6>(&infos(MTU), &[Info::new("family", "family", Unit::Word)]),
        facts: |row| alloc::vec![("path MTU", path_mtu(row))],
        blocks: &[],
    },
    columns: MTU,
};

use crate::metric;

const MTU: &[Column<PathMtu>; 5] = &[
    Info::new("direction", "direction", Unit::Word).of(|mtu| mtu.direction.name().into()),
    Info::new("mtu_bytes", "path MTU", Unit::Bytes)
        .better(Better::Higher)
        .metric(metric::PATH_MTU)
        .of(|mtu| mtu.mtu_bytes.into()),
    Info::new("black_hole", "black hole", Unit::Flag).of(|mtu| mtu.black_hole.into()),
    Info::new("probes", "probes", Unit::Count).of(|mtu| mtu.probes.into()),
    Info::new("probed_by", "probed by", Unit::Word).of(|mtu| probed_by(mtu.by)),
];

fn path_mtu(row: &Row) -> String {
    let by = if is_by_tcp(row) { " (by full segments of TCP)" } else { "" };
    let hole = if row.flag("black_hole") == Some(true) {
        ", a black hole: larger packets vanish silently"
    } else {
        ""
    };
    let family = match row.word("family") {
        "ipv4" => " over IPv4",
        "ipv6" => " over IPv6",
        _ => "",
    };
    format!("{} bytes{family}{by}{hole}", row.grouped("mtu_bytes"))
}

pub static BASELINE_RTT: Steps<BaselineRtt> = Steps {
    kind: Kind {
        name: "baseline_rtt",
        title: "baseline RTT",
        is_judged: false,
        main: &["rtt_min_ms"],
        columns: &and::<_, _, 1, 9>(&infos(RTT), &[Info::new("service", "service", Unit::Word)]),
        facts: |row| alloc::vec![("baseline RTT", baseline_rtt(row))],
        blocks: &[],
    },
    columns: RTT,
};

const RTT: &[Column<BaselineRtt>; 8] = &[
    Info::new("rtt_min_ms", "smallest RTT", Unit::Milliseconds)
        .better(Better::Lower)
        .metric(metric::RTT_MIN)
        .of(|baseline| Cell::ms(baseline.rtt.min)),
    Info::new("rtt_mean_ms", "mean RTT", Unit::Milliseconds)
        .metric(metric::RTT_MEAN)
        .of(|baseline| Cell::ms(baseline.rtt.mean)),
    Info::new("rtt_p99_ms", "RTT, 99th percentile", Unit::Milliseconds)
        .better(Better::Lower)
        .of(|baseline| Cell::ms(baseline.rtt.p99)),
    Info::new("rtt_max_ms", "largest RTT", Unit::Milliseconds)
        .of(|baseline| Cell::ms(baseline.rtt.max)),
    Info::new("samples", "round trips", Unit::Count).of(|baseline| baseline.rtt.samples.into()),
    Info::new("sent", "probes sent", Unit::Count).of(|baseline| baseline.sent.into()),
    Info::new("answered", "probes answered", Unit::Count).of(|baseline| baseline.answered.into()),
    Info::new("probed_by", "probed by", Unit::Word).of(|baseline| probed_by(baseline.by)),
];

/// The smallest RTT without load that a run has measured, in microseconds.
pub(crate) fn rtt_us(steps: &[Row]) -> Option<f64> {
    let found = BASELINE_RTT.kind.among(steps).next()?;
    Some(1e3 * found.estimate("rtt_min_ms")?)
}

fn baseline_rtt(row: &Row) -> String {
    let probes = if is_by_tcp(row) { "TCP handshakes" } else { "probes" };
    let [min, mean, p99, answered, sent] =
        ["rtt_min_ms", "rtt_mean_ms", "rtt_p99_ms", "answered", "sent"]
            .map(|field| row.shown(field));
    format!("{min} (mean {mean}, p99 {p99}; {answered} of {sent} {probes} answered)")
}

const TCP: &str = "tcp";

fn probed_by(by: ProbedBy) -> Cell {
    match by {
        ProbedBy::Datagrams => "datagrams".into(),
        ProbedBy::Tcp => TCP.into(),
    }
}

fn is_by_tcp(row: &Row) -> bool {
    row.word("probed_by") == TCP
}
