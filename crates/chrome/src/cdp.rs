//! Connection to the browser: calls, answers and events, over a pair of sockets that no other process can
//! reach. A NUL byte ends each message.
//!
//! The messages are those of the crate `headless_chrome`. Its transport is not used for these reasons:
//!
//! - Its reader holds the connection's lock through reads of up to 100 ms, so every call waits for one to
//!   end.
//! - It polls for answers.
//! - An answer without a waiting caller closes the connection.
//! - Data of each response is freed only with the tab.

use headless_chrome::{
    protocol::cdp::types::{Event, Method},
    types::RemoteError,
};
use serde::{Deserialize, Serialize};
use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, BufRead, BufReader, Read, Write},
    marker::PhantomData,
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    time::{Duration, Instant},
};

/// Capacity of the buffer that is kept between messages.
const BUFFER: usize = 1 << 20;
/// Time limit of writing a message.
const WRITE: Duration = Duration::from_secs(10);
/// Events with a listener. Others are not parsed.
const WANTED: [&str; 9] = [
    "Fetch.requestPaused",
    "Inspector.targetCrashed",
    "Network.dataReceived",
    "Network.loadingFailed",
    "Network.loadingFinished",
    "Network.requestWillBeSent",
    "Network.responseReceived",
    "Network.responseReceivedExtraInfo",
    "Page.javascriptDialogOpening",
];

/// Event for a session whose tab has closed.
const ENDED: &str = "Target.detachedFromTarget";

/// Failure of a call.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("the connection is closed")]
    Closed,
    #[error("no answer within {0:?}")]
    Late(Duration),
    #[error("the tab's process ended")]
    Crashed,
    #[error("{0}")]
    Refused(String),
    #[error("a message that cannot be read ({0})")]
    Unreadable(String),
}

/// Text of an answer, and the time of its arrival.
type Answer = Result<(String, Instant), CallError>;
type Handler = dyn Fn(Event) + Send + Sync;

/// A waiting call, and its session.
struct Waiting {
    session: Option<Arc<str>>,
    answer: SyncSender<Answer>,
}

struct Shared {
    writer: Mutex<UnixStream>,
    next: AtomicU32,
    /// `None` once the connection is closed.
    waiting: Mutex<Option<HashMap<u32, Waiting>>>,
    handlers: Mutex<HashMap<Arc<str>, Arc<Handler>>>,
    /// Listeners for the end of a session.
    ends: Mutex<HashMap<Arc<str>, SyncSender<()>>>,
}

/// The browser itself, or a tab of it, for calls. Clones share the session.
#[derive(Clone)]
pub(crate) struct Session {
    shared: Arc<Shared>,
    id: Option<Arc<str>>,
}

/// A call without an answer yet.
pub(crate) struct Pending<M> {
    shared: Arc<Shared>,
    id: u32,
    answered: Receiver<Answer>,
    method: PhantomData<fn() -> M>,
}

/// Waits for the end of a call.
pub(crate) type Wait = Box<dyn FnOnce() -> Result<(), CallError>>;

impl<M: Method> Pending<M> {
    /// Waits for the answer, `limit` at most.
    pub(crate) fn wait(self, limit: Duration) -> Result<(M::ReturnObject, Instant), CallError> {
        let (answer, at) = match self.answered.recv_timeout(limit) {
            Ok(answer) => answer?,
            Err(late) => {
                self.forget();
                return Err(match late {
                    RecvTimeoutError::Disconnected => CallError::Closed,
                    RecvTimeoutError::Timeout => CallError::Late(limit),
                });
            }
        };
        let body: Result<Body<M::ReturnObject>, _> = serde_json::from_str(&answer);
        body.map(|body| (body.result, at)).map_err(|error| CallError::Unreadable(error.to_string()))
    }
}

impl<M> Pending<M> {
    fn forget(&self) {
        if let Some(waiting) = lock(&self.shared.waiting).as_mut() {
            waiting.remove(&self.id);
        }
    }
}

#[derive(Serialize)]
struct Call<'a, M> {
    id: u32,
    method: &'static str,
    params: M,
    #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

/// Fields of a message that identify its receiver.
#[derive(Deserialize)]
struct Head<'a> {
    id: Option<u32>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<Cow<'a, str>>,
    error: Option<RemoteError>,
}

