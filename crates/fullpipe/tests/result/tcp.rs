//! The TCP steps of a result.

use serde_json::Value;

use crate::result::{Finished, number};

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
