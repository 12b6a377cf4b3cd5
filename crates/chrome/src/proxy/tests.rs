//! Requests that the proxy forwards or refuses, as a browser makes them.

use super::*;
use crawl_fetch::AddressPolicy;
use std::{
    io::{Read, Write},
    time::Duration,
};

fn upstream_url(url: &str) -> crawl_fetch::ProxyUrl {
    url.parse::<url::Url>().unwrap().into()
}

/// Complete answer of the proxy to `request` over a lane.
fn ask(lane: &Lane, request: &str) -> String {
    let mut stream = std::net::TcpStream::connect(lane.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A server that answers every connection with `body`, and its port.
fn server(body: &'static str) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::Builder::new()
        .spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
            }
        })
        .unwrap();
    port
}

fn proxy(allow: &[&str], resolve: &[String]) -> (Proxy, Lane) {
    let allow = allow.iter().map(|net| net.parse().unwrap()).collect();
    let settings = ChromeSettings {
        addresses: AddressPolicy { allow_private: false, allow },
        resolve: resolve.iter().map(|rule| rule.parse().unwrap()).collect(),
        ..ChromeSettings::default()
    };
    start(&settings)
}

fn start(settings: &ChromeSettings) -> (Proxy, Lane) {
    let proxy = Proxy::start(settings).unwrap();
    let lane = proxy.open_lane().unwrap();
    (proxy, lane)
}

