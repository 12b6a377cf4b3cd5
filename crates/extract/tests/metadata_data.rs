//! Section, access, keywords and structured data of a page: one cause per test, on our own pages.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crate::metadata::metadata;
use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::Warning;

#[test]
fn section_access_and_author_pages_are_returned() {
    let html = r#"<head><meta property="article:section" content="Harbour"><script type="application/ld+json">
        {"@context": "https://schema.org", "@type": "NewsArticle", "headline": "Ferry", "isAccessibleForFree": "False",
         "author": [{"@type": "Person", "name": "Ada Holm", "url": "/staff/ada"}, {"@type": "Person", "name": "Bo Lind"}]}
        </script></head><body><h1>Ferry</h1><a rel="author" href="https://lind.example/">Bo Lind</a><p>It leaves at noon.</p></body>"#;
    let found = metadata("https://holm.example/a", html);
    assert_eq!(found.section.as_deref(), Some("Harbour"));
    assert_eq!(found.is_accessible_for_free, Some(false));
    let urls: Vec<_> = found.author_urls.iter().map(|author| (&*author.name, &*author.url)).collect();
    assert_eq!(urls, [("Ada Holm", "https://holm.example/staff/ada"), ("Bo Lind", "https://lind.example/")]);
}

#[test]
fn recipes_and_products_are_passed_on_as_json() {
    let page = |data: &str| {
        let html = format!(
            "<head><script type='application/ld+json'>{data}</script></head><body><h1>A</h1><p>B.</p></body>"
        );
        metadata("https://holm.example/a", &html).structured
    };
    let recipe = page(
        r#"{"@graph": [{"@type": "WebPage"}, {"@type": "Recipe", "name": "Fish soup", "description": "Long", "image": "x.jpg",
            "recipeIngredient": ["1 cod", " "], "aggregateRating": {"ratingValue": 4.5, "ratingCount": 12}, "review": [{}]}]}"#,
    );
    let recipe: serde_json::Value = serde_json::from_str(&recipe.unwrap()).unwrap();
    let wanted = serde_json::json!({
        "@type": "Recipe", "name": "Fish soup", "recipeIngredient": ["1 cod"],
        "aggregateRating": {"ratingValue": 4.5, "ratingCount": 12},
    });
    assert_eq!(recipe, wanted);
    assert_eq!(page(r#"{"@type": "NewsArticle", "headline": "Ferry"}"#), None);
    let with_video =
        page(r#"[{"@type": "VideoObject", "name": "Clip"}, {"@type": "Product", "name": "Rope"}]"#);
    assert_eq!(with_video.as_deref(), Some(r#"{"@type":"Product","name":"Rope"}"#));
    let long = format!(r#"{{"@type": "Product", "name": "{}"}}"#, "a".repeat(40_000));
    assert_eq!(page(&long), None, "an object that is too long");
    let html = "<head><meta property='product:price:amount' content='12.50'>\
        <meta property='product:price:currency' content='EUR'></head><body><h1>Rope</h1></body>";
    let product: serde_json::Value =
        serde_json::from_str(&metadata("https://holm.example/a", html).structured.unwrap()).unwrap();
    let offer = serde_json::json!({"@type": "Offer", "price": "12.50", "priceCurrency": "EUR"});
    assert_eq!(product, serde_json::json!({"@type": "Product", "offers": offer}));
}

#[test]
fn page_with_a_paid_part_is_not_free() {
    let html = "<script type=application/ld+json>{\"@type\":\"NewsArticle\",\"hasPart\":[{\"@type\":\"WebPageElement\",\"isAccessibleForFree\":\"False\"},{\"isAccessibleForFree\":true}]}</script><p>Noon.";
    assert_eq!(metadata("http://holm.example/", html).is_accessible_for_free, Some(false));
}

#[test]
fn author_urls_come_from_links_and_data() {
    let url = |html: &str| {
        let found = metadata("http://holm.example/a/b", html).author_urls;
        found.first().map(|author| (author.name.clone(), author.url.clone()))
    };
    let expected = |path: &str| Some(("Ada Holm".to_owned(), format!("http://holm.example{path}")));
    let text = "<p>The ferry leaves at noon.</p>";
    assert_eq!(
        url(&format!("<h1>Ferry</h1><p class=byline>By <a href=/people/7>Ada Holm</a></p>{text}")),
        expected("/people/7")
    );
    assert_eq!(
        url(&format!("<h1>Ferry</h1><a href=/author/ada>by Ada Holm</a>{text}")),
        expected("/author/ada")
    );
    let json = "{\"@type\":\"Article\",\"author\":{\"@type\":\"Person\",\"@id\":\"http://holm.example/ada\",\"name\":\"By Ada Holm\"}}";
    assert_eq!(url(&format!("<script type=application/ld+json>{json}</script>{text}")), expected("/ada"));
    let other = "<h1>Ferry</h1><p class=byline>By Ada Holm</p><a href=/author/jon>Jon Ek</a>";
    assert_eq!(url(&format!("{other}{text}")), None);
}

#[test]
fn tag_links_replace_missing_keywords() {
    let links = "<a rel='category tag' href=/c/news>News</a><a rel=tag href=/t/ice>Ice</a> <a rel=tag href=/t/ferry>Ferry</a>";
    let text = "<p>The ferry leaves at noon.</p>";
    let keywords = |head: &str| {
        metadata("http://holm.example/", &format!("<head>{head}</head><body>{links}{text}")).keywords
    };
    assert_eq!(keywords(""), ["Ice", "Ferry"]);
    assert_eq!(keywords("<meta name=keywords content=boats>"), ["boats"]);
}

#[test]
fn product_microdata_is_returned_as_json() {
    let html = "<div itemscope itemtype='https://schema.org/Product'><h1 itemprop=name>Lamp</h1><img itemprop=image src=/lamp.png>\
        <div itemprop=offers itemscope itemtype=http://schema.org/Offer><span itemprop=price content=12.50>12,50</span>\
        <meta itemprop=priceCurrency content=EUR><link itemprop=availability href=https://schema.org/InStock></div>\
        <div itemprop=aggregateRating itemscope itemtype=http://schema.org/AggregateRating><span itemprop=ratingValue>4.5</span></div>\
        <span itemprop=color>red</span><span itemprop=color>blue</span></div>";
    let found = metadata("http://holm.example/", html).structured.unwrap();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(
        found,
        serde_json::json!({
            "@type": "Product", "name": "Lamp", "color": ["red", "blue"],
            "offers": {"@type": "Offer", "price": "12.50", "priceCurrency": "EUR", "availability": "https://schema.org/InStock"},
            "aggregateRating": {"@type": "AggregateRating", "ratingValue": "4.5"},
        })
    );
}

#[test]
fn image_of_an_object_is_its_url_and_not_its_name() {
    let image = |head: &str, image: &str| {
        let html = format!(
            "<head>{head}<script type=application/ld+json>{{\"@graph\":[{{\"@type\":\"Article\",\"image\":{image}}},\
             {{\"@type\":\"ImageObject\",\"@id\":\"#i\",\"url\":\"/i.jpg\"}}]}}</script></head><p>Noon."
        );
        metadata("http://holm.example/a/", &html).image
    };
    for value in [
        "\"/i.jpg\"",
        "{\"name\":\"The ferry\",\"url\":\"/i.jpg\"}",
        "{\"@id\":\"#i\"}",
        "[{\"name\":\"The ferry\"},{\"@id\":\"#i\"},\"/j.jpg\"]",
        "{\"url\":\"data:x\",\"contentUrl\":\"/i.jpg\"}",
    ] {
        assert_eq!(image("", value).as_deref(), Some("http://holm.example/i.jpg"), "{value}");
    }
    assert_eq!(image("", "{\"name\":\"The ferry\"}"), None);
    let head = "<meta property=og:image content='javascript:x'><meta name=twitter:image content=/t.jpg>";
    assert_eq!(image(head, "\"/i.jpg\"").as_deref(), Some("http://holm.example/t.jpg"));
}

#[test]
fn odd_values_of_data_are_read_or_left() {
    let of = |data: &str| {
        let html = format!(
            "<script type=application/ld+json>{{\"@type\":\"Article\",{data}}}</script><meta name=keywords content='東京、大阪，京都'><p>Noon."
        );
        metadata("http://holm.example/a/", &html)
    };
    let free = |value: &str| of(&format!("\"isAccessibleForFree\":\"{value}\"")).is_accessible_for_free;
    assert_eq!(
        ["", "unknown", "True", "http://schema.org/False"].map(free),
        [None, None, Some(true), Some(false)]
    );
    let found = of("\"publisher\":[{\"name\":\"Holm Post\"},{\"name\":\"Agency\"}]");
    assert_eq!(found.site_name.as_deref(), Some("Holm Post"));
    assert_eq!(found.keywords, ["東京", "大阪", "京都"]);
}

#[test]
fn words_of_neighbouring_blocks_stay_apart_in_metadata() {
    let html = "<div itemscope itemtype=https://schema.org/Recipe><h1 itemprop=name><div>Lent</div>Fish soup</h1>\
        <div itemprop=recipeInstructions><ol><li>Boil <b>wa</b>ter.<li>Add<br>fish.</ol>Serve.</div></div>";
    let found = metadata("http://holm.example/", html);
    assert_eq!(found.title.as_deref(), Some("Lent Fish soup"));
    let found: serde_json::Value = serde_json::from_str(&found.structured.unwrap()).unwrap();
    assert_eq!(found["name"], "Lent Fish soup");
    assert_eq!(found["recipeInstructions"], "Boil water. Add fish. Serve.");
}

#[test]
fn all_structured_data_is_returned_on_request() {
    let long = "x".repeat(300 << 10);
    let html = format!(
        "<head><script type=application/ld+json>{{\"@type\":\"Thing\"}}</script><script type=application/ld+json>[\"{long}\"]</script>\
         <meta property=og:image content=a.png><meta property=og:image content=b.png><meta name=viewport content=wide></head><p>Noon."
    );
    let extracted = |raw_metadata: bool| {
        let extractor = PageExtractor::new(Options::default().with_raw_metadata(raw_metadata)).unwrap();
        extractor.extract(&Input::new(html.as_bytes()).with_content_type("text/html"))
    };
    let page = extracted(true);
    assert_eq!(page.metadata.json_ld.as_deref(), Some("[{\"@type\":\"Thing\"}]"));
    assert_eq!(page.metadata.open_graph.as_deref(), Some("{\"og:image\":[\"a.png\",\"b.png\"]}"));
    assert!(page.warnings.contains(&Warning::MetadataCapped));
    let page = extracted(false);
    assert_eq!((page.metadata.json_ld, page.metadata.open_graph), (None, None));
    assert!(!page.warnings.contains(&Warning::MetadataCapped));
}
