//! Selectors, compiled into look-ups by their most selective part.

mod parse;

use crate::dom::{Dom, NONE, Tag};
use html5ever::LocalName;
use memchr::memmem::Finder;
use parse::split_chains;
use rustc_hash::{FxHashMap, FxHasher};
use std::{fmt, hash::Hasher, ops::Range};

/// Comparison of an attribute's value.
#[derive(Clone, Debug)]
enum Test {
    Present,
    Equals(String),
    /// Prepared, since most values are too short for the search of the standard library.
    Contains(Box<Finder<'static>>),
    StartsWith(String),
    EndsWith(String),
    HasWord(String),
}

impl Test {
    fn holds(&self, value: &str) -> bool {
        match self {
            Self::Present => true,
            Self::Equals(v) => value == v,
            Self::Contains(v) => v.find(value.as_bytes()).is_some(),
            Self::StartsWith(v) => value.starts_with(v.as_str()),
            Self::EndsWith(v) => value.ends_with(v.as_str()),
            Self::HasWord(v) => value.split_ascii_whitespace().any(|word| word == v),
        }
    }
}

/// Reason why a text is no selector here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Valid in CSS, but not supported here.
    Unsupported(String),
    /// Invalid selector.
    Wrong(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unsupported(problem) | Self::Wrong(problem)) = self;
        f.write_str(problem)
    }
}

fn wrong(problem: &str) -> Refusal {
    Refusal::Wrong(problem.to_owned())
}

/// An element's name.
#[derive(Clone, Debug)]
enum Name {
    Known(Tag),
    Custom(String),
}

impl Name {
    fn of(text: &str) -> Self {
        match Tag::of(&LocalName::from(text)) {
            Tag::Other => Self::Custom(text.to_owned()),
            tag => Self::Known(tag),
        }
    }

    fn is_of(&self, dom: &Dom, element: u32) -> bool {
        match self {
            // Elements outside of the HTML namespace may have the same name.
            Self::Known(tag) => match dom.tag(element) {
                Tag::Other | Tag::CustomBlock => dom.name(element) == tag.name(),
                other => other == *tag,
            },
            Self::Custom(name) => {
                matches!(dom.tag(element), Tag::Other | Tag::CustomBlock) && dom.name(element) == name
            }
        }
    }
}

/// A selector without combinators: all its conditions apply to one element.
#[derive(Clone, Debug, Default)]
struct Compound {
    tag: Option<Name>,
    id: Option<String>,
    classes: Vec<String>,
    attrs: Vec<(LocalName, Test)>,
    /// None of these holds.
    nots: Vec<Self>,
}

/// Compounds joined by `>`, innermost first: a node, its parent, the parent's parent.
type Chain = Vec<Compound>;

/// A selector: the element with its ancestors joined by `>`, then chains of further ancestors, innermost
/// first.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    subject: Chain,
    ancestors: Vec<Chain>,
}

/// A set of selectors, each with a payload for its matches.
#[derive(Clone, Debug)]
pub(crate) struct SelectorSet<T> {
    selectors: Vec<(Selector, T)>,
    /// Bit of a class that an ancestor must have, by selector.
    needs: Vec<Option<u8>>,
    /// Classes with a bit.
    bits: u16,
    by_id: FxHashMap<String, Vec<u32>>,
    by_class: FxHashMap<String, ClassUse>,
    by_attr: FxHashMap<LocalName, Vec<u32>>,
    /// Selectors by [`Tag`] as a number; shorter than the tags.
    by_tag: Vec<Vec<u32>>,
    by_name: FxHashMap<String, Vec<u32>>,
}

/// Use of a class in a set.
#[derive(Clone, Debug, Default)]
struct ClassUse {
    /// Its bit, if a selector requires it of an ancestor.
    bit: Option<u8>,
    /// Selectors with this key.
    selectors: Vec<u32>,
}

