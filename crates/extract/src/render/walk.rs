//! One walk over the chosen nodes, without recursion.

mod blocks;
mod callouts;
mod cells;
mod code;
mod code_table;
mod fractions;
mod labels;
mod links;
mod lists;
mod mathml;
mod maths;
mod media;
mod notes;
mod once;
mod ruby;
mod sidenotes;
mod styled;

use super::{
    Gap, Kind, Piece, Style,
    inline::{Inline, Mark, is_invisible},
    table::{self, Table},
};
use crate::{dom::Tag, page::Page, selection::Selection};
use html5ever::local_name;
use links::Links;
use lists::List;
use maths::Formulas;
use notes::Notes;
use rustc_hash::FxHashSet;
use std::{borrow::Cow, ops::Range};

/// Maximum depth of lists and quotes, since every line carries the marks of all of them.
const MAX_PREFIXES: usize = 12;
/// Maximum bytes of text within inline marks, since they would be moved repeatedly.
const MAX_MARKED: usize = 4000;

/// Line prefixes of a block: of a list item, a quote, a definition.
#[derive(Debug)]
struct Prefix {
    owner: u32,
    first: Cow<'static, str>,
    rest: Cow<'static, str>,
    used: bool,
    /// Kind of a callout whose first line is not written yet.
    callout: Option<String>,
}

struct Walk<'a> {
    page: &'a Page<'a>,
    style: Style,
    pieces: Vec<Piece>,
    inline: Inline,
    prefixes: Vec<Prefix>,
    /// Open lists, innermost last.
    lists: Vec<List>,
    /// The last list to end: number of pieces, number of open lists, and its mark.
    last_list: Option<(usize, usize, char)>,
    gap: Gap,
    /// End of the open `pre`.
    pre_end: u32,
    /// Element that is treated as an open `pre`.
    code_block: Option<u32>,
    /// A block within it has ended, whose line ends before further text.
    code_line_ended: bool,
    /// Elements in it that number its lines.
    line_numbers: FxHashSet<u32>,
    link_end: u32,
    /// The open heading, and the element of its last text.
    heading: Option<u32>,
    /// A defined term is open.
    term: Option<u32>,
    /// Definitions that are open.
    definitions: u32,
    table: Option<(u32, Table)>,
    links: Links,
    notes: Notes,
    /// Hidden note that is written, since a reader opens it.
    opened: Range<u32>,
    formulas: Formulas,
    /// The open `rt` whose text is in brackets.
    reading: Option<u32>,
    /// URL of the last image.
    last_image: Option<String>,
}

