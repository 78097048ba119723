//! As much of HTTP as one page takes: RFC 9112 read within bounds, one answer, then the end.

use std::io::{self, Read as _};
use std::net::{IpAddr, TcpStream};
use std::time::Duration;

use fp_engine::os::clock;

/// A request is shorter and comes at once.
const HEAD_BYTES_MAX: usize = 8192;
const HEAD_WITHIN: Duration = Duration::from_secs(2);

pub(super) struct Answer {
    status: &'static str,
    format: &'static str,
    body: String,
}

impl Answer {
    pub(super) const fn new(status: &'static str, format: &'static str, body: String) -> Self {
        Self { status, format, body }
    }

    pub(super) fn plain(status: &'static str, sentence: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", sentence.to_owned())
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Self { status, format, body } = self;
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {format}\r\nContent-Length: {length}\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// The request up to its empty line; what has come by then where it is too long.
///
/// # Errors
/// Where it does not come in time.
pub(super) fn head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(HEAD_WITHIN))?;
    let deadline = clock::now() + HEAD_WITHIN;
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
        let left = deadline.since(clock::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut piece)?;
        if count == 0 || clock::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        head.extend_from_slice(&piece[..count]);
    }
    Ok(head)
}

/// The path that is asked for at `address`, without what follows a question mark.
///
/// # Errors
/// The answer to what is no such request.
pub(super) fn path(head: &[u8], address: IpAddr) -> Result<&str, Answer> {
    let nonsense = || Answer::plain("400 Bad Request", "this is no request of HTTP\n");
    let head = std::str::from_utf8(head).map_err(|_| nonsense())?;
    let (head, _) = head.split_once("\r\n\r\n").ok_or_else(nonsense)?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(verb), Some(target), Some(version)) = (words.next(), words.next(), words.next())
    else {
        return Err(nonsense());
    };
    if !version.starts_with("HTTP/1.") {
        return Err(nonsense());
    }
    if verb != "GET" {
        return Err(Answer::plain("405 Method Not Allowed", "there is nothing but GET\n"));
    }
    let host = lines.filter_map(|line| line.split_once(':'));
    let mut host = host.filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = host.next().map_or("", |(_, host)| host.trim());
    // A page of anywhere may have a name that is made to mean this host.
    if address.is_loopback() && !is_of_this_host(host) {
        let sentence = "ask by the address of this host, as in http://127.0.0.1:9349/metrics\n";
        return Err(Answer::plain("403 Forbidden", sentence));
    }
    Ok(target.split('?').next().unwrap_or_default())
}

/// `localhost` or an address of loopback, with a port or without.
fn is_of_this_host(host: &str) -> bool {
    let is_port = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) && !name.ends_with(':') => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
