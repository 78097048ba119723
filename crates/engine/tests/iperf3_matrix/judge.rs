//! Whether the figures of the two ends of a cell can be true together.

use fp_engine::iperf3::wire::Way;

use crate::cell::{BLOCKS, BYTES, Cell, Extra, LENGTH, Roles};
use crate::run::{Outcome, Seen};

pub(crate) const HEADER: &str =
    "     sent and received bytes (datagrams sent, highest number, lost)";

/// A receiver that stops at the end of the test leaves what the kernels hold of each stream: the
/// largest buffers of this host's kind are 32 MiB to receive and 4 MiB to send.
const LEFT_BYTES_MAX: u64 = 36 << 20;
/// The longest that a busy host keeps an end from running, in seconds.
const STALL_S: f64 = 1.5;

/// The figures, or what is wrong with them.
pub(crate) fn judge(cell: &Cell, outcome: &Outcome) -> Result<String, String> {
    let ways = [("↑", outcome.upload), ("↓", outcome.download)];
    let ways: Vec<_> = ways.iter().filter_map(|(arrow, seen)| Some((*arrow, (*seen)?))).collect();
    if ways.is_empty() {
        return Err("nothing was sent".into());
    }
    let text: Vec<String> = ways.iter().map(|(arrow, seen)| show(cell, arrow, seen)).collect();
    let text = text.join("  ");
    for (arrow, seen) in &ways {
        conserved(cell, seen).map_err(|why| format!("{arrow} {why}: {text}"))?;
        as_asked(cell, seen, ways.len()).map_err(|why| format!("{arrow} {why}: {text}"))?;
    }
    asked_for(cell, outcome).map_err(|why| format!("{why}: {text}"))?;
    Ok(text)
}

fn show(cell: &Cell, arrow: &str, seen: &Seen) -> String {
    let Seen { sent_bytes, received_bytes, .. } = seen;
    let bytes = format!("{arrow} {sent_bytes:>11} {received_bytes:>11}");
    if !cell.is_udp() {
        return bytes;
    }
    let Seen { sent_packets, packets, lost_packets, .. } = seen;
    format!("{bytes} ({sent_packets}, {packets}, {lost_packets})")
}

/// What was sent has been received, or was lost, or was still under way at the end.
fn conserved(cell: &Cell, seen: &Seen) -> Result<(), String> {
    let Seen { sent_bytes, received_bytes, .. } = *seen;
    // Of two directions by bytes one may be through before the other has begun.
    let by_bytes = cell.lasts().is_none() && cell.way == Way::Both;
    if received_bytes == 0 && !by_bytes {
        return Err("nothing was received".into());
    }
    // Each end begins to count by its own clock when the omitted time is over.
    let counts_from_the_start = cell.extra != Extra::Omit;
    if counts_from_the_start && received_bytes > sent_bytes {
        return Err("more was received than sent".into());
    }
    if cell.is_udp() {
        return conserved_datagrams(cell, seen, counts_from_the_start);
    }
    if counts_from_the_start && seen.is_received_to_the_end && received_bytes != sent_bytes {
        return Err("not all was received".into());
    }
    if received_bytes + LEFT_BYTES_MAX * u64::from(cell.streams) < sent_bytes {
        return Err("more is missing than a kernel holds".into());
    }
    Ok(())
}

fn conserved_datagrams(cell: &Cell, seen: &Seen, from_the_start: bool) -> Result<(), String> {
    let Seen { sent_bytes, in_time_bytes, sent_packets, packets, lost_packets, .. } = *seen;
    if !from_the_start {
        return Ok(());
    }
    if packets > sent_packets {
        return Err("a higher number arrived than was sent".into());
    }
    if sent_packets == 0 || sent_bytes % sent_packets != 0 {
        return Err("what was sent is no whole number of datagrams".into());
    }
    // The packaged client counts the bytes of what was sent where it received; see the other role.
    let length = sent_bytes / sent_packets;
    let arrived = (packets - lost_packets) * length;
    if cell.roles == Roles::OurClient && in_time_bytes != arrived {
        return Err(format!("{arrived} bytes should have been received"));
    }
    // What is sent in one look-up of the end: a quarter of a second and a burst of each stream.
    let rate = cell.rate_bps().unwrap_or(0);
    let tail = u64::from(cell.streams) * (rate / 8 / 4 / length + 9);
    if packets + tail < sent_packets {
        return Err("the end is missing".into());
    }
    Ok(())
}

/// As many bytes, or as fast, or as long as was asked.
fn as_asked(cell: &Cell, seen: &Seen, ways: usize) -> Result<(), String> {
    if let Some(time) = cell.lasts() {
        let lasted = seen.lasted.as_secs_f64();
        let asked = time.as_secs_f64();
        if !(asked * 0.9..asked + STALL_S).contains(&lasted) {
            return Err(format!("it lasted {lasted:.3} s"));
        }
        if let Some(bps) = cell.rate_bps() {
            let bytes = bps as f64 * lasted / 8.0 * f64::from(cell.streams);
            let share = seen.sent_bytes as f64 / bytes;
            // A burst of the longest datagrams of loopback is more than a twentieth of a second.
            let burst = if cell.extra == Extra::BurstyRate { 1.0 } else { 0.15 };
            if !(0.8..1.2 + burst).contains(&share) {
                return Err(format!("{share:.2} of the rate was sent"));
            }
        }
        return Ok(());
    }
    // Of two directions the faster one ends the test.
    let least = match cell.extra {
        Extra::Bytes => BYTES,
        Extra::Blocks if cell.is_udp() => BLOCKS,
        _ => BLOCKS * (128 << 10),
    };
    let sent = if cell.extra == Extra::Blocks && cell.is_udp() {
        seen.sent_packets
    } else {
        seen.sent_bytes
    };
    if ways == 1 && sent < least { Err(format!("less than {least} was sent")) } else { Ok(()) }
}

fn asked_for(cell: &Cell, outcome: &Outcome) -> Result<(), String> {
    match cell.extra {
        Extra::ServerOutput if outcome.server_output.as_deref().unwrap_or("").is_empty() => {
            Err("the server's output did not come".into())
        }
        Extra::Congestion if outcome.congestion.as_deref() != Some("reno") => {
            Err(format!("the sender used {:?}", outcome.congestion))
        }
        Extra::Length if cell.is_udp() => {
            let seen = outcome.upload.or(outcome.download).unwrap_or_default();
            match seen.sent_bytes == seen.sent_packets * u64::from(LENGTH) {
                true => Ok(()),
                false => Err("the datagrams have another length".into()),
            }
        }
        _ => Ok(()),
    }
}
