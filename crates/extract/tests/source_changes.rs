//! Pages whose source differs but not what a reader sees. `benches/metamorphic.py` tries such changes on real pages.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};

const HEAD: &str = "<title>The ferry</title><meta property='og:type' content='article'>";

fn content(body: &str) -> String {
    let page = format!("{HEAD}<body><h1>The ferry</h1>{body}</body>");
    let url = url::Url::parse("https://harbour.example/boats/ferry").unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor.extract(&Input::new(page.as_bytes()).with_url(&url).with_content_type("text/html")).content
}

fn prose(n: usize) -> String {
    format!(
        "The ferry number {n} leaves at seven and at nine, and on Sundays not before ten; bring coins, since the machine takes no \
        cards, and be there early, because the deck of boat {n} holds no more than forty people and their bicycles."
    )
}

fn paragraphs(numbers: std::ops::Range<usize>) -> String {
    numbers.map(|n| format!("<p>{}</p>", prose(n))).collect()
}

#[test]
fn side_bar_behind_a_long_footer_does_not_make_the_footer_text() {
    let footer = format!("<footer><h2>Places</h2>{}</footer>", paragraphs(100..108));
    let popular: String =
        (0..5).map(|n| format!("<li><a href='/p/{n}'>Popular item {n} of the harbour</a></li>")).collect();
    let side_bar = format!("<aside><h4>Popular</h4><ul>{popular}</ul></aside>");
    for tail in [String::new(), side_bar] {
        let text = content(&format!("<div>{}</div>{footer}{tail}", paragraphs(0..3)));
        assert!(text.contains("number 2 leaves") && !text.contains("number 101 leaves"), "{tail}: {text}");
    }
}

#[test]
fn disclaimer_before_the_footer_stays() {
    let disclaimer = format!("<div class=disclaimer>{}</div>", paragraphs(10..14));
    let text = content(&format!("<div>{}</div>{disclaimer}<footer>{}</footer>", paragraphs(0..3), prose(20)));
    assert!(text.contains("number 12 leaves") && !text.contains("number 20 leaves"), "{text}");
}

#[test]
fn custom_elements_around_blocks_are_chosen_like_divs() {
    let page = |name: &str| {
        let links: String =
            (0..6).map(|n| format!("<p><a href='/p/{n}'>Popular item {n} of the harbour</a></p>")).collect();
        content(&format!("<{name}>{}<{name}>{links}</{name}></{name}>", paragraphs(0..3)))
    };
    let text = page("app-box");
    assert!(text.contains("number 2 leaves") && !text.contains("Popular"), "{text}");
    assert_eq!(text, page("div"));
}

#[test]
fn empty_elements_of_xhtml_hold_no_text() {
    let text = "<p>The ferry leaves at noon, and the bakery on the quay opens at four in the morning, as it did \
        when the boats still came in with the tide.</p>";
    let page = format!(
        "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title/><script src='a.js'/></head>\
         <body><h1><a id='x'/>The ferry</h1>{text}<iframe src='b'/>{text}</body></html>"
    );
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let read = |kind: &str| extractor.extract(&Input::new(page.as_bytes()).with_content_type(kind));
    let found = read("application/xhtml+xml");
    assert_eq!(found.metadata.title.as_deref(), Some("The ferry"));
    assert_eq!(found.content.matches("noon").count(), 2, "{}", found.content);
    // browsers too ignore the slashes of HTML
    assert_eq!(read("text/html").content, "");
}
