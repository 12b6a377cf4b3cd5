//! Requests to `crawl serve`: the first line is a method and a path, with `ID` for a project. The lines up to
//! an empty one are header fields, the rest is the body.
#![no_main]

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header},
};
use crawl_engine::config;
use crawl_fuzz::head_and_body;
use crawl_server::rest::service;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::sync::LazyLock;
use tokio::runtime::{Builder, Runtime};
use tower_service::Service;

const TOKEN: &str = "a-token-of-the-fuzz-target";
const PROJECTS: &str = "/api/v1/projects";
/// Longest answer, in bytes.
const MAX_ANSWER: usize = 1 << 20;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));

static ROUTER: LazyLock<Router> = LazyLock::new(|| {
    let folder = std::env::temp_dir();
    let name = |ending: &str| folder.join(format!("rest-{}.{ending}", std::process::id()));
    let (file, database) = (name("toml"), name("sqlite"));
    let settings = format!("[projects]\ndatabase = {database:?}\n[serve]\ntoken = {TOKEN:?}\n");
    std::fs::write(&file, settings).expect("the folder for temporary files can be written");
    let config = config::load(Some(&file), std::iter::empty(), Vec::new()).expect("the settings are right");
    service(&config).expect("the service starts")
});

struct Answer {
    status: StatusCode,
    content_type: String,
    location: Option<String>,
    body: Vec<u8>,
}

/// Sends a request with the token and reads the answer.
async fn ask(mut request: Request<Body>) -> Answer {
    let headers = request.headers_mut();
    headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    let token = HeaderValue::from_str(&format!("Bearer {TOKEN}")).expect("the token is ASCII");
    headers.insert(header::AUTHORIZATION, token);
    let Ok(response) = ROUTER.clone().call(request).await;
    let (parts, body) = response.into_parts();
    let field = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Answer {
        status: parts.status,
        content_type: field(header::CONTENT_TYPE).unwrap_or_default(),
        location: field(header::LOCATION),
        body: to_bytes(body, MAX_ANSWER).await.expect("the answer is short").to_vec(),
    }
}

/// Creates a project and returns its path.
async fn make_project() -> String {
    let request = Request::post(PROJECTS).header(header::CONTENT_TYPE, "application/json");
    let answer = ask(request.body(r#"{"name":"made by the target"}"#.into()).expect("a request")).await;
    answer.location.expect("a new project has a location")
}

async fn delete(path: &str) {
    ask(Request::delete(path).body(Body::empty()).expect("a request")).await;
}

/// Request of an input.
fn request(data: &[u8], project: &str) -> Option<Request<Body>> {
    let (lines, body) = head_and_body(data);
    let (first, fields) = lines.split_first()?;
    let (method, path) = str::from_utf8(first).ok()?.split_once(' ')?;
    let id = project.rsplit('/').next()?;
    let mut request = Request::new(Body::from(body.to_vec()));
    *request.method_mut() = Method::from_bytes(method.as_bytes()).ok()?;
    *request.uri_mut() =
        path.replace("ID", id).parse::<Uri>().ok().filter(|uri| uri.path().starts_with('/'))?;
    for field in fields {
        let (name, value) = str::from_utf8(field).ok()?.split_once(':')?;
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        request.headers_mut().append(name, HeaderValue::from_str(value.trim()).ok()?);
    }
    Some(request)
}

fn check(answer: &Answer, is_head: bool) {
    let Answer { status, content_type, body, .. } = answer;
    let shown = String::from_utf8_lossy(body);
    assert!(!status.is_server_error(), "{status}: {shown}");
    if !is_head && !body.is_empty() {
        assert!(serde_json::from_slice::<Value>(body).is_ok(), "{status}: {shown}");
    }
    if status.is_client_error() {
        assert_eq!(content_type, "application/problem+json", "{status}: {shown}");
    }
}

fuzz_target!(|data: &[u8]| {
    RUNTIME.block_on(async {
        let project = make_project().await;
        if let Some(request) = request(data, &project) {
            let is_head = request.method() == Method::HEAD;
            let answer = ask(request).await;
            check(&answer, is_head);
            if let Some(made) = answer.location.filter(|_| answer.status == StatusCode::CREATED) {
                delete(&made).await;
            }
        }
        delete(&project).await;
    });
});
