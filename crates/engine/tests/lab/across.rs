//! A near and a far end on both sides of an emulated network.

use std::thread::JoinHandle;

use fp_engine::control::{Host, Identity, Pairing};
use fp_engine::far::{Log, Server, ServerOptions};
use fp_engine::lab::{Families, Lab, Privileges};
use fp_engine::near::{LiveOptions, LiveTestbed};
use fp_engine::swarm::ConnectionNetworks;
use fp_engine::{DataPorts, StopFlag};
use fp_model::Family;
use fp_net::path::{LinkSpec, PathSpec};

/// A lab with a far end that serves.
pub(crate) struct Across {
    pub(crate) lab: Lab,
    pairing_of: [Pairing; 2],
    stop: StopFlag,
    serving: Option<JoinHandle<()>>,
}

impl Across {
    /// Both directions alike.
    pub(crate) fn start(privileges: Privileges, both_ways: &LinkSpec) -> Self {
        let path = PathSpec::symmetric("under test", vec![both_ways.clone()]);
        let lab = Lab::start(privileges, &path, Families::Both, 1).unwrap();
        let far = lab.far().clone();
        let stop = StopFlag::default();
        let stopped = stop.clone();
        let (tell, told) = std::sync::mpsc::channel();
        let serving = std::thread::spawn(move || {
            far.enter().unwrap();
            let server = Server::bind(ServerOptions {
                listen: None,
                data_ports: DataPorts::ANY,
                connection_networks: ConnectionNetworks::NONE,
                // The next one may come before the last one has been cleared away.
                max_sessions: 2,
                identity: Identity::new().unwrap(),
                log: Log::none(),
            })
            .unwrap();
            let pairing = |family| server.pairing(Host::Address(far.address(family)));
            tell.send([Family::Ipv4, Family::Ipv6].map(pairing)).unwrap();
            server.serve(&stopped).unwrap();
        });
        let pairing_of = told.recv().unwrap();
        Self { lab, pairing_of, stop, serving: Some(serving) }
    }

    pub(crate) fn connect(&self, family: Family) -> LiveTestbed {
        self.lab.near().enter().unwrap();
        let pairing = &self.pairing_of[usize::from(family == Family::Ipv6)];
        let (events, stop) = (Box::new(|_| ()), StopFlag::default());
        LiveTestbed::connect(pairing, LiveOptions { family: None, events, stop }).unwrap()
    }
}

impl Drop for Across {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap();
        }
    }
}
