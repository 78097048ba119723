//! The words of the trade: units, trials and what was observed.
//!
//! Everything here is a value. Nothing here reads a clock, opens a socket or prints.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod broken_off;
mod connections;
pub mod contact;
mod evidence;
pub mod figure;
mod frame_sizes;
mod frames_report;
mod in_json;
mod observation;
mod quantity;
mod rounded;
mod testbed;
mod timing;
mod trial;
mod units;

pub use broken_off::Slots;
pub use connections::{
    AddressRange, Behaviour, Close, ConnectionAddresses, ConnectionsLoad, ConnectionsReport,
    ConnectionsSample, ConnectionsShare, ConnectionsStage, FailedConnections, FirstFailure,
    FramePorts, HeldConnections, PortRange, RetransmittedSegments, StoppedConnections, TcpStates,
    TimeSummary,
};
pub use contact::Interruption;
pub use evidence::{Evidence, Recorder, Replay};
pub use frame_sizes::{FrameSizes, FrameSizesError};
pub use frames_report::{
    DelaySummary, Deviations, DscpCount, EcnCount, FrameTrace, FramesReport, Gaps, Jitter,
    LossySecond, SentBy, TraceSlice,
};
pub use observation::{
    ArrivedRun, BurstReport, BurstsReport, Clocks, ConnectionReport, Departure, Emulation,
    FlowReport, HostFacts, Observation, ProbedBy, ProbesReport, Receiver, RttSummary, Sample,
    SlowCall, TcpReport, TesterHealth,
};
pub use quantity::{QuantityError, parse_dscp, parse_duration, parse_rate, parse_size};
pub use rounded::{grouped, rounded, signed};
pub use testbed::{Abort, Event, Testbed};
pub use timing::{Slot, Timing};
pub use trial::{
    BurstSpacing, BurstsLoad, CongestionControl, Direction, Directions, Family, FlowSpec,
    FramesLoad, Load, MicroBursts, Pace, ProbesLoad, Sender, Step, TcpEngine, TcpLoad, Trial,
};
pub use units::{Dscp, Ecn, Layer, LayeredRate, PacketLayout, Rate, Time};
