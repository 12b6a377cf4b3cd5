//! Authors and dates: one cause per test, on our own pages.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test that uses them")]

use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::{Confidence, MetadataConfidence, PageMetadata};

pub(crate) fn metadata(url: &str, html: &str) -> PageMetadata {
    let extractor = PageExtractor::new(Options::default()).unwrap();
    let url = url::Url::parse(url).unwrap();
    let input = Input::new(html.as_bytes()).with_url(&url).with_content_type("text/html");
    extractor.extract(&input).metadata
}

const TEXT: &str = "<p>The ferry leaves at noon from the old harbour, and it comes back in the evening with the mail of the islands.</p>";

/// Authors of a page with a heading, and text `before` and `behind` its content.
fn authors(head: &str, before: &str, behind: &str) -> Vec<String> {
    let html = format!(
        "<head><title>Ferry in winter</title>{head}</head><body><article><h1>Ferry in winter</h1>{before}{TEXT}{TEXT}{behind}</article></body>"
    );
    metadata("http://holm.example/notes/ferry", &html).authors
}

#[test]
fn text_adjoining_an_author_name_is_cut_off() {
    for byline in [
        "<div class=author><span>Ada Holm</span><span>Head of the harbour</span></div>",
        "<div class=byline><p>Ada Holm</p><small>March 5, 2024</small></div>",
        "<div class=author-info><span>Author</span><a>Ada Holm</a></div>",
        "<p class=byline>Ada Holm March 5, 2024</p>",
        "<p class=author>Ada Holm am 5. März</p>",
        "<div class=author>5 min read</div><div class=byline>Ada Holm</div>",
    ] {
        assert_eq!(authors("", byline, ""), ["Ada Holm"], "{byline}");
    }
}

#[test]
fn labels_and_remarks_around_a_name_are_cut_off() {
    for byline in [
        "<p class=author>Ada Holm (Reuters</p>",
        "<p class=author>(Ada Holm)</p>",
        "<p class=author>Text und Interview: Ada Holm</p>",
        "<p class=author>Article by: Ada Holm</p>",
        "<p class=author>Ada Holm Published 6:47 p.m. March 5, 2024</p>",
        "<p class=author>Ada Holm Veröffentlicht: 05.03.2024</p>",
    ] {
        assert_eq!(authors("", byline, ""), ["Ada Holm"], "{byline}");
    }
    let biography = "of the harbour ".repeat(50);
    let long = format!("<meta name=author content='By Ada Holm on 5 March 2024 {biography}'>");
    assert_eq!(authors(&long, "", ""), ["Ada Holm"]);
    for whole in ["Ada Holm (hol)", "Ada Holm (Reuters, Oslo)", "Raoul (raoul)", "Ada (Addie) Holm"] {
        assert_eq!(authors(&format!("<meta name=author content='{whole}.'>"), "", ""), [whole]);
    }
    assert_ne!(authors("", "<p class=author>Photographer: Ada Holm</p>", ""), ["Ada Holm"]);
}

#[test]
fn character_references_in_data_are_decoded() {
    let json = r#"[{"@type":"Recipe","name":"Mac &amp; Cheese","description":"Mom&#039;s","url":"https://h.test/?a=1&copy=2;3","recipeIngredient":["1 &frac12; cups"]},
        {"@type":"Article","headline":"Ferry in winter","articleSection":"Food &amp; Drink","keywords":"M&amp;A, Sea &#8211; air",
         "author":{"@type":"Person","name":"Nia O&#039;Dell","url":"/nia"},"publisher":{"name":"Spider&#039;s Web"}},
        {"@type":"BreadcrumbList","itemListElement":[{"position":1,"name":"Plants &amp; Crops"}]}]"#;
    let head = "<meta name=description content='It doesn&amp;#039;t sail'>";
    let html = format!(
        "<head><script type=application/ld+json>{json}</script>{head}</head><h1>Ferry in winter</h1>{TEXT}{TEXT}"
    );
    let found = metadata("http://holm.example/notes/ferry", &html);
    assert_eq!(found.description.as_deref(), Some("It doesn't sail"));
    assert_eq!(found.section.as_deref(), Some("Food & Drink"));
    assert_eq!(found.site_name.as_deref(), Some("Spider's Web"));
    assert_eq!(found.keywords, ["M&A", "Sea – air"]);
    assert_eq!(found.breadcrumbs, ["Plants & Crops"]);
    assert_eq!(found.author_urls[0].url, "http://holm.example/nia");
    let structured = found.structured.unwrap();
    assert!(structured.contains("Mac & Cheese") && structured.contains("1 ½ cups"), "{structured}");
    assert!(structured.contains("https://h.test/?a=1&copy=2;3"), "{structured}");
}

