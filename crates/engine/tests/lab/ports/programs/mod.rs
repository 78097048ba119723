//! Programs that speak to each other through a host of our own TCP, each with its kernel's.

mod relay;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use fp_engine::frame_io::{PacketPort, Prefix, Share};
use fp_engine::lab::Privileges;
use fp_engine::os::clock;
use fp_engine::os::netlink::Netlink;
use fp_model::Family;
use fp_net::pattern::Pattern;

use super::cable::{Cable, MACS};
use super::frames::own;
use super::{FAMILIES, kernel_knows_the_way};
use relay::Relay;

const IPERF3_PORT: u16 = 5201;
const WEB_PORT: u16 = 8080;
const UPLOADED_BYTES: u64 = 20_000_000;
const FILE_BYTES: usize = 5_000_000;
/// The kernel's address, and that of the host between.
const KERNEL: u16 = 1;
const BETWEEN: u16 = 5;

/// The server has received what its client has sent, but for what the host between still had when the
/// client was done; and the other way round.
pub(crate) fn iperf3_speaks_through_a_host_of_our_own(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    for family in FAMILIES {
        let mut between = Between::lay(&cable, family);
        let [kernel, host] = [KERNEL, BETWEEN].map(|host| own(family, host).to_string());
        for direction in [&[][..], &["-R"]] {
            let port = IPERF3_PORT.to_string();
            let mut server = iperf3_server(&kernel, &port);
            let bytes = UPLOADED_BYTES.to_string();
            let words = ["-c", &host, "-p", &port, "-n", &bytes, "-P", "2", "--json"];
            let mut client = Command::new("iperf3");
            client.args(words).args(direction);
            let output = between.relay_until_done(client);
            let said = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success(), "{family:?} {direction:?}: {said}");
            assert!(server.wait().unwrap().success());
            let said: serde_json::Value = serde_json::from_str(&said).unwrap();
            let bytes = |sum: &str| said["end"][sum]["bytes"].as_u64().unwrap();
            let (sent, received) = (bytes("sum_sent"), bytes("sum_received"));
            assert!(sent >= UPLOADED_BYTES && received <= sent, "{sent} {received}");
            assert!(received >= sent - sent / 4, "{sent} {received}");
        }
    }
}

fn iperf3_server(address: &str, port: &str) -> Child {
    let mut server = Command::new("iperf3")
        .args(["-s", "-1", "--forceflush", "-B", address, "-p", port])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("install iperf3: {error}"));
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("listening")));
    thread::spawn(move || lines.for_each(drop));
    server
}

/// Four at a time, byte for byte.
pub(crate) fn curl_fetches_files_through_a_host_of_our_own(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let folder = std::env::temp_dir().join(format!("curl-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let mut file = vec![0; FILE_BYTES];
    Pattern::new(7).fill(0, &mut file);
    for family in FAMILIES {
        let mut between = Between::lay(&cable, family);
        serve(SocketAddr::new(own(family, KERNEL), WEB_PORT), file.clone());
        let place = format!("http://{}/", SocketAddr::new(own(family, BETWEEN), WEB_PORT));
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", "--noproxy", "*", "--parallel"]);
        let fetched = [0, 1, 2, 3].map(|number| folder.join(number.to_string()));
        for path in &fetched {
            curl.arg("--output").arg(path).arg(&place);
        }
        let output = between.relay_until_done(curl);
        assert!(output.status.success(), "{family:?}: {output:?}");
        for path in &fetched {
            assert!(fs::read(path).unwrap() == file, "{family:?}: other bytes than were sent");
        }
        assert_eq!(between.relay.relayed(), (4, true));
    }
    fs::remove_dir_all(folder).unwrap();
}

/// A web server that has one file, until the process ends.
fn serve(address: SocketAddr, file: Vec<u8>) {
    let listener = TcpListener::bind(address).unwrap();
    let file = Arc::new(file);
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let file = Arc::clone(&file);
            thread::spawn(move || answer(stream, &file));
        }
    });
}

fn answer(mut stream: TcpStream, file: &[u8]) {
    let request = BufReader::new(stream.try_clone().unwrap()).lines();
    assert!(request.map(Result::unwrap).any(|line| line.is_empty()));
    let length = file.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(file).unwrap();
}

/// The host between, and the way to it from the kernel of the near end, where the current thread is.
struct Between {
    relay: Relay,
    _links: Netlink,
}

impl Between {
    fn lay(cable: &Cable, family: Family) -> Self {
        let far = cable.interface(1);
        let prefix_bits = if family == Family::Ipv4 { 16 } else { 64 };
        let prefix = Prefix::new(own(family, 0), prefix_bits).unwrap();
        let port = PacketPort::open(&far, &[prefix], Share::ALL).unwrap();
        let links = kernel_knows_the_way(cable, family);
        // A frame is a packet, and no more.
        links.send_single_segments(cable.interface(0).index).unwrap();
        let relay = Relay::new(port, (own(family, KERNEL), MACS[0]), own(family, BETWEEN));
        Self { relay, _links: links }
    }

    fn relay_until_done(&mut self, mut program: Command) -> Output {
        let deadline = clock::now() + Duration::from_secs(60);
        let name = program.get_program().to_owned();
        let output = move || {
            program.output().unwrap_or_else(|error| panic!("install {}: {error}", name.display()))
        };
        let running = thread::spawn(output);
        while !running.is_finished() || !self.relay.relayed().1 {
            assert!(clock::now() < deadline, "{:?}", self.relay.relayed());
            self.relay.step();
        }
        running.join().unwrap()
    }
}
