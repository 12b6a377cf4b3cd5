//! Selectors, compiled into lookups by their most telling part.

use crate::dom::{Dom, NONE, Tag};
use html5ever::LocalName;
use rustc_hash::FxHashMap;
use std::fmt;

/// How an attribute's value is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Present,
    Equals(String),
    Contains(String),
    StartsWith(String),
    EndsWith(String),
    HasWord(String),
}

impl Test {
    fn holds(&self, value: &str) -> bool {
        match self {
            Self::Present => true,
            Self::Equals(v) => value == v,
            Self::Contains(v) => value.contains(v.as_str()),
            Self::StartsWith(v) => value.starts_with(v.as_str()),
            Self::EndsWith(v) => value.ends_with(v.as_str()),
            Self::HasWord(v) => value.split_ascii_whitespace().any(|word| word == v),
        }
    }
}

/// Why a text is not taken as a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A selector may say so, but not here.
    Unsupported(String),
    /// It is no selector.
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
                Tag::Other => dom.name(element) == tag.name(),
                other => other == *tag,
            },
            Self::Custom(name) => dom.tag(element) == Tag::Other && dom.name(element) == name,
        }
    }
}

/// A selector without combinators: everything in it holds for one element.
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

/// A selector: the element and those above it, joined by `>`, and then chains that stand somewhere above, innermost
/// first.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    subject: Chain,
    ancestors: Vec<Chain>,
}

/// A set of selectors, each with something to hand out for its matches.
#[derive(Clone, Debug)]
pub(crate) struct SelectorSet<T> {
    selectors: Vec<(Selector, T)>,
    by_id: FxHashMap<String, Vec<u32>>,
    by_class: FxHashMap<String, Vec<u32>>,
    by_attr: FxHashMap<LocalName, Vec<u32>>,
    by_tag: FxHashMap<Tag, Vec<u32>>,
    by_name: FxHashMap<String, Vec<u32>>,
}

impl<T> Default for SelectorSet<T> {
    fn default() -> Self {
        Self {
            selectors: Vec::new(),
            by_id: FxHashMap::default(),
            by_class: FxHashMap::default(),
            by_attr: FxHashMap::default(),
            by_tag: FxHashMap::default(),
            by_name: FxHashMap::default(),
        }
    }
}

impl<T: Copy> SelectorSet<T> {
    /// Adds one selector, see [`Selector::parse`].
    ///
    /// # Errors
    /// Says what is wrong with the selector, or that it would match everything.
    pub(crate) fn add(&mut self, text: &str, payload: T) -> Result<(), Refusal> {
        let selector = Selector::parse(text)?;
        let Some(subject) = selector.subject.first() else { return Err(wrong("the selector is empty")) };
        let index = self.selectors.len() as u32;
        let list = if let Some(id) = &subject.id {
            self.by_id.entry(id.clone()).or_default()
        } else if let Some(class) = subject.classes.first() {
            self.by_class.entry(class.clone()).or_default()
        } else if let Some((attr, _)) = subject.attrs.first() {
            self.by_attr.entry(attr.clone()).or_default()
        } else if let Some(tag) = &subject.tag {
            match tag {
                Name::Known(tag) => {
                    self.by_name.entry(tag.name().to_owned()).or_default().push(index);
                    self.by_tag.entry(*tag).or_default()
                }
                Name::Custom(name) => self.by_name.entry(name.clone()).or_default(),
            }
        } else {
            return Err(Refusal::Unsupported(format!("the selector \"{text}\" would match everything")));
        };
        list.push(index);
        self.selectors.push((selector, payload));
        Ok(())
    }

    /// Hands out the payload of every selector that matches the element.
    pub(crate) fn for_matches(&self, dom: &Dom, element: u32, mut found: impl FnMut(T)) {
        // With the value that the selector was looked up by, if that is an attribute's: most fail there.
        let mut check = |list: Option<&Vec<u32>>, value: Option<&str>| {
            for index in list.into_iter().flatten() {
                let (selector, payload) = &self.selectors[*index as usize];
                if value.is_none_or(|value| selector.holds_first(value)) && selector.matches(dom, element) {
                    found(*payload);
                }
            }
        };
        if dom.tag(element) == Tag::Text {
            return;
        }
        match dom.tag(element) {
            Tag::Other => check(self.by_name.get(dom.name(element)), None),
            tag => check(self.by_tag.get(&tag), None),
        }
        for (name, value) in dom.attrs(element) {
            if *name == html5ever::local_name!("id") {
                check(self.by_id.get(value.trim()), None);
            } else if *name == html5ever::local_name!("class") {
                for class in value.split_ascii_whitespace() {
                    check(self.by_class.get(class), None);
                }
            }
            if !self.by_attr.is_empty() {
                check(self.by_attr.get(name), Some(value));
            }
        }
    }
}

