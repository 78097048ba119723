//! Peers that speak something else, or nothing, until a limit of time drops them: what waits for one
//! runs beside others.

mod strange_clients;
mod strange_servers;
mod strangers;
