//! Boxes around an article that a reader recognises by their titles: other news, comments, imprints.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};

fn extract_with(html: &str, options: Options) -> String {
    let url = url::Url::parse("https://harbour.example/news/2026/05/ferry-timetable").unwrap();
    let extractor = PageExtractor::new(options).unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
    extractor.extract(&input).content
}

fn extract(html: &str) -> String {
    extract_with(html, Options::default())
}

/// Paragraphs of which none repeats another.
fn prose(from: u32, to: u32) -> String {
    let paragraph = |n: u32| {
        format!(
            "<p>Ferry {n} leaves at seven and at nine, and on Sundays not before ten; bring coins, since the machine takes no \
            cards, and be there early, because deck {n} holds no more than forty people and their bicycles.</p>"
        )
    };
    (from..to).map(paragraph).collect()
}

/// Links to other news, each with a line of text.
fn news() -> String {
    (0..4)
        .map(|n| {
            format!(
                "<div><a href=/n/{n}>Bread number {n} is sold out</a><p>Bread number {n} was baked with salt, with water and \
                with patience, and it was eaten before the first boat left the quay.</p></div>"
            )
        })
        .collect()
}

fn article(behind: &str) -> String {
    format!(
        "<meta property='og:type' content='article'><body><div class=x><h1>The timetable</h1>{}{behind}</div>",
        prose(0, 5)
    )
}

#[test]
fn related_news_box_is_recognised_by_its_title() {
    let titles = [
        "Read also",
        "Lesen Sie auch:",
        "Другие новости",
        "Czytaj też",
        "Διαβάστε επίσης",
        "関連ニュース",
        "관련 기사",
        "相关新闻",
        "اقرأ أيضا",
        "קראו גם",
    ];
    for title in titles {
        let news = news();
        for behind in [
            format!("<div><div class=t>{title}</div>{news}</div>"),
            format!("<h3>{title}</h3>{news}"),
            format!("<div><b>{title}</b><br>{news}</div>"),
        ] {
            let content = extract(&article(&behind));
            assert!(content.contains("bicycles") && !content.contains("Bread"), "{title}: {content}");
        }
    }
}

#[test]
fn text_after_a_related_news_box_stays() {
    let page = article(&format!(
        "<p><b>Read also:</b> <a href=/n/1>Bread is sold out</a></p><p>The last boat comes back at ten in the evening, \
        with lights, with music and with those who missed the one before it.</p>{}",
        prose(5, 6)
    ));
    let content = extract(&page);
    assert!(content.contains("last boat") && !content.contains("Bread"), "{content}");
}

#[test]
fn box_title_in_a_sentence_or_over_references_stays() {
    for behind in [
        "<p><b>Trending</b> now is the bread of the island, which is baked with salt, with water and with patience.</p>",
        "<div><h3>Related links</h3><ul><li><a href=https://bread.example/a>Bread of the islands, a study in three parts</a></ul></div>",
    ] {
        let content = extract(&article(&format!("{behind}{}", prose(5, 14))));
        assert!(content.to_lowercase().contains("bread"), "{behind}: {content}");
    }
}

#[test]
fn comments_are_recognised_by_their_title() {
    let comments: String = (0..9)
        .map(|n| {
            format!(
                "<div class=z{n}><b>Reader {n}</b><p>Bread is baked with salt, with water and with patience, and it is eaten warm, \
                with butter, before the first boat leaves the quay of the island.</p></div>"
            )
        })
        .collect();
    for title in ["Комментарии (9)", "Komentarze", "Kommentare", "댓글"] {
        let page = article(&format!("<div class=k><div>{title}</div>{comments}</div>"));
        let content = extract(&page);
        assert!(content.contains("bicycles") && !content.contains("Bread"), "{title}: {content}");
        let asked = extract_with(&page, Options::default().with_comments(true));
        assert!(asked.contains("Bread"), "{title}: {asked}");
    }
}

