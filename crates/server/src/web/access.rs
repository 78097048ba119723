//! Who may come in: a browser of this host's user that was given the address, and no page of another
//! site in it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use rustix::rand::{GetRandomFlags, getrandom};

use super::refusal::Refusal;

/// Tells the user the address for the next browser.
pub type Announce = fn(&str);

const COOKIE: &str = "fullpipe";
/// Pages of other sites cannot send a header of their own here without being asked first.
const OURS: &str = "x-fullpipe";
/// Only what we serve ourselves, and in no frame.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// The secrets of one server.
pub(super) struct Access {
    address: SocketAddr,
    announce: Announce,
    /// In the address that a browser gets in by, once.
    token: Mutex<String>,
    /// In the cookie of every browser that did.
    session: String,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Access {
    pub(super) fn new(address: SocketAddr, announce: Announce) -> io::Result<Self> {
        Ok(Self { address, announce, token: Mutex::new(secret()?), session: secret()? })
    }

    pub(super) fn address(&self) -> String {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        format!("http://{}/?token={token}", self.address)
    }

    /// Whether `token` is the one that counts; it does not count again.
    fn admits(&self, token: &str) -> io::Result<bool> {
        {
            let mut expected = self.token.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_same(token, &expected) {
                return Ok(false);
            }
            *expected = secret()?;
        }
        (self.announce)(&self.address());
        Ok(true)
    }

    /// A name that leads here and is nobody else's: another site's name may be made to lead here too.
    fn is_our_name(&self, host: &str) -> bool {
        let port = self.address.port();
        [format!("127.0.0.1:{port}"), format!("localhost:{port}")].iter().any(|name| name == host)
    }

    fn is_at_home(&self, headers: &HeaderMap) -> bool {
        text(headers, header::HOST.as_str()).is_some_and(|host| self.is_our_name(host))
    }

    /// Whether one of our pages asks, or a program that is no browser.
    fn is_from_here(&self, method: &Method, headers: &HeaderMap) -> bool {
        let site = text(headers, "sec-fetch-site");
        let is_page = text(headers, "sec-fetch-mode") == Some("navigate");
        if *method == Method::GET || *method == Method::HEAD {
            // An address typed, or followed from elsewhere, shows a page and changes nothing.
            return is_page || site.is_none_or(|site| ["same-origin", "none"].contains(&site));
        }
        let origin = text(headers, header::ORIGIN.as_str());
        let is_our_origin = |origin: &str| {
            origin.strip_prefix("http://").is_some_and(|host| self.is_our_name(host))
        };
        headers.contains_key(OURS)
            && site.is_none_or(|site| site == "same-origin")
            && origin.is_none_or(is_our_origin)
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let ours = cookies.flat_map(|cookies| cookies.split("; ")).filter_map(|cookie| {
            cookie.strip_prefix(COOKIE).and_then(|rest| rest.strip_prefix('='))
        });
        ours.into_iter().any(|session| is_same(session, &self.session))
    }

    fn let_in(&self) -> Response {
        let cookie = format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", self.session);
        ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response()
    }
}

/// Stands before everything.
pub(super) async fn guard(
    State(access): State<Arc<Access>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = answer(&access, request, next).await;
    let headers = response.headers_mut();
    let mut say = |name, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    say(header::CONTENT_SECURITY_POLICY, POLICY);
    say(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    say(header::REFERRER_POLICY, "no-referrer");
    say(header::CACHE_CONTROL, "no-store");
    response
}

async fn answer(access: &Access, request: Request, next: Next) -> Response {
    let (method, headers) = (request.method(), request.headers());
    if !access.is_at_home(headers) {
        return Refusal::forbidden("this is not the name of this server").into_response();
    }
    if !access.is_from_here(method, headers) {
        return Refusal::forbidden("the request comes from a page of another site").into_response();
    }
    let query = request.uri().query().unwrap_or_default();
    let token = query.split('&').find_map(|pair| pair.strip_prefix("token="));
    if let Some(token) = token.filter(|_| request.uri().path() == "/") {
        return match access.admits(token) {
            Ok(true) => access.let_in(),
            // The address again, from the browser that it has let in.
            Ok(false) if access.knows(headers) => Redirect::to("/").into_response(),
            Ok(false) => strange(),
            Err(error) => Refusal::not_done(error.to_string()).into_response(),
        };
    }
    if !access.knows(headers) {
        return strange();
    }
    next.run(request).await
}

fn strange() -> Response {
    let sentence = "fullpipe: this browser is not known here.\n\n`fullpipe ui` has printed the \
        address that lets one browser in. Each address does so once: after that it prints the next \
        one.\n";
    (StatusCode::UNAUTHORIZED, sentence).into_response()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// 128 bits, as hexadecimal digits.
fn secret() -> io::Result<String> {
    let mut bytes = [0; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// In the same time wherever they differ.
fn is_same(given: &str, expected: &str) -> bool {
    let (given, expected) = (given.as_bytes(), expected.as_bytes());
    let differing = given.iter().zip(expected).fold(0, |found, (a, b)| found | (a ^ b));
    given.len() == expected.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access::new(SocketAddr::from(([127, 0, 0, 1], 8080)), |_| {}).unwrap()
    }

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        fields
            .iter()
            .map(|(name, value)| {
                (header::HeaderName::from_static(name), HeaderValue::from_static(value))
            })
            .collect()
    }

    #[test]
    fn an_address_lets_one_browser_in() {
        let access = access();
        let token = access.address().split_once("token=").unwrap().1.to_owned();
        assert_eq!(token.len(), 32);
        assert!(!access.admits("").unwrap());
        assert!(!access.admits(&token[1..]).unwrap());
        assert!(access.admits(&token).unwrap());
        assert!(!access.admits(&token).unwrap());
    }

    #[test]
    fn a_name_that_was_made_to_lead_here_is_not_ours() {
        let access = access();
        for host in ["127.0.0.1:8080", "localhost:8080"] {
            assert!(access.is_our_name(host));
        }
        for host in
            ["evil.example:8080", "127.0.0.1", "localhost:80", "127.0.0.1:8080.evil.example"]
        {
            assert!(!access.is_our_name(host), "{host}");
        }
        assert!(!access.is_at_home(&HeaderMap::new()));
    }

    #[test]
    fn pages_of_other_sites_change_and_read_nothing() {
        let access = access();
        let post = |fields: &[_]| access.is_from_here(&Method::POST, &headers(fields));
        let ours = (OURS, "1");
        assert!(post(&[ours]));
        assert!(post(&[
            ours,
            ("origin", "http://127.0.0.1:8080"),
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(!post(&[]));
        assert!(!post(&[ours, ("origin", "http://evil.example")]));
        assert!(!post(&[ours, ("origin", "http://127.0.0.1:9090")]));
        assert!(!post(&[ours, ("origin", "null")]));
        assert!(!post(&[ours, ("sec-fetch-site", "same-site")]));
        let get = |fields: &[_]| access.is_from_here(&Method::GET, &headers(fields));
        assert!(get(&[]) && get(&[("sec-fetch-site", "same-origin")]));
        assert!(get(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]));
        assert!(!get(&[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")]));
    }

    #[test]
    fn only_the_whole_session_is_known() {
        let access = access();
        let cookie = |value: String| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, HeaderValue::from_str(&value).unwrap());
            headers
        };
        assert!(access.knows(&cookie(format!("a=b; {COOKIE}={}", access.session))));
        assert!(!access.knows(&cookie(format!("{COOKIE}={}", &access.session[1..]))));
        assert!(!access.knows(&cookie(format!("x{COOKIE}={}", access.session))));
        assert!(!access.knows(&HeaderMap::new()));
    }
}
