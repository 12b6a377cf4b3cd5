//! Manuals by the containers of the programs that write them (`platforms.toml`).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};

fn extracted(html: &str) -> (String, String) {
    let url = url::Url::parse("https://moor.example/ferry/usage.html").unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let page = extractor.extract(&Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html"));
    (page.content, page.reason)
}

const PROSE: &str =
    "<p>The ferry leaves at noon from the old harbour, and it comes back in the evening with the mail.</p>";
#[test]
fn haddock_synopsis_is_not_repeated() {
    let page = format!(
        "<body><div id=package-header><span class=caption>ferry-1.2: Boats of the harbour</span></div><div id=content>\
        <div id=module-header><p class=caption>Harbour.Ferry</p></div><div id=synopsis><ul><li>noon :: Ferry</li></ul></div>\
        <div id=interface><h1>Boats</h1><div class=top><p class=src>noon :: Ferry <a class=link href='src/x.html'>Source</a></p>\
        {PROSE}</div></div></div>"
    );
    let (text, reason) = extracted(&page);
    assert_eq!(text.matches("noon :: Ferry").count(), 1, "{text}");
    assert!(text.contains("Harbour.Ferry") && !text.contains("Source"), "{text}");
    assert!(reason.starts_with("documentation by Haddock"), "{reason}");
}

#[test]
fn static_folder_alone_is_no_sign_of_sphinx() {
    let page = |script: &str| {
        format!(
            "<head><script src='https://shelf.example/_static/js/{script}'></script></head><body><article role=main>\
            <h1>Ferries</h1>{PROSE}{PROSE}</article></body>"
        )
    };
    let sphinx = page("x.js").replace("_static/js/x.js", "_static/doctools.js");
    assert!(extracted(&sphinx).1.starts_with("documentation by Sphinx"));
    // Scripts of web archives are in such a folder.
    assert!(!extracted(&page("playback.js")).1.contains("Sphinx"));
}

#[test]
fn javadoc_is_recognised_by_its_link_bar() {
    for bar in ["navList", "nav-list"] {
        let page = format!(
            "<body><ul class={bar} title=Navigation><li>Overview</li></ul><main role=main><h2 class=title>Class Ferry</h2>\
        <ul><li><h3>Nested classes inherited from Boat</h3><code>Boat.Deck, Boat.Keel</code></li></ul>{PROSE}{PROSE}</main>"
        );
        let (text, reason) = extracted(&page);
        assert!(text.contains("Class Ferry") && text.contains("Boat.Keel"), "{text}");
        assert!(reason.starts_with("documentation by javadoc"), "{reason}");
    }
}

#[test]
fn frame_of_a_wiki_page_is_left_out() {
    let contents = "<div id=dw__toc><h3>Table of Contents</h3><ul class=toc><li><a href='#a'>When it leaves</a></ul></div>";
    let page = format!(
        "<meta name=generator content=DokuWiki><header><h1>Harbour</h1></header><main id=dokuwiki__content><div class=pageId>ferry</div>\
        <div class=page>{contents}<h1>Ferry</h1><h2 id=a>When does it leave?</h2>{PROSE}</div>\
        <div class=docInfo>ferry.txt · Last modified: 2026/11/28 by ada</div></main>"
    );
    let (text, reason) = extracted(&page);
    assert!(reason.starts_with("documentation by DokuWiki"), "{reason}");
    assert!(text.contains("When does it leave?") && text.contains("old harbour"), "{text}");
    assert!(!text.contains("Table of Contents") && !text.contains("ferry.txt"), "{text}");
}

#[test]
fn comments_of_a_wiki_page_are_written_if_they_are_wanted() {
    let page = format!(
        "<meta name=generator content=DokuWiki><main id=dokuwiki__content><div class=page><h1>Ferry</h1>{PROSE}\
        <div class=comment_wrapper><h2>Discussion</h2><div class=hentry><p>The ferry leaves late on Sundays.</p></div></div>\
        </div></main>"
    );
    for wanted in [false, true] {
        let extractor = PageExtractor::new(Options::default().with_comments(wanted)).unwrap();
        let text = extractor.extract(&Input::new(page.as_bytes())).content;
        assert!(text.contains("old harbour"), "{text}");
        assert_eq!(text.contains("leaves late"), wanted, "{text}");
    }
}