#[test]
fn imprint_does_not_replace_short_paragraphs() {
    let short: String =
        (0..9).map(|n| format!("<p>Boat {n} leaves the quay at {n} and comes back at ten.</p>")).collect();
    let imprint = "<div class=y><p>© Harbour Press, 2026. Register of the harbour, number 77, of the fifth of May.</p><p>Address of the \
        editors: 4 Quay Street, by the northern gate, second floor, behind the bakery.</p><p>The editors do not answer for what is \
        said in advertisements, in letters and in comments of readers, and send nothing back.</p></div>";
    let page = format!(
        "<meta property='og:type' content='article'><body><div class=x><h1>The timetable</h1>{short}{short}</div>{imprint}"
    );
    let content = extract(&page);
    assert!(content.contains("Boat 8") && !content.contains("editors"), "{content}");
}

#[test]
fn copyright_note_below_the_text_stays() {
    let page = article(
        "<p>Words and pictures © 2026 Harbour Press. This text may be copied by schools, as a whole and with this note.</p>",
    );
    assert!(extract(&page).contains("copied by schools"));
}

#[test]
fn longer_link_lists_around_an_article_are_removed() {
    let links: String =
        (0..24).map(|n| format!("<li><a href=/n/{n}>Bread number {n} of the week is sold out</a>")).collect();
    let page = format!(
        "<meta property='og:type' content='article'><body><table><tr><td><ul>{links}</ul><h1>The timetable</h1>{}</table>",
        prose(0, 4)
    );
    let content = extract(&page);
    assert!(content.contains("bicycles") && !content.contains("Bread"), "{content}");
}

#[test]
fn long_footer_of_a_short_text_is_removed() {
    let imprint =
        "Reprints name the source, carry a link to it and stand no lower than the second paragraph. "
            .repeat(9);
    for footer in ["<div class=foot><div>", "<div id=footer><div>", "<div class='page-footer'><div>"] {
        let page = format!("{}{footer}<p>{imprint}</p></div></div>", article(""));
        let content = extract(&page);
        assert!(content.contains("bicycles") && !content.contains("Reprints"), "{footer}: {content}");
    }
}

#[test]
fn wrapper_named_footer_stays_if_it_holds_the_text() {
    let page = format!(
        "<meta property='og:type' content='article'><body><div class=foot><h1>The timetable</h1>{}</div>",
        prose(0, 9)
    );
    assert!(extract(&page).contains("bicycles"));
}

#[test]
fn metadata_lines_around_an_article_are_removed_in_many_languages() {
    let before = [
        "Дата публикации: 17.01.2012",
        "Dodano: 2012-01-17",
        "Δημοσίευση: 17.01.2012",
        "发布时间：2012-01-17",
    ];
    let behind = [
        "Источник: Ведомости острова",
        "Нашли опечатку? Выделите ее и нажмите Ctrl+Enter",
        "Źródło: Gazeta Wyspy",
        "Zapisz się do newslettera",
        "Πηγή: Νέα του νησιού",
        "Følg oss på øya",
        "Sledujte nás na ostrově",
        "来源：海岛日报",
    ];
    let credits = ["fot. Jan Kowalski", "Фото: Иван Петров", "写真：山田太郎", "صورة: أحمد"];
    for line in before {
        let page = format!(
            "<meta property='og:type' content='article'><body><div class=x><h1>The timetable</h1><p>{line}</p>{}</div>",
            prose(0, 5)
        );
        assert!(!extract(&page).contains(line), "{line}");
    }
    for line in behind {
        let content = extract(&article(&format!("<p>{line}</p>")));
        assert!(!content.contains(line) && content.len() > 200, "{line}: {content}");
    }
    for line in credits {
        let content = extract(&article(&format!("<p>{line}</p>{}", prose(5, 8))));
        assert!(!content.contains(line) && content.len() > 200, "{line}: {content}");
    }
}

#[test]
fn a_short_paragraph_between_others_stays_in_any_language() {
    for line in ["Источник силы — терпение, говорит капитан.", "Więcej nie powiedział.", "Data jest znana."]
    {
        let page = article(&format!("<p>{line}</p>{}", prose(5, 9)));
        assert!(extract(&page).contains(line), "{line}");
    }
    // a sentence that begins with a word of such lines is a sentence, at the start and the end too
    for line in [
        "Мы в ответе за тех, кого приручили, сказал капитан.",
        "点击率上升了三成，船长说。",
        "记者从市政府获悉，渡轮明天停航。",
    ] {
        let page = article(&format!("<p>{line}</p>{}<p>{line}</p>", prose(5, 9)));
        assert!(extract(&page).contains(line), "{line}");
    }
}

