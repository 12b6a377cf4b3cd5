//! Parts of a page that are sent after its end and belong into its middle.
//!
//! React since version 18 streams a page as its server renders it. For an unfinished part it leaves
//! `<template id="B:0">` (or `P:0` inside of a part). Later it sends the part as `<div hidden id="S:0">`, and
//! a line of script moves its children to the template. Without the script product and article are missing,
//! so this module does the same (react-dom, `ReactDOMFizzInstructionSet`: `$RC` and `$RS`).

use super::{Inner, NONE, Tag};
use html5ever::local_name;
use rustc_hash::FxHashMap;

impl Inner<'_> {
    /// Moves streamed parts to their templates. A part stays if it has no template, or one deeper than
    /// `max_depth`.
    pub(super) fn place_streamed(&mut self, max_depth: u16) {
        let mut places: FxHashMap<String, u32> = FxHashMap::default();
        for id in 0..self.nodes.len() as u32 {
            match self.nodes[id as usize].tag {
                Tag::Template => {
                    if let Some(number) = self.streamed_number(id, &["B", "P"]) {
                        places.insert(number, id);
                    }
                }
                // The template was sent first.
                Tag::Div if !places.is_empty() => {
                    let is_hidden = self.attr(id, &local_name!("hidden")).is_some();
                    let place = is_hidden
                        .then(|| self.streamed_number(id, &["S"]))
                        .flatten()
                        .and_then(|number| places.remove(&number))
                        .filter(|place| self.is_outside(*place, id, max_depth));
                    if let Some(place) = place {
                        self.put_behind(place, id);
                    }
                }
                _ => {}
            }
        }
    }

    /// Number of a streamed part, if the element's id consists of one of these letters, a colon and a hexadecimal
    /// number. An application may put a prefix before the letter.
    fn streamed_number(&self, id: u32, letters: &[&str]) -> Option<String> {
        let (front, number) = self.attr(id, &local_name!("id"))?.rsplit_once(':')?;
        let prefix = letters.iter().find_map(|letter| front.strip_suffix(letter))?;
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_hexdigit());
        is_number.then(|| format!("{prefix}:{number}"))
    }

    fn attr(&self, id: u32, name: &html5ever::LocalName) -> Option<&str> {
        let link = &self.nodes[id as usize];
        let attrs = &self.attrs[link.start as usize..(link.start + link.len) as usize];
        let attr = attrs.iter().find(|attr| attr.name == *name)?;
        Some(&self.attr_text[attr.start as usize..(attr.start + attr.len) as usize])
    }

    /// Returns true if a node is in the tree, outside of another, and within the depth limit. Nested parts
    /// could otherwise reach any depth.
    fn is_outside(&self, id: u32, other: u32, max_depth: u16) -> bool {
        let mut at = id;
        for _ in 0..max_depth {
            if at == 0 {
                return true;
            }
            if at == NONE || at == other {
                return false;
            }
            at = self.nodes[at as usize].parent;
        }
        false
    }

    /// Inserts the children of a node after another node, in order.
    fn put_behind(&mut self, place: u32, from: u32) {
        let (parent, next) = {
            let place = &self.nodes[place as usize];
            (place.parent, place.next)
        };
        let mut child = self.nodes[from as usize].first;
        while child != NONE {
            let after = self.nodes[child as usize].next;
            self.attach(parent, next, child);
            child = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::dom::{Dom, Limits, Tag, parse};

    fn text_of_main(html: &str, limits: &Limits) -> String {
        let dom: Dom = parse(html, limits).dom;
        let main = dom.find(0..dom.len(), Tag::Main).unwrap();
        dom.raw_text(main)
    }

    #[test]
    fn streamed_parts_replace_their_templates() {
        let html = "<main>a<template id='B:0'></template><i>wait</i>z</main>\
            <div hidden id='S:0'>b<p>c</p><template id='P:1'></template>e</div><div hidden id='S:1'><b>d</b></div>";
        assert_eq!(text_of_main(html, &Limits::default()), "abcdewaitz");
    }

    #[test]
    fn streamed_parts_without_a_template_stay_hidden() {
        for html in [
            // No template, one after its part, one of another number, one inside of its own part.
            "<main>a</main><div hidden id='S:0'>b</div>",
            "<div hidden id='S:0'>b</div><main>a<template id='B:0'></template></main>",
            "<main>a<template id='B:1'></template></main><div hidden id='S:0'>b</div>",
            "<main>a</main><div hidden id='S:0'>b<template id='B:0'></template></div>",
            // Not hidden, so not a part.
            "<main>a<template id='B:0'></template></main><div id='S:0'>b</div>",
        ] {
            assert_eq!(text_of_main(html, &Limits::default()), "a", "{html}");
        }
    }

    #[test]
    fn nested_streamed_parts_have_bounded_depth() {
        let mut html = "<main><template id='B:0'></template></main>".to_owned();
        for part in 0..100 {
            html.push_str(&format!("<div hidden id='S:{part:x}'>"));
            html.push_str(&"<i>".repeat(50));
            html.push_str(&format!("<template id='B:{:x}'></template>", part + 1));
            html.push_str(&"</i>".repeat(50));
            html.push_str("</div>");
        }
        let dom = parse(&html, &Limits { max_depth: 200, ..Limits::default() }).dom;
        let deepest = (0..dom.len()).map(|id| dom.ancestors(id).count()).max().unwrap();
        assert!((100..=260).contains(&deepest), "{deepest}");
    }
}
