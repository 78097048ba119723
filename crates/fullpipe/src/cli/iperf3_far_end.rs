//! A stock iperf3 server as far end: `iperf3://HOST[:PORT]`, and who one is to it.

use std::env;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use fp_engine::control::FarAddress;
use fp_engine::iperf3::Iperf3Testbed;
use fp_engine::iperf3::auth::{Credentials, Padding};
use fp_engine::iperf3::client::ClientError;
use fp_engine::iperf3::wire::DEFAULT_PORT;
use fp_engine::near::LiveOptions;
use fp_engine::os::signal;
use fp_model::Family;

use super::measure::{Ends, OutputArgs, Watcher};
use crate::exit::{Failure, stopped_by};

const SCHEME: &str = "iperf3://";
/// Where iperf3 takes it from too.
const PASSWORD: &str = "IPERF3_PASSWORD";

/// What a server that admits only those it knows asks for, as iperf3 names it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "iperf3://")]
pub(crate) struct CredentialArgs {
    /// The user's name to an iperf3 server that asks for one; the password is in $IPERF3_PASSWORD
    #[arg(long, value_name = "NAME", requires = "rsa_public_key_path")]
    username: Option<String>,
    /// The public RSA key (PEM) of that server
    #[arg(long, value_name = "FILE", requires = "username")]
    rsa_public_key_path: Option<PathBuf>,
    /// That server is older than 3.17 or was told to use PKCS#1 padding
    #[arg(long, requires = "username")]
    use_pkcs1_padding: bool,
}

/// `None` of a far end of another kind.
pub(crate) fn address(far: &str) -> Option<Result<FarAddress, Failure>> {
    let rest = far.trim().strip_prefix(SCHEME)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains('#') {
        return Some(Err(Failure::bad_input(anyhow!(
            "a stock iperf3 server has no secret after a '#': write iperf3://HOST or \
             iperf3://HOST:PORT"
        ))));
    }
    Some(FarAddress::parse(rest, DEFAULT_PORT).map_err(|error| {
        Failure::bad_input(anyhow!("{far}: {error}, as in iperf3://HOST or iperf3://HOST:PORT"))
    }))
}

impl CredentialArgs {
    /// # Errors
    /// Where they were given for a far end that has no use for them.
    pub(crate) fn expect_none(&self) -> Result<(), Failure> {
        if self.username.is_none() {
            return Ok(());
        }
        Err(Failure::bad_input(anyhow!(
            "--username is for a stock iperf3 server: write the far end as iperf3://HOST"
        )))
    }

    fn credentials(&self) -> Result<Option<Credentials>, Failure> {
        let (Some(user), Some(key)) = (&self.username, &self.rsa_public_key_path) else {
            return Ok(None);
        };
        let password = env::var(PASSWORD).map_err(|_| {
            Failure::bad_input(anyhow!(
                "the password of {user} is not known: give it in ${PASSWORD}"
            ))
        })?;
        let padding = if self.use_pkcs1_padding { Padding::Pkcs1 } else { Padding::Oaep };
        Credentials::new(user, &password, key, padding).map(Some).map_err(Failure::bad_input)
    }

    pub(crate) fn connect(
        &self,
        far: FarAddress,
        family: Option<Family>,
        output: &OutputArgs,
    ) -> Result<Iperf3Testbed, Failure> {
        let credentials = self.credentials()?;
        let stop =
            signal::stop_flag().context("cannot watch for Ctrl-C").map_err(Failure::not_run)?;
        let mut watcher = Watcher::new(output);
        let events = Box::new(move |event| watcher.see(&event));
        let options = LiveOptions { family, events, stop };
        Iperf3Testbed::connect(far, credentials, options).map_err(|error| match error {
            ClientError::Stopped => Failure { exit: stopped_by(), error: error.into() },
            error => Failure::not_run(error),
        })
    }
}

pub(crate) fn ends(bed: &Iperf3Testbed, across: String, output: &OutputArgs) -> Ends {
    Ends {
        across,
        near: bed.near_facts(),
        far: bed.far_facts(),
        family: bed.family(),
        // Ethernet's, where the host does not say.
        interface_mtu_bytes: bed.near_interface_mtu_bytes().unwrap_or(1500),
        line_l1: None,
        lines: Default::default(),
        is_isolated: false,
        is_translated: false,
        is_iperf3: true,
        is_simulated: false,
        is_quiet: output.quiet,
    }
}
