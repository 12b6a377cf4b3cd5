//! Asynchronous access to the store. A call may sync a disk or wait for a database, so it runs on a
//! separate thread.
//!
//! Stages with a thread of their own and threads of the CPU pool call the store directly. In debug builds a store
//! panics on a call from a thread that runs tasks ([`crawl_model::assert_may_block`]).

use crate::{cpu::words_of, threads::Threading};
use crawl_model::{Store, StoreError};
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
};
use tokio::{
    runtime::Handle,
    sync::{
        Notify,
        mpsc::{Receiver, Sender, channel, error::TrySendError},
        oneshot,
    },
};

/// Calls that wait for the thread before further callers wait for room.
const QUEUE: usize = 1_024;
/// Calls that the thread takes at a time.
const BATCH: usize = 64;

type Call = Box<dyn FnOnce(&dyn Store) + Send>;

/// Asynchronous interface to a store. Calls run one at a time, in the order in which they were made. A call that was
/// made runs to its end, even if its caller is dropped.
pub struct AsyncStore {
    store: Arc<dyn Store>,
    /// `None` makes calls on the thread of the caller.
    thread: Option<StorageThread>,
}

struct StorageThread {
    /// `None` once the interface is closed.
    calls: Option<Sender<Call>>,
    handle: Option<JoinHandle<()>>,
}

impl AsyncStore {
    /// Creates the interface to a store. [`Threading::Inline`] makes each call at once, on the thread of its caller.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(store: Arc<dyn Store>, threading: Threading) -> io::Result<Self> {
        let thread = match threading {
            Threading::Inline => None,
            Threading::Threads => Some(StorageThread::start(Arc::clone(&store))?),
        };
        Ok(Self { store, thread })
    }

    /// Calls the store and returns the result of the call.
    ///
    /// # Errors
    /// Those of `work`, and [`StoreError::Other`] when it panicked.
    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(calls) = self.calls() else { return guarded(&*self.store, work) };
        let (sender, outcome_receiver) = oneshot::channel();
        let call: Call = Box::new(move |store| {
            // values captured by the work are dropped before its caller continues
            let outcome = guarded(store, work);
            let _ = sender.send(outcome);
        });
        calls.send(call).await.map_err(|_| closed())?;
        outcome_receiver.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Calls the store without waiting for the call. Later calls run after it, unless the queue is full now.
    pub fn post(&self, work: impl FnOnce(&dyn Store) + Send + 'static) {
        let work = move |store: &dyn Store| {
            work(store);
            Ok(())
        };
        let Some(calls) = self.calls() else { return warn(guarded(&*self.store, work)) };
        let call: Call = Box::new(move |store| warn(guarded(store, work)));
        match (calls.try_send(call), Handle::try_current()) {
            (Err(TrySendError::Full(call)), Ok(runtime)) => {
                let calls = calls.clone();
                runtime.spawn(async move { calls.send(call).await.is_ok() });
            }
            // without a runtime the caller may block
            (Err(TrySendError::Full(call)), Err(_)) => call(&*self.store),
            (Ok(()) | Err(TrySendError::Closed(_)), _) => {}
        }
    }

    fn calls(&self) -> Option<&Sender<Call>> {
        self.thread.as_ref()?.calls.as_ref()
    }
}

impl StorageThread {
    fn start(store: Arc<dyn Store>) -> io::Result<Self> {
        let (calls, queue) = channel(QUEUE);
        let handle = thread::Builder::new().name("storage".into()).spawn(move || serve(&*store, queue))?;
        Ok(Self { calls: Some(calls), handle: Some(handle) })
    }
}

impl Drop for StorageThread {
    /// Ends the thread after the calls that were made, so that the store does not stay open longer than this interface.
    fn drop(&mut self) {
        self.calls = None;
        if let Some(handle) =
            self.handle.take().filter(|handle| handle.thread().id() != thread::current().id())
        {
            let _ = handle.join();
        }
    }
}

fn serve(store: &dyn Store, mut queue: Receiver<Call>) {
    let mut batch = Vec::with_capacity(BATCH);
    while queue.blocking_recv_many(&mut batch, BATCH) > 0 {
        batch.drain(..).for_each(|call| call(store));
    }
}

/// Makes a call whose panic is an error.
fn guarded<T>(
    store: &dyn Store,
    work: impl FnOnce(&dyn Store) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(|| work(store)))
        .unwrap_or_else(|panic| Err(StoreError::Other(format!("a call panicked: {}", words_of(&*panic)))))
}

fn warn(outcome: Result<(), StoreError>) {
    if let Err(error) = outcome {
        tracing::error!(%error, "a change of the state failed");
    }
}

fn closed() -> StoreError {
    StoreError::Other("the storage thread has ended".into())
}

/// Storage calls of one visit. A visit may be cancelled between two calls, but not during one: the result of a call
/// would be lost.
#[derive(Default)]
pub struct OpenCalls {
    count: AtomicUsize,
    ended: Notify,
}

impl OpenCalls {
    /// Begins a call, which ends when the guard is dropped.
    pub fn begin(&self) -> OpenCallGuard<'_> {
        self.count.fetch_add(1, SeqCst);
        OpenCallGuard(self)
    }

    /// Waits for an event, and then until no call is open.
    pub async fn after(&self, event: impl Future<Output = ()>) {
        event.await;
        loop {
            let ended = self.ended.notified();
            if self.count.load(SeqCst) == 0 {
                return;
            }
            ended.await;
        }
    }
}

/// An open call of [`OpenCalls`].
pub struct OpenCallGuard<'a>(&'a OpenCalls);

impl Drop for OpenCallGuard<'_> {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, SeqCst);
        self.0.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
