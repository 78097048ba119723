//! Deadlines of very many connections: a timer wheel of three levels.
//!
//! The first level has a slot for each millisecond of the next second, the second one for each second
//! of the next 17 minutes, the third one for each 17 minutes of the next 12 days. Setting a deadline,
//! moving it and taking it off cost the same whatever the number of them.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Deadlines in ticks of a millisecond on a circle of 32 bits: one that is more than 24 days ahead
/// counts as passed.
#[derive(Debug)]
pub(super) struct Wheel {
    links: Vec<Link>,
    levels: [Level; LEVELS],
    /// All before it has been taken.
    now: u32,
}

/// A member of the list of a slot.
#[derive(Clone, Copy, Debug)]
struct Link {
    next: u32,
    /// The one before it, or the slot with `IS_SLOT`.
    previous: u32,
    due: u32,
}

#[derive(Debug)]
struct Level {
    heads: Box<[u32]>,
    /// Which slots have members.
    occupied: [u64; SLOTS / 64],
}

const LEVELS: usize = 3;
const SLOT_BITS: u32 = 10;
const SLOTS: usize = 1 << SLOT_BITS;
/// What is further away waits in the furthest slot, and is put in its place from there.
const AHEAD_MAX: u32 = ((SLOTS as u32 - 1) << (2 * SLOT_BITS)) - 1;
const NOBODY: u32 = u32::MAX;
const IS_SLOT: u32 = 1 << 31;

impl Wheel {
    /// Of members from 0 up to `count`, none of which has a deadline.
    pub(super) fn new(count: u32, now: u32) -> Self {
        assert!(count < IS_SLOT, "slots and members are told apart by the highest bit");
        let idle = Link { next: NOBODY, previous: NOBODY, due: 0 };
        let level = || Level { heads: vec![NOBODY; SLOTS].into(), occupied: [0; SLOTS / 64] };
        Self { links: vec![idle; count as usize], levels: [level(), level(), level()], now }
    }

    pub(super) const fn bytes_needed(count: u32) -> u64 {
        count as u64 * size_of::<Link>() as u64 + (LEVELS * SLOTS * size_of::<u32>()) as u64
    }

    pub(super) fn due(&self, member: u32) -> Option<u32> {
        let link = self.links[member as usize];
        (link.previous != NOBODY).then_some(link.due)
    }

    /// In place of the deadline that it has.
    pub(super) fn set(&mut self, member: u32, due: u32) {
        self.cancel(member);
        let (level, slot) = self.slot_for(due);
        let head = core::mem::replace(&mut self.levels[level].heads[slot], member);
        self.levels[level].occupied[slot / 64] |= 1 << (slot % 64);
        if head != NOBODY {
            self.links[head as usize].previous = member;
        }
        let previous = IS_SLOT | (level << SLOT_BITS | slot) as u32;
        self.links[member as usize] = Link { next: head, previous, due };
    }

    pub(super) fn cancel(&mut self, member: u32) {
        let Link { next, previous, .. } = self.links[member as usize];
        if previous == NOBODY {
            return;
        }
        self.links[member as usize].previous = NOBODY;
        if next != NOBODY {
            self.links[next as usize].previous = previous;
        }
        if previous & IS_SLOT == 0 {
            self.links[previous as usize].next = next;
            return;
        }
        let place = (previous & !IS_SLOT) as usize;
        let (level, slot) = (place >> SLOT_BITS, place % SLOTS);
        self.levels[level].heads[slot] = next;
        if next == NOBODY {
            self.levels[level].occupied[slot / 64] &= !(1 << (slot % 64));
        }
    }

    /// Takes off one of those whose deadline has come.
    pub(super) fn pop_due(&mut self, now: u32) -> Option<u32> {
        loop {
            let Some(at) = self.next_due().filter(|at| now.wrapping_sub(*at) as i32 >= 0) else {
                if now.wrapping_sub(self.now) as i32 > 0 {
                    self.now = now;
                }
                return None;
            };
            self.now = at;
            if self.move_down() {
                continue;
            }
            let head = self.levels[0].heads[at as usize % SLOTS];
            self.cancel(head);
            return Some(head);
        }
    }

    /// When to look next: at a deadline, or earlier where the next ones are put in their order.
    pub(super) fn next_due(&self) -> Option<u32> {
        let ahead = |(level, of_level): (usize, &Level)| {
            let shift = level as u32 * SLOT_BITS;
            let passing = self.now >> shift;
            let slots = of_level.next_after(passing as usize % SLOTS)?;
            let at = passing.wrapping_add(slots) << shift;
            Some((at.wrapping_sub(self.now) as i32).max(0) as u32)
        };
        let nearest = self.levels.iter().enumerate().filter_map(ahead).min()?;
        Some(self.now.wrapping_add(nearest))
    }

