//! Extraction by evidence from other pages of the site.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Format, Input, Options, PageExtractor, SiteEvidence};
use crawl_model::{BySite, Confidence, Extraction, Extractor};
use proptest::prelude::*;
use url::Url;

/// The text of the main element on every page of the site.
const NOTICE: &str = "<p>The harbour office is open on weekdays from nine to four, and on Saturdays until noon. Berths are given out in the \
    order in which boats arrive, dues are paid on the day, and whoever leaves before seven puts them into the box at the gate.</p>\
    <p>Dogs are kept on a lead, fires are lit on the beach alone, and the crane is moved by the harbour master, nobody else.</p>";

fn extractor() -> PageExtractor {
    PageExtractor::new(Options::default().with_format(Format::Text)).unwrap()
}

/// Own words of a page, with spelled digits since digits are masked.
fn own(n: usize) -> String {
    let name = |n: usize| -> String { n.to_string().bytes().map(|b| char::from(b - b'0' + b'a')).collect() };
    let word = |k: usize| format!("{}{}", ["kelp", "tern", "mast", "rope", "buoy"][k % 5], name(n * 31 + k));
    let sentence = |from: usize| (from..from + 12).map(word).collect::<Vec<_>>().join(" ");
    format!("<p>{}.</p><p>{}.</p><p>{}.</p>", sentence(0), sentence(12), sentence(24))
}

/// A site whose content is in an element with a misleading name.
fn misleading(open: &str, close: &str, pages: usize) -> Vec<String> {
    let page = |n: usize| {
        format!(
            "<html><body><nav><a href=/>Home</a> <a href=/news>News</a></nav><main>{NOTICE}</main>{open}{}{close}\
             <footer>Harbour of Aldermere</footer></body></html>",
            own(n)
        )
    };
    (0..pages).map(page).collect()
}

fn url(n: usize) -> Url {
    Url::parse(&format!("https://harbour.example/log/{n}")).unwrap()
}

fn evidence(extractor: &PageExtractor, pages: impl IntoIterator<Item = (usize, String)>) -> SiteEvidence {
    let mut evidence = SiteEvidence::default();
    for (n, page) in pages {
        let url = url(n);
        let input = Input::new(page.as_bytes()).with_url(&url).with_content_type("text/html");
        evidence.observe(&extractor.count_blocks(&input));
    }
    evidence.settle();
    evidence
}

fn by_site(pages: &[String]) -> Vec<(Extraction, Extraction)> {
    let extractor = extractor();
    let evidence = evidence(&extractor, pages.iter().cloned().enumerate());
    let extracted = |(n, page): (usize, &String)| {
        let url = url(n);
        let input = Input::new(page.as_bytes()).with_url(&url).with_content_type("text/html");
        (extractor.extract(&input), extractor.extract_by_site(&input, &evidence))
    };
    pages.iter().enumerate().map(extracted).collect()
}

/// First word of a page's own text.
fn first_word(n: usize) -> String {
    own(n).trim_start_matches("<p>").split([' ', '<']).next().unwrap().to_owned()
}

#[test]
fn content_missed_on_a_whole_site_is_recovered() {
    for (open, close) in [
        ("<aside class=sidebar>", "</aside>"),
        ("<footer class=site-footer>", "</footer>"),
        ("<div class=related-posts>", "</div>"),
    ] {
        for (n, (alone, mended)) in by_site(&misleading(open, close, 12)).iter().enumerate() {
            assert!(!alone.content.contains(&first_word(n)), "{open} is read: this test needs another name");
            assert!(mended.content.contains(&first_word(n)), "{open}: {}", mended.content);
            assert!(!mended.content.contains("harbour office"), "{open}: {}", mended.content);
            assert_eq!(mended.extractor, Extractor::SiteTemplate);
            let (tag, class) = open.trim_matches(['<', '>']).split_once(" class=").unwrap();
            let template = Some(format!("body > {tag}.{class}"));
            let mut by_site = BySite::of_pages(12);
            (by_site.rebuilt, by_site.template) = (true, template);
            assert_eq!(mended.metadata.by_site, Some(by_site));
            assert!(mended.reason.contains("12 pages of the site"), "{}", mended.reason);
        }
    }
}

/// Lines beside a block are one block of the evidence, which begins with a text node. The element around them
/// is taken, not the first line.
#[test]
fn lines_beside_a_block_are_recovered_whole() {
    let lines = |page: String| page.replace("</p><p>", "<br>").replace("related-posts><p>", "related-posts>");
    let pages: Vec<String> = misleading("<div class=related-posts>", "<div class=b>Reply</div></div>", 12)
        .into_iter()
        .map(lines)
        .collect();
    assert!(pages[0].contains("related-posts>kelp"), "{}", pages[0]);
    let extractor = extractor();
    let evidence = evidence(&extractor, pages.iter().cloned().enumerate());
    for (n, (_, mended)) in by_site(&pages).iter().enumerate() {
        let last = own(n).trim_end_matches(".</p>").rsplit(' ').next().unwrap().to_owned();
        assert!(
            mended.content.contains(&first_word(n)) && mended.content.contains(&last),
            "{}",
            mended.content
        );
        let template = mended.metadata.by_site.as_ref().unwrap().template.as_deref();
        assert_eq!(template, Some("body > div.related-posts"));
        let url = url(n);
        let input = Input::new(pages[n].as_bytes()).with_url(&url);
        assert_eq!(extractor.outline(&input, &evidence).unwrap().selector, "div.related-posts");
    }
}

