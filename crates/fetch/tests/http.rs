//! The HTTP client against servers that behave and servers that do not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which clippy does not see as such")]

mod support;

use crawl_fetch::{
    ByteBudget, FetchError, Fetched, HostAuth, HttpClient, HttpSettings, ProxyChoice, SkipKind,
};
use crawl_model::{FetchedPage, Strategy};
use flate2::{Compression, write::GzEncoder};
use std::{io::Write, time::Duration};
use support::{Server, Then, client, html, request, response, settings};
use tokio::io::AsyncWriteExt;
use url::Url;

fn page(fetched: Fetched) -> Box<FetchedPage> {
    match fetched {
        Fetched::Page(page) => page,
        other => panic!("no page: {other:?}"),
    }
}

fn error(fetched: Fetched) -> FetchError {
    match fetched {
        Fetched::Failed { error, .. } => error,
        other => panic!("no failure: {other:?}"),
    }
}

async fn fetch(server: &Server, path: &str) -> Fetched {
    client(settings()).fetch(request(server.url(path))).await
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_page_comes_with_everything_that_was_said_about_it() {
    let body = gzip(b"<p>hello</p>");
    let answer = response(
        "200 OK",
        "Content-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\nETag: \"v1\"\r\nX-A: 1\r\nX-A: 2\r\n",
        &body,
    );
    let server = Server::answering(move |_| answer.clone()).await;
    let budget = ByteBudget::new(1 << 20);
    let client = HttpClient::new(settings(), budget.clone()).unwrap();
    let page = page(client.fetch(request(server.url("/x?y"))).await);
    assert_eq!(&page.body.bytes[..], b"<p>hello</p>");
    assert_eq!((page.status, page.wire_bytes, page.body.truncated), (200, body.len() as u64, false));
    assert_eq!((page.final_url.clone(), page.strategy), (server.url("/x?y"), Strategy::Static));
    assert_eq!(page.headers.get("etag"), Some("\"v1\""));
    assert_eq!(page.headers.all("x-a").collect::<Vec<_>>(), ["1", "2"]);
    assert!(page.timings.started_at_ms > 1_600_000_000_000);
    assert_eq!((budget.used(), budget.bodies()), (12, 1), "the body is accounted until it is dropped");
    drop(page);
    assert_eq!((budget.used(), budget.bodies()), (0, 0));
    let seen = &server.seen()[0];
    assert_eq!(seen.path, "/x?y");
    assert!(seen.header("user-agent").unwrap().starts_with("crawl/"));
    assert!(seen.header("accept-encoding").unwrap().contains("br"));
    assert_eq!(seen.header("if-none-match"), None);
}

#[tokio::test]
async fn redirects_are_told_and_not_followed() {
    let server = Server::answering(|seen| {
        let location: &[u8] = match seen.path.as_str() {
            "/relative" => b"Location: ../x\r\n",
            "/utf8" => "Location: /café\r\n".as_bytes(),
            "/userinfo" => b"Location: http://u:p@other.test/#f\r\n",
            "/none" => b"",
            "/empty" => b"Location: \r\n",
            "/scheme" => b"Location: javascript:alert(1)\r\n",
            _ => b"Location: http://[bad/\r\n",
        };
        let mut out = b"HTTP/1.1 302 Found\r\nContent-Length: 2\r\n".to_vec();
        out.extend_from_slice(location);
        out.extend_from_slice(b"\r\nno");
        out
    })
    .await;
    let client = client(settings());
    for (path, to) in [
        ("/relative", server.url("/x")),
        ("/utf8", server.url("/caf%C3%A9")),
        ("/userinfo", Url::parse("http://other.test/").unwrap()),
    ] {
        match client.fetch(request(server.url(path))).await {
            Fetched::Redirect { to: found, status: 302, .. } => assert_eq!(found, to),
            other => panic!("{path}: {other:?}"),
        }
    }
    for path in ["/none", "/empty", "/scheme", "/bad"] {
        assert!(
            matches!(error(client.fetch(request(server.url(path))).await), FetchError::Redirect(_)),
            "{path}"
        );
    }
    assert_eq!(server.seen().len(), 7, "nothing was followed");
    assert_eq!(server.connections(), 1, "small unwanted bodies do not cost the connection");
}

#[tokio::test]
async fn what_is_no_page_is_skipped_by_kind() {
    let server = Server::answering(|seen| match seen.path.as_str() {
        "/png" => response("200 OK", "Content-Type: image/png\r\n", b"x"),
        "/attached" => {
            response("200 OK", "Content-Type: text/html\r\nContent-Disposition: attachment\r\n", b"x")
        }
        "/pdf" => response("200 OK", "Content-Type: text/html\r\n", b"%PDF-1.7 rubbish"),
        "/rss" => response("200 OK", "Content-Type: text/xml\r\n", b"<?xml version='1.0'?><rss/>"),
        "/binary" => response("200 OK", "", b"\x01\x02\x03"),
        "/empty" => response("200 OK", "Content-Type: text/html\r\n", b""),
        "/204" => b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
        _ => b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec(),
    })
    .await;
    let client = client(settings());
    for (path, expected) in [
        ("/png", SkipKind::ContentType),
        ("/attached", SkipKind::Attachment),
        ("/pdf", SkipKind::Sniffed),
        ("/rss", SkipKind::Sniffed),
        ("/binary", SkipKind::Sniffed),
        ("/empty", SkipKind::NoContent),
        ("/204", SkipKind::NoContent),
        ("/304", SkipKind::NotModified),
    ] {
        match client.fetch(request(server.url(path))).await {
            Fetched::Skipped { kind, .. } => assert_eq!(kind, expected, "{path}"),
            other => panic!("{path}: {other:?}"),
        }
    }
    assert_eq!(client.budget().used(), 0);
}

#[tokio::test]
async fn a_missing_type_is_sniffed_and_xhtml_passes() {
    let server = Server::answering(|seen| match seen.path.as_str() {
        "/none" => response("200 OK", "", b"<!doctype html><p>x"),
        _ => {
            response("200 OK", "Content-Type: application/xml\r\n", b"<?xml version='1.0'?><html xmlns='x'>")
        }
    })
    .await;
    page(fetch(&server, "/none").await);
    page(fetch(&server, "/xhtml").await);
}

#[tokio::test]
async fn error_statuses_bring_retry_after_in_both_forms() {
    let server = Server::answering(|seen| {
        let soon = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(90));
        let (status, after) = match seen.path.as_str() {
            "/seconds" => ("429 Too Many Requests", "7".to_owned()),
            "/date" => ("503 Service Unavailable", soon),
            "/past" => ("503 Service Unavailable", "Wed, 21 Oct 2015 07:28:00 GMT".to_owned()),
            "/huge" => ("429 Too Many Requests", "99999999999".to_owned()),
            _ => ("999 Odd", "soon".to_owned()),
        };
        response(status, &format!("Retry-After: {after}\r\n"), b"error")
    })
    .await;
    let client = client(settings());
    let mut found = Vec::new();
    for path in ["/seconds", "/date", "/past", "/huge", "/odd"] {
        match client.fetch(request(server.url(path))).await {
            Fetched::Failed { error: FetchError::Status(code), status, retry_after, .. } => {
                assert_eq!(status, Some(code));
                found.push((code, retry_after.map(|d| d.as_secs())));
            }
            other => panic!("{path}: {other:?}"),
        }
    }
    let date = found[1].1.unwrap();
    assert!((80..=90).contains(&date), "{date}");
    found[1].1 = None;
    assert_eq!(found, [(429, Some(7)), (503, None), (503, None), (429, None), (999, None)]);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_body_is_cut_at_the_cap_however_it_comes() {
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
async fn what_is_not_http_is_a_protocol_error() {
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
        if seen.path == "/headers" {
            while stream.write_all(b"X-Header: value\r\n").await.is_ok() {}
        }
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
async fn headers_without_end_are_refused_in_little_memory() {
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
async fn a_connection_that_breaks_is_lost_and_never_a_whole_page() {
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

#[tokio::test]
async fn a_dead_port_and_an_unknown_name_are_told_apart() {
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
}

#[tokio::test]
async fn plain_text_on_a_tls_port_is_a_tls_error() {
    let server = Server::start(|_, stream| async move { (stream, Then::Close) }).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            // held open, so that the client reads it before the end
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    });
    drop(server);
    let url = Url::parse(&format!("https://{address}/")).unwrap();
    let error = error(client(settings()).fetch(request(url)).await);
    assert!(matches!(error, FetchError::Tls { .. }), "{error:?}");
}

#[tokio::test]
async fn each_time_limit_is_reported_as_itself() {
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
        ..settings()
    };
    use crawl_fetch::Phase;
    for (path, phase) in [("/headers", Phase::Headers), ("/body", Phase::Body), ("/drip", Phase::Total)] {
        let error = error(client(short()).fetch(request(server.url(path))).await);
        assert!(
            matches!(error, FetchError::Timeout { phase: found, .. } if found == phase),
            "{path}: {error:?}"
        );
        assert_eq!(error.is_transient(), phase != Phase::Total);
    }
}

#[tokio::test]
async fn an_announced_length_beyond_all_use_is_not_begun() {
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
    for coding in ["gzip", "br", "zstd", "compress", "gzip,gzip,gzip,gzip"] {
        let error = error(fetch(&server, &format!("/{coding}")).await);
        assert!(matches!(error, FetchError::Encoding { .. }), "{coding}: {error:?}");
    }
}

#[tokio::test]
async fn private_addresses_are_refused_in_every_notation_before_any_connection() {
    let server = Server::answering(|_| html("secret")).await;
    let port = server.address.port();
    let client = client(HttpSettings {
        addresses: crawl_fetch::AddressPolicy::default(),
        resolve: vec![format!("named.test:{port}:127.0.0.1").parse().unwrap()],
        ..settings()
    });
    for host in
        ["127.0.0.1", "2130706433", "0177.0.0.01", "0x7f.1", "[::ffff:127.0.0.1]", "localhost", "named.test"]
    {
        let url = Url::parse(&format!("http://{host}:{port}/")).unwrap();
        let error = error(client.fetch(request(url)).await);
        assert!(matches!(error, FetchError::AddressBlocked { .. }), "{host}: {error:?}");
    }
    assert_eq!(server.connections(), 0);
    for url in ["file:///etc/passwd", "gopher://127.0.0.1/"] {
        let error = error(client.fetch(request(Url::parse(url).unwrap())).await);
        assert!(matches!(error, FetchError::Url(_)), "{url}: {error:?}");
    }
}

#[tokio::test]
async fn resolve_rules_hold_for_their_port_alone() {
    let server = Server::answering(|_| html("here")).await;
    let port = server.address.port();
    let client = client(HttpSettings {
        resolve: vec![format!("named.invalid:{port}:127.0.0.1").parse().unwrap()],
        ..settings()
    });
    page(client.fetch(request(Url::parse(&format!("http://NAMED.invalid:{port}/")).unwrap())).await);
    assert_eq!(server.seen()[0].header("host"), Some(format!("named.invalid:{port}").as_str()));
    let elsewhere = error(client.fetch(request(Url::parse("http://named.invalid:1/").unwrap())).await);
    assert!(matches!(elsewhere, FetchError::Dns { .. }), "{elsewhere:?}");
}

#[tokio::test]
async fn credentials_go_to_their_host_alone_and_never_from_a_url() {
    let server = Server::answering(|_| html("x")).await;
    let port = server.address.port();
    let resolve =
        ["mine.test", "other.test"].map(|h| format!("{h}:{port}:127.0.0.1").parse().unwrap()).to_vec();
    let auth =
        vec![HostAuth { host: format!("mine.test:{port}"), user: "me".into(), password: "secret".into() }];
    assert!(!format!("{auth:?}").contains("secret"));
    let client = client(HttpSettings { resolve, auth, ..settings() });
    for host in ["mine.test", "u:p@other.test"] {
        page(client.fetch(request(Url::parse(&format!("http://{host}:{port}/")).unwrap())).await);
    }
    let sent: Vec<_> = server.seen().iter().map(|s| s.header("authorization").map(str::to_owned)).collect();
    assert_eq!(sent, [Some("Basic bWU6c2VjcmV0".into()), None]);
}

#[tokio::test]
async fn a_proxy_gets_names_and_never_what_is_named_by_address() {
    let proxy = Server::answering(|_| html("by proxy")).await;
    let direct = Server::answering(|_| html("direct")).await;
    let port = direct.address.port();
    let client = client(HttpSettings {
        proxy: ProxyChoice::Url(proxy.url("/")),
        resolve: vec![format!("fixed.test:{port}:127.0.0.1").parse().unwrap()],
        ..settings()
    });
    let body = async |url: &str| {
        let page = page(client.fetch(request(Url::parse(url).unwrap())).await);
        String::from_utf8_lossy(&page.body.bytes).into_owned()
    };
    assert_eq!(body("http://elsewhere.test/x").await, "by proxy");
    assert_eq!(proxy.seen()[0].path, "http://elsewhere.test/x");
    assert_eq!(body(&format!("http://fixed.test:{port}/")).await, "direct");
    assert_eq!(body(&format!("http://127.0.0.1:{port}/")).await, "direct");
    // behind a proxy the address of a host is not known, and the proxy's own is not taken for it
    let host = |text: &str| crawl_model::HostKey::from_stored(text);
    assert_eq!(client.address_book().address_of(&host("elsewhere.test")), None);
    assert!(client.address_book().address_of(&host(&format!("fixed.test:{port}"))).is_some());
    let blocked = error(client.fetch(request(Url::parse("http://10.0.0.1/").unwrap())).await);
    assert!(matches!(blocked, FetchError::AddressBlocked { .. }));
}

#[tokio::test]
async fn cookies_are_kept_only_when_asked_for() {
    let server = Server::answering(|seen| match seen.header("cookie") {
        Some("ok=1") => html("in"),
        Some(other) => panic!("{other}"),
        None => response("302 Found", "Location: /\r\nSet-Cookie: ok=1; Path=/\r\n", b""),
    })
    .await;
    let with = client(HttpSettings { cookies: true, ..settings() });
    for fetched in
        [with.fetch(request(server.url("/"))).await, fetch(&server, "/").await, fetch(&server, "/").await]
    {
        assert!(matches!(fetched, Fetched::Redirect { .. }));
    }
    page(with.fetch(request(server.url("/"))).await);
}

#[tokio::test]
async fn conditions_mobile_headers_and_the_users_own() {
    let server = Server::answering(|_| html("x")).await;
    let own = vec![("X-Own".to_owned(), "1".to_owned()), ("Accept".to_owned(), "text/html".to_owned())];
    let client = client(HttpSettings { headers: own, accept_language: Some("de".into()), ..settings() });
    let mut known = request(server.url("/"));
    (known.etag, known.last_modified) = (Some("\"v\"".into()), Some("Mon, 01 Jan 2024 00:00:00 GMT".into()));
    page(client.fetch(known).await);
    let mut mobile = request(server.url("/"));
    mobile.strategy = Some(Strategy::Mobile);
    assert_eq!(page(client.fetch(mobile).await).strategy, Strategy::Mobile);
    let seen = server.seen();
    assert_eq!(seen[0].header("if-none-match"), Some("\"v\""));
    assert_eq!(seen[0].header("if-modified-since"), Some("Mon, 01 Jan 2024 00:00:00 GMT"));
    assert_eq!((seen[0].header("x-own"), seen[0].header("accept-language")), (Some("1"), Some("de")));
    assert_eq!((seen[0].header("accept"), seen[1].header("accept")), (Some("text/html"), Some("text/html")));
    let agent = seen[1].header("user-agent").unwrap();
    assert!(agent.contains("Mobile") && agent.contains("crawl/"), "{agent}");
}

#[tokio::test]
async fn a_kept_connection_that_the_server_closed_costs_no_page() {
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

#[tokio::test]
async fn a_full_budget_holds_back_the_next_body_but_not_its_time_limit() {
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
