//! Time grows with the page and no faster, whatever the page is made of: pieces of markup that steps of the extraction
//! look at, repeated beside each other and inside of each other, alone and one kind after another.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use crawl_extract::{Input, Options, PageExtractor};
use std::{fs, sync::LazyLock, time::Duration};

static EXTRACTOR: LazyLock<PageExtractor> = LazyLock::new(|| {
    let options = Options { images: true, comments: true, ..Options::default() };
    PageExtractor::new(options).unwrap()
});

/// CPU time of this thread, from the kernel; tests run beside each other, so the wall clock says nothing.
fn cpu_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// The time for a page, and the bytes that came of it.
fn cost(page: &str) -> (Duration, usize) {
    let url = url::Url::parse("https://example.org/a/b").unwrap();
    let start = cpu_time();
    let found = EXTRACTOR.extract(&Input {
        bytes: page.as_bytes(),
        url: Some(&url),
        content_type: Some("text/html; charset=utf-8"),
    });
    let spent = cpu_time().saturating_sub(start);
    (spent, found.content.len() + found.links.iter().map(|link| link.url.len()).sum::<usize>())
}

/// Pieces of a page; `#` becomes a number that no other piece has.
const PIECES: [&str; 70] = [
    "<div>",
    "<p>word",
    "</p>",
    "<b>",
    "<a href=/#>y</a>",
    "<a href=/1>y</a>",
    "<a rel=nofollow href=/#>y</a>",
    "<a href=/#>",
    "<span>",
    "<article>",
    "<article></article>",
    "<main>a",
    "<header>",
    "<header><h1>t</h1></header>",
    "<nav>",
    "<noscript>a b",
    "<time>today",
    "<time datetime=2020-01-01>",
    "<table><tr><td>a<td>b<tr><td>c<td>d</table>",
    "<td>c",
    "<tr><td>c",
    "<table>",
    "<ul><li>x",
    "<li>x",
    "<blockquote>",
    "<h2><a href=/#>t</a></h2>",
    "<h1>title #</h1>",
    "<h3>t",
    "<pre>",
    "<code>a</code>",
    "<meta name=author content='Ann #'>",
    "<meta property=og:title content='a #'>",
    "<link rel=alternate hreflang=de href=/#>",
    "<script type=application/ld+json>{\"@type\":\"Article\",\"@id\":\"#\",\"author\":{\"@id\":\"#\"}}</script>",
    "<script type=application/json>{\"a\":[1,2,3,{\"text\":\"some # words\"}]}</script>",
    "<img src=/#.png alt=a>",
    "<div class='comment author'>x y",
    "<div class='cookie consent'>we use cookies",
    "<div class='sidebar related'>x",
    "<div class='c#'>x",
    "<div id='i#' style='display:none'>x",
    "<button aria-controls=i#>x</button>",
    "<form><input name=#>",
    "<template>x",
    "<svg><g>",
    "<math><mi>x",
    "<select><option>#",
    "<iframe src=/#></iframe>",
    "<html lang=# a#=1>",
    "<body class=# b#=1>",
    "<!--",
    "-->",
    "&amp;",
    "text, and more of it. ",
    "\n\n",
    "<br>",
    "<font size=#>",
    "<em>x</em>",
    "<dl><dt>a<dd>b",
    "<section>text of a section",
    "<div class=post><div class=post-author>Ann</div><div class=post-body>Words of post #.</div></div>",
    "<p>By Ann Bell, 3 May 2021</p>",
    "<div itemprop=author>Ann #</div>",
    "<span class=byline>",
    "<title>t #</title>",
    "<label>x",
    "<footer>x",
    "<a href=#>#</a>",
    "<del>x",
    "<caption>c</caption>",
];

fn repeated(pieces: &[&str], bytes: usize) -> String {
    let mut page = String::with_capacity(bytes + 64);
    let share = bytes / pieces.len();
    for (index, piece) in pieces.iter().enumerate() {
        let mut number = 0;
        while page.len() < share * (index + 1) {
            number += 1;
            page.push_str(&piece.replace('#', &number.to_string()));
        }
    }
    page
}

#[test]
#[ignore]
fn explore() {
    let small = 100_000;
    let mut all: Vec<Vec<&str>> = PIECES.iter().map(|p| vec![*p]).collect();
    for a in PIECES {
        for b in PIECES {
            all.push(vec![a, b]);
        }
    }
    let only = std::env::var("ONLY").ok().map(|n| n.parse::<usize>().unwrap()).unwrap_or(1);
    all.retain(|p| p.len() <= only);
    for pieces in all {
        let (a, _) = cost(&repeated(&pieces, small));
        let (b, out) = cost(&repeated(&pieces, small * 8));
        let ratio = b.as_secs_f64() / a.as_secs_f64();
        if ratio > 20.0 && b > Duration::from_millis(100)
            || b > Duration::from_millis(400)
            || out > 20 * 8 * small
        {
            eprintln!("{pieces:?} {a:?} {b:?} ratio {ratio:.1} out {out}");
        }
    }
}
