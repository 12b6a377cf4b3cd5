//! Resolved URLs of the links of a page.

use super::Page;
use html5ever::local_name;
use std::ops::Range;

/// Resolved URLs of links by element, in order.
#[derive(Default)]
pub(crate) struct LinkUrls {
    text: String,
    by_element: Vec<(u32, Range<usize>)>,
}

/// Maximum bytes of the URLs that are kept, with their entries.
const MAX_KEPT: usize = 1 << 20;

impl LinkUrls {
    /// Adds the URL of an element, which follows those before it.
    pub(crate) fn add(&mut self, id: u32, url: &str) {
        let entries = size_of_val(self.by_element.as_slice()) + size_of::<(u32, Range<usize>)>();
        if self.text.len() + url.len() + entries <= MAX_KEPT {
            let start = self.text.len();
            self.text.push_str(url);
            self.by_element.push((id, start..self.text.len()));
        }
    }

    /// The URL of an element, if it is kept.
    pub(crate) fn get(&self, id: u32) -> Option<&str> {
        let at = self.by_element.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.text.get(self.by_element[at].1.clone())
    }
}

impl Page<'_> {
    /// [`Self::resolve`] of the URL of an `a` element, if that is its attribute as written. Most are resolved
    /// already.
    pub(crate) fn resolve_link(&self, id: u32, href: &str) -> Option<String> {
        let is_written = self.dom.attr(id, &local_name!("href")).is_some_and(|own| own == href);
        match self.link_urls.get(id).filter(|_| is_written && !self.budget.ran_out_of_addresses()) {
            Some(url) => {
                let is_allowed = self.budget.allows_growth(url.len().saturating_sub(href.len()));
                is_allowed.then(|| url.to_owned())
            }
            None => self.resolve(href),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_urls_are_kept_up_to_a_memory_limit() {
        let mut urls = LinkUrls::default();
        let url = |id: u32| format!("http:{id}");
        (0..100_000).for_each(|id| urls.add(2 * id, &url(id)));
        let kept = urls.by_element.len();
        assert!(urls.text.len() + size_of_val(urls.by_element.as_slice()) <= MAX_KEPT);
        assert!((20_000..100_000).contains(&kept), "{kept}");
        for id in [0, 1, kept as u32 - 1] {
            assert_eq!(urls.get(2 * id), Some(url(id).as_str()));
            assert_eq!(urls.get(2 * id + 1), None);
        }
        assert_eq!(urls.get(2 * kept as u32), None);
    }
}
