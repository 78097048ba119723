//! The far end of an emulated network: what `fullpipe serve` is on a real one.

use std::thread::{self, JoinHandle};

use anyhow::Context as _;
use fp_engine::control::{Host, Identity, Pairing};
use fp_engine::far::{Log, ServeError, Server, ServerOptions};
use fp_engine::lab::Namespace;
use fp_engine::swarm::ConnectionNetworks;
use fp_engine::{DataPorts, StopFlag};
use fp_model::Family;

/// A server in a thread of its own; ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct FarEnd {
    pairing: Pairing,
    stop: StopFlag,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl FarEnd {
    /// Serves in the namespace `far`, at its address of this family.
    pub(crate) fn start(far: &Namespace, family: Family) -> anyhow::Result<Self> {
        let address = far.address(family);
        let options = ServerOptions {
            listen: None,
            data_ports: DataPorts::ANY,
            connection_networks: ConnectionNetworks::for_benchmarks(),
            max_sessions: 16,
            identity: Identity::new()?,
            log: Log::none(),
        };
        let stop = StopFlag::default();
        let (told, bound) = std::sync::mpsc::sync_channel(1);
        let thread = {
            let (far, stop) = (far.clone(), stop.clone());
            move || {
                let server = match far.enter().map_err(ServeError::Accept) {
                    Ok(()) => Server::bind(options),
                    Err(error) => Err(error),
                };
                let server = match server {
                    Ok(server) => server,
                    Err(error) => return Err(error),
                };
                // Whoever waits for this has asked for it.
                let _ = told.send(server.pairing(Host::Address(address)));
                server.serve(&stop)
            }
        };
        let thread = thread::Builder::new().name("far end".into()).spawn(thread)?;
        match bound.recv() {
            Ok(pairing) => Ok(Self { pairing, stop, thread: Some(thread) }),
            Err(_) => match thread.join() {
                Ok(Err(error)) => Err(error).context("the far end of the network cannot serve"),
                Ok(Ok(())) | Err(_) => anyhow::bail!("the far end of the network ended early"),
            },
        }
    }

    pub(crate) const fn pairing(&self) -> &Pairing {
        &self.pairing
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            // What ended it early has been noticed by the near end, which lost it.
            let _ = thread.join();
        }
    }
}
