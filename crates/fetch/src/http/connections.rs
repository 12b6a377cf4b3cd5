//! Counter of the connections that a client opens, below its pool of idle ones.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
};
use tower_layer::Layer;
use tower_service::Service;

/// Number of opened connections. All clones share one counter; each is a counting layer.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionCount(Arc<AtomicUsize>);

impl ConnectionCount {
    pub(super) fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl<S> Layer<S> for ConnectionCount {
    type Service = Counting<S>;

    fn layer(&self, connector: S) -> Counting<S> {
        Counting { connector, made: self.clone() }
    }
}

/// A connector whose connections are counted.
#[derive(Clone)]
pub(super) struct Counting<S> {
    connector: S,
    made: ConnectionCount,
}

impl<R, S: Service<R>> Service<R> for Counting<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, request: R) -> S::Future {
        self.made.0.fetch_add(1, Relaxed);
        self.connector.call(request)
    }
}
