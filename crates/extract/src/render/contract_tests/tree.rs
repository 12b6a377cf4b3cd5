//! Random trees as HTML, and the parse of their Markdown by a CommonMark library, in one form.

use comrak::{
    Arena,
    nodes::{AstNode, ListType, NodeValue},
};
use proptest::prelude::*;
use std::fmt::Write as _;

#[derive(Clone, Debug)]
pub(super) enum Span {
    Text(String),
    Code(String),
    Mark(&'static str, Vec<Self>),
    Link(Vec<Self>),
    Break,
}

#[derive(Clone, Debug)]
pub(super) enum Block {
    Paragraph(Vec<Span>),
    Heading(u8, Vec<Span>),
    List(Option<u32>, Vec<Vec<Self>>),
    Quote(Vec<Self>),
    Code(String),
    Table(Vec<Vec<Vec<Span>>>),
    Rule,
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Span {
    fn html(&self, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(&escaped(text)),
            Self::Code(code) => write!(out, "<code>{}</code>", escaped(code)).unwrap(),
            Self::Mark(tag, inner) => {
                write!(out, "<{tag}>").unwrap();
                inner.iter().for_each(|span| span.html(out));
                write!(out, "</{tag}>").unwrap();
            }
            Self::Link(inner) => {
                out.push_str("<a href=\"/to_(x)\">");
                inner.iter().for_each(|span| span.html(out));
                out.push_str("</a>");
            }
            Self::Break => out.push_str("<br>"),
        }
    }

    /// Visible characters, with the marks on each.
    fn chars(&self, marks: &[&'static str], out: &mut Vec<(char, Vec<&'static str>)>) {
        let mut add = |text: &str, marks: &[&'static str]| {
            let mut marks = marks.to_vec();
            if marks.contains(&"code") {
                marks.retain(|mark| matches!(*mark, "code" | "a"));
            }
            marks.sort_unstable();
            marks.dedup();
            out.extend(text.chars().filter(|c| !c.is_whitespace()).map(|c| (c, marks.clone())));
        };
        let with = |mark: &'static str| [marks, &[mark]].concat();
        match self {
            Self::Text(text) => add(text, marks),
            Self::Code(code) => add(code, &with("code")),
            Self::Mark(tag, inner) => inner.iter().for_each(|span| span.chars(&with(tag), out)),
            Self::Link(inner) => inner.iter().for_each(|span| span.chars(&with("a"), out)),
            Self::Break => {}
        }
    }
}

fn html_of(spans: &[Span]) -> String {
    let mut out = String::new();
    spans.iter().for_each(|span| span.html(&mut out));
    out
}

/// A block as the path of its ancestors, with its characters.
pub(super) type Leaf = (String, Vec<(char, Vec<&'static str>)>);

fn leaf(path: &str, spans: &[Span], add: Option<&'static str>, out: &mut Vec<Leaf>) {
    let mut chars = Vec::new();
    let around: Vec<&'static str> = add.into_iter().collect();
    spans.iter().for_each(|span| span.chars(&around, &mut chars));
    out.push((path.to_owned(), chars));
}

impl Block {
    fn html(&self, out: &mut String) {
        let blocks = |blocks: &[Self]| {
            let mut out = String::new();
            blocks.iter().for_each(|block| block.html(&mut out));
            out
        };
        match self {
            Self::Paragraph(spans) => write!(out, "<p>{}</p>", html_of(spans)),
            Self::Heading(level, spans) => write!(out, "<h{level}>{}</h{level}>", html_of(spans)),
            Self::List(start, items) => {
                let items: String = items.iter().map(|item| format!("<li>{}</li>", blocks(item))).collect();
                match start {
                    Some(start) => write!(out, "<ol start={start}>{items}</ol>"),
                    None => write!(out, "<ul>{items}</ul>"),
                }
            }
            Self::Quote(inner) => write!(out, "<blockquote>{}</blockquote>", blocks(inner)),
            Self::Code(code) => write!(out, "<pre><code class=language-rust>{}</code></pre>", escaped(code)),
            Self::Table(rows) => {
                let row = |tag: &str, cells: &[Vec<Span>]| {
                    let cells: String =
                        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", html_of(cell))).collect();
                    format!("<tr>{cells}</tr>")
                };
                let body: String = rows[1..].iter().map(|cells| row("td", cells)).collect();
                write!(out, "<table><thead>{}</thead><tbody>{body}</tbody></table>", row("th", &rows[0]))
            }
            Self::Rule => write!(out, "<hr>"),
        }
        .unwrap();
    }

    fn leaves(&self, path: &str, out: &mut Vec<Leaf>) {
        match self {
            Self::Paragraph(spans) => leaf(&format!("{path}/p"), spans, None, out),
            // A heading in a list item is bold text.
            Self::Heading(_, spans) if path.contains("li") => {
                leaf(&format!("{path}/p"), spans, bold(spans), out);
            }
            Self::Heading(level, spans) => {
                leaf(&format!("{path}/h{level}"), spans, None, out);
            }
            // A list of one section is no list.
            Self::List(_, items) if !path.contains("li") && items.len() == 1 && is_section(&items[0]) => {
                items[0].iter().for_each(|block| block.leaves(path, out));
            }
            Self::List(start, items) => {
                for (at, item) in items.iter().enumerate() {
                    let name =
                        start.map_or_else(|| "li".to_owned(), |start| format!("li{}", start + at as u32));
                    item.iter().for_each(|block| block.leaves(&format!("{path}/{name}"), out));
                }
            }
            Self::Quote(inner) => inner.iter().for_each(|block| block.leaves(&format!("{path}/quote"), out)),
            Self::Code(code) => {
                let chars = code.trim().chars().filter(|c| !c.is_whitespace()).map(|c| (c, Vec::new()));
                out.push((format!("{path}/pre rust"), chars.collect()));
            }
            Self::Table(rows) => {
                rows.iter().flatten().for_each(|cell| leaf(&format!("{path}/cell"), cell, None, out));
            }
            Self::Rule => out.push((format!("{path}/hr"), Vec::new())),
        }
    }
}

/// Returns true for an item that begins with a heading, itself or in a list of its own.
fn is_section(item: &[Block]) -> bool {
    match item.first() {
        Some(Block::Heading(..)) => true,
        Some(Block::List(_, items)) => items.first().is_some_and(|item| is_section(item)),
        _ => false,
    }
}

/// Returns no mark for text that is only code and links, which are marked already.
fn bold(spans: &[Span]) -> Option<&'static str> {
    let alone = matches!(spans, [Span::Code(_) | Span::Link(_)]);
    (!alone).then_some("strong")
}

fn inline_of<'a>(node: &'a AstNode<'a>, marks: &[&'static str], out: &mut Vec<(char, Vec<&'static str>)>) {
    let with = |mark: &'static str| [marks, &[mark]].concat();
    let mut add = |text: &str, marks: Vec<&'static str>| {
        let mut marks = marks;
        if marks.contains(&"code") {
            marks.retain(|mark| matches!(*mark, "code" | "a"));
        }
        marks.sort_unstable();
        marks.dedup();
        out.extend(text.chars().filter(|c| !c.is_whitespace()).map(|c| (c, marks.clone())));
    };
    let inner = match &node.data.borrow().value {
        NodeValue::Text(text) => return add(text, marks.to_vec()),
        NodeValue::Code(code) => return add(&code.literal, with("code")),
        NodeValue::Math(math) => return add(&math.literal, with("math")),
        NodeValue::HtmlInline(html) => return add(html, with("html")),
        NodeValue::FootnoteReference(note) => return add(&note.name, with("note")),
        NodeValue::Strong => with("strong"),
        NodeValue::Emph => with("em"),
        NodeValue::Strikethrough => with("del"),
        NodeValue::Link(_) => with("a"),
        NodeValue::Image(_) => with("img"),
        _ => marks.to_vec(),
    };
    node.children().for_each(|child| inline_of(child, &inner, out));
}

