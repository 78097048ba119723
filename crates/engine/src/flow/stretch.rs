//! A flow's progress, told in stretches of a few beats: often enough to watch, too little to disturb.

use fp_model::Timing;

use super::News;
use crate::control::message::Seen;
use crate::os::thread_usage::ThreadUsage;

/// Adds up slots and tells each stretch when it is over.
pub(crate) struct Stretches<'a> {
    slots: usize,
    under_way: Option<(usize, Seen)>,
    tell: &'a dyn Fn(News),
    usage: &'a mut ThreadUsage,
}

impl<'a> Stretches<'a> {
    pub(super) fn of(timing: &Timing, tell: &'a dyn Fn(News), usage: &'a mut ThreadUsage) -> Self {
        Self { slots: timing.beats_per_stretch(), under_way: None, tell, usage }
    }

    pub(super) fn on_slot(&mut self, slot: usize, seen: Seen) {
        let stretch = slot / self.slots;
        if self.under_way.is_some_and(|(current, _)| current != stretch) {
            self.flush();
        }
        let sum = self.under_way.map_or(seen, |(_, before)| added(before, seen));
        self.under_way = Some((stretch, sum));
        if (slot + 1).is_multiple_of(self.slots) {
            self.flush();
        }
    }

    pub(super) fn flush(&mut self) {
        if let Some((stretch, seen)) = self.under_way.take() {
            self.usage.look();
            (self.tell)(News::Progress { stretch, seen });
        }
    }
}

fn added(before: Seen, seen: Seen) -> Seen {
    match (before, seen) {
        (Seen::Sent(before), Seen::Sent(seen)) => Seen::Sent(before.and(seen)),
        (Seen::Received(before), Seen::Received(seen)) => Seen::Received(before.and(seen)),
        (Seen::Client(before), Seen::Client(seen)) => Seen::Client(before.and(seen)),
        (Seen::Server(before), Seen::Server(seen)) => Seen::Server(before.and(seen)),
        // A half sees one of these alone.
        (_, seen) => seen,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use super::*;
    use crate::half::SenderSlot;

    #[test]
    fn ten_slots_of_50_ms_are_told_in_three_messages_that_add_up() {
        let timing = Timing {
            warm_up: Duration::ZERO,
            steady: Duration::from_millis(450),
            settle: Duration::from_millis(100),
        };
        let told = RefCell::new(Vec::new());
        let tell = |news| {
            let News::Progress { stretch, seen: Seen::Sent(slot) } = news else { panic!() };
            told.borrow_mut().push((stretch, slot.sent_bytes));
        };
        let mut usage = ThreadUsage::begin();
        let mut stretches = Stretches::of(&timing, &tell, &mut usage);
        for slot in 0..10 {
            let seen = SenderSlot { sent_bytes: 1 << slot, ..SenderSlot::default() };
            stretches.on_slot(slot, Seen::Sent(seen));
        }
        stretches.flush();
        // Three slots of 50 ms in 150 ms: 1+2+4, 8+16+32, 64+128+256, 512.
        assert_eq!(*told.borrow(), [(0, 7), (1, 56), (2, 448), (3, 512)]);
    }
}
