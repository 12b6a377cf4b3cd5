//! A parsed page with the shared facts of later steps: roles of elements, visibility, amounts of text.

mod ids;

use crate::{
    budget::Budget,
    dom::{Dom, NONE, Tag},
    explain::Trace,
    rules::{Hit, HostFilters, KnownNames, Part, Pass, Roles, Rules},
    text,
    visibility::{self, Seen},
};
use crawl_model::strip_userinfo;
use html5ever::local_name;
use std::{cell::OnceCell, collections::HashSet, ops::Range};
use url::Url;

/// Reason why a reader does not see a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HiddenReason {
    /// The node is visible.
    No,
    /// Scripts, styles, form fields and the like.
    Silent,
    /// Hidden by attribute or style, until a click or a script shows it.
    Hidden,
    /// Hidden permanently by a style.
    Unreadable,
    /// A consent banner.
    Consent,
}

impl HiddenReason {
    /// The reason, combined with that of the styles.
    fn with_style(self, style: Option<Seen>) -> Self {
        match (style, self) {
            (Some(Seen::Closed), Self::No) => Self::Hidden,
            (Some(Seen::Never), gone) if gone != Self::Silent => Self::Unreadable,
            (_, gone) => gone,
        }
    }
}

/// Amounts of visible text; differences of prefix sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// Characters, whitespace folded.
    pub(crate) chars: u32,
    /// Characters inside links.
    pub(crate) link_chars: u32,
    /// Words.
    pub(crate) words: u32,
    /// Commas and sentence ends, in any script.
    pub(crate) marks: u32,
    /// Links with text.
    pub(crate) links: u32,
    /// Characters of prose: of long blocks that do not consist of links.
    pub(crate) prose: u32,
}

impl Amount {
    /// Share of the characters inside links, 0 to 1.
    pub(crate) fn link_density(self) -> f32 {
        if self.chars == 0 { 0.0 } else { self.link_chars as f32 / self.chars as f32 }
    }

    /// Amount without a part of it.
    pub(crate) const fn minus(self, other: Self) -> Self {
        Self {
            chars: self.chars.saturating_sub(other.chars),
            link_chars: self.link_chars.saturating_sub(other.link_chars),
            words: self.words.saturating_sub(other.words),
            marks: self.marks.saturating_sub(other.marks),
            links: self.links.saturating_sub(other.links),
            prose: self.prose.saturating_sub(other.prose),
        }
    }

    /// Amount with more characters, all of them inside links.
    pub(crate) const fn with_links(self, chars: u32) -> Self {
        Self { chars: self.chars + chars, link_chars: self.link_chars + chars, ..self }
    }

    /// Adds another amount.
    pub(crate) const fn add(&mut self, other: Self) {
        self.chars += other.chars;
        self.link_chars += other.link_chars;
        self.words += other.words;
        self.marks += other.marks;
        self.links += other.links;
        self.prose += other.prose;
    }
}

/// Minimum characters of a prose block.
const MIN_PROSE: u32 = 80;
/// Maximum share of characters inside links in a prose block.
const MAX_PROSE_LINKS: f32 = 0.4;

/// Parts that [`Page::reveal`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reveal {
    /// Replacements for scripts.
    Noscript,
    /// Parts that attributes and styles hide.
    Hidden,
}

