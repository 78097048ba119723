//! Streams of numbered UDP frames at an exact rate: one end sends, the other one counts.

mod conductor;
mod outlet;
mod receiver;
mod sender;
mod whole;

use std::time::Duration;

use fp_model::{Family, FramesLoad, PacketLayout};

pub(crate) use conductor::Conductor;
pub(crate) use receiver::{listen, receive};

use crate::udp::FrameError;

pub(crate) const HEAD_BYTES: usize = FramesLoad::HEAD_BYTES as usize;
pub(crate) type HeadBytes = [u8; HEAD_BYTES];

/// What each frame says of itself, behind the mark of its flow: what fits the shortest Ethernet
/// frame over IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// In 40 bits.
    pub(crate) sequence: u64,
    /// How many steady frames directly before this one were never sent, in 24 bits: what is missing was lost or
    /// never left, and only the sender knows which.
    pub(crate) unsent_before: u32,
    /// Since the start of the trial, in 48 bits of nanoseconds: three days.
    pub(crate) sent_at: Duration,
}

/// The frames of one flow, of one length or of several.
#[derive(Debug)]
pub(crate) struct Stream<'a, Load> {
    pub(crate) family: Family,
    pub(crate) vlan_tags: u8,
    /// After the start of the trial.
    pub(crate) begins: Duration,
    pub(crate) load: &'a Load,
}

impl<Load> Clone for Stream<'_, Load> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Load> Copy for Stream<'_, Load> {}

impl<Load> Stream<'_, Load> {
    /// What is left of a frame for UDP payload.
    pub(crate) fn payload_bytes(&self, frame_bytes: u32) -> Result<usize, FrameError> {
        let least_bytes = FramesLoad::least_frame_bytes(self.family, self.vlan_tags);
        PacketLayout::udp(frame_bytes, self.family, self.vlan_tags)
            .filter(|_| frame_bytes >= least_bytes)
            .map(|layout| layout.payload_bytes as usize)
            .ok_or(FrameError::FrameTooShort { frame_bytes, least_bytes })
    }
}

impl Stream<'_, FramesLoad> {
    /// The payload of each length of the cycle.
    fn payloads_bytes(&self) -> Result<Vec<usize>, FrameError> {
        let lengths = self.load.sizes.lengths().iter();
        lengths.map(|frame_bytes| self.payload_bytes(*frame_bytes)).collect()
    }
}

impl Head {
    /// As many frames can be told apart.
    pub(crate) const FRAMES_MAX: u64 = 1 << 40;