/// State of one pass over the elements of a page in document order.
pub(crate) struct Pass<'a> {
    /// Classes seen so far that selectors require of ancestors. A selector with an unseen class cannot match
    /// yet.
    seen: [bool; 256],
    classes: KnownClasses<'a>,
}

impl Default for Pass<'_> {
    fn default() -> Self {
        Self { seen: [false; 256], classes: KnownClasses::default() }
    }
}

/// Cache of the selectors that class attributes lead to, since a page repeats its class attributes. It has
/// one slot per hash: colliding attributes are looked up again.
struct KnownClasses<'a> {
    /// Values, each with its range of `steps`.
    slots: Vec<(&'a str, Range<usize>)>,
    steps: Vec<Step>,
}

impl Default for KnownClasses<'_> {
    fn default() -> Self {
        Self { slots: vec![("", 0..0); 512], steps: Vec::new() }
    }
}

/// Maximum steps in the cache: 512 KiB. Beyond it the cache is cleared.
const MAX_STEPS: usize = 1 << 16;

/// Maximum bytes of a class attribute in the cache.
const MAX_KNOWN: usize = 1024;

/// Effect of one entry of a class attribute on the pass.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The class of this bit is on the page.
    Seen(u8),
    /// The selector may match.
    Check(u32),
}

impl<T> Default for SelectorSet<T> {
    fn default() -> Self {
        Self {
            selectors: Vec::new(),
            needs: Vec::new(),
            bits: 0,
            by_id: FxHashMap::default(),
            by_class: FxHashMap::default(),
            by_attr: FxHashMap::default(),
            by_tag: Vec::new(),
            by_name: FxHashMap::default(),
        }
    }
}

impl<T: Copy> SelectorSet<T> {
    /// Adds one selector, see [`Selector::parse`].
    ///
    /// # Errors
    /// Names the fault of the selector, or that it would match every element.
    pub(crate) fn add(&mut self, text: &str, payload: T) -> Result<(), Refusal> {
        let selector = Selector::parse(text)?;
        let Some(subject) = selector.subject.first() else { return Err(wrong("the selector is empty")) };
        let index = self.selectors.len() as u32;
        let list = if let Some(id) = &subject.id {
            self.by_id.entry(id.clone()).or_default()
        } else if let Some(class) = subject.classes.first() {
            &mut self.by_class.entry(class.clone()).or_default().selectors
        } else if let Some((attr, _)) = subject.attrs.first() {
            self.by_attr.entry(attr.clone()).or_default()
        } else if let Some(tag) = &subject.tag {
            match tag {
                Name::Known(tag) => {
                    self.by_name.entry(tag.name().to_owned()).or_default().push(index);
                    let at = *tag as usize;
                    self.by_tag.resize_with(self.by_tag.len().max(at + 1), Vec::new);
                    &mut self.by_tag[at]
                }
                Name::Custom(name) => self.by_name.entry(name.clone()).or_default(),
            }
        } else {
            return Err(Refusal::Unsupported(format!("the selector \"{text}\" would match everything")));
        };
        list.push(index);
        let above = selector.ancestors.iter().flatten().find_map(|compound| compound.classes.first());
        let bit = above.and_then(|class| self.bit_of(class));
        self.needs.push(bit);
        self.selectors.push((selector, payload));
        Ok(())
    }

    /// Bit of a class; `None` if all bits are used.
    fn bit_of(&mut self, class: &str) -> Option<u8> {
        let of_class = self.by_class.entry(class.to_owned()).or_default();
        if of_class.bit.is_none() {
            of_class.bit = u8::try_from(self.bits).ok();
            self.bits += u16::from(of_class.bit.is_some());
        }
        of_class.bit
    }

    /// Passes the payload of every matching selector to `found`.
    pub(crate) fn for_matches(&self, dom: &Dom, element: u32, found: impl FnMut(T)) {
        self.check(dom, element, None, found);
    }

