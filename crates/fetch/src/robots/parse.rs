//! From bytes to groups.

use super::{Group, RobotsTxt, Rule, keys::Key, matcher::Pattern};
use rustc_hash::FxHashSet;
use std::{borrow::Cow, time::Duration};

/// Maximum octets of a line: as many as Google's parser reads, far more than any URL has.
const MAX_LINE: usize = 16 * 1024;
/// Maximum Crawl-delay, in seconds: one day.
const MAX_DELAY_SECONDS: f64 = 86_400.0;

pub(super) fn parse(bytes: &[u8]) -> RobotsTxt {
    let mut robots = RobotsTxt::default();
    let text = decoded(bytes);
    // an HTML page may hold a robots.txt between its tags
    let markup = text.trim_ascii_start().starts_with(b"<");
    // true until the first rule after a run of user-agent lines
    let mut naming = false;
    let mut sitemaps = FxHashSet::default();
    for (index, line) in lines(&text).enumerate() {
        let line = if markup { Cow::Owned(without_tags(line)) } else { Cow::Borrowed(line) };
        let Some((key, value)) = split(&line) else { continue };
        match key {
            Key::UserAgent => {
                if !naming {
                    robots.groups.push(Group::default());
                    naming = true;
                }
                if let Some(group) = robots.groups.last_mut() {
                    group.agents.extend(agents(value));
                }
            }
            Key::Sitemap => sitemap(value, &mut robots.sitemaps, &mut sitemaps),
            // neither Crawl-delay nor Sitemap ends a run of user-agent lines (§2.2.4): Crawl-delay applies to
            // the agents so far
            Key::CrawlDelay => {
                if let (Some(group), Some(delay)) = (robots.groups.last_mut(), delay(value)) {
                    group.delays.push((group.agents.len(), delay));
                }
            }
            Key::Allow | Key::Disallow => {
                naming = false;
                // an empty value matches nothing
                if let (Some(group), false) = (robots.groups.last_mut(), value.is_empty()) {
                    rules(key == Key::Allow, value, index + 1, &mut group.rules);
                }
            }
        }
    }
    robots
}

fn rules(allow: bool, value: &[u8], line: usize, rules: &mut Vec<Rule>) {
    let text = String::from_utf8_lossy(value).into_owned();
    let pattern = Pattern::new(value);
    // as in Google's parser, a rule that allows a directory's index page allows the directory: `/index.htm`
    // with any suffix, in any encoding
    let written = if allow { pattern.to_string() } else { String::new() };
    if let Some((directory, page)) = written.rsplit_once('/')
        && page.starts_with("index.htm")
    {
        let pattern = Pattern::new(format!("{directory}/$").as_bytes());
        rules.push(Rule { allow, pattern, text: text.clone(), line });
    }
    rules.push(Rule { allow, pattern, text, line });
}

/// Each once, in order.
fn sitemap(value: &[u8], sitemaps: &mut Vec<String>, known: &mut FxHashSet<String>) {
    let value = String::from_utf8_lossy(value).into_owned();
    if !value.is_empty() && known.insert(value.clone()) {
        sitemaps.push(value);
    }
}

/// Name of a crawler in groups: its product token without a version, in lower case. In a whole `User-Agent`
/// of the form `Mozilla/5.0 (compatible; NAME/1.0; …)` it is NAME.
pub(super) fn crawler_name(user_agent: &str) -> String {
    const COMPATIBLE: &str = "(compatible;";
    let name = user_agent.find(COMPATIBLE).map_or(user_agent, |at| &user_agent[at + COMPATIBLE.len()..]);
    name.trim().split(['/', ';', ')']).next().unwrap_or_default().trim_end().to_lowercase()
}

/// Names on a user-agent line, in lower case. The RFC allows one, but lists are common. A name ends before
/// its version and at the first character outside of product tokens, as in Google's parser; `*` is everybody.
fn agents(value: &[u8]) -> Vec<String> {
    let value = String::from_utf8_lossy(value).to_lowercase();
    let mut names = Vec::new();
    // NUL counts as space here too; no name has other control characters
    for word in value.split(|c: char| c.is_control() || matches!(c, ' ' | ',' | ';')) {
        let whole = word.split('/').next().unwrap_or_default();
        let token =
            whole.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).next().unwrap_or_default();
        // Duplicate names are harmless; a search for them would be quadratic in the line.
        let both = [whole, if token == whole { "" } else { token }];
        names.extend(both.into_iter().filter(|name| !name.is_empty()).map(str::to_owned));
    }
    names
}

/// Seconds, possibly with a fraction.
fn delay(value: &[u8]) -> Option<Duration> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(MAX_DELAY_SECONDS)))
}

/// Decodes UTF-8 without its byte order mark, or UTF-16 if its mark is present.
fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks::<2>();
        let units = pairs.iter().map(|pair| unit(*pair));
        char::decode_utf16(units)
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect::<String>()
            .into_bytes()
    };
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        Cow::Borrowed(rest)
    } else if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        Cow::Owned(utf16(rest, u16::from_be_bytes))
    } else if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        Cow::Owned(utf16(rest, u16::from_le_bytes))
    } else {
        Cow::Borrowed(bytes)
    }
}

/// Lines that end with LF, CR or CRLF, with the numbering of editors.
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

fn without_tags(line: &[u8]) -> Vec<u8> {
    let mut within = false;
    line.iter()
        .copied()
        .filter(|&byte| {
            within |= byte == b'<';
            let keep = !within;
            within &= byte != b'>';
            keep
        })
        .collect()
}

/// Key and value of a line, without comment and outer whitespace. The colon may be missing.
fn split(line: &[u8]) -> Option<(Key, &[u8])> {
    let line = &line[..line.len().min(MAX_LINE)];
    let line = match memchr::memchr(b'#', line) {
        Some(comment) => &line[..comment],
        None => line,
    };
    let line = trim(line);
    if let Some(colon) = memchr::memchr(b':', line)
        && let Some(key) = Key::named(trim(&line[..colon]))
    {
        return Some((key, trim(&line[colon + 1..])));
    }
    if is_bare_sitemap(line) {
        return Some((Key::Sitemap, line));
    }
    Key::leading(line).map(|(key, value)| (key, trim(value)))
}

/// Returns true for a line that holds only the URL of a sitemap.
fn is_bare_sitemap(line: &[u8]) -> bool {
    let starts = |scheme: &[u8]| line.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme));
    (starts(b"http://") || starts(b"https://"))
        && memchr::memmem::find(&line.to_ascii_lowercase(), b"sitemap").is_some()
        && !line.iter().any(u8::is_ascii_whitespace)
}

/// Trims whitespace and NUL, which fills files converted from UTF-16.
fn trim(bytes: &[u8]) -> &[u8] {
    let is_space = |b: &u8| b.is_ascii_whitespace() || *b == 0 || *b == 0x0b;
    let start = bytes.iter().position(|b| !is_space(b)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|b| !is_space(b)).map_or(start, |last| last + 1);
    &bytes[start..end]
}
