//! Code: in a line, and as a block whose lines stay as they are.

use super::{
    super::{Gap, Kind, inline::Mark},
    MAX_MARKED, Walk,
};
use crate::{dom::Tag, page::Page, rules::MarkdownRules};
use html5ever::local_name;

/// Numbers of lines have fewer nodes.
const MAX_GUTTER: u32 = 20_000;
/// A longer word is no name of a language (bytes).
const MAX_LANGUAGE: usize = 20;

impl Walk<'_> {
    pub(super) fn leave_code(&mut self, id: u32) {
        let Some((range, _)) = self.inline.close(id) else { return };
        if self.style.markdown && range.len() <= MAX_MARKED {
            self.inline.mark(range, Mark::Code);
        }
    }

    /// An element of code that is shown as a line of its own, by its tag or by the class that a highlighter gives it.
    pub(super) fn is_code_line(&self, id: u32, tag: Tag) -> bool {
        if self.inline.text.is_empty() {
            return false;
        }
        let lines = &self.page.rules.extraction.code_lines;
        matches!(tag, Tag::Div | Tag::P | Tag::Li | Tag::Tr) || has_class(self.page, id, lines)
    }

    /// An element beside code or in it that holds no code: numbers of lines, or a button.
    pub(super) fn is_beside_code(&self, id: u32) -> bool {
        let dom = &self.page.dom;
        let in_code = id < self.pre_end;
        match dom.tag(id) {
            Tag::Button => in_code,
            Tag::Td if is_gutter(self.page, id) => true,
            Tag::Span | Tag::A if !in_code => false,
            Tag::Span | Tag::A | Tag::Div | Tag::Td | Tag::Ol | Tag::Ul | Tag::Code | Tag::Pre => {
                has_class(self.page, id, &self.page.rules.extraction.markdown.gutters)
                    && are_numbers(self.page, id)
            }
            _ => false,
        }
    }

    pub(super) fn leave_pre(&mut self, id: u32) {
        self.pre_end = 0;
        let text = self.inline.text.trim_matches('\n').trim_end().to_owned();
        self.inline.text.clear();
        self.inline.spans.clear();
        if text.trim().is_empty() {
            self.inline.take();
            return;
        }
        if self.style.markdown {
            let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(longest.max(2) + 1);
            let label = self.take_label();
            let language = code_language(self.page, id).or(label).unwrap_or_default();
            self.put(Kind::Code, format!("{fence}{language}\n{text}\n{fence}"));
        } else {
            self.put(Kind::Code, text);
        }
        self.want(Gap::Blank);
    }

    /// Takes the name of a language that stands alone in the line above, where a box of code says what it holds.
    fn take_label(&mut self) -> Option<String> {
        let last = self.pieces.last()?;
        if last.kind != Kind::Paragraph || last.text.len() > MAX_LANGUAGE {
            return None;
        }
        let rules = &self.page.rules.extraction.markdown;
        let name = last.text.replace('\\', "").to_ascii_lowercase();
        if !rules.languages.contains(&name) {
            return None;
        }
        if let Some(label) = self.pieces.pop() {
            self.gap = self.gap.max(label.gap);
        }
        Some(name)
    }
}

fn has_class(page: &Page<'_>, id: u32, names: &[String]) -> bool {
    let Some(classes) = page.dom.attr(id, &local_name!("class")) else { return false };
    classes.split_ascii_whitespace().any(|class| names.iter().any(|name| name == class))
}

/// The text of an element is numbers and nothing else.
fn are_numbers(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let mut texts = (id..dom.end(id)).map(|node| dom.text(node));
    dom.end(id) - id <= MAX_GUTTER
        && texts.all(|text| text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace()))
}

/// A cell of numbers beside a cell of code.
fn is_gutter(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let has_pre = |cell: u32| dom.find(cell..dom.end(cell), Tag::Pre).is_some();
    let cells = || dom.children(dom.parent(id)).filter(|cell| dom.tag(*cell) == Tag::Td);
    cells().next() == Some(id)
        && are_numbers(page, id)
        && cells().take(3).count() == 2
        && cells().nth(1).is_some_and(has_pre)
}

/// The language of a code block, from what highlighters write on it, its code element or its parents.
fn code_language(page: &Page<'_>, pre: u32) -> Option<String> {
    let dom = &page.dom;
    let rules = &page.rules.extraction.markdown;
    let code = dom.children(pre).find(|child| dom.tag(*child) == Tag::Code);
    let own = code.into_iter().chain([pre]);
    let around = dom.ancestors(pre).take(3);
    let attribute = |id| {
        let of = |name: &String| dom.attrs(id).find(|(own, _)| &***own == name.as_str());
        let (_, value) = rules.language_attributes.iter().find_map(of)?;
        known(value, rules, true)
    };
    let class = |id, bare| {
        let class = dom.attr(id, &local_name!("class"))?;
        language_of(class, rules, bare)
    };
    let exact = |id| class(id, false).or_else(|| attribute(id));
    own.clone().chain(around).find_map(exact).or_else(|| own.clone().find_map(|id| class(id, true)))
}

/// The language in a class: behind a known beginning, or if `bare`, as a word by itself.
fn language_of(class: &str, rules: &MarkdownRules, bare: bool) -> Option<String> {
    let mut words = class.split_ascii_whitespace().peekable();
    while let Some(word) = words.next() {
        let word = word.trim_end_matches(';');
        if bare {
            if let Some(name) = known(word, rules, true) {
                return Some(name);
            }
            continue;
        }
        for prefix in &rules.language_prefixes {
            let Some(rest) = word.strip_prefix(prefix.as_str()) else { continue };
            // `brush: python` has a gap.
            let rest = if rest.is_empty() {
                words.peek().map_or("", |next| next.trim_end_matches(';'))
            } else {
                rest
            };
            // A beginning that other classes have as well needs a name that is known.
            let sure = matches!(prefix.as_str(), "language-" | "lang-" | "brush:" | "highlight-source-");
            if let Some(name) = known(rest, rules, !sure) {
                return Some(name);
            }
        }
    }
    None
}

/// A name of a language; one of the list if `listed`.
fn known(name: &str, rules: &MarkdownRules, listed: bool) -> Option<String> {
    let name = name.trim().to_ascii_lowercase();
    let name =
        if rules.languages.contains(&name) { name } else { name.trim_end_matches("-basic").to_owned() };
    let shaped = !name.is_empty()
        && name.len() <= MAX_LANGUAGE
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.'))
        && !matches!(name.as_str(), "none" | "default" | "text" | "plaintext" | "plain" | "no-highlight");
    (shaped && (!listed || rules.languages.contains(&name))).then_some(name)
}
