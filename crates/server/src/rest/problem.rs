//! Errors as problems of RFC 9457: `application/problem+json`, for every error.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use crawl_model::StoreError;
use crawl_projects::ProjectError;
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

/// The media type of a problem.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Description of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema, JsonSchema)]
pub struct Problem {
    /// Constant `about:blank`: the status says what kind of problem it is.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The error, and its remedy.
    pub detail: String,
    /// Errors of single parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldProblem>,
}

/// Error of a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema, JsonSchema)]
pub struct FieldProblem {
    /// Its name.
    pub field: String,
    /// Description of the error.
    pub detail: String,
}

impl Problem {
    /// A problem of this status.
    #[must_use]
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Unknown").to_owned();
        Self {
            kind: "about:blank",
            title,
            status: status.as_u16(),
            detail: detail.into(),
            errors: Vec::new(),
        }
    }

    /// A parameter that cannot be used: 422, with its name.
    #[must_use]
    pub fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        let error = FieldProblem { field: field.into(), detail: detail.into() };
        let detail = format!("{}: {}", error.field, error.detail);
        Self { errors: vec![error], ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail) }
    }

    /// Makes the problem of a bug; its details are for the log.
    #[must_use]
    pub fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the server's log says what happened")
    }

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(self)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        response
    }
}

impl From<ProjectError> for Problem {
    fn from(error: ProjectError) -> Self {
        match error {
            ProjectError::NoProject(_) | ProjectError::NoSource(_) => {
                Self::new(StatusCode::NOT_FOUND, error.to_string())
            }
            ProjectError::NameTaken(_) => Self::new(StatusCode::CONFLICT, error.to_string()),
            ProjectError::Invalid { field, problem } => Self::field(field, problem),
            ProjectError::Stopped => Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            ProjectError::Store(StoreError::Busy(_)) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "the database is being written; try again")
            }
            ProjectError::Store(StoreError::Full(_)) => {
                tracing::error!(%error, "the database cannot be written");
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "the database cannot be written")
            }
            ProjectError::Store(error) => Self::internal(&error),
        }
    }
}
