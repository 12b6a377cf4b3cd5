//! Distinct key types, so that a host cannot be passed for an origin.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use url::{Position, Url};
use xxhash_rust::xxh3::Xxh3Default;

/// `scheme://host[:port]`, the unit of robots.txt (RFC 9309 §2.3). The scheme's default port is left out.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Origin(String);

impl Origin {
    /// The origin of an http or https URL; `None` for every other scheme and for a URL without a host.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        HostKey::of(url).map(|host| Self(format!("{}://{}", url.scheme(), host.as_str())))
    }

    /// `scheme://host[:port]` as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Host as fetched, with its port unless that is the scheme's default: the unit of politeness and of
/// fingerprints.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostKey(String);

impl HostKey {
    /// The host key of an http or https URL; `None` for every other scheme and for a URL without a host.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let named = url.host_str().is_some_and(|host| !host.is_empty());
        // a URL has no port that is the default of its scheme
        named.then(|| Self(url[Position::BeforeHost..Position::AfterPort].to_owned()))
    }

    /// Reads a key back from storage that [`HostKey::as_str`] wrote.
    #[must_use]
    pub fn from_stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// `host[:port]` as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Identity of a canonical URL: the first 128 bits of its SHA-256. A fast hash would let a page name a URL
/// that hides another one. Written as 32 hex digits; it is a record's `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UrlKey(pub [u8; 16]);

impl UrlKey {
    /// The key of a canonical URL.
    #[must_use]
    pub fn of(canonical: &str) -> Self {
        let digest = Sha256::digest(canonical.as_bytes());
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        Self(key)
    }
}

impl fmt::Display for UrlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// SHA-256 of a whole text, as 32 bytes. The specification hashes the first 5,000 characters (heuristics §9); here
/// the whole text decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// The hash of a text as it is, without normalization.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// First 128 bits of the SHA-256 of a page's cleaned text. It is only compared with those of other visits to the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>")]
pub struct TextHash(pub [u8; 16]);

impl TextHash {
    /// The hash of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        ContentHash::of(text).into()
    }
}

impl From<ContentHash> for TextHash {
    fn from(hash: ContentHash) -> Self {
        Self(first_half(hash.0))
    }
}

/// Earlier versions wrote the whole hash.
impl TryFrom<Vec<u8>> for TextHash {
    type Error = &'static str;

    fn try_from(bytes: Vec<u8>) -> Result<Self, &'static str> {
        head(&bytes).map(Self)
    }
}

/// XXH3 hash, 128 bits, of a decoded body and of its declared type, which decides how it is read. It is only compared
/// with those of other visits to the page. A site that makes two bodies with one hash only hides its own change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>")]
pub struct BodyHash(pub [u8; 16]);

/// Earlier versions wrote a SHA-256, whole or its first half. It equals no hash of this version, so the next visit reads
/// the page.
impl TryFrom<Vec<u8>> for BodyHash {
    type Error = &'static str;

    fn try_from(bytes: Vec<u8>) -> Result<Self, &'static str> {
        head(&bytes).map(Self)
    }
}

/// First 16 bytes of a hash.
fn head(hash: &[u8]) -> Result<[u8; 16], &'static str> {
    hash.first_chunk().copied().ok_or("a hash has too few bytes")
}

impl BodyHash {
    /// The hash of a body; `content_type` is the header as sent.
    #[must_use]
    pub fn of(body: &[u8], content_type: Option<&str>) -> Self {
        let declared = content_type.unwrap_or_default().as_bytes();
        let mut digest = Xxh3Default::new();
        // the length comes first, so that the two parts cannot be divided in another way
        digest.update(&(declared.len() as u64).to_le_bytes());
        digest.update(declared);
        digest.update(body);
        Self(digest.digest128().to_le_bytes())
    }
}

fn first_half(hash: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    half
}

/// Version of everything that decides the result of reading a body. The upper 32 bits are a hash of what decides the
/// text: rules, settings of extraction and cleaning, program version. The lower bits are a hash of what decides which
/// links are followed. The last bit is set if links are followed at all, which the depth of the page decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RulesVersion(pub i64);

impl RulesVersion {
    /// Version of a known page whose record the output lacks, since its last visit failed in a round that writes every
    /// page. It equals no version of rules, so the next visit reads and writes the page.
    pub const UNWRITTEN: Self = Self(0);

    /// Version for pages whose links are followed. The lowest bit of `following` is ignored.
    #[must_use]
    pub const fn new(reading: u32, following: u32) -> Self {
        Self(((reading as i64) << 32) | following as i64 | 1)
    }

