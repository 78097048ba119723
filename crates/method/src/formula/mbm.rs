//! Model-based metrics: whether a path can carry a rate at a round-trip time, RFC 8337.

use crate::{BitsPerSecond, Bytes, Number, Seconds};

/// What one connection must have in flight, and how rarely it may lose: §5.2.
#[derive(Clone, Copy, Debug)]
pub struct Targets {
    pub window_packets: Number,
    /// Packets between two losses.
    pub run_length_packets: Number,
}

/// For a rate and round-trip time and packets of `mtu` bytes of which `headers` are none of TCP's
/// payload.
pub fn targets(rate_l4: BitsPerSecond, rtt: Seconds, mtu: Bytes, headers: Bytes) -> Targets {
    let window_packets = (rate_l4 * rtt / (mtu - headers)).ceil();
    // Reno with delayed acknowledgements needs three halves of a window squared, twice.
    let run_length_packets = Number::whole(3) * window_packets * window_packets;
    Targets { window_packets, run_length_packets }
}

/// The full-rate bursts in which at most one loss is expected, one each round trip: §9.
pub fn bursts_between_losses(targets: &Targets) -> Number {
    (targets.run_length_packets / targets.window_packets).floor()
}

/// The lines between which Wald's sequential probability ratio test goes on: §7.2.
#[derive(Clone, Copy, Debug)]
pub struct SequentialTest {
    pub k: Number,
    /// Accept the path at `losses ≤ −h1 + s·packets`.
    pub h1: Number,
    /// Reject the path at `losses ≥ h2 + s·packets`.
    pub h2: Number,
    pub s: Number,
}

/// `alpha` and `beta` are the chances of a wrong rejection and a wrong acceptance; a path with four
/// times the losses of the target is one to reject.
///
/// Undefined where these are not between 0 and 1 or the run length is not above 4.
pub fn sequential_test(alpha: Number, beta: Number, run_length_packets: Number) -> SequentialTest {
    let one = Number::ONE;
    let (good, bad) = (one / run_length_packets, Number::whole(4) / run_length_packets);
    let k = (bad * (one - good) / (good * (one - bad))).ln();
    SequentialTest {
        k,
        h1: ((one - alpha) / beta).ln() / k,
        h2: ((one - beta) / alpha).ln() / k,
        s: ((one - good) / (one - bad)).ln() / k,
    }
}

/// How many packets without a single loss accept the path.
pub fn lossless_packets_to_accept(test: &SequentialTest) -> Number {
    (test.h1 / test.s).ceil()
}

#[cfg(test)]
mod tests {
    use fp_model::Rate;

    use super::*;

    /// Table 1 of the RFC: 2.5 Mbit/s, 50 ms, 1500-byte packets, 64 bytes of headers.
    #[test]
    fn two_and_a_half_megabit_at_50_ms_need_11_packets_and_one_loss_in_363() {
        let rtt = Seconds::of_millis(Number::whole(50));
        let (mtu, headers) = (Bytes::whole(1500), Bytes::whole(64));
        let targets = targets(Rate::bps(2_500_000).into(), rtt, mtu, headers);
        assert_eq!(targets.window_packets.to_u64(), Some(11));
        assert_eq!(targets.run_length_packets.to_u64(), Some(363));
        assert_eq!(bursts_between_losses(&targets).to_u64(), Some(33));
    }

    #[test]
    fn the_sequential_test_accepts_after_354_lossless_packets() {
        let five_percent = Number::ratio(1, 20);
        let test = sequential_test(five_percent, five_percent, Number::whole(363));
        assert_eq!(lossless_packets_to_accept(&test).to_u64(), Some(354));
        assert!(!sequential_test(five_percent, five_percent, Number::whole(4)).k.is_defined());
        assert!(!sequential_test(Number::ZERO, five_percent, Number::whole(363)).h2.is_defined());
    }
}
