//! Links: their URLs, in the text or numbered below it.

use super::{
    super::{Style, inline::Mark},
    MAX_MARKED, Walk, once,
};
use crate::{invisible, options::LinkStyle, page::Page};
use html5ever::local_name;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use std::{borrow::Cow, cell::OnceCell, sync::LazyLock};
use url::Url;

/// Links of a text that have been written.
pub(super) struct Links {
    style: LinkStyle,
    /// The page's own URL, normalised by [`once::place`].
    own: Option<String>,
    /// Addresses that `[text][n]` refers to.
    list: Vec<String>,
    /// Number of each URL, shared by its links.
    numbers: FxHashMap<String, usize>,
    /// Addresses that were spelled.
    spelled: FxHashSet<String>,
    /// Texts of links to several targets: labels of controls.
    pub(super) labels: FxHashSet<String>,
    /// Folders of archives, from [`once::archives`]: few texts link to one.
    pub(super) archives: OnceCell<FxHashSet<String>>,
}

impl Links {
    pub(super) fn of(page: &Page<'_>, style: Style) -> Self {
        let index_files = &page.rules.extraction.markdown.index_files;
        let own = page.url.map(|url| once::place(url.as_str(), index_files).to_owned());
        let style = if style.markdown { style.links } else { LinkStyle::Strip };
        Self {
            style,
            own,
            labels: if style == LinkStyle::Once { once::labels(page) } else { FxHashSet::default() },
            archives: OnceCell::new(),
            list: Vec::new(),
            numbers: FxHashMap::default(),
            spelled: FxHashSet::default(),
        }
    }

    /// URLs by number, in CommonMark's form.
    pub(super) fn into_list(self) -> Vec<String> {
        self.list.iter().map(|url| destination(url).into_owned()).collect()
    }

    fn number(&mut self, url: &str) -> usize {
        *self.numbers.entry(url.to_owned()).or_insert_with_key(|url| {
            self.list.push(url.clone());
            self.list.len()
        })
    }

    /// Output after a link's text; `None` if only the text is written.
    fn after(&mut self, url: &str, index_files: &[String]) -> Option<String> {
        match self.style {
            LinkStyle::Strip => None,
            LinkStyle::Reference => Some(format!("][{}]", self.number(url))),
            LinkStyle::Keep => Some(link_end(url)),
            LinkStyle::Once
                if self.own.as_deref() == Some(once::place(url, index_files))
                    || self.spelled.contains(url) =>
            {
                None
            }
            LinkStyle::Once => {
                self.spelled.insert(url.to_owned());
                Some(link_end(&once::readable(url)))
            }
        }
    }
}

/// Output after the text of a link to a URL.
fn link_end(url: &str) -> String {
    let destination = destination(url);
    let mut end = String::with_capacity(destination.len() + 3);
    ["](", &destination, ")"].into_iter().for_each(|part| end.push_str(part));
    end
}

/// URL in CommonMark's form: in angle brackets if its own brackets would end it. Characters that would begin
/// code or a link are encoded.
pub(super) fn destination(url: &str) -> Cow<'_, str> {
    // Without an early exit, the compiler compares many bytes at once.
    let has_mark = url
        .bytes()
        .fold(false, |found, byte| found | matches!(byte, b'`' | b'(' | b')' | b' ' | b'<' | b'>' | b'\\'));
    if !has_mark && !url.is_empty() {
        return url.into();
    }
    if url.contains('`') || url.contains("](") {
        return destination(&url.replace('`', "%60").replace("](", "%5D(")).into_owned().into();
    }
    let mut depth = 0_i32;
    let balanced = url.bytes().all(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        (0..=30).contains(&depth)
    });
    if balanced && depth == 0 && !url.contains([' ', '<', '>', '\\']) && !url.is_empty() {
        return url.into();
    }
    let mut out = String::with_capacity(url.len() + 2);
    out.push('<');
    for c in url.chars() {
        if matches!(c, '<' | '>' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('>');
    out.into()
}

impl Walk<'_> {
    /// Mark of a link, if its URL is written.
    pub(super) fn link(&mut self, id: u32) -> Option<Mark> {
        let href = self.page.dom.attr(id, &local_name!("href"))?.trim();
        let is_empty = || self.page.amount(id).chars == 0 && !self.opened.contains(&id);
        if self.links.style == LinkStyle::Strip || !self.style.images && is_empty() {
            return None;
        }
        let keep = self.links.style == LinkStyle::Keep;
        if href.starts_with('#') {
            // A heading that is the link to itself.
            let whole = self
                .heading
                .is_some_and(|heading| self.page.amount(heading).chars == self.page.amount(id).chars);
            let named = keep
                && !whole
                && href.len() > 1
                && href.len() <= MAX_FRAGMENT
                && !href.contains(char::is_whitespace)
                && !invisible::has_suspect(href);
            return named.then(|| Mark::Link { after: link_end(href), url: href.to_owned() });
        }
        if href.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:")) {
            let address = invisible::without(href.split('?').next().unwrap_or(href));
            let url: String = address.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
            return (url.contains('@') && url.len() <= MAX_MAILTO)
                .then(|| Mark::Link { after: link_end(&url), url });
        }
        let mut url = without_tracking(self.page.resolve_link(id, href)?);
        if self.links.style == LinkStyle::Once && self.is_unspelled(id, &url) {
            return None;
        }
        if keep
            && let Some((_, fragment)) = href.split_once('#')
            && (1..=MAX_FRAGMENT).contains(&fragment.len())
            && fragment.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'<' | b'>' | b'\\'))
        {
            url.push('#');
            url.push_str(fragment);
        }
        let index_files = &self.page.rules.extraction.markdown.index_files;
        let after = self.links.after(&url, index_files)?;
        Some(Mark::Link { after, url })
    }

    pub(super) fn leave_link(&mut self, id: u32) {
        let Some((range, mark)) = self.inline.close(id) else { return };
        let Some(href) = self.page.dom.attr(id, &local_name!("href")) else { return };
        // The anchor mark after a heading (¶, #, §, a chain) is no text.
        if href.trim_start().starts_with('#')
            && !self.inline.text[range.clone()].contains(char::is_alphanumeric)
        {
            self.inline.truncate(range.start);
            return;
        }
        let Some(mark) = mark.filter(|_| range.len() <= MAX_MARKED) else { return };
        if let Mark::Link { url, .. } = &mark
            && is_address(&self.inline.text[range.clone()], url)
            && self.inline.spans.last().is_none_or(|span| span.range.end <= range.start)
            && self.links.style != LinkStyle::Reference
        {
            let text = self.inline.text.split_off(range.start);
            let text = text.trim_end_matches([' ', '\n']);
            self.inline.push_raw(&format!("<{text}>"));
            return;
        }
        self.inline.mark(range, mark);
    }
}

