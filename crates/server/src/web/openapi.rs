//! The interface for scripts, described.

use axum::Json;
use utoipa::OpenApi;

use super::{counters, networks, program, results, runs};

/// Plan, run, watch and read tests.
///
/// A script gets in as a browser does: the address that `fullpipe ui` prints sets a cookie. Whatever
/// changes something needs the header `X-Fullpipe: 1`.
#[derive(Debug, OpenApi)]
#[openapi(
    info(title = "fullpipe"),
    paths(
        program::about,
        program::methods,
        networks::list,
        networks::check,
        runs::check,
        runs::start,
        runs::list,
        runs::one,
        runs::stop,
        runs::stream::events,
        results::list,
        results::one,
        results::document,
        results::compare,
        results::compare_page,
        counters::list,
        counters::curve,
    )
)]
struct Api;

pub(super) async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(Api::openapi())
}
