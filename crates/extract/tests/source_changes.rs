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

/// A page without a heading of level one: another element shows the title.
fn page_with_title(element: &str) -> String {
    let lead = "The harbour office announced on Monday that the ferry to the island is to run in winter, too, from this year on \
        and for at least four years.";
    let footer = format!("<div class=footer><h2>Places</h2>{}</div>", paragraphs(100..108));
    let trail = "<div><a href='/'>Harbour</a> <span>Ferry runs in winter</span></div>";
    let title = format!("{trail}<div><{element}>Ferry runs in winter</{element}></div>");
    let page = format!(
        "<title>Ferry runs in winter</title><meta property='og:type' content='article'>\
        <meta property='og:title' content='Ferry runs in winter'><body><div>{title}<div><p>{lead}</p></div></div>\
        <div>{}</div>{footer}</body>",
        paragraphs(0..4)
    );
    let url = url::Url::parse("https://harbour.example/boats/ferry").unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    extractor.extract(&Input::new(page.as_bytes()).with_url(&url).with_content_type("text/html")).content
}

#[test]
fn title_in_any_element_is_the_heading_of_the_page() {
    for element in ["h1", "div", "strong", "h2"] {
        let text = page_with_title(element);
        assert!(text.contains("announced on Monday"), "{element}: {text}");
        assert!(text.contains("number 3 leaves") && !text.contains("number 101 leaves"), "{element}: {text}");
    }
}

#[test]
fn tables_that_arrange_a_page_are_boxes() {
    let links: String = (0..9).map(|n| format!("<a href='/t/{n}'>Topic {n}</a><br>")).collect();
    let teasers = format!("<p>{}</p><p>{}</p>", prose(50), prose(51));
    let page = |open: &str, close: &str, wrap: &str, end: &str| {
        content(&format!(
            "{wrap}{open}{links}{close}{open}<div>{}</div>{close}{end}{}",
            paragraphs(0..3),
            format!("{open}{teasers}{close}").replacen("<table", "<table class=sidebar", 1).replacen(
                "<div",
                "<div class=sidebar",
                1
            )
        ))
    };
    let divs = page("<div>", "</div>", "", "");
    let tables = page("<table><tr><td>", "</td></tr></table>", "", "");
    assert!(!divs.contains("Topic 3") && !divs.contains("number 50 leaves"), "{divs}");
    assert_eq!(divs, tables);
}

#[test]
fn heading_in_a_cell_of_its_own_stays() {
    let read = |heading: &str| {
        let page = format!(
            "<title>Ferry runs in winter</title><body><table><tr><td><h1>{heading}</h1></td></tr>\
             <tr><td><div>{}</div></td></tr></table></body>",
            paragraphs(0..4)
        );
        let url = url::Url::parse("https://harbour.example/boats/ferry").unwrap();
        let extractor = PageExtractor::new(Options::default()).unwrap();
        extractor.extract(&Input::new(page.as_bytes()).with_url(&url).with_content_type("text/html")).content
    };
    let text = read("Ferry runs in winter");
    assert!(text.starts_with("# Ferry runs in winter") && text.contains("number 3 leaves"), "{text}");
}

#[test]
fn lines_between_empty_lines_are_chosen_like_paragraphs() {
    let teasers: String =
        (0..12).map(|n| format!("<li>Popular boat number {n}, seen at the pier on Monday</li>")).collect();
    let lines: String = (0..6).map(|n| format!("{}<br><br>", prose(n))).collect();
    let page = |text: &str| {
        content(&format!(
            "<ul>{teasers}</ul><div><div><h2>Timetable</h2>{text}</div></div><ul>{teasers}</ul>"
        ))
    };
    for text in [page(&paragraphs(0..6)), page(&lines)] {
        assert!(text.contains("number 0 leaves") && text.contains("number 5 leaves"), "{text}");
        assert!(!text.contains("Popular boat"), "{text}");
    }
}

#[test]
fn consent_without_a_name_is_left_out() {
    let cookies: String = (0..12)
        .map(|n| format!("<tr><td>_id{n}</td><td>Counts the visits of a reader, so that the office knows how many came.</td></tr>"))
        .collect();
    let banner = |button: &str| {
        format!(
            "<div><h2>We value your privacy</h2><p>{}</p><p>{}</p><table>{cookies}</table>{button}</div>",
            "We and our 700 partners store and read information on a device, such as cookies and unique identifiers.",
            "You can change your choice at any time below, or in the settings of the harbour's pages."
        )
    };
    let text = content(&format!("<div>{}</div>{}", paragraphs(0..3), banner("<button>Accept all</button>")));
    assert!(text.contains("number 2 leaves") && !text.contains("700 partners"), "{text}");
    // A text about such banners has no button that gives consent, or has it in the article.
    let text =
        content(&format!("<article>{}{}</article>", paragraphs(0..3), banner("<button>Accept all</button>")));
    assert!(text.contains("700 partners"), "{text}");
    let text = content(&format!("<div>{}{}</div>", paragraphs(0..3), banner("")));
    assert!(text.contains("700 partners"), "{text}");
    // So has a page of several boxes about consent, or with other text about it.
    let sections = banner("<button>Accept all</button>").repeat(2);
    let text = content(&format!("<div>{}</div>{sections}", paragraphs(0..3)));
    assert!(text.contains("700 partners"), "{text}");
    let policy =
        "<p>We use cookies to count readers, and keep them for a year on the machine in the office.</p>";
    let text =
        content(&format!("<div>{}{policy}</div>{}", paragraphs(0..3), banner("<button>Accept all</button>")));
    assert!(text.contains("700 partners"), "{text}");
    // A box that says more of other things, or whose button does not accept, is no banner.
    let contest = format!(
        "<div><p>{}</p><p>By joining you agree to the use of cookies.</p><button>Accept all</button></div>",
        prose(30)
    );
    let text = content(&format!("<div>{}</div>{contest}", paragraphs(0..3)));
    assert!(text.contains("number 30 leaves"), "{text}");
    let text =
        content(&format!("<div>{}</div>{}", paragraphs(0..3), banner("<button>Cookie settings</button>")));
    assert!(text.contains("700 partners"), "{text}");
    // The text of the page stays beside a banner in the same box.
    let bar =
        "<div><span>We use cookies to count readers of the harbour.</span> <button>Accept all</button></div>";
    let text =
        content(&format!("<div>{}</div><div><div>{}</div>{bar}</div>", paragraphs(5..9), paragraphs(0..3)));
    assert!(text.contains("number 2 leaves") && !text.contains("We use cookies"), "{text}");
}

#[test]
fn headings_in_boxes_of_their_own_stay() {
    let part = |n: usize| format!("<div class='body text'>{}</div>", paragraphs(n..n + 2));
    let heading = "<div class='body header'><h2>In winter</h2></div>";
    let text = content(&format!("<section>{}{heading}{}</section>", part(0), part(3)));
    assert!(text.contains("number 4 leaves") && text.contains("In winter"), "{text}");
}

#[test]
fn menu_without_links_is_text() {
    let dishes = "<h2>Starters</h2><p>Herring with onions.</p><h2>Fish</h2><p>Cod with potatoes, butter and parsley.</p>";
    let text = content(&format!("<main>{}<div id=menu>{dishes}</div></main>", paragraphs(0..3)));
    assert!(text.contains("Herring with onions"), "{text}");
    let links = "<h2>Boats</h2><p><a href='/new'>New boats</a></p>";
    let text = content(&format!("<main>{}<div id=menu>{links}</div></main>", paragraphs(0..3)));
    assert!(!text.contains("New boats"), "{text}");
}
