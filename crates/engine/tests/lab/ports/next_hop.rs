//! The kernel's way to an address, found by a kernel that does not know its neighbours yet.

use std::net::IpAddr;

use fp_engine::lab::Privileges;
use fp_engine::os::netlink::Netlink;
use fp_engine::os::next_hop::{NextHop, NoNextHop};
use fp_model::Family;

use super::FAMILIES;
use super::cable::{Cable, MACS, address};
use super::frames::{foreign, own};

const ANYWHERE: &str = "203.0.113.5";

pub(crate) fn is_what_the_kernel_would_take(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let eth0 = cable.interface(0);
    let links = Netlink::open().unwrap();
    for family in FAMILIES {
        let (near, far) = (address(0, family), address(1, family));
        let on_link = NextHop::towards(far).unwrap();
        assert_eq!(on_link.interface.index, eth0.index);
        assert_eq!((on_link.interface.mac, on_link.interface.mtu_bytes), (MACS[0], 1500));
        assert_eq!((on_link.source, on_link.gateway), (near, None));
        assert_eq!((on_link.mac, on_link.by_default_route), (MACS[1], false));

        let prefix_len = if family == Family::Ipv4 { 16 } else { 64 };
        links.add_route(own(family, 0), prefix_len, far).unwrap();
        let routed = NextHop::towards(own(family, 7)).unwrap();
        assert_eq!((routed.source, routed.gateway), (near, Some(far)));
        assert_eq!((routed.mac, routed.by_default_route), (MACS[1], false));

        assert!(matches!(
            NextHop::towards(foreign(family, 7)),
            Err(NoNextHop::NoRoute { to, .. }) if to == foreign(family, 7)
        ));
        let all: IpAddr = if family == Family::Ipv4 { [0; 4].into() } else { [0; 16].into() };
        links.add_route(all, 0, far).unwrap();
        let by_default = NextHop::towards(foreign(family, 7)).unwrap();
        assert_eq!((by_default.gateway, by_default.mac), (Some(far), MACS[1]));
        assert!(by_default.by_default_route);
        assert!(!NextHop::towards(own(family, 7)).unwrap().by_default_route);
        assert!(!NextHop::towards(far).unwrap().by_default_route);
    }
    // As tunnels do it that want everything.
    links.add_route([128, 0, 0, 0].into(), 1, address(1, Family::Ipv4)).unwrap();
    assert!(NextHop::towards(ANYWHERE.parse().unwrap()).unwrap().by_default_route);
}

pub(crate) fn where_there_is_none_it_says_why(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    cable.interface(0);
    for family in FAMILIES {
        let near = address(0, family);
        let refused = NextHop::towards(near).unwrap_err();
        assert!(matches!(refused, NoNextHop::Ourselves(to) if to == near), "{refused}");
        let refused = NextHop::towards(foreign(family, 1)).unwrap_err();
        assert!(refused.to_string().contains("add a route"), "{refused}");
    }
    let absent = IpAddr::from([192, 0, 2, 77]);
    let refused = NextHop::towards(absent).unwrap_err();
    assert!(matches!(refused, NoNextHop::Silent { neighbour } if neighbour == absent), "{refused}");
    let broadcast = NextHop::towards([192, 0, 2, 255].into()).unwrap_err();
    assert!(matches!(broadcast, NoNextHop::NotUnicast(_)), "{broadcast}");
}
