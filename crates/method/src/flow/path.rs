//! What a run of flows asks of the path first: the largest packets that pass it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use fp_model::{Abort, Direction, Dscp, Family, Testbed};
use serde::{Deserialize, Serialize};

use crate::path::{self, Packets, PathMtu};

/// Packets that are to be as long as the path takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathAsk {
    pub family: Family,
    pub direction: Direction,
    /// What the interfaces at both ends take.
    pub limit_bytes: u32,
}

/// What of it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    pub known: Vec<PathStep>,
    /// Why something is not, a sentence.
    pub unknown: Option<String>,
}

/// The path MTU of one family in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStep {
    pub family: Family,
    pub mtu: PathMtu,
    /// That of the interfaces at both ends.
    pub limit_bytes: u32,
}

impl Path {
    /// `None` where it is not known.
    pub fn mtu_bytes(&self, family: Family, direction: Direction) -> Option<u32> {
        let known = self.known.iter().filter(|known| known.family == family);
        known.map(|known| known.mtu).find(|mtu| mtu.direction == direction).map(|mtu| mtu.mtu_bytes)
    }
}

/// Asks of the path what the packets of a run are to know.
///
/// # Errors
/// Where the user stops it. What else is in the way leaves something unknown: a path without UDP
/// may still carry TCP.
pub fn look(asks: &[PathAsk], bed: &mut dyn Testbed) -> Result<Path, Abort> {
    let mut found = Path::default();
    for family in [Family::Ipv4, Family::Ipv6] {
        let mine: Vec<&PathAsk> = asks.iter().filter(|ask| ask.family == family).collect();
        match of_family(&mine, bed) {
            Ok(known) => found.known.extend(known),
            Err(Abort::Stopped) => return Err(Abort::Stopped),
            Err(Abort::Lost(why) | Abort::Testbed(why)) => {
                found.unknown = Some(format!(
                    "the path MTU over {family} is not known ({why}): packets are as long as the \
                     interfaces take"
                ));
            }
        }
    }
    Ok(found)
}

fn of_family(asks: &[&PathAsk], bed: &mut dyn Testbed) -> Result<Vec<PathStep>, Abort> {
    let Some(first) = asks.first() else { return Ok(Vec::new()) };
    // Probes take no part in what the flows' classes are given.
    let packets = Packets { family: first.family, dscp: Dscp::BEST_EFFORT };
    let rtt = path::rough_rtt(bed, packets)?.max;
    let step = |ask: &&PathAsk| {
        let mtu = path::path_mtu(bed, packets, ask.direction, ask.limit_bytes, rtt)?;
        Ok(PathStep { family: ask.family, mtu, limit_bytes: ask.limit_bytes })
    };
    asks.iter().map(step).collect()
}
