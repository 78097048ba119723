//! Proportional rate reduction: how much to send while a loss is repaired, RFC 6937.

/// One recovery, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// The window at the loss, and where it is heading.
    pub(crate) from: f64,
    to: f64,
    delivered: u32,
    sent: u32,
}

impl Reduction {
    pub(crate) const fn new(from: f64, to: f64) -> Self {
        Self { from, to, delivered: 0, sent: 0 }
    }

    pub(crate) const fn on_sent(&mut self) {
        self.sent += 1;
    }

    /// The window after `delivered` more segments arrived. `makes_progress`: the stream went on in
    /// order and nothing new was found lost.
    pub(crate) fn window(&mut self, delivered: u32, in_flight: u32, makes_progress: bool) -> f64 {
        self.delivered += delivered;
        let in_flight = f64::from(in_flight);
        let (all_delivered, all_sent) = (f64::from(self.delivered), f64::from(self.sent));
        let may_send = if in_flight > self.to {
            libm::ceil(self.to * all_delivered / self.from) - all_sent
        } else {
            let slow_start = (all_delivered - all_sent).max(f64::from(delivered));
            let extra = if makes_progress { 1.0 } else { 0.0 };
            (slow_start + extra).min(self.to - in_flight)
        };
        // The first hole is filled whatever is in flight.
        let at_least = if self.sent == 0 { 1.0 } else { 0.0 };
        in_flight + may_send.max(at_least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window is to shrink from 100 to 50 with 90 in flight: of every two segments that arrive
    /// one is replaced, so that after 80 of them 40 were sent and 50 are in flight.
    #[test]
    fn sending_slows_down_in_proportion() {
        let mut reduction = Reduction::new(100.0, 50.0);
        let mut in_flight = 90;
        for _ in 0..80 {
            in_flight -= 1;
            let window = reduction.window(1, in_flight, false);
            while f64::from(in_flight) < window {
                reduction.on_sent();
                in_flight += 1;
            }
        }
        assert_eq!((reduction.sent, in_flight), (40, 50));
    }

    /// 90 of 100 are lost: no burst of 40 segments into the queue that has just overflowed.
    #[test]
    fn heavy_loss_is_repaired_as_in_slow_start() {
        let mut reduction = Reduction::new(100.0, 50.0);
        assert_eq!(reduction.window(1, 9, false), 10.0);
        reduction.on_sent();
        assert_eq!(reduction.window(1, 9, true), 11.0);
    }
}
