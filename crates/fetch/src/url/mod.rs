//! Canonical URLs: the form in which they are compared, stored and fetched.
//!
//! The policy is that of crawler-commons' BasicURLNormalizer (profile `cc-basic`), which follows RFC 3986
//! §6.2.2 and adds rules that hold on nearly every site:
//!
//! - Scheme and host in lower case and IDNA's ASCII form; no default port, no dot at the end of the host, no
//!   credentials, no fragment.
//! - Dot segments resolved, runs of slashes collapsed (but not the `//` of a URL within the path).
//! - Percent-encoding with upper-case digits, only where necessary.
//! - Tracking and session parameters removed; parameters sorted by name, those of one name in their own
//!   order.
//!
//! Index pages are kept: nothing proves that `/index.html` is `/`.

mod params;
mod percent;
mod text;

pub use params::ParamRules;
pub use text::IdnForm;

use crate::rules;
use crawl_model::HostKey;
use std::borrow::Cow;
use url::{Position, Url};

/// Reason why a link is no URL to crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefusal {
    /// The URL does not parse, or its host is invalid.
    #[error("not a valid URL")]
    Invalid,
    /// A scheme other than http and https.
    #[error("neither http nor https")]
    Scheme,
    /// Longer than the cap.
    #[error("longer than the limit")]
    TooLong,
}

/// Canonicaliser of URLs. Pure and cheap to share: it runs for every link of every page.
#[derive(Clone, Debug)]
pub struct Canonicalizer {
    params: ParamRules,
    max_length: usize,
}

/// Default maximum octets of a URL: twice the limit of the sitemap protocol, half the limit of servers.
pub const DEFAULT_MAX_URL_LENGTH: usize = 4096;

impl Default for Canonicalizer {
    fn default() -> Self {
        Self::new(ParamRules::embedded(), DEFAULT_MAX_URL_LENGTH)
    }
}

impl Canonicalizer {
    /// Creates a canonicaliser that removes `params` and refuses URLs of more than `max_length` octets.
    #[must_use]
    pub const fn new(params: ParamRules, max_length: usize) -> Self {
        Self { params, max_length }
    }

    /// Canonical form of an absolute URL.
    ///
    /// # Errors
    /// When the URL cannot be crawled.
    pub fn parse(&self, text: &str) -> Result<Url, UrlRefusal> {
        self.checked(text.len(), || Url::parse(text))
    }

    /// Canonical form of a reference found on a page.
    ///
    /// # Errors
    /// When the URL cannot be crawled.
    pub fn join(&self, base: &Url, reference: &str) -> Result<Url, UrlRefusal> {
        self.checked(reference.len(), || base.join(reference))
    }

    fn checked(
        &self,
        length: usize,
        parse: impl FnOnce() -> Result<Url, url::ParseError>,
    ) -> Result<Url, UrlRefusal> {
        if length > self.max_length {
            return Err(UrlRefusal::TooLong);
        }
        let url = parse().map_err(|_| UrlRefusal::Invalid)?;
        if HostKey::of(&url).is_none() {
            return Err(UrlRefusal::Scheme);
        }
        if url.host_str().is_some_and(|host| host.bytes().all(|b| b == b'.')) {
            return Err(UrlRefusal::Invalid);
        }
        let url = match self.rewritten(&url)? {
            Some(canonical) => canonical,
            None => url,
        };
        // percent-encoding can triple the length of a URL
        if url.as_str().len() > self.max_length { Err(UrlRefusal::TooLong) } else { Ok(url) }
    }

    /// Returns true if a URL is longer than the limit. [`Canonicalizer::canonical`] makes such URLs canonical
    /// too.
    #[must_use]
    pub fn is_too_long(&self, url: &Url) -> bool {
        url.as_str().len() > self.max_length
    }

    /// Canonical form of a URL. Idempotent. A URL without one, which [`Canonicalizer::parse`] refuses, is
    /// returned unchanged.
    #[must_use]
    pub fn canonical(&self, url: &Url) -> Url {
        self.rewritten(url).ok().flatten().unwrap_or_else(|| url.clone())
    }

    /// Canonical form, if it differs from the URL.
    ///
    /// # Errors
    /// When there is none: `a.7..` is a host name to the URL standard, but `a.7` is an invalid IPv4 address.
    fn rewritten(&self, url: &Url) -> Result<Option<Url>, UrlRefusal> {
        let text = url.as_str();
        let host = &url[Position::BeforeHost..Position::AfterHost];
        let plain_host = match host.trim_end_matches('.') {
            // dots only: there is no name
            "" => host,
            name => name,
        };
        let path = url.path();
        let query = url.query();
        let canonical_path = self.path(path);
        let canonical_query = query.map(|query| self.params.canonical(query));
        let same_authority =
            plain_host.len() == host.len() && url.username().is_empty() && url.password().is_none();
        let same_query = match (&canonical_query, query) {
            (Some(canonical), Some(query)) => !canonical.is_empty() && canonical == query,
            _ => true,
        };
        if same_authority && same_query && url.fragment().is_none() && canonical_path == path {
            return Ok(None);
        }
        let mut out = String::with_capacity(text.len() + 8);
        out.push_str(&url[..Position::BeforeUsername]);
        out.push_str(plain_host);
        out.push_str(&url[Position::AfterHost..Position::BeforePath]);
        out.push_str(&canonical_path);
        if let Some(query) = canonical_query.filter(|query| !query.is_empty()) {
            out.push('?');
            out.push_str(&query);
        }
        Url::parse(&out).map(Some).map_err(|_| UrlRefusal::Invalid)
    }

    fn path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let bytes = path.as_bytes();
        let clean = !bytes.iter().any(|&b| b == b'%' || b == b';' || percent::must_encode(b))
            && memchr::memmem::find(bytes, b"//").is_none();
        if clean {
            return Cow::Borrowed(path);
        }
        let without_sessions = self.params.strip_path_parameters(path);
        let mut out = String::with_capacity(path.len() + 8);
        percent::normalize_into(&without_sessions, &mut out);
        Cow::Owned(collapse_slashes(&out))
    }
}

/// Replaces each run of slashes by one, except after a colon, where a URL within the path begins.
fn collapse_slashes(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut before = ['\0'; 2];
    for c in path.chars() {
        let doubled = c == '/' && before[1] == '/';
        if !doubled || before[0] == ':' {
            out.push(c);
            before = [before[1], c];
        }
    }
    out
}

pub(crate) fn param_rules() -> params::ParamFile {
    rules::embedded(params::FILE, params::TEXT)
}

/// A path or a query with normalised percent-encoding.
pub(crate) fn normalized(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    percent::normalize_into(text, &mut out);
    out
}

#[cfg(test)]
mod tests;