    /// Like [`for_matches`](Self::for_matches), for a caller that visits all elements in document order with
    /// one `pass`.
    pub(crate) fn for_matches_in_order<'a>(
        &self,
        dom: &'a Dom,
        element: u32,
        pass: &mut Pass<'a>,
        found: impl FnMut(T),
    ) {
        self.check(dom, element, Some(pass), found);
    }

    fn check<'a>(
        &self,
        dom: &'a Dom,
        element: u32,
        mut pass: Option<&mut Pass<'a>>,
        mut found: impl FnMut(T),
    ) {
        // The cheapest test comes first: an unseen class, then the value by which the selector was looked up.
        let may_match = |index: u32, seen: Option<&[bool; 256]>| match (seen, self.needs[index as usize]) {
            (Some(seen), Some(bit)) => seen[usize::from(bit)],
            _ => true,
        };
        let mut check = |list: &[u32], value: Option<&str>, seen: Option<&[bool; 256]>| {
            for index in list.iter().filter(|index| may_match(**index, seen)) {
                let (selector, payload) = &self.selectors[*index as usize];
                if value.is_none_or(|value| selector.holds_first(dom, element, value))
                    && selector.matches(dom, element)
                {
                    found(*payload);
                }
            }
        };
        if dom.tag(element) == Tag::Text {
            return;
        }
        let of_tag = match dom.tag(element) {
            Tag::Other | Tag::CustomBlock => self.by_name.get(dom.name(element)),
            tag => self.by_tag.get(tag as usize),
        };
        check(of_tag.map_or(&[], Vec::as_slice), None, pass.as_deref().map(|pass| &pass.seen));
        for (name, value) in dom.attrs(element) {
            if *name == html5ever::local_name!("class") {
                let (mut seen, cache) = match pass.as_deref_mut() {
                    Some(Pass { seen, classes }) => (Some(seen), Some(classes)),
                    None => (None, None),
                };
                let take = |step: Step| match (step, &mut seen) {
                    // needed by descendants, which come later
                    (Step::Seen(bit), Some(seen)) => seen[usize::from(bit)] = true,
                    (Step::Seen(_), None) => {}
                    (Step::Check(index), seen) => check(&[index], None, seen.as_deref()),
                };
                match cache.filter(|_| value.len() <= MAX_KNOWN) {
                    Some(cache) => self.known(cache, value).iter().copied().for_each(take),
                    None => self.steps(value, take),
                }
                continue;
            }
            let seen = pass.as_deref().map(|pass| &pass.seen);
            if *name == html5ever::local_name!("id")
                && let Some(list) = self.by_id.get(value.trim())
            {
                check(list, None, seen);
            }
            if let Some(list) = self.by_attr.get(name) {
                check(list, Some(value), seen);
            }
        }
    }

    /// Passes the steps of a class attribute to `found`: by its classes, then by tests of its whole value.
    fn steps(&self, value: &str, mut found: impl FnMut(Step)) {
        for of_class in value.split_ascii_whitespace().filter_map(|class| self.by_class.get(class)) {
            of_class.bit.into_iter().for_each(|bit| found(Step::Seen(bit)));
            of_class.selectors.iter().for_each(|index| found(Step::Check(*index)));
        }
        for index in self.by_attr.get(&html5ever::local_name!("class")).into_iter().flatten() {
            let first = self.selectors[*index as usize].0.subject.first().and_then(|one| one.attrs.first());
            if first.is_none_or(|(_, test)| test.holds(value)) {
                found(Step::Check(*index));
            }
        }
    }

    /// Steps of a class attribute through the cache.
    fn known<'c, 'a>(&self, known: &'c mut KnownClasses<'a>, value: &'a str) -> &'c [Step] {
        let mut hasher = FxHasher::default();
        hasher.write(value.as_bytes());
        let at = (hasher.finish() % known.slots.len() as u64) as usize;
        if known.slots[at].0 != value {
            if known.steps.len() > MAX_STEPS {
                *known = KnownClasses::default();
            }
            let start = known.steps.len();
            self.steps(value, |step| known.steps.push(step));
            known.slots[at] = (value, start..known.steps.len());
        }
        &known.steps[known.slots[at].1.clone()]
    }
}

