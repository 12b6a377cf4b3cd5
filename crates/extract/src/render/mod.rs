//! Rendering of chosen nodes: first to pieces (a paragraph, an item, a table), which later passes can drop,
//! then to one string.

mod escape;
mod inline;
mod markdown;
mod table;
mod walk;

use crate::{
    options::{Format, LinkStyle, Options},
    text,
};
pub(crate) use table::is_data as is_data_table;
pub(crate) use walk::pieces;

/// Thematic break.
pub(crate) const RULE: &str = "---";

/// Kind of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A heading of that level.
    Heading(u8),
    /// A paragraph, or text without one.
    Paragraph,
    /// A list item, or a part of a definition list.
    Item,
    /// Preformatted text.
    Code,
    /// A table.
    Table,
}

impl Kind {
    /// Name of the kind in an explanation.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Heading(_) => "heading",
            Self::Paragraph => "paragraph",
            Self::Item => "item",
            Self::Code => "code",
            Self::Table => "table",
        }
    }
}

/// Distance of a piece from the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    /// The next line.
    Line,
    /// A blank line between.
    Blank,
}

/// A block of the content.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Kind of the piece.
    pub(crate) kind: Kind,
    /// Its text, including quote marks, list markers and the like.
    pub(crate) text: String,
    /// The text without Markdown, if that differs.
    pub(crate) plain: Option<String>,
    /// Distance to the piece before it.
    pub(crate) gap: Gap,
    /// Prefix of a blank line before it (quote marks).
    pub(crate) blank: String,
    /// Its characters.
    pub(crate) chars: u32,
    /// Characters inside links.
    pub(crate) link_chars: u32,
    /// Text nodes that went into it.
    pub(crate) nodes: Vec<u32>,
}

impl Piece {
    /// Text without Markdown, the same in each format.
    pub(crate) fn plain(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.text)
    }

    /// The plain text without signs of items, rules and quotations around it, for comparisons.
    pub(crate) fn bare(&self) -> &str {
        self.plain().trim_start_matches(['#', '>', '-', '*', ':', ' ']).trim_end_matches(['*', ' '])
    }

    /// Share of the characters inside links.
    pub(crate) fn link_density(&self) -> f32 {
        if self.chars == 0 { 0.0 } else { self.link_chars as f32 / self.chars as f32 }
    }
}

/// Style of the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    markdown: bool,
    links: LinkStyle,
    images: bool,
    tables: bool,
}

impl Style {
    /// Style of the options.
    pub(crate) fn of(options: &Options) -> Self {
        Self {
            markdown: options.format == Format::Markdown,
            links: options.links,
            images: options.images && options.format == Format::Markdown,
            tables: options.tables,
        }
    }
}

/// Joins pieces to one text. The references of its links follow, without those of dropped pieces.
pub(crate) fn join(pieces: &[Piece], references: &[String]) -> String {
    let mut out = String::with_capacity(pieces.iter().map(|p| p.text.len() + 2).sum());
    for piece in pieces {
        if !out.is_empty() {
            out.push('\n');
            if piece.gap == Gap::Blank {
                out.push_str(&piece.blank);
                out.push('\n');
            }
        }
        out.push_str(&piece.text);
    }
    let mut gap = "\n\n";
    for number in used(&out, references.len()) {
        out.push_str(&format!("{gap}[{number}]: {}", references[number - 1]));
        gap = "\n";
    }
    out
}

/// Adds lines of plain text as Markdown that shows them.
pub(crate) fn push_plain(out: &mut String, text: &str) {
    markdown::push_plain(out, text);
}

/// Numbers of the references in a text, in order; up to `most`.
fn used(text: &str, most: usize) -> Vec<usize> {
    if most == 0 {
        return Vec::new();
    }
    let mut numbers: Vec<usize> =
        text::reference_numbers(text).filter_map(|number| number.parse().ok()).collect();
    numbers.retain(|number| (1..=most).contains(number));
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod contract_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_references_of_the_text_are_listed() {
        let references = ["a", "b", "c"].map(str::to_owned);
        let piece = |text: &str| Piece {
            kind: Kind::Paragraph,
            text: text.to_owned(),
            plain: None,
            gap: Gap::Line,
            blank: String::new(),
            chars: 1,
            link_chars: 0,
            nodes: Vec::new(),
        };
        assert_eq!(join(&[], &references), "");
        let text = "[x][3] and [y][1], [z][1], [u][9] [v][w]";
        assert_eq!(join(&[piece(text)], &references), format!("{text}\n\n[1]: a\n[3]: c"));
    }
}
