//! Bodies: truncation, decoding, accounting, time limits.

use crate::{
    error, fetch, gzip, page,
    support::{Server, Then, client, html, request, response, settings},
};
use crawl_fetch::{
    ByteBudget, Exchange, FetchError, Fetched, HttpClient, HttpSettings, Recorded, Recorder, SkipKind,
    Truncated,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::io::AsyncWriteExt;

#[tokio::test]
async fn body_is_truncated_at_the_size_limit() {
    let bomb = gzip(&vec![b' '; 50 << 20]);
    let server = Server::start(move |seen, mut stream| {
        let bomb = bomb.clone();
        async move {
            let kind = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
            match seen.path.as_str() {
                "/bomb" => {
                    let head =
                        format!("{kind}Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", bomb.len());
                    let _ = stream.write_all(head.as_bytes()).await;
                    let _ = stream.write_all(&bomb).await;
                }
                path => {
                    let framing = if path == "/long" { "Content-Length: 3000000\r\n\r\n" } else { "\r\n" };
                    let _ = stream.write_all(format!("{kind}{framing}").as_bytes()).await;
                    while stream.write_all(&[b'x'; 10_000]).await.is_ok() {}
                }
            }
            (stream, Then::Close)
        }
    })
    .await;
    let client = client(settings());
    for path in ["/bomb", "/endless", "/long"] {
        let page = page(client.fetch(request(server.url(path))).await);
        assert_eq!(page.body.bytes.len(), 1 << 20, "{path}");
        assert!(page.body.truncated, "{path}");
        assert_eq!(client.budget().used(), 1 << 20, "{path}");
    }
}

#[tokio::test]
async fn excessive_content_length_is_refused() {
    let server = Server::start(|_, mut stream| async move {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000000000000\r\n\r\nx";
        let _ = stream.write_all(head.as_bytes()).await;
        (stream, Then::KeepOpen)
    })
    .await;
    assert_eq!(
        error(fetch(&server, "/").await),
        FetchError::TooLarge { announced: 1_000_000_000_000, cap: 1 << 20 }
    );
}

#[tokio::test]
async fn a_wrong_coding_is_an_encoding_error() {
    let server = Server::answering(|seen| {
        let coding = seen.path.trim_start_matches('/');
        let headers = format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n");
        response("200 OK", &headers, b"<p>plain</p>")
    })
    .await;
    for coding in ["gzip", "br", "zstd", "gzip,gzip,gzip,gzip"] {
        let error = error(fetch(&server, &format!("/{coding}")).await);
        assert!(matches!(error, FetchError::Encoding { .. }), "{coding}: {error:?}");
    }
}

/// A document whose last tag has arrived is whole, however the rest of its message ends.
#[tokio::test]
async fn a_page_whose_last_tag_arrived_is_kept_if_the_connection_ends_early_or_stays_open() {
    let server = Server::start(|seen, mut stream| async move {
        let kind = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
        let length = "Content-Length: 9999\r\n\r\n";
        let path = seen.path.trim_start_matches('/');
        let (path, then) = match path.strip_prefix("open-") {
            Some(path) => (path, Then::KeepOpen),
            None => (path, Then::Close),
        };
        let (framing, tail) = match path {
            "length" => (length, "<p>text</p></body></HTML>\n"),
            "chunk" => ("Transfer-Encoding: chunked\r\n\r\n14\r\n", "<p>text</p>  </html>\r\n"),
            "none" => ("Connection: close\r\n\r\n", "<p>text</p></html>"),
            "comments" => (length, "<p>text</p></html>\n<!-- 2 ms -->\n<!-- cached -- -->\n"),
            "sitemap" => (length, "<urlset></urlset>\n"),
            "comment" => (length, "<p>text</p><!-- </html> -->"),
            _ => (length, "<p>text</p></html><p>more"),
        };
        let _ = stream.write_all(format!("{kind}{framing}{tail}").as_bytes()).await;
        (stream, then)
    })
    .await;
    let settings = || HttpSettings { read_timeout: Duration::from_millis(300), ..settings() };
    let client = client(settings());
    for path in ["length", "chunk", "comments", "open-length", "open-chunk", "open-none", "open-comments"] {
        let page = page(client.fetch(request(server.url(&format!("/{path}")))).await);
        assert!(page.body.bytes.starts_with(b"<p>text</p>"), "{path}");
        // more might have come on an open connection
        assert_eq!(page.body.truncated, path.starts_with("open-"), "{path}");
    }
    for path in ["cut", "comment"] {
        let error = error(client.fetch(request(server.url(&format!("/{path}")))).await);
        assert!(matches!(error, FetchError::ConnectionLost(_)), "{path}: {error}");
    }
    assert!(error(client.fetch(request(server.url("/open-cut"))).await).is_timeout());
    for path in ["sitemap", "open-sitemap", "length"] {
        let file = client.fetch_resource(&server.url(&format!("/{path}")), 9_999).await.unwrap();
        assert!(!file.body.is_empty() && !file.truncated, "{path}");
    }
    assert!(client.fetch_resource(&server.url("/cut"), 9_999).await.is_err());
}

/// An error or a redirect needs no body.
#[tokio::test]
async fn a_file_without_a_readable_body_has_its_status_unless_it_is_there() {
    let server = Server::start(|seen, mut stream| async move {
        let (status, framing) = seen.path[1..].split_once('/').unwrap();
        let framing = if framing == "coding" {
            "Content-Encoding: br\r\nContent-Length: 2"
        } else {
            "Content-Length: 9"
        };
        let head = format!("HTTP/1.1 {status} x\r\nLocation: /to\r\nRetry-After: 7\r\n{framing}\r\n\r\nno");
        let _ = stream.write_all(head.as_bytes()).await;
        (stream, if seen.path.ends_with("open") { Then::KeepOpen } else { Then::Close })
    })
    .await;
    let client = client(HttpSettings { read_timeout: Duration::from_millis(300), ..settings() });
    for framing in ["cut", "open", "coding"] {
        for status in [301, 404, 503] {
            let url = server.url(&format!("/{status}/{framing}"));
            let file = client.fetch_resource(&url, 9_999).await.unwrap();
            assert_eq!((file.status, file.redirect.is_some()), (status, status == 301), "{url}");
            assert_eq!(file.retry_after, Some(Duration::from_secs(7)), "{url}");
        }
        assert!(
            client.fetch_resource(&server.url(&format!("/200/{framing}")), 9_999).await.is_err(),
            "{framing}"
        );
    }
}

/// Recorder that keeps the bodies and their ends.
#[derive(Default)]
struct Bodies(Mutex<Vec<(Vec<u8>, Option<Truncated>)>>);

impl Recorder for Bodies {
    fn record(&self, exchange: Exchange) -> Recorded<'_> {
        self.0.lock().unwrap().push((exchange.body.to_vec(), exchange.truncated));
        Box::pin(std::future::ready(None))
    }
}

