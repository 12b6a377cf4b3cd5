//! A parsed page with the shared facts of later steps: roles of elements, visibility, amounts of text.

mod amounts;
mod consent;
mod hidden;
mod ids;
mod link_urls;
mod parts;

use crate::{
    budget::Budget,
    dom::{Dom, NONE, Tag},
    rules::{Hit, HostFilters, KnownNames, Part, Pass, Roles, Rules},
    trace::Trace,
    visibility::{self, Seen},
};
pub(crate) use amounts::Amount;
use crawl_model::strip_userinfo;
pub(crate) use hidden::{Controlled, HiddenReason, is_shadow};
use hidden::{by_attributes, hide_behind_shadow};
use html5ever::local_name;
pub(crate) use link_urls::LinkUrls;
use std::{cell::OnceCell, ops::Range};
use url::Url;

/// Parts that [`Page::reveal`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reveal {
    /// Replacements for scripts.
    Noscript,
    /// Parts that attributes and styles hide.
    Hidden,
}

/// A parsed page with the facts that all later steps use.
pub(crate) struct Page<'a> {
    pub(crate) dom: Dom,
    pub(crate) rules: &'a Rules,
    /// URL of the page; relative links are resolved against [`Page::base`].
    pub(crate) url: Option<&'a Url>,
    pub(crate) base: Option<Url>,
    /// Canonical URL, once the metadata has been read.
    pub(crate) canonical: Option<Url>,
    /// URLs of the `a` elements, once the links have been collected.
    pub(crate) link_urls: LinkUrls,
    /// Roles by node.
    pub(crate) roles: Vec<Roles>,
    /// Reason for the invisibility of each node.
    pub(crate) gone: Vec<HiddenReason>,
    /// Words of each text node, visible or not.
    pub(crate) raw_words: Vec<u32>,
    /// Prefix sums by node, one longer than the nodes.
    sums: Vec<Amount>,
    /// Rank and element of the priority selectors' matches.
    pub(crate) priority: Vec<(u16, u32)>,
    /// Rank and element of the anchors' matches.
    pub(crate) anchors: Vec<(u16, u32)>,
    /// Rank and element of the content containers' matches.
    pub(crate) containers: Vec<(u16, u32)>,
    /// Named parts of platforms: part, platform, element.
    pub(crate) parts: Vec<(Part, u16, u32)>,
    /// Frameworks with a matched fingerprint, by index.
    pub(crate) frameworks: Vec<bool>,
    pub(crate) has_js_root: bool,
    /// True if a sign of metered content is visible.
    pub(crate) has_paywall: bool,
    /// Root elements of frameworks and empty containers for content, in order.
    pub(crate) content_roots: Vec<u32>,
    /// Overlays, in order.
    pub(crate) overlays: Vec<u32>,
    /// The first visible heading of level one with text; without one, once the metadata has been read, the
    /// element that shows the title.
    pub(crate) heading: Option<u32>,
    /// The body, or the document without one (framesets).
    pub(crate) body: u32,
    /// Tables that arrange the page, and their cells, in order; found on first use.
    pub(crate) layout: OnceCell<Vec<u32>>,
    /// Notes of the text in `aside`, in order; found on first use.
    pub(crate) notes: OnceCell<Vec<u32>>,
    /// Notes for an explanation, if requested.
    pub(crate) trace: Trace,
    /// Remaining budget of the page.
    pub(crate) budget: &'a Budget,
}

impl<'a> Page<'a> {
    /// Prepares a page; visits every node once or twice.
    pub(crate) fn new(dom: Dom, rules: &'a Rules, url: Option<&'a Url>, budget: &'a Budget) -> Self {
        let n = dom.len() as usize;
        let body = dom.find(0..dom.len(), Tag::Body).unwrap_or(0);
        let base = base_of(&dom, url);
        let mut page = Self {
            dom,
            rules,
            url,
            base,
            canonical: None,
            link_urls: LinkUrls::default(),
            roles: vec![Roles::NONE; n],
            gone: vec![HiddenReason::No; n],
            raw_words: vec![0; n],
            sums: vec![Amount::default(); n + 1],
            priority: Vec::new(),
            anchors: Vec::new(),
            containers: Vec::new(),
            parts: Vec::new(),
            frameworks: vec![false; rules.frameworks.framework.len()],
            has_js_root: false,
            has_paywall: false,
            content_roots: Vec::new(),
            overlays: Vec::new(),
            heading: None,
            body,
            layout: OnceCell::new(),
            notes: OnceCell::new(),
            trace: Trace::default(),
            budget,
        };
        page.classify_elements();
        page.measure();
        if page.remove_consent() {
            page.recompute_sums();
        }
        let all = page.body..page.dom.end(page.body);
        page.heading = all
            .into_iter()
            .find(|id| page.dom.tag(*id) == Tag::H1 && page.is_visible(*id) && page.amount(*id).chars > 0);
        page
    }

