//! One flow of a trial, whatever its load, with both of its ends.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::time::Duration;

use fp_model::{
    Abort, BurstsLoad, CongestionControl, Dscp, Ecn, Event, Family, FlowReport, FlowSpec,
    FramesLoad, Load, ProbesLoad, Sample, Sender, Slot, TcpLoad, Time, Timing,
};

use crate::sim::bursts::BurstFlow;
use crate::sim::connections::ConnectionsFlow;
use crate::sim::frames::FrameFlow;
use crate::sim::identity::Identity;
use crate::sim::network::{Network, Packet, Sleeper};
use crate::sim::probes::ProbeFlow;
use crate::sim::tcp::TcpFlow;
use crate::tcp::{Algorithm, TIMESTAMP_OPTION_BYTES};

/// The UDP header and the 16 bytes in which the engines write what they need.
const UDP_BYTES_MIN: u32 = 8 + 16;
/// Each takes about a kilobyte.
const CONNECTIONS_MAX: u32 = 100_000;

#[derive(Debug)]
pub(crate) enum Flow {
    Probes(ProbeFlow),
    Frames(Box<FrameFlow>),
    Bursts(BurstFlow),
    Tcp(TcpFlow),
    Connections(Box<ConnectionsFlow>),
}

impl Flow {
    /// # Errors
    /// What of the load cannot be simulated, and what can.
    pub(crate) fn new(
        index: usize,
        spec: &FlowSpec,
        timing: Timing,
        network: &Network,
    ) -> Result<Self, Abort> {
        // Ports are nothing that a simulated network looks at.
        let FlowSpec { direction, family, dscp, ecn, vlan_tags, near_port: _, begins, ref load } =
            *spec;
        let ip_header_bytes = family.ip_header_bytes();
        let identity = Identity {
            index,
            direction,
            dscp,
            ecn,
            begins,
            ip_header_bytes,
            vlan_tags,
            interface_mtu_bytes: network.interface_mtu_bytes(),
            timing,
            start: network.now(),
        };
        let flow = check_beginning(spec, &timing).and_then(|()| match load {
            Load::Probes(load) => check_probes(load, ip_header_bytes)
                .map(|()| Self::Probes(ProbeFlow::new(identity, *load))),
            Load::Frames(load) => check_frames(load, family, vlan_tags)
                .map(|()| Self::Frames(Box::new(FrameFlow::new(identity, load)))),
            Load::Bursts(load) => check_bursts(load, family, vlan_tags)
                .map(|()| Self::Bursts(BurstFlow::new(identity, *load, network.line(direction)))),
            Load::Tcp(load) => check_tcp(load)
                .map(|algorithm| Self::Tcp(TcpFlow::new(identity, load.clone(), algorithm))),
            Load::Connections(load) => ConnectionsFlow::new(identity, family, load)
                .map(|flow| Self::Connections(Box::new(flow))),
        });
        flow.map_err(|why| Abort::Testbed(format!("flow {} cannot be simulated: {why}", index + 1)))
    }

    const fn identity(&self) -> &Identity {
        match self {
            Self::Probes(flow) => &flow.identity,
            Self::Frames(flow) => &flow.identity,
            Self::Bursts(flow) => &flow.identity,
            Self::Tcp(flow) => &flow.identity,
            Self::Connections(flow) => &flow.identity,
        }
    }

    pub(crate) fn start(&mut self, network: &mut Network) {
        match self {
            Self::Probes(flow) => flow.start(network),
            Self::Frames(flow) => flow.start(network),
            Self::Bursts(flow) => flow.start(network),
            Self::Tcp(flow) => flow.start(network),
            Self::Connections(flow) => flow.start(network),
        }
    }

    /// The steady time is over: nothing more is sent.
    pub(crate) fn stop(&mut self, network: &mut Network) {
        match self {
            // Probes have a count instead, and frames a schedule that ends.
            Self::Probes(_) | Self::Frames(_) => {}
            Self::Bursts(flow) => flow.stop(),
            Self::Tcp(flow) => flow.stop(),
            Self::Connections(flow) => flow.stop(network),
        }
    }

