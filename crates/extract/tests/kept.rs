//! Text that belongs to the page although a rule about names, links or copies matches it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Format, Input, Options, PageExtractor};

fn content(html: &str) -> String {
    content_with(html, Options::default())
}

fn content_with(html: &str, options: Options) -> String {
    let url = url::Url::parse("https://harbour.example/boats/ferry").unwrap();
    let extractor = PageExtractor::new(options).unwrap();
    extractor.extract(&Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html")).content
}

const ARTICLE: &str = "<meta property='og:type' content='article'>";
const PRODUCT: &str =
    r#"<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product"}</script>"#;
const PROSE: &str = "<p>The ferry leaves at seven and at nine, and on Sundays not before ten; bring coins, since the machine \
    takes no cards, and be there early, because the deck holds no more than forty people and their bicycles.</p>";

const INTRO: &str = "The harbour has been open since the war, in summer and in winter, and whoever waits at the old \
    lighthouse sees each boat twice before it is moored at the northern quay.";

/// A page with boxes between its heading and its text.
fn with_boxes(data: &str, boxes: &str) -> String {
    format!(
        "{data}<body><div class=hero><h1>The ferry</h1><div>{boxes}</div></div><div><span>Harbour office</span></div>\
        <div><div class=text>{}</div></div></body>",
        PROSE.repeat(6)
    )
}

fn boxed(text: &str) -> String {
    format!("<div><p>{text}</p></div>")
}

#[test]
fn prose_between_the_heading_and_the_text_is_kept() {
    let linked = |words: usize| {
        let (link, rest) = (vec!["boat"; words].join(" "), vec!["quay"; 40 - words].join(" "));
        boxed(&format!("Since the war, <a href='/boats'>{link}</a>, {rest} at the northern quay."))
    };
    let japanese = boxed(&format!("{}北の岸壁に着く。", "港は戦争の後、夏も冬も開いており、".repeat(5)));
    let note = INTRO.replace("quay.", "quay.<sup>[1]</sup>");
    for (boxes, kept) in [
        (boxed(INTRO), "northern quay"),
        (boxed(INTRO) + &boxed(&INTRO.replace("northern", "southern")), "southern quay"),
        (boxed(&note), "northern quay"),
        (boxed(&format!("«{INTRO}»")), "northern quay"),
        (linked(8), "northern quay"),
        (japanese, "北の岸壁"),
    ] {
        for data in [ARTICLE, ""] {
            let content = content(&with_boxes(data, &boxes));
            assert!(content.contains(kept) && content.contains("forty people"), "{data}{boxes}: {content}");
        }
    }
}

#[test]
fn non_prose_between_heading_and_text_is_removed() {
    let linked =
        format!("Since the war, <a href='/boats'>{}</a>, {}.", "boat ".repeat(12), "quay ".repeat(24));
    for (data, boxes) in [
        (PRODUCT, boxed(INTRO)),
        (ARTICLE, boxed("The harbour has been open since the war, in summer and in winter.")),
        (ARTICLE, boxed(INTRO.trim_end_matches('.'))),
        (ARTICLE, boxed(&INTRO.replace("quay.", "quay…"))),
        (ARTICLE, boxed(&INTRO.replace("quay.", "quay ..."))),
        (ARTICLE, boxed(&INTRO.replace("quay.", "quay [...]"))),
        (ARTICLE, format!("<form><p>{INTRO}</p><input name=mail></form>")),
        (ARTICLE, boxed(&linked)),
        (ARTICLE, format!("<div><h2>Timetable</h2><p>{INTRO}</p></div>")),
        (ARTICLE, format!("<h6>Timetable</h6>{}", boxed(INTRO))),
    ] {
        let content = content(&with_boxes(data, &boxes));
        assert!(
            content.contains("forty people") && !content.contains("ince the war"),
            "{data}{boxes}: {content}"
        );
    }
}

#[test]
fn news_below_the_site_name_is_removed() {
    let text: String = (0..120)
        .map(|n| format!("<p>On day {n} the ferry left at seven and at nine, with forty people and {n} bicycles on its deck.</p>"))
        .collect();
    let page = |boxes: &str, title: &str| {
        format!(
            "{ARTICLE}<body><header><h1>Harbour Times</h1></header><div>{boxes}</div>\
            <div class=text>{title}{text}</div></body>"
        )
    };
    let event = |n: usize| INTRO.replace("The harbour", &format!("Foreign harbour {n}"));
    let headed: String = (0..10).map(|n| format!("<h2>Event</h2>{}", boxed(&event(n)))).collect();
    let many: String = (0..14).map(|n| boxed(&event(n))).collect();
    let preview = boxed(&INTRO.replace("The harbour", "You are reading a foreign preview, which"));
    let second = "<h2>The ferry sails again</h2>";
    for (boxes, title, data) in [
        (&headed, "", ""),
        (&headed, second, "<title>The ferry sails again - Harbour Times</title>"),
        (&many, "", ""),
        (&many, second, "<title>The ferry sails again - Harbour Times</title>"),
        (&preview, "<h1>The ferry sails again</h1>", "<title>The ferry sails again - Harbour Times</title>"),
    ] {
        let content = content(&format!("{data}{}", page(boxes, title)));
        assert!(content.contains("On day 119"), "{content}");
        assert!(!content.to_lowercase().contains("foreign"), "{content}");
    }
    let headed = with_boxes(ARTICLE, &format!("<div><h2>Timetable</h2><p>{INTRO}</p></div>"));
    let own = content(&format!("<title>The ferry - Harbour Times</title>{headed}"));
    assert!(own.contains("northern quay"), "the heading says the title: {own}");
}

const ENTRY: &str =
    "<p>Breakfast: two slices of bread with butter, an apple, and a cup of tea without sugar.</p>";

#[test]
fn paragraph_repeated_three_times_stays_but_not_twice() {
    let page = |data: &str, times: usize| {
        let days: String = (0..times).map(|day| format!("<h2>Day {day}</h2>{ENTRY}{PROSE}")).collect();
        format!("{data}<body><article><h1>A plan for the week</h1>{days}{PROSE}</article></body>")
    };
    let product = format!("{ARTICLE}{PRODUCT}");
    for (data, times, kept) in [(ARTICLE, 2, 1), (ARTICLE, 3, 3), (ARTICLE, 7, 7), (&product, 3, 1)] {
        let content = content(&page(data, times));
        assert_eq!(content.matches("two slices").count(), kept, "{data} {times}: {content}");
    }
}

#[test]
fn repeated_paragraph_stays_only_after_unique_text() {
    let text = |n: usize| {
        format!("<p>On day {n} the ferry leaves at seven, and nobody waits for it on the quay.</p>")
    };
    let texts: String = (0..9).map(text).collect();
    let picture =
        |n: usize| format!("<div><img src='/{n}.jpg' alt='The deck {n}' width=900 height=600>{ENTRY}</div>");
    let counted = |n: usize| format!("{}<p>{n} / 5</p>", picture(n));
    let between = |n: usize| format!("{ENTRY}{}", text(n + 10));
    let widths = ENTRY.replace("<p>", "<p class=wide>") + ENTRY + &ENTRY.replace("<p>", "<p class=narrow>");
    let pairs = format!("{ENTRY}{PROSE}").repeat(9);
    let each = |one: &dyn Fn(usize) -> String, n: usize| (0..n).map(one).collect::<String>();
    let cases = [
        (each(&picture, 3), 1),
        (each(&picture, 5), 1),
        (each(&counted, 5), 1),
        (widths, 1),
        (ENTRY.repeat(400), 1),
        (pairs, 1),
        (each(&between, 3), 3),
    ];
    for (part, kept) in cases {
        let page = format!("{ARTICLE}<body><article><h1>The ferry</h1>{texts}{part}{texts}</article></body>");
        for format in [Format::Text, Format::Markdown] {
            let mut options = Options::default().with_format(format);
            options.images = true;
            let content = content_with(&page, options);
            assert_eq!(content.matches("two slices").count(), kept, "{part}: {content}");
        }
    }
}

#[test]
fn product_data_drops_repeated_paragraphs() {
    let text: String = (0..3).map(|n| format!("<h2>Variant {n}</h2>{ENTRY}")).collect();
    let json = serde_json::json!({ "cooked": text + PROSE });
    for (data, kept) in [("", 3), (PRODUCT, 1)] {
        let page = format!("{data}<body><h1>Tea</h1><script type='application/json'>{json}</script></body>");
        let content = content(&page);
        assert_eq!(content.matches("two slices").count(), kept, "{data}: {content}");
    }
}

#[test]
fn page_of_links_keeps_its_link_lines() {
    let links = |tag: &str, n: usize| -> String {
        let line = |n| {
            format!(
                "<{tag}><a href='https://sea{n}.example/'>Chart of the northern sea, sheet number {n}</a></{tag}>"
            )
        };
        (0..n).map(line).collect()
    };
    for data in [ARTICLE, ""] {
        let page = |text: &str, links: &str| {
            format!("{data}<body><article><h1>Charts</h1>{text}{links}</article></body>")
        };
        for list in [format!("<ul>{}</ul>", links("li", 12)), links("p", 12)] {
            let content = content(&page(PROSE, &list));
            assert!(content.contains("sheet number 11"), "{data}{list}: {content}");
        }
        let few = content(&page(&PROSE.repeat(6), &links("p", 2)));
        assert!(!few.contains("sheet number 1"), "{data}: {few}");
    }
    let few = content(&format!(
        "{ARTICLE}<body><article><h1>Charts</h1>{}<ul>{}</ul></article></body>",
        PROSE.repeat(6),
        links("li", 2)
    ));
    assert!(!few.contains("sheet number 1"), "{few}");
}

#[test]
fn link_only_lines_are_removed_beside_prose() {
    let prose = "<p>The ferry leaves at seven and at nine, and on Sundays not before ten; bring coins, and be there early, since the deck holds few people.</p>";
    let lines: String = (0..8)
        .map(|n| format!("<p>Sheet <a href='/c/{n}'>chart {n} of the north sea</a>, now.</p>"))
        .collect();
    let news: String =
        (0..2).map(|n| format!("<p><a href='/n/{n}'>Storm {n} sinks boat at the quay</a></p>")).collect();
    let content =
        content(&format!("{ARTICLE}<body><article><h1>Charts</h1>{prose}{lines}{news}</article></body>"));
    assert!(content.contains("chart 5") && !content.contains("Storm"), "{content}");
}

#[test]
fn boxes_with_linked_headings_are_content_outside_articles() {
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

#[test]
fn page_wrapper_named_after_its_footer_stays() {
    let goods: String = (1..=20)
        .map(|n| format!("<li><a href='/rope/{n}'>Mooring rope of hemp, number {n}</a> <b>{n}.90 €</b></li>"))
        .collect();
    let footer = "<div id=footer><p>Harbour shop, open from May to October.</p></div>";
    let text = content(&format!(
        "<body><div class=top>Harbour shop</div><div id=footerPush><h1>Ropes</h1><ul>{goods}</ul></div>{footer}</body>"
    ));
    assert!(text.contains("hemp, number 1]") && text.contains("hemp, number 20"), "{text}");
    assert!(!text.contains("open from May"), "{text}");
    // The second try, after names of boxes have left no text.
    let text = content(&format!(
        "<body><div class=top>Harbour shop</div><div id=footerPush><h1>Ropes</h1><div class=widget><ul>{goods}</ul></div></div>{footer}\
        </body>"
    ));
    assert!(text.contains("hemp, number 1]") && text.contains("hemp, number 20"), "{text}");
    assert!(!text.contains("open from May"), "{text}");
    // A footer may hold the only heading of level one.
    let text = content(&format!(
        "<body><div class=text>{}</div><div id=footer><h1>Harbour shop</h1><p>Open from May to October.</p></div></body>",
        PROSE.repeat(3)
    ));
    assert!(text.contains("bring coins") && !text.contains("Open from May"), "{text}");
}

#[test]
fn labels_at_the_edges_of_an_article_have_one_fate_in_both_formats() {
    let data = r#"<script type="application/ld+json">{"@context":"https://schema.org","@type":"NewsArticle","headline":"The ferry"}</script>"#;
    for (line, label, is_kept) in [
        ("<b>Quay/Island.</b>", "Quay/Island.", true),
        ("<i>Two boats:</i>", "Two boats:", true),
        ("<b>Photo</b>", "Photo", false),
        ("<a href='/photo'>Photo.</a>", "Photo.", false),
    ] {
        let page = format!("{data}<article><h1>The ferry</h1><p>{line}</p><p>{INTRO}</p>{PROSE}</article>");
        for format in [Format::Text, Format::Markdown] {
            let content = content_with(&page, Options::default().with_format(format));
            assert_eq!(content.contains(label), is_kept, "{format:?} {line}: {content}");
        }
    }
}
