//! HTML cleaner impact: removed parts, candidates for the content, and the output text.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Format, Input, Options, PageExtractor};
use crawl_model::Extraction;
use std::sync::LazyLock;

static EXTRACTOR: LazyLock<PageExtractor> =
    LazyLock::new(|| PageExtractor::new(Options::default().with_format(Format::Text)).unwrap());

fn extract(html: &str, content_type: Option<&str>) -> Extraction {
    EXTRACTOR.extract(&Input::new(html.as_bytes()).with_content_type(content_type))
}

fn text(html: &str) -> String {
    extract(html, Some("text/html")).content
}

const PROSE: &str =
    "<p>The ferry leaves the quay at six, and it comes back at nine with the post of the islands.</p>";

/// A page of prose with a part after it, beside the main element and inside of it.
fn around(piece: &str) -> [String; 2] {
    let prose = PROSE.repeat(4);
    [
        format!("<body><main><h1>The ferry</h1>{prose}</main>{piece}</body>"),
        format!("<body><div><h1>The ferry</h1>{prose}{piece}</div></body>"),
    ]
}

#[track_caller]
fn is_removed(piece: &str) {
    for page in around(piece) {
        let text = text(&page);
        assert!(text.contains("The ferry leaves the quay") && !text.contains("Zebra"), "{piece}: {text}");
    }
}

#[test]
fn navigation_and_script_elements_are_removed() {
    for tag in ["footer", "nav", "script", "style", "noscript"] {
        is_removed(&format!("<{tag}>Zebra links of the harbour office</{tag}>"));
    }
    let header =
        format!("<body><header><p>Zebra links of the office</p></header><main>{PROSE}</main></body>");
    assert!(!text(&header).contains("Zebra"));
}

#[test]
fn iframes_of_other_sites_are_removed() {
    is_removed(
        "<iframe src=https://siteintercept.example/x title=Zebra>Zebra survey of the harbour office</iframe>",
    );
}

#[test]
fn listed_classes_are_removed() {
    for class in [
        "navbar",
        "navigation",
        "nav",
        "footer",
        "site-footer",
        "sidebar",
        "widget",
        "modal",
        "popup",
        "cookie-banner",
        "social",
        "page-modal modal",
    ] {
        is_removed(&format!("<div class='{class}'><p>Zebra links of the harbour office</p></div>"));
    }
    // a consent banner by its name and its words
    is_removed("<div class=consent><p>Zebra: we use cookies to count the readers of this page</p></div>");
}

#[test]
fn listed_ids_are_removed() {
    for id in ["navbar", "navigation", "footer", "modal", "ads", "comments", "site-footer", "cookie-banner"] {
        is_removed(&format!("<div id={id}><p>Zebra links of the harbour office</p></div>"));
    }
}

#[test]
fn without_an_anchor_all_text_is_cleaned() {
    let page = format!("<body><nav>Zebra</nav><table><tr><td>{}</td></tr></table></body>", PROSE.repeat(4));
    let text = text(&page);
    assert_eq!(text.matches("The ferry leaves").count(), 4, "{text}");
    assert!(!text.contains("Zebra"));
}

#[test]
fn white_space_is_folded_and_blank_lines_are_single() {
    let page = format!(
        "<body><main>{PROSE}<p>The\n\n  second   paragraph,\t\twhich has   a few more words than that.</p>\n\n\n{PROSE}</main></body>"
    );
    let text = text(&page);
    assert!(text.contains("The second paragraph, which has a few more words"), "{text}");
    assert!(!text.contains("\n\n\n") && !text.contains("  "), "{text:?}");
}

#[test]
fn boilerplate_lines_at_the_edges_are_removed() {
    for line in ["Return to top", "Skip to main content", "All rights reserved", "Privacy Policy | Zebra"] {
        let page = format!("<body><main>{}<p><a href=/x>{line}</a></p></main></body>", PROSE.repeat(4));
        assert!(!text(&page).contains(line), "{line}");
    }
}

#[test]
fn date_only_line_is_removed() {
    for line in
        ["Last Updated: 2025-04-10", "Last Reviewed/Updated: 04/10/2025", "Last Modified: April 10, 2025"]
    {
        let page = format!("<body><main>{PROSE}<p>{line}</p>{}</main></body>", PROSE.repeat(3));
        let text = text(&page);
        assert!(!text.contains("2025") && text.contains("The ferry"), "{line}: {text}");
    }
    // a sentence stays whole
    let sentence = "The timetable was last updated on 10 April 2025 by the harbour office.";
    let page = format!("<body><main>{PROSE}<p>{sentence}</p>{}</main></body>", PROSE.repeat(3));
    assert!(text(&page).contains(sentence));
}

#[test]
fn html_is_detected_and_other_text_cleaned_as_plain() {
    assert_eq!(extract("<div><p>The quay</p></div>", None).content, "The quay");
    let plain = "Wind < 5 and waves > 2\n\n\n\nfor all of the day.";
    assert_eq!(extract(plain, None).content, "Wind < 5 and waves > 2\n\nfor all of the day.");
}

/// A fixture's page and its extracted text.
fn example(source: &str) -> (usize, String) {
    (source.chars().count(), text(source))
}

#[test]
fn the_first_example_loses_its_footer() {
    let (chars, text) = example(include_str!("../../../fixtures/pages/office-footer/source.html"));
    // the specification cuts the line after "was"; here a sentence stays whole
    assert_eq!(text, "This office profile was last updated at 2023-07-07 08:16:42");
    assert!(text.len() * 100 < chars * 6, "{} of {chars} characters", text.len());
}

#[test]
fn second_example_keeps_the_listed_text() {
    let (chars, text) = example(include_str!("../../../fixtures/pages/policy-page-as-text/source.html"));
    let expected = "Important Policy Information\n\n\
        This is critical information about immigration policy that should be preserved.\n\
        Additional details about the process and requirements go here.\n\n\
        Key Points\n\n\
        Point 1 with significant detail\n\
        Point 2 with important guidance\n\
        Point 3 with regulatory information";
    assert_eq!(text, expected);
    // the listing has 285 characters, though the specification says 271
    assert_eq!(text.chars().count(), 285);
    assert!(text.chars().count() * 100 < chars * 35, "of {chars} characters");
}
