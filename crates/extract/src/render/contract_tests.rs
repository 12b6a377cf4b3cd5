//! The Markdown contract (docs/markdown.md), held by a library for CommonMark: random trees are written as HTML, rendered
//! to Markdown, and read again. Text, blocks and marks have to be those of the tree.

use super::{Style, join, pieces};
use crate::{
    budget::Budget,
    content::Selection,
    dom::{self, Limits},
    options::{LinkStyle, Options},
    page::Page,
    rules::Rules,
};
use comrak::{
    Arena,
    nodes::{AstNode, ListType, NodeValue},
};
use proptest::prelude::*;
use std::{fmt::Write as _, sync::LazyLock};
use url::Url;

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::embedded().unwrap());

/// The Markdown of a fragment of HTML, all of it.
fn markdown_of(body: &str, links: LinkStyle, images: bool) -> String {
    let options = Options { links, images, ..Options::default() };
    let url = Url::parse("https://quay.test/dir/page").unwrap();
    let budget = Budget::unlimited();
    let parsed = dom::parse(&format!("<!doctype html><body>{body}</body>"), &Limits::default());
    let page = Page::new(parsed.dom, &RULES, Some(&url), &budget);
    let selection = Selection::new(&page, vec![page.body], vec![false; page.dom.len() as usize]);
    let (pieces, references) = pieces(&page, &selection, Style::of(&options));
    join(&pieces, &references)
}

#[derive(Clone, Debug)]
enum Span {
    Text(String),
    Code(String),
    Mark(&'static str, Vec<Self>),
    Link(Vec<Self>),
    Break,
}

#[derive(Clone, Debug)]
enum Block {
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

