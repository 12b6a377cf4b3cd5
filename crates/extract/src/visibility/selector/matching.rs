//! Matching of selectors against elements of the flat tree.

use super::{Combinator, Compound, Selector, Simple, Test};
use crate::{
    dom::{Dom, NONE, Tag},
    visibility::names,
};
use html5ever::local_name;
use std::{
    borrow::Cow,
    cell::{Cell, OnceCell},
};

/// Maximum steps to other elements for all matches of a page, besides those per node.
const STEPS: u32 = 2_000_000;
const STEPS_PER_NODE: u32 = 40;
/// Bytes of an attribute that are read in one step.
const BYTES_PER_STEP: usize = 64;

/// The tree, in the form that selectors need.
pub(in crate::visibility) struct Tree<'a> {
    pub(in crate::visibility) dom: &'a Dom,
    siblings: OnceCell<Siblings>,
    /// Bits of the classes of checked elements, by node.
    classes: OnceCell<Vec<Cell<u64>>>,
    steps: Cell<u32>,
}

/// Positions of elements among their siblings, by node.
struct Siblings {
    previous: Vec<u32>,
    /// 1 for the first.
    place: Vec<u32>,
    /// Elements below, by parent.
    children: Vec<u32>,
}

/// Result of an attempt: a failed outer match may succeed from another inner element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Matches,
    /// No match from this element.
    Fails,
    /// No match from any sibling before it.
    FailsBefore,
    /// No match from any ancestor.
    FailsAbove,
}

impl<'a> Tree<'a> {
    pub(in crate::visibility) fn new(dom: &'a Dom) -> Self {
        let steps = Cell::new(STEPS.saturating_add(dom.len().saturating_mul(STEPS_PER_NODE)));
        Self { dom, siblings: OnceCell::new(), classes: OnceCell::new(), steps }
    }

    /// Returns true if the selector matches the element in the page's current state. Beyond the bound on
    /// steps no selector matches.
    pub(in crate::visibility) fn matches(&self, selector: &Selector<'_>, element: u32) -> bool {
        self.from(&selector.compounds, 0, element, NONE) == Outcome::Matches
    }

    /// Returns true if no step is left.
    pub(in crate::visibility) const fn is_exhausted(&self) -> bool {
        self.steps.get() == 0
    }

    /// Returns true if the selector would match after scripts or the reader have changed classes and states. Requires
    /// that the element has one of the names of the selector. So must an ancestor for each compound, unless that is
    /// only a state.
    pub(in crate::visibility) fn could_match(
        &self,
        selector: &Selector<'_>,
        element: u32,
        is_state: &impl Fn(&str) -> bool,
    ) -> bool {
        let mut compounds = selector.compounds.iter();
        let Some(subject) = compounds.next() else { return false };
        if !self.could_be(subject, element) {
            return false;
        }
        compounds.all(|compound| {
            let is_mere_state = compound.simple.iter().all(|simple| match simple {
                Simple::Class(name) => is_state(name),
                Simple::State | Simple::Checked | Simple::Any | Simple::Root | Simple::Not(_) => true,
                Simple::Tag(tag) => matches!(tag.as_str(), "html" | "body"),
                _ => false,
            });
            is_mere_state || {
                let parent = self.dom.parent(element);
                let beside = matches!(compound.inwards, Combinator::NextSibling | Combinator::LaterSibling);
                let is_one = |other: u32| self.step() && self.could_be(compound, other);
                self.dom.ancestors(element).any(is_one)
                    || beside && parent != NONE && self.dom.children(parent).take(64).any(is_one)
            }
        })
    }

    /// Returns true if the element has one name of the compound, and its tag and id do not contradict it.
    fn could_be(&self, compound: &Compound<'_>, element: u32) -> bool {
        let mut has_name = false;
        for simple in &compound.simple {
            match simple {
                Simple::Tag(_) | Simple::Id(_) => {
                    if !self.is(simple, element, NONE) {
                        return false;
                    }
                    has_name |= matches!(simple, Simple::Id(_));
                }
                Simple::Is(list) => {
                    has_name |= list.iter().any(|selector| {
                        selector.compounds.first().is_some_and(|subject| self.could_be(subject, element))
                    });
                }
                Simple::Class(_) | Simple::Attribute { .. } => has_name |= self.is(simple, element, NONE),
                _ => {}
            }
        }
        has_name
    }

    /// Takes one of the remaining steps.
    fn step(&self) -> bool {
        let left = self.steps.get().checked_sub(1);
        self.steps.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Takes steps for a value that is read as a whole. Short values are free.
    fn steps_over(&self, value: &str) -> bool {
        self.take_steps(value.len() / BYTES_PER_STEP)
    }

    /// Takes several of the remaining steps, or all if there are fewer; then it returns false.
    pub(in crate::visibility) fn take_steps(&self, steps: usize) -> bool {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or(0));
        left.is_some()
    }

