//! Code: in a line, and as a block whose lines stay as they are.

use super::{
    super::{Gap, Kind, inline::Inline},
    MAX_MARKED, Walk,
};
use crate::{dom::Tag, page::Page};
use html5ever::local_name;

impl Walk<'_> {
    pub(super) fn leave_code(&mut self, id: u32) {
        let Some(range) = self.inline.close(id) else { return };
        let inner = &self.inline.text[range.clone()];
        if !self.style.markdown || inner.len() > MAX_MARKED || inner.contains('`') || inner.contains("](") {
            return;
        }
        self.inline.wrap(range, "`", "`");
    }

    /// An element of code that is shown as a line of its own, by its tag or by the class that a highlighter gives it.
    pub(super) fn is_code_line(&self, id: u32, tag: Tag) -> bool {
        if self.inline.text.is_empty() {
            return false;
        }
        let classes = self.page.dom.attr(id, &local_name!("class")).unwrap_or_default();
        let lines = &self.page.rules.extraction.code_lines;
        matches!(tag, Tag::Div | Tag::P | Tag::Li)
            || classes.split_ascii_whitespace().any(|class| lines.iter().any(|line| line == class))
    }

    pub(super) fn leave_pre(&mut self, id: u32) {
        self.pre_end = 0;
        let text = self.inline.text.trim_matches('\n').trim_end().to_owned();
        self.inline.text.clear();
        if text.trim().is_empty() {
            self.inline = Inline::default();
            return;
        }
        if self.style.markdown {
            let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(longest.max(2) + 1);
            let language = code_language(self.page, id).unwrap_or_default();
            self.put(Kind::Code, format!("{fence}{language}\n{text}\n{fence}"));
        } else {
            self.put(Kind::Code, text);
        }
        self.want(Gap::Blank);
    }
}

/// The language of a code block, from the classes that highlighters write on it, its code element or its parents.
fn code_language(page: &Page<'_>, pre: u32) -> Option<String> {
    let dom = &page.dom;
    let code = dom.children(pre).find(|child| dom.tag(*child) == Tag::Code);
    let around = dom.ancestors(pre).take(2);
    code.into_iter().chain([pre]).chain(around).find_map(|id| {
        let class = dom.attr(id, &local_name!("class"))?;
        class.split_ascii_whitespace().find_map(|class| {
            let language = ["language-", "lang-", "highlight-source-", "highlight-", "sourceCode-"]
                .iter()
                .find_map(|prefix| class.strip_prefix(prefix))?;
            let known = !language.is_empty()
                && language.len() <= 20
                && language.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'#' | b'-'))
                && !matches!(language, "none" | "default" | "text" | "plaintext" | "no-highlight");
            known.then(|| language.to_ascii_lowercase())
        })
    })
}
