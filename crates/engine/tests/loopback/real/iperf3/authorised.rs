//! Who may test and who may not, with either padding, with the packaged program at either end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fp_engine::StopFlag;
use fp_engine::iperf3::auth::{Authorisation, Credentials, Padding};
use fp_engine::iperf3::client::{self, ClientPlan};
use fp_engine::iperf3::wire::Transport;
use rsa::RsaPrivateKey;
use rsa::pkcs8::{EncodePrivateKey as _, EncodePublicKey as _, LineEnding};
use rsa::rand_core::OsRng;

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
        let (mut server, address) = packaged_server(&keys);
        let plan = ClientPlan {
            credentials: keys.credentials(password, Padding::Pkcs1),
            ..plan(address, Transport::Tcp)
        };
        let outcome = client::run(&plan, &mut |_| {}, &StopFlag::default());
        assert_eq!(outcome.is_ok(), is_admitted, "{outcome:?}");
        // With one test it ends, or it is refused and would wait for another.
        let _ = server.kill();
        server.wait().unwrap();
    }
}

fn packaged_server(keys: &Keys) -> (Child, std::net::SocketAddr) {
    use std::io::{BufRead as _, BufReader};
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let path = |name: &str| -> PathBuf { Path::new(&keys.0).join(name) };
    let mut server = Command::new("iperf3")
        .args(["-s", "-1", "--forceflush", "-p", &address.port().to_string()])
        .arg("--rsa-private-key-path")
        .arg(path("private"))
        .arg("--authorized-users-path")
        .arg(path("users"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let listens = lines.by_ref().any(|line| line.is_ok_and(|line| line.contains("listening")));
    assert!(listens, "iperf3 did not start: install iperf3");
    std::thread::spawn(move || lines.for_each(drop));
    (server, address)
}
