//! Time and memory grow linearly with the page. Each of these pages once took a quadratic step, or is made to
//! find one: the same kind of page is extracted in two sizes.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use cpu_time::ThreadTime;
use crawl_extract::{Input, Options, PageExtractor};
use crawl_model::{Extraction, Warning};
use std::{sync::LazyLock, time::Duration};

static EXTRACTOR: LazyLock<PageExtractor> = LazyLock::new(|| {
    let options = Options::default().with_images(true).with_comments(true).with_blocks(true);
    PageExtractor::new(options).unwrap()
});

const URL: &str = "https://example.org/a/b";

/// The least CPU time of this thread in `times` extractions, and the result. Other processes stop this thread
/// and empty its caches, so wall time and a single run say little.
fn cost(page: &str, times: usize) -> (Duration, Extraction) {
    cost_at(URL, page, times)
}

fn cost_at(url: &str, page: &str, times: usize) -> (Duration, Extraction) {
    let url = url::Url::parse(url).unwrap();
    let input = Input::new(page.as_bytes()).with_url(&url).with_content_type("text/html; charset=utf-8");
    let run = || {
        let start = ThreadTime::now();
        let found = EXTRACTOR.extract(&input);
        (start.elapsed(), found)
    };
    (0..times).map(|_| run()).min_by_key(|(took, _)| *took).unwrap()
}

/// Text, links and blocks.
fn room(found: &Extraction) -> usize {
    found.content.len() + found.links.iter().map(|link| link.url.len()).sum::<usize>()
}

/// `count` pieces, each built from its number.
fn numbered(count: usize, piece: impl Fn(usize) -> String) -> String {
    (0..count).map(piece).collect()
}

/// Runs of which the fastest counts.
const TIMES: usize = 3;

/// Rounds of which one must be within the limit. Other processes change the speed of memory for seconds at a time; a
/// quadratic step exceeds the limit in every round.
const ROUNDS: usize = 4;

/// Asserts that a page of eight times the size takes no quadratic time, and returns the last result of the large one.
fn assert_linear(kind: &str, [small, large]: [(&str, &str); 2]) -> Extraction {
    let mut rounds = Vec::new();
    loop {
        let (few, _) = cost_at(small.0, small.1, TIMES);
        let (many, found) = cost_at(large.0, large.1, TIMES);
        // A quadratic step would be 64 times the work; the rest is for cache effects.
        if many <= few * 24 + Duration::from_millis(60) {
            return found;
        }
        rounds.push((few, many));
        assert!(
            rounds.len() < ROUNDS,
            "{kind}: {rounds:?} for {} and {} bytes",
            small.1.len(),
            large.1.len()
        );
    }
}