impl Selector {
    /// Reads one selector: `tag`, `#id`, `.class`, `[attr]`, `[attr=v]` (also `*=`, `^=`, `$=`, `~=`), `:not()` of
    /// these, joined; and of such compounds descendants (a space) and children (`>`). Names may have CSS escapes.
    ///
    /// # Errors
    /// Says what is wrong, and whether it is wrong or only not supported.
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

    /// The id, or the class, if the selector is no more than that.
    pub(crate) fn plain(&self) -> Option<Plain<'_>> {
        let ([one], []) = (self.subject.as_slice(), self.ancestors.as_slice()) else { return None };
        let bare = one.tag.is_none() && one.attrs.is_empty() && one.nots.is_empty();
        match (&one.id, one.classes.as_slice()) {
            (Some(id), []) if bare => Some(Plain::Id(id)),
            (None, [class]) if bare => Some(Plain::Class(class)),
            _ => None,
        }
    }

    /// Whether the value is one that the first attribute in the subject asks for.
    fn holds_first(&self, value: &str) -> bool {
        self.subject.first().and_then(|one| one.attrs.first()).is_none_or(|(_, test)| test.holds(value))
    }

    /// Whether the selector matches the element.
    pub(crate) fn matches(&self, dom: &Dom, element: u32) -> bool {
        let Some(mut at) = above(&self.subject, dom, element) else { return false };
        // The nearest place where a chain holds leaves the most room for the next one, so nothing is tried twice.
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

/// If the chain holds with its innermost compound at the element: what stands above the outermost, or [`NONE`].
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

/// Chains in the order in which they are written, each innermost first.
fn split_chains(text: &str) -> Result<Vec<Chain>, Refusal> {
    let mut chains: Vec<Chain> = Vec::new();
    let mut rest = text.trim();
    let mut child = false;
    while !rest.is_empty() {
        let (compound, left) = compound(rest)?;
        match chains.last_mut().filter(|_| child) {
            Some(chain) => chain.insert(0, compound),
            None => chains.push(vec![compound]),
        }
        rest = left.trim_start();
        child = rest.starts_with('>');
        if child {
            rest = rest[1..].trim_start();
            if rest.is_empty() {
                return Err(wrong("nothing stands behind the last \">\""));
            }
        }
    }
    Ok(chains)
}

const fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii()
}

fn compound(text: &str) -> Result<(Compound, &str), Refusal> {
    let mut compound = Compound::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match first {
            c if c.is_whitespace() || c == '>' && rest.len() < text.len() => break,
            '#' | '.' => {
                let (value, left) = name(&rest[1..])?;
                if value.is_empty() {
                    return Err(Refusal::Wrong(format!("a name is missing after \"{first}\"")));
                }
                rest = left;
                match first {
                    '.' => compound.classes.push(value),
                    _ => compound.id = Some(value),
                }
            }
            '[' => {
                let end = closing(rest, ']')?;
                compound.attrs.push(attribute(&rest[1..end])?);
                rest = &rest[end + 1..];
            }
            ':' if rest.starts_with(":not(") => {
                let end = closing(rest, ')')?;
                let inner = rest[5..end].trim();
                match self::compound(inner)? {
                    (not, "") if !inner.is_empty() => compound.nots.push(not),
                    _ => return Err(Refusal::Unsupported(format!("\":not({inner})\" is not supported"))),
                }
                rest = &rest[end + 1..];
            }
            c if (is_name(c) || c == '\\') && rest.len() == text.len() => {
                let (tag, left) = name(rest)?;
                compound.tag = Some(Name::of(&tag.to_ascii_lowercase()));
                rest = left;
            }
            ':' | '*' | '+' | '~' | ',' | '|' | '^' => {
                return Err(Refusal::Unsupported(format!("\"{first}\" is not supported")));
            }
            c => return Err(Refusal::Wrong(format!("\"{c}\" has no place"))),
        }
    }
    Ok((compound, rest))
}

/// Where the bracket closes that the text begins with or holds first; brackets in quotes do not count.
fn closing(text: &str, bracket: char) -> Result<usize, Refusal> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, _) if c == bracket => return Ok(at),
            _ => {}
        }
    }
    Err(Refusal::Wrong(format!("a \"{bracket}\" is missing")))
}

/// A name with its escapes resolved (CSS Syntax Level 3, §4.3.7), and what follows it.
fn name(text: &str) -> Result<(String, &str), Refusal> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if is_name(c) {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        } else if c == '\\' {
            let digits = rest[1..].bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
            if digits == 0 {
                let escaped =
                    rest[1..].chars().next().ok_or_else(|| wrong("nothing stands behind \"\\\""))?;
                out.push(escaped);
                rest = &rest[1 + escaped.len_utf8()..];
            } else {
                let code = u32::from_str_radix(&rest[1..=digits], 16).ok().and_then(char::from_u32);
                out.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
                rest = &rest[1 + digits..];
                rest = rest.strip_prefix(' ').unwrap_or(rest);
            }
        } else {
            break;
        }
    }
    Ok((out, rest))
}

