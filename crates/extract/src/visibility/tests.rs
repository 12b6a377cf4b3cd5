use crate::{Format, Input, Options, PageExtractor, rules::Rules};
use crawl_model::{Extraction, Warning};
use std::sync::LazyLock;

static EXTRACTOR: LazyLock<PageExtractor> =
    LazyLock::new(|| PageExtractor::new(Options::default().with_format(Format::Text)).unwrap());

fn text(head: &str, snippet: &str) -> String {
    extract(head, snippet).content
}

/// Extracts a page with visible text around a snippet that contains FINDME.
fn extract(head: &str, snippet: &str) -> Extraction {
    let prose = "<p>The harbour master keeps a ledger of tides, and every evening the clerk writes into it which boats came home, \
        what they carried, how the wind stood, and whether the lamp on the long pier had been lit in time for the last of them.</p>";
    let html = format!(
        "<!doctype html><html><head><title>A day</title>{head}</head><body><article><h1>A day in the harbour</h1>{}{snippet}{}</article></body></html>",
        prose.repeat(3),
        prose.repeat(3)
    );
    EXTRACTOR.extract(&Input::new(html.as_bytes()).with_content_type("text/html"))
}

const SENTENCE: &str = "FINDME a sentence of some length that stands in the middle of the article, for you.";

/// Ways to hide a text: style sheet, and snippet with `{}` for the sentence.
const HIDDEN: &[(&str, &str)] = &[
    ("", r"<p style='d\69splay:none'>{}</p>"),
    ("", "<p style='display:/**/none'>{}</p>"),
    ("", "<p style='font:0/0 a'>{}</p>"),
    ("", "<p style='position:absolute;right:calc(100vw * 10)'>{}</p>"),
    ("", "<p style='margin-left:-9999px'>{}</p>"),
    ("", "<p style='transform:translate(-200vw,0)'>{}</p>"),
    ("", "<p style='clip-path:polygon(0 0,0 0,0 0)'>{}</p>"),
    ("", "<p style='clip-path:circle(0)'>{}</p>"),
    ("", "<p style='filter:opacity(0)'>{}</p>"),
    ("", "<p style='transform:rotateY(90deg)'>{}</p>"),
    ("", "<p style='scale:0'>{}</p>"),
    ("", "<p style='letter-spacing:-1em'>{}</p>"),
    ("", "<p style='color:#fffefe'>{}</p>"),
    ("", "<p style='color:rgb(255 255 255 / 1%)'>{}</p>"),
    ("", "<p style='color:hsl(0,0%,99%)'>{}</p>"),
    ("", "<div bgcolor='#000' style='background:#000'><p style='color:#010101'>{}</p></div>"),
    ("", "<p style='-webkit-text-fill-color:transparent'>{}</p>"),
    ("", "<p style='visibility:collapse'>{}</p>"),
    ("", "<span style='display:inline-block;width:1px;height:1px;overflow:hidden'>{}</span>"),
    ("", "<p style='line-height:0;overflow:hidden'>{}</p>"),
    ("", "<p style='inset:-9999px auto auto -9999px;position:fixed'>{}</p>"),
    ("", "<p style='max-width:0;max-height:0;overflow:clip'>{}</p>"),
    ("<style>.a .b>.c{display:none}</style>", "<div class=a><div class=b><p class=c>{}</p></div></div>"),
    ("<style>p:nth-child(5){opacity:0}</style>", "<p>{}</p>"),
    ("<style>[data-x=y]{font-size:0!important}</style>", "<p data-x=y style='font-size:1em'>{}</p>"),
    ("<style>@layer a,b;@layer b{.q{display:none}}@layer a{.q{display:block}}</style>", "<p class=q>{}</p>"),
    ("", "<p style='display:none;display:foo'>{}</p>"),
    ("<style>.q:lang(fr){display:none}</style>", "<p class=q lang=fr-CA>{}</p>"),
    ("<style>p:is(:unknown,.q){display:none}</style>", "<p class=q>{}</p>"),
    ("<style>.q{visibility:hidden;visibility:shown !x}</style>", "<p class=q>{}</p>"),
    ("<style>.q{opacity:0;opacity:full}</style>", "<p class=q>{}</p>"),
    ("<style>[hidden]{display:none!important}</style>", "<p hidden style='display:block'>{}</p>"),
    ("<style>.w{& .q{display:none}}</style>", "<div class=w><p class=q>{}</p></div>"),
    ("<style>@layer a{@layer b{.q{display:block}}.q{display:none}}</style>", "<p class=q>{}</p>"),
    (
        "<style>@layer a,b;@layer a.c{.q{display:block}}@layer b{.q{display:none}}</style>",
        "<p class=q>{}</p>",
    ),
    (
        "<style>.w .q.y.x{display:none}.w{.q:not(.z){display:block}}</style>",
        "<div class=w><p class='q y x'>{}</p></div>",
    ),
    ("<style>@supports (display:grid){.q{visibility:hidden}}</style>", "<p class=q>{}</p>"),
    ("<style>@media (min-width:1024px){.q{display:none}}</style>", "<p class=q>{}</p>"),
    ("<style>@media (width>=600px) and (hover){.q{display:none}}</style>", "<p class=q>{}</p>"),
    (r"<style>.q\:x{text-indent:-100em;white-space:nowrap}</style>", "<p class='q:x'>{}</p>"),
    ("<style>p:has(em){display:none}</style>", "<p>{} <em>x</em></p>"),
    ("<style>h1~p+div:not(:first-child){position:absolute;top:-100vh}</style>", "<div>{}</div>"),
    ("<style>@scope (.s){p{display:none}}</style>", "<div class=s><p>{}</p></div>"),
    ("<style><!-- .q{display:none} --></style>", "<p class=q>{}</p>"),
    ("<style>.q{display:block}.q{display:none}</style>", "<p class=q>{}</p>"),
    ("<style>#i{display:none}.q{display:block}</style>", "<p class=q id=i>{}</p>"),
    ("<svg><style>.q{display:none}</style></svg>", "<p class=q>{}</p>"),
    ("<style>.q{mask-image:linear-gradient(#0000,#0000)}</style>", "<p class=q>{}</p>"),
    ("", "<div popover>{}</div>"),
    ("", "<p style='zoom:.01'>{}</p>"),
    ("", "<p style='-webkit-text-security:disc'>{}</p>"),
    ("", "<p style='text-indent:100%;white-space:nowrap;overflow:hidden'>{}</p>"),
    ("<style>.q{color:oklch(1 0 0)}</style>", "<p class=q>{}</p>"),
    ("<style>.q{color:hwb(0 100% 0%)}</style>", "<p class=q>{}</p>"),
    ("<style>.q{-webkit-text-fill-color:#fff}</style>", "<p class=q>{}</p>"),
    ("<style>:root{--how:none}.q{display:var(--how)}</style>", "<p class=q>{}</p>"),
    ("<style>.q{font-size:var(--none, 0)}</style>", "<p class=q>{}</p>"),
    ("<style>@container (min-width:1px){.q{display:none}}</style>", "<p class=q>{}</p>"),
    ("<style>.q{font-size:10%!important}</style>", "<p class=q>{}</p>"),
    ("<style>.q{visibility:hidden}</style>", "<p class=q>{}<img src=a.png alt=b></p>"),
];