    /// Determines roles, selector matches, and invisible subtrees.
    fn classify_elements(&mut self) {
        // Classes repeat within a page, so their roles are cached; ids do not.
        let mut seen = KnownNames::default();
        let mut pass = Pass::default();
        let (lists, budget) = (self.lists(), self.budget);
        let seen_by_style = visibility::find(&self.dom, &self.rules.extraction.visibility, budget);
        let controlled = Controlled::default();
        for id in (1..self.dom.len()).take_while(|_| !budget.is_over()) {
            let at = id as usize;
            let parent = self.dom.parent(id);
            if parent != NONE && self.gone[parent as usize] != HiddenReason::No {
                self.gone[at] = self.gone[parent as usize];
            }
            let tag = self.dom.tag(id);
            if tag == Tag::Text {
                if self.gone[at] == HiddenReason::No
                    && seen_by_style.get(parent as usize) == Some(&Seen::NoText)
                {
                    self.gone[at] = HiddenReason::Unreadable;
                }
                continue;
            }
            let (gone, class, own_id) = by_attributes(&self.dom, id);
            let mut gone = gone.with_style(seen_by_style.get(at).copied());
            self.roles[at] = named(&self.dom, self.rules, &mut seen, (id, class, own_id));
            if gone == HiddenReason::Hidden && self.is_opened_by_a_click(id, &controlled) {
                gone = HiddenReason::No;
            }
            let mut consent = false;
            self.rules.selectors.for_matches_in_order(&self.dom, id, &mut pass, |hit| match hit {
                Hit::Consent(_) => consent = true,
                Hit::Framework(index) => self.frameworks[index as usize] = true,
                Hit::JsRoot => {
                    self.has_js_root = true;
                    push_once(&mut self.content_roots, id);
                }
                Hit::EmptyRoot => push_once(&mut self.content_roots, id),
                Hit::Overlay => push_once(&mut self.overlays, id),
                Hit::Paywall => {
                    self.has_paywall |= gone == HiddenReason::No && self.gone[at] == HiddenReason::No;
                }
                Hit::Priority(rank) => self.priority.push((rank, id)),
                Hit::Anchor(rank) => self.anchors.push((rank, id)),
                Hit::Platform(part, index) => self.parts.push((part, index, id)),
                Hit::Container(rank) => self.containers.push((rank, id)),
            });
            if gone == HiddenReason::No
                && let Some(lists) = &lists
            {
                consent |= lists.find(&self.dom, id, own_id, class).is_some();
            }
            // A whole page whose body has a banner's class is not a banner.
            if consent && !matches!(tag, Tag::Body | Tag::Html | Tag::Main | Tag::Article) {
                gone = HiddenReason::Consent;
            }
            if self.gone[at] == HiddenReason::No && !matches!(tag, Tag::Body | Tag::Html) {
                self.gone[at] = gone;
            }
            if tag == Tag::Template && is_shadow(&self.dom, id) {
                hide_behind_shadow(&self.dom, id, &mut self.gone);
            }
        }
    }

    /// Hides ranges of visible nodes. The amounts stay as they are until [`Self::recompute_sums`].
    pub(crate) fn leave_out(&mut self, ranges: &[Range<u32>], why: HiddenReason) {
        for range in ranges {
            let nodes = &mut self.gone[range.start as usize..range.end as usize];
            nodes.iter_mut().filter(|gone| **gone == HiddenReason::No).for_each(|gone| *gone = why);
        }
    }

