//! Whether the host has the memory that connections take, before any of it is allocated.

use fp_model::{ConnectionsLoad, Family};
use fp_net::swarm::{Role, Shard};

use super::SwarmError;
use crate::os::memory::available_bytes;

/// For the rings of the ports, what retransmissions keep for a while, and everybody else.
const SPARED_BYTES: u64 = 128 << 20;
const MIB: u64 = 1 << 20;

/// What one end's connections take.
///
/// # Errors
/// Where the host has less, with the numbers; what of the load cannot be.
pub(crate) fn bytes_for(
    load: &ConnectionsLoad,
    family: Family,
    role: Role,
) -> Result<u64, SwarmError> {
    let needed = Shard::bytes_needed(load, family, role)?;
    let free = available_bytes().map_err(SwarmError::MemoryUnknown)?;
    within(load.connections_peak(), needed, free)
}

fn within(connections: u32, needed: u64, free: u64) -> Result<u64, SwarmError> {
    let available = free.saturating_sub(SPARED_BYTES);
    if needed <= available {
        return Ok(needed);
    }
    let fit = u128::from(connections) * u128::from(available) / u128::from(needed);
    Err(SwarmError::Memory {
        connections,
        needed_mib: needed.div_ceil(MIB),
        available_mib: available / MIB,
        fit: fit as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_how_many_do() {
        // 1 GiB for a million; 128 MiB are spared of 640.
        assert_eq!(within(1_000_000, 1 << 30, 2 << 30).unwrap(), 1 << 30);
        let refused = within(1_000_000, 1 << 30, 640 << 20).unwrap_err().to_string();
        assert!(refused.contains("take 1024 MiB"), "{refused}");
        assert!(
            refused.contains("has 512 MiB") && refused.contains("500000 or fewer"),
            "{refused}"
        );
        let none = within(1_000_000, 1 << 30, 1 << 20).unwrap_err().to_string();
        assert!(none.contains("ask for 0 or fewer"), "{none}");
    }
}