#[test]
fn text_hidden_by_a_style_is_not_content() {
    let left: Vec<String> = HIDDEN
        .iter()
        .filter(|(head, snippet)| text(head, &snippet.replace("{}", SENTENCE)).contains("FINDME"))
        .map(|(head, snippet)| format!("{head}{snippet}"))
        .collect();
    assert!(left.is_empty(), "{left:#?}");
}

/// Text that a reader can see or open, in the same form.
const SEEN: &[(&str, &str)] = &[
    ("", "<div role=region style='visibility:hidden'><div><p>{}</p></div></div>"),
    ("<style>.q{text-indent:100%}</style>", "<p class=q>{}</p>"),
    ("<style>.a{color:red}}.q{display:none}</style>", "<p class=q>{}</p>"),
    ("", "<p hidden=Until-Found>{}</p>"),
    ("<style>html:not(:lang(fr)) .q{display:none}</style>", "<p class=q>{}</p>"),
    ("<style>:lang(en) .q{display:none}</style>", "<div lang=en><p class=q>{}</p></div>"),
    ("", "<map name=m><area href=/a alt=a><p>{}</p></map>"),
    ("", "<table background=x.gif><tr><td><font color=white>{}</font></td></tr></table>"),
    ("<style>@layer a{@layer b{.q{display:none}}.q{display:block}}</style>", "<p class=q>{}</p>"),
    ("<style>@supports (not (display:grid)){.q{display:none}}</style>", "<p class=q>{}</p>"),
    ("<style>.x&gt; p{display:none}</style>", "<p>{}</p>"),
    ("<style>.q{zoom:1;zoom:0}</style>", "<p class=q>{}</p>"),
    ("<style>:root{--how:none}.dark{--how:block}.q{display:var(--how)}</style>", "<p class=q>{}</p>"),
    ("<style>@container (min-width:600px){.q{display:none}}</style>", "<p class=q>{}</p>"),
    ("<style>.q{margin-left:-20px;left:-99px;position:relative}</style>", "<p class=q>{}</p>"),
    ("<style>.q{display:none}.q{display:block}</style>", "<p class=q>{}</p>"),
    ("<style>#i{display:block}.q{display:none}</style>", "<p class=q id=i>{}</p>"),
    ("<style>.q{display:none}</style>", "<p class=q style='display:block'>{}</p>"),
    ("<style>.q{display:block!important}</style>", "<p class=q style='display:none'>{}</p>"),
    ("<style>@layer a{.q{display:none}}.q{display:block}</style>", "<p class=q>{}</p>"),
    ("<style>@media print{.q{display:none}}</style>", "<p class=q>{}</p>"),
    ("<style media=print>.q{display:none}</style>", "<p class=q>{}</p>"),
    ("<style type='text/x-less'>.q{display:none}</style>", "<p class=q>{}</p>"),
    ("<style>@media (max-width:600px){.q{display:none}}</style>", "<p class=q>{}</p>"),
    ("<style>.o{visibility:hidden}.q{visibility:visible}</style>", "<div class=o><p class=q>{}</p></div>"),
    ("<style>.o{font-size:0}.q{font-size:16px}</style>", "<div class=o><p class=q>{}</p></div>"),
    ("<style>.q{background:#222;color:#fff}</style>", "<p class=q>{}</p>"),
    ("<style>.o{background:#222}.q{color:#fff}</style>", "<div class=o><p class=q>{}</p></div>"),
    ("<style>.o{background:url(x.png)}.q{color:#fff}</style>", "<div class=o><p class=q>{}</p></div>"),
    ("<link rel=stylesheet href=x.css>", "<div class=hero><p style='color:#fff'>{}</p></div>"),
    (
        "<style>.q{background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent}</style>",
        "<p class=q>{}</p>",
    ),
    ("<style>.q{height:0;overflow:visible}</style>", "<p class=q>{}</p>"),
    ("<style>.q{transform:translate(-50%,-50%);left:50%;position:relative}</style>", "<p class=q>{}</p>"),
    ("<style>.q{text-indent:-2em;padding-left:2em}</style>", "<p class=q>{}</p>"),
    ("<style>.pane:not(.active){display:none}</style>", "<div class=pane><p>{}</p></div>"),
    ("<style>.js .q{display:none}</style>", "<p class=q>{}</p>"),
    ("<style>.no-js .q{display:none}</style>", "<p class=q>{}</p>"),
    ("<style>.q{opacity:0}</style><noscript><style>.q{opacity:1}</style></noscript>", "<p class=q>{}</p>"),
    ("<style>.q{opacity:0}</style>", "<p class='q wow'>{}</p>"),
    ("<style>.q{opacity:0}</style>", "<p class=q data-aos=fade-up>{}</p>"),
    ("<style>[v-cloak]{display:none}</style>", "<div v-cloak><p>{}</p></div>"),
    ("<style>.q{display:none}.o:hover .q{display:block}</style>", "<div class=o><p class=q>{}</p></div>"),
    (
        "<style>.q{display:none}</style><script>x()</script>",
        "<button data-bs-target='#i'>More</button><div class=q id=i><p>{}</p></div>",
    ),
    ("<style>.q{display:none}</style>", "<a href='#i'>More</a><div class=q id=i><p>{}</p></div>"),
    (
        "<style>[aria-hidden=true]{display:none}.q[aria-expanded=false]+p{display:none}</style>",
        "<a class=q aria-expanded=false>More</a><p>{}</p>",
    ),
];

