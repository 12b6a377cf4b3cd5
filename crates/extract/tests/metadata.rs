//! Titles, authors and dates: one cause a test, on pages of our own.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::PageMetadata;

fn metadata(url: &str, html: &str) -> PageMetadata {
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let url = url::Url::parse(url).unwrap();
    let input = Input { bytes: html.as_bytes(), url: Some(&url), content_type: Some("text/html") };
    extractor.extract(&input).metadata
}

fn title(head: &str, body: &str) -> String {
    let html =
        format!("<head>{head}</head><body>{body}<p>The ferry leaves at noon from the old harbour.</p>");
    metadata("http://holm.example/notes/a/b.html", &html).title.unwrap_or_default()
}

#[test]
fn a_heading_that_links_to_the_start_page_names_the_site() {
    let body = "<h1><a href='/notes/'>Harbour notes of Holm</a></h1><h1>Ferry in winter</h1>";
    assert_eq!(title("<title>Ferry in winter — Harbour notes of Holm</title>", body), "Ferry in winter");
}

#[test]
fn a_kicker_or_a_subtitle_in_the_heading_is_no_part_of_the_title() {
    let head = "<title>Ferry stops for the winter | Harbour Press</title><meta property=og:title content='Ferry stops for the winter'>";
    for heading in [
        "<h1><span>Timetables</span> Ferry stops for the winter</h1>",
        "<h1>Ferry stops for the winter<small>Islanders have to wait for spring</small></h1>",
    ] {
        assert_eq!(title(head, heading), "Ferry stops for the winter");
    }
    // In one text it is part of it.
    let longer = "Ferry stops for the winter, and islanders have to wait";
    assert_eq!(title(head, &format!("<h1>{longer}</h1>")), longer);
}

#[test]
fn a_heading_that_says_more_than_a_section_of_the_title_is_not_the_site() {
    let head = "<title>winter - How does the ferry cross the ice? - Ask Holm</title>";
    let body = "<h1>How does the ferry cross the ice?</h1><h1>Winter</h1><h1>Spring</h1>";
    assert_eq!(title(head, body), "How does the ferry cross the ice?");
}

#[test]
fn a_breadcrumb_of_the_page_itself_does_not_name_the_site() {
    let head = "<title>The ferry: winter timetable | Holm port</title>";
    let body = "<a href='/notes/'>The ferry: winter timetable</a><h1>The ferry: winter timetable</h1><h1>Photographs of the ferry</h1>";
    assert_eq!(title(head, body), "The ferry: winter timetable");
}

#[test]
fn the_name_of_the_site_is_cut_off_with_the_slogan_behind_it() {
    let head = "<title>The oldest ferry of them all : Port archive | All about boats | Since 2005</title>";
    let body = "<h1><a href='/'>Port archive</a></h1><h3>The oldest ferry of them all</h3>";
    assert_eq!(title(head, body), "The oldest ferry of them all");
}

#[test]
fn a_title_whose_page_part_is_empty_gives_way_to_the_heading() {
    assert_eq!(title("<title>| Harbour & Port Magazine</title>", "<h1>Timetables</h1>"), "Timetables");
}

#[test]
fn the_name_of_the_domain_in_a_heading_is_not_the_title() {
    let html = "<title>Ferries vs holm? What is faster in winter</title><body><h1>Holm</h1><p>The ferry leaves at noon.";
    let found = metadata("http://forum.holm.example/thread-7.html", html).title;
    assert_eq!(found.as_deref(), Some("Ferries vs holm? What is faster in winter"));
}

#[test]
fn of_two_headings_the_one_nearest_to_the_title_is_taken() {
    let head = "<title>Same-day winter crossings on the ferry in Holm, South</title>";
    let body =
        "<h1>Winter crossings on the ferry in Holm and the South Isles</h1><h1>Winter crossings in Holm</h1>";
    assert_eq!(title(head, body), "Winter crossings on the ferry in Holm and the South Isles");
}
