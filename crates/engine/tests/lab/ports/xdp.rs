//! Ports of AF_XDP, which take rights on the host itself.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::UdpSocket;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use fp_engine::frame_io::{FrameIo as _, PortError, XdpPort};
use fp_engine::lab::Privileges;
use fp_engine::os::clock;
use fp_engine::os::netlink::Netlink;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use super::cable::{Cable, MACS, address};
use super::{
    FAMILIES, OWN, a_frame_that_is_too_long_is_an_error, every_frame_as_it_is, nothing_but_its_own,
    packet_port, prefixes,
};
use crate::harness::helper;

pub(crate) fn carry_every_frame_as_it_is(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    every_frame_as_it_is(xdp_port(&cable, 0), xdp_port(&cable, 1));
    a_frame_that_is_too_long_is_an_error(xdp_port(&cable, 0), xdp_port(&cable, 1));
}

pub(crate) fn receives_what_it_is_for_and_nothing_else(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    nothing_but_its_own(packet_port(&cable, 0, &[]), xdp_port(&cable, 1));
}

/// Which has to find its neighbour first, by ARP and neighbour discovery past the port.
pub(crate) fn what_it_is_not_for_is_the_hosts(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let mut port = xdp_port(&cable, 1);
    for family in FAMILIES {
        cable.interface(1);
        let far = UdpSocket::bind((address(1, family), 0)).unwrap();
        far.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        cable.interface(0);
        let near = UdpSocket::bind((address(0, family), 0)).unwrap();
        near.send_to(b"for the host", far.local_addr().unwrap()).unwrap();
        assert_eq!(far.recv(&mut [0; 100]).unwrap(), 12, "{family:?}");
    }
    assert_eq!(port.receive(|frame| panic!("{frame:?}")).unwrap(), 0);
}

pub(crate) const HOLDER: &str = "holder of an AF_XDP port";

/// In the namespace of the far end, until it is killed.
pub(crate) fn hold_a_port(_: Privileges) {
    let eth0 = Netlink::open().unwrap().interface("eth0").unwrap();
    let _ports = XdpPort::open_all(&eth0, &prefixes(&OWN)).unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "held").unwrap();
    loop {
        thread::park();
    }
}

pub(crate) fn no_program_outlives_its_ports_or_its_process(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let has_program = || cable.interface(1).has_xdp_program;
    let gone = || {
        let deadline = clock::now() + Duration::from_secs(5);
        while has_program() {
            assert!(clock::now() < deadline, "the program is still there");
            thread::yield_now();
        }
    };
    assert!(!has_program());
    let port = xdp_port(&cable, 1);
    assert!(has_program());
    // A second one is refused, and does the first no harm.
    let refused = XdpPort::open_all(&cable.interface(1), &prefixes(&OWN)).unwrap_err();
    assert!(refused.to_string().contains("has an XDP program already"), "{refused}");
    drop(port);
    gone();

    cable.interface(1);
    let mut holder = helper(HOLDER).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    assert!(has_program());
    holder.kill().unwrap();
    holder.wait().unwrap();
    gone();
    // And the interface is as good as new.
    every_frame_as_it_is(xdp_port(&cable, 0), xdp_port(&cable, 1));
}

pub(crate) fn who_may_load_no_program_is_told_what_af_xdp_takes(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let eth0 = cable.interface(1);
    assert_eq!(eth0.mac, MACS[1]);
    // What root has, and an ordinary user has in a user namespace only.
    let mut sets = capabilities(None).unwrap();
    for rights in [&mut sets.effective, &mut sets.permitted] {
        rights.remove(CapabilitySet::BPF | CapabilitySet::SYS_ADMIN);
    }
    set_capabilities(None, sets).unwrap();
    let refused = XdpPort::open_all(&eth0, &prefixes(&OWN)).unwrap_err();
    assert!(matches!(refused, PortError::Program { .. }), "{refused:?}");
    let text = refused.to_string();
    assert!(text.contains("run it as root, or with CAP_NET_ADMIN"), "{text}");
    let links = Netlink::open().unwrap();
    assert!(!links.interface("eth0").unwrap().has_xdp_program, "nothing is left half done");
}

fn xdp_port(cable: &Cable, end: usize) -> XdpPort {
    let mut ports = XdpPort::open_all(&cable.interface(end), &prefixes(&OWN)).unwrap();
    assert_eq!(ports.len(), 1, "a veth pair has one queue");
    ports.remove(0)
}
