//! The engine behind each kind of load: how its two halves meet and how each of them runs.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;

use fp_model::{
    BurstsLoad, ConnectionsLoad, Direction, FlowSpec, FramesLoad, Load, ProbesLoad, TcpLoad, Time,
    Timing,
};
use fp_net::swarm::Role;

use super::stretch::Stretches;
use super::{OPENING_MAX, Opening};
use crate::arrivals::Arrivals;
use crate::control::message::Seen;
use crate::end::End;
use crate::frame_io::HostPort;
use crate::frames::{Conductor, Stream};
use crate::half::{FlowKey, Half};
use crate::os::clock;
use crate::swarm::{self, SwarmError};
use crate::udp::{FrameError, ProvenSocket, prove_far, prove_near};
use crate::{DataPorts, Lease, Marking, bursts, frames, kernel_tcp, probes};

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
        Load::Connections(_) => {
            Err("a load of many connections has no door of a socket".to_owned())
        }
    }
}

fn meet_frames(
    opening: Opening,
    spec: &FlowSpec,
    load: &ConnectionsLoad,
    key: &FlowKey,
    lease: &Lease,
) -> Result<swarm::Met<HostPort>, SwarmError> {
    match opening {
        Opening::DialFrames { far, door } => {
            let door = door.ok_or(SwarmError::NoDoor)?;
            swarm::meet_far(far, door, spec, load, key, lease)
        }
        Opening::AwaitFrames(listening) => swarm::meet_near(*listening, spec, load, key, lease),
        Opening::Dial(_) | Opening::AwaitTcp { .. } | Opening::AwaitUdp { .. } => {
            unreachable!("whoever opens a load of many connections opens it by frames")
        }
    }
}

impl Opening {
    fn is_not_for(&self, protocol: &str) -> String {
        let door = match self {
            Self::Dial(_) => "an address",
            Self::AwaitTcp { .. } => "a TCP door",
            Self::AwaitUdp { .. } => "a UDP door",
            Self::DialFrames { .. } | Self::AwaitFrames(_) => "a packet port",
        };
        format!("{door} stands open for {protocol}")
    }

    fn port(&self) -> io::Result<u16> {
        let address = match self {
            Self::Dial(far) => Ok(*far),
            Self::AwaitTcp { listener, .. } => listener.local_addr(),
            Self::AwaitUdp { socket, .. } => socket.local_addr(),
            Self::DialFrames { .. } | Self::AwaitFrames(_) => return Ok(0),
        };
        address.map(|address| address.port())
    }
}

/// The sockets of a flow whose two ends have met; of a sender of frames, whose thread sends them too;
/// of a receiver, whatever frames will be taken from.
#[derive(Debug)]
pub(super) enum Opened {
    TcpSender(TcpLoad, Vec<TcpStream>),
    TcpReceiver(TcpLoad, Vec<TcpStream>),
    FramesSender(FramesLoad, ProvenSocket, Arc<Conductor>),
    FramesReceiver(FramesLoad, Box<Arrivals>),
    BurstsSender(BurstsLoad, ProvenSocket),
    BurstsReceiver(BurstsLoad, Box<Arrivals>),
    Probes(ProbesLoad, ProvenSocket),
    Connections(Box<swarm::Met<HostPort>>),
    /// TCP of our own, in the place of sockets'.
    CarriedTcp(swarm::Side, Box<swarm::Met<HostPort>>),
}

impl Opened {
    pub(super) fn meet(
        end: End,
        opening: Opening,
        (spec, timing): (&FlowSpec, &Timing),
        key: &FlowKey,
        lease: &Lease,
        conductor: &Arc<Conductor>,
    ) -> Result<Self, String> {
        if let Some((by_frames, load)) = swarm::connections_of(spec, timing) {
            let met = meet_frames(opening, &by_frames, &load, key, lease);
            let met = Box::new(met.map_err(|error| error.to_string())?);
            return match &spec.load {
                Load::Tcp(load) => Ok(Self::CarriedTcp(side(end, spec.direction, load)?, met)),
                Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) | Load::Connections(_) => {
                    Ok(Self::Connections(met))
                }
            };
        }
        let sends = end.sends(spec.direction);
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
                    return Ok(Self::FramesSender(load, socket, Arc::clone(conductor)));
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
            Load::Connections(_) => unreachable!("connections are met by frames"),
        }
    }

    /// Tells the near end, as often as it asks, that this one is ready for what the flow sends.
    pub(super) fn confirm(&mut self) -> Result<(), String> {
        let confirmed = match self {
            Self::TcpSender(..) | Self::TcpReceiver(..) => Ok(()),
            Self::FramesSender(_, socket, _)
            | Self::BurstsSender(_, socket)
            | Self::Probes(_, socket) => socket.confirm(),
            Self::FramesReceiver(_, arrivals) | Self::BurstsReceiver(_, arrivals) => {
                arrivals.confirm()
            }
            Self::Connections(met) | Self::CarriedTcp(_, met) => {
                return met.confirm().map_err(|error| error.to_string());
            }
        };
        confirmed.map_err(|error| error.to_string())
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
        let course = swarm::Course { timing, start, begins };
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
            Self::FramesSender(load, socket, conductor) => {
                let mut sent = |slot, seen| stretches.on_slot(slot, Seen::Sent(seen));
                let stream = stream(spec, &load);
                let half = conductor.send(socket, stream, timing, start, lease, &mut sent);
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
            Self::Connections(met) => run_connections(*met, &course, lease, stretches),
            Self::CarriedTcp(side, met) => {
                let lease = if side == swarm::Side::Receiver { &receiving } else { lease };
                let mut seen = |slot, seen| stretches.on_slot(slot, seen);
                met.run_flow(side, &course, lease, &mut seen).map_err(|error| error.to_string())
            }
        }
    }
}

fn run_connections(
    met: swarm::Met<HostPort>,
    course: &swarm::Course<'_>,
    lease: &Lease,
    stretches: &mut Stretches<'_>,
) -> Result<Half, String> {
    let as_seen = match met.role() {
        Role::Client => Seen::Client,
        Role::Server => Seen::Server,
    };
    let swarm::Course { timing, start, begins } = *course;
    let mut seen = |slot, seen| stretches.on_slot(slot, as_seen(seen));
    let half = met.run(timing, start, begins, lease, &mut seen);
    half.map(|half| Half::Connections(Box::new(half))).map_err(|error| error.to_string())
}

const fn stream<'a, Load>(spec: &FlowSpec, load: &'a Load) -> Stream<'a, Load> {
    let FlowSpec { family, vlan_tags, begins, .. } = *spec;
    Stream { family, vlan_tags, begins, load }
}

fn side(end: End, direction: Direction, load: &TcpLoad) -> Result<swarm::Side, String> {
    let algorithm = swarm::algorithm_of(load).map_err(|error| error.to_string())?;
    Ok(match end.sends(direction) {
        true => swarm::Side::Sender(algorithm),
        false => swarm::Side::Receiver,
    })
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
            kernel_tcp::connect(far, load, Marking::of(spec), key, lease, deadline)
        }
        Opening::AwaitTcp { listener, peer } => {
            kernel_tcp::accept(&listener, load, key, peer, lease, deadline)
        }
        other => return Err(other.is_not_for("TCP")),
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
        Opening::Dial(far) => prove_near(far, Marking::of(spec), key, lease, deadline),
        Opening::AwaitUdp { socket, peer } => {
            prove_far(socket, spec.traffic_class(), key, peer, lease, deadline)
        }
        other => return Err(other.is_not_for("UDP")),
    };
    met.map_err(|error| error.to_string())
}
