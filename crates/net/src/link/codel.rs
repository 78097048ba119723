//! CoDel (RFC 8289): drops at the head of a queue whose frames have waited too long for too long.

use core::time::Duration;

use fp_model::Time;

/// The control law's state, asked about each frame that is about to leave the queue.
#[derive(Clone, Debug)]
pub(crate) struct CoDel {
    target: Duration,
    interval: Duration,
    /// When the waiting time will have been above the target for an interval.
    late_at: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u32,
    last_count: u32,
    largest_frame_bytes: u32,
    /// The last frame was dropped on schedule, so the schedule moves on if the next is late too.
    reschedule: bool,
}

/// A frame at the head of its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) frame_bytes: u32,
    pub(crate) waited: Duration,
    /// What is left in the queue without it.
    pub(crate) behind_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Send,
    Drop,
}

impl CoDel {
    pub(crate) fn new(target: Duration, interval: Duration) -> Self {
        Self {
            target,
            interval,
            late_at: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            largest_frame_bytes: 512,
            reschedule: false,
        }
    }

    /// RFC 8289 §5.5, for one frame; after a drop the next frame is judged at the same `now`.
    pub(crate) fn judge(&mut self, now: Time, head: Head) -> Judgement {
        let late = self.is_late(now, head);
        if self.reschedule && late {
            self.drop_next = self.control_law(self.drop_next);
        }
        self.reschedule = false;
        if !late {
            self.dropping = false;
            return Judgement::Send;
        }
        if !self.dropping {
            self.start_dropping(now);
            return Judgement::Drop;
        }
        if now < self.drop_next {
            return Judgement::Send;
        }
        self.count = self.count.saturating_add(1);
        self.reschedule = true;
        Judgement::Drop
    }

    /// Whether the waiting time has been above the target for a whole interval.
    fn is_late(&mut self, now: Time, head: Head) -> bool {
        self.largest_frame_bytes = self.largest_frame_bytes.max(head.frame_bytes);
        let one_frame_left = head.behind_bytes <= u64::from(self.largest_frame_bytes);
        if head.waited < self.target || one_frame_left {
            self.late_at = None;
            return false;
        }
        match self.late_at {
            Some(late_at) => now >= late_at,
            None => {
                self.late_at = Some(now + self.interval);
                false
            }
        }
    }

    /// Resumes at about the former rate where the last dropping ended only a short while ago.
    fn start_dropping(&mut self, now: Time) {
        let in_former_state = self.count - self.last_count;
        let recent = now < self.drop_next + self.interval * 16;
        self.count = if in_former_state > 1 && recent { in_former_state } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.drop_next = self.control_law(now);
    }

    /// The next drop: intervals shrink with the square root of the number of drops.
    fn control_law(&self, from: Time) -> Time {
        let interval = self.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count));
        from + Duration::from_nanos(interval as u64)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const TARGET: Duration = Duration::from_millis(5);
    const INTERVAL: Duration = Duration::from_millis(100);

    /// The milliseconds at which frames are dropped that leave one each millisecond, all having
    /// waited for 20 ms in a long queue.
    fn drops_in_ms(until_ms: u64) -> Vec<u64> {
        let mut codel = CoDel::new(TARGET, INTERVAL);
        let head =
            Head { frame_bytes: 1518, waited: Duration::from_millis(20), behind_bytes: 100_000 };
        let is_dropped =
            |ms: &u64| codel.judge(Time::from_nanos(ms * 1_000_000), head) == Judgement::Drop;
        (0..until_ms).filter(is_dropped).collect()
    }

    /// First after one interval, 100 ms; then after 100/√1, 100/√2 = 70.7, 100/√3 = 57.7 and
    /// 100/√4 = 50 ms more: at 200, 270.7, 328.4 and 378.4, each on the next whole millisecond.
    #[test]
    fn drops_start_after_an_interval_above_target_and_come_ever_closer() {
        assert_eq!(drops_in_ms(400), [100, 200, 271, 329, 379]);
    }

    #[test]
    fn a_queue_below_its_target_loses_nothing() {
        let mut codel = CoDel::new(TARGET, INTERVAL);
        let head =
            Head { frame_bytes: 1518, waited: Duration::from_micros(4999), behind_bytes: 100_000 };
        let mut judged = |ms: u64| codel.judge(Time::from_nanos(ms * 1_000_000), head);
        assert!((0..1000).map(&mut judged).all(|judgement| judgement == Judgement::Send));
    }

    #[test]
    fn the_last_frame_is_sent_however_long_it_waited() {
        let mut codel = CoDel::new(TARGET, INTERVAL);
        let head = Head { frame_bytes: 1518, waited: Duration::from_secs(1), behind_bytes: 1518 };
        let mut judged = |ms: u64| codel.judge(Time::from_nanos(ms * 1_000_000), head);
        assert!((0..1000).map(&mut judged).all(|judgement| judgement == Judgement::Send));
    }

    #[test]
    fn one_frame_in_time_ends_the_dropping() {
        let mut codel = CoDel::new(TARGET, INTERVAL);
        let late =
            Head { frame_bytes: 1518, waited: Duration::from_millis(20), behind_bytes: 100_000 };
        let in_time = Head { waited: Duration::ZERO, ..late };
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        assert_eq!(codel.judge(at(0), late), Judgement::Send);
        assert_eq!(codel.judge(at(100), late), Judgement::Drop);
        assert_eq!(codel.judge(at(150), in_time), Judgement::Send);
        // The interval begins again at 200 ms.
        assert_eq!(codel.judge(at(200), late), Judgement::Send);
        assert_eq!(codel.judge(at(299), late), Judgement::Send);
        assert_eq!(codel.judge(at(300), late), Judgement::Drop);
    }
}
