//! Heuristics reference §8: sources of a page's language, and their order.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::PageMetadata;

fn metadata(html: &str) -> PageMetadata {
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor.extract(&Input::new(html.as_bytes()).with_content_type("text/html")).metadata
}

const LOCALE: &str = "<meta property=og:locale content=fr_FR>";
const JSON: &str = r#"<script type=application/ld+json>{"@type":"Article","inLanguage":"es"}</script>"#;
const EQUIV: &str = "<meta http-equiv=content-language content=it>";
const NAME: &str = "<meta name=language content=pt>";

#[test]
fn language_comes_from_the_first_declaring_source() {
    let language =
        |lang: &str, head: &str| metadata(&format!("<html {lang}><head>{head}</head><body>x")).language;
    let all = format!("{NAME}{EQUIV}{JSON}{LOCALE}");
    assert_eq!(language("lang=de", &all).as_deref(), Some("de"));
    assert_eq!(language("", &all).as_deref(), Some("fr"));
    assert_eq!(language("lang=und", &all).as_deref(), Some("fr"), "no language");
    assert_eq!(language("", &format!("{NAME}{EQUIV}{JSON}")).as_deref(), Some("es"));
    assert_eq!(language("", EQUIV).as_deref(), Some("it"));
    assert_eq!(language("", NAME).as_deref(), Some("pt"));
    assert_eq!(language("", ""), None);
}

#[test]
fn a_locale_loses_its_region() {
    let page = metadata("<html><head><meta property=og:locale content=en_US></head><body>x");
    assert_eq!(page.language.as_deref(), Some("en"));
}

#[test]
fn a_language_that_is_not_declared_is_not_guessed() {
    let text =
        "The ferry leaves the old harbour every morning and returns in the evening with the post. ".repeat(9);
    let page = metadata(&format!("<html><body><p>{text}</p></body></html>"));
    assert_eq!(page.language, None);
    // the language of the text is in its own field
    assert_eq!(page.language_detected.as_deref(), Some("en"));
}

fn title(url: &str, html: &str) -> Option<String> {
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let url = url::Url::parse(url).unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
    extractor.extract(&input).metadata.title
}

#[test]
fn heading_with_the_site_name_is_not_the_title() {
    let page = |title_of: &str, site: &str, own: &str| {
        title(
            "http://holm.example/a/b.html",
            &format!(
                "<title>{title_of}</title><body><h1>{site}</h1><h2>{own}</h2><p>The ferry leaves at noon."
            ),
        )
    };
    let own = Some("The ferry in winter".to_owned());
    assert_eq!(page("The ferry in winter | Harbour notes", "Harbour notes", "The ferry in winter"), own);
    assert_eq!(
        page("Harbour notes » Archive » The ferry in winter", "Harbour notes", "The ferry in winter"),
        own
    );
}

#[test]
fn start_page_link_identifies_the_site_name_in_titles() {
    let html = "<title>Harbour notes - Timetables of the old ferry</title><body><a href='/notes/index.html'>Harbour notes</a><p>The ferry leaves at noon.";
    let found = title("http://holm.example/notes/timetables/1.html", html);
    assert_eq!(found.as_deref(), Some("Timetables of the old ferry"));
}

#[test]
fn declared_title_ending_stays_if_the_site_name_differs() {
    let html = "<title>The dignity of life – a project | Large questions</title><meta property=og:site_name content='Large questions'>\
        <meta property=og:title content='The dignity of life – a project'><body><p>The ferry leaves at noon.";
    let found = title("http://holm.example/a", html);
    assert_eq!(found.as_deref(), Some("The dignity of life – a project"));
}

#[test]
fn page_without_a_title_takes_its_first_heading() {
    let html = "<title></title><body><h1></h1><h2># Why ferries?</h2><p>The ferry leaves at noon.";
    assert_eq!(title("http://holm.example/a", html).as_deref(), Some("Why ferries?"));
}

#[test]
fn meta_value_replaces_a_missing_content_attribute() {
    let html = "<title>x</title><meta name=og:title value='The ferry in winter'><meta name=author value='Ada Holm'><body><p>The ferry.";
    let page = metadata(html);
    assert_eq!(page.title.as_deref(), Some("The ferry in winter"));
    assert_eq!(page.authors, ["Ada Holm"]);
}

fn authors(json: &str, body: &str) -> Vec<String> {
    metadata(&format!(
        r#"<script type=application/ld+json>{{"@type":"NewsArticle","author":{json}}}</script><body><h1>The ferry in winter</h1>{body}<p>The ferry leaves at noon."#
    ))
    .authors
}

#[test]
fn the_name_of_a_month_may_be_a_first_name() {
    assert_eq!(authors(r#"{"name":"Jan Koch"}"#, ""), ["Jan Koch"]);
    assert_eq!(authors(r#"["April Ho","Marco Rossi"]"#, ""), ["April Ho", "Marco Rossi"]);
    assert!(authors(r#""March 5""#, "").is_empty());
}

#[test]
fn an_author_has_a_given_and_a_family_name() {
    let json = r#"{"@type":"Person","givenName":"Ada","familyName":"Holm"}"#;
    assert_eq!(authors(json, ""), ["Ada Holm"]);
}

#[test]
fn byline_precedes_an_organization_in_the_data() {
    let json = r#"{"@type":"Organization","name":"Harbour Press"}"#;
    assert_eq!(authors(json, "<p class=byline>By Ada Holm</p>"), ["Ada Holm"]);
    assert_eq!(authors(json, ""), ["Harbour Press"]);
}

#[test]
fn character_reference_in_a_name_is_decoded() {
    assert_eq!(authors(r#""Ren&eacute; Holm""#, ""), ["René Holm"]);
}

#[test]
fn time_or_placeholder_is_not_an_author() {
    for junk in ["2016: 3:42 PM ET", "Lesedauer", "No Author"] {
        assert!(authors(&format!("{junk:?}"), "").is_empty(), "{junk}");
    }
}

#[test]
fn version_number_is_not_a_date() {
    let published =
        |line: &str| metadata(&format!("<body><h1>Notes</h1><p>{line}</p><p>The ferry.")).published;
    for version in ["Version 3.2.25", "Release 1.10.3.24", "Holm 2.0.13"] {
        assert_eq!(published(version), None, "{version}");
    }
    assert_eq!(published("03.02.25").as_deref(), Some("2025-02-03"));
    assert_eq!(published("1 May 2064"), None);
}

#[test]
fn publication_date_stays_if_modified_the_same_day() {
    let page = metadata(
        r#"<script type=application/ld+json>{"@type":"NewsArticle","datePublished":"2020-01-02T06:14:00+01:00","dateModified":"2020-01-02T06:14:29+01:00"}</script>
        <body><h1>The ferry in winter</h1><p>1 January 2020</p><p>The ferry leaves at noon."#,
    );
    assert_eq!(page.published.as_deref(), Some("2020-01-02T06:14:00+01:00"));
}