#[test]
fn class_names_and_author_links_mark_an_author() {
    for byline in [
        "<a class=_authorName_1r0t6_51 href=/x>Ada Holm</a>",
        "<span class=documentAuthor>Ada Holm</span>",
        "<p>From the archive <a href=/blog/author/ada-holm>Ada Holm</a></p>",
        "<a href=/autoren/holm>Ada Holm</a>",
    ] {
        assert_eq!(authors("", byline, ""), ["Ada Holm"], "{byline}");
    }
    assert!(authors("", "<a href=/author/>Our authors</a>", "").is_empty());
}

#[test]
fn code_fields_and_numbered_headings_are_not_authors() {
    for byline in [
        "<h3 class=author>[FAMILY Given]</h3>",
        "<p>By example: $groups =~ /ferry/</p>",
        "<a href='../reporters/index.html'>2.5.14. Reporters</a>",
        "<a href='../reporters/package.html'>reporters</a>",
        "<div class=docs-byline>updated: 2022-09-27</div>",
        "<ul><li>Alphabetic</li><li>By Inheritance</li></ul>",
        "<p>By clicking 'Sign-up', you agree to our terms.</p>",
        "<p>By pressing \"Send</p>",
        "<p>By using This Site</p>",
        "<p>By Signing Up You Agree</p>",
    ] {
        assert!(authors("", byline, "").is_empty(), "{byline}: {:?}", authors("", byline, ""));
    }
    for (byline, name) in [
        ("By theGrio Staff", "theGrio Staff"),
        ("By vanden Broucke", "vanden Broucke"),
        ("By contributing writer Ada Holm", "contributing writer Ada Holm"),
    ] {
        assert_eq!(authors("", &format!("<p>{byline}</p>"), ""), [name]);
    }
    assert_eq!(authors("", "<p class=author>98 Buck Social</p>", ""), ["98 Buck Social"]);
    for (name, found) in
        [("Ada Holm <ada>", "Ada Holm"), ("50. Ada Holm", "50. Ada Holm"), ("3.14 Labs", "3.14 Labs")]
    {
        assert_eq!(authors(&format!("<meta name=author content='{name}'>"), "", ""), [found]);
    }
    // The mail address behind the name is a link of its own.
    assert_eq!(authors("", "<p class=author>Ada Holm &lt;</p>", ""), ["Ada Holm"]);
}

#[test]
fn byline_extends_or_replaces_authors_of_the_data() {
    let json = |name: &str| {
        format!(
            r#"<script type=application/ld+json>{{"@type":"Article","author":{{"@type":"Person","name":"{name}"}}}}</script>"#
        )
    };
    let both = "<div class=byline>By <a rel=author>Ada Holm</a> and <a rel=author>Ivo Rask</a></div>";
    assert_eq!(authors(&json("Ada Holm"), both, ""), ["Ada Holm", "Ivo Rask"]);
    let one = "<div class=byline>By Ada Holm</div>";
    assert_eq!(authors(&json("Ada"), one, ""), ["Ada Holm"]);
    assert_eq!(authors(&json("ada.holm"), one, ""), ["Ada Holm"]);
    assert_eq!(authors(&json("Nils Berg"), one, ""), ["Nils Berg"]);
}

