//! What every request passes: whom it is for, where it comes from, who sends it, how long it may take, and that every error
//! it comes to is a problem.

use super::{
    App,
    problem::{PROBLEM_JSON, Problem},
};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::net::IpAddr;

/// Paths that need no token: they tell nothing of anybody.
pub const OPEN: [&str; 2] = ["/api/v1/health", "/api/v1/openapi.json"];

/// Refuses what is not for us, comes from another origin, or does not know the token; in this order, so that a page in a
/// browser that has pointed a name of its own at this machine learns nothing.
pub async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    match admitted(&app, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            let mut response = problem.into_response();
            if response.status() == StatusCode::UNAUTHORIZED {
                let asks = HeaderValue::from_static("Bearer realm=\"crawl\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, asks);
            }
            response
        }
    }
}

fn admitted(app: &App, request: &Request) -> Result<(), Problem> {
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
    if OPEN.contains(&request.uri().path()) {
        return Ok(());
    }
    let token = only(headers, header::AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    match token {
        Some(token) if app.token.is(token.as_bytes()) => Ok(()),
        _ => Err(Problem::new(StatusCode::UNAUTHORIZED, "send the token as \"Authorization: Bearer TOKEN\"")),
    }
}

/// The value of a header that is there once, as text.
fn only(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Whether a Host header names this server. A bare address cannot be a name that somebody pointed here (DNS rebinding);
/// a name has to be known.
fn is_ours(host: &str, known: &[String]) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || known.iter().any(|ours| ours.eq_ignore_ascii_case(name))
}

/// Ends a request that takes too long.
pub async fn in_time(State(app): State<App>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(app.timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(StatusCode::REQUEST_TIMEOUT, "the request took too long").into_response(),
    }
}

/// Makes a problem of every error that is none yet: those of the router and of extractors.
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
        StatusCode::NOT_FOUND => "there is nothing at this path",
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
    fn names_of_others_are_refused() {
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
        ] {
            assert!(!is_ours(host, &known), "{host}");
        }
    }
}
