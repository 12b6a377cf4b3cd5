//! Errors of the server and of the operator: clear words and the right kind.

use crate::*;
use crawl_store::PgUrl;

fn error_of(server: &Server, url: &PgUrl) -> StoreError {
    let mut options = server.options("c", "w");
    options.url = url.clone();
    PgStore::open(&options).err().unwrap()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn what_the_operator_can_mend_is_said() {
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

#[test]
#[ignore = "needs PostgreSQL"]
fn a_schema_of_a_newer_program_is_left_alone() {
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
fn a_terminated_connection_loses_nothing_that_was_settled() {
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
fn an_unreachable_server_is_an_error_on_a_thread_of_a_runtime() {
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
