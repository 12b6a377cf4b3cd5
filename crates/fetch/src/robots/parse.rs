//! From bytes to groups.

use super::{Group, RobotsTxt, Rule, matcher::Pattern};
use std::time::Duration;

/// Octets of a line that are looked at: as much as Google's parser takes, far more than any URL has.
const MAX_LINE: usize = 16 * 1024;

/// What a line means.
enum Key {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
}

pub(super) fn parse(bytes: &[u8]) -> RobotsTxt {
    let mut robots = RobotsTxt::default();
    let bytes = without_bom(bytes);
    // true until the first rule after a run of user-agent lines
    let mut naming = false;
    for (index, line) in lines(bytes).enumerate() {
        let Some((key, value)) = split(line) else { continue };
        match key {
            Key::UserAgent => {
                if !naming {
                    robots.groups.push(Group::default());
                    naming = true;
                }
                if let (Some(group), Some(agent)) = (robots.groups.last_mut(), agent(value)) {
                    group.agents.push(agent);
                }
            }
            // outside of the RFC's groups: a Sitemap line neither belongs to one nor ends one
            Key::Sitemap => robots.sitemaps.push(String::from_utf8_lossy(value).into_owned()),
            Key::CrawlDelay => {
                naming = false;
                if let Some(group) = robots.groups.last_mut() {
                    group.crawl_delay = group.crawl_delay.or_else(|| delay(value));
                }
            }
            Key::Allow | Key::Disallow => {
                naming = false;
                // an empty value matches nothing
                if let (Some(group), false) = (robots.groups.last_mut(), value.is_empty()) {
                    group.rules.push(rule(matches!(key, Key::Allow), value, index + 1));
                }
            }
        }
    }
    robots
}

fn rule(allow: bool, value: &[u8], line: usize) -> Rule {
    Rule { allow, pattern: Pattern::new(value), text: String::from_utf8_lossy(value).into_owned(), line }
}

/// The leading characters that a product token may have (RFC 9309 §2.2.1).
pub(super) fn product_token(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphabetic() || c == '_' || c == '-')).unwrap_or(text.len());
    &text[..end]
}

/// The lower-case token of a user-agent line; `*` stands for everybody if nothing but space follows it.
fn agent(value: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(value);
    match text.strip_prefix('*') {
        Some(rest) if rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace()) => {
            Some("*".into())
        }
        _ => Some(product_token(&text).to_ascii_lowercase()).filter(|token| !token.is_empty()),
    }
}

/// Seconds, with a fraction if need be. Values beyond a day are as good as a day.
fn delay(value: &[u8]) -> Option<Duration> {
    const DAY: f64 = 86_400.0;
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(DAY)))
}

fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Lines ended by LF, CR or CRLF. Numbers count as an editor counts them.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest?;
        let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
            rest = None;
            return Some(bytes);
        };
        let skip = if bytes[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = Some(&bytes[end + skip..]);
        Some(&bytes[..end])
    })
}

/// Key and value of a line, without comment and outer space. The colon may be missing if two words stand there.
fn split(line: &[u8]) -> Option<(Key, &[u8])> {
    let line = &line[..line.len().min(MAX_LINE)];
    let line = match memchr::memchr(b'#', line) {
        Some(comment) => &line[..comment],
        None => line,
    };
    let line = trim(line);
    if let Some(colon) = memchr::memchr(b':', line) {
        return Some((key(trim(&line[..colon]))?, trim(&line[colon + 1..])));
    }
    let space = memchr::memchr2(b' ', b'\t', line)?;
    let value = trim(&line[space..]);
    if memchr::memchr2(b' ', b'\t', value).is_some() {
        return None;
    }
    Some((key(&line[..space])?, value))
}

/// NUL counts as space: files that were UTF-16 once are full of it.
fn trim(bytes: &[u8]) -> &[u8] {
    let is_space = |b: &u8| b.is_ascii_whitespace() || *b == 0 || *b == 0x0b;
    let start = bytes.iter().position(|b| !is_space(b)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|b| !is_space(b)).map_or(start, |last| last + 1);
    &bytes[start..end]
}

/// The meaning of a key in any case, with the misspellings that Google's parser forgives.
fn key(name: &[u8]) -> Option<Key> {
    let is = |names: &[&str]| names.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes()));
    if is(&["user-agent", "useragent", "user agent"]) {
        Some(Key::UserAgent)
    } else if is(&["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"]) {
        Some(Key::Disallow)
    } else if is(&["allow"]) {
        Some(Key::Allow)
    } else if is(&["crawl-delay", "crawldelay", "crawl delay"]) {
        Some(Key::CrawlDelay)
    } else if is(&["sitemap", "site-map"]) {
        Some(Key::Sitemap)
    } else {
        None
    }
}
