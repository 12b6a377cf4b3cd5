//! What the proxy passes on and what not, asked as a browser asks.

use super::*;
use crawl_fetch::AddressPolicy;
use std::{
    io::{Read, Write},
    time::Duration,
};

/// What the proxy answers to `request`: all of it until the connection closes.
fn ask(proxy: &Proxy, request: &str) -> String {
    let mut stream = std::net::TcpStream::connect(proxy.address()).unwrap();
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

fn proxy(allow: &[&str], resolve: &[String]) -> Proxy {
    let allow = allow.iter().map(|net| net.parse().unwrap()).collect();
    let settings = ChromeSettings {
        addresses: AddressPolicy { allow_private: false, allow },
        resolve: resolve.iter().map(|rule| rule.parse().unwrap()).collect(),
        ..ChromeSettings::default()
    };
    Proxy::start(&settings).unwrap()
}

#[test]
fn private_addresses_are_refused_however_they_are_asked_for() {
    let port = server("canary");
    let proxy = proxy(&[], &[format!("a.test:{port}:127.0.0.1")]);
    for host in ["127.0.0.1", "localhost", "a.test", "[::ffff:127.0.0.1]"] {
        let plain = ask(&proxy, &format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(plain, "", "{host}");
        let tunnel = ask(
            &proxy,
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
fn what_is_allowed_passes_and_own_ports_never_do() {
    let port = server("the page");
    let proxy = proxy(&["127.0.0.1/32"], &[format!("a.test:{port}:127.0.0.1")]);
    let get = format!("GET http://a.test:{port}/x HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    assert!(ask(&proxy, &get).ends_with("the page"));
    let connect = format!("CONNECT a.test:{port} HTTP/1.1\r\nHost: a.test\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    let tunnel = ask(&proxy, &connect);
    assert!(tunnel.starts_with("HTTP/1.1 200") && tunnel.ends_with("the page"), "{tunnel}");
    proxy.close_port(port);
    assert_eq!(ask(&proxy, &get), "");
    let own = proxy.address();
    assert_eq!(ask(&proxy, &format!("GET http://{own}/ HTTP/1.1\r\nHost: {own}\r\n\r\n")), "");
}

#[test]
fn trackers_and_other_schemes_are_refused() {
    let proxy = proxy(&[], &[]);
    let tunnel =
        ask(&proxy, "CONNECT stats.g.doubleclick.net:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(tunnel.starts_with("HTTP/1.1 403"), "{tunnel}");
    assert_eq!(proxy.refusal("stats.g.doubleclick.net", 443), Some(Refusal::Tracker));
    assert_eq!(ask(&proxy, "GET ftp://1.1.1.1/ HTTP/1.1\r\nHost: x\r\n\r\n"), "");
    assert_eq!(ask(&proxy, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "");
}

/// A proxy that notes the first line of each request and answers all with "from the proxy"; its URL, and the lines.
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
fn another_proxy_is_used_for_what_may_be_reached_and_for_nothing_else() {
    let (url, lines) = upstream();
    let settings = ChromeSettings { proxy: Some(url.parse().unwrap()), ..ChromeSettings::default() };
    let proxy = Proxy::start(&settings).unwrap();
    let get = |host: &str| {
        ask(&proxy, &format!("GET http://{host}/x HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    };
    assert!(get("name.invalid").ends_with("from the proxy"));
    assert!(get("192.0.2.1").is_empty() && get("127.0.0.1").is_empty() && get("localhost").is_empty());
    let tunnel = ask(&proxy, "CONNECT name.invalid:443 HTTP/1.1\r\nHost: x\r\n\r\nhello");
    assert!(tunnel.starts_with("HTTP/1.1 200") && tunnel.ends_with("from the proxy"), "{tunnel}");
    let refused = ask(&proxy, "CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let expected = ["GET http://name.invalid/x HTTP/1.1 true", "CONNECT name.invalid:443 HTTP/1.1 true"];
    assert_eq!(*lines.lock().unwrap(), expected);
    for wrong in ["socks5://127.0.0.1:1", "https://127.0.0.1:1"] {
        let settings = ChromeSettings { proxy: Some(wrong.parse().unwrap()), ..ChromeSettings::default() };
        assert!(Proxy::start(&settings).err().unwrap().to_string().contains("http"), "{wrong}");
    }
}

#[test]
fn a_fixed_address_is_reached_without_the_other_proxy() {
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
        proxy: Some(url.parse().unwrap()),
        addresses: AddressPolicy { allow_private: false, allow: vec!["127.0.0.9/32".parse().unwrap()] },
        resolve: vec![format!("fixed.test:{port}:127.0.0.9").parse().unwrap()],
        ..ChromeSettings::default()
    };
    let proxy = Proxy::start(&settings).unwrap();
    let get = format!("GET http://fixed.test:{port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(ask(&proxy, &get).ends_with("directly"));
    assert!(lines.lock().unwrap().is_empty());
}
