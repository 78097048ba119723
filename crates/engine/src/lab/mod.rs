//! The built-in network emulator: two ends of a path on this machine, without root.
//!
//! The path between them is [`fp_net::link`] in virtual time: each frame enters with the kernel's
//! timestamp of its arrival and leaves when the links say so. ARP, neighbour discovery and group
//! membership end at the first link; everything else that is IP crosses.
//!
//! Each end has a network namespace with one veth pair into a third one, where the forwarder runs.
//! The namespaces are held by file descriptors and have no name on the host, so nothing outlives
//! the process. No kernel module, TUN device, BPF program or root is needed. Offloads are off at
//! the ends: frames are what a wire would carry, and TCP sends every segment by itself. Methods and
//! engines cannot tell that the network is emulated.

mod buffer;
mod forwarder;
mod gateway;
mod listener;
mod packet;
mod privileges;
mod program;
mod reordering;
mod testbed;
mod too_big;
mod truth;
mod wiring;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

use fp_model::Emulation;
use fp_net::path::PathSpec;
use rustix::event::{EventfdFlags, eventfd};

pub use gateway::{ConntrackCounters, GatewayTruth};
pub use privileges::Privileges;
pub use program::{End, Program};
pub use testbed::Emulated;
pub use truth::{DirectionTruth, LabTruth};
pub use wiring::{Families, Namespace};

use forwarder::{Counted, Forwarder, Request};
use wiring::Wiring;

/// A network that is up. It ends when this value is dropped or the process dies, by whatever.
#[derive(Debug)]
pub struct Lab {
    near: Namespace,
    far: Namespace,
    network: String,
    seed: u64,
    /// Gone before the forwarder is joined: this is what ends it.
    requests: Option<Sender<Request>>,
    bell: Arc<OwnedFd>,
    forwarder: Option<JoinHandle<()>>,
}

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("this host does not let an ordinary user make networks ({error}): {remedy}")]
    Forbidden { error: io::Error, remedy: String },
    #[error("the emulated network cannot {what}: {error}")]
    Wiring { what: &'static str, error: io::Error },
    #[error("this host has no IPv6: boot it without ipv6.disable=1, or test with -4")]
    NoIpv6,
    #[error(
        "the kernel cannot translate addresses as the gateway of the network is to ({0}): give it \
         nf_tables with masquerading (modules nf_tables, nft_chain_nat and nft_masq), or take a \
         network without a gateway"
    )]
    NoTranslation(io::Error),
    #[error("cannot run {program}: {error}")]
    Program { program: String, error: io::Error },
    #[error("the emulated network has stopped")]
    Stopped,
}

impl LabError {
    fn wiring(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Wiring { what, error }
    }
}

impl Lab {
    /// Brings up the network of `path`, with both ends of it ready to use.
    pub fn start(
        _privileges: Privileges,
        path: &PathSpec,
        families: Families,
        seed: u64,
    ) -> Result<Self, LabError> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map(Arc::new)
            .map_err(|error| LabError::wiring("make an event descriptor")(error.into()))?;
        let (requests, inbox) = channel();
        let (ready, started) = sync_channel(1);
        let thread = {
            let (path, bell) = (path.clone(), Arc::clone(&bell));
            move || forward(&path, families, seed, inbox, bell, &ready)
        };
        let forwarder = Builder::new()
            .name("lab".into())
            .spawn(thread)
            .map_err(LabError::wiring("start its thread"))?;
        let (near, far) = started.recv().map_err(|_| LabError::Stopped)??;
        Ok(Self {
            near,
            far,
            network: path.name.clone(),
            seed,
            requests: Some(requests),
            bell,
            forwarder: Some(forwarder),
        })
    }

    pub const fn near(&self) -> &Namespace {
        &self.near
    }

    pub const fn far(&self) -> &Namespace {
        &self.far
    }

    /// What became of every frame so far.
    pub fn truth(&self) -> Result<LabTruth, LabError> {
        let counted = self.ask(Request::Truth)?;
        let Counted { ways: [near_to_far, far_to_near], gateway } =
            counted.map_err(LabError::wiring("count what it lost"))?;
        Ok(LabTruth {
            schema: LabTruth::SCHEMA,
            network: self.network.clone(),
            seed: self.seed,
            near_to_far,
            far_to_near,
            gateway,
        })
    }

    /// How late frames were released since this was asked last.
    fn take_lateness(&self) -> Result<Emulation, LabError> {
        self.ask(Request::Lateness)
    }

    fn ask<T>(&self, request: impl FnOnce(SyncSender<T>) -> Request) -> Result<T, LabError> {
        let (answer, told) = sync_channel(1);
        let requests = self.requests.as_ref().ok_or(LabError::Stopped)?;
        requests.send(request(answer)).map_err(|_| LabError::Stopped)?;
        self.ring();
        told.recv().map_err(|_| LabError::Stopped)
    }

    fn ring(&self) {
        // The only failure is a counter that is full: then the forwarder is being woken already.
        let _ = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.requests = None;
        self.ring();
        if let Some(forwarder) = self.forwarder.take() {
            // A forwarder that has panicked has said so itself.
            let _ = forwarder.join();
        }
    }
}

type Ends = (Namespace, Namespace);

/// The forwarder's thread: makes the network, tells of its ends and forwards until the end.
fn forward(
    path: &PathSpec,
    families: Families,
    seed: u64,
    requests: Receiver<Request>,
    bell: Arc<OwnedFd>,
    ready: &SyncSender<Result<Ends, LabError>>,
) {
    let prepared = Wiring::lay(families, path.interface_mtu_bytes(), path.gateway);
    let prepared = prepared.and_then(|wiring| {
        let ends = (wiring.near.last().clone(), wiring.far.last().clone());
        let forwarder = Forwarder::new(path, seed, wiring, requests, bell)
            .map_err(LabError::wiring("open its packet sockets"))?;
        Ok((forwarder, ends))
    });
    let (forwarder, told) = match prepared {
        Ok((forwarder, ends)) => (Some(forwarder), Ok(ends)),
        Err(error) => (None, Err(error)),
    };
    // Who has started the lab waits for this.
    let _ = ready.send(told);
    if let Some(forwarder) = forwarder {
        // The owner of the lab learns of it with its next request, which finds nobody.
        let _ = forwarder.run();
    }
}
