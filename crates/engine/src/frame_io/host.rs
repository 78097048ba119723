//! A port of this host, of the kind that was asked for.

use std::io;

use fp_model::{FramePorts, Time};

use super::{
    ArrivedFrame, FrameBatch, FrameIo, PacketPort, PortCounters, PortError, Prefix, Share, XdpPort,
};
use crate::os::netlink::{Interface, Mac};

#[derive(Debug)]
pub(crate) enum HostPort {
    Packet(PacketPort),
    Xdp(Box<XdpPort>),
}

impl HostPort {
    /// For a share of the frames to `prefixes`; a port of AF_XDP takes all of them.
    ///
    /// # Errors
    /// As [`PacketPort::open`] and [`XdpPort::open_only`].
    pub(crate) fn open(
        ports: FramePorts,
        interface: &Interface,
        prefixes: &[Prefix],
        share: Share,
    ) -> Result<Self, PortError> {
        match ports {
            FramePorts::PacketSockets => {
                PacketPort::open(interface, prefixes, share).map(Self::Packet)
            }
            FramePorts::Xdp => {
                XdpPort::open_only(interface, prefixes).map(|port| Self::Xdp(Box::new(port)))
            }
        }
    }
}

impl FrameIo for HostPort {
    fn mac(&self) -> Mac {
        match self {
            Self::Packet(port) => port.mac(),
            Self::Xdp(port) => port.mac(),
        }
    }

    fn receive(&mut self, on_frame: impl FnMut(ArrivedFrame<'_>)) -> io::Result<usize> {
        match self {
            Self::Packet(port) => port.receive(on_frame),
            Self::Xdp(port) => port.receive(on_frame),
        }
    }

    fn send(&mut self, frames: FrameBatch<'_>) -> io::Result<usize> {
        match self {
            Self::Packet(port) => port.send(frames),
            Self::Xdp(port) => port.send(frames),
        }
    }

    fn wait(&mut self, until: Time) -> io::Result<()> {
        match self {
            Self::Packet(port) => port.wait(until),
            Self::Xdp(port) => port.wait(until),
        }
    }

    fn counters(&mut self) -> io::Result<PortCounters> {
        match self {
            Self::Packet(port) => port.counters(),
            Self::Xdp(port) => port.counters(),
        }
    }
}
