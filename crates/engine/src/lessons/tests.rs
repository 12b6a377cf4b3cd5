use super::*;
use crate::threads::{Threading, marked};
use crawl_model::DomainStore;
use crawl_store::{MemoryStore, SqliteStore};

const TRIAL: u32 = 4;

fn lessons() -> (Lessons, MemoryStore) {
    (Lessons::new(TRIAL, 20), MemoryStore::new())
}

fn url(n: usize) -> Url {
    Url::parse(&format!("http://h/item/{n}")).unwrap()
}

fn begin_at(lessons: &Lessons, store: &MemoryStore, url: &Url) -> FirstStep {
    let host = HostKey::of(url).unwrap();
    drop(lessons.loaded(store, &host).unwrap());
    lessons.begin_in_memory(&host, url).unwrap()
}

fn begin(lessons: &Lessons, store: &MemoryStore, n: usize) -> FirstStep {
    begin_at(lessons, store, &url(n))
}

/// A static page that comes and teaches.
fn teach(lessons: &Lessons, store: &MemoryStore, n: usize, wanted: Option<Strategy>) -> bool {
    let FirstStep::Static(guard) = begin(lessons, store, n) else { return false };
    lessons.learn_static_page(store, &url(n), wanted).unwrap();
    drop(guard);
    true
}

#[test]
fn browser_is_first_after_shells_and_reexamined_rarely() {
    let (lessons, store) = (Lessons::new(TRIAL, 200), MemoryStore::new());
    let rechecks: Vec<usize> =
        (0..300).filter(|&n| teach(&lessons, &store, n, Some(Strategy::Chrome))).collect();
    assert_eq!(rechecks, [0, 1, 2, 3, 24, 225]);
    let other = Lessons::new(TRIAL, 200);
    assert!(
        matches!(begin(&other, &store, 999), FirstStep::Learned(Strategy::Chrome)),
        "the store remembers"
    );
}

#[test]
fn pages_wait_for_pages_on_trial() {
    let (lessons, store) = lessons();
    let out: Vec<FirstStep> = (0..4).map(|n| begin(&lessons, &store, n)).collect();
    assert!(out.iter().all(|begin| matches!(begin, FirstStep::Static(Some(_)))));
    assert!(matches!(begin(&lessons, &store, 5), FirstStep::Wait));
    assert!(matches!(
        begin_at(&lessons, &store, &Url::parse("http://h/other/1").unwrap()),
        FirstStep::Static(_)
    ));
    // one that failed has taught nothing, and makes room for another
    drop(out);
    assert!(matches!(begin(&lessons, &store, 6), FirstStep::Static(Some(_))));
}

#[test]
fn static_page_with_text_resets_the_pattern() {
    let (lessons, store) = lessons();
    for n in 0..4 {
        teach(&lessons, &store, n, Some(Strategy::Chrome));
    }
    assert!(lessons.is_first(&store, &url(9), Strategy::Chrome).unwrap());
    lessons.learn_static_page(&store, &url(9), None).unwrap();
    assert!(!lessons.is_first(&store, &url(9), Strategy::Chrome).unwrap());
    let fetched = (10..60).take_while(|&n| teach(&lessons, &store, n, Some(Strategy::Chrome))).count();
    assert_eq!(fetched, 4 + 16);
}

/// Begins a page of a pattern by its lesson, and teaches the result. Returns true if a page with its text was rendered.
fn visit(lessons: &Lessons, store: &MemoryStore, n: usize, shell: bool, marks: Marks) -> bool {
    let outcome = |gain| lessons.learn_outcome(store, &url(n), Strategy::Chrome, gain).unwrap();
    match begin(lessons, store, n) {
        FirstStep::Static(guard) => {
            lessons.learn_static_page(store, &url(n), shell.then_some(Strategy::Chrome)).unwrap();
            drop(guard);
            if shell {
                outcome(Gain::Yes(marks));
            }
            false
        }
        FirstStep::Learned(_) => {
            outcome(Gain::Unknown(marks));
            !shell
        }
        FirstStep::Wait => panic!("nothing is on its way"),
    }
}

#[test]
fn mixed_pattern_renders_few_pages_needlessly() {
    let app = Marks { app: true, scripts: true };
    let plain = Marks { app: false, scripts: true };
    // if the marks of shells and pages are the same, the early static fetch ends the lesson at page 25
    for (of_pages, most) in [(plain, 1), (app, 20)] {
        for every in 2..=5 {
            let (lessons, store) = (Lessons::new(TRIAL, 200), MemoryStore::new());
            let needless = |n: &usize| {
                let shell = *n < 4 || (*n != 24 && n.is_multiple_of(every));
                visit(&lessons, &store, *n, shell, if shell { app } else { of_pages })
            };
            let needless = (0..400).filter(needless).count();
            assert!(needless <= most, "every {every}th is a shell: {needless}");
        }
    }
}

