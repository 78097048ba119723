//! What keeps the number of connections from growing: a table that is full, and who says so how.

use core::fmt;

use fp_model::ConnectionsReport;

/// So many connections were open at most, and this is what became of further ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub active: u32,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Nobody answered them.
    NoAnswer,
    /// They were answered by resets.
    Refused,
    /// Others were broken off in their stead.
    Reset,
    /// Others went silent in their stead.
    TimedOut,
}

impl Cause {
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoAnswer => "no_answer",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::TimedOut => "timed_out",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { active, cause } = self;
        match cause {
            Cause::NoAnswer => {
                write!(f, "new connections stopped being answered at {active} active")
            }
            Cause::Refused => write!(f, "new connections were refused at {active} active"),
            Cause::Reset => write!(f, "connections were reset once {active} were active"),
            Cause::TimedOut => write!(f, "connections went silent once {active} were active"),
        }
    }
}

/// Of this number of open connections at least one must have failed: fewer failures are those that a path with
/// occasional loss causes.
const SHARE_MIN: u64 = 1000;
/// The same where not all were asked for.
const BEYOND_SHARE_MIN: u64 = 100;

/// `None` where the number was reached, and where those that are missing did not fail: then there was
/// no time for them, or the tester did not ask.
pub(super) fn of(
    connections_target: u32,
    syn_retransmissions_max: u8,
    counted: &ConnectionsReport,
) -> Option<Limit> {
    let active = counted.active_peak;
    let missing = connections_target.checked_sub(active).filter(|missing| *missing > 0)?;
    let failed = &counted.failed;
    // What was not answered when all was over had waited as the others, if that was not before its
    // time; and what was answered after other connections had made room for it had been asked for
    // again: so many times at most.
    let unanswered = if counted.stopped.is_none() { counted.given_up } else { 0 };
    let asked_again = counted.retransmissions.syn / u64::from(syn_retransmissions_max.max(1));
    let causes = [
        ((failed.no_answer + unanswered).max(asked_again), Cause::NoAnswer),
        (failed.refused, Cause::Refused),
        (failed.reset, Cause::Reset),
        (failed.timed_out, Cause::TimedOut),
    ];
    let (count, cause) = causes.into_iter().max_by_key(|(count, cause)| (*count, *cause))?;
    let is_most_of = |missing: u64| count.saturating_mul(2) >= missing;
    // Who waits for answers may not get to ask for all: then what it has asked for counts, if that
    // is enough to tell a table that is full from some that were late.
    let asked_beyond = counted.attempted.saturating_sub(active.into());
    let is_enough = |share: u64| count.saturating_mul(share) >= u64::from(active).max(1);
    let is_limit = is_enough(SHARE_MIN) && is_most_of(missing.into())
        || is_enough(BEYOND_SHARE_MIN) && is_most_of(asked_beyond);
    is_limit.then_some(Limit { active, cause })
}
