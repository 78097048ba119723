//! Why a request is not done: a sentence and a status.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// A sentence for the user, and what kind of refusal it is.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: String,
}

/// What a refusal looks like.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Refused {
    error: String,
}

impl Refusal {
    pub(super) fn unknown(what: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, error: what.into() }
    }

    pub(super) fn bad_input(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, error: sentence.into() }
    }

    pub(super) fn not_now(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::CONFLICT, error: sentence.into() }
    }

    pub(super) fn not_done(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, error: sentence.into() }
    }

    pub(super) fn forbidden(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, error: sentence.into() }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(Refused { error: self.error })).into_response()
    }
}

impl From<fp_history::Error> for Refusal {
    fn from(error: fp_history::Error) -> Self {
        match error {
            fp_history::Error::Unknown { .. } | fp_history::Error::Empty => {
                Self::unknown(error.to_string())
            }
            error => Self::not_done(error.to_string()),
        }
    }
}

/// Whatever has no place here.
pub(super) async fn unknown() -> Refusal {
    Refusal::unknown("there is nothing at this address: /api/v1/openapi.json lists what there is")
}