#[test]
fn pages_rendered_first_do_not_confirm_the_browser() {
    let (lessons, store) = (Lessons::new(TRIAL, 200), MemoryStore::new());
    for n in 0..4 {
        teach(&lessons, &store, n, Some(Strategy::Chrome));
    }
    let outcome = |gain| lessons.learn_outcome(&store, &url(9), Strategy::Chrome, gain).unwrap();
    (0..50).for_each(|_| outcome(Gain::Unknown(Marks::ALL)));
    assert!(lessons.is_first(&store, &url(9), Strategy::Chrome).unwrap());
    outcome(Gain::No);
    assert!(!lessons.is_first(&store, &url(9), Strategy::Chrome).unwrap());
}

#[test]
fn pages_without_marks_keep_a_browser_pattern() {
    let (lessons, store) = (Lessons::new(TRIAL, 200), MemoryStore::new());
    let none = Marks { app: false, scripts: false };
    let by_browser = |n| {
        visit(&lessons, &store, n, true, none);
        lessons.is_first(&store, &url(n), Strategy::Chrome).unwrap()
    };
    assert!((0..200).skip_while(|&n| !by_browser(n)).all(by_browser));
}

/// A page of one of many patterns.
fn of_pattern(pattern: usize) -> Url {
    let letters = ["k", "l", "m", "n", "o", "p", "r", "s", "t", "u", "v", "w"];
    let name: String = [pattern / 144, pattern / 12 % 12, pattern % 12].iter().map(|n| letters[*n]).collect();
    Url::parse(&format!("http://h/{name}/1")).unwrap()
}

fn is_known(lessons: &Lessons, pattern: usize) -> bool {
    let url = of_pattern(pattern);
    lessons.0.lock().hosts[&HostKey::of(&url).unwrap()].patterns.contains_key(&url_pattern(&url))
}

#[test]
fn least_recently_used_pattern_is_evicted_untaught_first() {
    let (lessons, store) = lessons();
    for pattern in 0..=MAX_PATTERNS {
        let wanted = (pattern == 0).then_some(Strategy::Chrome);
        lessons.learn_static_page(&store, &of_pattern(pattern), wanted).unwrap();
    }
    assert!(is_known(&lessons, 0) && !is_known(&lessons, 1));
    assert!((2..=MAX_PATTERNS).all(|pattern| is_known(&lessons, pattern)));
}

#[test]
fn pattern_with_pages_in_flight_is_not_evicted() {
    let (lessons, store) = lessons();
    let begin = |pattern| begin_at(&lessons, &store, &of_pattern(pattern));
    let out: Vec<FirstStep> = (0..MAX_PATTERNS).map(begin).collect();
    assert!(matches!(begin(MAX_PATTERNS), FirstStep::Static(None)));
    assert!(!is_known(&lessons, MAX_PATTERNS));
    drop(out);
    assert!(matches!(begin(MAX_PATTERNS), FirstStep::Static(Some(_))));
    assert!(is_known(&lessons, MAX_PATTERNS) && !is_known(&lessons, 0));
}

#[test]
fn useless_strategy_is_dropped_and_then_spared() {
    let (lessons, store) = lessons();
    for n in 0..4 {
        teach(&lessons, &store, n, Some(Strategy::Chrome));
    }
    let missed = || lessons.learn_outcome(&store, &url(1), Strategy::Chrome, Gain::No).unwrap();
    missed();
    assert!(!lessons.is_first(&store, &url(9), Strategy::Chrome).unwrap());
    (0..15).for_each(|_| missed());
    let spared =
        (0..20).filter(|&n| lessons.useless_attempts(&store, &url(n), Strategy::Chrome).unwrap().is_some());
    assert_eq!(spared.count(), 18);
    lessons.learn_outcome(&store, &url(1), Strategy::Chrome, Gain::Yes(Marks::ALL)).unwrap();
    assert_eq!(lessons.useless_attempts(&store, &url(1), Strategy::Chrome).unwrap(), None);
}

#[test]
fn mobile_user_agent_is_first_only_after_a_gain() {
    let (lessons, store) = lessons();
    for n in 0..6 {
        assert!(teach(&lessons, &store, n, Some(Strategy::Mobile)));
    }
    lessons.learn_outcome(&store, &url(1), Strategy::Mobile, Gain::Yes(Marks::ALL)).unwrap();
    assert!(matches!(begin(&lessons, &store, 9), FirstStep::Learned(Strategy::Mobile)));
}

/// The host is read from the database by the storage thread: SQLite refuses the task itself.
#[tokio::test]
async fn lessons_of_an_earlier_run_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(dir.path()).unwrap());
    let (earlier, memory) = lessons();
    (0..TRIAL as usize).for_each(|n| assert!(teach(&earlier, &memory, n, Some(Strategy::Chrome))));
    let host = HostKey::of(&url(0)).unwrap();
    store.save_lessons(&host, &memory.load_lessons(&host).unwrap().unwrap()).unwrap();
    let storage = AsyncStore::new(store, Threading::Threads).unwrap();
    let lessons = Lessons::new(TRIAL, 20);
    let begun = marked(lessons.begin(&storage, &url(9))).await.unwrap();
    assert!(matches!(begun, FirstStep::Learned(Strategy::Chrome)));
}
