//! Connections of a server: a bounded number, with limits on the time that reading and writing take, and an orderly end.

use crate::visitors::{Limits, Visitors};
use axum::{Router, body::Body, http::Request};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

/// Time limit for requests in progress after the server is told to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// Bytes of a request's line and headers.
const MAX_HEAD: usize = 32 << 10;
/// Pause after a connection could not be accepted, e.g. when there are no more file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`, then answers the requests in progress and ends. `limits.timeout` bounds the headers
/// of a request, the time until the next request, and each wait for a client that does not read. It also
/// bounds a connection without a token.
pub async fn serve(listener: TcpListener, router: Router, limits: Limits, stop: CancellationToken) {
    let visitors = Visitors::new(limits);
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.timeout).max_buf_size(MAX_HEAD);
    loop {
        let next = async {
            let (stream, peer) = listener.accept().await?;
            Ok::<_, std::io::Error>((stream, visitors.enter(peer.ip()).await))
        };
        let accepted = tokio::select! {
            next = next => next,
            () = stop.cancelled() => break,
        };
        let (stream, visitor) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(limits.timeout));
        let (routes, asking) = (TowerToHyperService::new(router.clone()), visitor.pass());
        let service = service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(asking.clone());
            routes.call(request)
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(Box::pin(stream)), service));
        tokio::spawn(async move {
            tokio::select! {
                ended = connection => if let Err(error) = ended {
                    // a client that closes its connection is no error of the server
                    tracing::debug!(%error, "a connection ended early");
                },
                () = visitor.wait_for_dismissal() => tracing::debug!("a connection without a token is closed"),
            }
        });
    }
    drop(listener);
    if tokio::time::timeout(LAST_ANSWERS, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered in time");
    }
}