#[derive(Deserialize)]
struct Body<R> {
    result: R,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes over the connection to a browser. A message longer than `max_message` bytes ends it.
pub(crate) fn connect(stream: UnixStream, max_message: usize) -> io::Result<Session> {
    stream.set_write_timeout(Some(WRITE))?;
    let reader = stream.try_clone()?;
    let shared = Arc::new(Shared {
        writer: Mutex::new(stream),
        next: AtomicU32::new(1),
        waiting: Mutex::new(Some(HashMap::new())),
        handlers: Mutex::default(),
        ends: Mutex::default(),
    });
    let reading = Arc::clone(&shared);
    let thread = std::thread::Builder::new().name("chrome-reader".into());
    thread.spawn(move || read(reader, &reading, max_message))?;
    Ok(Session { shared, id: None })
}

/// Reads until the connection ends with the browser.
fn read(stream: UnixStream, shared: &Shared, max_message: usize) {
    let mut reader = BufReader::with_capacity(BUFFER >> 4, stream);
    let mut message = Vec::new();
    loop {
        message.clear();
        message.shrink_to(BUFFER);
        match next(&mut reader, &mut message, max_message) {
            Ok(()) => match std::str::from_utf8(&message) {
                Ok(text) => shared.take(text),
                Err(error) => tracing::debug!("a message of the browser is not UTF-8: {error}"),
            },
            Err(error) => {
                tracing::debug!("the connection to the browser ended: {error}");
                break;
            }
        }
    }
    // dropping the senders wakes the waiting calls
    lock(&shared.waiting).take();
    lock(&shared.handlers).clear();
    lock(&shared.ends).clear();
}

/// Reads a message of at most `max` bytes without its final NUL.
fn next(reader: &mut impl BufRead, message: &mut Vec<u8>, max: usize) -> io::Result<()> {
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    reader.by_ref().take(limit).read_until(0, message)?;
    match message.pop() {
        Some(0) => Ok(()),
        Some(_) if message.len() >= max => {
            Err(io::Error::other(format!("a message of more than {max} bytes")))
        }
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

impl Shared {
    fn take(&self, text: &str) {
        let Ok(head) = serde_json::from_str::<Head<'_>>(text) else { return };
        if let Some(id) = head.id {
            let waiting = lock(&self.waiting).as_mut().and_then(|waiting| waiting.remove(&id));
            // calls by `send` have no waiting caller
            if let Some(waiting) = waiting {
                let answered = || Ok((text.to_owned(), Instant::now()));
                let answer = head.error.map_or_else(answered, |e| Err(CallError::Refused(e.message)));
                let _ = waiting.answer.try_send(answer);
            }
            return;
        }
        let Some(method) = head.method else { return };
        if method == ENDED {
            return self.ended(text);
        }
        let Some(session) = head.session else { return };
        if !WANTED.contains(&method.as_ref()) {
            return;
        }
        if method == "Inspector.targetCrashed" {
            self.fail(&session);
        }
        let Some(handler) = lock(&self.handlers).get(session.as_ref()).cloned() else { return };
        match serde_json::from_str(text) {
            Ok(event) => handler(event),
            Err(error) => tracing::debug!("an event {method} that cannot be read: {error}"),
        }
    }

    fn ended(&self, text: &str) {
        let Ok(Event::DetachedFromTarget(event)) = serde_json::from_str(text) else { return };
        let session = event.params.session_id;
        self.fail(&session);
        lock(&self.handlers).remove(session.as_str());
        if let Some(end) = lock(&self.ends).remove(session.as_str()) {
            let _ = end.try_send(());
        }
    }

    /// Ends the calls of a session, since a dead process does not answer.
    fn fail(&self, session: &str) {
        let mut waiting = lock(&self.waiting);
        let Some(all) = waiting.as_mut() else { return };
        all.retain(|_, call| {
            let of_it = call.session.as_deref() == Some(session);
            if of_it {
                let _ = call.answer.try_send(Err(CallError::Crashed));
            }
            !of_it
        });
    }
}

impl Session {
    /// The session with this id on the same connection, with `handler` for its events. The handler runs on
    /// the reading thread, so it may send, but not call.
    pub(crate) fn attached(&self, id: &str, handler: impl Fn(Event) + Send + Sync + 'static) -> Self {
        let id: Arc<str> = id.into();
        lock(&self.shared.handlers).insert(Arc::clone(&id), Arc::new(handler));
        Self { shared: Arc::clone(&self.shared), id: Some(id) }
    }

    /// The session with this id without a handler, for a handler that sends.
    pub(crate) fn named(&self, id: &str) -> Self {
        Self { shared: Arc::clone(&self.shared), id: Some(id.into()) }
    }

    /// Signal for the end of the session, or of the connection.
    pub(crate) fn end(&self) -> Receiver<()> {
        let (ends, ended) = sync_channel(1);
        if let Some(id) = &self.id {
            lock(&self.shared.ends).insert(Arc::clone(id), ends);
        }
        ended
    }

    /// Calls and waits for the answer, `limit` at most.
    pub(crate) fn call<M: Method + Serialize>(
        &self,
        method: M,
        limit: Duration,
    ) -> Result<M::ReturnObject, CallError> {
        self.call_timed(method, limit).map(|(answer, _)| answer)
    }

    /// Calls like [`call`](Self::call), and returns the time of the answer: after all earlier events, and
    /// before all later ones.
    pub(crate) fn call_timed<M: Method + Serialize>(
        &self,
        method: M,
        limit: Duration,
    ) -> Result<(M::ReturnObject, Instant), CallError> {
        self.begin(method)?.wait(limit)
    }

    /// Sends a call; the answer may be awaited later.
    pub(crate) fn begin<M: Method + Serialize>(&self, method: M) -> Result<Pending<M>, CallError> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = sync_channel(1);
        let waiting = Waiting { session: self.id.clone(), answer };
        lock(&self.shared.waiting).as_mut().ok_or(CallError::Closed)?.insert(id, waiting);
        let pending = Pending { shared: Arc::clone(&self.shared), id, answered, method: PhantomData };
        self.write(id, method).inspect_err(|_| pending.forget())?;
        Ok(pending)
    }

    /// Sends a call; returns a closure that waits for its end, `limit` at most.
    pub(crate) fn begin_within<M: Method + Serialize + 'static>(
        &self,
        method: M,
        limit: Duration,
    ) -> Result<Wait, CallError> {
        let pending = self.begin(method)?;
        Ok(Box::new(move || pending.wait(limit).map(drop)))
    }

    /// Sends a call without waiting; other calls observe its effect.
    pub(crate) fn send<M: Method + Serialize>(&self, method: M) {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = self.write(id, method) {
            tracing::debug!("{} could not be sent: {error}", M::NAME);
        }
    }

    fn write<M: Method + Serialize>(&self, id: u32, params: M) -> Result<(), CallError> {
        let call = Call { id, method: M::NAME, params, session: self.id.as_deref() };
        let mut text = serde_json::to_vec(&call).map_err(|error| CallError::Unreadable(error.to_string()))?;
        text.push(0);
        let mut writer = lock(&self.shared.writer);
        writer.write_all(&text).map_err(|error| {
            tracing::debug!("the connection to the browser is closed: a message was not written: {error}");
            // a part of the message may be sent: the browser would read the next one as its rest
            let _ = writer.shutdown(Shutdown::Both);
            CallError::Closed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headless_chrome::protocol::cdp::{Browser, Target};

    /// A browser that stops reading gets a part of a message. No later call may follow it.
    #[test]
    fn partly_written_message_closes_the_connection() {
        let (ours, _its) = UnixStream::pair().unwrap();
        let options = ours.try_clone().unwrap();
        let session = connect(ours, 1 << 20).unwrap();
        // the option belongs to the socket, whichever descriptor sets it
        options.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
        let pending = session.begin(Browser::GetVersion(None)).unwrap();
        let long = Target::CloseTarget { target_id: "x".repeat(8 << 20) };
        assert!(matches!(session.begin(long).err(), Some(CallError::Closed)));
        let waited = pending.wait(Duration::from_secs(10)).err();
        assert!(matches!(waited, Some(CallError::Closed)), "{waited:?}");
    }

    #[test]
    fn messages_end_with_a_nul_and_have_a_bound() {
        let mut bytes: &[u8] = b"one\0\0three\0cut";
        let mut read = |max| {
            let mut message = Vec::new();
            next(&mut bytes, &mut message, max).map(|()| String::from_utf8(message).unwrap())
        };
        assert_eq!(read(3).unwrap(), "one");
        assert_eq!(read(3).unwrap(), "");
        assert!(read(4).unwrap_err().to_string().contains("more than 4 bytes"));
        assert_eq!(read(4).unwrap(), "");
        assert_eq!(read(9).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
