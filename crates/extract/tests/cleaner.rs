//! Removed and kept parts of a page (heuristics reference §4 and §5, html-cleaner-impact).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::{Extraction, Extractor};

fn extract(html: &str) -> Extraction {
    let url = url::Url::parse("https://harbour.example/x/y").unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor.extract(&Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html"))
}

const PROSE: &str = "<p>The ferry leaves at seven and at nine, and on Sundays not before ten; bring coins, since the machine \
    takes no cards, and be there early, because the deck holds no more than forty people and their bicycles.</p>";

/// A page that calls itself an article.
fn article(inside: &str) -> String {
    format!(
        "<meta property='og:type' content='article'><body><article><h1>The ferry</h1>{}{inside}{PROSE}</article>",
        PROSE.repeat(3)
    )
}

#[test]
fn boilerplate_is_recognised_by_compound_names() {
    for name in [
        "mainfooter",
        "socialmedia",
        "cookienotice",
        "modalwindow",
        "topnavigation",
        "footerlinks",
        "adsbox",
        "loginmodal",
        "navbarcollapse",
    ] {
        for attribute in ["id", "class"] {
            let page = format!(
                "<body><h1>The ferry</h1>{}<div {attribute}={name}><p>Words of the frame.</p></div>",
                PROSE.repeat(4)
            );
            let content = extract(&page).content;
            assert!(
                content.contains("bicycles") && !content.contains("frame"),
                "{attribute} {name}: {content}"
            );
        }
    }
}

#[test]
fn names_that_merely_contain_a_boilerplate_word_are_ignored() {
    for name in ["xsidebary", "nodesponsor", "no-sidebar", "has-sidebar", "shareholder", "footnote"] {
        let page = format!(
            "<body><h1>The ferry</h1>{}<div class={name}><p>Words of the page.</p></div>",
            PROSE.repeat(4)
        );
        let content = extract(&page).content;
        assert!(content.contains("Words of the page."), "{name}: {content}");
    }
}

#[test]
fn compound_name_does_not_remove_the_content() {
    for name in ["mainfooter", "adsbox", "sidebarcontent"] {
        let page = format!("<body><h1>The ferry</h1><div id={name}>{}</div>", PROSE.repeat(4));
        assert!(extract(&page).content.contains("bicycles"), "{name}");
        let many: String = (0..9)
            .map(|n| format!("<div class={name}>{}</div>", PROSE.replace("forty", &n.to_string())))
            .collect();
        assert!(
            extract(&format!("<body><h1>The ferry</h1>{many}")).content.contains("no more than 7 people"),
            "{name}"
        );
    }
}

#[test]
fn anchor_with_most_prose_excludes_other_text() {
    let aside = "<div><p>Sign the petition of the harbour's friends for a longer summer season, with one more boat in the evening.</p></div>";
    for (open, close) in [
        ("<main>", "</main>"),
        ("<div role=main>", "</div>"),
        ("<article>", "</article>"),
        ("<section class=page-content>", "</section>"),
        ("<div id=mainpart>", "</div>"),
    ] {
        // So deep that no container scores for all of them: then blocks are taken from the whole body.
        let deep = |n: u32| {
            let text = PROSE.replace("forty", &n.to_string());
            format!("{}{text}{}", "<div>".repeat(6), "</div>".repeat(6))
        };
        let parts: String = (0..6).map(deep).collect();
        let content = extract(&format!("<body><h1>The ferry</h1>{aside}{open}{parts}{close}{aside}")).content;
        assert!(content.contains("more than 5 people") && !content.contains("petition"), "{open}: {content}");
        // One with little of the prose excludes no text.
        let page = format!("<body><h1>The ferry</h1>{open}{aside}{close}{}", PROSE.repeat(6));
        assert!(extract(&page).content.contains("bicycles"), "{open}");
    }
}

#[test]
fn the_lead_between_heading_and_anchor_stays() {
    let lead = PROSE.replace("forty", "fifty");
    let page = format!("<body><h1>The ferry</h1>{lead}<article>{}</article>", PROSE.repeat(6));
    assert!(extract(&page).content.contains("fifty"));
}

#[test]
fn element_share_ignores_removed_text() {
    // 21 of 29 words beside the menu, and of 109 with it.
    let menu = "<nav><ul><li>One more place of the site</ul></nav>".repeat(20);
    let text = "<div id=a><p>The ferry leaves at seven and at nine, and on Sundays not before ten; bring coins, since cards fail.</p></div>";
    let page = format!("<body>{menu}{text}<div id=b>Tickets are sold on deck by Ada.</div>");
    let found = extract(&page);
    assert_eq!(found.extractor, Extractor::DomDensity, "{}", found.reason);
}

#[test]
fn the_dom_heuristic_looks_without_forms_buttons_and_headers() {
    let page = "<body><main><header><p>Above all of it</p></header><p>The ferry leaves at seven and at nine from the new pier.</p>\
        <form><p>Write to us</p><input name=a></form><button>Show all the boats of the week</button></main>";
    let found = extract(page);
    assert_eq!(found.content, "The ferry leaves at seven and at nine from the new pier.", "{}", found.reason);
    // A header with a heading has the title of the text, and a form around everything is a frame.
    let page = "<body><form><main><header><h2>The ferry</h2></header><p>The ferry leaves at seven and at nine from the new pier.</p></main></form>";
    let content = extract(page).content;
    assert!(content.contains("## The ferry") && content.contains("pier"), "{content}");
}

#[test]
fn input_form_is_removed_from_an_article() {
    let ask =
        "<form action=/x><p>Be told of new boats</p><input type=email name=e><button>Go</button></form>";
    let content = extract(&article(ask)).content;
    assert!(content.contains("bicycles") && !content.contains("new boats"), "{content}");
    // On other pages a form may hold the content, and one with prose is content on any page.
    let shop = format!("<body><h1>The ferry</h1>{}{ask}", PROSE.repeat(4));
    assert!(extract(&shop).content.contains("new boats"));
    let told = article(&ask.replace("<input", &format!("{}<input", PROSE.replace("forty", "fifty"))));
    assert!(extract(&told).content.contains("fifty"));
}

#[test]
fn date_only_lines_are_removed() {
    for line in [
        "Updated: April 10, 2025",
        "Last changed: 2025-04-10",
        "Published: Thursday, April 10, 2025 at 10:20 am",
        "Posted on 10 April 2025",
        "Veröffentlicht am 10. April 2025",
        "公開日:2025年4月10日",
        "Last Updated: 2025-04-10",
    ] {
        let page = format!("<body><h1>The ferry</h1>{}<p>{line}</p>{PROSE}", PROSE.repeat(3));
        let content = extract(&page).content;
        assert!(content.contains("bicycles") && !content.contains("2025"), "{line}: {content}");
    }
    let varied = |words: [&str; 3]| words.map(|word| PROSE.replace("forty", word)).concat();
    for line in [
        "Updated 3 packages on 10 April 2025",
        "Published: 2025-04-10 by the harbour office",
        "Date: 10 April 2025",
    ] {
        let before = varied(["ten", "twenty", "thirty"]);
        let page =
            format!("<body><h1>The ferry</h1>{before}<p>{line}</p>{}", varied(["fifty", "sixty", "seventy"]));
        assert!(extract(&page).content.contains(line), "{line}");
    }
}

#[test]
fn date_labelled_as_a_change_is_not_publication() {
    let page =
        |inside: &str| extract(&format!("<body><h1>The ferry</h1>{}{inside}", PROSE.repeat(3))).metadata;
    let reviewed = page(
        "<div class=reviewed-date><div class=reviewed-date__label>Last Reviewed/Updated:</div>\
         <div class=item><time datetime=2025-04-10T23:26:06Z class=datetime>04/10/2025</time></div></div>",
    );
    assert_eq!((reviewed.published, reviewed.modified.as_deref()), (None, Some("2025-04-10T23:26:06Z")));
    let both = page(
        "<p>Published <time datetime=2024-01-02>2 Jan</time></p><p>Updated <time datetime=2025-04-10>10 Apr</time></p>",
    );
    assert_eq!(
        (both.published.as_deref(), both.modified.as_deref()),
        (Some("2024-01-02"), Some("2025-04-10"))
    );
    // The order on the page has no effect.
    let both = page(
        "<p>Updated <time datetime=2025-04-10>10 Apr</time></p><p>Published <time datetime=2024-01-02>2 Jan</time></p>",
    );
    assert_eq!(
        (both.published.as_deref(), both.modified.as_deref()),
        (Some("2024-01-02"), Some("2025-04-10"))
    );
}

#[test]
fn language_tags_have_the_case_of_bcp_47() {
    for (declared, tag) in [
        ("en-US", "en-US"),
        ("EN-us", "en-US"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("pt_BR", "pt-BR"),
        ("DE", "de"),
        ("sl-rozaj-biske", "sl-rozaj-biske"),
        ("es-419", "es-419"),
        ("en-x-us", "en-x-us"),
        ("de-CH-1996", "de-CH-1996"),
    ] {
        let page = extract(&format!(
            "<html lang={declared}><link rel=alternate hreflang={declared} href=/z><p>x</p>"
        ));
        assert_eq!(page.metadata.language.as_deref(), Some(tag), "{declared}");
        assert_eq!(page.metadata.hreflang[0].lang, tag.replace('_', "-"), "{declared}");
    }
}
