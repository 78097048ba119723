//! A flow of TCP that the program's own TCP carries, as connections of a swarm.

use std::time::Duration;

use fp_model::{
    Behaviour, Close, CongestionControl, ConnectionsLoad, ConnectionsShare, ConnectionsStage,
    Direction, FlowSpec, FramePorts, Load, Pace, PortRange, Sender, TcpEngine, TcpLoad, Timing,
};
use fp_net::tcp::Algorithm;

/// What of a flow only the hosts' own TCP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCarried {
    #[error("it sends by Reno or CUBIC, not by {0}")]
    CongestionControl(CongestionControl),
    #[error("its applications always have more to send, or write at one rate")]
    Application,
    #[error("it has no pacing limit")]
    Pacing,
    #[error("its applications write as much as there is room for")]
    Writes,
}

/// The connections that stand for a flow, and the load of them: a flow of connections as it is, and
/// one of TCP that no socket carries. `None`: it takes sockets.
pub(crate) fn connections_of(
    spec: &FlowSpec,
    timing: &Timing,
) -> Option<(FlowSpec, ConnectionsLoad)> {
    match &spec.load {
        Load::Connections(load) => Some((spec.clone(), load.clone())),
        Load::Tcp(load) => {
            let connections = carrying(spec, load, timing)?;
            let load = Load::Connections(connections.clone());
            // The near end opens them, whichever way their payload goes.
            let direction = Direction::Upload;
            Some((FlowSpec { direction, load, near_port: None, ..spec.clone() }, connections))
        }
        Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) => None,
    }
}

/// Whether it takes frames instead of sockets.
pub(crate) const fn is_by_frames(load: &Load) -> bool {
    match load {
        Load::Connections(_) | Load::Tcp(TcpLoad { engine: TcpEngine::User { .. }, .. }) => true,
        Load::Tcp(TcpLoad { engine: TcpEngine::Kernel, .. })
        | Load::Probes(_)
        | Load::Frames(_)
        | Load::Bursts(_) => false,
    }
}

/// # Errors
/// Whatever else of the load the program's own TCP does not do.
pub fn algorithm_of(load: &TcpLoad) -> Result<Algorithm, NotCarried> {
    if load.pacing.is_some() {
        return Err(NotCarried::Pacing);
    }
    if load.write_bytes.is_some() {
        return Err(NotCarried::Writes);
    }
    match (load.sender, &load.pace) {
        (Sender::Bulk, Pace::Unlimited | Pace::Constant { .. }) => {}
        (Sender::Bulk, Pace::Steps { .. } | Pace::Poisson { .. } | Pace::OnOff { .. })
        | (Sender::Burst | Sender::MicroBurst(_) | Sender::Transfer { .. }, _) => {
            return Err(NotCarried::Application);
        }
    }
    match load.congestion_control {
        CongestionControl::Cubic => Ok(Algorithm::Cubic),
        CongestionControl::Reno => Ok(Algorithm::Reno),
        other @ (CongestionControl::Bbr | CongestionControl::Host) => {
            Err(NotCarried::CongestionControl(other))
        }
    }
}

/// All connections from when the flow begins, and closed at the end of the steady time.
fn carrying(spec: &FlowSpec, load: &TcpLoad, timing: &Timing) -> Option<ConnectionsLoad> {
    let TcpEngine::User { mut addresses } = load.engine else { return None };
    if let Some(first) = spec.near_port {
        let last = first.saturating_add(u16::try_from(load.connections - 1).unwrap_or(u16::MAX));
        addresses.client_ports = PortRange { first, last };
    }
    let stage = |lasts, connections| ConnectionsStage { lasts, connections };
    let lasts = timing.active().saturating_sub(spec.begins);
    let rate = match &load.pace {
        Pace::Constant { rate } => Some(*rate),
        Pace::Unlimited | Pace::Steps { .. } | Pace::Poisson { .. } | Pace::OnOff { .. } => None,
    };
    let behaviour = match spec.direction {
        Direction::Download => Behaviour::Download { rate },
        Direction::Upload => Behaviour::Upload { rate },
    };
    Some(ConnectionsLoad {
        stages: vec![
            stage(Duration::ZERO, load.connections),
            stage(lasts, load.connections),
            stage(Duration::ZERO, 0),
        ],
        setup_rate_max: None,
        mix: vec![ConnectionsShare { weight: 1, behaviour }],
        lifetime: None,
        close: Close::Fin,
        addresses,
        mss_bytes: load.mss_bytes,
        window_bytes: u32::try_from(load.window_bytes).unwrap_or(u32::MAX),
        retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
        syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
        ports: FramePorts::PacketSockets,
    })
}
