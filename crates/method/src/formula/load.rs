//! What it takes to open very many connections.

use crate::{Number, PerSecond, Seconds};

/// Source ports that a host may use without asking: 1024 to 65535.
pub const SOURCE_PORTS: u64 = 64_512;

/// Combinations of source address, destination address and destination port for so many
/// connections.
pub fn address_tuples_needed(connections: Number, source_ports: Number) -> Number {
    (connections / source_ports).ceil()
}

/// How fast connections are opened so that all are open after the ramp.
pub fn ramp_rate(connections: Number, ramp: Seconds) -> PerSecond {
    PerSecond(connections / ramp.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_four_million_connections_need_373_address_tuples() {
        let needed = address_tuples_needed(Number::whole(24_000_000), SOURCE_PORTS.into());
        assert_eq!(needed.to_u64(), Some(373));
    }

    #[test]
    fn a_million_connections_in_five_seconds_are_200_000_a_second() {
        let rate = ramp_rate(Number::whole(1_000_000), Seconds(Number::whole(5)));
        assert_eq!(rate.0.to_u64(), Some(200_000));
    }
}
