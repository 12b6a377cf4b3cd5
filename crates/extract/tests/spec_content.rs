//! Heuristics reference §4 and §5: removals before extraction, the choice between candidates, and the DOM
//! heuristic.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::{Extraction, Extractor};
use std::sync::LazyLock;

static EXTRACTOR: LazyLock<PageExtractor> = LazyLock::new(|| PageExtractor::new(Options::default()).unwrap());

fn extract(html: &str) -> Extraction {
    EXTRACTOR.extract(&Input::new(html.as_bytes()).with_content_type("text/html"))
}

fn words(word: &str, count: usize) -> String {
    format!("{word} ").repeat(count)
}

/// An article of 80 words with a box in it.
fn article_with(inside: &str) -> String {
    let text =
        "<p>The ferry leaves the quay at six, and it comes back at nine with the post of the islands.</p>"
            .repeat(4);
    format!("<body><main><article><h1>The ferry</h1>{text}{inside}</article></main></body>")
}

const BOX: &str = "Zebra words of a box that nobody should read";

fn is_kept(html: &str) -> bool {
    let content = extract(html).content;
    assert!(content.contains("The ferry leaves the quay"), "{html}: {content}");
    content.contains("Zebra")
}

#[test]
fn templates_are_not_content() {
    assert!(!is_kept(&article_with(&format!("<template><p>{BOX}</p></template>"))));
}

#[test]
fn consent_managers_are_removed_by_their_names() {
    let file: toml::Table = include_str!("../../../config/rules/consent.toml").parse().unwrap();
    let managers = file["manager"].as_array().unwrap();
    let selectors: usize = managers.iter().map(|m| m["selectors"].as_array().unwrap().len()).sum();
    let generic = file["generic"]["selectors"].as_array().unwrap().len();
    assert!(selectors >= 30 && generic >= 30, "{selectors} of managers, {generic} generic");
    for attribute in [
        "class=cky-consent-container",
        "id=CybotCookiebotDialog",
        "id=onetrust-banner-sdk",
        "class=cmplz-cookiebanner",
        "id=BorlabsCookieBox",
        "id=moove_gdpr_cookie_info_bar",
        "class=gdpr-cookie-consent-bar",
        "class=cookie-banner",
        "id=cookie-notice",
    ] {
        let banner = format!("<div {attribute}><p>{BOX}</p></div>");
        assert!(!is_kept(&article_with(&banner)), "{attribute}");
        assert!(!is_kept(&article_with("").replace("<main>", &format!("{banner}<main>"))), "{attribute}");
    }
}

#[test]
fn unknown_consent_widget_is_removed_by_its_words() {
    let widget = |text: &str| {
        article_with("").replace("<main>", &format!("<div class=x-cookie-7f3a><p>{text}</p></div><main>"))
    };
    assert!(!is_kept(&widget("Zebra: we use cookies to count the readers of this page.")));
}

#[test]
fn long_banner_with_a_button_of_consent_is_removed_from_a_short_page() {
    let row = "<tr><td>_id</td><td>Zebra: it counts the readers of this page and their visits within a year.</td></tr>";
    let has_row = |html: &str| extract(html).content.contains("Zebra");
    let page = |button: &str| {
        let banner = format!(
            "<div class=my-cookies><p>Your privacy matters.</p><table>{}</table>{button}</div>",
            row.repeat(30)
        );
        format!("<body><div><p>{}</p></div>{banner}</body>", words("ferry", 60))
    };
    assert!(!has_row(&page("<button>Accept all</button>")));
    // a description of cookies is a page's text
    assert!(has_row(&page("<button>Print</button>")));
    let policy = format!(
        "<body><div class=cookie-policy><h2>Cookies</h2><p>Your privacy matters.</p><table>{}</table><button>Accept all cookies</button></div></body>",
        row.repeat(30)
    );
    assert!(has_row(&policy));
}

/// A box with one paragraph.
fn paragraph(count: usize) -> Extraction {
    extract(&format!("<body><div><p>{}</p></div></body>", words("ferry", count)))
}

#[test]
fn each_extractor_needs_its_minimum_of_words() {
    for (count, extractor) in [
        (50, Extractor::Readability),
        (49, Extractor::Trafilatura),
        (30, Extractor::Trafilatura),
        (29, Extractor::DomDensity),
        (10, Extractor::DomDensity),
        (9, Extractor::BodyFallback),
    ] {
        assert_eq!(paragraph(count).extractor, extractor, "{count} words");
    }
}

