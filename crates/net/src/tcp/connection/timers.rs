//! When a connection does something by itself, and what.

use fp_model::Time;

use crate::tcp::connection::{Connection, End, Marks, Reaction, State};
use crate::tcp::profile::Profile;

impl Connection {
    /// When to call `on_timeout` and to ask for segments again.
    pub fn poll_timeout(&self, now: Time) -> Option<Time> {
        let alarm = self.marks.has(Marks::ALARM).then(|| self.alarm.instant(now));
        let ack_alarm =
            self.marks.has(Marks::ACK_ALARM).then(|| self.ack_alarm.whole(now).instant(now));
        let work = self.work.as_ref().and_then(|work| {
            let ends = [work.sender.poll_timeout(), work.receiver.poll_timeout(), work.rest_at()];
            ends.into_iter().flatten().min()
        });
        [alarm, ack_alarm, work].into_iter().flatten().min()
    }

    /// A deadline has passed, or may have.
    pub fn on_timeout(&mut self, now: Time, profile: &Profile) -> Reaction {
        let mut reaction = Reaction::default();
        if self.marks.has(Marks::ALARM) && self.alarm.is_due(now) {
            self.marks.clear(Marks::ALARM);
            match self.state {
                State::Closed => {}
                State::TimeWait => self.end_as(End::Closed, &mut reaction),
                State::FinWait2 => self.end_as(End::TimedOut, &mut reaction),
                State::SynSent | State::SynReceived => {
                    self.try_again(now, profile, profile.syn_retransmissions_max, &mut reaction);
                }
                State::Established
                | State::FinWait1
                | State::CloseWait
                | State::Closing
                | State::LastAck => {
                    self.try_again(now, profile, profile.retransmissions_max, &mut reaction);
                }
            }
        }
        self.on_timeout_of_work(now, profile, &mut reaction);
        reaction
    }

    //= rfc6298 5.4
    /// What is under way has not arrived: it is sent again, the next time after twice as long.
    //= rfc9293 MUST-20
    //= rfc9293 MUST-21
    //= rfc9293 MUST-22
    //= rfc6298 5.5
    fn try_again(
        &mut self,
        now: Time,
        profile: &Profile,
        retransmissions_max: u8,
        reaction: &mut Reaction,
    ) {
        if self.backoff >= retransmissions_max {
            self.end_as(End::TimedOut, reaction);
            return;
        }
        self.backoff += 1;
        self.window_segments = 1;
        self.marks.set(Marks::RETRANSMIT | Marks::WAS_RESENT);
        self.wait_for(now, self.round_trips(profile).timeout());
    }

    fn on_timeout_of_work(&mut self, now: Time, profile: &Profile, reaction: &mut Reaction) {
        let Some(work) = &mut self.work else { return };
        if work.sender.poll_timeout().is_some_and(|at| at <= now) {
            work.sender.on_timeout(now);
        }
        if work.sender.timeouts() > u32::from(profile.retransmissions_max) {
            self.end_as(End::TimedOut, reaction);
            return;
        }
        self.rest(now);
    }
}
