//! When a service is available: the rule of ten consecutive seconds, ITU-T Y.1563 as others tell it.

use alloc::vec;
use alloc::vec::Vec;

/// More than this share of its frames lost makes a second severely errored.
const SEVERE_LOSS_RATIO: f64 = 0.5;
/// So many seconds in a row change the state, from the first of them on.
const SECONDS_TO_CHANGE: usize = 10;

/// One second of a service: frames sent in it, and how many of them never arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    pub sent_frames: u64,
    pub lost_frames: u64,
}

impl Second {
    fn is_severely_errored(self) -> bool {
        self.lost_frames as f64 > SEVERE_LOSS_RATIO * self.sent_frames as f64
    }
}

/// What the seconds of a test amount to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Availability {
    pub seconds: u64,
    pub unavailable_seconds: u64,
    pub severely_errored_seconds: u64,
    /// Frames sent in available time, and how many of them never arrived.
    pub available: Second,
}

impl Availability {
    /// Of a test that began in available time.
    pub fn of(seconds: &[Second]) -> Self {
        let severe: Vec<bool> = seconds.iter().map(|second| second.is_severely_errored()).collect();
        let available = available(&severe);
        let mut sum = Self { seconds: seconds.len() as u64, ..Self::default() };
        sum.severely_errored_seconds = severe.iter().filter(|severe| **severe).count() as u64;
        for (second, available) in seconds.iter().zip(available) {
            if available {
                sum.available.sent_frames += second.sent_frames;
                sum.available.lost_frames += second.lost_frames;
            } else {
                sum.unavailable_seconds += 1;
            }
        }
        sum
    }

    /// `None` where there was no second.
    pub fn percent(&self) -> Option<f64> {
        let available = self.seconds - self.unavailable_seconds;
        (self.seconds > 0).then(|| 100.0 * available as f64 / self.seconds as f64)
    }
}

/// For each second whether it is available time: the state changes with the first of ten seconds
/// that all speak against it.
fn available(severe: &[bool]) -> Vec<bool> {
    let mut available = vec![true; severe.len()];
    let (mut state, mut against) = (true, 0);
    for (place, severe) in severe.iter().enumerate() {
        against = if *severe == state { against + 1 } else { 0 };
        if against == SECONDS_TO_CHANGE {
            state = !state;
            available[place + 1 - against..place].fill(state);
            against = 0;
        }
        available[place] = state;
    }
    available
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x` is a second in which everything is lost, `h` half, `l` a tenth, anything else nothing.
    fn availability(seconds: &str) -> Availability {
        let lost = |second| match second {
            'x' => 100,
            'h' => 50,
            'l' => 10,
            _ => 0,
        };
        let seconds: Vec<_> =
            seconds.chars().map(|c| Second { sent_frames: 100, lost_frames: lost(c) }).collect();
        Availability::of(&seconds)
    }

    #[test]
    fn nine_lost_seconds_are_loss_and_ten_are_an_outage() {
        let nine = availability("....xxxxxxxxx......");
        assert_eq!((nine.unavailable_seconds, nine.severely_errored_seconds), (0, 9));
        assert_eq!(nine.available.lost_frames, 900);
        assert_eq!(nine.percent(), Some(100.0));
        // Ten of 25 seconds; eleven good ones end the outage.
        let ten = availability("....xxxxxxxxxx...........");
        assert_eq!((ten.unavailable_seconds, ten.available.lost_frames), (10, 0));
        assert_eq!(ten.percent(), Some(60.0));
        // Six good seconds do not: nobody has seen that it was over.
        assert_eq!(availability("....xxxxxxxxxx......").unavailable_seconds, 16);
    }

    #[test]
    fn an_outage_ends_only_before_ten_good_seconds() {
        // Nine good seconds within: unavailable throughout, 10 + 9 + 1.
        let short = availability("xxxxxxxxxx.........x..........");
        assert_eq!(short.unavailable_seconds, 20);
        // Ten good seconds: available again with the first of them, and one bad one is loss.
        let long = availability("xxxxxxxxxx..........x.........");
        assert_eq!((long.unavailable_seconds, long.available.lost_frames), (10, 100));
    }

    #[test]
    fn a_second_is_severely_errored_only_with_more_than_half_of_its_frames_lost() {
        let half = availability("hhhhhhhhhhhhllll");
        assert_eq!((half.severely_errored_seconds, half.unavailable_seconds), (0, 0));
        // 12·50 + 4·10.
        assert_eq!(half.available.lost_frames, 640);
    }

    #[test]
    fn a_test_may_begin_or_end_in_an_outage() {
        assert_eq!(availability("xxxxxxxxxx").percent(), Some(0.0));
        assert_eq!(availability("..........xxxxxxxxxx").unavailable_seconds, 10);
        assert_eq!(availability("...........xxxxxxxxx").unavailable_seconds, 0);
        assert_eq!(availability("").percent(), None);
    }
}