#[tokio::test]
async fn body_that_breaks_off_is_recorded_as_far_as_it_came() {
    let packed = gzip(b"<p>some words");
    let sent = packed.clone();
    let server = Server::start(move |seen, mut stream| {
        let (coding, body) = match seen.path.as_str() {
            "/gzip" => ("Content-Encoding: gzip\r\n", sent.clone()),
            _ => ("", b"<p>some words".to_vec()),
        };
        async move {
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{coding}Content-Length: 999\r\n\r\n");
            let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
            (stream, Then::Close)
        }
    })
    .await;
    let bodies = Arc::new(Bodies::default());
    let mut client = client(settings());
    client.record_to(Arc::clone(&bodies) as Arc<dyn Recorder>);
    for path in ["/plain", "/gzip"] {
        error(client.fetch(request(server.url(path))).await);
        client.fetch_resource(&server.url(path), 9_999).await.unwrap_err();
    }
    let plain = (b"<p>some words".to_vec(), Some(Truncated::Disconnect));
    let coded = (packed, Some(Truncated::Disconnect));
    assert_eq!(*bodies.0.lock().unwrap(), [plain.clone(), plain, coded.clone(), coded]);
}

/// A decoder gives a short body at its end.
#[tokio::test]
async fn short_encoded_bodies_of_other_formats_are_no_pages() {
    let server = Server::answering(|seen| {
        let body: &[u8] = if seen.path == "/pdf" { b"%PDF-1.7\n" } else { b"\x1f\x8b\x08\0" };
        response("200 OK", "Content-Type: text/html\r\nContent-Encoding: gzip\r\n", &gzip(body))
    })
    .await;
    for path in ["/pdf", "/gzip"] {
        let fetched = fetch(&server, path).await;
        assert!(matches!(fetched, Fetched::Skipped { kind: SkipKind::Sniffed, .. }), "{fetched:?}");
    }
}

