//! The right to make networks: as root, or in a user namespace of one's own.

use std::fs::read_to_string;
use std::io;

use super::LabError;
use crate::os::{enter_own_user_namespace, may_make_networks};

/// The proof that this process may make networks.
#[derive(Clone, Copy, Debug)]
pub struct Privileges(());

impl Privileges {
    /// Makes sure that this process may make networks. It must not have a second thread yet: an
    /// ordinary user gets the right by moving the whole process into a user namespace, in which
    /// user, group and files stay what they are.
    ///
    /// # Errors
    /// Where the host forbids user namespaces; the sentence says by which switch.
    pub fn prepare() -> Result<Self, LabError> {
        let may = may_make_networks().map_err(LabError::wiring("read its capabilities"))?;
        if !may {
            enter_own_user_namespace()
                .map_err(|error| LabError::Forbidden { remedy: remedy(&error), error })?;
        }
        Ok(Self(()))
    }
}

/// What to do about a host that forbids user namespaces, by the first switch that does.
fn remedy(error: &io::Error) -> String {
    if error.raw_os_error() == Some(libc::EINVAL) {
        return "the kernel has no user namespaces, or this process has several threads".into();
    }
    SWITCHES
        .iter()
        .find(|switch| {
            let path = format!("/proc/sys/{}", switch.name.replace('.', "/"));
            read_to_string(path).is_ok_and(|value| value.trim() == switch.forbids)
        })
        .map_or_else(
            || "a container or a security policy forbids user namespaces: run it as root".into(),
            |Switch { name, forbids, allows }| {
                format!("{name} is {forbids}: run `sudo sysctl {name}={allows}`, or this as root")
            },
        )
}

/// A sysctl that forbids user namespaces to ordinary users at one of its values.
struct Switch {
    name: &'static str,
    forbids: &'static str,
    allows: &'static str,
}

const SWITCHES: [Switch; 3] = [
    Switch { name: "user.max_user_namespaces", forbids: "0", allows: "10000" },
    Switch { name: "kernel.unprivileged_userns_clone", forbids: "0", allows: "1" },
    Switch { name: "kernel.apparmor_restrict_unprivileged_userns", forbids: "1", allows: "0" },
];