/// Posts of a forum: text and lines beside a quote.
#[test]
fn text_beside_a_quote_is_recovered() {
    let page = |n: usize| {
        let own = own(n).replace("<p>", "").replace("</p>", "<br>");
        format!(
            "<html><body><main>{NOTICE}</main><aside class=sidebar>{own}<blockquote>A quote of another post</blockquote></aside>\
             <footer>Harbour of Aldermere</footer></body></html>"
        )
    };
    for (n, (alone, mended)) in by_site(&(0..12).map(page).collect::<Vec<_>>()).iter().enumerate() {
        assert!(!alone.content.contains(&first_word(n)), "{}", alone.content);
        assert!(mended.content.contains(&first_word(n)), "{}", mended.content);
        assert_eq!(mended.extractor, Extractor::SiteTemplate);
    }
}

/// A box before the content that is kept on one page of twelve, where it is long.
fn seldom_kept(class: &str) -> Vec<String> {
    let sentence = |n: usize| own(n).split("</p>").next().unwrap().trim_start_matches("<p>").to_owned();
    let page = |n: usize| {
        let sentences: Vec<String> =
            (0..if n == 0 { 8 } else { 1 }).map(|k| sentence(100 + n + 20 * k)).collect();
        let body = own(n);
        let text = sentences.join(" ");
        format!("<html><body><div class={class}><p>{text}</p></div><main>{body}{body}</main>")
    };
    (0..12).map(page).collect()
}

#[test]
fn block_that_other_pages_seldom_keep_is_added() {
    for (n, (alone, by_site)) in by_site(&seldom_kept("x")).iter().enumerate() {
        let word = first_word(100 + n);
        assert_eq!(alone.content.contains(&word), n == 0, "{n}: {}", alone.content);
        assert!(by_site.content.contains(&word), "{n}: {}", by_site.content);
    }
}

#[test]
fn block_with_a_name_of_the_frame_is_not_added() {
    for (n, (alone, by_site)) in by_site(&seldom_kept("newsletter")).iter().enumerate() {
        let word = first_word(100 + n);
        assert_eq!(alone.content.contains(&word), n == 0, "{n}: {}", alone.content);
        assert_eq!(by_site.content.contains(&word), n == 0, "{n}: {}", by_site.content);
    }
}

/// Threads whose second post quotes the first, and in three threads another text.
#[test]
fn quotation_of_the_page_is_not_added() {
    let quoted = |n: usize| if n < 3 { 50 + n } else { n };
    let page = |n: usize| {
        let reply = format!("<blockquote>Reader wrote: {}</blockquote>{}", own(quoted(n)), own(100 + n));
        let posts = [own(n), reply, own(200 + n)].map(|post| {
            format!(
                "<div class='bbp-reply type-reply'><a class=bbp-author-name>Reader</a>\
                 <div class=bbp-reply-content>{post}</div></div>"
            )
        });
        format!(
            "<html><head><script type='application/ld+json'>{{\"@context\":\"https://schema.org\",\
             \"@type\":\"DiscussionForumPosting\"}}</script></head><body><h1>Thread</h1><div id=bbpress-forums>{}</div>",
            posts.concat()
        )
    };
    let pages: Vec<String> = (0..12).map(page).collect();
    for (n, (alone, by_site)) in by_site(&pages).iter().enumerate() {
        let first = format!("{} ", first_word(quoted(n)));
        assert_eq!(alone.extractor, Extractor::Platform);
        assert_eq!(alone.content.matches(&first).count(), 1, "{n}: {}", alone.content);
        assert_eq!(by_site.content.matches(&first).count(), 1, "{n}: {}", by_site.content);
    }
}

#[test]
fn fewer_than_five_pages_change_nothing() {
    for (alone, mended) in by_site(&misleading("<aside class=sidebar>", "</aside>", 4)) {
        assert_eq!((alone.content, alone.extractor), (mended.content, mended.extractor));
        assert_eq!(mended.metadata.by_site, None);
    }
}

#[test]
fn well_extracted_site_stays_unchanged() {
    let page =
        |n| format!("<body><nav><a href=/>Home</a></nav><article>{}</article><footer>F</footer>", own(n));
    for (alone, mended) in by_site(&(0..12).map(page).collect::<Vec<_>>()) {
        assert_eq!((alone.content, alone.extractor), (mended.content, mended.extractor));
    }
}

