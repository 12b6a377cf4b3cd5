//! Connections: so many at a time, each with a limit on how long its headers may take, and an orderly end.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::sync::CancellationToken;

/// How long requests that are being answered may still take once the server is told to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// Bytes of a request's line and headers.
const MAX_HEAD: usize = 32 << 10;
/// How long to wait after a connection could not be accepted, as when there are no more file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`, then answers what has been asked and ends.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    connections: usize,
    header_timeout: Duration,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(connections));
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(header_timeout).max_buf_size(MAX_HEAD);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = stop.cancelled() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let connection =
            http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // a client that breaks off is its own business
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(LAST_ANSWERS, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were not answered in time");
    }
}
