//! The two halves of a transfer, which ends when all of it has arrived: each has the beginning of the
//! trial, as far as it came.

use fp_model::{Slot, Timing};

use crate::half::{ReceiverSlot, SenderSlot, TcpReceiverHalf, TcpSenderHalf, join_more};

/// Gives both halves the same slots, which come back; `None` where a half is not of this trial.
///
/// The sender learns half a round trip later that all has arrived: what a half does not have any
/// more is empty.
pub(super) fn even_out(
    timing: &Timing,
    sender: &mut TcpSenderHalf,
    receiver: &mut TcpReceiverHalf,
) -> Option<Vec<Slot>> {
    let each = sender.beats_per_slot.max(receiver.beats_per_slot);
    let fits = |own: u32| own > 0 && each.is_multiple_of(own);
    if !fits(sender.beats_per_slot) || !fits(receiver.beats_per_slot) {
        return None;
    }
    join_more(&mut sender.slots, timing, (sender.beats_per_slot, each), SenderSlot::and);
    join_more(&mut receiver.slots, timing, (receiver.beats_per_slot, each), ReceiverSlot::and);
    let mut grid = slots(timing, each as usize);
    let count = sender.slots.len().max(receiver.slots.len());
    if count > grid.len() {
        return None;
    }
    grid.truncate(count);
    sender.slots.resize(count, SenderSlot::default());
    let last = receiver.slots.last().map_or(0, |slot| slot.cut_ns);
    let empty = ReceiverSlot { cut_ns: last, received_bytes: 0, active_connections: Some(0) };
    receiver.slots.resize(count, empty);
    Some(grid)
}

/// The beats of a trial, so many to a slot; what comes after the steady time is one slot.
fn slots(timing: &Timing, each: usize) -> Vec<Slot> {
    let beats = timing.beats();
    let Some((after, active)) = beats.split_last() else { return beats };
    let slot = |beats: &[Slot]| Slot { end: beats[beats.len() - 1].end, ..beats[0] };
    active.chunks(each).map(slot).chain([*after]).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const TIMING: Timing = Timing {
        warm_up: Duration::ZERO,
        steady: Duration::from_secs(10),
        settle: Duration::from_secs(1),
    };

    fn sender(slots: usize, beats_per_slot: u32) -> TcpSenderHalf {
        let slot = SenderSlot { sent_bytes: 10, ..SenderSlot::default() };
        TcpSenderHalf { slots: vec![slot; slots], beats_per_slot, ..TcpSenderHalf::default() }
    }

    fn slot(cut_ms: u64, received_bytes: u64, active: u32) -> ReceiverSlot {
        let cut_ns = cut_ms * 1_000_000;
        ReceiverSlot { cut_ns, received_bytes, active_connections: Some(active) }
    }

    fn receiver(slots: usize, beats_per_slot: u32) -> TcpReceiverHalf {
        let slot = |k: usize| slot(50 * k as u64, 10, 2);
        let slots = (1..=slots).map(slot).collect();
        TcpReceiverHalf { slots, beats_per_slot, ..TcpReceiverHalf::default() }
    }

    #[test]
    fn the_end_that_ended_first_has_nothing_more() {
        let (mut sent, mut received) = (sender(9, 1), receiver(7, 1));
        let grid = even_out(&TIMING, &mut sent, &mut received).unwrap();
        assert_eq!((grid.len(), sent.slots.len(), received.slots.len()), (9, 9, 9));
        assert_eq!(grid[8].end, Duration::from_millis(450));
        assert_eq!(received.slots[8], slot(350, 0, 0));
    }

    #[test]
    fn slots_of_different_length_become_those_of_the_longer() {
        let (mut sent, mut received) = (sender(5, 2), receiver(9, 1));
        let grid = even_out(&TIMING, &mut sent, &mut received).unwrap();
        assert_eq!((grid.len(), grid[4].end), (5, Duration::from_millis(500)));
        assert_eq!(received.slots[4], slot(450, 10, 2));
        assert_eq!(received.slots[0].received_bytes, 20);
    }

    #[test]
    fn what_comes_after_the_steady_time_is_a_slot_of_its_own() {
        // 200 beats and one more.
        let (mut sent, mut received) = (sender(201, 1), receiver(101, 2));
        let grid = even_out(&TIMING, &mut sent, &mut received).unwrap();
        assert_eq!((grid.len(), sent.slots.len()), (101, 101));
        assert!(!grid[100].steady && grid[99].steady);
        assert_eq!((sent.slots[99].sent_bytes, sent.slots[100].sent_bytes), (20, 10));
    }

    #[test]
    fn halves_that_are_not_of_this_trial_are_refused() {
        for (mut sent, mut received) in [
            (sender(202, 1), receiver(7, 1)),
            (sender(7, 0), receiver(7, 1)),
            (sender(7, 3), receiver(7, 2)),
        ] {
            assert_eq!(even_out(&TIMING, &mut sent, &mut received), None);
        }
    }
}
