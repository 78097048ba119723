//! When the frames of a burst left, drawn with few straight lines.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::Departure;

/// A curve of departures within a tolerance of every frame that it was told of.
///
/// From the last knot a cone is open: the slopes of all lines that pass each frame since then within the
/// tolerance. The first frame that leaves the cone empty makes the frame before it a knot. Where there
/// would be more knots than are allowed, the tolerance doubles.
///
/// J. O'Rourke, "An on-line algorithm for fitting straight lines between data ranges",
/// Communications of the ACM 24 (9), 1981.
#[derive(Clone, Debug)]
pub struct DepartureCurve {
    within_ns: f64,
    knots_max: usize,
    knots: Vec<Knot>,
    /// The last frame behind the last knot, and the least and the greatest slope.
    open: Option<(u32, f64, f64)>,
}

#[derive(Clone, Copy, Debug)]
struct Knot {
    frame: u32,
    at_ns: f64,
}

impl DepartureCurve {
    /// Of what one slot is long at the rate of a burst, the part within which its curve is drawn: a
    /// bucket that is refilled by a third of the rate wins a fiftieth of a frame in that time.
    const PART_OF_SLOT: u32 = 16;
    /// For all bursts of a trial together, and for one of them.
    const KNOTS_OF_ALL: u32 = 65_536;
    const KNOTS_MAX: u32 = 4096;
    const KNOTS_LEAST: u32 = 8;

    /// For one of `bursts` whose frames are planned to leave one `slot` after the other.
    pub fn new(slot: Duration, bursts: u32) -> Self {
        let knots_max = Self::KNOTS_OF_ALL / bursts.max(1);
        Self {
            within_ns: (slot / Self::PART_OF_SLOT).as_nanos().max(1) as f64,
            knots_max: knots_max.clamp(Self::KNOTS_LEAST, Self::KNOTS_MAX) as usize,
            knots: Vec::new(),
            open: None,
        }
    }

    /// As far as a frame that it was told of may be from it by now.
    pub fn within(&self) -> Duration {
        Duration::from_nanos(self.within_ns as u64)
    }

    /// A frame left. Frames come in their order, and none of them leaves before the one in front of it.
    pub fn left(&mut self, frame: u32, at: Duration) {
        self.add(Knot { frame, at_ns: at.as_nanos() as f64 });
        while self.knots.len() >= self.knots_max {
            self.coarsen();
        }
    }

    /// The first frame, the last one, and those between them where the curve bends; and the tolerance.
    pub fn into_departures(mut self) -> (Vec<Departure>, Duration) {
        self.close();
        let departure = |knot: &Knot| Departure {
            frame: knot.frame,
            at: Duration::from_nanos(libm::round(knot.at_ns) as u64),
        };
        (self.knots.iter().map(departure).collect(), self.within())
    }

    fn add(&mut self, point: Knot) {
        let Some(from) = self.knots.last().copied() else {
            self.knots.push(point);
            return;
        };
        let (least, greatest) = self.slopes(from, point);
        self.open = match self.open {
            Some((_, low, high)) if low.max(least) <= high.min(greatest) => {
                Some((point.frame, low.max(least), high.min(greatest)))
            }
            Some(_) => {
                let from = self.close().unwrap_or(from);
                let (least, greatest) = self.slopes(from, point);
                Some((point.frame, least, greatest))
            }
            None => Some((point.frame, least, greatest)),
        };
    }

    /// The least and the greatest slope of a line that begins at a knot and passes a frame within the
    /// tolerance. Neither goes back in time.
    fn slopes(&self, from: Knot, to: Knot) -> (f64, f64) {
        let (frames, ns) = (f64::from(to.frame - from.frame), to.at_ns - from.at_ns);
        (((ns - self.within_ns) / frames).max(0.0), (ns + self.within_ns) / frames)
    }

