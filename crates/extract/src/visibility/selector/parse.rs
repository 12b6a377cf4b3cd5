//! Text to selectors.

use super::{Combinator, Compound, List, Selector, Simple, Test};
use cssparser::{BasicParseError, CowRcStr, Delimiter, ParseError, Parser, Token};
use html5ever::LocalName;
use std::rc::Rc;

/// Compounds of a selector.
const MAX_COMPOUNDS: usize = 24;
/// Selectors of a list.
const MAX_SELECTORS: usize = 512;
/// Lists inside of each other.
const MAX_NESTING: u8 = 4;

const ID: u32 = 1 << 20;
const CLASS: u32 = 1 << 10;
const TAG: u32 = 1;

/// Parses a list of selectors; `around` are those of the outer rule. `None` if a browser would reject it too.
pub(in crate::visibility) fn parse<'a>(text: &'a str, around: Option<&List<'a>>) -> Option<List<'a>> {
    let mut reader = Reader { around, is_relative: false, is_negated: false, depth: 0 };
    reader.list(&mut Parser::new(text)).map(Rc::new)
}

struct Reader<'b, 'a> {
    around: Option<&'b List<'a>>,
    /// True if the selectors may begin with a combinator.
    is_relative: bool,
    /// True within `:not()`.
    is_negated: bool,
    depth: u8,
}

