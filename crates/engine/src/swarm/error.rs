//! Why many connections cannot be run, and what to do about it.

use std::io;
use std::net::IpAddr;

use fp_model::FailedConnections;
use fp_net::swarm::SettingError;

use super::NotCarried;
use crate::frame_io::{PortError, Prefix};
use crate::os::next_hop::NoNextHop;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SwarmError {
    #[error("the connections asked for cannot be: {0}")]
    Setting(#[from] SettingError),
    #[error(
        "{connections} connections take {needed_mib} MiB of memory at each end, and this host has \
         {available_mib} MiB for them: ask for {fit} or fewer, or free memory"
    )]
    Memory { connections: u32, needed_mib: u64, available_mib: u64, fit: u64 },
    #[error("cannot tell how much memory this host has left: {0}")]
    MemoryUnknown(io::Error),
    #[error(
        "{address} is an address of a host, not one for connections of the test: choose other \
         networks"
    )]
    HostAddress { address: IpAddr },
    #[error(
        "another flow has addresses of {0} at the far end: give each flow its own, or wait until \
         the other one is over"
    )]
    Taken(Prefix),
    #[error(transparent)]
    NextHop(#[from] NoNextHop),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("the far end has not said how it takes frames: update the far end")]
    NoDoor,
    #[error("the far end cuts the load into {theirs} parts, and it has {ours}: update the far end")]
    OtherParts { theirs: u16, ours: usize },
    #[error(
        "only a default route leads to {server}, and not to where the far end {far} is: add a route \
         to {server} on the way to the far end"
    )]
    DefaultRoute { server: IpAddr, far: IpAddr },
    #[error(
        "the far end did not answer at {missing} of {asked} addresses of the plan, the first of \
         which is {first}: no load was sent; have every router and firewall on the way pass TCP \
         between {here} and {there}"
    )]
    NotProven { missing: usize, asked: usize, first: IpAddr, here: Prefix, there: Prefix },
    #[error(
        "no frame of the near end came to {here}: have every router and firewall on the way pass \
         TCP from {there} to it"
    )]
    NotAsked { here: Prefix, there: Prefix },
    #[error("a near end's translated clients open connections: let it do so (upload)")]
    TranslatedDownload,
    #[error(
        "{} connections failed in the trial: {} were not answered, {} refused, {} reset and {} not \
         acknowledged for too long; have every router and firewall on the way pass TCP",
        .0.total(), .0.no_answer, .0.refused, .0.reset, .0.timed_out
    )]
    Failed(FailedConnections),
    #[error(
        "{bytes} bytes of payload arrived that are not what was sent, in segments whose checksums \
         are right: something on the way changes payload"
    )]
    Corrupt { bytes: u64 },
    #[error(transparent)]
    NotCarried(#[from] NotCarried),
    #[error("cannot exchange frames: {0}; see whether the interface is there and up")]
    Frames(io::Error),
    #[error("no thread could be started: {0}")]
    Thread(io::Error),
    #[error("no random bytes: {0}")]
    Random(io::Error),
    #[error("the trial was broken off: it was stopped, or the other end is no longer heard")]
    Ended,
}