    /// Characters that are seen, with the marks on each.
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

/// A block as a path of the blocks around it, with its characters.
type Leaf = (String, Vec<(char, Vec<&'static str>)>);

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
            // A heading in an item of a list is bold text.
            Self::Heading(_, spans) if path.contains("li") => {
                leaf(&format!("{path}/p"), spans, bold(spans), out);
            }
            Self::Heading(level, spans) => {
                leaf(&format!("{path}/h{level}"), spans, None, out);
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

/// Code and links alone stand out by themselves.
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

fn rendered(markdown: &str) -> Vec<Leaf> {
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

/// Text that is full of marks, but for those of formulas, which two texts make as well.
fn hostile() -> impl Strategy<Value = String> {
    "[ab1 *_`~\\[\\]()<>#+.!&;:|$\\\\=「」é-]{1,14}".prop_map(|text| {
        let text = text.replace("\\(", "\\a").replace("\\[", "\\b");
        if text.ends_with('\\') { text + "c" } else { text }
    })
}

/// The same without backslashes (libraries differ on one in front of a `|` in code in a table), and without `]`, which with
/// a colon makes an address of a line that begins with a link.
fn hostile_code() -> impl Strategy<Value = String> {
    hostile().prop_map(|text| text.replace('\\', "c").replace(']', "d"))
}

/// Spans with a word in front of each and behind it, so that no mark touches a letter outside.
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

/// A link in a link is none in HTML.
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

fn hostile_spans() -> BoxedStrategy<Vec<Span>> {
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

fn blocks(spans: fn() -> BoxedStrategy<Vec<Span>>) -> BoxedStrategy<Vec<Block>> {
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

/// One rule stands for several, and none in front of the text.
fn tidy(blocks: Vec<Block>) -> Vec<Block> {
    let mut out: Vec<Block> = vec![Block::Paragraph(vec![Span::Text("first".to_owned())])];
    for block in blocks {
        if matches!((&block, out.last()), (Block::Rule, Some(Block::Rule))) {
            continue;
        }
        out.push(block);
    }
    out
}

fn page_of(blocks: &[Block]) -> (String, Vec<Leaf>) {
    let (mut html, mut leaves) = (String::new(), Vec::new());
    for block in blocks {
        block.html(&mut html);
        block.leaves("", &mut leaves);
    }
    (html, leaves)
}

fn calm() -> BoxedStrategy<Vec<Span>> {
    calm_spans(3)
}

/// Names of blocks, and characters without gaps. Two breaks part a paragraph, so paragraphs that follow each other are one.
fn text_of(leaves: &[Leaf]) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for (path, chars) in leaves.iter().filter(|(_, chars)| !chars.is_empty()) {
        let name = path.rsplit('/').next().unwrap_or_default().split(' ').next().unwrap_or_default();
        let text: String = chars.iter().map(|(c, _)| c).collect();
        match out.last_mut() {
            Some((last, before)) if last == name => before.push_str(&text),
            _ => out.push((name.to_owned(), text)),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_rendered_page_has_the_structure_and_the_marks_of_its_tree(blocks in blocks(calm).prop_map(tidy)) {
        let (html, want) = page_of(&blocks);
        let markdown = markdown_of(&html, LinkStyle::Keep, false);
        prop_assert_eq!(rendered(&markdown), want, "\n{}\n{}", html, markdown);
    }

    #[test]
    fn a_rendered_page_has_the_text_of_its_tree_whatever_marks_it_holds(blocks in blocks(hostile_spans).prop_map(tidy)) {
        let (html, want) = page_of(&blocks);
        let markdown = markdown_of(&html, LinkStyle::Keep, false);
        prop_assert_eq!(text_of(&rendered(&markdown)), text_of(&want), "\n{}\n{}", html, markdown);
    }
}

fn assert_markdown(html: &str, want: &str) {
    assert_eq!(markdown_of(html, LinkStyle::Keep, true), want, "{html}");
}

#[test]
fn blocks_have_the_forms_of_the_contract() {
    for (html, want) in [
        ("<ol><li>x<li value=5>y</ol>", "1. x\n5. y"),
        ("<ul><li>a</ul><ul><li>b</ul><ol><li>c</ol><ol><li>d</ol>", "- a\n\n* b\n\n1. c\n\n1) d"),
        ("Intro:<br><ul><li>one</ul>", "Intro:\n\n- one"),
        (
            "<ul><li><input type=checkbox checked> done<li><input type=checkbox> open</ul>",
            "- [x] done\n- [ ] open",
        ),
        ("<ul><li><h3>Head</h3><p>Body.</ul>", "- **Head**\n\n  Body."),
        ("<dl><dt>A<dd>first<dt><code>b</code><dd>second</dl>", "**A**\n\nfirst\n\n`b`\n\nsecond"),
        ("a<hr><hr>b<ul><li>c<li><hr></ul>d", "a\n\n---\n\nb\n\n- c\n- ***\n\nd"),
        ("First verse<br>of it<br><br>Second verse", "First verse  \nof it\n\nSecond verse"),
        ("<p>- one<br>- two<p>---<p>1986. A<p># b", "\\- one  \n\\- two\n\n\\---\n\n1986\\. A\n\n\\# b"),
        (
            "<table><tr><th>Day<th>Talk<tr><td rowspan=2>Mon<td>x | y<tr><td><p>a<p>b</table>",
            "| Day | Talk |\n| --- | --- |\n| Mon | x \\| y |\n| | a b |",
        ),
        ("<table><thead><tr><th>foo<th>bar</table>", "| foo | bar |\n| --- | --- |"),
        ("<pre class='brush: python; toolbar: false'>x = 1\n</pre>", "```python\nx = 1\n```"),
        ("<pre><code class='hljs rust'>```\n</code></pre>", "````rust\n```\n````"),
        ("<table><tr><td><pre>1\n2</pre><td><pre>a;\nb;</pre></table>", "```\na;\nb;\n```"),
    ] {
        assert_markdown(html, want);
    }
}

#[test]
fn parts_of_a_line_have_the_forms_of_the_contract() {
    for (html, want) in [
        (
            "10<sup>-3</sup> m<sup>2</sup>, the 1<sup>st</sup>, H<sub>2</sub>O",
            "10<sup>-3</sup> m<sup>2</sup>, the 1st, H<sub>2</sub>O",
        ),
        ("前面<b>「引用」</b>后", "前面「**引用**」后"),
        ("<b>Cable:</b>1.2", "**Cable**:1.2"),
        ("foo<em><strong>bar</strong></em>baz", "foo***bar***baz"),
        ("bar<b><i>bazinga</i></b>bar <b><i>a</i></b>", "bar***bazinga***bar **_a_**"),
        ("<em>foo <em>bar</em> baz</em>", "*foo _bar_ baz*"),
        ("<h2><b>all</b></h2><h2>a <b>part</b></h2>", "## all\n\n## a **part**"),
        ("<code>a</code><code>b`c</code>", "``ab`c``"),
        ("<code>Vec&lt;<a href=/t>T</a>></code>", "`Vec<`[`T`](https://quay.test/t)`>`"),
        ("<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を", "漢字(かんじ)を"),
        ("soft&shy;hyphen zero&#8203;width wb<wbr>r", "softhyphen zerowidth wbr"),
        ("Wow!<a href=/u>foo</a>", "Wow\\![foo](https://quay.test/u)"),
        ("<a href='/f):'>this</a>", "[this](<https://quay.test/f):>)"),
        ("<a href='mailto:a@quay.test?subject=x'>us</a>", "[us](mailto:a@quay.test)"),
        ("<a href='/x?utm_source=y&amp;z=1'>us</a>", "[us](https://quay.test/x?z=1)"),
        ("<a href='https://quay.test/x'>https://quay.test/x</a>", "<https://quay.test/x>"),
        ("<a href=/u><h3>Head</h3><p>Body</p></a>", "### [Head](https://quay.test/u)\n\nBody"),
        (
            "<h2><span><a href=/a>Steve</a><em>Wreck</em></span></h2>",
            "## [Steve](https://quay.test/a) *Wreck*",
        ),
    ] {
        assert_markdown(html, want);
    }
}

#[test]
fn footnotes_formulas_and_media_have_the_forms_of_the_contract() {
    for (html, want) in [
        (
            "<p>Text<sup><a href=#fn-1 id=fnref-1>1</a></sup> more.<section><ol><li id=fn-1><p>Note. <a href=#fnref-1>↩</a></ol></section>",
            "Text[^1] more.\n\n[^1]: Note.",
        ),
        (
            "<p>Claim.<sup id=cite_ref-1><a href=#cite_note-1>[1]</a></sup><ol><li id=cite_note-1><b><a href=#cite_ref-1>^</a></b> <span>Smith.</span></ol>",
            "Claim.[^1]\n\n[^1]: Smith.",
        ),
        (
            "<p>One.<sup>1</sup><p>Two.<sup>2</sup><hr><p><sup>1</sup> a<p><sup>2</sup> b",
            "One.[^1]\n\nTwo.[^2]\n\n---\n\n[^1]: a\n\n[^2]: b",
        ),
        ("<p>Page <a href=#two>2</a><h2 id=two>2 Second</h2>", "Page [2](#two)\n\n## 2 Second"),
        (
            "<p>Then <math><mi>E</mi><mo>=</mo><msup><mi>x</mi><mn>2</mn></msup></math> holds.",
            "Then $E=x^{2}$ holds.",
        ),
        (
            "<p>So <span class=katex><math><semantics><mi>x</mi><annotation encoding=application/x-tex>\\alpha</annotation></semantics></math><span aria-hidden=true>α</span></span>.",
            "So $\\alpha$.",
        ),
        ("<p>a</p><script type='math/tex; mode=display'>c = d</script><p>b", "a\n\n$$\nc = d\n$$\n\nb"),
        ("We write \\(a_1 + b\\), $5 or $6.", "We write $a_1 + b$, \\$5 or \\$6."),
        ("Good <img class=emoji src=/e.png alt=😀> day", "Good 😀 day"),
        ("<img src=/s.png srcset='/s.png 100w, /l.png 900w' alt='a]b'>", "![a\\]b](https://quay.test/l.png)"),
        (
            "<img src='data:image/gif;base64,R0' data-src=/lazy.jpg><noscript><img src=/lazy.jpg></noscript>",
            "![](https://quay.test/lazy.jpg)",
        ),
        (
            "Watch:<iframe src=https://www.youtube.com/embed/abc?x=1 title='A talk'></iframe>",
            "Watch:\n\n![A talk](https://www.youtube.com/watch?v=abc)",
        ),
    ] {
        assert_markdown(html, want);
    }
}

#[test]
fn an_address_is_spelled_once() {
    let html = "<p><a href=/a>one</a> <a href=/a#x>two</a> <a href=#y>three</a> <a href=/dir/page>four</a> <a href=/cart rel=nofollow>five</a>";
    assert_eq!(markdown_of(html, LinkStyle::Once, false), "[one](https://quay.test/a) two three four five");
    assert_eq!(
        markdown_of(html, LinkStyle::Keep, false),
        "[one](https://quay.test/a) [two](https://quay.test/a#x) [three](#y) [four](https://quay.test/dir/page) [five](https://quay.test/cart)"
    );
    assert_eq!(markdown_of(html, LinkStyle::Strip, false), "one two three four five");
}