type Kind = (&'static str, fn(usize) -> String);

const KINDS: [Kind; 35] = [
    ("links that are named again without nofollow", |n| {
        numbered(n, |i| format!("<a rel=nofollow href=/{i}>")) + &numbered(n, |i| format!("<a href=/{i}>"))
    }),
    ("a wide row above many narrow ones", |n| {
        format!("<table><tr>{}{}</table>", "<td>a".repeat(n), "<tr><td>b<td>c".repeat(n))
    }),
    ("containers without words", |n| "<article></article>".repeat(n)),
    ("noscript in noscript", |n| "<noscript>".repeat(400) + &"text ".repeat(2 * n)),
    ("dates that were never closed", |n| "<time>".repeat(400) + &"text ".repeat(2 * n)),
    ("texts in data", |n| {
        let text = "text of ".repeat(40);
        let texts = numbered(n / 10, |i| format!("{{\"cooked\":\"{i} {text}\"}},"));
        format!("<script type=application/json>[{texts}1]</script>")
    }),
    ("a title as long as the page", |n| {
        let heading = numbered(40, |i| format!("w{} ", i * 100));
        format!("<meta property=og:title content='{}'><h1>{heading}</h1>", numbered(n, |i| format!("w{i} ")))
    }),
    ("a name that one element repeats", |n| {
        format!("<meta property='{}' content='{}'>", "og:title ".repeat(n), numbered(n, |i| format!("w{i} ")))
    }),
    ("authors that are named by references", |n| {
        let objects = "{\"@id\":\"a\"},".repeat(1000);
        let authors = "{\"@id\":\"b\"},".repeat(n);
        format!(
            "<script type=application/ld+json>[{objects}{{\"@type\":\"Article\",\"author\":[{authors}1]}}]</script>"
        )
    }),
    ("authors of a list, among others that are references", |n| {
        let objects = "{\"@id\":\"a\"},".repeat(n / 8);
        let authors = "{\"@id\":\"b\"},".repeat(n);
        format!(
            "<script type=application/ld+json>[{objects}{{\"@type\":\"Article\",\"author\":[\"Ada Holm\",{authors}1]}}]</script>"
        )
    }),
    ("other authors in each place", |n| {
        let names =
            |first: &str| numbered(n / 4, |i| format!("{first}{} Holm, ", i.to_string().replace('0', "o")));
        let letters = |names: String| {
            names.chars().map(|c| c.to_digit(10).map_or(c, |d| (b'a' + d as u8) as char)).collect()
        };
        let (one, other): (String, String) = (letters(names("Ada")), letters(names("Ivo")));
        format!(
            "<meta name=author content='{other}'><script type=application/ld+json>{{\"@type\":\"Article\",\"author\":\"{one}\"}}</script>"
        )
    }),
    ("labels in front of the heading", |n| "<p>Updated:".repeat(8 * n) + "<h1>A title</h1>"),
    ("separators in the title of a feed", |n| {
        format!("<link type=application/rss+xml href=/a/b/feed title='{}'>", "Ferry » ".repeat(n))
    }),
    ("one link of many kinds", |n| {
        format!("<link href='/{}' hreflang=de rel='{}'>", "x".repeat(5 * n), "alternate ".repeat(n))
    }),
    ("feeds", |n| numbered(n, |i| format!("<link rel=alternate type=application/rss+xml href=/{i}>"))),
    ("attributes in front of a charset", |n| format!("<meta {}>", numbered(n, |i| format!("a{i} ")))),
    ("fences in code", |n| "<pre>`".repeat(n)),
    ("joiners that join nothing", |n| {
        let joiners = |c: char| c.to_string().repeat(n);
        format!("<p>\u{1f600}{}<p>\u{627}{}", joiners('\u{200d}'), joiners('\u{200c}'))
    }),
    ("blocks inside of a rule of many selectors", |n| {
        let blocks = "@media all{display:none}".repeat(n / 4);
        format!("<style>{}p{{{blocks}}}</style>{}", "p,".repeat(500), "<p>some text".repeat(n / 4))
    }),
    ("rules that show what attributes hide", |n| {
        let rules = "p i.b{display:block!important}".repeat(n);
        format!("<style>{rules}</style>{}", "<i class=b style='display:none'>x</i>".repeat(n))
    }),
    ("colours and backgrounds of one element", |n| {
        let grounds = numbered(n, |i| format!("background:#{i:06x};"));
        format!("<p style='{}{grounds}'>some text", "color:#123;".repeat(n))
    }),
    ("layers in a layer of a long name", |n| {
        let layers = numbered(n / 4, |i| format!("a{i},"));
        format!("<style>@layer {}{{@layer {layers}b;}}</style><p>some text", "x".repeat(10 * n))
    }),
    ("titles above links to other sites", |n| {
        let boxes = |i| format!("<p>Related articles<p><a href=//b.test/{i}>A link to another site</a>");
        numbered(n / 4, boxes) + &"<p>Some sentences, of which none is the same.".repeat(n / 4)
    }),
    ("shadow roots of one element", |n| "<template shadowrootmode=open>a b</template><p>c d".repeat(n)),
    ("copyright signs", |n| "<p>© Ann Bell<p>some text".repeat(n)),
    ("names in brackets", |n| "<p>(Ann Bell)<p>some text".repeat(n)),
    ("titles on lines of their own", |n| "<span>Related articles</span><br>some text".repeat(n)),
    ("rules for the classes of one element", |n| {
        let rules = numbered(n, |i| format!(".c{i}.z{{display:none}}"));
        format!("<style>{rules}</style><p class='{}'>some text", numbered(n, |i| format!("c{i} ")))
    }),
    ("languages of a selector", |n| {
        let languages = numbered(n, |i| format!("x{i},"));
        format!(
            "<style>.q:lang({languages}y){{display:none}}</style><main lang=de>{}",
            "<p class=q>some text".repeat(n)
        )
    }),
    ("rules for the words of one attribute", |n| {
        let rules = numbered(n, |i| format!("[title~=a{i}]{{display:none}}"));
        format!("<style>{rules}</style><p title='{}'>some text", "b ".repeat(n))
    }),
    ("declarations of a rule for many elements", |n| {
        format!("<style>p{{{}}}</style>{}", "opacity:0;".repeat(n / 4), "<p>some text".repeat(n / 4))
    }),
    ("animations of many elements", |n| {
        let frames = numbered(n / 8, |i| format!("@keyframes a{i}{{}}"));
        let names = numbered(n / 8, |i| format!("b{i},"));
        format!("<style>{frames}p{{opacity:0;animation:{names}c}}</style>{}", "<p>some text".repeat(n / 8))
    }),
    ("a long value of many elements", |n| {
        let sum = "1px + ".repeat(n / 4);
        format!("<style>p{{overflow:hidden;height:calc({sum}1px)}}</style>{}", "<p>some text".repeat(n / 4))
    }),
    ("headings of a note", |n| format!("<main><p>text<aside class=note>{}", "<h3>a part</h3>".repeat(n))),
    ("rules for any element", |n| {
        let rules = numbered(n, |i| format!("[a{i}]{{display:none}}"));
        format!("<style>{rules}</style>{}", "<p>some text".repeat(n))
    }),
];

#[test]
fn extraction_time_grows_linearly_with_the_page() {
    for (kind, page) in KINDS {
        let (small, large) = (page(2_000), page(16_000));
        let found = assert_linear(kind, [(URL, &small), (URL, &large)]);
        assert!(
            room(&found) <= 8 * large.len() + (1 << 20),
            "{kind}: {} bytes became {}",
            large.len(),
            room(&found)
        );
    }
}

#[test]
fn long_title_and_url_compare_in_linear_time() {
    let at = |n: usize| {
        let slug = numbered(n, |i| format!("-u{i}"));
        let name = numbered(n, |i| format!("w{i} "));
        let page = format!("<meta property=og:title content='{name}'><title>{name}</title><h1>Ferry</h1>");
        (format!("https://example.org/a/{slug}"), page)
    };
    let ((url, page), (long_url, long_page)) = (at(2_000), at(16_000));
    assert_linear("long title and URL", [(&url, &page), (&long_url, &long_page)]);
}

#[test]
fn long_base_is_ignored_and_link_urls_are_capped() {
    let links = |n: usize| numbered(n, |i| format!("<p>some words <a href={i}>and a link</a>"));
    let longer = format!("<base href='https://h.test/{}/'>{}", "b".repeat(5_000), links(10));
    let (_, found) = cost(&longer, 1);
    assert_eq!(found.links[0].url, "https://example.org/a/0");

    let long = format!("<base href='https://h.test/{}/'>", "b".repeat(4_000));
    let (_, few) = cost(&(long.clone() + &links(100)), 1);
    assert!(few.links.len() == 100 && !few.warnings.contains(&Warning::AddressesCapped));
    let page = long + &links(20_000);
    let (_, many) = cost(&page, 1);
    assert!(many.warnings.contains(&Warning::AddressesCapped));
    assert!(many.content.contains("and a link") && many.links.len() > 100);
    assert!(room(&many) < 10 * page.len() + (1 << 20), "{} bytes became {}", page.len(), room(&many));
}
