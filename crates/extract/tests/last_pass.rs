//! The last pass over a text after site cleaning, and both examples of html-cleaner-impact, through the whole
//! extraction and it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, LinkStyle, Options, PageExtractor};
use crawl_model::Extractor;

const PROSE: &str = "The ferry leaves the north quay at six in the morning and takes fifty minutes to the islands, where \
    the post is handed over to the keeper of the light before the boat goes on to the fishing grounds.";

fn last_pass(text: &str) -> String {
    PageExtractor::new(Options::default()).unwrap().last_pass(text.to_owned(), Extractor::Readability)
}

fn extracted(html: &str, options: Options) -> String {
    let extractor = PageExtractor::new(options).unwrap();
    let url = url::Url::parse("https://harbour.example/a/b").unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
    let found = extractor.extract(&input);
    extractor.last_pass(found.content, found.extractor)
}

#[test]
fn first_example_loses_its_whole_footer() {
    let html = r##"<html><body><div><div></div></div><br><p>This office profile was last updated at 2023-07-07 08:16:42</p>
        <div class="reviewed-date"><div class="reviewed-date__label">Last Reviewed/Updated:</div>
        <div class="field field--name-field-display-date field__item"><time datetime="2025-04-10T23:26:06Z">04/10/2025</time></div></div>
        <div id="modal" class="modal page-modal"><div class="modal-content"><div class="modal-footer title-wrap">Close</div></div></div>
        <div id="footer"><div class="usa-footer-container"><footer class="usa-footer usa-footer--medium" role="contentinfo">
        <div class="grid-container usa-footer__return-to-top"><a href="#" class="focusable">Return to top</a></div>
        <div class="usa-footer__primary-section"><nav class="usa-footer__nav" aria-label="Footer navigation">
        <ul class="grid-row grid-gap menu" data-level="0"><li class="menu__item"><a href="/topics">Topics</a></li>
        <li><a href="/forms/forms" title="Forms">Forms</a></li></ul></nav></div></footer></div></div></body></html>"##;
    let text = extracted(html, Options::default());
    for footer in ["Return to top", "Topics", "Forms", "Close", "04/10/2025"] {
        assert!(!text.contains(footer), "{text}");
    }
    // No sentence is cut: the line is kept or dropped as a whole.
    assert!(
        text.is_empty() || text == "This office profile was last updated at 2023-07-07 08:16:42",
        "{text}"
    );
}

#[test]
fn second_example_equals_the_specified_output() {
    let html = r#"<html><body><header><nav>Navigation Links</nav></header><main><article><h1>Important Policy Information</h1>
        <p>This is critical information about immigration policy that should be preserved.</p>
        <p>Additional details about the process and requirements go here.</p>
        <section><h2>Key Points</h2><ul><li>Point 1 with significant detail</li><li>Point 2 with important guidance</li>
        <li>Point 3 with regulatory information</li></ul></section></article></main>
        <footer><div class="footer-links"><a href="/privacy">Privacy Policy</a> <a href="/terms">Terms of Service</a></div>
        <p>&copy; 2025 All Rights Reserved</p></footer><div id="modal" class="modal"><p>Modal popup content</p></div>
        <script>console.log('analytics')</script></body></html>"#;
    let expected = "# Important Policy Information\n\n\
        This is critical information about immigration policy that should be preserved.\n\n\
        Additional details about the process and requirements go here.\n\n\
        ## Key Points\n\n\
        - Point 1 with significant detail\n- Point 2 with important guidance\n- Point 3 with regulatory information";
    assert_eq!(extracted(html, Options::default()), expected);
}

#[test]
fn bare_links_and_their_headings_are_removed() {
    let text = format!(
        "{PROSE}\n\n## More\n\n[All ferries](https://h.example/all)\n\n## Fares\n\n{PROSE}\n\n## See also\n\n[Map](/m) | [Ports](/p)"
    );
    assert_eq!(last_pass(&text), format!("{PROSE}\n\n## Fares\n\n{PROSE}"));
    // Code in a list item ends where its fence does.
    let text = format!("{PROSE}\n\n- ```\n  a\n  ```\n\n{PROSE}\n\n[All ferries](/all)\n\n{PROSE}");
    assert_eq!(last_pass(&text), text.replace("[All ferries](/all)\n\n", ""));
}

#[test]
fn links_in_sentences_items_headings_and_code_stay() {
    for kept in [
        "You will find [the timetable of all ferries](/t) on the quay",
        "- Ports\n  [North quay](/n)",
        "**[North quay](/n)**",
        "> [North quay](/n)",
        "```\n[North quay](/n)\n```",
        "````\n```\n\n[North quay](/n)\n\n```\n````",
        "- ```\n  # quay\n\n  [North quay](/n)\n  ```",
        "1) - [ ] a\n   - ~~~\n\n     [North quay](/n)\n     ~~~",
        "1) [North quay](/n)\n2) [South quay](/s)",
        "```\n```sh\n\n[North quay](/n)\n\n```",
        "| [North quay](/n) | 6:00 |",
        "Write to\n[the harbour](/h)",
    ] {
        let text = format!("{PROSE}\n\n{kept}\n\n{PROSE}");
        assert_eq!(last_pass(&text), text);
    }
}

