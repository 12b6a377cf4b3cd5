//! Stops of a worker whose database has gone.

use crate::{
    database::Server as Database,
    run::{PATIENCE, Run, Sandbox, eventually},
    support::{made::Tree, server::Server},
};
use std::{fs, os::unix::net::UnixListener, path::Path, time::Duration};

/// A listener in place of the server, which accepts connections and says nothing.
fn silent(database: &mut Database) -> UnixListener {
    let folder = database.url().to_string();
    let folder = folder.split_once("host=").unwrap().1.to_owned();
    database.crash();
    let socket = Path::new(&folder).join(".s.PGSQL.5432");
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

#[test]
#[ignore = "needs PostgreSQL"]
fn interrupt_ends_a_worker_whose_database_is_silent() {
    let slow = Tree { delay: Duration::from_millis(100), ..Tree::of(60) };
    let (server, sandbox, mut database) =
        (Server::start(0, slow.handler()).unwrap(), Sandbox::new(), Database::start());
    let store = format!("{}&connect_timeout=1", database.text_url("crawl"));
    let flags = ["-o", "out.jsonl", "--store", &store, "--crawl", "c"];
    let worker = Run::start(&mut sandbox.crawl(&[server.url("/")], &flags));
    assert!(server.wait(PATIENCE, |requests| requests.len() > 5), "{}", worker.stderr_so_far());
    let listener = silent(&mut database);
    let mut connections = Vec::new();
    eventually("the worker connects again", || {
        connections.extend(listener.accept().ok());
        !connections.is_empty()
    });
    worker.signal("INT");
    let said = worker.wait().expect(130).stderr;
    assert!(said.contains("stopping:") && said.contains("stopped while"), "{said}");
}
