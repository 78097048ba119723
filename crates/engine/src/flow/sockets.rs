//! The engine behind each kind of load: how its two halves meet and how each of them runs.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};

use fp_model::{
    BurstsLoad, Direction, FlowSpec, FramesLoad, Load, ProbesLoad, TcpLoad, Time, Timing,
};

use super::stretch::Stretches;
use super::{OPENING_MAX, Opening};
use crate::arrivals::Arrivals;
use crate::control::line::End;
use crate::control::message::Seen;
use crate::frames::Stream;
use crate::half::{FlowKey, Half};
use crate::os::clock;
use crate::udp::{FrameError, ProvenSocket, prove_far, prove_near};
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

/// The sockets of a flow whose two ends have met; of a receiver, whatever frames will be taken from.
#[derive(Debug)]
pub(super) enum Opened {
    TcpSender(TcpLoad, Vec<TcpStream>),
    TcpReceiver(TcpLoad, Vec<TcpStream>),
    FramesSender(FramesLoad, ProvenSocket),
    FramesReceiver(FramesLoad, Box<Arrivals>),
    BurstsSender(BurstsLoad, ProvenSocket),
    BurstsReceiver(BurstsLoad, Box<Arrivals>),
    Probes(ProbesLoad, ProvenSocket),
}

impl Opened {
    pub(super) fn meet(
        end: End,
        opening: Opening,
        spec: &FlowSpec,
        key: &FlowKey,
        lease: &Lease,
    ) -> Result<Self, String> {
        let sends = is_sender(end, spec.direction);
        let text = |error: FrameError| error.to_string();
        match &spec.load {
            Load::Tcp(load) => {
                let streams = meet_tcp(opening, spec, load, key, lease)?;
                let opened = if sends { Self::TcpSender } else { Self::TcpReceiver };
                Ok(opened(load.clone(), streams))
            }
            Load::Frames(load) => {
                let (socket, load) = (meet_udp(opening, spec, key, lease)?, load.clone());
                if sends {
                    return Ok(Self::FramesSender(load, socket));
                }
                let arrivals = frames::listen(socket, stream(spec, &load)).map_err(text)?;
                Ok(Self::FramesReceiver(load, Box::new(arrivals)))
            }
            Load::Bursts(load) => {
                let socket = meet_udp(opening, spec, key, lease)?;
                if sends {
                    return Ok(Self::BurstsSender(*load, socket));
                }
                let arrivals = bursts::listen(socket, stream(spec, load)).map_err(text)?;
                Ok(Self::BurstsReceiver(*load, Box::new(arrivals)))
            }
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
        let FlowSpec { direction, family, begins, .. } = *spec;
        let receiving = lease.for_receiver();
        match self {
            Self::TcpSender(load, streams) => {
                let mut sent = |slot, seen| stretches.on_slot(slot, Seen::Sent(seen));
                let half =
                    kernel_tcp::send(streams, &load, begins, timing, start, lease, &mut sent);
                half.map(Half::TcpSender).map_err(|error| error.to_string())
            }
            Self::TcpReceiver(load, streams) => {
                let mut received = |slot, seen| stretches.on_slot(slot, Seen::Received(seen));
                let half =
                    kernel_tcp::receive(streams, &load, timing, start, &receiving, &mut received);
                let half = half.map_err(|error| error.to_string())?;
                Ok(Half::TcpReceiver(half.with_known_markings(end, family)))
            }
            Self::FramesSender(load, socket) => {
                let mut sent = |slot, seen| stretches.on_slot(slot, Seen::Sent(seen));
                let stream = stream(spec, &load);
                let half = frames::send(&socket, stream, timing, start, lease, &mut sent);
                half.map(|half| Half::FramesSender(Box::new(half)))
                    .map_err(|error| error.to_string())
            }
            Self::FramesReceiver(load, arrivals) => {
                let mut received = |slot, seen| stretches.on_slot(slot, Seen::Received(seen));
                let stream = stream(spec, &load);
                let half =
                    frames::receive(*arrivals, stream, timing, start, &receiving, &mut received);
                half.map(|half| Half::FramesReceiver(Box::new(half)))
                    .map_err(|error| error.to_string())
            }
            Self::BurstsSender(load, socket) => {
                let mut sent = |slot, seen| stretches.on_slot(slot, Seen::Sent(seen));
                let stream = stream(spec, &load);
                let half = bursts::send(&socket, stream, timing, start, lease, &mut sent);
                half.map(Half::BurstsSender).map_err(|error| error.to_string())
            }
            Self::BurstsReceiver(load, arrivals) => {
                let mut received = |slot, seen| stretches.on_slot(slot, Seen::Received(seen));
                let seen = &mut received;
                let stream = stream(spec, &load);
                let half = bursts::receive(*arrivals, stream, timing, start, &receiving, seen);
                half.map(Half::BurstsReceiver).map_err(|error| error.to_string())
            }
            Self::Probes(load, socket) => match end {
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

const fn stream<'a, Load>(spec: &FlowSpec, load: &'a Load) -> Stream<'a, Load> {
    let FlowSpec { family, vlan_tags, begins, .. } = *spec;
    Stream { family, vlan_tags, begins, load }
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