#[test]
fn blocks_win_with_two_fifths_more_words_than_the_container() {
    let chosen = |more: usize| {
        let text = format!("<p>{}</p>", words("ferry,", 50)).repeat(2);
        let list = format!("<ul><li>{}</li></ul>", words("island", more));
        let page = format!("<body><div><div>{text}</div></div><div><section>{list}</section></div></body>");
        extract(&page).extractor
    };
    assert_eq!([chosen(39), chosen(40)], [Extractor::Readability, Extractor::Trafilatura]);
}

const SELECTORS: [&str; 19] = [
    "<article>",
    "<main>",
    "<div role=main>",
    "<div itemprop=articleBody>",
    "<div class=post-content>",
    "<div class=article-content>",
    "<div class=entry-content>",
    "<div class=post-body>",
    "<div class=article-body>",
    "<div id=article-content>",
    "<div id=post-content>",
    "<div id=entry-content>",
    "<div id=content>",
    "<div id=main-content>",
    "<div class=content-body>",
    "<div class=story-body>",
    "<div class=blog-post>",
    "<div class=post>",
    "<div class=single-content>",
];

fn element(open: &str, text: &str) -> String {
    let name: String = open[1..].chars().take_while(char::is_ascii_alphanumeric).collect();
    format!("{open}<p>{text}</p></{name}>")
}

#[test]
fn the_first_selector_with_ten_words_wins() {
    for pair in SELECTORS.windows(2) {
        // the worse one comes first; together they are too few for the other extractors
        let page = |count: usize| {
            let (better, worse) =
                (element(pair[0], &words("better", count)), element(pair[1], &words("worse", 12)));
            extract(&format!("<body>{worse}{better}</body>"))
        };
        let chosen = page(10);
        assert_eq!(chosen.extractor, Extractor::PrioritySelector, "{pair:?}");
        assert!(chosen.content.contains("better") && !chosen.content.contains("worse"), "{pair:?}");
        let chosen = page(9);
        assert!(!chosen.content.contains("better") && chosen.content.contains("worse"), "{pair:?}");
    }
}

#[test]
fn non_content_elements_are_removed_regardless_of_names() {
    for tag in ["nav", "footer", "aside", "script", "style", "noscript", "select", "textarea"] {
        assert!(!is_kept(&article_with(&format!("<{tag}>{BOX}</{tag}>"))), "{tag}");
    }
    assert!(!is_kept(&article_with("").replace("<main>", &format!("<header><p>{BOX}</p></header><main>"))));
    assert!(!is_kept(&article_with(&format!("<input value='{BOX}'>"))));
    assert!(!is_kept(&article_with("<button>Zebra now</button>")));
}

#[test]
fn button_inside_a_sentence_is_kept() {
    let paragraph = |before: &str, behind: &str| {
        is_kept(&article_with(&format!("<p>{before} <button>Zebra lines</button> {behind}</p>")))
    };
    assert!(paragraph("They follow the", "on the floor of the hall."));
    assert!(!paragraph("They follow the line.", "on the floor of the hall."));
    assert!(!paragraph("They follow the line…", "Jane, a passenger"));
    assert!(!paragraph("They follow the", "<span hidden>on the floor</span>"));
    assert!(!paragraph("They follow the", ""));
}

#[test]
fn boilerplate_names_are_removed_as_class_and_id() {
    for name in [
        "sidebar",
        "comment",
        "advertisement",
        "banner",
        "promo",
        "related",
        "share",
        "social",
        "newsletter",
        "popup",
        "modal",
        "widget",
    ] {
        for attribute in [format!("class={name}"), format!("id={name}"), format!("class='x-{name} y'")] {
            assert!(!is_kept(&article_with(&format!("<div {attribute}><p>{BOX}</p></div>"))), "{attribute}");
        }
    }
    // a word alone is no sign of consent
    let cookie = |text: &str| is_kept(&article_with(&format!("<div class=cookie><p>{text}</p></div>")));
    assert!(cookie("Zebra biscuits are baked with butter and flour."));
}

