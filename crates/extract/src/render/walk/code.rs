//! Code: inline, and as a block with preserved lines.

use super::{
    super::{Gap, Kind, inline::Mark},
    MAX_MARKED, Walk, code_table,
};
use crate::{dom::Tag, page::Page, rules::MarkdownRules, style};
use html5ever::local_name;
use rustc_hash::FxHashSet;

/// Numbers of lines have fewer nodes.
const MAX_GUTTER: u32 = 20_000;
/// Maximum bytes of a language's name.
const MAX_LANGUAGE: usize = 20;

/// Minimum number of line numbers.
const MIN_LINES: usize = 2;
/// Maximum characters of a line with a button.
const MAX_BAR: u32 = 40;
/// Maximum nodes of a line with a button.
const MAX_BAR_NODES: u32 = 40;
/// Ancestors of a code block that are searched for its language: its box, and that of a table with line
/// numbers.
const BOXES: usize = 8;
/// Maximum characters of a code block's title.
const MAX_TITLE: u32 = 100;

impl Walk<'_> {
    pub(super) fn leave_code(&mut self, id: u32) {
        let Some((range, _)) = self.inline.close(id) else { return };
        if self.style.markdown && range.len() <= MAX_MARKED {
            self.inline.mark(range, Mark::Code);
        }
    }

    /// Begins the line of an element within code that is shown as its own line, by its tag or a highlighter's
    /// class. A tab separates the cells of a table.
    pub(super) fn enter_within_code(&mut self, id: u32, tag: Tag) {
        let is_cell = matches!(tag, Tag::Td | Tag::Th);
        let is_line = || {
            !is_cell && (tag.is_block() || has_class(self.page, id, &self.page.rules.extraction.code_lines))
        };
        let text = &self.inline.text;
        if tag == Tag::Br || !text.is_empty() && !text.ends_with('\n') && is_line() {
            self.inline.text.push('\n');
        } else if is_cell && !text.is_empty() && !text.ends_with(['\n', '\t', ' ']) {
            self.inline.text.push('\t');
        }
    }

    /// Ends the line of a block within code before the text behind the block.
    pub(super) fn end_code_line(&mut self, text: &str) {
        let ended = std::mem::take(&mut self.code_line_ended);
        if ended
            && !self.inline.text.is_empty()
            && !self.inline.text.ends_with('\n')
            && !text.starts_with('\n')
        {
            self.inline.text.push('\n');
        }
    }

    /// Returns true for an element beside or within code that holds no code: line numbers, or a button.
    pub(super) fn is_beside_code(&self, id: u32) -> bool {
        let dom = &self.page.dom;
        let in_code = id < self.pre_end;
        if in_code && self.line_numbers.contains(&id) {
            return true;
        }
        match dom.tag(id) {
            Tag::Button => in_code,
            Tag::Div | Tag::Span if in_code && is_bar(self.page, id) => true,
            Tag::Td if is_gutter(self.page, id) => true,
            Tag::Span | Tag::A if !in_code => false,
            Tag::Span | Tag::A | Tag::Div | Tag::Td | Tag::Ol | Tag::Ul | Tag::Code | Tag::Pre => {
                is_line_number(self.page, id)
            }
            _ => false,
        }
    }

    /// Opens a block of code that is no `pre`: a table of code, or an element that has several lines of text and
    /// preserves them. That is a `code` element by its style or a class of blocks. It may also be a box by the
    /// role `code`, or by the class of a highlighter and the name of a language. A `code` element with a class of blocks may be
    /// one line without text beside it. Returns false for another element.
    pub(super) fn enter_code_block(&mut self, id: u32, tag: Tag) -> bool {
        if self.table.is_some() || !matches!(tag, Tag::Code | Tag::Div | Tag::Table) {
            return false;
        }
        let dom = &self.page.dom;
        let rules = &self.page.rules.extraction.markdown;
        let is_block = match tag {
            Tag::Code if has_class(self.page, id, &rules.code_blocks) => {
                has_lines(self.page, id) || self.stands_alone(id)
            }
            Tag::Code => keeps_lines(self.page, id) && has_lines(self.page, id),
            Tag::Table => code_table::is_code(self.page, id),
            _ => {
                let is_code = dom.attr(id, &local_name!("role")) == Some("code")
                    && dom.find(id..dom.end(id), Tag::Pre).is_none();
                let is_text = dom.end(id) == id + 2 && dom.tag(id + 1) == Tag::Text;
                (is_code
                    || is_text
                        && has_class(self.page, id, &rules.highlighters)
                        && attribute_language(self.page, id).is_some())
                    && has_lines(self.page, id)
            }
        };
        if is_block {
            self.flush(Kind::Paragraph);
            self.request_gap(Gap::Blank);
            self.pre_end = dom.end(id);
            self.code_block = Some(id);
            self.line_numbers.clear();
        }
        is_block
    }

    /// Returns true if no text or inline element is beside a `code` element, except for others with a class
    /// of blocks.
    fn stands_alone(&self, id: u32) -> bool {
        let dom = &self.page.dom;
        let (mut next, end) = (dom.end(id), dom.end(dom.parent(id)));
        if next < end && dom.tag(next) == Tag::Text && dom.text(next).trim().is_empty() {
            next = dom.end(next);
        }
        let code_blocks = &self.page.rules.extraction.markdown.code_blocks;
        self.inline.text.trim().is_empty()
            && (next >= end
                || dom.tag(next).is_block()
                || dom.tag(next) == Tag::Code && has_class(self.page, next, code_blocks))
    }

    pub(super) fn leave_pre(&mut self, id: u32) {
        self.pre_end = 0;
        self.code_line_ended = false;
        let mut text = self.inline.text.trim_matches('\n').trim_end().to_owned();
        if self.code_block.take().is_some() {
            text = without_indent(&text);
        }
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
        self.request_gap(Gap::Blank);
    }

    /// Takes the name of a language from the line above, which a box of code uses as its label.
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

