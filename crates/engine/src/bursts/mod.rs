//! Bursts of numbered UDP frames, each begun at its time: one end sends, the other one notes arrivals.

mod cache_warming;
mod receiver;
mod sender;
mod tally;

use std::time::Duration;

use fp_model::{BurstsLoad, PacketLayout, Rate, Timing};

pub(crate) use receiver::{listen, receive};
pub(crate) use sender::send;

/// The bursts of a trial: how many there are and when each is due.
#[derive(Clone, Copy, Debug)]
struct Plan {
    warm_up: Duration,
    period: Duration,
    frames_per_burst: u32,
    bursts: u32,
}

impl Plan {
    fn new(load: &BurstsLoad, timing: &Timing) -> Self {
        let due_in_time = match load.period.as_nanos() {
            0 => u128::from(load.bursts),
            period => timing.steady.as_nanos().div_ceil(period),
        };
        let bursts = due_in_time.min(load.bursts.into()) as u32;
        let BurstsLoad { period, frames_per_burst, .. } = *load;
        Self { warm_up: timing.warm_up, period, frames_per_burst, bursts }
    }

    /// From the start of the trial.
    fn due(&self, burst: u32) -> Duration {
        self.warm_up + self.period * burst
    }

    fn sequence(&self, burst: u32, index: u32) -> u64 {
        u64::from(burst) * u64::from(self.frames_per_burst) + u64::from(index)
    }

    /// The burst and the place in it of a frame; `None` where no such frame was planned.
    fn place(&self, sequence: u64) -> Option<(u32, u32)> {
        let burst = sequence / u64::from(self.frames_per_burst);
        let index = sequence % u64::from(self.frames_per_burst);
        (burst < self.bursts.into()).then_some((burst as u32, index as u32))
    }
}

fn frame_bits_l1(load: &BurstsLoad) -> u64 {
    u64::from(load.frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD) * 8
}

