//! Cookies, host by host, where they are asked for: enough for consent pages and sessions that redirect until a cookie
//! is kept, and never enough to follow anybody across hosts.
//!
//! A subset of RFC 6265: the `Domain` attribute is ignored, so that a cookie goes back to the very host that set it and
//! to no other one. Bounded: the oldest cookies and hosts give way.

use crawl_model::HostKey;
use reqwest::header::{HeaderMap, HeaderValue, SET_COOKIE};
use rustc_hash::FxHashMap;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};
use url::Url;

/// Cookies of one host (RFC 6265 §6.1 asks for as many).
const MAX_COOKIES: usize = 50;
/// Octets of name and value (RFC 6265 §6.1).
const MAX_LENGTH: usize = 4096;
/// Hosts with cookies.
const MAX_HOSTS: usize = 10_000;

#[derive(Clone, Debug)]
struct Cookie {
    name: String,
    value: String,
    path: String,
    secure: bool,
    expires: Option<SystemTime>,
}

#[derive(Default)]
struct Hosts {
    jars: FxHashMap<HostKey, VecDeque<Cookie>>,
    /// In the order in which they came.
    order: VecDeque<HostKey>,
}

/// The cookies of a crawl.
#[derive(Default)]
pub(super) struct CookieJar(Mutex<Hosts>);

impl CookieJar {
    /// Keeps what a response to `url` sets.
    pub(super) fn keep(&self, url: &Url, headers: &HeaderMap) {
        let Some(host) = HostKey::of(url).filter(|_| headers.contains_key(SET_COOKIE)) else { return };
        let now = SystemTime::now();
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !hosts.jars.contains_key(&host) {
            if hosts.jars.len() >= MAX_HOSTS
                && let Some(oldest) = hosts.order.pop_front()
            {
                hosts.jars.remove(&oldest);
            }
            hosts.order.push_back(host.clone());
        }
        let jar = hosts.jars.entry(host).or_default();
        for text in headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok()) {
            let Some(cookie) = parse(text, url, now) else { continue };
            jar.retain(|old| (&old.name, &old.path) != (&cookie.name, &cookie.path));
            if cookie.expires.is_none_or(|at| at > now) {
                jar.push_back(cookie);
            }
            if jar.len() > MAX_COOKIES {
                jar.pop_front();
            }
        }
    }

    /// The `Cookie` header of a request for `url`, if there is anything to send.
    pub(super) fn header(&self, url: &Url) -> Option<HeaderValue> {
        let host = HostKey::of(url)?;
        let now = SystemTime::now();
        let hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs: Vec<String> = hosts
            .jars
            .get(&host)?
            .iter()
            .filter(|cookie| cookie.expires.is_none_or(|at| at > now))
            .filter(|cookie| !cookie.secure || url.scheme() == "https")
            .filter(|cookie| path_matches(url.path(), &cookie.path))
            .map(|cookie| format!("{}={}", cookie.name, cookie.value))
            .collect();
        let mut value = HeaderValue::from_str(&pairs.join("; ")).ok().filter(|value| !value.is_empty())?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// RFC 6265 §5.2. A malformed cookie is none.
fn parse(text: &str, url: &Url, now: SystemTime) -> Option<Cookie> {
    let mut parts = text.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || name.len() + value.len() > MAX_LENGTH {
        return None;
    }
    let mut cookie = Cookie {
        name: name.to_owned(),
        value: value.to_owned(),
        path: default_path(url.path()).to_owned(),
        secure: false,
        expires: None,
    };
    let mut max_age = None;
    for attribute in parts {
        let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "path" if value.starts_with('/') => value.clone_into(&mut cookie.path),
            "secure" => cookie.secure = true,
            "expires" => cookie.expires = httpdate::parse_http_date(value).ok(),
            "max-age" => max_age = value.parse::<i64>().ok(),
            _ => {}
        }
    }
    // §5.3: Max-Age goes before Expires
    if let Some(seconds) = max_age {
        let age = u64::try_from(seconds).map(Duration::from_secs).unwrap_or_default();
        cookie.expires = now.checked_add(age);
    }
    Some(cookie)
}

/// RFC 6265 §5.1.4.
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(last) => &path[..last],
    }
}

fn path_matches(path: &str, cookie: &str) -> bool {
    path.strip_prefix(cookie)
        .is_some_and(|rest| rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jar(url: &str, set: &[&str]) -> CookieJar {
        let jar = CookieJar::default();
        keep(&jar, url, set);
        jar
    }

    fn keep(jar: &CookieJar, url: &str, set: &[&str]) {
        let headers = set.iter().map(|text| (SET_COOKIE, text.parse().unwrap())).collect();
        jar.keep(&Url::parse(url).unwrap(), &headers);
    }

    fn sent(jar: &CookieJar, url: &str) -> String {
        let header = jar.header(&Url::parse(url).unwrap());
        header.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    }

    #[test]
    fn a_cookie_goes_back_to_its_host_and_path_alone() {
        let jar =
            jar("https://a.test/x/y", &["s=1; Domain=test", "all=2; Path=/; Secure", "deep=3; path=/x/y/z"]);
        assert_eq!(sent(&jar, "https://a.test/x/q"), "s=1; all=2");
        assert_eq!(sent(&jar, "https://a.test/x/y/z/1"), "s=1; all=2; deep=3");
        assert_eq!(sent(&jar, "https://a.test/xx"), "all=2");
        assert_eq!(sent(&jar, "http://a.test:8080/x/"), "", "another port is another host");
        assert_eq!(sent(&jar, "http://a.test/x/"), "s=1", "secure cookies need TLS");
        assert_eq!(sent(&jar, "https://b.test/x/"), "");
    }

    #[test]
    fn a_cookie_is_replaced_and_expires() {
        let jar =
            jar("http://a.test/", &["s=1", "s=2; Max-Age=60", "gone=1", "gone=; Max-Age=0", "=x", "no"]);
        assert_eq!(sent(&jar, "http://a.test/"), "s=2");
        keep(&jar, "http://a.test/", &["s=3; Expires=Wed, 21 Oct 2015 07:28:00 GMT"]);
        assert_eq!(sent(&jar, "http://a.test/"), "");
    }

    #[test]
    fn the_jar_is_bounded() {
        let many: Vec<String> = (0..2_000).map(|n| format!("c{n}={}", "v".repeat(100))).collect();
        let jar = jar("http://a.test/", &many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(sent(&jar, "http://a.test/").split(';').count(), MAX_COOKIES);
        keep(&jar, "http://b.test/", &[&format!("long={}", "v".repeat(5_000))]);
        assert_eq!(sent(&jar, "http://b.test/"), "");
        for n in 0..MAX_HOSTS + 5 {
            keep(&jar, &format!("http://h{n}.test/"), &["s=1"]);
        }
        assert_eq!(jar.0.lock().unwrap().jars.len(), MAX_HOSTS);
        assert_eq!(sent(&jar, "http://a.test/"), "");
    }
}