#[test]
fn private_addresses_are_refused_by_name_and_by_number() {
    let port = server("canary");
    let (proxy, lane) = proxy(&[], &[format!("a.test:{port}:127.0.0.1")]);
    for host in ["127.0.0.1", "localhost", "a.test", "[::ffff:127.0.0.1]"] {
        let plain = ask(&lane, &format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(plain, "", "{host}");
        let tunnel = ask(
            &lane,
            &format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
        );
        assert!(tunnel.starts_with("HTTP/1.1 403"), "{host}: {tunnel}");
    }
    assert!(
        matches!(proxy.refusal("a.test", port), Some(Refusal::Address(address)) if address.is_loopback())
    );
    assert_eq!(proxy.refusal("a.test", port + 1), None);
}

#[test]
fn allowed_addresses_pass_the_proxy() {
    let port = server("the page");
    let (_proxy, lane) = proxy(&["127.0.0.1/32"], &[format!("a.test:{port}:127.0.0.1")]);
    let get = format!("GET http://a.test:{port}/x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    assert!(ask(&lane, &get).ends_with("the page"));
    let connect = format!("CONNECT a.test:{port} HTTP/1.1\r\nHost: a.test\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    let tunnel = ask(&lane, &connect);
    assert!(tunnel.starts_with("HTTP/1.1 200") && tunnel.ends_with("the page"), "{tunnel}");
}

/// The bytes of a lane are those of its own connections, and no connection carries more than the page may
/// load.
#[test]
fn bytes_are_counted_by_lane() {
    let port = server("the page");
    let allow = AddressPolicy { allow_private: false, allow: vec!["127.0.0.1/32".parse().unwrap()] };
    let settings = ChromeSettings { addresses: allow, max_page_bytes: 500, ..ChromeSettings::default() };
    let (proxy, lane) = start(&settings);
    let other = proxy.open_lane().unwrap();
    let get = format!("GET http://127.0.0.1:{port}/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let connect = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nthe page";
    for request in [&get, &connect] {
        assert!(ask(&lane, request).ends_with("the page"));
        assert_eq!(lane.take_received(), answer.len() as u64, "{request}");
    }
    let asked = (0..10).take_while(|_| ask(&lane, &get).ends_with("the page")).count();
    assert!((1..5).contains(&asked) && lane.is_over(), "{asked}");
    assert_eq!(ask(&lane, &connect), "");
    assert!(ask(&other, &get).ends_with("the page") && !other.is_over());
    assert_eq!(proxy.take_uncharged(), 0);
    drop(other);
    assert_eq!(proxy.take_uncharged(), answer.len() as u64);
    lane.begin();
    assert!(ask(&lane, &get).ends_with("the page") && proxy.take_uncharged() > 0);
}

/// An idle connection of a tab yields its permit to another tab.
#[test]
fn idle_connection_yields_its_permit_to_another_tab() {
    let port = server("the page");
    let allow = AddressPolicy { allow_private: false, allow: vec!["127.0.0.1/32".parse().unwrap()] };
    let settings = ChromeSettings { addresses: allow, max_connections: 1, ..ChromeSettings::default() };
    let (proxy, lane) = start(&settings);
    let other = proxy.open_lane().unwrap();
    for opening in ["", "CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let mut idle = std::net::TcpStream::connect(lane.address()).unwrap();
        idle.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        idle.write_all(opening.replace("{port}", &port.to_string()).as_bytes()).unwrap();
        if !opening.is_empty() {
            assert!(idle.read(&mut [0; 100]).unwrap() > 0);
        }
        let get = format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert!(ask(&other, &get).ends_with("the page"), "{opening}");
    }
}

/// A tab that ends while its connection waits for a permit waits no longer. Otherwise every later pause of a
/// second would cost another tab its connection.
#[test]
fn ended_tab_does_not_wait_for_a_permit() {
    let settings = ChromeSettings { max_connections: 1, ..ChromeSettings::default() };
    let (proxy, lane) = start(&settings);
    #[expect(clippy::disallowed_methods, reason = "the counts of another thread are no events")]
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        while !is_so() {
            assert!(std::time::Instant::now() < deadline, "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let waiting = || proxy.shared.waiting.load(Ordering::Relaxed);
    let _first = std::net::TcpStream::connect(lane.address()).unwrap();
    until("the first tab has the permit", &|| proxy.shared.permits.available_permits() == 0);
    let other = proxy.open_lane().unwrap();
    let _second = std::net::TcpStream::connect(other.address()).unwrap();
    until("the other tab waits", &|| waiting() == 1);
    drop(other);
    until("nobody waits", &|| waiting() == 0);
}

/// The proxy's own port is closed to pages in every notation of its address, under all settings.
#[test]
fn proxy_port_is_refused_in_every_notation() {
    let (proxy, lane) = proxy(&["127.0.0.0/8", "::/0"], &[]);
    let port = lane.address().port();
    for host in
        ["127.0.0.1", "127.1.2.3", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost", "0.0.0.0", "[::]"]
    {
        let get = format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        assert_eq!(ask(&lane, &get), "", "{host}");
        let refusal = proxy.refusal(&bare(host), port);
        assert!(matches!(refusal, Some(Refusal::Address(_))), "{host}: {refusal:?}");
    }
}

/// A port stays closed to pages while something listens on it.
#[test]
fn proxy_port_is_refused_until_its_listener_closes() {
    let (proxy, _lane) = proxy(&["127.0.0.0/8"], &[]);
    let (lane, opened) = Lane::open(&proxy.shared).unwrap();
    let port = lane.address().port();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refusal = || runtime.block_on(proxy.shared.destinations.connect("127.0.0.1", port, false)).err();
    drop(lane);
    assert!(matches!(refusal(), Some(Refusal::Address(_))), "{:?}", refusal());
    runtime.block_on(opened.serve(Arc::clone(&proxy.shared)));
    assert!(matches!(refusal(), Some(Refusal::Failed(_))), "{:?}", refusal());
}

/// The proxy refuses another user of the machine, and serves the own one.
#[test]
#[ignore = "needs root"]
fn connections_of_other_users_are_refused() {
    let port = server("the page");
    let (_proxy, lane) = proxy(&["127.0.0.1/32"], &[]);
    let own = lane.address().port();
    let ask = |user: &str| {
        let script = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{own} && printf 'GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3 && \
             timeout 5 head -c 15 <&3"
        );
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid", user, "--clear-groups", "bash", "-c", &script]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(ask("0"), "HTTP/1.1 200 OK");
    assert_eq!(ask("65534"), "");
}

#[test]
fn trackers_and_other_schemes_are_refused() {
    let (proxy, lane) = proxy(&[], &[]);
    let tunnel =
        ask(&lane, "CONNECT stats.g.doubleclick.net:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(tunnel.starts_with("HTTP/1.1 403"), "{tunnel}");
    assert_eq!(proxy.refusal("stats.g.doubleclick.net", 443), Some(Refusal::Tracker));
    assert_eq!(ask(&lane, "GET ftp://1.1.1.1/ HTTP/1.1\r\nHost: x\r\n\r\n"), "");
    assert_eq!(ask(&lane, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "");
}

/// A proxy that records the first line of each request and answers all with "from the proxy"; its URL, and
/// the lines.
fn upstream() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://user:p%40ss@{}", listener.local_addr().unwrap());
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let answer = move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            // "user:p@ss"
            let known = head.to_ascii_lowercase().contains("proxy-authorization: basic dxnlcjpwqhnz");
            seen.lock().unwrap().push(format!("{} {known}", head.lines().next().unwrap_or_default()));
            if head.starts_with("CONNECT") {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                let _ = stream.read(&mut [0; 4096]);
            }
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\nConnection: close\r\n\r\nfrom the proxy",
            );
        }
    };
    std::thread::Builder::new().spawn(answer).unwrap();
    (url, lines)
}

#[test]
fn upstream_proxy_is_used_for_permitted_hosts_only() {
    let (url, lines) = upstream();
    let settings = ChromeSettings { proxy: Some(upstream_url(&url)), ..ChromeSettings::default() };
    let (_proxy, lane) = start(&settings);
    let get = |host: &str| {
        ask(&lane, &format!("GET http://{host}/x HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    };
    assert!(get("name.invalid").ends_with("from the proxy"));
    assert!(get("192.0.2.1").is_empty() && get("127.0.0.1").is_empty() && get("localhost").is_empty());
    let tunnel = ask(&lane, "CONNECT name.invalid:443 HTTP/1.1\r\nHost: x\r\n\r\nhello");
    assert!(tunnel.starts_with("HTTP/1.1 200") && tunnel.ends_with("from the proxy"), "{tunnel}");
    let refused = ask(&lane, "CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let expected = ["GET http://name.invalid/x HTTP/1.1 true", "CONNECT name.invalid:443 HTTP/1.1 true"];
    assert_eq!(*lines.lock().unwrap(), expected);
    for wrong in ["socks5://127.0.0.1:1", "https://127.0.0.1:1"] {
        let settings = ChromeSettings { proxy: Some(upstream_url(wrong)), ..ChromeSettings::default() };
        assert!(Proxy::start(&settings).err().unwrap().to_string().contains("http"), "{wrong}");
    }
}

#[test]
fn resolve_rule_bypasses_the_upstream_proxy() {
    let (url, lines) = upstream();
    let listener = std::net::TcpListener::bind("127.0.0.9:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let accept = move || {
        let mut stream = listener.accept().unwrap().0;
        let _ = stream.read(&mut [0; 4096]);
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\ndirectly");
    };
    std::thread::Builder::new().spawn(accept).unwrap();
    let settings = ChromeSettings {
        proxy: Some(upstream_url(&url)),
        addresses: AddressPolicy { allow_private: false, allow: vec!["127.0.0.9/32".parse().unwrap()] },
        resolve: vec![format!("fixed.test:{port}:127.0.0.9").parse().unwrap()],
        ..ChromeSettings::default()
    };
    let (_proxy, lane) = start(&settings);
    let get = format!("GET http://fixed.test:{port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(ask(&lane, &get).ends_with("directly"));
    assert!(lines.lock().unwrap().is_empty());
}
