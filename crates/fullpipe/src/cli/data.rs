//! Where fullpipe keeps what outlives a run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::anyhow;

/// Names the folder outright; `/dev/null` keeps nothing.
const OURS: &str = "FULLPIPE_DATA";

/// The folder, or `None` where the user wants nothing kept.
///
/// # Errors
/// That nothing says where: how to say it.
pub(crate) fn folder() -> anyhow::Result<Option<PathBuf>> {
    folder_by(|name| std::env::var_os(name))
}

fn folder_by(variable: impl Fn(&str) -> Option<OsString>) -> anyhow::Result<Option<PathBuf>> {
    let named = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(ours) = named(OURS) {
        return Ok((ours != OsStr::new("/dev/null")).then(|| PathBuf::from(ours)));
    }
    // A relative one is to be ignored, by the specification of these folders.
    let of_user = named("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let of_home = || named("HOME").map(|home| Path::new(&home).join(".local/share"));
    match of_user.or_else(of_home) {
        Some(folder) => Ok(Some(folder.join("fullpipe"))),
        None => Err(anyhow!(
            "neither $FULLPIPE_DATA nor $XDG_DATA_HOME nor $HOME says where the history is: name a \
             folder in $FULLPIPE_DATA"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(variables: &[(&str, &str)]) -> Option<PathBuf> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        folder_by(|name| find(name).map(|(_, value)| OsString::from(value))).unwrap()
    }

    #[test]
    fn our_own_variable_counts_most_and_then_the_users_folder_of_data() {
        let (home, xdg) = (("HOME", "/home/u"), ("XDG_DATA_HOME", "/data"));
        assert_eq!(folder(&[home]), Some("/home/u/.local/share/fullpipe".into()));
        assert_eq!(folder(&[home, xdg]), Some("/data/fullpipe".into()));
        assert_eq!(folder(&[home, xdg, (OURS, "/mine")]), Some("/mine".into()));
        assert_eq!(folder(&[home, ("XDG_DATA_HOME", "here")]), folder(&[home]));
        assert_eq!(folder(&[home, (OURS, "")]), folder(&[home]));
    }

    #[test]
    fn the_null_device_keeps_nothing() {
        assert_eq!(folder(&[("HOME", "/home/u"), (OURS, "/dev/null")]), None);
    }

    #[test]
    fn where_nothing_says_where_that_is_an_error() {
        assert!(folder_by(|_| None).unwrap_err().to_string().contains("$FULLPIPE_DATA"));
    }
}