    pub(crate) fn marked(self, mark: [u8; 4]) -> HeadBytes {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..4].copy_from_slice(&mark);
        bytes[4..9].copy_from_slice(&self.sequence.to_be_bytes()[3..]);
        bytes[9..12].copy_from_slice(&self.unsent_before.to_be_bytes()[1..]);
        bytes[12..].copy_from_slice(&(self.sent_at.as_nanos() as u64).to_be_bytes()[2..]);
        bytes
    }

    /// Reads the header of a frame; `None` unless `bytes` begin with this mark.
    pub(crate) fn read(bytes: &[u8], mark: [u8; 4]) -> Option<Self> {
        let bytes: &HeadBytes = bytes.first_chunk()?;
        let number = |from: usize, until: usize| {
            bytes[from..until].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        (bytes[..4] == mark).then(|| Self {
            sequence: number(4, 9),
            unsent_before: number(9, 12) as u32,
            sent_at: Duration::from_nanos(number(12, 18)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use fp_model::{FrameSizes, Pace, Rate, Time, Timing};

    use super::*;
    use crate::half::Unshown;
    use crate::half::{FramesReceiverHalf, FramesSenderHalf, SenderSlot};
    use crate::lease::Lease;
    use crate::os::clock;
    use crate::udp::ProvenSocket;
    use crate::udp::tests::{again, long_lease, proven_pair};

    fn send(
        proven: &ProvenSocket,
        stream: Stream<'_, FramesLoad>,
        timing: &Timing,
        start: Time,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, SenderSlot),
    ) -> Result<FramesSenderHalf, FrameError> {
        Conductor::default().send(again(proven), stream, timing, start, lease, progress)
    }

    /// 10,000 frames of 1,000 bytes a second.
    fn load() -> FramesLoad {
        FramesLoad::new(FrameSizes::fixed(1000), Pace::Constant { rate: Rate::mbps(80) })
    }

    fn stream(family: Family, load: &FramesLoad) -> Stream<'_, FramesLoad> {
        Stream { family, vlan_tags: 0, begins: Duration::ZERO, load }
    }

    const TIMING: Timing = Timing {
        warm_up: Duration::from_millis(100),
        steady: Duration::from_millis(500),
        settle: Duration::from_millis(200),
    };

    fn run(
        (sender, receiver): (&ProvenSocket, &ProvenSocket),
        stream: Stream<'_, FramesLoad>,
        lease: &Lease,
    ) -> (FramesSenderHalf, FramesReceiverHalf) {
        let start = clock::now() + Duration::from_millis(20);
        thread::scope(|scope| {
            let received = scope.spawn(move || {
                let mut shown = 0;
                let arrivals = listen(again(receiver), stream).unwrap();
                let half = receive(arrivals, stream, &TIMING, start, lease, &mut |slot, _| {
                    assert_eq!(slot, shown, "slots are shown in turn");
                    shown += 1;
                });
                assert_eq!(shown, TIMING.grid().len(), "each slot is shown once");
                half.unwrap()
            });
            let sent = send(sender, stream, &TIMING, start, lease, &mut |_, _| {}).unwrap();
            (sent, received.join().unwrap())
        })
    }

    #[test]
    fn every_frame_that_is_sent_is_received_once() {
        let lease = long_lease();
        for family in [Family::Ipv4, Family::Ipv6] {
            let (near, far) = proven_pair(family, &lease);
            for ends in [(&near, &far), (&far, &near)] {
                let (sent, received) = run(ends, stream(family, &load()), &lease);
                // 0.5 s of 10,000 frames a second.
                assert_eq!(sent.frames.planned_frames, 5000);
                assert!(sent.frames.sent_frames <= 5000 && sent.frames.sent_frames > 0);
                assert_eq!(received.frames.received_frames, sent.frames.sent_frames);
                assert_eq!(received.frames.duplicate_frames, 0);
                assert_eq!(received.frames.out_of_order_frames, 0);
                assert_eq!(received.unshown, Unshown::default());
                let sent_bytes: u64 = sent.slots.iter().map(|slot| slot.sent_bytes).sum();
                let received_bytes: u64 =
                    received.slots.iter().map(|slot| slot.received_bytes).sum();
                assert_eq!(sent_bytes, received_bytes);
                let steady = TIMING.grid().into_iter().zip(&sent.slots);
                let steady_bytes: u64 =
                    steady.filter(|(slot, _)| slot.steady).map(|(_, seen)| seen.sent_bytes).sum();
                assert_eq!(steady_bytes, sent.frames.sent_frames * 1000);
            }
        }
    }

    #[test]
    fn one_thread_sends_the_frames_of_many_flows_each_at_its_own_rate() {
        let lease = long_lease();
        let pairs = [(); 5].map(|()| proven_pair(Family::Ipv4, &lease));
        // 1000, 2000 … 5000 frames a second, for 0.5 s.
        let loads = [8, 16, 24, 32, 40]
            .map(|mbps| FramesLoad { pace: Pace::Constant { rate: Rate::mbps(mbps) }, ..load() });
        let start = clock::now() + Duration::from_millis(50);
        let conductor = Conductor::default();
        let shown = std::sync::Mutex::new(Vec::new());
        let sent = thread::scope(|scope| {
            let flows: Vec<_> = pairs.iter().zip(&loads).collect();
            let threads = flows.into_iter().map(|((near, _), load)| {
                let (conductor, lease, shown) = (&conductor, &lease, &shown);
                scope.spawn(move || {
                    let mut seen = 0;
                    let stream = stream(Family::Ipv4, load);
                    let near = again(near);
                    let half =
                        conductor.send(near, stream, &TIMING, start, lease, &mut |slot, _| {
                            assert_eq!(slot, seen, "slots are shown in turn");
                            seen += 1;
                        });
                    shown.lock().unwrap().push(seen);
                    half.unwrap()
                })
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(shown.into_inner().unwrap(), [TIMING.beats().len(); 5]);
        let planned: Vec<_> = sent.iter().map(|half| half.frames.planned_frames).collect();
        assert_eq!(planned, [500, 1000, 1500, 2000, 2500]);
        for (half, (_, far)) in sent.iter().zip(&pairs) {
            assert!(half.frames.sent_frames <= half.frames.planned_frames);
            // All that left is in the socket of its own flow, with nobody else's.
            let marked = far.mark(crate::udp::Kind::Frame);
            far.socket.set_nonblocking(true).unwrap();
            let mut datagram = [0; 2048];
            let mut sequences = Vec::new();
            while let Ok(bytes) = far.socket.recv(&mut datagram) {
                // The socket has been shown the flow's key as well.
                if let Some(head) = Head::read(&datagram[..bytes], marked) {
                    assert_eq!(bytes, 954);
                    sequences.push(head.sequence);
                }
            }
            assert!(!sequences.is_empty() && sequences.is_sorted_by(|one, next| one < next));
        }
        // Whoever comes after all are through conducts again.
        let load = &loads[0];
        let late = stream(Family::Ipv4, load);
        let start = clock::now();
        let again =
            conductor.send(again(&pairs[0].0), late, &TIMING, start, &lease, &mut |_, _| {});
        assert_eq!(again.unwrap().frames.planned_frames, 500);
    }

    #[test]
    fn each_frame_of_a_mix_counts_with_its_own_length() {
        let lease = long_lease();
        let (near, far) = proven_pair(Family::Ipv4, &lease);
        let lengths = vec![64, 64, 570, 64, 1518];
        let pace = Pace::Constant { rate: Rate::mbps(20) };
        let load = FramesLoad::new(FrameSizes::new(lengths).unwrap(), pace);
        let stream = Stream { vlan_tags: 1, ..stream(Family::Ipv4, &load) };
        assert!(run_refused(&near, stream), "a tagged frame of 64 bytes has no room");
        let sizes = FrameSizes::new(vec![68, 570, 1518]).unwrap();
        let load = FramesLoad { sizes, ..load.clone() };
        let stream = Stream { load: &load, ..stream };
        let (sent, received) = run((&near, &far), stream, &lease);
        // 20 Mbit/s for 0.5 s are 1,250,000 bytes, a cycle is 2,156: 579 cycles of three frames
        // and 1,676 bytes, which all three frames of one more begin in.
        let planned = sent.frames.planned_frames as i64;
        assert!((planned - 1740).abs() <= 1, "{planned}");
        assert_eq!(received.frames.received_frames, sent.frames.sent_frames);
        assert_eq!(received.frames.received_bytes, sent.frames.sent_bytes);
        if sent.frames.sent_frames == sent.frames.planned_frames {
            // The warm-up has ended anywhere in a cycle.
            assert!(
                (sent.frames.sent_bytes as i64 - 1_250_000).abs() <= 1518,
                "{}",
                sent.frames.sent_bytes
            );
        }
        let slots: u64 = received.slots.iter().map(|slot| slot.received_bytes).sum();
        assert_eq!(slots, sent.slots.iter().map(|slot| slot.sent_bytes).sum::<u64>());
    }

    fn run_refused(near: &ProvenSocket, stream: Stream<'_, FramesLoad>) -> bool {
        let sent = send(near, stream, &TIMING, clock::now(), &long_lease(), &mut |_, _| {});
        matches!(sent, Err(FrameError::FrameTooShort { frame_bytes: 64, least_bytes: 68 }))
    }

    #[test]
    fn a_rate_that_no_host_keeps_up_with_holds_up_no_trial() {
        let lease = long_lease();
        let (near, _far) = proven_pair(Family::Ipv4, &lease);
        let pace = Pace::Constant { rate: Rate::bps(1_000_000_000_000) };
        let load = FramesLoad::new(FrameSizes::fixed(64), pace);
        let start = clock::now();
        let stream = stream(Family::Ipv4, &load);
        let sent = send(&near, stream, &TIMING, start, &lease, &mut |_, _| {}).unwrap();
        // 0.5 s of 10^12 / 512 frames a second.
        assert_eq!(sent.frames.planned_frames, 976_562_500);
        assert!(
            sent.frames.sent_frames > 0
                && sent.frames.sent_frames < sent.frames.planned_frames / 10
        );
        // 0.6 s of frames; the rest is what a loaded host may add.
        assert!(clock::now().since(start) < Duration::from_secs(2));
    }

    #[test]
    fn a_datagram_without_the_flows_mark_is_not_counted() {
        let lease = long_lease();
        let (near, far) = proven_pair(Family::Ipv4, &lease);
        let head = Head { sequence: 0, unsent_before: 0, sent_at: Duration::ZERO };
        let mut stray = head.marked(*b"nope").to_vec();
        // 1000 less 18 of Ethernet, 20 of IPv4 and 8 of UDP.
        stray.resize(954, 0);
        near.socket.send(&stray).unwrap();
        let mut short = head.marked(near.mark(crate::udp::Kind::Frame)).to_vec();
        short.push(0);
        near.socket.send(&short).unwrap();
        let (sent, received) = run((&near, &far), stream(Family::Ipv4, &load()), &lease);
        let sent_bytes: u64 = sent.slots.iter().map(|slot| slot.sent_bytes).sum();
        let received_bytes: u64 = received.slots.iter().map(|slot| slot.received_bytes).sum();
        assert_eq!(sent_bytes, received_bytes);
        assert_eq!(received.frames.duplicate_frames, 0);
    }

    #[test]
    fn neither_end_goes_on_when_its_peer_is_silent() {
        let (near, far) = proven_pair(Family::Ipv4, &long_lease());
        let hour = Timing { steady: Duration::from_secs(3600), ..TIMING };
        let begun = clock::now();
        let lease = Lease::new(begun);
        let load = load();
        thread::scope(|scope| {
            let stream = stream(Family::Ipv4, &load);
            let (hour, lease) = (&hour, &lease);
            let arrivals = listen(far, stream).unwrap();
            let received =
                scope.spawn(move || receive(arrivals, stream, hour, begun, lease, &mut |_, _| {}));
            let sent = send(&near, stream, hour, begun, lease, &mut |_, _| {});
            assert!(matches!(sent, Err(FrameError::Ended)));
            assert!(matches!(received.join().unwrap(), Err(FrameError::Ended)));
        });
        // The dead-man ends them after 750 ms; the rest is what a loaded host may add.
        assert!(clock::now().since(begun) < Duration::from_secs(3));
    }

    #[test]
    fn frames_that_cannot_carry_a_number_are_refused() {
        // 14 of Ethernet, 20 or 40 of IP, 8 of UDP, 18 of ours, 4 of FCS.
        let payloads = |lengths: &[u32], family, vlan_tags| {
            let load = FramesLoad { sizes: FrameSizes::new(lengths.to_vec()).unwrap(), ..load() };
            Stream { vlan_tags, ..stream(family, &load) }.payloads_bytes()
        };
        assert_eq!(payloads(&[64, 1518], Family::Ipv4, 0).unwrap(), [18, 1472]);
        assert_eq!(payloads(&[84], Family::Ipv6, 0).unwrap(), [18]);
        assert_eq!(payloads(&[1518, 72], Family::Ipv4, 2).unwrap(), [1464, 18]);
        assert_eq!(
            payloads(&[1518, 83], Family::Ipv6, 0).unwrap_err().to_string(),
            "frames of 83 bytes are too short: use 84 bytes or more"
        );
        // The tag takes four bytes more.
        assert!(payloads(&[64], Family::Ipv4, 1).is_err());
    }

    #[test]
    fn frames_longer_than_any_packet_are_an_error() {
        let lease = long_lease();
        let (near, _far) = proven_pair(Family::Ipv4, &lease);
        // An IP packet has 65,535 bytes at most, and the frame around it 18 more.
        let load = FramesLoad { sizes: FrameSizes::fixed(65_554), ..load() };
        let start = clock::now();
        let stream = stream(Family::Ipv4, &load);
        let sent = send(&near, stream, &TIMING, start, &lease, &mut |_, _| {});
        assert!(matches!(sent, Err(FrameError::FrameTooLong { frame_bytes: 65_554 })));
    }

    #[test]
    fn a_head_is_read_as_it_was_written() {
        // The largest number of each field: 40, 24 and 48 bits.
        let largest = Head {
            sequence: Head::FRAMES_MAX - 1,
            unsent_before: (1 << 24) - 1,
            sent_at: Duration::from_nanos((1 << 48) - 1),
        };
        let least =
            Head { sequence: 1, unsent_before: 2, sent_at: Duration::from_nanos(0x0123_4567) };
        for head in [largest, least] {
            let written = head.marked(*b"mark");
            assert_eq!(Head::read(&written, *b"mark"), Some(head));
            assert_eq!(Head::read(&written, *b"park"), None);
            assert_eq!(Head::read(&written[..17], *b"mark"), None);
        }
    }
}
