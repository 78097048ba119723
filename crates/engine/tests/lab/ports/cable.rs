//! A veth pair between two namespaces, whose ends have addresses outside the ports' prefixes.

use std::fs;
use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use fp_engine::lab::Privileges;
use fp_engine::os::netlink::{Interface, Mac, Netlink, VethEnd};
use fp_engine::os::{NetNs, clock};
use fp_model::Family;

pub(super) const MACS: [Mac; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];

/// Of the ends' own kernels.
pub(super) fn address(end: usize, family: Family) -> IpAddr {
    let text = match family {
        Family::Ipv4 => ["192.0.2.1", "192.0.2.2"],
        Family::Ipv6 => ["2001:db8::1", "2001:db8::2"],
    };
    text[end].parse().unwrap()
}

pub(super) struct Cable {
    pub(super) ends: [NetNs; 2],
}

impl Cable {
    /// Ends whose kernels do not know each other's MAC addresses.
    pub(super) fn lay(_: Privileges) -> Self {
        let near = NetNs::fresh().unwrap();
        let near_links = Netlink::open().unwrap();
        let far = NetNs::fresh().unwrap();
        let far_links = Netlink::open().unwrap();
        let end = |mac| VethEnd { name: "eth0", mac, mtu: 1500 };
        far_links.add_veth(&end(MACS[1]), &end(MACS[0]), &near).unwrap();
        for (end, links) in [&near_links, &far_links].into_iter().enumerate() {
            links.set_up(links.interface("lo").unwrap().index).unwrap();
            let index = links.interface("eth0").unwrap().index;
            links.forgo_link_local_address(index).unwrap();
            links.set_up(index).unwrap();
            links.add_address(index, address(end, Family::Ipv4), 24).unwrap();
            links.add_address(index, address(end, Family::Ipv6), 64).unwrap();
        }
        let cable = Self { ends: [near, far] };
        let deadline = clock::now() + Duration::from_secs(5);
        while !cable.is_up(0) || !cable.is_up(1) {
            assert!(clock::now() < deadline, "the cable does not come up");
            thread::yield_now();
        }
        cable
    }

    /// The kernel starts an interface, and IPv6 on it, in the background.
    fn is_up(&self, end: usize) -> bool {
        let is_running = self.interface(end).is_running;
        // Address and prefix length, in hexadecimal.
        let own = format!("20010db80000000000000000{:08x} 80", end + 1);
        let routes = fs::read_to_string("/proc/thread-self/net/ipv6_route").unwrap();
        is_running && routes.lines().any(|route| route.starts_with(&own))
    }

    /// Leaves the current thread at this end.
    pub(super) fn interface(&self, end: usize) -> Interface {
        self.ends[end].enter().unwrap();
        Netlink::open().unwrap().interface("eth0").unwrap()
    }
}
