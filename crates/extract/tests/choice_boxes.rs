//! Choice of the content on pages with boxes of one kind: comments, reviews, dated entries and copies.

use crate::choice::{PROSE, extract, extract_with};
use crawl_extract::Options;

/// Boxes with a time each, and text about bread.
fn boxes(stamp: &str) -> String {
    (0..4)
        .map(|n| {
            format!(
                "<div class=box><b>Reader {n}</b> <i>{stamp}</i><p>Bread number {n} is baked with salt, \
                with water and with patience, and it is eaten warm, with butter, before the first boat leaves.</p></div>"
            )
        })
        .collect()
}

#[test]
fn empty_boxes_between_comments_do_not_break_their_run() {
    let comment = |n: u32| {
        format!(
            "<div class=form></div><div class=entry><b>Reader {n}</b> <i>14.05.2026</i><p>Bread number {n} is baked with \
            salt, with water and with patience.</p></div><div class=answers></div>"
        )
    };
    let comments = (1..=4).map(comment).collect::<String>();
    let head = "<meta property='og:type' content='article'>";
    let page =
        format!("{head}<body><h1>The timetable</h1><div>{}<div>{comments}</div></div>", PROSE.repeat(3));
    let content = extract(&page).content;
    assert!(content.contains("bicycles") && !content.contains("Bread"), "{content}");
}

#[test]
fn timestamped_boxes_are_removed_from_an_article() {
    for stamp in ["2026-05-14 19:23", "14.05.2026", "at 7:37", "3 days ago", "vor 3 Tagen"] {
        let page = format!(
            "<meta property='og:type' content='article'><body><div><h1>The timetable</h1>{}</div>{}",
            PROSE.repeat(3),
            boxes(stamp)
        );
        let content = extract(&page).content;
        assert!(content.contains("bicycles") && !content.contains("Bread"), "{stamp}: {content}");
        let comments = extract_with(&page, Options::default().with_comments(true)).content;
        assert!(comments.contains("Bread"), "{stamp}: {comments}");
    }
}

#[test]
fn dated_reviews_are_removed_from_a_product() {
    let data = r#"<script type="application/ld+json">{"@type": "Product", "name": "Kettle"}</script>"#;
    let page = format!(
        "{data}<body><div><h1>Kettle</h1>{}</div><div>{}</div>",
        PROSE.repeat(2),
        boxes("3 days ago")
    );
    let content = extract(&page).content;
    assert!(content.contains("bicycles") && !content.contains("Bread"), "{content}");
}

#[test]
fn duplicate_boxes_are_removed() {
    let slide = |n: u32| {
        format!(
            "<div class=slide><h3>Harbour {n}</h3><p>Its ferry number {n} sails for the island at noon.</p></div>"
        )
    };
    let slides: String = [1, 2, 3, 1, 2, 3].map(slide).concat();
    let page = format!("<body><h1>Ferries</h1>{PROSE}<div class=track>{slides}</div>");
    let content = extract(&page).content;
    for n in 1..=3 {
        assert_eq!(content.matches(&format!("Its ferry number {n} sails")).count(), 1, "{content}");
    }
    // An article may repeat a text, and parts between headings are text.
    let article = format!("<meta property='og:type' content='article'>{page}");
    assert_eq!(extract(&article).content.matches("Harbour 1").count(), 2);
    let parts = format!("<body><h1>Ferries</h1>{PROSE}<h2>In May</h2>{0}<h2>In June</h2>{0}", slide(1));
    assert_eq!(extract(&parts).content.matches("Its ferry number 1 sails").count(), 2);
}

#[test]
fn dated_entries_stay_if_they_are_the_page() {
    let live = r#"<script type="application/ld+json">{"@type": "LiveBlogPosting", "headline": "The storm"}</script>"#;
    let lead = PROSE.repeat(3);
    for (data, lead) in [(live, lead.as_str()), ("", "")] {
        let page = format!("{data}<body><main><h1>The storm</h1>{lead}{}</main>", boxes("19:23"));
        let content = extract(&page).content;
        assert!(content.contains("Bread number 0") && content.contains("Bread number 3"), "{content}");
    }
}

#[test]
fn named_reviews_are_removed_from_a_product() {
    let page = |data: &str, text: &str, reviews: &str| {
        format!(
            "<body>{data}<main><h1>Bread knife</h1>{text}<div {reviews}><h3>Harbour</h3><p>I cut bread with it \
            on each day of the summer, and it is as sharp as on the first one, which says much about the steel and about \
            the bread.</p></div></main>"
        )
    };
    let has_review = |page: &str| extract(page).content.contains("on each day of the summer");
    let data = r#"<script type="application/ld+json">{"@type":"Product","name":"Bread knife"}</script>"#;
    for named in ["class=customer-reviews", "id=judgeme_product", "itemprop=review"] {
        assert!(!has_review(&page(data, PROSE, named)), "{named}");
        assert!(has_review(&page("", PROSE, named)), "{named}");
        assert!(has_review(&page(data, "", named)), "{named}: nearly all of the page");
    }
    assert!(has_review(&page(data, PROSE, "class=notes")));
    let all = Options::default().with_comments(true);
    assert!(
        extract_with(&page(data, PROSE, "class=customer-reviews"), all)
            .content
            .contains("as on the first one")
    );
}