    pub(crate) fn on_packet(&mut self, packet: Packet, dscp: Dscp, network: &mut Network) {
        match self {
            Self::Probes(flow) => flow.on_packet(packet, network),
            Self::Frames(flow) => flow.on_packet(packet, dscp, network),
            Self::Bursts(flow) => flow.on_packet(packet, dscp, network),
            Self::Tcp(flow) => flow.on_packet(packet, dscp, network),
            Self::Connections(flow) => flow.on_packet(packet, network),
        }
    }

    pub(crate) fn on_too_big(&mut self) {
        match self {
            Self::Probes(flow) => flow.on_too_big(),
            // Their length is the trial's: an answer does not change it.
            Self::Frames(_) | Self::Bursts(_) | Self::Tcp(_) | Self::Connections(_) => {}
        }
    }

    /// A packet of the flow arrived spoilt.
    pub(crate) fn on_corrupt(&mut self, packet: Packet, network: &mut Network) {
        match self {
            Self::Frames(flow) => flow.on_corrupt(),
            Self::Bursts(flow) => flow.on_corrupt(),
            Self::Connections(flow) => flow.on_corrupt(packet, network),
            // Their ends' stacks drop it without a word.
            Self::Probes(_) | Self::Tcp(_) => {}
        }
    }

    pub(crate) fn on_alarm(&mut self, sleeper: Sleeper, network: &mut Network) {
        match (self, sleeper) {
            (Self::Probes(flow), _) => flow.on_alarm(network),
            (Self::Frames(flow), _) => flow.on_alarm(network),
            (Self::Bursts(flow), _) => flow.on_alarm(network),
            (Self::Tcp(flow), sleeper) => flow.on_alarm(sleeper, network),
            (Self::Connections(flow), sleeper) => flow.on_alarm(sleeper, network),
        }
    }

    /// What there is to tell of a slot that has passed.
    pub(crate) fn close_slot(&mut self, slot: Slot) -> Option<Event> {
        let Identity { index: flow, direction, .. } = *self.identity();
        let sampled = |sample: Sample| Some(Event::Sampled { flow, direction, sample });
        match self {
            Self::Probes(_) => None,
            Self::Frames(flow) => sampled(flow.close_slot(slot)),
            Self::Bursts(flow) => sampled(flow.close_slot(slot)),
            Self::Tcp(flow) => sampled(flow.close_slot(slot)),
            Self::Connections(many) => {
                let sample = many.close_slot(slot);
                Some(Event::Counted { flow, direction, sample })
            }
        }
    }

    /// Nothing that may still happen matters to the flow.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Probes(flow) => flow.is_over(),
            Self::Tcp(flow) => flow.is_over(),
            Self::Connections(flow) => flow.is_over(),
            Self::Frames(_) | Self::Bursts(_) => false,
        }
    }

    /// It is over when all of it has arrived, and nobody knows when that will be.
    pub(crate) const fn is_transfer(&self) -> bool {
        match self {
            Self::Tcp(flow) => flow.is_transfer(),
            Self::Probes(_) | Self::Frames(_) | Self::Bursts(_) | Self::Connections(_) => false,
        }
    }

    /// Until when the flow waits beyond the trial's phases.
    pub(crate) fn ends_at(&self) -> Option<Time> {
        match self {
            Self::Probes(flow) => Some(flow.ends_at()),
            Self::Frames(_) | Self::Bursts(_) | Self::Tcp(_) | Self::Connections(_) => None,
        }
    }

    /// The two ends' clocks are apart by `clock_error` at most, as far as they know.
    pub(crate) fn into_report(self, network: &Network, clock_error: Duration) -> FlowReport {
        match self {
            Self::Probes(flow) => FlowReport::Probes(flow.into_report()),
            Self::Frames(flow) => FlowReport::Frames(flow.into_report(network, clock_error)),
            Self::Bursts(flow) => FlowReport::Bursts(flow.into_report()),
            Self::Tcp(flow) => FlowReport::Tcp(flow.into_report()),
            Self::Connections(flow) => FlowReport::Connections(flow.into_report()),
        }
    }
}