#[tokio::test]
async fn an_unknown_coding_of_a_text_is_ignored() {
    let server = Server::answering(|seen| {
        let (coding, kind) = seen.path[1..].split_once('/').unwrap();
        let headers = format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n");
        let text = b"<p>plain</p>";
        let packed = gzip(text);
        let body = match kind {
            "text" => &text[..],
            "gzip" => &packed,
            _ => b"\x1f\x9d\x90\x01\x02\x03",
        };
        response("200 OK", &headers, body)
    })
    .await;
    for path in ["/utf-8/text", "/none/text", "/UTF-8,gzip/gzip", "/compress/text"] {
        assert_eq!(&page(fetch(&server, path).await).body.bytes[..], b"<p>plain</p>", "{path}");
    }
    let fetched = fetch(&server, "/utf-8/gzip").await;
    assert!(matches!(fetched, Fetched::Skipped { kind: SkipKind::Sniffed, .. }), "{fetched:?}");
    let error = error(fetch(&server, "/compress/binary").await);
    assert!(matches!(error, FetchError::Encoding { .. }), "{error:?}");
    let file = client(settings()).fetch_resource(&server.url("/utf-8/gzip"), 99).await;
    assert!(file.is_ok(), "a sitemap may be packed: {file:?}");
    let resource = client(settings()).fetch_resource(&server.url("/compress/binary"), 99).await;
    assert!(matches!(resource, Err(FetchError::Encoding { .. })), "{resource:?}");
}

#[tokio::test]
async fn full_budget_delays_a_body_but_not_its_timeout() {
    let server = Server::answering(|_| html(&"x".repeat(100))).await;
    let budget = ByteBudget::new(100);
    let short = HttpSettings { total_timeout: Duration::from_secs(1), ..settings() };
    let client = HttpClient::new(short, budget.clone()).unwrap();
    let first = page(client.fetch(request(server.url("/"))).await);
    let second = client.fetch(request(server.url("/")));
    tokio::pin!(second);
    let waits = tokio::time::timeout(Duration::from_millis(1_500), &mut second).await;
    assert!(waits.is_err(), "the budget is used up");
    drop(first);
    page(second.await);
}

#[tokio::test]
async fn only_large_resources_count_for_the_budget() {
    let server = Server::answering(|_| html(&"x".repeat(100_000))).await;
    let budget = ByteBudget::new(50_000);
    let client = HttpClient::new(settings(), budget.clone()).unwrap();
    let sitemap = client.fetch_large_resource(&server.url("/"), 1 << 20).await.unwrap();
    assert_eq!((sitemap.body.len(), budget.used()), (100_000, 100_000));
    let robots = client.fetch_resource(&server.url("/"), 1 << 20).await.unwrap();
    assert_eq!((robots.body.len(), budget.used()), (100_000, 100_000), "it neither waits nor counts");
    let url = server.url("/");
    let second = tokio::time::timeout(Duration::from_millis(300), client.fetch_large_resource(&url, 1 << 20));
    assert!(second.await.is_err(), "the budget is used up");
    drop(sitemap);
    assert_eq!(budget.used(), 0);
}

#[tokio::test]
async fn endless_body_of_tiny_chunks_is_aborted() {
    let server = Server::start(|_, mut stream| async move {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";
        let _ = stream.write_all(head.as_bytes()).await;
        let chunks = b"1\r\nx\r\n".repeat(10_000);
        while stream.write_all(&chunks).await.is_ok() {}
        (stream, Then::Close)
    })
    .await;
    let error = error(fetch(&server, "/").await);
    assert!(matches!(&error, FetchError::Protocol(words) if words.contains("pieces")), "{error:?}");
}