/// A heading above the container of the text, and a paragraph in a box that the rules drop on some pages.
#[test]
fn site_evidence_adds_titles_and_paragraphs_and_drops_notices() {
    let page = |n: usize| {
        let title = first_word(n);
        format!(
            "<body><div class=top><h1 class=name>Log of {title}</h1></div>\
             <article class=entry>{}<p class=note>This log is kept by the harbour master, and by nobody else.</p></article>",
            own(n)
        )
    };
    for (n, (alone, mended)) in by_site(&(0..12).map(page).collect::<Vec<_>>()).iter().enumerate() {
        let title = format!("Log of {}", first_word(n));
        assert!(!alone.content.contains(&title) && alone.content.contains("kept by"), "{}", alone.content);
        assert!(mended.content.starts_with(&title), "{}", mended.content);
        assert!(!mended.content.contains("kept by"), "{}", mended.content);
        let by_site = mended.metadata.by_site.clone().unwrap();
        assert_eq!((by_site.added, by_site.dropped, by_site.rebuilt), (1, 1, false));
        assert_eq!(mended.extractor, alone.extractor);
    }
}

/// Pages with the same title element: some have a heading, some a line in its place, and some neither.
fn same_title(n: usize, heading: &str, body: &str) -> String {
    let text = if body.is_empty() { own(n) } else { body.to_owned() };
    format!(
        "<head><title>Aldermere | Harbour for all</title></head><body><nav><a href=/>Home</a> <a href=/log/{n}/>Tides of the day</a></nav>\
         <div class=entry>{heading}{text}</div><footer>Harbour of Aldermere, open all year</footer></body>"
    )
}

#[test]
fn shared_title_yields_to_a_page_specific_line() {
    for (open, close) in [("<h2>", "</h2>"), ("<div class=name>", "</div>")] {
        let page =
            |n: usize| same_title(n, &format!("{open}Log of {}{close}<p>2 May 2024</p>", first_word(n)), "");
        for (n, (alone, mended)) in by_site(&(0..12).map(page).collect::<Vec<_>>()).iter().enumerate() {
            assert_eq!(alone.metadata.title.as_deref(), Some("Aldermere | Harbour for all"));
            let metadata = &mended.metadata;
            assert_eq!(metadata.title, Some(format!("Log of {}", first_word(n))));
            assert_eq!(metadata.sources.title.as_deref(), Some("site"));
            assert_eq!(metadata.confidence.title, Some(Confidence::Low));
        }
    }
}

#[test]
fn page_without_a_specific_line_is_titled_by_its_link() {
    let page = |n: usize| same_title(n, "", "<p>High water comes twice a day, and so does low water.</p>");
    for (_, mended) in by_site(&(0..12).map(page).collect::<Vec<_>>()) {
        assert_eq!(mended.metadata.title.as_deref(), Some("Tides of the day"));
    }
}

#[test]
fn page_specific_title_stays() {
    let page = |n: usize| {
        same_title(n, &format!("<div class=name>Log of {}</div>", first_word(n)), "")
            .replace("Aldermere |", &format!("Day {n} |"))
    };
    for (alone, mended) in by_site(&(0..12).map(page).collect::<Vec<_>>()) {
        assert_eq!(alone.metadata, mended.metadata);
    }
    // four pages are too few
    let page = |n: usize| same_title(n, &format!("<div class=name>Log of {}</div>", first_word(n)), "");
    for (alone, mended) in by_site(&(0..4).map(page).collect::<Vec<_>>()) {
        assert_eq!(alone.metadata, mended.metadata);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// The order of the pages does not matter.
    #[test]
    fn site_evidence_does_not_depend_on_page_order(order in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle()) {
        let (extractor, pages) = (extractor(), misleading("<aside class=sidebar>", "</aside>", 12));
        let shuffled = evidence(&extractor, order.into_iter().map(|n| (n, pages[n].clone())));
        let sorted = evidence(&extractor, pages.iter().cloned().enumerate());
        for (n, page) in pages.iter().enumerate() {
            let url = url(n);
            let input = Input::new(page.as_bytes()).with_url(&url).with_content_type("text/html");
            let [a, b] = [&shuffled, &sorted].map(|evidence| extractor.extract_by_site(&input, evidence));
            prop_assert_eq!(a.content, b.content);
        }
    }
}

#[test]
fn title_in_the_header_is_not_repeated() {
    let page = |n: usize| {
        let title = first_word(n);
        format!(
            "<html><head><title>Harbour log</title></head><body><div class=header><h1><a href=.>{title}</a></h1></div><nav><a \
            href=/>Home</a></nav><main><h1>{title}<a href=#a>¶</a></h1>{}</main></body></html>",
            own(n)
        )
    };
    let pages: Vec<String> = (0..12).map(page).collect();
    for (n, (_, mended)) in by_site(&pages).iter().enumerate() {
        let title = first_word(n);
        assert_eq!(
            mended.content.lines().filter(|line| line.trim_end_matches('¶') == title).count(),
            1,
            "{}",
            mended.content
        );
        assert_eq!(mended.metadata.title.as_deref(), Some(title.as_str()));
    }
}
