use super::*;
use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

/// A database whose rounds other workers begin all the time. It notes who opens it.
#[derive(Debug, Default)]
struct Busy(Mutex<Vec<String>>);

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("busy")
    }
}

impl Database for Busy {
    fn earlier_form(&self) -> String {
        "busy".to_owned()
    }

    fn open(&self, worker: &SharedWorker) -> Result<Arc<dyn StateStore>, StoreError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(worker.worker.clone());
        Err(StoreError::Busy("another worker began a round".to_owned()))
    }

    fn open_read_only(&self, _: &str) -> Result<Arc<dyn StateStore>, StoreError> {
        unreachable!("`open_read_only` is not called")
    }

    fn copy_from(&self, _: &str, _: &Path) -> Result<CopyReport, StoreError> {
        unreachable!("no copy is made")
    }

    fn copy_to(&self, _: &str, _: &Path) -> Result<CopyReport, StoreError> {
        unreachable!("no copy is made")
    }

    fn upgrade(&self, _: &str) -> Result<(u32, u32), StoreError> {
        unreachable!("`upgrade` is not called")
    }

    fn reopen_failed(&self, _: &str, _: u32, _: Option<&[UrlKey]>) -> Result<usize, StoreError> {
        unreachable!("`reopen_failed` is not called")
    }
}

#[test]
fn worker_keeps_its_name_when_joining_is_retried() {
    let (dir, database) = (tempfile::tempdir().unwrap(), Arc::new(Busy::default()));
    let mut crawl = SharedCrawl::named(database.clone(), "c");
    crawl.dir = Some(dir.path().to_owned());
    assert_eq!(crawl.open(&Config::defaults().unwrap()).map(|_| ()).unwrap_err().exit, Exit::Held);
    let names = database.0.lock().unwrap();
    assert_eq!(names.len(), MOST_ATTEMPTS);
    assert!(names.iter().all(|name| *name == names[0]), "each name is a row of its own: {names:?}");
    assert!(!dir.path().join(WORKER_FILE).exists(), "a worker that did not join leaves the directory free");
}

#[test]
fn long_values_are_cut_around_their_difference() {
    assert_eq!(shown_both("1\n", "none"), ("1".to_owned(), "none".to_owned()));
    let list = |last: &str| format!("[{}{last}]", "\"name\", ".repeat(20));
    let (own, of_round) = shown_both(&list("\"a\""), &list("\"b\""));
    assert_ne!(own, of_round);
    assert!(own.starts_with('…') && own.ends_with("\"a\"]"), "{own}");
    let (long, short) = shown_both(&list(""), "[]");
    assert!(long.starts_with("[\"name\"") && long.ends_with('…') && short == "[]", "{long}");
}
