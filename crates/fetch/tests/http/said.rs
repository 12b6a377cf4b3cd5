//! Contents of a request: headers, credentials, cookies.

use crate::{
    fetch, page,
    support::{Server, client, html, request, response, settings},
};
use crawl_fetch::{Credential, Fetched, HostAuth, HttpSettings};
use crawl_model::{Origin, Strategy};
use url::Url;

#[tokio::test]
async fn credentials_are_sent_only_to_their_host() {
    let server = Server::answering(|_| html("x")).await;
    let port = server.address.port();
    let resolve =
        ["mine.test", "other.test"].map(|h| format!("{h}:{port}:127.0.0.1").parse().unwrap()).to_vec();
    let mine = Url::parse(&format!("http://mine.test:{port}/")).unwrap();
    let auth = vec![HostAuth {
        origin: Origin::of(&mine).unwrap(),
        credential: Credential::Basic { user: "me".into(), password: "secret".into() },
    }];
    assert!(!format!("{auth:?}").contains("secret"));
    let client = client(HttpSettings { resolve, auth, ..settings() });
    for host in ["mine.test", "u:p@other.test"] {
        page(client.fetch(request(Url::parse(&format!("http://{host}:{port}/")).unwrap())).await);
    }
    let sent: Vec<_> = server.seen().iter().map(|s| s.header("authorization").map(str::to_owned)).collect();
    assert_eq!(sent, [Some("Basic bWU6c2VjcmV0".into()), None]);
}

#[tokio::test]
async fn cookies_are_kept_only_if_enabled() {
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
async fn conditional_mobile_and_user_headers_are_sent() {
    let server = Server::answering(|_| html("x")).await;
    let own = ["X-Own: 1", "Accept: text/html"].map(|text| text.parse().unwrap()).to_vec();
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
