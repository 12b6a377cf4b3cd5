//! A crawl whose frontier is in PostgreSQL: the same records as with SQLite, each once, and clear errors.

use crate::{
    database::Server as Database,
    kills::kill_after,
    run::{self, Done, Sandbox, run, url_counts},
    support::{
        server::{Handler, Request, Response, Server},
        site::Site,
    },
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// Beyond the last page, so that only the calendar is cut off there.
const FLAGS: [&str; 4] = ["--depth", "6", "-o", "out.jsonl"];

/// The fixture site, with slow answers.
struct Slow(Site);

impl Handler for Slow {
    fn answer(&self, request: &Request) -> Response {
        self.0.answer(request).after(Duration::from_millis(15))
    }
}

fn harbour() -> Site {
    Site::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sites/harbour")).unwrap()
}

/// A crawl in a database.
fn shared(sandbox: &Sandbox, database: &Database, seed: &str, flags: &[&str]) -> Command {
    shared_at(&database.text_url("crawl"), sandbox, seed, flags)
}

/// A crawl in the database of this URL.
fn shared_at(store: &str, sandbox: &Sandbox, seed: &str, flags: &[&str]) -> Command {
    let mut command = sandbox.crawl(&[seed.to_owned()], &[FLAGS.as_slice(), flags].concat());
    command.args(["--store", store, "--crawl", "harbour"]);
    command
}

/// Files that `crawl outputs` lists.
fn outputs(sandbox: &Sandbox, database: &Database) -> Vec<Value> {
    let mut command = sandbox.bare();
    command.args(["outputs", "--json", "--store", &database.text_url("crawl"), "--crawl", "harbour"]);
    serde_json::from_str(&run(&mut command).expect(0).stdout).unwrap()
}

/// URL and text of each record; each URL is there once.
fn texts(records: &[Value]) -> BTreeMap<String, String> {
    let counts = url_counts(records);
    assert!(counts.values().all(|n| *n == 1), "{counts:?}");
    let field = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    records.iter().map(|record| (field(record, "url"), field(record, "text"))).collect()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn postgresql_crawl_equals_a_directory_crawl() {
    let (server, database) = (Server::start(0, harbour()).unwrap(), Database::start());
    let alone = Sandbox::new();
    run(&mut alone.crawl(&[server.url("/")], &FLAGS)).expect(0);
    let expected = texts(&alone.records("out.jsonl"));
    assert!(expected.len() > 60);

    let sandbox = Sandbox::new();
    run(&mut shared(&sandbox, &database, &server.url("/"), &[])).expect(0);
    assert_eq!(texts(&sandbox.records("out.jsonl")), expected);
    assert_eq!(sandbox.errors().len(), alone.errors().len());
    assert!(!sandbox.path("state/crawl.sqlite").exists());
    // the next round asks what has become due, and nothing has
    run(&mut shared(&sandbox, &database, &server.url("/"), &[])).expect(0);
    assert_eq!(texts(&sandbox.records("out.jsonl")), expected);
    let rounds = database.client().query_one("SELECT round FROM crawl_harbour.crawls", &[]).unwrap();
    assert_eq!(rounds.get::<_, i32>(0), 2);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_killed_worker_resumes_and_has_each_record_once() {
    let database = Database::start();
    let server = Server::start(0, Slow(harbour())).unwrap();
    let (alone, sandbox) = (Sandbox::new(), Sandbox::new());
    run(&mut alone.crawl(&[server.url("/")], &FLAGS)).expect(0);
    let expected: Vec<String> = url_counts(&alone.records("out.jsonl")).into_keys().collect();

    let crawl = || {
        let mut command = shared(&sandbox, &database, &server.url("/"), &["--host-concurrency", "3"]);
        command.env("CRAWL_DEDUP_SETTLE_PAGES", "4").env("CRAWL_OUTPUT_BATCH", "4");
        command
    };
    for more in [3, 9, 14, 20] {
        kill_after(&server, &mut crawl(), more);
    }
    let length = || fs::metadata(sandbox.path("out.jsonl")).unwrap().len();
    let only = |listed: &[Value], is_complete: bool| {
        let [file] = listed else { panic!("one file and no error log: {listed:?}") };
        assert!(file["path"].as_str().unwrap().ends_with("/out.jsonl"), "{file}");
        assert_eq!((&file["round"], &file["isComplete"]), (&1.into(), &is_complete.into()), "{file}");
        file["bytes"].as_u64().unwrap()
    };
    let mut listed = outputs(&sandbox, &database);
    // on a slow machine none of these processes has settled a page
    while listed.is_empty() {
        kill_after(&server, &mut crawl(), 25);
        listed = outputs(&sandbox, &database);
    }
    assert!(only(&listed, false) <= length());
    run(&mut crawl()).expect(0);
    assert_eq!(only(&outputs(&sandbox, &database), true), length());
    let counts = url_counts(&sandbox.records("out.jsonl"));
    assert!(counts.values().all(|n| *n == 1), "{counts:?}");
    assert_eq!(counts.into_keys().collect::<Vec<_>>(), expected);
}

/// The end of a run, which must not show a password.
#[track_caller]
fn refused(command: &mut Command, code: i32, words: &[&str]) -> Done {
    let done = run(command).expect(code);
    for word in words {
        assert!(done.stderr.contains(word), "{word:?} is not in:\n{}", done.stderr);
    }
    assert!(!done.stderr.contains("s3cret"), "{}", done.stderr);
    done
}

#[test]
#[ignore = "needs PostgreSQL"]
fn unusable_database_is_explained() {
    let (server, database) = (Server::start(0, harbour()).unwrap(), Database::start());
    let (sandbox, seed) = (Sandbox::new(), server.url("/"));
    let at = |store: &str, flags: &[&str]| {
        let mut command = sandbox.crawl(std::slice::from_ref(&seed), flags);
        command.args(["--store", store]);
        command
    };
    let named = ["--crawl", "c"];
    let nowhere = "postgres://crawl@/postgres?host=/nonexistent";
    let done = refused(&mut at(nowhere, &named), 3, &[nowhere, "cannot be used", "\"c\""]);
    assert_eq!(done.stderr.matches(nowhere).count(), 1, "{}", done.stderr);
    let mut without_file = at(&database.text_url("crawl"), &named);
    without_file.env("PGPASSFILE", "/nonexistent/pgpass");
    refused(&mut without_file, 2, &["PGPASSFILE names /nonexistent/pgpass", "No such file"]);
    refused(&mut at("postgres://crawl:s3cret@localhost/db", &named), 2, &["PGPASSWORD"]);
    refused(&mut at(&database.text_url("crawl"), &[]), 2, &["--crawl"]);
    refused(&mut at("mysql://localhost/db", &named), 2, &["sqlite:PATH"]);
    refused(&mut at(&database.text_url("crawl"), &["--crawl", "a b"]), 2, &["cannot name a crawl"]);
    refused(&mut at(&database.text_url("crawl"), &["--crawl", "c", "--fresh"]), 2, &["--fresh"]);
    refused(&mut sandbox.crawl(std::slice::from_ref(&seed), &named), 2, &["--store"]);

    let mut client = database.client();
    client.batch_execute("CREATE ROLE guest LOGIN PASSWORD 'right'").unwrap();
    let access: String = client.query_one("SHOW hba_file", &[]).unwrap().get(0);
    fs::write(access, "local all guest scram-sha-256\nlocal all all trust\n").unwrap();
    client.batch_execute("SELECT pg_reload_conf()").unwrap();
    let guest = database.text_url("guest");
    let with_password = |password: &str| {
        let mut command = at(&guest, &named);
        command.env("PGPASSWORD", password);
        command
    };
    run::eventually("the server asks for passwords", || {
        run(&mut with_password("s3cret")).stderr.contains("password authentication failed")
    });
    refused(&mut with_password("s3cret"), 3, &["password authentication failed for user \"guest\""]);
}

/// Makes a schema look like that of version 8.
const BACK_TO_8: &str = "SET search_path TO crawl_harbour; UPDATE schema_version SET version = 8; \
                         DROP INDEX hosts_resting; ALTER TABLE crawls DROP COLUMN suffixes; RESET search_path";

#[test]
#[ignore = "needs PostgreSQL"]
fn a_missing_right_is_named_with_its_grant() {
    let (server, database) = (Server::start(0, harbour()).unwrap(), Database::start());
    let (first, second) = (Sandbox::new(), Sandbox::new());
    run(&mut shared(&first, &database, &server.url("/"), &["--limit", "1"])).expect(5);
    let guest = database.text_url("guest");
    let mut client = database.client();
    client.batch_execute("CREATE ROLE guest LOGIN").unwrap();
    let command = |words: &[&str], crawl: &str| {
        let mut command = second.bare();
        command.args(words).args(["--store", &guest, "--crawl", crawl]);
        command
    };
    let usage = "GRANT USAGE ON SCHEMA \"crawl_harbour\" TO \"guest\"";
    for words in ["workers", "status", "outputs"] {
        refused(&mut command(&[words], "harbour"), 3, &[usage, "GRANT SELECT ON ALL TABLES"]);
        refused(&mut command(&[words], "none"), 2, &["holds no crawl named \"none\""]);
    }
    client.batch_execute(usage).unwrap();
    refused(&mut command(&["workers"], "harbour"), 3, &["may not read the table \"crawl_harbour\".", usage]);
    client.batch_execute("GRANT SELECT ON ALL TABLES IN SCHEMA \"crawl_harbour\" TO \"guest\"").unwrap();
    run(&mut command(&["workers"], "harbour")).expect(0);
    run(&mut command(&["status"], "harbour")).expect(0);
    let seed = server.url("/");
    let crawl = [seed.as_str(), "--allow-address", "127.0.0.0/8", "-o", "a.jsonl"];
    let write = "GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA \"crawl_harbour\" TO \"guest\"";
    refused(&mut command(&crawl, "harbour"), 3, &["may not write the table", write]);
    // all rights on the tables do not allow to change them
    client.batch_execute(write).unwrap();
    client.batch_execute(BACK_TO_8).unwrap();
    let owner = "run it as the user \"crawl\"; an administrator can allow it: GRANT \"crawl\" TO \"guest\"";
    refused(&mut command(&["state", "upgrade"], "harbour"), 3, &["does not own", owner]);
    client.batch_execute("GRANT \"crawl\" TO \"guest\"").unwrap();
    run(&mut command(&["state", "upgrade"], "harbour")).expect(0);
    client.batch_execute("REVOKE \"crawl\" FROM \"guest\"").unwrap();
    assert!(run(&mut command(&["state", "upgrade"], "harbour")).expect(0).stdout.contains("up to date"));
    client.batch_execute("REVOKE CREATE ON DATABASE postgres FROM PUBLIC").unwrap();
    refused(&mut command(&crawl, "new"), 3, &["CREATE SCHEMA \"crawl_new\" AUTHORIZATION \"guest\""]);
    client.batch_execute("CREATE SCHEMA \"crawl_new\" AUTHORIZATION \"guest\"").unwrap();
    run(&mut command(&[&crawl[..], &["--depth", "0"]].concat(), "new")).expect(0);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_refused_copy_leaves_no_directory() {
    let (database, sandbox) = (Database::start(), Sandbox::new());
    let copy = |to: &str| {
        let mut command = sandbox.bare();
        command.args(["state", "copy", &database.text_url("crawl"), to, "--crawl", "none"]);
        command
    };
    refused(&mut copy("sqlite:new"), 2, &["holds no crawl named \"none\""]);
    assert!(!sandbox.path("new").exists());
    fs::create_dir(sandbox.path("there")).unwrap();
    refused(&mut copy("sqlite:there"), 2, &["holds no crawl"]);
    assert!(sandbox.path("there").is_dir(), "a directory of the user stays");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn worker_with_other_settings_exits_with_2() {
    let database = Database::start();
    let server = Server::start(0, Slow(harbour())).unwrap();
    let (first, second) = (Sandbox::new(), Sandbox::new());
    // The last worker waits for the hosts of the killed one.
    let short_lease = format!("{}&lease=5", database.text_url("crawl"));
    kill_after(&server, &mut shared_at(&short_lease, &first, &server.url("/"), &[]), 5);
    let mut other = shared(&second, &database, &server.url("/"), &["--scope", "domain"]);
    other.env("CRAWL_POLITENESS_JITTER", "0.2");
    let values = [
        "round 1 of the crawl \"harbour\"",
        "crawl.scope = \"domain\" here, \"host\" in the round; politeness.jitter = 0.2 here, ",
        "--crawl",
    ];
    refused(&mut other, 2, &values);
    // rules are named by their file
    fs::create_dir(second.path("rules")).unwrap();
    fs::write(second.path("rules/score.toml"), "threshold = 40\n").unwrap();
    let mut rules = shared(&second, &database, &server.url("/"), &["--rules", "rules"]);
    refused(
        &mut rules,
        2,
        &["extract.rules", "checksum of the rules rules/score.toml is ", "none in the round"],
    );
    // limits are those of a worker
    run(&mut shared(&second, &database, &server.url("/"), &["--limit", "1"])).expect(5);

    let store = database.text_url("crawl");
    let mut same_place = first.crawl(&[server.url("/")], &FLAGS);
    same_place.args(["--store", &store, "--crawl", "other"]);
    refused(&mut same_place, 2, &["--state-dir", "\"harbour\""]);
    let mut client = database.client();
    client.batch_execute("UPDATE crawl_harbour.schema_version SET version = 99").unwrap();
    refused(&mut shared(&first, &database, &server.url("/"), &[]), 2, &["format 99"]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn status_recognises_a_worker_directory() {
    let (server, database, sandbox) =
        (Server::start(0, harbour()).unwrap(), Database::start(), Sandbox::new());
    run(&mut shared(&sandbox, &database, &server.url("/"), &["--limit", "1"])).expect(5);
    let store = database.text_url("crawl");
    let owner = format!("state belongs to a worker of the crawl \"harbour\" in {store}");
    let bare = |words: &[&str]| {
        let mut command = sandbox.bare();
        command.args(words).args(["--state-dir", "state"]);
        command
    };
    for words in [
        &["retry-errors", "https://a.test/"][..],
        &["state", "check"],
        &["state", "repair"],
        &["state", "upgrade"],
        &["status"],
    ] {
        refused(&mut bare(words), 2, &[&owner, "with --crawl and --store"]);
    }
    for flags in [&FLAGS[..], &[&FLAGS[..], &["--fresh"]].concat()] {
        refused(&mut sandbox.crawl(&[server.url("/")], flags), 2, &[&owner, "--store"]);
    }
    assert!(sandbox.path("state/errors.jsonl").exists() && !sandbox.path("state/crawl.sqlite").exists());

    let idle = "INSERT INTO crawl_harbour.workers (name, lease_until) VALUES ('idle', clock_timestamp() - interval '5 min')";
    database.client().batch_execute(idle).unwrap();
    let in_database = ["--store", &store, "--crawl", "harbour"];
    let workers = |flags: &[&str]| run(sandbox.bare().arg("workers").args(in_database).args(flags)).expect(0);
    let (listed, all) = (workers(&[]), workers(&["--all"]));
    assert!(!listed.stdout.contains("idle") && listed.stderr.contains("1 more"), "{}", listed.stdout);
    assert!(all.stdout.contains("ended 5 min ago") && all.stderr.is_empty(), "{}", all.stdout);
    assert_eq!((listed.stdout.lines().count(), all.stdout.lines().count()), (2, 3));

    for words in ["report", "status"] {
        refused(&mut bare(&[words, "--store", &store, "--crawl", "other"]), 2, &["\"harbour\"", "another"]);
        run(&mut bare(&[words, "--store", &store, "--crawl", "harbour"])).expect(0);
    }
    // an earlier program noted the socket in place of a host
    let (_, socket) = store.split_once("host=").unwrap();
    let noted =
        sandbox.read("state/worker.json").replace(&store, &format!("postgres://crawl@{socket}/postgres"));
    sandbox.write("state/worker.json", noted);
    run(&mut shared(&sandbox, &database, &server.url("/"), &["--limit", "1"])).expect(5);
}

/// Number of Markdown files in a folder and its folders.
fn pages_in(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let pages = |path: PathBuf| {
        if path.is_dir() { pages_in(&path) } else { usize::from(path.extension().is_some_and(|e| e == "md")) }
    };
    entries.map(pages).sum()
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_folder_of_a_worker_is_complete_or_removed() {
    let (database, sandbox) = (Database::start(), Sandbox::new());
    let server = Server::start(0, Slow(harbour())).unwrap();
    let store = database.text_url("crawl");
    let crawl = || {
        let mut command = sandbox.crawl(&[server.url("/")], &["--depth", "6", "-o", "pages/*/"]);
        command.args(["--store", &store, "--crawl", "harbour"]).env("CRAWL_OUTPUT_BATCH", "4");
        command
    };
    let parts = || outputs(&sandbox, &database);
    kill_after(&server, &mut crawl(), 40);
    let is_folder = |part: &Value| part["path"].as_str().unwrap().ends_with('/');
    assert!(parts().iter().all(|part| is_folder(part) && part["isComplete"] == false), "{:?}", parts());
    // the second start ends the part of the first, the third has no record
    let mut listed = Vec::new();
    for _ in 0..2 {
        run(&mut crawl()).expect(0);
        let before = std::mem::replace(&mut listed, parts());
        assert!(before.is_empty() || before == listed, "{before:?} {listed:?}");
        let manifest: Value = serde_json::from_str(&sandbox.read("pages/manifest.json")).unwrap();
        assert_eq!(manifest["parts"], Value::Array(listed.clone()));
    }
    assert!((1..=2).contains(&listed.len()), "{listed:?}");
    let mut urls = Vec::new();
    for part in &listed {
        assert!(is_folder(part) && part["isComplete"] == true, "{part}");
        let index = fs::read(Path::new(part["path"].as_str().unwrap()).join("index.jsonl")).unwrap();
        assert_eq!(part["bytes"], index.len(), "{part}");
        let (folder, index) = (part["path"].as_str().unwrap(), String::from_utf8(index).unwrap());
        assert_eq!(
            pages_in(Path::new(folder)),
            index.lines().count(),
            "a page that was not settled has no file"
        );
        urls.extend(run::lines(&index));
    }
    let counts = url_counts(&urls);
    assert!(counts.len() > 60 && counts.values().all(|n| *n == 1), "{counts:?}");
    let in_folder = sandbox.path("pages").read_dir().unwrap().count();
    assert_eq!(in_folder, listed.len() + 1, "parts and the manifest");
}