#[test]
fn screen_reader_text_and_hidden_classes_are_removed() {
    let hidden = [
        "<p class='visually-hidden'>Article content</p>",
        "<span class='sr-only'>Article content</span>",
        "<div class='offer hidden'><p>Article content for subscribers: the bread of the island, every day.</p></div>",
        "<div class='d-none'>Article content</div>",
    ];
    for box_of_text in hidden {
        let content = extract(&article(&format!("{box_of_text}{}", prose(5, 9))));
        assert!(
            content.contains("deck 8") && !content.contains("Article content"),
            "{box_of_text}: {content}"
        );
    }
    for shown in ["hidden md:block", "d-none d-md-block", "overflow-hidden", "hidden-xs"] {
        let page = article(&format!(
            "<div class='{shown}'><p>{}</p></div>{}",
            "Bread is shown here. ".repeat(8),
            prose(5, 9)
        ));
        assert!(extract(&page).contains("Bread"), "{shown}");
    }
}

#[test]
fn hidden_class_around_most_of_the_text_stays() {
    let page = article(&format!("<div class=hidden>{}</div>", prose(5, 20)));
    assert!(extract(&page).contains("deck 19"));
}

#[test]
fn further_articles_after_the_main_one_are_removed() {
    let next = format!("<article><h2>Bread</h2>{}</article>", prose(20, 40).replace("Ferry", "Bread"));
    let page = |data: &str| {
        format!(
            "{data}<body><main><article><h1>The timetable</h1>{}</article><div>{next}</div></main>",
            prose(0, 9)
        )
    };
    let content = extract(&page("<meta property='og:type' content='article'>"));
    assert!(content.contains("Ferry 8") && !content.contains("Bread"), "{content}");
    let live = r#"<script type="application/ld+json">{"@type": "LiveBlogPosting", "headline": "The storm"}</script>"#;
    assert!(extract(&page(live)).contains("Bread"));
}

/// The header of an article may be a nested article: text after it is no other article.
#[test]
fn the_article_around_the_heading_is_the_outermost() {
    let html = format!(
        "<html><head><meta property=og:type content=article></head><body><article><article class=opening><h1>Ferries in summer</h1>{}</article>\
         <article class=rest>{}</article></article><article class=other>{}</article></body></html>",
        prose(1, 4),
        prose(4, 8),
        prose(20, 24)
    );
    let text = extract(&html);
    assert!(text.contains("Ferry 1 ") && text.contains("Ferry 7 "), "{text}");
    assert!(!text.contains("Ferry 20 "), "{text}");
}

/// A line that leads to another story ends with its link: paragraphs behind it are the article's.
#[test]
fn box_that_begins_with_a_related_story_keeps_its_paragraphs() {
    let lead = "<p><strong>Read also:</strong> <a href=/n/1>Bread is sold out in the whole town</a></p>";
    let html = format!(
        "<body><div class=x><h1>The timetable</h1>{}<div>{lead}{}</div></div>",
        prose(0, 8),
        prose(8, 12)
    );
    let text = extract(&html);
    assert!((0..12).all(|n| text.contains(&format!("Ferry {n} "))), "{text}");
    assert!(!text.contains("Bread"), "{text}");
}

/// Teasers stay out although the line of their title has a link of its own, and a date is before each link.
#[test]
fn dated_teasers_behind_a_title_with_a_link_are_removed() {
    let teaser = |n: u32| {
        format!(
            "<div><span>{n} May 2024</span> <a href=/n/{n}>Bread number {n} is sold out</a><p>The bakery at the quay had no \
            bread left at nine, and the next comes on Monday.</p></div>"
        )
    };
    let teasers: String = (1..5).map(teaser).collect();
    let text =
        extract(&article(&format!("<div><div>Related articles <a href=/more>All</a></div>{teasers}</div>")));
    assert!(text.contains("deck 4") && !text.contains("bakery"), "{text}");
}