/// Frames a second within a burst, at most what a host puts on a fast line.
fn frames_per_second(load: &BurstsLoad) -> u64 {
    const HOST_MAX: u64 = 2_000_000;
    const LINE: Rate = Rate::mbps(100_000);
    let rate = load.rate_l1.unwrap_or(LINE);
    (rate.as_bps() / frame_bits_l1(load)).clamp(1, HOST_MAX)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use fp_model::{BurstSpacing, Family, Time};

    use super::*;
    use crate::frames::Stream;
    use crate::half::{BurstsReceiverHalf, BurstsSenderHalf};
    use crate::lease::Lease;
    use crate::os::clock;
    use crate::udp::tests::{again, long_lease, proven_pair};
    use crate::udp::{FrameError, ProvenSocket};

    /// Four bursts of 150 frames: more than two calls, and a last one that is not full.
    const LOAD: BurstsLoad = BurstsLoad {
        frame_bytes: 512,
        frames_per_burst: 150,
        bursts: 4,
        period: Duration::from_millis(60),
        rate_l1: None,
        spacing: BurstSpacing::OnSchedule,
    };

    const TIMING: Timing = Timing {
        warm_up: Duration::from_millis(100),
        steady: Duration::from_millis(300),
        settle: Duration::from_millis(200),
    };

    fn stream(family: Family, load: &BurstsLoad) -> Stream<'_, BurstsLoad> {
        Stream { family, vlan_tags: 0, begins: Duration::ZERO, load }
    }

    fn run(
        (sender, receiver): (&ProvenSocket, &ProvenSocket),
        family: Family,
        load: &BurstsLoad,
        lease: &Lease,
    ) -> (BurstsSenderHalf, BurstsReceiverHalf) {
        let start = clock::now() + Duration::from_millis(20);
        thread::scope(|scope| {
            let received = scope.spawn(move || {
                let mut shown = 0;
                let mut show = |slot, _| {
                    assert_eq!(slot, shown, "slots are shown in turn");
                    shown += 1;
                };
                let stream = stream(family, load);
                let arrivals = listen(again(receiver), stream).unwrap();
                let half = receive(arrivals, stream, &TIMING, start, lease, &mut show);
                assert_eq!(shown, TIMING.grid().len(), "each slot is shown once");
                half.unwrap()
            });
            let sent =
                send(sender, stream(family, load), &TIMING, start, lease, &mut |_, _| {}).unwrap();
            (sent, received.join().unwrap())
        })
    }

    #[test]
    fn every_frame_of_every_burst_arrives_once_and_in_its_place() {
        let lease = long_lease();
        for family in [Family::Ipv4, Family::Ipv6] {
            let (near, far) = proven_pair(family, &lease);
            for (ends, rate_l1) in [((&near, &far), None), ((&far, &near), Some(Rate::mbps(200)))] {
                let (sent, received) = run(ends, family, &BurstsLoad { rate_l1, ..LOAD }, &lease);
                assert_eq!(sent.planned_bursts, 4);
                assert_eq!(received.bursts.len(), sent.bursts.len());
                for (sent, received) in sent.bursts.iter().zip(&received.bursts) {
                    assert_eq!((received.burst, sent.sent_frames), (sent.burst, 150));
                    assert_eq!(received.received_frames, 150);
                    // One after the other, in runs of 32 or of as many as there was room for.
                    let mut next = 0;
                    for run in &received.runs {
                        assert_eq!(run.first, next, "{:?}", received.runs);
                        assert!((1..=32).contains(&run.frames), "{:?}", received.runs);
                        next += run.frames;
                    }
                    assert_eq!(next, 150);
                }
                assert_eq!((received.duplicate_frames, received.out_of_order_frames), (0, 0));
                assert_eq!((received.corrupt_frames, received.dropped_frames), (0, 0));
                let sent_bytes: u64 = sent.slots.iter().map(|slot| slot.sent_bytes).sum();
                let received_bytes: u64 =
                    received.slots.iter().map(|slot| slot.received_bytes).sum();
                assert_eq!(sent_bytes, sent.bursts.len() as u64 * 150 * 512);
                assert_eq!(received_bytes, sent_bytes);
            }
        }
    }

    #[test]
    fn a_paced_burst_takes_as_long_as_its_rate_says() {
        let lease = long_lease();
        let (near, far) = proven_pair(Family::Ipv4, &lease);
        // 532 bytes are 4,256 bits: 149 intervals of 42.56 µs at 100 Mbit/s.
        let paced = BurstsLoad { rate_l1: Some(Rate::mbps(100)), ..LOAD };
        let (sent, received) = run((&near, &far), Family::Ipv4, &paced, &lease);
        let ideal_ns = 149 * 42_560;
        for sent in &sent.bursts {
            assert!(sent.until_ns - sent.from_ns >= ideal_ns, "{sent:?}");
        }
        // A busy host ends some bursts late, and takes in the frames of some all at once; hardly ever
        // does it treat all four so.
        let took =
            |runs: &[crate::half::ReceivedRun]| runs[runs.len() - 1].until_ns - runs[0].from_ns;
        let ratios: Vec<_> = received
            .bursts
            .iter()
            .map(|burst| took(&burst.runs) as f64 / ideal_ns as f64)
            .collect();
        assert!(ratios.iter().any(|ratio| (0.9..1.2).contains(ratio)), "{ratios:?}");
    }

    /// What leaves when the steady time is over would come when nobody listens any more.
    #[test]
    fn a_burst_ends_with_the_steady_time_at_the_latest() {
        let lease = long_lease();
        let (near, far) = proven_pair(Family::Ipv4, &lease);
        // 1000 frames of 4,256 bits take 0.6 s: half of them are due in the steady time.
        let rate_l1 = Some(Rate::bps(7_093_333));
        let long = BurstsLoad { frames_per_burst: 1000, bursts: 1, rate_l1, ..LOAD };
        let (sent, received) = run((&near, &far), Family::Ipv4, &long, &lease);
        let ([sent], [received]) = (&sent.bursts[..], &received.bursts[..]) else {
            panic!("{sent:?} {received:?}")
        };
        assert!((1..=500).contains(&sent.sent_frames), "{sent:?}");
        assert_eq!(received.received_frames, sent.sent_frames);
    }

    #[test]
    fn neither_end_goes_on_when_its_peer_is_silent() {
        let (near, far) = proven_pair(Family::Ipv4, &long_lease());
        let hour = Timing { steady: Duration::from_secs(3600), ..TIMING };
        let endless = BurstsLoad { bursts: 100_000, ..LOAD };
        let begun = clock::now();
        let lease = Lease::new(begun);
        thread::scope(|scope| {
            let received = scope.spawn(|| {
                let stream = stream(Family::Ipv4, &endless);
                let arrivals = listen(far, stream).unwrap();
                receive(arrivals, stream, &hour, begun, &lease, &mut |_, _| {})
            });
            let sent =
                send(&near, stream(Family::Ipv4, &endless), &hour, begun, &lease, &mut |_, _| {});
            assert!(matches!(sent, Err(FrameError::Ended)));
            assert!(matches!(received.join().unwrap(), Err(FrameError::Ended)));
        });
        // The dead-man ends them after 750 ms; the rest is what a loaded host may add.
        assert!(clock::now().since(begun) < Duration::from_secs(3));
    }

    #[test]
    fn a_burst_that_never_ends_is_cut_short_by_the_end_of_its_peer() {
        let (near, _far) = proven_pair(Family::Ipv4, &long_lease());
        let endless = BurstsLoad { frames_per_burst: u32::MAX, bursts: 1, ..LOAD };
        let hour = Timing { warm_up: Duration::ZERO, steady: Duration::from_secs(3600), ..TIMING };
        let begun = clock::now();
        let lease = Lease::new(begun);
        let sent =
            send(&near, stream(Family::Ipv4, &endless), &hour, begun, &lease, &mut |_, _| {});
        assert!(matches!(sent, Err(FrameError::Ended)));
        assert!(clock::now().since(begun) < Duration::from_secs(3));
    }

    #[test]
    fn bursts_due_after_the_steady_time_are_not_planned() {
        // Due at 100, 160, 220, 280, 340 and 400 ms, of which the last is not in the 300 ms.
        let plan = Plan::new(&BurstsLoad { bursts: 100, ..LOAD }, &TIMING);
        assert_eq!(plan.bursts, 5);
        assert_eq!(plan.due(4), Duration::from_millis(340));
        assert_eq!(plan.place(plan.sequence(4, 149)), Some((4, 149)));
        assert_eq!(plan.place(plan.sequence(5, 0)), None);
        assert_eq!(Plan::new(&LOAD, &TIMING).bursts, 4);
    }

    #[test]
    fn bursts_that_begin_too_late_are_left_out_up_to_the_one_that_is_due() {
        let lease = long_lease();
        let (near, _far) = proven_pair(Family::Ipv4, &lease);
        // The trial began 130 ms ago: of the bursts due after 0, 60, 120 and 180 ms the first two
        // have successors that are due; the third one is late and its successor is not due.
        let timing = Timing { warm_up: Duration::ZERO, ..TIMING };
        let start: Time = clock::now() - Duration::from_millis(130);
        let sent = send(&near, stream(Family::Ipv4, &LOAD), &timing, start, &lease, &mut |_, _| {});
        let sent: Vec<u32> = sent.unwrap().bursts.iter().map(|sent| sent.burst).collect();
        assert_eq!(sent, [2, 3]);
    }
}
