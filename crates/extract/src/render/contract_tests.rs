//! Tests of the Markdown contract (docs/markdown.md) by a CommonMark library: random trees are written as
//! HTML, rendered to Markdown, and parsed again. Text, blocks and marks must be those of the tree.

mod lines;
mod tree;

use super::{Style, join, pieces};
use crate::{
    budget::Budget,
    dom::{self, Limits},
    options::{LinkStyle, Options},
    page::Page,
    rules::Rules,
    selection::Selection,
};
use proptest::{prelude::*, test_runner::RngSeed};
use std::sync::LazyLock;
use tree::{Block, Leaf, Span, blocks, calm, hostile_spans, page_of, rendered, tidy};
use url::Url;

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::embedded().unwrap());

/// Markdown of a whole HTML fragment.
fn markdown_of(body: &str, links: LinkStyle, images: bool) -> String {
    let options = Options::default().with_links(links).with_images(images);
    let url = Url::parse("https://quay.test/dir/page").unwrap();
    let budget = Budget::unlimited();
    let parsed = dom::parse(&format!("<!doctype html><body>{body}</body>"), &Limits::default());
    let page = Page::new(parsed.dom, &RULES, Some(&url), &budget);
    let selection = Selection::new(&page, vec![page.body], vec![false; page.dom.len() as usize]);
    let (pieces, references) = pieces(&page, &selection, Style::of(&options));
    join(&pieces, &references)
}

/// Names of blocks, and characters without whitespace. Two breaks split a paragraph, so consecutive
/// paragraphs count as one.
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

