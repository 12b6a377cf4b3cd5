//! Route of a request: addresses, fixed addresses, proxies.

use crate::{
    error, page,
    support::{Server, client, html, request, response, settings},
};
use crawl_fetch::{FetchError, HttpSettings, ProxyChoice};
use url::Url;

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
async fn resolve_rules_apply_only_to_their_port() {
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
async fn proxy_gets_host_names_and_never_resolved_hosts() {
    let proxy = Server::answering(|_| html("by proxy")).await;
    let direct = Server::answering(|_| html("direct")).await;
    let port = direct.address.port();
    let client = client(HttpSettings {
        proxy: ProxyChoice::Url(proxy.url("/").into()),
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
    // behind a proxy the address of a host is unknown, and the proxy's own does not replace it
    let host = |text: &str| crawl_model::HostKey::from_stored(text);
    assert_eq!(client.address_book().address_of(&host("elsewhere.test")), None);
    assert!(client.address_book().address_of(&host(&format!("fixed.test:{port}"))).is_some());
    let blocked = error(client.fetch(request(Url::parse("http://10.0.0.1/").unwrap())).await);
    assert!(matches!(blocked, FetchError::AddressBlocked { .. }));
}

/// The proxy's own name is exempt from the address policy for the connection to it, but not for pages.
#[tokio::test]
async fn page_on_the_proxy_host_obeys_the_address_policy() {
    let proxy = Server::answering(|_| html("by proxy")).await;
    let inner = Server::answering(|_| html("secret")).await;
    let by = |scheme: &str| {
        let url = format!("{scheme}://LocalHost:{}", proxy.address.port());
        client(HttpSettings {
            addresses: crawl_fetch::AddressPolicy::default(),
            proxy: ProxyChoice::Url(Url::parse(&url).unwrap().into()),
            ..settings()
        })
    };
    page(by("http").fetch(request(Url::parse("http://elsewhere.test/").unwrap())).await);
    let before = proxy.connections();
    let target = Url::parse(&format!("http://localhost:{}/", inner.address.port())).unwrap();
    for scheme in ["http", "socks5", "socks5h"] {
        let error = error(by(scheme).fetch(request(target.clone())).await);
        assert!(matches!(error, FetchError::AddressBlocked { .. }), "{scheme}: {error:?}");
    }
    assert_eq!((proxy.connections(), inner.connections()), (before, 0));
}

/// The error of a proxy that is down names the proxy and says nothing about the site.
#[tokio::test]
async fn unreachable_proxy_is_named_in_the_error() {
    let up = Server::answering(|_| response("502 Bad Gateway", "", b"")).await;
    // a port that was free a moment ago
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let by = |proxy: String| {
        client(HttpSettings { proxy: ProxyChoice::Url(Url::parse(&proxy).unwrap().into()), ..settings() })
    };
    for (scheme, target) in [("http", "http"), ("http", "https"), ("socks5h", "http")] {
        let client = by(format!("{scheme}://me:s3cret@127.0.0.1:{port}"));
        let url = Url::parse(&format!("{target}://elsewhere.test/")).unwrap();
        let error = error(client.fetch(request(url)).await);
        let said = error.to_string();
        assert!(matches!(&error, FetchError::Connect { proxy: true, .. }), "{error:?}");
        assert!(said.contains(&format!("the proxy 127.0.0.1:{port}")), "{said}");
        assert!(!said.contains("elsewhere") && !said.contains("s3cret"), "{said}");
        assert!(error.hint().contains("--proxy"));
    }
    // an answer of the proxy about a host counts for the host
    let refused = by(up.url("/").to_string());
    let error = error(refused.fetch(request(Url::parse("https://elsewhere.test/").unwrap())).await);
    assert!(!matches!(&error, FetchError::Connect { proxy: true, .. }), "{error:?}");
}
