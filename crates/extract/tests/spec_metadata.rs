//! Heuristics reference §8: where a page's language is taken from, and in what order.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::PageMetadata;

fn metadata(html: &str) -> PageMetadata {
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor.extract(&Input { bytes: html.as_bytes(), url: None, content_type: Some("text/html") }).metadata
}

const LOCALE: &str = "<meta property=og:locale content=fr_FR>";
const JSON: &str = r#"<script type=application/ld+json>{"@type":"Article","inLanguage":"es"}</script>"#;
const EQUIV: &str = "<meta http-equiv=content-language content=it>";
const NAME: &str = "<meta name=language content=pt>";

#[test]
fn the_language_is_that_of_the_first_place_that_names_one() {
    let language =
        |lang: &str, head: &str| metadata(&format!("<html {lang}><head>{head}</head><body>x")).language;
    let all = format!("{NAME}{EQUIV}{JSON}{LOCALE}");
    assert_eq!(language("lang=de", &all).as_deref(), Some("de"));
    assert_eq!(language("", &all).as_deref(), Some("fr"));
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
    // what the text is written in stands in a field of its own
    assert_eq!(page.language_detected.as_deref(), Some("en"));
}

fn title(url: &str, html: &str) -> Option<String> {
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let url = url::Url::parse(url).unwrap();
    let input = Input { bytes: html.as_bytes(), url: Some(&url), content_type: Some("text/html") };
    extractor.extract(&input).metadata.title
}

#[test]
fn a_heading_with_the_name_of_the_site_is_not_the_title_of_its_pages() {
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
fn a_link_to_the_start_page_names_the_site_in_a_title() {
    let html = "<title>Harbour notes - Timetables of the old ferry</title><body><a href='/notes/index.html'>Harbour notes</a><p>The ferry leaves at noon.";
    let found = title("http://holm.example/notes/timetables/1.html", html);
    assert_eq!(found.as_deref(), Some("Timetables of the old ferry"));
}

#[test]
fn an_ending_of_the_declared_title_is_kept_where_the_site_has_another_name() {
    let html = "<title>The dignity of life – a project | Large questions</title><meta property=og:site_name content='Large questions'>\
        <meta property=og:title content='The dignity of life – a project'><body><p>The ferry leaves at noon.";
    let found = title("http://holm.example/a", html);
    assert_eq!(found.as_deref(), Some("The dignity of life – a project"));
}

#[test]
fn a_page_without_a_title_is_called_by_its_first_heading() {
    let html = "<title></title><body><h1></h1><h2># Why ferries?</h2><p>The ferry leaves at noon.";
    assert_eq!(title("http://holm.example/a", html).as_deref(), Some("Why ferries?"));
}

#[test]
fn the_value_of_a_meta_element_counts_where_it_has_no_content() {
    let html = "<title>x</title><meta name=og:title value='The ferry in winter'><meta name=author value='Ada Holm'><body><p>The ferry.";
    let page = metadata(html);
    assert_eq!(page.title.as_deref(), Some("The ferry in winter"));
    assert_eq!(page.authors, ["Ada Holm"]);
}
