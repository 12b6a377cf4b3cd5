//! Errors of the server and of the operator: clear words and the right kind.

use crate::*;
use crawl_model::{ContentHash, DomainStore, NewText, Sketch, TextIndex};
use crawl_store::PgUrl;

fn error_of(server: &Server, url: &PgUrl) -> StoreError {
    let mut options = server.options("c", "w");
    options.url = url.clone();
    PgStore::open(&options).err().unwrap()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn connection_and_permission_errors_name_the_remedy() {
    let server = Server::start();
    let missing: PgUrl = "postgres://crawl@/postgres?host=/nonexistent".parse().unwrap();
    let error = error_of(&server, &missing);
    assert!(matches!(&error, StoreError::Unavailable(words) if words.contains("No such file")), "{error}");
    let error = error_of(&server, &server.url_of("nobody"));
    assert!(matches!(&error, StoreError::Unavailable(words) if words.contains("\"nobody\"")), "{error}");
    server
        .client()
        .batch_execute("CREATE ROLE guest LOGIN; REVOKE CREATE ON DATABASE postgres FROM PUBLIC")
        .unwrap();
    let error = error_of(&server, &server.url_of("guest"));
    assert!(
        matches!(&error, StoreError::Unavailable(words) if words.contains("may not create the schema \"crawl_c\"")),
        "{error}"
    );
    server.client().batch_execute("CREATE SCHEMA crawl_c AUTHORIZATION guest").unwrap();
    let mut options = server.options("c", "w");
    options.url = server.url_of("guest");
    let store = PgStore::open(&options).unwrap();
    assert_eq!(store.begin_round().unwrap(), 1, "an owned schema is all that a user needs");
}

/// Administrators set such limits for the sessions of people.
#[test]
#[ignore = "needs PostgreSQL"]
fn statement_timeout_of_the_role_ends_no_statement() {
    let (server, owner) = begun("owner");
    drop(owner);
    let mut client = server.client();
    client
        .batch_execute("CREATE ROLE hasty SUPERUSER LOGIN; ALTER ROLE hasty SET statement_timeout = '500ms'")
        .unwrap();
    let store = open_as(&server, "hasty", "w").unwrap();
    let mut lock = client.transaction().unwrap();
    lock.batch_execute("LOCK TABLE crawl_c.urls").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            lock.batch_execute("SELECT pg_sleep(1.5)").unwrap();
            lock.commit().unwrap();
        });
        store.enqueue(&urls(&["https://a/1"])).unwrap();
    });
}

/// The `GRANT` of the message for a user that may read and write, as an administrator runs it.
fn grant(server: &Server, role: &str) {
    server.client().batch_execute(&format!("CREATE ROLE {role} LOGIN")).unwrap();
    let words = error_of(server, &server.url_of(role)).to_string();
    let (_, grants) = words.split_once("an administrator can allow it: ").unwrap();
    server.client().batch_execute(grants).unwrap();
}

fn open_as(server: &Server, role: &str, worker: &str) -> Result<PgStore, StoreError> {
    let mut options = server.options("c", worker);
    options.url = server.url_of(role);
    PgStore::open(&options)
}

