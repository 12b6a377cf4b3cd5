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

impl FileCookie {
    fn is_for(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let below = || host.strip_suffix(&self.domain).is_some_and(|rest| rest.ends_with('.'));
        let is_host = host == self.domain || self.has_subdomains && below();
        let path = url.path();
        let is_path = path
            .strip_prefix(self.path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'));
        let is_current = self.expires == 0 || self.expires > now_ms() / 1_000;
        is_host && is_path && is_current && (!self.is_secure || url.scheme() == "https")
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
    fn a_bearer_token_is_sensitive() {
        let mut headers = HeaderMap::new();
        Credential::Bearer("s3cret".into()).add_to(&Url::parse("http://a.test/").unwrap(), &mut headers);
        assert_eq!(headers[AUTHORIZATION], "Bearer s3cret");
        assert!(!format!("{headers:?}").contains("s3cret"), "{headers:?}");
        assert!(Credential::header("a b", "x").is_err() && Credential::header("x-key", "a\nb").is_err());
    }
}