#[test]
fn links_before_the_title_are_removed() {
    let text = format!("- [Home](/)\n- [Ferries](/f)\n- Menu\n\n# The ferry\n\n{PROSE}\n\n{PROSE}");
    assert_eq!(last_pass(&text), format!("# The ferry\n\n{PROSE}\n\n{PROSE}"));
    let steps = format!("- Buy a ticket\n- Go to the north quay\n\n{PROSE}\n\n{PROSE}");
    assert_eq!(last_pass(&steps), steps);
}

#[test]
fn links_that_form_the_content_stay() {
    let index: String = (0..30).map(|n| format!("[Ferry number {n}](https://h.example/{n})\n\n")).collect();
    let index = format!("# Ferries\n\n{}", index.trim_end());
    assert_eq!(last_pass(&index), index);
    let listing = format!("{index}\n\n{PROSE}");
    assert_eq!(last_pass(&listing), listing);
    // Each line of a known type of page is intended.
    let thread = format!("{PROSE}\n\n[keeper](/u/1)\n\n{PROSE}");
    let extractor = PageExtractor::new(Options::default()).unwrap();
    assert_eq!(extractor.last_pass(thread.clone(), Extractor::Platform), thread);
    assert_ne!(extractor.last_pass(thread.clone(), Extractor::Readability), thread);
}

#[test]
fn tracking_pixels_are_removed() {
    let text = format!(
        "{PROSE}![](https://www.facebook.com/tr?id=1)\n\n[![](https://h.example/1x1.gif)](https://h.example/)\n\n\
         ![The quay](https://h.example/quay.jpg)\n\n![a ![b](/1x1.gif)](https://stats.wordpress.com/g.gif) {PROSE}"
    );
    let left = format!("{PROSE}\n\n![The quay](https://h.example/quay.jpg)\n\n {PROSE}");
    assert_eq!(last_pass(&text), left);
    let html = format!(
        "<article><h1>The ferry</h1><p>{PROSE}</p><img src=/c.gif width=1 height=1><img src=/q.jpg alt=Quay width=600><p>{PROSE}</p></article>"
    );
    let text = extracted(&html, Options::default().with_images(true));
    assert!(text.contains("![Quay](https://harbour.example/q.jpg)") && !text.contains("c.gif"), "{text}");
}

#[test]
fn unused_reference_urls_are_removed() {
    let text = format!(
        "{PROSE} See [the map][1].\n\n[All ferries][2]\n\n[1]: https://h.example/m\n[2]: https://h.example/f"
    );
    assert_eq!(last_pass(&text), format!("{PROSE} See [the map][1].\n\n[1]: https://h.example/m"));
    let touching = format!("{PROSE} [the][1][map][2].\n\n[All ferries][3]\n\n[1]: /t\n[2]: /m\n[3]: /f");
    assert_eq!(last_pass(&touching), format!("{PROSE} [the][1][map][2].\n\n[1]: /t\n[2]: /m"));
    let html = format!("<article><p>{PROSE}</p><p>See <a href=/m>the map</a> of the harbour.</p></article>");
    let text = extracted(&html, Options::default().with_links(LinkStyle::Reference));
    assert!(text.ends_with("[1]: https://harbour.example/m"), "{text}");
}

#[test]
fn last_pass_never_empties_or_rejects_text() {
    for text in [
        "",
        "![](/1x1.gif)",
        "[a](/b)",
        "# [a](/b)",
        "[](",
        "![",
        "]]](",
        "[é](ü)é\\",
        "[a](b)\\![c](d)",
        "[[][][",
        "```\n[a](b)",
    ] {
        assert_eq!(last_pass(text), text);
    }
    let hostile = "[](".repeat(200_000) + &"[a](".repeat(200_000);
    assert_eq!(last_pass(&hostile), hostile);
}

#[test]
fn a_footnote_that_is_a_link_stays() {
    let text = format!(
        "{PROSE}[^1]\n\n{PROSE}\n\n[Prediction of printed English](https://harbour.example/a.pdf)\n\n[^1]: [Timetable of the ferry](https://harbour.example/t)"
    );
    let left = last_pass(&text);
    assert!(left.ends_with("[^1]: [Timetable of the ferry](https://harbour.example/t)"), "{left}");
    assert!(!left.contains("Prediction of"), "{left}");
}
