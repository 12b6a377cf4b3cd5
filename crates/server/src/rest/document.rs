//! The OpenAPI 3.1 document of the API, generated from its types and paths.

use crate::rest::{
    api, guard,
    problem::{PROBLEM_JSON, Problem},
};
use axum::{
    body::Bytes,
    http::header,
    response::{IntoResponse, Response},
};
use std::sync::OnceLock;
use utoipa::openapi::{
    self, Components, ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, PathsBuilder, Ref, RefOr,
    ResponseBuilder, SecurityRequirement,
    link::Link,
    path::{Operation, PathItem},
    security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use utoipa_axum::router::OpenApiRouter;

/// Path of the document.
pub const PATH: &str = "/api/v1/openapi.json";

/// The document.
#[must_use]
pub fn document() -> OpenApi {
    let info = InfoBuilder::new()
        .title("crawl")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Projects of crawled pages, and what their domains repeat."))
        .build();
    let empty = OpenApiBuilder::new().info(info).paths(PathsBuilder::new().build()).build();
    let mut made =
        OpenApiRouter::with_openapi(empty).merge(api::limited()).merge(api::unlimited()).to_openapi();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let components = made.components.get_or_insert_with(Components::new);
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    made.security = Some(vec![SecurityRequirement::new("token", [] as [&str; 0])]);
    for (path, item) in &mut made.paths.paths {
        for operation in operations(item) {
            refusals(path, operation);
            for (from, status, to, parameter, value) in LINKS {
                if operation.operation_id.as_deref() == Some(from) {
                    link(operation, status, to, parameter, value);
                }
            }
        }
    }
    made
}

/// Links of answers: operation, status, the operation that can follow, its parameter, and its place in the
/// answer.
const LINKS: [(&str, &str, &str, &str, &str); 4] = [
    ("analyze_boilerplate", "202", "get_job", "id", "$response.body#/id"),
    ("analyze_boilerplate", "202", "stop_job", "id", "$response.body#/id"),
    ("create_project", "201", "list_sources", "id", "$response.body#/id"),
    ("create_project", "201", "delete_project", "id", "$response.body#/id"),
];

fn link(operation: &mut Operation, status: &str, to: &str, parameter: &str, value: &str) {
    if let Some(RefOr::T(response)) = operation.responses.responses.get_mut(status) {
        let link = Link::builder().operation_id(to).parameter(parameter, value).build();
        response.links.insert(to.to_owned(), RefOr::T(link));
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post, &mut item.delete].into_iter().flatten()
}

/// Adds the errors that every operation may answer, unless it documents them itself.
fn refusals(path: &str, operation: &mut Operation) {
    let mut may = |status: &str, words: &str| {
        let responses = &mut operation.responses.responses;
        responses.entry(status.to_owned()).or_insert_with(|| RefOr::T(problem(words)));
    };
    if !guard::OPEN.contains(&path) {
        may("401", "The token is missing or wrong");
    }
    may("403", "The request comes from another origin");
    if path.contains('{') {
        may("404", "There is no such thing");
    }
    may("422", "A parameter cannot be used; `errors` names it");
    may("default", "Any other problem");
}

fn problem(words: &str) -> openapi::Response {
    let schema = Ref::from_schema_name("Problem");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(words).content(PROBLEM_JSON, content).build()
}

/// Answers with the document, which is made once.
pub(super) async fn get() -> Result<Response, Problem> {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    let text = match TEXT.get() {
        Some(text) => text.clone(),
        None => {
            let made = serde_json::to_vec(&document()).map_err(|e| Problem::internal(&e))?;
            TEXT.get_or_init(|| made.into()).clone()
        }
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}
