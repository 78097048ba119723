//! Whether this machine's memory holds as many connections as are asked for.

use anyhow::anyhow;
use fp_engine::os::memory::available_bytes;

use crate::exit::Failure;

/// What an end of a load takes up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needed {
    pub(super) connections: u32,
    pub(super) bytes_each_end: u64,
    /// That are on this machine.
    pub(super) ends: u32,
}

/// # Errors
/// What is needed, what there is, and how many connections that is enough for.
pub(super) fn expect(needed: &Needed) -> Result<(), Failure> {
    // A machine that does not tell has enough until it has not.
    let Ok(available) = available_bytes() else { return Ok(()) };
    check(needed, available).map_err(|sentence| Failure::bad_input(anyhow!(sentence)))
}

fn check(needed: &Needed, available: u64) -> Result<(), String> {
    let Needed { connections, bytes_each_end, ends } = *needed;
    let bytes = bytes_each_end.saturating_mul(ends.into());
    if bytes <= available {
        return Ok(());
    }
    let fit = u128::from(connections) * u128::from(available) / u128::from(bytes.max(1));
    let each = match ends {
        1 => String::new(),
        ends => format!(", {} MB at each of {ends} ends", bytes_each_end / 1_000_000),
    };
    Err(format!(
        "{connections} connections take {} MB of memory{each}, and {} MB are free on this machine: \
         ask for up to {fit} (--connections, --stages)",
        bytes / 1_000_000,
        available / 1_000_000
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 24,000,000 connections of 92 bytes at two ends are 4,416 MB; 1,104 MB are a quarter.
    #[test]
    fn what_does_not_fit_is_refused_with_what_would() {
        let needed = Needed { connections: 24_000_000, bytes_each_end: 2_208_000_000, ends: 2 };
        assert_eq!(check(&needed, 4_416_000_000), Ok(()));
        let said = check(&needed, 1_104_000_000).unwrap_err();
        for part in ["24000000", "4416 MB", "2208 MB at each of 2", "1104 MB", "up to 6000000"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
