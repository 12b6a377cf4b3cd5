//! Servers that violate the protocol, the connection or the time limits.

use crate::{
    error, fetch, page,
    support::{Server, Then, client, html, request, settings},
};
use crawl_fetch::{FetchError, HttpClient, HttpSettings, Phase};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use url::Url;

#[tokio::test]
async fn non_http_response_is_a_protocol_error() {
    let server = Server::start(|seen, mut stream| async move {
        let answer: &[u8] = match seen.path.as_str() {
            "/garbage" => b"GARBAGE\r\n\r\n",
            "/http09" => b"<html>no headers</html>",
            "/lengths" => b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\nhello1234",
            "/negative" => b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello",
            _ => {
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nx\r\n"
            }
        };
        let _ = stream.write_all(answer).await;
        (stream, Then::Close)
    })
    .await;
    for path in ["/garbage", "/http09", "/lengths", "/negative", "/chunk"] {
        let error = error(fetch(&server, path).await);
        assert!(matches!(error, FetchError::Protocol(_)), "{path}: {error:?}");
        assert!(!error.is_transient());
    }
}

#[tokio::test]
async fn endless_headers_are_a_protocol_error() {
    for filler in [&b"X-Header: value\r\n"[..], &[b'a'; 4096][..]] {
        let server = Server::start(move |_, mut stream| async move {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX: ").await;
            while stream.write_all(filler).await.is_ok() {}
            (stream, Then::Close)
        })
        .await;
        assert!(matches!(error(fetch(&server, "/").await), FetchError::Protocol(_)));
    }
}

#[tokio::test]
async fn broken_connection_is_connection_lost() {
    let server = Server::start(|seen, mut stream| async move {
        let kind = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
        let answer = match seen.path.as_str() {
            "/nothing" => String::new(),
            "/short" => format!("{kind}Content-Length: 1000\r\n\r\nonly ten b"),
            _ => format!("{kind}Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\nff\r\npart"),
        };
        let _ = stream.write_all(answer.as_bytes()).await;
        (stream, Then::Close)
    })
    .await;
    for path in ["/nothing", "/short", "/chunked"] {
        let error = error(fetch(&server, path).await);
        assert!(matches!(error, FetchError::ConnectionLost(_)), "{path}: {error:?}");
        assert!(error.is_transient());
    }
}

/// A full server may answer before it has read a request, and close the connection.
#[tokio::test]
async fn answer_before_the_request_is_a_lost_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.write_all(b"HTTP/1.1 503 Full\r\nContent-Length: 0\r\n\r\n").await;
        }
    });
    let mut lost = 0;
    for _ in 0..50 {
        let error = error(client(settings()).fetch(request(url.clone())).await);
        // a request that is quicker than the answer gets it
        assert!(error.is_transient(), "{error:?}");
        lost += u32::from(matches!(error, FetchError::ConnectionLost(_)));
    }
    assert!(lost > 0, "no answer came before its request");
}

#[tokio::test]
async fn dead_port_and_unknown_name_are_different_errors() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let client = client(settings());
    let refused = error(client.fetch(request(Url::parse(&format!("http://{gone}/")).unwrap())).await);
    assert!(matches!(&refused, FetchError::Connect { host, .. } if host == "127.0.0.1"), "{refused:?}");
    let unknown = error(client.fetch(request(Url::parse("http://no-such-name.invalid/").unwrap())).await);
    assert!(
        matches!(&unknown, FetchError::Dns { host, .. } if host == "no-such-name.invalid"),
        "{unknown:?}"
    );
    assert!(refused.is_unreachable() && unknown.is_unreachable());
    assert!(refused.is_transient() && !unknown.is_transient(), "no such name is an answer");
}

#[tokio::test]
async fn each_timeout_names_its_phase() {
    let server = Server::start(|seen, mut stream| async move {
        let kind = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n";
        if seen.path != "/headers" {
            let _ = stream.write_all(kind.as_bytes()).await;
        }
        if seen.path == "/drip" {
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        tokio::time::sleep(Duration::from_secs(20)).await;
        (stream, Then::Close)
    })
    .await;
    let short = || HttpSettings {
        connect_timeout: Duration::from_millis(500),
        read_timeout: Duration::from_secs(1),
        total_timeout: Duration::from_secs(3),
        min_rate_bytes: 1,
        ..settings()
    };
    for (path, phase) in [("/headers", Phase::Headers), ("/body", Phase::Body), ("/drip", Phase::Total)] {
        let error = error(client(short()).fetch(request(server.url(path))).await);
        assert!(
            matches!(error, FetchError::Timeout { phase: found, .. } if found == phase),
            "{path}: {error:?}"
        );
        assert_eq!(error.is_transient(), phase != Phase::Total);
    }
    let dripping = HttpSettings { min_rate_bytes: 256, ..short() };
    let error = error(client(dripping).fetch(request(server.url("/drip"))).await);
    assert_eq!(error, FetchError::TooSlow { min_rate: 256 });
    assert!(error.is_transient() && error.is_timeout() && !error.is_unanswered());
}

/// A client for several hosts of one server, `h0.test` and so on.
fn many_hosts(server: &Server, max_connections: usize) -> HttpClient {
    let port = server.address.port();
    let rule = |n| format!("h{n}.test:{port}:127.0.0.1").parse().unwrap();
    client(HttpSettings { resolve: (0..40).map(rule).collect(), max_connections, ..settings() })
}

#[tokio::test]
async fn idle_connections_are_bounded_over_all_hosts() {
    let server = Server::answering(|_| html("x")).await;
    let url = |n: usize| Url::parse(&format!("http://h{n}.test:{}/", server.address.port())).unwrap();
    let bounded = many_hosts(&server, 8);
    for n in 0..37 {
        page(bounded.fetch(request(url(n))).await);
        server.at_most_open(8).await;
    }
    let before = server.connections();
    for _ in 0..40 {
        page(bounded.fetch(request(url(36))).await);
    }
    assert_eq!(server.connections(), before, "few hosts keep their connections");
    drop(bounded);
    let none = many_hosts(&server, 0);
    for n in 0..3 {
        page(none.fetch(request(url(n))).await);
        server.at_most_open(0).await;
    }
}

#[tokio::test]
async fn closed_keep_alive_connection_loses_no_page() {
    let server = Server::start(|_, mut stream| async move {
        let _ = stream.write_all(&html("x")).await;
        (stream, Then::Close)
    })
    .await;
    let client = client(settings());
    for _ in 0..5 {
        page(client.fetch(request(server.url("/"))).await);
    }
    assert_eq!(server.connections(), 5);
}