    /// The user's filter lists for this page.
    pub(crate) fn lists(&self) -> Option<HostFilters<'a>> {
        let host = self.url.and_then(Url::host_str).unwrap_or_default();
        self.rules.lists.as_ref().map(|lists| lists.on(host))
    }

    /// Shows a kind of invisible nodes, for a page with too little visible text.
    pub(crate) fn reveal(&mut self, what: Reveal) {
        let mut id = self.body;
        let end = self.dom.end(self.body);
        while id < end {
            let tag = self.dom.tag(id);
            let matches = match what {
                Reveal::Noscript => tag == Tag::Noscript,
                Reveal::Hidden => self.gone[id as usize] == HiddenReason::Hidden && !tag.is_silent(),
            };
            if !matches {
                id += 1;
                continue;
            }
            let root = id;
            while id < self.dom.end(root) {
                let silent = id != root && self.dom.tag(id).is_silent();
                self.gone[id as usize] = if silent { HiddenReason::Silent } else { HiddenReason::No };
                let next = if silent { self.dom.end(id) } else { id + 1 };
                self.gone[id as usize + 1..next as usize].fill(HiddenReason::Silent);
                id = next;
            }
        }
        self.measure();
    }

    /// Words that attributes and styles hide within a part of the page, without dropped parts.
    pub(crate) fn hidden_words_in(&self, roots: &[u32], drop: &[bool]) -> u32 {
        let mut words: u32 = 0;
        for root in roots {
            let mut id = *root;
            while id < self.dom.end(*root) {
                if drop[id as usize] {
                    id = self.dom.end(id);
                    continue;
                }
                if matches!(self.gone[id as usize], HiddenReason::Hidden | HiddenReason::Unreadable) {
                    words = words.saturating_add(self.raw_words[id as usize]);
                }
                id += 1;
            }
        }
        words
    }

    /// Words that attributes and styles hide.
    pub(crate) fn hidden_words(&self) -> u32 {
        let all = self.gone.iter().zip(&self.raw_words);
        all.filter(|(gone, _)| **gone == HiddenReason::Hidden)
            .map(|(_, words)| *words)
            .fold(0, u32::saturating_add)
    }

    /// The nodes of the body.
    pub(crate) fn within_body(&self) -> Range<u32> {
        self.body..self.dom.end(self.body)
    }

    /// Returns true if the node is visible.
    pub(crate) fn is_visible(&self, id: u32) -> bool {
        self.gone[id as usize] == HiddenReason::No
    }

    /// Visible text of a subtree, with a space between blocks.
    pub(crate) fn visible_text(&self, id: u32) -> String {
        // Characters are folded, and most have one byte.
        let mut out = String::with_capacity(self.chars(id) as usize + 16);
        self.push_visible_text(id, &mut out);
        out
    }

    /// Adds [`Self::visible_text`] to a text.
    pub(crate) fn push_visible_text(&self, id: u32, out: &mut String) {
        self.push_text(id, usize::MAX, |node| self.is_visible(node), out);
    }

    /// Adds the text of an element's accepted nodes, with spaces around blocks. Ends when the text has more than `most`
    /// bytes.
    pub(crate) fn push_text(&self, id: u32, most: usize, accept: impl Fn(u32) -> bool, out: &mut String) {
        let dom = &self.dom;
        // ends of the blocks around the node within the element; `next` is the end of the innermost
        let (mut open, mut next): (Vec<u32>, u32) = (Vec::new(), u32::MAX);
        for node in (id..dom.end(id)).filter(|node| accept(*node)) {
            while next <= node {
                out.push(' ');
                open.pop();
                next = open.last().copied().unwrap_or(u32::MAX);
            }
            let tag = dom.tag(node);
            if tag == Tag::Text {
                out.push_str(dom.text(node));
                if out.len() > most {
                    return;
                }
            } else if tag == Tag::Br {
                out.push(' ');
            } else if tag.is_block() && node != id {
                out.push(' ');
                next = dom.end(node);
                open.push(next);
            }
        }
    }

    /// Resolves a URL of an attribute; only http and https.
    pub(crate) fn resolve(&self, address: &str) -> Option<String> {
        if self.budget.ran_out_of_addresses() {
            return None;
        }
        crate::address::resolve(self.base.as_ref(), address)
            .filter(|url| self.budget.allows_growth(url.len().saturating_sub(address.len())))
    }
}

/// Adds an element once, even if several selectors match it.
fn push_once(list: &mut Vec<u32>, id: u32) {
    if list.last() != Some(&id) {
        list.push(id);
    }
}

/// Roles of an element by its class and its id, unless the id names a topic of the page.
fn named<'a>(
    dom: &'a Dom,
    rules: &Rules,
    seen: &mut KnownNames<'a>,
    (id, class, own_id): (u32, &'a str, &str),
) -> Roles {
    let by_class = if class.is_empty() { Roles::NONE } else { seen.roles(&rules.tokens, class) };
    if own_id.is_empty() || ids::is_slug(own_id) {
        return by_class;
    }
    let by_id = rules.tokens.roles_of_id(own_id);
    if by_id == Roles::NONE || ids::names_topic(dom, id, own_id) { by_class } else { by_class.and(by_id) }
}

/// Maximum bytes of a base URL, which is copied into every relative URL.
const MAX_BASE: usize = 4096;

fn base_of(dom: &Dom, url: Option<&Url>) -> Option<Url> {
    let href = dom
        .find_all(0..dom.len(), Tag::Base)
        .find_map(|id| dom.attr(id, &local_name!("href")))
        .filter(|href| href.len() <= MAX_BASE);
    let is_base = |base: &Url| base.as_str().len() <= MAX_BASE && has_paths(base);
    let mut base = match (href, url) {
        (Some(href), Some(url)) => {
            let joined = url.join(href.trim()).ok();
            joined.filter(is_base).or_else(|| Some(url.clone()))
        }
        (Some(href), None) => Url::parse(href.trim()).ok().filter(is_base),
        (None, url) => url.cloned(),
    }?;
    strip_userinfo(&mut base);
    Some(base)
}

/// Returns false for a URL that cannot be a base (`javascript:void(0)`, `data:`, `mailto:`). Browsers ignore such a
/// base.
fn has_paths(base: &Url) -> bool {
    !base.cannot_be_a_base() && !matches!(base.scheme(), "javascript" | "data")
}
