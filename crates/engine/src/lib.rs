//! How a trial is run: both ends, their control connection, the engines and the lab.

mod arrivals;
mod bursts;
pub mod checkup;
pub mod control;
mod data_ports;
mod end;
pub mod far;
mod flow;
pub mod frame_io;
mod frames;
mod half;
pub mod iperf3;
pub mod kernel_tcp;
pub mod lab;
mod lease;
mod marking;
pub mod near;
mod open_slots;
pub mod os;
mod pace;
mod probes;
mod readable;
mod stop;
pub mod swarm;
mod udp;

pub use data_ports::{DataPorts, NotDataPorts};
pub use half::{
    FlowKey, ReceiverSlot, SenderSlot, TcpReceiverHalf, TcpSenderConnection, TcpSenderHalf,
};
pub use lease::Lease;
pub use marking::Marking;
pub use stop::StopFlag;