fn leaves_of<'a>(node: &'a AstNode<'a>, path: &str, out: &mut Vec<Leaf>) {
    let value = &node.data.borrow().value;
    let mut leaf = |name: &str| {
        let mut chars = Vec::new();
        node.children().for_each(|child| inline_of(child, &[], &mut chars));
        out.push((format!("{path}/{name}"), chars));
    };
    let name = match value {
        NodeValue::Paragraph => return leaf("p"),
        NodeValue::Heading(heading) => return leaf(&format!("h{}", heading.level)),
        NodeValue::TableCell => return leaf("cell"),
        NodeValue::ThematicBreak => return out.push((format!("{path}/hr"), Vec::new())),
        NodeValue::HtmlBlock(html) => return out.push((format!("{path}/html {}", html.literal), Vec::new())),
        NodeValue::CodeBlock(code) => {
            let chars = code.literal.trim().chars().filter(|c| !c.is_whitespace()).map(|c| (c, Vec::new()));
            return out.push((format!("{path}/pre {}", code.info), chars.collect()));
        }
        NodeValue::BlockQuote => "/quote".to_owned(),
        NodeValue::List(list) => {
            for (at, item) in node.children().enumerate() {
                let name = match list.list_type {
                    ListType::Bullet => "li".to_owned(),
                    ListType::Ordered => format!("li{}", list.start + at),
                };
                item.children().for_each(|child| leaves_of(child, &format!("{path}/{name}"), out));
            }
            return;
        }
        _ => String::new(),
    };
    node.children().for_each(|child| leaves_of(child, &format!("{path}{name}"), out));
}

pub(super) fn rendered(markdown: &str) -> Vec<Leaf> {
    let mut options = comrak::Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.math_dollars = true;
    let arena = Arena::new();
    let root = comrak::parse_document(&arena, markdown, &options);
    let mut out = Vec::new();
    leaves_of(root, "", &mut out);
    out
}

