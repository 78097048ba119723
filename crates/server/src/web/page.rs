//! The page itself: files that the build has put into the binary.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

/// Made from `web/src`; both stand in the repository.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct Files;

/// The type of each kind of file that the page is made of.
const TYPES: [(&str, &str); 4] = [
    (".html", "text/html; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".svg", "image/svg+xml"),
];

pub(super) async fn file(uri: Uri) -> Response {
    let name = match uri.path() {
        "/" => "index.html",
        path => path.trim_start_matches('/'),
    };
    let Some(file) = Files::get(name) else {
        return (StatusCode::NOT_FOUND, "no such page\n").into_response();
    };
    let kind = TYPES.iter().find(|(ending, _)| name.ends_with(ending));
    let kind = kind.map_or("application/octet-stream", |(_, kind)| kind);
    ([(header::CONTENT_TYPE, kind)], file.data).into_response()
}