    /// Version for a page whose links are all followed or all ignored.
    #[must_use]
    pub const fn of_page(self, followed: bool) -> Self {
        Self(if followed { self.0 | 1 } else { self.0 & !1 })
    }

    /// Returns true if the same body gives the same text under both versions.
    #[must_use]
    pub const fn reads_as(self, other: Self) -> bool {
        self.0 >> 32 == other.0 >> 32
    }

    /// Returns true if both versions choose the same links of pages whose links are followed.
    #[must_use]
    pub const fn follows_as(self, other: Self) -> bool {
        (self.0 as u32 | 1) == (other.0 as u32 | 1)
    }

    /// Returns true if a page read under this version need not be read again under `now`, provided that its
    /// body is the same.
    #[must_use]
    pub const fn covers(self, now: Self) -> bool {
        self.reads_as(now) && self.follows_as(now) && self.0 & 1 >= now.0 & 1
    }
}

/// The frontier's own number of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestId(pub i64);

/// Fencing token of a lease. It grows with every lease of the same URL, so that a worker with an expired
/// lease cannot settle the URL of its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeaseToken(pub i64);

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_128;

    #[test]
    fn host_and_origin_drop_the_default_port_only() {
        let at = |u: &str| {
            let url = Url::parse(u).unwrap();
            (HostKey::of(&url).unwrap().to_string(), Origin::of(&url).unwrap().to_string())
        };
        assert_eq!(at("https://Example.org:443/a"), ("example.org".into(), "https://example.org".into()));
        assert_eq!(
            at("http://example.org:8080/a"),
            ("example.org:8080".into(), "http://example.org:8080".into())
        );
        assert_eq!(at("http://[::1]:81/"), ("[::1]:81".into(), "http://[::1]:81".into()));
        assert_eq!(at("http://user:word@[::1]?a:1"), ("[::1]".into(), "http://[::1]".into()));
        assert!(HostKey::of(&Url::parse("mailto:a@b.c").unwrap()).is_none());
    }

    #[test]
    fn body_hash_covers_the_declared_content_type() {
        let of = BodyHash::of;
        assert_eq!(of(b"body", Some("text/html")), of(b"body", Some("text/html")));
        assert_ne!(of(b"body", Some("text/html")), of(b"body", Some("text/html; charset=big5")));
        assert_ne!(of(b"body", None), of(b"ody", Some("b")));
        // States store it: with another value the next round reads each page again.
        assert_eq!(of(b"abc", None).0, xxh3_128(b"\0\0\0\0\0\0\0\0abc").to_le_bytes());
        assert_eq!(of(b"abc", None).0[..4], [108, 71, 210, 211]);
    }

    #[test]
    fn hashes_of_visits_are_read_whole_or_halved() {
        let whole: Vec<u8> = (0..32).collect();
        let read = |bytes: &[u8]| {
            let text = serde_json::to_string(bytes).unwrap();
            (serde_json::from_str::<BodyHash>(&text).ok(), serde_json::from_str::<TextHash>(&text).ok())
        };
        let half: [u8; 16] = whole[..16].try_into().unwrap();
        let expected = (Some(BodyHash(half)), Some(TextHash(half)));
        assert_eq!(read(&whole), expected);
        assert_eq!(read(&half), expected);
        assert_eq!(serde_json::to_string(&BodyHash(half)).unwrap(), serde_json::to_string(&half).unwrap());
        assert_eq!(read(&whole[..15]), (None, None));
        assert_eq!(TextHash::of("abc").0, ContentHash::of("abc").0[..16]);
    }

    #[test]
    fn rules_version_separates_text_from_links() {
        let now = RulesVersion::new(7, 8);
        let (texts, links) = (RulesVersion::new(6, 8), RulesVersion::new(7, u32::MAX));
        assert!(!texts.reads_as(now) && texts.follows_as(now) && !texts.covers(now));
        assert!(links.reads_as(now) && !links.follows_as(now) && !links.covers(now));
        let at_the_limit = now.of_page(false);
        assert!(at_the_limit.reads_as(now) && at_the_limit.follows_as(now));
        assert!(now.covers(now) && now.covers(at_the_limit) && at_the_limit.covers(at_the_limit));
        assert!(!at_the_limit.covers(now), "its links were not followed");
        assert_eq!(at_the_limit.of_page(true), now);
    }

    #[test]
    fn url_key_is_the_start_of_sha256() {
        assert_eq!(UrlKey::of("").to_string(), "e3b0c44298fc1c149afbf4c8996fb924");
        assert_eq!(
            ContentHash::of("abc").to_string(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
