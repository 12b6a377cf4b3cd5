//! Any text of a page stays text in its Markdown and metadata.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use comrak::{
    Arena,
    nodes::{AstNode, NodeValue},
    parse_document,
};
use crawl_extract::{Format, Input, LinkStyle, Options, PageExtractor};
use crawl_model::Extraction;
use std::sync::LazyLock;

const PROSE: &str = "<p>The ferry leaves the north quay at six in the morning and takes fifty minutes to the islands, where the \
    post is handed over to the keeper of the light before the boat goes on to the fishing grounds.</p>";
/// A tag with an event handler, as text of a page.
const TAG: &str = "&lt;img src=x onerror=alert(1)&gt;";

static EXTRACTOR: LazyLock<PageExtractor> =
    LazyLock::new(|| PageExtractor::new(Options::default().with_images(true)).unwrap());

fn extracted(bytes: &[u8], content_type: &str) -> Extraction {
    let url = url::Url::parse("https://harbour.example/a/b").unwrap();
    EXTRACTOR.extract(&Input::new(bytes).with_url(&url).with_content_type(content_type))
}

/// Markdown of a page with a fragment in its article, after the last pass.
fn markdown(fragment: &str) -> String {
    let html = format!("<title>x</title><article><h1>The ferry</h1>{PROSE}{fragment}{PROSE}</article>");
    let page = extracted(html.as_bytes(), "text/html; charset=utf-8");
    EXTRACTOR.last_pass(page.content, page.extractor)
}

/// Raw HTML, and URLs of links and images, in a CommonMark document with tables and footnotes.
fn live(markdown: &str) -> Vec<String> {
    fn walk<'a>(node: &'a AstNode<'a>, out: &mut Vec<String>) {
        match &node.data.borrow().value {
            NodeValue::HtmlInline(html) => out.push(html.clone()),
            NodeValue::HtmlBlock(block) => out.push(block.literal.clone()),
            NodeValue::Link(link) | NodeValue::Image(link) => out.push(link.url.clone()),
            _ => {}
        }
        node.children().for_each(|child| walk(child, out));
    }
    let mut options = comrak::Options::default();
    (options.extension.table, options.extension.footnotes) = (true, true);
    let arena = Arena::new();
    let mut out = Vec::new();
    walk(parse_document(&arena, markdown, &options), &mut out);
    out
}

#[test]
fn page_text_cannot_become_markdown() {
    for fragment in [
        format!(r"<p>Before \({TAG}\) behind.</p>"),
        r"<p>Before \([x](javascript:alert(1))\) behind.</p>".to_owned(),
        r"<p>Before</p><p>\[&lt;script&gt;alert(1)&lt;/script&gt;\]</p>".to_owned(),
        format!(r"<p>Before \(`\) and <code>{TAG}</code> b ` c.</p>"),
        "<script type='math/tex; mode=display'># a\n[click]: javascript:alert(1)\n</script><p>[click] here</p>"
            .to_owned(),
        format!("<p>x <math alttext='{TAG}'><mi>x</mi></math></p>"),
        format!("<p>x <math><mtext>{TAG}</mtext></math></p>"),
        format!("<p>x <math><mfenced open='{TAG}'><mi>y</mi></mfenced></math></p>"),
        format!("<blockquote><pre>a&#13;{TAG}&#13;b</pre></blockquote>"),
        format!("<ul><li><pre>a&#13;&#13;{TAG}&#13;b</pre></ul>"),
        "<table><caption># a</caption><tr><th>a<th>b<tr><td>c<td>d</table>".to_owned(),
        format!("<p>{TAG} &lt;script&gt; [x](javascript:alert(1)) `a {TAG}` ![x](http://evil.test/b.gif)</p>"),
    ] {
        let text = markdown(&fragment);
        assert_eq!(live(&text), [""; 0], "{fragment}\n{text}");
    }
    assert!(markdown("<table><caption># a</caption><tr><th>a<th>b<tr><td>c<td>d</table>").contains("\\# a"));
}

#[test]
fn last_pass_keeps_code_and_urls_whole() {
    let code = markdown(&format!("<p>Some ![ words <code>](http://x.test/pixel.gif) {TAG}</code> more.</p>"));
    assert_eq!(live(&code), [""; 0], "{code}");
    let angles = markdown(&format!(
        "<p><a href='https://a.test/?`'>https://a.test/?`</a> ![ w <code>](http://x.test/pixel.gif) {TAG}</code> m.</p>"
    ));
    assert!(live(&angles).iter().all(|part| part.starts_with("https://a.test/")), "{angles}");
    let address = "http://x.test/pixel.gif?(a)[x](javascript:alert(1))";
    let image = markdown(&format!("<p>Some words <img width=300 height=200 src='{address}'> and more.</p>"));
    assert_eq!(live(&image), [""; 0], "{image}");
    assert!(image.contains("Some words") && image.contains("and more."), "{image}");
}

#[test]
fn plain_text_cannot_become_markdown() {
    let text = "Words of a file.\n<img src=x onerror=alert(1)> [x](javascript:alert(1))\n\n<script>alert(1)</script>\n\n\
        [y]: javascript:alert(1)\n\n[y] and `code";
    let page = extracted(text.as_bytes(), "text/plain");
    assert_eq!(live(&page.content), [""; 0], "{}", page.content);
    let options = Options::default().with_format(Format::Text);
    let input = Input::new(text.as_bytes()).with_content_type("text/plain");
    assert_eq!(PageExtractor::new(options).unwrap().extract(&input).content, text);
}

