//! Limits of the server: slow, greedy and foreign clients, and its shutdown.

use crate::{
    run::{self, Sandbox, eventually},
    served::{Served, TOKEN, fill, started},
};
use crawl_model::ProjectStore;
use crawl_store::SqliteProjects;
use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

#[test]
fn slow_clients_are_disconnected() {
    let sandbox = Sandbox::new();
    let served = Served::start(&sandbox, &[("CRAWL_SERVE_TOKEN", TOKEN), ("CRAWL_SERVE_TIMEOUT", "300ms")]);
    // endless headers: the connection is closed
    let mut stream = TcpStream::connect(&served.address).unwrap();
    stream.set_read_timeout(Some(run::PATIENCE)).unwrap();
    stream.write_all(b"GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\nx-").unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
    // a missing body: 408
    let request = format!(
        "POST /api/v1/projects HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: 20\r\n\r\n{{"
    );
    assert_eq!(served.raw(&request).status, 408);
}

/// Opens connections that send `request` and never read an answer.
fn unread(address: &str, connections: usize, request: &str) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nonblocking(true).unwrap();
        while stream.write(request.as_bytes()).is_ok_and(|written| written > 0) {}
        stream
    };
    (0..connections).map(open).collect()
}

#[test]
fn clients_without_the_token_do_not_block_others() {
    let (_sandbox, served) = started();
    let document = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(200);
    for request in ["", "GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\nx-", &document] {
        let held = unread(&served.address, 100, request);
        let began = Instant::now();
        assert_eq!(served.ask("GET", "/api/v1/projects").status, 200);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        drop(held);
    }
}

#[test]
fn connection_with_unread_responses_is_closed() {
    let sandbox = Sandbox::new();
    let served = Served::start(&sandbox, &[("CRAWL_SERVE_TOKEN", TOKEN), ("CRAWL_SERVE_TIMEOUT", "300ms")]);
    let request = format!(
        "GET /api/v1/openapi.json HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
    );
    let mut held = unread(&served.address, 1, &request.repeat(200));
    // its buffers are full until the server closes it
    eventually("the server closes the connection", || {
        held[0].write(b"x").is_err_and(|error| error.kind() != ErrorKind::WouldBlock)
    });
}

#[test]
fn requests_without_the_token_are_rate_limited() {
    let (_sandbox, served) = started();
    let request = "GET /api/v1/projects HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut statuses = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(&served.address).unwrap();
        stream.set_read_timeout(Some(run::PATIENCE)).unwrap();
        stream.write_all(request.repeat(40).as_bytes()).unwrap();
        let mut answers = Vec::new();
        let _ = stream.read_to_end(&mut answers);
        let answers = String::from_utf8_lossy(&answers).into_owned();
        let found = answers.match_indices("HTTP/1.1 ").filter_map(|(at, _)| answers.get(at + 9..at + 12));
        let found: Vec<String> = found.map(str::to_owned).collect();
        assert!(found.len() <= 32, "{}", found.len());
        statuses.extend(found);
    }
    assert!(statuses.iter().any(|status| status == "401") && statuses.iter().any(|status| status == "429"));
    assert_eq!(served.ask("GET", "/api/v1/projects").status, 200, "a token is not counted");
}

#[test]
fn oversized_content_length_is_refused_at_once() {
    let (_sandbox, served) = started();
    let request = format!(
        "POST /api/v1/projects HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: 1000000\r\n\r\n{{"
    );
    let began = Instant::now();
    assert_eq!(served.raw(&request).status, 413);
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn stopping_server_answers_open_requests() {
    let (sandbox, served) = started();
    let path = format!("/api/v1/projects/{}/analyze-boilerplate?mode=exact", fill(&sandbox, "p", 3_000));
    let asking = std::thread::scope(|scope| {
        let asked = std::thread::Builder::new().spawn_scoped(scope, || served.ask("POST", &path)).unwrap();
        std::thread::Builder::new()
            .spawn_scoped(scope, || {
                // long enough on most machines to interrupt it; either answer is correct
                let store = SqliteProjects::open(&sandbox.path("p.sqlite")).unwrap();
                assert!(store.projects(0, 1).unwrap().len() == 1);
                served.run.signal("TERM");
            })
            .unwrap();
        asked.join()
    });
    let status = asking.map(|answer| answer.status);
    served.run.wait().expect(0);
    let store = SqliteProjects::open(&sandbox.path("p.sqlite")).unwrap();
    let id = store.project_named("p").unwrap().unwrap().id;
    match status {
        Ok(200) => assert_eq!(store.boilerplate(id, None).unwrap().len(), 2),
        Ok(503) => {
            assert!(store.boilerplate(id, None).unwrap().is_empty(), "stopped, and nothing was changed");
        }
        // the signal came before the connection was made
        Err(_) => {}
        Ok(other) => panic!("{other}"),
    }
}