#[test]
fn visible_and_expandable_text_stays() {
    let lost: Vec<String> = SEEN
        .iter()
        .filter(|(head, snippet)| !text(head, &snippet.replace("{}", SENTENCE)).contains("FINDME"))
        .map(|(head, snippet)| format!("{head}{snippet}"))
        .collect();
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn style_sheets_hide_a_small_part_only() {
    let words = |count: usize| "tide ".repeat(count);
    for style in ["display:none", "font-size:0"] {
        let head = format!("<style>.q{{{style}}}</style>");
        let small = extract(&head, &format!("<p class=q>FINDME {}</p>", words(38)));
        assert!(!small.content.contains("FINDME"), "{style}");
        assert_eq!((small.metadata.hidden_text.words, small.metadata.hidden_text.kept), (39, 0), "{style}");
        let scripted = format!("{head}<script src=x.js></script>");
        let large = extract(&scripted, &format!("<p class=q>FINDME {}</p>", words(60)));
        assert!(large.content.contains("FINDME"), "{style}");
        assert_eq!((large.metadata.hidden_text.words, large.metadata.hidden_text.kept), (0, 61), "{style}");
        assert!(large.warnings.contains(&Warning::HiddenText), "{style}");
    }
    // a part that scripts show affects no other text
    let head = "<style>.a{display:none}.q{color:transparent}</style><script>x()</script>";
    let both = extract(head, &format!("<p class=a>{}</p><p class=q>{SENTENCE}</p>", words(60)));
    assert!(both.content.contains("tide") && !both.content.contains("FINDME"));
}

#[test]
fn large_hidden_text_stays_only_if_it_can_be_shown() {
    let hidden = format!("<p class=q>FINDME {}</p>", "tide ".repeat(400));
    for style in ["display:none", "visibility:hidden", "opacity:0", "font-size:0"] {
        let head = format!("<style>.q{{{style}}}</style>");
        let data = "<script type='application/ld+json'>{}</script><script type=importmap>{}</script>";
        for still in ["", data, "<a href='/javascript:x'>x</a>"] {
            let page = extract(&head, &format!("{hidden}{still}"));
            assert!(!page.content.contains("FINDME"), "{style}: {still}");
            assert_eq!((page.metadata.hidden_text.words, page.metadata.hidden_text.kept), (401, 0));
        }
        for moving in [
            "<script src=x.js></script>",
            "<script type=module>x()</script>",
            "<script type='abc-text/javascript'>x()</script>",
            "<b onclick='x()'>x</b>",
            "<a href=' JavaScript:x()'>x</a>",
            "<link rel=stylesheet href=x.css>",
            "<style>@import 'x.css';</style>",
        ] {
            let page = extract(&head, &format!("{hidden}{moving}"));
            assert!(page.content.contains("FINDME"), "{style}: {moving}");
        }
    }
    // the page shows these without a script
    for (head, snippet) in [
        (
            "<style>.q{display:none}.q:target{display:block}</style>",
            "<a href='#i'>More</a><div id=i class=q>{}</div>",
        ),
        (
            "<style>.q{display:none}:checked~.q{display:block}</style>",
            "<input type=checkbox><div class=q>{}</div>",
        ),
        (
            "<style>.q{display:none}.o:hover .q{display:block}</style>",
            "<div class=o>x<div class=q>{}</div></div>",
        ),
        ("<style>.z{display:none}</style>", "<details><summary>More</summary>{}</details>"),
    ] {
        let page = extract(head, &snippet.replace("{}", &hidden.replace("class=q", "class=r")));
        assert!(page.content.contains("FINDME"), "{head}");
    }
}

#[test]
fn a_nearly_empty_page_keeps_hidden_text_only_if_it_runs_scripts() {
    let page = |script: &str| {
        let hidden = "tide ".repeat(400);
        let html = format!(
            "<!doctype html>{script}<body><p>Soon.</p><div style='display:none'>FINDME {hidden}</div>"
        );
        let input = Input { bytes: html.as_bytes(), url: None, content_type: Some("text/html") };
        EXTRACTOR.extract(&input).content
    };
    assert!(page("<script src=x.js></script>").contains("FINDME"));
    assert!(!page("").contains("FINDME"));
}

#[test]
fn style_sheets_are_applied_only_if_rules_enable_them() {
    let html = "<!doctype html><style>.q{display:none}.r{display:block!important}</style><body><h1>A day</h1><p>The clerk writes into \
        the ledger which boats came home, and what they carried.<p class=q>FINDME in a sheet.<p style='display:none'>FINDME in an attribute.";
    let with = |style_sheets: bool| {
        let mut rules = Rules::embedded().unwrap();
        rules.extraction.visibility.style_sheets = style_sheets;
        let extractor = PageExtractor::from_rules(rules, Options::default().with_format(Format::Text));
        let page = Input::new(html.as_bytes()).with_content_type("text/html");
        extractor.extract(&page).content
    };
    assert!(with(false).contains("FINDME in a sheet"));
    assert!(!with(true).contains("FINDME in a sheet"));
    assert!(!with(false).contains("FINDME in an attribute"));
}

#[test]
fn huge_style_sheets_end_in_time() {
    let rules: String = (0..20_000).map(|n| format!(".a .b .c{n} > .d ~ .e{{display:none}}")).collect();
    for css in [
        rules,
        "a{".repeat(50_000),
        "@media screen{".repeat(50_000),
        "(".repeat(200_000),
        "/*".repeat(100_000),
        ":is(".repeat(60_000),
    ] {
        let started = cpu_time::ThreadTime::now();
        let found = text(&format!("<style>{css}</style>"), "<p class='e'>x</p>");
        assert!(found.contains("harbour"));
        assert!(
            started.elapsed() < std::time::Duration::from_secs(10),
            "{:?}: {}",
            started.elapsed(),
            &css[..20]
        );
    }
}
