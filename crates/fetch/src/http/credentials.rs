//! Credentials of the operator for one origin: basic, bearer, a header, or cookies of a file.

use base64::{Engine, prelude::BASE64_STANDARD};
use crawl_model::{Origin, now_ms};
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use url::Url;

/// Credentials for one origin: not for another port, nor without TLS if the origin has TLS.
#[derive(Clone)]
pub struct HostAuth {
    /// `scheme://host[:port]`.
    pub origin: Origin,
    /// The secret.
    pub credential: Credential,
}

impl fmt::Debug for HostAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostAuth").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// A secret that a site asks for.
#[derive(Clone)]
pub enum Credential {
    /// Basic authentication.
    Basic {
        /// User name.
        user: String,
        /// Password.
        password: SecretString,
    },
    /// Bearer token.
    Bearer(SecretString),
    /// A header, whose value is never shown.
    Header(HeaderName, HeaderValue),
    /// Cookies of a file.
    Cookies(Vec<FileCookie>),
}

/// A cookie of a file in Netscape's format.
#[derive(Clone)]
pub struct FileCookie {
    domain: String,
    /// Subdomains of the domain get the cookie too.
    has_subdomains: bool,
    path: String,
    is_secure: bool,
    /// Seconds since the Unix epoch; 0 for a cookie of a session.
    expires: i64,
    name: String,
    value: SecretString,
}

