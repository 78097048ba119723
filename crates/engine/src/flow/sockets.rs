//! The engine behind each kind of load: how its two halves meet and how each of them runs.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};

use fp_model::{
    BurstsLoad, Direction, FlowSpec, FramesLoad, Load, ProbesLoad, TcpLoad, Time, Timing,
};

use super::stretch::Stretches;
use super::{OPENING_MAX, Opening};
use crate::control::line::End;
use crate::control::message::Seen;
use crate::frames::Stream;
use crate::half::{FlowKey, Half};
use crate::os::clock;
use crate::udp::{ProvenSocket, prove_far, prove_near};
use crate::{Bearing, DataPorts, Lease, bursts, frames, kernel_tcp, probes};

/// Opens the door at which the near end will be awaited, at `peer` if that is known, and says its port: one of
/// `ports` of the address `at`.
pub(crate) fn listen(
    mut at: SocketAddr,
    ports: &DataPorts,
    spec: &FlowSpec,
    peer: Option<IpAddr>,
) -> Result<(Opening, u16), String> {
    let opened = ports.first_free(|port| {
        at.set_port(port);
        listen_at(at, spec, peer)
    });
    let opening = opened.map_err(|failure| {
        if *ports == DataPorts::ANY {
            return failure;
        }
        format!("{failure}; so it is with all of {ports}: have the far end use more of them")
    })?;
    let port = opening.port().map_err(|error| error.to_string())?;
    Ok((opening, port))
}

fn listen_at(at: SocketAddr, spec: &FlowSpec, peer: Option<IpAddr>) -> Result<Opening, String> {
    match &spec.load {
        Load::Tcp(load) => kernel_tcp::listen(at, load, spec.traffic_class())
            .map(|listener| Opening::AwaitTcp { listener, peer })
            .map_err(|error| error.to_string()),
        Load::Frames(_) | Load::Bursts(_) | Load::Probes(_) => UdpSocket::bind(at)
            .map(|socket| Opening::AwaitUdp { socket, peer })
            .map_err(|error| format!("cannot open a UDP socket on {at}: {error}")),
    }
}

impl Opening {
    fn port(&self) -> io::Result<u16> {
        let address = match self {
            Self::Dial(far) => Ok(*far),
            Self::AwaitTcp { listener, .. } => listener.local_addr(),
            Self::AwaitUdp { socket, .. } => socket.local_addr(),
        };
        address.map(|address| address.port())
    }
}

/// The sockets of a flow whose two ends have met.
#[derive(Debug)]
pub(super) enum Opened {
    Tcp(TcpLoad, Vec<TcpStream>),
    Frames(FramesLoad, ProvenSocket),
    Bursts(BurstsLoad, ProvenSocket),
    Probes(ProbesLoad, ProvenSocket),
}

impl Opened {
    pub(super) fn meet(
        opening: Opening,
        spec: &FlowSpec,
        key: &FlowKey,
        lease: &Lease,
    ) -> Result<Self, String> {
        match &spec.load {
            Load::Tcp(load) => {
                Ok(Self::Tcp(load.clone(), meet_tcp(opening, spec, load, key, lease)?))
            }
            Load::Frames(load) => {
                Ok(Self::Frames(load.clone(), meet_udp(opening, spec, key, lease)?))
            }
            Load::Bursts(load) => Ok(Self::Bursts(*load, meet_udp(opening, spec, key, lease)?)),
            Load::Probes(load) => Ok(Self::Probes(*load, meet_udp(opening, spec, key, lease)?)),
        }
    }

