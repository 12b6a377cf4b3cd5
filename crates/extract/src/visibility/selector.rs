//! Selectors of a page's own style sheets.
//!
//! The crate `selectors` is not used. It needs siblings, which the flat tree does not link. It cannot match a
//! selector against another state of the page, and its work is unbounded.

mod matching;
mod parse;

use cssparser::CowRcStr;
use html5ever::LocalName;
pub(super) use matching::Tree;
pub(super) use parse::parse;
use std::rc::Rc;

/// Selectors of a rule.
pub(super) type List<'a> = Rc<Vec<Selector<'a>>>;

/// A selector: compounds from the element outwards.
#[derive(Debug)]
pub(super) struct Selector<'a> {
    compounds: Vec<Compound<'a>>,
    pub(super) specificity: u32,
}

/// A compound, and its relation to the next inner one.
#[derive(Debug)]
struct Compound<'a> {
    simple: Vec<Simple<'a>>,
    inwards: Combinator,
}

/// Position of an element that a compound requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Combinator {
    /// The element itself.
    Subject,
    Descendant,
    Child,
    NextSibling,
    LaterSibling,
}

/// One test of an element.
#[derive(Debug)]
enum Simple<'a> {
    Any,
    /// In lower case.
    Tag(String),
    Id(CowRcStr<'a>),
    Class(CowRcStr<'a>),
    Attribute {
        name: LocalName,
        test: Test<'a>,
        ignores_case: bool,
    },
    Nth {
        step: i32,
        offset: i32,
        from_end: bool,
        of_type: bool,
    },
    Only {
        of_type: bool,
    },
    Empty,
    Root,
    Link,
    Checked,
    Disabled {
        holds: bool,
    },
    /// A state caused by a reader: hover, focus.
    State,
    /// Ranges of languages (BCP 47).
    Lang(Vec<CowRcStr<'a>>),
    Dir {
        is_rtl: bool,
    },
    Not(List<'a>),
    Is(List<'a>),
    Has(List<'a>),
}

/// The test of an attribute's value.
#[derive(Debug)]
enum Test<'a> {
    Present,
    Equals(CowRcStr<'a>),
    Word(CowRcStr<'a>),
    Dash(CowRcStr<'a>),
    Prefix(CowRcStr<'a>),
    Suffix(CowRcStr<'a>),
    Contains(CowRcStr<'a>),
}

/// Key of a selector in the index: a name that its element must have.
pub(super) enum Key<'b> {
    Id(&'b str),
    Class(&'b str),
    Tag(&'b str),
    Any,
}

impl Selector<'_> {
    /// The most selective name of the element.
    pub(super) fn key(&self) -> Key<'_> {
        let simple = self.compounds.first().map_or(&[][..], |subject| &subject.simple);
        let mut key = Key::Any;
        for one in simple {
            match (one, &key) {
                (Simple::Id(id), _) => return Key::Id(id),
                (Simple::Class(class), Key::Tag(_) | Key::Any) => key = Key::Class(class),
                (Simple::Tag(tag), Key::Any) => key = Key::Tag(tag),
                _ => {}
            }
        }
        key
    }

    /// Classes and ids that ancestors of a matching element have.
    pub(super) fn names_of_ancestors(&self) -> impl Iterator<Item = &str> {
        let outer = self.compounds.iter().skip(1);
        let above = outer.filter(|outer| matches!(outer.inwards, Combinator::Descendant | Combinator::Child));
        above.flat_map(|compound| &compound.simple).filter_map(|simple| match simple {
            Simple::Id(name) | Simple::Class(name) => Some(&**name),
            _ => None,
        })
    }

    /// Returns true if the selector excludes a class, an attribute or a state that would end the match.
    pub(super) fn ends_with_a_state(&self, is_state: &impl Fn(&str) -> bool) -> bool {
        self.compounds.iter().flat_map(|compound| &compound.simple).any(|simple| match simple {
            Simple::Not(list) => list.iter().any(Self::names_a_state),
            Simple::Attribute { name, .. } => is_state(name),
            _ => false,
        })
    }

    /// Returns true if an element outside of the subject has only state classes, or a language that a script may
    /// change: `.loading .text`, `html:lang(en) .text`.
    pub(super) fn depends_on_a_state(&self, is_state: &impl Fn(&str) -> bool) -> bool {
        self.compounds.iter().skip(1).any(|compound| {
            !compound.simple.is_empty()
                && compound.simple.iter().all(|simple| match simple {
                    Simple::Class(name) => is_state(name),
                    Simple::Tag(tag) => matches!(tag.as_str(), "html" | "body"),
                    Simple::Root | Simple::Lang(_) => true,
                    _ => false,
                })
                && compound.simple.iter().any(|simple| matches!(simple, Simple::Class(_) | Simple::Lang(_)))
        })
    }

    fn names_a_state(&self) -> bool {
        let mut all = self.compounds.iter().flat_map(|compound| &compound.simple);
        all.any(|simple| {
            matches!(
                simple,
                Simple::Class(_)
                    | Simple::Attribute { .. }
                    | Simple::State
                    | Simple::Checked
                    | Simple::Lang(_)
                    | Simple::Dir { .. }
            )
        })
    }
}

#[cfg(test)]
mod tests;
