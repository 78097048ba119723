//! Who may test and who may not, with either padding, with the packaged program at either end.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;

use fp_engine::StopFlag;
use fp_engine::iperf3::auth::{Authorisation, Credentials, Padding};
use fp_engine::iperf3::client::{self, ClientPlan};
use fp_engine::iperf3::wire::Transport;
use rsa::RsaPrivateKey;
use rsa::pkcs8::{EncodePrivateKey as _, EncodePublicKey as _, LineEnding};
use rsa::rand_core::OsRng;

use crate::packaged::PackagedServer;
use crate::real::iperf3::far_side::{Serving, plan};

/// Keys and users in files, removed with it.
struct Keys(PathBuf);

impl Keys {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("iperf3-{}-{test}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        // Short, to be quick.
        let key = RsaPrivateKey::new(&mut OsRng, 1024).unwrap();
        let private = key.to_pkcs8_pem(LineEnding::LF).unwrap();
        fs::write(folder.join("private"), private.as_bytes()).unwrap();
        let public = key.to_public_key().to_public_key_pem(LineEnding::LF).unwrap();
        fs::write(folder.join("public"), public).unwrap();
        // printf '{mario}rossi' | sha256sum
        let hash = "bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b";
        fs::write(folder.join("users"), format!("mario,{hash}\n")).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn authorisation(&self, padding: Padding) -> Authorisation {
        Authorisation::new(&self.path("private"), &self.path("users"), padding).unwrap()
    }

    fn credentials(&self, password: &str, padding: Padding) -> Option<Credentials> {
        Some(Credentials::new("mario", password, &self.path("public"), padding).unwrap())
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // Left behind, it would only be in the way.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_right_password_opens_and_anything_else_does_not() {
    let keys = Keys::new("own");
    for padding in [Padding::Oaep, Padding::Pkcs1] {
        let serving = Serving::start(Some(keys.authorisation(padding)), 4);
        let test = |credentials| {
            let plan = ClientPlan { credentials, ..plan(serving.address, Transport::Tcp) };
            client::run(&plan, &mut |_| {}, &StopFlag::default())
        };
        assert!(test(keys.credentials("rossi", padding)).unwrap().complete);
        let other = if padding == Padding::Oaep { Padding::Pkcs1 } else { Padding::Oaep };
        for refused in [None, keys.credentials("verdi", padding), keys.credentials("rossi", other)]
        {
            let error = test(refused).unwrap_err();
            assert!(error.to_string().contains("does not accept this user"), "{error}");
        }
    }
}

#[test]
fn the_packaged_client_is_admitted_by_its_password() {
    let keys = Keys::new("packaged-client");
    let serving = Serving::start(Some(keys.authorisation(Padding::Pkcs1)), 4);
    let port = serving.address.port().to_string();
    let test = |password: &str| {
        let public = keys.path("public");
        let words = ["20", "iperf3", "-c", "127.0.0.1", "-p", &port, "-n", "1M", "--username"];
        let mut command = Command::new("timeout");
        command.args(words).args(["mario", "--rsa-public-key-path"]).arg(public);
        command.env("IPERF3_PASSWORD", password).output().unwrap().status.success()
    };
    assert!(test("rossi"), "{:?}", serving.said());
    assert!(!test("verdi"));
    let said = serving.finish();
    assert!(said.iter().any(|line| line.contains("not authorised")), "{said:?}");
}

#[test]
fn the_packaged_server_admits_us_by_our_password() {
    let keys = Keys::new("packaged-server");
    for (password, is_admitted) in [("rossi", true), ("verdi", false)] {
        let path = |name| keys.path(name).display().to_string();
        let (private, users) = (path("private"), path("users"));
        let words = ["--rsa-private-key-path", &private, "--authorized-users-path", &users];
        // With one test it ends, or it is refused and would wait for another.
        let server = PackagedServer::start(&words).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port));
        let plan = ClientPlan {
            credentials: keys.credentials(password, Padding::Pkcs1),
            ..plan(address, Transport::Tcp)
        };
        let outcome = client::run(&plan, &mut |_| {}, &StopFlag::default());
        assert_eq!(outcome.is_ok(), is_admitted, "{outcome:?}");
    }
}