#[test]
#[ignore = "needs PostgreSQL"]
fn suggested_grant_suffices_for_a_worker() {
    let (server, owner) = begun("owner");
    drop(owner);
    grant(&server, "guest");
    let store = open_as(&server, "guest", "w").unwrap();
    store.enqueue(&urls(&["https://a/1", "https://b/1"])).unwrap();
    let text = |content: u8| NewText {
        page: UrlKey::of("https://a/1"),
        sketch: Sketch {
            content: Some(ContentHash([content; 32])),
            shingles: vec![content; 8],
            signature: vec![u32::from(content)],
            bands: vec![u64::from(content)],
        },
        place: None,
    };
    store.settle_with_texts(&records(&lease(&store, "a", 9)), &[mark("o", 1)], &[text(1)]).unwrap();
    store.begin_recrawl(false).unwrap();
    store.revisit(&urls(&["https://a/1"])).unwrap();
    store.settle_with_texts(&records(&lease(&store, "a", 9)), &[mark("o", 2)], &[text(2)]).unwrap();
    let found = store.similar_texts(&text(2).sketch, 9).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].sketch.content, Some(ContentHash([2; 32])));
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_worker_without_its_second_connection_takes_no_hosts() {
    let (server, owner) = begun("owner");
    owner.enqueue(&urls(&["https://a/1", "https://b/1"])).unwrap();
    drop(owner);
    grant(&server, "guest");
    server.client().batch_execute("ALTER ROLE guest CONNECTION LIMIT 1").unwrap();
    eventually(&server, "SELECT NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE usename = 'guest')");
    let error = open_as(&server, "guest", "refused").err().unwrap();
    assert!(matches!(error, StoreError::Busy(_)), "{error}");
    let count = |what: &str| {
        let select = format!("SELECT count(*) FROM crawl_c.{what}");
        server.client().query_one(&select, &[]).unwrap().get::<_, i64>(0)
    };
    assert_eq!((count("workers WHERE name = 'refused'"), count("hosts WHERE owner IS NOT NULL")), (0, 0));
    assert_eq!(ready(&open(&server, "next")), ["a", "b"], "another worker has them at once");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn schema_of_a_newer_version_is_refused() {
    let server = Server::start();
    drop(open(&server, "w"));
    server.client().batch_execute("UPDATE crawl_c.schema_version SET version = 99").unwrap();
    let error = PgStore::open(&server.options("c", "w")).err().unwrap();
    assert!(matches!(error, StoreError::Version { found: 99, known: 9 }), "{error}");
    let none = PgStore::open_read_only(&server.options("other", "w")).err().unwrap();
    assert!(none.to_string().contains("no crawl named \"other\""), "{none}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn terminated_connection_keeps_settled_pages() {
    let server = Server::start();
    let store = open(&server, "w");
    store.begin_round().unwrap();
    store.enqueue(&urls(&["https://a/1", "https://a/2"])).unwrap();
    let out = lease(&store, "a", 2);
    store.settle(&records(&out[..1]), &[mark("o", 1)]).unwrap();
    let terminate =
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'crawl'";
    server.client().execute(terminate, &[]).unwrap();
    let error = store.settle(&records(&out[1..]), &[mark("o", 2)]).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert!(store.counts().unwrap_err().to_string().contains("changes were lost before"));
    drop(store);
    let store = open(&server, "w");
    assert_eq!((store.counts().unwrap().records, store.output_mark("o").unwrap()), (1, Some(1)));
    assert_eq!(lease(&store, "a", 9).len(), 1);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn loss_of_the_second_connection_ends_the_session() {
    let (server, store) = begun("w");
    store.enqueue(&urls(&["https://a/1", "https://a/2"])).unwrap();
    let out = lease(&store, "a", 2);
    store.settle(&records(&out[..1]), &[mark("o", 1)]).unwrap();
    let (hash, key) = (ContentHash([1; 32]), UrlKey::of("https://a/2"));
    let page = (&out[1]).into();
    assert_eq!(store.claim_content(&hash, key, page).unwrap(), key);
    let terminate = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity \
                     WHERE application_name = 'crawl' AND query LIKE '%INTO contents%'";
    assert_eq!(server.client().execute(terminate, &[]).unwrap(), 1);
    let error = store.claim_content(&hash, key, page).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    // the first connection is sound, but the page has no claim
    let error = store.settle(&records(&out[1..]), &[mark("o", 2)]).unwrap_err();
    assert!(
        matches!(&error, StoreError::Unavailable(words) if words.contains("changes were lost")),
        "{error}"
    );
    drop(store);
    let store = open(&server, "w");
    assert_eq!((store.counts().unwrap().records, store.output_mark("o").unwrap()), (1, Some(1)));
    assert_eq!(store.claim_content(&hash, key, page).unwrap(), key, "the claim was made before");
}

/// Lets settlements of URLs fail, or end their connection: the statement is not the last one that its transaction sends together.
fn break_settlements(server: &Server, action: &str) {
    server
        .client()
        .batch_execute(&format!(
            "CREATE FUNCTION crawl_c.break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {action}; RETURN NEW; END $$; \
             CREATE TRIGGER break BEFORE UPDATE OF outcome ON crawl_c.urls FOR EACH ROW EXECUTE FUNCTION crawl_c.break()"
        ))
        .unwrap();
}

#[test]
#[ignore = "needs PostgreSQL"]
fn failed_pipelined_statement_fails_its_transaction() {
    for (action, word) in [
        ("RAISE EXCEPTION 'broken'", "broken"),
        ("PERFORM pg_terminate_backend(pg_backend_pid())", "the connection to PostgreSQL failed"),
    ] {
        let (server, store) = begun("w");
        store.enqueue(&urls(&["https://a/1", "https://a/2"])).unwrap();
        let out = lease(&store, "a", 2);
        break_settlements(&server, action);
        let error = store.settle(&records(&out), &[mark("o", 1)]).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(store.counts().is_err(), "memory may be ahead of the database");
        drop(store);
        server.client().batch_execute("DROP TRIGGER break ON crawl_c.urls").unwrap();
        let store = open(&server, "w");
        let counts = store.counts().unwrap();
        assert_eq!((counts.records, counts.pending, store.output_mark("o").unwrap()), (0, 2, None));
        assert_eq!(lease(&store, "a", 9).len(), 2);
    }
}

#[test]
fn unreachable_server_is_an_error_on_a_runtime_thread() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // nothing listens on port 1
    let url: PgUrl = "postgres://crawl@127.0.0.1:1/db?sslmode=disable".parse().unwrap();
    let options = crawl_store::PgOptions {
        url,
        crawl: "c".into(),
        worker: "w".into(),
        spool: None,
        pause: Duration::ZERO,
        begins_run: true,
    };
    let refused = runtime.block_on(async { PgStore::open(&options).err() });
    assert!(matches!(refused, Some(StoreError::Unavailable(_))), "{refused:?}");
}