#[test]
fn boilerplate_name_counts_only_as_a_whole_word() {
    for name in ["recommented", "xsidebary", "nodesponsor", "unrelated"] {
        assert!(is_kept(&article_with(&format!("<div class={name}><p>{BOX}</p></div>"))), "{name}");
    }
}

#[test]
fn density_score_is_words_times_density() {
    // 12 words of 12 are 12 points; 13 of 16 are 10.6
    let page = format!(
        "<body><div><p>{}</p></div><div><p>{}</p>{}</div></body>",
        words("dense", 12),
        words("thin", 13),
        words("loose", 3)
    );
    let chosen = extract(&page);
    assert_eq!(chosen.reason, "the densest element holds only 43 % of the words");
    // 13 of 14 are 12.07 points
    let page = page.replace("loose loose ", "");
    assert_eq!(extract(&page).reason, "the densest element holds only 54 % of the words");
}

#[test]
fn one_element_with_55_percent_of_the_words_is_the_content() {
    let page = |beside: usize| {
        extract(&format!(
            "<body><div><p>{}</p></div><span>{}</span></body>",
            words("inside", 11),
            words("beside", beside)
        ))
    };
    let whole = page(10);
    assert_eq!(whole.extractor, Extractor::BodyFallback, "11 of 21 are 52 %: {}", whole.reason);
    assert!(whole.content.contains("inside") && whole.content.contains("beside"));
    let one = page(9);
    assert_eq!(one.extractor, Extractor::DomDensity, "11 of 20 are 55 %: {}", one.reason);
    assert!(one.content.contains("inside") && !one.content.contains("beside"));
}

#[test]
fn without_ten_words_of_paragraphs_the_body_is_the_content() {
    let found =
        extract(&format!("<body><div><p>{}</p></div><div>{}</div></body>", words("in", 9), words("out", 9)));
    assert_eq!(found.extractor, Extractor::BodyFallback);
    assert!(found.content.contains("in in") && found.content.contains("out out"), "{}", found.content);
}

#[test]
fn a_page_without_a_body_is_read_whole() {
    let found = extract("The quay is closed until nine tomorrow<br>and nothing leaves before that");
    assert!(
        found.content.contains("The quay is closed") && found.content.contains("nothing leaves"),
        "{}",
        found.content
    );
}

#[test]
fn boilerplate_name_around_the_prose_is_ignored() {
    let text = "The ferry leaves the quay at six, and it comes back at nine with the post of the islands.";
    let boxes = format!("<div class=widget><p>{text}</p></div>").repeat(8);
    let found = extract(&format!("<body><div><h1>The ferry</h1>{boxes}</div></body>"));
    assert_eq!(found.content.matches("The ferry leaves").count(), 8, "{}", found.content);
    // a footer that was opened too early holds the page
    let found = extract(&format!(
        "<body><footer><h1>The ferry</h1>{}</footer></body>",
        format!("<p>{text}</p>").repeat(8)
    ));
    assert_eq!(found.content.matches("The ferry leaves").count(), 8, "{}", found.content);
}

#[test]
fn noscript_is_read_on_nearly_empty_pages() {
    let text =
        format!("<noscript><p>{}</p></noscript>", "The quay is closed and the boats stay in. ".repeat(10));
    assert!(
        extract(&format!("<body><div id=x>Loading</div>{text}</body>"))
            .content
            .contains("The quay is closed")
    );
    let long = article_with(&format!("<p>{}</p>{text}", words("ferry,", 100)));
    assert!(!extract(&long).content.contains("The quay is closed"));
}

#[test]
fn noscript_is_read_behind_long_menus() {
    let links = |kind: &str, count: u32| -> String {
        (0..count)
            .map(|n| format!("<li><a href=/{kind}/{n}>The {kind} entry with number {n}</a></li>"))
            .collect()
    };
    let page = |shown: &str| {
        format!(
            "<body><nav><ul>{}</ul></nav><main><div id=app>{shown}</div><noscript><p>{}</p></noscript></main><footer><ul>{}</ul></footer>",
            links("menu", 30),
            "The quay is closed and the boats stay in. ".repeat(60),
            links("footer", 20)
        )
    };
    assert!(extract(&page("")).content.contains("boats stay in"));
    // a page with text of its own needs no replacement
    let shown = format!("<p>{}</p>", "The ferry leaves at seven and returns at nine. ".repeat(40));
    assert!(!extract(&page(&shown)).content.contains("boats stay in"));
}