#[test]
fn reference_url_cannot_become_several_links() {
    let extractor = PageExtractor::new(Options::default().with_links(LinkStyle::Reference)).unwrap();
    let address = "https://a.test/?)[x](javascript:alert(1))";
    let html = format!(
        "<article><h1>The ferry</h1>{PROSE}<p>Words <a href='{address}'>of a link</a></p>{PROSE}</article>"
    );
    let page = extractor.extract(&Input::new(html.as_bytes()));
    assert_eq!(live(&page.content), [address.replace("](", "%5D(")], "{}", page.content);
}

#[test]
fn url_written_as_text_holds_no_link_or_code() {
    for fragment in [
        r"<p>See <a href='/?[x](javascript:alert(1))'>the \(a]b\) report</a> there.</p>".to_owned(),
        format!("<p>See <a href='/?`'>the report</a> and <code>{TAG}</code> there.</p>"),
        format!("<p>See <img width=90 height=90 src='/?`'> and <code>{TAG}</code> there.</p>"),
        format!("<p>See <a href='#`'>the report</a> and <code>{TAG}</code> there.</p>"),
        format!("<p>Ask <a href='mailto:a@b`'>a@b`</a> and <code>{TAG}</code> there.</p>"),
    ] {
        let text = markdown(&fragment);
        let is_own =
            |part: &String| part.starts_with("https://harbour.example/?") || part.starts_with(['#', 'm']);
        assert!(live(&text).iter().all(is_own), "{fragment}\n{text}");
    }
}

#[test]
fn urls_of_other_schemes_are_never_links() {
    for links in [LinkStyle::Keep, LinkStyle::Once, LinkStyle::Reference] {
        let extractor = PageExtractor::new(Options::default().with_links(links).with_images(true)).unwrap();
        let hostile = [
            "javascript:alert(1)",
            " java\nscript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "\u{1}javascript:x",
        ]
        .map(|url| {
            format!(
                "<p>Words <a href=\"{url}\">of a link</a> <img width=90 height=90 alt=y src=\"{url}\"></p>"
            )
        });
        let html = format!("<article><h1>The ferry</h1>{PROSE}{}{PROSE}</article>", hostile.concat());
        let page = extractor.extract(&Input::new(html.as_bytes()));
        assert_eq!(live(&page.content), [""; 0], "{}", page.content);
        assert_eq!(page.content.matches("of a link").count(), 5, "{}", page.content);
    }
}

#[test]
fn records_hold_no_control_characters() {
    let controls = "a\u{1b}]0;x\u{7}b\u{9b}31mc\u{7f}d\u{202e}e&#27;f&#x9d;g&#8;";
    let json = r"a\u001b]0;x\u0007b\u009b31mc\u007fd\u202ee";
    let html = format!(
        "<html lang='{controls}'><head><title>{controls}</title><meta name=author content='{controls}'>\
         <meta name=description content='{controls}'><meta property=og:site_name content='{controls}'>\
         <meta name=keywords content='{controls}'><meta property=article:section content='{controls}'>\
         <meta property=og:type content='{controls}'><meta property=og:image content='/{controls}'>\
         <link rel=canonical href='/{controls}'><link rel=alternate type=application/rss+xml title='{controls}' href='/{controls}'>\
         <link rel=license href='/{controls}'><link rel=alternate hreflang='{controls}' href='/{controls}'>\
         <script type=application/ld+json>{{\"@type\":\"Article\",\"headline\":\"{json}\",\"author\":{{\"name\":\"{json}\",\
         \"url\":\"/{json}\"}},\"datePublished\":\"2020-01-01{json}\",\"license\":\"{json}\",\"inLanguage\":\"{json}\"}}</script></head>\
         <article><h1>{controls}</h1>{PROSE}<p>{controls} <a href='/{controls}' title='{controls}'>{controls}</a>\
         <a href='#{controls}'>{controls}</a> <a href='mailto:a@{controls}'>{controls}</a>\
         <img width=90 height=90 alt='{controls}' src='/{controls}.png'> \\({controls}\\)\
         <math alttext='{controls}'></math></p><pre class='language-{controls}'>{controls}</pre>\
         <table><tr><th>{controls}<th>b<tr><td>c<td>d</table>{PROSE}</article>"
    );
    for links in [LinkStyle::Keep, LinkStyle::Once, LinkStyle::Reference] {
        let options = Options::default().with_links(links).with_images(true).with_raw_metadata(true);
        let extractor = PageExtractor::new(options).unwrap();
        let url = url::Url::parse("https://harbour.example/a/b").unwrap();
        let page = extractor.extract(
            &Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html; charset=utf-8"),
        );
        let mut strings = Vec::new();
        strings_of(&serde_json::to_value(&page).unwrap(), "", &mut strings);
        assert!(strings.len() > 20, "{strings:?}");
        for (name, text) in &strings {
            let control =
                text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t') || *c == '\u{202e}');
            assert_eq!(control, None, "{name}: {text:?}");
        }
        assert!(page.content.contains("a]0;xb 31mcdef g"), "{}", page.content);
    }
}

fn strings_of(value: &serde_json::Value, name: &str, out: &mut Vec<(String, String)>) {
    match value {
        serde_json::Value::String(text) => out.push((name.to_owned(), text.clone())),
        serde_json::Value::Array(list) => list.iter().for_each(|value| strings_of(value, name, out)),
        serde_json::Value::Object(map) => {
            map.iter().for_each(|(key, value)| strings_of(value, &format!("{name}.{key}"), out));
        }
        _ => {}
    }
}