    /// Puts those that wait in a slot of a higher level that passes now where they belong; `false`:
    /// there are none.
    fn move_down(&mut self) -> bool {
        for level in (1..LEVELS).rev() {
            let slot = (self.now >> (level as u32 * SLOT_BITS)) as usize % SLOTS;
            let mut member = self.levels[level].heads[slot];
            if member == NOBODY {
                continue;
            }
            self.levels[level].heads[slot] = NOBODY;
            self.levels[level].occupied[slot / 64] &= !(1 << (slot % 64));
            while member != NOBODY {
                let Link { next, due, .. } = self.links[member as usize];
                self.links[member as usize].previous = NOBODY;
                self.set(member, due);
                member = next;
            }
            return true;
        }
        false
    }

    fn slot_for(&self, due: u32) -> (usize, usize) {
        let ahead = (due.wrapping_sub(self.now) as i32).max(0) as u32;
        let due = self.now.wrapping_add(ahead.min(AHEAD_MAX));
        let level = (0..LEVELS - 1).find(|level| self.is_within(*level as u32, due));
        let level = level.unwrap_or(LEVELS - 1);
        (level, (due >> (level as u32 * SLOT_BITS)) as usize % SLOTS)
    }

    /// Whether the slots of a level reach so far: what is a whole round ahead has the slot that
    /// passes.
    const fn is_within(&self, level: u32, due: u32) -> bool {
        let shift = level * SLOT_BITS;
        let round = u32::MAX >> shift;
        let ahead = (due >> shift).wrapping_sub(self.now >> shift) & round;
        (ahead as usize) < SLOTS
    }
}

impl Level {
    /// How many slots after this one, which counts as well, the first one with members is.
    fn next_after(&self, slot: usize) -> Option<u32> {
        let (word, bit) = (slot / 64, slot % 64);
        let rest = self.occupied[word] & (u64::MAX << bit);
        if rest != 0 {
            return Some(rest.trailing_zeros() - bit as u32);
        }
        let words = self.occupied.len();
        (1..=words).find_map(|ahead| {
            let occupied = self.occupied[(word + ahead) % words];
            let at = (ahead * 64) as u32 + occupied.trailing_zeros();
            (occupied != 0).then(|| at - bit as u32)
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Deed {
        Set { member: u32, ahead: u32 },
        Cancel { member: u32 },
        Pass { ticks: u32 },
    }

    fn deed() -> impl Strategy<Value = Deed> {
        let ahead = prop_oneof![0_u32..5, 0_u32..3000, 0_u32..3_000_000, 0_u32..2_000_000_000];
        let ticks = prop_oneof![0_u32..5, 0_u32..3000, 0_u32..3_000_000, 0_u32..1_000_000_000];
        prop_oneof![
            5 => (0_u32..20, ahead).prop_map(|(member, ahead)| Deed::Set { member, ahead }),
            1 => (0_u32..20).prop_map(|member| Deed::Cancel { member }),
            2 => ticks.prop_map(|ticks| Deed::Pass { ticks }),
        ]
    }

    proptest! {
        #[test]
        fn deadlines_come_when_they_are_due_and_once(
            start: u32,
            deeds in vec(deed(), 0..200),
        ) {
            let mut wheel = Wheel::new(20, start);
            // By ticks from the start, which do not go round.
            let mut now = 0_u64;
            let mut model: BTreeMap<u32, u64> = BTreeMap::new();
            for deed in deeds {
                match deed {
                    Deed::Set { member, ahead } => {
                        wheel.set(member, start.wrapping_add(now as u32).wrapping_add(ahead));
                        model.insert(member, now + u64::from(ahead));
                    }
                    Deed::Cancel { member } => {
                        wheel.cancel(member);
                        model.remove(&member);
                    }
                    Deed::Pass { ticks } => now += u64::from(ticks),
                }
                let tick = start.wrapping_add(now as u32);
                let mut passed = now - match deed { Deed::Pass { ticks } => u64::from(ticks), _ => 0 };
                while let Some(member) = wheel.pop_due(tick) {
                    let due = model.remove(&member);
                    prop_assert!(due.is_some_and(|due| due <= now && due >= passed), "{due:?}");
                    passed = passed.max(due.unwrap_or_default());
                }
                prop_assert!(model.values().all(|due| *due > now));
                for member in 0..20 {
                    let due = model.get(&member).map(|due| start.wrapping_add(*due as u32));
                    prop_assert_eq!(wheel.due(member), due);
                }
                let earliest = model.values().min().map(|due| due - now);
                let next = wheel.next_due().map(|at| u64::from(at.wrapping_sub(tick)));
                prop_assert_eq!(next.is_some(), earliest.is_some());
                prop_assert!(next <= earliest && next != Some(0), "{:?} {:?}", next, earliest);
            }
        }
    }

    #[test]
    fn a_member_takes_12_bytes() {
        assert_eq!(size_of::<Link>(), 12);
    }
}