/// Returns true if the text of a link is its URL, which CommonMark writes in angle brackets.
fn is_address(text: &str, url: &str) -> bool {
    if let Some(address) = url.strip_prefix("mailto:") {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '@' | '.' | '_' | '+' | '-');
        return text == address && text.chars().all(is_plain);
    }
    let whole = text.starts_with("http://") || text.starts_with("https://");
    if !whole || text.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '`'))
    {
        return false;
    }
    // After the host a backslash stays in the text, and is encoded in the URL.
    let encoded = |url: &str| url.replace('\\', "%5C");
    text == url || Url::parse(text).is_ok_and(|text| encoded(text.as_str()) == encoded(url))
}

/// Parameters that do not affect the target: names, and prefixes of names.
#[derive(Default, Deserialize)]
struct Tracking {
    prefixes: Vec<String>,
    names: FxHashSet<String>,
}

static TRACKING: LazyLock<Tracking> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../../config/rules/tracking_params.toml")).unwrap_or_default()
});

/// URL without tracking parameters.
fn without_tracking(url: String) -> String {
    let Some(at) = memchr::memchr(b'?', url.as_bytes()) else { return url };
    let (path, query) = (&url[..at], &url[at + 1..]);
    let is_tracking = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        TRACKING.names.contains(&name)
            || TRACKING.prefixes.iter().any(|start| name.starts_with(start.as_str()))
    };
    if !query.split('&').any(|pair| is_tracking(&pair)) {
        return url;
    }
    let left: Vec<&str> = query.split('&').filter(|pair| !is_tracking(pair)).collect();
    if left.is_empty() { path.to_owned() } else { format!("{path}?{}", left.join("&")) }
}

/// Maximum bytes of a fragment.
const MAX_FRAGMENT: usize = 200;

/// Maximum bytes of a mail address.
const MAX_MAILTO: usize = 320;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracking_parameters_are_removed() {
        for (url, want) in [
            ("https://a.test/x?utm_source=y", "https://a.test/x"),
            ("https://a.test/x?id=1&fbclid=2&page=3", "https://a.test/x?id=1&page=3"),
            ("https://a.test/x?q=utm_source", "https://a.test/x?q=utm_source"),
        ] {
            assert_eq!(without_tracking(url.to_owned()), want);
        }
    }

    #[test]
    fn link_destinations_with_brackets_are_escaped() {
        assert_eq!(destination("https://a.test/x_(y)"), "https://a.test/x_(y)");
        assert_eq!(destination("https://a.test/x):"), "<https://a.test/x):>");
        assert_eq!(destination("https://a.test/?`[x](y)"), "https://a.test/?%60[x%5D(y)");
        assert!(is_address("a@b.test", "mailto:a@b.test") && !is_address("a@b`", "mailto:a@b`"));
        assert!(!is_address("https://a.test/?`", "https://a.test/?`"));
        assert!(is_address("https://a.test?x=\\*", "https://a.test/?x=%5C*"));
        assert!(is_address("https://a.test", "https://a.test/") && !is_address("a.test", "https://a.test/"));
    }
}
