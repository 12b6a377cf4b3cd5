//! Links: their addresses, in the text or numbered below it.

use super::{
    super::{Style, inline::Mark},
    MAX_MARKED, Walk,
};
use crate::{options::LinkStyle, page::Page};
use html5ever::local_name;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is known of the links of a text.
pub(super) struct Links {
    style: LinkStyle,
    /// The page's own address, without what stands behind `#`.
    own: Option<String>,
    /// Addresses that `[text][n]` refers to.
    list: Vec<String>,
    /// The number of each: links to one address share it.
    numbers: FxHashMap<String, usize>,
    /// Addresses that were spelled.
    spelled: FxHashSet<String>,
}

impl Links {
    pub(super) fn of(page: &Page<'_>, style: Style) -> Self {
        let own = page.url.map(|url| {
            let mut url = url.clone();
            url.set_fragment(None);
            url.into()
        });
        Self {
            style: if style.markdown { style.links } else { LinkStyle::Strip },
            own,
            list: Vec::new(),
            numbers: FxHashMap::default(),
            spelled: FxHashSet::default(),
        }
    }

    /// The addresses, by number.
    pub(super) fn into_list(self) -> Vec<String> {
        self.list
    }

    fn number(&mut self, url: String) -> usize {
        *self.numbers.entry(url).or_insert_with_key(|url| {
            self.list.push(url.clone());
            self.list.len()
        })
    }

    /// What stands behind a link's text. `None`: the text alone is left.
    fn after(&mut self, url: String) -> Option<String> {
        match self.style {
            LinkStyle::Strip => None,
            LinkStyle::Reference => Some(format!("][{}]", self.number(url))),
            LinkStyle::Keep => Some(format!("]({})", destination(&url))),
        }
    }
}

/// An address as CommonMark takes it: in angle brackets where its own brackets would end it.
pub(super) fn destination(url: &str) -> String {
    let mut depth = 0_i32;
    let balanced = url.bytes().all(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        (0..=30).contains(&depth)
    });
    if balanced && depth == 0 && !url.contains([' ', '<', '>', '\\']) && !url.is_empty() {
        return url.to_owned();
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
    out
}

impl Walk<'_> {
    /// The mark of a link, if its address is spelled.
    pub(super) fn link(&mut self, id: u32) -> Option<Mark> {
        let href = self.page.dom.attr(id, &local_name!("href"))?.trim();
        if self.links.style == LinkStyle::Strip || href.starts_with('#') {
            return None;
        }
        if href.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:")) {
            let address = href.split('?').next().unwrap_or(href);
            let url: String = address.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
            return (url.contains('@') && url.len() <= MAX_MAILTO)
                .then(|| Mark::Link { after: format!("]({})", destination(&url)), url });
        }
        let url = self.page.resolve(href)?;
        let after = self.links.after(url.clone())?;
        Some(Mark::Link { after, url })
    }

    pub(super) fn leave_link(&mut self, id: u32) {
        let Some((range, mark)) = self.inline.close(id) else { return };
        let Some(href) = self.page.dom.attr(id, &local_name!("href")) else { return };
        // The mark behind a heading that gives its own place (¶, #, §, a chain) is no text.
        if href.trim_start().starts_with('#')
            && !self.inline.text[range.clone()].contains(char::is_alphanumeric)
        {
            self.inline.truncate(range.start);
            return;
        }
        if let Some(mark) = mark.filter(|_| range.len() <= MAX_MARKED) {
            self.inline.mark(range, mark);
        }
    }
}

/// A longer address is no address of one reader (bytes).
const MAX_MAILTO: usize = 320;