#[test]
fn bylines_of_other_languages_name_all_authors() {
    for (line, want) in [
        ("Von Ada Holm und Ivo Rask", vec!["Ada Holm", "Ivo Rask"]),
        ("Erstellt von Ada Holm am 5. März 2024", vec!["Ada Holm"]),
        ("5. März 2024 | Autorin: Ada Holm", vec!["Ada Holm"]),
        ("Rédigé par Ada Holm le 5 mars 2024", vec!["Ada Holm"]),
        ("Escrito por Ada Holm", vec!["Ada Holm"]),
        ("Scritto da Ada Holm", vec!["Ada Holm"]),
        ("Geschreven door Ada Holm", vec!["Ada Holm"]),
        ("Автор: Ада Холм", vec!["Ада Холм"]),
        ("21 Jan 2022 / Ada Holm", vec!["Ada Holm"]),
        ("By Ada Holm, Ivo Rask and Nils Berg", vec!["Ada Holm", "Ivo Rask", "Nils Berg"]),
    ] {
        assert_eq!(authors("", &format!("<p>{line}</p>"), ""), want, "{line}");
    }
    assert!(authors("", "<p>Von 500 auf 20 herunterrechnen</p>", "").is_empty());
}

#[test]
fn author_label_is_found_anywhere() {
    for behind in [
        "<div><div>Auteur : Ada Holm</div></div>",
        "<dl><dt>Author:</dt><dd>Ada Holm</dd></dl>",
        "<div><b>Autor:</b> Ada Holm<br>Quelle: Hafenblatt</div>",
    ] {
        let behind = format!("{TEXT}{TEXT}{}{behind}", "<p>More of the ferry.</p>".repeat(30));
        assert_eq!(authors("", "", &behind), ["Ada Holm"], "{behind}");
    }
}

#[test]
fn separate_name_at_the_end_is_the_author() {
    for behind in
        ["<p><em>Ada Holm</em></p>", "<p style='text-align:right'>Ada Holm</p>", "<p>(Ada Holm)</p>"]
    {
        assert_eq!(authors("", "", behind), ["Ada Holm"], "{behind}");
    }
    assert!(
        authors("", "", &format!("<p><em>Ada Holm</em></p>{TEXT}")).is_empty(),
        "a heading of its own kind"
    );
    assert!(authors("", "", "<p>Ada Holm</p>").is_empty());
}

#[test]
fn byline_in_a_caption_is_not_the_author() {
    let figure =
        "<figure><img src=a.png><figcaption><span class=byline>Ivo Rask</span></figcaption></figure>";
    assert!(authors("", figure, "").is_empty());
}

#[test]
fn comment_author_is_not_the_page_author() {
    let comments = "<div class=comments><div class=Comment><div class=Author><a>Ivo Rask</a></div><div class=Message>A good ferry it is, and a good harbour.</div></div></div>";
    assert_eq!(authors("", "<p>By Ada Holm</p>", comments), ["Ada Holm"]);
}

#[test]
fn author_named_like_the_domain_is_the_publisher() {
    let head = "<meta name=author content='Holm – the magazine of ferries'>";
    let html = format!("<head>{head}</head><body><h1>Ferry in winter</h1><p>By Ada Berg</p>{TEXT}");
    assert_eq!(metadata("http://www.holm.example/notes/ferry", &html).authors, ["Ada Berg"]);
}

/// Publication date of a page with a heading, and text `before` and `behind` its content.
fn published(head: &str, before: &str, behind: &str) -> String {
    let html = format!(
        "<html lang=de><head><title>Ferry in winter</title>{head}</head><body><div><h1>Ferry in winter</h1>{before}{TEXT}{TEXT}{behind}</div></body>"
    );
    metadata("http://holm.example/notes/ferry", &html).published.unwrap_or_default()
}

#[test]
fn date_is_read_from_the_element_after_its_label() {
    for behind in [
        "<table><tr><td>Mise en ligne</td><td>5. März 2024</td></tr></table>",
        "<dl><dt>Veröffentlicht</dt><dd>05.03.2024</dd></dl>",
        "<div><h4>Published</h4><div>March 5, 2024</div></div>",
    ] {
        let behind = format!("{}{behind}", TEXT.repeat(20));
        assert_eq!(published("", "", &behind), "2024-03-05", "{behind}");
    }
}

