//! The host's addresses, interfaces and name.

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd as _;

use rustix::net::netdevice::name_to_index;

/// One address of one interface that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    pub interface: String,
    pub address: IpAddr,
}

/// The length field of an IPv4 header; a loopback interface would take one byte more.
const PACKET_BYTES_MAX: u32 = 65_535;

/// All addresses of this network namespace.
///
/// # Errors
/// Where the kernel does not list them.
#[expect(unsafe_code, reason = "rustix does not list addresses")]
pub fn addresses() -> io::Result<Vec<InterfaceAddress>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `first` is a valid place for the head of the list.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut entry = first;
    // SAFETY: the list is owned by us until freeifaddrs, and each `ifa_next` is null or an entry.
    while let Some(one) = unsafe { entry.as_ref() } {
        let is_up = one.ifa_flags & libc::IFF_UP as libc::c_uint != 0;
        // SAFETY: `ifa_addr` of an entry is null or points to a socket address of its family.
        if let Some(address) = unsafe { ip_address(one.ifa_addr) }.filter(|_| is_up) {
            // SAFETY: `ifa_name` of an entry is a terminated string.
            let name = unsafe { CStr::from_ptr(one.ifa_name) };
            let interface = name.to_string_lossy().into_owned();
            found.push(InterfaceAddress { interface, address });
        }
        entry = one.ifa_next;
    }
    // SAFETY: `first` came from getifaddrs and nothing of the list is kept.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// # Safety
/// `address` is null or points to a socket address of the family that it names.
#[expect(unsafe_code, reason = "socket addresses are told apart by their family field")]
unsafe fn ip_address(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: null or valid by the caller's contract.
    match i32::from(unsafe { address.as_ref() }?.sa_family) {
        libc::AF_INET => {
            // SAFETY: the family says that it is a sockaddr_in.
            let v4 = unsafe { &*address.cast::<libc::sockaddr_in>() };
            Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that it is a sockaddr_in6.
            let v6 = unsafe { &*address.cast::<libc::sockaddr_in6>() };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// The largest IP packet that the interface with `address` takes; `None` where no interface has it.
///
/// # Errors
/// Where the kernel does not tell.
pub(crate) fn mtu_of(address: IpAddr) -> io::Result<Option<u32>> {
    let holder = addresses()?.into_iter().find(|held| held.address == address);
    let mtu = holder.map(|held| mtu(&held.interface)).transpose()?;
    Ok(mtu.map(|bytes| bytes.min(PACKET_BYTES_MAX)))
}

/// An address of the other family of the interface with `address`, of no less than a site's scope.
///
/// # Errors
/// Where the kernel does not list them.
pub(crate) fn other_family_of(address: IpAddr) -> io::Result<Option<IpAddr>> {
    let all = addresses()?;
    let Some(holder) = all.iter().find(|held| held.address == address) else { return Ok(None) };
    let is_meant = |other: &&InterfaceAddress| {
        other.interface == holder.interface
            && other.address.is_ipv4() != address.is_ipv4()
            && !is_link_local(other.address)
    };
    Ok(all.iter().find(is_meant).map(|other| other.address))
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// The name of the interface with `address`; `None` where no interface has it.
///
/// # Errors
/// Where the kernel does not list them.
pub(crate) fn name_of(address: IpAddr) -> io::Result<Option<String>> {
    let holder = addresses()?.into_iter().find(|held| held.address == address);
    Ok(holder.map(|held| held.interface))
}

/// The index of the interface with `address`; `None` where no interface has it.
///
/// # Errors
/// Where the kernel does not tell.
pub(crate) fn index_of(address: IpAddr) -> io::Result<Option<i32>> {
    let Some(name) = name_of(address)? else { return Ok(None) };
    let index = name_to_index(UdpSocket::bind((address, 0))?, &name)?;
    i32::try_from(index).map(Some).map_err(|_| io::ErrorKind::InvalidData.into())
}

#[expect(unsafe_code, reason = "the request is an ioctl that rustix does not have")]
fn mtu(interface: &str) -> io::Result<u32> {
    // Any socket of the namespace will do.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .or_else(|_| UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)))?;
    // SAFETY: an all-zero ifreq is valid: an empty name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero; a name of the kernel always fits.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the socket is open and `request` is a valid ifreq with a terminated name.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: SIOCGIFMTU fills this member of the union.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    u32::try_from(mtu).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The host's name and its kernel's release.
pub(crate) fn host_and_kernel() -> (String, String) {
    let uname = rustix::system::uname();
    let text = |field: &CStr| field.to_string_lossy().into_owned();
    (text(uname.nodename()), text(uname.release()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_an_mtu() {
        let loopback = mtu_of(Ipv4Addr::LOCALHOST.into()).unwrap();
        assert!(loopback.is_some_and(|mtu| (1280..=65_535).contains(&mtu)), "{loopback:?}");
        assert_eq!(mtu_of(Ipv4Addr::new(192, 0, 2, 77).into()).unwrap(), None);
    }
}