/// Returns true if the style of an element preserves line ends.
fn keeps_lines(page: &Page<'_>, id: u32) -> bool {
    let Some(style) = page.dom.attr(id, &local_name!("style")) else { return false };
    style::value(style, "white-space").is_some_and(|value| {
        let value = value.to_ascii_lowercase();
        value.starts_with("pre") || value.starts_with("break-spaces")
    })
}

/// Returns true if an element has text on two lines.
fn has_lines(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let (mut has_text, mut has_end) = (false, false);
    for node in id..dom.end(id) {
        has_end |= has_text && dom.tag(node) == Tag::Br;
        let text = if has_text { dom.text(node) } else { dom.text(node).trim_start() };
        has_text |= !text.is_empty();
        let after = if has_end { text } else { text.find('\n').map_or("", |at| &text[at..]) };
        has_end |= !after.is_empty();
        if has_end && !after.trim_start().is_empty() {
            return true;
        }
    }
    false
}

/// Text without the common indent of its lines, which comes from the HTML source.
fn without_indent(text: &str) -> String {
    let lines = || text.split('\n');
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let least = lines().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    lines().map(|line| line.get(least..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Language in an attribute of an element.
fn attribute_language(page: &Page<'_>, id: u32) -> Option<String> {
    let rules = &page.rules.extraction.markdown;
    let of = |name: &String| page.dom.attrs(id).find(|(own, _)| &***own == name.as_str());
    let (_, value) = rules.language_attributes.iter().find_map(of)?;
    known(value, rules, true)
}

/// Returns true for a line in a box of code with a button, which names the language or copies the code.
fn is_bar(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let short = dom.end(id) - id <= MAX_BAR_NODES && page.amount(id).chars <= MAX_BAR;
    short && dom.find(id..dom.end(id), Tag::Button).is_some() && !dom.raw_text(id).trim().contains('\n')
}

/// Elements of a code block that number its lines, by any name. They are alike, each at the start of a line,
/// increase by one, and code follows some of them.
pub(super) fn line_numbers(page: &Page<'_>, pre: u32) -> FxHashSet<u32> {
    let dom = &page.dom;
    let end = dom.end(pre).min(pre.saturating_add(MAX_GUTTER));
    let class =
        |id: u32| (dom.tag(id), dom.attr(id, &local_name!("class")), dom.attr(id, &local_name!("style")));
    let mut found: Vec<(u32, u64)> = Vec::new();
    let mut line_start = true;
    let mut before_code = 0;
    for id in pre + 1..end {
        let tag = dom.tag(id);
        if tag != Tag::Text {
            // A box beside the number in its row.
            let beside = found.last().is_some_and(|(last, _)| dom.parent(*last) == dom.parent(id));
            line_start |= tag == Tag::Br || tag.is_block() && (!beside || dom.parent(id) == pre);
            continue;
        }
        let text = dom.text(id);
        let own = dom.parent(id);
        let number =
            text.trim().parse().ok().filter(|_| own + 1 == id && dom.end(own) == id + 1 && own != pre);
        if let Some(number) = number.filter(|_| line_start) {
            let follows = found.last().is_none_or(|(last, before)| {
                class(*last) == class(own) && before.checked_add(1) == Some(number)
            });
            if !follows {
                return FxHashSet::default();
            }
            found.push((own, number));
            line_start = false;
        } else if found.is_empty() && !text.trim().is_empty() {
            return FxHashSet::default();
        } else {
            before_code += usize::from(!line_start && !text.trim().is_empty());
            line_start = line_start && text.trim().is_empty() || text.ends_with('\n');
        }
    }
    let sure = found.len() >= MIN_LINES && before_code > 0;
    if sure { found.into_iter().map(|(id, _)| id).collect() } else { FxHashSet::default() }
}

fn has_class(page: &Page<'_>, id: u32, names: &[String]) -> bool {
    let Some(classes) = page.dom.attr(id, &local_name!("class")) else { return false };
    classes.split_ascii_whitespace().any(|class| names.iter().any(|name| name == class))
}

/// Returns true for an element of line numbers, by its class. It may be empty: a style sheet shows the number.
pub(super) fn is_line_number(page: &Page<'_>, id: u32) -> bool {
    // The first letter of most elements decides, so this test comes first.
    are_numbers(page, id) && has_class(page, id, &page.rules.extraction.markdown.gutters)
}

/// Returns true if the text of an element consists of numbers.
fn are_numbers(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let mut texts = (id..dom.end(id)).map(|node| dom.text(node));
    dom.end(id) - id <= MAX_GUTTER
        && texts.all(|text| text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace()))
}

/// Returns true for a cell of numbers beside a cell of code.
fn is_gutter(page: &Page<'_>, id: u32) -> bool {
    let dom = &page.dom;
    let has_pre = |cell: u32| dom.find(cell..dom.end(cell), Tag::Pre).is_some();
    let cells = || dom.children(dom.parent(id)).filter(|cell| dom.tag(*cell) == Tag::Td);
    cells().next() == Some(id)
        && are_numbers(page, id)
        && cells().take(3).count() == 2
        && cells().nth(1).is_some_and(has_pre)
}

/// Language of a code block, from highlighters' marks on it, its code element or its parents.
fn code_language(page: &Page<'_>, pre: u32) -> Option<String> {
    let dom = &page.dom;
    let rules = &page.rules.extraction.markdown;
    let code = dom.children(pre).find(|child| dom.tag(*child) == Tag::Code);
    let own = code.into_iter().chain([pre]);
    // Boxes that hold only the code, its numbers and a title.
    let most = 2 * page.amount(pre).chars + MAX_TITLE;
    let around: Vec<u32> =
        dom.ancestors(pre).take(BOXES).take_while(|up| page.amount(*up).chars <= most).collect();
    let class = |id, bare| {
        let class = dom.attr(id, &local_name!("class"))?;
        language_of(class, rules, bare)
    };
    let exact = |id| class(id, false).or_else(|| attribute_language(page, id));
    let highlighter = |id: &u32| has_class(page, *id, &rules.highlighters);
    own.clone().chain(around.iter().copied()).find_map(exact).or_else(|| {
        own.clone().chain(around.iter().copied().filter(highlighter)).find_map(|id| class(id, true))
    })
}

/// Language in a class: after a known prefix or, if `bare`, as a separate word.
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
            // A prefix that other classes have as well needs a known name.
            let sure = matches!(prefix.as_str(), "language-" | "lang-" | "brush:" | "highlight-source-");
            if let Some(name) = known(rest, rules, !sure) {
                return Some(name);
            }
        }
    }
    None
}

/// Name of a language; only a listed one if `listed`.
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
