//! Waiting until a program at one end of the path can be connected to.

use std::fs::read_to_string;
use std::io;
use std::thread;
use std::time::Duration;

use super::{LabError, Namespace, Program};
use crate::os::clock;

const PATIENCE: Duration = Duration::from_secs(3);

impl Namespace {
    /// Until somebody listens on a TCP port here, `program` has ended, or some seconds have passed.
    pub fn wait_for_listener(&self, port: u16, program: &Program) -> Result<(), LabError> {
        let wait = || -> io::Result<()> {
            self.enter()?;
            let deadline = clock::now() + PATIENCE;
            while !has_listener(port)? && !program.has_ended()? && clock::now() < deadline {
                thread::yield_now();
            }
            Ok(())
        };
        thread::scope(|scope| scope.spawn(wait).join())
            .map_err(|_panicked| LabError::Stopped)?
            .map_err(LabError::wiring("look for a listener"))
    }
}

/// In the network namespace of the current thread.
fn has_listener(port: u16) -> io::Result<bool> {
    for table in ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"] {
        match read_to_string(table) {
            Ok(sockets) if sockets.lines().any(|line| is_listener(line, port)) => return Ok(true),
            Ok(_) => {}
            // Without IPv6 there is no table of it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// A line is a number, the local address and port, the remote ones, the state and more.
fn is_listener(line: &str, port: u16) -> bool {
    const LISTEN: &str = "0A";
    let mut fields = line.split_whitespace().skip(1);
    let local = fields.next().unwrap_or_default();
    let state = fields.nth(1).unwrap_or_default();
    state == LISTEN && local.ends_with(&format!(":{port:04X}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_told_from_a_connection_to_the_same_port() {
        // 5201 is 0x1451; state 0A is listening, 01 is connected.
        let listening = "   0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000 0 0 1";
        let connected = "   1: 020012C6:1451 010012C6:9C40 01 00000000:00000000 00:00000000 0 0 2";
        assert!(is_listener(listening, 5201));
        assert!(!is_listener(listening, 5202));
        assert!(!is_listener(connected, 5201));
        assert!(!is_listener("  sl  local_address rem_address   st", 5201));
    }
}