impl Credential {
    /// A header by name and value.
    ///
    /// # Errors
    /// When the name or the value is not valid in HTTP; the message repeats no value.
    pub fn header(name: &str, value: &str) -> Result<Self, &'static str> {
        let name =
            HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| "header is no name of a header")?;
        let mut value =
            HeaderValue::from_str(value.trim()).map_err(|_| "the value is not valid in a header")?;
        value.set_sensitive(true);
        Ok(Self::Header(name, value))
    }

    /// Adds the credential to the headers of a request for a URL of its origin.
    pub(super) fn add_to(&self, url: &Url, headers: &mut HeaderMap) {
        let (name, text) = match self {
            Self::Basic { user, password } => {
                let pair = BASE64_STANDARD.encode(format!("{user}:{}", password.expose_secret()));
                (AUTHORIZATION, format!("Basic {pair}"))
            }
            Self::Bearer(token) => (AUTHORIZATION, format!("Bearer {}", token.expose_secret())),
            Self::Header(name, value) => {
                headers.insert(name.clone(), value.clone());
                return;
            }
            Self::Cookies(cookies) => (COOKIE, cookie_header(cookies, url, headers)),
        };
        if let Ok(mut value) = HeaderValue::from_str(&text)
            && !text.is_empty()
        {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
}

/// The cookies of a request: those that it has already, and those of the file with other names.
fn cookie_header(cookies: &[FileCookie], url: &Url, headers: &HeaderMap) -> String {
    let known = headers.get(COOKIE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let has = |name: &str| known.split("; ").any(|pair| pair.split('=').next() == Some(name));
    let own = cookies
        .iter()
        .filter(|cookie| cookie.is_for(url) && !has(&cookie.name))
        .map(|cookie| format!("{}={}", cookie.name, cookie.value.expose_secret()));
    let known = (!known.is_empty()).then(|| known.to_owned());
    known.into_iter().chain(own).collect::<Vec<_>>().join("; ")
}

impl HostAuth {
    /// Reason for which no page of the origin gets the credential; `None` if some or all get it.
    #[must_use]
    pub fn unsent(&self) -> Option<&'static str> {
        let Credential::Cookies(cookies) = &self.credential else { return None };
        let origin = Url::parse(self.origin.as_str()).ok()?;
        let of_host: Vec<&FileCookie> = cookies.iter().filter(|cookie| cookie.is_of_host(&origin)).collect();
        match () {
            () if of_host.is_empty() => Some("the file has no cookie of this host"),
            () if !of_host.iter().any(|cookie| cookie.is_current()) => {
                Some("the file's cookies of this host are expired: export them again")
            }
            () if !of_host.iter().any(|cookie| cookie.is_current() && cookie.may_go(&origin)) => {
                Some("the file's cookies of this host are only for https")
            }
            () => None,
        }
    }
}

impl FileCookie {
    fn is_of_host(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let below = || host.strip_suffix(&self.domain).is_some_and(|rest| rest.ends_with('.'));
        host == self.domain || self.has_subdomains && below()
    }

    fn is_current(&self) -> bool {
        self.expires == 0 || self.expires > now_ms() / 1_000
    }

    /// Returns true if the scheme protects the cookie as it demands.
    fn may_go(&self, url: &Url) -> bool {
        !self.is_secure || url.scheme() == "https"
    }

    fn is_for(&self, url: &Url) -> bool {
        let path = url.path();
        let is_path = path
            .strip_prefix(self.path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'));
        self.is_of_host(url) && is_path && self.is_current() && self.may_go(url)
    }
}

/// Reads cookies in Netscape's format, which browsers and curl export.
///
/// # Errors
/// The number of the first line that is no cookie.
pub fn cookies_of_file(text: &str) -> Result<Vec<FileCookie>, usize> {
    let mut cookies = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.strip_prefix("#HttpOnly_").unwrap_or(line);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let &[domain, subdomains, path, secure, expires, name, value] = fields.as_slice() else {
            return Err(number);
        };
        let expires = expires.trim().split('.').next().and_then(|text| text.parse().ok()).ok_or(number)?;
        cookies.push(FileCookie {
            domain: domain.trim_start_matches('.').to_ascii_lowercase(),
            has_subdomains: subdomains.eq_ignore_ascii_case("TRUE"),
            path: path.to_owned(),
            is_secure: secure.eq_ignore_ascii_case("TRUE"),
            expires,
            name: name.to_owned(),
            value: value.trim_end().into(),
        });
    }
    Ok(cookies)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(credential: &Credential, url: &str, before: Option<&'static str>) -> Option<String> {
        let mut headers = HeaderMap::new();
        if let Some(before) = before {
            headers.insert(COOKIE, HeaderValue::from_static(before));
        }
        credential.add_to(&Url::parse(url).unwrap(), &mut headers);
        headers.get(COOKIE).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn cookie_file_entries_are_sent_to_their_hosts() {
        let file = "# Netscape HTTP Cookie File\n\n\
            .a.test\tTRUE\t/\tFALSE\t0\tsid\t1\n\
            #HttpOnly_a.test\tFALSE\t/in\tTRUE\t99999999999\tkey\t2\n\
            a.test\tFALSE\t/\tFALSE\t1000\told\t3\n";
        let cookies = Credential::Cookies(cookies_of_file(file).unwrap());
        let at = |url: &str| sent(&cookies, url, None);
        assert_eq!(at("http://a.test/").as_deref(), Some("sid=1"));
        assert_eq!(at("https://a.test/in/x").as_deref(), Some("sid=1; key=2"));
        assert_eq!(at("https://a.test/inner").as_deref(), Some("sid=1"));
        assert_eq!(at("https://b.a.test/in").as_deref(), Some("sid=1"));
        assert_eq!((at("http://ba.test/"), at("http://b.test/")), (None, None));
        assert_eq!(sent(&cookies, "http://a.test/", Some("sid=9; x=1")).as_deref(), Some("sid=9; x=1"));
        assert_eq!(cookies_of_file("a.test\tTRUE\n").err(), Some(1));
    }

    #[test]
    fn cookies_that_no_page_gets_have_a_reason() {
        let unsent = |line: &str, site: &str| {
            let origin = Origin::of(&Url::parse(site).unwrap()).unwrap();
            HostAuth { origin, credential: Credential::Cookies(cookies_of_file(line).unwrap()) }.unsent()
        };
        let (current, expired) =
            ("a.test\tFALSE\t/in\tTRUE\t0\tsid\t1\n", "a.test\tFALSE\t/\tTRUE\t1000\tsid\t1\n");
        assert_eq!(unsent(current, "https://a.test/"), None);
        for (line, site, reason) in [
            (current, "http://a.test/", "only for https"),
            (expired, "https://a.test/", "expired"),
            (current, "https://www.a.test/", "no cookie of this host"),
        ] {
            assert!(unsent(line, site).is_some_and(|words| words.contains(reason)), "{site}: {reason}");
        }
    }

    #[test]
    fn a_bearer_token_is_sensitive() {
        let mut headers = HeaderMap::new();
        Credential::Bearer("s3cret".into()).add_to(&Url::parse("http://a.test/").unwrap(), &mut headers);
        assert_eq!(headers[AUTHORIZATION], "Bearer s3cret");
        assert!(!format!("{headers:?}").contains("s3cret"), "{headers:?}");
        assert!(Credential::header("a b", "x").is_err() && Credential::header("x-key", "a\nb").is_err());
    }
}