#[test]
fn blog_footer_sentence_gives_the_date() {
    for line in [
        "This entry was posted on Tuesday, March 5th, 2024 at 11:51 and is filed under ferries.",
        "Dieser Beitrag wurde am Dienstag, 5. März 2024 um 11:51 Uhr veröffentlicht.",
    ] {
        let behind = format!("{}<p class=postmetadata><small>{line}</small></p>", TEXT.repeat(20));
        assert_eq!(published("", "", &behind), "2024-03-05", "{line}");
    }
}

#[test]
fn dateline_of_the_first_paragraph_gives_the_date() {
    let before = "<p>5. März 2024. Die Fähre nach Holm fährt im Winter nur einmal am Tag, und an den Feiertagen fährt sie überhaupt nicht, wie der Hafen mitteilt.</p>";
    assert_eq!(published("", before, ""), "2024-03-05");
    let within = before.replace("5. März 2024. Die", "Am 5. März 2024 beschloss der Rat: die");
    assert_eq!(published("", &within, ""), "");
}

#[test]
fn rdfa_and_scripts_without_a_type_hold_dates() {
    let rdfa = "<span property=schema:dateCreated content=2024-03-05T11:51:00+01:00 hidden></span>";
    assert_eq!(published("", rdfa, ""), "2024-03-05T11:51:00+01:00");
    let script = r#"<script>{"@context": "https://schema.org", "@type": "NewsArticle", "datePublished": "2024-03-05"}</script>"#;
    assert_eq!(published(script, "", ""), "2024-03-05");
}

#[test]
fn date_far_below_the_heading_is_ignored() {
    let teaser = "<div class=x><p>6. August 2020 // Tipps</p></div>";
    assert_eq!(
        published("", "<p>21. Januar 2022 // Ada Holm</p>", &format!("{}{teaser}", TEXT.repeat(30))),
        "2022-01-21"
    );
    assert_eq!(published("", "", &format!("{}{teaser}", TEXT.repeat(30))), "");
}

#[test]
fn published_line_precedes_a_build_date() {
    let json = r#"<script type=application/ld+json>{"@type":"Article","datePublished":"2025-08-21","dateModified":"2025-08-20"}</script>"#;
    let line = format!("{}<div>Published <span>Apr 26, 2023</span></div>", TEXT.repeat(20));
    assert_eq!(published(json, "", &line), "2023-04-26");
    let fixed = json.replace("2025-08-20", "2025-09-01");
    assert_eq!(published(&fixed, "", &line), "2025-08-21");
}

#[test]
fn the_line_of_an_author_dates_the_first_post() {
    let post = |name: &str, day: &str| {
        format!(
            "<div class=post id=p1><p class=author>by <strong><a class=username>{name}</a></strong> » Tue {day}, 2024 1:47 am</p><div class=content>{TEXT}</div></div>"
        )
    };
    let html = format!(
        "<title>Ferry in winter</title><body><h2>Ferry in winter</h2><div id=page-body>{}{}</div><p>It is now 6 June 2024.</p>",
        post("ada", "Mar 5"),
        post("ivo", "Mar 7")
    );
    let found = metadata("http://holm.example/forum/viewtopic.php?t=7", &html).published;
    assert_eq!(found.as_deref(), Some("2024-03-05"));
}

#[test]
fn single_day_in_time_elements_dates_the_page() {
    let aside = "<div class=sidebar><p><time datetime=2022-01-28>28. Januar 2022</time></p><p>The ferry of Holm and its timetable for the winter.</p></div>";
    assert_eq!(published("", "", &format!("{}{aside}", TEXT.repeat(20))), "2022-01-28");
    let more = "<div class=sidebar><p><time datetime=2022-01-28>28. Januar</time></p><p><time datetime=2022-01-29>29. Januar</time></p></div>";
    assert_eq!(published("", "", &format!("{}{more}", TEXT.repeat(20))), "");
}

