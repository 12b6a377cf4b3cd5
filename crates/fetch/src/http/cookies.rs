//! Optional cookies per host: enough for consent pages and for sessions that redirect until a cookie is set.
//! They never track anybody across hosts.
//!
//! Cookies are read and matched by RFC 6265, but a cookie of a whole domain returns only to the host that set it.
//! Bounded: the oldest cookies and hosts are evicted.

use cookie_store::Cookie;
use crawl_model::{HostKey, system_time};
use reqwest::header::{HeaderMap, HeaderValue, SET_COOKIE};
use rustc_hash::FxHashMap;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};
use time::OffsetDateTime;
use url::Url;

/// Maximum cookies per host, the minimum that RFC 6265 §6.1 requires.
const MAX_COOKIES: usize = 50;
/// Maximum octets of a `Set-Cookie` field, and of a path; longer cookies are dropped. RFC 6265 §6.1 requires as
/// many.
const MAX_LENGTH: usize = 4096;
/// Hosts with cookies.
const MAX_HOSTS: usize = 10_000;
/// Maximum octets of the cookies of all hosts, each with [`OVERHEAD`].
const MAX_BYTES: usize = 16 << 20;
/// Approximate octets of a cookie besides its texts.
const OVERHEAD: usize = size_of::<StoredCookie>() + 4 * 16;

/// A cookie, which keeps the text that it was parsed from.
#[derive(Clone, Debug)]
struct StoredCookie {
    cookie: Cookie<'static>,
    /// Octets of the text and of the path, which may be that of the URL.
    length: usize,
}

impl StoredCookie {
    /// Parses a `Set-Cookie` field. Returns `None` for a malformed or too long cookie, and for a cookie of another
    /// domain.
    fn parse(text: &str, url: &Url) -> Option<Self> {
        let cookie = Cookie::parse(text, url).ok()?;
        let length = text.len() + cookie.path.len();
        let is_short = text.len() <= MAX_LENGTH && cookie.path.len() <= MAX_LENGTH;
        is_short.then(|| Self { cookie: cookie.into_owned(), length })
    }

    /// Octets in memory, approximately.
    const fn bytes(&self) -> usize {
        self.length + OVERHEAD
    }
}

/// Cookies of one host, the oldest first.
#[derive(Default)]
struct Jar {
    cookies: VecDeque<StoredCookie>,
    bytes: usize,
}

impl Jar {
    /// Replaces the cookie of the same name and path. An expired cookie only removes it.
    fn put(&mut self, new: StoredCookie, now: &OffsetDateTime) {
        let key = (new.cookie.name(), &*new.cookie.path);
        self.cookies.retain(|old| (old.cookie.name(), &*old.cookie.path) != key);
        if !new.cookie.expires_by(now) {
            self.cookies.push_back(new);
        }
        if self.cookies.len() > MAX_COOKIES {
            self.cookies.pop_front();
        }
        self.bytes = self.cookies.iter().map(StoredCookie::bytes).sum();
    }
}

#[derive(Default)]
struct Hosts {
    jars: FxHashMap<HostKey, Jar>,
    /// Hosts in order of arrival.
    order: VecDeque<HostKey>,
    /// Octets of all jars.
    bytes: usize,
}

impl Hosts {
    /// Evicts the oldest hosts until the rest is within the bounds. The newest host stays, since its cookies
    /// have a bound of their own.
    fn shrink(&mut self) {
        while (self.jars.len() > MAX_HOSTS || self.bytes > MAX_BYTES)
            && self.order.len() > 1
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.jars.remove(&oldest).map_or(0, |jar| jar.bytes);
            self.bytes = self.bytes.saturating_sub(gone);
        }
    }
}

/// The cookies of a crawl.
#[derive(Default)]
pub(super) struct CookieJar(Mutex<Hosts>);