    /// Makes a knot of the last frame.
    fn close(&mut self) -> Option<Knot> {
        let (frame, low, high) = self.open.take()?;
        let from = self.knots.last()?;
        let at_ns = from.at_ns + (low + high) / 2.0 * f64::from(frame - from.frame);
        let knot = Knot { frame, at_ns };
        self.knots.push(knot);
        Some(knot)
    }

    /// Draws the curve through its own knots again with the same tolerance: what is off by no more than
    /// both is off by no more than twice that.
    fn coarsen(&mut self) {
        self.close();
        let knots = core::mem::take(&mut self.knots);
        knots.into_iter().for_each(|knot| self.add(knot));
        self.within_ns *= 2.0;
        // Its cone was of the tolerance before.
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(departures: &[Departure], frame: u32) -> f64 {
        let next = departures.iter().position(|knot| knot.frame >= frame).unwrap();
        let Departure { frame: last, at: until } = departures[next];
        let Departure { frame: first, at: from } = departures[next.saturating_sub(1)];
        if first == last {
            return until.as_nanos() as f64;
        }
        let part = f64::from(frame - first) / f64::from(last - first);
        from.as_nanos() as f64 + part * (until - from).as_nanos() as f64
    }

    fn drawn(times: &[u64], bursts: u32) -> (Vec<Departure>, Duration) {
        let mut curve = DepartureCurve::new(Duration::from_nanos(1600), bursts);
        for (frame, ns) in (0..).zip(times) {
            curve.left(frame, Duration::from_nanos(*ns));
        }
        curve.into_departures()
    }

    #[test]
    fn an_even_burst_is_one_line_and_a_pause_bends_it() {
        let even: Vec<u64> = (0..1000).map(|frame| frame * 1600).collect();
        let (departures, within) = drawn(&even, 1);
        assert_eq!((departures.len(), within), (2, Duration::from_nanos(100)));
        assert_eq!(departures[1].frame, 999);
        // For 400 µs nothing leaves; the 250 frames that are due then leave within 25 µs.
        let paused = |ns: u64| if ns > 400_000 { ns.max(760_000 + ns / 10) } else { ns };
        let (departures, _) = drawn(&even.into_iter().map(paused).collect::<Vec<u64>>(), 1);
        let bends: Vec<u32> = departures.iter().map(|knot| knot.frame).collect();
        assert_eq!(bends[..3], [0, 250, 251]);
        assert!(bends.len() <= 6, "{bends:?}");
    }

    #[test]
    fn a_sender_that_never_keeps_time_is_drawn_more_coarsely() {
        // Every other frame is late by 3 µs.
        let ragged: Vec<u64> = (0..10_000).map(|frame| frame * 1600 + frame % 2 * 1500).collect();
        let (departures, within) = drawn(&ragged, 100);
        assert!(departures.len() < 700, "{}", departures.len());
        assert!(within >= Duration::from_nanos(750), "{within:?}");
    }

    proptest! {
        #[test]
        fn no_frame_is_further_from_its_curve_than_it_says(
            gaps in prop::collection::vec(prop_oneof![4 => 1600_u64..1601, 1 => 0_u64..40_000], 1..600),
            bursts in prop_oneof![Just(1_u32), Just(20_000)],
        ) {
            let mut now = 7;
            let times: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
            let (departures, within) = drawn(&times, bursts);
            let knots_max = if bursts == 1 { 4096 } else { 8 };
            let forwards = |two: &[Departure]| two[0].frame < two[1].frame && two[0].at <= two[1].at;
            prop_assert!(departures.len() <= knots_max);
            prop_assert!(departures.windows(2).all(forwards));
            prop_assert_eq!(departures.last().unwrap().frame as usize, times.len() - 1);
            for (frame, ns) in (0..).zip(&times) {
                let off = (at(&departures, frame) - *ns as f64).abs();
                // Both are rounded to nanoseconds.
                prop_assert!(off <= within.as_nanos() as f64 + 2.0, "{off} {within:?}");
            }
        }
    }
}
