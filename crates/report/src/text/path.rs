//! Path MTU and round trip on the screen: where most methods begin.

use fp_method::path::{BaselineRtt, PathMtu};
use fp_model::ProbedBy;

use super::{duration, grouped};

pub(super) fn path_mtu(mtu: &PathMtu) -> String {
    let hole = if mtu.black_hole { ", a black hole: larger packets vanish silently" } else { "" };
    let by = match mtu.by {
        ProbedBy::Datagrams => "",
        ProbedBy::Tcp => " (by full segments of TCP)",
    };
    let bytes = grouped(mtu.mtu_bytes.into());
    format!("path MTU        {:<9} {bytes} bytes{by}{hole}", mtu.direction)
}

pub(super) fn baseline_rtt(baseline: &BaselineRtt) -> String {
    let rtt = &baseline.rtt;
    let probes = match baseline.by {
        ProbedBy::Datagrams => "probes",
        ProbedBy::Tcp => "TCP handshakes",
    };
    format!(
        "baseline RTT    {:<9} {} (mean {}, p99 {}; {} of {} {probes} answered)",
        "",
        duration(rtt.min),
        duration(rtt.mean),
        duration(rtt.p99),
        baseline.answered,
        baseline.sent
    )
}