fn words() -> impl Strategy<Value = String> {
    "[a-zé]{1,6}( [a-z0-9]{1,5}){0,2}"
}

/// Text full of marks, except for those of formulas, which two texts can form.
fn hostile() -> impl Strategy<Value = String> {
    "[ab1 *_`~\\[\\]()<>#+.!&;:|$\\\\=「」é-]{1,14}".prop_map(|text| {
        let text = text.replace("\\(", "\\a").replace("\\[", "\\b");
        if text.ends_with('\\') { text + "c" } else { text }
    })
}

/// The same without backslashes, since libraries differ before a `|` of code in a table. Also without `]`:
/// with a colon it turns a line with a leading link into a URL.
fn hostile_code() -> impl Strategy<Value = String> {
    hostile().prop_map(|text| text.replace('\\', "c").replace(']', "d"))
}

/// Spans between words, so that no mark touches an outer letter.
fn calm_spans(depth: u32) -> BoxedStrategy<Vec<Span>> {
    let leaf = prop_oneof![
        3 => words().prop_map(Span::Text),
        1 => "[a-z]{1,4}`{0,2}[a-z(*_]{1,3}".prop_map(Span::Code),
    ];
    let tree = leaf.prop_recursive(depth, 8, 3, |inner| {
        let inner = prop::collection::vec(inner, 1..3).prop_map(apart);
        prop_oneof![
            (prop::sample::select(vec!["strong", "em", "del"]), inner.clone())
                .prop_map(|(tag, spans)| Span::Mark(tag, spans)),
            inner.prop_map(|spans| Span::Link(without_links(spans))),
            Just(Span::Break),
        ]
    });
    prop::collection::vec(tree, 1..4).prop_map(apart).boxed()
}

/// Removes links within links, which HTML does not allow.
fn without_links(spans: Vec<Span>) -> Vec<Span> {
    spans
        .into_iter()
        .map(|span| match span {
            Span::Link(inner) | Span::Mark(_, inner) => Span::Mark("em", without_links(inner)),
            Span::Break => Span::Text("b".to_owned()),
            other => other,
        })
        .collect()
}

fn apart(spans: Vec<Span>) -> Vec<Span> {
    let mut out = vec![Span::Text("x ".to_owned())];
    for span in spans {
        out.push(span);
        out.push(Span::Text(" y ".to_owned()));
    }
    out
}

pub(super) fn hostile_spans() -> BoxedStrategy<Vec<Span>> {
    let leaf = prop_oneof![3 => hostile().prop_map(Span::Text), 1 => hostile_code().prop_map(Span::Code), 1 => Just(Span::Break)];
    let tree = leaf.prop_recursive(3, 10, 3, |inner| {
        let inner = prop::collection::vec(inner, 1..4);
        prop_oneof![
            (prop::sample::select(vec!["strong", "em", "del"]), inner.clone())
                .prop_map(|(tag, spans)| Span::Mark(tag, spans)),
            inner.prop_map(|spans| Span::Link(without_links(spans))),
        ]
    });
    prop::collection::vec(tree, 1..5).boxed()
}

pub(super) fn blocks(spans: fn() -> BoxedStrategy<Vec<Span>>) -> BoxedStrategy<Vec<Block>> {
    let table = (1usize..4, 1usize..4).prop_flat_map(move |(rows, columns)| {
        let row = prop::collection::vec(spans(), columns);
        prop::collection::vec(row, rows + 1).prop_map(Block::Table)
    });
    let leaf = prop_oneof![
        5 => spans().prop_map(Block::Paragraph),
        2 => (1u8..7, spans()).prop_map(|(level, spans)| Block::Heading(level, spans)),
        1 => "[a-z`~#>\n -]{0,20}x".prop_map(Block::Code),
        1 => table,
    ];
    let tree = leaf.prop_recursive(3, 12, 3, |inner| {
        let inner = prop::collection::vec(inner, 1..3);
        let items = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            (prop::option::of(0u32..20), items).prop_map(|(start, items)| Block::List(start, items)),
            inner.prop_map(Block::Quote),
        ]
    });
    let top = prop_oneof![8 => tree, 1 => Just(Block::Rule)];
    prop::collection::vec(top, 1..5).boxed()
}

/// Merges consecutive rules, and drops one before the text.
pub(super) fn tidy(blocks: Vec<Block>) -> Vec<Block> {
    let mut out: Vec<Block> = vec![Block::Paragraph(vec![Span::Text("first".to_owned())])];
    for block in blocks {
        if matches!((&block, out.last()), (Block::Rule, Some(Block::Rule))) {
            continue;
        }
        out.push(block);
    }
    out
}

pub(super) fn page_of(blocks: &[Block]) -> (String, Vec<Leaf>) {
    let (mut html, mut leaves) = (String::new(), Vec::new());
    for block in blocks {
        block.html(&mut html);
        block.leaves("", &mut leaves);
    }
    (html, leaves)
}

pub(super) fn calm() -> BoxedStrategy<Vec<Span>> {
    calm_spans(3)
}