    pub(super) fn run(
        self,
        end: End,
        spec: &FlowSpec,
        timing: &Timing,
        start: Time,
        lease: &Lease,
        stretches: &mut Stretches<'_>,
    ) -> Result<Half, String> {
        let FlowSpec { direction, family, vlan_tags, begins, .. } = *spec;
        let receiving = lease.for_receiver();
        match (self, is_sender(end, direction)) {
            (Self::Tcp(load, streams), true) => {
                let mut sent = |slot, seen| stretches.on_slot(slot, Seen::Sent(seen));
                let half =
                    kernel_tcp::send(streams, &load, begins, timing, start, lease, &mut sent);
                half.map(Half::TcpSender).map_err(|error| error.to_string())
            }
            (Self::Tcp(load, streams), false) => {
                let mut received = |slot, seen| stretches.on_slot(slot, Seen::Received(seen));
                let half =
                    kernel_tcp::receive(streams, &load, timing, start, &receiving, &mut received);
                let half = half.map_err(|error| error.to_string())?;
                Ok(Half::TcpReceiver(half.with_known_markings(end, family)))
            }
            (Self::Frames(load, socket), true) => {
                let mut sent = |slot, seen| stretches.on_slot(slot, Seen::Sent(seen));
                let stream = Stream { family, vlan_tags, begins, load: &load };
                let half = frames::send(&socket, stream, timing, start, lease, &mut sent);
                half.map(|half| Half::FramesSender(Box::new(half)))
                    .map_err(|error| error.to_string())
            }
            (Self::Frames(load, socket), false) => {
                let mut received = |slot, seen| stretches.on_slot(slot, Seen::Received(seen));
                let stream = Stream { family, vlan_tags, begins, load: &load };
                let half =
                    frames::receive(&socket, stream, timing, start, &receiving, &mut received);
                half.map(|half| Half::FramesReceiver(Box::new(half)))
                    .map_err(|error| error.to_string())
            }
            (Self::Bursts(load, socket), true) => {
                let mut sent = |slot, seen| stretches.on_slot(slot, Seen::Sent(seen));
                let stream = Stream { family, vlan_tags, begins, load: &load };
                let half = bursts::send(&socket, stream, timing, start, lease, &mut sent);
                half.map(Half::BurstsSender).map_err(|error| error.to_string())
            }
            (Self::Bursts(load, socket), false) => {
                let mut received = |slot, seen| stretches.on_slot(slot, Seen::Received(seen));
                let seen = &mut received;
                let stream = Stream { family, vlan_tags, begins, load: &load };
                let half = bursts::receive(&socket, stream, timing, start, &receiving, seen);
                half.map(Half::BurstsReceiver).map_err(|error| error.to_string())
            }
            (Self::Probes(load, socket), _) => match end {
                End::Near => probes::ask(&socket, family, direction, &load, timing, start, lease)
                    .map(Half::ProbesNear)
                    .map_err(|error| error.to_string()),
                End::Far => probes::answer(&socket, family, direction, &load, timing, start, lease)
                    .map(Half::ProbesFar)
                    .map_err(|error| error.to_string()),
            },
        }
    }
}

const fn is_sender(end: End, direction: Direction) -> bool {
    matches!((end, direction), (End::Near, Direction::Upload) | (End::Far, Direction::Download))
}

fn meet_tcp(
    opening: Opening,
    spec: &FlowSpec,
    load: &TcpLoad,
    key: &FlowKey,
    lease: &Lease,
) -> Result<Vec<TcpStream>, String> {
    let deadline = clock::now() + OPENING_MAX;
    let met = match opening {
        Opening::Dial(far) => {
            kernel_tcp::connect(far, load, Bearing::of(spec), key, lease, deadline)
        }
        Opening::AwaitTcp { listener, peer } => {
            kernel_tcp::accept(&listener, load, key, peer, lease, deadline)
        }
        Opening::AwaitUdp { .. } => return Err("a UDP door stands open for TCP".to_owned()),
    };
    met.map_err(|error| error.to_string())
}

fn meet_udp(
    opening: Opening,
    spec: &FlowSpec,
    key: &FlowKey,
    lease: &Lease,
) -> Result<ProvenSocket, String> {
    let deadline = clock::now() + OPENING_MAX;
    let met = match opening {
        Opening::Dial(far) => prove_near(far, Bearing::of(spec), key, lease, deadline),
        Opening::AwaitUdp { socket, peer } => {
            prove_far(socket, spec.traffic_class(), key, peer, lease, deadline)
        }
        Opening::AwaitTcp { .. } => return Err("a TCP door stands open for UDP".to_owned()),
    };
    met.map_err(|error| error.to_string())
}
