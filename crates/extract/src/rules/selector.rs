//! Selectors, compiled into lookups by their most telling part.

use crate::dom::{Dom, NONE, Tag};
use html5ever::LocalName;
use rustc_hash::FxHashMap;

/// How an attribute's value is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    Present,
    Equals(String),
    Contains(String),
    StartsWith(String),
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
}

/// A compound and the compounds that ancestors have to match, innermost first.
#[derive(Clone, Debug)]
struct Selector<T> {
    subject: Compound,
    ancestors: Vec<Compound>,
    payload: T,
}

/// A set of selectors, each with something to hand out for its matches.
#[derive(Clone, Debug)]
pub(crate) struct SelectorSet<T> {
    selectors: Vec<Selector<T>>,
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
    /// Adds one selector: `tag`, `#id`, `.class`, `[attr]`, `[attr=v]`, `[attr*=v]`, `[attr^=v]`, joined, and
    /// descendants of these separated by spaces.
    ///
    /// # Errors
    /// Says what is wrong with the selector.
    pub(crate) fn add(&mut self, text: &str, payload: T) -> Result<(), String> {
        let mut parts = split_compounds(text)?;
        let Some(subject) = parts.pop() else {
            return Err(format!("the selector \"{text}\" is empty"));
        };
        parts.reverse();
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
            return Err(format!("the selector \"{text}\" would match everything"));
        };
        list.push(index);
        self.selectors.push(Selector { subject, ancestors: parts, payload });
        Ok(())
    }

    /// Hands out the payload of every selector that matches the element.
    pub(crate) fn for_matches(&self, dom: &Dom, element: u32, mut found: impl FnMut(T)) {
        let mut check = |list: Option<&Vec<u32>>| {
            for index in list.into_iter().flatten() {
                let selector = &self.selectors[*index as usize];
                if selector.matches(dom, element) {
                    found(selector.payload);
                }
            }
        };
        if dom.tag(element) == Tag::Text {
            return;
        }
        match dom.tag(element) {
            Tag::Other => check(self.by_name.get(dom.name(element))),
            tag => check(self.by_tag.get(&tag)),
        }
        for (name, value) in dom.attrs(element) {
            if *name == html5ever::local_name!("id") {
                check(self.by_id.get(value.trim()));
            } else if *name == html5ever::local_name!("class") {
                for class in value.split_ascii_whitespace() {
                    check(self.by_class.get(class));
                }
            }
            if !self.by_attr.is_empty() {
                check(self.by_attr.get(name));
            }
        }
    }
}

impl<T> Selector<T> {
    fn matches(&self, dom: &Dom, element: u32) -> bool {
        if !self.subject.matches(dom, element) {
            return false;
        }
        let mut at = dom.parent(element);
        for ancestor in &self.ancestors {
            loop {
                if at == NONE {
                    return false;
                }
                let here = at;
                at = dom.parent(at);
                if ancestor.matches(dom, here) {
                    break;
                }
            }
        }
        true
    }
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
            && self.attrs.iter().all(|(name, test)| {
                dom.attr(element, name).is_some_and(|value| match test {
                    Test::Present => true,
                    Test::Equals(v) => value == v,
                    Test::Contains(v) => value.contains(v.as_str()),
                    Test::StartsWith(v) => value.starts_with(v.as_str()),
                })
            })
    }
}

fn split_compounds(text: &str) -> Result<Vec<Compound>, String> {
    let mut compounds = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (compound, left) =
            compound(rest).map_err(|problem| format!("{problem} in the selector \"{text}\""))?;
        compounds.push(compound);
        rest = left.trim_start();
    }
    Ok(compounds)
}

fn compound(text: &str) -> Result<(Compound, &str), String> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii();
    let name = |text: &str| text.find(|c: char| !is_name(c)).unwrap_or(text.len());
    let mut compound = Compound::default();
    let mut rest = text;
    loop {
        let Some(first) = rest.chars().next() else { return Ok((compound, rest)) };
        match first {
            c if c.is_whitespace() => return Ok((compound, rest)),
            '#' | '.' => {
                let end = 1 + name(&rest[1..]);
                if end == 1 {
                    return Err(format!("a name is missing after \"{first}\""));
                }
                let value = rest[1..end].to_owned();
                if first == '#' {
                    compound.id = Some(value);
                } else {
                    compound.classes.push(value);
                }
                rest = &rest[end..];
            }
            '[' => {
                let end = rest.find(']').ok_or("a \"]\" is missing")?;
                compound.attrs.push(attribute(&rest[1..end])?);
                rest = &rest[end + 1..];
            }
            c if is_name(c) && compound.tag.is_none() => {
                let end = name(rest);
                compound.tag = Some(Name::of(&rest[..end].to_ascii_lowercase()));
                rest = &rest[end..];
            }
            c => return Err(format!("\"{c}\" is not supported")),
        }
    }
}

fn attribute(text: &str) -> Result<(LocalName, Test), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Ok((LocalName::from(text.trim()), Test::Present));
    };
    let value = value.trim().trim_matches(['"', '\'']).to_owned();
    if value.is_empty() {
        return Err("an attribute's value is empty".to_owned());
    }
    let (name, test) = match name.as_bytes().last() {
        Some(b'*') => (&name[..name.len() - 1], Test::Contains(value)),
        Some(b'^') => (&name[..name.len() - 1], Test::StartsWith(value)),
        Some(b'~' | b'|' | b'$') => return Err(format!("the comparison in [{text}] is not supported")),
        _ => (name, Test::Equals(value)),
    };
    Ok((LocalName::from(name.trim()), test))
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
        ] {
            assert_eq!(count(selector, html), hits, "{selector}");
        }
    }

    #[test]
    fn what_is_not_supported_is_an_error() {
        for selector in ["", "a > b", "a[href$=x]", "a:first-child", "*", "#", "a[b"] {
            assert!(SelectorSet::default().add(selector, ()).is_err(), "{selector}");
        }
    }
}
