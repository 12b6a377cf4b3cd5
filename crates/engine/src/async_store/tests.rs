use super::*;
use crawl_model::{RunStore, mark_async};
use crawl_store::{MemoryStore, SqliteStore};
use std::{
    sync::{Mutex, mpsc},
    task::Poll,
    time::Duration,
};
use tokio::{sync::Barrier, time::timeout};

fn door(threading: Threading) -> AsyncStore {
    AsyncStore::new(Arc::new(MemoryStore::new()), threading).unwrap()
}

#[tokio::test]
async fn panic_in_a_call_is_an_error_and_calls_continue() {
    for threading in [Threading::Threads, Threading::Inline] {
        let door = door(threading);
        let error = door.call(|_| -> Result<(), StoreError> { panic!("page {}", 7) }).await.unwrap_err();
        assert_eq!(error.to_string(), "storage: a call panicked: page 7");
        door.post(|_| panic!("nobody waits"));
        door.call(|store| store.put("a", "1")).await.unwrap();
        assert_eq!(door.call(|store| store.get("a")).await.unwrap().as_deref(), Some("1"));
    }
}

#[tokio::test]
async fn calls_run_on_the_storage_thread_in_their_order() {
    let door = door(Threading::Threads);
    let order = Arc::new(Mutex::new(Vec::new()));
    for n in 0..3 * BATCH {
        let order = Arc::clone(&order);
        door.post(move |_| order.lock().unwrap().push(n));
    }
    let name = door.call(|_| Ok(thread::current().name().map(str::to_owned))).await.unwrap();
    assert_eq!(name.as_deref(), Some("storage"));
    assert_eq!(*order.lock().unwrap(), Vec::from_iter(0..3 * BATCH));
}

#[tokio::test]
async fn calls_beyond_the_queue_wait_and_run() {
    let door = door(Threading::Threads);
    let (go, wait) = mpsc::sync_channel::<()>(1);
    let made = Arc::new(AtomicUsize::new(0));
    door.post(move |_| wait.recv().unwrap());
    let calls = QUEUE + BATCH + 100;
    for _ in 0..calls {
        let made = Arc::clone(&made);
        door.post(move |_| {
            made.fetch_add(1, SeqCst);
        });
    }
    go.send(()).unwrap();
    let all = async {
        while made.load(SeqCst) < calls {
            door.call(|_| Ok(())).await.unwrap();
        }
    };
    timeout(Duration::from_secs(60), all).await.unwrap();
}

#[tokio::test]
async fn an_inline_call_ends_within_its_first_poll() {
    let door = door(Threading::Inline);
    let here = thread::current().id();
    let call = std::pin::pin!(door.call(move |_| Ok(thread::current().id() == here)));
    assert!(matches!(futures::poll!(call), Poll::Ready(Ok(true))));
}

#[tokio::test]
async fn cancelled_call_runs_before_the_door_closes() {
    let dir = tempfile::tempdir().unwrap();
    let door = AsyncStore::new(Arc::new(SqliteStore::open(dir.path()).unwrap()), Threading::Threads).unwrap();
    let (go, wait) = mpsc::sync_channel::<()>(1);
    door.post(move |_| wait.recv().unwrap());
    {
        let call = std::pin::pin!(door.call(|store| store.put("a", "1")));
        assert!(futures::poll!(call).is_pending());
    }
    go.send(()).unwrap();
    drop(door);
    // the store was closed with its door
    let found = SqliteStore::open(dir.path()).unwrap().get("a").unwrap();
    assert_eq!(found.as_deref(), Some("1"));
}

#[tokio::test]
async fn sqlite_refuses_async_threads_in_debug_builds() {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(dir.path()).unwrap());
    let door = AsyncStore::new(Arc::clone(&store), Threading::Threads).unwrap();
    let _mark = mark_async();
    let refused = catch_unwind(AssertUnwindSafe(|| store.get("a").is_ok()));
    assert_eq!(refused.is_err(), cfg!(debug_assertions));
    assert!(door.call(|store| store.get("a")).await.is_ok());
}

#[tokio::test]
async fn an_event_waits_for_open_calls() {
    let (calls, barrier) = (Arc::new(OpenCalls::default()), Arc::new(Barrier::new(2)));
    timeout(Duration::from_secs(60), calls.after(async {})).await.unwrap();
    let open = calls.begin();
    let (waiting, begun) = (Arc::clone(&calls), Arc::clone(&barrier));
    let mut after = tokio::spawn(async move {
        begun.wait().await;
        waiting.after(async {}).await;
    });
    barrier.wait().await;
    assert!(timeout(Duration::from_millis(20), &mut after).await.is_err(), "a call is open");
    drop(open);
    timeout(Duration::from_secs(60), after).await.unwrap().unwrap();
}
