//! Sitemaps (sitemaps.org protocol 0.9) and feeds (RSS, RDF, Atom, JSON Feed) as lists of URLs.
//!
//! The bytes decide the format, since the declared type is often wrong. A damaged file yields the entries
//! before the damage. A file whose document type declares entities is refused, so none is ever expanded.

mod json;
mod xml;

use crate::url::DEFAULT_MAX_URL_LENGTH;
use flate2::read::MultiGzDecoder;
use std::{borrow::Cow, io::Read};
use url::Url;

/// Detected format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SitemapKind {
    /// `<urlset>`.
    UrlSet,
    /// `<sitemapindex>`: its entries are sitemaps.
    Index,
    /// RSS of any version, including RDF.
    Rss,
    /// Atom.
    Atom,
    /// JSON Feed.
    Json,
    /// One URL per line.
    Text,
}

impl SitemapKind {
    /// A stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UrlSet => "urlset",
            Self::Index => "index",
            Self::Rss => "rss",
            Self::Atom => "atom",
            Self::Json => "json",
            Self::Text => "text",
        }
    }
}

/// One URL of a sitemap or feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapEntry {
    /// Absolute http or https URL without fragment, not yet canonicalised.
    pub url: Url,
    /// `lastmod`, or the date of a feed entry, as given.
    pub lastmod: Option<String>,
}

/// A sitemap or feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sitemap {
    /// Detected format.
    pub kind: SitemapKind,
    /// Its URLs in order.
    pub entries: Vec<SitemapEntry>,
    /// True if the limits cut off entries.
    pub truncated: bool,
    /// True if the file is not well-formed; the entries before the damage are kept.
    pub damaged: bool,
}

/// Reason why a file is no sitemap.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SitemapError {
    /// The file declares entities.
    #[error("the file declares entities, which are never expanded")]
    Entities,
    /// Neither a sitemap nor a feed nor a list of URLs.
    #[error("neither a sitemap nor a feed nor a list of URLs ({0})")]
    Unknown(String),
    /// The compressed file is damaged from its first byte.
    #[error("the file cannot be decompressed")]
    Compression,
}

/// Maximum octets of a date; longer values are dropped.
const MAX_DATE: usize = 64;

/// Limits on one file.
#[derive(Clone, Copy, Debug)]
pub struct SitemapLimits {
    /// Maximum URLs; the rest is left out. The protocol allows 50,000.
    pub entries: usize,
    /// Maximum bytes after decompression.
    pub bytes: u64,
    /// Accepts only URLs of the sitemap's scheme and host, under its directory (protocol, "Sitemap file
    /// location").
    pub strict_location: bool,
}

/// Maximum bytes of a sitemap after decompression: that of the protocol.
pub const MAX_SITEMAP_BYTES: u64 = 50 << 20;

impl Default for SitemapLimits {
    fn default() -> Self {
        Self { entries: 50_000, bytes: MAX_SITEMAP_BYTES, strict_location: false }
    }
}

/// Decompresses a sitemap up to `cap` bytes. The second value is true if more bytes followed. Uncompressed
/// input is returned unchanged.
///
/// # Errors
/// When no part of it can be decompressed.
pub fn unpack_sitemap(bytes: Vec<u8>, cap: u64) -> Result<(Vec<u8>, bool), SitemapError> {
    match decompressed(&bytes, cap)? {
        (Cow::Owned(unpacked), cut) => Ok((unpacked, cut)),
        (Cow::Borrowed(_), cut) => Ok((bytes, cut)),
    }
}

/// Reads a sitemap or feed that was fetched from `url`.
///
/// # Errors
/// When the bytes are neither a sitemap nor a feed.
pub fn parse_sitemap(bytes: &[u8], url: &Url, limits: &SitemapLimits) -> Result<Sitemap, SitemapError> {
    parse_sitemap_until(bytes, url, limits, &|| false)
}