impl<'a> Reader<'_, 'a> {
    fn list(&mut self, input: &mut Parser<'a>) -> Option<Vec<Selector<'a>>> {
        let mut all = Vec::new();
        loop {
            let (selector, ends) = self.selector(input)?;
            if all.len() < MAX_SELECTORS {
                all.extend(selector);
            }
            if ends {
                return Some(all);
            }
        }
    }

    /// Parses the list of `:is()`, which leaves out what no browser knows.
    fn forgiving_list(&mut self, input: &mut Parser<'a>) -> Vec<Selector<'a>> {
        let mut all = Vec::new();
        loop {
            let one = input.parse_until_before(Delimiter::Comma, |input| {
                self.selector(input).ok_or_else(|| ParseError::<()>::custom(()))
            });
            if all.len() < MAX_SELECTORS {
                all.extend(one.ok().and_then(|(selector, _)| selector));
            }
            if input.next().is_err() {
                return all;
            }
        }
    }

    /// Parses up to a comma or the end; the second value is true at the end. No selector for one that matches
    /// no element, such as `::before`.
    fn selector(&mut self, input: &mut Parser<'a>) -> Option<(Option<Selector<'a>>, bool)> {
        let mut compounds: Vec<Compound<'a>> = Vec::new();
        let mut specificity = 0;
        let mut next = Some(Combinator::Descendant);
        let mut simple: Vec<Simple<'a>> = Vec::new();
        let (mut is_element, mut has_parent, mut is_first) = (true, false, true);
        let ends = loop {
            let token = input.next_including_whitespace().cloned();
            let combinator = match &token {
                Ok(Token::WhiteSpace(_)) => Some(Combinator::Descendant),
                Ok(Token::Delim('>')) => Some(Combinator::Child),
                Ok(Token::Delim('+')) => Some(Combinator::NextSibling),
                Ok(Token::Delim('~')) => Some(Combinator::LaterSibling),
                _ => None,
            };
            if let Some(combinator) = combinator {
                if !simple.is_empty() {
                    let inwards = next.take()?;
                    compounds.push(Compound { simple: std::mem::take(&mut simple), inwards });
                    next = Some(combinator);
                } else if combinator != Combinator::Descendant {
                    // of two consecutive combinators only spaces may be one
                    if next != Some(Combinator::Descendant)
                        || is_first && !self.is_relative && self.around.is_none()
                    {
                        return None;
                    }
                    next = Some(combinator);
                }
                is_first &= matches!(token, Ok(Token::WhiteSpace(_)));
                continue;
            }
            let token = match token {
                Err(_) => break true,
                Ok(Token::Comma) => break false,
                Ok(token) => token,
            };
            is_first = false;
            match self.simple(token, input, &mut specificity)? {
                Found::Simple(one) => simple.push(one),
                Found::Parent => {
                    has_parent = true;
                    let list = self.around.cloned()?;
                    simple.push(Simple::Is(list));
                }
                Found::NoElement => is_element = false,
            }
            if compounds.len() > MAX_COMPOUNDS || simple.len() > MAX_COMPOUNDS {
                return None;
            }
        };
        if !simple.is_empty() {
            compounds.push(Compound { simple, inwards: next? });
        } else if next != Some(Combinator::Descendant) || compounds.is_empty() && is_element {
            return None;
        }
        Some((is_element.then(|| self.finish(compounds, specificity, has_parent)), ends))
    }

    /// Reverses compounds. In a nested rule the elements are descendants of those of the outer rule.
    fn finish(&self, mut compounds: Vec<Compound<'a>>, specificity: u32, has_parent: bool) -> Selector<'a> {
        let mut specificity = specificity;
        // a list within `:not()` has that of the outer rule only by an ampersand
        if let Some(around) = self.around.filter(|_| has_parent || self.depth == 0) {
            specificity = specificity.saturating_add(most_specific(around));
            if !has_parent && self.depth == 0 {
                let simple = vec![Simple::Is(Rc::clone(around))];
                compounds.insert(0, Compound { simple, inwards: Combinator::Descendant });
            }
        }
        // a written combinator precedes its compound, but belongs to the previous one
        let mut last = Combinator::Subject;
        for compound in compounds.iter_mut().rev() {
            std::mem::swap(&mut compound.inwards, &mut last);
        }
        if self.is_relative {
            // `:has(> a)`: the compound outside of the first is the element itself
            compounds.insert(0, Compound { simple: Vec::new(), inwards: last });
        }
        compounds.reverse();
        Selector { compounds, specificity }
    }

    fn simple(
        &mut self,
        token: Token<'a>,
        input: &mut Parser<'a>,
        specificity: &mut u32,
    ) -> Option<Found<'a>> {
        let (found, weight) = match token {
            Token::Ident(name) => (Simple::Tag(name.to_ascii_lowercase()), TAG),
            Token::IDHash(id) => (Simple::Id(id), ID),
            Token::Delim('*') => (Simple::Any, 0),
            Token::Delim('.') => (Simple::Class(input.expect_ident_cloned().ok()?), CLASS),
            Token::Delim('&') => return Some(Found::Parent),
            Token::SquareBracketBlock => (nested(input, attribute)?, CLASS),
            Token::Colon => return self.pseudo(input, specificity),
            _ => return None,
        };
        *specificity = specificity.saturating_add(weight);
        Some(Found::Simple(found))
    }

    fn pseudo(&mut self, input: &mut Parser<'a>, specificity: &mut u32) -> Option<Found<'a>> {
        match input.next_including_whitespace().ok()?.clone() {
            Token::Colon => {
                match input.next_including_whitespace().ok()?.clone() {
                    Token::Ident(_) => {}
                    Token::Function(_) => nested(input, |input| {
                        while input.next().is_ok() {}
                        Some(())
                    })?,
                    _ => return None,
                }
                Some(Found::NoElement)
            }
            Token::Ident(name) => {
                *specificity = specificity.saturating_add(CLASS);
                match name.to_ascii_lowercase().as_str() {
                    "before" | "after" | "first-line" | "first-letter" => Some(Found::NoElement),
                    name => Some(Found::Simple(pseudo_class(name)?)),
                }
            }
            Token::Function(name) => {
                let name = name.to_ascii_lowercase();
                let found = nested(input, |input| self.function(&name, input, specificity))?;
                Some(Found::Simple(found))
            }
            _ => None,
        }
    }

    fn function(&mut self, name: &str, input: &mut Parser<'a>, specificity: &mut u32) -> Option<Simple<'a>> {
        let nth = |input: &mut Parser<'a>, from_end: bool, of_type: bool| {
            let (step, offset) = cssparser::parse_nth(input).ok()?;
            input.is_exhausted().then_some(Simple::Nth { step, offset, from_end, of_type })
        };
        let counted = match name {
            "nth-child" => nth(input, false, false),
            "nth-last-child" => nth(input, true, false),
            "nth-of-type" => nth(input, false, true),
            "nth-last-of-type" => nth(input, true, true),
            "lang" => languages(input),
            "dir" => match input.expect_ident_cloned().ok()?.to_ascii_lowercase().as_str() {
                "ltr" => Some(Simple::Dir { is_rtl: false }),
                "rtl" => Some(Simple::Dir { is_rtl: true }),
                // no element has another one
                _ => Some(Simple::Is(Rc::default())),
            },
            "state" | "host" | "host-context" => {
                while input.next().is_ok() {}
                Some(Simple::State)
            }
            _ => {
                if self.depth >= MAX_NESTING {
                    return None;
                }
                let is_relative = name == "has";
                let is_negated = self.is_negated || name == "not";
                let mut inner =
                    Reader { around: self.around, is_relative, is_negated, depth: self.depth + 1 };
                // browsers know more than this parser: fewer members of `:not()` would hide more
                let is_forgiving = !is_negated && name != "has";
                let list = if is_forgiving { inner.forgiving_list(input) } else { inner.list(input)? };
                let list = Rc::new(list);
                if name != "where" {
                    *specificity = specificity.saturating_add(most_specific(&list));
                }
                return Some(match name {
                    "not" => Simple::Not(list),
                    "is" | "where" | "matches" | "-webkit-any" | "-moz-any" => Simple::Is(list),
                    "has" => Simple::Has(list),
                    _ => return None,
                });
            }
        };
        *specificity = specificity.saturating_add(CLASS);
        counted
    }
}

enum Found<'a> {
    Simple(Simple<'a>),
    /// `&`
    Parent,
    NoElement,
}

fn most_specific(list: &[Selector<'_>]) -> u32 {
    list.iter().map(|selector| selector.specificity).max().unwrap_or(0)
}

fn nested<'a, T>(input: &mut Parser<'a>, read: impl FnOnce(&mut Parser<'a>) -> Option<T>) -> Option<T> {
    input.parse_nested_block(|input| read(input).ok_or_else(|| ParseError::<()>::custom(()))).ok()
}

fn languages<'a>(input: &mut Parser<'a>) -> Option<Simple<'a>> {
    let range = |input: &mut Parser<'a>| Ok(input.expect_ident_or_string()?.clone());
    let ranges = input.parse_comma_separated(|input| {
        range(input).map_err(|_: BasicParseError| ParseError::<()>::custom(()))
    });
    ranges.ok().map(Simple::Lang)
}

fn attribute<'a>(input: &mut Parser<'a>) -> Option<Simple<'a>> {
    let name = LocalName::from(input.expect_ident_cloned().ok()?.to_ascii_lowercase());
    if input.is_exhausted() {
        return Some(Simple::Attribute { name, test: Test::Present, ignores_case: false });
    }
    let test: fn(CowRcStr<'a>) -> Test<'a> = match input.next().ok()? {
        Token::Delim('=') => Test::Equals,
        Token::IncludeMatch => Test::Word,
        Token::DashMatch => Test::Dash,
        Token::PrefixMatch => Test::Prefix,
        Token::SuffixMatch => Test::Suffix,
        Token::SubstringMatch => Test::Contains,
        _ => return None,
    };
    let value = input.expect_ident_or_string().ok()?.clone();
    let flag = input.expect_ident_cloned().ok();
    let ignores_case = flag.is_some_and(|flag| flag.eq_ignore_ascii_case("i")) || &*name == "type";
    Some(Simple::Attribute { name, test: test(value), ignores_case })
}

