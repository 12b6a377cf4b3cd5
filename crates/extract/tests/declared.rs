//! Content that a page's own data declares, where names and ratios drop it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};

fn content(html: &str) -> String {
    let url = url::Url::parse("https://harbour.example/kitchen/bread-soup").unwrap();
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
    extractor.extract(&input).content
}

const INGREDIENTS: [&str; 5] =
    ["500 g stale bread", "2 onions, sliced", "½ l broth", "30 g butter &amp; oil", "salt"];

const STEPS: &str = "<p>Slice the bread and dry it in the oven until it is hard, but not brown, since brown bread makes the soup \
    bitter; then warm the broth slowly, and keep it below the boil for as long as the bread needs to soak.</p>";

/// A recipe with ingredients in its data, and a part that shows them.
fn recipe(part: &str) -> String {
    let data = serde_json::json!({"@context": "https://schema.org", "@type": "Recipe", "recipeIngredient": INGREDIENTS});
    format!(
        "<title>Bread soup</title><script type='application/ld+json'>{data}</script><body><nav><a href=/a>Onions</a> <a href=/b>Salt</a></nav>\
        <main><h1>Bread soup</h1>{part}<h2>Method</h2>{}</main>",
        STEPS.repeat(4)
    )
}

fn listed(item: impl Fn(&str) -> String) -> String {
    INGREDIENTS.iter().map(|text| item(text)).collect()
}

fn has_all(content: &str) -> bool {
    ["500 g stale bread", "2 onions, sliced", "½ l broth", "30 g butter & oil", "salt"]
        .iter()
        .all(|text| content.contains(text))
}

#[test]
fn ingredients_in_labels_are_content() {
    let items = listed(|text| format!("<li><input type=checkbox><label>{text}</label></li>"));
    let content = content(&recipe(&format!("<h2>Ingredients</h2><ul>{items}</ul>")));
    assert!(has_all(&content), "{content}");
}

#[test]
fn only_ingredients_of_a_sidebar_are_content() {
    let items = listed(|text| format!("<li>{text}</li>"));
    for (open, close) in [("<aside>", "</aside>"), ("<div class=sidebar-widget>", "</div>")] {
        let club = "<div><p>Join the club of the harbour, which meets each week and eats what it has cooked, and pays nothing.</p></div>";
        let content = content(&recipe(&format!("{open}<ul>{items}</ul>{club}{close}")));
        assert!(has_all(&content) && !content.contains("Join the club"), "{content}");
    }
}

#[test]
fn ingredients_that_are_links_are_content() {
    let items = listed(|text| format!("<li><a href=/shop/{}>{text}</a></li>", text.len()));
    let content = content(&recipe(&format!("<h2>Ingredients</h2><ul>{items}</ul>")));
    assert!(has_all(&content), "{content}");
}

#[test]
fn ingredients_in_microdata_are_content() {
    let items = listed(|text| format!("<li itemprop=recipeIngredient>{text}</li>"));
    let page = format!(
        "<title>Bread soup</title><body><main><h1>Bread soup</h1>{}</main><aside><ul>{items}</ul></aside>",
        STEPS.repeat(4)
    );
    let content = content(&page);
    assert!(has_all(&content), "{content}");
}

#[test]
fn declared_answers_are_content() {
    let answer = |n: u32| format!("Answer {n}: the ferry takes bicycles, and the deck holds forty of them.");
    let questions: Vec<_> = (0..3)
        .map(|n| serde_json::json!({"@type": "Question", "name": format!("Question {n}?"), "acceptedAnswer": {"@type": "Answer", "text": format!("<p>{}</p>", answer(n))}}))
        .collect();
    let data =
        serde_json::json!({"@context": "https://schema.org", "@type": "FAQPage", "mainEntity": questions});
    let shown: String = (0..3).map(|n| format!("<h3>Question {n}?</h3><div>{}</div>", answer(n))).collect();
    let page = format!(
        "<script type='application/ld+json'>{data}</script><body><main><h1>Bread soup</h1>{}</main><div class=widget>{shown}</div>",
        STEPS.repeat(8)
    );
    let content = content(&page);
    assert!(
        (0..3).all(|n| content.contains(&answer(n)) && content.contains(&format!("Question {n}?"))),
        "{content}"
    );
}

#[test]
fn declared_text_that_is_not_shown_is_not_added() {
    let content = content(&recipe(""));
    assert!(!content.contains("stale bread") && content.contains("Slice the bread"), "{content}");
}

#[test]
fn declared_words_in_a_menu_are_not_content() {
    let menu: String = INGREDIENTS
        .iter()
        .map(|text| {
            format!(
                "<li><a href=/x>{text}</a> {}</li>",
                "<a href=/y>Further offers of the house</a>".repeat(9)
            )
        })
        .collect();
    let content = content(&recipe("").replace("</nav>", &format!("<ul>{menu}</ul></nav>")));
    assert!(!content.contains("Further offers"), "{content}");
}
