//! Text that belongs to the page although a rule about names, links or copies matches it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};

fn content(html: &str) -> String {
    let url = url::Url::parse("https://harbour.example/boats/ferry").unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor.extract(&Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html")).content
}

const ARTICLE: &str = "<meta property='og:type' content='article'>";
const PRODUCT: &str =
    r#"<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product"}</script>"#;
const PROSE: &str = "<p>The ferry leaves at seven and at nine, and on Sundays not before ten; bring coins, since the machine \
    takes no cards, and be there early, because the deck holds no more than forty people and their bicycles.</p>";

#[test]
fn prose_between_the_heading_and_the_text_is_kept() {
    let intro = "The harbour has been open since the war, in summer and in winter, and whoever waits at the old \
        lighthouse sees each boat twice before it is moored at the northern quay.";
    let page = |data: &str, intro: &str| {
        format!(
            "{data}<body><div class=hero><h1>The ferry</h1><div><div><p>{intro}</p></div></div></div>\
            <div><span>Harbour office</span></div><div><div class=text>{}</div></div></body>",
            PROSE.repeat(6)
        )
    };
    for data in [ARTICLE, ""] {
        assert!(content(&page(data, intro)).contains("northern quay"), "{data}");
    }
    for (data, intro) in [
        (PRODUCT, intro),
        (ARTICLE, "The harbour has been open since the war, in summer and in winter."),
        (ARTICLE, intro.trim_end_matches('.')),
    ] {
        let content = content(&page(data, intro));
        assert!(content.contains("forty people") && !content.contains("since the war"), "{data}: {content}");
    }
}

#[test]
fn a_paragraph_may_stand_three_times_but_not_twice() {
    let entry =
        "<p>Breakfast: two slices of bread with butter, an apple, and a cup of tea without sugar.</p>";
    let page = |data: &str, times: usize| {
        let days: String = (0..times).map(|day| format!("<h2>Day {day}</h2>{entry}{PROSE}")).collect();
        format!("{data}<body><article><h1>A plan for the week</h1>{days}{PROSE}</article></body>")
    };
    let product = format!("{ARTICLE}{PRODUCT}");
    for (data, times, kept) in [(ARTICLE, 2, 1), (ARTICLE, 3, 3), (&product, 3, 1)] {
        let content = content(&page(data, times));
        assert_eq!(content.matches("two slices").count(), kept, "{data} {times}: {content}");
    }
}

#[test]
fn a_text_of_links_keeps_its_lines_of_links() {
    let links = |n: usize| -> String {
        (0..n)
            .map(|n| format!("<li><a href='https://sea{n}.example/'>Chart of the northern sea, sheet number {n}</a></li>"))
            .collect()
    };
    let page = |text: &str, n: usize| {
        format!("{ARTICLE}<body><article><h1>Charts</h1>{text}<ul>{}</ul></article></body>", links(n))
    };
    let list = content(&page(PROSE, 12));
    assert!(list.contains("sheet number 11"), "{list}");
    let text = content(&page(&PROSE.repeat(6), 2));
    assert!(!text.contains("sheet number 1"), "{text}");
}

#[test]
fn boxes_with_linked_headings_are_content_where_the_page_is_no_article() {
    let card = |n: usize| {
        format!(
            "<div class=c><h3><a href='/services/{n}'>Repairs of kind {n}</a></h3><p>We mend sail {n} in a day.</p></div>"
        )
    };
    let cards: String = (0..3).map(card).collect();
    let page = format!("<body><main><h1>The yard</h1>{}<div>{cards}</div></main></body>", PROSE.repeat(6));
    let content = content(&page);
    assert!(content.contains("We mend sail 2"), "{content}");
}