impl Selector {
    /// Parses one selector: `tag`, `#id`, `.class`, `[attr]`, `[attr=v]` (also `*=`, `^=`, `$=`, `~=`),
    /// `:not()` of these, joined. Such compounds may be combined as descendants (a space) and children (`>`).
    /// Names may have CSS escapes.
    ///
    /// # Errors
    /// Names the fault, and whether it is invalid or only unsupported.
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        let mut chains = split_chains(text).map_err(|refusal| match refusal {
            Refusal::Unsupported(problem) => {
                Refusal::Unsupported(format!("{problem} in the selector \"{text}\""))
            }
            Refusal::Wrong(problem) => Refusal::Wrong(format!("{problem} in the selector \"{text}\"")),
        })?;
        chains.reverse();
        let mut chains = chains.into_iter();
        let subject = chains.next().ok_or_else(|| wrong("the selector is empty"))?;
        Ok(Self { subject, ancestors: chains.collect() })
    }

    /// The id or class, if the selector has nothing else.
    pub(crate) fn plain(&self) -> Option<Plain<'_>> {
        let ([one], []) = (self.subject.as_slice(), self.ancestors.as_slice()) else { return None };
        let bare = one.tag.is_none() && one.attrs.is_empty() && one.nots.is_empty();
        match (&one.id, one.classes.as_slice()) {
            (Some(id), []) if bare => Some(Plain::Id(id)),
            (None, [class]) if bare => Some(Plain::Class(class)),
            _ => None,
        }
    }

    /// Returns true if the element has the subject's name, and the value satisfies its first attribute test.
    fn holds_first(&self, dom: &Dom, element: u32, value: &str) -> bool {
        self.subject.first().is_none_or(|one| {
            one.tag.as_ref().is_none_or(|tag| tag.is_of(dom, element))
                && one.attrs.first().is_none_or(|(_, test)| test.holds(value))
        })
    }

    /// Returns true if the selector matches the element.
    pub(crate) fn matches(&self, dom: &Dom, element: u32) -> bool {
        let Some(mut at) = above(&self.subject, dom, element) else { return false };
        // The nearest match of a chain leaves the most room for the next one, so no chain is tried twice.
        for chain in &self.ancestors {
            loop {
                if at == NONE {
                    return false;
                }
                let here = at;
                at = dom.parent(at);
                if let Some(next) = above(chain, dom, here) {
                    at = next;
                    break;
                }
            }
        }
        true
    }
}

/// A selector of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain<'a> {
    /// `#id`
    Id(&'a str),
    /// `.class`
    Class(&'a str),
}

/// Parent above the outermost compound, or [`NONE`], if the chain matches with its innermost compound at the
/// element.
fn above(chain: &Chain, dom: &Dom, element: u32) -> Option<u32> {
    let mut at = element;
    for compound in chain {
        if at == NONE || !compound.matches(dom, at) {
            return None;
        }
        at = dom.parent(at);
    }
    Some(at)
}

impl Compound {
    fn matches(&self, dom: &Dom, element: u32) -> bool {
        self.tag.as_ref().is_none_or(|tag| tag.is_of(dom, element))
            && self.id.as_ref().is_none_or(|id| {
                dom.attr(element, &html5ever::local_name!("id")).is_some_and(|value| value.trim() == id)
            })
            && (self.classes.is_empty()
                || dom.attr(element, &html5ever::local_name!("class")).is_some_and(|value| {
                    self.classes.iter().all(|class| value.split_ascii_whitespace().any(|c| c == class))
                }))
            && self
                .attrs
                .iter()
                .all(|(name, test)| dom.attr(element, name).is_some_and(|value| test.holds(value)))
            && !self.nots.iter().any(|not| not.matches(dom, element))
    }
}

#[cfg(test)]
mod tests;
