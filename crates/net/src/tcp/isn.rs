//! Where the sequence numbers of a connection begin: RFC 6528.

use core::hash::{Hash as _, Hasher as _};
use core::net::SocketAddr;

use fp_model::Time;
use siphasher::sip::SipHasher13;

use crate::tcp::Sequence;

/// Between whom a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    pub local: SocketAddr,
    pub remote: SocketAddr,
}

/// The clock of RFC 9293 section 3.4.1 advances each 4 µs.
const TICK_NANOS: u64 = 4_000;

/// A clock, from a start that nobody can compute who does not know the key.
//= rfc9293 MUST-8
//= rfc9293 MUST-9
pub fn initial_sequence(key: u128, now: Time, tuple: &Tuple) -> Sequence {
    let mut hasher = SipHasher13::new_with_key(&key.to_le_bytes());
    match (tuple.local, tuple.remote) {
        (SocketAddr::V4(local), SocketAddr::V4(remote)) => {
            let [own, other] = [local, remote].map(|end| u64::from(u32::from(*end.ip())));
            hasher.write_u64(own << 32 | other);
            hasher.write_u32(u32::from(local.port()) << 16 | u32::from(remote.port()));
        }
        (local, remote) => (local, remote).hash(&mut hasher),
    }
    let clock = now.as_nanos() / TICK_NANOS;
    Sequence::new((hasher.finish() as u32).wrapping_add(clock as u32))
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn tuple(port: u16) -> Tuple {
        let local = SocketAddr::from(([192, 0, 2, 1], port));
        Tuple { local, remote: SocketAddr::from(([192, 0, 2, 2], 80)) }
    }

    //= rfc9293 MUST-8
    #[test]
    fn the_number_of_one_tuple_advances_each_4_microseconds() {
        let first = initial_sequence(7, Time::ZERO, &tuple(1));
        let later = Time::ZERO + Duration::from_micros(40);
        assert_eq!(initial_sequence(7, later, &tuple(1)).beyond(first), 10);
    }

    //= rfc9293 MUST-9
    #[test]
    fn another_tuple_and_another_key_begin_elsewhere() {
        let first = initial_sequence(7, Time::ZERO, &tuple(1));
        assert_ne!(initial_sequence(7, Time::ZERO, &tuple(2)), first);
        assert_ne!(initial_sequence(8, Time::ZERO, &tuple(1)), first);
    }
}
