//! Fractions in plain text, whose parts only their position separates.

use super::Walk;
use crate::dom::Tag;

impl Walk<'_> {
    /// Writes a slash in front of the denominator of MathML and brackets around its longer parts. A space
    /// separates a number from the fraction behind it (`1<sup>1</sup>⁄<sub>2</sub>` is one and a half).
    pub(super) fn enter_fraction(&mut self, id: u32, tag: Tag) {
        if self.style.markdown {
            return;
        }
        if tag == Tag::Other && self.is_part(id) {
            if self.is_denominator(id) {
                self.inline.trim_end();
                self.inline.push(if self.has_line(self.page.dom.parent(id)) { "/" } else { " " }, false);
            }
            if self.has_several_signs(id) {
                self.inline.push("(", false);
            }
        } else if tag == Tag::Sup
            && self.inline.text.ends_with(|c: char| c.is_ascii_digit())
            && self.is_numerator(id)
        {
            self.inline.space();
        }
    }

    /// Closes the brackets of a part of a fraction.
    pub(super) fn leave_fraction(&mut self, id: u32, tag: Tag) {
        if !self.style.markdown && tag == Tag::Other && self.is_part(id) && self.has_several_signs(id) {
            self.inline.trim_end();
            self.inline.push(")", false);
        }
    }

    /// Returns true for a child of a fraction.
    fn is_part(&self, id: u32) -> bool {
        let dom = &self.page.dom;
        dom.tag(dom.parent(id)) == Tag::Other && dom.name(dom.parent(id)) == "mfrac"
    }

    fn is_denominator(&self, id: u32) -> bool {
        let dom = &self.page.dom;
        dom.children(dom.parent(id))
            .find(|child| dom.tag(*child) != Tag::Text)
            .is_some_and(|first| first < id)
    }

    /// Returns true if a line separates the parts; a binomial coefficient has none.
    fn has_line(&self, fraction: u32) -> bool {
        let thickness = self.page.dom.attrs(fraction).find(|(name, _)| &***name == "linethickness");
        thickness.is_none_or(|(_, value)| {
            let rest = value.trim().trim_start_matches(['0', '.']);
            rest.len() == value.trim().len() || rest.starts_with(|c: char| c.is_ascii_digit())
        })
    }

    fn has_several_signs(&self, id: u32) -> bool {
        let dom = &self.page.dom;
        (id..dom.end(id)).filter(|node| !dom.text(*node).trim().is_empty()).nth(1).is_some()
    }

    /// Returns true for superscript digits with a slash and a subscript behind them.
    fn is_numerator(&self, id: u32) -> bool {
        let dom = &self.page.dom;
        let slash = dom.end(id);
        let sub = slash + 1;
        slash == id + 2
            && dom.text(id + 1).trim().bytes().all(|byte| byte.is_ascii_digit())
            && sub < dom.len()
            && matches!(dom.text(slash).trim(), "/" | "⁄" | "∕")
            && dom.tag(sub) == Tag::Sub
    }
}