/// Text of a page with one box in the text, and one behind the main content.
fn text_with(box_in_text: &str, box_behind: &str) -> String {
    extract(&format!(
        "<title>The timetable</title><main><h1>The timetable</h1>{}{box_in_text}{}</main>{box_behind}",
        prose(0, 3),
        prose(3, 5)
    ))
}

#[test]
fn aside_that_is_a_note_of_the_text_stays() {
    let notes = [
        "<aside class='footnote-list brackets'><aside class='footnote brackets' role=doc-footnote><span>[1]</span>\
         <p>The quay was built of oak in 1883.</p></aside></aside>",
        "<aside aria-label=Note class='starlight-aside starlight-aside--note'><p class=starlight-aside__title>Note</p>\
         <div class=starlight-aside__content><p>The quay was built of oak in 1883.</p></div></aside>",
        "<aside class=caution><b>Caution:</b> The quay was built of oak in 1883.</aside>",
    ];
    for note in notes {
        let text = text_with(note, "");
        assert!(text.contains("The quay was built of oak in 1883."), "{note}: {text}");
    }
}

#[test]
fn aside_beside_the_text_is_left_out_whatever_its_names() {
    let offer = "Win a boat today, and tell us what you think of it.";
    for class in ["tip", "callout", "alert", "sidebar"] {
        let text = text_with("", &format!("<aside class={class}><p>{offer}</p></aside>"));
        assert!(!text.contains("Win a boat"), "{class}: {text}");
    }
    for class in ["'callout newsletter'", "'note related'", "alert", "box"] {
        let text = text_with(&format!("<aside class={class}><p>{offer}</p></aside>"), "");
        assert!(!text.contains("Win a boat"), "{class}: {text}");
    }
}

/// Contents of boxes with a heading that ends the content.
const LEADING_AWAY: [&str; 2] = [
    "<h3>Get our newsletter</h3><p>Every week, in your inbox.</p>",
    "<h2>Related articles</h2><p>The bakery on the quay burns</p>",
];

#[test]
fn callout_that_leads_away_does_not_end_the_article() {
    let form = "<p>Get our newsletter every week.</p><form action=/join><input name=mail><button>Join</button></form>";
    for inner in LEADING_AWAY.into_iter().chain([form]) {
        for attributes in ["class=callout", "class=note", "role=note"] {
            let text = text_with(&format!("<aside {attributes}>{inner}</aside>"), "");
            assert_eq!(text, text_with("", ""), "{attributes} {inner}");
        }
    }
}

#[test]
fn section_in_a_box_ends_with_the_box() {
    let form = "<h3>Get our newsletter</h3><form action=/join><input name=mail></form>";
    for inner in LEADING_AWAY.into_iter().chain([form]) {
        for (open, close) in [("<div>", "</div>"), ("<section><div class=x>", "</div></section>")] {
            let text = text_with(&format!("{open}{inner}{close}"), "");
            assert_eq!(text, text_with("", ""), "{open}{inner}");
        }
    }
}

#[test]
fn section_ends_the_content_unless_the_article_goes_on() {
    let offer = "<p>Win a boat today, and tell us what you think of it, of the harbour, of the quay and of the timetable.</p>";
    let page = |end: &str| {
        extract(&format!(
            "<title>The timetable</title><main><h1>The timetable</h1>{}{end}</main>",
            prose(0, 5)
        ))
    };
    for (open, close) in [("", ""), ("<div>", "</div>")] {
        let section = format!("{open}{}{close}", LEADING_AWAY[0]);
        assert_eq!(page(&format!("{section}<div class=k>{offer}</div>")), page(""), "{open}");
    }
}

/// A reader does not see them before the form is sent.
#[test]
fn messages_that_a_form_shows_once_it_is_sent_are_left_out() {
    for class in ["w-form-done", "w-form-fail"] {
        let text =
            text_with(&format!("<div class={class}><div>Your message has been received!</div></div>"), "");
        assert_eq!(text, text_with("", ""), "{class}");
    }
}

#[test]
fn message_of_an_error_is_text() {
    let text = text_with("<div class=error-message><p>Your message has been received!</p></div>", "");
    assert!(text.contains("has been received"), "{text}");
}