#[test]
fn sections_with_other_products_are_removed_from_a_product() {
    // Below a title that is no heading, any heading ends the section.
    let cards = |title: &str| {
        let name = if title.starts_with("<h") { "h4" } else { "b" };
        let card = |n| format!("<li><{name}>Whistle {n}</{name}><div>{n} pounds and 20 pence</div></li>");
        (0..6).map(card).collect::<String>()
    };
    let page = |data: &str, title: &str, text: &str| {
        format!("<body>{data}<main><h1>Tea urn</h1>{title}<ul>{}</ul>{text}</main>", cards(title))
    };
    let data = r#"<script type="application/ld+json">{"@type":"Product","name":"Tea urn"}</script>"#;
    let text = format!("<h2>Description</h2>{PROSE}");
    for title in ["<h2>Similar items</h2>", "<h3>Guests also viewed</h3>", "<p>Recently viewed items:</p>"] {
        let content = extract(&page(data, title, &text)).content;
        assert!(!content.contains("Whistle") && content.contains("bicycles"), "{title}: {content}");
        // A paragraph of text ends the section, too.
        let content = extract(&page(data, title, PROSE)).content;
        assert!(!content.contains("Whistle") && content.contains("bicycles"), "{title}: {content}");
        // A page without a product, and one with nothing else, lists products.
        assert!(extract(&page("", title, &text)).content.contains("Whistle 5"), "{title}");
        assert!(extract(&page(data, title, "")).content.contains("Whistle 5"), "{title}");
    }
    assert!(extract(&page(data, "<h2>In the box</h2>", &text)).content.contains("Whistle 5"));
}

#[test]
fn parts_of_the_product_behind_other_products_stay() {
    let data = r#"<script type="application/ld+json">{"@type":"Product","name":"Tea urn"}</script>"#;
    let long = "Tea urn of brushed steel for forty cups, with a tap that does not drip, and a lid of glass on a steel ring";
    let features = "<ul><li>Holds forty cups</li><li>Keeps tea hot for two hours</li></ul>";
    let specs = "<table><tr><th>Weight<td>3 kg<tr><th>Height<td>40 cm</table>";
    let card = |name: &str, n: u32| format!("<li><{name}>Whistle {n}</{name}><div>{n} pounds</div></li>");
    let cards = |name: &str| format!("<ul>{}</ul>", (0..6).map(|n| card(name, n)).collect::<String>());
    let says = |body: &str| extract(&format!("<body>{data}<main><h1>{long}</h1>{body}</main>")).content;
    // A heading above the names of the products is that of another section.
    let about = format!("<h3>About this item</h3>{features}<h3>Specifications</h3>{specs}");
    let content = says(&format!("{PROSE}<h2>Frequently bought together</h2>{}{about}", cards("h4")));
    assert!(
        !content.contains("Whistle") && content.contains("forty cups") && content.contains("3 kg"),
        "{content}"
    );
    let content = says(&format!("<h2>Frequently bought together</h2>{}{about}", cards("h4")));
    assert!(content.contains("forty cups") && content.contains("3 kg"), "a long name is no text: {content}");
    // A section ends with its box, and at a table.
    let boxed = format!("{PROSE}<section><h2>Similar items</h2>{}</section>{features}", cards("b"));
    let content = says(&boxed);
    assert!(!content.contains("Whistle") && content.contains("forty cups"), "{content}");
    let content = says(&format!("{PROSE}<h2>Similar items</h2>{}{specs}{features}", cards("b")));
    assert!(
        !content.contains("Whistle") && content.contains("3 kg") && content.contains("two hours"),
        "{content}"
    );
    // A link to the section, and a badge, are no titles.
    for label in ["<p><a href='#similar'>Similar items</a></p>", "<p>Best sellers</p>"] {
        let content = says(&format!("{label}<p>For forty guests.</p>{features}<h2>Warranty</h2>{PROSE}"));
        assert!(content.contains("forty guests") && content.contains("two hours"), "{label}: {content}");
    }
}

#[test]
fn second_copy_of_an_article_is_removed() {
    let head = "<meta property='og:type' content='article'><body><article><h1>The ferry</h1>";
    let long = PROSE.replace(
        "</p>",
        " A ticket for the day costs less than two single ones, and children ride for nothing if they sit on the upper deck.</p>",
    );
    let text = |days: &[&str]| days.iter().map(|day| long.replace("Sundays", day)).collect::<String>();
    let days = ["Mondays", "Tuesdays", "Fridays", "Saturdays"];
    let count = |second: &str| {
        let content = extract(&format!("{head}{}{second}</article>", text(&days))).content;
        days.map(|day| content.matches(day).count())
    };
    let copy = format!("<h2>The ferry, for printing</h2>{}", text(&["Mondays", "Fridays", "Saturdays"]));
    assert_eq!(count(&copy), [1; 4]);
    // one paragraph, another order, and new text between the paragraphs
    assert_eq!(count(&text(&["Mondays"])), [2, 1, 1, 1]);
    assert_eq!(count(&text(&["Saturdays", "Fridays", "Mondays"])), [2, 1, 2, 2]);
    assert_eq!(count(&text(&["Mondays", "Sundays", "Tuesdays"])), [2, 2, 1, 1]);
}

#[test]
fn sections_named_promo_stay_if_they_are_much_of_the_page() {
    let offer = |n: u32| {
        format!(
            "<div class=promo-container><h3>Quay {n}</h3><p>Plan a berth at quay {n}.</p><a href='/quay/{n}'>Find out \
            more</a></div>"
        )
    };
    let page = |offers: u32| {
        let offers = (1..=offers).map(offer).collect::<String>();
        format!("<body><h1>Our services</h1><div>{}</div><div>{offers}</div>", PROSE.repeat(3))
    };
    let (many, few) = (extract(&page(30)).content, extract(&page(3)).content);
    assert!(many.contains("berth at quay 1.") && many.contains("berth at quay 30."), "{many}");
    assert!(few.contains("bicycles") && !few.contains("berth"), "{few}");
}