fn pseudo_class<'a>(name: &str) -> Option<Simple<'a>> {
    let nth = |from_end, of_type| Simple::Nth { step: 0, offset: 1, from_end, of_type };
    Some(match name {
        "first-child" => nth(false, false),
        "last-child" => nth(true, false),
        "first-of-type" => nth(false, true),
        "last-of-type" => nth(true, true),
        "only-child" => Simple::Only { of_type: false },
        "only-of-type" => Simple::Only { of_type: true },
        "empty" => Simple::Empty,
        "root" | "scope" => Simple::Root,
        "link" | "any-link" => Simple::Link,
        "checked" => Simple::Checked,
        "disabled" => Simple::Disabled { holds: true },
        "enabled" => Simple::Disabled { holds: false },
        "defined" => Simple::Any,
        "hover" | "focus" | "focus-within" | "focus-visible" | "active" | "target" | "target-within"
        | "visited" | "open" | "popover-open" | "modal" | "fullscreen" | "valid" | "invalid"
        | "user-valid" | "user-invalid" | "required" | "optional" | "read-only" | "read-write"
        | "placeholder-shown" | "indeterminate" | "default" | "in-range" | "out-of-range" | "autofill"
        | "-webkit-autofill" | "playing" | "paused" | "current" | "host" | "local-link" | "blank"
        | "future" | "past" => Simple::State,
        _ => return None,
    })
}
