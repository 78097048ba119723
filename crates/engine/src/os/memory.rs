//! The memory of this host.

use std::fs;
use std::io;

/// What can be had without swapping, by the kernel's own estimate, in bytes.
///
/// # Errors
/// Where the kernel does not tell.
pub fn available_bytes() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo")?;
    available_of(&text).ok_or_else(|| io::Error::other("/proc/meminfo has no MemAvailable"))
}

fn available_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_estimate_is_read_in_bytes() {
        let meminfo = "MemTotal:       24616024 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available_of(meminfo), Some(2 << 20));
        let meminfo = "MemTotal:       24000000 kB\nMemFree: 5 kB\nMemAvailable:   20000000 kB\n";
        assert_eq!(available_of(meminfo), Some(20_480_000_000));
        assert_eq!(available_of("MemTotal: 1 kB\n"), None);
    }
}