fn check_probes(load: &ProbesLoad, ip_header_bytes: u32) -> Result<(), String> {
    let (shortest, least) =
        (load.packet_bytes.min(load.answer_bytes), ip_header_bytes + UDP_BYTES_MIN);
    if shortest < least {
        return Err(format!("a probe has at least {least} bytes, not {shortest}"));
    }
    Ok(())
}

fn check_frames(load: &FramesLoad, family: Family, vlan_tags: u8) -> Result<(), String> {
    check_frame_bytes(load.sizes.shortest(), family, vlan_tags)?;
    if load.pace.is_unlimited() {
        return Err(String::from(
            "frames need a pace: as fast as the host can is what bursts are for",
        ));
    }
    Ok(())
}

fn check_beginning(spec: &FlowSpec, timing: &Timing) -> Result<(), String> {
    let waits = !spec.begins.is_zero();
    if waits && matches!(spec.load, Load::Probes(_) | Load::Bursts(_)) {
        return Err(String::from("probes and bursts begin with their trial"));
    }
    if waits && spec.begins >= timing.active() {
        return Err(String::from("it would begin when the trial is over"));
    }
    match (&spec.load, spec.ecn) {
        (_, Ecn::NotEct) => Ok(()),
        (Load::Tcp(_) | Load::Connections(_), _) => {
            Err(String::from("TCP negotiates ECN, and the simulation does not"))
        }
        (_, Ecn::Ce) => Err(String::from("congestion is for the network to mark")),
        (_, Ecn::Ect0 | Ecn::Ect1) => Ok(()),
    }
}

fn check_bursts(load: &BurstsLoad, family: Family, vlan_tags: u8) -> Result<(), String> {
    check_frame_bytes(load.frame_bytes, family, vlan_tags)?;
    if load.frames_per_burst == 0 || load.bursts == 0 {
        return Err(String::from("it needs at least one burst of at least one frame"));
    }
    if load.bursts > 1 && load.period == Duration::ZERO {
        return Err(String::from("bursts that follow each other need a period"));
    }
    if load.rate_l1.is_some_and(|rate| rate.as_bps() == 0) {
        return Err(String::from("a burst of 0 bit/s never ends"));
    }
    Ok(())
}

fn check_frame_bytes(frame_bytes: u32, family: Family, vlan_tags: u8) -> Result<(), String> {
    if vlan_tags > FlowSpec::VLAN_TAGS_MAX {
        let most = FlowSpec::VLAN_TAGS_MAX;
        return Err(format!("a frame has up to {most} VLAN tags, not {vlan_tags}"));
    }
    let least = FramesLoad::least_frame_bytes(family, vlan_tags);
    if frame_bytes < least {
        return Err(format!("a frame has at least {least} bytes, not {frame_bytes}"));
    }
    Ok(())
}

fn check_tcp(load: &TcpLoad) -> Result<Algorithm, String> {
    if load.connections == 0 || load.window_bytes == 0 {
        return Err(String::from("it needs at least one connection and a window above 0 bytes"));
    }
    if load.connections > CONNECTIONS_MAX {
        return Err(format!(
            "it has {} connections, and at most {CONNECTIONS_MAX} are",
            load.connections
        ));
    }
    if load.mss_bytes <= TIMESTAMP_OPTION_BYTES {
        return Err(format!(
            "segments of {} bytes have no room for payload beside {TIMESTAMP_OPTION_BYTES} bytes \
             of options",
            load.mss_bytes
        ));
    }
    let has_own_pace = matches!(load.sender, Sender::Bulk | Sender::Transfer { .. });
    if !load.pace.is_unlimited() && !has_own_pace {
        return Err(String::from("only a bulk application has a pace of its own"));
    }
    if load.pacing.is_some_and(|rate| rate.as_bps() == 0) {
        return Err(String::from("a pacing limit of 0 bit/s never sends anything"));
    }
    match load.congestion_control {
        CongestionControl::Reno => Ok(Algorithm::Reno),
        // Linux comes with it.
        CongestionControl::Cubic | CongestionControl::Host => Ok(Algorithm::Cubic),
        CongestionControl::Bbr => Err(String::from(
            "bbr is not part of the simulation: choose reno or cubic, or take the lab",
        )),
    }
}
