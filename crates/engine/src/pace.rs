//! How to wait for the instant at which something is due.

use std::hint;
use std::time::Duration;

use fp_model::Time;

use crate::lease::Lease;
use crate::os::clock;
use crate::udp::FrameError;

/// Waking from a sleep takes about this long; the rest of a wait is spent watching the clock.
const SPIN: Duration = Duration::from_micros(50);
/// The longest sleep without a look at the lease.
const NAP_MAX: Duration = Duration::from_millis(100);

/// Waits until `due` and returns when it is: never earlier, and late by what the host imposes.
///
/// # Errors
/// Where the lease has ended.
pub(crate) fn wait_until(due: Time, lease: &Lease) -> Result<Time, FrameError> {
    loop {
        let now = clock::now();
        if !lease.is_live(now) {
            return Err(FrameError::Ended);
        }
        if now >= due {
            return Ok(now);
        }
        if due.since(now) > SPIN {
            clock::sleep_until((due - SPIN).min(now + NAP_MAX));
        } else {
            hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_the_lease_does() {
        let lease = Lease::new(clock::now());
        lease.stop();
        let hour = clock::now() + Duration::from_secs(3600);
        assert!(matches!(wait_until(hour, &lease), Err(FrameError::Ended)));
    }
}