#[test]
fn metadata_names_the_sources_of_title_authors_and_dates() {
    let html = "<head><title>Ferry in winter</title><meta name=author content='Ada Holm'>\
        <meta property='article:published_time' content='2026-03-04'></head><body><h1>Ferry in winter</h1>\
        <p>Last updated: 5 March 2026</p><p>The ferry leaves at noon from the old harbour.</p></body>";
    let sources = metadata("https://holm.example/a", html).sources;
    assert_eq!(sources.title.as_deref(), Some("heading"));
    assert_eq!(sources.authors.as_deref(), Some("meta"));
    assert_eq!(sources.published.as_deref(), Some("meta"));
    assert_eq!(sources.modified.as_deref(), Some("text"));
    let bare = metadata("https://holm.example/2026/03/04/a", "<body><p>The ferry leaves at noon.</p></body>")
        .sources;
    assert_eq!(bare.published.as_deref(), Some("url"));
    assert_eq!((bare.authors, bare.modified), (None, None));
}

fn confidence(html: &str) -> [Option<Confidence>; 4] {
    let MetadataConfidence { title, authors, published, modified, .. } =
        metadata("http://holm.example/2026/ferry", html).confidence;
    [title, authors, published, modified]
}

#[test]
fn confidence_is_high_with_two_agreeing_sources() {
    use Confidence::{High, Low, Medium};
    let text = "<p>The ferry leaves at noon from the old harbour, and comes back in the evening.</p>";
    let json = "<script type=application/ld+json>{\"@type\":\"NewsArticle\",\"headline\":\"Ferry in winter\",\"author\":{\"@type\":\"Person\",\"name\":\"Ada Holm\"},\"datePublished\":\"2026-01-05\"}</script>";
    let metas = "<meta name=author content='Ada Holm'><meta property=article:published_time content=2026-01-05T08:00:00Z>";
    let both = format!("<head>{json}{metas}</head><body><h1>Ferry in winter</h1>{text}");
    assert_eq!(confidence(&both), [Some(High), Some(High), Some(High), None]);
    let one = format!("<head>{json}</head><body><h1>Ferry in winter stops today</h1>{text}");
    assert_eq!(confidence(&one), [Some(Medium), Some(Medium), Some(Medium), None]);
    let weak = format!(
        "<head><title>Ferry in winter</title><meta name=twitter:creator content='@ada_k'>\
         <meta property=article:modified_time content=2026-01-05></head><body>{text}"
    );
    assert_eq!(confidence(&weak), [Some(Low), Some(Low), Some(Low), Some(Medium)]);
    assert_eq!(confidence(text), [None; 4]);
}

#[test]
fn source_names_the_byline_that_replaces_an_organization() {
    let json = "<script type=application/ld+json>{\"@type\":\"NewsArticle\",\"author\":{\"@type\":\"Organization\",\"name\":\"Holm Press\"}}</script>";
    let source = |head: &str, byline: &str| {
        let html = format!(
            "<head>{json}{head}</head><body><h1>Ferry in winter</h1>{byline}<p>The ferry leaves at noon.</p>"
        );
        metadata("http://holm.example/a", &html).sources.authors.unwrap_or_default()
    };
    assert_eq!(source("<meta name=author content='Ada Holm'>", ""), "meta");
    assert_eq!(source("", "<span class=author>Ada Holm</span>"), "element");
    assert_eq!(source("", "<p>By Ada Holm</p>"), "text");
}

#[test]
fn account_name_keeps_digits_and_loses_a_date() {
    let author = |line: &str| {
        let html = format!("<h1>Ferry</h1><p class=author>{line}</p><p>The ferry leaves at noon.</p>");
        metadata("http://holm.example/", &html).authors
    };
    assert_eq!(author("Ferryman13 Member"), ["Ferryman13"]);
    assert_eq!(author("Ada Holm5 March 2024"), ["Ada Holm"]);
    assert_eq!(author("Ada Holm5/3/2024"), ["Ada Holm"]);
}
