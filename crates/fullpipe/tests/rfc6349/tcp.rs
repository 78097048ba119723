//! The TCP steps of a result.

use serde_json::Value;

use super::result::{Finished, number, within_percent};

impl Finished {
    /// The TCP steps of this role and sender.
    pub(crate) fn tcp(&self, role: &str, sender: &str) -> Vec<&Value> {
        let wanted = |step: &&Value| step["role"] == role && step["sender"] == sender;
        self.steps("tcp").into_iter().filter(wanted).collect()
    }

    /// The throughput steps of one direction alone, with windows that fill the path and no queue.
    pub(crate) fn alone(&self, sender: &str) -> Vec<&Value> {
        let all = self.tcp("throughput", sender);
        let plain = |step: &&Value| {
            step["direction"] != "bidirectional" && number(step, "window_fraction") == 1.0
        };
        let alone: Vec<&Value> = all.into_iter().filter(plain).collect();
        assert_eq!(alone.len(), 2, "a step for each direction");
        alone
    }

    /// How much longer than its links say a round trip of the emulated network may have taken, as a
    /// share of `rtt_ms`: two crossings with 99 of 100 packets no later than this, in the TCP trial
    /// where they were latest.
    pub(crate) fn lateness_share(&self, rtt_ms: f64) -> f64 {
        let evidence = self.result["evidence"].as_array().unwrap();
        let seen = evidence.iter().map(|evidence| &evidence["observation"]);
        let tcp = seen.filter(|seen| seen["flows"][0]["kind"] == "tcp");
        let late_ns = tcp.map(|seen| number(&seen["emulation"], "late_p99_ns"));
        2.0 * late_ns.fold(0.0, f64::max) / 1e6 / rtt_ms
    }
}

/// In each direction the middle one of the runs found the rate to half a percent.
pub(crate) fn expect_bottleneck(runs: &[&Finished], field: &str, truth_bps: f64) {
    for place in 0..2 {
        let of = |run: &&Finished| number(run.steps("bottleneck")[place], field);
        let mut found: Vec<f64> = runs.iter().map(of).collect();
        found.sort_by(f64::total_cmp);
        assert!(within_percent(found[runs.len() / 2], truth_bps, 0.5), "{found:?}");
    }
}

/// The test failed: bursts lose most of the throughput, and no queue delays them.
pub(crate) fn expect_bursts_cost_most(run: &Finished) {
    assert_eq!((run.exit, run.status()), (1, "fail"), "{}", run.stderr);
    for step in run.alone("burst") {
        let mbps = number(step, "throughput_bps") / 1e6;
        assert!((10.0..=20.0).contains(&mbps), "{mbps} Mbit/s");
        assert!(number(step, "buffer_delay_percent") < 10.0);
        assert!(number(step, "retransmitted_bytes") > 0.0);
    }
    assert!(run.reason_codes().contains(&"throughput_low_retransmissions"));
}
