//! One walk over the chosen nodes, without recursion.

mod cells;
mod code;
mod links;

use super::{
    Gap, Kind, Piece, Style,
    inline::{Inline, escape_start},
    table::{self, Table},
};
use crate::{content::Selection, dom::Tag, page::Page};
use html5ever::local_name;
use links::References;

/// Deeper lists and quotes are written as if they were at this depth: every line carries the marks of all of them.
const MAX_PREFIXES: usize = 12;
/// Inline marks around longer text are left out: they would be moved again and again.
const MAX_MARKED: usize = 4000;

/// Marks in front of the lines of a block: of a list item, a quote, a definition.
#[derive(Debug)]
struct Prefix {
    owner: u32,
    first: String,
    rest: String,
    used: bool,
}

/// A list that is open.
#[derive(Debug)]
struct List {
    id: u32,
    /// Number of the next item, where items are numbered.
    next: Option<i64>,
    /// An item has been seen.
    begun: bool,
}

struct Walk<'a> {
    page: &'a Page<'a>,
    style: Style,
    pieces: Vec<Piece>,
    inline: Inline,
    prefixes: Vec<Prefix>,
    /// Open lists, innermost last.
    lists: Vec<List>,
    gap: Gap,
    /// End of the `pre` that is open.
    pre_end: u32,
    link_end: u32,
    table: Option<(u32, Table)>,
    references: References,
}

/// The pieces of a selection, in document order, and the addresses that `[text][n]` refers to.
pub(crate) fn pieces(page: &Page<'_>, selection: &Selection, style: Style) -> (Vec<Piece>, Vec<String>) {
    let mut walk = Walk {
        page,
        style,
        pieces: Vec::new(),
        inline: Inline::default(),
        prefixes: Vec::new(),
        lists: Vec::new(),
        gap: Gap::Line,
        pre_end: 0,
        link_end: 0,
        table: None,
        references: References::default(),
    };
    for &root in &selection.roots {
        walk.root(root, &selection.drop);
        walk.flush(Kind::Paragraph);
        walk.prefixes.clear();
        walk.lists.clear();
        walk.want(Gap::Blank);
    }
    (walk.pieces, walk.references.list)
}

