//! The end that receives: notes when each frame arrived, by the kernel's clock.

use fp_model::{BurstsLoad, Time, Timing};

use super::tally::BurstTally;
use super::{Plan, frames_per_second};
use crate::arrivals::{Arrivals, Left};
use crate::frames::{Head, Stream};
use crate::half::{BurstsReceiverHalf, ReceiverSlot};
use crate::lease::Lease;
use crate::os::{clock, schedule};
use crate::udp::{FrameError, ProvenSocket};

/// Opens what the frames of bursts will be taken from: before the first of them leaves.
///
/// # Errors
/// Frames too short, a socket that fails.
pub(crate) fn listen(
    proven: ProvenSocket,
    stream: Stream<'_, BurstsLoad>,
) -> Result<Arrivals, FrameError> {
    Arrivals::open(proven, stream.payload_bytes(stream.load.frame_bytes)?)
}

/// Takes in the frames of a trial until its settling time is over.
///
/// # Errors
/// Frames too short, a socket that fails, a lease that ended.
pub(crate) fn receive(
    mut arrivals: Arrivals,
    stream: Stream<'_, BurstsLoad>,
    timing: &Timing,
    start: Time,
    lease: &Lease,
    progress: &mut dyn FnMut(usize, ReceiverSlot),
) -> Result<BurstsReceiverHalf, FrameError> {
    let load = stream.load;
    let payload_bytes = stream.payload_bytes(load.frame_bytes)?;
    let mark = arrivals.mark();
    let look_interval = arrivals.look_interval(load.frame_bytes, frames_per_second(load));
    let mut tally = BurstTally::new(Plan::new(load, timing), load.frame_bytes, timing, start);
    // A kernel that refuses wakes it up to 50 µs late.
    let _ = schedule::wake_on_time();
    loop {
        let looked_at = clock::now();
        if !lease.is_live(looked_at) {
            return Err(FrameError::Ended);
        }
        let left = arrivals.take(|arrival| {
            if arrival.payload_bytes != payload_bytes {
                return;
            }
            if let Some(Head { sequence, .. }) = Head::read(arrival.head, mark) {
                tally.on_frame(sequence, arrival.at, arrival.dscp());
                lease.renew_by_data(looked_at);
            }
        })?;
        if left == Left::Perhaps && looked_at < tally.ends_at() + look_interval {
            continue;
        }
        // Nothing is left: whatever arrived before `looked_at` has been noted.
        tally.close_slots(looked_at, progress);
        if looked_at >= tally.ends_at() {
            break;
        }
        clock::sleep_until(tally.ends_at().min(looked_at + look_interval));
    }
    Ok(tally.finish(arrivals.unshown()?, arrivals.receiver()))
}