/// A page, ready to be read.
pub(crate) struct Page<'a> {
    pub(crate) dom: Dom,
    pub(crate) rules: &'a Rules,
    /// URL of the page; relative links are resolved against [`Page::base`].
    pub(crate) url: Option<&'a Url>,
    pub(crate) base: Option<Url>,
    /// Roles by node.
    pub(crate) roles: Vec<Roles>,
    /// By node.
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
    /// Places for content, in order.
    pub(crate) places: Vec<u32>,
    /// Overlays, in order.
    pub(crate) overlays: Vec<u32>,
    /// The first visible heading of level one with text.
    pub(crate) heading: Option<u32>,
    /// The body, or the document without one (framesets).
    pub(crate) body: u32,
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
            places: Vec::new(),
            overlays: Vec::new(),
            heading: None,
            body,
            trace: Trace::default(),
            budget,
        };
        page.look_at_elements();
        page.measure();
        if page.sweep_consent() {
            page.sum_again();
        }
        let all = page.body..page.dom.end(page.body);
        page.heading = all
            .into_iter()
            .find(|id| page.dom.tag(*id) == Tag::H1 && page.is_visible(*id) && page.amount(*id).chars > 0);
        page
    }

    /// Determines roles, selector matches, and invisible subtrees.
    fn look_at_elements(&mut self) {
        // Class attributes repeat, ids do not.
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
                    push_once(&mut self.places, id);
                }
                Hit::EmptyRoot => push_once(&mut self.places, id),
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

    /// Returns true if a reader opens the hidden element with a click, and its text is content. Its names,
    /// its role, or a control that names it decide.
    pub(crate) fn is_opened_by_a_click(&self, id: u32, controlled: &Controlled) -> bool {
        let roles = self.roles[id as usize];
        let by_role = || {
            let role = self.dom.attr(id, &local_name!("role"));
            role.is_some_and(|role| matches!(role, "tabpanel" | "region"))
        };
        let by_control = || {
            let own_id = self.dom.attr(id, &local_name!("id")).filter(|own_id| !own_id.is_empty());
            !roles.has(LAID_OVER) && own_id.is_some_and(|own_id| controlled.has(&self.dom, own_id))
        };
        roles.has(Roles::FOLDED) || by_role() || by_control()
    }

    /// Hides ranges of visible nodes; the amounts stay until [`Self::sum_again`].
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

    fn measure(&mut self) {
        let mut link_end = 0;
        let mut sum = Amount::default();
        for id in 0..self.dom.len() {
            let mut amount = Amount::default();
            match self.dom.tag(id) {
                Tag::A if self.dom.attr(id, &local_name!("href")).is_some() => {
                    link_end = link_end.max(self.dom.end(id));
                    amount.links = 1;
                }
                Tag::Text => {
                    let parent = self.dom.tag(self.dom.parent(id));
                    if !matches!(parent, Tag::Script | Tag::Style) {
                        let measured = text::measure(self.dom.text(id));
                        self.raw_words[id as usize] = measured.words;
                        amount.chars = measured.chars;
                        amount.link_chars = if id < link_end { measured.chars } else { 0 };
                        amount.words = measured.words;
                        amount.marks = measured.marks;
                    }
                }
                _ => {}
            }
            if self.gone[id as usize] == HiddenReason::No {
                sum.add(amount);
            }
            self.sums[id as usize + 1] = sum;
        }
        self.add_prose();
    }

    /// Credits runs of prose: text between two block borders that is long enough and mostly outside of links.
    fn add_prose(&mut self) {
        let dom = &self.dom;
        let mut found: Vec<(u32, u32)> = Vec::new();
        let mut run = (0, Amount::default());
        let mut close = |run: &mut (u32, Amount)| {
            let (start, amount) = std::mem::take(run);
            if amount.chars >= MIN_PROSE && amount.link_density() < MAX_PROSE_LINKS {
                found.push((start, amount.chars - amount.link_chars));
            }
        };
        let mut ends: Vec<u32> = Vec::new();
        for id in self.body..dom.end(self.body) {
            while ends.last().is_some_and(|end| *end <= id) {
                ends.pop();
                close(&mut run);
            }
            let tag = dom.tag(id);
            if tag == Tag::Text {
                let amount = self.amount_in(id..id + 1);
                if run.1.chars == 0 {
                    run.0 = id;
                }
                run.1.add(amount);
            } else if tag.is_block() {
                close(&mut run);
                ends.push(dom.end(id));
            }
        }
        close(&mut run);
        let mut found = found.into_iter().peekable();
        let mut prose = 0;
        for id in 0..self.gone.len() {
            if let Some((_, chars)) = found.next_if(|(start, _)| *start as usize == id) {
                prose += chars;
            }
            self.sums[id + 1].prose = prose;
        }
    }

    /// Shows a kind of invisible nodes if the visible text is too little: `noscript`, or hidden parts.
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

    /// Recomputes the prefix sums without nodes that were hidden since.
    pub(crate) fn sum_again(&mut self) {
        let mut sum = Amount::default();
        let mut old = self.sums[0];
        for at in 0..self.gone.len() {
            let amount = self.sums[at + 1].minus(old);
            old = self.sums[at + 1];
            if self.gone[at] == HiddenReason::No {
                sum.add(amount);
            }
            self.sums[at + 1] = sum;
        }
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

    /// Visible text of a subtree.
    pub(crate) fn amount(&self, id: u32) -> Amount {
        self.amount_in(id..self.dom.end(id))
    }

    /// Visible text of a range of nodes.
    pub(crate) fn amount_in(&self, range: Range<u32>) -> Amount {
        self.sums[range.end as usize].minus(self.sums[range.start as usize])
    }

    /// Frees the data of [`Page::amount`] when it is no longer needed.
    pub(crate) fn forget_amounts(&mut self) {
        self.sums = Vec::new();
        self.raw_words = Vec::new();
    }

    /// Returns true if a reader sees the node.
    pub(crate) fn is_visible(&self, id: u32) -> bool {
        self.gone[id as usize] == HiddenReason::No
    }

    /// Visible text of a subtree, with a space between blocks.
    pub(crate) fn visible_text(&self, id: u32) -> String {
        let mut out = String::new();
        for node in id..self.dom.end(id) {
            if self.is_visible(node) {
                let tag = self.dom.tag(node);
                if tag == Tag::Text {
                    out.push_str(self.dom.text(node));
                } else if tag.is_block() || tag == Tag::Br {
                    out.push(' ');
                }
            }
        }
        out
    }

    /// Resolves a URL of an attribute; only http and https.
    pub(crate) fn resolve(&self, address: &str) -> Option<String> {
        if self.budget.ran_out_of_addresses() {
            return None;
        }
        crate::links::resolve(self.base.as_ref(), address)
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

/// Visibility of an element by its tag and attributes, with its class and its id.
fn by_attributes(dom: &Dom, id: u32) -> (HiddenReason, &str, &str) {
    let (mut class, mut own_id) = ("", "");
    let mut gone =
        if dom.tag(id).is_silent() && !is_shadow(dom, id) { HiddenReason::Silent } else { HiddenReason::No };
    for (name, value) in dom.attrs(id) {
        match *name {
            local_name!("class") => class = value,
            local_name!("id") => own_id = value,
            local_name!("hidden") if value != "until-found" => gone = HiddenReason::Hidden,
            local_name!("aria-hidden") if value == "true" => gone = HiddenReason::Hidden,
            // the other letters differ from those of the names above
            _ if name.len() == 7 && &**name == "popover" => gone = HiddenReason::Hidden,
            _ => {}
        }
    }
    (gone, class, own_id)
}

/// Roles of parts that open on a click and are no content: menus, dialogs, searches.
const LAID_OVER: Roles = Roles::OVERLAY.and(Roles::NAVIGATION).and(Roles::FORM).and(Roles::SIDEBAR);

/// Hides the children beside a shadow root that have no slot in it.
fn hide_behind_shadow(dom: &Dom, root: u32, gone: &mut [HiddenReason]) {
    if dom.find(root..dom.end(root), Tag::Slot).is_some() {
        return;
    }
    for child in dom.children(dom.parent(root)).filter(|child| *child != root) {
        let nodes = &mut gone[child as usize..dom.end(child) as usize];
        nodes
            .iter_mut()
            .filter(|gone| **gone == HiddenReason::No)
            .for_each(|gone| *gone = HiddenReason::Unreadable);
    }
}

/// Ids of elements that controls of a page open; read on first use.
#[derive(Default)]
pub(crate) struct Controlled(OnceCell<HashSet<String>>);

impl Controlled {
    fn has(&self, dom: &Dom, id: &str) -> bool {
        self.0.get_or_init(|| controlled_ids(dom).into_iter().map(str::to_owned).collect()).contains(id)
    }
}

/// Ids of elements that buttons, tabs, labels and links in the page open.
fn controlled_ids(dom: &Dom) -> HashSet<&str> {
    let mut ids = HashSet::new();
    for id in (0..dom.len()).filter(|id| dom.tag(*id) != Tag::Text) {
        // an invisible control opens nothing
        if by_attributes(dom, id).0 == HiddenReason::Hidden {
            continue;
        }
        for (name, value) in dom.attrs(id) {
            match *name {
                local_name!("aria-controls") => ids.extend(value.split_ascii_whitespace()),
                local_name!("for") => drop(ids.insert(value)),
                local_name!("href") => ids.extend(value.strip_prefix('#').filter(|id| !id.is_empty())),
                _ if OPENERS.contains(&&**name) => drop(ids.insert(value.trim_start_matches('#'))),
                _ => {}
            }
        }
    }
    ids
}

/// Attributes of controls that name the opened element.
const OPENERS: [&str; 5] =
    ["data-target", "data-bs-target", "popovertarget", "commandfor", "data-toggle-target"];

/// Returns true for a declarative shadow root: a template whose contents are shown.
pub(crate) fn is_shadow(dom: &Dom, id: u32) -> bool {
    dom.tag(id) == Tag::Template && dom.attrs(id).any(|(name, _)| &**name == "shadowrootmode")
}

/// Maximum bytes of a base URL: it is copied into every relative URL, and no server accepts such a URL.
const MAX_BASE: usize = 4096;

fn base_of(dom: &Dom, url: Option<&Url>) -> Option<Url> {
    let href = (0..dom.len())
        .filter(|id| dom.tag(*id) == Tag::Base)
        .find_map(|id| dom.attr(id, &local_name!("href")))
        .filter(|href| href.len() <= MAX_BASE);
    let mut base = match (href, url) {
        (Some(href), Some(url)) => {
            let joined = url.join(href.trim()).ok();
            joined.filter(|base| base.as_str().len() <= MAX_BASE).or_else(|| Some(url.clone()))
        }
        (Some(href), None) => Url::parse(href.trim()).ok().filter(|base| base.as_str().len() <= MAX_BASE),
        (None, url) => url.cloned(),
    }?;
    strip_userinfo(&mut base);
    Some(base)
}
