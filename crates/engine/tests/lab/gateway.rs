//! A path with a gateway that translates, as the kernels at its ends meet it.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use fp_engine::lab::{Families, GatewayTruth, Lab, Privileges};
use fp_engine::os::clock;
use fp_model::{Family, PortRange};
use fp_net::path::{GatewaySpec, LinkSpec, PathSpec};

use super::socket_at;

const PORTS: PortRange = PortRange { first: 30_000, last: 30_009 };
/// One more than there are ports.
const SOCKETS: u8 = 11;

/// Ten of eleven sockets find a port; each of them gets the answer to what it has sent itself.
pub(crate) fn has_one_address_outside_and_a_port_for_each_connection(privileges: Privileges) {
    let lab = start(privileges);
    for (family, families_before) in [(Family::Ipv4, 0), (Family::Ipv6, 1)] {
        let far = socket_at(lab.far(), family);
        let near: Vec<UdpSocket> = (0..SOCKETS).map(|_| socket_at(lab.near(), family)).collect();
        for (socket, number) in near.iter().zip(0..) {
            socket.connect(far.local_addr().unwrap()).unwrap();
            socket.send(&[number]).unwrap();
        }
        let served = answer(&far, u64::from(SOCKETS) - 1);
        let outside: BTreeSet<_> = served.iter().map(|(_, source)| source.ip()).collect();
        assert_eq!(outside.len(), 1, "{served:?}");
        assert!(!outside.contains(&lab.near().address(family)), "{served:?}");
        let ports: BTreeSet<u16> = served.iter().map(|(_, source)| source.port()).collect();
        assert_eq!(ports, (PORTS.first..=PORTS.last).collect());
        for (number, _) in &served {
            let mut answer = [0; 2];
            assert_eq!(near[usize::from(*number)].recv(&mut answer).unwrap(), 1);
            assert_eq!(answer[0], *number);
        }
        let truth = counted(&lab, families_before + 1);
        assert_eq!(truth.conntrack_entries, (families_before + 1) * u64::from(SOCKETS - 1));
        assert!(truth.conntrack_entries_peak >= truth.conntrack_entries, "{truth:?}");
    }
}

fn start(privileges: Privileges) -> Lab {
    let gateway = Some(GatewaySpec { ports: PORTS });
    let path = PathSpec { gateway, ..PathSpec::symmetric("nat", vec![LinkSpec::default()]) };
    Lab::start(privileges, &path, Families::Both, 1).unwrap()
}

/// Sends back what comes, and tells from where.
fn answer(far: &UdpSocket, datagrams: u64) -> Vec<(u8, SocketAddr)> {
    let answered = (0..datagrams).map(|_| {
        let mut number = [0; 1];
        let (_, source) = far.recv_from(&mut number).unwrap();
        far.send_to(&number, source).unwrap();
        (number[0], source)
    });
    let answered = answered.collect();
    far.set_nonblocking(true).unwrap();
    let beyond = far.recv_from(&mut [0; 1]).unwrap_err();
    assert_eq!(beyond.kind(), ErrorKind::WouldBlock, "an eleventh found a port");
    answered
}

/// Once so many datagrams have found no port.
fn counted(lab: &Lab, without_a_port: u64) -> GatewayTruth {
    let deadline = clock::now() + Duration::from_secs(5);
    loop {
        let truth = lab.truth().unwrap().gateway.unwrap();
        // A kernel without these counters drops as well.
        if truth.counters.is_none_or(|all| all.insert_failed == without_a_port) {
            return truth;
        }
        assert!(clock::now() < deadline, "{truth:?}");
    }
}