/// Reads a sitemap or feed as [`parse_sitemap`] does, and stops before the first entry for which `stop`
/// returns true.
///
/// # Errors
/// When the bytes are neither a sitemap nor a feed.
pub fn parse_sitemap_until(
    bytes: &[u8],
    url: &Url,
    limits: &SitemapLimits,
    stop: &dyn Fn() -> bool,
) -> Result<Sitemap, SitemapError> {
    let (bytes, cut) = decompressed(bytes, limits.bytes)?;
    let text = decoded(&bytes);
    // a byte order mark and whitespace may precede the declaration, in any order
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0');
    let mut collected = Collected { base: url, limits: *limits, stop, entries: Vec::new(), full: false };
    let (kind, damaged) = match text.chars().next() {
        Some('<') => xml::parse(text, &mut collected)?,
        Some('{') => json::parse(text, &mut collected)?,
        _ => lines(text, &mut collected)?,
    };
    let strict = limits.strict_location && matches!(kind, SitemapKind::UrlSet | SitemapKind::Text);
    if strict {
        collected.entries.retain(|entry| is_under(&entry.url, url));
    }
    Ok(Sitemap {
        kind,
        entries: collected.entries,
        truncated: collected.full || cut,
        damaged: damaged && !collected.full,
    })
}

/// Entries as they are found.
struct Collected<'a> {
    base: &'a Url,
    limits: SitemapLimits,
    stop: &'a dyn Fn() -> bool,
    entries: Vec<SitemapEntry>,
    full: bool,
}

impl Collected<'_> {
    /// Adds a location; returns false if it is invalid.
    fn push(&mut self, location: &str, lastmod: Option<String>) -> bool {
        let Some(url) = location_url(location, self.base) else { return false };
        if self.full || self.entries.len() >= self.limits.entries || (self.stop)() {
            self.full = true;
        } else {
            self.entries.push(SitemapEntry { url, lastmod });
        }
        true
    }
}

fn location_url(location: &str, base: &Url) -> Option<Url> {
    let location = location.trim();
    if location.is_empty() || location.len() > DEFAULT_MAX_URL_LENGTH {
        return None;
    }
    // seen often: the scheme forgotten
    let absolute = location.starts_with("www.").then(|| format!("http://{location}"));
    let mut url = base.join(absolute.as_deref().unwrap_or(location)).ok()?;
    url.set_fragment(None);
    let is_usual = matches!(url.scheme(), "http" | "https") && url.as_str().len() <= DEFAULT_MAX_URL_LENGTH;
    is_usual.then_some(url)
}

fn is_under(url: &Url, sitemap: &Url) -> bool {
    let directory = sitemap.path().rsplit_once('/').map_or("/", |(directory, _)| directory);
    url.origin() == sitemap.origin()
        && url.path().strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn decompressed(bytes: &[u8], cap: u64) -> Result<(Cow<'_, [u8]>, bool), SitemapError> {
    let cap_len = usize::try_from(cap).unwrap_or(usize::MAX);
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok((Cow::Borrowed(&bytes[..bytes.len().min(cap_len)]), bytes.len() > cap_len));
    }
    let mut out = Vec::new();
    // one extra byte detects truncation
    let result = MultiGzDecoder::new(bytes).take(cap.saturating_add(1)).read_to_end(&mut out);
    if result.is_err() && out.is_empty() {
        return Err(SitemapError::Compression);
    }
    let cut = result.is_err() || out.len() > cap_len;
    out.truncate(cap_len);
    Ok((Cow::Owned(out), cut))
}

/// Decodes text by the byte order mark, else by the XML declaration, else as UTF-8; invalid bytes are
/// replaced.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    /// Maximum length of an XML declaration, in bytes.
    const HEAD: usize = 200;
    if let Some((encoding, _)) = encoding_rs::Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0;
    }
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]);
    let declared = head.trim_start().strip_prefix("<?xml").and_then(|rest| {
        let rest = rest.split("?>").next()?.split_once("encoding")?.1;
        let quoted = rest.trim_start_matches([' ', '=']).trim_start_matches(['"', '\'']);
        encoding_rs::Encoding::for_label(quoted.split(['"', '\'']).next()?.as_bytes())
    });
    match declared {
        // the text read so far was not UTF-16, whatever the declaration says
        Some(encoding) if encoding.is_ascii_compatible() => encoding.decode_without_bom_handling(bytes).0,
        _ => String::from_utf8_lossy(bytes),
    }
}

fn lines(text: &str, collected: &mut Collected<'_>) -> Result<(SitemapKind, bool), SitemapError> {
    let is_url = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("http://") || line.starts_with("https://") || line.starts_with("www.")
    };
    let mut wrong = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if collected.full {
            break;
        }
        wrong |= !(is_url(&line) && collected.push(line, None));
    }
    if collected.entries.is_empty() {
        let head: String = text.chars().take(40).collect();
        return Err(SitemapError::Unknown(format!("it begins with {head:?}")));
    }
    Ok((SitemapKind::Text, wrong))
}

#[cfg(test)]
mod tests;