fn attribute(text: &str) -> Result<(LocalName, Test), Refusal> {
    let Some((name, value)) = text.split_once('=') else {
        return Ok((attribute_name(text)?, Test::Present));
    };
    let value = value.trim();
    let inner = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value[1..].strip_suffix(quote).ok_or_else(|| {
            Refusal::Unsupported(format!("what stands behind the value in [{text}] is not supported"))
        })?,
        _ if value.contains(char::is_whitespace) => {
            return Err(Refusal::Unsupported(format!(
                "what stands behind the value in [{text}] is not supported"
            )));
        }
        _ => value,
    };
    if inner.is_empty() {
        return Err(wrong("an attribute's value is empty"));
    }
    let value = inner.to_owned();
    let (name, test) = match name.as_bytes().last() {
        Some(b'*') => (&name[..name.len() - 1], Test::Contains(value)),
        Some(b'^') => (&name[..name.len() - 1], Test::StartsWith(value)),
        Some(b'$') => (&name[..name.len() - 1], Test::EndsWith(value)),
        Some(b'~') => (&name[..name.len() - 1], Test::HasWord(value)),
        Some(b'|') => {
            return Err(Refusal::Unsupported(format!("the comparison in [{text}] is not supported")));
        }
        _ => (name, Test::Equals(value)),
    };
    Ok((attribute_name(name)?, test))
}

fn attribute_name(text: &str) -> Result<LocalName, Refusal> {
    let text = text.trim();
    let fine = !text.is_empty() && text.chars().all(|c| is_name(c) || matches!(c, ':' | '.'));
    if fine { Ok(LocalName::from(text)) } else { Err(Refusal::Wrong(format!("[{text}] names no attribute"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dom::{Limits, parse};

    fn count(selector: &str, html: &str) -> usize {
        let mut set = SelectorSet::default();
        set.add(selector, ()).unwrap();
        let dom = parse(html, &Limits::default()).dom;
        let mut hits = 0;
        (0..dom.len()).for_each(|id| set.for_matches(&dom, id, |()| hits += 1));
        hits
    }

    #[test]
    fn parts_and_descendants() {
        let html = "<div id=a class='x y' data-k='one two'><p class=x>1<app-root>2</app-root></p></div><p class=x>3</p>";
        for (selector, hits) in [
            ("#a", 1),
            (".x", 3),
            ("p.x", 2),
            ("#a .x", 1),
            ("div.x.y p", 1),
            ("[data-k]", 1),
            ("[data-k='one two']", 1),
            ("[data-k*=two]", 1),
            ("[data-k^=two]", 0),
            ("app-root", 1),
            ("body #a p app-root", 1),
            ("p #a", 0),
            ("div > p", 1),
            ("body > div > p.x > app-root", 1),
            ("body>p", 1),
            ("#a > app-root", 0),
            ("body #a > p app-root", 1),
            ("div p > app-root", 1),
            ("[data-k$=two]", 1),
            ("[data-k~=one]", 1),
            ("[data-k~=on]", 0),
            ("[data-k=\"one two\"]", 1),
            ("p:not(#a)", 2),
            (".x:not([data-k])", 2),
            (".x:not(p)", 1),
            ("#\\61 ", 1),
            (".\\78", 3),
        ] {
            assert_eq!(count(selector, html), hits, "{selector}");
        }
    }

    #[test]
    fn what_is_not_supported_is_an_error() {
        for selector in
            ["a:first-child", "*", "a + b", "a ~ b", "a, b", ":not(a b)", "[a=b i]", "[a='b' i]", "[a|=b]"]
        {
            let refusal = SelectorSet::default().add(selector, ()).unwrap_err();
            assert!(matches!(refusal, Refusal::Unsupported(_)), "{selector}: {refusal}");
        }
        for selector in ["", "#", ".", "a[b", "a >", "> a", "a[=x]", "a[b=]", "a{b", ".a\\", ":not(a"] {
            let refusal = SelectorSet::default().add(selector, ()).unwrap_err();
            assert!(matches!(refusal, Refusal::Wrong(_)), "{selector}: {refusal}");
        }
    }

    #[test]
    fn a_chain_that_fails_is_looked_for_further_up() {
        // The nearest p is no child of the section; the one above it is.
        let html = "<section><ins><b id=x><i><b><u>1</u></b></i></b></ins></section>";
        assert_eq!(count("ins > b u", html), 1);
        assert_eq!(count("section > b u", html), 0);
    }
}
