//! Hosts that stand still, are slow, drop, or have a wrong clock, in virtual time: what the methods
//! say of the network, and of the hosts.

mod faults;
mod honest;
mod lies;
mod quiet;
mod subject;
