//! What ethtool tells and sets: offloads, switched off so that every frame is on the wire as it would
//! be, and queues.
#![expect(unsafe_code, reason = "an ethtool request is a pointer inside an ioctl")]

use std::ffi::c_char;
use std::io;
use std::mem::zeroed;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Makes the host compute every checksum and cut every segment itself, and join none it receives,
/// on an interface of the current thread's network namespace.
pub fn switch_offloads_off(interface: &str) -> io::Result<()> {
    [ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO]
        .into_iter()
        .try_for_each(|feature| switch_off(interface, feature))
}

/// How many receive queues an interface of the current thread's network namespace has.
pub(crate) fn receive_queues(interface: &str) -> io::Result<u32> {
    let mut channels = EthtoolChannels { command: ETHTOOL_GCHANNELS, ..EthtoolChannels::default() };
    match ask(interface, (&raw mut channels).cast()) {
        Ok(()) => Ok((channels.combined + channels.receive).max(1)),
        // A driver that does not know the question has one queue, and nothing to ask about.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(1),
        Err(error) => Err(error),
    }
}

/// Whether an interface of the current thread's network namespace takes datagrams that are still to
/// be cut. A network card cuts them before they are on the line; of a pair of virtual interfaces
/// (containers, virtual machines) neither does, and whatever stands behind them, a shaper or a policer,
/// meets dozens of frames as a single long one.
pub(crate) fn takes_uncut_datagrams(interface: &str) -> io::Result<bool> {
    Ok(features_in_use(interface)?.iter().any(|name| name == "tx-udp-segmentation"))
}

/// The names of the features that are on, as ethtool(8) shows them.
pub(crate) fn features_in_use(interface: &str) -> io::Result<Vec<String>> {
    let mut names = EthtoolStrings {
        command: ETHTOOL_GSTRINGS,
        set: ETH_SS_FEATURES,
        count: 0,
        names: [[0; ETH_GSTRING_LEN]; FEATURES_MAX],
    };
    let mut info = EthtoolSetInfo {
        command: ETHTOOL_GSSET_INFO,
        reserved: 0,
        sets: 1 << ETH_SS_FEATURES,
        count: 0,
        padding: 0,
    };
    ask(interface, (&raw mut info).cast())?;
    // The kernel writes as many names as it has features.
    if info.sets == 0 || info.count as usize > FEATURES_MAX {
        return Ok(Vec::new());
    }
    ask(interface, (&raw mut names).cast())?;
    let mut features = EthtoolFeatures {
        command: ETHTOOL_GFEATURES,
        blocks: FEATURE_BLOCKS as u32,
        features: [FeatureBlock::default(); FEATURE_BLOCKS],
    };
    ask(interface, (&raw mut features).cast())?;
    let count = (names.count as usize).min(FEATURES_MAX);
    let is_on = |feature: usize| features.features[feature / 32].active & 1 << (feature % 32) != 0;
    Ok((0..count).filter(|at| is_on(*at)).map(|at| text(&names.names[at])).collect())
}

/// The name of the interface's driver.
pub(crate) fn driver(interface: &str) -> io::Result<String> {
    let mut info = EthtoolDriver { command: ETHTOOL_GDRVINFO, name: [0; 32], others: [0; 160] };
    ask(interface, (&raw mut info).cast())?;
    Ok(text(&info.name))
}

/// Up to its terminating zero.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETHTOOL_GFEATURES: u32 = 0x3a;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETH_SS_FEATURES: u32 = 4;
const ETH_GSTRING_LEN: usize = 32;
/// Linux has had up to 64 features in 64 bits; twice as many have room.
const FEATURES_MAX: usize = 128;
const FEATURE_BLOCKS: usize = FEATURES_MAX / 32;

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// `struct ethtool_sset_info` with room for one count.
#[repr(C)]
struct EthtoolSetInfo {
    command: u32,
    reserved: u32,
    sets: u64,
    count: u32,
    padding: u32,
}

/// `struct ethtool_gstrings` with room for the names of all features.
#[repr(C)]
struct EthtoolStrings {
    command: u32,
    set: u32,
    count: u32,
    names: [[u8; ETH_GSTRING_LEN]; FEATURES_MAX],
}

/// `struct ethtool_gfeatures` with room for all of them.
#[repr(C)]
struct EthtoolFeatures {
    command: u32,
    blocks: u32,
    features: [FeatureBlock; FEATURE_BLOCKS],
}

/// `struct ethtool_get_features_block`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FeatureBlock {
    available: u32,
    requested: u32,
    active: u32,
    never_changed: u32,
}

/// `struct ethtool_drvinfo`; of what follows the name nothing is used.
#[repr(C)]
struct EthtoolDriver {
    command: u32,
    name: [u8; 32],
    others: [u8; 160],
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct EthtoolChannels {
    command: u32,
    /// Receive, transmit, other, combined.
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

fn switch_off(interface: &str, command: u32) -> io::Result<()> {
    let mut off = EthtoolValue { command, value: 0 };
    ask(interface, (&raw mut off).cast())
}

/// `what` points to one of the structures above, with its command.
fn ask(interface: &str, what: *mut c_char) -> io::Result<()> {
    // SAFETY: an interface request of all zeros is valid: an empty name and no argument.
    let mut request: libc::ifreq = unsafe { zeroed() };
    assert!(interface.len() < request.ifr_name.len(), "an interface name has at most 15 bytes");
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as c_char;
    }
    request.ifr_ifru.ifru_data = what;
    // Any socket will do: it only says which network namespace is meant.
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    // SAFETY: the request names an interface and points to a structure of ethtool's, as SIOCETHTOOL
    // wants it; both live through the call and the kernel keeps neither.
    match unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_datagrams_leave_uncut_is_known_of_any_interface() {
        // Every Linux since 4.18 says of loopback that it takes them whole.
        assert!(takes_uncut_datagrams("lo").unwrap());
        assert_eq!(driver("lo").unwrap_or_default(), "");
        let nowhere = takes_uncut_datagrams("no-such-one").unwrap_err();
        assert_eq!(nowhere.raw_os_error(), Some(libc::ENODEV));
    }
}
