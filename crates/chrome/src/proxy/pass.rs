//! Forwarding of the browser's requests: one plain exchange, or the bytes of a tunnel.

use super::{
    destinations::{Refusal, RoutedConnection},
    meter::{Meter, Metered},
};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited, combinators::BoxBody};
use hyper::{
    Request, Response,
    body::Incoming,
    header::{self, HeaderMap, HeaderName, HeaderValue},
    upgrade::Upgraded,
};
use hyper_util::rt::TokioIo;
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// Limit from a plain request to the headers of its answer, and for the head of a browser's request.
pub(super) const HEADERS: Duration = Duration::from_secs(30);
/// Maximum duration of a tunnel: longer than any page takes.
pub(super) const TUNNEL: Duration = Duration::from_secs(300);
/// Headers of a connection, not of a message (RFC 9110 §7.6.1).
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

pub(super) type Body = BoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// Forwards a plain request: one exchange on its own connection.
pub(super) async fn forward(
    request: Request<Incoming>,
    reached: RoutedConnection,
    meter: &Arc<Meter>,
    max: u64,
) -> Result<Response<Body>, Refusal> {
    let (mut parts, body) = request.into_parts();
    let host = parts.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    strip(&mut parts.headers);
    if let Some(host) = host {
        parts.headers.insert(header::HOST, host);
    }
    match reached.upstream {
        // another proxy gets the absolute URL
        Some(credentials) => {
            if let Some(credentials) = credentials {
                parts.headers.insert(header::PROXY_AUTHORIZATION, credentials);
            }
        }
        None => {
            let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
            parts.uri = path.parse().map_err(|_| Refusal::Failed("the path is not valid".into()))?;
        }
    }
    let io = TokioIo::new(Metered::new(reached.stream, meter));
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
    tokio::spawn(async move {
        let _ = timeout(TUNNEL, connection).await;
    });
    let answer = timeout(HEADERS, sender.send_request(Request::from_parts(parts, body)));
    let mut answer = answer.await.map_err(|_| Refusal::Failed(format!("no answer within {HEADERS:?}")))??;
    strip(answer.headers_mut());
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    Ok(answer.map(|body| Limited::new(body, max).boxed()))
}

fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
    headers.remove("proxy-connection");
    headers.remove("keep-alive");
}

/// Forwards bytes both ways, up to `max` each.
pub(super) async fn pass(
    browser: Upgraded,
    server: TcpStream,
    meter: &Arc<Meter>,
    max: u64,
) -> io::Result<()> {
    let (from_browser, mut to_browser) = tokio::io::split(TokioIo::new(browser));
    let (from_server, to_server) = server.into_split();
    let (from_server, mut to_server) = (Metered::new(from_server, meter), Metered::new(to_server, meter));
    let up = async {
        tokio::io::copy(&mut from_browser.take(max), &mut to_server).await?;
        to_server.shutdown().await
    };
    let down = async {
        tokio::io::copy(&mut from_server.take(max), &mut to_browser).await?;
        to_browser.shutdown().await
    };
    tokio::try_join!(up, down).map(drop)
}