/// Pieces of a selection in document order, and the URLs of `[text][n]`.
pub(crate) fn pieces(page: &Page<'_>, selection: &Selection, style: Style) -> (Vec<Piece>, Vec<String>) {
    let mut walk = Walk {
        page,
        style,
        pieces: Vec::new(),
        inline: Inline { plain: !style.markdown, ..Inline::default() },
        prefixes: Vec::new(),
        lists: Vec::new(),
        last_list: None,
        gap: Gap::Line,
        pre_end: 0,
        code_block: None,
        code_line_ended: false,
        line_numbers: FxHashSet::default(),
        link_end: 0,
        heading: None,
        term: None,
        definitions: 0,
        table: None,
        links: Links::of(page, style),
        formulas: if style.markdown { Formulas::of(page) } else { Formulas::default() },
        notes: if style.markdown { Notes::of(page, selection) } else { Notes::default() },
        reading: None,
        last_image: None,
        opened: 0..0,
    };
    for &root in &selection.roots {
        walk.root(root, &selection.drop);
        walk.flush(Kind::Paragraph);
        walk.prefixes.clear();
        walk.lists.clear();
        walk.request_gap(Gap::Blank);
    }
    walk.notes_apart();
    (walk.pieces, walk.links.into_list())
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
            if !drop[id as usize] && self.write_formula_element(id) {
                id = dom.end(id);
                continue;
            }
            if drop[id as usize] || !self.is_shown(id) {
                if !drop[id as usize] || dom.tag(id) == Tag::Img {
                    self.invisible(id);
                }
                id = dom.end(id);
                continue;
            }
            if self.is_beside_code(id) || id != root && self.write_note_reference(id) {
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

    /// Handles an element without text that has a meaning in Markdown.
    fn invisible(&mut self, id: u32) {
        if !self.style.markdown {
            return;
        }
        match self.page.dom.tag(id) {
            Tag::Img if self.style.images => self.image(id),
            Tag::Input => self.checkbox(id),
            Tag::Noscript if self.style.images => self.noscript(id),
            tag if tag.is_player() && self.style.images => self.media(id),
            _ => {}
        }
    }

    fn text(&mut self, id: u32) {
        let text = self.page.dom.text(id);
        let in_link = id < self.link_end;
        if id < self.pre_end && code_table::is_between_cells(self.page, id) {
            return;
        }
        self.inline.nodes.push(id);
        if id < self.pre_end {
            let plain = !self.style.markdown;
            self.end_code_line(text);
            self.inline.text.extend(text.chars().filter(|c| plain || !is_invisible(*c)));
            self.inline.chars += text.chars().count() as u32;
            return;
        }
        let text = &text[self.notes.numbers.get(&id).copied().unwrap_or(0)..];
        if self.joins_labels(id, text) {
            self.inline.space();
        }
        if memchr::memchr2(b'\\', b'$', text.as_bytes()).is_some() && self.text_with_formulas(text, in_link) {
            return;
        }
        self.inline.push(text, in_link);
    }

    fn enter(&mut self, id: u32) {
        let dom = &self.page.dom;
        let tag = dom.tag(id);
        if id < self.pre_end {
            return self.enter_within_code(id, tag);
        }
        if self.enter_code_block(id, tag) {
            return;
        }
        if self.is_line_by_style(id, tag) {
            self.inline.newline(false);
        }
        self.enter_fraction(id, tag);
        match tag {
            Tag::Br if self.table.is_some() => self.inline.newline(false),
            Tag::Br => self.inline.newline(self.style.markdown),
            Tag::A => {
                let mark = self.link(id);
                self.inline.open(id, mark);
                if dom.attr(id, &local_name!("href")).is_some() {
                    self.link_end = self.link_end.max(dom.end(id));
                }
            }
            Tag::Img if self.style.markdown && self.emoji(id) => {}
            Tag::Img if self.style.images => self.image(id),
            Tag::Rt => self.open_reading(id),
            Tag::Td | Tag::Th if self.table.is_some() => self.inline.newline(false),
            _ if self.table.is_some() && tag.is_block() => self.inline.space(),
            _ if tag.is_block() => self.enter_block(id, tag),
            Tag::Span | Tag::Font => self.open_styled(id),
            Tag::B | Tag::Strong if self.is_light(id) => {}
            _ => {
                if let Some(mark) = mark(tag) {
                    self.inline.open(id, Some(mark));
                }
            }
        }
    }

    fn enter_block(&mut self, id: u32, tag: Tag) {
        self.flush(Kind::Paragraph);
        if let Some(label) = self.notes.bodies.get(&id) {
            let first = format!("[^{label}]: ");
            self.request_gap(Gap::Blank);
            self.prefix(id, first, "    ");
            return;
        }
        if self.enter_callout(id, tag) {
            return;
        }
        match tag {
            Tag::Ul | Tag::Ol | Tag::Menu | Tag::Dir => self.enter_list(id, tag),
            Tag::Li => self.enter_item(id),
            Tag::Blockquote => {
                self.request_gap(Gap::Blank);
                self.prefix(id, "> ", "> ");
            }
            Tag::Pre => {
                self.request_gap(Gap::Blank);
                self.pre_end = self.page.dom.end(id);
                self.line_numbers = code::line_numbers(self.page, id);
            }
            Tag::Table if table::is_data(self.page, id) => {
                self.request_gap(Gap::Blank);
                self.table = Some((id, Table::default()));
            }
            Tag::Hr => self.rule(),
            Tag::Dt => {
                self.request_gap(Gap::Blank);
                self.term = Some(id);
            }
            Tag::Dd => {
                self.request_gap(Gap::Blank);
                self.definitions += 1;
            }
            Tag::Tr | Tag::Td | Tag::Th => self.request_gap(Gap::Line),
            _ if tag.heading_level().is_some() => {
                self.heading = Some(id);
                self.gap = self.gap.max(self.block_gap(tag));
            }
            _ => self.request_gap(self.block_gap(tag)),
        }
    }

    pub(super) fn block_gap(&self, tag: Tag) -> Gap {
        // The first block of an item is on the item's line.
        let first = self.prefixes.last().is_some_and(|prefix| !prefix.used);
        if first || tag == Tag::Li { Gap::Line } else { Gap::Blank }
    }

    /// Requests a gap; in plain text only headings are set apart by a blank line.
    fn request_gap(&mut self, gap: Gap) {
        self.gap = self.gap.max(if self.style.markdown { gap } else { Gap::Line });
    }

    fn prefix(&mut self, id: u32, first: impl Into<Cow<'static, str>>, rest: impl Into<Cow<'static, str>>) {
        if self.style.markdown && self.prefixes.len() < MAX_PREFIXES {
            self.prefixes.push(Prefix {
                owner: id,
                first: first.into(),
                rest: rest.into(),
                used: false,
                callout: None,
            });
        }
    }

    fn leave(&mut self, id: u32) {
        let tag = self.page.dom.tag(id);
        if self.code_block == Some(id) {
            return self.leave_pre(id);
        }
        if id < self.pre_end && (tag != Tag::Pre || self.code_block.is_some()) {
            self.code_line_ended |= tag.is_block() && !matches!(tag, Tag::Td | Tag::Th);
            return;
        }
        match tag {
            Tag::A => self.leave_link(id),
            Tag::Code | Tag::Kbd | Tag::Samp | Tag::Tt => self.leave_code(id),
            Tag::Rt => self.leave_reading(id),
            Tag::Td | Tag::Th | Tag::Tr | Tag::Table | Tag::Caption if self.table.is_some() => {
                self.leave_cell(id, tag);
            }
            Tag::Span | Tag::Font => {
                // A style may set two marks.
                self.leave_mark(id);
                self.leave_mark(id);
            }
            _ if mark(tag).is_some() => self.leave_mark(id),
            // Text behind a block of a cell is another line.
            _ if self.table.is_some() && tag.is_block() => self.inline.space(),
            _ if self.table.is_some() => {}
            Tag::Pre => self.leave_pre(id),
            _ if tag.is_block() => self.leave_block(id, tag),
            _ => {}
        }
        self.leave_fraction(id, tag);
        if self.is_line_by_style(id, tag) {
            self.inline.newline(false);
        }
    }

    fn leave_block(&mut self, id: u32, tag: Tag) {
        let kind = match (tag.heading_level(), tag) {
            (Some(level), _) => Kind::Heading(level),
            (None, Tag::Li | Tag::Dt | Tag::Dd) => Kind::Item,
            _ => Kind::Paragraph,
        };
        self.flush(kind);
        self.heading = self.heading.filter(|open| *open != id);
        self.term = self.term.filter(|open| *open != id);
        match tag {
            Tag::Dd => self.definitions = self.definitions.saturating_sub(1),
            Tag::Li => self.leave_item(),
            _ => {}
        }
        if !self.leave_list(id) {
            let inside = matches!(tag, Tag::Li | Tag::Dt | Tag::Dd | Tag::Tr | Tag::Td | Tag::Th);
            let gap = if inside { Gap::Line } else { self.block_gap(tag) };
            self.request_gap(gap);
        }
        if self.prefixes.last().is_some_and(|prefix| prefix.owner == id) {
            self.prefixes.pop();
        }
    }

    fn leave_mark(&mut self, id: u32) {
        let Some((range, Some(mark))) = self.inline.close(id) else { return };
        if self.style.markdown && range.len() <= MAX_MARKED && self.is_marked(&mark, &range) {
            self.inline.mark(range, mark);
        }
    }
}

/// Markdown mark of an inline element, if any.
const fn mark(tag: Tag) -> Option<Mark> {
    match tag {
        Tag::Strong | Tag::B => Some(Mark::Strong),
        Tag::Em | Tag::I => Some(Mark::Em),
        Tag::Del | Tag::S | Tag::Strike => Some(Mark::Del),
        Tag::Code | Tag::Kbd | Tag::Samp | Tag::Tt => Some(Mark::Code),
        Tag::Sup => Some(Mark::Sup),
        Tag::Sub => Some(Mark::Sub),
        _ => None,
    }
}