impl Walk<'_> {
    fn root(&mut self, root: u32, drop: &[bool]) {
        let dom = &self.page.dom;
        let mut open: Vec<u32> = Vec::new();
        let mut id = root;
        while id < dom.end(root) && !self.page.budget.is_over() {
            while let Some(&last) = open.last() {
                if dom.end(last) > id {
                    break;
                }
                open.pop();
                self.leave(last);
            }
            if drop[id as usize] || !self.page.is_visible(id) {
                if self.style.images && dom.tag(id) == Tag::Img {
                    self.image(id);
                }
                id = dom.end(id);
                continue;
            }
            if dom.tag(id) == Tag::Text {
                self.text(id);
            } else {
                self.enter(id);
                open.push(id);
            }
            id += 1;
        }
        while let Some(last) = open.pop() {
            self.leave(last);
        }
    }

    fn text(&mut self, id: u32) {
        let text = self.page.dom.text(id);
        let in_link = id < self.link_end;
        self.inline.nodes.push(id);
        if id < self.pre_end {
            self.inline.text.push_str(text);
            self.inline.chars += text.chars().count() as u32;
            return;
        }
        self.inline.push(text, in_link);
    }

    fn enter(&mut self, id: u32) {
        let dom = &self.page.dom;
        let tag = dom.tag(id);
        if id < self.pre_end {
            if tag == Tag::Br || self.is_code_line(id, tag) && !self.inline.text.ends_with('\n') {
                self.inline.text.push('\n');
            }
            return;
        }
        match tag {
            Tag::Br => {
                let hard = if self.style.markdown && self.table.is_none() { "  " } else { "" };
                self.inline.newline(hard);
            }
            Tag::A => {
                self.inline.open(id);
                if dom.attr(id, &local_name!("href")).is_some() {
                    self.link_end = self.link_end.max(dom.end(id));
                }
            }
            Tag::Strong
            | Tag::B
            | Tag::Em
            | Tag::I
            | Tag::Code
            | Tag::Kbd
            | Tag::Samp
            | Tag::Tt
            | Tag::Del
            | Tag::S
            | Tag::Strike => self.inline.open(id),
            Tag::Img if self.style.images => self.image(id),
            Tag::Td | Tag::Th if self.table.is_some() => self.inline.newline(""),
            _ if self.table.is_some() && tag.is_block() => self.inline.space(),
            _ if tag.is_block() => self.enter_block(id, tag),
            _ => {}
        }
    }

    fn enter_block(&mut self, id: u32, tag: Tag) {
        self.flush(Kind::Paragraph);
        match tag {
            Tag::Ul | Tag::Ol | Tag::Menu | Tag::Dir => {
                let start = (tag == Tag::Ol).then(|| {
                    let start = self.page.dom.attr(id, &local_name!("start"));
                    start.and_then(|s| s.trim().parse::<i64>().ok()).unwrap_or(1).clamp(0, 1_000_000_000)
                });
                let gap = if self.lists.is_empty() { Gap::Blank } else { Gap::Line };
                self.lists.push(List { id, next: start, begun: false });
                self.want(gap);
            }
            Tag::Li => self.enter_item(id),
            Tag::Dd => self.prefix(id, ": ", "  "),
            Tag::Blockquote => {
                self.want(Gap::Blank);
                self.prefix(id, "> ", "> ");
            }
            Tag::Pre => {
                self.want(Gap::Blank);
                self.pre_end = self.page.dom.end(id);
            }
            Tag::Table if table::is_data(self.page, id) => {
                self.want(Gap::Blank);
                self.table = Some((id, Table::default()));
            }
            Tag::Dt | Tag::Tr | Tag::Td | Tag::Th => self.want(Gap::Line),
            _ if tag.heading_level().is_some() => self.gap = self.gap.max(self.block_gap(tag)),
            _ => self.want(self.block_gap(tag)),
        }
    }

    fn enter_item(&mut self, id: u32) {
        let mut marker = "- ".to_owned();
        if let Some(list) = self.lists.last_mut() {
            // Items follow each other closely, however many blocks the last one had.
            if std::mem::replace(&mut list.begun, true) {
                self.gap = Gap::Line;
            }
            if let Some(number) = &mut list.next {
                marker = format!("{number}. ");
                *number += 1;
            }
        }
        let rest = " ".repeat(marker.len());
        self.prefix(id, &marker, &rest);
    }

    fn block_gap(&self, tag: Tag) -> Gap {
        // The first block of an item stands on the item's line.
        let first = self.prefixes.last().is_some_and(|prefix| !prefix.used);
        if first || tag == Tag::Li { Gap::Line } else { Gap::Blank }
    }

    /// In plain text only headings stand apart by a blank line.
    fn want(&mut self, gap: Gap) {
        self.gap = self.gap.max(if self.style.markdown { gap } else { Gap::Line });
    }

    fn prefix(&mut self, id: u32, first: &str, rest: &str) {
        if self.style.markdown && self.prefixes.len() < MAX_PREFIXES {
            self.prefixes.push(Prefix {
                owner: id,
                first: first.to_owned(),
                rest: rest.to_owned(),
                used: false,
            });
        }
    }

    fn leave(&mut self, id: u32) {
        let tag = self.page.dom.tag(id);
        if id < self.pre_end && tag != Tag::Pre {
            return;
        }
        match tag {
            Tag::A => self.leave_link(id),
            Tag::Strong | Tag::B => self.wrap(id, "**"),
            Tag::Em | Tag::I => self.wrap(id, "*"),
            Tag::Del | Tag::S | Tag::Strike => self.wrap(id, "~~"),
            Tag::Code | Tag::Kbd | Tag::Samp | Tag::Tt => self.leave_code(id),
            Tag::Td | Tag::Th | Tag::Tr | Tag::Table | Tag::Caption if self.table.is_some() => {
                self.leave_cell(id, tag);
            }
            _ if self.table.is_some() => {}
            Tag::Pre => self.leave_pre(id),
            _ if tag.is_block() => self.leave_block(id, tag),
            _ => {}
        }
    }

    fn leave_block(&mut self, id: u32, tag: Tag) {
        let kind = match (tag.heading_level(), tag) {
            (Some(level), _) => Kind::Heading(level),
            (None, Tag::Li | Tag::Dt | Tag::Dd) => Kind::Item,
            _ => Kind::Paragraph,
        };
        self.flush(kind);
        if matches!(tag, Tag::Ul | Tag::Ol | Tag::Menu | Tag::Dir)
            && self.lists.last().is_some_and(|list| list.id == id)
        {
            self.lists.pop();
            let gap = if self.lists.is_empty() { Gap::Blank } else { Gap::Line };
            self.want(gap);
        } else {
            let inside = matches!(tag, Tag::Li | Tag::Dt | Tag::Dd | Tag::Tr | Tag::Td | Tag::Th);
            let gap = if inside { Gap::Line } else { self.block_gap(tag) };
            self.want(gap);
        }
        if self.prefixes.last().is_some_and(|prefix| prefix.owner == id) {
            self.prefixes.pop();
        }
    }

    fn wrap(&mut self, id: u32, mark: &str) {
        let Some(range) = self.inline.close(id) else { return };
        if self.style.markdown
            && range.len() <= MAX_MARKED
            && !self.inline.text[range.clone()].starts_with(mark)
        {
            self.inline.wrap(range, mark, mark);
        }
    }

    /// Ends the block that is being put together.
    fn flush(&mut self, kind: Kind) {
        if self.table.is_some() {
            return;
        }
        let mut text = trimmed(std::mem::take(&mut self.inline.text));
        if text.is_empty() {
            // An inline element that goes on in the next block has no text of its own here.
            self.inline.marks.iter_mut().for_each(|mark| mark.start = 0);
            return;
        }
        if self.style.markdown {
            match kind {
                Kind::Heading(level) => {
                    text = format!(
                        "{} {}",
                        "#".repeat(level as usize),
                        crate::text::fold(&text.replace("**", ""))
                    );
                }
                Kind::Paragraph => escape_start(&mut text),
                _ => {}
            }
        }
        let in_item = matches!(self.prefixes.last(), Some(prefix) if prefix.first != "> ");
        let kind = if kind == Kind::Paragraph && in_item { Kind::Item } else { kind };
        self.put(kind, text);
        if matches!(kind, Kind::Heading(_)) {
            self.gap = Gap::Blank;
        }
    }

    /// The text with the marks in front of its lines.
    fn with_marks(&mut self, text: &str) -> String {
        let mut lines = String::with_capacity(text.len() + 8);
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                lines.push('\n');
            }
            let start = lines.len();
            for prefix in &mut self.prefixes {
                lines.push_str(if prefix.used { &prefix.rest } else { &prefix.first });
                prefix.used = true;
            }
            if line.is_empty() {
                let len = lines[start..].trim_end().len();
                lines.truncate(start + len);
            }
            lines.push_str(line);
        }
        lines
    }

    /// Adds a piece with the marks in front of its lines.
    fn put(&mut self, kind: Kind, text: String) {
        let blank: String = self
            .prefixes
            .iter()
            .filter(|p| p.used)
            .map(|p| p.rest.as_str())
            .collect::<String>()
            .trim_end()
            .to_owned();
        // Most blocks stand in no list and no quote; a copy of a large one would be felt.
        let text = if self.prefixes.is_empty() { text } else { self.with_marks(&text) };
        let inline = std::mem::take(&mut self.inline);
        let gap = std::mem::replace(&mut self.gap, Gap::Line);
        self.pieces.push(Piece {
            kind,
            text,
            gap,
            blank,
            chars: inline.chars,
            link_chars: inline.link_chars,
            nodes: inline.nodes,
        });
    }
}

/// A text without spaces and line ends around it, in its own memory.
fn trimmed(mut text: String) -> String {
    text.truncate(text.trim_end_matches([' ', '\n']).len());
    let start = text.len() - text.trim_start_matches([' ', '\n']).len();
    text.drain(..start);
    text
}