/// Fixed seed, so that a fault of one tree in 30,000 fails no unrelated change; `PROPTEST_RNG_SEED` selects
/// others.
fn config() -> ProptestConfig {
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    let seed = if config.rng_seed == RngSeed::Random { RngSeed::Fixed(15) } else { config.rng_seed };
    ProptestConfig { rng_seed: seed, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn rendered_markdown_has_the_structure_of_the_tree(blocks in blocks(calm).prop_map(tidy)) {
        let (html, want) = page_of(&blocks);
        let markdown = markdown_of(&html, LinkStyle::Keep, false);
        prop_assert_eq!(rendered(&markdown), want, "\n{}\n{}", html, markdown);
    }

    #[test]
    fn rendered_markdown_has_the_text_of_the_tree(blocks in blocks(hostile_spans).prop_map(tidy)) {
        let (html, want) = page_of(&blocks);
        let markdown = markdown_of(&html, LinkStyle::Keep, false);
        prop_assert_eq!(text_of(&rendered(&markdown)), text_of(&want), "\n{}\n{}", html, markdown);
    }
}

fn assert_markdown(html: &str, want: &str) {
    assert_eq!(markdown_of(html, LinkStyle::Keep, true), want, "{html}");
}

#[test]
fn row_spans_end_with_their_group_and_empty_readings_have_no_brackets() {
    for (html, want) in [
        (
            "<table><tr><th>a<th rowspan=0>b<th>c<tr><td>1<td>2<tbody><tr><td>3<td>4<td>5</table>",
            "| a | b | c |\n| --- | --- | --- |\n| 1 | | 2 |\n| 3 | 4 | 5 |",
        ),
        (
            "<table><tr><th>a<th>b<tbody><tr><td rowspan=9>1<td>2<tbody><tr><td>3<td>4</table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |",
        ),
        ("<ruby>お<rt></rt>茶<rt>ちゃ</rt></ruby>を", "お茶(ちゃ)を"),
        ("<ruby><rt>ちゃ</rt>茶</ruby>を", "ちゃ茶を"),
    ] {
        assert_markdown(html, want);
    }
}

#[test]
fn blocks_render_as_the_contract_states() {
    for (html, want) in [
        ("<ol><li>x<li value=5>y</ol>", "1. x\n5. y"),
        ("<ul><li>a</ul><ul><li>b</ul><ol><li>c</ol><ol><li>d</ol>", "- a\n\n* b\n\n1. c\n\n1) d"),
        ("Intro:<br><ul><li>one</ul>", "Intro:\n\n- one"),
        ("<p>first<ol start=2><li><ul><li><p><br></p><li>x</ul></ol>", "first\n\n2. - x"),
        (
            "<ul><li><input type=checkbox checked> done<li><input type=checkbox> open</ul>",
            "- [x] done\n- [ ] open",
        ),
        ("<ul><li><h3>Head</h3><p>Body.<li>Foot</ul>", "- **Head**\n\n  Body.\n- Foot"),
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
        (
            "<div class='admonition note'><p>Note<p>Mind the <b>gap</b>.</div><p>x",
            "> [!note]\n> Note\n>\n> Mind the **gap**.\n\nx",
        ),
        (
            "<div class='alert alert-info'><ol start=3><li>a</ol></div><div class='alert wide'>b</div>",
            "> [!info]\n>\n> 3. a\n\nb",
        ),
        (
            "<div class='callout tip'><div class='markdown-alert markdown-alert-warning'><p>a</div></div>",
            "> [!tip]\n> > [!warning]\n> > a",
        ),
        (
            "<p>So:</p><code class='hl lean block'>\n  def <b>a</b> :=\n    1\n</code><div class=code-block data-lang=http>GET /x\n\n> y</div>",
            "So:\n\n```lean\ndef a :=\n  1\n```\n\n```http\nGET /x\n\n> y\n```",
        ),
        (
            "<code style='white-space: pre'>\na\n  b</code><div role=code>a<br>b</div>",
            "```\na\n  b\n```\n\n```\na\nb\n```",
        ),
        (
            "<p>In <code style='white-space: pre-wrap'>a b\n</code></p><div class=code-block data-lang=http>One line</div>",
            "In `a b`\n\nOne line",
        ),
        (
            "<div><code class=block>a</code> <code class=block>b</code><p>In <code class=block>c</code> it</p></div>",
            "```\na\n```\n\n```\nb\n```\n\nIn `c` it",
        ),
        ("<h2 id=a><a href=#a>Head</a></h2><h2>In <a href=#a>it</a></h2>", "## Head\n\n## In [it](#a)"),
        (
            "<ul><li><b>bread</b><span>1 litre</span><li><b>milk</b><span>2 cups</span></ul>",
            "- **bread** 1 litre\n- **milk** 2 cups",
        ),
        ("<p><b>H</b><span>2</span>O <b>A</b><span>4</span>", "**H**2O **A**4"),
        ("<pre><code class='hljs rust'>```\n</code></pre>", "````rust\n```\n````"),
        ("<table><tr><td><pre>1\n2</pre><td><pre>a;\nb;</pre></table>", "```\na;\nb;\n```"),
    ] {
        assert_markdown(html, want);
    }
}

#[test]
fn inline_elements_render_as_the_contract_states() {
    for (html, want) in [
        (
            "10<sup>-3</sup> m<sup>2</sup>, the 1<sup>st</sup>, H<sub>2</sub>O",
            "10<sup>-3</sup> m<sup>2</sup>, the 1st, H<sub>2</sub>O",
        ),
        ("前面<b>「引用」</b>后", "前面「**引用**」后"),
        ("<b>Cable:</b>1.2", "**Cable**:1.2"),
        ("foo<em><strong>bar</strong></em>baz", "foo***bar***baz"),
        ("bar<b><i>bazinga</i></b>bar <b><i>a</i></b>", "bar***bazinga***bar ***a***"),
        ("<em>foo <em>bar</em> baz</em>", "*foo _bar_ baz*"),
        (
            "<i><b>all</b></i>, <i><b>part</b> of</i>, <b><i>a</i> b</b>",
            "***all***, _**part** of_, **_a_ b**",
        ),
        (
            "<span style='font-weight:bold'>a</span> <span style='font-weight:600;font-style:italic'>b</span> <b style='font-weight:normal'>c</b>",
            "**a** ***b*** c",
        ),
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
fn footnotes_formulas_and_media_render_as_the_contract_states() {
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
        (
            "<p id=p>One<sup id=cite_ref-x-0><a href=#cite_note-x>[1]</a></sup> two<sup id=cite_ref-x-1><a href=#cite_note-x>[1]</a></sup>.<ol><li id=cite_note-x><span>^ <a href=#cite_ref-x-0><sup>a</sup></a> <a href=#cite_ref-x-1><sup>b</sup></a></span> Smith.</ol>",
            "One[^1] two[^1].\n\n[^1]: Smith.",
        ),
        (
            "<p>One.<sup>1</sup><p>Two.<sup>2</sup><hr><p><b>1</b> First:<p>more<p><b>2</b> Second",
            "One.[^1]\n\nTwo.[^2]\n\n---\n\n[^1]: First:\n\nmore\n\n[^2]: Second",
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
fn each_url_is_written_once() {
    let html = "<p><a href=/a>one</a> <a href=/a#x>two</a> <a href=#y>three</a> <a href=/dir/page>four</a> <a href=/cart rel=nofollow>five</a>";
    assert_eq!(markdown_of(html, LinkStyle::Once, false), "[one](https://quay.test/a) two three four five");
    assert_eq!(
        markdown_of(html, LinkStyle::Keep, false),
        "[one](https://quay.test/a) [two](https://quay.test/a#x) [three](#y) [four](https://quay.test/dir/page) [five](https://quay.test/cart)"
    );
    assert_eq!(markdown_of(html, LinkStyle::Strip, false), "one two three four five");
}

#[test]
fn url_that_repeats_its_link_text_is_not_written() {
    for (html, once) in [
        ("<a href=/wiki/Red_list>Red list</a>", "Red list"),
        ("<a href=/api/struct.Vec.html><code>Vec</code></a>", "`Vec`"),
        (
            "<a href=/tags/a1/>iron</a> <a href=/tags/b2>wood</a> <a rel=author href=/p/9>Jane</a>",
            "iron wood Jane",
        ),
        (
            "<a href=/elements/label/for>the attribute</a>",
            "[the attribute](https://quay.test/elements/label/for)",
        ),
        ("<a href=/red-list>the list</a>", "[the list](https://quay.test/red-list)"),
        ("<a href=https://pier.test/Red_list>Red list</a>", "[Red list](https://pier.test/Red_list)"),
        ("<a href=/x?name=Red+list>Red list</a>", "[Red list](https://quay.test/x?name=Red+list)"),
        ("<a href=/%E7%94%B3%20x>list</a>", "[list](https://quay.test/申%20x)"),
    ] {
        assert_eq!(markdown_of(html, LinkStyle::Once, false), once);
        let keep = markdown_of(html, LinkStyle::Keep, false);
        assert!(keep.contains("](https://"), "{keep}");
        assert!(!keep.contains('申'), "{keep}");
    }
}

#[test]
fn italics_beside_bold_text_keep_its_characters() {
    let text = |text: &str| Span::Text(text.to_owned());
    let em = |inner: Span| Span::Mark("em", vec![inner]);
    let strong = |inner: Span| Span::Mark("strong", vec![inner]);
    let link = Span::Link(vec![text("x")]);
    for cell in [
        vec![em(text("1")), strong(em(text("1"))), strong(text("_"))],
        vec![em(link), strong(text("y"))],
        vec![strong(text("a")), em(strong(text("b")))],
        vec![em(strong(text("a"))), text("b"), strong(em(text("*")))],
    ] {
        let rows = vec![vec![vec![text("a")], vec![text("b")]], vec![cell.clone(), vec![text("c")]]];
        for block in [Block::Table(rows), Block::Paragraph(cell)] {
            let (html, want) = page_of(&[block]);
            let markdown = markdown_of(&html, LinkStyle::Keep, false);
            assert_eq!(text_of(&rendered(&markdown)), text_of(&want), "{html}\n{markdown}");
        }
    }
}

#[test]
fn lists_of_sections_render_as_sections() {
    let markdown = |body: &str| markdown_of(body, LinkStyle::Strip, false);
    let method = "<ul><li><h4>sail</h4><pre>void sail()</pre><p>Leaves the harbour.</p></li></ul>";
    let one = markdown(&format!("<ul><li><a id=methods></a>\n<h3>Methods</h3>{method}{method}</li></ul>"));
    let section = "#### sail\n\n```\nvoid sail()\n```\n\nLeaves the harbour.";
    assert_eq!(one, format!("### Methods\n\n{section}\n\n{section}"));
    // Several items are sections if the page says so.
    let sections = "<ul><li><section><h2>Boats</h2><ul><li>Ann</li></ul></section></li>\
        <li><section><h2>Crews</h2><p>Two.</p></section></li></ul>";
    assert_eq!(markdown(sections), "## Boats\n\n- Ann\n\n## Crews\n\nTwo.");
    // Other lists stay: of headlines, of a text before a heading, and within an item.
    let headlines = markdown("<ul><li><h2>Boats</h2></li><li><h2>Crews</h2></li></ul>");
    assert_eq!(headlines, "- **Boats**\n- **Crews**");
    assert!(markdown("<ul><li>All <h2>Boats</h2></li></ul>").starts_with("- All"));
    assert!(markdown("<ul><li>All<ul><li><h2>Boats</h2></li></ul></li></ul>").contains("  - **Boats**"));
}

#[test]
fn geshi_box_gives_the_code_language() {
    let box_of =
        "<div class=mw-geshi><div class='cpp source-cpp'><pre class=de1>int sail();</pre></div></div>";
    assert_eq!(markdown_of(box_of, LinkStyle::Strip, false), "```cpp\nint sail();\n```");
}
