//! The end that receives: takes frames from the kernel in batches, with the time it stamped on each.

use std::sync::Arc;

use fp_model::{FramesLoad, Time, Timing};
use fp_net::stream::{Arrival, ArrivalTally, Schedule};

use super::{Head, Stream};
use crate::arrivals::{Arrivals, Left};
use crate::half::{FramesReceiverHalf, ReceiverSlot};
use crate::lease::Lease;
use crate::open_slots::OpenSlots;
use crate::os::{clock, schedule, udp};
use crate::udp::{FrameError, ProvenSocket};

/// Opens what the frames of a stream will be taken from: before the first of them leaves.
///
/// # Errors
/// Frames too short, a socket that fails.
pub(crate) fn listen(
    proven: ProvenSocket,
    stream: Stream<'_, FramesLoad>,
) -> Result<Arrivals, FrameError> {
    Arrivals::open(proven, stream.payloads_bytes()?.into_iter().max().unwrap_or(0))
}

/// Counts the frames of a trial until its settling time is over, slot by slot as they arrived.
///
/// # Errors
/// Frames too short, a socket that fails, a lease that ended.
pub(crate) fn receive(
    mut arrivals: Arrivals,
    stream: Stream<'_, FramesLoad>,
    timing: &Timing,
    start: Time,
    lease: &Lease,
    progress: &mut dyn FnMut(usize, ReceiverSlot),
) -> Result<FramesReceiverHalf, FrameError> {
    // An ordinary user's thread stays ordinary; what it takes too late is dropped, and counted.
    let _ = schedule::run_rather_than_others();
    let payloads_bytes = stream.payloads_bytes()?;
    let schedule = Arc::new(Schedule::begun_after(stream.begins, stream.load, timing));
    let mark = arrivals.mark();
    let longest = stream.load.sizes.longest();
    let look_interval = arrivals.look_interval(longest, schedule.peak_frames_per_second());
    let mut tally = ArrivalTally::new(schedule);
    let mut slots = OpenSlots::new(timing, start);
    let mut seen = slots.uncut();
    loop {
        let looked_at = clock::now();
        if !lease.is_live(looked_at) {
            return Err(FrameError::Ended);
        }
        let left = arrivals.take(|arrival| {
            let Some(head) = Head::read(arrival.head, mark) else { return };
            let place = (head.sequence % payloads_bytes.len() as u64) as usize;
            if arrival.payload_bytes == payloads_bytes[place] {
                let of_stream = since(start, &arrival, head);
                if let Some(frame_bytes) = tally.on_arrival(&of_stream) {
                    seen[slots.at(arrival.at)].received_bytes += frame_bytes;
                }
                lease.renew_by_data(looked_at);
            }
        })?;
        if left == Left::Perhaps && looked_at < slots.last_end() + look_interval {
            continue;
        }
        // Nothing is left: whatever arrived before `looked_at` has been counted.
        while let Some((slot, _)) = slots.close_by(looked_at) {
            progress(slot, seen[slot]);
        }
        if looked_at >= slots.last_end() {
            break;
        }
        clock::sleep_until(slots.last_end().min(looked_at + look_interval));
    }
    Ok(FramesReceiverHalf {
        frames: tally.finish(),
        unshown: arrivals.unshown()?,
        receiver: Some(arrivals.receiver()),
        packet_sockets_refused: arrivals.packet_sockets_refused(),
        slots: seen,
    })
}

fn since(start: Time, arrival: &udp::Arrival<'_>, head: Head) -> Arrival {
    let Head { sequence, unsent_before, sent_at } = head;
    let arrived_at_ns = arrival.at.as_nanos().wrapping_sub(start.as_nanos()) as i64;
    let (dscp, ecn) = (arrival.dscp(), arrival.ecn());
    Arrival { sequence, unsent_before, sent_at, arrived_at_ns, dscp, ecn }
}