impl CookieJar {
    /// Stores the cookies that a response to `url` sets.
    pub(super) fn keep(&self, url: &Url, headers: &HeaderMap) {
        let Some(host) = HostKey::of(url).filter(|_| headers.contains_key(SET_COOKIE)) else { return };
        let now = OffsetDateTime::from(system_time());
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let hosts = &mut *guard;
        if !hosts.jars.contains_key(&host) {
            hosts.order.push_back(host.clone());
        }
        let jar = hosts.jars.entry(host).or_default();
        let before = jar.bytes;
        for text in headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok()) {
            if let Some(cookie) = StoredCookie::parse(text, url) {
                jar.put(cookie, &now);
            }
        }
        hosts.bytes = hosts.bytes.saturating_sub(before) + jar.bytes;
        hosts.shrink();
    }

    /// The `Cookie` header of a request for `url`, if any cookie applies.
    pub(super) fn header(&self, url: &Url) -> Option<HeaderValue> {
        let host = HostKey::of(url)?;
        let now = OffsetDateTime::from(system_time());
        let hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs: Vec<String> = hosts
            .jars
            .get(&host)?
            .cookies
            .iter()
            .map(|stored| &stored.cookie)
            .filter(|cookie| !cookie.expires_by(&now) && cookie.matches(url))
            .map(|cookie| format!("{}={}", cookie.name(), cookie.value()))
            .collect();
        let mut value = HeaderValue::from_str(&pairs.join("; ")).ok().filter(|value| !value.is_empty())?;
        value.set_sensitive(true);
        Some(value)
    }
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
    fn cookie_is_sent_only_to_its_host_and_path() {
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
    fn cookies_are_replaced_and_expire() {
        let jar =
            jar("http://a.test/", &["s=1", "s=2; Max-Age=60", "gone=1", "gone=; Max-Age=0", "=x", "no"]);
        assert_eq!(sent(&jar, "http://a.test/"), "s=2");
        for expired in ["Wed, 21 Oct 2015 07:28:00 GMT", "Thu, 01-Jan-1970 00:00:01 GMT"] {
            keep(&jar, "http://a.test/", &["s=2"]);
            keep(&jar, "http://a.test/", &[&format!("s=3; Expires={expired}")]);
            assert_eq!(sent(&jar, "http://a.test/"), "", "{expired}");
        }
        keep(&jar, "http://a.test/", &["s=1; Domain=b.test"]);
        assert_eq!(sent(&jar, "http://a.test/"), "", "a host sets no cookie of another domain");
    }

    #[test]
    fn cookie_jar_is_bounded() {
        let many: Vec<String> = (0..2_000).map(|n| format!("c{n}={}", "v".repeat(100))).collect();
        let jar = jar("http://a.test/", &many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(sent(&jar, "http://a.test/").split(';').count(), MAX_COOKIES);
        keep(&jar, "http://b.test/", &[&format!("long={}", "v".repeat(5_000))]);
        keep(&jar, "http://b.test/", &[&format!("deep=1; Path=/{}", "p".repeat(5_000))]);
        assert!(
            jar.0
                .lock()
                .unwrap()
                .jars
                .values()
                .all(|jar| jar.bytes < MAX_COOKIES * (2 * MAX_LENGTH + OVERHEAD))
        );
        assert_eq!(jar.0.lock().unwrap().jars.values().filter(|jar| !jar.cookies.is_empty()).count(), 1);
        for n in 0..MAX_HOSTS + 5 {
            keep(&jar, &format!("http://h{n}.test/"), &["s=1"]);
        }
        assert_eq!(jar.0.lock().unwrap().jars.len(), MAX_HOSTS);
        assert_eq!(sent(&jar, "http://a.test/"), "");
    }

    /// Octets of all cookies, counted again for a check.
    fn held(jar: &CookieJar) -> usize {
        let hosts = jar.0.lock().unwrap();
        hosts.jars.values().flat_map(|jar| &jar.cookies).map(|stored| stored.length).sum()
    }

    #[test]
    fn cookie_jar_bytes_are_bounded_by_evicting_oldest_hosts() {
        let jar = CookieJar::default();
        // a host holds 100 kB, half of it paths
        let big: Vec<String> =
            (0..25).map(|n| format!("c{n}={}; Path=/{}", "v".repeat(2_000), "p".repeat(2_000))).collect();
        let big: Vec<&str> = big.iter().map(String::as_str).collect();
        for n in 0..200 {
            keep(&jar, &format!("http://h{n}.test/"), &big);
            assert!(held(&jar) <= MAX_BYTES, "{n}");
        }
        assert!(held(&jar) > MAX_BYTES / 2, "{}", held(&jar));
        let path = format!("/{}", "p".repeat(2_000));
        assert_eq!(sent(&jar, &format!("http://h0.test{path}")), "");
        assert_eq!(sent(&jar, &format!("http://h199.test{path}")).split(';').count(), 25);
        // replaced and removed cookies no longer count
        let gone: Vec<String> = (0..25).map(|n| format!("c{n}=; Max-Age=0; Path={path}")).collect();
        let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
        for n in 0..200 {
            keep(&jar, &format!("http://h{n}.test/"), &gone);
        }
        assert_eq!((held(&jar), jar.0.lock().unwrap().bytes), (0, 0));
    }
}
