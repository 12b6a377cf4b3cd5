//! Choice of the content on pages that names and ratios misread (heuristics reference §4).

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::Extraction;

pub(crate) fn extract_with(html: &str, options: Options) -> Extraction {
    let url = url::Url::parse("https://harbour.example/news/2026/05/ferry-timetable").unwrap();
    let extractor = PageExtractor::new(options).unwrap();
    extractor.extract(&Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html"))
}

pub(crate) fn extract(html: &str) -> Extraction {
    extract_with(html, Options::default())
}

pub(crate) const PROSE: &str = "<p>The ferry leaves at seven and at nine, and on Sundays not before ten; bring coins, since the machine \
    takes no cards, and be there early, because the deck holds no more than forty people and their bicycles.</p>";

#[test]
fn box_name_does_not_remove_short_chinese_text() {
    let text = "渡轮每天早上七点和九点离开码头，星期天要到十点才开。请带硬币，因为售票机不收银行卡。甲板上只能容纳四十个人和他们的自行车，所以请早点到。";
    let page = format!(
        "<body><h1>渡轮的时刻表</h1><div class='entry share'><p>{text}</p><p>{text}</p></div><div><p>首页</p></div>"
    );
    assert!(extract(&page).content.contains("甲板上只能容纳四十个人"), "{}", extract(&page).content);
}

#[test]
fn news_before_the_title_is_removed() {
    let news =
        format!("<div><p>Elsewhere {}</p></div>", "a bridge was built, with stone, in a year. ".repeat(8))
            .repeat(6);
    for heading in ["h1", "h2", "span"] {
        let page = format!(
            "<title>The timetable of the ferry</title><meta property='og:type' content='article'><body>\
            <div>{news}</div><div><{heading}>The timetable of the ferry</{heading}>{}</div>",
            PROSE.repeat(12)
        );
        let content = extract(&page).content;
        assert!(content.contains("bicycles") && !content.contains("bridge"), "{heading}: {content}");
    }
}

#[test]
fn a_timetable_in_an_article_stays() {
    let rows: String = (6..12)
        .map(|hour| format!("<tr><td>{hour}:15</td><td>From the northern quay to the island</td></tr>"))
        .collect();
    let page = format!(
        "<meta property='og:type' content='article'><body><article><h1>The timetable</h1>{}<table>{rows}</table>{PROSE}</article>",
        PROSE.repeat(3)
    );
    let content = extract(&page).content;
    assert!(content.contains("7:15") && content.contains("11:15"), "{content}");
}

#[test]
fn link_lists_do_not_outweigh_an_article_container() {
    let links: String = (0..40)
        .map(|n| format!("<div><a href=/n/{n}>Headline number {n} of another day of the week</a> and a few words beside it</div>"))
        .collect();
    let page = format!(
        "<body><section><div><div><div><h1>The timetable</h1>{}</div></div></div></section><section><div><div>{links}</div></div></section>",
        PROSE.repeat(4)
    );
    let content = extract(&page).content;
    assert!(
        content.contains("bicycles") && !content.contains("Headline"),
        "{} {content}",
        extract(&page).reason
    );
}

#[test]
fn second_pass_keeps_text_removed_by_names() {
    let lines: String = (0..8).map(|n| format!("<p>A line about boat {n}.</p>")).collect();
    let items: String =
        (0..8).map(|n| format!("<li><a href=/m/{n}>Method</a> {n} of the workshop</li>")).collect();
    let page = format!(
        "<body><nav><a href=/>Home</a></nav><main><h1>Boats</h1>{lines}<ul class='nav flex-column'>{items}</ul></main>"
    );
    let found = extract(&page);
    assert!(
        found.content.contains("7 of the workshop") && !found.content.contains("Home"),
        "{}",
        found.content
    );
    assert!(found.reason.starts_with("the rules leave"), "{}", found.reason);
}

#[test]
fn dated_headings_stay_if_they_are_the_page() {
    for date in ["2026-05-03", "3 May 2026"] {
        let entry = |n: usize| {
            format!("<article><h2><a href=/log/{n}>Log of the {n}th week</a></h2><p>{date}</p></article>")
        };
        let list: String = (10..24).map(entry).collect();
        let text =
            extract(&format!("<body><h1>Logs</h1><p>What came into the harbour and what left it.</p>{list}"))
                .content;
        for n in 10..24 {
            assert!(text.contains(&format!("Log of the {n}th week")), "{n}: {text}");
        }
    }
}

#[test]
fn consecutive_headings_stay_if_they_are_the_page() {
    let headings: String = (0..8).map(|n| format!("<h3>How to build boat number {n}</h3>")).collect();
    let page = format!("<body><main><h1>Guides</h1><p>Guides for boats.</p>{headings}</main>");
    let found = extract(&page);
    assert!(found.content.contains("boat number 7"), "{}: {}", found.reason, found.content);
    let page = format!("<body><main><h1>Guides</h1>{}{headings}</main>", PROSE.repeat(3));
    assert!(!extract(&page).content.contains("boat number 7"));
}

/// A footer longer than the text of its page: a legal notice, or the places of a company.
const FOOTER: &str = "<h2>Legal</h2><p>The harbour company lends money for bicycles at a rate of nine percent, subject to \
    approval by its bank, to its terms, and to the laws of the island; prices may change without notice.</p>";

#[test]
fn page_footer_is_removed_at_any_length() {
    let text = PROSE.repeat(2);
    let legal = FOOTER.repeat(12);
    for footer in [
        format!("<footer>{legal}</footer>"),
        format!("<div role=contentinfo>{legal}</div>"),
        format!("<div class='Footer-styled sc-11'>{legal}</div>"),
    ] {
        let page = format!("<body><div><h1>Bicycles</h1>{text}</div>{footer}");
        let content = extract(&page).content;
        assert!(content.contains("forty people") && !content.contains("lends money"), "{content}");
    }
}

#[test]
fn footer_that_holds_the_text_stays() {
    let legal = FOOTER.repeat(12);
    for page in [
        format!("<body><h1>Terms</h1><footer>{legal}</footer>"),
        format!("<body><footer><h1>Terms</h1>{legal}</footer>"),
        format!("<body><h1>Terms</h1><main>{PROSE}{PROSE}<footer>{legal}</footer></main>"),
    ] {
        let content = extract(&page).content;
        assert!(content.contains("lends money"), "{page}: {content}");
    }
}

#[test]
fn headings_linked_to_other_sites_are_not_teasers() {
    let entry = |host: &str, n: u32| {
        format!(
            "<section><h2><a href='https://{host}/quay-{n}'>Quay number {n}</a></h2><p>Boats of kind {n} leave here.</p></section>"
        )
    };
    let list = |host: &str| (1..=6).map(|n| entry(host, n)).collect::<String>();
    let page = |host: &str| {
        let head = "<meta property='og:type' content='article'><body><article><h1>Six quays</h1>";
        format!("{head}{}{}</article>", PROSE.repeat(3), list(host))
    };
    let elsewhere = extract(&page("quays.test")).content;
    assert!(elsewhere.contains("Quay number 1") && elsewhere.contains("Boats of kind 6"), "{elsewhere}");
    for own in ["harbour.example", "www.harbour.example"] {
        let content = extract(&page(own)).content;
        assert!(!content.contains("Boats of kind"), "{own}: {content}");
    }
}

#[test]
fn article_of_linked_headings_keeps_its_items() {
    let item = |n: u32| {
        let text = format!("Boats of kind {n} leave here at noon, and the crew sells bread. ").repeat(6);
        format!("<section><h2><a href='/quay-{n}'>Quay number {n}</a></h2><p>{text}</p></section>")
    };
    let items: String = (1..=25).map(item).collect();
    let head = "<meta property='og:type' content='article'><body>";
    let page = format!("{head}<article><h1>The best quays</h1>{}{items}</article>", PROSE.repeat(3));
    let content = extract(&page).content;
    assert!(content.contains("kind 1 leave") && content.contains("kind 25 leave"), "{content}");
}

#[test]
fn teasers_after_an_article_are_removed_at_any_share() {
    let teaser = |n: u32| {
        format!(
            "<li><h3><a href='/quay-{n}'>Quay number {n}</a></h3><p>{}</p></li>",
            "Boats leave here. ".repeat(12)
        )
    };
    let list = (1..=30).map(teaser).collect::<String>();
    let text = ["Sundays", "Mondays", "Fridays"].map(|day| PROSE.replace("Sundays", day)).concat();
    let has_teasers = |heading: &str, text: &str| {
        let page = format!(
            "<meta property='og:type' content='article'><body><div>{heading}<div>{text}</div></div><ul>{list}</ul>"
        );
        extract(&page).content.contains("Boats leave")
    };
    let heading = "<h1>The timetable</h1>";
    assert!(!has_teasers(heading, &text));
    assert!(has_teasers(heading, "<p>All quays of the harbour.</p>"), "a list");
    assert!(has_teasers("", &text), "without a heading");
}

#[test]
fn the_canonical_url_names_the_site_of_a_copied_page() {
    let teaser = |n: u32| {
        format!(
            "<section><h2><a href='https://quays.test/quay-{n}'>Quay number {n}</a></h2><p>Boats of kind {n} leave.</p></section>"
        )
    };
    let list = (1..=6).map(teaser).collect::<String>();
    let content = |canonical: &str| {
        let head =
            format!("<link rel=canonical href='{canonical}'><meta property='og:type' content='article'>");
        extract(&format!("{head}<body><article><h1>Six quays</h1>{}{list}</article>", PROSE.repeat(3)))
            .content
    };
    let copied = content("https://www.quays.test/timetable");
    assert!(copied.contains("bicycles") && !copied.contains("Boats of kind"), "{copied}");
    let own = content("https://harbour.example/news/2026/05/ferry-timetable");
    assert!(own.contains("Boats of kind"), "{own}");
}

#[test]
fn sections_in_boxes_of_one_class_stay_together() {
    let text = |name: &str| format!("<p>The {name} opens the text.</p>{}", PROSE.replace("Sundays", name));
    let long: String = (1..=14).map(|n| text(&format!("day {n}"))).collect();
    let page = format!(
        "<meta property='og:type' content='article'><body><main><h1>The timetable</h1><div class='row wide'>{}</div>\
        <div class='row wide'>{long}</div><div class='row'>{}</div><div class='row wide'><p>Follow the harbour.</p></div></main>",
        text("introduction").repeat(2),
        text("other box").repeat(2)
    );
    let content = extract(&page).content;
    assert!(content.contains("The introduction opens") && content.contains("The day 14 opens"), "{content}");
    assert!(!content.contains("The other box opens") && !content.contains("Follow the"), "{content}");
}

#[test]
fn headings_and_lists_between_text_parts_stay() {
    let part = |name: &str, more: usize| {
        format!("<div class='part wide'>{}{}</div>", PROSE.replace("Sundays", name), PROSE.repeat(more))
    };
    let page = format!(
        "<meta property='og:type' content='article'><body><div><div class=line>Follow the first boat.</div>{}\
        <h2>The prices</h2><table><tr><td>Adults</td><td>four coins</td></tr><tr><td>Bicycles</td><td>two</td></tr></table>\
        <div class='part note'><p>The harbour master sells them too, in the small house beside the crane, until the last boat has left.</p></div>\
        <div class='call'><p>The harbour has a newsletter with the weather, the tides and the boats, and it is free for all.</p></div>\
        <div class=part>Follow us.</div>{}<h2>The weather</h2></div>",
        part("Mondays", 6),
        part("Fridays", 1)
    );
    let content = extract(&page).content;
    for kept in ["Mondays", "## The prices", "four coins", "The harbour master", "Fridays"] {
        assert!(content.contains(kept), "{kept}: {content}");
    }
    for left_out in ["Follow", "newsletter", "The weather"] {
        assert!(!content.contains(left_out), "{left_out}: {content}");
    }
}

#[test]
fn slides_of_a_carousel_are_content() {
    let slide = |n: u32| {
        format!(
            "<li class='bp-Carousel__cell' aria-hidden='{}'><p>House number {n} has a garden, a cellar and a view of the \
            harbour.</p></li>",
            n > 1
        )
    };
    let slides: String = (1..=3).map(slide).collect();
    let page = format!("<body><h1>Houses</h1>{PROSE}<ul>{slides}</ul>");
    let content = extract(&page).content;
    assert!(content.contains("House number 3"), "{content}");
    let other = page.replace("bp-Carousel__cell", "entry");
    assert!(!extract(&other).content.contains("House number 3"));
}

#[test]
fn lists_of_links_to_other_sites_are_content() {
    let list = |hosts: [&str; 2]| -> String {
        let link = |n: usize| format!("<li><a href='https://{}/?map={n}'>Old map {n}</a></li>", hosts[n % 2]);
        (1..=6).map(link).collect()
    };
    let has_list = |hosts: [&str; 2], after: &str| {
        let text = |day: &str| PROSE.replace("Sundays", day);
        let head = "<meta property='og:type' content='article'><body><article><h1>Six maps</h1>";
        let page = format!(
            "{head}{PROSE}{}{}<ul>{}</ul>{after}</article>",
            text("Mondays"),
            text("Fridays"),
            list(hosts)
        );
        extract(&page).content.contains("Old map 6")
    };
    let text = PROSE.replace("Sundays", "Tuesdays");
    assert!(has_list(["maps.test"; 2], &text));
    // the site, its name under another suffix, and a button that shares the page
    for own in ["harbour.example", "www.harbour.test", "share.test/?of=https://harbour.example"] {
        assert!(!has_list([own; 2], &text), "{own}");
    }
    assert!(
        has_list(["maps.test/?utm_source=harbour.example"; 2], &text),
        "a tag of the source shares nothing"
    );
    // behind the text: offers of one shop, and sources
    let no_prose = "<p>Every map is kept in the tower.</p>";
    assert!(!has_list(["shop.test"; 2], no_prose));
    assert!(has_list(["maps.test", "library.test"], no_prose));
}

#[test]
fn header_with_the_text_of_a_short_page_is_kept() {
    let text =
        "For further questions about our ferries and their timetables, please write to the harbour office.";
    let page = |inner: &str| {
        let links = "<a href=/a>Harbours</a> <a href=/b>Islands</a> <a href=/c>Boats</a> ".repeat(9);
        format!(
            "<body><div class=nav>{links}</div><header><h3>Contact us</h3>{inner}</header><footer>{links}</footer>"
        )
    };
    let content = extract(&page(&format!("<p>{text}</p>"))).content;
    assert!(content.contains("harbour office") && content.contains("Contact us"), "{content}");
    let twice = format!("{text} {text}");
    let beside = extract(&format!("{}<div>{PROSE}</div>", page(&format!("<p>{twice}</p>")))).content;
    assert!(beside.contains("bicycles") && beside.contains("Contact us"), "{beside}");
    // A slogan or a menu is no part of it.
    for inner in ["<p>Boats for all.</p>".to_owned(), format!("<a href=/d>{twice}</a>")] {
        let content = extract(&format!("{}<div>{PROSE}</div>", page(&inner))).content;
        assert!(content.contains("bicycles") && !content.contains("Contact us"), "{content}");
    }
    // A notice, or the description of a blog, before the page's own title or beside a longer text.
    let notice = page(&format!("<p>{text}</p>"));
    for rest in [format!("<h1>Ferries</h1>{PROSE}"), PROSE.repeat(2)] {
        let content = extract(&format!("{notice}<div>{rest}</div>")).content;
        assert!(content.contains("bicycles") && !content.contains("Contact us"), "{content}");
    }
}

#[test]
fn collection_keeps_its_sections_of_links() {
    let card = |n: u32| {
        format!(
            "<div class=item><a href=/news/{n}>The harbour number {n} opens its new northern quay for the ferries of the island</a>\
            <p>Its {n} boats sail at noon, and come back.</p></div>"
        )
    };
    let cards: String = (1..=12).map(card).collect();
    let prose: String = ["seven", "eight", "ten"].iter().map(|hour| PROSE.replace("seven", hour)).collect();
    let url = |path: &str| url::Url::parse(&format!("https://harbour.example/{path}")).unwrap();
    let has_cards = |data: &str, path: &str, more: &str| {
        let page = format!(
            "<script type='application/ld+json'>{{\"@type\": \"{data}\"}}</script><body>{more}<h2>News</h2><div>{prose}</div>\
            <div class=list>{cards}</div>"
        );
        let extractor = PageExtractor::new(Options::default()).unwrap();
        let content = extractor.extract(&Input::new(page.as_bytes()).with_url(&url(path))).content;
        assert!(content.contains("bicycles"), "{content}");
        content.contains("new northern quay")
    };
    assert!(has_cards("CollectionPage", "ferries/all", ""));
    assert!(!has_cards("WebPage", "ferries/all", ""));
    // Products and events have lists of related things.
    assert!(!has_cards("ItemList", "ferries/all", ""));
    // A start page, with as many points as a page of news; and the only article of a site.
    let dated = "<meta property='article:published_time' content='2026-05-01'><h1>Ferries</h1>";
    let site = format!("<meta property=og:type content=website>{dated}");
    assert!(has_cards("WebPage", "", &site));
    assert!(!has_cards("WebPage", "", dated));
    assert!(!has_cards("WebPage", "ferries", dated));
}

#[test]
fn text_beside_a_data_table_stays_if_the_table_has_most_points() {
    let row = |n: u32| {
        format!(
            "<tr><td>{n}</td><td>Lecture {n}: tides, currents, winds, and how a crew reads them before the boat \
            leaves.</td></tr>"
        )
    };
    let rows = (1..=20).map(row).collect::<String>();
    let page = format!(
        "<body><h3>Seamanship, autumn term</h3><div>This class is about ferries.</div>\
        <ul><li>Room 12, Monday and Thursday</li></ul><table><tr><th>Day</th><th>Lecture</th></tr>{rows}</table>"
    );
    let content = extract(&page).content;
    for text in ["This class is about ferries", "Room 12", "Lecture 20"] {
        assert!(content.contains(text), "{text}: {content}");
    }
}
