//! Input of a request, with errors that are problems and name the field.

use crate::rest::problem::Problem;
use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Path, Request, rejection::BytesRejection},
    http::{StatusCode, header, request::Parts},
    response::IntoResponse,
};
use serde::de::DeserializeOwned;
use uuid::Uuid;

/// The query string as a type; an unknown parameter is an error.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let text = parts.uri.query().unwrap_or_default();
        let read = serde_html_form::Deserializer::from_bytes(text.as_bytes());
        serde_path_to_error::deserialize(read).map(Self).map_err(|e| field_problem(&e))
    }
}

/// A JSON body as a type; an unknown key is an error.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let declared = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
        let media = declared.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if !media.eq_ignore_ascii_case("application/json") {
            let detail = "send the body as application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(|e| unread(&e))?;
        // serde reads a list as the fields of an object
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(Problem::field("body", "is a list; send an object"));
        }
        let mut read = serde_json::Deserializer::from_slice(&bytes);
        let value = serde_path_to_error::deserialize(&mut read).map_err(|e| {
            if e.inner().is_data() {
                field_problem(&e)
            } else {
                Problem::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {}", e.inner()))
            }
        })?;
        let rest = read.end();
        rest.map_err(|e| Problem::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {e}")))?;
        Ok(Self(value))
    }
}

/// A body that was too long, or that broke off.
fn unread(error: &BytesRejection) -> Problem {
    Problem::new(error.status(), error.body_text())
}

/// A request with its parameters in the query. An object with keys as its body is refused, since the keys would change
/// nothing. Other bodies, as `null` and `{}`, are ignored.
pub struct NoBody;

impl<S: Send + Sync> FromRequest<S> for NoBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state).await.map_err(|e| unread(&e))?;
        match serde_json::from_slice::<serde_json::Map<_, _>>(&bytes) {
            Ok(keys) if !keys.is_empty() => {
                Err(Problem::field("body", "is not read: the parameters stand in the query, as ?mode=exact"))
            }
            _ => Ok(Self),
        }
    }
}

/// `{id}` of the path.
pub struct Id(pub Uuid);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|e| Problem::new(e.into_response().status(), "the path cannot be read"))?;
        if parts.uri.path().starts_with("/api/v1/jobs/") {
            return Uuid::try_parse(&text).map(Self).map_err(|_| Problem::field("id", "is not a UUID"));
        }
        parse_id(&text).map(Self)
    }
}

/// A project's id.
///
/// # Errors
/// 422 if it is no UUID.
pub fn parse_id(text: &str) -> Result<Uuid, Problem> {
    Uuid::try_parse(text).map_err(|_| {
        Problem::field("id", "is not a UUID; a project is named by its id here, not by its name")
    })
}

/// An error of a parser in words for a caller.
fn in_words(said: String) -> String {
    let words = match said.as_str() {
        "invalid digit found in string" | "cannot parse integer from empty string" => "is not a whole number",
        "number too large to fit in target type" => "is too large",
        "invalid float literal" | "cannot parse float from empty string" => "is not a number",
        "unsupported value" => "may be given once",
        _ => return said,
    };
    words.to_owned()
}

fn field_problem<E: std::fmt::Display>(error: &serde_path_to_error::Error<E>) -> Problem {
    let said = in_words(error.inner().to_string());
    let path = error.path().to_string();
    let named =
        said.split('`').nth(1).filter(|_| said.starts_with("unknown field") || said.starts_with("missing"));
    let field = match (named, path.as_str()) {
        (Some(name), _) => name.to_owned(),
        (None, "." | "?") => "body".to_owned(),
        // an error of a list's entry names the list
        (None, path) => path.split('[').next().unwrap_or(path).to_owned(),
    };
    Problem::field(field, said)
}
