//! Emulated networks: those that are built in, and the user's own as they are written.

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::House;
use super::program::Network;
use super::refusal::{Refusal, Refused};

pub(super) fn routes() -> Router<House> {
    Router::new().route("/networks", get(list)).route("/networks/check", post(check))
}

/// A network file of the user.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Draft {
    yaml: String,
}

/// What a network file says.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Read {
    #[schema(value_type = Object)]
    path: serde_json::Value,
}

#[utoipa::path(get, path = "/api/v1/networks", responses((status = 200, body = [Network])))]
pub(super) async fn list(State(house): State<House>) -> Json<Vec<Network>> {
    Json(house.program.networks.clone())
}

/// Whether a network file is one; where not, what is wrong and at which line and column.
#[utoipa::path(post, path = "/api/v1/networks/check", request_body = Draft,
    responses((status = 200, body = Read), (status = 422, body = Refused)))]
pub(super) async fn check(
    State(house): State<House>,
    Json(draft): Json<Draft>,
) -> Result<Json<Read>, Refusal> {
    let path = (house.program.read_network)(&draft.yaml).map_err(Refusal::bad_input)?;
    Ok(Json(Read { path }))
}
