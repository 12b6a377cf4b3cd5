//! Checks of every request: host, origin, token and time. Every error becomes a problem.

use crate::rest::{
    MAX_BODY_BYTES,
    app::App,
    problem::{PROBLEM_JSON, Problem},
};
use crate::visitors::{Pass, Permission};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::StreamExt;
use std::time::Duration;
use url::{Host, Url};

/// Paths that need no token: they reveal nothing about any project.
pub const OPEN: [&str; 2] = ["/api/v1/health", "/api/v1/openapi.json"];

/// Bytes of a refused body that are read, and the time for it. A connection that is closed before its client
/// has sent all may lose the answer.
const DISCARDED_BYTES: usize = 1 << 20;
const DISCARD_TIME: Duration = Duration::from_secs(1);

/// Refuses requests for another host, from another origin, or without a valid token, in this order. So a page
/// in a browser that has pointed its own name at this machine learns nothing.
pub async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    let has_token = has_token(&app, request.headers());
    let permission = match request.extensions().get::<Pass>() {
        Some(pass) if has_token => {
            pass.show_token();
            Permission::Granted
        }
        Some(pass) => pass.request(),
        None => Permission::Granted,
    };
    let admitted = match permission {
        Permission::Refused => Err(too_many_requests()),
        Permission::Granted | Permission::Last => admitted(&app, &request, has_token),
    };
    let mut response = match admitted {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            discard(request.into_body()).await;
            problem.into_response()
        }
    };
    if response.status() == StatusCode::UNAUTHORIZED {
        let asks = HeaderValue::from_static("Bearer realm=\"crawl\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, asks);
    }
    close_after(permission, &mut response);
    response
}

fn too_many_requests() -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many requests without a token; wait a second")
}

/// Closes the connection after the answer, unless more requests may follow.
fn close_after(permission: Permission, response: &mut Response) {
    if permission == Permission::Refused {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if permission != Permission::Granted {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Reads the beginning of a refused body.
async fn discard(body: Body) {
    let read = async {
        let (mut pieces, mut left) = (body.into_data_stream(), DISCARDED_BYTES);
        while let Some(Ok(piece)) = pieces.next().await {
            let Some(rest) = left.checked_sub(piece.len()) else { return };
            left = rest;
        }
    };
    // a slower client gets no answer
    let _ = tokio::time::timeout(DISCARD_TIME, read).await;
}

fn admitted(app: &App, request: &Request, has_token: bool) -> Result<(), Problem> {
    let headers = request.headers();
    let host = only(headers, header::HOST)
        .ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, "a request has one Host header"))?;
    if !is_ours(host, &app.hosts) {
        let detail = "this name is not one of the server's (serve.hosts)";
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, detail));
    }
    if headers.contains_key(header::ORIGIN) {
        let origin = only(headers, header::ORIGIN).and_then(|origin| origin.split_once("://"));
        if origin.is_none_or(|(_, authority)| !authority.eq_ignore_ascii_case(host)) {
            return Err(Problem::new(StatusCode::FORBIDDEN, "requests of other origins are refused"));
        }
    }
    if !has_token && !OPEN.contains(&request.uri().path()) {
        let detail = "send the token as \"Authorization: Bearer TOKEN\"";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, detail));
    }
    let announced = only(headers, header::CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > MAX_BODY_BYTES) {
        let detail = format!("a body has {MAX_BODY_BYTES} bytes at most");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    Ok(())
}

/// Returns true if a request has the token.
fn has_token(app: &App, headers: &HeaderMap) -> bool {
    let token = only(headers, header::AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    token.is_some_and(|token| app.token.is(token.as_bytes()))
}

/// The value of a header that is there once, as text.
fn only(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Returns true if a Host header names this server. A bare address cannot be a rebound name (DNS rebinding);
/// a name has to be known. The whole value has to be a host with a port or without one.
fn is_ours(host: &str, known: &[String]) -> bool {
    if host.is_empty()
        || host.contains(['/', '?', '#', '\\', '@'])
        || host.bytes().any(|byte| !byte.is_ascii_graphic())
    {
        return false;
    }
    let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
    match url.host() {
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        Some(Host::Domain(name)) => {
            name == "localhost" || known.iter().any(|ours| ours.eq_ignore_ascii_case(name))
        }
        None => false,
    }
}

/// Ends a request that takes too long.
pub async fn in_time(State(app): State<App>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(app.timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(StatusCode::REQUEST_TIMEOUT, "the request took too long").into_response(),
    }
}

/// Converts every error that is no problem document yet: those of the router and of extractors.
pub async fn as_problem(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    let is_problem = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes() == PROBLEM_JSON.as_bytes());
    if is_problem || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let detail = match status {
        StatusCode::NOT_FOUND => "there is nothing at this path; /api/v1/openapi.json lists all paths",
        StatusCode::METHOD_NOT_ALLOWED => "the Allow header names the methods of this path",
        _ => "the request cannot be answered",
    };
    let mut made = Problem::new(status, detail).into_response();
    if let Some(allow) = response.headers().get(header::ALLOW) {
        made.headers_mut().insert(header::ALLOW, allow.clone());
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_host_headers_are_refused() {
        let known = ["crawl.example".to_owned()];
        for host in
            ["127.0.0.1:8620", "127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:8620", "crawl.example:80"]
        {
            assert!(is_ours(host, &known), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8620",
            "127.0.0.1.evil.example",
            "",
            ":80",
            "localhost.evil.example",
            "[::1].evil.example",
            "[::1]evil.example:80",
            "localhost:@evil.example",
            "localhost:80@evil.example",
            "127.0.0.1:x",
            "localhost/.evil.example",
            "evil.example\\@localhost",
            "localhost\t",
            "[::1",
        ] {
            assert!(!is_ours(host, &known), "{host}");
        }
    }
}
