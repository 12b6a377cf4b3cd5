//! Results of successful responses.

use crate::{
    error, fetch, gzip, page,
    support::{Server, client, request, response, settings},
};
use crawl_fetch::{ByteBudget, FetchError, Fetched, HttpClient, SkipKind, SlotOutcome};
use crawl_model::Strategy;
use std::time::Duration;
use url::Url;

#[tokio::test]
async fn page_has_status_headers_and_final_url() {
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
async fn redirects_are_returned_and_not_followed() {
    let server = Server::answering(|seen| {
        let location: &[u8] = match seen.path.as_str() {
            "/relative" => b"Location: ../x\r\n",
            "/utf8" => "Location: /café\r\n".as_bytes(),
            "/latin1" => b"Location: /caf\xe9?\xfc\r\n",
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
        ("/latin1", server.url("/caf%E9?%FC")),
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
    assert_eq!(server.seen().len(), 8, "nothing was followed");
    assert_eq!(server.connections(), 1, "small unwanted bodies do not cost the connection");
}

#[tokio::test]
async fn choices_are_a_redirect_if_the_server_prefers_one() {
    let server = Server::answering(|seen| {
        let location = if seen.path == "/preferred" { "Location: /x.html\r\n" } else { "" };
        response("300 Multiple Choices", location, b"x.html, x.txt")
    })
    .await;
    let preferred = fetch(&server, "/preferred").await;
    assert!(matches!(&preferred, Fetched::Redirect { to, .. } if to.path() == "/x.html"), "{preferred:?}");
    assert_eq!(error(fetch(&server, "/").await), FetchError::Status(300));
}

#[tokio::test]
async fn retry_after_of_a_redirect_reaches_the_gate() {
    let answer = response("302 Found", "Location: /x\r\nRetry-After: 7\r\n", b"");
    let server = Server::answering(move |_| answer.clone()).await;
    let fetched = client(settings()).fetch(request(server.url("/"))).await;
    let outcome = SlotOutcome::of(&fetched);
    assert_eq!((outcome.status, outcome.retry_after), (Some(302), Some(Duration::from_secs(7))));
}

#[tokio::test]
async fn non_page_responses_are_skipped_by_kind() {
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
async fn error_statuses_give_retry_after_in_both_formats() {
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
async fn overlong_urls_are_neither_followed_nor_requested() {
    let server = Server::answering(|seen| {
        let to = if seen.path == "/plain" { "a".repeat(4_100) } else { "é".repeat(1_000) };
        response("302 Found", &format!("Location: /{to}\r\n"), b"")
    })
    .await;
    for path in ["/plain", "/encoded"] {
        let error = error(fetch(&server, path).await);
        let FetchError::Redirect(reason) = error else { panic!("{error:?}") };
        assert!(reason.contains("longer than 4096 octets") && reason.len() < 600, "{reason}");
    }
    let error = error(fetch(&server, &format!("/{}", "a".repeat(4_100))).await);
    assert!(matches!(error, FetchError::Url(_)), "{error:?}");
    assert_eq!(server.seen().len(), 2);
}