    fn from(&self, compounds: &[Compound<'_>], at: usize, element: u32, scope: u32) -> Outcome {
        let Some(compound) = compounds.get(at) else { return Outcome::Fails };
        if !self.step() {
            return Outcome::FailsAbove;
        }
        // the element of `:has()` is the outermost compound, without a test
        let is_scope = scope != NONE && at + 1 == compounds.len();
        if is_scope {
            return if element == scope { Outcome::Matches } else { Outcome::Fails };
        }
        if !compound.simple.iter().all(|simple| self.is(simple, element, scope)) {
            return Outcome::Fails;
        }
        let Some(outer) = compounds.get(at + 1) else { return Outcome::Matches };
        match outer.inwards {
            Combinator::Subject => Outcome::Fails,
            Combinator::Child => match self.parent(element) {
                NONE => Outcome::FailsAbove,
                parent => match self.from(compounds, at + 1, parent, scope) {
                    Outcome::FailsBefore => Outcome::Fails,
                    other => other,
                },
            },
            Combinator::Descendant => {
                let mut above = element;
                loop {
                    above = self.parent(above);
                    if above == NONE {
                        return Outcome::FailsAbove;
                    }
                    match self.from(compounds, at + 1, above, scope) {
                        Outcome::Fails | Outcome::FailsBefore => {}
                        end => return end,
                    }
                }
            }
            Combinator::NextSibling => match self.previous(element) {
                NONE => Outcome::FailsBefore,
                before => self.from(compounds, at + 1, before, scope),
            },
            Combinator::LaterSibling => {
                let mut before = element;
                loop {
                    before = self.previous(before);
                    if before == NONE {
                        return Outcome::FailsBefore;
                    }
                    match self.from(compounds, at + 1, before, scope) {
                        Outcome::Fails => {}
                        end => return end,
                    }
                }
            }
        }
    }

    /// The parent element; the document is none.
    fn parent(&self, element: u32) -> u32 {
        let parent = self.dom.parent(element);
        if parent == 0 { NONE } else { parent }
    }

    fn siblings(&self) -> &Siblings {
        self.siblings.get_or_init(|| {
            let dom = self.dom;
            let n = dom.len() as usize;
            let mut all = Siblings { previous: vec![NONE; n], place: vec![0; n], children: vec![0; n] };
            let mut last = vec![NONE; n];
            for id in (1..dom.len()).filter(|id| dom.tag(*id) != Tag::Text) {
                let parent = dom.parent(id) as usize;
                all.children[parent] += 1;
                all.place[id as usize] = all.children[parent];
                all.previous[id as usize] = std::mem::replace(&mut last[parent], id);
            }
            all
        })
    }

    fn previous(&self, element: u32) -> u32 {
        if self.step() { self.siblings().previous[element as usize] } else { NONE }
    }

    fn is(&self, simple: &Simple<'_>, element: u32, scope: u32) -> bool {
        let dom = self.dom;
        match simple {
            Simple::Any => true,
            Simple::Tag(tag) => dom.name(element) == tag,
            Simple::Id(id) => dom.attr(element, &local_name!("id")).is_some_and(|own| own == &**id),
            // readers without scripts do not count
            Simple::Class(class) => {
                self.has_class(element, class) && !matches!(&**class, "no-js" | "nojs" | "no-javascript")
            }
            Simple::Attribute { name, test, ignores_case } => {
                let value = dom.attr(element, name);
                value.is_some_and(|value| self.steps_over(value) && test.holds(value, *ignores_case))
            }
            Simple::Nth { step, offset, from_end, of_type } => {
                let place = self.place(element, *from_end, *of_type);
                // style sheets may name any number of 32 bits
                let (behind, step) = (i64::from(place) - i64::from(*offset), i64::from(*step));
                if step == 0 { behind == 0 } else { behind % step == 0 && behind / step >= 0 }
            }
            Simple::Only { of_type } => {
                self.place(element, false, *of_type) == 1 && self.place(element, true, *of_type) == 1
            }
            Simple::Empty => element + 1 == dom.end(element),
            Simple::Root => dom.tag(element) == Tag::Html,
            Simple::Link => dom.tag(element) == Tag::A && dom.attr(element, &local_name!("href")).is_some(),
            Simple::Checked => {
                dom.attr(element, &local_name!("checked")).is_some()
                    || dom.attr(element, &local_name!("selected")).is_some()
            }
            Simple::Disabled { holds } => dom.attr(element, &local_name!("disabled")).is_some() == *holds,
            Simple::State => false,
            Simple::Lang(ranges) => self.language(element).is_some_and(|own| {
                self.take_steps(ranges.len())
                    && self.steps_over(own)
                    && ranges.iter().any(|range| is_of_language(own, range))
            }),
            Simple::Dir { is_rtl } => self.is_rtl(element) == Some(*is_rtl),
            Simple::Not(list) => !list.iter().any(|inner| self.inner(inner, element, scope)),
            Simple::Is(list) => list.iter().any(|inner| self.inner(inner, element, scope)),
            Simple::Has(list) => list.iter().any(|inner| self.has(inner, element)),
        }
    }

    /// Language of an element: its own, or that of the closest ancestor with one.
    fn language(&self, element: u32) -> Option<&'a str> {
        let mut around = std::iter::once(element).chain(self.dom.ancestors(element));
        around.find_map(|up| if self.step() { self.dom.attr(up, &local_name!("lang")) } else { None })
    }

    /// Direction of an element's text: its own, or that of the closest ancestor with one. `None` if it depends on
    /// the text.
    fn is_rtl(&self, element: u32) -> Option<bool> {
        let own = |up: u32| {
            if !self.step() {
                return Some(None);
            }
            let direction = self.dom.attr(up, &local_name!("dir")).map(str::to_ascii_lowercase);
            match direction.as_deref() {
                Some("ltr") => Some(Some(false)),
                Some("rtl") => Some(Some(true)),
                Some("auto") => Some(None),
                _ if self.dom.name(up) == "bdi" => Some(None),
                _ => None,
            }
        };
        std::iter::once(element).chain(self.dom.ancestors(element)).find_map(own).unwrap_or(Some(false))
    }

    fn has_class(&self, element: u32, class: &str) -> bool {
        const IS_KNOWN: u64 = 1 << 63;
        let bit = |class: &str| 1 << (names::hash(class.as_bytes()) % 63);
        let own =
            || self.dom.attr(element, &local_name!("class")).unwrap_or_default().split_ascii_whitespace();
        let all = self.classes.get_or_init(|| vec![Cell::new(0); self.dom.len() as usize]);
        let bits = &all[element as usize];
        if bits.get() == 0 {
            bits.set(own().fold(IS_KNOWN, |all, own| all | bit(own)));
        }
        bits.get() & bit(class) != 0 && {
            let value = self.dom.attr(element, &local_name!("class"));
            value.is_some_and(|value| self.steps_over(value)) && own().any(|own| own == class)
        }
    }

    fn inner(&self, selector: &Selector<'_>, element: u32, _scope: u32) -> bool {
        self.from(&selector.compounds, 0, element, NONE) == Outcome::Matches
    }

    /// Returns true if a descendant or following sibling matches a selector that begins at this element.
    fn has(&self, selector: &Selector<'_>, element: u32) -> bool {
        let dom = self.dom;
        let beside = selector
            .compounds
            .iter()
            .any(|compound| matches!(compound.inwards, Combinator::NextSibling | Combinator::LaterSibling));
        let end = if beside { dom.end(dom.parent(element)) } else { dom.end(element) };
        (element + 1..end).any(|below| {
            self.step()
                && dom.tag(below) != Tag::Text
                && self.from(&selector.compounds, 0, below, element) == Outcome::Matches
        })
    }

    /// Position of an element among its siblings, 1 for the first.
    fn place(&self, element: u32, from_end: bool, of_type: bool) -> u32 {
        let parent = self.dom.parent(element);
        if parent == NONE {
            return 1;
        }
        if of_type {
            let is_alike = |other: &u32| self.step() && self.dom.name(*other) == self.dom.name(element);
            let all = self.dom.children(parent).filter(|other| self.dom.tag(*other) != Tag::Text);
            let (before, from): (Vec<u32>, Vec<u32>) =
                all.filter(is_alike).partition(|other| *other < element);
            return if from_end { from.len() } else { before.len() + 1 } as u32;
        }
        let siblings = self.siblings();
        let place = siblings.place[element as usize];
        if from_end { siblings.children[parent as usize] + 1 - place } else { place }
    }
}

/// Returns true if a language is in a range: `de` holds `de-CH`, and `*` any language.
fn is_of_language(own: &str, range: &str) -> bool {
    let (head, rest) = own.split_at_checked(range.len()).unwrap_or(("", own));
    !own.is_empty()
        && (range == "*"
            || head.eq_ignore_ascii_case(range)
                && !range.is_empty()
                && (rest.is_empty() || rest.starts_with('-')))
}

impl Test<'_> {
    fn holds(&self, value: &str, ignores_case: bool) -> bool {
        if ignores_case {
            return self.compare(&value.to_ascii_lowercase(), |text| Cow::Owned(text.to_ascii_lowercase()));
        }
        self.compare(value, Cow::Borrowed)
    }

    fn compare<'b>(&'b self, value: &str, fold: impl Fn(&'b str) -> Cow<'b, str>) -> bool {
        match self {
            Self::Present => true,
            Self::Equals(text) => value == fold(text),
            Self::Word(text) => {
                let text = fold(text);
                // The search rejects most values without a split of their words.
                value.contains(&*text) && value.split_ascii_whitespace().any(|word| word == text)
            }
            Self::Dash(text) => {
                value.strip_prefix(&*fold(text)).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            }
            Self::Prefix(text) => !text.is_empty() && value.starts_with(&*fold(text)),
            Self::Suffix(text) => !text.is_empty() && value.ends_with(&*fold(text)),
            Self::Contains(text) => !text.is_empty() && value.contains(&*fold(text)),
        }
    }
}
